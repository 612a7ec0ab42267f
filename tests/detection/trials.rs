//! What is tried out, checked and taken back again, step by step; and tries that come to nothing, which look like it.

use serde_json::{Value, json};

use crate::support::{call, check, failed, is_warned_of};

const OLD: [&str; 10] = [
    "a < b",
    "c + d",
    "e and f",
    "g == h",
    "i * j",
    "not k",
    "range(n)",
    "min(o, p)",
    "q - 1",
    "r or s",
];

const THINGS: [&str; 10] = [
    "anchor", "bridge", "canal", "delta", "ferry", "gorge", "harbour", "island", "jetty", "lagoon",
];

fn edit(old: &str) -> Value {
    json!({
        "kind": "tool_call", "agent": "a", "tool": "edit",
        "input": {"path": "calc.py", "old": old, "new": format!("mutant of {old}")}, "output": "ok",
    })
}

const TESTS: &str = "pytest -q | tail -1";

fn fails() -> Value {
    failed("bash", TESTS, "1 failed, 40 passed in 0.41s")
}

fn passes() -> Value {
    call("bash", TESTS, "41 passed in 0.40s")
}

fn restores() -> Value {
    call("bash", "git checkout -q calc.py", "")
}

fn rounds(round: impl Fn(usize) -> Vec<Value>) -> Vec<Value> {
    (0..OLD.len()).flat_map(round).collect()
}

/// Given another change each time, after which tests fail, and which is taken back so that they pass again, that is work, whoever
/// changes and takes back. Where it is one change again and again, or all is never well in between, it is a loop.
#[test]
fn what_is_tried_out_and_is_well_again() {
    check(
        &rounds(|at| vec![edit(OLD[at]), fails(), restores(), passes()]),
        &[],
    );
    let in_shell = |at: usize| {
        let command = format!("sed -i 's/{}/mutant/' calc.py", OLD[at]);
        vec![call("bash", &command, ""), fails(), restores(), passes()]
    };
    check(&rounds(in_shell), &[]);
    let one = rounds(|_| vec![edit(OLD[0]), fails(), restores(), passes()]);
    assert!(is_warned_of(&one));
    let never_well = rounds(|at| vec![edit(OLD[at]), fails()]);
    assert!(is_warned_of(&never_well[..12]));
    let without_steps = rounds(|_| vec![fails(), restores(), passes()]);
    assert!(is_warned_of(&without_steps));
}

/// Given changes that are taken back in the same way each time with no check in between, some of which leave all well, that is
/// work; where none does for long, it is a loop.
#[test]
fn what_is_taken_back_without_a_check() {
    let restores = || {
        call(
            "bash",
            "git checkout calc.py",
            "Updated 1 path from the index",
        )
    };
    let survives = |at: usize| if at % 4 == 3 { passes() } else { fails() };
    let tried =
        |told: &dyn Fn(usize) -> Value| rounds(|at| vec![edit(OLD[at]), told(at), restores()]);
    check(&tried(&survives), &[]);
    let none = tried(&|_| fails());
    assert!(!is_warned_of(&none[..15]));
    assert!(is_warned_of(&none[..24]));
}

/// Given one thought again and again of which only the number is another one, also in the answer, that is a loop; other thoughts
/// are work, and so are pages by their numbers.
#[test]
fn thoughts_are_not_told_by_their_numbers() {
    let thinks = |tool: &str, thought: &dyn Fn(usize) -> String| -> Vec<Value> {
        let one = |at: usize| {
            json!({
                "kind": "tool_call", "agent": "a", "tool": tool,
                "input": {"thought": thought(at), "thoughtNumber": at + 1, "nextThoughtNeeded": true},
                "output": {"thoughtNumber": at + 1, "nextThoughtNeeded": true, "thoughtHistoryLength": at + 1},
            })
        };
        (0..OLD.len()).map(one).collect()
    };
    let same = |_| "The cause should be in the log of the deployment.".to_owned();
    let rules = [
        "no_progress",
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
    ];
    check(&thinks("sequentialthinking", &same), &rules);
    let other = |at: usize| {
        format!(
            "The {} is asked for, and may be what is missing.",
            THINGS[at]
        )
    };
    check(&thinks("sequentialthinking", &other), &[]);
    check(&thinks("read_notes", &same), &[]);
}

/// Given a caller who is asked again and again and never verified for one reason, that is a loop, though the caller answers each
/// time; other callers are other work.
#[test]
fn callers_who_are_never_verified() {
    let asks = |born: &dyn Fn(usize) -> String| -> Vec<Value> {
        let one = |at: usize| {
            [
                json!({"kind": "user_message", "agent": "user"}),
                json!({
                    "kind": "tool_call", "agent": "a", "tool": "verify_caller",
                    "input": {"born": born(at)},
                    "output": {"verified": false, "reason": "account_locked"},
                }),
            ]
        };
        (0..OLD.len()).flat_map(one).collect()
    };
    assert!(is_warned_of(&asks(&|_| "1981-05-04".to_owned())));
    check(&asks(&|at| format!("19{}-05-04", 50 + 3 * at)), &[]);
}
