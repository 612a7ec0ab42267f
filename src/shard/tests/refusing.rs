//! Requests that cannot be taken are refused whole.

use std::time::Duration;

use super::{A, B, C, calls, hex, kill, listed, settings, start, still, stop, submit, view};
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
    // A request larger than any inbox is taken when the inbox is empty.
    submit(&shards, calls(A, None, 20..40)).await;
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
