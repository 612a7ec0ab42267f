//! Rounds that look like headway, and work that looks like rounds.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[];

pub(super) const WORK: &[Work] = &[("stock: things of two words", things_of_two_words)];

/// One question about one thing after the other, each called by two words or three, and nearly always one answer.
fn things_of_two_words(made: &mut Made) {
    made.begin(5);
    let (tool, name, answer) = [
        ("check_stock", "product", json!({"in_stock": true})),
        ("get_flag", "flag", json!({"enabled": false})),
        ("check_allergen", "dish", json!({"contains": false})),
        ("check_policy", "topic", json!({"allowed": true})),
        ("consultar_stock", "producto", json!({"disponible": true})),
        (
            "get_availability",
            "item",
            json!({"available": true, "warehouse": "Rotterdam", "lead_time": "next day"}),
        ),
    ][made.below(6)]
    .clone();
    let is_first_upper = made.chance(30);
    let count = made.between(1, 2) + 1;
    for words in made.some_words(36).chunks(count).take(12) {
        let mut thing = words.join(" ");
        if is_first_upper {
            thing[..1].make_ascii_uppercase();
        }
        let is_other = made.chance(8);
        let answer = if is_other {
            Value::Null
        } else {
            answer.clone()
        };
        made.call(tool, json!({name: thing}), answer);
    }
}
