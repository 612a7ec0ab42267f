//! The page *Tool Loop Detection* of agentium.
//!
//! The first half is about what spans tell, the second about what the guard answers. One difference is meant: the page counts
//! `{a, b}` and `{b, a}` apart because that is how its key is made; here the order of keys does not matter.

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use serde_json::{Value, json};

use super::guarded::{Guarded, asked};
use super::support::{call, check, check_policy, text, times, user, with};

const AGENTIUM: Name = Name::Agentium;

fn fetch(q: &str) -> Value {
    call("fetchData", json!({"q": q}))
}

/// The profile with another `maxRepeats`.
fn max_repeats(max: u32) -> Policy {
    let mut policy = AGENTIUM.policy();
    policy.rules.duplicate_call.as_mut().unwrap().calls = max + 1;
    policy
}

/// `maxRepeats: 3`: the counter begins at 1 with the first call, and the fourth call raises it, as does every later one.
#[test]
fn the_call_after_max_repeats() {
    check(AGENTIUM, &times(3, fetch("hi")), &[]);
    check(
        AGENTIUM,
        &times(4, fetch("hi")),
        &["duplicate_call 4 warning fetchData"],
    );
    check(
        AGENTIUM,
        &times(20, fetch("hi")),
        &["duplicate_call 20 warning fetchData"],
    );
}

/// Other arguments have a counter of their own, and do not reset the first: the calls need not follow each other.
#[test]
fn counters_are_independent() {
    let turns: Vec<Value> = (0..8).map(|i| fetch(["hi", "bye"][i % 2])).collect();
    check(AGENTIUM, &turns[..6], &[]);
    let both = ["duplicate_call 4 warning fetchData"; 2];
    check(AGENTIUM, &turns, &both);
    let tools: Vec<Value> = (0..6)
        .map(|i| call(["a", "b"][i % 2], json!({"q": 1})))
        .collect();
    check(AGENTIUM, &tools, &[]);
}

/// The counter lasts for the run: model answers, users' messages, failures and new results do not reset it.
#[test]
fn the_counter_lasts() {
    let run = [
        with(fetch("hi"), "output", json!(1)),
        text("again"),
        with(fetch("hi"), "error", json!("timeout")),
        user(),
        with(fetch("hi"), "output", json!(2)),
        with(fetch("hi"), "output", json!(3)),
    ];
    check(AGENTIUM, &run, &["duplicate_call 4 warning fetchData"]);
}

/// The order of keys does not matter (see the top).
#[test]
fn key_order_does_not_matter() {
    let orders = [json!("{\"a\":1,\"b\":2}"), json!("{\"b\":2,\"a\":1}")];
    let run: Vec<Value> = (0..4).map(|i| call("t", orders[i % 2].clone())).collect();
    check(AGENTIUM, &run, &["duplicate_call 4 warning t"]);
}

/// The recommended settings: 2 for pipelines, 1 to find out, 10 and more for polling, none at all.
#[test]
fn recommended_settings() {
    for max in [1, 2, 3, 10] {
        let enough = format!("duplicate_call {} warning fetchData", max + 1);
        let policy = max_repeats(max);
        check_policy(&policy, &times(max as usize, fetch("hi")), &[]);
        check_policy(&policy, &times(max as usize + 1, fetch("hi")), &[&enough]);
    }
    let mut off = AGENTIUM.policy();
    off.rules.duplicate_call = None;
    check_policy(&off, &times(30, fetch("hi")), &[]);
}

/// Polling is right to repeat: excepted, it is silent, and other tools are still watched.
#[test]
fn polling_may_be_excepted() {
    let poll = call("pollResult", json!({"handle": "ah:abc"}));
    let mut policy = AGENTIUM.policy();
    let rule = policy.rules.duplicate_call.as_mut().unwrap();
    rule.except_tools = vec!["pollResult".to_owned()];
    let mut run = times(5, poll.clone());
    check(AGENTIUM, &run, &["duplicate_call 5 warning pollResult"]);
    check_policy(&policy, &run, &[]);
    run.extend(times(4, fetch("hi")));
    check_policy(&policy, &run, &["duplicate_call 4 warning fetchData"]);
}

/// `action: "hint"`: three calls are made; the fourth and every later one is answered in the place of its result, so that it
/// can be told apart from a real one. The run shows the attempts.
#[test]
fn hint_answers_the_call_after_max_repeats() {
    let guard = Guarded::by(AGENTIUM);
    let hi = asked("fetchData", json!({"q": "hi"}));
    for _ in 0..3 {
        assert_eq!(guard.call(&hi, &json!({"result": "x"})), "ALLOW");
    }
    for repeats in 4..=6 {
        let answer = guard.answer(&hi);
        assert_eq!(
            super::guarded::shown(&answer),
            format!("SKIP duplicate_call {repeats}")
        );
        let message = answer["message"].as_str().unwrap();
        assert!(message.starts_with("loop-detected"), "{message}");
        assert!(message.contains("fetchData") && message.contains(&repeats.to_string()));
    }
    let run = guard.run();
    assert_eq!(
        (&run["tool_calls"], &run["skipped_calls"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(run["warnings"][0]["count"], json!(6), "{run}");
}

/// `action: "abort"` after two calls: the run is to end, with tool, repeats and rule in the error.
#[test]
fn abort_ends_the_run() {
    let yaml = "
detectors: {rules: {duplicate_call: {calls: 3}}}
guard:
  actions:
    - {rules: [duplicate_call], verdict: abort, message: 'ToolLoopError: {tool_name} {repeats}'}
";
    let guard = Guarded::with(AGENTIUM, yaml);
    let hi = asked("fetchData", json!({"q": "hi"}));
    let verdicts: Vec<String> = (0..3).map(|_| guard.check(&hi)).collect();
    assert_eq!(verdicts, ["ALLOW", "ALLOW", "ABORT duplicate_call 3"]);
    let answer = guard.answer(&hi);
    assert_eq!(answer["message"], json!("ToolLoopError: fetchData 4"));
    // To find out why an agent spins: the first repeat.
    let guard = Guarded::with(AGENTIUM, &yaml.replace("calls: 3", "calls: 2"));
    assert_eq!(
        [guard.check(&hi), guard.check(&hi)],
        ["ALLOW", "ABORT duplicate_call 2"]
    );
}

/// Counters are independent, survive everything that happens in the run, and do not look at results; the order of keys does
/// not matter (see the top).
#[test]
fn the_guard_counts_each_call_apart() {
    let guard = Guarded::by(AGENTIUM);
    let [hi, bye] = ["hi", "bye"].map(|q| asked("fetchData", json!({"q": q})));
    for n in 0..3 {
        assert_eq!(guard.call(&hi, &json!({"result": n})), "ALLOW");
        assert_eq!(guard.call(&bye, &json!({"error": "timeout"})), "ALLOW");
        guard.message("user", "go on");
    }
    assert_eq!(guard.check(&bye), "SKIP duplicate_call 4");
    assert_eq!(guard.check(&hi), "SKIP duplicate_call 4");
    let orders = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#];
    let verdicts: Vec<String> = (0..4)
        .map(|i| guard.check(&asked("t", json!(orders[i % 2]))))
        .collect();
    assert_eq!(verdicts[2..], ["ALLOW", "SKIP duplicate_call 4"]);
}

/// Polling is right to repeat: five polls are made, whether the tool is excepted by name or its limit is 10.
#[test]
fn polls_are_never_refused() {
    let poll = asked("pollResult", json!({"handle": "ah:abc"}));
    for yaml in [
        "guard: {exempt_tools: ['poll*']}",
        "detectors: {rules: {duplicate_call: {except_tools: [pollResult]}}}",
        "detectors: {rules: {duplicate_call: {calls: 11}}}",
    ] {
        let guard = Guarded::with(AGENTIUM, yaml);
        for _ in 0..10 {
            assert_eq!(
                guard.call(&poll, &json!({"result": "pending"})),
                "ALLOW",
                "{yaml}"
            );
        }
    }
}
