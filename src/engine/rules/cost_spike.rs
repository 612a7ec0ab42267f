//! `cost_spike`: one event that costs more than everything before it.
//!
//! # What it sees
//! A model call that costs more than half of what the run has cost so far, itself included, once that is more than 0.05
//! dollars (LoopLens manual).
//!
//! # Why it matters
//! A prompt that has grown out of hand shows here first.
//!
//! # What to try
//! Look at what was sent with that call: a whole file, a whole history, a result that should have been cut.
//!
//! # When it stays silent
//! Where no costs are known. Where the profile says so, none of a run's first four model calls is a spike: a small model names the
//! session, a large one reads its instructions for the first time, and each is half of everything by nature.

use crate::engine::fold::Fold;
use crate::engine::fold::tally::WHOLE_RUN;
use crate::engine::fold::totals::Spent;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;

const RULE: Rule = Rule::CostSpike;

/// Model calls with which a run begins.
const FIRST_CALLS: u64 = 4;

pub(super) fn observe(
    fold: &mut Fold,
    call: &Call<'_>,
    spent: Spent,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.cost_spike.as_ref()?;
    let total = fold.totals.cost_microusd;
    let is_first = fold.totals.model_calls <= FIRST_CALLS || total == spent.cost_microusd;
    let above_floor = total as f64 > settings.floor_usd * 1e6;
    let above_share = spent.cost_microusd as f64 > settings.share * total as f64;
    if !(above_floor && above_share) || (is_first && !settings.first) {
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
    tally.proof.spent.add(spent);
    Some(Finding {
        agent: call.agent.cloned(),
        ..Finding::of_tally(tally, group)
    })
}
