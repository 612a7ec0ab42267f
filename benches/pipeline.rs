//! What Eddy costs, as ratios measured in one run.
//!
//!     cargo bench --bench pipeline [-- SPANS_PER_REQUEST...]
//!
//! With numbers, the pipeline alone is measured, at these numbers of spans a request; `EDDY_PROGRAM` names another build of
//! the daemon to be measured.
//!
//! *Flatness*: time of one engine step late in a run against early in a run, the median of many short blocks. *Pipeline*: CPU
//! time per span of the whole daemon (receive, read, normalize, detect, commit to disk, answer) against a tonic server that
//! decodes the same requests with prost and drops them. Each server is a process of its own; the load comes from this process
//! and is the same for both; rounds alternate and the median is printed. These are CPU times from `/proc`, since the machine
//! may be busy.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, BufMut, Bytes};
use eddy::engine::event::{
    Body, Event, Guarded, Part, Recorded, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use eddy::engine::policy::Policy;
use eddy::engine::{Input, RunState, step};
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
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

const SPANS: usize = 100_000;
/// A multiple of the streams, so that each run's spans come over one of them, as they do from an agent's exporter.
const RUNS: usize = 63 * CONNECTIONS * IN_FLIGHT;
const CONNECTIONS: usize = 4;
const IN_FLIGHT: usize = 4;
const ROUNDS: usize = 3;

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
    let wanted: Vec<usize> = arguments
        .iter()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    if !wanted.is_empty() {
        return wanted.into_iter().for_each(pipeline);
    }
    flatness();
    told_twice();
    many_runs();
    [100, 10, 1].into_iter().for_each(pipeline);
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

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn standard() -> Policy {
    serde_saphyr::from_str(include_str!("../config/profiles/standard.yaml"))
        .expect("the profile parses")
}

fn flatness() {
    let policy = standard();
    for (name, novelty) in [("a loop", 1), ("ever new calls", u64::MAX)] {
        let input = |index| input(index, novelty);
        let [early, late] = [100, 100_000].map(|before| step_cost_ns(&policy, before, &input));
        println!(
            "engine, {name}: {early:.0} ns an event at 100, {late:.0} ns at 100000: ratio {:.2}",
            late / early
        );
    }
}

/// Cost of a step where each call of a run is told of by two reports, the second a while after the first.
fn told_twice() {
    let policy = standard();
    let kinds: [(&str, &dyn Fn(u64) -> Input); 2] = [
        ("two spans a call", &of_two_spans),
        ("asked, then told", &of_the_guard),
    ];
    for (name, input) in kinds {
        let costs = [100, 10_000, 100_000].map(|before| step_cost_ns(&policy, before, input));
        let [early, middle, late] = costs;
        println!(
            "engine, {name}: {early:.0} ns a report at 100, {middle:.0} ns at 10000, {late:.0} ns at 100000: ratio {:.2}",
            late / early
        );
    }
}

/// A call's inner span and then, with the next number, the outer one around it.
fn of_two_spans(index: u64) -> Input {
    with_event(input(index / 2, u64::MAX), |event| {
        let outer = SpanId((index | 1 | 1 << 40).to_be_bytes());
        if index.is_multiple_of(2) {
            event.parent = outer;
        } else {
            event.id ^= 1;
            event.span = outer;
            event.start_ns -= 1_000;
            event.end_ns += 1_000;
        }
    })
}

/// What the guard is asked and then, with the next number, what it is told of the call.
fn of_the_guard(index: u64) -> Input {
    with_event(input(index / 2, u64::MAX), |event| {
        event.trace = TraceId::default();
        (event.span, event.parent) = (SpanId::default(), SpanId::default());
        let Body::ToolCall(call) = &mut event.body else {
            return;
        };
        let part = if index.is_multiple_of(2) {
            call.output = Recorded::NotRecorded;
            event.end_ns = event.start_ns;
            Part::Asked
        } else {
            event.id ^= 1;
            Part::Result
        };
        call.guarded = Some(Box::new(Guarded {
            asked: index / 2 + 1,
            part,
            round: 0,
            turn: 0,
        }));
    })
}

fn with_event(mut input: Input, change: impl Fn(&mut Event)) -> Input {
    if let Input::Reports { events, .. } = &mut input {
        events.iter_mut().for_each(change);
    }
    input
}

/// Cost of a step where each is for another run, so that nothing of a run is near when its turn comes.
fn many_runs() {
    const AT_ONCE: u64 = 1_000;
    let policy = standard();
    let mut states: Vec<RunState> = (0..AT_ONCE)
        .map(|run| RunState::new(format!("run {run}").into()))
        .collect();
    let mut rounds = Vec::new();
    let mut before_mib = 0;
    for index in 0..300 {
        let inputs: Vec<Input> = (0..AT_ONCE).map(|_| input(index, u64::MAX)).collect();
        if index == 0 {
            before_mib = process_rss_mib(std::process::id());
        }
        let start = Instant::now();
        for (state, input) in states.iter_mut().zip(&inputs) {
            std::hint::black_box(step(state, input, &policy));
        }
        rounds.push(start.elapsed().as_nanos() as f64 / AT_ONCE as f64);
    }
    let full = rounds.split_off(100);
    let mean = full.iter().sum::<f64>() / full.len() as f64;
    println!(
        "engine, {AT_ONCE} runs in turn: {mean:.0} ns an event, median {:.0} ns; {} KiB a run",
        median(full),
        (process_rss_mib(std::process::id()) - before_mib) * 1_024 / AT_ONCE
    );
}

/// Median time of a step among blocks of fifty, after `before` steps of a run, the median of some such. Blocks are short, so
/// that few of them are interrupted, and the median leaves those out.
fn step_cost_ns(policy: &Policy, before: u64, input: &dyn Fn(u64) -> Input) -> f64 {
    const STEPS: u64 = 50;
    let block = |state: &mut RunState| {
        let inputs: Vec<Input> = (before..before + STEPS).map(input).collect();
        let start = Instant::now();
        for input in &inputs {
            std::hint::black_box(step(state, input, policy));
        }
        start.elapsed().as_nanos() as f64 / STEPS as f64
    };
    let mut state = RunState::new("run".into());
    for index in 0..before {
        step(&mut state, &input(index), policy);
    }
    // Each block starts from the same state, so that it stands for this point of the run.
    median((0..1_000).map(|_| block(&mut state.clone())).collect())
}

fn input(index: u64, novelty: u64) -> Input {
    let value = |number: u64| {
        let sample = Text::from(format!(
            "{{\"limit\":10,\"query\":\"{}\",\"text\":\"{}\"}}",
            number % 977,
            "stream turns upon itself where the bank is steep "
                .repeat(5)
                .split_at(200)
                .0
        ));
        Recorded::Value(Value {
            fingerprint: number,
            masked: number,
            bytes: 300,
            empty: false,
            sample,
            numbers: None,
        })
    };
    let result = |number: u64| match value(number) {
        Recorded::Value(value) => Recorded::Value(Value {
            sample: Text::default(),
            ..value
        }),
        other => other,
    };
    let event = Event {
        id: (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        trace: TraceId([7; 16]),
        span: SpanId((index + 1).to_be_bytes()),
        parent: SpanId([9; 8]),
        start_ns: 1_000_000_000_000 + index * 1_000_000,
        end_ns: 1_000_000_000_000 + index * 1_000_000 + 500_000,
        agent: Some("agent".into()),
        worker: None,
        body: Body::ToolCall(ToolCall {
            tool: ["search", "read", "write"][index as usize % 3].into(),
            call_id: Some(index),
            input: value(index % novelty),
            output: result(index % novelty),
            error: None,
            hands_off: false,
            writes: false,
            traits: Traits::default(),
            guarded: None,
        }),
    };
    Input::Reports {
        at_ms: 1,
        session_id: None,
        service: None,
        events: vec![event],
    }
}

fn pipeline(spans_per_request: usize) {
    let requests = Arc::new(requests(spans_per_request));
    let spans = requests.len() * spans_per_request;
    let mut costs = [Vec::new(), Vec::new()];
    let mut rss = 0;
    for _ in 0..ROUNDS {
        for (server, costs) in costs.iter_mut().enumerate() {
            let server = Running::start(server == 1);
            let before = process_cpu_us(server.child.id());
            runtime().block_on(load(&server.address, &requests));
            costs.push((process_cpu_us(server.child.id()) - before) as f64 / spans as f64);
            rss = process_rss_mib(server.child.id());
        }
    }
    let [decode, eddy] = costs.map(median);
    println!(
        "pipeline, {spans_per_request} spans a request: decode-and-drop {decode:.2} µs a span, eddy {eddy:.2} µs: ratio {:.2}; eddy holds {rss} MiB",
        eddy / decode
    );
}

/// A server under test, ended when dropped.
struct Running {
    child: Child,
    address: String,
    _data: Option<tempfile::TempDir>,
}

impl Running {
    fn start(is_eddy: bool) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port");
        let mut command = if is_eddy {
            let program = std::env::var_os("EDDY_PROGRAM");
            let mut command = Command::new(program.unwrap_or(env!("CARGO_BIN_EXE_eddy").into()));
            command.arg("serve").arg("--data-dir").arg(data.path());
            command.args(["--otlp-grpc", &port.to_string(), "--api", "127.0.0.1:0"]);
            command
        } else {
            let mut command =
                Command::new(std::env::current_exe().expect("this program has a path"));
            command.args(["--decode-and-drop", &port.to_string()]);
            command
        };
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its stderr is ours"));
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert!(
                lines.read_line(&mut line).expect("a line") > 0,
                "the server ended"
            );
        }
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self {
            child,
            address: format!("http://{port}"),
            _data: Some(data),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn load(address: &str, requests: &Arc<Vec<Bytes>>) {
    let mut senders = Vec::new();
    for connection in 0..CONNECTIONS {
        let channel = Endpoint::from_shared(address.to_owned())
            .expect("an address")
            .connect()
            .await
            .expect("a connection");
        for stream in 0..IN_FLIGHT {
            let (channel, requests) = (channel.clone(), Arc::clone(requests));
            let first = connection * IN_FLIGHT + stream;
            senders.push(tokio::spawn(async move {
                for request in requests.iter().skip(first).step_by(CONNECTIONS * IN_FLIGHT) {
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

/// Requests of tool spans with twelve attributes, 300 bytes of arguments and 700 of result; a tenth of the runs loop.
fn requests(spans_per_request: usize) -> Vec<Bytes> {
    let count = (SPANS / spans_per_request).min(20_000);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970")
        .as_nanos() as u64;
    (0..count)
        .map(|request| {
            let streams = CONNECTIONS * IN_FLIGHT;
            let spans = (0..spans_per_request)
                .map(|index| {
                    let nth = request / streams * spans_per_request + index;
                    let run = (nth * streams + request % streams) % RUNS;
                    span(run, request * spans_per_request + index, now)
                })
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
            request.encode_to_vec().into()
        })
        .collect()
}

fn span(run: usize, number: usize, now: u64) -> Span {
    let nth = if run.is_multiple_of(10) { 0 } else { number };
    let start = now + number as u64 * 1_000;
    let words = "stream turns upon itself where the bank is steep ";
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
                &format!(
                    r#"{{"query":"{nth}","limit":10,"text":"{}"}}"#,
                    &words.repeat(6)[..260]
                ),
            ),
            text(
                "gen_ai.tool.call.result",
                &format!(
                    r#"{{"hits":["{nth}"],"text":"{}"}}"#,
                    &words.repeat(15)[..670]
                ),
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
    eprintln!("ready");
    let service = TraceServiceServer::new(Drops).max_decoding_message_size(64 << 20);
    Server::builder()
        .add_service(service)
        .serve_with_incoming(incoming)
        .await
        .expect("it serves");
}
