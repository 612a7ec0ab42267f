//! What is tried out and taken back, what is counted beside a thought, and what says the same in another spelling: a zone, the
//! name of an operation, the number of a task, a fault's place; loops that this must not hide, and work that looks like them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    (
        "fixes: taken back, and the same test fails",
        8,
        fixes_taken_back,
    ),
    ("thoughts: one, under the next number", 6, one_thought),
    (
        "faults: the same after each edit, as objects",
        7,
        same_faults,
    ),
    ("calendar: one day in other zones", 7, other_zones),
    (
        "cloud: refused, whatever the operation",
        7,
        operations_refused,
    ),
    ("cluster: one error in whichever task", 6, error_in_tasks),
    ("feed: no hits for any wording", 6, feed_without_hits),
    ("caller: asked, and never verified", 6, never_verified),
];

pub(super) const WORK: &[Work] = &[
    ("mutants: killed, and green between", mutants_killed),
    ("mutants: taken back, some survive", mutants_survive),
    ("thoughts: another under each number", other_thoughts),
    ("pages: by number, others on each", numbered_pages),
    ("faults: mended one by one, as objects", faults_mended),
    ("calendars: each person in a zone", zones_of_people),
    ("cloud: operations, some refused", operations_checked),
    ("cluster: another error in each stage", errors_in_stages),
    ("feeds: some without hits", feeds_with_hits),
    ("callers: verified or not", callers_verified),
];

const ROUNDS: usize = 12;

/// The tool of an editor: what it is asked, and what it answers.
fn edit(made: &mut Made, style: usize, file: &str, old: &str, new: &str) {
    match style {
        0 => made.call(
            "Edit",
            json!({"file_path": file, "old_string": old, "new_string": new}),
            format!("The file {file} has been updated."),
        ),
        1 => made.call("edit", json!({"path": file, "old": old, "new": new}), "ok"),
        _ => made.sh(&format!("sed -i 's/{old}/{new}/' {file}"), ""),
    }
}

const TESTS: [&str; 4] = [
    "pytest -q | tail -1",
    "cargo test",
    "npm test",
    "go test ./...",
];

/// Tests of which one fails, and the same tests when they pass.
fn tests(made: &mut Made, command: &str, fails: bool) {
    let seconds = made.between(30, 60);
    if fails {
        let error = format!("1 failed, 40 passed in 0.{seconds}s");
        made.fails("bash", json!({"command": command}), &error);
    } else {
        made.sh(command, &format!("41 passed in 0.{seconds}s"));
    }
}

fn fixes_taken_back(made: &mut Made) {
    made.begin(6);
    let (file, test, style) = (made.file(), made.pick(&TESTS), made.below(3));
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(3), made.words(3));
        edit(made, style, &file, &old, &new);
        tests(made, test, true);
        made.sh(&format!("git checkout {file}"), "");
        made.again();
    }
}

fn mutants_killed(made: &mut Made) {
    made.begin(6);
    let (file, test, style) = (made.file(), made.pick(&TESTS), made.below(3));
    let by_editor = made.chance(30);
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(3), made.words(3));
        edit(made, style, &file, &old, &new);
        tests(made, test, true);
        if by_editor {
            edit(made, style, &file, &new, &old);
        } else {
            made.sh(&format!("git checkout -q {file}"), "");
        }
        tests(made, test, false);
    }
}

fn mutants_survive(made: &mut Made) {
    made.begin(6);
    let (file, test, style) = (made.file(), made.pick(&TESTS), made.below(3));
    for nth in 0..ROUNDS {
        let (old, new) = (made.words(3), made.words(3));
        edit(made, style, &file, &old, &new);
        let survives = nth % 4 == 3 || made.chance(20);
        tests(made, test, !survives);
        made.sh(
            &format!("git checkout {file}"),
            "Updated 1 path from the index",
        );
    }
}

const TOOLS: [&str; 3] = [
    "sequentialthinking",
    "mcp__thinking__sequentialthinking",
    "sequential_thinking",
];

/// A thought with its number, and the answer to it.
fn think(made: &mut Made, style: usize, thought: &str, number: usize) {
    let total = if style == 0 { ROUNDS } else { number + 2 };
    let asked = json!({
        "thought": thought, "thoughtNumber": number, "totalThoughts": total, "nextThoughtNeeded": true,
    });
    let answer = json!({
        "thoughtNumber": number, "totalThoughts": total, "nextThoughtNeeded": true, "branches": [],
        "thoughtHistoryLength": number,
    });
    let answer = match style {
        2 => json!(format!("{answer:#}")),
        _ => answer,
    };
    made.call(TOOLS[style], asked, answer);
}

fn one_thought(made: &mut Made) {
    made.begin(6);
    let style = made.below(3);
    let thought = format!("I should look at the {} to find the cause.", made.words(3));
    for nth in 0..ROUNDS {
        think(made, style, &thought, nth + 1);
        made.again();
    }
}

fn other_thoughts(made: &mut Made) {
    made.begin(6);
    let style = made.below(3);
    for nth in 0..ROUNDS {
        let (first, second) = (made.words(5), made.words(4));
        think(
            made,
            style,
            &format!("Because of the {first}, what is asked for is {second}."),
            nth + 1,
        );
    }
}

fn numbered_pages(made: &mut Made) {
    made.begin(4);
    let words = made.words(2);
    for nth in 1..=ROUNDS {
        let hits = [made.words(4), made.words(4)];
        made.call(
            "search_notes",
            json!({"query": words, "page": nth}),
            json!({"page": nth, "notes": hits}),
        );
    }
}

/// Faults as a server of languages tells them.
fn faults(lines: &[(usize, String)]) -> Value {
    let fault = |(line, message): &(usize, String)| {
        json!({
            "range": {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 9}},
            "severity": 1, "source": "ts", "code": 2353, "message": message,
        })
    };
    lines.iter().map(fault).collect()
}

fn same_faults(made: &mut Made) {
    made.begin(6);
    let (file, name) = (made.file(), made.word());
    let message = format!("'{name}' does not exist in type 'Options'.");
    for _ in 0..ROUNDS {
        let (old, new, line) = (made.words(3), made.words(4), made.between(10, 40));
        edit(made, 1, &file, &old, &new);
        made.call(
            "get_diagnostics",
            json!({"uri": format!("file:///w/{file}")}),
            faults(&[(line, message.clone())]),
        );
        made.again();
    }
}

fn faults_mended(made: &mut Made) {
    made.begin(6);
    let file = made.file();
    let mut left: Vec<_> = made
        .some_words(ROUNDS)
        .into_iter()
        .map(|name| (made.between(10, 400), format!("'{name}' is not defined.")))
        .collect();
    while left.pop().is_some() {
        let (old, new) = (made.words(3), made.words(4));
        edit(made, 1, &file, &old, &new);
        made.call(
            "get_diagnostics",
            json!({"uri": format!("file:///w/{file}")}),
            faults(&left),
        );
    }
}

const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Etc/UTC",
    "America/New_York",
    "GMT",
    "CET",
    "Asia/Tokyo",
];

fn busy(made: &mut Made, name: &str, zone: &str, busy: &Value) {
    made.call(
        "calendar_free_busy",
        json!({"calendar": name, "day": "2026-11-18", "timeZone": zone}),
        json!({"busy": busy, "note": "what is busy in this calendar on the day that was asked for"}),
    );
}

fn other_zones(made: &mut Made) {
    made.begin(6);
    let name = made.word();
    let hours = [
        json!([]),
        json!([{"from": "2026-11-18T09:00:00Z", "to": "2026-11-18T17:00:00Z"}]),
    ][made.below(2)]
    .clone();
    for nth in 0..ROUNDS {
        busy(made, name, ZONES[nth % ZONES.len()], &hours);
        made.again();
    }
}

fn zones_of_people(made: &mut Made) {
    made.begin(6);
    let by_mail = made.chance(50);
    for name in made.some_words(ROUNDS) {
        let (zone, hour) = (made.pick(&ZONES), made.between(10, 18));
        let hours =
            json!([{"from": format!("2026-11-18T{hour}:00:00Z"), "to": "2026-11-18T19:00:00Z"}]);
        let name = if by_mail {
            format!("{name}@example.com")
        } else {
            name.to_owned()
        };
        busy(made, &name, zone, &hours);
    }
}

/// Operations of a service, as a command spells them and as an error does.
const OPERATIONS: [(&str, &str); 12] = [
    ("describe-tags", "DescribeTags"),
    ("describe-instances", "DescribeInstances"),
    ("get-caller-identity", "GetCallerIdentity"),
    ("list-users", "ListUsers"),
    ("list-roles", "ListRoles"),
    ("describe-vpcs", "DescribeVpcs"),
    ("list-clusters", "ListClusters"),
    ("list-queues", "ListQueues"),
    ("get-resources", "GetResources"),
    ("list-buckets", "ListBuckets"),
    ("describe-volumes", "DescribeVolumes"),
    ("list-topics", "ListTopics"),
];

fn operations_refused(made: &mut Made) {
    made.begin(6);
    let offset = made.below(OPERATIONS.len());
    for nth in 0..ROUNDS {
        let (command, operation) = OPERATIONS[(offset + nth * 5) % OPERATIONS.len()];
        let error = format!(
            "An error occurred (ExpiredToken) when calling the {operation} operation: The token in the request is expired"
        );
        made.fails(
            "bash",
            json!({"command": format!("cloud {command}")}),
            &error,
        );
        made.again();
    }
}

fn operations_checked(made: &mut Made) {
    made.begin(6);
    for (nth, (command, operation)) in OPERATIONS.into_iter().enumerate() {
        let input = json!({"command": format!("cloud {command}")});
        if nth % 3 == 1 {
            let error = format!(
                "An error occurred (AccessDenied) when calling the {operation} operation: not allowed for this role"
            );
            made.fails("bash", input, &error);
        } else {
            let found = made.words(4);
            made.call("bash", input, json!([found]));
        }
    }
}

fn task_fails(made: &mut Made, command: &str, stage: usize, error: &str) {
    let (task, tid) = (made.between(0, 199), made.between(200, 999));
    let error = format!(
        "ERROR Executor: Exception in task {task}.0 in stage {stage}.0 (TID {tid})\n{error}\n\tat app.Job$.run(Job.scala:88)\n[exit code: 1]"
    );
    made.fails("bash", json!({"command": command}), &error);
}

fn error_in_tasks(made: &mut Made) {
    made.begin(6);
    let job = made.word();
    for nth in 0..ROUNDS {
        let memory = 4 + 2 * nth;
        task_fails(
            made,
            &format!("submit --driver-memory {memory}g {job}.py"),
            3,
            "java.lang.OutOfMemoryError: Java heap space",
        );
        made.again();
    }
}

fn errors_in_stages(made: &mut Made) {
    made.begin(6);
    let (job, file) = (made.word(), made.file());
    for (nth, thing) in made.some_words(8).into_iter().enumerate() {
        let error = [
            format!("KeyError: the column {thing} is not in the table"),
            format!("TypeError: {thing} cannot be added to a text"),
            format!("ValueError: {thing} is no date"),
        ][nth % 3]
            .clone();
        task_fails(made, &format!("submit {job}.py"), nth, &error);
        let (old, new) = (made.words(3), made.words(3));
        edit(made, 1, &file, &old, &new);
    }
    made.sh(&format!("submit {job}.py"), "all 9 stages are done");
}

fn feed(made: &mut Made, query: &str, hits: &[String]) {
    let (time, id) = (made.time(), made.hex());
    let entry = |hit: &String| format!("<entry><title>{hit}</title></entry>");
    let entries: Vec<_> = hits.iter().map(entry).collect();
    made.call(
        "query_papers",
        json!({"search_query": query}),
        format!(
            "<feed><updated>{time}</updated><id>http://papers.example/api/{}</id><opensearch:totalResults>{}</opensearch:totalResults>{}</feed>",
            &id[..8],
            hits.len(),
            entries.concat()
        ),
    );
}

fn feed_without_hits(made: &mut Made) {
    made.begin(6);
    let (first, second) = (made.word(), made.word());
    for _ in 0..ROUNDS {
        let query = match made.below(4) {
            0 => format!("{first} {second}"),
            1 => format!("{second} of the {first} {}", made.word()),
            2 => format!("all:{first} AND all:{second} {}", made.word()),
            _ => format!("{first} {second} {}", made.word()),
        };
        feed(made, &query, &[]);
        made.again();
    }
}

fn feeds_with_hits(made: &mut Made) {
    made.begin(6);
    for nth in 0..ROUNDS {
        let query = made.words(3);
        let hits = if nth % 3 == 1 {
            Vec::new()
        } else {
            vec![made.words(5), made.words(5)]
        };
        feed(made, &query, &hits);
    }
}

fn verify(made: &mut Made, born: &str, answer: Value) {
    made.says("Please tell me your date of birth, so that I can verify you.");
    made.user();
    made.call("verify_caller", json!({"born": born}), answer);
}

fn never_verified(made: &mut Made) {
    made.begin(6);
    let day = made.between(10, 28);
    let reason = made.pick(&["account_locked", "no_match", "too many tries"]);
    for _ in 0..ROUNDS {
        verify(
            made,
            &format!("1981-05-{day}"),
            json!({"verified": false, "reason": reason}),
        );
        made.again();
    }
}

fn callers_verified(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (day, month, year) = (
            made.between(10, 28),
            made.between(1, 9),
            made.between(50, 99),
        );
        let answer = if made.chance(40) {
            json!({"verified": false, "reason": "no_match"})
        } else {
            json!({"verified": true, "customer": format!("C-{}", made.between(100, 999))})
        };
        verify(made, &format!("19{year}-0{month}-{day}"), answer);
    }
}
