//! How reports arrive does not matter: in which order, how many at a time, how often, and somewhat late.

use std::cell::Cell;

use eddy::engine::event::{
    AgentSpan, Body, Event, Failure, Recorded, RunEnd, SAMPLE_BYTES_MAX, SpanId, Text, ToolCall,
    TraceId, Value,
};
use eddy::engine::run::{RunState, WINDOW_EVENTS_MAX};
use eddy::engine::view::Ended;
use eddy::engine::{Input, step};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::support::{
    body, call, deliver, law, one_by_one, outcome, policies, poll, run, shuffle, sorted, span_at,
    tell,
};

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
                denies: false,
                refuses: false,
                answers: false,
                sample,
                numbers: None,
                items: Box::default(),
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

/// Given a run of any length whose reports arrive a little out of order, it ends as if they had come in order.
#[test]
fn small_disorder_does_not_matter_in_long_runs() {
    let runs = (run(300), any::<u64>(), any::<bool>());
    law(&runs, |(mut events, seed, has_ids), policy| {
        for event in &mut events {
            // Reports of one call lie close together.
            event.end_ns = event.end_ns.min(event.start_ns + 4_000_000_000);
        }
        let in_order = if has_ids {
            with_ids(sorted(events))
        } else {
            without_ids(sorted(events))
        };
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

/// The same run without ids of calls. What a model asks for would be nobody's.
fn without_ids(mut events: Vec<Event>) -> Vec<Event> {
    events.retain(|event| !matches!(event.body, Body::Requested(_)));
    for event in &mut events {
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = None;
        }
    }
    events
}

/// The same run, in which each call has an id of its own, and what a model asks for is called soon.
fn with_ids(mut events: Vec<Event>) -> Vec<Event> {
    const SOON: usize = 4;
    for (event, number) in events.iter_mut().zip(0..) {
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = Some(number);
        }
    }
    events.retain(|event| !matches!(&event.body, Body::ToolCall(call) if call.tool.is_empty()));
    let mut called = 0;
    for place in 0..events.len() {
        let (before, behind) = events.split_at_mut(place + 1);
        let Body::Requested(asked) = &mut before[place].body else {
            continue;
        };
        let mut soon = behind.iter().take(SOON).zip(place..);
        let call = soon.find_map(|(event, place)| match &event.body {
            Body::ToolCall(call) if place >= called => Some((call, place)),
            _ => None,
        });
        asked.call_id = None;
        if let Some((call, place)) = call {
            called = place + 1;
            asked.call_id = call.call_id;
            asked.tool.clone_from(&call.tool);
            asked.input.clone_from(&call.input);
        }
    }
    events
        .retain(|event| !matches!(&event.body, Body::Requested(asked) if asked.call_id.is_none()));
    events
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
    events.retain(|event| !matches!(event.body, Body::Requested(_) | Body::AgentSpan(_)));
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

/// Given more reports that came far too late than a run remembers ids, what is still in its window is known when it comes again.
#[test]
fn repeats_behind_many_late_reports_change_nothing() {
    let policy = &policies()[0];
    let mut state = RunState::new("run".into());
    let polls: Vec<Event> = (10_000..10_100).map(|n| poll(n, n)).collect();
    for event in &polls {
        tell(&mut state, vec![event.clone()], policy);
    }
    for late in 0..300 {
        tell(&mut state, vec![poll(late, late)], policy);
    }
    let before = state.view(policy);
    assert_eq!((before.tool_calls, before.late_events), (100, 300));
    tell(&mut state, polls[80..].to_vec(), policy);
    assert_eq!(state.view(policy), before);
}

/// Given more agents than a run remembers ids, which began long ago and are told late, what is still in its window is known when it
/// comes again.
#[test]
fn repeats_behind_many_late_agents_change_nothing() {
    let policy = &policies()[0];
    let mut state = RunState::new("run".into());
    let polls = (10_000..10_100).map(|n| Event {
        parent: SpanId([9; 8]),
        ..poll(n, n)
    });
    let polls = without_ids(polls.collect());
    for event in &polls {
        tell(&mut state, vec![event.clone()], policy);
    }
    for number in 1..300 {
        let agent = AgentSpan {
            name: "writer".into(),
            input: Recorded::NotRecorded,
            output: Recorded::NotRecorded,
        };
        let agent = span_at(number, number, Body::AgentSpan(agent));
        tell(&mut state, vec![agent], policy);
    }
    let before = state.view(policy);
    assert_eq!((before.tool_calls, before.late_events), (100, 0));
    tell(&mut state, polls[80..].to_vec(), policy);
    assert_eq!(state.view(policy), before);
}

/// Given a run that is longer than its window, whose outermost span is told last, with what the user had said at its beginning;
/// nothing has come too late. What a user said later has.
#[test]
fn what_the_run_began_with_may_come_last() {
    let policy = &policies()[0];
    let mut state = RunState::new("run".into());
    for number in 1..200 {
        tell(&mut state, vec![poll(number, number)], policy);
    }
    let late = |state: &RunState| state.view(policy).late_events;
    let first_ns = poll(1, 1).start_ns;
    let said = |at_ns, number| span_at(at_ns, number, Body::UserMessage);
    tell(&mut state, vec![said(first_ns, 1_000)], policy);
    assert_eq!(late(&state), 0);
    tell(&mut state, vec![said(first_ns + 1, 1_001)], policy);
    assert_eq!(late(&state), 1);
}

/// Given ids of calls that are counted anew for each answer, so that all but the first have the same; each span is a call, however
/// many have left the window. A record of a call that has left, which comes later under an id of its own, is none.
#[test]
fn ids_that_come_again_are_of_new_calls() {
    let policy = &policies()[0];
    let mut state = RunState::new("run".into());
    let with_id = |number, id| {
        let mut event = poll(number, number);
        if let Body::ToolCall(call) = &mut event.body {
            call.call_id = Some(id);
        }
        event
    };
    tell(&mut state, vec![with_id(1, 5)], policy);
    for number in 2..=130 {
        tell(&mut state, vec![with_id(number, 7)], policy);
    }
    let counted = |state: &RunState| {
        let view = state.view(policy);
        (view.tool_calls, view.late_events)
    };
    assert_eq!(counted(&state), (130, 0));
    let mut record = with_id(1_000, 5);
    record.span = SpanId::default();
    record.end_ns = record.start_ns;
    tell(&mut state, vec![record], policy);
    assert_eq!(counted(&state), (130, 1));
}

/// Given a run of any length that gets its name last, it is the run that it would be if it had had that name from the start; what
/// is delivered again changes nothing.
#[test]
fn a_name_that_comes_last_changes_nothing() {
    law(&run(200), |events, policy| {
        let (named, _) = deliver(policy, &one_by_one(&events));
        let mut nameless = RunState::new("trace".into());
        for event in &events {
            tell(&mut nameless, vec![event.clone()], policy);
        }
        let mut moved = RunState::new("run".into());
        step(&mut moved, &Input::Absorb(Box::new(nameless)), policy);
        let expected = outcome(&named, policy);
        let found = outcome(&moved, policy);
        assert!(found == expected, "{found:?} and not {expected:?}");
        assert!(tell(&mut moved, events, policy).is_empty());
        assert_eq!(outcome(&moved, policy), expected);
    });
}

/// Given a run of any length that moves into one of any length, what is delivered again changes nothing.
#[test]
fn repeats_change_nothing_after_a_move() {
    law(&(run(120), run(120)), |(events, others), policy| {
        let of_another = |event: Event| Event {
            id: !event.id,
            trace: TraceId([2; 16]),
            ..event
        };
        let others: Vec<_> = others.into_iter().map(of_another).collect();
        let mut nameless = RunState::new("trace".into());
        for event in &others {
            tell(&mut nameless, vec![event.clone()], policy);
        }
        let (mut moved, _) = deliver(policy, &one_by_one(&events));
        step(&mut moved, &Input::Absorb(Box::new(nameless)), policy);
        let before = outcome(&moved, policy);
        assert!(tell(&mut moved, others, policy).is_empty());
        assert!(tell(&mut moved, events, policy).is_empty());
        assert_eq!(outcome(&moved, policy), before);
    });
}

/// Given as many runs as may be on their way at a time, each of which had let reports go, to take them in once more, as after a
/// crash, changes nothing.
#[test]
fn moving_twice_changes_nothing() {
    const RUNS: u64 = 256;
    let policy = &policies()[0];
    let mut events = (0..RUNS * 70).map(|n| poll(n, n));
    let nameless = (0..RUNS).map(|number| {
        let mut run = RunState::new(format!("trace {number}").into());
        tell(&mut run, events.by_ref().take(70).collect(), policy);
        Input::Absorb(Box::new(run))
    });
    let nameless: Vec<_> = nameless.collect();
    let mut moved = RunState::new("run".into());
    for run in &nameless {
        step(&mut moved, run, policy);
    }
    let before = outcome(&moved, policy);
    for run in &nameless {
        step(&mut moved, run, policy);
    }
    let mut after = outcome(&moved, policy);
    // Reports that are older than those that are remembered one by one.
    after.late_events = before.late_events;
    assert_eq!(after, before);
}

/// Given a run that failed long ago and moves into another one, before or behind which it was, it has failed there as well; one
/// that went on after a failure has not.
#[test]
fn a_failure_moves_with_its_run() {
    let policy = &policies()[0];
    let run_that_ended = |error: Option<Failure>, from: u64| {
        let mut run = RunState::new(format!("nameless {from}").into());
        let end = Event {
            id: from + 90,
            body: Body::RunEnd(RunEnd { error }),
            ..poll(from, from)
        };
        let calls = (from + 1..from + 90).map(|n| poll(n, n));
        std::iter::once(end)
            .chain(calls)
            .for_each(|event| drop(tell(&mut run, vec![event], policy)));
        Input::Absorb(Box::new(run))
    };
    let ended = |runs: &[Input]| {
        let mut run = RunState::new("run".into());
        for moved in runs {
            step(&mut run, moved, policy);
        }
        run.view(policy).ended
    };
    let failure = Failure {
        text: "no".into(),
        masked: 1,
        transient: false,
    };
    let failed = |from| run_that_ended(Some(failure.clone()), from);
    let succeeded = |from| run_that_ended(None, from);
    assert_eq!(ended(&[failed(0)]), Ended::Failed);
    assert_eq!(ended(&[succeeded(0), failed(1_000)]), Ended::Failed);
    assert_eq!(ended(&[failed(1_000), succeeded(0)]), Ended::Failed);
    assert_eq!(ended(&[failed(0), succeeded(1_000)]), Ended::Open);
    assert_eq!(ended(&[succeeded(1_000), failed(0)]), Ended::Open);
}

/// Given a run that has let reports go and moved into another, which moved on, to take it in once more where it is now, as after
/// a crash, changes nothing.
#[test]
fn what_moved_on_is_there_once() {
    let policy = &policies()[0];
    let absorb = |into: &mut RunState, other: &RunState| {
        step(into, &Input::Absorb(Box::new(other.clone())), policy);
    };
    let [mut first, mut second, mut third] =
        ["first", "second", "third"].map(|id| RunState::new(id.into()));
    tell(&mut first, (0..100).map(|n| poll(n, n)).collect(), policy);
    tell(&mut third, (200..300).map(|n| poll(n, n)).collect(), policy);
    absorb(&mut second, &first);
    absorb(&mut third, &second);
    let before = outcome(&third, policy);
    absorb(&mut third, &first);
    let mut after = outcome(&third, policy);
    after.late_events = before.late_events;
    assert_eq!(after, before);
}

/// Given a long run that moves into another one which went on after it, all of its calls are counted there, in whatever order the
/// two were, and also where it is taken in once more.
#[test]
fn nothing_of_an_older_run_is_lost_in_a_move() {
    let policy = &policies()[0];
    for (first, second) in [(0, 2_000), (2_000, 0), (0, 1), (0, 91), (91, 0)] {
        for calls in [10, 40, 70, 100, 200] {
            let polled = |id: &str, from: u64| {
                let mut run = RunState::new(id.into());
                let events = (from..).step_by(2).take(calls).map(|n| poll(n, n));
                events.for_each(|event| drop(tell(&mut run, vec![event], policy)));
                run
            };
            let (mut run, other) = (polled("run", first), polled("other", second));
            let other = Input::Absorb(Box::new(other));
            for _ in 0..2 {
                step(&mut run, &other, policy);
                let view = run.view(policy);
                assert_eq!(view.tool_calls, 2 * calls as u64, "{first} {second}");
            }
        }
    }
}
