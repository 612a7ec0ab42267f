//! The newest reports of a run, in the order in which things happened.
//!
//! Beside each report stands its *sign*: a hash of what it is recognised by. A report that comes in order is compared with
//! the signs, which lie in a few cache lines, and not with the reports.

use std::collections::VecDeque;

use super::asked;
use super::calls;
use super::event::{AgentSpan, Body, Event, Failure, ModelCall, Recorded, ToolCall};
use super::hash::mix;
use super::judge::EXIT_CODE_BYTES_MAX;
use super::run::{Place, WINDOW_EVENTS_MAX};

/// The newest reports, in the order of [`Place`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Window {
    events: VecDeque<Event>,
    /// The sign of each.
    signs: Vec<u32>,
}

/// The sign of a report that is never one of several.
const ALONE: u32 = 0;
/// The sign of a tool call without a call id: it may belong to any other call of its tool.
const TOOL_WITHOUT_ID: u32 = 1;
/// The sign of a model call without a call id: it may lie around another, or within it.
const MODEL_WITHOUT_ID: u32 = 2;
/// Set in the signs of tools that a model asked for, and in no other.
const ASKED: u32 = 1 << 31;

impl Window {
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Event> {
        self.events.get(place)
    }

    /// Whether a report comes after all that are here.
    pub(crate) fn ends_before(&self, place: Place) -> bool {
        self.events
            .back()
            .is_none_or(|last| Place::of(last) < place)
    }

    /// Whether a report may belong to a call of which a report is here. Never says no where [`calls::steps`] would put
    /// them together.
    pub(crate) fn may_tell_more(&self, event: &Event) -> bool {
        self.may_join(self.len(), sign(event), event)
    }

    /// The same for the report at a place and those before it.
    pub(crate) fn may_belong(&self, place: usize, event: &Event) -> bool {
        self.may_join(place, self.signs[place], event)
    }

    fn may_join(&self, before: usize, sign: u32, event: &Event) -> bool {
        let others = &self.signs[..before];
        let without_id = match event.body {
            Body::ModelCall(_) => MODEL_WITHOUT_ID,
            _ => TOOL_WITHOUT_ID,
        };
        if sign == ALONE || sign & ASKED != 0 {
            return false;
        }
        if sign != without_id && others.contains(&sign) {
            return true;
        }
        if asked::wants_more(event) && others.iter().any(|other| other & ASKED != 0) {
            return true;
        }
        // A call that knows its id only from the model's answer.
        if others.contains(&(sign | ASKED)) && others.contains(&TOOL_WITHOUT_ID) {
            return true;
        }
        (sign == without_id || others.contains(&without_id))
            && self
                .events
                .range(..before)
                .any(|other| calls::tell_of_one_call(other, event))
    }

    /// As [`RunState::bring_near`](super::run::RunState::bring_near): the signs, and the newest report.
    pub(crate) fn bring_near(&self) -> u64 {
        let newest = self.events.back().map_or(0, |event| event.start_ns);
        let signs = self
            .signs
            .iter()
            .step_by(16)
            .fold(0, |all, sign| all ^ sign);
        newest ^ u64::from(signs)
    }

    /// Puts a report at the end.
    pub(crate) fn push(&mut self, event: &Event) {
        self.make_room();
        self.signs.push(sign(event));
        self.events.push_back(needed(event));
    }

    /// Puts a report into its place among the others.
    pub(crate) fn insert(&mut self, event: &Event) {
        self.make_room();
        let place = Place::of(event);
        let index = self
            .events
            .partition_point(|other| Place::of(other) < place);
        self.signs.insert(index, sign(event));
        self.events.insert(index, needed(event));
    }

    /// Grows as such collections do, but not beyond what a run may have.
    fn make_room(&mut self) {
        let length = self.len();
        if length == self.events.capacity() {
            let more = length.min(WINDOW_EVENTS_MAX.saturating_sub(length)).max(4);
            self.events.reserve_exact(more);
            self.signs.reserve_exact(more);
        }
    }

    /// Lets a report go.
    pub(crate) fn remove(&mut self, place: usize) {
        self.signs.remove(place);
        self.events.remove(place);
    }

    /// Lets the reports at these places go, which are among the first ones.
    pub(crate) fn remove_all(&mut self, mut places: Vec<usize>) {
        places.sort_unstable();
        for place in places.into_iter().rev() {
            self.remove(place);
        }
    }
}

impl FromIterator<Event> for Window {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut window = Self::default();
        events.into_iter().for_each(|event| window.push(&event));
        window
    }
}

/// A report without what the engine never looks at, since a window is most of what a run takes in memory and on disk.
fn needed(event: &Event) -> Event {
    let body = match &event.body {
        Body::ToolCall(call) => Body::ToolCall(ToolCall {
            error: call.error.as_ref().map(needed_failure),
            ..call.clone()
        }),
        Body::ModelCall(call) => Body::ModelCall(ModelCall {
            // Who it was that nobody has a price for is shown.
            model: call.model.clone().filter(|_| call.cost_microusd.is_none()),
            error: call.error.as_ref().map(needed_failure),
            ..call.clone()
        }),
        Body::AgentSpan(span) => Body::AgentSpan(AgentSpan {
            input: span
                .instruction()
                .map_or(Recorded::NotRecorded, |_| span.input.clone()),
            ..span.clone()
        }),
        body => body.clone(),
    };
    Event {
        agent: event.agent.clone(),
        worker: event.worker.clone(),
        body,
        ..*event
    }
}

/// A failure with as much of its text as tells whether there is more than an exit code in it.
fn needed_failure(failure: &Failure) -> Failure {
    let mut end = failure.text.len().min(EXIT_CODE_BYTES_MAX + 1);
    while !failure.text.is_char_boundary(end) {
        end += 1;
    }
    if end == failure.text.len() {
        return failure.clone();
    }
    Failure {
        text: failure.text[..end].into(),
        ..*failure
    }
}

fn sign(event: &Event) -> u32 {
    let of_id = |id, kind| mix(id, kind) as u32 & !ASKED;
    match &event.body {
        Body::ToolCall(call) => call.call_id.map_or(TOOL_WITHOUT_ID, |id| of_id(id, 1)),
        Body::Asked(call) => call.call_id.map_or(ALONE, |id| of_id(id, 1)) | ASKED,
        Body::ModelCall(model) => model.call_id.map_or(MODEL_WITHOUT_ID, |id| of_id(id, 2)),
        _ => ALONE,
    }
}
