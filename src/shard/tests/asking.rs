//! Watches and lists show what is committed.

use std::time::Duration;

use futures_util::StreamExt;

use super::{A, calls, hex, listed, pass, settings, start, still, stop, submit, view};
use crate::engine::event::TraceId;
use crate::engine::view::Status;
use crate::shard::inbox::{Look, Query};
use crate::shard::watchers::WATCHED_RUNS_MAX;
use crate::shard::{RunFilter, Settings};

/// Given a watcher, it sees the run as it is, and then every commit or the newest of several; it sees the end of a run
/// that moves.
#[tokio::test(start_paused = true)]
async fn watchers_see_what_is_committed() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let mut early = Box::pin(shards.watch(&hex(A)).await);
    let nothing = futures_util::poll!(early.next());
    assert!(nothing.is_pending());
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(early.next().await.unwrap().tool_calls, 1);
    let mut late = Box::pin(shards.watch(&hex(A)).await);
    assert_eq!(late.next().await.unwrap().tool_calls, 1);
    for n in 1..4 {
        submit(&shards, calls(A, None, n..n + 1)).await;
    }
    assert_eq!(early.next().await.unwrap().tool_calls, 4);
    assert_eq!(late.next().await.unwrap().tool_calls, 4);
    submit(&shards, calls(A, Some("r"), 4..5)).await;
    assert!(early.next().await.is_none());
    let mut moved = Box::pin(shards.watch("r").await);
    assert_eq!(moved.next().await.unwrap().tool_calls, 5);
    stop(&shards).await;
    assert!(moved.next().await.is_none());
}

/// Given a thousand watched runs of one shard, a further watcher is refused, until some of the others have gone.
#[tokio::test(start_paused = true)]
async fn watched_runs_have_a_limit() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let one = Settings {
        shards: 1,
        ..settings()
    };
    let shards = start(dir.path(), one).await;
    let mut watching = Vec::new();
    for number in 0..WATCHED_RUNS_MAX {
        let run_id = number.to_string().into();
        let ask = |reply| Query::Look(Look::Watch { run_id, reply });
        watching.push(
            shards.shared.inboxes[0]
                .ask(ask)
                .await
                .expect("there is room"),
        );
    }
    assert!(shards.watch("more").await.boxed().next().await.is_none());
    assert_eq!(shards.counters().refused_watchers.value(), 1);
    drop(watching);
    submit(&shards, calls(A, Some("more"), 0..1)).await;
    assert!(shards.watch("more").await.boxed().next().await.is_some());
}

/// Given runs of different kinds, a list has those that pass, the last begun first, in pages.
#[tokio::test(start_paused = true)]
async fn lists_are_filtered_and_paged() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    for number in 1..8_u8 {
        let trace = TraceId([number; 16]);
        let count = if number % 2 == 0 { 8 } else { 1 };
        submit(&shards, calls(trace, Some(&number.to_string()), 0..count)).await;
        pass(1, Duration::from_millis(10)).await;
    }
    let all = listed(&shards, &RunFilter::default()).await;
    assert_eq!(all, ["7", "6", "5", "4", "3", "2", "1"]);
    let healthy = RunFilter {
        statuses: vec![Status::Healthy],
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &healthy).await, ["7", "5", "3", "1"]);
    let seen = view(&shards, "1").await.last_seen_ns;
    let late = RunFilter {
        min_last_seen_ns: Some(seen + 1),
        agent: Some("agent".into()),
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &late).await, ["6", "4", "2"]);
    let early = RunFilter {
        max_last_seen_ns: Some(seen),
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &early).await.len(), 4);
    let other = RunFilter {
        agent: Some("nobody".into()),
        ..RunFilter::default()
    };
    assert!(listed(&shards, &other).await.is_empty());
}
