//! The page *Loop detectors* of LoopLens.
//!
//! Nothing here needs a verdict. Differences that are meant: a missing input is identical to nothing; a bounce needs three
//! hand-offs in turn; `no_progress` looks at what lies between the calls, so one early update does not silence it; similar
//! inputs are compared with the newest calls of the tool, not with the last one only.

use eddy::config::profile::Name;
use eddy::engine::RunView;
use serde_json::{Value, json};

use super::support::{call, times, watch, with};

const LOOPLENS: Name = Name::Looplens;

fn view(events: &[Value]) -> RunView {
    watch(&LOOPLENS.policy(), events)
}

/// The count of a rule's only warning; 0 where it has none.
fn count(events: &[Value], rule: &str) -> u64 {
    let view = view(events);
    let mut counts = view
        .warnings
        .iter()
        .filter(|warning| warning.rule.name() == rule);
    let count = counts.next().map_or(0, |warning| warning.count);
    assert!(counts.next().is_none(), "more than one {rule}");
    count
}

#[track_caller]
fn check(events: &[Value], rule: &str, expected: u64) {
    assert_eq!(count(events, rule), expected, "{rule} {events:?}");
}

fn search(query: &str) -> Value {
    call("search", json!({"query": query}))
}

fn different(count: usize) -> Vec<Value> {
    let words = ["alpha", "how do rivers form", "7 x 9", "zebra?", "Q"];
    words[..count].iter().map(|word| search(word)).collect()
}

fn between(calls: &[Value], other: &Value) -> Vec<Value> {
    calls
        .iter()
        .flat_map(|call| [call.clone(), other.clone()])
        .collect()
}

fn handoff(from: &str, to: &str) -> Value {
    json!({"kind": "handoff", "from_agent": from, "to_agent": to})
}

/// The same tool three times within the last eight tool calls; model calls in between do not hide it, nor does control that passes.
#[test]
fn repeated_tool_call() {
    let rule = "repeated_tool_call";
    check(&different(2), rule, 0);
    check(&different(3), rule, 3);
    let model = json!({"kind": "llm_call", "tokens": 5});
    check(&between(&different(3), &model), rule, 3);
    let others: Vec<Value> = (0..6)
        .map(|i| call(&format!("tool{i}"), json!({})))
        .collect();
    let mut spread = different(2);
    spread.extend_from_slice(&others[..5]);
    spread.push(search("last"));
    check(&spread, rule, 3);
    spread.insert(3, others[5].clone());
    check(&spread, rule, 0);
    let mut passed_on = different(2);
    passed_on.extend(times(6, call("transfer_to_desk", json!({}))));
    passed_on.push(search("last"));
    check(&passed_on, rule, 3);
}

/// The same tool three times with input that is 85 % similar, over the whole run.
#[test]
fn similar_input() {
    let rule = "repeated_tool_call_similar_input";
    let drifting = [
        "find the best rust crates",
        "find the best rust crate",
        "find best rust crates",
    ];
    let run: Vec<Value> = drifting.iter().map(|query| search(query)).collect();
    check(&run[..2], rule, 0);
    check(&run, rule, 3);
    check(&different(5), rule, 0);
}

/// The same tool three times with the same input, over the whole run; a missing input is identical to nothing.
#[test]
fn exact_input() {
    let rule = "repeated_tool_call_exact_input";
    check(&times(2, search("a")), rule, 0);
    check(&times(3, search("a")), rule, 3);
    let far: Vec<Value> = (0..12)
        .map(|i| call(&format!("tool{i}"), json!({"n": i})))
        .collect();
    let mut run = vec![search("a")];
    run.extend_from_slice(&far[..6]);
    run.push(search("a"));
    run.extend_from_slice(&far[6..]);
    run.push(search("a"));
    check(&run, rule, 3);
    check(
        &times(5, json!({"kind": "tool_call", "tool": "search"})),
        rule,
        0,
    );
}

/// A tool repeats with no state update or memory write between its calls.
#[test]
fn no_progress() {
    let rule = "no_progress";
    check(&different(3), rule, 3);
    for kind in ["state_update", "memory_write"] {
        check(&between(&different(5), &json!({"kind": kind})), rule, 0);
    }
    let mut early = vec![search("a"), json!({"kind": "state_update"})];
    early.extend(times(3, search("a")));
    check(&early, rule, 3);
}

/// A tool finds nothing three times, whatever nothing looks like; absent results are not nothing.
#[test]
fn empty_results() {
    let rule = "empty_result_loop";
    let found = |output: Value| -> Vec<Value> {
        let calls = different(3).into_iter();
        calls
            .map(|call| with(call, "output", output.clone()))
            .collect()
    };
    for empty in [
        json!([]),
        json!({}),
        json!(""),
        json!("no results"),
        json!({"results": []}),
        Value::Null,
    ] {
        check(&found(empty.clone()), rule, 3);
        check(&found(empty)[..2], rule, 0);
    }
    check(&found(json!([1])), rule, 0);
    check(&found(json!("100 results")), rule, 0);
    check(&different(3), rule, 0);
}

/// Three retries in the run.
#[test]
fn retry_storm() {
    check(&times(2, json!({"kind": "retry"})), "retry_storm", 0);
    check(&times(3, json!({"kind": "retry"})), "retry_storm", 3);
    let failed = with(search("a"), "error", json!("timeout"));
    check(&times(5, failed), "retry_storm", 0);
}

/// A step of more than 30 seconds, each for itself; 30 exactly are none.
#[test]
fn long_steps() {
    let lasting = |ms: u64| with(search("a"), "duration_ms", json!(ms));
    check(&[lasting(30_000)], "long_running_step", 0);
    check(&[lasting(30_001)], "long_running_step", 1);
    let far = |i: usize| {
        with(
            with(search("a"), "duration_ms", json!(31_000)),
            "t_ms",
            json!(i * 60_000),
        )
    };
    let warnings = view(&[far(1), far(2)]).warnings;
    let long = warnings
        .iter()
        .filter(|warning| warning.rule.name() == "long_running_step");
    assert_eq!(long.count(), 2);
}

/// One event over half of the cost so far, above five cents.
#[test]
fn cost_spike() {
    let costing = |usd: f64| json!({"kind": "llm_call", "tokens": 1, "cost_usd": usd});
    check(&[costing(0.05)], "cost_spike", 0);
    check(&[costing(0.06)], "cost_spike", 1);
    check(
        &[costing(0.02), costing(0.02), costing(0.02)],
        "cost_spike",
        0,
    );
    check(
        &[costing(0.02), costing(0.02), costing(0.05)],
        "cost_spike",
        1,
    );
}

/// The total crosses the budget; without one the rule is off.
#[test]
fn cost_budget() {
    let costing = |usd: f64| json!({"kind": "llm_call", "tokens": 1, "cost_usd": usd});
    let run = [costing(0.04), costing(0.04), costing(0.04)];
    check(&run, "cost_budget_exceeded", 0);
    let mut policy = LOOPLENS.policy();
    policy
        .rules
        .cost_budget_exceeded
        .as_mut()
        .unwrap()
        .budget_usd = Some(0.1);
    let over = |events: &[Value]| !watch(&policy, events).warnings.is_empty();
    assert!(!over(&run[..2]));
    assert!(over(&run));
}

/// Control goes to and fro between the same two agents; three in a circle are none.
#[test]
fn handoff_bounce() {
    let rule = "handoff_bounce";
    let bounce = [handoff("a", "b"), handoff("b", "a"), handoff("a", "b")];
    check(&bounce[..2], rule, 0);
    check(&bounce, rule, 3);
    let circle: Vec<Value> = ["ab", "bc", "ca", "ab", "bc", "ca"]
        .iter()
        .map(|pair| handoff(&pair[..1], &pair[1..]))
        .collect();
    check(&circle, rule, 0);
}

/// Every rule has the penalty of its row.
#[test]
fn penalties() {
    let rules = LOOPLENS.policy().rules;
    let rows = [
        ("no_progress", 30),
        ("repeated_tool_call_exact_input", 25),
        ("repeated_tool_call_similar_input", 20),
        ("empty_result_loop", 20),
        ("retry_storm", 20),
        ("handoff_bounce", 20),
        ("repeated_tool_call", 15),
        ("cost_spike", 15),
        ("cost_budget_exceeded", 15),
        ("long_running_step", 10),
    ];
    for (name, penalty) in rows {
        let rule = eddy::engine::warning::Rule::named(name).unwrap();
        assert_eq!(rules.alarm(rule).unwrap().penalty, penalty, "{name}");
    }
    let on = eddy::engine::warning::Rule::ALL;
    assert_eq!(
        on.iter()
            .filter(|rule| rules.alarm(**rule).is_some())
            .count(),
        rows.len()
    );
}

/// Penalties stack, the score maps to a status, and a failed run is failed whatever its score.
#[test]
fn health() {
    let status = |events: &[Value]| {
        let view = view(events);
        (view.score, view.status.name())
    };
    assert_eq!(status(&different(2)), (100, "healthy"));
    assert_eq!(status(&different(3)), (100 - 15 - 30, "warning"));
    assert_eq!(
        status(&times(3, search("a"))),
        (100 - 15 - 20 - 25 - 30, "likely_stuck")
    );
    let empty = with(search("a"), "output", json!([]));
    assert_eq!(status(&times(3, empty)), (0, "likely_stuck"));
    let failed = json!({"kind": "run_end", "status": "failed"});
    assert_eq!(status(&[search("a"), failed]), (70, "failed"));
    let slow = with(search("a"), "duration_ms", json!(40_000));
    assert_eq!(status(&[slow]), (90, "healthy"));
}

/// One loop has one warning, whose count grows.
#[test]
fn one_warning_a_loop() {
    check(&times(9, search("a")), "repeated_tool_call_exact_input", 9);
}
