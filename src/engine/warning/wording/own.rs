//! The sentences of Eddy's own rules.

use super::{called, quoted};
use crate::engine::event::Text;
use crate::engine::hash::text_hash;
use crate::engine::rules::{passing_group, streak_group};
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Kept, Ring};

/// What was counted so often.
pub(super) fn happened(kept: &Kept, count: u64) -> String {
    let tool = quoted(kept.tool.as_deref(), "a tool");
    let agent = quoted(kept.agent.as_deref(), "An agent");
    let called = called(kept);
    match kept.rule {
        Rule::ToolCycle => format!(
            "{} came round again with the same results: {count} calls so far.",
            round(kept.ring.as_deref())
        ),
        Rule::Stagnation => {
            format!(
                "{tool} was {called} {count} times with other arguments and gave the same result."
            )
        }
        Rule::SameError if kept.tool.is_none() => {
            format!("Calls of several tools failed {count} times in a row with the same error.")
        }
        Rule::SameError if fails_to_pass(kept) => {
            format!("{tool} failed {count} times in a row in ways that often pass by themselves.")
        }
        Rule::SameError if is_of(kept, streak_group) => {
            format!("{tool} failed {count} times in a row, in whatever words.")
        }
        Rule::SameError => format!("{tool} failed {count} times with the same error."),
        Rule::HandoffCycle => format!(
            "Agents handed the task round in a ring{}: {count} hand-offs and nothing new.",
            kept.ring
                .as_ref()
                .map(|ring| format!(", {}", told(&ring.names, "an agent")))
                .unwrap_or_default()
        ),
        Rule::GoalLoop if kept.tool.is_some() => {
            format!(
                "{tool} was {called} {count} times in the same way, under one instruction after the other."
            )
        }
        Rule::GoalLoop => format!("{agent} was given nearly the same instruction {count} times."),
        Rule::RepeatedText => {
            format!("{agent} repeated itself {count} times and did nothing else.")
        }
        Rule::ExplorationSaturation => {
            format!("{count} calls only read, and nothing was changed in between.")
        }
        _ if kept.tool.is_some() => {
            format!("{agent} repeated {count} calls in this run, more than in its good runs.")
        }
        _ => format!("{agent} made {count} tool calls in this run, more than in its good runs."),
    }
}

/// Whether a warning is about failures of a tool that may pass by themselves, which need not be the same error.
fn fails_to_pass(kept: &Kept) -> bool {
    is_of(kept, passing_group)
}

/// Whether a warning is of this group of its tool's failures.
fn is_of(kept: &Kept, group: impl Fn(u64) -> u64) -> bool {
    let tool = kept.tool.as_deref();
    kept.rule == Rule::SameError && tool.is_some_and(|tool| group(text_hash(tool)) == kept.group)
}

/// The calls of a round.
fn round(ring: Option<&Ring>) -> String {
    let Some(ring) = ring else {
        return "The same calls".to_owned();
    };
    if ring.names.is_empty() {
        return format!("The same {} calls", ring.length);
    }
    let round = told(&ring.names, "a tool");
    match (ring.length as usize).saturating_sub(ring.names.len()) {
        0 => round,
        1 => format!("{round} and one more call"),
        more => format!("{round} and {more} more calls"),
    }
}

/// Names in their order; one that follows itself is told once.
fn told(names: &[Text], otherwise: &str) -> String {
    let several = names.chunk_by(|one, next| one == next);
    let names = several.map(|names| {
        let name = quoted(names.first().map(|name| &**name), otherwise);
        match names.len() {
            1 => name,
            times => format!("{name} ×{times}"),
        }
    });
    names.collect::<Vec<_>>().join(" → ")
}

/// Why it matters.
pub(super) fn why_it_matters(kept: &Kept) -> &'static str {
    match kept.rule {
        Rule::ToolCycle => {
            "Each step leads back to the first; the next round will end like the last."
        }
        Rule::Stagnation => "Asking in another way does not change the answer.",
        Rule::SameError if fails_to_pass(kept) => {
            "What passes by itself has not passed, and each try is a load on what fails."
        }
        Rule::SameError => "Until its cause is mended it will fail again, however it is tried.",
        Rule::HandoffCycle => "Every agent passes the task on; nobody works on it.",
        Rule::GoalLoop => "The errand has been run and did not bring what was wanted.",
        Rule::RepeatedText => "Whoever says the same again without acting does not get on.",
        Rule::ExplorationSaturation => {
            "What is read fills the context, and what was read first is forgotten."
        }
        _ => "Stuck runs are long runs, whatever they are stuck in.",
    }
}

/// What to try.
pub(super) fn what_to_try(kept: &Kept) -> &'static str {
    match kept.rule {
        Rule::ToolCycle => {
            "Tell the agent what the round brought, and take one of its steps away or decide for it."
        }
        Rule::Stagnation => {
            "Tell the agent that the answer stays as it is, and name another source or the next step."
        }
        Rule::SameError if fails_to_pass(kept) => {
            "Wait longer between tries, look whether the service is up, or give up with a clear message."
        }
        Rule::SameError => {
            "Mend the cause that the error names (arguments that the tool does not take, a credential, a path, a server), or take the tool away."
        }
        Rule::HandoffCycle => "Name one agent that owns the task and may not pass it on.",
        Rule::GoalLoop => {
            "Change the plan: another source, a smaller question, or an answer with what is known."
        }
        Rule::RepeatedText => {
            "Ask for one concrete action or for the final answer; where agents talk with each other, say when they are done."
        }
        Rule::ExplorationSaturation => {
            "Have the agent say what it has learned and make a first change, or answer with what is known."
        }
        _ => {
            "Look at what the run does that good ones do not; calibrate anew if the agent or its task has changed."
        }
    }
}
