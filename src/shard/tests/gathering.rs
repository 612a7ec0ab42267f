//! Turns that wait for senders that were just answered.

use std::path::Path;
use std::time::Duration;

use super::guard::ask;
use super::{A, Settings, Shards, calls, moment, settings, start, still, submit};

const GATHER: Duration = Duration::from_millis(1);

async fn start_gathering(dir: &Path) -> Shards {
    let gathering = Settings {
        shards: 1,
        gather: GATHER,
        ..settings()
    };
    start(dir, gathering).await
}

async fn send(shards: &Shards, nth: u64) {
    submit(shards, calls(A, Some("r"), nth..nth + 1)).await;
}

/// Sends a request whose turn waits for another one.
async fn send_first(shards: &Shards, nth: u64) -> tokio::task::JoinHandle<()> {
    let shards = shards.clone();
    let sending = tokio::spawn(async move { send(&shards, nth).await });
    for _ in 0..10 {
        moment().await;
    }
    sending
}

/// Given two senders that were answered together, the one that is back first waits for the other.
#[tokio::test(start_paused = true)]
async fn senders_share_the_next_turn() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_gathering(dir.path()).await;
    let turns = || shards.counters().turns.value();
    tokio::join!(send(&shards, 0), send(&shards, 1));
    assert_eq!(turns(), 1);
    let first = send_first(&shards, 2).await;
    send(&shards, 3).await;
    first.await.unwrap();
    assert_eq!(turns(), 2);
}

/// Given a sender that stays away, it is waited for no longer than may be, and the next time not at all.
#[tokio::test(start_paused = true)]
async fn who_stays_away_is_not_waited_for() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_gathering(dir.path()).await;
    let turns = || shards.counters().turns.value();
    tokio::join!(send(&shards, 0), send(&shards, 1));
    let alone = send_first(&shards, 2).await;
    assert_eq!(turns(), 1);
    tokio::time::advance(2 * GATHER).await;
    alone.await.unwrap();
    assert_eq!(turns(), 2);
    tokio::join!(send(&shards, 3), send(&shards, 4));
    // Time stands still: it would wait for ever.
    send(&shards, 5).await;
    assert_eq!(turns(), 4);
}

/// Given a turn that waits, questions to the guard are answered meanwhile.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_meanwhile() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start_gathering(dir.path()).await;
    tokio::join!(send(&shards, 0), send(&shards, 1));
    let first = send_first(&shards, 2).await;
    assert!(!ask(&shards, "r").await.degraded);
    assert_eq!(shards.counters().turns.value(), 1);
    send(&shards, 3).await;
    first.await.unwrap();
}
