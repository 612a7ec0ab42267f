//! Agents whose only tool is a terminal, and some at calendars, charts, fares and shelves; loops, and work that looks like
//! them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("terminal: a migration that fails again", 6, migration_fails),
    ("terminal: containers that never stay up", 6, never_stays_up),
    (
        "terminal: a filter that fits nothing",
        7,
        filter_fits_nothing,
    ),
    ("terminal: two type errors in turn", 6, two_type_errors),
    ("terminal: a pod without a node", 7, no_node),
    ("terminal: a push that the hook refuses", 6, hook_refuses),
    ("calendar: the hour is always taken", 6, always_taken),
    ("chart: drawn anew, labels overlap", 7, labels_overlap),
    ("fares: five days round and round", 4, five_days),
    ("tasks: done, and still open", 6, still_open),
];

pub(super) const WORK: &[Work] = &[
    ("terminal: migrations one by one", migrations),
    ("terminal: services brought up", services_up),
    ("terminal: one field of many answers", one_field),
    ("terminal: type errors mended", type_errors),
    ("terminal: one commit on ten branches", ten_branches),
    ("terminal: a flaky test under many seeds", many_seeds),
    ("calendar: an hour with each of twelve", twelve_hours),
    ("chart: one for each town", chart_by_town),
    ("fares: each day of a month", each_day),
    ("shelves: counted, most are empty", shelves_counted),
];

const ROUNDS: usize = 10;

/// One command, told as one of four tools tells it.
fn terminal(made: &mut Made, style: usize, command: &str, code: u8, printed: &str) {
    let seconds = made.between(2, 90) as f64 / 10.0;
    match style % 4 {
        0 => made.call(
            "execute_bash",
            json!({"command": command, "is_input": "false"}),
            format!(
                "{printed}\n[Current working directory: /workspace/app]\n[Python interpreter: /usr/bin/python3]\n[Command finished with exit code {code}]"
            ),
        ),
        1 => made.call(
            "run_command",
            json!({"command": command}),
            format!("Exit code: {code}\nWall time: {seconds} seconds\nOutput:\n{printed}"),
        ),
        2 => {
            let how = if code == 0 { "succeeded" } else { "failed" };
            made.call(
                "execute",
                json!({"command": command}),
                format!("{printed}\n[Command {how} with exit code {code}]"),
            );
        }
        _ if code == 0 => made.sh(command, printed),
        _ => made.add(json!({
            "kind": "tool_call",
            "tool": "bash",
            "input": {"command": command},
            "error": format!("Exit code {code}\n{printed}"),
        })),
    }
}

fn revision(made: &mut Made) -> String {
    made.hex()[..12].to_owned()
}

/// A table that is there already: the migration is edited, stamped, taken back, and fails in the same way.
fn migration_fails(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (table, from, to) = (made.word(), revision(made), revision(made));
    let title = made.words(2);
    let path = format!("migrations/versions/{to}_{}.py", title.replace(' ', "_"));
    for round in 0..ROUNDS {
        let line = made.between(14, 60);
        let preparing = match round % 4 {
            0 => format!("alembic stamp {from}"),
            1 => format!("sed -i '{line}s/create_table/create_table  /' {path}"),
            2 => format!("alembic downgrade {from}"),
            _ => format!(
                "cat > {path} <<'PY'\n\"\"\"{title}\"\"\"\nfrom alembic import op\n\ndef upgrade():\n    op.create_table('{table}')  # {}\nPY",
                made.words(2)
            ),
        };
        let printed = if round % 2 == 0 {
            format!(
                "INFO  [alembic.runtime.migration] Context impl PostgresqlImpl.\nINFO  [alembic.runtime.migration] Will assume transactional DDL.\nINFO  [alembic.runtime.migration] Running stamp_revision {to} -> {from}"
            )
        } else {
            String::new()
        };
        terminal(made, style, &preparing, 0, &printed);
        let (command, code) = [
            ("alembic upgrade head", 1),
            ("alembic upgrade head 2>&1 | tail -12", 0),
        ][made.below(2)];
        let frame = made.between(100, 900);
        terminal(
            made,
            style,
            command,
            code,
            &format!(
                "INFO  [alembic.runtime.migration] Running upgrade {from} -> {to}, {title}\nTraceback (most recent call last):\n  File \"/workspace/app/{path}\", line {line}, in upgrade\n  File \"/usr/lib/python3/dist-packages/sqlalchemy/engine/base.py\", line {frame}, in _execute_context\nsqlalchemy.exc.ProgrammingError: (psycopg2.errors.DuplicateTable) relation \"{table}\" already exists\n\n[SQL: CREATE TABLE {table} (id SERIAL NOT NULL)]\n(Background on this error at: https://sqlalche.me/e/20/f405)"
            ),
        );
        made.again();
    }
}

/// Containers are taken down and brought up in ever other ways; one leaves at once, for the same reason.
fn never_stays_up(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (project, service) = (made.word(), made.word());
    let (host, port) = (made.word(), made.between(5_000, 9_000));
    let ways = [
        "docker compose up -d",
        "docker compose up -d --build",
        "docker compose up -d --force-recreate",
        "docker compose up -d --remove-orphans",
    ];
    for round in 0..ROUNDS {
        let took = made.between(3, 40) as f64 / 10.0;
        terminal(
            made,
            style,
            ways[round % 4],
            0,
            &format!(
                " Network {project}_default  Created\n Container {project}-db-1  Started\n Container {project}-{service}-1  Started {took}s"
            ),
        );
        if made.chance(60) {
            let ago = made.between(2, 50);
            terminal(
                made,
                style,
                "docker compose ps",
                0,
                &format!(
                    "NAME                 STATUS\n{project}-db-1         Up {ago} seconds\n{project}-{service}-1       Restarting (1) {} seconds ago",
                    ago % 7 + 1
                ),
            );
        }
        let (tail, at) = (made.pick(&["20", "50", "30", "100"]), made.time());
        terminal(
            made,
            style,
            &format!("docker compose logs --tail={tail} {service}"),
            0,
            &format!(
                "{service}-1  | {at} starting\n{service}-1  | {at} dial tcp: lookup {host} on 127.0.0.11:53: no such host ({port})\n{service}-1  | {at} giving up"
            ),
        );
        terminal(
            made,
            style,
            ["docker compose down", "docker compose down -v"][round % 2],
            0,
            &format!(
                " Container {project}-{service}-1  Removed\n Container {project}-db-1  Removed\n Network {project}_default  Removed"
            ),
        );
        made.again();
    }
}

/// An answer is asked for by ever other paths, and none of them is in it.
fn filter_fits_nothing(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (host, what, wanted) = (made.word(), made.word(), made.word());
    let url = format!("https://api.{host}.example/v1/{what}");
    for round in 0..ROUNDS {
        let (one, two) = (made.word(), made.word());
        let (filter, code, printed) = match round % 5 {
            0 => (format!(".{wanted}"), 0, "null".to_owned()),
            1 => (
                format!(".data.{wanted}[] | .{one}"),
                5,
                "jq: error (at <stdin>:0): Cannot iterate over null (null)".to_owned(),
            ),
            2 => (format!(".{one}.{wanted}"), 0, "null".to_owned()),
            3 => (format!(".{one}[0].{two}.{wanted}"), 0, "null".to_owned()),
            _ => (
                format!(".items[] | select(.{one} == \"{wanted}\")"),
                5,
                "jq: error (at <stdin>:0): Cannot iterate over null (null)".to_owned(),
            ),
        };
        let quiet = ["-s", "-sS", "-sL"][made.below(3)];
        terminal(
            made,
            style,
            &format!("curl {quiet} {url} | jq '{filter}'"),
            code,
            &printed,
        );
        made.again();
    }
}

/// What mends one of two type errors brings back the other; the lines move with each edit.
fn two_type_errors(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (file, name, kind) = (
        format!("src/{}/{}.ts", made.word(), made.word()),
        made.word(),
        made.word(),
    );
    let types = [
        format!("TS2322: Type '{kind} | undefined' is not assignable to type '{kind}'."),
        format!(
            "TS2345: Argument of type '{kind}' is not assignable to parameter of type '{name}'."
        ),
    ];
    for round in 0..ROUNDS {
        for error in &types {
            let (line, column) = (made.between(20, 140), made.between(3, 40));
            let edit = match made.below(3) {
                0 => format!("sed -i '{line}s/{name}/{name}!/' {file}"),
                1 => format!("sed -i '{line}s/: {kind}/?: {kind}/' {file}"),
                _ => format!(
                    "python3 - <<'PY'\np = '{file}'\ns = open(p).read()\ns = s.replace('{name} as {kind}', '{name}', {round})\nopen(p, 'w').write(s)\nPY"
                ),
            };
            terminal(made, style, &edit, 0, "");
            terminal(
                made,
                style,
                "npx tsc --noEmit",
                2,
                &format!("{file}({line},{column}): error {error}"),
            );
        }
        made.again();
    }
}

/// A pod that waits for a node is looked at in all ways, taken away and made again.
fn no_node(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (space, app) = (made.word(), made.word());
    let nodes = made.between(3, 6);
    for round in 0..ROUNDS {
        let (age, times) = (made.between(10, 900), made.between(1, 30));
        let (command, printed) = match round % 5 {
            0 => (
                format!("kubectl get pods -n {space}"),
                format!(
                    "NAME    READY   STATUS    RESTARTS   AGE\n{app}-0   0/1     Pending   0          {age}s"
                ),
            ),
            1 => (
                format!("kubectl describe pod {app}-0 -n {space} | tail -4"),
                format!(
                    "Events:\n  Type     Reason            Age                From               Message\n  Warning  FailedScheduling  {age}s (x{times} over {age}s)  default-scheduler  0/{nodes} nodes are available: {nodes} Insufficient memory."
                ),
            ),
            2 => (
                format!(
                    "kubectl get events -n {space} --field-selector involvedObject.name={app}-0"
                ),
                format!(
                    "LAST SEEN   TYPE      REASON             OBJECT       MESSAGE\n{age}s        Warning   FailedScheduling   pod/{app}-0   0/{nodes} nodes are available: {nodes} Insufficient memory."
                ),
            ),
            3 => (
                format!("kubectl get pod {app}-0 -n {space} -o jsonpath='{{.status.phase}}'"),
                "Pending".to_owned(),
            ),
            _ => (
                format!("kubectl get pods -n {space} -o wide"),
                format!(
                    "NAME    READY   STATUS    RESTARTS   AGE   IP       NODE     NOMINATED NODE\n{app}-0   0/1     Pending   0          {age}s   <none>   <none>   <none>"
                ),
            ),
        };
        terminal(made, style, &command, 0, &printed);
        if round % 2 == 1 {
            terminal(
                made,
                style,
                &format!(
                    "kubectl delete pod {app}-0 -n {space} && kubectl apply -f {app}.yaml -n {space}"
                ),
                0,
                &format!("pod \"{app}-0\" deleted\nstatefulset.apps/{app} configured"),
            );
        }
        made.again();
    }
}

/// A commit is amended and pushed, and the hook of the other side finds the same fault.
fn hook_refuses(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (branch, host, file) = (made.words(2).replace(' ', "-"), made.word(), made.file());
    let rule = made.pick(&["E501 line too long", "F401 unused import", "secret found"]);
    for round in 0..ROUNDS {
        let (id, objects) = (made.hex()[..7].to_owned(), made.between(5, 60));
        let title = made.words(3);
        let commit = match round % 3 {
            0 => "git commit -a --amend --no-edit".to_owned(),
            1 => format!("git add -A && git commit -m '{title}'"),
            _ => format!("git commit --amend -m '{title}'"),
        };
        terminal(
            made,
            style,
            &commit,
            0,
            &format!("[{branch} {id}] {title}\n 1 file changed, 1 insertion(+), 1 deletion(-)"),
        );
        let push = [
            format!("git push origin {branch}"),
            format!("git push -u origin {branch}"),
            format!("git push --force-with-lease origin {branch}"),
        ];
        let speed = made.between(100, 4_000);
        terminal(
            made,
            style,
            &push[round % 3],
            1,
            &format!(
                "Enumerating objects: {objects}, done.\nCounting objects: 100% ({objects}/{objects}), done.\nWriting objects: 100% ({objects}/{objects}), 1.2 KiB | {speed} KiB/s, done.\nremote: checking {id}\nremote: {file}: {rule}\nTo git@git.{host}.example:app.git\n ! [remote rejected] {branch} -> {branch} (pre-receive hook declined)\nerror: failed to push some refs to 'git@git.{host}.example:app.git'"
            ),
        );
        made.again();
    }
}

fn slots(made: &mut Made) -> Vec<String> {
    let day = made.between(10, 27);
    (0..3)
        .map(|place| format!("2026-12-{day}T{:02}:00", 9 + 2 * place))
        .collect()
}

/// Free hours are asked for, one is booked, and is taken; the same hours are free again.
fn always_taken(made: &mut Made) {
    made.begin(4);
    let (calendar, hours) = (format!("{}@firm.example", made.word()), slots(made));
    for round in 0..ROUNDS {
        let minutes = [30, 45, 60][round % 3];
        let wish = json!({"calendar": calendar, "from": "2026-12-10", "to": "2026-12-27", "minutes": minutes});
        made.call("find_free_slots", wish, json!({"slots": hours}));
        let hour = &hours[made.below(3)];
        let title = made.words(2);
        made.fails(
            "create_event",
            json!({"calendar": calendar, "start": hour, "title": title}),
            &format!("Conflict: {calendar} is busy at {hour}"),
        );
        made.again();
    }
}

/// A chart is drawn by ever other code; whoever looks at it finds the same fault.
fn labels_overlap(made: &mut Made) {
    made.begin(6);
    let (column, path) = (made.word(), format!("/tmp/{}.png", made.word()));
    let verdicts = [
        "The labels on the x axis overlap and cannot be read.",
        "Labels of the x axis still overlap; they cannot be read.",
        "The x axis labels overlap each other, so they are not readable.",
    ];
    for _ in 0..ROUNDS {
        let (turn, size, width) = (
            made.between(0, 90),
            made.between(6, 14),
            made.between(6, 16),
        );
        let bytes = made.between(20_000, 90_000);
        made.call(
            "run_python",
            json!({"code": format!("fig, ax = plt.subplots(figsize=({width}, 6))\ndf['{column}'].value_counts().plot.bar(ax=ax)\nplt.xticks(rotation={turn}, fontsize={size})\nplt.savefig('{path}')")}),
            format!("saved {path} ({bytes} bytes)"),
        );
        let verdict = made.pick(&verdicts);
        made.call(
            "look_at_image",
            json!({"path": path, "question": "Is the chart readable?"}),
            verdict,
        );
        made.again();
    }
}

fn flights(made: &mut Made, day: usize, base: &[usize]) -> Value {
    let mut price = |base: &usize| base + made.below(9);
    let flights: Vec<_> = base
        .iter()
        .enumerate()
        .map(|(place, base)| json!({"flight": format!("LX{}", 100 + place + day), "price": price(base)}))
        .collect();
    json!({"date": format!("2026-12-{day:02}"), "flights": flights})
}

/// Fares of the same five days are asked for again and again; they move by a few coins.
fn five_days(made: &mut Made) {
    made.begin(4);
    let (from, to) = (made.word(), made.word());
    let first = made.between(3, 20);
    let base: Vec<_> = (0..3).map(|_| made.between(120, 600)).collect();
    for _ in 0..ROUNDS {
        for day in first..first + 5 {
            let found = flights(made, day, &base);
            made.call(
                "search_flights",
                json!({"from": from, "to": to, "date": format!("2026-12-{day:02}"), "adults": 1}),
                found,
            );
        }
        made.again();
    }
}

/// A task is marked as done, and stands among the open ones whenever they are listed.
fn still_open(made: &mut Made) {
    made.begin(6);
    let ids: Vec<_> = (0..4).map(|_| made.between(1_000, 9_999)).collect();
    let open: Vec<_> = ids
        .iter()
        .map(|id| json!({"id": id, "title": made.words(3), "state": "open"}))
        .collect();
    for _ in 0..ROUNDS {
        let note = made.words(3);
        made.call(
            "complete_task",
            json!({"id": ids[0], "note": note}),
            json!({"ok": true}),
        );
        made.call(
            "list_tasks",
            json!({"state": "open"}),
            json!({"tasks": open}),
        );
        made.again();
    }
}

/// One revision after the other; some stumble over what is in the tables, which is mended.
fn migrations(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let mut from = revision(made);
    for _ in 0..made.between(9, 14) {
        let (to, title, table) = (revision(made), made.words(2), made.word());
        let told =
            format!("INFO  [alembic.runtime.migration] Running upgrade {from} -> {to}, {title}");
        if made.chance(30) {
            let line = made.between(12, 40);
            terminal(
                made,
                style,
                "alembic upgrade +1",
                1,
                &format!(
                    "{told}\nTraceback (most recent call last):\n  File \"/workspace/app/migrations/versions/{to}.py\", line {line}, in upgrade\nsqlalchemy.exc.IntegrityError: (psycopg2.errors.NotNullViolation) column \"{table}\" contains null values"
                ),
            );
            let rows = made.between(1, 400);
            terminal(
                made,
                style,
                &format!("psql app -c \"update items set {table} = '' where {table} is null\""),
                0,
                &format!("UPDATE {rows}"),
            );
        }
        terminal(made, style, "alembic upgrade +1", 0, &told);
        if made.chance(50) {
            terminal(made, style, "alembic current", 0, &to);
        }
        from = to;
    }
}

fn services_up(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let project = made.word();
    let count = made.between(8, 12);
    for service in made.some_words(count) {
        terminal(
            made,
            style,
            &format!("docker compose up -d {service}"),
            0,
            &format!(" Container {project}-{service}-1  Started"),
        );
        for look in 0..made.between(1, 3) {
            made.pause(8);
            let health = if look == 0 { "starting" } else { "healthy" };
            terminal(
                made,
                style,
                &format!("docker compose ps {service} --format '{{{{.Health}}}}'"),
                0,
                health,
            );
        }
        if made.chance(50) {
            let at = made.time();
            terminal(
                made,
                style,
                &format!("docker compose logs --tail=5 {service}"),
                0,
                &format!("{service}-1  | {at} listening on 0.0.0.0:8080"),
            );
        }
    }
}

/// One field of the answers about many things; nearly all of them say the same.
fn one_field(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let host = made.word();
    let field = made.pick(&[".status", ".owner.team", ".archived"]);
    let usual = match field {
        ".status" => "\"active\"",
        ".archived" => "false",
        _ => "\"platform\"",
    };
    for _ in 0..made.between(16, 26) {
        let id = format!("{}-{}", made.word(), made.word());
        let printed = if made.chance(12) { "null" } else { usual };
        terminal(
            made,
            style,
            &format!("curl -s https://api.{host}.example/v1/services/{id} | jq '{field}'"),
            0,
            printed,
        );
    }
}

/// The compiler's errors become fewer, with a new one now and then; the edits print nothing.
fn type_errors(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let mut left = made.between(8, 14);
    while left > 0 {
        let file = format!("src/{}/{}.ts", made.word(), made.word());
        let (line, column) = (made.between(2, 300), made.between(3, 60));
        let (name, kind, other) = (made.word(), made.word(), made.word());
        let words = made.words(3);
        terminal(
            made,
            style,
            "npx tsc --noEmit 2>&1 | tail -3",
            0,
            &format!(
                "{file}({line},{column}): error TS2339: Property '{name}' does not exist on type '{kind}'.\n\nFound {left} errors."
            ),
        );
        terminal(
            made,
            style,
            &format!("sed -n '{},{}p' {file}", line.max(4) - 3, line + 3),
            0,
            &format!("  const {name} = {kind}.{name}\n  return {words}"),
        );
        terminal(
            made,
            style,
            &format!("sed -i '{line}s/{name}/{other}/' {file}"),
            0,
            "",
        );
        if !made.chance(15) {
            left -= 1;
        }
    }
    terminal(made, style, "npx tsc --noEmit 2>&1 | tail -3", 0, "");
}

/// A mended fault is brought to many branches; on some it conflicts, on one it is there.
fn ten_branches(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let (id, file, title) = (made.hex()[..9].to_owned(), made.file(), made.words(4));
    let host = made.word();
    for minor in 0..made.between(8, 12) {
        let branch = format!("release-2.{minor}");
        terminal(
            made,
            style,
            &format!("git checkout -q {branch} && git cherry-pick -x {id}"),
            0,
            "",
        );
        if made.chance(30) {
            let picked = made.hex()[..9].to_owned();
            terminal(made, style, "git status --short", 0, &format!("UU {file}"));
            terminal(
                made,
                style,
                &format!(
                    "git checkout --theirs {file} && git add {file} && git -c core.editor=true cherry-pick --continue"
                ),
                0,
                &format!("[{branch} {picked}] {title}\n 1 file changed, 2 insertions(+)"),
            );
        }
        let seconds = made.between(80, 300) as f64 / 10.0;
        terminal(
            made,
            style,
            "make test 2>&1 | tail -1",
            0,
            &format!("214 passed in {seconds}s"),
        );
        terminal(
            made,
            style,
            &format!("git push -q origin {branch}"),
            0,
            &format!(
                "remote: Resolving deltas: 100% (3/3), completed with 3 local objects.\nTo git@git.{host}.example:app.git"
            ),
        );
    }
}

/// How often does a test fail? It is run under one seed after the other.
fn many_seeds(made: &mut Made) {
    made.begin(4);
    let style = made.below(4);
    let (file, name) = (made.word(), made.word());
    let first = made.between(1, 900);
    for seed in first..first + made.between(14, 24) {
        let took = made.between(100, 900) as f64 / 100.0;
        let fails = made.chance(20);
        let printed = if fails {
            format!(
                "FAILED tests/test_{file}.py::test_{name} - TimeoutError: no answer within 5 s\n1 failed in {took:.2}s"
            )
        } else {
            format!("1 passed in {took:.2}s")
        };
        terminal(
            made,
            style,
            &format!(
                "pytest -q -p randomly -p 'no:cacheprovider' --randomly-seed={seed} tests/test_{file}.py::test_{name} | tail -2"
            ),
            0,
            &printed,
        );
    }
}

fn twelve_hours(made: &mut Made) {
    made.begin(2);
    let own = format!("{}@firm.example", made.word());
    for name in made.some_words(12) {
        let hours = slots(made);
        let both = [own.clone(), format!("{name}@firm.example")];
        made.call(
            "find_free_slots",
            json!({"calendars": both, "from": "2026-12-10", "to": "2026-12-27", "minutes": 30}),
            json!({"slots": hours}),
        );
        for hour in &hours {
            let event = json!({"calendars": both, "start": hour, "title": format!("Interview with {name}")});
            if made.chance(25) {
                made.fails(
                    "create_event",
                    event,
                    &format!("Conflict: {own} is busy at {hour}"),
                );
            } else {
                made.call("create_event", event, json!({"status": "confirmed"}));
                break;
            }
        }
    }
}

fn chart_by_town(made: &mut Made) {
    made.begin(4);
    let column = made.word();
    let count = made.between(10, 16);
    for town in made.some_words(count) {
        let bytes = made.between(20_000, 90_000);
        let code = |width: usize| {
            format!(
                "fig, ax = plt.subplots(figsize=({width}, 6))\ndf[df.town == '{town}']['{column}'].plot(ax=ax, title='{town}')\nplt.savefig('/tmp/{town}.png')"
            )
        };
        let question =
            json!({"path": format!("/tmp/{town}.png"), "question": "Is the chart readable?"});
        made.call(
            "run_python",
            json!({"code": code(8)}),
            format!("saved /tmp/{town}.png ({bytes} bytes)"),
        );
        if made.chance(25) {
            made.call("look_at_image", question.clone(), "The labels overlap.");
            made.call(
                "run_python",
                json!({"code": code(14)}),
                format!("saved /tmp/{town}.png ({} bytes)", bytes + 9_000),
            );
        }
        made.call("look_at_image", question, "The chart is readable.");
    }
}

/// Fares day by day, none on some, and the cheapest day once more at the end.
fn each_day(made: &mut Made) {
    made.begin(2);
    let (from, to) = (made.word(), made.word());
    let base: Vec<_> = (0..2).map(|_| made.between(120, 600)).collect();
    let last = made.between(18, 30);
    for day in (1..=last).chain([last / 2]) {
        let found = if made.chance(25) {
            json!({"date": format!("2026-12-{day:02}"), "flights": []})
        } else {
            flights(made, day, &base)
        };
        made.call(
            "search_flights",
            json!({"from": from, "to": to, "date": format!("2026-12-{day:02}"), "adults": 1}),
            found,
        );
    }
}

fn shelves_counted(made: &mut Made) {
    made.begin(2);
    let hall = made.pick(&["A", "B", "C"]);
    let is_moved = made.chance(50);
    for row in 1..=made.between(4, 6) {
        for place in 1..=5 {
            let shelf = format!("{hall}-{row:02}-{place:02}");
            if is_moved {
                made.call(
                    "drive_to",
                    json!({"shelf": shelf}),
                    json!({"arrived": true}),
                );
            }
            let count = if made.chance(25) {
                made.between(1, 40)
            } else {
                0
            };
            made.call(
                "count_items",
                json!({"shelf": shelf}),
                json!({"count": count}),
            );
        }
    }
    made.says("All shelves of the hall are counted.");
}
