//! Calls of models among those of tools: pauses before them, failures, and what they cost.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, later};

/// Seconds between two looks of an agent that rests in between.
const REST_SECONDS: u64 = 1_800;

fn model(second: u64) -> Value {
    let call = json!({"kind": "llm_call", "agent": "a", "tokens": 500, "duration_ms": 3_000});
    later(call, second)
}

fn model_fails(second: u64, error: &str) -> Value {
    let mut failed = model(second);
    failed["error"] = json!(error);
    failed
}

/// Given an agent that rests before it asks its model what to do, it looks at the same again as one does whose model is not told
/// of; one that does not rest goes round.
#[test]
fn pauses_before_model_calls_are_pauses() {
    let looks = |rest: u64| -> Vec<Value> {
        let look = |number: u64| {
            let answer = call("list_inbox", "unread", "[nobody has written]");
            [model(rest * number), later(answer, rest * number + 4)]
        };
        (1..8).flat_map(look).collect()
    };
    check(&looks(REST_SECONDS), &[]);
    check(
        &looks(8),
        &["no_progress", "repeated_tool_call_exact_input"],
    );
}

/// Given model calls that fail one after the other, that is a storm, later where they may pass, and none where the agent waits, or
/// where they are made side by side.
#[test]
fn model_calls_that_fail() {
    const TOO_LONG: &str = "400 prompt is too long: 212853 tokens > 200000 maximum";
    const LIMITED: &str = "429 Too Many Requests";
    let fail = |count: u64, pace: u64, error: &str| -> Vec<Value> {
        (1..=count)
            .map(|number| model_fails(pace * number, error))
            .collect()
    };
    check(&fail(3, 5, TOO_LONG), &[]);
    check(&fail(4, 5, TOO_LONG), &["retry_storm"]);
    check(&fail(5, 5, LIMITED), &[]);
    check(&fail(6, 5, LIMITED), &["retry_storm"]);
    check(&fail(12, 60, LIMITED), &[]);
    check(&fail(12, 0, LIMITED), &[]);

    let mut recovers = fail(3, 5, TOO_LONG);
    recovers.push(model(20));
    recovers.extend((5..8).map(|number| model_fails(5 * number, TOO_LONG)));
    check(&recovers, &[]);
    let works = |number: u64| {
        let page = call(
            "fetch",
            &format!("page {number}"),
            &format!("text {number}"),
        );
        [
            model_fails(10 * number, TOO_LONG),
            later(page, 10 * number + 2),
        ]
    };
    check(&(1..9).flat_map(works).collect::<Vec<_>>(), &[]);
}

/// Given a storm of failing model calls, or of a failing tool, calls of the model that go well are the way out of the first alone.
#[test]
fn models_that_answer_again() {
    let open = |fails: &dyn Fn(u64) -> Value| -> bool {
        let answers = (6..20).map(|number| model(10 * number));
        let events: Vec<_> = (1..6)
            .map(|number| fails(10 * number))
            .chain(answers)
            .collect();
        let answer = checked("", &events);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let storm = warnings
            .iter()
            .find(|warning| warning["rule"] == "retry_storm");
        storm.expect("a storm")["state"] == "open"
    };
    assert!(!open(&|second| model_fails(
        second,
        "400 prompt is too long"
    )));
    assert!(open(&|second| later(
        failed("pay", "bill 7", "the card was refused"),
        second
    )));
}

/// Tool and count of each warning of retries.
fn storms(events: &[Value]) -> Vec<Value> {
    let mut answer = checked("", events);
    let warnings = answer["runs"][0]["warnings"].as_array_mut().expect("some");
    warnings.retain(|warning| warning["rule"] == "retry_storm");
    let told = |warning: &Value| json!([warning["tool"], warning["count"]]);
    warnings.iter().map(told).collect()
}

/// Given retries of a call that are told of without its tool, they are counted once where the call is made again for all to see,
/// and as they are told where it is not.
#[test]
fn retries_told_without_a_tool() {
    let fails = || failed("fetch", "GET /orders", "no such host: orders.local");
    let retry = || json!({"kind": "retry"});
    let told = vec![vec![fails(), retry()]; 5].concat();
    assert_eq!(storms(&told), [json!(["fetch", 4])]);
    let alone = [vec![fails()], vec![retry(); 4]].concat();
    assert_eq!(storms(&alone), [json!([null, 4])]);
    let passes = [fails(), retry(), call("fetch", "GET /orders", "none")];
    let passes = vec![passes; 3].concat();
    assert_eq!(storms(&passes), [json!([null, 3])]);
}

/// Given retries of a call that are told of with its tool, they count as long as no call of it shows whether it is one.
#[test]
fn retries_told_with_their_tool() {
    let fails = || failed("fetch", "GET /orders", "no such host: orders.local");
    let retry = || json!({"kind": "retry", "tool": "fetch"});
    let passes = || call("fetch", "GET /orders", "none");
    assert_eq!(storms(&vec![retry(); 4]), [json!(["fetch", 4])]);
    let alone = [vec![fails()], vec![retry(); 4], vec![passes()]].concat();
    assert_eq!(storms(&alone), [json!(["fetch", 4])]);
    let told = vec![vec![fails(), retry()]; 5].concat();
    assert_eq!(storms(&told), [json!(["fetch", 4])]);
    let passing = vec![vec![fails(), retry(), retry(), passes()]; 4].concat();
    assert_eq!(storms(&passing), [] as [Value; 0]);
}

/// Given failures that may pass, of other calls each, they are taken to stay when there are a dozen in a row; not where one of the
/// calls goes well, or the agent waits.
#[test]
fn outages_that_do_not_pass() {
    let fails = |number: u64, pace: u64| {
        let names = ["Ann", "Bob", "Cleo", "Dora", "Emil", "Fay", "Gus"];
        let about = format!(
            "bill {} for {}",
            names[number as usize % 7],
            number * 37 % 90
        );
        later(
            failed("create_bill", &about, "HTTP 500 Internal Server Error"),
            pace * number,
        )
    };
    let outage = |count: u64, pace: u64| -> Vec<Value> {
        (1..=count).map(|number| fails(number, pace)).collect()
    };
    check(&outage(11, 3), &[]);
    check(&outage(12, 3), &["same_error"]);
    let told = checked("", &outage(12, 3))["runs"][0]["warnings"].to_string();
    let in_words = "`create_bill` failed 12 times in a row in ways that often pass by themselves.";
    assert!(
        told.contains(in_words) && !told.contains("the same error"),
        "{told}"
    );
    check(&outage(20, 40), &[]);
    let mut flaky = outage(24, 3);
    for number in [7, 14, 21] {
        let bill = json!({"number": number}).to_string();
        flaky[number] = later(
            call("create_bill", &format!("bill {number}"), &bill),
            3 * number as u64 + 3,
        );
    }
    check(&flaky, &[]);
}

/// Given machines that do not answer, each of which is asked once, that is no storm of retries; one that is asked again and again,
/// with the number of the attempt, is.
#[test]
fn machines_that_do_not_answer() {
    let timed_out = |command: &str| failed("shell", command, "ssh: connect: Connection timed out");
    let machines = [12, 117, 4, 93, 201, 55, 8];
    let each = machines.map(|machine| timed_out(&format!("ssh 10.20.0.{machine} uname -r")));
    check(&each, &[]);
    let again: Vec<_> = (1..10)
        .map(|attempt| timed_out(&format!("connect mill attempt {attempt}")))
        .collect();
    let warned = checked("", &again);
    assert_ne!(warned["runs"][0]["status"], "healthy", "{warned:#}");
}

/// Given a run whose first model calls cost more than those before them, none is a spike; a later one is, and the warning says
/// what it cost.
#[test]
fn first_costs_are_no_spikes() {
    let costs = |all: &[f64]| -> Vec<Value> {
        let costing = |(number, cost): (u64, &f64)| {
            let mut call = model(10 * number);
            call["cost_usd"] = json!(cost);
            call
        };
        (1..).zip(all).map(costing).collect()
    };
    check(&costs(&[0.0004, 0.12, 0.01, 0.2]), &[]);
    let spike = costs(&[0.01, 0.01, 0.01, 0.01, 0.4]);
    check(&spike, &["cost_spike"]);
    let told = checked("", &spike).to_string();
    assert!(told.contains("One model call cost $0.40"), "{told}");
    let told = checked("", &costs(&[0.01, 0.01, 0.01, 0.01, 0.4, 1.0])).to_string();
    assert!(
        told.contains("2 model calls cost $1.40, each a large"),
        "{told}"
    );
}
