//! Runs that get their name late, and traces that are one run.

use futures_util::poll;

use super::guard::{ask, one_shard, start_by_hand, wait_often};
use super::looking_up::working;
use super::{
    A, B, C, NOW_MS, SECOND, call, calls, hex, kill, listed, pass, policy, report, settings, start,
    still, submit, until, view,
};
use crate::engine::event::TraceId;
use crate::engine::warning::WarningState;
use crate::engine::{Input, RunState, step};
use crate::shard::router::shard_of;
use crate::shard::{RunFilter, Settings};
use crate::store::Turn;
use crate::store::records::encode_run;

/// Given a trace whose name comes last, all of it is in the named run, none in the run named after the trace, whose
/// warnings are resolved; asked for by its old id, it is found.
#[tokio::test(start_paused = true)]
async fn a_late_name_moves_the_run() {
    let _still = still();
    for shards in 1..5 {
        let settings = Settings {
            shards,
            ..settings()
        };
        check_late_name(settings).await;
    }
}

async fn check_late_name(settings: Settings) {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings.clone()).await;
    submit(&shards, calls(A, None, 0..3)).await;
    let old = view(&shards, &hex(A)).await;
    assert!(!old.warnings.is_empty());
    submit(&shards, calls(A, Some("r"), 3..4)).await;
    submit(&shards, calls(A, None, 4..5)).await;
    let run = view(&shards, "r").await;
    assert_eq!(run.tool_calls, 5);
    assert_eq!(view(&shards, &hex(A)).await, run);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    assert_eq!(shards.counters().runs_moved.value(), 1);
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    for warning in old.warnings {
        let newest = alerts.iter().rfind(|alert| alert.warning.id == warning.id);
        assert_eq!(newest.unwrap().warning.state, WarningState::Resolved);
    }
    kill(shards).await;
    let shards = start(dir.path(), settings).await;
    assert_eq!(view(&shards, "r").await, run);
    submit(&shards, calls(A, None, 5..6)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 6);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a request that names hundreds of earlier traces, their states do not go on their way all at once: a report that comes then
/// waits for no more than a few turns, and all of them arrive.
#[tokio::test(start_paused = true)]
async fn many_runs_move_some_at_a_time() {
    const TRACES: u16 = 1_000;
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    let trace = |number: u16| {
        let mut bytes = [1; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        TraceId(bytes)
    };
    let of_all = |name, n: u64| {
        let traces = (0..TRACES).map(trace);
        traces.flat_map(|of| calls(of, name, n..n + 1)).collect()
    };
    working(&mut hand, submit(&shards, of_all(None, 0))).await;
    let mut naming = Box::pin(submit(&shards, of_all(Some("r"), 1)));
    assert!(poll!(&mut naming).is_pending());
    wait_often().await;
    // The names are committed, and what is to move is on its way.
    assert!(hand.work());
    wait_often().await;
    let mut other = Box::pin(submit(&shards, calls(A, Some("other"), 0..1)));
    let commits = || shards.store().counters().commits;
    let before = commits();
    while poll!(&mut other).is_pending() {
        wait_often().await;
        hand.work();
        wait_often().await;
    }
    let waited = commits() - before;
    assert!(waited <= 5, "{waited} commits");
    working(&mut hand, naming).await;
    assert_eq!(shards.counters().runs_moved.value(), u64::from(TRACES));
    assert_eq!(shards.run_count(), 2);
}

/// Given runs of which the first are being saved when one of all is named, the others are saved without waiting for the next time.
#[tokio::test(start_paused = true)]
async fn saving_goes_on_behind_a_move() {
    const TRACES: u16 = 500;
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    let trace = |number: u16| TraceId((u128::from(number) + 1).to_be_bytes());
    let begun = (0..TRACES).flat_map(|of| calls(trace(of), None, 0..1));
    working(&mut hand, submit(&shards, begun.collect())).await;
    let saved = || shards.store().counters().runs_saved;
    assert_eq!(saved(), 0);
    tokio::time::advance(one_shard().save_every + SECOND).await;
    wait_often().await;
    let naming = submit(&shards, calls(trace(0), Some("r"), 1..2));
    working(&mut hand, naming).await;
    for _ in 0..20 {
        wait_often().await;
        hand.work();
    }
    assert!(saved() >= u64::from(TRACES) - 1, "{}", saved());
}

/// Given more traces than are remembered, in one request or in those that wait for a disk, or were refused meanwhile, a trace
/// goes on in the run that it was said to belong to, though that is not committed yet; committed, it is not held apart any more.
#[tokio::test(start_paused = true)]
async fn what_waits_to_be_committed_is_not_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let few = Settings {
        traces_max: 4,
        inbox_reports_max: 30,
        ..one_shard()
    };
    let (shards, mut hand) = start_by_hand(dir.path(), few).await;
    let named = |traces: std::ops::Range<u8>| {
        let reports = traces.flat_map(|of| calls(TraceId([of; 16]), Some("r"), 0..1));
        reports.collect::<Vec<_>>()
    };
    let of = |trace: u8| calls(TraceId([trace; 16]), None, 1..2);
    working(&mut hand, submit(&shards, [named(0..20), of(1)].concat())).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 20 + 1);
    assert_eq!(shards.counters().runs_moved.value(), 0);

    let mut naming = Box::pin(submit(&shards, named(50..51)));
    assert!(poll!(&mut naming).is_pending());
    // Its turn is under way, and what comes from here on waits for the next one.
    wait_often().await;
    let mut waiting: Vec<_> = (100..120)
        .map(|trace| Box::pin(submit(&shards, of(trace))))
        .collect();
    for submitting in &mut waiting {
        assert!(poll!(submitting).is_pending());
    }
    for trace in 120..130 {
        let too_many = [of(trace), named(200..230)].concat();
        let refused = shards.submit(too_many, shards.policy()).await;
        assert!(refused.is_err());
    }
    let mut nameless = Box::pin(submit(&shards, of(50)));
    assert!(poll!(&mut nameless).is_pending());
    for submitting in [naming, nameless].into_iter().chain(waiting) {
        working(&mut hand, submitting).await;
    }
    assert_eq!(view(&shards, "r").await.tool_calls, 21 + 2);
    assert_eq!(shards.shared.router().uncommitted(), 0);
}

/// Given several traces with one name, whatever the order and the batches, they are one run.
#[tokio::test(start_paused = true)]
async fn traces_with_one_name_are_one_run() {
    let _still = still();
    let whole = || {
        let mut reports = calls(A, None, 0..2);
        reports.extend(calls(A, Some("r"), 2..3));
        reports.extend(calls(B, Some("r"), 10..11));
        reports.extend(calls(B, None, 11..13));
        reports
    };
    let mut views = Vec::new();
    for (reversed, together) in [(false, 1), (true, 1), (false, 3), (true, 2), (false, 100)] {
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), settings()).await;
        let mut reports = whole();
        if reversed {
            reports.reverse();
        }
        for batch in reports.chunks(together) {
            submit(&shards, batch.to_vec()).await;
        }
        let mut run = view(&shards, "r").await;
        assert_eq!(run.tool_calls, 6);
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        run.heard_ms = 0;
        for warning in &mut run.warnings {
            warning.revision = 0;
        }
        views.push(run);
    }
    assert!(views.iter().all(|run| *run == views[0]), "{views:#?}");
}

/// Given a trace that continues another, both are one run, by the first one's id until that gets a name.
#[tokio::test(start_paused = true)]
async fn a_continued_trace_is_the_same_run() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(B, None, 5..6)).await;
    let mut continuing = report(B, None, vec![call(B, 6)]);
    continuing.run.continues = Some(A);
    submit(&shards, vec![continuing]).await;
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(view(&shards, &hex(A)).await.tool_calls, 3);
    assert_eq!(listed(&shards, &RunFilter::default()).await, [&*hex(A)]);
    submit(&shards, calls(A, Some("r"), 1..2)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 4);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    // The guard finds it by the trace that goes on, too.
    ask(&shards, &hex(B)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 5);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    // What is remembered of traces is gone, what is stored is not.
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(B, None, 7..8)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 6);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a crash after the alias was committed and before the run had moved, the next start moves it; given one after
/// the run was absorbed and before the old one was removed, nothing counts twice.
#[tokio::test(start_paused = true)]
async fn an_interrupted_move_is_finished() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, None, 0..3)).await;
    submit(&shards, calls(B, Some("r"), 10..11)).await;
    let state = shards.store().clone();
    let alias = Turn {
        at_ms: NOW_MS,
        policy: shards.shared.policy().hash,
        aliases: vec![(A, "r".into())],
        ..Turn::default()
    };
    state.commit(alias).await.unwrap();
    drop(state);
    kill(shards).await;

    let shards = start(dir.path(), settings()).await;
    until(async || (shards.counters().runs_moved.value() == 1).then_some(())).await;
    let run = view(&shards, "r").await;
    assert_eq!(run.tool_calls, 4);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    // The old run again, as if its removal had not been committed.
    let mut old = RunState::new(hex(A));
    let told = Input::Reports {
        at_ms: NOW_MS,
        session_id: None,
        service: None,
        events: (0..3).map(|n| call(A, n)).collect(),
    };
    step(&mut old, &told, &policy());
    let key = crate::store::IndexKey {
        created_ms: NOW_MS,
        run_id: hex(A),
    };
    let again = Turn {
        at_ms: NOW_MS,
        policy: shards.shared.policy().hash,
        new_runs: vec![key.clone()],
        ..Turn::default()
    };
    shards.store().commit(again).await.unwrap();
    let saved = crate::store::SavedRun {
        key,
        position: 1_000,
        state: encode_run(&old),
    };
    shards.store().save_runs(vec![saved]).await.unwrap();
    kill(shards).await;

    let shards = start(dir.path(), settings()).await;
    until(async || (shards.counters().runs_moved.value() == 1).then_some(())).await;
    assert_eq!(view(&shards, "r").await, run);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a run of thousands of traces that moves, all of them go over, some in each turn, also where a crash comes in between; a
/// report that comes meanwhile waits for few of them.
#[tokio::test(start_paused = true)]
async fn a_run_of_many_traces_moves_with_all_of_them() {
    let _still = still();
    for is_killed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut shards = start(dir.path(), settings()).await;
        let numbers = 1..=7_000_u128;
        let traces = numbers.map(|number| TraceId((number * 0x9e37_79b9_7f4a_7c15).to_be_bytes()));
        let traces: Vec<_> = traces.collect();
        submit(&shards, calls(A, None, 0..3)).await;
        for some in traces.chunks(1_000) {
            let naming = some
                .iter()
                .map(|trace| report(*trace, Some(&hex(A)), vec![]));
            submit(&shards, naming.collect()).await;
        }
        let turns = shards.store().counters().turns;
        let mut named = Box::pin(submit(&shards, calls(A, Some("r"), 3..4)));
        if is_killed {
            let is_moving = async || (shards.store().counters().turns >= turns + 3).then_some(());
            tokio::select! {
                () = &mut named => {}
                () = until(is_moving) => {}
            }
            drop(named);
            let owner = |trace: &TraceId| shards.store().alias(*trace).unwrap();
            let over = traces
                .iter()
                .filter(|trace| owner(trace).as_deref() == Some("r"));
            let over = over.count();
            assert!((1..traces.len()).contains(&over), "{over} are over");
            kill(shards).await;
            shards = start(dir.path(), settings()).await;
            until(async || (shards.counters().runs_moved.value() == 1).then_some(())).await;
        } else {
            named.await;
            assert!(shards.store().counters().turns >= turns + 4);
        }
        assert_eq!(view(&shards, "r").await.tool_calls, 4);
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        for trace in &traces {
            let owner = shards.store().alias(*trace).unwrap();
            assert_eq!(owner.as_deref(), Some("r"));
        }
    }
}

/// Given a long trace that goes over to another's, and that one to a third run, whether one request says so or two that come
/// together, all of it is in the third when its sender is answered, also what had left its window.
#[tokio::test(start_paused = true)]
async fn a_long_trace_goes_with_the_one_that_moves() {
    let _still = still();
    let continuing = |trace: TraceId, other: TraceId| {
        let mut report = report(trace, None, vec![]);
        report.run.continues = Some(other);
        report
    };
    let by_trace = [continuing(C, B), continuing(B, A)];
    let by_name = [
        report(C, Some(&hex(B)), vec![]),
        report(B, Some("r"), vec![]),
    ];
    for (number, (shards, together)) in (1..4).flat_map(|n| [(n, true), (n, false)]).enumerate() {
        for (reports, goal) in [(&by_trace, hex(A)), (&by_name, "r".into())] {
            let dir = tempfile::tempdir().unwrap();
            let settings = Settings {
                shards,
                ..settings()
            };
            let shards = start(dir.path(), settings).await;
            submit(&shards, calls(C, None, 0..100)).await;
            submit(&shards, calls(B, None, 200..202)).await;
            if together {
                submit(&shards, reports.to_vec()).await;
            } else {
                let [first, second] = reports.clone().map(|report| submit(&shards, vec![report]));
                futures_util::join!(first, second);
            }
            let run = view(&shards, &goal).await;
            assert_eq!(run.tool_calls, 102, "{number} {goal}");
            assert_eq!(listed(&shards, &RunFilter::default()).await, [&*goal]);
            assert_eq!(shards.run_count(), 1);
        }
    }
}

/// Given traces that go over to another's while their shard is still busy with earlier moves, and that other one goes over to a
/// named run meanwhile, all of it is in the named run when its sender is answered, and no run is counted that there is not.
#[tokio::test(start_paused = true)]
async fn a_run_that_moves_behind_its_goal_gets_there() {
    const SHARDS: u16 = 2;
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        shards: SHARDS,
        ..settings()
    };
    let shards = start(dir.path(), settings).await;
    let traces = |shard: u16| {
        let all =
            (1..u128::from(u16::MAX)).map(|number| TraceId((number << 112 | number).to_be_bytes()));
        all.filter(move |trace| shard_of(&hex(*trace), SHARDS) == shard)
    };
    let named = |shard: u16, of: &str| {
        let ids = (0..).map(|number| format!("{of}{number}"));
        let mut ids = ids.filter(|id| shard_of(id, SHARDS) == shard);
        ids.next().unwrap()
    };
    // Those that are in front of it in the queue of its shard, itself, and where it goes.
    let mut here = traces(0);
    let before: Vec<_> = here.by_ref().take(500).collect();
    let late: Vec<_> = here.by_ref().take(3).collect();
    let goal = traces(1).next().unwrap();
    let (crowd, end) = (named(0, "crowd"), named(1, "end"));
    let all = before.iter().chain(&late).chain([&goal]);
    submit(&shards, all.flat_map(|of| calls(*of, None, 0..1)).collect()).await;

    let naming = before.iter().flat_map(|of| calls(*of, Some(&crowd), 1..2));
    let mut naming: Vec<_> = naming.collect();
    for late in late {
        let mut continuing = report(late, None, vec![]);
        continuing.run.continues = Some(goal);
        naming.push(continuing);
    }
    let mut naming = Box::pin(submit(&shards, naming));
    assert!(poll!(&mut naming).is_pending());
    // The goal gets its name, and is there, while the others are still on their way.
    submit(&shards, calls(goal, Some(&end), 1..2)).await;
    naming.await;
    let mut listed = listed(&shards, &RunFilter::default()).await;
    listed.sort();
    assert_eq!(listed, [crowd, end.clone()]);
    assert_eq!(view(&shards, &end).await.tool_calls, 5);
    assert_eq!(shards.run_count(), 2);
}

/// Given a span whose conversation is named by the id of another trace, it is where that trace is, before and after the trace gets
/// a name, whichever comes first, and also after a crash.
#[tokio::test(start_paused = true)]
async fn a_conversation_named_by_a_trace_goes_where_the_trace_goes() {
    let _still = still();
    let by_trace = || calls(B, Some(&hex(A)), 5..6);
    let named = || calls(A, Some("r"), 1..2);
    let untraced = || report(TraceId::default(), Some(&hex(A)), vec![call(C, 9)]);
    for orders in [[by_trace(), named()], [named(), by_trace()]] {
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), settings()).await;
        submit(&shards, calls(A, None, 0..1)).await;
        for reports in orders {
            submit(&shards, reports).await;
        }
        submit(&shards, calls(B, Some(&hex(A)), 6..7)).await;
        submit(&shards, vec![untraced()]).await;
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        assert_eq!(view(&shards, "r").await.tool_calls, 5);
        kill(shards).await;
        let shards = start(dir.path(), settings()).await;
        submit(&shards, calls(B, Some(&hex(A)), 7..8)).await;
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        assert_eq!(view(&shards, "r").await.tool_calls, 6);
    }
}

/// Given a run that is forgotten and begins again by its trace, which the router remembers, or by a question to the guard before
/// that, the trace is known to be its own at the next start, too.
#[tokio::test(start_paused = true)]
async fn a_run_that_begins_again_has_its_trace_again() {
    for asks in [false, true] {
        let _still = still();
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), forgetful()).await;
        submit(&shards, calls(A, Some("r"), 0..1)).await;
        until(async || (shards.run_count() == 0).then_some(())).await;
        if asks {
            assert!(!ask(&shards, "r").await.degraded);
        }
        submit(&shards, calls(A, None, 1..2)).await;
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        kill(shards).await;
        let shards = start(dir.path(), forgetful()).await;
        submit(&shards, calls(A, None, 2..3)).await;
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    }
}

fn forgetful() -> Settings {
    Settings {
        retention_age: 60 * SECOND,
        idle: 30 * SECOND,
        ..settings()
    }
}

/// Given traces that are placed in runs of which nothing else is ever told, they are forgotten with age, as runs are.
#[tokio::test(start_paused = true)]
async fn traces_of_no_run_are_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), forgetful()).await;
    submit(&shards, vec![report(A, Some("r"), vec![])]).await;
    assert_eq!(shards.store().alias(A).unwrap().as_deref(), Some("r"));
    pass(300, SECOND).await;
    assert_eq!(shards.store().alias(A).unwrap(), None);
    assert_eq!(shards.run_count(), 0);
}

/// Given a trace that is placed in a run, it is the same run whether that comes before or after what it does, also where there is a
/// crash in between.
#[tokio::test(start_paused = true)]
async fn a_trace_may_be_placed_at_any_time() {
    let _still = still();
    let mut views = Vec::new();
    for (placed_at, crashes) in [(0, false), (0, true), (1, false), (1, true), (2, true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut shards = start(dir.path(), settings()).await;
        for number in 0..3 {
            if number == placed_at {
                submit(&shards, vec![report(A, Some("r"), vec![])]).await;
                if crashes {
                    kill(shards).await;
                    shards = start(dir.path(), settings()).await;
                }
            }
            submit(&shards, calls(A, None, number..number + 1)).await;
        }
        until(async || (listed(&shards, &RunFilter::default()).await == ["r"]).then_some(())).await;
        let mut run = view(&shards, "r").await;
        run.heard_ms = 0;
        for warning in &mut run.warnings {
            warning.revision = 0;
        }
        views.push(run);
    }
    assert_eq!(views[0].tool_calls, 3);
    assert!(views.iter().all(|run| *run == views[0]), "{views:#?}");
}
