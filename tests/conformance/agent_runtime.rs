//! The page *Tool Loop Prevention* of agent-runtime.
//!
//! Still to come with the guard: the skip with its message and the placeholders `{tool_name}` and `{previous_result}`, a
//! message of one's own, the message of a `success_no_data` result. The event `AgentToolLoopDetected` is the warning.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::support::{call, check, check_policy, times, watch, with};

const AGENT_RUNTIME: Name = Name::AgentRuntime;

fn search(query: &str) -> Value {
    with(
        call("search", json!({"query": query})),
        "output",
        json!({"results": []}),
    )
}

/// Detects duplicate calls: the second with the same arguments, in a row or not, and the ten of the page's example.
#[test]
fn duplicates_are_found() {
    check(AGENT_RUNTIME, &times(1, search("quantum computing")), &[]);
    check(
        AGENT_RUNTIME,
        &times(2, search("quantum computing")),
        &["duplicate_call 2 warning search"],
    );
    check(
        AGENT_RUNTIME,
        &times(10, search("Rust async programming")),
        &["duplicate_call 10 warning search"],
    );
    let run = [search("a"), search("b"), search("a")];
    check(AGENT_RUNTIME, &run, &["duplicate_call 2 warning search"]);
}

/// Allows different arguments of the same tool, and the same arguments of different tools.
#[test]
fn other_calls_are_allowed() {
    let run = [
        search("quantum computing"),
        search("quantum mechanics basics"),
    ];
    check(AGENT_RUNTIME, &run, &[]);
    let run = ["search", "browse", "read"].map(|tool| call(tool, json!({"query": "a"})));
    check(AGENT_RUNTIME, &run, &[]);
}

/// Key order is the same call, at every level; arguments that are no object are what they are.
#[test]
fn keys_in_any_order() {
    let run = [
        call("t", json!("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}")),
        call("t", json!("{\"b\":{\"d\":3,\"c\":2},\"a\":1}")),
    ];
    check(AGENT_RUNTIME, &run, &["duplicate_call 2 warning t"]);
    let run = [
        call("t", json!([1])),
        call("t", json!([2])),
        call("t", json!("{broken")),
    ];
    check(AGENT_RUNTIME, &run, &[]);
}

/// Only a finished call without error is an earlier result: trying again after a failure is free, repeating a result is not.
#[test]
fn failures_may_be_tried_again() {
    let failed = with(
        call("search", json!({"query": "a"})),
        "error",
        json!("timeout"),
    );
    check(
        AGENT_RUNTIME,
        &[failed.clone(), failed.clone(), search("a")],
        &[],
    );
    let run = [failed.clone(), search("a"), search("a")];
    check(AGENT_RUNTIME, &run, &["duplicate_call 2 warning search"]);
    let run = [search("a"), failed];
    check(AGENT_RUNTIME, &run, &["duplicate_call 2 warning search"]);
}

/// Each agent has a history of its own.
#[test]
fn agents_are_apart() {
    let by = |agent: &str| with(search("a"), "agent", json!(agent));
    check(AGENT_RUNTIME, &[by("one"), by("two")], &[]);
    let run = [by("one"), by("two"), by("one")];
    check(AGENT_RUNTIME, &run, &["duplicate_call 2 warning search"]);
}

/// A single agent may repeat, and so may tools that poll, change a state or tell the time.
#[test]
fn agents_and_tools_may_be_excepted() {
    let by = |agent: &str, tool: &str| with(call(tool, json!({})), "agent", json!(agent));
    let mut policy = AGENT_RUNTIME.policy();
    let rule = policy.rules.duplicate_call.as_mut().unwrap();
    rule.except_agents = vec!["explorer".to_owned()];
    rule.except_tools = vec!["check_status".to_owned(), "current_time".to_owned()];
    check_policy(&policy, &times(5, by("explorer", "search")), &[]);
    check_policy(&policy, &times(5, by("worker", "check_status")), &[]);
    check_policy(&policy, &times(5, by("worker", "current_time")), &[]);
    let found = &["duplicate_call 5 warning search"];
    check_policy(&policy, &times(5, by("worker", "search")), found);
}

/// The warning carries what the page's event does, but for values: tool, count, spans; never arguments or results.
#[test]
fn the_event_is_the_warning() {
    let view = watch(&AGENT_RUNTIME.policy(), &times(2, search("private words")));
    let warning = &view.warnings[0];
    assert_eq!(warning.tool.as_deref(), Some("search"));
    assert_eq!(warning.evidence.len(), 2);
    assert!(!format!("{warning:?}").contains("private words"));
}
