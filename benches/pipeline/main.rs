//! What Eddy costs, as ratios measured in one run.
//!
//!     cargo bench --bench pipeline [-- SPANS_PER_REQUEST... MIX...]
//!
//! `EDDY_PROGRAM` names another build of the daemon to be measured. `EDDY_BESIDE` is the command line of another OTLP
//! receiver to be measured beside it, with `ADDRESS` where it is to listen for gRPC: `rotel-agent start --otlp-grpc-endpoint
//! ADDRESS --exporter blackhole`, say.
//!
//! CPU time per span of the whole daemon (receive, read, normalize, detect, commit to disk, answer) against a tonic server that
//! decodes the same requests with prost and drops them. Each server is a process of its own; the load comes from this process
//! and is the same for both; rounds alternate, and the median is printed, with the least and the most. These are CPU times from
//! `/proc`, since the machine may be busy. The first half of the load is not counted: what a process does when it starts, and
//! first needs memory, is no cost of a span.
//!
//! The spans of a request belong to as many runs (as from a gateway before many agents), and once more all to one run (as from
//! the exporter within an agent): all of them are calls of tools. And once more they are what frameworks really send, as it was
//! recorded. These mixes are `many`, `one` and `recorded`.

mod recorded;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes};
use eddy::otlp::{self, Limits};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use rustix::process::{Pid, Signal, kill_process};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

/// Spans that are sent, of which the first half is not counted.
const SPANS: usize = 400_000;
/// A multiple of the streams, so that each run's spans come over one of them, as they do from an agent's exporter.
const RUNS: usize = 63 * STREAMS;
const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 4;
const STREAMS: usize = CONNECTIONS * IN_FLIGHT;
const ROUNDS: usize = 5;
/// How long a server may take until it listens.
const START_MAX: Duration = Duration::from_secs(20);
/// How long it may take to leave.
const LEAVE_MAX: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments
        .iter()
        .any(|argument| argument == "--decode-and-drop")
    {
        return runtime().block_on(serve_decode_and_drop());
    }
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let sizes = arguments.iter().filter_map(|arg| arg.parse().ok());
    let mixes = arguments.iter().filter_map(|arg| Mix::named(arg));
    let mixes = or_usual(mixes.collect(), &Mix::ALL);
    for spans_per_request in or_usual(sizes.collect(), &[100, 10, 1]) {
        for mix in mixes.iter().copied() {
            // A single span is of one run in any mix.
            if spans_per_request > 1 || mix != Mix::OneRun {
                pipeline(spans_per_request, mix);
            }
        }
    }
}

/// What is wanted, or what is usual where nothing is.
fn or_usual<T: Clone>(wanted: Vec<T>, usual: &[T]) -> Vec<T> {
    if wanted.is_empty() {
        return usual.to_vec();
    }
    wanted
}

/// Whose the spans of a request are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mix {
    /// Each belongs to another run than the one before it.
    ManyRuns,
    /// All belong to one.
    OneRun,
    /// They are of the recordings, one after the other.
    Recorded,
}

impl Mix {
    const ALL: [Self; 3] = [Self::ManyRuns, Self::OneRun, Self::Recorded];

    fn named(name: &str) -> Option<Self> {
        match name {
            "many" => Some(Self::ManyRuns),
            "one" => Some(Self::OneRun),
            "recorded" => Some(Self::Recorded),
            _ => None,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::ManyRuns => "each of another run",
            Self::OneRun => "all of one run",
            Self::Recorded => "as frameworks send them",
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// CPU time of a process in microseconds, all threads, user and system.
fn process_cpu_us(pid: u32) -> u64 {
    let mut ns = 0;
    for entry in fs::read_dir(format!("/proc/{pid}/task"))
        .expect("the process is there")
        .flatten()
    {
        let text = fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default();
        ns += text
            .split_whitespace()
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
            .unwrap_or(0);
    }
    ns / 1_000
}

/// Resident memory of a process in MiB.
fn process_rss_mib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4
        / 1_024
}

fn pipeline(spans_per_request: usize, mix: Mix) {
    let requests = match mix {
        Mix::Recorded => {
            recorded::requests(STREAMS, spans_per_request, spans_of(spans_per_request))
        }
        _ => requests(spans_per_request, mix),
    };
    let halves = |stream: Vec<Bytes>| {
        let (first, second) = stream.split_at(stream.len() / 2);
        (first.to_vec(), second.to_vec())
    };
    let (first, counted): (Vec<_>, Vec<_>) = requests.into_iter().map(halves).unzip();
    let (first, counted) = (Arc::new(first), Arc::new(counted));
    let sent = counted.iter().flatten();
    let spans: usize = sent
        .map(|request| otlp::spans(request, &Limits::default()).count())
        .sum();
    let beside = std::env::var("EDDY_BESIDE").ok();
    let servers: Vec<Receiver> = [Receiver::DecodeAndDrop, Receiver::Eddy]
        .into_iter()
        .chain(beside.map(Receiver::Beside))
        .collect();
    let mut costs = vec![Vec::new(); servers.len()];
    let mut held = vec![0; servers.len()];
    for _ in 0..ROUNDS {
        for (place, server) in servers.iter().enumerate() {
            let running = Running::start(server);
            let pid = running.child.id();
            runtime().block_on(load(&running.address, &first));
            let before = process_cpu_us(pid);
            runtime().block_on(load(&running.address, &counted));
            costs[place].push((process_cpu_us(pid) - before) as f64 / spans as f64);
            held[place] = process_rss_mib(pid);
        }
    }
    println!("{spans_per_request} spans a request, {}", mix.describe());
    for costs in &mut costs {
        costs.sort_by(f64::total_cmp);
    }
    let decode_and_drop = costs[0][ROUNDS / 2];
    for ((server, costs), held) in servers.iter().zip(costs).zip(held) {
        let (least, median, most) = (costs[0], costs[ROUNDS / 2], costs[ROUNDS - 1]);
        println!(
            "  {:16} {median:6.2} µs a span ({least:.2} to {most:.2}), {:5.2} × decode-and-drop; holds {held} MiB",
            server.name(),
            median / decode_and_drop,
        );
    }
}

/// What is measured.
enum Receiver {
    DecodeAndDrop,
    Eddy,
    /// By its command line.
    Beside(String),
}

impl Receiver {
    fn name(&self) -> &str {
        match self {
            Self::DecodeAndDrop => "decode-and-drop",
            Self::Eddy => "eddy",
            Self::Beside(line) => {
                let program = line.split_whitespace().next().unwrap_or_default();
                program.rsplit('/').next().unwrap_or_default()
            }
        }
    }

    fn command(&self, data: &Path, address: SocketAddr) -> Command {
        let address = address.to_string();
        match self {
            Self::DecodeAndDrop => {
                let mut command =
                    Command::new(std::env::current_exe().expect("this program has a path"));
                command.args(["--decode-and-drop", &address]);
                command
            }
            Self::Eddy => {
                let program = std::env::var_os("EDDY_PROGRAM");
                let mut command =
                    Command::new(program.unwrap_or(env!("CARGO_BIN_EXE_eddy").into()));
                command.arg("serve").arg("--data-dir").arg(data);
                command.args(["--otlp-grpc", &address]);
                command.args(["--otlp-http", "127.0.0.1:0", "--api", "127.0.0.1:0"]);
                command
            }
            Self::Beside(line) => {
                let mut words = line.split_whitespace();
                let mut command = Command::new(words.next().expect("a program is named"));
                command.args(words.map(|word| word.replace("ADDRESS", &address)));
                command
            }
        }
    }
}

/// A server under test, ended when dropped.
struct Running {
    child: Child,
    address: String,
    _data: tempfile::TempDir,
}

impl Running {
    fn start(server: &Receiver) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port");
        let mut child = server
            .command(data.path(), address)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let limit = Instant::now() + START_MAX;
        while TcpStream::connect(address).is_err() {
            let ended = child.try_wait().expect("its state is known");
            assert!(
                ended.is_none() && Instant::now() < limit,
                "{} does not listen",
                server.name()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            child,
            address: format!("http://{address}"),
            _data: data,
        }
    }
}

impl Drop for Running {
    /// It leaves as an operator has it leave: a program that was built to count what it does writes that down then.
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let limit = Instant::now() + LEAVE_MAX;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > limit {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

async fn load(address: &str, requests: &Arc<Vec<Vec<Bytes>>>) {
    let mut senders = Vec::new();
    for connection in 0..CONNECTIONS {
        let channel = Endpoint::from_shared(address.to_owned())
            .expect("an address")
            .connect()
            .await
            .expect("a connection");
        for stream in 0..IN_FLIGHT {
            let (channel, requests) = (channel.clone(), Arc::clone(requests));
            let stream = connection * IN_FLIGHT + stream;
            senders.push(tokio::spawn(async move {
                for request in &requests[stream] {
                    send(channel.clone(), request.clone()).await;
                }
            }));
        }
    }
    for sender in senders {
        sender.await.expect("a sender finished");
    }
}

async fn send(channel: Channel, request: Bytes) {
    let path = tonic::codegen::http::uri::PathAndQuery::from_static(
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    );
    loop {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.expect("the channel is open");
        match client
            .unary(Request::new(request.clone()), path.clone(), Raw)
            .await
        {
            Ok(_) => return,
            Err(status) if status.code() == tonic::Code::Unavailable => {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Err(status) => panic!("refused: {status}"),
        }
    }
}

/// A codec that sends bytes as they are, so that the load costs nothing to encode.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;
    fn encoder(&mut self) -> Self {
        Self
    }
    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn encode(&mut self, item: Bytes, target: &mut EncodeBuf<'_>) -> Result<(), Status> {
        target.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;
    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        source.advance(source.remaining());
        Ok(Some(()))
    }
}

/// How many spans are sent, by how many are in a request: in 40,000 requests at most.
fn spans_of(spans_per_request: usize) -> usize {
    (40_000 * spans_per_request).min(SPANS)
}

/// Now, in nanoseconds since 1970.
fn now_ns() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_nanos() as u64
}

/// Requests of tool spans with twelve attributes, 300 bytes of arguments and 700 of result, for each of the streams. A tenth of
/// the runs loop; each call of the others asks for something else in other words, and gets it.
fn requests(spans_per_request: usize, mix: Mix) -> Vec<Vec<Bytes>> {
    let count = spans_of(spans_per_request) / spans_per_request;
    let now = now_ns();
    let request = |request: usize| {
        let run = |index: usize| {
            if mix == Mix::OneRun {
                return request % RUNS;
            }
            let nth = request / STREAMS * spans_per_request + index;
            (nth * STREAMS + request % STREAMS) % RUNS
        };
        let spans = (0..spans_per_request)
            .map(|index| span(run(index), request * spans_per_request + index, now))
            .collect();
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: vec![text("service.name", "bench")],
                    ..Resource::default()
                }),
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
        };
        Bytes::from(request.encode_to_vec())
    };
    (0..STREAMS)
        .map(|stream| (stream..count).step_by(STREAMS).map(request).collect())
        .collect()
}

fn span(run: usize, number: usize, now: u64) -> Span {
    let nth = if run.is_multiple_of(10) { 0 } else { number };
    let start = now + number as u64 * 1_000;
    let question = prose(2 * nth as u64, 260);
    let answer = prose(2 * nth as u64 + 1, 670);
    Span {
        trace_id: (run as u128 + 1).to_be_bytes().to_vec(),
        span_id: (number as u64 + 1).to_be_bytes().to_vec(),
        parent_span_id: vec![9; 8],
        name: "execute_tool search".into(),
        start_time_unix_nano: start,
        end_time_unix_nano: start + 500,
        attributes: vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", "search"),
            text("gen_ai.tool.type", "function"),
            text("gen_ai.tool.call.id", &format!("call_{number}")),
            text(
                "gen_ai.tool.call.arguments",
                &format!(r#"{{"query":"{nth}","limit":10,"text":"{question}"}}"#),
            ),
            text(
                "gen_ai.tool.call.result",
                &format!(r#"{{"hits":["{nth}"],"text":"{answer}"}}"#),
            ),
            text("gen_ai.agent.name", "researcher"),
            text("gen_ai.conversation.id", &format!("conversation-{run}")),
            text("gen_ai.system", "openai"),
            text("server.address", "127.0.0.1"),
            text("deployment.environment", "bench"),
            text("thread.name", "worker-1"),
        ],
        ..Span::default()
    }
}

/// So many bytes of words, drawn by a seed: two texts have few in common.
fn prose(seed: u64, bytes: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ban", "cor", "dim", "el", "fos", "gra", "hin", "jul", "kem", "lo", "mar", "nis", "pra",
        "tu", "ver", "wid",
    ];
    // Steele, Lea and Flood: Fast splittable pseudorandom number generators (2014).
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut text = String::with_capacity(bytes + SYLLABLES.len());
    while text.len() < bytes {
        let drawn = draw();
        for syllable in 0..2 + drawn % 3 {
            let which = drawn >> (8 + 4 * syllable) & 15;
            text.push_str(SYLLABLES[which as usize]);
        }
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value.into())),
        }),
        ..KeyValue::default()
    }
}

#[derive(Default)]
struct Drops;

#[tonic::async_trait]
impl TraceService for Drops {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        std::hint::black_box(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn serve_decode_and_drop() {
    let address = std::env::args()
        .next_back()
        .and_then(|last| last.parse().ok())
        .expect("the last argument is an address");
    let incoming = tonic::transport::server::TcpIncoming::bind(address)
        .expect("the port is free")
        .with_nodelay(Some(true));
    let service = TraceServiceServer::new(Drops).max_decoding_message_size(64 << 20);
    Server::builder()
        .add_service(service)
        .serve_with_incoming(incoming)
        .await
        .expect("it serves");
}
