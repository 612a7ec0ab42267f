//! To which of several calls a report belongs: the newest of them that may be it, in the order of events.
//!
//! A span that has no call id in common with a question is known by tool, arguments and time, and the questions of a loop are alike
//! in all of that. One that was refused, or of which the result was told before the span began, is taken for its question only
//! where no other one is left.

use crate::engine::event::{Body, Event};

use super::calls::Step;
use super::card::Card;

/// The step to which a report belongs.
pub(super) fn known(
    steps: &[Step<'_>],
    cards: &[Card],
    place: usize,
    event: &Event,
) -> Option<usize> {
    let belongs = |step: &Step<'_>| step.belongs(cards, place, event);
    let Some(known) = steps.iter().rposition(belongs) else {
        return steps.iter().position(|step| step.was_asked_as(event));
    };
    let doubt_of = |place: usize| steps[place].doubt(event);
    if doubt_of(known) == Doubt::None {
        return Some(known);
    }
    let all = (0..=known).filter(|place| belongs(&steps[*place]));
    let surely = all.clone().rfind(|place| doubt_of(*place) == Doubt::None);
    // Of several calls that are over, the first one: spans come in the order of their questions.
    let over = || all.clone().find(|place| doubt_of(*place) == Doubt::IsOver);
    surely.or_else(over).or(Some(known))
}

/// What speaks against taking a span for that of a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// The result was told before the span began.
    IsOver,
    /// The call was not to be made.
    IsRefused,
}

impl Step<'_> {
    /// What speaks against taking a report that belongs to it by tool, arguments and time for one of the same call.
    fn doubt(&self, event: &Event) -> Doubt {
        let (Self::Tool(call), Body::ToolCall(report)) = (self, &event.body) else {
            return Doubt::None;
        };
        let same_id = call.call_id.is_some() && call.call_id == report.call_id;
        if report.guarded.is_some() || call.asking.asked == 0 || call.asking.seen || same_id {
            return Doubt::None;
        }
        if call.asking.refused.is_some() {
            return Doubt::IsRefused;
        }
        let is_over = call
            .told_ns()
            .is_some_and(|told_ns| told_ns < event.start_ns);
        if is_over { Doubt::IsOver } else { Doubt::None }
    }
}
