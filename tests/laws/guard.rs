//! What an agent with a guard does is in its events.

use eddy::engine::event::{Body, Event, Failure, Manner, Recorded, Text, ToolCall, Traits};
use eddy::engine::guard::verdict::VerdictKind;
use eddy::engine::guard::{self, Caller, Said};
use eddy::engine::policy::Policy;
use eddy::engine::{RunState, RunView, Warning};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::support::{
    deliver, failure, law, name, one_by_one, outcome, policies, recorded, shuffle, span_at, tell,
    value,
};

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
            manner: Manner::default(),
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

/// What a call of a tool is asked with, and what it brings; or how it fails.
fn made(tool: &str, input: u64, brought: Result<u64, &str>, call_id: Option<u64>) -> ToolCall {
    let output = brought.map_or(Recorded::NotRecorded, |output| value(output, false));
    ToolCall {
        tool: tool.into(),
        call_id,
        input: value(input, false),
        output,
        error: brought.err().map(|text| Failure {
            text: text.into(),
            masked: text
                .bytes()
                .map(u64::from)
                .fold(0, |hash: u64, byte| hash.wrapping_mul(31) + byte),
            transient: false,
        }),
        hands_off: false,
        manner: Manner::default(),
        traits: Traits::default(),
        guarded: None,
    }
}

fn caller_at(second: u64) -> Caller {
    Caller {
        now_ns: second * 1_000_000_000,
        ..Caller::default()
    }
}

/// As an agent asks before it has called.
fn asked(call: &ToolCall) -> ToolCall {
    ToolCall {
        output: Recorded::NotRecorded,
        error: None,
        ..call.clone()
    }
}

/// Given a program that gives each call the same id, and results that are told or that spans show; the guard sees each call, first
/// and after more than a window of others, and refuses what is repeated.
#[test]
fn a_call_id_that_comes_again_hides_nothing() {
    let policy = &policies()[0];
    for by_span in [false, true] {
        let mut state = RunState::new("run".into());
        let mut refused = 0;
        for number in 1..=72 {
            let repeats = number > 60;
            let call = if repeats {
                made("fetch", 500, Err("no such page at this address"), Some(7))
            } else {
                made("search", number, Ok(1_000 + number), Some(7))
            };
            let caller = caller_at(number);
            let checked = guard::check(&mut state, &asked(&call), &caller, policy);
            if checked.answered.kind.refuses() {
                assert!(repeats, "call {number} is the first of its kind");
                refused += 1;
            } else if by_span {
                let at_ns = caller.now_ns + 1_000_000;
                let span = span_at(at_ns, number, Body::ToolCall(call));
                tell(&mut state, vec![span], policy);
            } else {
                guard::result(&mut state, &call, &caller, policy);
            }
        }
        let view = state.view(policy);
        assert!(refused >= 5, "{refused} refused, by span: {by_span}");
        assert_eq!(
            (view.tool_calls + refused, view.late_events),
            (72, 0),
            "by span: {by_span}"
        );
    }
}

/// Given a loop that the guard refuses and reports of what came of its first calls, by call id and without, spans of the calls
/// that were made change nothing, whatever times they have and in whatever order they come, from that of the first call on, which
/// tells of the sender's clock: no warning about the loop counts less, what is asked again is refused again, and no call counts
/// twice.
#[test]
fn what_was_refused_stays_refused() {
    const ASKED_MS: u64 = 8;
    let span = (-50_000_i64..50_000, 0_u64..3_000, any::<u16>());
    let spans = proptest::collection::vec(span, 12);
    law(&(spans, any::<bool>()), |(spans, has_ids), policy| {
        let at = |ms: u64| Caller {
            now_ns: (1_000_000 + ms) * 1_000_000,
            ..Caller::default()
        };
        let call = |number: u64| ToolCall {
            output: value(99, true),
            ..made("search", 1, Ok(0), has_ids.then_some(number))
        };
        let mut state = RunState::new("run".into());
        let mut told = Vec::new();
        for number in 0..12 {
            let caller = at(number * ASKED_MS);
            let checked = guard::check(&mut state, &asked(&call(number)), &caller, policy);
            if checked.answered.kind.refuses() {
                continue;
            }
            let caller = at(number * ASKED_MS + 2);
            guard::result(&mut state, &call(number), &caller, policy);
            let (shift_ms, length_ms, order) = spans[number as usize];
            // Without ids clocks have to agree: a span is of a question that was asked within it or before it.
            let shift_ms = if has_ids { shift_ms } else { shift_ms.abs() };
            let asked_ns = caller.now_ns - 2_000_000;
            let start_ns = asked_ns.saturating_add_signed(shift_ms * 1_000_000);
            let end_ns = start_ns + length_ms * 1_000_000;
            let span = span_at(start_ns, number + 1, Body::ToolCall(call(number)));
            told.push((order, Event { end_ns, ..span }));
        }
        told.sort_by_key(|(order, _)| *order);
        let before = state.view(policy);
        let is_refused = |warning: &&Warning| warning.verdict == Some(VerdictKind::Skip);
        let refused: Vec<_> = before.warnings.iter().filter(is_refused).collect();
        let mut skew_is_known = false;
        for (_, span) in told {
            skew_is_known |= span.id == 1;
            tell(&mut state, vec![span], policy);
            if !skew_is_known {
                continue;
            }
            let view = state.view(policy);
            for known in &refused {
                let mut now = view.warnings.iter().filter(|now| now.id == known.id);
                assert!(
                    now.any(|now| now.count >= known.count),
                    "{known:?} {view:?}"
                );
            }
            assert_eq!(
                (view.tool_calls, view.skipped_calls),
                (before.tool_calls, before.skipped_calls)
            );
        }
        for number in 12..14 {
            let caller = at(number * ASKED_MS + 500);
            let again = guard::check(&mut state, &asked(&call(number)), &caller, policy);
            let expected = before.skipped_calls > 0;
            assert_eq!(again.answered.kind.refuses(), expected, "{again:?}");
        }
    });
}
