//! Labelled runs told in another way (`retold`): what a run's label says still holds of it, so the bars do as well. Where less is
//! told, fewer loops may be seen, but no more work may be taken for one.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::number;
use crate::retold::{Change, OTHERWISE, WITH_LESS};
use crate::support::{at, eddy};

const FILES: [&str; 4] = [
    "grafted.tune.jsonl.gz",
    "magentic_agentrx.tune.jsonl.gz",
    "tau_airline_gpt4o.tune.jsonl.gz",
    "tau_retail_agentrx.tune.jsonl.gz",
];

/// Changes that leave out what some of the loops are seen by.
const BLIND: [&str; 2] = ["arguments not recorded", "results not recorded"];

/// All labelled runs.
pub(crate) fn labelled() -> Vec<Value> {
    let read = |file: &str| {
        let packed = fs::File::open(at("tests/labelled").join(file)).expect("it is there");
        let mut text = String::new();
        GzDecoder::new(packed)
            .read_to_string(&mut text)
            .expect("UTF-8");
        let runs = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        runs.collect::<Vec<Value>>()
    };
    FILES.iter().flat_map(|file| read(file)).collect()
}

/// What is found of runs, in per cent of them; of successful runs the number.
struct Found {
    made_f1: f64,
    made_wrong: f64,
    goals_f1: f64,
    goals_wrong: f64,
    successful: f64,
}

fn found(runs: &[Value], (name, change): &Change, dir: &Path) -> Found {
    let file = dir.join("changed.jsonl");
    let lines = runs.iter().map(|run| {
        let mut run = run.clone();
        change(&mut run);
        run.to_string()
    });
    fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("written");
    if let Some(copies) = std::env::var_os("EDDY_KEEP_RUNS") {
        fs::copy(&file, Path::new(&copies).join(format!("{name}.jsonl"))).expect("copied");
    }
    let answer = eddy(&["eval", "--json", file.to_str().expect("UTF-8")]);
    let of = |name: &str| {
        let mut sets = answer["datasets"].as_array().expect("data sets").iter();
        let set = sets.find(|set| set["dataset"] == name);
        set.unwrap_or_else(|| panic!("{name} in {answer}"))
    };
    let (made, goals) = (of("grafted_tune"), of("magentic_agentrx"));
    let successful = ["tau_airline_gpt4o", "tau_retail_agentrx"];
    Found {
        made_f1: number(made, "f1") * 100.0,
        made_wrong: number(made, "false_positive_rate") * 100.0,
        goals_f1: number(goals, "f1") * 100.0,
        goals_wrong: number(goals, "false_positive_rate") * 100.0,
        successful: successful
            .iter()
            .map(|name| number(of(name), "successful_flagged"))
            .sum(),
    }
}

/// Each change with what is found of the labelled runs after it, as a table, and the changes after which it is too little.
fn measured(
    changes: &[Change],
    is_enough: fn(&str, &Found) -> bool,
) -> (String, Vec<&'static str>) {
    let (runs, dir) = (labelled(), tempfile::tempdir().expect("a directory"));
    let (mut table, mut bad) = (String::new(), Vec::new());
    for change in changes {
        let name = change.0;
        let found = found(&runs, change, dir.path());
        writeln!(
            table,
            "| {name} | {:.0} | {:.0} | {:.0} | {:.0} | {} of 73 |",
            found.made_f1, found.made_wrong, found.goals_f1, found.goals_wrong, found.successful
        )
        .expect("written");
        if !is_enough(name, &found) {
            bad.push(name);
        }
    }
    println!("{table}");
    (table, bad)
}

/// Whether no more work is taken for a loop than the bars allow.
fn spares_work(found: &Found) -> bool {
    found.made_wrong <= 3.0 && found.goals_wrong <= 20.0 && found.successful == 0.0
}

/// Given labelled runs told in another way, what is found of them is held to the same bars as before.
#[test]
fn labels_hold_when_runs_are_told_in_another_way() {
    let (table, bad) = measured(&OTHERWISE, |name, found| {
        // Of a long instruction in letters of two bytes, a sample holds half as much.
        let goals = if name == "in Cyrillic letters" {
            85.0
        } else {
            90.0
        };
        spares_work(found) && found.made_f1 >= 95.0 && found.goals_f1 >= goals
    });
    assert!(bad.is_empty(), "{bad:?}\n{table}");
}

/// Given labelled runs of which less is told, no more work is taken for a loop, and what can still be seen is.
#[test]
fn less_is_told_and_no_more_is_alarmed() {
    let (table, bad) = measured(&WITH_LESS, |name, found| {
        let made = if BLIND.contains(&name) { 80.0 } else { 95.0 };
        spares_work(found) && found.made_f1 >= made && found.goals_f1 >= 90.0
    });
    assert!(bad.is_empty(), "{bad:?}\n{table}");
}
