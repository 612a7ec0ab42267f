//! Sums and facts about a whole run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::engine::event::TraceId;
use crate::engine::window::calls::Call;

/// Longest time by which a call may begin before the one that it follows has ended. Tracers take start and end from clocks of
/// their own: calls awaited one after another overlap by up to a millisecond as OpenTelemetry's SDK for Node tells them.
const OVERLAP_NS_MAX: u64 = 10_000_000;

/// Sums over the run, and the counters that rules measure distances with. In the order of memory, what each call needs first.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) tool_calls: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    /// Rounds so far: calls that one model answer asked for are one round.
    pub(crate) round: u64,
    /// Calls of the current round that the newest model answer asked for and that have not come yet.
    pub(crate) asked_pending: u32,
    /// A model call came after the last tool call.
    pub(crate) model_spoke: bool,
    /// The latest end that was seen is a failure.
    pub(crate) failed: bool,
    /// A root span or an explicit end was seen.
    pub(crate) root_seen: bool,
    /// The most that the score has lost, so that 100 minus this is the lowest it has been.
    pub(crate) worst: u32,
    /// End of the call of a tool that ended last, those that only wait left out, to tell calls side by side.
    pub(crate) call_end_ns: u64,
    /// Start of that call.
    pub(crate) call_start_ns: u64,
    /// Number of the first tool call, seen or still to come, after the newest write.
    pub(crate) write_at: u64,
    /// Number of the first tool call, seen or still to come, of the present turn: after the newest message of a user.
    pub(crate) turn_at: u64,
    /// Number of the newest tool call that brought something new: a new result, or an error not seen before; of the first one
    /// after a message of a user, where that is newer.
    pub(crate) news_at: u64,
    /// Number of the newest tool call that did something rather than looked: a write, or a call with arguments not seen lately
    /// that was merely acknowledged; of the first one after a message of a user, where that is newer.
    pub(crate) acted_at: u64,
    /// End of the newest call of a tool or a model, those that only wait left out, and those in the midst of which a model was
    /// asked: they go on beside the run, or are another agent's whole work.
    pub(crate) busy_ns: u64,
    /// Start of the newest call of a tool or a model before which the run paused for long.
    pub(crate) paused_ns: u64,
    /// Hash of the turn and of the round that a caller of the guard named last; 0 where none was.
    pub(crate) turn_name: u64,
    pub(crate) round_name: u64,
    /// Tokens and cost of model calls since the last tool call.
    pub(crate) unspent: Spent,
    pub(crate) model_calls: u64,
    pub(crate) tokens: u64,
    pub(crate) cost_microusd: u64,
    /// Model calls that asked for tools.
    pub(crate) asked: u64,
    /// The trace of the latest end.
    pub(crate) end_trace: TraceId,
    /// Calls that the guard kept from being made.
    pub(crate) skipped: u64,
    /// What these calls would have cost, by the calls of their loops that were made.
    pub(crate) saved: Spent,
    /// How long after the guard was asked about a call its span says that it began, by the newest call of which both is known:
    /// less than nothing where the clock of who sends spans is behind ours. One that is ahead of it looks like a call that had to
    /// wait.
    pub(crate) skew_ns: i64,
}

impl Totals {
    /// A call at its time by the clock of who sends spans. One that the guard alone was told of has the time of our clock, and is
    /// moved by what is known of theirs: back as far as that is behind, and ahead no further than behind the call before.
    pub(crate) fn in_time<'c, 'a>(&self, call: &'c Call<'a>) -> Cow<'c, Call<'a>> {
        let asked_ns = call.start_ns;
        let moved_ns = asked_ns.saturating_add_signed(self.skew_ns);
        if moved_ns == asked_ns || !call.asking.is_alone() {
            return Cow::Borrowed(call);
        }
        Cow::Owned(call.moved_to(if moved_ns < asked_ns {
            moved_ns
        } else {
            self.call_end_ns.clamp(asked_ns, moved_ns)
        }))
    }

    /// Notes what a call tells of how the two clocks differ.
    pub(crate) fn note_skew(&mut self, call: &Call<'_>) {
        if let Some(asked_ns) = call.asked_ns().filter(|_| call.asking.seen) {
            let skew_ns = i128::from(call.start_ns) - i128::from(asked_ns);
            self.skew_ns = i64::try_from(skew_ns).unwrap_or_default();
        }
    }

    /// Notes when a call that does not only wait ended.
    pub(super) fn note_end(&mut self, call: &Call<'_>) {
        self.busy_ns = self.busy_ns.max(call.end_ns);
        if call.end_ns >= self.call_end_ns {
            (self.call_start_ns, self.call_end_ns) = (call.start_ns, call.end_ns);
        }
    }

    /// Whether a call that begins then does so beside the one that ended last, and not behind it.
    fn runs_beside(&self, start_ns: u64) -> bool {
        let lasts_ns = self.call_end_ns.saturating_sub(self.call_start_ns);
        let overlap_ns = self.call_end_ns.saturating_sub(start_ns);
        overlap_ns > OVERLAP_NS_MAX.min(lasts_ns / 2)
    }

    /// Counts a call; says to which round it belongs, and what was spent on models for it.
    pub(super) fn begin_call(&mut self, call: &Call<'_>) -> (u64, Spent) {
        let same_answer = !self.model_spoke && self.asked_pending > 0;
        let named = std::mem::replace(&mut self.round_name, call.asking.round);
        let same_round = call.asking.round != 0 && call.asking.round == named;
        // A call in the midst of which a model was asked may hold many answers of another agent's, or go on beside the run.
        let side_by_side = !self.model_spoke && self.runs_beside(call.start_ns);
        let together = same_answer || same_round || side_by_side;
        self.round += u64::from(!together || self.tool_calls == 0);
        self.model_spoke = false;
        self.asked_pending = self.asked_pending.saturating_sub(1);
        self.tool_calls += 1;
        (self.round, std::mem::take(&mut self.unspent))
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_microusd: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_microusd = self.cost_microusd.saturating_add(other.cost_microusd);
    }
}

/// What the telemetry did not show. Each is a fact about the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "six facts that do not depend on each other"
)]
pub(crate) struct Notes {
    pub(crate) input_missing: bool,
    pub(crate) input_redacted: bool,
    pub(crate) output_missing: bool,
    pub(crate) warnings_full: bool,
    pub(crate) absorbed: bool,
    pub(crate) begun_anew: bool,
}
