//! `repeated_tool_call`: the same tool many times among the last calls.
//!
//! # What it sees
//! The same tool at least three times within the run's last eight tool calls, whatever the arguments. The window slides over
//! tool calls, so model calls in between do not hide it (thresholds: LoopLens manual, *The ten rules*).
//!
//! # Why it matters
//! An agent that reaches for one tool again and again often does not know what else to do.
//!
//! # What to try
//! Look at what the last results were; give the agent another tool, or tell it when to stop using this one.
//!
//! # When it stays silent
//! Where progress is known, calls that brought something new do not count, nothing is said at a call that does something new
//! and is merely acknowledged, and the warning is only an information: an agent with a single tool uses it all the time. Tools
//! that pass control do not count.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, Proof};

const RULE: Rule = Rule::RepeatedToolCall;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.repeated_tool_call.as_ref()?;
    let counts = |outcome: Outcome| !(policy.progress_aware && outcome == Outcome::Fresh);
    if !counts(judged.outcome) || (policy.progress_aware && fold.acts(judged)) {
        return None;
    }
    let before = settings.window_calls.unwrap_or(u32::MAX).saturating_sub(1) as usize;
    let others = fold
        .recent
        .iter()
        .rev()
        .filter(|mark| !mark.hands_off)
        .take(before);
    let same = others.filter(|mark| mark.tool == judged.tool_hash && counts(mark.outcome));
    let count = same.clone().count() as u64 + 1;
    let found = (count >= u64::from(settings.calls)).then(|| {
        let mut evidence: Vec<_> = same.clone().map(|mark| mark.span).collect();
        evidence.reverse();
        evidence.push(judged.call.span);
        // Log records of several calls may have the span of the turn that they belong to.
        let mut told = Vec::new();
        evidence.retain(|span| {
            let is_new = span.is_set() && !told.contains(span);
            told.push(*span);
            is_new
        });
        (
            evidence.into_iter().collect(),
            same.last()
                .map_or(judged.call.start_ns, |mark| mark.start_ns),
        )
    });
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.proof.spent.add(judged.spent);
    tally.number = judged.number;
    found.map(|(evidence, first_ns)| Finding {
        count,
        proof: Proof {
            evidence,
            first_ns,
            last_ns: judged.call.start_ns,
            spent: tally.proof.spent,
            longest_ns: 0,
        },
        ..Finding::of_calls(tally, judged.tool_hash, judged)
    })
}
