//! What was done, and what it changed: things that are made twice, clicks that do nothing, verdicts that stay no; and work that
//! looks like it, a check after each step, a form for each of many, keys whose pictures nobody kept.

use serde_json::{Value, json};

use crate::support::check;

fn made(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// The rules that see one call that is made again and again.
const AGAIN: [&str; 3] = [
    "no_progress",
    "repeated_tool_call_exact_input",
    "repeated_tool_call_similar_input",
];

/// Given a key that is drawn anew for each call, so that it is known when it comes twice, the calls are the same.
#[test]
fn keys_that_are_drawn_anew() {
    let answer = json!({"status": "requires_action", "message": "The customer must confirm this payment in the application."});
    let pays = |at: u64| {
        let key = format!("268cc35f-1738-4538-ad63-b1a00ac8{at:04}");
        made(
            "charge",
            &json!({"idempotency_key": key, "amount": 1_290, "customer": "cus_77"}),
            &answer,
        )
    };
    check(&(0..7).map(pays).collect::<Vec<_>>(), &AGAIN);
}
