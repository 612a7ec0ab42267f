//! Agents that work side by side: what one of them finds is no headway of another.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, is_warned_of, later};

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
    check(&stuck[..12], &[]);
    check(
        &stuck[..14],
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
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

/// Given an agent in a loop, what another one finds is no way out, unless the first one has found something itself since.
#[test]
fn others_are_no_way_out() {
    let goes_round = vec![reads("writer"); 8];
    let others: Vec<_> = (0..14).map(|number| finds("researcher", number)).collect();
    let open = |events: &[Vec<Value>]| {
        let answer = checked("", &events.concat());
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let exact = warnings
            .iter()
            .find(|warning| warning["rule"] == "repeated_tool_call_exact_input");
        exact.expect("a warning")["state"] == "open"
    };
    assert!(open(&[goes_round.clone(), others.clone()]));
    let itself = vec![finds("writer", 50)];
    assert!(!open(&[goes_round, itself, others]));
}

/// Given failures of one agent that say the same of another thing each time, they are no sign of one cause where the tool works for
/// another agent in between; where it does not, they are.
#[test]
fn failures_of_one_between_successes_of_another() {
    let names = ["ann", "bob", "cleo", "dan", "eve", "fay", "gus", "hans"];
    let fails = |name: &str| {
        by(
            "clerk",
            failed("load", name, &format!("cannot load {name}: no right")),
        )
    };
    let works = |name: &str| {
        let of = format!("all of {name}");
        by(
            "analyst",
            call(
                "load",
                &of,
                &format!("all the rows that are known of {name}"),
            ),
        )
    };
    let both = |name: &&str| [fails(name), works(name)];
    check(&names.iter().flat_map(both).collect::<Vec<_>>(), &[]);
    let alone: Vec<_> = names.iter().map(|name| fails(name)).collect();
    check(&alone[..4], &[]);
    check(&alone[..5], &["same_error"]);
}

/// Given an agent that is sent on another errand each time, and reads the same for each while another one gets on, nothing but its
/// errands is said to go round.
#[test]
fn who_is_sent_on_begins_anew() {
    let errands = [
        "Find the harbour on the map",
        "Count ferries before noon today",
        "Write down which boats are red",
        "Tell whether rain is expected",
        "Measure how deep the pond is",
        "Ask whom the mill belongs to",
        "List all trees at the quay",
        "Draw a plan of the upper lock",
    ];
    let sent = |(number, errand): (usize, &&str)| {
        [
            json!({"kind": "handoff", "from_agent": "lead", "to_agent": "writer", "input": errand}),
            reads("writer"),
            finds("researcher", number),
        ]
    };
    let events: Vec<_> = errands.iter().enumerate().flat_map(sent).collect();
    check(&events, &["goal_loop"]);
}

/// Given calls that follow one another, but whose times overlap a little, as tracers with inexact clocks tell them, they are a loop
/// as if they did not; calls that are made at once are one round.
#[test]
fn times_that_overlap_a_little_are_no_fan_out() {
    let warned = |lasts_ms: f64, apart_ms: f64| {
        let call = |number: u32| {
            let mut call = reads("writer");
            call["t_ms"] = json!(1_795_000_000_000.0 + f64::from(number) * apart_ms);
            call["duration_ms"] = json!(lasts_ms);
            call
        };
        is_warned_of(&(0..8).map(call).collect::<Vec<_>>())
    };
    for lasts_ms in [5.0, 50.0, 1_000.0] {
        for overlap_ms in [-1.0, 0.0, 0.25, 0.75] {
            assert!(
                warned(lasts_ms, lasts_ms - overlap_ms),
                "{lasts_ms} {overlap_ms}"
            );
        }
        for apart_ms in [0.0, 0.25, lasts_ms / 4.0] {
            assert!(!warned(lasts_ms, apart_ms), "{lasts_ms} {apart_ms}");
        }
    }
}
