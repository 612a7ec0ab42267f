//! The same runs, told in the events format and as the spans of the GenAI conventions: what is measured on the one holds of the
//! other, which is what agents send.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{all_loops, all_work, runs, variants_of};
use crate::support::eddy;

/// Runs of each kind.
const VARIANTS: u64 = 3;

/// What spans and log records tell of: the rest of the events format has none of its own.
const KINDS: [&str; 5] = [
    "tool_call",
    "llm_call",
    "llm_text",
    "handoff",
    "user_message",
];

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn is_users(event: &Value) -> bool {
    event["kind"] == "user_message" || event["agent"] == "user"
}

fn attributes(told: &[(&str, &Value)]) -> Vec<Value> {
    let told = told.iter().filter(|(_, value)| !value.is_null());
    told.map(|(key, value)| json!({"key": key, "value": {"stringValue": text(value)}}))
        .collect()
}

/// The record of what a user says, who says nothing twice in these words.
fn record(run: &str, trace: usize, event: &Value) -> Value {
    let words = format!("{}: {}", event["i"], text(&event["text"]));
    json!({
        "traceId": format!("{:032x}", trace + 1),
        "spanId": format!("{:016x}", 1),
        "timeUnixNano": format!("{}000000", event["t_ms"]),
        "eventName": "gen_ai.user.message",
        "body": {"kvlistValue": {"values": attributes(&[("content", &json!(words))])}},
        "attributes": attributes(&[("gen_ai.conversation.id", &json!(run))]),
    })
}

/// The spans of an event: an agent that is asked something is a span behind that of the hand-off.
fn spans(run: &str, trace: usize, event: &Value) -> Vec<Value> {
    if event["kind"] != "handoff" {
        return vec![span(run, trace, event)];
    }
    let mut asked = event.clone();
    asked["kind"] = json!("agent");
    asked["agent"] = event["to_agent"].clone();
    let asked = Some(asked).filter(|asked| !asked["input"].is_null());
    let all = [Some(event.clone()), asked];
    all.iter()
        .flatten()
        .map(|event| span(run, trace, event))
        .collect()
}

/// The span of an event; of a text without words of its own, what it says.
fn span(run: &str, trace: usize, event: &Value) -> Value {
    let said = |role: &str, words: &Value| {
        let parts = json!([{"type": "text", "content": words}]);
        json!([{"role": role, "parts": parts, "finish_reason": "stop"}])
    };
    let failure = match &event["error"] {
        Value::Bool(true) => &event["output"],
        error => error,
    };
    let answer = Some(&event["output"]).filter(|answer| *answer != failure);
    let of_kind = match event["kind"].as_str().expect("a kind") {
        "tool_call" => attributes(&[
            ("gen_ai.operation.name", &json!("execute_tool")),
            ("gen_ai.tool.name", &event["tool"]),
            ("gen_ai.tool.call.id", &event["call_id"]),
            ("gen_ai.tool.call.arguments", &event["input"]),
            ("gen_ai.tool.call.result", answer.unwrap_or(&Value::Null)),
        ]),
        "handoff" => attributes(&[
            ("gen_ai.operation.name", &json!("handoff")),
            ("gen_ai.handoff.from_agent", &event["from_agent"]),
            ("gen_ai.handoff.to_agent", &event["to_agent"]),
        ]),
        "agent" => attributes(&[
            ("gen_ai.operation.name", &json!("invoke_agent")),
            ("gen_ai.input.messages", &said("user", &event["input"])),
        ]),
        _ => {
            let said = said("assistant", &event["text"]);
            attributes(&[
                ("gen_ai.operation.name", &json!("chat")),
                (
                    "gen_ai.output.messages",
                    if event["text"].is_null() {
                        &Value::Null
                    } else {
                        &said
                    },
                ),
            ])
        }
    };
    let of_any = attributes(&[
        ("gen_ai.conversation.id", &json!(run)),
        ("gen_ai.agent.name", &event["agent"]),
        ("eddy.worker", &event["worker"]),
    ]);
    let start_ms = event["t_ms"].as_u64().expect("a time");
    let end_ms = start_ms + event["duration_ms"].as_u64().unwrap_or(0);
    let status = match failure {
        Value::Null => json!({}),
        failure => json!({"code": 2, "message": text(failure)}),
    };
    let number = 2 * event["i"].as_u64().expect("a number") + u64::from(event["kind"] == "agent");
    json!({
        "traceId": format!("{:032x}", trace + 1),
        "spanId": format!("{:016x}", number + 2),
        "parentSpanId": format!("{:016x}", 1),
        "name": "step",
        "startTimeUnixNano": format!("{start_ms}000000"),
        "endTimeUnixNano": format!("{end_ms}000000"),
        "attributes": ([of_any, of_kind].concat()),
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

/// From where on kinds of work are numbered: further kinds of loops leave their runs as they are.
const WORK_FROM: u64 = 243;

/// Given runs of all kinds in both forms, the same is warned of, as often and as gravely.
#[test]
fn spans_tell_what_events_tell() {
    let loops = all_loops()
        .into_iter()
        .map(|(kind, _, build)| (kind, build));
    let kinds: Vec<_> = (0..)
        .zip(loops)
        .chain((WORK_FROM..).zip(all_work()))
        .map(|(number, (kind, build))| (kind, variants_of(number, build, VARIANTS)))
        .collect();
    let is_span = |event: &Value| KINDS.iter().any(|kind| event["kind"] == *kind);
    let is_told = |run: &Value| {
        let mut events = run["events"].as_array().expect("events").iter();
        events.all(is_span)
    };
    let runs: Vec<_> = runs(&kinds).into_iter().filter(is_told).collect();
    assert!(runs.len() > 1_000, "{}", runs.len());
    let requests = runs.iter().enumerate().map(|(number, run)| {
        let id = run["run_id"].as_str().expect("an id");
        let events = run["events"].as_array().expect("events");
        let (said, done): (Vec<_>, Vec<_>) = events.iter().partition(|event| is_users(event));
        let records: Vec<_> = said.iter().map(|event| record(id, number, event)).collect();
        let spans: Vec<_> = done
            .iter()
            .flat_map(|event| spans(id, number, event))
            .collect();
        let scope = json!({"name": "opentelemetry.instrumentation.openai_v2"});
        let spans = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
        let logs =
            json!({"resourceLogs": [{"scopeLogs": [{"scope": scope, "logRecords": records}]}]});
        format!("{spans}\n{logs}")
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
