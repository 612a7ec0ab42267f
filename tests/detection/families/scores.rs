//! How the score of a run goes: near 100 while it works, and down with each repetition of a loop.

use std::fs;

use serde_json::{Value, json};

use super::loops::{MISSED, PARTLY};
use super::made::Made;
use super::{all_loops, all_work, variants_of};
use crate::support::eddy;

/// Runs of each kind.
const VARIANTS: u64 = 2;

/// Repetitions after which a loop is looked at.
const REPEATS: [usize; 5] = [0, 3, 5, 7, 9];

/// What `eddy check` says of each run: its score, and whether a warning is critical.
fn scores(runs: &[Value]) -> Vec<(u64, bool)> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("made.events.jsonl");
    let lines: Vec<_> = runs.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("written");
    let answer = eddy(&["check", "--json", file.to_str().expect("UTF-8")]);
    let shown = answer["runs"].as_array().expect("runs");
    let find = |run: &Value| {
        let found = shown.iter().find(|shown| shown["run_id"] == run["run_id"]);
        let found = found.unwrap_or_else(|| panic!("{} is shown", run["run_id"]));
        let warnings = found["warnings"].as_array().expect("warnings");
        let critical = warnings
            .iter()
            .any(|warning| warning["severity"] == "critical");
        (found["score"].as_u64().expect("a score"), critical)
    };
    runs.iter().map(find).collect()
}

fn run(name: &str, events: &[Value]) -> Value {
    json!({"dataset": "made", "run_id": name, "events": events})
}

/// The run up to the end of so many repetitions.
fn until(made: &Made, repeats: usize) -> &[Value] {
    let end = repeats.checked_sub(1).map_or(made.begins, |last| {
        made.again[last.min(made.again.len() - 1)] + 1
    });
    &made.events[..end]
}

fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all[all.len() / 2]
}

/// Given work, half of the runs have all of their points and nearly all of them 80, and none is critical.
#[test]
fn work_keeps_its_points() {
    let mut runs = Vec::new();
    for (number, (kind, make)) in (100..).zip(all_work()) {
        for (variant, made) in variants_of(number, make, VARIANTS).iter().enumerate() {
            runs.push(run(&format!("{kind} {variant}"), &made.events));
        }
    }
    let scores = scores(&runs);
    let healthy = scores.iter().filter(|(score, _)| *score >= 80).count();
    let points = median(scores.iter().map(|(score, _)| *score).collect());
    println!(
        "work: median {points}, {healthy} of {} at least 80",
        runs.len()
    );
    assert!(
        points >= 85 && healthy * 100 >= runs.len() * 95,
        "{points}, {healthy}"
    );
    assert!(scores.iter().all(|(_, critical)| !critical));
}

/// Given loops, the score falls with each look, and most that are made of calls are critical by the ninth repetition.
#[test]
fn loops_lose_their_points() {
    let mut looks: Vec<Vec<Value>> = vec![Vec::new(); REPEATS.len()];
    let kinds = all_loops();
    let seen = (0..)
        .zip(&kinds)
        .filter(|(_, (kind, ..))| !MISSED.contains(kind) && !PARTLY.contains(kind));
    for (number, (kind, _, make)) in seen {
        for (variant, made) in variants_of(number, *make, VARIANTS).iter().enumerate() {
            for (look, repeats) in looks.iter_mut().zip(REPEATS) {
                let events = until(made, repeats);
                if !events.is_empty() {
                    look.push(run(&format!("{kind} {variant}"), events));
                }
            }
        }
    }
    let mut before = 101;
    for (look, repeats) in looks.iter().zip(REPEATS) {
        let scores = scores(look);
        let points = median(scores.iter().map(|(score, _)| *score).collect());
        let critical = scores.iter().filter(|(_, critical)| *critical).count();
        let stuck = scores.iter().filter(|(score, _)| *score < 50).count();
        println!(
            "loops, {repeats} repetitions: median {points}, {stuck} below 50, {critical} critical of {}",
            look.len()
        );
        assert!(points <= before, "{repeats}: {points}");
        before = points;
    }
    assert!(before < 50, "{before}");
}
