//! `eddy eval` on labelled runs.

use std::fs;

use serde_json::{Value, json};

use super::support::eddy;

/// A run of `calls` calls of one tool, each with the arguments and result that its number gives.
fn run(name: &str, looping: Option<bool>, calls: u64, told: impl Fn(u64) -> (u64, u64)) -> String {
    let events: Vec<Value> = (0..calls)
        .map(|i| {
            let (input, output) = told(i);
            json!({"i": i, "kind": "tool_call", "tool": "search", "input": {"q": input}, "output": format!("page {output}"), "t_ms": i * 1_000})
        })
        .collect();
    json!({"dataset": "made", "run_id": name, "outcome": "success", "label": {"looping": looping, "onset_event": 0}, "events": events})
        .to_string()
}

/// Given a loop, a run that gets on, and runs that nobody labelled, each is counted where it belongs and has its line.
#[test]
fn labelled_runs_are_scored() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.events.jsonl");
    let runs = [
        run("stuck", Some(true), 12, |_| (1, 1)),
        run("well", Some(false), 12, |i| (i, i)),
        run("unlabelled", None, 12, |_| (1, 1)),
    ];
    // With the mark before it that some editors write.
    fs::write(&file, format!("\u{feff}{}", runs.join("\n"))).expect("written");
    let out = dir.path().join("verdicts.jsonl");
    let output = eddy()
        .args(["eval", "--json", "--verdicts"])
        .args([&out, &file])
        .output()
        .expect("the program runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let set = &answer["datasets"][0];
    assert_eq!(
        (&answer["profile"], &set["dataset"]),
        (&json!("standard"), &json!("made"))
    );
    assert_eq!(
        (&set["f1"], &set["false_positive_rate"]),
        (&json!(1.0), &json!(0.0))
    );
    assert_eq!(
        (&set["successful"], &set["successful_flagged"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(set["median_lag_events"], 2);
    let verdicts = fs::read_to_string(out).expect("written");
    let verdicts: Vec<Value> = verdicts
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert_eq!(verdicts[0]["run_id"], "stuck");
    assert_eq!(verdicts[0]["first_flag_event"], 2);
    assert_eq!(verdicts[0]["rules"][0], "repeated_tool_call_exact_input");
    assert_eq!(
        (&verdicts[1]["flagged"], &verdicts[1]["first_flag_event"]),
        (&json!(false), &Value::Null)
    );
}

/// Given verdicts that are to go where the labelled runs are, under the same name or another, nothing is written.
#[cfg(unix)]
#[test]
fn labelled_runs_are_not_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.events.jsonl");
    let content = run("stuck", Some(true), 12, |_| (1, 1));
    fs::write(&file, &content).expect("written");
    let [link, hard] = ["link.jsonl", "hard.jsonl"].map(|name| dir.path().join(name));
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    fs::hard_link(&file, &hard).expect("a link");
    let detour = dir.path().join(".").join("made.events.jsonl");
    for out in [&file, &detour, &link, &hard] {
        let mut command = eddy();
        let output = command.arg("eval").arg(&file).arg("--verdicts").arg(out);
        let output = output.output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("would be written over"), "{said}");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), content);
    }
}

/// Given a terminal of 80 columns, no line is longer, and names of data sets are whole; runs that nobody labelled have a table of
/// their own where there are some.
#[test]
fn the_table_fits_its_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.events.jsonl");
    let table = |runs: &[String]| {
        let runs = runs.join("\n").replace("made", "tau_airline_gpt4o");
        fs::write(&file, runs).expect("written");
        let mut command = eddy();
        let output = command.arg("eval").arg(&file).env("COLUMNS", "80").output();
        String::from_utf8(output.expect("the program runs").stdout).expect("UTF-8")
    };
    let labelled = run("stuck", Some(true), 12, |_| (1, 1));
    let unlabelled = run("unlabelled", None, 12, |_| (1, 1));
    let [both, one] = [table(&[labelled.clone(), unlabelled]), table(&[labelled])];
    for text in [&both, &one] {
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("tau_airline_gpt4o "))
            .count()
    };
    assert_eq!((rows(&both), rows(&one)), (2, 1), "{both}{one}");
}

/// Given runs on standard input, they are measured as those of a file; what is wrong with them is said of it.
#[test]
fn standard_input_is_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let given = |text: &str| {
        let file = dir.path().join("input");
        fs::write(&file, text).expect("written");
        let output = eddy()
            .args(["eval", "-", "--json"])
            .stdin(fs::File::open(&file).expect("it is there"))
            .output();
        output.expect("the program runs")
    };
    let output = given(&run("stuck", Some(true), 12, |_| (1, 1)));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(answer["datasets"][0]["f1"], 1.0, "{answer}");
    let output = given("none");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("eddy: standard input: "), "{error}");
}

/// Given verdicts that are to go to standard output, they are all that it prints, and no file of that name is written; together
/// with another answer there, nothing is.
#[test]
fn standard_output_is_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let runs = ["one", "two"].map(|name| run(name, Some(true), 12, |_| (1, 1)));
    fs::write(dir.path().join("made.events.jsonl"), runs.join("\n")).expect("written");
    let eval = |more: &[&str]| {
        let mut command = eddy();
        command.current_dir(dir.path()).arg("eval").args(more);
        command
            .arg("made.events.jsonl")
            .output()
            .expect("the program runs")
    };
    let output = eval(&["--verdicts", "-"]);
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let names: Vec<_> = lines.map(|line| line["run_id"].clone()).collect();
    assert_eq!(names, ["one", "two"]);
    let output = eval(&["--verdicts", "-", "--json"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 1);
}

/// Given a file that is not there, or that is none of events, the failure names it.
#[test]
fn strange_files_are_named() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for file in ["nowhere.jsonl", manifest] {
        let output = eddy().args(["eval", file]).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(&format!("{file}: ")), "{error}");
    }
}

/// Given labels that cannot be meant so, each kind is told; where there is no run at all, that is a failure.
#[test]
fn odd_labels_are_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.events.jsonl");
    let line = |label: Value| {
        let event = json!({"i": 0, "kind": "user_message"});
        json!({"run_id": "r", "label": label, "events": [event]}).to_string()
    };
    let well = line(json!({"looping": true}));
    for (lines, expected) in [
        (
            vec![line(json!({"loop": true}))],
            "no run has `label.looping`",
        ),
        (
            vec![well.clone(), line(json!({"Looping": true}))],
            "1 run with a label without `looping`",
        ),
        (
            vec![line(json!({"looping": true, "onset_event": 99}))],
            "to begin behind the last event",
        ),
        (
            vec![line(json!({"looping": false, "onset_event": 0}))],
            "labelled as no loop, of which",
        ),
        (
            vec![well.clone(), line(json!({"looping": false}))],
            "2 runs labelled as a loop and as none",
        ),
        (vec![], "there is no run to measure"),
        (vec![well], ""),
    ] {
        fs::write(&file, lines.join("\n")).expect("written");
        let output = eddy().arg("eval").arg(&file).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains(expected) && said.is_empty() == expected.is_empty(),
            "{said}"
        );
        assert_eq!(output.status.success(), !lines.is_empty());
    }
}
