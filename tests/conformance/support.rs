//! Runs in the events format, and what a profile says of them.

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use eddy::engine::{Input, RunState, RunView, step};
use eddy::normalize::events_file;
use serde_json::{Value, json};

/// A tool call with these arguments, of which no result was recorded.
pub(crate) fn call(tool: &str, input: Value) -> Value {
    with(json!({"kind": "tool_call", "tool": tool}), "input", input)
}

/// A shell command that ends well.
pub(crate) fn command(line: &str) -> Value {
    with(
        call("bash", json!({"command": line})),
        "output",
        json!("done"),
    )
}

/// A shell command that fails.
pub(crate) fn failing(line: &str) -> Value {
    with(
        call("bash", json!({"command": line})),
        "error",
        json!("exit code 1"),
    )
}

/// A model answer of text alone.
pub(crate) fn text(said: &str) -> Value {
    json!({"kind": "llm_text", "agent": "coder", "text": said})
}

/// A user speaks.
pub(crate) fn user() -> Value {
    json!({"kind": "user_message"})
}

/// An event with one more member, or another value of one.
pub(crate) fn with(mut event: Value, key: &str, value: Value) -> Value {
    event[key] = value;
    event
}

/// An event several times.
pub(crate) fn times(count: usize, event: Value) -> Vec<Value> {
    vec![event; count]
}

/// The run after these events, one report at a time.
pub(crate) fn watch(policy: &Policy, events: &[Value]) -> RunView {
    let mut events = events.to_vec();
    for (i, event) in events.iter_mut().enumerate() {
        event["i"] = json!(i);
    }
    let line = json!({"run_id": "run", "events": events}).to_string();
    let mut runs = events_file::runs(line.as_bytes(), policy).unwrap();
    let run = runs.next().unwrap().unwrap();
    let mut state = RunState::new("run".into());
    for told in run.told() {
        let input = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events: told.to_vec(),
        };
        step(&mut state, &input, policy);
    }
    state.view(policy)
}

/// The warnings as `rule count severity tool`, in alphabetical order.
pub(crate) fn shown(view: &RunView) -> Vec<String> {
    let mut shown: Vec<String> = view
        .warnings
        .iter()
        .map(|warning| {
            let tool = warning.tool.as_deref().unwrap_or("-");
            let severity = warning.severity.name();
            format!(
                "{} {} {severity} {tool}",
                warning.rule.name(),
                warning.count
            )
        })
        .collect();
    shown.sort();
    shown
}

/// Checks what a profile warns of.
#[track_caller]
pub(crate) fn check(profile: Name, events: &[Value], expected: &[&str]) {
    check_policy(&profile.policy(), events, expected);
}

/// The same with a policy of its own.
#[track_caller]
pub(crate) fn check_policy(policy: &Policy, events: &[Value], expected: &[&str]) {
    assert_eq!(shown(&watch(policy, events)), expected, "{events:?}");
}

/// What to try, of the only warning.
#[track_caller]
pub(crate) fn advice(profile: Name, events: &[Value]) -> String {
    let view = watch(&profile.policy(), events);
    assert_eq!(view.warnings.len(), 1, "{:?}", shown(&view));
    view.warnings[0].what_to_try.clone()
}
