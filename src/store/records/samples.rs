//! Generated turns, events and alerts for the tests of this room.

use proptest::option;
use proptest::prelude::*;

use crate::engine::Service;
use crate::engine::event::{
    AgentSpan, Answer, Body, Command, Event, Failure, Guarded, Handoff, ITEMS_MAX, Manner,
    ModelCall, NUMBERS_MAX, Nudge, Numbers, Part, Recorded, RunEnd, SpanId, Text, ToolCall,
    TraceId, Traits, Value,
};
use crate::engine::guard::verdict::{Answered, VerdictKind};
use crate::engine::warning::{ChangeKind, Rule, Severity, Warning, WarningState};
use crate::engine::witness::Witness;
use crate::store::alert::Alert;
use crate::store::turn::{Entry, IndexKey, Turn};

fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        Just(Text::from("")),
        Just(Text::from("search")),
        "\\PC{1,12}".prop_map(Text::from),
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    (text(), any::<u64>(), any::<bool>()).prop_map(|(text, masked, transient)| Failure {
        text,
        masked,
        transient,
    })
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let all = prop::collection::vec(-1e9..1e9, 1..=NUMBERS_MAX);
    (any::<u32>(), all).prop_map(|(frame, told)| {
        let mut all = [0.0; NUMBERS_MAX];
        all[..told.len()].copy_from_slice(&told);
        Numbers {
            frame,
            count: told.len() as u8,
            all,
        }
    })
}

pub(super) fn recorded() -> impl Strategy<Value = Recorded> {
    let value = (
        any::<u64>(),
        option::of(any::<u64>()),
        any::<u32>(),
        any::<[bool; 5]>(),
        text(),
        option::of(numbers()),
        prop::collection::vec(any::<u16>(), 0..=ITEMS_MAX),
    );
    prop_oneof![
        Just(Recorded::NotRecorded),
        Just(Recorded::Redacted),
        value.prop_map(
            |(fingerprint, masked, bytes, flags, sample, numbers, items)| {
                let [empty, pending, denies, refuses, answers] = flags;
                Recorded::Value(Value {
                    fingerprint,
                    masked: masked.unwrap_or(fingerprint),
                    bytes,
                    empty,
                    pending,
                    denies,
                    refuses,
                    answers,
                    sample,
                    numbers: numbers.map(Box::new),
                    items: items.into(),
                })
            }
        ),
    ]
}

fn traits() -> impl Strategy<Value = Traits> {
    let command = prop::sample::select(vec![
        None,
        Some(Command::Other),
        Some(Command::ReadsFile),
        Some(Command::WritesFile),
        Some(Command::EditsFile),
        Some(Command::RunsTests),
    ]);
    (option::of(any::<u64>()), command, any::<bool>()).prop_map(|(main, command, tests_failed)| {
        Traits {
            main,
            command,
            tests_failed,
        }
    })
}

fn tool_call() -> BoxedStrategy<ToolCall> {
    (
        text(),
        option::of(any::<u64>()),
        recorded(),
        recorded(),
        option::of(failure()),
        any::<bool>(),
        prop::sample::select(vec![
            Manner::Unknown,
            Manner::Looks,
            Manner::Writes,
            Manner::Plans,
        ]),
        traits(),
        option::weighted(0.3, guarded()),
    )
        .prop_map(
            |(tool, call_id, input, output, error, hands_off, manner, traits, guarded)| ToolCall {
                tool,
                call_id,
                input,
                output,
                error,
                hands_off,
                manner,
                traits,
                guarded,
            },
        )
        .boxed()
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::Unknown),
        any::<u32>().prop_map(Answer::ToolCalls),
        option::of(any::<u64>()).prop_map(Answer::Text),
    ]
}

fn model_call() -> impl Strategy<Value = ModelCall> {
    (
        option::of(text()),
        option::of(any::<u64>()),
        any::<[u64; 3]>(),
        option::of(any::<u64>()),
        option::of(any::<u64>()),
        answer(),
        option::of(failure()),
    )
        .prop_map(
            |(model, call_id, tokens, witness, cost_microusd, answer, error)| ModelCall {
                model,
                call_id,
                witness: witness.map(Witness),
                input_tokens: tokens[0],
                cached_tokens: tokens[2],
                output_tokens: tokens[1],
                cost_microusd,
                cost_is_estimate: tokens[2] % 2 == 1,
                answer,
                error,
            },
        )
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        tool_call().prop_map(Body::ToolCall),
        tool_call().prop_map(Body::Requested),
        model_call().prop_map(Body::ModelCall),
        (text(), recorded(), recorded()).prop_map(|(name, input, output)| Body::AgentSpan(
            AgentSpan {
                name,
                input,
                output
            }
        )),
        (option::of(text()), text()).prop_map(|(from, to)| Body::Handoff(Handoff { from, to })),
        Just(Body::StateUpdate),
        Just(Body::MemoryWrite),
        option::of(text()).prop_map(|tool| Body::Retry { tool }),
        Just(Body::UserMessage),
        option::of(failure()).prop_map(|error| Body::RunEnd(RunEnd { error })),
        (rule(), any::<[u64; 3]>(), answered()).prop_map(
            |(rule, [group, count, worker], answered)| Body::Nudge(Nudge {
                rule,
                group,
                count,
                worker,
                answered,
            })
        ),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    prop::sample::select(Rule::ALL.to_vec())
}

fn guarded() -> impl Strategy<Value = Box<Guarded>> {
    let part = prop_oneof![
        Just(Part::Question),
        rule().prop_map(Part::Skipped),
        rule().prop_map(Part::Aborted),
        Just(Part::Result),
    ];
    (any::<u64>(), part, 0_u64..4, 0_u64..4).prop_map(|(asked, part, round, turn)| {
        Box::new(Guarded {
            asked,
            part,
            round,
            turn,
        })
    })
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    (
        any::<[u64; 3]>(),
        prop_oneof![Just([0; 16]), Just([7; 16]), any::<[u8; 16]>()],
        any::<[u8; 8]>(),
        prop_oneof![Just([0; 8]), Just([1; 8]), any::<[u8; 8]>()],
        option::of(text()),
        option::of(text()),
        body(),
    )
        .prop_map(
            |([id, start_ns, end_ns], trace, span, parent, agent, worker, body)| Event {
                id,
                trace: TraceId(trace),
                span: SpanId(span),
                parent: SpanId(parent),
                start_ns,
                end_ns,
                agent,
                worker,
                body,
            },
        )
}

/// An event within an hour, of few tools and agents with few values, so that rules find something.
pub(super) fn plausible_event() -> impl Strategy<Value = Event> {
    let name = prop::sample::select(vec!["search", "fetch", "planner"]).prop_map(Text::from);
    let call =
        (tool_call(), name.clone(), 0_u64..4, 0_u64..4).prop_map(|(call, tool, input, output)| {
            Body::ToolCall(ToolCall {
                tool,
                input: plausible_value(input),
                output: plausible_value(output),
                ..call
            })
        });
    let handoff =
        (option::of(name.clone()), name).prop_map(|(from, to)| Body::Handoff(Handoff { from, to }));
    let body = prop_oneof![6 => call, 2 => handoff, 4 => body()];
    (event(), 0_u64..3600, 0_u64..60, body).prop_map(|(event, start, seconds, body)| {
        let start_ns = (1_790_000_000 + start) * 1_000_000_000;
        Event {
            start_ns,
            end_ns: start_ns + seconds * 1_000_000_000,
            body: bounded(body),
            ..event
        }
    })
}

fn plausible_value(number: u64) -> Recorded {
    match number {
        0 => Recorded::NotRecorded,
        1 => Recorded::Redacted,
        _ => Recorded::Value(Value {
            fingerprint: number,
            masked: number,
            bytes: 20,
            empty: number == 3,
            pending: number == 4,
            denies: number == 5,
            refuses: number == 6,
            answers: number == 7,
            sample: format!("{{\"query\":\"number {number}\"}}").into(),
            numbers: None,
            items: Box::default(),
        }),
    }
}

/// Sums of generated numbers must not overflow what no real run comes near.
fn bounded(body: Body) -> Body {
    match body {
        Body::ModelCall(call) => Body::ModelCall(ModelCall {
            input_tokens: call.input_tokens >> 40,
            output_tokens: call.output_tokens >> 40,
            cost_microusd: call.cost_microusd.map(|cost| cost >> 40),
            ..call
        }),
        body => body,
    }
}

fn service() -> impl Strategy<Value = Service> {
    (any::<u64>(), text()).prop_map(|(since_ns, name)| Service { since_ns, name })
}

fn entry() -> impl Strategy<Value = Entry> {
    let reports = (
        text(),
        any::<u64>(),
        option::of(text()),
        option::of(service()),
        prop::collection::vec(event(), 0..6),
    );
    prop_oneof![
        reports.prop_map(
            |(run_id, at_ms, session_id, service, events)| Entry::Reports {
                run_id,
                at_ms,
                session_id,
                service,
                events,
            }
        ),
        (text(), any::<u64>()).prop_map(|(run_id, at_ms)| Entry::Idle { run_id, at_ms }),
        (text(), text(), any::<Vec<u8>>()).prop_map(|(into, from, state)| Entry::Absorb {
            into,
            from,
            state
        }),
        text().prop_map(|run_id| Entry::Removed { run_id }),
    ]
}

pub(super) fn turn() -> impl Strategy<Value = Turn> {
    let entries = prop::collection::vec(entry(), 0..5);
    let places = || {
        let place = (any::<u64>(), text());
        let place = place.prop_map(|(created_ms, run_id)| IndexKey { created_ms, run_id });
        prop::collection::vec(place, 0..3)
    };
    (any::<[u64; 2]>(), entries, [places(), places(), places()]).prop_map(
        |([at_ms, policy], entries, [new_runs, removed, unlisted])| Turn {
            at_ms,
            policy,
            entries,
            new_runs,
            removed,
            unlisted,
            ..Turn::default()
        },
    )
}

/// A record without its end, and with one byte changed.
pub(super) fn spoilt(record: &[u8], at: prop::sample::Index, byte: u8) -> [Vec<u8>; 2] {
    let at = at.index(record.len());
    let mut changed = record.to_vec();
    changed[at] = byte;
    [record[..at].to_vec(), changed]
}

pub(super) fn warning() -> impl Strategy<Value = Warning> {
    let shape = (
        any::<[u64; 7]>(),
        any::<[u32; 2]>(),
        prop::sample::select(Rule::ALL.to_vec()),
        prop::sample::select(vec![Severity::Info, Severity::Warning, Severity::Critical]),
        prop::sample::select(vec![WarningState::Open, WarningState::Resolved]),
    );
    let words = (option::of(text()), option::of(text()), any::<[String; 3]>());
    let evidence = prop::collection::vec(any::<[u8; 8]>().prop_map(SpanId), 0..8);
    (shape, words, evidence).prop_map(
        |(
            (numbers, [revision, penalty], rule, severity, state),
            (tool, agent, texts),
            evidence,
        )| {
            let [
                id,
                incident,
                count,
                first_seen_ns,
                last_seen_ns,
                tokens,
                cost_microusd,
            ] = numbers;
            let [what_happened, why_it_matters, what_to_try] = texts;
            Warning {
                id,
                incident,
                revision,
                rule,
                severity,
                penalty,
                count,
                tool,
                agent,
                state,
                first_seen_ns,
                last_seen_ns,
                evidence,
                tokens,
                cost_microusd,
                what_happened,
                why_it_matters,
                verdict: (count % 2 == 1).then_some(VerdictKind::Skip),
                verdict_observed: count % 4 == 1,
                what_to_try,
            }
        },
    )
}

fn answered() -> impl Strategy<Value = Answered> {
    let kinds = [VerdictKind::Nudge, VerdictKind::Skip, VerdictKind::Abort];
    (0..kinds.len(), any::<bool>()).prop_map(move |(place, is_observed)| Answered {
        kind: kinds[place],
        is_observed,
    })
}

pub(super) fn alert() -> impl Strategy<Value = Alert> {
    let changes = vec![
        ChangeKind::Raised,
        ChangeKind::Updated,
        ChangeKind::Resolved,
        ChangeKind::Reopened,
    ];
    (
        any::<[u64; 2]>(),
        (prop::sample::select(changes), any::<bool>()),
        prop_oneof![text(), Just("4bf92f3577b34da6a3ce929d0e0e4736".into())],
        option::of(text()),
        any::<u32>(),
        warning(),
    )
        .prop_map(
            |([cursor, at_ms], (change, is_of_trace), run_id, service, score, warning)| Alert {
                cursor,
                at_ms,
                change,
                trace: TraceId::of_run(&run_id).filter(|_| is_of_trace),
                run_id,
                service,
                score,
                warning,
            },
        )
}

/// A turn as a shard makes it: calls of one run, each with hashes that share nothing.
pub(in crate::store) fn tool_calls(count: u64) -> Turn {
    let start_ns = 1_790_000_000_000_000_000;
    let events: Vec<Event> = (1..=count)
        .map(|i| tool_call_event(i, start_ns + i * 1_700_000_000))
        .collect();
    Turn {
        at_ms: start_ns / 1_000_000,
        policy: u64::MAX / 3,
        entries: vec![Entry::Reports {
            run_id: "0af7651916cd43dd8448eb211c80319c".into(),
            at_ms: start_ns / 1_000_000,
            session_id: None,
            service: Some(Service::of("billing-agent".into(), &events)),
            events,
        }],
        new_runs: vec![IndexKey {
            created_ms: start_ns / 1_000_000,
            run_id: "0af7651916cd43dd8448eb211c80319c".into(),
        }],
        ..Turn::default()
    }
}

fn tool_call_event(i: u64, start_ns: u64) -> Event {
    let hash = |salt: u64| (i + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = |salt| {
        Recorded::Value(Value {
            fingerprint: hash(salt),
            masked: hash(salt),
            bytes: 812,
            empty: false,
            pending: false,
            denies: false,
            refuses: false,
            answers: false,
            sample: Text::from(""),
            numbers: None,
            items: Box::default(),
        })
    };
    Event {
        id: hash(1),
        trace: TraceId([0xaf; 16]),
        span: SpanId(hash(2).to_be_bytes()),
        parent: SpanId([3; 8]),
        start_ns,
        end_ns: start_ns + 950_123_456,
        agent: Some("planner".into()),
        worker: None,
        body: Body::ToolCall(ToolCall {
            tool: "search_documents".into(),
            call_id: Some(hash(3)),
            input: value(4),
            output: value(5),
            error: None,
            hands_off: false,
            manner: Manner::default(),
            guarded: None,
            traits: Traits::default(),
        }),
    }
}

/// An alert of a warning that was just raised.
pub(in crate::store) fn raised(run_id: &str) -> Alert {
    Alert {
        cursor: 0,
        at_ms: 1_790_000_000_000,
        change: ChangeKind::Raised,
        run_id: run_id.into(),
        trace: None,
        service: None,
        score: 70,
        warning: Warning {
            id: 1,
            incident: 1,
            revision: 1,
            rule: Rule::RepeatedToolCallExactInput,
            severity: Severity::Warning,
            penalty: 30,
            count: 3,
            tool: Some("search_documents".into()),
            agent: None,
            state: WarningState::Open,
            first_seen_ns: 1_790_000_000_000_000_000,
            last_seen_ns: 1_790_000_005_000_000_000,
            evidence: vec![SpanId([1; 8]), SpanId([2; 8])],
            tokens: 0,
            cost_microusd: 0,
            what_happened: "search_documents was called 3 times with the same input".into(),
            why_it_matters: "Nothing new can come of it".into(),
            verdict: None,
            verdict_observed: false,
            what_to_try: "Give the agent the earlier result".into(),
        },
    }
}
