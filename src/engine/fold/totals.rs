//! Sums and facts about a whole run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::engine::event::{SECOND_NS, TraceId};
use crate::engine::window::calls::Call;

/// Longest time by which a call may begin before the one that it follows has ended. Tracers take start and end from clocks of
/// their own: calls awaited one after another overlap by up to a millisecond as OpenTelemetry's SDK for Node tells them.
const OVERLAP_NS_MAX: u64 = 10_000_000;

/// By how much spans may come later after their questions and results from one call to the next: clocks are set and go astray, but
/// who asks one question after the other does not pause as long as his spans may say.
const SHIFT_NS_MAX: i64 = SECOND_NS as i64;

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
    /// How long after the guard was asked about a call its span says that it began, or after its result was told that it ended,
    /// whichever is longer, by the newest call of which both is known: less than nothing where the clock of who sends spans is
    /// behind ours. One that is ahead of it looks like a call that had to wait. 0 as long as nothing is known.
    pub(crate) skew_ns: i64,
}

impl Totals {
    /// A call at its time by the clock of who sends spans. One that the guard alone was told of has the time of our clock, and is
    /// moved by what is known of theirs: back as far as that is behind, and ahead no further than behind the call before.
    /// So is one that was refused, whatever span tells of it.
    pub(crate) fn in_time<'c, 'a>(&self, call: &'c Call<'a>) -> Cow<'c, Call<'a>> {
        if self.skew_ns == 0 {
            return Cow::Borrowed(call);
        }
        let asked_ns = match call.asked_ns() {
            Some(asked_ns) if call.asking.refused.is_some() => asked_ns,
            Some(asked_ns) if call.asking.seen => return self.as_told(call, asked_ns),
            _ if call.asking.is_alone() => call.start_ns,
            _ => return Cow::Borrowed(call),
        };
        let moved_ns = self.by_their_clock(asked_ns);
        let start_ns = if moved_ns < asked_ns {
            moved_ns
        } else {
            self.call_end_ns.clamp(asked_ns, moved_ns)
        };
        Cow::Owned(call.lasting(start_ns, call.length_ns()))
    }

    /// A call of which a span tells and the guard was told: it was made after it was asked about, and before its result was told,
    /// which our clock knows. A span that is much later than that by what is known of its clock is moved back, and a call that was
    /// asked about when the call before was over does not begin in the midst of that.
    fn as_told<'c, 'a>(&self, call: &'c Call<'a>, asked_ns: u64) -> Cow<'c, Call<'a>> {
        let Some(told_ns) = call.told_ns() else {
            return Cow::Borrowed(call);
        };
        let ahead_ns = ahead_ns(call.start_ns, asked_ns).min(ahead_ns(call.end_ns, told_ns));
        let too_late_ns = ahead_ns.saturating_sub(self.skew_ns.saturating_add(SHIFT_NS_MAX));
        let start_ns = call.start_ns.saturating_sub(too_late_ns.max(0) as u64);
        let moved_ns = self.by_their_clock(asked_ns);
        if start_ns < self.call_end_ns && !self.runs_beside(moved_ns) {
            let left_ns = self.by_their_clock(told_ns);
            let left_ns = left_ns.saturating_sub(self.call_end_ns);
            return Cow::Owned(call.lasting(self.call_end_ns, call.length_ns().min(left_ns)));
        }
        if start_ns == call.start_ns {
            return Cow::Borrowed(call);
        }
        Cow::Owned(call.lasting(start_ns, call.length_ns()))
    }

    /// What the clock of who sends spans shows at a time of ours, as far as that is known.
    fn by_their_clock(&self, at_ns: u64) -> u64 {
        at_ns.saturating_add_signed(self.skew_ns)
    }

    /// Notes what a call tells of how the two clocks differ. One that was refused was not made, whatever its span shows.
    pub(crate) fn note_skew(&mut self, call: &Call<'_>) {
        let is_known = self.skew_ns != 0 && call.asking.refused.is_some();
        if let Some(asked_ns) = call.asked_ns().filter(|_| call.asking.seen && !is_known) {
            let from_ns = ahead_ns(call.start_ns, asked_ns);
            let told_ns = call.told_ns();
            let until_ns = told_ns.map_or(from_ns, |told_ns| ahead_ns(call.end_ns, told_ns));
            self.skew_ns = from_ns.max(until_ns);
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

/// How far a time of who sends spans lies behind one of ours.
fn ahead_ns(their_ns: u64, our_ns: u64) -> i64 {
    let ahead_ns = i128::from(their_ns) - i128::from(our_ns);
    i64::try_from(ahead_ns).unwrap_or_default()
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
