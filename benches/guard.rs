//! How long an agent waits for the guard, beside telemetry.
//!
//!     cargo bench --bench guard
//!
//! One daemon, a process of its own with a store on disk, is sent 20,000 spans a second (100 in a request, four
//! connections) and asked about 1,000 calls a second over one gRPC connection for [`SECONDS`] seconds; each call is reported
//! afterwards. Questions are sent on time, whether or not earlier ones are answered, so that a slow answer does not hide
//! others; the time runs from the sending of a question to its answer. Goals: p50 at most 0.5 ms, p99 at most 2 ms, nothing
//! degraded. Load and daemon share the machine, so the same load is sent to a bare server as well, which decodes the spans,
//! drops them and allows every call at once: what an agent waits there, it waits for the machine. `EDDY_BENCH_LOAD=10` sends a
//! tenth of all that, for machines and builds that are slow; `EDDY_PROGRAM` names another build of the daemon.
//!
//! On a machine that does other work, most of the slowest hundredth wait for a core. `chrt -r 1 cargo bench --bench guard`, as
//! root on Linux, puts daemon, load and agent before all other programs: what remains is their own.

mod load;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use eddy::api::v1;
use eddy::api::v1::guard_service_client::GuardServiceClient;
use eddy::api::v1::guard_service_server::{GuardService, GuardServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server as Tonic};
use tonic::{Request, Response, Status, Streaming};

use load::{RUNS, Server, free, loaded};

const SECONDS: u64 = 10;
const CALLS_PER_SECOND: u64 = 1_000;
/// What is asked first is not counted: connections and caches are cold.
const WARM_UP: usize = 500;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    if let [_, bare, otlp, api] = &arguments[..]
        && bare == "--bare"
    {
        return runtime.block_on(serve_bare(otlp, api));
    }
    println!("goals: p50 0.5 ms, p99 2 ms");
    for name in ["bare server", "eddy"] {
        let data = tempfile::tempdir().expect("a directory");
        let (otlp, api) = (free(), free());
        let _server = start(name == "eddy", data.path(), otlp, api);
        runtime.block_on(measure(name, otlp, api));
    }
}

fn start(is_eddy: bool, data: &Path, otlp: SocketAddr, api: SocketAddr) -> Server {
    if is_eddy {
        return Server::eddy(data, otlp, api);
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--bare", &otlp.to_string(), &api.to_string()]);
    Server::start(command)
}

/// Drops every span and allows every call.
#[derive(Clone, Default)]
struct Bare;

#[tonic::async_trait]
impl TraceService for Bare {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        std::hint::black_box(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl GuardService for Bare {
    async fn check_tool_call(
        &self,
        _: Request<v1::CheckToolCallRequest>,
    ) -> Result<Response<v1::CheckToolCallResponse>, Status> {
        Ok(Response::new(v1::CheckToolCallResponse::default()))
    }

    async fn report_tool_result(
        &self,
        _: Request<v1::ReportToolResultRequest>,
    ) -> Result<Response<v1::ReportToolResultResponse>, Status> {
        Ok(Response::new(v1::ReportToolResultResponse::default()))
    }

    async fn report_message(
        &self,
        _: Request<v1::ReportMessageRequest>,
    ) -> Result<Response<v1::ReportMessageResponse>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    type SessionStream = tokio_stream::Empty<Result<v1::SessionResponse, Status>>;

    async fn session(
        &self,
        _: Request<Streaming<v1::SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }

    async fn get_totals(
        &self,
        _: Request<v1::GetTotalsRequest>,
    ) -> Result<Response<v1::GetTotalsResponse>, Status> {
        Err(Status::unimplemented("nobody asks"))
    }
}

async fn serve_bare(otlp: &str, api: &str) {
    let serve = |service: Routes, address: &str| {
        let address = address.parse().expect("an address");
        let incoming = TcpIncoming::bind(address).expect("the port is free");
        let server = Tonic::builder().add_routes(service);
        server.serve_with_incoming(incoming.with_nodelay(Some(true)))
    };
    let spans = TraceServiceServer::new(Bare).max_decoding_message_size(64 << 20);
    let both = (
        serve(Routes::new(spans), otlp),
        serve(Routes::new(GuardServiceServer::new(Bare)), api),
    );
    eprintln!("ready");
    let (spans, guard) = tokio::join!(both.0, both.1);
    spans.and(guard).expect("it serves");
}

async fn measure(name: &str, otlp: SocketAddr, api: SocketAddr) {
    let sent = Arc::new(AtomicU64::new(0));
    let senders = load::begin(otlp, &sent);
    let began = Instant::now();
    // An agent is a program of its own: it does not wait for a thread that makes spans.
    let agent = tokio::task::spawn_blocking(move || agent().block_on(ask(api)));
    let (mut waits, degraded, failed) = agent.await.expect("the agent does not panic");
    let seconds = began.elapsed().as_secs_f64();
    for sender in senders {
        sender.abort();
    }
    waits.drain(..WARM_UP.min(waits.len() / 2));
    waits.sort_unstable();
    let at = |share| load::share_ms(&waits, share);
    let spans = sent.load(Ordering::Relaxed) as f64 / seconds;
    let calls = waits.len() as f64 / seconds;
    println!("{name}: {calls:.0} questions/s beside {spans:.0} acknowledged spans/s");
    println!(
        "    p50 {:.3} ms  p90 {:.3} ms  p99 {:.3} ms  p99.9 {:.3} ms  degraded {degraded}  failed {failed}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
    );
}

fn agent() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// How long each answer took, how many were degraded, and how many questions failed.
async fn ask(api: SocketAddr) -> (Vec<Duration>, u64, u64) {
    let guard = GuardServiceClient::connect(format!("http://{api}"))
        .await
        .expect("the API listens");
    let calls_per_second = loaded(CALLS_PER_SECOND);
    let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / calls_per_second));
    let mut asked = Vec::new();
    for number in 0..calls_per_second * SECONDS {
        ticks.tick().await;
        asked.push(tokio::spawn(call(guard.clone(), number)));
    }
    let mut waits = Vec::with_capacity(asked.len());
    let (mut degraded, mut failed) = (0, 0);
    for call in asked {
        match call.await.expect("a call does not panic") {
            Some((wait, is_degraded)) => {
                waits.push(wait);
                degraded += u64::from(is_degraded);
            }
            None => failed += 1,
        }
    }
    (waits, degraded, failed)
}

/// One call of an agent: asked about, and told of. How long the answer took and whether it was degraded; nothing if there was
/// none.
async fn call(mut guard: GuardServiceClient<Channel>, number: u64) -> Option<(Duration, bool)> {
    let question = v1::CheckToolCallRequest {
        run_id: format!("run-{}", number % RUNS),
        tool: "search".into(),
        arguments: Some(format!(r#"{{"query":"thing {number}","limit":10}}"#)),
        call_id: Some(format!("guarded-{number}")),
        agent: Some("agent".into()),
        ..Default::default()
    };
    let began = Instant::now();
    let answer = guard.check_tool_call(question.clone()).await;
    let wait = began.elapsed();
    let answer = answer.ok()?.into_inner();
    let report = v1::ReportToolResultRequest {
        run_id: question.run_id,
        tool: question.tool,
        call_id: question.call_id,
        status: v1::ResultStatus::Success.into(),
        result: Some(format!(r#"{{"found":"result {number}"}}"#)),
        ..Default::default()
    };
    let _ = guard.report_tool_result(report).await;
    Some((wait, answer.degraded))
}
