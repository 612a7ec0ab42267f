//! `kill -9` under load: what was acknowledged is there, and nothing counts twice (P1, P2).
//!
//! This process keeps what was acknowledged; the daemon is another process. Several senders each feed a run of their own
//! with calls that all differ, so that a run's number of tool calls says which of them had effect. `EDDY_KILLS` sets how
//! often the daemon is killed: 20 times by default, 100 in the long form.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::load::set_by;
use super::support::{Daemon, Dice, Export, PATIENCE, Sender, free_port, runtime};

pub(crate) const SENDERS: u64 = 4;

pub(crate) fn text(key: &str, value: String) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value)),
        }),
        ..KeyValue::default()
    }
}

/// From the beginning of one call to that of the next, in nanoseconds: so short that a hundred million of them, as many as a
/// sender brings in over ten hours, are not ahead of the clock.
const CALL_NS: u64 = 30_000;

/// Calls number `from` to `to` of a sender's run, in one request.
pub(crate) fn calls(sender: u64, from: u64, to: u64) -> ExportTraceServiceRequest {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    let start = now.as_nanos() as u64 - 3_600_000_000_000;
    let spans = (from..to).map(|number| Span {
        trace_id: (u128::from(sender) + 1).to_be_bytes().to_vec(),
        span_id: ((sender + 1) << 32 | (number + 1)).to_be_bytes().to_vec(),
        parent_span_id: vec![7; 8],
        name: "execute_tool search".into(),
        start_time_unix_nano: start + number * CALL_NS,
        end_time_unix_nano: start + number * CALL_NS + 1_000,
        attributes: vec![
            text("gen_ai.operation.name", "execute_tool".into()),
            text("gen_ai.tool.name", "search".into()),
            text("gen_ai.tool.call.id", format!("call-{sender}-{number}")),
            text(
                "gen_ai.tool.call.arguments",
                format!(r#"{{"item":"{number}"}}"#),
            ),
            text(
                "gen_ai.tool.call.result",
                format!(r#"{{"found":"thing {number}"}}"#),
            ),
        ],
        ..Span::default()
    });
    let scope = Some(InstrumentationScope {
        name: "test".into(),
        ..InstrumentationScope::default()
    });
    let scope_spans = vec![ScopeSpans {
        scope,
        spans: spans.collect(),
        ..ScopeSpans::default()
    }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans,
            ..ResourceSpans::default()
        }],
    }
}

/// Senders at work, each of them on a run of its own.
pub(crate) struct Feeding {
    shared: Arc<Shared>,
    runtime: Runtime,
    senders: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    acknowledged: [AtomicU64; SENDERS as usize],
    stop: AtomicBool,
}

impl Feeding {
    /// Begins to send to the daemon that listens at this port, now or later, as fast as it goes.
    pub(crate) fn start(grpc: SocketAddr) -> Self {
        Self::start_resting(grpc, 0)
    }

    /// The same, with a rest after each batch that is so many times as long as its sending was.
    pub(crate) fn start_resting(grpc: SocketAddr, rests: u32) -> Self {
        let (shared, runtime) = (Arc::<Shared>::default(), runtime());
        let senders = (0..SENDERS).map(|sender| {
            let shared = Arc::clone(&shared);
            runtime.spawn(async move { feed(&shared, sender, grpc, rests).await })
        });
        let senders = senders.collect();
        Self {
            shared,
            runtime,
            senders,
        }
    }

    /// How many calls of each sender have been acknowledged.
    pub(crate) fn acknowledged(&self) -> Vec<u64> {
        let counts = self.shared.acknowledged.iter();
        counts.map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Has each sender finish its batch, and answers with how many calls of each there must be.
    pub(crate) fn stop(mut self) -> Vec<u64> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let senders = std::mem::take(&mut self.senders);
        self.runtime.block_on(async {
            let finished = tokio::time::timeout(PATIENCE, async {
                for sender in senders {
                    sender.await.expect("no panic");
                }
            });
            finished.await.expect("the senders finish");
        });
        self.acknowledged()
    }
}

/// Sends batch after batch; one that is not acknowledged is sent again as it was, as an exporter does.
async fn feed(shared: &Shared, sender: u64, grpc: SocketAddr, rests: u32) {
    let mut client = Sender::new(grpc);
    let mut dice = Dice(sender + 99);
    let mut next = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        let to = next + 1 + dice.below(20) as u64;
        let request = calls(sender, next, to);
        let began = Instant::now();
        while client.send(Export::Traces(request.clone())).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        shared.acknowledged[sender as usize].store(to, Ordering::SeqCst);
        next = to;
        tokio::time::sleep(rests * began.elapsed()).await;
    }
}

fn run_id(sender: u64) -> String {
    format!("{:032x}", sender + 1)
}

/// Compares what a daemon shows with what was acknowledged at least and sent at most.
pub(crate) fn compare(daemon: &Daemon, acknowledged: &[u64], sent: &[u64], kill: u64) {
    for sender in 0..SENDERS {
        let (code, run) = daemon.get(&format!("/v1/runs/{}", run_id(sender)));
        let shown = if code == 404 {
            0
        } else {
            run["tool_calls"].as_u64().expect("a number of calls")
        };
        let (least, most) = (acknowledged[sender as usize], sent[sender as usize]);
        assert!(
            shown >= least,
            "kill {kill}: {least} calls of sender {sender} were acknowledged, {shown} are there"
        );
        assert!(
            shown <= most,
            "kill {kill}: {most} calls of sender {sender} were sent, {shown} are there"
        );
    }
}

/// Given a daemon that is killed at random moments under load, no acknowledged span is without effect, and none counts twice.
#[test]
fn acknowledged_is_there_after_kill_9() {
    let kills = set_by("EDDY_KILLS", 20);
    let data = tempfile::tempdir().expect("a temporary directory");
    let grpc = free_port();
    let mut daemon = Daemon::start_with(data.path(), grpc, &[]);
    let feeding = Feeding::start(grpc);
    let mut dice = Dice(7);
    for kill in 1..=kills {
        std::thread::sleep(Duration::from_millis(50 + dice.below(400) as u64));
        let acknowledged = feeding.acknowledged();
        daemon.kill_9();
        daemon = Daemon::start_with(data.path(), grpc, &[]);
        // Senders go on at once, so only the lower bound is known until they have stopped.
        compare(&daemon, &acknowledged, &[u64::MAX; SENDERS as usize], kill);
    }
    let all = feeding.stop();
    assert!(
        all.iter().sum::<u64>() > kills * 10,
        "there was hardly any load: {all:?}"
    );
    compare(&daemon, &all, &all, kills + 1);
}
