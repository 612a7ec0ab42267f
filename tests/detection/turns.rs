//! What a user asks for again, and what one answer of a model asks for together: neither goes round. What goes on within a turn,
//! one call after the other, does.

use serde_json::{Value, json};

use crate::support::{call, check, check_with, checked, failed, is_warned_of, later, said};

fn user() -> Value {
    json!({"kind": "user_message"})
}

fn read(file: &str) -> Value {
    let text = format!(
        "All that there is to be said of the {file}, in a text that is longer than a mere word."
    );
    call("read", file, &text)
}

/// Calls that were made side by side, half a second long each.
fn together(second: u64, calls: &[Value]) -> Vec<Value> {
    let started = |(at, call): (u64, &Value)| {
        let mut call = later(call.clone(), second);
        call["t_ms"] = json!(second * 1_000 + at);
        call["duration_ms"] = json!(500);
        call
    };
    (0..).zip(calls).map(started).collect()
}

/// Questions in other words about one thing.
fn questions() -> Vec<Value> {
    let words = [
        "tides of the harbour",
        "harbour tides",
        "the tides of the harbour, please",
        "when are tides in the harbour",
    ];
    words.map(|words| call("search", words, "[]")).into()
}

/// Given a user who has the same looked up in each turn, found or not, that is no loop of the agent's; without the user it is.
#[test]
fn what_a_user_asks_for_again() {
    let round = vec![read("quay"), read("mill"), read("lock")];
    let looks_up = vec![call("search", "tides", "[]")];
    for (turn, rule) in [(round, "tool_cycle"), (looks_up, "empty_result_loop")] {
        let turns = vec![[vec![user()], turn.clone()].concat(); 6];
        check(&turns.concat(), &[]);
        let answer = checked("", &vec![turn; 6].concat());
        assert!(answer.to_string().contains(rule), "{answer:#}");
    }
}

/// Given one call, or one question in other words, several times in one answer of a model, it counts once, whether it finds nothing
/// or what was known; one after the other they are a loop. What each of several answers asks for together makes no round.
#[test]
fn what_one_answer_asks_for_together() {
    let blank = call("search", "tides", "[]");
    for calls in [vec![read("quay"); 4], vec![blank; 4], questions()] {
        check(&together(5, &calls), &[]);
        let known = [vec![later(calls[0].clone(), 1)], together(5, &calls)];
        check(&known.concat(), &[]);
        let warned = checked("", &calls);
        assert_ne!(warned["runs"][0]["status"], "healthy", "{warned:#}");
    }
    let both = [read("quay"), read("mill")];
    let answers: Vec<_> = (0..5).flat_map(|nth| together(10 * nth, &both)).collect();
    let again = [
        "no_progress",
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
    ];
    check(&answers, &again);
}

/// Given a user who begins a turn, retries in it are counted from the first one, as in a run without a user.
#[test]
fn retries_of_a_turn() {
    let pays = || failed("pay", "bill 7", "the card was refused");
    let storms = |events: &[Value]| {
        let answer = checked("", events);
        answer.to_string().contains("retry_storm")
    };
    for before in [vec![], vec![user()], vec![read("quay"), user()]] {
        assert!(!storms(&[before.clone(), vec![pays(); 3]].concat()));
        assert!(storms(&[before, vec![pays(); 4]].concat()));
    }
}

/// Given a limit of what may be read before something is changed, each turn has it anew.
#[test]
fn reading_in_each_turn() {
    let limit = "detectors: {rules: {exploration_saturation: {alarm: {severity: warning, penalty: 10}, calls: 5}}}";
    let pages = (0..12).map(|page| {
        let text = format!("What page {page} says, and no other one.");
        call("read_file", &format!("page {page}"), &text)
    });
    let pages: Vec<_> = pages.collect();
    check_with(limit, &pages[..4], &[]);
    check_with(limit, &pages, &["exploration_saturation"]);
    let turns = pages
        .chunks(4)
        .flat_map(|pages| [vec![user()], pages.to_vec()].concat());
    check_with(limit, &turns.collect::<Vec<_>>(), &[]);
}

/// Given a long answer that is given word for word to one message of the user after the other, whatever was looked up and found as
/// before, that is found; short words of confirmation are not, nor is an answer behind something new.
#[test]
fn answers_that_stay_whatever_is_said() {
    let answer = "I understand your concern. Your parcel is on its way and will arrive within three to five business days. Is there \
                  anything else that I can help you with today?";
    let track = |told: &str| call("track", "parcel 4711", told);
    let dialogue =
        |answer: &dyn Fn(usize) -> String, between: &dyn Fn(usize) -> Vec<Value>| -> Vec<Value> {
            let turn = |number: usize| {
                let mut turn = vec![user()];
                turn.extend(between(number));
                turn.push(said(&answer(number)));
                turn
            };
            (0..6).flat_map(turn).collect()
        };
    let same = |_| answer.to_owned();
    check(&dialogue(&same, &|_| vec![]), &["repeated_text"]);
    check(&dialogue(&same, &|_| vec![])[..8], &[]);
    assert!(is_warned_of(&dialogue(&same, &|_| vec![track(
        "in transit, as before"
    )])));
    check(
        &dialogue(
            &|number| {
                format!(
                    "{answer} That is all, number {number} of what there is to say in this matter.",
                )
            },
            &|_| vec![],
        ),
        &[],
    );
    check(
        &dialogue(
            &|_| "Done! It is on your shopping list now.".to_owned(),
            &|_| vec![],
        ),
        &[],
    );
    let news = |number: usize| {
        vec![track(&format!(
            "It was seen in the town of {number} bridges."
        ))]
    };
    check(&dialogue(&same, &news), &[]);
}

/// Given a user who is asked the very same six times and answers otherwise each time, the agent takes in none of the answers. Who
/// is asked for the next thing, or asked again behind something that was said or done, is not asked in vain.
#[test]
fn users_who_are_asked_the_same() {
    let answers = [
        "the ferry",
        "I said the ferry",
        "ferry!",
        "the one to the island",
        "as before",
        "stop",
        "FERRY",
        "no",
    ];
    let ask = |question: &str, at: usize| json!({"kind": "tool_call", "agent": "a", "tool": "ask_user", "input": {"question": question}, "output": answers[at]});
    let asked = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|at| ask("Which ferry is meant?", at))
            .collect()
    };
    check(&asked(5), &[]);
    check(&asked(6), &["repeated_tool_call_exact_input"]);
    let next: Vec<_> = (0..8).map(|at| ask("What is the next stop?", at)).collect();
    check(&next, &[]);
    let explained = (0..8).flat_map(|at| [said(answers[at]), ask("Is that clear?", at)]);
    check(&explained.collect::<Vec<_>>(), &[]);
    let booked = (0..8).flat_map(|at| {
        [
            ask("Which ferry is meant?", at),
            call("book", answers[at], "ok"),
        ]
    });
    check(&booked.collect::<Vec<_>>(), &[]);
}
