//! Generated runs and how they are told, for all laws.

use std::sync::Arc;

use eddy::engine::event::{
    AgentSpan, Answer, Body, Event, Failure, Handoff, Manner, ModelCall, NUMBERS_MAX, Numbers,
    Recorded, RunEnd, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use eddy::engine::policy::Policy;
use eddy::engine::warning::Change;
use eddy::engine::{Input, RunState, RunView, step};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

/// The built-in profiles, and one that has others for some agents and tools.
pub(crate) fn policies() -> Vec<Policy> {
    let built_in: [Policy; 6] = [
        include_str!("../../config/profiles/standard.yaml"),
        include_str!("../../config/profiles/looplens.yaml"),
        include_str!("../../config/profiles/attocode.yaml"),
        include_str!("../../config/profiles/agentium.yaml"),
        include_str!("../../config/profiles/automatos.yaml"),
        include_str!("../../config/profiles/agent-runtime.yaml"),
    ]
    .map(|yaml| serde_saphyr::from_str(yaml).expect("a built-in profile parses"));
    let mut mixed = built_in[0].clone();
    let names = ["*@triage", "*@writer", "search", "*@researcher", "read"];
    mixed.others = names
        .map(str::to_owned)
        .into_iter()
        .zip(built_in[1..].iter().cloned())
        .collect();
    built_in.into_iter().chain([mixed]).collect()
}

pub(crate) fn value(number: u64, empty: bool) -> Recorded {
    let sample = Text::from(format!("{{\"query\":\"things of kind {number}\"}}"));
    Recorded::Value(Value {
        fingerprint: number,
        masked: number,
        bytes: sample.len() as u32,
        empty,
        pending: false,
        denies: false,
        refuses: false,
        answers: false,
        sample,
        numbers: (number & 1 == 1).then(|| Box::new(numbers(&[number as f64]))),
        items: (0..number as u16 % 5 * 2)
            .map(|item| (number as u16).wrapping_mul(12).wrapping_add(item))
            .collect(),
    })
}

pub(crate) fn numbers(told: &[f64]) -> Numbers {
    let mut all = [0.0; NUMBERS_MAX];
    all[..told.len()].copy_from_slice(told);
    Numbers {
        frame: 7,
        count: told.len() as u8,
        all,
    }
}

pub(crate) fn recorded() -> impl Strategy<Value = Recorded> {
    prop_oneof![
        5 => (0_u64..3).prop_map(|number| value(number, false)),
        1 => Just(value(99, true)),
        1 => Just(Recorded::NotRecorded),
        1 => Just(Recorded::Redacted),
    ]
}

pub(crate) fn failure() -> impl Strategy<Value = Option<Failure>> {
    prop_oneof![
        4 => Just(None),
        1 => (0_u64..2).prop_map(|masked| Some(Failure {
            text: "refused".into(), masked, transient: masked == 1,
        })),
    ]
}

pub(crate) fn name(names: &'static [&'static str]) -> impl Strategy<Value = Text> {
    (0..names.len()).prop_map(|index| Text::from(names[index]))
}

pub(crate) fn call(
    tool: Text,
    call_id: Option<u64>,
    input: Recorded,
    output: Recorded,
) -> ToolCall {
    ToolCall {
        tool,
        call_id,
        input,
        output,
        error: None,
        hands_off: false,
        manner: Manner::default(),
        traits: Traits::default(),
        guarded: None,
    }
}

/// The id of a call in messages: given by the provider, else that of a place, which no report of a tool has.
fn id_in_messages() -> impl Strategy<Value = u64> {
    (0_u64..40, any::<bool>())
        .prop_map(|(id, is_given)| if is_given { id } else { id | 0xffff << 48 })
}

pub(crate) fn body() -> impl Strategy<Value = Body> {
    let agent = || name(&["triage", "researcher", "writer"]);
    prop_oneof![
        8 => (name(&["search", "read", "run"]), recorded(), recorded(), failure(), proptest::option::weighted(0.3, 0_u64..40))
            .prop_map(|(tool, input, output, error, call_id)| Body::ToolCall(ToolCall {
                error, ..call(tool, call_id, input, output)
            })),
        2 => (name(&["search", "read"]), recorded(), id_in_messages()).prop_map(|(tool, input, call_id)| {
            Body::Requested(call(tool, Some(call_id), input, Recorded::NotRecorded))
        }),
        // An answer to a call that it does not name.
        1 => (recorded(), id_in_messages()).prop_map(|(output, call_id)| {
            Body::ToolCall(call(Text::default(), Some(call_id), Recorded::NotRecorded, output))
        }),
        4 => (0_u64..900, 0_u32..3).prop_map(|(tokens, asked)| Body::ModelCall(ModelCall {
            input_tokens: tokens,
            cost_microusd: Some(tokens * 100),
            answer: if asked == 0 { Answer::Text(None) } else { Answer::ToolCalls(asked) },
            ..ModelCall::default()
        })),
        2 => (agent(), recorded()).prop_map(|(name, output)| Body::AgentSpan(AgentSpan {
            name, input: Recorded::NotRecorded, output,
        })),
        1 => (agent(), agent()).prop_map(|(from, to)| Body::Handoff(Handoff { from: Some(from), to })),
        1 => Just(Body::StateUpdate),
        1 => Just(Body::Retry { tool: None }),
        1 => failure().prop_map(|error| Body::RunEnd(RunEnd { error })),
    ]
}

/// A run of up to `max` events whose starts mostly, but not always, follow each other.
pub(crate) fn run(max: usize) -> impl Strategy<Value = Vec<Event>> {
    let event = (body(), 0_u64..4, 0_u64..60, 0_u64..6);
    proptest::collection::vec(event, 1..max).prop_map(|events| {
        let mut now = 1_000_000_000_000;
        events
            .into_iter()
            .enumerate()
            .map(|(index, (body, gap, seconds, parent))| {
                now += gap * 500_000_000;
                let number = index as u64 + 1;
                Event {
                    id: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                    trace: TraceId([1; 16]),
                    span: SpanId(number.to_be_bytes()),
                    parent: SpanId(number.saturating_sub(parent).to_be_bytes()),
                    start_ns: now,
                    end_ns: now + seconds * 1_000_000_000,
                    agent: None,
                    worker: None,
                    body,
                }
            })
            .collect()
    })
}

pub(crate) fn deliver(policy: &Policy, batches: &[Vec<Event>]) -> (RunState, Vec<Change>) {
    let mut state = RunState::new("run".into());
    let mut changes = Vec::new();
    for events in batches {
        changes.extend(tell(&mut state, events.clone(), policy));
    }
    (state, changes)
}

pub(crate) fn tell(state: &mut RunState, events: Vec<Event>, policy: &Policy) -> Vec<Change> {
    let input = Input::Reports {
        at_ms: 1,
        session_id: None,
        service: None,
        events,
    };
    step(state, &input, policy)
}

pub(crate) fn one_by_one(events: &[Event]) -> Vec<Vec<Event>> {
    events.iter().map(|event| vec![event.clone()]).collect()
}

/// A view without what the way of arrival may change: revisions count announcements.
pub(crate) fn outcome(state: &RunState, policy: &Policy) -> RunView {
    let mut view = state.view(policy);
    for warning in &mut view.warnings {
        warning.revision = 0;
    }
    view
}

/// Generated cases are the same in every run of the tests, and few enough for every commit. `EDDY_LAWS=100` takes a hundred
/// times as many, of which the first are these.
pub(crate) fn law<S: Strategy>(strategy: &S, check: impl Fn(S::Value, &Policy)) {
    law_of(40, strategy, check);
}

/// The same with so many cases for each policy.
pub(crate) fn law_of<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value, &Policy)) {
    let times = std::env::var("EDDY_LAWS").map_or(1, |times| times.parse().expect("a number"));
    let cases = cases * times;
    for policy in policies() {
        let mut runner = TestRunner::new_with_rng(
            Config {
                cases,
                max_shrink_iters: 200,
                failure_persistence: None,
                ..Config::default()
            },
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        );
        runner
            .run(strategy, |value| {
                check(value, &policy);
                Ok(())
            })
            .expect("the law holds");
    }
}

pub(crate) fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| (event.start_ns, event.end_ns));
    events
}

pub(crate) fn shuffle(events: &mut [Event], mut seed: u64) {
    for index in (1..events.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        events.swap(index, (seed >> 33) as usize % (index + 1));
    }
}

/// What a span tells that took a moment.
pub(crate) fn span_at(start_ns: u64, number: u64, body: Body) -> Event {
    Event {
        id: number,
        trace: TraceId([1; 16]),
        span: SpanId(number.to_be_bytes()),
        parent: SpanId::default(),
        start_ns,
        end_ns: start_ns + 1,
        agent: None,
        worker: None,
        body,
    }
}

pub(crate) fn poll(index: u64, result: u64) -> Event {
    Event {
        id: index + 1,
        trace: TraceId([1; 16]),
        span: SpanId((index + 1).to_be_bytes()),
        parent: SpanId::default(),
        start_ns: (index + 1) * 1_000_000_000,
        end_ns: (index + 1) * 1_000_000_000 + 1_000,
        agent: Some(Arc::from("watcher")),
        worker: None,
        body: Body::ToolCall(ToolCall {
            tool: "check_status".into(),
            call_id: Some(index + 1),
            input: value(7, false),
            output: value(1000 + result, false),
            error: None,
            hands_off: false,
            manner: Manner::default(),
            traits: Traits::default(),
            guarded: None,
        }),
    }
}
