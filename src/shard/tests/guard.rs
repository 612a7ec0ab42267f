//! Questions to the guard: answered from memory, in time or not at all, and kept.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::{StreamExt, poll};
use tokio::task::yield_now;

use super::{
    A, B, Clock, Instant, NOW_MS, Path, Policy, Settings, Shards, calls, hex, kill, moment, open,
    profile, settings, still, stop, submit, view,
};
use crate::engine::event::TraceId;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::Rule;
use crate::shard::guard::{ASKS_MAX, GuardAnswer, GuardContext, GuardedCall, Outcome, Spoken};
use crate::shard::inbox::Review;
use crate::shard::worker::PENDING_WAIT;
use crate::store::{ByHand, Options, Store};

fn agentium() -> Policy {
    profile::Name::Agentium.policy()
}

async fn start_with(dir: &Path, policy: Policy, settings: Settings) -> Shards {
    Shards::start_at(clock(), open(dir).await, Arc::new(policy), settings)
        .await
        .expect("the shards start")
}

fn clock() -> Clock {
    Clock::Paused {
        began_ms: NOW_MS,
        began: Instant::now(),
    }
}

pub(super) async fn ask(shards: &Shards, run_id: &str) -> GuardAnswer {
    let who = GuardContext {
        run_id,
        ..GuardContext::default()
    };
    let call = GuardedCall {
        tool: "search",
        arguments: Some("{}"),
        ..GuardedCall::default()
    };
    shards.check(&who, &call).await
}

pub(super) fn one_shard() -> Settings {
    Settings {
        shards: 1,
        ..settings()
    }
}

/// Given more questions at once than there is room for, the rest are allowed at once, and say so.
#[tokio::test(start_paused = true)]
async fn a_full_inbox_allows() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    let asked = (0..ASKS_MAX + 10).map(|_| ask(&shards, "r"));
    let answers = futures_util::future::join_all(asked).await;
    let degraded = answers.iter().filter(|answer| answer.degraded);
    assert!(
        degraded
            .clone()
            .all(|answer| answer.verdict.kind == VerdictKind::Allow)
    );
    assert_eq!(degraded.count(), 10);
    let counters = &shards.counters().guard;
    assert_eq!(
        (counters.degraded_full.value(), counters.degraded()),
        (10, 10)
    );
    let skipped = (
        Some(Rule::DuplicateCall),
        VerdictKind::Skip,
        ASKS_MAX as u64 - 3,
    );
    assert!(counters.verdicts().any(|counted| counted == skipped));
    assert_eq!(counters.saved_calls.value(), ASKS_MAX as u64 - 3);
}

/// Given an inbox without room, a call that a worker of a session asks about is answered, and counted as one that the session's
/// swarm was not told of; once there is room, it is told.
#[tokio::test(start_paused = true)]
async fn a_swarm_that_misses_a_call_is_counted() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let small = Settings {
        inbox_reports_max: 4,
        ..one_shard()
    };
    let policy = profile::Name::Attocode.policy();
    let shards = start_with(dir.path(), policy, small).await;
    let who = GuardContext {
        run_id: "asked",
        worker: Some("worker"),
        session_id: Some("session"),
        ..GuardContext::default()
    };
    let call = GuardedCall {
        tool: "search",
        arguments: Some("{}"),
        ..GuardedCall::default()
    };
    let full = shards
        .shared
        .admit(calls(A, Some("r"), 0..4), &shards.policy())
        .await
        .unwrap();
    assert!(!shards.check(&who, &call).await.degraded);
    assert_eq!(shards.counters().lost_copies.value(), 1);
    for done in full {
        done.await.unwrap();
    }
    assert!(shards.run("swarm:session").await.unwrap().is_none());
    assert!(!shards.check(&who, &call).await.degraded);
    submit(&shards, calls(A, Some("r"), 4..5)).await;
    assert_eq!(view(&shards, "swarm:session").await.tool_calls, 1);
    assert_eq!(shards.counters().lost_copies.value(), 1);
}

/// Given a hundred runs that are looked at because of their age, questions are answered between one and the next.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_between_runs() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    let trace = |number: u8| TraceId([number; 16]);
    let all = (1..101).flat_map(|number| calls(trace(number), None, 0..1));
    submit(&shards, all.collect()).await;
    ask(&shards, "asked").await;
    let keys = shards.store().run_ids_oldest_first(None, 128).unwrap();
    assert!(keys.len() >= 100);
    let mut reviewing = Box::pin(shards.shared.review(keys, Review::Age));
    let mut answered = 0;
    while poll!(&mut reviewing).is_pending() {
        assert!(!ask(&shards, "asked").await.degraded);
        answered += 1;
    }
    assert!(answered > 50, "{answered} answers");
}

/// Given no time at all, every call is allowed, says so, and counts as made.
#[tokio::test(start_paused = true)]
async fn a_late_answer_is_none() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let mut policy = agentium();
    policy.guard.deadline_ms = 0;
    let shards = start_with(dir.path(), policy, one_shard()).await;
    for _ in 0..6 {
        let answer = ask(&shards, "r").await;
        assert!(answer.degraded && answer.verdict.kind == VerdictKind::Allow);
        tokio::task::yield_now().await;
    }
    assert_eq!(shards.counters().guard.degraded_late.value(), 6);
    let run = view(&shards, "r").await;
    assert_eq!((run.tool_calls, run.skipped_calls), (6, 0));
}

/// Given questions one after the other and no reports, what they did is committed together, and soon.
#[tokio::test(start_paused = true)]
async fn answers_share_a_commit() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    let committed = |runs: u64| {
        let counters = shards.counters();
        async move {
            tokio::time::advance(PENDING_WAIT).await;
            for _ in 0..1_000 {
                if counters.runs_created.value() < runs {
                    moment().await;
                }
            }
            counters.turns.value()
        }
    };
    // The first time at which a shard minds the time is when it starts.
    ask(&shards, "run 0").await;
    let before = committed(1).await;
    for run in 1..20 {
        ask(&shards, &format!("run {run}")).await;
    }
    assert_eq!(shards.counters().turns.value(), before);
    assert_eq!(committed(20).await, before + 1);
    assert_eq!(shards.counters().runs_created.value(), 20);
}

/// Given a daemon that leaves, or whose store has failed, calls are allowed.
#[tokio::test(start_paused = true)]
async fn a_daemon_that_leaves_allows() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    assert!(!ask(&shards, "r").await.degraded);
    stop(&shards).await;
    assert!(ask(&shards, "r").await.degraded);
    kill(shards).await;
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 1);
    shards.store().clone().close().await.unwrap();
    // The first question is answered from memory; that it cannot be kept shows with the next.
    let _ = ask(&shards, "r").await;
    let _ = shards.submit(calls(A, None, 0..1), shards.policy()).await;
    assert!(ask(&shards, "r").await.degraded);
}

/// Given more runs than fit in memory, and saves at every moment, no answer is forgotten, also after a crash.
#[tokio::test(start_paused = true)]
async fn answers_survive_eviction_and_crashes() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = || Settings {
        resident_runs_max: 1,
        save_every: Duration::from_millis(1),
        ..one_shard()
    };
    let shards = start_with(dir.path(), agentium(), settings()).await;
    let runs: Vec<String> = (0..12).map(|n| format!("run {n}")).collect();
    for _ in 0..5 {
        // Some are asked while a turn is being committed.
        let asked = futures_util::future::join_all(runs.iter().map(|run| ask(&shards, run)));
        tokio::join!(asked, submit(&shards, calls(A, Some("other"), 0..1)));
    }
    let shown = |shards: Shards| async move {
        let mut shown = Vec::new();
        for n in 0..12 {
            shown.push(view(&shards, &format!("run {n}")).await);
        }
        shown
    };
    let before = shown(shards.clone()).await;
    assert!(
        before
            .iter()
            .all(|run| (run.tool_calls, run.skipped_calls) == (3, 2))
    );
    assert!(
        before
            .iter()
            .all(|run| run.warnings[0].verdict == Some(VerdictKind::Skip))
    );
    kill(shards).await;
    let shards = start_with(dir.path(), agentium(), settings()).await;
    assert_eq!(shown(shards.clone()).await, before);
}

/// Given a run whose trace was learned to have a name, the guard finds it under its old id.
#[tokio::test(start_paused = true)]
async fn a_trace_s_id_leads_to_the_named_run() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    submit(&shards, calls(A, Some("named"), 0..1)).await;
    ask(&shards, &hex(A)).await;
    assert_eq!(view(&shards, "named").await.tool_calls, 2);
    assert!(shards.run(&hex(B)).await.unwrap().is_none());
}

/// Given results and messages, they are taken in and counted.
#[tokio::test(start_paused = true)]
async fn results_and_messages_are_counted() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_with(dir.path(), agentium(), one_shard()).await;
    let who = GuardContext {
        run_id: "r",
        ..GuardContext::default()
    };
    let call = GuardedCall {
        tool: "search",
        outcome: Some(Outcome::Error("429")),
        ..GuardedCall::default()
    };
    assert!(!shards.report(&who, &call).await.degraded);
    assert!(
        !shards
            .message(&who, Spoken::ByModel(Some("words")))
            .await
            .degraded
    );
    let counters = &shards.counters().guard;
    assert_eq!(
        (counters.results.value(), counters.messages.value()),
        (1, 1)
    );
    let run = view(&shards, "r").await;
    assert_eq!((run.tool_calls, run.model_calls), (1, 1));
}

/// Given a question that is asked while an earlier one is committed for who wants to see the run, it is answered at once, and
/// what is shown is what is on disk: the earlier one alone.
#[tokio::test(start_paused = true)]
async fn what_is_shown_is_on_disk() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    // What a shard does at its start is done.
    wait_often().await;
    for (asked, shown) in [(2, 1), (2, 3)] {
        assert!(!ask(&shards, "r").await.degraded);
        let mut run = Box::pin(shards.run("r"));
        // The shard comes to its commit, and waits for it.
        assert!(poll!(&mut run).is_pending());
        wait_often().await;
        for _ in 1..asked {
            assert!(!ask(&shards, "r").await.degraded);
        }
        assert!(poll!(&mut run).is_pending(), "nothing is on disk");
        assert!(hand.work(), "what was asked before is committed");
        let run = run.await.unwrap().expect("it is there");
        assert_eq!(run.tool_calls, shown);
    }
}

/// Given a question to the guard during each commit, and many who want to see runs, these share a commit with the reports that
/// wait: what N of them ask for costs no N commits, and keeps no report waiting.
#[tokio::test(start_paused = true)]
async fn who_wants_to_see_runs_shares_a_commit() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    wait_often().await;
    assert!(!ask(&shards, "r").await.degraded);
    let looking = futures_util::future::join_all((0..20).map(|_| shards.run("r")));
    let sending = submit(&shards, calls(A, Some("sent"), 0..1));
    let (mut looking, mut sending) = (Box::pin(looking), Box::pin(sending));
    let (mut seen, mut is_taken, mut commits) = (None, false, 0);
    while seen.is_none() || !is_taken {
        if let (None, Poll::Ready(runs)) = (&seen, poll!(&mut looking)) {
            seen = Some(runs);
        }
        is_taken = is_taken || poll!(&mut sending).is_ready();
        wait_often().await;
        assert!(!ask(&shards, "r").await.degraded);
        commits += u32::from(hand.work());
        wait_often().await;
        assert!(commits <= 2, "{commits} commits");
    }
    let seen = seen.into_iter().flatten();
    assert!(seen.clone().all(|run| run.is_ok_and(|run| run.is_some())));
    assert_eq!(seen.count(), 20);
}

/// Given a run that is watched, and of which there is a question during each commit, its watcher sees how it grows.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_always_asked_about_is_watched() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    wait_often().await;
    let mut watcher = Box::pin(shards.watch("r").await);
    for calls in 1..10 {
        assert!(!ask(&shards, "r").await.degraded);
        tokio::time::advance(PENDING_WAIT).await;
        wait_often().await;
        // Its commit is under way.
        assert!(!ask(&shards, "r").await.degraded);
        hand.work();
        wait_often().await;
        let seen = tokio::time::timeout(PENDING_WAIT, watcher.next()).await;
        let seen = seen.expect("it is shown").expect("it goes on");
        assert_eq!(seen.tool_calls + seen.skipped_calls, 2 * calls - 1);
    }
}

/// Given a run of which there is a question during each commit, each is answered at once, and what is known of the run is saved
/// all the same, up to a commit.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_always_asked_about_is_saved() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        save_every: Duration::from_millis(20),
        ..one_shard()
    };
    let (shards, mut hand) = start_by_hand(dir.path(), settings).await;
    wait_often().await;
    let mut saved = None;
    for _ in 0..2_000 {
        let mut answer = Box::pin(ask(&shards, "r"));
        assert!(poll!(&mut answer).is_pending());
        wait_often().await;
        // The store has not been let work since the last commit was begun.
        let Poll::Ready(answer) = poll!(&mut answer) else {
            panic!("the question waits for the store");
        };
        assert!(!answer.degraded);
        hand.work();
        wait_often().await;
        tokio::time::advance(PENDING_WAIT).await;
        wait_often().await;
        saved = shards.store().load_run("r").unwrap();
        if saved.is_some() {
            break;
        }
    }
    assert!(saved.expect("it is saved").position > 0);
}

pub(super) async fn start_by_hand(dir: &Path, settings: Settings) -> (Shards, ByHand) {
    let (store, mut hand) = Store::by_hand(dir, &Options::default()).unwrap();
    let starting = Shards::start_at(clock(), store, Arc::new(agentium()), settings);
    let mut starting = Box::pin(starting);
    loop {
        if let Poll::Ready(shards) = poll!(&mut starting) {
            return (shards.expect("the shards start"), hand);
        }
        hand.work();
        yield_now().await;
    }
}

/// Lets the shard get on as far as it does without the store.
pub(super) async fn wait_often() {
    for _ in 0..20 {
        yield_now().await;
    }
}
