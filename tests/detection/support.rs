//! The program, and runs that are made for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

pub(crate) fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn eddy(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_eddy"))
        .args(arguments)
        .output()
        .expect("the program runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// The rules that warn of a run of these events, by name; those that only inform are left out.
#[track_caller]
pub(crate) fn check(events: &[Value], expected: &[&str]) {
    check_with("", events, expected);
}

/// The same with a configuration, as YAML.
#[track_caller]
pub(crate) fn check_with(config: &str, events: &[Value], expected: &[&str]) {
    let answer = checked(config, events);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    let mut rules: Vec<&str> = warnings
        .iter()
        .filter(|warning| warning["severity"] != "info")
        .map(|warning| warning["rule"].as_str().expect("a name"))
        .collect();
    rules.sort_unstable();
    rules.dedup();
    assert_eq!(rules, expected, "{answer:#}");
}

/// Whether anything is warned of in a run of these events.
pub(crate) fn is_warned_of(events: &[Value]) -> bool {
    let answer = checked("", events);
    let warnings = answer["runs"][0]["warnings"].as_array();
    let mut warnings = warnings.expect("warnings").iter();
    warnings.any(|warning| warning["severity"] != "info")
}

/// What `eddy check` says of a run of these events.
pub(crate) fn checked(config: &str, events: &[Value]) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("run.events.jsonl");
    let run = json!({"dataset": "made", "run_id": "run", "events": numbered(events)});
    fs::write(&file, run.to_string()).expect("written");
    let settings = dir.path().join("eddy.yaml");
    fs::write(&settings, config).expect("written");
    let paths = [&file, &settings].map(|path| path.to_str().expect("UTF-8"));
    eddy(&["check", "--json", paths[0], "--config", paths[1]])
}

pub(crate) fn call(tool: &str, input: &str, output: &str) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": {"command": input}, "output": output})
}

pub(crate) fn failed(tool: &str, input: &str, error: &str) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": {"command": input}, "error": error})
}

pub(crate) fn said(text: &str) -> Value {
    json!({"kind": "llm_text", "agent": "a", "text": text})
}

pub(crate) fn later(mut event: Value, seconds: u64) -> Value {
    event["t_ms"] = json!(seconds * 1_000);
    event
}

/// Events with their numbers, and times two seconds apart where they have none.
pub(crate) fn numbered(events: &[Value]) -> Vec<Value> {
    let number = |(i, event): (usize, &Value)| {
        let mut event = event.clone();
        event["i"] = json!(i);
        if event["t_ms"].is_null() {
            event["t_ms"] = json!(1_000 + i * 2_000);
        }
        event
    };
    events.iter().enumerate().map(number).collect()
}
