//! What is asked of the database keeps nobody waiting who needs no answer of it.

use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::poll;

use super::guard::{ask, one_shard, start_by_hand, wait_often};
use super::{A, B, C, calls, hex, kill, moment, still, submit, view};
use crate::store::{ByHand, READS_HELD_MAX};

/// Waits for something while the store does what waits.
pub(super) async fn working(hand: &mut ByHand, future: impl Future<Output = ()>) {
    let mut future = Box::pin(future);
    for _ in 0..1_000 {
        if poll!(&mut future).is_ready() {
            return;
        }
        moment().await;
        hand.work();
    }
    panic!("it never ends");
}

/// Given a disk that does not answer, and a trace and a run of which only the database knows whether they are known, whoever sends
/// of them waits, and whoever asks the guard is let go in time; all others go on. When it answers, the former is taken.
#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_answer_holds_up_nobody_else() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    working(&mut hand, submit(&shards, calls(A, Some("known"), 0..1))).await;
    hand.settle();
    kill(shards).await;
    drop(hand);
    wait_often().await;
    // A database that is opened again does not know at once what it lacks.
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    working(&mut hand, submit(&shards, calls(A, Some("known"), 1..2))).await;
    let began = Instant::now();
    hand.hold_reads(true);
    let mut unknown = Box::pin(submit(&shards, calls(B, None, 0..1)));
    let mut known = Box::pin(submit(&shards, calls(A, Some("known"), 2..3)));
    assert!(poll!(&mut unknown).is_pending() && poll!(&mut known).is_pending());
    wait_often().await;
    hand.work();
    wait_often().await;
    assert!(poll!(&mut known).is_ready(), "it waits for the disk");
    assert!(!ask(&shards, "known").await.degraded);
    let (trace, mut answer) = (hex(C), None);
    let mut asking = Box::pin(ask(&shards, &trace));
    for _ in 0..100 {
        if let Poll::Ready(ready) = poll!(&mut asking) {
            answer = Some(ready);
            break;
        }
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert!(answer.expect("it is let go in time").degraded);
    assert!(poll!(&mut unknown).is_pending());
    assert!(began.elapsed() < READS_HELD_MAX, "somebody waited");
    hand.hold_reads(false);
    working(&mut hand, unknown).await;
    let viewing = async { assert_eq!(view(&shards, &hex(B)).await.tool_calls, 1) };
    working(&mut hand, viewing).await;
}
