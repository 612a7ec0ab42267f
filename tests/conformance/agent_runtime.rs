//! The page *Tool Loop Prevention* of agent-runtime.
//!
//! The first half is about what spans tell, the second about what the guard answers. The event `AgentToolLoopDetected` is the
//! warning.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::guarded::{Guarded, asked, shown};
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

/// A single agent may repeat, and so may tools that poll, change a state or tell the time; names are patterns.
#[test]
fn agents_and_tools_may_be_excepted() {
    let by = |agent: &str, tool: &str| with(call(tool, json!({})), "agent", json!(agent));
    let mut policy = AGENT_RUNTIME.policy();
    let rule = policy.rules.duplicate_call.as_mut().unwrap();
    rule.except_agents = vec!["explorer".to_owned()];
    rule.except_tools = vec!["Check_*".to_owned(), "current_time".to_owned()];
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

/// The page's example: the second search is not made but answered with the earlier result; another search is made.
#[test]
fn search_loops_are_prevented() {
    let guard = Guarded::by(AGENT_RUNTIME);
    let search = |q: &str| asked("search", json!({"query": q}));
    let none = json!({"result": {"results": []}});
    assert_eq!(guard.call(&search("quantum computing"), &none), "ALLOW");
    for repeats in 2..=10 {
        let answer = guard.answer(&search("quantum computing"));
        assert_eq!(shown(&answer), format!("SKIP duplicate_call {repeats}"));
        assert_eq!(answer["previous_result"], json!(r#"{"results":[]}"#));
        let message = answer["message"].as_str().unwrap();
        assert!(
            message.contains("search") && message.contains(r#"{"results":[]}"#),
            "{message}"
        );
    }
    assert_eq!(
        guard.call(&search("quantum mechanics basics"), &none),
        "ALLOW"
    );
    assert_eq!(
        guard.check(&asked("browse", json!({"query": "quantum computing"}))),
        "ALLOW"
    );
    assert_eq!(guard.run()["skipped_calls"], json!(9));
}

/// A message of one's own, with both placeholders, each put in once and as it is.
#[test]
fn custom_messages() {
    let yaml = |message: &str| {
        format!(
            "guard: {{actions: [{{rules: [duplicate_call], verdict: skip, message: '{message}'}}]}}"
        )
    };
    for (message, expected) in [
        ("Stop calling {tool_name}!", "Stop calling search_database!"),
        (
            "Result: {previous_result}",
            r#"Result: {"results":[],"status":"success"}"#,
        ),
        (
            "You already called {tool_name} and got: {previous_result}. Use this data.",
            r#"You already called search_database and got: {"results":[],"status":"success"}. Use this data."#,
        ),
    ] {
        let guard = Guarded::with(AGENT_RUNTIME, &yaml(message));
        let call = asked("search_database", json!({"q": 1}));
        guard.call(
            &call,
            &json!({"result": {"results": [], "status": "success"}}),
        );
        assert_eq!(guard.answer(&call)["message"], json!(expected));
    }
}

/// `success_no_data`: the tool's own words are what the agent is given back. Without `keep_results` nothing is.
#[test]
fn no_data_shows_its_message() {
    let call = asked("search", json!({"query": "x"}));
    let nothing = json!({"message": "No results found for this query."});
    let guard = Guarded::by(AGENT_RUNTIME);
    guard.call(&call, &nothing);
    let answer = guard.answer(&call);
    assert_eq!(
        answer["previous_result"],
        json!("No results found for this query.")
    );
    let guard = Guarded::with(AGENT_RUNTIME, "guard: {keep_results: false}");
    guard.call(&call, &nothing);
    let answer = guard.answer(&call);
    assert_eq!(shown(&answer), "SKIP duplicate_call 2");
    assert!(!answer.to_string().contains("No results"), "{answer}");
}

/// Only a finished call without error is an earlier result; each agent has a history of its own; one agent may be excepted.
#[test]
fn failures_agents_and_exceptions() {
    let guard = Guarded::with(
        AGENT_RUNTIME,
        "detectors: {rules: {duplicate_call: {except_agents: [explorer], except_tools: [check_status]}}}",
    );
    let by = |agent: &str, tool: &str| {
        let mut call = asked(tool, json!({"q": 1}));
        call["agent"] = json!(agent);
        call
    };
    let failed = json!({"error": "Database connection failed"});
    let found = json!({"result": 42});
    for _ in 0..3 {
        assert_eq!(guard.call(&by("a", "search"), &failed), "ALLOW");
    }
    assert_eq!(guard.call(&by("a", "search"), &found), "ALLOW");
    assert_eq!(guard.call(&by("b", "search"), &found), "ALLOW");
    assert_eq!(guard.check(&by("a", "search")), "SKIP duplicate_call 2");
    for _ in 0..4 {
        assert_eq!(guard.call(&by("explorer", "search"), &found), "ALLOW");
        assert_eq!(guard.call(&by("a", "check_status"), &found), "ALLOW");
    }
}
