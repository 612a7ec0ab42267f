//! What an agent with a guard does is in its events.

use eddy::engine::event::{Body, Event, Failure, Manner, Recorded, Text, ToolCall, Traits};
use eddy::engine::guard::{self, Caller, Said};
use eddy::engine::policy::Policy;
use eddy::engine::{RunState, RunView};
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::support::{
    deliver, failure, law, name, one_by_one, outcome, recorded, shuffle, span_at, tell,
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
