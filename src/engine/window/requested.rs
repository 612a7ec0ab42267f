//! What a model asked for, and the call that came of it.
//!
//! An answer that asks for tools names id, tool and arguments of each call ([`Body::Requested`]); the reports of the call may
//! leave out any of these. What was asked for is found by the id. Where the call or what was asked for has none from the
//! provider, it is the first of the newest answer that asked for this tool with these arguments and that no other call has
//! taken; where there is none with these, with others, since spans of functions write arguments in their own way. By itself it is
//! no call: whether the tool ran, other reports tell.
//!
//! What stands for an id that the provider did not give may come again: in each round of a history that is cut, and in each
//! conversation with the same beginning. There an answer belongs to the newest request before it ([`asked_for`]), rather to
//! one below the span that is around the answered model, and what two tracers tell of one request is one ([`are_one`]).

use crate::engine::event::{Body, Event, Recorded, SpanId, ToolCall, is_of_place};
use crate::engine::worker::known;

use super::calls::{Call, Step};
use super::card::{Card, Kind};
use super::kin::MOMENT_NS;

/// What a model asked for, and its place in the window.
#[derive(Clone, Copy)]
pub(crate) struct Requested<'a> {
    pub(crate) place: usize,
    pub(crate) event: &'a Event,
    pub(crate) call: &'a ToolCall,
}

impl<'a> Call<'a> {
    /// Takes what the model asked for when it asked for this call.
    pub(crate) fn take_asked(&mut self, asked: &mut Vec<Requested<'a>>) {
        let own = first_of_newest(asked, |asked| self.may_come_of(asked));
        let own = own.or_else(|| first_of_newest(asked, |asked| self.may_come_of_another(asked)));
        if let Some(place) = own {
            self.take(asked.remove(place));
        }
    }

    /// Takes one thing that the model asked for.
    pub(crate) fn take(&mut self, asked: Requested<'a>) {
        let Requested { place, event, call } = asked;
        self.asked = Some((place, event));
        if self.tool.is_some_and(|tool| tool.is_empty()) {
            // Only the answer of the tool is there, which is a moment.
            self.start_ns = self.start_ns.min(event.end_ns);
            self.tool = Some(&call.tool);
            self.hands_off = call.hands_off && self.error.is_none();
            self.manner = call.manner;
            self.agent = self.agent.or(event.agent.as_ref());
            self.worker = known(self.worker, event.worker.as_ref());
        }
        if *self.input == Recorded::NotRecorded {
            self.input = &call.input;
            self.traits.main = call.traits.main;
            self.traits.command = call.traits.command;
        }
    }

    /// Whether the model asked for it under this id.
    pub(crate) fn is_asked_as(&self, call_id: Option<u64>) -> bool {
        match self.asked.map(|(_, event)| &event.body) {
            Some(Body::Requested(call)) => call.call_id.is_some() && call.call_id == call_id,
            _ => false,
        }
    }

    fn may_come_of(&self, asked: &Requested<'_>) -> bool {
        let same_tool = self.tool == Some(&asked.call.tool);
        let unnamed = self.tool.is_some_and(|tool| tool.is_empty());
        let is_of_place = asked.call.call_id.is_some_and(is_of_place);
        match self.call_id {
            Some(_) if unnamed || !is_of_place => {
                self.call_id == asked.call.call_id && (same_tool || unnamed)
            }
            _ => self.is_of_same_tool(asked) && !self.differs_from(&asked.call.input),
        }
    }

    /// Whether it may be what the model asked for before, with arguments that its span writes in another way: a function's own,
    /// by their place, or with those that the model left out.
    fn may_come_of_another(&self, asked: &Requested<'_>) -> bool {
        let is_of_place = asked.call.call_id.is_some_and(is_of_place);
        let has_no_common_id = self.call_id.is_none() || is_of_place;
        let is_named = self.tool.is_some_and(|tool| !tool.is_empty());
        is_named
            && has_no_common_id
            && self.is_of_same_tool(asked)
            && asked.event.end_ns <= self.start_ns
    }

    fn is_of_same_tool(&self, asked: &Requested<'_>) -> bool {
        self.tool == Some(&asked.call.tool) && self.first.1.trace == asked.event.trace
    }
}

/// The first that fits of the newest answer of which any does.
fn first_of_newest(
    asked: &[Requested<'_>],
    fits: impl Fn(&Requested<'_>) -> bool,
) -> Option<usize> {
    let newest = asked.iter().rfind(|asked| fits(asked))?;
    let answer = newest.event.start_ns;
    asked
        .iter()
        .position(|asked| asked.event.start_ns == answer && fits(asked))
}

/// The place of an answer's call, where that is all by which it is known.
fn place_of(event: &Event) -> Option<u64> {
    match &event.body {
        Body::ToolCall(call) if call.tool.is_empty() => call.call_id.filter(|id| is_of_place(*id)),
        _ => None,
    }
}

/// Whether a report is an answer that is known by its place alone.
pub(crate) fn is_answer_of_place(event: &Event) -> bool {
    place_of(event).is_some()
}

/// Puts an answer that is known by its place alone to the call of what the model had asked for, if that was told.
pub(crate) fn take_answer<'a>(
    steps: &mut Vec<Step<'a>>,
    (place, event): (usize, &'a Event),
    from: Option<&(usize, Event)>,
    asked: &mut Vec<Requested<'a>>,
    cards: &[Card],
) {
    if let Some(from) = from
        && let Some(known) = steps.iter_mut().rfind(|step| came_of(step, from, cards))
    {
        return known.join(place, event);
    }
    let mut step = Step::first(place, event);
    let own = from.and_then(|(from, _)| asked.iter().position(|asked| asked.place == *from));
    if let (Step::Tool(call), Some(own)) = (&mut step, own) {
        call.take(asked.remove(own));
    }
    steps.push(step);
}

/// Whether a step is the call that came of a request.
fn came_of(step: &Step<'_>, (place, request): &(usize, Event), cards: &[Card]) -> bool {
    match (step, &request.body) {
        (Step::Tool(call), Body::Requested(report)) => {
            let by_same = |(own, event)| own == *place || are_one(event, request, cards);
            call.is_asked_as(report.call_id) && call.asked.is_some_and(by_same)
        }
        _ => false,
    }
}

/// What the model asked for when it asked for the call to which an answer belongs that is known by its place alone.
pub(crate) fn asked_for<'a>(
    answer: &Event,
    earlier: &'a [(usize, Event)],
    cards: &[Card],
) -> Option<&'a (usize, Event)> {
    let place = place_of(answer)?;
    let around = model(answer.parent, cards).map(|card| card.parent);
    // The answered model may ask for its next call under the same id. Of several answers, each but the last has its own nanosecond
    // before.
    let given_ns = answer.start_ns.saturating_add(MOMENT_NS);
    let is_before = |asked: &Event| match &asked.body {
        Body::Requested(call) => {
            let was_over = asked.end_ns <= given_ns && asked.start_ns < answer.start_ns;
            was_over && call.call_id == Some(place)
        }
        _ => false,
    };
    let before = earlier.iter().filter(|(_, asked)| is_before(asked));
    before.max_by_key(|(_, asked)| around == Some(asked.parent))
}

/// Whether two reports of what a model asked for at one place are of one request: a span and its record, a client's span below
/// a framework's, or those of two tracers at the same time.
fn are_one(left: &Event, right: &Event, cards: &[Card]) -> bool {
    let is_around =
        |outer: &Event, inner: &Event| outer.span.is_set() && outer.span == inner.parent;
    let by_two_tracers = || {
        let [one, other] = [left, right].map(|asked| model(asked.span, cards)?.witness());
        let share_time = left.start_ns < right.end_ns && right.start_ns < left.end_ns;
        share_time && matches!((one, other), (Some(one), Some(other)) if !one.is_same_tracer(other))
    };
    by_model(left) == by_model(right) && by_model(left).is_set()
        || is_around(left, right)
        || is_around(right, left)
        || by_two_tracers()
}

/// The span of the model that asked: a record of it has it as its parent.
fn by_model(asked: &Event) -> SpanId {
    if asked.span.is_set() {
        asked.span
    } else {
        asked.parent
    }
}

/// The report of a model's call by its span. Where it comes after an answer that it is given, that is looked at again
/// (`Window::is_given_answer`).
fn model(span: SpanId, cards: &[Card]) -> Option<&Card> {
    let mut cards = cards.iter();
    cards.find(|card| card.kind == Kind::Model && card.span == span && span.is_set())
}
