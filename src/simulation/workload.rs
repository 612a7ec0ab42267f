//! What happens in a world: its dice, its runs, and the requests that tell of them.

use super::BEGAN_MS;
use crate::engine::event::{
    Body, Event, Manner, ModelCall, Recorded, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use crate::normalize::{Report, RunRef};

/// Numbers that depend on the seed alone (a linear congruential generator with Knuth's constants).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Whether something happens that does so once in so many times.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A run and all that happens in it.
pub(super) struct Run {
    pub(super) id: Text,
    pub(super) trace: TraceId,
    /// Whether reports say which run they belong to; otherwise it is named after its trace.
    pub(super) is_named: bool,
    pub(super) events: Vec<Event>,
}

pub(super) fn run(number: u8, dice: &mut Dice) -> Run {
    let trace = TraceId([number + 1; 16]);
    let is_named = !dice.one_in(3);
    let id = if is_named {
        format!("run-{number}")
    } else {
        format!("{:02x}", number + 1).repeat(16)
    };
    let variety = 1 + dice.below(4);
    let events = (0..5 + dice.below(35)).map(|place| event(trace, place, variety, dice));
    Run {
        id: id.into(),
        trace,
        is_named,
        events: events.collect(),
    }
}

/// Something that happens in a trace: mostly a call, of few kinds, so that there are loops.
pub(super) fn event(trace: TraceId, place: usize, variety: usize, dice: &mut Dice) -> Event {
    let id = u64::from(trace.0[0]) << 32 | (place as u64 + 1);
    let start_ns = (BEGAN_MS - 600_000 + 1_000 * place as u64) * 1_000_000;
    let value = |of: usize| {
        Recorded::Value(Value {
            fingerprint: of as u64,
            masked: of as u64,
            bytes: 20,
            empty: false,
            pending: false,
            denies: false,
            refuses: false,
            answers: false,
            sample: format!("{{\"of\":{of}}}").into(),
            numbers: None,
            items: Box::default(),
        })
    };
    let body = if dice.one_in(5) {
        Body::ModelCall(ModelCall {
            input_tokens: 100,
            ..ModelCall::default()
        })
    } else {
        Body::ToolCall(ToolCall {
            tool: "search".into(),
            call_id: None,
            input: value(dice.below(variety)),
            output: value(dice.below(variety)),
            error: None,
            hands_off: false,
            manner: Manner::default(),
            guarded: None,
            traits: Traits::default(),
        })
    };
    Event {
        id,
        trace,
        span: SpanId(id.to_be_bytes()),
        parent: SpanId::default(),
        start_ns,
        end_ns: start_ns + 1_000,
        agent: Some("agent".into()),
        worker: None,
        body,
    }
}

/// One request: reports of one run.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) run: usize,
    pub(super) reports: Vec<Report>,
}

/// The run's reports, cut and out of order; some twice. Where a run has a name, most reports say it, and the last does.
pub(super) fn requests(runs: &[Run], dice: &mut Dice) -> Vec<Request> {
    let mut requests = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let mut rest = run.events.as_slice();
        while !rest.is_empty() {
            let (some, others) = rest.split_at((1 + dice.below(6)).min(rest.len()));
            rest = others;
            let says_name = run.is_named && (rest.is_empty() || !dice.one_in(4));
            let report = Report {
                run: RunRef {
                    trace: run.trace,
                    run_id: says_name.then(|| run.id.clone()),
                    ..RunRef::default()
                },
                events: some.to_vec(),
            };
            let request = Request {
                run: number,
                reports: vec![report],
            };
            if dice.one_in(8) {
                requests.push(request.clone());
            }
            requests.push(request);
        }
    }
    shuffle(&mut requests, dice);
    requests
}

pub(super) fn shuffle<T>(all: &mut [T], dice: &mut Dice) {
    for index in (1..all.len()).rev() {
        all.swap(index, dice.below(index + 1));
    }
}
