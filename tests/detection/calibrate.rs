//! `eddy calibrate`: what it promises of its false alarms holds, and what is unusual is found.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{call, checked, eddy, numbered};

/// A good run: some ten to forty calls of one of two agents, a few of them twice. Always the same for the same number.
fn good_run(number: u64) -> Value {
    let mut seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let length = 10 + next(15) + next(15);
    let agent = ["scout", "cook"][next(2) as usize];
    let mut events = Vec::new();
    for i in 0..length {
        let page = if next(12) == 0 {
            i.saturating_sub(1)
        } else {
            i
        };
        events.push(json!({"kind": "tool_call", "agent": agent, "tool": "fetch", "input": {"page": page}, "output": format!("text {page}")}));
    }
    json!({"dataset": "made", "run_id": format!("run-{number}"), "events": numbered(&events)})
}

fn write(path: &Path, runs: impl Iterator<Item = u64>) {
    let mut lines = String::new();
    for run in runs.map(good_run) {
        let _ = writeln!(lines, "{run}");
    }
    fs::write(path, lines).expect("written");
}

fn calibrate(file: &Path) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_eddy"))
        .arg("calibrate")
        .arg(file)
        .output();
    output.expect("the program runs")
}

/// Given good runs whose agents are met once each, they have one entry together, and it is said which they are; runs that their
/// source calls failures or loops are left out.
#[test]
fn what_is_seen_once_and_what_is_bad_teaches_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("runs.events.jsonl");
    let runs = |told: fn(u64, &mut Value)| {
        let runs = (0..40).map(|number| {
            let mut run = good_run(number);
            told(number, &mut run);
            run.to_string()
        });
        fs::write(&file, runs.collect::<Vec<_>>().join("\n")).expect("written");
        calibrate(&file)
    };
    let once = runs(|number, run| {
        for event in run["events"].as_array_mut().expect("events") {
            event["agent"] = json!(format!("a{number}"));
        }
    });
    let once = String::from_utf8(once.stdout).expect("UTF-8");
    let entries = once.split("agents:\n").nth(1).expect("entries");
    assert!(
        entries.trim().starts_with("\"*\":") && entries.lines().count() == 1,
        "{once}"
    );
    assert!(
        once.contains("fewer than 5 of the runs that set the scale: \"a"),
        "{once}"
    );
    let bad = runs(|number, run| match number % 4 {
        0 => run["outcome"] = json!("failure"),
        1 => run["label"] = json!({"looping": true}),
        _ => {}
    });
    let bad = String::from_utf8(bad.stdout).expect("UTF-8");
    assert!(
        bad.contains("Left out: 10 that failed, 10 labelled as looping."),
        "{bad}"
    );
}

/// Given eighty good runs, hardly one of four hundred others goes beyond what was learned, as it says; one that is three
/// times as long does.
#[test]
fn the_bound_holds() {
    let dir = tempfile::tempdir().expect("a directory");
    let [good, config, others] =
        ["good.events.jsonl", "eddy.yaml", "others.events.jsonl"].map(|name| dir.path().join(name));
    write(&good, 0..80);
    let output = calibrate(&good);
    let fragment = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success());
    assert!(
        fragment.contains("80 good runs: 40 set the scale, 40 the bound")
            && fragment.contains("at most 4.9 %"),
        "{fragment}"
    );
    fs::write(&config, &fragment).expect("written");
    write(&others, 1_000..1_400);
    let unusual = |file: &Path| {
        let paths = [file, &config].map(|path| path.to_str().expect("UTF-8"));
        let answer = eddy(&["check", "--json", paths[0], "--config", paths[1]]);
        let runs = answer["runs"].as_array().expect("runs").clone();
        let warned = |run: &&Value| {
            let warnings = run["warnings"].as_array().expect("warnings");
            warnings
                .iter()
                .any(|warning| warning["rule"] == "unusual_run")
        };
        (runs.iter().filter(warned).count(), runs.len())
    };
    // The bound is one on the average of all calibrations; this one may be a little less lucky.
    let (found, all) = unusual(&others);
    assert!(all == 400 && found <= 40, "{found} of {all}");
    let long: Vec<Value> = (0..120)
        .map(|i| json!({"kind": "tool_call", "agent": "cook", "tool": "fetch", "input": {"page": i}, "output": format!("text {i}")}))
        .collect();
    let run = json!({"dataset": "made", "run_id": "long", "events": numbered(&long)});
    fs::write(&others, run.to_string()).expect("written");
    assert_eq!(unusual(&others), (1, 1));
}

/// Given fewer than twenty good runs, nothing is learned, and it is said why.
#[test]
fn too_few_runs_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = dir.path().join("good.events.jsonl");
    write(&good, 0..19);
    let output = calibrate(&good);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.stdout.is_empty() && said.contains("19 good runs of 19 are too few"),
        "{said}"
    );
    write(&good, 0..20);
    assert!(calibrate(&good).status.success());
}

/// Given an agent that repeated more than its good runs do, and then gets on, its warning resolves.
#[test]
fn who_gets_on_is_usual_again() {
    let usual = "detectors: {rules: {unusual_run: {alarm: {severity: warning, penalty: 10}, agents: {'*': {calls: 100, repeats: 2}}}}}";
    let again = vec![call("read", "notes", "what the notes say"); 4];
    let state = |pages: usize| {
        let pages =
            (0..pages).map(|page| call("read", &format!("page {page}"), &format!("text {page}")));
        let events: Vec<_> = again.iter().cloned().chain(pages).collect();
        let answer = checked(usual, &events);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let unusual = warnings
            .iter()
            .find(|warning| warning["rule"] == "unusual_run");
        unusual.expect("a warning")["state"].clone()
    };
    assert_eq!(state(3), "open");
    assert_eq!(state(13), "resolved");
}
