//! Agents that work side by side: what one of them finds is no headway of another.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, later};

fn by(agent: &str, mut event: Value) -> Value {
    event["agent"] = json!(agent);
    event
}

const FILE: &str = "A long file that says what is to be done in this project, line by line, for all who take part.";

fn reads(agent: &str) -> Value {
    by(agent, call("read_file", "notes.md", FILE))
}

fn finds(agent: &str, number: usize) -> Value {
    let found =
        format!("a page of its own that tells of matter {number} and of nothing else at all");
    by(agent, call("search", &format!("matter {number}"), &found))
}

/// Given an agent that reads one file again and again while another one gets on, it is stuck, and stays so; one that reads it
/// again now and then between what it finds itself is not, and neither are several who each read it.
#[test]
fn one_is_stuck_while_others_get_on() {
    let rounds = 0..12;
    let stuck: Vec<_> = rounds
        .clone()
        .flat_map(|number| [reads("writer"), finds("researcher", number)])
        .collect();
    let told = checked("", &stuck);
    let warnings = told["runs"][0]["warnings"].as_array().expect("warnings");
    let exact = warnings
        .iter()
        .find(|warning| warning["rule"] == "repeated_tool_call_exact_input")
        .expect("a warning");
    assert_eq!(exact["agent"], "writer", "{told:#}");
    assert_eq!(exact["state"], "open", "{told:#}");
    let gets_on: Vec<_> = rounds
        .clone()
        .flat_map(|number| {
            [
                finds("writer", number),
                finds("writer", number + 50),
                reads("writer"),
                finds("researcher", number + 100),
            ]
        })
        .collect();
    check(&gets_on, &[]);
    let each: Vec<_> = rounds
        .flat_map(|number| {
            [
                reads(&format!("worker {}", number % 6)),
                finds("researcher", number),
            ]
        })
        .collect();
    check(&each, &[]);
}

/// Given an agent whose calls are all refused in the same way while others use the tool well, it is seen; where it succeeds
/// itself now and then, it is not.
#[test]
fn the_same_error_of_one() {
    let tables = [
        "salaries",
        "grades",
        "sick_notes",
        "bonuses",
        "reviews",
        "contracts",
        "pensions",
        "leave",
    ];
    let refused = |agent: &str, table: &str| {
        by(
            agent,
            failed("query", table, "permission denied for schema personnel"),
        )
    };
    let works = |agent: &str, table: &str| {
        by(
            agent,
            call(
                "query",
                &format!("{table} of the other schema"),
                &format!("all the rows of {table}"),
            ),
        )
    };
    let one: Vec<_> = tables
        .iter()
        .flat_map(|table| [refused("clerk", table), works("analyst", table)])
        .collect();
    check(&one, &["same_error"]);
    let both: Vec<_> = tables
        .iter()
        .flat_map(|table| [refused("clerk", table), works("clerk", table)])
        .collect();
    check(&both, &[]);
}

/// Given a call that goes on while a model is asked, such as one that holds another agent's whole work or a server in the
/// background, loops in its midst are seen as elsewhere, pauses are pauses, and calls of one answer are one round.
#[test]
fn what_happens_in_the_midst_of_a_call() {
    let task = |seconds: u64| {
        let mut event = call("task", "find the cause", "not found");
        event["duration_ms"] = json!(seconds * 1_000);
        later(event, 100)
    };
    let thinks = |second: u64, error: Option<&str>| {
        let event =
            json!({"kind": "llm_call", "agent": "helper", "duration_ms": 900, "error": error});
        later(event, second)
    };
    let within = |pace: u64, times: u64, inner: &dyn Fn(u64) -> Vec<Value>| -> Vec<Value> {
        let turns = (0..times).flat_map(|time| {
            let second = 110 + pace * time;
            let thought = thinks(second, None);
            [vec![thought], inner(second + 1)].concat()
        });
        [task(900)].into_iter().chain(turns).collect()
    };
    let at = |tool: &str, input: &str, second: u64| {
        let found = "src/main.rs:4: panic!(\"there is no such thing as this here\")";
        later(by("helper", call(tool, input, found)), second)
    };
    let again = |second: u64| vec![at("grep", "panic", second)];
    let exact = "repeated_tool_call_exact_input";
    let rules = ["no_progress", exact, "repeated_tool_call_similar_input"];
    check(&within(6, 6, &again), &rules);
    // A look every half minute is waiting, in the midst of a call as elsewhere.
    check(&within(31, 9, &again), &[]);
    let side_by_side = |second: u64| vec![at("grep", "panic", second); 4];
    check(&within(6, 2, &side_by_side), &[]);
    let fails = |second: u64| thinks(second, Some("400 the prompt is too long"));
    let models: Vec<_> = (0..6).map(|time| fails(110 + 6 * time)).collect();
    check(&[vec![task(900)], models].concat(), &["retry_storm"]);
}
