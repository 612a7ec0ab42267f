//! The same runs, told in the events format and as the spans of the GenAI conventions: what is measured on the one holds of the
//! other, which is what agents send.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{all_loops, all_work, runs, variants_of};
use crate::support::eddy;

/// Runs of each kind.
const VARIANTS: u64 = 3;

/// What spans tell of: the rest of the events format has no span of its own.
const KINDS: [&str; 3] = ["tool_call", "llm_call", "llm_text"];

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The span of an event; of a text without words of its own, what it says.
fn span(run: &str, trace: usize, event: &Value) -> Value {
    let mut attributes =
        vec![json!({"key": "gen_ai.conversation.id", "value": {"stringValue": run}})];
    let mut tell = |key: &str, value: &Value| {
        if !value.is_null() {
            attributes.push(json!({"key": key, "value": {"stringValue": text(value)}}));
        }
    };
    tell("gen_ai.agent.name", &event["agent"]);
    let mut status = json!({});
    if event["kind"] == "tool_call" {
        tell("gen_ai.operation.name", &json!("execute_tool"));
        tell("gen_ai.tool.name", &event["tool"]);
        tell("gen_ai.tool.call.id", &event["call_id"]);
        tell("gen_ai.tool.call.arguments", &event["input"]);
        match &event["error"] {
            Value::Null => tell("gen_ai.tool.call.result", &event["output"]),
            Value::Bool(true) => status = json!({"code": 2, "message": text(&event["output"])}),
            error => {
                tell("gen_ai.tool.call.result", &event["output"]);
                status = json!({"code": 2, "message": text(error)});
            }
        }
    } else {
        tell("gen_ai.operation.name", &json!("chat"));
        if !event["text"].is_null() {
            let parts = json!([{"type": "text", "content": event["text"]}]);
            let said = json!([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]);
            tell("gen_ai.output.messages", &said);
        }
    }
    let start_ms = event["t_ms"].as_u64().expect("a time");
    let end_ms = start_ms + event["duration_ms"].as_u64().unwrap_or(0);
    json!({
        "traceId": format!("{:032x}", trace + 1),
        "spanId": format!("{:016x}", event["i"].as_u64().expect("a number") + 1),
        "name": "step",
        "startTimeUnixNano": format!("{start_ms}000000"),
        "endTimeUnixNano": format!("{end_ms}000000"),
        "attributes": attributes,
        "status": status,
    })
}

/// What is warned of in each run, by its id: rule, severity and count.
fn warnings(file: &Path) -> Vec<(String, Vec<String>)> {
    let answer = eddy(&["check", "--json", file.to_str().expect("UTF-8")]);
    let of_run = |run: &Value| {
        let id = run["run_id"].as_str().expect("an id");
        let mut told: Vec<_> = run["warnings"]
            .as_array()
            .expect("warnings")
            .iter()
            .map(|told| format!("{} {} {}", told["rule"], told["severity"], told["count"]))
            .collect();
        told.sort_unstable();
        (id.trim_start_matches("conversation:").to_owned(), told)
    };
    let mut runs: Vec<_> = answer["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(of_run)
        .collect();
    runs.sort_unstable();
    runs
}

/// Given runs of all kinds in both forms, the same is warned of, as often and as gravely.
#[test]
fn spans_tell_what_events_tell() {
    let loops = all_loops()
        .into_iter()
        .map(|(kind, _, build)| (kind, build));
    let kinds: Vec<_> = (0..)
        .zip(loops.chain(all_work()))
        .map(|(number, (kind, build))| (kind, variants_of(number, build, VARIANTS)))
        .collect();
    let is_span = |event: &Value| KINDS.iter().any(|kind| event["kind"] == *kind);
    let is_told = |run: &Value| {
        let mut events = run["events"].as_array().expect("events").iter();
        events.all(|event| is_span(event) && event["worker"].is_null())
    };
    let runs: Vec<_> = runs(&kinds).into_iter().filter(is_told).collect();
    assert!(runs.len() > 1_000, "{}", runs.len());
    let requests = runs.iter().enumerate().map(|(number, run)| {
        let id = run["run_id"].as_str().expect("an id");
        let events = run["events"].as_array().expect("events");
        let spans: Vec<_> = events.iter().map(|event| span(id, number, event)).collect();
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
    });
    let dir = tempfile::tempdir().expect("a directory");
    let [events, spans] = ["runs.events.jsonl", "runs.jsonl"].map(|name| dir.path().join(name));
    let lines: Vec<_> = runs.iter().map(Value::to_string).collect();
    fs::write(&events, lines.join("\n")).expect("written");
    fs::write(&spans, requests.collect::<Vec<_>>().join("\n")).expect("written");
    let [told, sent] = [&events, &spans].map(|file| warnings(file));
    assert_eq!(told.len(), sent.len());
    let others: Vec<_> = told
        .iter()
        .zip(&sent)
        .filter(|(told, sent)| told != sent)
        .collect();
    assert!(
        others.is_empty(),
        "{} differ: {:#?}",
        others.len(),
        others.first()
    );
}
