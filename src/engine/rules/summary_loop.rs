//! `summary_loop`: the agent talks and calls no tool.
//!
//! # What it sees
//! Two answers of the model in a row that are text alone (attocode, *Summary Loop*).
//!
//! # Why it matters
//! The agent describes the work, or sums up what was done, instead of going on with it.
//!
//! # What to try
//! Pick one task and begin it with a tool call.
//!
//! # When it stays silent
//! A tool call, or an answer that asks for one, ends the row; so does a message of a user, since to talk is then an answer.
//! A model call whose answer was not recorded, or that failed, tells nothing.

use crate::engine::event::Answer;
use crate::engine::fold::Fold;
use crate::engine::fold::totals::Spent;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;
use crate::engine::window::spoken::Spoken;

const RULE: Rule = Rule::SummaryLoop;

pub(super) fn observe(
    fold: &mut Fold,
    call: &Call<'_>,
    model: &Spoken,
    spent: Spent,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.summary_loop.as_ref()?;
    match model.answer {
        Answer::Unknown => return None,
        Answer::ToolCalls(_) => {
            end(fold);
            return None;
        }
        Answer::Text(_) if call.error.is_some() => return None,
        Answer::Text(_) => {}
    }
    let number = fold.totals.tool_calls;
    let tally = fold.tallies.of(RULE, 0);
    tally.add_span(call.span, call.start_ns);
    tally.number = number;
    tally.proof.spent.add(spent);
    (tally.count >= settings.answers).then(|| Finding {
        agent: call.agent.cloned(),
        ..Finding::of_tally(tally, 0)
    })
}

/// Something other than an answer of text came.
pub(super) fn end(fold: &mut Fold) {
    fold.tallies.end(RULE, 0);
}
