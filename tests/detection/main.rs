//! Detection as a whole: the bars that the default profile holds on labelled runs, look-alikes of every rule, settings of
//! single tools, and the manual.
//!
//! Everything goes through the program itself, `eddy eval` and `eddy check`, as a user would do it.

mod amounts;
mod batches;
mod begun_again;
mod beside;
mod calibrate;
mod deeds;
mod errands;
mod explain;
mod families;
mod faults;
mod halves;
mod languages;
mod lookalikes;
mod models;
mod monitoring;
mod printed;
mod refusals;
mod retold;
mod searches;
mod shell;
mod support;
mod things;
mod tools;
mod transformed;
mod trials;
mod turns;

use std::fs;

use eddy::engine::warning::Rule;
use serde_json::Value;

use support::{at, eddy};

/// The scores of one file of labelled runs.
fn scores(file: &str) -> Value {
    let file = at("tests/labelled").join(file);
    let mut answer = eddy(&["eval", "--json", file.to_str().expect("UTF-8")]);
    answer["datasets"][0].take()
}

fn number(scores: &Value, name: &str) -> f64 {
    scores[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {scores}"))
}

/// Given constructed loops and look-alikes, nearly all of the loops are found and hardly a look-alike is taken for one.
#[test]
fn constructed_runs() {
    let scores = scores("grafted.tune.jsonl.gz");
    assert!(number(&scores, "f1") >= 0.95, "{scores}");
    assert!(number(&scores, "false_positive_rate") <= 0.03, "{scores}");
}

/// Given runs without headway, they are found soon after they began to go round.
#[test]
fn goal_loops() {
    let scores = scores("magentic_agentrx.tune.jsonl.gz");
    assert!(number(&scores, "f1") >= 0.90, "{scores}");
    assert!(number(&scores, "false_positive_rate") <= 0.20, "{scores}");
    assert!(number(&scores, "median_lag_events") <= 3.0, "{scores}");
}

/// Given runs that did their task, hardly one is flagged, and none as critical.
#[test]
fn successful_runs() {
    let (mut runs, mut flagged) = (0.0, 0.0);
    for file in [
        "tau_airline_gpt4o.tune.jsonl.gz",
        "tau_retail_agentrx.tune.jsonl.gz",
    ] {
        let scores = scores(file);
        runs += number(&scores, "successful");
        flagged += number(&scores, "successful_flagged");
        assert_eq!(scores["successful_critical"], 0, "{scores}");
    }
    assert!(flagged / runs <= 0.01, "{flagged} of {runs}");
}

/// The manual of the rules is made of their files' own comments. `EDDY_WRITE_DOCS=1 cargo test --test detection` writes it.
#[test]
fn the_manual_is_up_to_date() {
    let mut manual = String::from(
        "# The rules\n\nWhat each profile sets is in `config/profiles`; `eddy config print` shows it with your own settings. From the count of a rule's\n`alarm.critical_count` on, its warning is critical; a rule without one keeps its `alarm.severity`.\n\nMade of the comments of `src/engine/rules`; `EDDY_WRITE_DOCS=1 cargo test --test detection` writes it anew.\n",
    );
    for rule in Rule::ALL {
        let source = fs::read_to_string(at("src/engine/rules").join(format!("{}.rs", rule.name())))
            .expect("each rule has a file");
        manual.push('\n');
        for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            match (line.strip_prefix("# "), line.strip_prefix('`')) {
                (Some(heading), _) => manual.extend(["### ", heading, "\n"]),
                (_, Some(rest)) if rest.starts_with(&format!("{}`:", rule.name())) => {
                    let title = rest.split_once("`: ").map_or("", |(_, title)| title);
                    manual.extend(["## ", rule.name(), "\n\n", title, "\n"]);
                }
                _ => manual.extend([line, "\n"]),
            }
        }
        for heading in [
            "What it sees",
            "Why it matters",
            "What to try",
            "When it stays silent",
        ] {
            assert!(
                source.contains(&format!("//! # {heading}")),
                "{}: {heading}",
                rule.name()
            );
        }
    }
    let path = at("docs/rules.md");
    if std::env::var_os("EDDY_WRITE_DOCS").is_some() {
        fs::write(&path, &manual).expect("written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == manual, "docs/rules.md is stale");
}
