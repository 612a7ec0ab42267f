//! Agents that work side by side: what one of them finds is no headway of another.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed};

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
