//! A run takes no more memory than it may.

use eddy::engine::event::{
    AgentSpan, Answer, Body, Command, ERROR_BYTES_MAX, Event, Failure, Handoff, ID_BYTES_MAX,
    ITEMS_MAX, Manner, ModelCall, NAME_BYTES_MAX, NUMBERS_MAX, Recorded, RunEnd, SAMPLE_BYTES_MAX,
    SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use eddy::engine::{Input, RunState, Service, step};
use eddy::shard::router::RUN_ID_BYTES_MAX;
use eddy::store::records::encode_run;
use proptest::prelude::any;

use super::support::{law, numbers};

/// A text of so many bytes that no other number gives.
fn long(number: u64, bytes: usize) -> Text {
    let seed = format!("{number:016x}");
    seed.repeat(bytes.div_ceil(seed.len()))[..bytes].into()
}

/// An event with names, samples and errors as long as they can be. Its names and values never came before unless it comes
/// `again`.
fn large_event(index: usize, kind: u8, again: bool) -> Event {
    let number = if again { 1 } else { index as u64 + 1 };
    let name = |salt: u64| long(number ^ salt << 32, NAME_BYTES_MAX);
    let value = |salt: u64, bytes: usize| {
        Recorded::Value(Value {
            fingerprint: number ^ salt,
            masked: u64::MAX - number,
            bytes: u32::MAX,
            empty: kind & 1 == 0,
            pending: false,
            denies: false,
            refuses: false,
            answers: false,
            sample: long(number ^ salt << 40, bytes),
            numbers: Some(Box::new(numbers(&[number as f64; NUMBERS_MAX]))),
            items: (0..ITEMS_MAX as u64)
                .map(|item| (number * 12 + item) as u16)
                .collect(),
        })
    };
    let error = (kind & 2 == 0).then(|| Failure {
        text: long(number ^ 9 << 32, ERROR_BYTES_MAX),
        masked: u64::MAX - number,
        transient: false,
    });
    let body = match kind % 6 {
        0 | 1 => Body::ToolCall(ToolCall {
            tool: name(1),
            call_id: Some(u64::MAX - index as u64),
            input: value(1, SAMPLE_BYTES_MAX),
            output: value(2, 0),
            error,
            hands_off: false,
            manner: Manner::default(),
            traits: Traits {
                main: Some(u64::MAX - number),
                command: Some(Command::RunsTests),
                tests_failed: true,
            },
            guarded: None,
        }),
        2 => Body::ModelCall(ModelCall {
            model: Some(name(2)),
            call_id: Some(u64::MAX - index as u64),
            input_tokens: u64::MAX >> 8,
            cost_microusd: Some(u64::MAX >> 8),
            answer: Answer::Text(Some(u64::MAX - number)),
            error,
            ..ModelCall::default()
        }),
        3 => Body::AgentSpan(AgentSpan {
            name: name(3),
            input: value(3, SAMPLE_BYTES_MAX),
            output: value(2, 0),
        }),
        4 => Body::Handoff(Handoff {
            from: Some(name(4)),
            to: name(5),
        }),
        _ => Body::RunEnd(RunEnd { error }),
    };
    let place = index as u64 + 1;
    let start_ns = u64::MAX / 2 + place * 10_000_000_000_000;
    Event {
        id: place.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        trace: TraceId([if again { 1 } else { index as u8 }; 16]),
        span: SpanId((u64::MAX - place).to_be_bytes()),
        parent: SpanId((u64::MAX / 2 - place).to_be_bytes()),
        start_ns,
        end_ns: start_ns + 5_000_000_000_000,
        agent: Some(name(6)),
        worker: Some(name(7)),
        body,
    }
}

/// Given names, samples and errors as long as they can be, never the same, a run's state takes at most 64 KiB.
#[test]
fn a_state_is_bounded() {
    let kinds = proptest::collection::vec((any::<u8>(), any::<bool>()), 110..160);
    law(&kinds, |kinds, policy| {
        let mut state = RunState::new(long(7, RUN_ID_BYTES_MAX));
        for (index, (kind, again)) in kinds.into_iter().enumerate() {
            let input = Input::Reports {
                at_ms: u64::MAX,
                session_id: Some(long(8, ID_BYTES_MAX)),
                service: Some(Service {
                    since_ns: u64::MAX,
                    name: long(9, NAME_BYTES_MAX),
                }),
                events: vec![large_event(index, kind, again)],
            };
            step(&mut state, &input, policy);
            if index % 16 == 15 {
                let bytes = encode_run(&state).len();
                assert!(bytes <= 64 * 1024, "{bytes} bytes: {}", policy.profile);
            }
        }
    });
}
