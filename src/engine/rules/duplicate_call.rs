//! `duplicate_call`: a call was made again although the earlier one was answered.
//!
//! # What it sees
//! Calls of a tool with equal arguments anywhere in the turn or in the run, in a row or not; the order of keys does not
//! matter, the result is not looked at. The second raises it (agent-runtime, Automatos), or the one after as many as are
//! allowed (agentium: `maxRepeats`).
//!
//! # Why it matters
//! The answer is there already; the model calls again because it did not like it or did not notice it.
//!
//! # What to try
//! Give the agent the earlier result and say that it is the result. Where repeating is right (polling, changing a state,
//! asking for the time), except the tool or the agent.
//!
//! # When it stays silent
//! Arguments that were not recorded equal nothing. Where the profile says so, a call that failed may be tried again, and each
//! agent has a count of its own. A run keeps 32 counts for all rules together, the newest ones: the earlier call must be among the
//! newest 30 different ones or so, and among the newest twenty where tools are limited, too (Automatos).

use crate::engine::event::Text;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::tools::fits_any;
use crate::engine::policy::{DuplicateCall, Policy, Scope};
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::DuplicateCall;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.duplicate_call.as_ref()?;
    let agent = judged.call.agent;
    if is_excepted(settings, judged.tool, agent) {
        return None;
    }
    let key = group(settings, judged.key?, agent);
    let turn_at = fold.totals.turn_at;
    let tally = fold.tallies.of(RULE, key);
    if settings.within == Scope::Turn {
        tally.begin_at(turn_at);
    }
    // Once there is an answer, every further call repeats it, however it ends.
    let unanswered = judged.outcome == Outcome::Failed || judged.call.asking.is_open();
    if settings.after_success && tally.count == 0 && unanswered {
        return None;
    }
    tally.add(judged);
    (tally.count >= settings.calls).then(|| Finding::of_calls(tally, key, judged))
}

fn is_excepted(settings: &DuplicateCall, tool: &Text, agent: Option<&Text>) -> bool {
    fits_any(&settings.except_tools, tool)
        || agent.is_some_and(|agent| fits_any(&settings.except_agents, agent))
}

/// The calls that count together with one whose tool and arguments have this hash.
fn group(settings: &DuplicateCall, key: u64, agent: Option<&Text>) -> u64 {
    match agent {
        Some(agent) if settings.per_agent => mix(key, text_hash(agent)),
        _ => key,
    }
}
