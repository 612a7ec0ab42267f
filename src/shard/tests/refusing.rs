//! Requests that cannot be taken are refused whole.

use std::time::Duration;

use futures_util::poll;

use super::guard::{one_shard, start_by_hand, wait_often};
use super::{
    A, B, C, NOW_MS, call, calls, hex, kill, listed, report, settings, start, still, stop, submit,
    view,
};
use crate::engine::event::{Event, TraceId};
use crate::normalize::Report;
use crate::shard::{Refusal, RunFilter, Settings};

/// Given a full inbox, a request is refused whole and leaves nothing behind; the time to wait grows; when there is room
/// again the same request is taken.
#[tokio::test(start_paused = true)]
async fn a_full_inbox_refuses_whole_requests() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let small = Settings {
        inbox_reports_max: 4,
        ..settings()
    };
    let shards = start(dir.path(), small).await;
    // Nothing is taken out before this task waits for something.
    let waiting = shards
        .shared
        .admit(calls(A, None, 0..3), &shards.policy())
        .await
        .unwrap();
    let mut mixed = calls(B, None, 0..1);
    mixed.extend(calls(C, Some(&hex(A)), 5..7));
    let mut waits = Vec::new();
    for _ in 0..1000 {
        match shards.shared.admit(mixed.clone(), &shards.policy()).await {
            Err(Refusal::Overloaded { retry_after }) => waits.push(retry_after),
            other => panic!("not refused but {:?}", other.map(|waiting| waiting.len())),
        }
    }
    assert!(waits[0] <= Duration::from_secs(1), "{waits:?}");
    assert!(waits[999] > waits[0] * 3, "{waits:?}");
    assert!(waits.windows(2).any(|pair| pair[0] > pair[1]), "no jitter");
    for done in waiting {
        done.await.unwrap();
    }
    // The refused request has taught nothing: its trace without a name is still a run of its own.
    submit(&shards, calls(C, None, 8..9)).await;
    let own = [hex(C), hex(A)];
    assert_eq!(
        listed(&shards, &RunFilter::default()).await.len(),
        own.len()
    );
    submit(&shards, mixed).await;
    assert_eq!(view(&shards, &hex(A)).await.tool_calls, 6);
    // A request larger than any inbox is taken when the inbox is half empty, and waits for no moment in which nothing is there.
    let policy = shards.policy();
    let admit = |from, to| shards.shared.admit(calls(A, None, from..to), &policy);
    let mut waiting = admit(10, 12).await.unwrap();
    waiting.extend(admit(20, 40).await.unwrap());
    assert!(admit(12, 13).await.is_err());
    for done in waiting {
        done.await.unwrap();
    }
}

/// Given a store that takes no more, senders are told to try again, readiness is gone, and what was committed can still
/// be read, and nothing else.
#[tokio::test(start_paused = true)]
async fn a_failed_commit_stops_the_shard() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..1)).await;
    assert!(shards.is_ready());
    shards.store().clone().close().await.unwrap();
    let refused = shards
        .submit(calls(A, Some("r"), 1..2), shards.policy())
        .await;
    assert_eq!(refused, Err(Refusal::Failed));
    assert!(!shards.is_ready());
    assert_eq!(
        shards.submit(calls(B, None, 0..1), shards.policy()).await,
        Err(Refusal::Failed)
    );
    let seen = shards.run("r").await.unwrap();
    assert!(seen.is_none_or(|run| run.tool_calls == 1));
    stop(&shards).await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 1);
}

/// Given a panic in one of the tasks, what is sent is refused for now: whoever supervises the shards begins them anew.
#[tokio::test(start_paused = true)]
async fn a_panic_fails_the_shards() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    assert!(shards.shared.spawn(async {}).await.is_ok());
    assert!(shards.is_ready());
    let panicking = shards.shared.spawn(async { panic!("as the test has it") });
    assert!(panicking.await.is_err());
    let refused = shards.submit(calls(A, None, 0..1), shards.policy()).await;
    assert_eq!(refused, Err(Refusal::Failed));
    assert!(!shards.is_ready());
    stop(&shards).await;
}

/// Given a connection that waits for room in shards that are given up, it waits no longer.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_shards_that_are_given_up() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    shards.shared.backpressure.refuse();
    let given_up = async {
        tokio::task::yield_now().await;
        shards.abandon();
    };
    // The clock stands still.
    tokio::join!(shards.room(), given_up);
}

/// One report each of so many traces.
fn of_traces(numbers: std::ops::Range<u64>) -> Vec<Report> {
    let traces = numbers.map(|number| TraceId((u128::from(number + 1) << 64).to_be_bytes()));
    traces.flat_map(|trace| calls(trace, None, 0..1)).collect()
}

/// Given one request with very many traces, or very many calls of one, no turn takes more than twice what is enough for one, and it
/// is answered when all of it is committed.
#[tokio::test(start_paused = true)]
async fn a_large_request_is_taken_in_turns() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        resident_runs_max: 100,
        turn_events_max: 256,
        ..one_shard()
    };
    let shards = start(dir.path(), settings).await;
    submit(&shards, of_traces(0..5_000)).await;
    assert_eq!(shards.run_count(), 5_000);
    let turns = || shards.counters().turns.value();
    let before = turns();
    assert!(before >= 5_000 / 512, "{before} turns");
    // In an order in which most would come too late, one after the other.
    let at_once = |n| Event {
        start_ns: NOW_MS * 1_000_000 + n,
        end_ns: NOW_MS * 1_000_000 + n,
        ..call(A, n)
    };
    let long = report(A, None, (0..5_000).rev().map(at_once).collect());
    submit(&shards, vec![long]).await;
    assert_eq!(view(&shards, &hex(A)).await.tool_calls, 5_000);
    assert!(
        turns() - before >= 5_000 / 512,
        "{} turns",
        turns() - before
    );
    assert_eq!(shards.load().inbox_reports, 0);
}

/// Given a crash after some turns of a request and before the last, its sender was not answered; sent again, it counts once.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_taken_in_part_counts_once() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        turn_events_max: 4,
        ..one_shard()
    };
    let whole = || {
        let mut reports = calls(A, Some("r"), 0..1);
        reports.extend(calls(A, None, 1..10));
        reports
    };
    let (shards, mut hand) = start_by_hand(dir.path(), settings.clone()).await;
    wait_often().await;
    let mut sending = Box::pin(submit(&shards, whole()));
    assert!(poll!(&mut sending).is_pending());
    wait_often().await;
    assert!(hand.work());
    wait_often().await;
    assert!(poll!(&mut sending).is_pending(), "there is more of it");
    drop(sending);
    kill(shards).await;
    drop(hand);
    let shards = start(dir.path(), settings).await;
    let taken = view(&shards, "r").await.tool_calls;
    assert!((4..10).contains(&taken), "{taken} calls");
    submit(&shards, whole()).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 10);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a request that would begin more runs than may be begun, it is refused for now and begins none; one that begins as many as
/// may be is taken, and so is one that goes on with those.
#[tokio::test(start_paused = true)]
async fn a_request_begins_no_more_runs_than_there_may_be() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        retention_runs: 1_000,
        ..settings()
    };
    // The limit, and twice what may be in excess of it.
    let most = 1_000 + 2 * (1_000 / 4 + 100);
    let shards = start(dir.path(), settings).await;
    let too_many = shards.submit(of_traces(0..most + 1), shards.policy()).await;
    assert!(
        matches!(too_many, Err(Refusal::Crowded { .. })),
        "{too_many:?}"
    );
    assert_eq!(shards.run_count(), 0);
    submit(&shards, of_traces(0..most)).await;
    assert_eq!(shards.run_count(), most);
    submit(&shards, of_traces(0..most)).await;
}
