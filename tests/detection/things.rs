//! Work on many things, of which each call is about another one: its answer tells nothing of the next, though both look alike.

use serde_json::{Value, json};

use crate::support::{check, is_warned_of};

fn made(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

const SENTENCES: [&str; 9] = [
    "Cache lines from the source files of a program.",
    "The exact value received from the client.",
    "Create a mock object using another object as its model.",
    "For the proof assistant of our department.",
    "Useful for single headers that are composed of several items.",
    "Bit size of a secret scalar for the curve.",
    "Our delivery van broke down near the harbour and waited.",
    "Nobody answers the telephone on winter Sundays!",
    "Return the longhand version of that address as words.",
];

/// Given batches of which none failed, each was another one; where none is done, or all fail, it is the same one.
#[test]
fn batches_of_which_none_failed() {
    let next = |processed: u32, failed: u32| {
        let done = json!({"processed": processed, "failed": failed});
        made("process_next_batch", &json!({"queue": "thumbnails"}), &done)
    };
    check(&vec![next(50, 0); 9], &[]);
    assert!(is_warned_of(&vec![next(0, 0); 9]));
    assert!(is_warned_of(&vec![next(0, 50); 9]));
}

/// Given tests that are told as numbers, of which one fails after each edit, they fail; where all pass, that is confirmed.
#[test]
fn tests_told_as_numbers() {
    let edited = |result: &Value| -> Vec<Value> {
        let steps = SENTENCES
            .iter()
            .cycle()
            .take(16)
            .enumerate()
            .flat_map(|(number, text)| {
                let edit = json!({"path": "src/cache.py", "new": format!("{number}: {text}")});
                [
                    made("str_replace", &edit, &json!("ok")),
                    made("run_tests", &json!({}), result),
                ]
            });
        steps.collect()
    };
    for no in [
        json!({"passed": 41, "failed": 1, "failures": ["test_ttl"]}),
        json!({"numFailedTests": 1, "numPassedTests": 41}),
        json!({"passed": 41, "failures": [{"name": "test_ttl"}]}),
    ] {
        assert!(is_warned_of(&edited(&no)), "{no}");
    }
    assert!(!is_warned_of(&edited(
        &json!({"passed": 42, "failed": 0, "failures": []})
    )));
}
