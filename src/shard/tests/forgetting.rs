//! Runs that leave memory, go quiet, and are forgotten.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::poll;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::guard::{ask, one_shard};
use super::{
    A, B, NOW_MS, SECOND, Shards, call, calls, event, hex, kill, listed, open, pass, profile,
    report, settings, start, start_at, still, submit, until, view,
};
use crate::engine::event::{Body, RunEnd, TraceId};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::view::Ended;
use crate::engine::warning::WarningState;
use crate::normalize::Report;
use crate::shard::clock::Clock;
use crate::shard::guard::{GuardContext, GuardedCall};
use crate::shard::inbox::Review;
use crate::shard::{Refusal, RunFilter, Settings};

/// Given more runs than may be in memory, they go to disk and come back with everything.
#[tokio::test(start_paused = true)]
async fn runs_leave_memory_and_come_back() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let few = Settings {
        resident_runs_max: 8,
        shards: 2,
        ..settings()
    };
    let shards = start(dir.path(), few.clone()).await;
    let trace = |number: u8| TraceId([number; 16]);
    for n in 0..4 {
        for number in 1..40 {
            submit(&shards, calls(trace(number), None, n..n + 1)).await;
        }
    }
    assert!(shards.counters().runs_evicted.value() > 100);
    let mut views = Vec::new();
    for number in 1..40 {
        let run = view(&shards, &hex(trace(number))).await;
        assert_eq!(
            (run.tool_calls, run.warnings.len()),
            (4, run.warnings.len().max(1))
        );
        views.push(run);
    }
    assert_eq!(listed(&shards, &RunFilter::default()).await.len(), 39);
    assert_eq!(
        (shards.run_count(), shards.counters().runs_created.value()),
        (39, 39)
    );
    kill(shards).await;
    let shards = start(dir.path(), few).await;
    for run in views {
        assert_eq!(view(&shards, &run.run_id).await, run);
    }
}

/// Given a run that goes quiet, it ends after the idle time and not before, once; a late report opens it again.
#[tokio::test(start_paused = true)]
async fn a_quiet_run_ends() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..1)).await;
    submit(&shards, calls(B, Some("busy"), 0..1)).await;
    pass(200, SECOND).await;
    submit(&shards, calls(B, Some("busy"), 1..2)).await;
    pass(90, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Open);
    let ended = until(async || {
        let run = view(&shards, "r").await;
        (run.ended != Ended::Open).then_some(run)
    });
    assert_eq!(ended.await.ended, Ended::Idle);
    assert_eq!(view(&shards, "busy").await.ended, Ended::Open);
    pass(1_000, SECOND).await;
    assert_eq!(view(&shards, "busy").await.ended, Ended::Idle);
    assert_eq!(shards.counters().runs_idle.value(), 2);
    submit(&shards, calls(A, Some("r"), 1..2)).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Open);
    pass(400, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Idle);
}

/// Given a run that was open when the daemon died, on disk and not in memory, it is found idle afterwards; its root's
/// good end counts.
#[tokio::test(start_paused = true)]
async fn a_run_left_open_ends_after_the_next_start() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let few = Settings {
        resident_runs_max: 1,
        shards: 1,
        ..settings()
    };
    let shards = start(dir.path(), few.clone()).await;
    let root = event(A, 9, Body::RunEnd(RunEnd { error: None }));
    submit(&shards, vec![report(A, Some("r"), vec![call(A, 0), root])]).await;
    submit(&shards, calls(B, Some("other"), 0..1)).await;
    kill(shards).await;
    let shards = start(dir.path(), few).await;
    pass(400, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Ok);
    assert_eq!(view(&shards, "other").await.ended, Ended::Idle);
    let before = view(&shards, "r").await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await, before);
}

/// Given runs that nobody has heard of for the retention time, they are forgotten, and one that is at work is not.
#[tokio::test(start_paused = true)]
async fn old_runs_are_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let hour = Settings {
        retention_age: Duration::from_secs(3_600),
        ..settings()
    };
    let shards = start(dir.path(), hour.clone()).await;
    submit(&shards, calls(A, Some("old"), 0..3)).await;
    submit(&shards, calls(B, Some("working"), 0..1)).await;
    let warnings = view(&shards, "old").await.warnings;
    assert!(!warnings.is_empty());
    for n in 1..4 {
        pass(30, 60 * SECOND).await;
        submit(&shards, calls(B, Some("working"), n..n + 1)).await;
    }
    until(async || (shards.run_count() == 1).then_some(())).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
    assert_eq!(shards.run("old").await.unwrap(), None);
    assert_eq!(shards.counters().runs_retired.value(), 1);
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    for warning in warnings {
        let newest = alerts.iter().rfind(|alert| alert.warning.id == warning.id);
        assert_eq!(newest.unwrap().warning.state, WarningState::Resolved);
    }
    let later = Clock::Paused {
        began_ms: shards.shared.clock.now_ms(),
        began: Instant::now(),
    };
    kill(shards).await;
    let shards = start_at(later, dir.path(), hour).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
}

/// Given a run whose turn to be looked at comes after it has gone, it is not forgotten once more, and the number of runs is
/// right.
#[tokio::test(start_paused = true)]
async fn a_run_is_forgotten_once() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let hour = Settings {
        retention_age: Duration::from_secs(3_600),
        ..settings()
    };
    let shards = start(dir.path(), hour).await;
    submit(&shards, calls(A, Some("old"), 0..1)).await;
    let old = shards.shared.store.run_ids_oldest_first(None, 10).unwrap();
    assert_eq!(old.len(), 1);
    pass(70, 60 * SECOND).await;
    submit(&shards, calls(B, Some("working"), 0..1)).await;
    until(async || (shards.run_count() == 1).then_some(())).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
    assert_eq!(shards.shared.review(old, Review::Age).await, 0);
    assert_eq!(shards.run_count(), 1);
    assert_eq!(shards.counters().runs_retired.value(), 1);
}

/// Given a run that is asked about between the look at it and the turn that would forget it, also where the policy has changed just
/// before, it stays, and only those that went
/// are counted.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_asked_about_is_not_forgotten() {
    for changes_policy in [false, true] {
        let _still = still();
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), one_shard()).await;
        let quiet = (1..101).flat_map(|number| calls(TraceId([number; 16]), None, 0..1));
        submit(&shards, quiet.collect()).await;
        // Found idle after half of that.
        pass(11, 60 * SECOND).await;
        let keys = shards.store().run_ids_oldest_first(None, 128).unwrap();
        let first = keys[0].run_id.clone();
        if changes_policy {
            let other = Arc::new(profile::Name::Automatos.policy());
            shards.set_policy(&other).await.unwrap();
        }
        let mut reviewing = Box::pin(shards.shared.review(keys, Review::Number));
        assert!(poll!(&mut reviewing).is_pending());
        // It has begun when the first question comes: that has the shard take the newest policy.
        yield_now().await;
        let mut answers = 0;
        let retired = loop {
            if let Poll::Ready(retired) = poll!(&mut reviewing) {
                break retired;
            }
            // By the tenth answer the first run has been looked at.
            let run_id = if answers == 10 { &first } else { "another" };
            assert!(!ask(&shards, run_id).await.degraded);
            answers += 1;
        };
        assert!(answers > 50, "{answers} answers");
        assert!(shards.run(&first).await.unwrap().is_some());
        assert_eq!((retired, shards.counters().runs_retired.value()), (99, 99));
        assert_eq!(shards.run_count(), 2);
    }
}

/// Given more runs than are kept, those begun first are forgotten as they go quiet, except one that is at work.
#[tokio::test(start_paused = true)]
async fn too_many_runs_are_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let shards = start(dir.path(), three).await;
    for number in 1..10_u8 {
        submit(&shards, calls(A, Some("working"), 0..u64::from(number))).await;
        let trace = TraceId([number; 16]);
        submit(&shards, calls(trace, Some(&format!("run {number}")), 0..1)).await;
        pass(60, SECOND).await;
    }
    // Run 7 has been quiet for long enough then, and run 8 will not have been for the next fifty seconds, however slow the disk is.
    pass(425, SECOND).await;
    let mut steps = 0;
    while shards.run_count() > 3 && steps < 10_000 {
        pass(1, Duration::from_millis(5)).await;
        steps += 1;
    }
    assert_eq!(
        listed(&shards, &RunFilter::default()).await,
        ["run 9", "run 8", "working"]
    );
}

/// Given far too many runs of one report each, the first begun are forgotten before they count as quiet.
#[tokio::test(start_paused = true)]
async fn the_number_of_runs_has_a_limit_in_any_case() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let idle = three.idle;
    let shards = start(dir.path(), three).await;
    let began = Instant::now();
    let all: Vec<Report> = (0..200_u8)
        .flat_map(|number| {
            let trace = TraceId([number, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
            calls(trace, None, 0..1)
        })
        .collect();
    submit(&shards, all).await;
    until(async || (shards.run_count() <= 103).then_some(())).await;
    assert!(began.elapsed() < idle, "they were quiet by then");
}

/// Given far too many runs, one of them goes on that names a session: the swarm of the session is not begun for it, neither by a
/// report nor by a question to the guard, and what it is not told is counted.
#[tokio::test(start_paused = true)]
async fn no_swarms_are_begun_where_there_are_too_many_runs() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let policy = Arc::new(profile::Name::Attocode.policy());
    let clock = Clock::Paused {
        began_ms: NOW_MS,
        began: Instant::now(),
    };
    let starting = Shards::start_at(clock, open(dir.path()).await, policy, three);
    let shards = starting.await.unwrap();
    let all = (0..203_u8).flat_map(|number| calls(TraceId([number + 1; 16]), None, 0..1));
    submit(&shards, all.collect()).await;
    let trace = TraceId([1; 16]);
    let mut of_session = report(trace, None, vec![call(trace, 1)]);
    of_session.run.session_id = Some("session".into());
    submit(&shards, vec![of_session]).await;
    assert_eq!(shards.counters().lost_copies.value(), 1);
    let who = GuardContext {
        run_id: &hex(trace),
        worker: Some("worker"),
        session_id: Some("session"),
        ..GuardContext::default()
    };
    let call = GuardedCall {
        tool: "search",
        ..GuardedCall::default()
    };
    assert!(!shards.check(&who, &call).await.degraded);
    assert_eq!(shards.counters().lost_copies.value(), 2);
    assert_eq!(view(&shards, &hex(trace)).await.tool_calls, 3);
    assert_eq!(shards.run_count(), 203);
}

/// Given workers of two runs who are stuck together, and nobody who tells of them for the retention time: with their swarm, what
/// it was warned of is forgotten.
#[tokio::test(start_paused = true)]
async fn a_swarm_that_is_forgotten_warns_nobody() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let hour = Settings {
        retention_age: Duration::from_secs(3_600),
        ..settings()
    };
    let policy = Arc::new(profile::Name::Attocode.policy());
    let clock = Clock::Paused {
        began_ms: NOW_MS,
        began: Instant::now(),
    };
    let starting = Shards::start_at(clock, open(dir.path()).await, policy, hour);
    let shards = starting.await.unwrap();
    for (trace, n) in (0..20).map(|n| (if n % 2 == 0 { A } else { B }, n)) {
        let mut call = call(trace, n);
        call.worker = Some(hex(trace));
        let mut of_session = report(trace, None, vec![call]);
        of_session.run.session_id = Some("session".into());
        submit(&shards, vec![of_session]).await;
    }
    let session = Some("session".into());
    assert!(!shards.shared.swarms.of(session.as_ref()).is_empty());
    pass(61, 60 * SECOND).await;
    until(async || (shards.run_count() == 0).then_some(())).await;
    // It is said behind the commit.
    let warnings = || shards.shared.swarms.of(session.as_ref());
    until(async || warnings().is_empty().then_some(())).await;
}

/// Given far too many runs that are at work, none of them is forgotten: a request that would begin another one is refused for
/// now and leaves nothing behind, one that goes on is taken, and when the others have gone quiet there is room again.
#[tokio::test(start_paused = true)]
async fn runs_at_work_are_kept_and_no_more_begun() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let shards = start(dir.path(), three).await;
    let each = |numbers: std::ops::Range<u8>, calls_of: std::ops::Range<u64>| -> Vec<Report> {
        let traces = numbers.map(|number| TraceId([number + 1; 16]));
        traces
            .flat_map(|trace| calls(trace, None, calls_of.clone()))
            .collect()
    };
    submit(&shards, each(0..202, 0..1)).await;
    pass(1, SECOND).await;
    submit(&shards, each(0..202, 1..2)).await;
    pass(10, SECOND).await;
    submit(&shards, each(202..203, 0..1)).await;
    assert_eq!(shards.run_count(), 203);
    // It has just begun, and goes on: that its state is not on disk yet is no reason to refuse it.
    submit(&shards, each(202..203, 1..2)).await;
    let mut mixed = each(0..1, 2..3);
    mixed.extend(each(203..204, 0..1));
    let refused = shards.submit(mixed.clone(), shards.policy()).await;
    assert!(
        matches!(refused, Err(Refusal::Crowded { .. })),
        "{refused:?}"
    );
    assert_eq!(view(&shards, &hex(TraceId([1; 16]))).await.tool_calls, 2);
    submit(&shards, each(0..1, 2..3)).await;
    assert_eq!(shards.counters().refused_crowded.value(), 1);
    // The guard begins none either, whoever asks it.
    for new in ["one", "another"] {
        let answer = ask(&shards, new).await;
        assert!(answer.degraded && answer.verdict.kind == VerdictKind::Allow);
        assert!(shards.run(new).await.unwrap().is_none());
    }
    assert!(!ask(&shards, &hex(TraceId([1; 16]))).await.degraded);
    assert_eq!(shards.counters().guard.degraded_crowded.value(), 2);
    assert_eq!(shards.run_count(), 203);
    until(async || (shards.run_count() <= 3).then_some(())).await;
    submit(&shards, mixed).await;
}
