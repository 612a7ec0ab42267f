//! The rules of the other profiles against a plain look over the whole run: whatever happens, counting step by step ends in
//! the same warnings.

use std::collections::{BTreeMap, BTreeSet};

use eddy::config::profile::Name;
use proptest::prelude::{Just, Strategy, prop_oneof, proptest};
use serde_json::{Value, json};

use super::support::{call, failing, shown, text, user, watch, with};

/// A rule and a tool, and the largest count at which it spoke.
type Found = BTreeMap<String, u64>;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Thing {
    /// Which tool, argument, option and worker; whether it fails.
    Call(usize, usize, usize, usize, bool),
    Command(bool),
    Tests(bool),
    Text,
    User,
}

const TOOLS: [&str; 3] = ["read_file", "semantic_search", "composio_execute"];
const QUERIES: [&str; 3] = ["fix bug", "fix the bug", "list all users"];
const WORKERS: [&str; 2] = ["one", "two"];

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let call = (
        0_usize..3,
        0_usize..3,
        0_usize..2,
        0_usize..2,
        proptest::bool::weighted(0.2),
    )
        .prop_map(|(tool, query, option, worker, fails)| {
            // Fewer different calls than a run has tallies and warnings.
            Thing::Call(tool, query, option * usize::from(tool != 2), worker, fails)
        });
    let thing = prop_oneof![
        8 => call,
        2 => proptest::bool::ANY.prop_map(Thing::Command),
        2 => proptest::bool::ANY.prop_map(Thing::Tests),
        2 => Just(Thing::Text),
        1 => Just(Thing::User),
    ];
    proptest::collection::vec((thing, 1_usize..5), 1..40).prop_map(|things| {
        let repeated = things
            .into_iter()
            .flat_map(|(thing, count)| vec![thing; count]);
        repeated.collect()
    })
}

fn event(thing: &Thing) -> Value {
    match thing {
        Thing::Call(tool, query, option, worker, fails) => {
            let input = json!({"query": QUERIES[*query], "option": option});
            let call = with(call(TOOLS[*tool], input), "worker", json!(WORKERS[*worker]));
            let call = with(call, "agent", json!(WORKERS[*worker]));
            let end = if *fails { "error" } else { "output" };
            with(call, end, json!("something"))
        }
        Thing::Command(true) => failing("make"),
        Thing::Command(false) => super::support::command("make"),
        Thing::Tests(true) => failing("cargo test"),
        Thing::Tests(false) => super::support::command("cargo test"),
        Thing::Text => text("in summary"),
        Thing::User => user(),
    }
}

/// What the engine found, and what a rule's plain look finds.
fn compare(profile: Name, things: &[Thing], rule: &str, expected: &Found) {
    let events: Vec<Value> = things.iter().map(event).collect();
    let view = watch(&profile.policy(), &events);
    let mut found = Found::new();
    for warning in view
        .warnings
        .iter()
        .filter(|warning| warning.rule.name() == rule)
    {
        let tool = warning.tool.as_deref().unwrap_or("-").to_owned();
        let count = found.entry(tool).or_default();
        *count = warning.count.max(*count);
    }
    assert_eq!(
        &found,
        expected,
        "{rule}: {:?} after {things:?}",
        shown(&view)
    );
}

fn grow(found: &mut Found, tool: &str, count: usize) {
    let known = found.entry(tool.to_owned()).or_default();
    *known = (count as u64).max(*known);
}

/// What is called: a tool, its exact arguments and its main arguments.
fn called(thing: &Thing) -> Option<(&'static str, String, String)> {
    match thing {
        Thing::Call(tool, query, option, ..) => Some((
            TOOLS[*tool],
            format!("{tool} {query} {option}"),
            format!("{tool} {query}"),
        )),
        Thing::Command(_) => Some(("bash", "make".into(), "make".into())),
        Thing::Tests(_) => Some(("bash", "test".into(), "test".into())),
        Thing::Text | Thing::User => None,
    }
}

/// Calls at the end of these that share what `of` takes from them.
fn row<T>(calls: &[T], of: impl Fn(&T) -> &String) -> usize {
    let last = calls.last().map(&of);
    calls
        .iter()
        .rev()
        .take_while(|call| Some(of(call)) == last)
        .count()
}

fn doom_loop(things: &[Thing]) -> Found {
    let mut found = Found::new();
    let mut workers: BTreeMap<usize, Vec<(&str, String, String)>> = BTreeMap::new();
    for thing in things {
        let Some(call) = called(thing) else { continue };
        let calls = workers.entry(worker(thing)).or_default();
        calls.push(call);
        let (exact, fuzzy) = (row(calls, |call| &call.1), row(calls, |call| &call.2));
        let count = if fuzzy >= 4 { fuzzy } else { exact };
        if count >= 3 {
            grow(&mut found, calls[calls.len() - 1].0, count);
        }
    }
    found
}

fn worker(thing: &Thing) -> usize {
    match thing {
        Thing::Call(_, _, _, worker, _) => *worker,
        _ => 9,
    }
}

fn global_doom_loop(things: &[Thing]) -> Found {
    let mut found = Found::new();
    let mut known: BTreeMap<String, (usize, BTreeSet<usize>)> = BTreeMap::new();
    for thing in things {
        let Some((tool, _, main)) = called(thing) else {
            continue;
        };
        let (count, workers) = known.entry(main).or_default();
        *count += 1;
        workers.insert(worker(thing));
        if *count >= 10 && workers.len() >= 2 {
            grow(&mut found, tool, *count);
        }
    }
    found
}

fn failures(things: &[Thing], of: impl Fn(&Thing) -> Option<bool>) -> Found {
    let mut found = Found::new();
    let mut in_a_row = 0;
    for failed in things.iter().filter_map(of) {
        in_a_row = if failed { in_a_row + 1 } else { 0 };
        if in_a_row >= 3 {
            grow(&mut found, "bash", in_a_row);
        }
    }
    found
}

fn summary_loop(things: &[Thing]) -> Found {
    let mut found = Found::new();
    let mut in_a_row = 0;
    for thing in things {
        in_a_row = if matches!(thing, Thing::Text) {
            in_a_row + 1
        } else {
            0
        };
        if in_a_row >= 2 {
            grow(&mut found, "-", in_a_row);
        }
    }
    found
}

/// Calls of each key, starting anew with every turn where `turns` says so.
fn counted(
    things: &[Thing],
    turns: bool,
    key: impl Fn(&Thing) -> Option<String>,
    enough: impl Fn(&str) -> usize,
) -> Found {
    let mut found = Found::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for thing in things {
        if turns && matches!(thing, Thing::User) {
            counts.clear();
        }
        let (Some((tool, ..)), Some(key)) = (called(thing), key(thing)) else {
            continue;
        };
        let count = counts.entry(key).or_default();
        *count += 1;
        if *count >= enough(tool) {
            grow(&mut found, tool, *count);
        }
    }
    found
}

fn exact(thing: &Thing) -> Option<String> {
    called(thing).map(|(_, exact, _)| exact)
}

/// The second equal call of an agent, counted from the first that did not fail.
fn after_success(things: &[Thing]) -> Found {
    let mut found = Found::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for thing in things {
        let (key, fails) = match thing {
            Thing::Call(_, _, _, worker, fails) => (format!("{worker} {:?}", exact(thing)), *fails),
            Thing::Command(fails) | Thing::Tests(fails) => (format!("{:?}", exact(thing)), *fails),
            Thing::Text | Thing::User => continue,
        };
        let count = counts.entry(key).or_default();
        if *count > 0 || !fails {
            *count += 1;
        }
        if let (2.., Some((tool, ..))) = (*count, called(thing)) {
            grow(&mut found, tool, *count);
        }
    }
    found
}

/// Queries of one turn; "fix bug" and "fix the bug" are alike, the same call again is not looked at.
fn similar_query(things: &[Thing]) -> Found {
    let mut found = Found::new();
    let mut asked: Vec<(usize, usize)> = Vec::new();
    for thing in things {
        match thing {
            Thing::User => asked.clear(),
            Thing::Call(1, query, option, ..) if !asked.contains(&(*query, *option)) => {
                asked.push((*query, *option));
                let kind = |query: usize| usize::from(query == 2);
                let alike = asked
                    .iter()
                    .filter(|(other, _)| kind(*other) == kind(*query))
                    .count();
                if alike >= 2 {
                    grow(&mut found, TOOLS[1], alike);
                }
            }
            _ => {}
        }
    }
    found
}

fn limit_exceeded(tool: &str) -> usize {
    match tool {
        "semantic_search" | "composio_execute" => 3,
        _ => 4,
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Given any run, each rule ends with the warnings that a look over the whole run finds.
    #[test]
    fn counting_is_looking_again(things in things()) {
        let attocode = Name::Attocode;
        compare(attocode, &things, "doom_loop", &doom_loop(&things));
        compare(attocode, &things, "global_doom_loop", &global_doom_loop(&things));
        let tests = failures(&things, |thing| match thing {
            Thing::Tests(failed) => Some(*failed),
            _ => None,
        });
        compare(attocode, &things, "test_fix_cycle", &tests);
        let commands = failures(&things, |thing| match thing {
            Thing::Tests(failed) | Thing::Command(failed) => Some(*failed),
            _ => None,
        });
        compare(attocode, &things, "command_failure_cascade", &commands);
        compare(attocode, &things, "summary_loop", &summary_loop(&things));
        let agentium = counted(&things, false, exact, |_| 4);
        compare(Name::Agentium, &things, "duplicate_call", &agentium);
        let automatos = counted(&things, true, exact, |_| 2);
        compare(Name::Automatos, &things, "duplicate_call", &automatos);
        let tool = |thing: &Thing| called(thing).map(|(tool, ..)| tool.to_owned());
        let limits = counted(&things, true, tool, limit_exceeded);
        compare(Name::Automatos, &things, "tool_limit", &limits);
        compare(Name::Automatos, &things, "similar_query", &similar_query(&things));
        compare(Name::AgentRuntime, &things, "duplicate_call", &after_success(&things));
    }
}
