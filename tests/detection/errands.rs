//! Agents that are sent on the same errand again: for the next piece of work, or for the same once more.

use serde_json::{Value, json};

use crate::support::{check, checked, said};

fn ask(from: &str, to: &str, text: &str) -> Value {
    json!({"kind": "handoff", "from_agent": from, "to_agent": to, "input": text})
}

fn call_of(agent: &str, tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": agent, "tool": tool, "input": input, "output": output})
}

fn says(agent: &str, text: &str) -> Value {
    let mut event = said(text);
    event["agent"] = json!(agent);
    event
}

/// Eight pieces of text that have hardly a word in common.
const PIECES: [&str; 8] = [
    "the ferry leaves at dawn and carries apples over the strait before rain begins",
    "our oven broke on monday while bread for the wedding was still rising slowly",
    "three violins were stolen from a museum near the harbour during its renovation",
    "engineers measured how granite bridges expand under summer heat and winter frost",
    "my password never arrived although support promised another mail within minutes",
    "wolves returned to northern valleys where shepherds now train younger guard dogs",
    "invoice forty was paid twice because two clerks pressed confirm simultaneously",
    "satellites photograph coral reefs each night to estimate bleaching from orbit",
];

/// Given the same words to an agent for the next piece of work each time, no errand is repeated as long as new things come of it;
/// where nothing does, and where another agent finds something meanwhile, it is a loop.
#[test]
fn the_next_piece_is_another_errand() {
    let errand = "Summarize the next document of the queue in five sentences and store the summary";
    let lead = |text| ask("lead", "clerk", text);
    let done = |piece: &str| {
        let document = json!({"text": piece});
        [
            lead(errand),
            call_of("clerk", "pop_document", &json!({}), &document),
            call_of("clerk", "store", &document, &json!("ok")),
            ask("clerk", "lead", "Done."),
        ]
    };
    check(&PIECES.map(done).concat(), &[]);
    let vain = |piece: &str| {
        [
            lead(errand),
            call_of(
                "clerk",
                "pop_document",
                &json!({}),
                &json!({"error": "no such queue"}),
            ),
            ask("clerk", "lead", "Done."),
            call_of(
                "other",
                "read_page",
                &json!({"about": piece}),
                &json!(piece),
            ),
        ]
    };
    let loops = PIECES.map(vain).concat();
    let answer = crate::support::checked("", &loops);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    assert!(
        warnings
            .iter()
            .any(|warning| warning["rule"] == "goal_loop")
    );
    // Without a report back, where nothing is ever found, and where something is found at every third time; not at every second.
    for (finds, is_loop) in [(&[][..], true), (&[0, 3, 6], true), (&[0, 2, 4, 6], false)] {
        let turn = |(at, piece): (usize, &&str)| {
            let found = if finds.contains(&at) {
                json!({"text": piece})
            } else {
                json!({"error": "no such queue"})
            };
            [
                lead(errand),
                call_of("clerk", "pop_document", &json!({}), &found),
                call_of(
                    "other",
                    "read_page",
                    &json!({"about": piece}),
                    &json!(PIECES[7 - at]),
                ),
            ]
        };
        let turns: Vec<_> = PIECES[..7].iter().enumerate().flat_map(turn).collect();
        let answer = checked("", &turns).to_string();
        assert_eq!(answer.contains("goal_loop"), is_loop, "{answer}");
    }
}

/// Given an agent that asks for the next piece in the same words each time, and another one that writes it, nobody repeats himself;
/// where the other one says what it said, both do.
#[test]
fn who_asks_for_the_next_piece_gets_it() {
    let turns = |piece: &dyn Fn(usize) -> String| -> Vec<Value> {
        let turn = |number: usize| {
            [
                says("writer", &piece(number)),
                says(
                    "user_proxy",
                    "Please go on with the next part of the story now.",
                ),
            ]
        };
        (0..8).flat_map(turn).collect()
    };
    let new = |number: usize| format!("{} {}", PIECES[number], PIECES[(number + 3) % 8]);
    check(&turns(&new), &[]);
    check(&turns(&|_| new(0)), &["repeated_text"]);
    check(
        &turns(&|number| format!("part {number} is done")),
        &["repeated_text"],
    );
}

/// Given a user who asks for the same again each time, nobody is sent in a circle, whatever comes of it; where nobody asks,
/// somebody is.
#[test]
fn what_a_user_asks_for_again_is_no_errand_in_a_circle() {
    let turns = |user: &[Value]| -> Vec<Value> {
        let state = json!({"service": "billing", "state": "healthy", "version": 17});
        let turn = [
            ask(
                "lead",
                "clerk",
                "Please tell what state the deployment of the billing service is in",
            ),
            call_of(
                "clerk",
                "get_deployment",
                &json!({"service": "billing"}),
                &state,
            ),
            says("clerk", "It is healthy."),
        ];
        vec![[user, &turn].concat(); 7].concat()
    };
    let asks = json!({"kind": "user_message"});
    check(&turns(&[asks]), &[]);
    let answer = checked("", &turns(&[]));
    assert!(answer.to_string().contains("goal_loop"), "{answer:#}");
}

/// Given an instruction into which another name or text is filled each time, it is another errand, and reports back in the same
/// words are of other things; who says the same of each does not repeat himself. Given the same of one thing, it is a loop.
#[test]
fn forms_that_are_filled_in_are_other_errands() {
    let call_up = |name: &str| {
        [
            ask(
                "lead",
                "caller",
                &format!("Call {name} and ask whether they want to renew the contract"),
            ),
            call_of(
                "caller",
                "phone",
                &json!({"to": name}),
                &json!({"answered": false}),
            ),
            ask(
                "caller",
                "lead",
                "Nobody answered, I left a message on the voicemail there.",
            ),
        ]
    };
    let names = [
        "Sven Patel",
        "Marek Berg",
        "Xenia Ivanov",
        "Quentin Kowalski",
        "Marek Novak",
        "Dmitri Costa",
    ];
    check(&names.map(call_up).concat(), &[]);
    let refund = |name: &str| {
        let order = 10_000 + name.len() * 7_919;
        let wish = format!(
            "Customer {name} wants a refund for order {order}, please check the rules and process it"
        );
        [
            ask("triage", "refunds", &wish),
            call_of(
                "refunds",
                "get_rules",
                &json!({}),
                &json!("Refunds are granted within 30 days."),
            ),
            call_of(
                "refunds",
                "issue_refund",
                &json!({"order": order}),
                &json!({"ok": true}),
            ),
            ask(
                "refunds",
                "triage",
                "The refund was issued and the customer has been notified by mail.",
            ),
        ]
    };
    check(&names.map(refund).concat(), &[]);
    let judge = |piece: &str| {
        let question = format!("Question: is this right? Answer: {piece}. Is the answer correct?");
        [
            ask("runner", "judge", &question),
            says(
                "judge",
                "Verdict: PASS. The answer is correct and complete.",
            ),
            ask("judge", "runner", ""),
        ]
    };
    check(&PIECES.map(judge).concat(), &[]);
    let again = PIECES.map(|_| judge(PIECES[0])).concat();
    check(&again, &["goal_loop", "handoff_bounce", "repeated_text"]);
}

/// Given a page that is scrolled down under three errands, that is a loop; what was done before the first errand was under none.
#[test]
fn the_same_call_under_several_errands() {
    let errands = [
        "Count all ferries that leave before noon",
        "Write down which boats were painted lately",
        "Tell whether more rain is expected there",
    ];
    let errand = |number: usize| ask("lead", "surfer", errands[number]);
    let scroll = |number: usize| {
        let shown = json!(format!("what stands in part {number} of the page"));
        call_of("surfer", "scroll", &json!({"to": "down"}), &shown)
    };
    let three = [
        errand(0),
        scroll(0),
        errand(1),
        scroll(1),
        scroll(2),
        errand(2),
        scroll(3),
    ];
    check(&three, &["goal_loop"]);
    check(&three[..6], &[]);
    let two = [
        scroll(0),
        scroll(1),
        errand(0),
        scroll(2),
        errand(1),
        scroll(3),
    ];
    check(&two, &[]);
}
