//! How long it takes from a span to its alert, beside telemetry.
//!
//!     cargo bench --bench alert
//!
//! One daemon, a process of its own with a store on disk, is sent 20,000 spans a second, as for `guard`. Fifty times a second
//! an agent makes its third equal call, the one with which its run is warned of: the time runs from the sending of that span
//! until the alert comes out of `TailAlerts`. Goal: p99 at most 50 ms. `EDDY_BENCH_LOAD=10` sends a tenth of the spans and
//! loops; `EDDY_PROGRAM` names another build of the daemon.

mod load;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use eddy::api::v1;
use eddy::api::v1::tail_alerts_response::Message;
use eddy::api::v1::warning_service_client::WarningServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::time::timeout;
use tonic::transport::Channel;

use load::{Server, fetch, free, loaded, now_ns, text};

const SECONDS: u64 = 10;
const LOOPS_PER_SECOND: u64 = 50;
/// The call with which a run is warned of.
const CALLS: u64 = 3;
/// How long the last alerts are waited for.
const WAIT_MAX: Duration = Duration::from_secs(5);

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let data = tempfile::tempdir().expect("a directory");
    let (otlp, api) = (free(), free());
    let _server = Server::eddy(data.path(), otlp, api);
    runtime.block_on(measure(otlp, api));
}

async fn measure(otlp: SocketAddr, api: SocketAddr) {
    let alerts = tokio::spawn(tail(api));
    let sent = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let senders = load::begin(otlp, &sent);
    let loops = send_loops(otlp).await;
    let seconds = began.elapsed().as_secs_f64();
    let heard = alerts.await.expect("the tail does not panic");
    for sender in senders {
        sender.abort();
    }
    let wait = |(run, sent): &(String, Instant)| Some(heard.get(run)?.duration_since(*sent));
    let mut waits: Vec<Duration> = loops.iter().filter_map(wait).collect();
    waits.sort_unstable();
    let spans = sent.load(Ordering::Relaxed) as f64 / seconds;
    let missing = loops.len() - waits.len();
    println!("goal: p99 50 ms");
    println!(
        "{} alerts beside {spans:.0} acknowledged spans/s, {missing} missing",
        waits.len()
    );
    let at = |share| load::share_ms(&waits, share);
    println!(
        "    p50 {:.1} ms  p90 {:.1} ms  p99 {:.1} ms  longest {:.1} ms",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

/// When the first alert of each run came.
async fn tail(api: SocketAddr) -> HashMap<String, Instant> {
    let mut warnings = WarningServiceClient::connect(format!("http://{api}"))
        .await
        .expect("the API listens");
    let asked = v1::TailAlertsRequest::default();
    let answer = warnings.tail_alerts(asked).await.expect("a tail");
    let mut alerts = answer.into_inner();
    let mut heard = HashMap::new();
    // A quiet tail has heard the last of them.
    while let Ok(Ok(Some(told))) = timeout(WAIT_MAX, alerts.message()).await {
        if let Some(Message::Alert(alert)) = told.message {
            heard.entry(alert.run_id).or_insert_with(Instant::now);
        }
    }
    heard
}

/// The runs that looped, and when the span was sent that shows it.
async fn send_loops(otlp: SocketAddr) -> Vec<(String, Instant)> {
    let traces = TraceServiceClient::connect(format!("http://{otlp}"))
        .await
        .expect("the receiver listens");
    let per_second = loaded(LOOPS_PER_SECOND);
    let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / per_second));
    let mut agents = Vec::new();
    for number in 0..per_second * SECONDS {
        ticks.tick().await;
        agents.push(tokio::spawn(agent(traces.clone(), number)));
    }
    let mut loops = Vec::new();
    for agent in agents {
        loops.push(agent.await.expect("an agent does not panic"));
    }
    loops
}

/// An agent that makes the same call three times, each reported by itself. Its run, and when the last span was sent.
async fn agent(mut traces: TraceServiceClient<Channel>, number: u64) -> (String, Instant) {
    let run = format!("loop-{number}");
    let mut sent = Instant::now();
    for call in 0..CALLS {
        let span = span(&run, number, call);
        sent = Instant::now();
        let taken = traces.export(load::export(vec![span])).await;
        taken.expect("a span is taken");
    }
    (run, sent)
}

/// One of the equal calls of an agent.
fn span(run: &str, number: u64, call: u64) -> Span {
    let numbers = (u64::MAX - number, u64::MAX - number * CALLS - call);
    let mut span = fetch(numbers, now_ns(), run.into());
    let found = r#"{"found":"what was found before, and nothing else"}"#;
    span.attributes.extend([
        text(
            "gen_ai.tool.call.arguments",
            r#"{"item":"the same"}"#.into(),
        ),
        text("gen_ai.tool.call.result", found.into()),
    ]);
    span
}
