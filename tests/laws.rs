//! The laws of the engine, over generated runs: what must hold whatever happens.
//!
//! A run is generated from a small alphabet of tools, arguments, results, agents and failures, so that loops are common. Each
//! law compares states reached in different ways, or watches the changes that steps announce.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use eddy::engine::event::{
    AgentSpan, Answer, Body, Command, ERROR_BYTES_MAX, Event, Failure, Handoff, ID_BYTES_MAX,
    ModelCall, NAME_BYTES_MAX, NUMBERS_MAX, Numbers, Recorded, RunEnd, SAMPLE_BYTES_MAX, SpanId,
    Text, ToolCall, TraceId, Traits, Value,
};
use eddy::engine::guard::{self, Caller, Said};
use eddy::engine::policy::Policy;
use eddy::engine::run::WINDOW_EVENTS_MAX;
use eddy::engine::warning::{Change, ChangeKind, Rule, Severity, WarningState};
use eddy::engine::{Input, RunState, RunView, Service, step};
use eddy::shard::router::RUN_ID_BYTES_MAX;
use eddy::store::records::encode_run;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

/// The built-in profiles, and one that has others for some agents and tools.
fn policies() -> Vec<Policy> {
    let built_in: [Policy; 6] = [
        include_str!("../config/profiles/standard.yaml"),
        include_str!("../config/profiles/looplens.yaml"),
        include_str!("../config/profiles/attocode.yaml"),
        include_str!("../config/profiles/agentium.yaml"),
        include_str!("../config/profiles/automatos.yaml"),
        include_str!("../config/profiles/agent-runtime.yaml"),
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

fn value(number: u64, empty: bool) -> Recorded {
    let sample = Text::from(format!("{{\"query\":\"things of kind {number}\"}}"));
    Recorded::Value(Value {
        fingerprint: number,
        masked: number,
        bytes: sample.len() as u32,
        empty,
        pending: false,
        sample,
        numbers: (number & 1 == 1).then(|| Box::new(numbers(&[number as f64]))),
    })
}

fn numbers(told: &[f64]) -> Numbers {
    let mut all = [0.0; NUMBERS_MAX];
    all[..told.len()].copy_from_slice(told);
    Numbers {
        frame: 7,
        count: told.len() as u8,
        all,
    }
}

fn recorded() -> impl Strategy<Value = Recorded> {
    prop_oneof![
        5 => (0_u64..3).prop_map(|number| value(number, false)),
        1 => Just(value(99, true)),
        1 => Just(Recorded::NotRecorded),
        1 => Just(Recorded::Redacted),
    ]
}

fn failure() -> impl Strategy<Value = Option<Failure>> {
    prop_oneof![
        4 => Just(None),
        1 => (0_u64..2).prop_map(|masked| Some(Failure {
            text: "refused".into(), masked, transient: masked == 1,
        })),
    ]
}

fn name(names: &'static [&'static str]) -> impl Strategy<Value = Text> {
    (0..names.len()).prop_map(|index| Text::from(names[index]))
}

fn call(tool: Text, call_id: Option<u64>, input: Recorded, output: Recorded) -> ToolCall {
    ToolCall {
        tool,
        call_id,
        input,
        output,
        error: None,
        hands_off: false,
        writes: false,
        traits: Traits::default(),
        guarded: None,
    }
}

fn body() -> impl Strategy<Value = Body> {
    let agent = || name(&["triage", "researcher", "writer"]);
    prop_oneof![
        8 => (name(&["search", "read", "run"]), recorded(), recorded(), failure(), proptest::option::weighted(0.3, 0_u64..40))
            .prop_map(|(tool, input, output, error, call_id)| Body::ToolCall(ToolCall {
                error, ..call(tool, call_id, input, output)
            })),
        2 => (name(&["search", "read"]), recorded(), 0_u64..40).prop_map(|(tool, input, call_id)| {
            Body::Asked(call(tool, Some(call_id), input, Recorded::NotRecorded))
        }),
        // An answer to a call that it does not name.
        1 => (recorded(), 0_u64..40).prop_map(|(output, call_id)| {
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
fn run(max: usize) -> impl Strategy<Value = Vec<Event>> {
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

fn deliver(policy: &Policy, batches: &[Vec<Event>]) -> (RunState, Vec<Change>) {
    let mut state = RunState::new("run".into());
    let mut changes = Vec::new();
    for events in batches {
        changes.extend(tell(&mut state, events.clone(), policy));
    }
    (state, changes)
}

fn tell(state: &mut RunState, events: Vec<Event>, policy: &Policy) -> Vec<Change> {
    let input = Input::Reports {
        at_ms: 1,
        session_id: None,
        service: None,
        events,
    };
    step(state, &input, policy)
}

fn one_by_one(events: &[Event]) -> Vec<Vec<Event>> {
    events.iter().map(|event| vec![event.clone()]).collect()
}

/// A view without what the way of arrival may change: revisions count announcements.
fn outcome(state: &RunState, policy: &Policy) -> RunView {
    let mut view = state.view(policy);
    for warning in &mut view.warnings {
        warning.revision = 0;
    }
    view
}

/// Generated cases are the same in every run of the tests, and few enough for every commit.
fn law<S: Strategy>(strategy: &S, check: impl Fn(S::Value, &Policy)) {
    law_of(40, strategy, check);
}

/// The same with so many cases for each policy.
fn law_of<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value, &Policy)) {
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

/// Given any run that fits the window, any order and any batching of its reports end in the same run (P3).
#[test]
fn order_and_batching_do_not_matter() {
    let runs = (run(WINDOW_EVENTS_MAX - 2), any::<u64>(), 1_usize..9);
    law(&runs, |(events, seed, batch), policy| {
        let expected = outcome(&deliver(policy, std::slice::from_ref(&events)).0, policy);
        let in_order = deliver(policy, &one_by_one(&events)).0;
        assert_eq!(outcome(&in_order, policy), expected, "one by one, in order");
        let mut shuffled = events;
        shuffle(&mut shuffled, seed);
        let batches: Vec<_> = shuffled.chunks(batch).map(<[Event]>::to_vec).collect();
        assert_eq!(
            outcome(&deliver(policy, &batches).0, policy),
            expected,
            "shuffled, {batch} at a time"
        );
    });
}

/// Texts of many scripts, in which signs begin with the same bytes, and some of whose bytes are blanks in other encodings.
fn of_any_script() -> impl Strategy<Value = Text> {
    "[校样全公关 à\u{a0}\u{2003}a1é…\"\\\\{}:,.\n😀]{0,120}".prop_map(|text| {
        let mut text: String = text;
        while text.len() > SAMPLE_BYTES_MAX {
            text.pop();
        }
        Text::from(text)
    })
}

/// Given texts of any script and signs in any order, a run is judged as any other: its reports may come in any batches.
#[test]
fn scripts_do_not_matter() {
    let said = || {
        (of_any_script(), 0_u64..3).prop_map(|(sample, masked)| {
            Recorded::Value(Value {
                fingerprint: masked ^ sample.len() as u64,
                masked,
                bytes: 2 * sample.len() as u32,
                empty: false,
                pending: false,
                sample,
                numbers: None,
            })
        })
    };
    let texts = (
        said(),
        said(),
        proptest::option::weighted(0.2, of_any_script()),
        0_u8..4,
    );
    let runs = proptest::collection::vec(texts, 1..30);
    law(&runs, |texts, policy| {
        let events: Vec<_> = texts.into_iter().enumerate().map(of_texts).collect();
        let expected = outcome(&deliver(policy, std::slice::from_ref(&events)).0, policy);
        let in_order = deliver(policy, &one_by_one(&events)).0;
        assert_eq!(outcome(&in_order, policy), expected);
    });
}

/// A call, or something that was said, in these texts.
fn of_texts(
    (index, (input, output, error, kind)): (usize, (Recorded, Recorded, Option<Text>, u8)),
) -> Event {
    let error = error.map(|text| Failure {
        text,
        masked: u64::from(kind),
        transient: false,
    });
    let body = match kind {
        0 => Body::AgentSpan(AgentSpan {
            name: "writer".into(),
            input,
            output,
        }),
        _ => Body::ToolCall(ToolCall {
            error,
            ..call("搜索".into(), None, input, output)
        }),
    };
    let number = index as u64 + 1;
    span_at(number * 1_000_000_000, number, body)
}

/// What a span tells that took a moment.
fn span_at(start_ns: u64, number: u64, body: Body) -> Event {
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

/// What an agent with a guard does: it asks about a call (and makes it if it may), tells what the last one brought, talks, or
/// makes a call without asking, of which a span tells.
#[derive(Clone, Debug)]
enum Deed {
    Ask(ToolCall),
    Tell(Recorded, Option<Failure>),
    Talk(Said),
    Call(ToolCall),
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, u64, Option<Text>)>> {
    let call = (
        name(&["search", "read"]),
        recorded(),
        proptest::option::weighted(0.3, 0_u64..9),
    )
        .prop_map(|(tool, input, call_id)| ToolCall {
            tool,
            call_id,
            input,
            output: Recorded::NotRecorded,
            error: None,
            hands_off: false,
            writes: false,
            traits: Traits::default(),
            guarded: None,
        });
    let deed = prop_oneof![
        7 => (call, proptest::option::weighted(0.3, recorded())).prop_map(|(call, told)| match told {
            None => Deed::Ask(call),
            Some(output) => Deed::Call(ToolCall { output, call_id: None, ..call }),
        }),
        4 => (recorded(), failure()).prop_map(|(output, error)| Deed::Tell(output, error)),
        1 => Just(Deed::Talk(Said::ByUser)),
        1 => (0_u64..2).prop_map(|words| Deed::Talk(Said::ByModel(Some(words)))),
    ];
    let agent = proptest::option::of(name(&["triage", "researcher"]));
    proptest::collection::vec((deed, 0_u64..3_000_000_000, agent), 0..30)
}

/// Does all of it, and gives the run and what the journal would have of it.
fn guarded(deeds: &[(Deed, u64, Option<Text>)], policy: &Policy) -> (RunState, Vec<Event>) {
    let mut state = RunState::new("run".into());
    let mut events = Vec::new();
    let mut asked: Option<ToolCall> = None;
    let mut caller = Caller {
        now_ns: 1_000_000_000,
        ..Caller::default()
    };
    for (deed, pause, agent) in deeds {
        caller.now_ns += pause;
        caller.agent.clone_from(agent);
        let checked = match deed {
            Deed::Ask(call) => {
                let checked = guard::check(&mut state, call, &caller, policy);
                asked = (!checked.answered.kind.refuses()).then(|| call.clone());
                checked
            }
            Deed::Tell(output, error) => {
                let Some(call) = asked.take() else { continue };
                let call = ToolCall {
                    output: output.clone(),
                    error: error.clone(),
                    ..call
                };
                guard::result(&mut state, &call, &caller, policy)
            }
            Deed::Talk(said) => guard::message(&mut state, *said, &caller, policy),
            Deed::Call(call) => {
                let number = events.len() as u64 + 1;
                let span = span_at(caller.now_ns, number, Body::ToolCall(call.clone()));
                tell(&mut state, vec![span.clone()], policy);
                events.push(span);
                continue;
            }
        };
        events.extend(checked.events);
    }
    (state, events)
}

/// Given any doings of an agent with a guard, a run that is told the events alone, in any order, ends as the one that was
/// asked: a replay needs no second decision, and the guard is under the same laws as spans.
#[test]
fn what_the_guard_did_is_in_its_events() {
    law(&(deeds(), any::<u64>()), |(deeds, seed), policy| {
        let (state, mut events) = guarded(&deeds, policy);
        let shown = |state: &RunState| RunView {
            heard_ms: 0,
            ..outcome(state, policy)
        };
        let expected = shown(&state);
        let told = deliver(policy, &one_by_one(&events)).0;
        assert_eq!(shown(&told), expected, "in order");
        shuffle(&mut events, seed);
        let told = deliver(policy, &one_by_one(&events)).0;
        assert_eq!(shown(&told), expected, "in another order");
    });
}

/// Given a run of any length whose reports arrive a little out of order, it ends as if they had come in order.
#[test]
fn small_disorder_does_not_matter_in_long_runs() {
    law(&(run(300), any::<u64>()), |(mut events, seed), policy| {
        for event in &mut events {
            event.end_ns = event.end_ns.min(event.start_ns + 4_000_000_000);
            // Call ids of a real run are its own; reports of one call lie close together.
            if let Body::ToolCall(call) = &mut event.body {
                call.call_id = None;
            }
        }
        let in_order = sorted(events);
        let mut disordered = in_order.clone();
        for (index, chunk) in disordered.chunks_mut(8).enumerate() {
            shuffle(chunk, seed ^ index as u64);
        }
        let expected = outcome(&deliver(policy, &one_by_one(&in_order)).0, policy);
        let found = outcome(&deliver(policy, &one_by_one(&disordered)).0, policy);
        assert!(
            found == expected,
            "{} and {} calls",
            found.tool_calls,
            expected.tool_calls
        );
    });
}

/// A run as reports of usual length that tell of one thing each, in order.
fn plain_reports(events: Vec<Event>) -> Vec<Event> {
    let mut events = sorted(events);
    for (event, second) in events.iter_mut().zip(0..) {
        event.start_ns = 1_000_000_000_000 + second * 1_000_000_000;
        event.end_ns = event.start_ns + 1_000;
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = Some(event.id);
            if call.tool.is_empty() {
                call.tool = "search".into();
            }
        }
    }
    events.retain(|event| !matches!(event.body, Body::Asked(_) | Body::AgentSpan(_)));
    events
}

/// The number of reports that a report may come late by, however many come late. One alone may come twice as late: those that
/// were put into the older half of the window leave with it, so that up to three quarters do.
const LATE_MAX: usize = WINDOW_EVENTS_MAX / 4;

/// Given a run of any length of which many reports come late, but none behind more than a quarter of a window of later ones, it
/// ends as if they had come in order, and none is counted as late.
#[test]
fn up_to_a_quarter_of_the_window_late_is_not_late() {
    let delay = prop_oneof![Just(LATE_MAX), 1..=LATE_MAX];
    let delays = proptest::collection::vec(proptest::option::weighted(0.1, delay), 400);
    let reached = Cell::new(0);
    law(&(run(400), delays), |(events, delays), policy| {
        let in_order = plain_reports(events);
        let delay = |place: usize| delays[place].unwrap_or(0);
        let mut places: Vec<_> = (0..in_order.len()).collect();
        // One that is to come behind so many later ones comes right behind the last of these.
        places.sort_by_key(|place| (place + delay(*place), usize::MAX - place));
        let late: Vec<_> = places
            .iter()
            .map(|place| in_order[*place].clone())
            .collect();
        for (at, place) in places.iter().enumerate() {
            let later = places[..at].iter().filter(|before| *before > place).count();
            assert!(later <= LATE_MAX);
            reached.set(reached.get().max(later));
        }
        let expected = outcome(&deliver(policy, &one_by_one(&in_order)).0, policy);
        let found = outcome(&deliver(policy, &one_by_one(&late)).0, policy);
        assert_eq!(found.late_events, 0);
        assert!(found == expected, "{found:?} and not {expected:?}");
    });
    assert_eq!(reached.get(), LATE_MAX, "the edge was not reached");
}

/// Given a run of which one report comes behind a whole window of later ones, the run ends as if that report had never come,
/// and it is counted as late.
#[test]
fn what_is_later_than_the_window_is_counted() {
    let longer = proptest::collection::vec(body(), 3 * WINDOW_EVENTS_MAX);
    let place = (0..WINDOW_EVENTS_MAX, 0..WINDOW_EVENTS_MAX);
    law(
        &(run(100), longer, place),
        |(events, bodies, (place, more)), policy| {
            let mut events = plain_reports(events);
            let more_events = bodies.into_iter().zip(1_000_u64..);
            let template = poll(0, 0);
            events.extend(more_events.map(|(body, number)| Event {
                id: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                span: SpanId(number.to_be_bytes()),
                start_ns: number * 1_000_000_000_000,
                agent: None,
                body,
                ..template.clone()
            }));
            let mut events = plain_reports(events);
            let place = place % (events.len() - WINDOW_EVENTS_MAX);
            let late = events.remove(place);
            let without = outcome(&deliver(policy, &one_by_one(&events)).0, policy);
            let behind = (place + WINDOW_EVENTS_MAX + more).min(events.len());
            events.insert(behind, late);
            let mut found = outcome(&deliver(policy, &one_by_one(&events)).0, policy);
            assert_eq!(found.late_events, 1);
            found.late_events = 0;
            assert!(found == without, "{found:?} and not {without:?}");
        },
    );
}

/// Given a run of any length delivered twice, the second delivery announces nothing and changes nothing (P2).
#[test]
fn repeats_change_nothing() {
    law(&run(200), |events, policy| {
        let (mut state, _) = deliver(policy, &one_by_one(&events));
        let before = state.view(policy);
        let input = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events,
        };
        assert!(
            step(&mut state, &input, policy).is_empty(),
            "a repeat announced something"
        );
        assert_eq!(state.view(policy), before);
    });
}

/// Given a run in order, a warning is raised once, grows in place, and its revision and count never fall.
#[test]
fn warnings_are_raised_once_and_grow() {
    law(&run(200), |events, policy| {
        let (state, changes) = deliver(policy, &one_by_one(&sorted(events)));
        let mut known: BTreeMap<u64, (u32, u64, WarningState)> = BTreeMap::new();
        for change in changes {
            let Change::Warning { kind, warning } = change else {
                continue;
            };
            let before = known.insert(warning.id, (warning.revision, warning.count, warning.state));
            match (kind, before) {
                (ChangeKind::Raised, before) => assert_eq!((before, warning.revision), (None, 1)),
                (_, None) => panic!("{kind:?} before it was raised"),
                (_, Some((revision, _, state))) => {
                    assert_eq!(warning.revision, revision + 1);
                    let reopened = state == WarningState::Resolved;
                    assert_eq!(
                        kind == ChangeKind::Reopened,
                        reopened,
                        "{kind:?} of a {state:?} warning"
                    );
                }
            }
        }
        let mut incidents = Vec::new();
        for warning in state.view(policy).warnings {
            let (revision, announced, state) = known[&warning.id];
            assert_eq!((revision, state), (warning.revision, warning.state));
            let unsaid = warning.count - announced;
            assert!(
                warning.count > 10 || unsaid == 0,
                "{unsaid} of {} were not announced",
                warning.count
            );
            // The first open warning of an incident leads it; the others of it may say less often how they grow.
            let leads = !incidents.contains(&warning.incident);
            let growth = if leads { 10 } else { 1 };
            assert!(
                unsaid * growth < announced.max(1),
                "{announced} announced of {}, leading: {leads}",
                warning.count
            );
            if warning.state == WarningState::Open {
                incidents.push(warning.incident);
            }
        }
    });
}

/// Given a run of far more loops than the warnings that a run keeps, each followed by work, every one of them is told of and
/// resolved. The first one, coming again, is told of under its id and with a higher revision, however long ago it was.
#[test]
fn every_loop_of_a_long_run_is_told_of() {
    let policy = &policies()[0];
    let mut number = 0;
    let mut calls = |tool: &Text, thing: u64, times: u64, step: u64| {
        let calls = (0..times).map(|time| {
            number += 1;
            let asked = value(thing + time * step, false);
            let body = Body::ToolCall(call(tool.clone(), None, asked.clone(), asked));
            span_at(number * 1_000_000_000, number, body)
        });
        calls.collect::<Vec<_>>()
    };
    let mut told: BTreeMap<u64, (u32, ChangeKind)> = BTreeMap::new();
    let mut state = RunState::new("r".into());
    let (mut first, mut opened) = (BTreeMap::new(), Vec::new());
    for loop_number in (0..80).chain([0]) {
        let tool: Text = format!("tool {loop_number}").into();
        let thing = 1_000_000 + loop_number * 10_000;
        let mut events = calls(&tool, thing, 5, 0);
        events.extend(calls(&tool, thing + 2, 30, 2));
        let before = told.clone();
        for event in events {
            for change in tell(&mut state, vec![event], policy) {
                let Change::Warning { kind, warning } = change else {
                    continue;
                };
                let revision = told.get(&warning.id).map_or(0, |(revision, _)| *revision);
                assert!(warning.revision > revision, "{kind:?} {warning:?}");
                told.insert(warning.id, (warning.revision, kind));
            }
        }
        let of_loop = told.iter().filter(|(id, now)| before.get(id) != Some(now));
        let of_loop: BTreeMap<u64, (u32, ChangeKind)> =
            of_loop.map(|(id, now)| (*id, *now)).collect();
        assert!(!of_loop.is_empty(), "loop {loop_number}");
        let open = of_loop
            .values()
            .filter(|(_, kind)| *kind != ChangeKind::Resolved);
        opened.push(open.count());
        if loop_number == 0 && first.is_empty() {
            first = of_loop;
        } else if loop_number == 0 {
            assert!(first.keys().eq(of_loop.keys()), "{first:?} {of_loop:?}");
        }
    }
    assert!(opened.iter().all(|open| *open == 0), "{opened:?}");
}

/// Given any run, the score is 100 minus the open penalties and the failure's, and never below the lowest it was. Where progress
/// is known, the notes of one rule count once.
#[test]
fn health_is_derived() {
    let told_twice = Cell::new(false);
    law(&run(120), |events, policy| {
        let view = deliver(policy, &one_by_one(&events)).0.view(policy);
        let mut lost = if view.ended == eddy::engine::view::Ended::Failed {
            policy.health.failed_penalty
        } else {
            0
        };
        let mut noted: Vec<(Rule, u32)> = Vec::new();
        for warning in &view.warnings {
            if warning.state != WarningState::Open {
                continue;
            }
            if policy.progress_aware && warning.severity == Severity::Info {
                noted.push((warning.rule, warning.penalty));
            } else {
                lost += warning.penalty;
            }
        }
        noted.sort_unstable_by(|a, b| b.cmp(a));
        let all = noted.len();
        noted.dedup_by_key(|(rule, _)| *rule);
        told_twice.set(told_twice.get() || noted.len() < all);
        lost += noted.iter().map(|(_, penalty)| penalty).sum::<u32>();
        assert_eq!(view.score, 100_u32.saturating_sub(lost));
        assert!(view.lowest_score <= view.score);
    });
    assert!(told_twice.get(), "no run has two notes of one rule");
}

/// Given more agents than are known by name, the calls of the others are counted together, as of nobody in particular.
#[test]
fn calls_of_many_agents_are_counted() {
    let policy = &policies()[0];
    let by = |number: u64| Event {
        agent: Some(format!("agent {}", number % 20).into()),
        ..span_at(
            number * 1_000_000_000,
            number,
            Body::ToolCall(call(
                "search".into(),
                None,
                Recorded::NotRecorded,
                Recorded::NotRecorded,
            )),
        )
    };
    let events: Vec<Event> = (1..=40).map(by).collect();
    let view = deliver(policy, &one_by_one(&events)).0.view(policy);
    let (named, others): (Vec<_>, Vec<_>) =
        view.work.iter().partition(|work| !work.agent.is_empty());
    assert_eq!(named.len(), 16);
    assert!(named.iter().all(|work| work.calls == 2), "{named:?}");
    let others: Vec<u64> = others.iter().map(|work| work.calls).collect();
    assert_eq!(others, [8]);
}

/// Given arguments that were not recorded, or are redacted, no rule that compares arguments ever speaks.
#[test]
fn unknown_arguments_equal_nothing() {
    law(&run(120), |mut events, policy| {
        for event in &mut events {
            if let Body::ToolCall(call) = &mut event.body {
                call.input = if event.id % 2 == 0 {
                    Recorded::Redacted
                } else {
                    Recorded::NotRecorded
                };
            }
        }
        let view = deliver(policy, &one_by_one(&events)).0.view(policy);
        assert!(
            !view
                .warnings
                .iter()
                .any(|warning| warning.rule.name().ends_with("_input")),
            "{:?}",
            view.warnings
        );
    });
}

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
            sample: long(number ^ salt << 40, bytes),
            numbers: Some(Box::new(numbers(&[number as f64; NUMBERS_MAX]))),
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
            writes: false,
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

fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| (event.start_ns, event.end_ns));
    events
}

fn shuffle(events: &mut [Event], mut seed: u64) {
    for index in (1..events.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        events.swap(index, (seed >> 33) as usize % (index + 1));
    }
}

/// Given an hour of polling whose answer moves, `standard` stays silent; `looplens` counts calls and speaks.
#[test]
fn polling_that_moves_is_progress() {
    let policies = policies();
    let polls: Vec<Event> = (0..30).map(|index| poll(index, index)).collect();
    let (state, _) = deliver(&policies[0], &one_by_one(&polls));
    assert_eq!(state.view(&policies[0]).warnings, Vec::new());
    let (state, _) = deliver(&policies[1], &one_by_one(&polls));
    assert!(
        state
            .view(&policies[1])
            .warnings
            .iter()
            .any(|warning| warning.rule.name() == "no_progress")
    );
}

/// Given the same call with the same result, `standard` warns at the third call and is critical by the tenth.
#[test]
fn the_same_call_with_the_same_result_is_a_loop() {
    let policy = &policies()[0];
    let mut state = RunState::new("run".into());
    let mut severities = Vec::new();
    for index in 0..10 {
        let input = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events: vec![poll(index, 0)],
        };
        step(&mut state, &input, policy);
        let worst = state
            .view(policy)
            .warnings
            .iter()
            .map(|warning| warning.severity)
            .max();
        severities.push(worst.map_or("none", eddy::engine::warning::Severity::name));
    }
    assert_eq!(severities[..3], ["none", "none", "warning"]);
    assert_eq!(severities[9], "critical");
}

fn poll(index: u64, result: u64) -> Event {
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
            writes: false,
            traits: Traits::default(),
            guarded: None,
        }),
    }
}

/// A call or a text of a simple run: one after the other, a second apart, everything recorded.
#[derive(Clone, Copy, Debug)]
enum Plain {
    /// Tool, arguments, result, error.
    Call(u8, u64, u64, Option<u64>),
    /// A turn of text.
    Text(u64),
}

fn plain_run() -> impl Strategy<Value = Vec<Plain>> {
    let part = prop_oneof![
        6 => (0_u8..2, 0_u64..4, 0_u64..3, proptest::option::weighted(0.3, 0_u64..2))
            .prop_map(|(tool, input, output, error)| {
                // What fails brings nothing else.
                let output = if error.is_some() { 0 } else { output };
                Plain::Call(tool, input, output, error)
            }),
        // New arguments, the same result.
        3 => (0_u8..2, 0_u64..6).prop_map(|(tool, input)| Plain::Call(tool, input, 0, None)),
        3 => (1_u64..4).prop_map(Plain::Text),
    ];
    // Short pieces that are repeated, so that rounds are common.
    let length = prop_oneof![9 => 1_usize..5, 1 => 7_usize..12];
    let piece = length.prop_flat_map(move |length| proptest::collection::vec(part.clone(), length));
    proptest::collection::vec((piece, 1_usize..5), 1..6).prop_map(|pieces| {
        let repeated = |(piece, times): (Vec<Plain>, usize)| piece.repeat(times);
        pieces.into_iter().flat_map(repeated).collect()
    })
}

/// Arguments that may all be one question in wholly other words.
const QUESTIONS: [&str; 6] = [
    "tide tables",
    "who rents boats",
    "ferry from Oslo",
    "harbour fees by season",
    "late arrivals",
    "old maps of canals",
];

fn plain_event(index: usize, plain: Plain) -> Event {
    let long = |number: u64, bytes: u32| {
        Recorded::Value(Value {
            fingerprint: number,
            masked: number,
            bytes,
            empty: false,
            pending: false,
            sample: format!("{{\"q\":\"{}\"}}", QUESTIONS[number as usize]).into(),
            numbers: None,
        })
    };
    let body = match plain {
        Plain::Call(tool, input, output, error) => Body::ToolCall(ToolCall {
            tool: ["search", "run"][usize::from(tool)].into(),
            call_id: None,
            // A result that is no longer than what was sent may be a mere acknowledgement.
            input: long(input, 100),
            output: match error {
                Some(_) => Recorded::NotRecorded,
                None => long(output, 200),
            },
            error: error.map(|masked| Failure {
                text: "refused".into(),
                masked,
                transient: false,
            }),
            hands_off: false,
            writes: false,
            traits: Traits::default(),
            guarded: None,
        }),
        Plain::Text(text) => Body::ModelCall(ModelCall {
            answer: Answer::Text(Some(text)),
            ..ModelCall::default()
        }),
    };
    let number = index as u64 + 1;
    Event {
        id: number,
        trace: TraceId([1; 16]),
        span: SpanId(number.to_be_bytes()),
        parent: SpanId::default(),
        start_ns: number * 1_000_000_000,
        end_ns: number * 1_000_000_000,
        agent: None,
        worker: None,
        body,
    }
}

/// The calls of a run, each with what it brought that was new.
struct Told(Vec<(u8, u64, u64, Option<u64>)>);

impl Told {
    fn of(run: &[Plain]) -> Self {
        let call = |plain: &Plain| match *plain {
            Plain::Call(tool, input, output, error) => Some((tool, input, output, error)),
            Plain::Text(_) => None,
        };
        Self(run.iter().filter_map(call).collect())
    }

    fn is_fresh(&self, at: usize) -> bool {
        let (tool, input, output, error) = self.0[at];
        let before = &self.0[..at];
        let brought_it = |call: &&(u8, u64, u64, Option<u64>)| {
            call.3.is_none() && (call.0, call.2) == (tool, output)
        };
        // The same question, which had other answers lately, has a new one.
        let newest = before[at.saturating_sub(12)..].iter();
        let asked: Vec<_> = newest
            .filter(|call| (call.0, call.1) == (tool, input))
            .collect();
        let answers_anew = !asked.is_empty() && !asked.iter().any(brought_it);
        error.is_none() && (answers_anew || !before.iter().any(|call| brought_it(&call)))
    }

    /// As the page of `tool_cycle` says: each call of the newest round and some more as a round before, and of a long round, that
    /// is not made of short ones, each call of two rounds.
    fn goes_round(&self) -> bool {
        let calls = &self.0;
        let newest = calls.len();
        let as_before = |period: usize, needed: usize| {
            newest >= needed + period
                && (1..=needed).all(|back| calls[newest - back] == calls[newest - back - period])
        };
        let short = |period: usize| {
            as_before(period, (period + 2).min(13 - period))
                && (2..=period).any(|back| calls[newest - back] != calls[newest - 1])
        };
        let long = |period: usize| {
            as_before(period, 2 * period) && !(1..7).any(|short| as_before(short, period))
        };
        (2..=6).any(short) || (7..=32).any(long)
    }

    /// As the page of `stagnation` says.
    fn stagnates(&self) -> bool {
        let newest = self.0.len() - 1;
        let (tool, input, output, error) = self.0[newest];
        if error.is_some() || self.is_fresh(newest) {
            return false;
        }
        let (mut same, mut others, mut wordings) = (0, 0, Vec::new());
        let of_tool = (newest.saturating_sub(11)..newest).filter(|at| self.0[*at].0 == tool);
        for at in of_tool.rev() {
            let (_, asked, result, error) = self.0[at];
            if result == output && error.is_none() {
                same += 1;
                wordings.extend((asked != input).then_some(asked));
            } else if self.is_fresh(at) {
                break;
            } else {
                others += usize::from(error.is_none());
            }
        }
        wordings.sort_unstable();
        wordings.dedup();
        same >= 3 && same >= others && wordings.len() >= 2
    }

    /// As the page of `same_error` says.
    fn fails_alike(&self) -> bool {
        let newest = self.0.len() - 1;
        let (tool, _, _, Some(error)) = self.0[newest] else {
            return false;
        };
        let (mut count, mut last) = (0, newest);
        for at in (0..=newest).rev().filter(|at| self.0[*at].0 == tool) {
            let ends = self.is_fresh(at) || self.0[at].3.is_some_and(|other| other != error);
            if ends || last - at >= 12 {
                break;
            }
            if self.0[at].3.is_some() {
                (count, last) = (count + 1, at);
            }
        }
        count >= 4
    }
}

/// As the page of `repeated_text` says.
fn says_again(run: &[Plain]) -> bool {
    let stretch = run
        .iter()
        .rev()
        .take_while(|plain| matches!(plain, Plain::Text(_)))
        .count();
    let (before, stretch) = run.split_at(run.len() - stretch);
    let again: Vec<_> = (1..stretch.len())
        .filter(|at| {
            let newest = &stretch[at.saturating_sub(12)..*at];
            newest.iter().any(|other| same_text(*other, stretch[*at]))
        })
        .collect();
    if again.last().is_none_or(|at| *at + 1 != stretch.len()) {
        return false;
    }
    let barren = !matches!(before.last(), Some(Plain::Call(_, _, _, None)));
    let several = again
        .iter()
        .any(|at| !same_text(stretch[*at], stretch[again[0]]));
    if several {
        again.len() >= 2
    } else {
        barren && again.len() >= 4
    }
}

fn same_text(left: Plain, right: Plain) -> bool {
    matches!((left, right), (Plain::Text(one), Plain::Text(other)) if one == other)
}

/// Given any simple run, each rule has spoken by some event where, and only where, a look at all of the run so far by the
/// rule's page of the manual finds it at that event or an earlier one. Each rule speaks in some of the runs, and in some not.
#[test]
fn rules_agree_with_their_pages() {
    const RULES: [&str; 4] = ["tool_cycle", "stagnation", "same_error", "repeated_text"];
    let (runs, spoke) = (Cell::new(0), RULES.map(|_| Cell::new(0)));
    law_of(500, &plain_run(), |run, policy| {
        if !policy.progress_aware || !policy.others.is_empty() {
            return;
        }
        let mut policy = policy.clone();
        policy.waiting = None;
        let mut state = RunState::new("run".into());
        let mut expected = [false; 4];
        for (index, plain) in run.iter().enumerate() {
            let input = Input::Reports {
                at_ms: 1,
                session_id: None,
                service: None,
                events: vec![plain_event(index, *plain)],
            };
            step(&mut state, &input, &policy);
            let so_far = &run[..=index];
            if let Plain::Call(..) = plain {
                let told = Told::of(so_far);
                expected[0] |= told.goes_round();
                expected[1] |= told.stagnates();
                expected[2] |= told.fails_alike();
            }
            expected[3] |= says_again(so_far);
            let warnings = state.view(&policy).warnings;
            let found =
                RULES.map(|name| warnings.iter().any(|warning| warning.rule.name() == name));
            assert_eq!(found, expected, "after {index} of {run:?}");
        }
        runs.set(runs.get() + 1);
        for (spoke, found) in spoke.iter().zip(expected) {
            spoke.set(spoke.get() + u32::from(found));
        }
    });
    for (rule, spoke) in RULES.iter().zip(spoke) {
        let (spoke, runs) = (spoke.get(), runs.get());
        println!("{rule} spoke in {spoke} of {runs} runs");
        assert!(0 < spoke && spoke < runs, "{rule}: {spoke} of {runs}");
    }
}
