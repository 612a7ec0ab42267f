//! Warnings, the score and what is counted: when they come about, and how they grow.

use std::cell::Cell;
use std::collections::BTreeMap;

use eddy::engine::event::{AgentSpan, Body, Event, Handoff, Recorded, Text, TraceId};
use eddy::engine::policy::Policy;
use eddy::engine::view::Status;
use eddy::engine::warning::{Change, ChangeKind, Rule, Severity, Warning, WarningState};
use eddy::engine::{Input, RunState, step};

use super::support::{
    call, deliver, law, one_by_one, policies, poll, run, shuffle, sorted, span_at, tell, value,
};

/// Given a run in order, a warning is raised once, grows in place, and each change of it says what has become of it.
#[test]
fn warnings_are_raised_once_and_grow() {
    law(&run(200), |events, policy| {
        let (state, changes) = deliver(policy, &one_by_one(&sorted(events)));
        let mut known: BTreeMap<u64, (u32, u64, WarningState)> = BTreeMap::new();
        for Change { kind, warning } in changes {
            let before = known.insert(warning.id, (warning.revision, warning.count, warning.state));
            match (kind, before) {
                (ChangeKind::Raised, before) => assert_eq!((before, warning.revision), (None, 1)),
                (_, None) => panic!("{kind:?} before it was raised"),
                (kind, Some((revision, _, state))) => {
                    assert_eq!(warning.revision, revision + 1);
                    let expected = match (state, warning.state) {
                        (WarningState::Resolved, WarningState::Open) => ChangeKind::Reopened,
                        (WarningState::Open, WarningState::Resolved) => ChangeKind::Resolved,
                        // One that is over may turn out to have been another one: two reports may tell of one call.
                        _ => ChangeKind::Updated,
                    };
                    assert_eq!(kind, expected, "of a {state:?} warning");
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

/// Given reports in any order, whatever is known of a warning in the end was told: whose it is, which spans show it, what it costs.
#[test]
fn what_becomes_known_later_is_told() {
    let later = Cell::new(0);
    law(&run(60), |mut events, policy| {
        shuffle(&mut events, 7);
        let (state, changes) = deliver(policy, &one_by_one(&events));
        let mut told = BTreeMap::new();
        for Change { warning, .. } in changes {
            let before = told.insert(warning.id, warning.clone());
            let same = |warning: &Warning| (warning.count, warning.severity, warning.state);
            let is_told_more = before.is_some_and(|before| same(&before) == same(&warning));
            later.set(later.get() + usize::from(is_told_more));
        }
        for warning in state.view(policy).warnings {
            let told = &told[&warning.id];
            for (was_told, is_known) in [
                (told.agent.is_some(), warning.agent.is_some()),
                (told.tool.is_some(), warning.tool.is_some()),
                (!told.evidence.is_empty(), !warning.evidence.is_empty()),
                (told.tokens > 0, warning.tokens > 0),
                (told.cost_microusd > 0, warning.cost_microusd > 0),
            ] {
                assert!(was_told || !is_known, "{told:?} {warning:?}");
            }
            if warning.rule == Rule::HandoffBounce {
                assert_eq!(told.agent, warning.agent);
            }
        }
    });
    assert!(later.get() > 0, "nothing became known later");
}

/// Given calls that name no agent, a warning is the only agent's that the run knows, and nobody's where there are two.
#[test]
fn a_warning_is_of_the_only_agent() {
    let policy = &policies()[0];
    let mut state = RunState::new("r".into());
    let call_of_nobody = |number: u64| {
        let asked = value(1, false);
        let body = Body::ToolCall(call("search".into(), None, asked.clone(), asked));
        let event = span_at(number * 1_000_000_000, number, body);
        Event {
            agent: None,
            ..event
        }
    };
    let agent = |number: u64, name: &str| {
        let body = Body::AgentSpan(AgentSpan {
            name: name.into(),
            input: Recorded::NotRecorded,
            output: Recorded::NotRecorded,
        });
        let event = span_at(number * 1_000_000_000, number, body);
        Event {
            agent: Some(name.into()),
            ..event
        }
    };
    let calls = (1..=4).map(call_of_nobody).collect();
    let raised = tell(&mut state, calls, policy);
    assert!(!raised.is_empty() && raised.iter().all(|change| change.warning.agent.is_none()));
    let told = tell(&mut state, vec![agent(5, "demo")], policy);
    let named = told
        .iter()
        .filter(|change| change.warning.agent.as_deref() == Some("demo"));
    assert_eq!(named.count(), state.view(policy).warnings.len());
    let _ = tell(&mut state, vec![agent(6, "other")], policy);
    let known = state.view(policy).warnings;
    assert!(known.iter().all(|warning| warning.agent.is_none()));
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
            for Change { kind, warning } in tell(&mut state, vec![event], policy) {
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
/// is known, the notes of one rule count once, and all notes together no more than leaves a run healthy, or than the largest.
#[test]
fn health_is_derived() {
    let (told_twice, reached) = (Cell::new(false), Cell::new(false));
    law(&run(120), |events, policy| {
        let view = deliver(policy, &one_by_one(&events)).0.view(policy);
        let mut lost = if view.ended == eddy::engine::view::Ended::Failed {
            30
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
        let all: u32 = noted.iter().map(|(_, penalty)| penalty).sum();
        let largest = noted.iter().map(|(_, penalty)| *penalty).max();
        let bearable = largest.unwrap_or(0).max(20);
        reached.set(reached.get() || bearable < all);
        lost += all.min(bearable);
        assert_eq!(view.score, 100_u32.saturating_sub(lost));
        assert!(view.lowest_score <= view.score);
    });
    assert!(told_twice.get(), "no run has two notes of one rule");
    assert!(reached.get(), "no run has more notes than it may lose for");
}

/// Given any run, and one that is handed to and fro, its status says what its score does; where progress is known, it is
/// no better than its gravest open warning.
#[test]
fn a_run_is_no_better_than_its_gravest_warning() {
    let worse = Cell::new(0);
    let check = |events: &[Event], policy: &Policy| {
        let view = deliver(policy, &one_by_one(events)).0.view(policy);
        let by_score = match view.score {
            80.. => Status::Healthy,
            50.. => Status::Warning,
            _ => Status::LikelyStuck,
        };
        let open = view.warnings.iter();
        let open = open.filter(|warning| warning.state == WarningState::Open);
        let by_warning = match open.map(|warning| warning.severity).max() {
            Some(Severity::Critical) if policy.progress_aware => Status::LikelyStuck,
            Some(Severity::Warning) if policy.progress_aware => Status::Warning,
            _ => Status::Healthy,
        };
        if !matches!(view.status, Status::Failed | Status::Blind) {
            worse.set(worse.get() + usize::from(by_warning > by_score));
            assert_eq!(view.status, by_score.max(by_warning));
        }
    };
    law(&run(120), |events, policy| check(&events, policy));
    let handed = |number: u64| {
        let (from, to) = (
            ["a", "b"][number as usize % 2],
            ["b", "a"][number as usize % 2],
        );
        let handoff = Handoff {
            from: Some(from.into()),
            to: to.into(),
        };
        span_at(number * 1_000_000_000, number, Body::Handoff(handoff))
    };
    for count in 1..20 {
        let events: Vec<Event> = (1..=count).map(handed).collect();
        for policy in policies() {
            check(&events, &policy);
        }
    }
    assert!(worse.get() > 0, "no warning is graver than its score");
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
            if let Body::ToolCall(call) | Body::Requested(call) = &mut event.body {
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

/// Given a conversation whose id looks like that of a trace, it is not taken for one; the id of a trace is.
#[test]
fn a_conversation_is_no_trace() {
    let policy = &policies()[0];
    for (run_id, expected) in [
        ("0123456789abcdef0123456789abcdef", None),
        ("01010101010101010101010101010101", Some(TraceId([1; 16]))),
        ("conversation", None),
    ] {
        let mut state = RunState::new(run_id.into());
        tell(&mut state, vec![poll(1, 0)], policy);
        assert_eq!(state.trace(), expected, "{run_id}");
    }
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
