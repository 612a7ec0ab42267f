//! One truth: what the guard was asked and told about a call, and what spans say of it, are one call.
//!
//! An agent asks, makes the call, and may tell the guard what came of it; the span comes seconds later. A result that
//! was told names the question that it answers. A question and a span are one where both have the same call id; where
//! not both have one, by tool, arguments and time: the question was asked while the call ran, or shortly before it. A
//! question takes its place in time behind everything that was reported before it was asked (`guard::before`), so
//! that no span of an earlier call can be taken for its own; only what is more than a second ahead of the clock stays behind it.

use crate::engine::event::{Body, Event, Part, SECOND_NS, ToolCall};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::Rule;

use super::card::Card;
use super::traces::TraceNumber;

/// Longest time between a question and the call for which it was asked: a person may be asked in between.
const BEFORE_CALL_NS: u64 = 60 * SECOND_NS;

/// Longest time between the end of a call and a result that is told without a question before it.
const AFTER_CALL_NS: u64 = SECOND_NS;

/// Longest time between a model's answer and a program that tells the guard of it.
const AFTER_ANSWER_NS: u64 = 5 * SECOND_NS;

/// The guard's part in a call, put together from its reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asking {
    /// The question; 0 where nobody asked.
    pub(crate) asked: u64,
    /// The call was not to be made, because of this rule, and what was answered.
    pub(crate) refused: Option<(Rule, VerdictKind)>,
    /// A result was told.
    pub(crate) answered: bool,
    /// A span or log record tells of it.
    pub(crate) seen: bool,
    /// Hash of the round that was named; 0 where none was.
    pub(crate) round: u64,
    /// Hash of the turn that was named; 0 where none was.
    pub(crate) turn: u64,
}

impl Asking {
    /// Of one report.
    pub(crate) fn of(call: &ToolCall) -> Self {
        let mut asking = Self::default();
        asking.join(call);
        asking
    }

    /// With one more report.
    pub(crate) fn join(&mut self, call: &ToolCall) {
        let Some(guarded) = &call.guarded else {
            self.seen = true;
            return;
        };
        self.asked = self.asked.max(guarded.asked);
        self.round = self.round.max(guarded.round);
        self.turn = self.turn.max(guarded.turn);
        match guarded.part {
            Part::Question => {}
            Part::Skipped(rule) => self.refused = Some((rule, VerdictKind::Skip)),
            Part::Aborted(rule) => self.refused = Some((rule, VerdictKind::Abort)),
            Part::Result => self.answered = true,
        }
    }

    /// Whether a report may tell of the same call, as far as questions go: a call is asked about once.
    pub(crate) fn may_take(&self, report: &ToolCall) -> bool {
        let asked = report.guarded.as_ref().map_or(0, |guarded| guarded.asked);
        asked == 0 || self.asked == 0 || asked == self.asked
    }

    /// Whether nobody but the guard was told of it.
    pub(crate) fn is_alone(&self) -> bool {
        !self.seen && (self.asked != 0 || self.answered)
    }

    /// Whether the agent asked about it and nothing says yet what came of it.
    pub(crate) fn is_open(&self) -> bool {
        self.asked != 0 && !self.answered && !self.seen
    }
}

/// Whether a report is what the guard was asked or told.
pub(super) fn is_of_guard(event: &Event) -> bool {
    matches!(&event.body, Body::ToolCall(call) if call.guarded.is_some())
}

/// Whether it is what the guard was asked.
pub(super) fn is_question(event: &Event) -> bool {
    let Body::ToolCall(call) = &event.body else {
        return false;
    };
    matches!(&call.guarded, Some(guarded) if guarded.part != Part::Result)
}

/// Whether it is a result that the guard was told.
pub(super) fn is_result(event: &Event) -> bool {
    let Body::ToolCall(call) = &event.body else {
        return false;
    };
    matches!(&call.guarded, Some(guarded) if guarded.part == Part::Result)
}

/// Whether two reports of tool calls, one of them at least the guard's, tell of one call.
pub(crate) fn tell_of_one_call(left: &Card, right: &Card) -> bool {
    // Within a run the guard knows no trace; in a swarm the traces are the runs.
    if left.trace != right.trace
        && left.trace != TraceNumber::NONE
        && right.trace != TraceNumber::NONE
    {
        return false;
    }
    let unnamed = left.tool == 0 || right.tool == 0;
    if !unnamed && left.tool != right.tool {
        return false;
    }
    match (left.question(), right.question()) {
        (Some(one), Some(other)) if one != 0 && other != 0 => return one == other,
        _ => {}
    }
    if let (Some(one), Some(other)) = (left.call_id(), right.call_id()) {
        return one == other;
    }
    if unnamed || left.differs_from(right) {
        return false;
    }
    match (left.question(), right.question()) {
        (Some(asked), None) => share_time(left, asked != 0, right),
        (None, Some(asked)) => share_time(right, asked != 0, left),
        _ => false,
    }
}

/// Whether a question, or a result without one, lies where the span of its call lies.
fn share_time(guarded: &Card, is_asked: bool, span: &Card) -> bool {
    let late = if is_asked { 0 } else { AFTER_CALL_NS };
    span.start_ns <= guarded.start_ns.saturating_add(BEFORE_CALL_NS)
        && guarded.start_ns <= span.end_ns.saturating_add(late)
}

/// Whether a model's answer that the guard was told and one that a span tells are the same: the same words at the same time.
/// What the guard was told has neither trace nor span.
pub(crate) fn are_one_answer(left: &Card, right: &Card) -> bool {
    let (Some(words), Some(same)) = (left.content(), right.content()) else {
        return false;
    };
    let (told, span) = match (left.is_without_span(), right.is_without_span()) {
        (true, false) => (left, right),
        (false, true) => (right, left),
        _ => return false,
    };
    words == same
        && span.start_ns <= told.start_ns
        && told.start_ns <= span.end_ns.saturating_add(AFTER_ANSWER_NS)
}
