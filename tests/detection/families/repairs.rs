//! Agents that mend, measure and run software: in an editor, in a shell, at a cluster and over tables; loops, and work that looks
//! like them, of twenty to sixty calls. Written before it was measured what is found of them.

use std::fmt::Write as _;

use serde_json::json;

use super::benches::shell;
use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("pipeline: asked for by ever new run ids", 6, run_ids),
    ("editor: changed and put back, amid looks", 6, put_back),
    ("cache: an address with a new number", 6, cache_buster),
    ("job: still queued, whatever its address", 7, still_queued),
    ("release: another operation is in progress", 6, in_progress),
    ("image: one step of the build fails", 6, step_fails),
    ("registry: no such version, whichever", 6, no_such_version),
    ("table: a column that is not there", 6, no_such_name),
];

pub(super) const WORK: &[Work] = &[
    ("editor: one file changed fifteen times", fifteen_edits),
    ("editor: read again after each change", read_after_edit),
    ("tests: fewer fail, with plateaus", plateaus),
    ("debugger: one error, other prints", other_prints),
    ("style: tried out, measured, taken back", tried_out),
    ("speed: measured after each change", speed_measured),
    ("training: a rate is tuned, slowly better", rate_tuned),
    ("variants: two compared case by case", two_variants),
    ("history: commit after commit is shown", history_shown),
    ("name: replaced until none is left", name_replaced),
    ("interface: guessed until it is found", interface_guessed),
    ("hosts: each is started anew and checked", hosts_restarted),
    ("cluster: looked at while it rolls out", rollout_watched),
    ("upload: some parts need a second try", parts_uploaded),
    ("columns: blanks counted in each", blanks_counted),
    ("columns: grouped by each", grouped_by),
    ("render: stage after stage", stages),
    ("test: run until it fails, then mended", flaky_hunted),
];

const ROUNDS: usize = 10;

fn run_id(made: &mut Made) -> usize {
    made.between(10_000_000_000, 19_999_999_999)
}

/// A change is pushed, the newest run is looked up and asked for; it fails in the same way, under another id each time.
fn run_ids(made: &mut Made) {
    made.begin(8);
    let (test, style) = (made.file(), made.below(4));
    for _ in 0..ROUNDS {
        let (words, id, file) = (made.words(3), run_id(made), made.file());
        let commit = made.hex()[..7].to_owned();
        shell(
            made,
            style,
            &format!("git commit -am '{words}' && git push"),
            0,
            &format!(
                "[main {commit}] {words}\n 1 file changed, 2 insertions(+)\n   {commit}..main -> main"
            ),
        );
        shell(
            made,
            style,
            "gh run list --limit 1 --json databaseId,status",
            0,
            &json!([{"databaseId": id, "status": "completed"}]).to_string(),
        );
        let took = made.between(20, 90);
        shell(
            made,
            style,
            &format!("gh run view {id} --log-failed"),
            0,
            &format!(
                "unit\tRun tests\tFAIL {test}\nunit\tRun tests\tAssertionError: expected 200, got 500\nunit\tRun tests\tProcess completed with exit code 1 after {took}s"
            ),
        );
        if made.chance(50) {
            let (old, new) = (made.words(4), made.words(5));
            made.call(
                "edit_file",
                json!({"path": file, "old": old, "new": new}),
                "edited",
            );
        }
        made.again();
    }
}

/// One line is changed, put back, and changed again; in between it is looked around.
fn put_back(made: &mut Made) {
    made.begin(8);
    let (file, old, new) = (made.file(), made.words(5), made.words(5));
    let style = made.below(4);
    for _ in 0..ROUNDS {
        made.call(
            "str_replace",
            json!({"path": file, "old_str": old, "new_str": new}),
            "OK",
        );
        if made.chance(60) {
            let (word, other) = (made.word(), made.file());
            shell(
                made,
                style,
                &format!("grep -rn {word} {other}"),
                0,
                &format!("{other}:12: {word}"),
            );
        }
        made.call(
            "str_replace",
            json!({"path": file, "old_str": new, "new_str": old}),
            "OK",
        );
        made.again();
    }
}

fn cache_buster(made: &mut Made) {
    made.begin(8);
    let (host, words) = (made.word(), made.words(30));
    let style = made.below(3);
    for round in 0..ROUNDS {
        let stamp = made.between(1_795_000_000_000, 1_795_000_900_000);
        let url = match style {
            0 => format!("https://{host}.example/status?_={stamp}"),
            1 => format!("https://{host}.example/status?nocache={}", &made.hex()[..8]),
            _ => format!("https://{host}.example/status?v={round}&t={stamp}"),
        };
        made.call(
            "fetch_url",
            json!({"url": url}),
            json!({"url": url, "status": 200, "body": format!("Deploy pending. {words}")}),
        );
        made.again();
    }
}

/// A build is begun anew under a new id, its address is asked for twice, and it is never taken up.
fn still_queued(made: &mut Made) {
    made.begin(8);
    let (project, branch) = (made.word(), made.word());
    for _ in 0..ROUNDS {
        let id = made.hex();
        let id = format!(
            "{}-{}-4{}-8{}-{}",
            &id[..8],
            &id[8..12],
            &id[13..16],
            &id[17..20],
            &id[20..32]
        );
        made.call(
            "http_request",
            json!({"method": "POST", "url": format!("https://build.example/api/projects/{project}/builds"), "body": {"branch": branch}}),
            json!({"id": id, "state": "queued"}),
        );
        for _ in 0..2 {
            made.call(
                "http_request",
                json!({"method": "GET", "url": format!("https://build.example/api/builds/{id}")}),
                json!({"id": id, "state": "queued", "project": project, "branch": branch, "reason": "no agent with the label gpu is online"}),
            );
        }
        made.again();
    }
}

fn in_progress(made: &mut Made) {
    made.begin(8);
    let (app, style) = (made.word(), made.below(4));
    for round in 0..ROUNDS {
        let tag = format!("1.{}.{}", made.between(1, 9), made.between(0, 20));
        let extra = ["", " --wait", " --atomic", " --timeout 10m"][round % 4];
        shell(
            made,
            style,
            &format!("helm upgrade --install {app} ./chart --set image.tag={tag}{extra}"),
            1,
            "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress",
        );
        if made.chance(60) {
            let age = made.between(2, 59);
            shell(
                made,
                style,
                &format!("kubectl get pods -l app={app}"),
                0,
                &format!("NAME READY STATUS RESTARTS AGE\n{app}-0 1/1 Running 0 {age}m"),
            );
        }
        made.again();
    }
}

/// The image is built after each change of its recipe, and the same step fails, behind other lines of progress.
fn step_fails(made: &mut Made) {
    made.begin(8);
    let (app, library, style) = (made.word(), made.word(), made.below(4));
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(3), made.words(4));
        made.call(
            "edit_file",
            json!({"path": "Dockerfile", "old": format!("RUN {old}"), "new": format!("RUN {new}")}),
            "The file has been edited.",
        );
        let hash = made.hex();
        let mut lines = String::new();
        for step in 1..=6 {
            let (words, seconds, tenths) = (made.words(3), made.between(0, 9), made.between(0, 9));
            writeln!(
                lines,
                "#{step} [{step}/9] RUN {words}\n#{step} DONE {seconds}.{tenths}s"
            )
            .expect("written");
        }
        shell(
            made,
            style,
            &format!("docker build -t {app}:dev ."),
            1,
            &format!(
                "#0 building with \"default\" instance\n{lines}#9 sha256:{hash}\n#9 ERROR: process \"/bin/sh -c make install\" did not complete successfully: exit code: 2\n------\n > [7/9] RUN make install:\n/usr/bin/ld: cannot find -l{library}\n------\nERROR: failed to solve: process \"/bin/sh -c make install\" did not complete successfully: exit code: 2"
            ),
        );
        made.again();
    }
}

fn no_such_version(made: &mut Made) {
    made.begin(8);
    let (package, style) = (made.word(), made.below(4));
    for _ in 0..ROUNDS {
        let version = format!(
            "{}.{}.{}",
            made.between(0, 4),
            made.between(0, 30),
            made.between(0, 9)
        );
        shell(
            made,
            style,
            &format!("pip install {package}=={version}"),
            1,
            &format!(
                "ERROR: Could not find a version that satisfies the requirement {package}=={version} (from versions: none)\nERROR: No matching distribution found for {package}=={version}"
            ),
        );
        made.again();
    }
}

/// A column is asked for under ever other names, and the names are printed in between.
fn no_such_name(made: &mut Made) {
    made.begin(8);
    let columns = made.some_words(5);
    let listed = columns
        .iter()
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join(", ");
    for _ in 0..ROUNDS {
        let name = format!("{}_{}", made.word(), made.word());
        let by = made.pick(&["sum", "mean", "count"]);
        made.call(
            "python",
            json!({"code": format!("df.groupby('{name}').{by}()")}),
            format!("Traceback (most recent call last):\n  File \"<stdin>\", line 1, in <module>\n  File \"/usr/lib/python3/frame.py\", line 9183, in groupby\nKeyError: '{name}'"),
        );
        made.call(
            "python",
            json!({"code": "print(df.columns)"}),
            format!("Index([{listed}], dtype='object')"),
        );
        made.again();
    }
}

fn fifteen_edits(made: &mut Made) {
    made.begin(6);
    let (file, style) = (made.file(), made.below(3));
    for _ in 0..15 {
        let (old, new) = (made.words(6), made.words(8));
        let line = made.between(1, 400);
        let answer = match style {
            0 => "OK".to_owned(),
            1 => format!("The file {file} has been updated."),
            _ => format!("Edited {file}:\n{line}  {new}"),
        };
        made.call(
            "str_replace",
            json!({"path": file, "old_str": old, "new_str": new}),
            answer,
        );
        if made.chance(50) {
            let shown = made.words(25);
            made.call(
                "view",
                json!({"path": file, "range": [line, line + 20]}),
                shown,
            );
        }
    }
    made.sh("npm test", "Tests: 48 passed, 48 total");
}

fn read_after_edit(made: &mut Made) {
    made.begin(6);
    let file = made.file();
    let mut lines: Vec<String> = (0..12).map(|_| made.words(5)).collect();
    for _ in 0..12 {
        made.call("read_file", json!({"path": file}), lines.join("\n"));
        let place = made.below(lines.len());
        let new = made.words(6);
        made.call(
            "edit_file",
            json!({"path": file, "old": lines[place], "new": new}),
            "ok",
        );
        lines[place] = new;
        if made.chance(40) {
            made.sh("cargo check -q", "");
        }
    }
    made.call("read_file", json!({"path": file}), lines.join("\n"));
}

/// Tests are run after each change: fewer and fewer fail, but not each change mends one.
fn plateaus(made: &mut Made) {
    made.begin(6);
    let (style, all) = (made.below(4), made.between(60, 200));
    let mut names: Vec<String> = (0..made.between(6, 9))
        .map(|_| format!("test_{}_{}", made.word(), made.word()))
        .collect();
    while !names.is_empty() {
        for _ in 0..made.between(1, 3) {
            let (file, old, new) = (made.file(), made.words(4), made.words(5));
            made.call(
                "edit_file",
                json!({"path": file, "old": old, "new": new}),
                "edited",
            );
            let mut failed = String::new();
            for name in &names {
                writeln!(failed, "FAILED tests/all.py::{name} - AssertionError").expect("written");
            }
            let seconds = made.between(300, 900) as f64 / 100.0;
            let text = format!(
                "{failed}{} failed, {} passed in {seconds}s",
                names.len(),
                all - names.len()
            );
            shell(made, style, "pytest -q", 1, &text);
        }
        names.remove(0);
    }
    shell(
        made,
        style,
        "pytest -q",
        0,
        &format!("{all} passed in 4.02s"),
    );
}

/// One error is hunted: prints are put in other places, and what they show differs each time.
fn other_prints(made: &mut Made) {
    made.begin(6);
    let (file, script, style) = (made.file(), made.word(), made.below(4));
    for _ in 0..made.between(8, 12) {
        let (line, name, value) = (made.between(1, 300), made.word(), made.between(1, 9_999));
        made.call(
            "edit_file",
            json!({"path": file, "insert_line": line, "text": format!("print('{name}', {name})")}),
            "edited",
        );
        shell(
            made,
            style,
            &format!("python {script}.py"),
            1,
            &format!(
                "{name} {value}\nTraceback (most recent call last):\n  File \"{script}.py\", line {line}, in <module>\n    main()\nValueError: time data does not match format"
            ),
        );
    }
    made.call(
        "edit_file",
        json!({"path": file, "old": "%d/%m", "new": "%m/%d"}),
        "edited",
    );
    shell(
        made,
        style,
        &format!("python {script}.py"),
        0,
        "done, 812 rows",
    );
}

/// A rule of a style sheet is tried in several values, each measured and taken back, until one is kept.
fn tried_out(made: &mut Made) {
    made.begin(6);
    let (file, old) = (
        "styles/main.css",
        format!("padding: {}px", made.between(1, 9)),
    );
    for _ in 0..made.between(8, 12) {
        let new = format!(
            "padding: {}px {}px",
            made.between(10, 40),
            made.between(1, 90)
        );
        made.call(
            "str_replace",
            json!({"path": file, "old_str": old, "new_str": new}),
            "OK",
        );
        let (width, shift) = (
            made.between(300, 1_200),
            made.between(1, 400) as f64 / 1_000.0,
        );
        made.call(
            "measure_layout",
            json!({"selector": ".card"}),
            json!({"width": width, "layout_shift": shift}),
        );
        made.call(
            "str_replace",
            json!({"path": file, "old_str": new, "new_str": old}),
            "OK",
        );
    }
}

fn speed_measured(made: &mut Made) {
    made.begin(6);
    let style = made.below(4);
    let (bench, mut nanos) = (made.word(), 900.0);
    for _ in 0..made.between(10, 16) {
        let (file, old, new) = (made.file(), made.words(5), made.words(6));
        made.call(
            "edit_file",
            json!({"path": file, "old": old, "new": new}),
            "edited",
        );
        nanos *= 1.0 - made.between(0, 6) as f64 / 100.0;
        let shown = nanos + made.between(0, 20) as f64 - 10.0;
        let outliers = made.between(1, 12);
        shell(
            made,
            style,
            &format!("cargo bench --bench {bench}"),
            0,
            &format!(
                "{bench}/step              time:   [{:.2} ns {shown:.2} ns {:.2} ns]\nFound {outliers} outliers among 100 measurements",
                shown - 4.1,
                shown + 5.3
            ),
        );
    }
}

fn rate_tuned(made: &mut Made) {
    made.begin(6);
    let (style, mut loss) = (made.below(2), 0.4821);
    for _ in 0..made.between(18, 26) {
        let (rate, depth) = (made.between(1, 300) as f64 / 10_000.0, made.between(3, 12));
        loss -= made.between(0, 30) as f64 / 10_000.0;
        let shown = loss + made.between(0, 10) as f64 / 10_000.0;
        if style == 0 {
            made.call(
                "train_model",
                json!({"learning_rate": rate, "max_depth": depth, "seed": 42}),
                json!({"status": "finished", "val_loss": shown, "epochs": 20}),
            );
        } else {
            made.sh(
                &format!("python train.py --lr {rate} --depth {depth}"),
                &format!("epoch 20/20\nval_loss: {shown:.4}\nsaved to runs/latest"),
            );
        }
    }
}

/// Each case is given to two variants, and the answers are scored; most get the same marks.
fn two_variants(made: &mut Made) {
    made.begin(6);
    for case in 1..=made.between(10, 15) {
        let question = made.words(8);
        for variant in ["A", "B"] {
            let answer = made.words(14);
            made.call(
                "run_prompt",
                json!({"variant": variant, "case": case, "input": question}),
                json!({"output": answer}),
            );
            let mark = made.between(3, 5);
            made.call(
                "score",
                json!({"variant": variant, "case": case, "output": answer}),
                json!({"score": mark, "of": 5}),
            );
        }
    }
}

fn history_shown(made: &mut Made) {
    made.begin(6);
    let (style, file) = (made.below(4), made.file());
    let commits: Vec<_> = (0..20).map(|_| made.hex()[..8].to_owned()).collect();
    let listed = commits
        .iter()
        .map(|commit| format!("{commit} {}", made.words(4)))
        .collect::<Vec<_>>()
        .join("\n");
    shell(
        made,
        style,
        &format!("git log --oneline -- {file}"),
        0,
        &listed,
    );
    for commit in commits {
        let printed = if made.chance(60) {
            format!(
                "commit {}\n-{}\n+{}",
                made.hex(),
                made.words(5),
                made.words(5)
            )
        } else {
            String::new()
        };
        shell(
            made,
            style,
            &format!("git show {commit} -- {file} | grep -n retry_limit"),
            0,
            &printed,
        );
    }
}

fn name_replaced(made: &mut Made) {
    made.begin(6);
    let (style, old, new) = (made.below(4), made.word(), made.word());
    let mut left = made.between(30, 60);
    for _ in 0..made.between(12, 18) {
        let file = made.file();
        shell(
            made,
            style,
            &format!("sed -i 's/\\b{old}_id\\b/{new}_id/g' {file}"),
            0,
            "",
        );
        left -= made.between(0, 2);
        shell(
            made,
            style,
            &format!("grep -rn '{old}_id' src | wc -l"),
            0,
            &left.to_string(),
        );
    }
}

/// Addresses of an interface nobody described: most are not there, some are.
fn interface_guessed(made: &mut Made) {
    made.begin(6);
    let (host, style) = (made.word(), made.below(2));
    let names = made.some_words(14);
    for (round, name) in names.into_iter().enumerate() {
        let url = format!("https://{host}.example/api/v1/{name}");
        if round % 5 == 3 {
            let (id, word) = (made.between(1, 900), made.word());
            made.call(
                "http_get",
                json!({"url": url}),
                json!({"status": 200, "body": {name: [{"id": id, "name": word}]}}),
            );
        } else if style == 0 {
            made.call(
                "http_get",
                json!({"url": url}),
                json!({"status": 404, "body": {"detail": "Not Found"}}),
            );
        } else {
            made.fails(
                "http_get",
                json!({"url": url}),
                &format!("404 Client Error: Not Found for url: {url}"),
            );
        }
        if round % 4 == 2 {
            let (file, shown) = (made.file(), made.words(20));
            made.call("read_file", json!({"path": file}), shown);
        }
    }
}

fn hosts_restarted(made: &mut Made) {
    made.begin(6);
    let (style, app) = (made.below(4), made.word());
    for host in 1..=made.between(10, 15) {
        shell(
            made,
            style,
            &format!("ssh web-{host:02} sudo systemctl restart {app}"),
            0,
            "",
        );
        if made.chance(70) {
            shell(made, style, "sleep 5", 0, "");
        }
        shell(
            made,
            style,
            &format!("ssh web-{host:02} systemctl is-active {app}"),
            0,
            "active",
        );
        shell(
            made,
            style,
            &format!("curl -s -o /dev/null -w '%{{http_code}}' http://web-{host:02}:8080/healthz"),
            0,
            "200",
        );
    }
}

/// Pods are listed while they come up, one after the other; some looks show nothing new.
fn rollout_watched(made: &mut Made) {
    made.begin(6);
    let (app, style) = (made.word(), made.below(4));
    let all = made.between(6, 9);
    let mut ready = 0;
    let mut age = 3;
    while ready < all {
        let pods: String = (0..all)
            .map(|pod| {
                if pod < ready {
                    format!("{app}-{pod}   1/1   Running   0   {age}s\n")
                } else {
                    format!("{app}-{pod}   0/1   ContainerCreating   0   {age}s\n")
                }
            })
            .collect();
        shell(
            made,
            style,
            &format!("kubectl get pods -l app={app}"),
            0,
            &format!("NAME   READY   STATUS   RESTARTS   AGE\n{pods}"),
        );
        let wait = made.between(10, 20);
        made.pause(wait);
        age += wait;
        ready += usize::from(made.chance(60));
        if made.chance(25) {
            let pod = made.below(all);
            let line = made.words(7);
            shell(
                made,
                style,
                &format!("kubectl logs {app}-{pod} --tail 1"),
                0,
                &line,
            );
        }
    }
    shell(
        made,
        style,
        &format!("kubectl rollout status deploy/{app}"),
        0,
        &format!("deployment \"{app}\" successfully rolled out"),
    );
}

fn parts_uploaded(made: &mut Made) {
    made.begin(6);
    let (upload, error) = (
        made.hex()[..12].to_owned(),
        [
            "503 Service Unavailable",
            "Connection reset by peer",
            "checksum mismatch, send the part again",
        ][made.below(3)],
    );
    for part in 1..=made.between(18, 30) {
        while made.chance(30) {
            made.fails("upload_part", json!({"upload_id": upload, "part": part, "path": format!("/tmp/export.{part:03}")}), error);
        }
        let tag = made.hex();
        made.call(
            "upload_part",
            json!({"upload_id": upload, "part": part, "path": format!("/tmp/export.{part:03}")}),
            json!({"etag": tag}),
        );
    }
}

/// The blanks of each column are counted; most have none.
fn blanks_counted(made: &mut Made) {
    made.begin(6);
    let table = made.word();
    let (style, names) = (made.below(3), made.some_words(22));
    for name in names {
        let count = if made.chance(20) {
            made.between(1, 900)
        } else {
            0
        };
        let sql = format!("SELECT count(*) FROM {table} WHERE {name} IS NULL");
        match style {
            0 => made.call("run_query", json!({"sql": sql}), json!([{"count": count}])),
            1 => made.call(
                "query",
                json!({"statement": sql, "database": "warehouse"}),
                json!({"rows": [[count]], "row_count": 1}),
            ),
            _ => made.call(
                "python",
                json!({"code": format!("print(df['{name}'].isna().sum())")}),
                count.to_string(),
            ),
        }
    }
}

fn grouped_by(made: &mut Made) {
    made.begin(6);
    for name in made.some_words(16) {
        if made.chance(25) {
            made.fails(
                "python",
                json!({"code": format!("df.groupby('{name}').revenue.mean()")}),
                "TypeError: agg function failed [how->mean,dtype->object]",
            );
            made.call("python", json!({"code": format!("df['{name}'] = pd.to_numeric(df['{name}'], errors='coerce')")}), "");
        }
        let (first, second) = (made.between(100, 90_000), made.between(100, 90_000));
        made.call(
            "python",
            json!({"code": format!("df.groupby('{name}').revenue.mean()")}),
            format!("{name}\nno     {first}.25\nyes    {second}.75\nName: revenue, dtype: float64"),
        );
    }
}

/// A film is rendered: it is asked how far it is, which is told by the stage and sometimes by nothing more than before.
fn stages(made: &mut Made) {
    made.begin(6);
    let job = made.hex()[..10].to_owned();
    for stage in [
        "queued",
        "downloading",
        "decoding",
        "tracking",
        "compositing",
        "encoding",
        "muxing",
        "uploading",
    ] {
        for _ in 0..made.between(1, 3) {
            made.call(
                "get_render",
                json!({"job_id": job}),
                json!({"job_id": job, "stage": stage, "done": false}),
            );
            let wait = made.between(15, 30);
            made.pause(wait);
        }
        if made.chance(40) {
            let (file, shown) = (made.file(), made.words(12));
            made.call("read_file", json!({"path": file}), shown);
        }
    }
    made.call(
        "get_render",
        json!({"job_id": job}),
        json!({"job_id": job, "stage": "finished", "done": true}),
    );
}

/// A test that fails now and then: it is run until it does, looked into, and run again after a change.
fn flaky_hunted(made: &mut Made) {
    made.begin(6);
    let (style, name) = (made.below(4), made.word());
    let command = format!("go test ./... -run Test{name} -count=1");
    for _ in 0..made.between(3, 4) {
        for _ in 0..made.between(2, 5) {
            let seconds = made.between(100, 400) as f64 / 1_000.0;
            shell(
                made,
                style,
                &command,
                0,
                &format!("ok  \texample.com/app/{name}\t{seconds:.3}s"),
            );
        }
        let (line, got) = (made.between(20, 300), made.between(1, 90));
        shell(
            made,
            style,
            &command,
            1,
            &format!(
                "--- FAIL: Test{name} (0.12s)\n    {name}_test.go:{line}: got {got}, want 0\nFAIL\texample.com/app/{name}\t0.131s"
            ),
        );
        let (file, shown) = (made.file(), made.words(25));
        made.call("read_file", json!({"path": file}), shown);
        let (old, new) = (made.words(5), made.words(6));
        made.call(
            "edit_file",
            json!({"path": file, "old": old, "new": new}),
            "edited",
        );
    }
}
