//! Searches that tell their hits in words: the same ones in another order or with other scores, and others.

use serde_json::{Value, json};

use crate::support::{check, is_warned_of};

const QUESTIONS: [&str; 7] = [
    "refund policy",
    "how to get a refund",
    "returns and refunds",
    "money back",
    "return an item for refund",
    "refund after 30 days",
    "refund request form",
];

const TITLES: [&str; 5] = [
    "Shipping times",
    "Gift cards",
    "Opening hours",
    "Loyalty points",
    "How to reach us",
];

/// The answers to all questions, each by its number.
fn answers(answer: &dyn Fn(usize) -> String) -> Vec<Value> {
    let asked = QUESTIONS.iter().enumerate();
    asked
        .map(|(number, words)| {
            json!({"kind": "tool_call", "agent": "a", "tool": "search_articles", "input": {"query": words}, "output": answer(number)})
        })
        .collect()
}

/// The hits of a search, one after the other from one of them on, with scores of its own.
fn hits(number: usize, title: &dyn Fn(usize) -> String) -> String {
    let places = 0..TITLES.len();
    let lines = places.map(|place| {
        let hit = (place + number) % TITLES.len();
        let score = 0.91 - 0.07 * place as f64 - 0.003 * number as f64;
        let title = title(hit);
        format!(
            "{}. {title} (score: {score:.4})\n   {title} is told of here at some length.",
            place + 1
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Given the same hits in words for each question, in another order and with other scores, or the same popular articles below the
/// question, nothing new comes of asking in other words; other hits do.
#[test]
fn the_same_hits_in_words() {
    let same = |number: usize| hits(number, &|hit| TITLES[hit].to_owned());
    assert!(is_warned_of(&answers(&same)));
    let echoed = |number: usize| {
        let question = QUESTIONS[number];
        let titles = TITLES.join("\n- ");
        format!("No exact match for '{question}'. Showing popular articles:\n- {titles}")
    };
    assert!(is_warned_of(&answers(&echoed)));
    let others = |number: usize| {
        hits(number, &|hit| {
            format!("{} at {}", TITLES[hit], QUESTIONS[(number + 3) % 7])
        })
    };
    check(&answers(&others), &[]);
}

/// Given hits that differ in what things cost, they are other hits.
#[test]
fn prices_of_hits_are_told() {
    let priced = |number: usize| {
        let titles = TITLES.iter().zip(2..);
        let lines = titles.map(|(title, price)| {
            format!("- {title} for all who ask: {}.50", price + number * 7 % 5)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    check(&answers(&priced), &[]);
}

/// Given the same few hits for each question, told by hardly more than ids in lines or lists, in another order and with other
/// scores, they are the same hits; other hits are not, nor are the points of a game, for which nobody searched.
#[test]
fn the_same_short_hits() {
    let ids = ["doc-17", "doc-4", "doc-23"];
    let scored = |number: usize| {
        let place = move |place: usize| (ids[(place + number) % 3], 91 - 7 * place - number);
        (0..3).map(place).collect::<Vec<_>>()
    };
    let lines = |number: usize| {
        let lines = scored(number).into_iter();
        let lines = lines.map(|(id, score)| format!("{id}: 0.{score}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let listed = |hits: Vec<(&str, usize)>| {
        let hits = hits.into_iter();
        let hits = hits.map(|(id, score)| json!({"id": id, "score": score as f64 / 100.0}));
        json!({"hits": hits.collect::<Vec<_>>()}).to_string()
    };
    check(&answers(&lines), &["stagnation"]);
    check(&answers(&|number| listed(scored(number))), &["stagnation"]);
    let others = |number: usize| listed(vec![(QUESTIONS[number], 91), (TITLES[number % 5], 80)]);
    check(&answers(&others), &[]);
    let mut games = answers(&|number| listed(scored(number)));
    for (number, game) in games.iter_mut().enumerate() {
        game["input"] = json!({"game": TITLES[number % 5]});
    }
    check(&games, &[]);
}
