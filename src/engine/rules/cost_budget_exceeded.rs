//! `cost_budget_exceeded`: the run costs more than it may.
//!
//! # What it sees
//! A run whose cost is above the budget that the configuration sets (`detectors.cost_budget_usd`; LoopLens manual). Without a
//! budget the rule is silent.
//!
//! # Why it matters
//! It is what was agreed.
//!
//! # What to try
//! Stop the run, or raise the budget if it is worth it.
//!
//! # When it stays silent
//! Where no costs are known: see the run's cost, and the note if it is missing.

use crate::engine::fold::Fold;
use crate::engine::fold::totals::Spent;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;

const RULE: Rule = Rule::CostBudgetExceeded;

pub(super) fn observe(fold: &mut Fold, call: &Call<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.cost_budget_exceeded.as_ref()?;
    let budget = settings.budget_usd.filter(|budget| *budget > 0.0)?;
    let total = fold.totals.cost_microusd;
    if total as f64 <= budget * 1e6 {
        return None;
    }
    let number = fold.totals.tool_calls;
    let spent = Spent {
        tokens: fold.totals.tokens,
        cost_microusd: total,
    };
    let tally = fold.tallies.of(RULE, 0);
    tally.add_span(call.span, call.start_ns);
    tally.number = number;
    tally.proof.spent = spent;
    Some(Finding::of_tally(tally, 0))
}
