//! What the measurements of a daemon under load share: a server that runs as a process of its own, and telemetry for it.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::task::JoinHandle;
use tokio::time::Instant;

const SPANS_PER_SECOND: u64 = 20_000;
const SPANS_PER_REQUEST: u64 = 100;
const SENDERS: u64 = 4;
/// Runs that the spans are of: `run-0` and so on. Each of their calls brings something new.
pub(crate) const RUNS: u64 = 200;

/// A server under load, ended when dropped.
pub(crate) struct Server(Child);

impl Server {
    /// The daemon that `EDDY_PROGRAM` names, else the one that was built with this program.
    pub(crate) fn eddy(data: &Path, otlp: SocketAddr, api: SocketAddr) -> Self {
        let program = std::env::var_os("EDDY_PROGRAM");
        let mut command = Command::new(program.unwrap_or(env!("CARGO_BIN_EXE_eddy").into()));
        command.args(["serve", "--otlp-grpc", &otlp.to_string()]);
        command.args(["--api", &api.to_string()]);
        command.args(["--otlp-http", "127.0.0.1:0", "--data-dir"]);
        command.arg(data);
        Self::start(command)
    }

    /// Any server that says that it is ready.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let stderr = child.stderr.take().expect("its stderr is ours");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains("ready"));
        assert!(is_ready, "the server did not start");
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address that nobody listens on.
pub(crate) fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it has an address")
}

/// A rate, by the load that is asked for in percent.
pub(crate) fn loaded(per_second: u64) -> u64 {
    let percent = std::env::var("EDDY_BENCH_LOAD").ok();
    let percent = percent.and_then(|percent| percent.parse().ok());
    (per_second * percent.unwrap_or(100) / 100).max(1)
}

/// The time that `share` of the sorted times do not exceed, in milliseconds.
pub(crate) fn share_ms(sorted: &[Duration], share: f64) -> f64 {
    assert!(!sorted.is_empty(), "nothing was answered");
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)].as_secs_f64() * 1e3
}

/// Begins to send 20,000 spans a second, in requests of 100 over four connections, one after the other as senders do that know
/// nothing of each other, and counts those that are acknowledged.
pub(crate) fn begin(otlp: SocketAddr, sent: &Arc<AtomicU64>) -> Vec<JoinHandle<()>> {
    let sender = |number| tokio::spawn(send_spans(otlp, number, Arc::clone(sent)));
    (0..SENDERS).map(sender).collect()
}

async fn send_spans(otlp: SocketAddr, sender: u64, sent: Arc<AtomicU64>) {
    let mut traces = TraceServiceClient::connect(format!("http://{otlp}"))
        .await
        .expect("the receiver listens");
    let per_second = (loaded(SPANS_PER_SECOND) / SPANS_PER_REQUEST / SENDERS).max(1);
    let period = Duration::from_micros(1_000_000 / per_second);
    let turn = period * sender as u32 / SENDERS as u32;
    let mut ticks = tokio::time::interval_at(Instant::now() + turn, period);
    for request in 0.. {
        ticks.tick().await;
        let spans = spans(sender, request);
        if traces.export(spans).await.is_ok() {
            sent.fetch_add(SPANS_PER_REQUEST, Ordering::Relaxed);
        }
    }
}

fn spans(sender: u64, request: u64) -> ExportTraceServiceRequest {
    let now_ns = now_ns();
    let spans = (0..SPANS_PER_REQUEST).map(|place| {
        let number = (request * SENDERS + sender) * SPANS_PER_REQUEST + place;
        let run = number % RUNS;
        let start = now_ns - (SPANS_PER_REQUEST - place) * 10_000;
        let mut call = fetch((run + 1, number + 1), start, format!("run-{run}"));
        call.attributes.extend([
            text("gen_ai.tool.call.id", format!("call-{number}")),
            text(
                "gen_ai.tool.call.arguments",
                format!(r#"{{"item":"{number}"}}"#),
            ),
            text(
                "gen_ai.tool.call.result",
                format!(r#"{{"found":"thing {number}"}}"#),
            ),
        ]);
        call
    });
    export(spans.collect())
}

/// A call of a tool in some run, by the numbers of its trace and its span, that takes a microsecond.
pub(crate) fn fetch((trace, span): (u64, u64), start_ns: u64, run: String) -> Span {
    Span {
        trace_id: u128::from(trace).to_be_bytes().to_vec(),
        span_id: span.to_be_bytes().to_vec(),
        parent_span_id: vec![7; 8],
        name: "execute_tool fetch".into(),
        start_time_unix_nano: start_ns,
        end_time_unix_nano: start_ns + 1_000,
        attributes: vec![
            text("gen_ai.operation.name", "execute_tool".into()),
            text("gen_ai.conversation.id", run),
            text("gen_ai.tool.name", "fetch".into()),
        ],
        ..Span::default()
    }
}

/// Now, in nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_nanos() as u64
}

/// A request with these spans.
pub(crate) fn export(spans: Vec<Span>) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "bench".into(),
                    ..InstrumentationScope::default()
                }),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// An attribute.
pub(crate) fn text(key: &str, value: String) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value)),
        }),
        ..KeyValue::default()
    }
}
