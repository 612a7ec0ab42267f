//! Agents that ask the guard of profile `standard` before each call, on all kinds of loops and of work.
//!
//! An agent makes the calls of its run. In a loop it goes round until it has tried [`TRIES_MAX`] calls since the onset, which
//! is what it would cost without a guard. Neither agent is of any help: both are deaf to nudges. One leaves its loop when it
//! has been refused three times; the other one never leaves, and picks another call of its loop at random when one is refused.

use std::fmt::Write as _;

use eddy::config::profile::Name;
use eddy::engine::guard::{self, Caller};
use eddy::engine::policy::Policy;
use eddy::engine::warning::Rule;
use eddy::engine::{Input, RunState, step};
use eddy::normalize::events_file;
use eddy::normalize::guarded::{GuardedCall, Outcome, tool_call};
use serde_json::{Value, json};

use super::complaints;
use super::loops::MISSED;
use super::made::Made;
use super::{all_loops, all_work, variants_of};

/// Calls that an agent tries after the onset before its framework stops it.
const TRIES_MAX: usize = 40;

/// Refusals after which an agent leaves its loop that can be brought to leave.
const REFUSALS_MAX: usize = 3;

/// Runs of each kind.
const VARIANTS: u64 = 4;

#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Leaves,
    Wanders,
}

/// An agent, and the run that its telemetry and its questions make.
struct Agent {
    policy: Policy,
    state: RunState,
    clock_ns: u64,
    number: usize,
    tried: usize,
    made: usize,
    refused: usize,
}

impl Agent {
    fn under(policy: Policy) -> Self {
        Self {
            policy,
            state: RunState::new("run".into()),
            clock_ns: 0,
            number: 0,
            tried: 0,
            made: 0,
            refused: 0,
        }
    }

    /// Takes one step of the script so many nanoseconds after the one before; says whether it was refused.
    fn step(&mut self, event: &Value, pause_ns: u64) -> bool {
        self.clock_ns += pause_ns;
        self.number += 1;
        if event["kind"] != "tool_call" {
            self.tell(event);
            return false;
        }
        self.tried += 1;
        let is_refused = self.call(event);
        self.refused += usize::from(is_refused);
        self.made += usize::from(!is_refused);
        is_refused
    }

    /// What the agent's own telemetry tells besides its calls.
    fn tell(&mut self, event: &Value) {
        let mut event = event.clone();
        event["i"] = json!(self.number);
        event["t_ms"] = json!(self.clock_ns / 1_000_000);
        let line = json!({"run_id": "run", "events": [event]}).to_string();
        let run = events_file::runs(line.as_bytes(), &self.policy)
            .expect("runs")
            .next();
        let input = Input::Reports {
            at_ms: self.clock_ns / 1_000_000,
            session_id: None,
            service: None,
            events: run.expect("a run").expect("events").events,
        };
        step(&mut self.state, &input, &self.policy);
    }

    fn call(&mut self, event: &Value) -> bool {
        let tool = event["tool"].as_str().expect("a tool");
        let arguments = event["input"].to_string();
        let id = format!("call-{}", self.number);
        let how = self.policy.tools.of(tool, event["agent"].as_str());
        let told = GuardedCall {
            tool,
            call_id: Some(&id),
            arguments: Some(&arguments),
            outcome: None,
        };
        let caller = Caller {
            agent: event["agent"].as_str().map(Into::into),
            worker: event["worker"].as_str().map(Into::into),
            now_ns: self.clock_ns,
            ..Caller::default()
        };
        let question = tool_call(&told, &how, false, self.clock_ns);
        let answer = guard::check(&mut self.state, &question, &caller, &self.policy).answered;
        if answer.kind.refuses() {
            return true;
        }
        let output = text_of(&event["output"]);
        let outcome = match &event["error"] {
            Value::Null => Outcome::Success(output.as_deref()),
            Value::String(error) => Outcome::Error(error),
            _ => Outcome::Error(output.as_deref().unwrap_or_default()),
        };
        let brought = GuardedCall {
            outcome: Some(outcome),
            ..told
        };
        let brought = tool_call(&brought, &how, false, self.clock_ns);
        let caller = Caller {
            now_ns: self.clock_ns + 1_000_000,
            ..caller
        };
        guard::result(&mut self.state, &brought, &caller, &self.policy);
        false
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The time between an event and the one before it.
fn pause_ns(events: &[Value], place: usize) -> u64 {
    let at = |place: usize| events[place]["t_ms"].as_u64().expect("a time");
    let ms = place
        .checked_sub(1)
        .map_or(at(place), |before| at(place) - at(before));
    ms * 1_000_000
}

/// Plays a loop; the calls that were made since the onset, and those that were tried.
fn play_loop(made: &Made, manner: Manner, chance: &mut Made) -> (usize, usize) {
    let (mut agent, events) = (Agent::under(Name::Standard.policy()), &made.events);
    for (place, event) in events[..made.begins].iter().enumerate() {
        agent.step(event, pause_ns(events, place));
    }
    (agent.tried, agent.made, agent.refused) = (0, 0, 0);
    let mut place = made.begins;
    // A loop without calls of tools ends, too.
    for _ in 0..TRIES_MAX * 20 {
        if agent.tried == TRIES_MAX {
            break;
        }
        let is_refused = agent.step(&events[place], pause_ns(events, place.max(1)));
        if agent.refused == REFUSALS_MAX && manner == Manner::Leaves {
            break;
        }
        place = if is_refused && manner == Manner::Wanders {
            chance.between(made.begins, events.len() - 1)
        } else if place + 1 == events.len() {
            made.begins
        } else {
            place + 1
        };
    }
    (agent.made, if agent.tried == 0 { 0 } else { TRIES_MAX })
}

/// Given work that looks like a loop, no call is refused.
#[test]
fn no_call_of_work_is_refused() {
    let mut refused = Vec::new();
    for (number, (kind, make)) in (100..).zip(&all_work()) {
        for made in variants_of(number, *make, VARIANTS) {
            let mut agent = Agent::under(Name::Standard.policy());
            for (place, event) in made.events.iter().enumerate() {
                if agent.step(event, pause_ns(&made.events, place)) {
                    refused.push(format!("{kind}, event {place}"));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// Given a build that is asked for every nine seconds while it is under way, no call is refused; in haste, some are.
#[test]
fn no_call_at_an_honest_pace_is_refused() {
    let refused = |seconds: u64| {
        let mut agent = Agent::under(Name::Standard.policy());
        let poll = json!({"kind": "tool_call", "tool": "get_build", "input": {"id": 7}, "output": {"status": "running"}});
        for _ in 0..50 {
            agent.step(&poll, seconds * 1_000_000_000);
        }
        agent.refused
    };
    assert_eq!(refused(9), 0);
    assert_ne!(refused(3), 0);
}

/// Kinds of which each round asks for what was asked and answered, and changes nothing in between: what the guard may refuse. Not
/// another call than one that failed, which may mend the cause.
const ASKED_AGAIN: [&str; 21] = [
    "exact",
    "exact, volatile result",
    "exact, jittering numbers",
    "exact, stale calls between",
    "cycle of 2",
    "cycle of 3",
    "reworded query, same result",
    "reworded query, nothing found",
    "reworded query, hits in another order",
    "same call, failing in other words",
    "ranges of a file again",
    "swarm",
    "browser: scrolling at the end",
    "retrieval: same pieces, other scores",
    "service: one order again and again",
    "research: pages behind the end",
    "approval: nobody answers",
    "notebook: a cell run again",
    "retrieval: reworded, same passages, timed",
    "sql: reworded, no rows",
    "job: failed, and asked for again",
];

/// Given loops of all kinds, an agent that does not listen makes fewer calls than without the guard: at least 60 % where each
/// round only asks again, and a fifth over all kinds that are seen, many of which do something in each round. Who
/// refuses must see: those that are missed have their names in `MISSED`, and are in the sum that is printed. So are those in
/// which tools complain of a call that is another one each time: nobody knows of the next one that it will be complained of, too.
#[test]
fn loops_are_cut_short() {
    let mut table = String::new();
    // By manner: the sums over all kinds, over those that are seen, and over those that ask again.
    let mut sums = [[(0, 0); 3]; 2];
    for (number, (kind, _, make)) in (0..).zip(&all_loops()) {
        let mut fewer = [0.0; 2];
        for (which, manner) in [Manner::Leaves, Manner::Wanders].into_iter().enumerate() {
            let (mut made_all, mut tried_all) = (0, 0);
            // What an agent picks at random in one kind does not depend on the others.
            let mut chance = Made::new(number);
            for made in variants_of(number, *make, VARIANTS) {
                let (made, tried) = play_loop(&made, manner, &mut chance);
                (made_all, tried_all) = (made_all + made, tried_all + tried);
            }
            let is_new_call = complaints::LOOPS.iter().any(|(other, ..)| other == kind);
            let is_seen = !MISSED.contains(kind) && !is_new_call;
            let counts = [true, is_seen, ASKED_AGAIN.contains(kind)];
            let sums = sums[which].iter_mut().zip(counts);
            for (sum, _) in sums.filter(|(_, counts)| *counts) {
                *sum = (sum.0 + made_all, sum.1 + tried_all);
            }
            fewer[which] = 100.0 - 100.0 * made_all as f64 / tried_all.max(1) as f64;
        }
        let [leaves, wanders] = fewer;
        writeln!(table, "{kind}: {leaves:.0} % and {wanders:.0} % fewer").expect("written");
    }
    let fewer =
        sums.map(|both| both.map(|(made, tried)| 100.0 - 100.0 * made as f64 / tried as f64));
    println!("{table}fewer: all, seen and asked again, by who leaves and who wanders: {fewer:?}");
    let [leaves, wanders] = fewer;
    assert!(
        leaves[1] >= 27.0 && leaves[2] >= 70.0,
        "{leaves:?}\n{table}"
    );
    assert!(
        wanders[1] >= 21.0 && wanders[2] >= 60.0,
        "{wanders:?}\n{table}"
    );
}

/// The settings with every number as large as it may be: those of 64 bits under their names, all others of 32.
fn with_largest_numbers(settings: &mut Value) {
    let wide = [
        "critical_count",
        "seconds",
        "pause_seconds",
        "budget_seconds",
    ];
    let items: Vec<(&str, &mut Value)> = match settings {
        Value::Object(members) => (members.iter_mut())
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        Value::Array(items) => items.iter_mut().map(|item| ("", item)).collect(),
        _ => return,
    };
    for (name, value) in items {
        if value.is_u64() && wide.contains(&name) {
            *value = json!(u64::MAX);
        } else if value.is_u64() {
            *value = json!(u32::MAX);
        }
        with_largest_numbers(value);
    }
}

/// Given the largest numbers that a configuration may set, no threshold overflows, and no rule that counts up to one speaks.
#[test]
fn the_largest_numbers_do_not_overflow() {
    for name in Name::ALL {
        let mut settings = serde_json::to_value(name.policy()).expect("JSON");
        with_largest_numbers(&mut settings);
        let policy: Policy = serde_json::from_value(settings).expect("a policy");
        for (number, (kind, _, make)) in (0..).zip(&all_loops()) {
            for made in variants_of(number, *make, 1) {
                let mut agent = Agent::under(policy.clone());
                for (place, event) in made.events.iter().enumerate() {
                    agent.step(event, pause_ns(&made.events, place));
                }
                let mut warnings = agent.state.view(&policy).warnings.into_iter();
                // Rounds are looked for up to a length, and counted up to three.
                let counts = |rule| !matches!(rule, Rule::ToolCycle | Rule::HandoffCycle);
                let spoken = warnings.find(|warning| counts(warning.rule));
                assert!(spoken.is_none(), "{name:?}, {kind}: {spoken:?}");
            }
        }
    }
}
