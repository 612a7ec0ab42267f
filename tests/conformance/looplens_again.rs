//! The ten rules of LoopLens against a plain look over the whole run, written from its page: whatever happens, counting step
//! by step ends in the same warnings.

use std::collections::{BTreeMap, BTreeSet};

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::support::{shown, watch, with};

const TOOLS: [&str; 3] = ["search", "read_file", "fetch"];
/// The first two are alike by more than 85 %, all others by less.
const QUERIES: [&str; 4] = [
    "find the best rust crates",
    "find the best rust crate",
    "how do rivers form?",
    "7 x 9",
];
const AGENTS: [&str; 3] = ["a", "b", "c"];
const BUDGET_CENTS: u64 = 40;

/// One thing that happens, a minute after the one before it.
#[derive(Clone, Debug)]
enum Thing {
    Call(Call),
    Progress,
    Retry,
    /// A model call, by its cost in cents.
    Model(u64),
    /// Who has control hands over to one of the others.
    HandOff(usize),
}

#[derive(Clone, Debug)]
struct Call {
    tool: usize,
    /// Which query; none where it was not recorded.
    query: Option<usize>,
    finds: bool,
    lasts_long: bool,
}

fn things() -> impl Strategy<Value = Vec<Thing>> {
    let query = proptest::option::weighted(0.8, 0..QUERIES.len());
    let long = proptest::bool::weighted(0.05);
    let call = (0..TOOLS.len(), query, any::<bool>(), long).prop_map(
        |(tool, query, finds, lasts_long)| {
            Thing::Call(Call {
                tool,
                query,
                finds,
                lasts_long,
            })
        },
    );
    let thing = prop_oneof![
        6 => call,
        2 => Just(Thing::Progress),
        1 => Just(Thing::Retry),
        1 => (1_u64..30).prop_map(Thing::Model),
        2 => (1..AGENTS.len()).prop_map(Thing::HandOff),
    ];
    proptest::collection::vec(thing, 1..30)
}

fn event(nth: usize, thing: &Thing, holder: &mut usize) -> Value {
    let event = match thing {
        Thing::Call(call) => {
            let found = if call.finds {
                json!(["a thing"])
            } else {
                json!([])
            };
            let mut event = json!({"kind": "tool_call", "tool": TOOLS[call.tool], "output": found});
            if let Some(query) = call.query {
                event["input"] = json!({"query": QUERIES[query]});
            }
            event["duration_ms"] = json!(if call.lasts_long { 31_000 } else { 10 });
            event
        }
        Thing::Progress => json!({"kind": "state_update"}),
        Thing::Retry => json!({"kind": "retry"}),
        Thing::Model(cents) => {
            json!({"kind": "llm_call", "tokens": 1, "cost_usd": *cents as f64 / 100.0})
        }
        Thing::HandOff(on) => {
            let from = std::mem::replace(holder, (*holder + on) % AGENTS.len());
            json!({"kind": "handoff", "from_agent": AGENTS[from], "to_agent": AGENTS[*holder]})
        }
    };
    with(event, "t_ms", json!(nth * 60_000))
}

/// A rule and a tool, where the rule is about one, and how many warnings it has there.
type Found = BTreeMap<(&'static str, &'static str), usize>;

/// What the page's rules find in the whole run.
fn expected(things: &[Thing]) -> Found {
    let calls: Vec<&Call> = things.iter().filter_map(called).collect();
    let mut found = Found::new();
    for (tool, name) in TOOLS.iter().enumerate() {
        let own: Vec<&Call> = calls
            .iter()
            .copied()
            .filter(|call| call.tool == tool)
            .collect();
        let mut queries = BTreeMap::<usize, usize>::new();
        for query in own.iter().filter_map(|call| call.query) {
            *queries.entry(query).or_default() += 1;
        }
        let same = queries.into_values().any(|count| count >= 3);
        let is_often =
            |window: &[&Call]| window.iter().filter(|call| call.tool == tool).count() >= 3;
        let empty = own.iter().filter(|call| !call.finds).count();
        let long = own.iter().filter(|call| call.lasts_long).count();
        let counts = [
            (
                "repeated_tool_call",
                usize::from(calls.windows(8.min(calls.len()).max(1)).any(is_often)),
            ),
            ("repeated_tool_call_exact_input", usize::from(same)),
            (
                "repeated_tool_call_similar_input",
                usize::from(largest_group(&calls, tool) >= 3),
            ),
            ("no_progress", usize::from(stands_still(things, tool))),
            ("empty_result_loop", usize::from(empty >= 3)),
            ("long_running_step", long),
        ];
        found.extend(counts.map(|(rule, count)| ((rule, *name), count)));
    }
    let retries = things
        .iter()
        .filter(|thing| matches!(thing, Thing::Retry))
        .count();
    let (spikes, cents) = spikes(things);
    found.extend([
        (("retry_storm", "-"), usize::from(retries >= 3)),
        (("cost_spike", "-"), spikes),
        (
            ("cost_budget_exceeded", "-"),
            usize::from(cents > BUDGET_CENTS),
        ),
        (("handoff_bounce", "-"), bounces(things)),
    ]);
    found.retain(|_, count| *count > 0);
    found
}

/// The most calls of a tool that are alike. Each is compared with the newest calls, and joins the one that is the same, or else
/// the newest that is like it.
fn largest_group(calls: &[&Call], tool: usize) -> usize {
    const NEWEST: usize = 12;
    let mut groups: Vec<Option<usize>> = Vec::new();
    for (nth, call) in calls.iter().enumerate() {
        let query = call.query.filter(|_| call.tool == tool);
        let newest = (nth.saturating_sub(NEWEST)..nth).rev();
        let mut newest = newest.filter(|earlier| groups[*earlier].is_some());
        let group = query.map(|query| {
            let joined = newest
                .clone()
                .find(|earlier| calls[*earlier].query == Some(query))
                .or_else(|| newest.find(|earlier| alike(calls[*earlier].query, query)));
            joined.and_then(|joined| groups[joined]).unwrap_or(query)
        });
        groups.push(group);
    }
    let sizes = (0..QUERIES.len()).map(|group| {
        let of_group = groups.iter().filter(|joined| **joined == Some(group));
        of_group.count()
    });
    sizes.max().unwrap_or(0)
}

fn alike(one: Option<usize>, other: usize) -> bool {
    one.is_some_and(|one| one.max(1) == other.max(1))
}

fn called(thing: &Thing) -> Option<&Call> {
    match thing {
        Thing::Call(call) => Some(call),
        _ => None,
    }
}

/// Whether a tool was called three times with no progress in between.
fn stands_still(things: &[Thing], tool: usize) -> bool {
    let stretches = things.split(|thing| matches!(thing, Thing::Progress));
    let calls = |stretch: &[Thing]| {
        let calls = stretch.iter().filter_map(called);
        calls.filter(|call| call.tool == tool).count()
    };
    stretches.map(calls).any(|calls| calls >= 3)
}

/// How many model calls cost more than half of the run so far, once it has cost more than five cents; and all of its cost.
fn spikes(things: &[Thing]) -> (usize, u64) {
    let mut total = 0;
    let mut spikes = 0;
    for thing in things {
        if let Thing::Model(cents) = thing {
            total += cents;
            spikes += usize::from(total > 5 && cents * 2 > total);
        }
    }
    (spikes, total)
}

/// Between how many pairs of agents control went to, back, and to again.
fn bounces(things: &[Thing]) -> usize {
    let mut holders = vec![0];
    for thing in things {
        if let Thing::HandOff(on) = thing {
            holders.push((holders[holders.len() - 1] + on) % AGENTS.len());
        }
    }
    let bounces = holders
        .windows(4)
        .filter(|four| four[..2] == four[2..])
        .map(|four| four[..2].iter().copied().collect());
    bounces.collect::<BTreeSet<BTreeSet<usize>>>().len()
}

fn policy() -> Policy {
    let mut policy = Name::Looplens.policy();
    let budget = policy.rules.cost_budget_exceeded.as_mut();
    budget.expect("it is on").budget_usd = Some(BUDGET_CENTS as f64 / 100.0);
    policy
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Given any run, it ends with the warnings that a look over the whole run finds, of each rule and tool as many.
    #[test]
    fn counting_is_looking_again(things in things()) {
        check(&things);
    }
}

/// Given a call that is made again after longer pauses, as a client does that backs off, it counts as any other.
#[test]
fn longer_pauses_are_no_excuse() {
    let call = || {
        Thing::Call(Call {
            tool: 2,
            query: Some(0),
            finds: false,
            lasts_long: false,
        })
    };
    check(&[call(), call(), Thing::Progress, call()]);
}

fn check(things: &[Thing]) {
    let mut holder = 0;
    let things_told = things.iter().enumerate();
    let events = things_told.map(|(nth, thing)| event(nth, thing, &mut holder));
    let view = watch(&policy(), &events.collect::<Vec<_>>());
    let mut found = Found::new();
    for warning in &view.warnings {
        let tool = warning.tool.as_deref();
        let tool = tool.and_then(|tool| TOOLS.iter().find(|name| **name == tool));
        let tool = tool.copied().unwrap_or("-");
        *found.entry((warning.rule.name(), tool)).or_default() += 1;
    }
    let shown = shown(&view);
    assert_eq!(found, expected(things), "{shown:?} after {things:?}");
}
