//! One call out of the reports of it.
//!
//! The same tool call is reported by up to three spans and two log records, and a model call by a span and a log record
//! (`conventions.md` §0.3), or by two spans, one of a library and one of the client that it wraps. [`steps`] walks a run's
//! window in the order of events and puts together what belongs together, so that rules see each call once. The rule
//! (`conventions.md` §8.5): the same call id, unless two spans of the tool follow each other; or the same tool in the same
//! trace where not both have a call id, not both have arguments that differ, they are not siblings, and one is the other's
//! parent or lies wholly within it in time. A server's tool may have a longer name at its client
//! (`kin::are_client_and_server`). A report that names no tool is known by its call id alone, and is nothing as long as nobody
//! names it; two model reports without a common id are one call where one is the other's parent and lies around it, or where
//! two tracers tell the same of the same time ([`witness`](crate::engine::witness)).
//!
//! What a model asked for completes the call that came of it (`asked`). Putting together happens at every fold, over all of the
//! window, so the order of arrival cannot matter. How what the guard was told joins a span is in `join`.

use crate::engine::event::{
    Body, Event, Failure, Manner, ModelCall, Recorded, SpanId, Text, ToolCall, TraceId, Traits,
};
use crate::engine::hash::mix;
use crate::engine::worker::{known, worker_hash};

use super::Window;
use super::card::{Card, is_end_of, may_name_one_tool};
use super::choice;
use super::join::{Asking, is_of_guard, is_question, is_result};
use super::kin::{are_apart, are_two_calls, tell_of_one_call};
use super::requested::{Requested, asked_for, is_answer_of_place, take_answer};
use super::spoken::Spoken;

/// What the fold takes at a time: one call, however many reports, or one other event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step<'a> {
    /// A tool call.
    Tool(Call<'a>),
    /// A model call.
    Model(Call<'a>, Spoken),
    /// Anything else, and its place in the window.
    Other(usize, &'a Event),
}

/// A call put together from its reports.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_field_names,
    reason = "a call id is what the field calls it"
)]
pub(crate) struct Call<'a> {
    /// Its first report and its place in the window.
    pub(crate) first: (usize, &'a Event),
    /// The other reports of it, and theirs.
    more: Vec<(usize, &'a Event)>,
    /// The tool: an empty name where no report has told it yet, `None` for a model call.
    pub(crate) tool: Option<&'a Text>,
    pub(crate) call_id: Option<u64>,
    /// What the model asked for when it asked for this call, and its place.
    pub(crate) asked: Option<(usize, &'a Event)>,
    pub(crate) input: &'a Recorded,
    pub(crate) output: &'a Recorded,
    pub(crate) error: Option<&'a Failure>,
    pub(crate) hands_off: bool,
    pub(crate) manner: Manner,
    pub(crate) traits: Traits,
    /// The guard's part in it.
    pub(crate) asking: Asking,
    pub(crate) agent: Option<&'a Text>,
    pub(crate) worker: Option<&'a Text>,
    pub(crate) span: SpanId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

static NOTHING: Recorded = Recorded::NotRecorded;

/// Reports of a window as steps, in the order of their first reports; what was asked for and did not come to a call stands
/// last. No other report of the window may belong to one of these.
pub(crate) fn steps<'a>(window: &Window, reports: &'a [(usize, Event)]) -> Vec<Step<'a>> {
    let cards = window.cards();
    let mut steps: Vec<Step<'_>> = Vec::with_capacity(reports.len());
    let mut asked = Vec::new();
    for (at, &(place, ref event)) in reports.iter().enumerate() {
        if is_answer_of_place(event) {
            let from = asked_for(event, &reports[..at], cards);
            take_answer(&mut steps, (place, event), from, &mut asked, cards);
            continue;
        }
        if let Body::Requested(call) = &event.body {
            asked.push(Requested { place, event, call });
            continue;
        }
        let known = window
            .may_belong(place)
            .then(|| choice::known(&steps, cards, place, event));
        if let Some(known) = known.flatten() {
            steps[known].join(place, event);
            continue;
        }
        let mut step = Step::first(place, event);
        if let Step::Tool(call) = &mut step {
            call.take_asked(&mut asked);
        }
        steps.push(step);
    }
    let unanswered = asked
        .iter()
        .map(|asked| Step::Other(asked.place, asked.event));
    steps.extend(unanswered);
    steps
}

impl<'a> Step<'a> {
    /// A step of one report.
    pub(crate) fn first(index: usize, event: &'a Event) -> Self {
        match &event.body {
            Body::ToolCall(call) => Self::Tool(Call::of_tool(index, event, call)),
            Body::ModelCall(model) => {
                Self::Model(Call::of_model(index, event, model), Spoken::of(model))
            }
            _ => Self::Other(index, event),
        }
    }

    /// Places in the window of its reports, the first one first, and of what it was asked with.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        let (first, more, asked): (_, &[(usize, &Event)], _) = match self {
            Self::Tool(call) | Self::Model(call, _) => (call.first.0, &call.more, call.asked),
            Self::Other(place, _) => (*place, &[], None),
        };
        let more = more.iter().copied().chain(asked);
        std::iter::once(first).chain(more.map(|(place, _)| place))
    }

    /// Places in the window of its reports.
    pub(crate) fn reports(&self) -> impl Iterator<Item = usize> {
        let more: &[(usize, &Event)] = match self {
            Self::Tool(call) | Self::Model(call, _) => &call.more,
            Self::Other(..) => &[],
        };
        std::iter::once(self.first_place()).chain(more.iter().map(|(place, _)| *place))
    }

    /// Whether it is a call about which the agent asked the guard, and of which nothing says yet what came of it.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Tool(call) if call.asking.is_open())
    }

    /// The place of its first report.
    pub(crate) fn first_place(&self) -> usize {
        match self {
            Self::Tool(call) | Self::Model(call, _) => call.first.0,
            Self::Other(place, _) => *place,
        }
    }

    pub(super) fn belongs(&self, cards: &[Card], place: usize, event: &Event) -> bool {
        match (self, &event.body) {
            (Self::Tool(call), Body::ToolCall(report)) => {
                call.is_told_by(cards, place, event, report)
            }
            (Self::Model(call, _), Body::ModelCall(report)) => {
                let same_id = call.call_id.is_some() && call.call_id == report.call_id;
                let known = || call.places().map(|known| &cards[known]);
                let is_apart = || known().any(|known| are_apart(known, &cards[place]));
                known().any(|known| tell_of_one_call(known, &cards[place]))
                    && !(same_id && is_apart())
                    && (same_id || !known().any(|known| are_two_calls(known, &cards[place])))
            }
            _ => false,
        }
    }

    /// Whether it is the call that the model asked for under the report's id.
    pub(super) fn was_asked_as(&self, event: &Event) -> bool {
        match (self, &event.body) {
            (Self::Tool(call), Body::ToolCall(report)) => {
                let same_tool = report.tool.is_empty() || call.tool == Some(&report.tool);
                call.call_id != report.call_id && same_tool && call.is_asked_as(report.call_id)
            }
            _ => false,
        }
    }

    pub(super) fn join(&mut self, index: usize, event: &'a Event) {
        match (self, &event.body) {
            (Self::Tool(call), Body::ToolCall(report)) => {
                call.join(
                    index,
                    event,
                    &report.input,
                    &report.output,
                    report.error.as_ref(),
                );
                // A span may tell what the model was shown, with what the guard said below it.
                if report.is_told_result() && report.output.value().is_some() {
                    call.output = &report.output;
                }
                call.tool = call
                    .tool
                    .filter(|tool| !tool.is_empty())
                    .or(Some(&report.tool));
                call.call_id = call.call_id.or(report.call_id);
                // What was asked about before it ran, or told of by the model, may have failed since.
                call.hands_off = (call.hands_off || report.hands_off) && call.error.is_none();
                call.manner = call.manner.max(report.manner);
                call.traits.main = call.traits.main.or(report.traits.main);
                call.traits.command = call.traits.command.or(report.traits.command);
                call.traits.tests_failed |= report.traits.tests_failed;
                call.asking.join(report);
            }
            (Self::Model(call, model), Body::ModelCall(report)) => {
                call.join(index, event, &NOTHING, &NOTHING, report.error.as_ref());
                call.call_id = call.call_id.or(report.call_id);
                model.join(report);
            }
            _ => {}
        }
    }
}

impl<'a> Call<'a> {
    fn of_tool(index: usize, event: &'a Event, call: &'a ToolCall) -> Self {
        Self {
            tool: Some(&call.tool),
            call_id: call.call_id,
            input: &call.input,
            output: &call.output,
            error: call.error.as_ref(),
            hands_off: call.hands_off,
            manner: call.manner,
            traits: call.traits,
            asking: Asking::of(call),
            ..Self::of_event(index, event)
        }
    }

    fn of_model(index: usize, event: &'a Event, model: &'a ModelCall) -> Self {
        Self {
            call_id: model.call_id,
            error: model.error.as_ref(),
            ..Self::of_event(index, event)
        }
    }

    fn of_event(index: usize, event: &'a Event) -> Self {
        Self {
            first: (index, event),
            more: Vec::new(),
            tool: None,
            call_id: None,
            asked: None,
            input: &NOTHING,
            output: &NOTHING,
            error: None,
            hands_off: false,
            manner: Manner::Unknown,
            traits: Traits::default(),
            asking: Asking::default(),
            agent: event.agent.as_ref(),
            worker: event.worker.as_ref(),
            span: event.span,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        }
    }

    /// The model that was asked, where a report names it.
    pub(crate) fn model(&self) -> Option<&'a Text> {
        self.reports().find_map(|event| match &event.body {
            Body::ModelCall(call) => call.model.as_ref(),
            _ => None,
        })
    }

    /// Who asked the guard about it, or told the guard of it: hash of the worker's name, else the agent's, 0 for somebody without a
    /// name. `None` where spans alone tell of it.
    pub(crate) fn asker(&self) -> Option<u64> {
        let mut reports = self.reports();
        let told = reports.find(|event| match &event.body {
            Body::ToolCall(call) => call.guarded.is_some(),
            _ => !event.span.is_set() && event.trace == TraceId::default(),
        })?;
        Some(worker_hash(told.worker.as_ref(), told.agent.as_ref()))
    }

    fn is_told_by(&self, cards: &[Card], place: usize, event: &Event, report: &ToolCall) -> bool {
        let named = self.tool.map_or("", |tool| &**tool);
        let may_be_named = may_name_one_tool(named, &report.tool)
            || is_end_of(&report.tool, named)
            || is_end_of(named, &report.tool);
        if !self.asking.may_take(report) || !may_be_named {
            return false;
        }
        let same_id = match (self.call_id, report.call_id) {
            (Some(own), Some(other)) if own != other => return false,
            (own, other) => own.is_some() && own == other,
        };
        // A record between two spans would hold them together.
        if same_id
            && self
                .places()
                .any(|known| are_apart(&cards[known], &cards[place]))
        {
            return false;
        }
        // A span belongs to a question only as long as no other one does.
        let by_time = report.guarded.is_none() && self.asking.seen && !same_id;
        self.places()
            .map(|known| &cards[known])
            .filter(|known| !by_time || known.question().is_none())
            .any(|known| tell_of_one_call(known, &cards[place]))
            && (same_id || !(self.differs_from(&report.input) || self.has_peer(event, report)))
    }

    /// Hash of what came back, error and result, volatile text masked; `None` where neither is known.
    pub(crate) fn result(&self) -> Option<u64> {
        let output = self.output.value().map(|value| value.masked);
        match self.error {
            Some(failure) => Some(mix(failure.masked, output.unwrap_or(1))),
            None => output,
        }
    }

    /// Places of its reports.
    fn places(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first.0).chain(self.more.iter().map(|(place, _)| *place))
    }

    pub(crate) fn differs_from(&self, input: &Recorded) -> bool {
        match (self.input.value(), input.value()) {
            (Some(left), Some(right)) => left.fingerprint != right.fingerprint,
            _ => false,
        }
    }

    /// Whether one of its reports stands beside this one, as those of two calls do. A client and a server that tell of one call
    /// beside each other have different names for the tool.
    fn has_peer(&self, event: &Event, report: &ToolCall) -> bool {
        let alike = |known: &Event| matches!(&known.body, Body::ToolCall(call) if call.tool == report.tool || report.tool.is_empty());
        event.parent.is_set()
            && self
                .reports()
                .any(|known| known.parent == event.parent && alike(known))
    }

    fn reports(&self) -> impl Iterator<Item = &'a Event> {
        std::iter::once(self.first.1).chain(self.more.iter().map(|(_, event)| *event))
    }

    fn join(
        &mut self,
        index: usize,
        event: &'a Event,
        input: &'a Recorded,
        output: &'a Recorded,
        error: Option<&'a Failure>,
    ) {
        // A span knows better than the answer that came before it, as it does where it comes first.
        let is_answer =
            |event: &Event| matches!(&event.body, Body::ToolCall(report) if report.tool.is_empty());
        let leads = !is_answer(event) && self.reports().all(is_answer);
        let by_guard = (self.reports().filter(|known| !is_answer(known))).all(is_of_guard)
            && self.reports().any(is_of_guard);
        let [(known_input, input), (known_output, output)] =
            [(self.input, input), (self.output, output)].map(|(known, other)| {
                if leads {
                    (other, known)
                } else {
                    (known, other)
                }
            });
        let (known_error, error) = if leads {
            (error, self.error)
        } else {
            (self.error, error)
        };
        self.more.push((index, event));
        self.input = fuller(known_input, input);
        self.output = fuller(known_output, output);
        self.error = match known_error {
            Some(known) if !known.text.is_empty() => Some(known),
            known => error.or(known),
        };
        self.agent = self.agent.or(event.agent.as_ref());
        self.worker = known(self.worker, event.worker.as_ref());
        if !self.span.is_set() {
            self.span = event.span;
        }
        // An answer that names no tool came to the model some time after the call.
        if is_answer(event) && event.start_ns == event.end_ns {
            return;
        }
        // What the guard was asked and told has our clock's time, and a span's may be another: it counts as long as there is no
        // span.
        match (by_guard, is_of_guard(event)) {
            (true, false) => (self.start_ns, self.end_ns) = (event.start_ns, event.end_ns),
            (false, true) => {}
            _ => {
                self.start_ns = self.start_ns.min(event.start_ns);
                self.end_ns = self.end_ns.max(event.end_ns);
            }
        }
    }

    /// When the guard was asked about it.
    pub(crate) fn asked_ns(&self) -> Option<u64> {
        let question = self.reports().find(|event| is_question(event));
        question.map(|event| event.start_ns)
    }

    /// When its result was told, where the guard was told of one.
    pub(crate) fn told_ns(&self) -> Option<u64> {
        let result = self.reports().find(|event| is_result(event));
        result.map(|event| event.end_ns)
    }

    /// How long it took.
    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// The same call at another time.
    pub(crate) fn lasting(&self, start_ns: u64, length_ns: u64) -> Self {
        Self {
            start_ns,
            end_ns: start_ns.saturating_add(length_ns),
            ..self.clone()
        }
    }
}

/// The one of two reports of a value that tells more; the earlier one where they tell the same.
fn fuller<'a>(known: &'a Recorded, other: &'a Recorded) -> &'a Recorded {
    match (known, other) {
        (Recorded::Value(_), _) => known,
        (_, Recorded::Value(_)) | (Recorded::NotRecorded, Recorded::Redacted) => other,
        _ => known,
    }
}

#[cfg(test)]
mod tests;
