//! `long_running_step`: a step that takes long.
//!
//! # What it sees
//! A tool or model call of more than 30 seconds (LoopLens manual), once it has ended: a call that hangs is not reported
//! before that.
//!
//! # Why it matters
//! One slow step can hold up everything after it, and is often a call that waits for something that never comes.
//!
//! # What to try
//! Give the tool a time limit, or tell the agent to start long work and look at it later.
//!
//! # When it stays silent
//! Agent spans and workflows last as long as what they hold, and do not count. Exactly 30 seconds do not count. Where the
//! profile does not want a warning for each step, a run has one, with the number of long steps.

use crate::engine::event::SECOND_NS;
use crate::engine::fold::Fold;
use crate::engine::fold::tally::WHOLE_RUN;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;

const RULE: Rule = Rule::LongRunningStep;

pub(super) fn observe(fold: &mut Fold, call: &Call<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.long_running_step.as_ref()?;
    let length_ns = call.end_ns.saturating_sub(call.start_ns);
    if length_ns <= settings.seconds.saturating_mul(SECOND_NS) {
        return None;
    }
    let group = if settings.each {
        u64::from_be_bytes(call.span.0) ^ call.start_ns
    } else {
        WHOLE_RUN
    };
    let number = fold.totals.tool_calls;
    let tally = fold.tallies.of(RULE, group);
    tally.add_span(call.span, call.start_ns);
    tally.number = number;
    tally.proof.longest_ns = tally.proof.longest_ns.max(length_ns);
    let finding = Finding::of_tally(tally, group);
    Some(Finding {
        tool: call.tool.cloned(),
        agent: call.agent.cloned(),
        ..finding
    })
}
