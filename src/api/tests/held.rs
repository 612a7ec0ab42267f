//! While the disk does not answer: who needs it waits, and nobody else.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::poll;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{Fixture, Options, PATIENCE, POLICY, Policy, Settings, Severity, v1};
use crate::shard::{self, Shards};
use crate::store::{ByHand, READS_HELD_MAX, Store};

/// What a future comes to while the store does what waits.
async fn working<T>(hand: &mut ByHand, future: impl Future<Output = T>) -> T {
    let mut future = Box::pin(future);
    let began = Instant::now();
    loop {
        if let Poll::Ready(done) = poll!(&mut future) {
            return done;
        }
        assert!(began.elapsed() < PATIENCE, "it never ends");
        tokio::time::sleep(Duration::from_millis(1)).await;
        hand.work();
    }
}

async fn start(dir: TempDir) -> (Fixture, ByHand) {
    let (store, mut hand) = Store::by_hand(dir.path(), &Options::default()).unwrap();
    let mut policy: Policy = serde_json::from_str(POLICY).unwrap();
    policy.guard.deadline_ms = 5_000;
    let shards = Shards::start(store, Arc::new(policy), shard::Settings::default());
    let shards = working(&mut hand, shards).await.unwrap();
    (Fixture::serve(shards, Settings::default(), dir).await, hand)
}

/// Asks the guard whether a run may make a call.
async fn check(eddy: &Fixture, run_id: &str) -> Value {
    let question = json!({"run_id": run_id, "tool": "search", "arguments": "{}"}).to_string();
    let length = format!("content-length: {}\r\n", question.len());
    let mut socket = eddy.ask("POST", "/v1/guard/check", &length).await;
    socket.write_all(question.as_bytes()).await.unwrap();
    let mut text = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut text)).await;
    read.unwrap().unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// Given a disk that does not answer, and more who look at runs, warnings and alerts on it than threads may wait, the guard
/// answers, Eddy is alive and shows its metrics; when the disk answers, all of them are shown what they asked for.
#[tokio::test]
async fn a_disk_that_does_not_answer_holds_up_only_who_needs_it() {
    let (eddy, mut hand) = start(TempDir::new().unwrap()).await;
    working(&mut hand, eddy.report_loop("r", "agent", 0..1)).await;
    working(&mut hand, eddy.commit_alerts("r", Severity::Warning, 3)).await;
    hand.settle();
    let began = Instant::now();
    hand.hold_reads(true);
    let mut pages: Vec<_> = (0..4).map(|_| Box::pin(eddy.get("/v1/runs"))).collect();
    let mut warnings = eddy.warnings().await;
    let mut listed = Box::pin(warnings.list_warnings(v1::ListWarningsRequest::default()));
    let mut tail = eddy.events("/v1/alerts?cursor=0", "").await;
    for _ in 0..10 {
        for page in &mut pages {
            assert!(poll!(page).is_pending());
        }
        assert!(poll!(&mut listed).is_pending());
        assert!(poll!(Box::pin(tail.next())).is_pending());
        assert_eq!(check(&eddy, "r").await["degraded"], false);
        assert_eq!(eddy.get_text("/healthz").await.0, 200);
        assert_eq!(eddy.get_text("/metrics").await.0, 200);
        hand.work();
    }
    assert!(began.elapsed() < READS_HELD_MAX, "somebody waited");
    hand.hold_reads(false);
    for page in pages {
        assert_eq!(working(&mut hand, page).await.0, 200);
    }
    assert!(working(&mut hand, listed).await.is_ok());
    let id = tail.next().await.unwrap().id;
    assert_eq!(id, "1@2023-11-14T22:13:22.000Z");
}
