//! What is asked of the database keeps nobody waiting who needs no answer of it.

use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, poll};

use super::guard::{ask, one_shard, start_by_hand, wait_often};
use super::{A, B, C, RunFilter, calls, hex, kill, moment, still, stop, submit, view};
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

/// Given a disk that does not answer, whoever looks at runs that are not in memory waits, and the guard answers; when the disk
/// does, all of it is shown, and who watches such a run sees it as it was, and then how it goes on.
#[tokio::test(start_paused = true)]
async fn who_looks_at_runs_on_disk_holds_up_nobody_else() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    working(&mut hand, submit(&shards, calls(A, Some("old"), 0..7))).await;
    let warnings = view(&shards, "old").await.warnings;
    working(&mut hand, stop(&shards)).await;
    hand.settle();
    kill(shards).await;
    drop(hand);
    wait_often().await;
    let (shards, mut hand) = start_by_hand(dir.path(), one_shard()).await;
    working(&mut hand, submit(&shards, calls(B, Some("new"), 0..1))).await;
    assert_eq!(shards.load().resident_runs, 1);
    let began = Instant::now();
    hand.hold_reads(true);
    let (old, filter) = ("old".into(), RunFilter::default());
    let mut run = Box::pin(shards.run("old"));
    let mut list = Box::pin(shards.runs(&filter, 10, None));
    let mut explained = Box::pin(shards.explain(&old, warnings[0].id));
    let mut watched = Box::pin(shards.watch("old"));
    for _ in 0..10 {
        assert!(poll!(&mut run).is_pending() && poll!(&mut list).is_pending());
        assert!(poll!(&mut explained).is_pending() && poll!(&mut watched).is_pending());
        wait_often().await;
        assert!(!ask(&shards, "new").await.degraded);
        hand.work();
    }
    assert!(began.elapsed() < READS_HELD_MAX, "somebody waited");
    hand.hold_reads(false);
    let looking = async {
        assert_eq!(run.await.unwrap().expect("it is there").tool_calls, 7);
        assert_eq!(list.await.unwrap().runs.len(), 2);
        assert!(explained.await.unwrap().is_some());
    };
    working(&mut hand, looking).await;
    let mut watched = Box::pin(watched.await);
    assert_eq!(watched.next().await.expect("it is shown").tool_calls, 7);
    working(&mut hand, submit(&shards, calls(A, Some("old"), 7..8))).await;
    assert_eq!(watched.next().await.expect("it goes on").tool_calls, 8);
    let mut other = Box::pin(shards.watch("old").await);
    assert_eq!(other.next().await.expect("it is shown").tool_calls, 8);
    assert!(poll!(watched.next()).is_pending() && poll!(other.next()).is_pending());
}
