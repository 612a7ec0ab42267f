//! What a call brought: judged against what was seen before, once, before any rule looks at it.

use super::calls::Call;
use super::event::Text;
use super::fold::{Fold, Spent, text_hash};
use super::hash::mix;
use super::similarity::shape;

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Something new.
    Fresh,
    /// A result that this tool gave before.
    Stale,
    /// Nothing.
    Empty,
    /// An error.
    Failed,
    /// The telemetry does not say.
    Unknown,
}

/// A call with what is judged of it before the rules look.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) call: &'a Call<'a>,
    pub(crate) tool: &'a Text,
    /// Hash of the tool's name.
    pub(crate) tool_hash: u64,
    /// The number of the call in the run, from 1.
    pub(crate) number: u64,
    pub(crate) round: u64,
    pub(crate) outcome: Outcome,
    /// Hash of tool and arguments; `None` where the arguments are unknown.
    pub(crate) key: Option<u64>,
    /// Hash of tool and main arguments (`Traits`); `None` where the arguments are unknown.
    pub(crate) main: Option<u64>,
    /// Hash of the worker's name, else the agent's; 0 where neither is known.
    pub(crate) worker: u64,
    /// Hash of what came back, error or result, volatile text masked.
    pub(crate) result: Option<u64>,
    pub(crate) spent: Spent,
    /// Hash of the arguments' sample without its digits.
    pub(crate) shape: u64,
    /// The group of similar calls that it belongs to; `None` where its arguments are unknown.
    pub(crate) similar: Option<u64>,
}

impl Fold {
    pub(super) fn judge<'a>(&mut self, call: &'a Call<'a>, tool: &'a Text) -> Judged<'a> {
        let totals = &mut self.totals;
        let same_answer = !totals.model_spoke && totals.asked_pending > 0;
        let together = same_answer || call.start_ns < totals.call_end_ns;
        totals.round += u64::from(!together || totals.tool_calls == 0);
        totals.model_spoke = false;
        totals.asked_pending = totals.asked_pending.saturating_sub(1);
        totals.call_end_ns = totals.call_end_ns.max(call.end_ns);
        totals.tool_calls += 1;
        let (number, round) = (totals.tool_calls, totals.round);
        let spent = std::mem::take(&mut totals.unspent);
        let tool_hash = text_hash(tool);
        let key = call
            .input
            .value()
            .map(|value| mix(tool_hash, value.fingerprint));
        let main = call.traits.main.map(|main| mix(tool_hash, main)).or(key);
        let result = result_of(call);
        let outcome = self.outcome(call, tool_hash, key);
        Judged {
            call,
            tool,
            tool_hash,
            number,
            round,
            outcome,
            key,
            main,
            worker: call.worker.or(call.agent).map_or(0, |name| text_hash(name)),
            result,
            spent,
            shape: shape(call.input.value().map_or("", |value| &*value.sample)),
            similar: None,
        }
    }

    fn outcome(&self, call: &Call<'_>, tool: u64, key: Option<u64>) -> Outcome {
        if call.error.is_some() {
            return Outcome::Failed;
        }
        let Some(value) = call.output.value() else {
            return Outcome::Unknown;
        };
        if value.empty {
            return Outcome::Empty;
        }
        let written = call.writes
            && key.is_some()
            && !self
                .recent
                .iter()
                .any(|mark| mark.key == key && mark.outcome != Outcome::Failed);
        if written || !self.is_known(mix(tool, value.masked)) {
            Outcome::Fresh
        } else {
            Outcome::Stale
        }
    }

    /// Whether a call tells against a hand-off loop. The first answer of an agent that was handed a task tells nothing:
    /// only one that differs from an earlier one does.
    pub(super) fn brings_news(&self, judged: &Judged<'_>) -> bool {
        judged.outcome == Outcome::Fresh
            && (!judged.call.hands_off || self.is_known(judged.tool_hash))
    }
}

fn result_of(call: &Call<'_>) -> Option<u64> {
    let output = call.output.value().map(|value| value.masked);
    match call.error {
        Some(failure) => Some(mix(failure.masked, output.unwrap_or(1))),
        None => output,
    }
}
