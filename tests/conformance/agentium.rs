//! The page *Tool Loop Detection* of agentium.
//!
//! Still to come with the guard: `hint` (an answer in the place of the result, error `loop-detected`) and `abort`
//! (`ToolLoopError` with tool and repeats). One difference is meant: the page counts `{a, b}` and `{b, a}` apart because that
//! is how its key is made; here the order of keys does not matter.

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use serde_json::{Value, json};

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
