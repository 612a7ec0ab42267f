//! One call out of the reports of it.
//!
//! The same tool call is reported by up to three spans and two log records, and a model call by a span and a log record
//! (`conventions.md` §0.3), or by two spans, one of a library and one of the client that it wraps. [`steps`] walks a
//! run's window in the order of events and puts together what belongs together, so that rules see each call once. The
//! rule (`conventions.md` §8.5): the same call id; or the same tool in the same trace where not both have a call id, not
//! both have arguments that differ, they are not siblings, and one is the other's parent or lies wholly within it in
//! time. A report that names no tool is known by its call id alone; two model spans without a common id are one call
//! where one is the other's parent and lies around it. Putting together happens at every fold, over all of the window,
//! so the order of arrival cannot matter. How what the guard was told joins a span is in `guard::join`.

use super::event::{
    Answer, Body, Event, Failure, ModelCall, Recorded, SpanId, Text, ToolCall, Traits,
};
use super::guard::join::{self, Asking};
use super::window::Window;

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
    first: (usize, &'a Event),
    /// The other reports of it, and theirs.
    more: Vec<(usize, &'a Event)>,
    /// The tool: an empty name where no report has told it yet, `None` for a model call.
    pub(crate) tool: Option<&'a Text>,
    pub(crate) call_id: Option<u64>,
    pub(crate) input: &'a Recorded,
    pub(crate) output: &'a Recorded,
    pub(crate) error: Option<&'a Failure>,
    pub(crate) hands_off: bool,
    pub(crate) writes: bool,
    pub(crate) traits: Traits,
    /// The guard's part in it.
    pub(crate) asking: Asking,
    pub(crate) agent: Option<&'a Text>,
    pub(crate) worker: Option<&'a Text>,
    pub(crate) span: SpanId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// What a model call came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spoken {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cost_microusd: Option<u64>,
    /// The cost was reckoned from the tokens.
    pub(crate) cost_is_estimate: bool,
    pub(crate) answer: Answer,
}

static NOTHING: Recorded = Recorded::NotRecorded;

/// The window as steps, in the order of their first reports.
pub(crate) fn steps(window: &Window) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::with_capacity(window.len());
    for (place, event) in window.iter().enumerate() {
        let known = window
            .may_belong(place, event)
            .then(|| steps.iter_mut().rev().find(|step| step.belongs(event)));
        match known.flatten() {
            Some(step) => step.join(place, event),
            None => steps.push(Step::first(place, event)),
        }
    }
    steps
}

/// Whether two reports, taken alone, tell of one call.
pub(crate) fn tell_of_one_call(left: &Event, right: &Event) -> bool {
    match (&left.body, &right.body) {
        (Body::ToolCall(one), Body::ToolCall(other)) => {
            if one.guarded.is_some() || other.guarded.is_some() {
                return join::tell_of_one_call((left, one), (right, other));
            }
            let same_tool = || one.tool == other.tool;
            // A report that names no tool has a call id, and that is enough.
            let unnamed = || one.tool.is_empty() || other.tool.is_empty();
            match (one.call_id, other.call_id) {
                (Some(id), Some(other)) => id == other && (same_tool() || unnamed()),
                _ => {
                    (are_kin(left, right) || share_time(left, right))
                        && left.trace == right.trace
                        && same_tool()
                }
            }
        }
        (Body::ModelCall(one), Body::ModelCall(other)) => match (one.call_id, other.call_id) {
            (Some(one), Some(other)) => one == other,
            // A library that wraps another's client: two spans of one request, one directly below the other.
            _ => {
                (left.trace == right.trace && are_kin(left, right) && share_time(left, right))
                    || join::are_one_answer((left, one), (right, other))
            }
        },
        _ => false,
    }
}

fn are_kin(left: &Event, right: &Event) -> bool {
    (right.parent.is_set() && left.span == right.parent)
        || (left.parent.is_set() && right.span == left.parent)
}

fn share_time(left: &Event, right: &Event) -> bool {
    let within = |outer: &Event, inner: &Event| {
        outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
    };
    let lasts = |event: &Event| event.start_ns < event.end_ns;
    lasts(left) && lasts(right) && (within(left, right) || within(right, left))
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

    /// Places of its reports in the window.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        let (first, more): (_, &[(usize, &Event)]) = match self {
            Self::Tool(call) | Self::Model(call, _) => (call.first.0, &call.more),
            Self::Other(place, _) => (*place, &[]),
        };
        std::iter::once(first).chain(more.iter().map(|(place, _)| *place))
    }

    fn belongs(&self, event: &Event) -> bool {
        match (self, &event.body) {
            (Self::Tool(call), Body::ToolCall(report)) => call.is_told_by(event, report),
            (Self::Model(call, _), Body::ModelCall(report)) => {
                let same_id = call.call_id.is_some() && call.call_id == report.call_id;
                tell_of_one_call(call.first.1, event) && (same_id || !call.has_sibling(event))
            }
            _ => false,
        }
    }

    fn join(&mut self, index: usize, event: &'a Event) {
        match (self, &event.body) {
            (Self::Tool(call), Body::ToolCall(report)) => {
                call.join(
                    index,
                    event,
                    &report.input,
                    &report.output,
                    report.error.as_ref(),
                );
                call.tool = call
                    .tool
                    .filter(|tool| !tool.is_empty())
                    .or(Some(&report.tool));
                call.call_id = call.call_id.or(report.call_id);
                call.hands_off |= report.hands_off;
                call.writes |= report.writes;
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
            writes: call.writes,
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
            input: &NOTHING,
            output: &NOTHING,
            error: None,
            hands_off: false,
            writes: false,
            traits: Traits::default(),
            asking: Asking::default(),
            agent: event.agent.as_ref(),
            worker: event.worker.as_ref(),
            span: event.span,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        }
    }

    fn is_told_by(&self, event: &Event, report: &ToolCall) -> bool {
        if !self.asking.may_take(report) {
            return false;
        }
        let same_id = match (self.call_id, report.call_id) {
            (Some(own), Some(other)) if own != other => return false,
            (own, other) => own.is_some() && own == other,
        };
        // A span belongs to a question only as long as no other one does.
        let by_time = report.guarded.is_none() && self.asking.seen && !same_id;
        let is_span =
            |known: &Event| matches!(&known.body, Body::ToolCall(call) if call.guarded.is_none());
        self.reports()
            .filter(|known| !by_time || is_span(known))
            .any(|known| tell_of_one_call(known, event))
            && (same_id || !(self.differs_from(&report.input) || self.has_sibling(event)))
    }

    fn differs_from(&self, input: &Recorded) -> bool {
        match (self.input.value(), input.value()) {
            (Some(left), Some(right)) => left.fingerprint != right.fingerprint,
            _ => false,
        }
    }

    fn has_sibling(&self, event: &Event) -> bool {
        event.parent.is_set() && self.reports().any(|known| known.parent == event.parent)
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
        self.more.push((index, event));
        self.input = fuller(self.input, input);
        self.output = fuller(self.output, output);
        self.error = match self.error {
            Some(known) if !known.text.is_empty() => Some(known),
            known => error.or(known),
        };
        self.agent = self.agent.or(event.agent.as_ref());
        self.worker = self.worker.or(event.worker.as_ref());
        if !self.span.is_set() {
            self.span = event.span;
        }
        self.start_ns = self.start_ns.min(event.start_ns);
        self.end_ns = self.end_ns.max(event.end_ns);
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

impl Spoken {
    fn of(report: &ModelCall) -> Self {
        Self {
            input_tokens: report.input_tokens,
            output_tokens: report.output_tokens,
            cost_microusd: report.cost_microusd,
            cost_is_estimate: report.cost_is_estimate,
            answer: report.answer,
        }
    }

    fn join(&mut self, report: &ModelCall) {
        self.input_tokens = self.input_tokens.max(report.input_tokens);
        self.output_tokens = self.output_tokens.max(report.output_tokens);
        self.join_costs(report);
        if self.answer == Answer::Unknown {
            self.answer = report.answer;
        }
    }

    /// A cost that a report states stands before one that was reckoned; of two of a kind the larger one.
    fn join_costs(&mut self, report: &ModelCall) {
        let rank = |cost: Option<u64>, is_estimate: bool| (cost.is_some() && !is_estimate, cost);
        if rank(report.cost_microusd, report.cost_is_estimate)
            > rank(self.cost_microusd, self.cost_is_estimate)
        {
            self.cost_microusd = report.cost_microusd;
            self.cost_is_estimate = report.cost_is_estimate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::TraceId;

    fn model(span: u8, parent: u8, times: (u64, u64), call: ModelCall) -> Event {
        Event {
            id: u64::from(span),
            trace: TraceId([1; 16]),
            span: SpanId([span; 8]),
            parent: SpanId([parent; 8]),
            start_ns: times.0,
            end_ns: times.1,
            agent: None,
            worker: None,
            body: Body::ModelCall(call),
        }
    }

    fn tokens(input_tokens: u64) -> ModelCall {
        ModelCall {
            input_tokens,
            ..ModelCall::default()
        }
    }

    fn costing(cost: u64, cost_is_estimate: bool) -> ModelCall {
        ModelCall {
            call_id: Some(7),
            cost_microusd: Some(cost),
            cost_is_estimate,
            ..ModelCall::default()
        }
    }

    fn models(window: &[Event]) -> Vec<Spoken> {
        let window = window.iter().cloned().collect();
        let models = steps(&window).into_iter().filter_map(|step| match step {
            Step::Model(_, spoken) => Some(spoken),
            _ => None,
        });
        models.collect()
    }

    /// Given a library's span around that of the client it uses, they are one call with its tokens once; given a second
    /// request below the same span, or a request that is not within, it is a call of its own.
    #[test]
    fn nested_model_spans_are_one_call() {
        let outer = model(1, 0, (10, 50), tokens(120));
        let inner = model(2, 1, (15, 45), tokens(120));
        assert_eq!(
            models(&[outer.clone(), inner.clone()]),
            [Spoken::of(&tokens(120))]
        );
        let second = model(3, 1, (46, 49), tokens(5));
        assert_eq!(models(&[outer.clone(), inner, second]).len(), 2);
        let later = model(2, 1, (60, 70), tokens(120));
        assert_eq!(models(&[outer.clone(), later]).len(), 2);
        let other_id = |event: &Event, id| {
            let mut event = event.clone();
            if let Body::ModelCall(call) = &mut event.body {
                call.call_id = Some(id);
            }
            event
        };
        let inner = model(2, 1, (15, 45), tokens(120));
        assert_eq!(models(&[other_id(&outer, 1), other_id(&inner, 2)]).len(), 2);
    }

    /// Given an estimate and a stated cost of one call, the stated one stands, whichever came first and is larger.
    #[test]
    fn a_stated_cost_stands_before_an_estimate() {
        let span = model(1, 0, (10, 50), costing(900, true));
        let record = model(0, 0, (12, 50), costing(300, false));
        for window in [[span.clone(), record.clone()], [record, span]] {
            let call = models(&window).remove(0);
            assert_eq!(
                (call.cost_microusd, call.cost_is_estimate),
                (Some(300), false)
            );
        }
    }
}
