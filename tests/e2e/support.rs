//! A daemon under test, recordings to send to it, and ways to ask it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use eddy::otlp;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::Value;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};

/// Longest that anything here is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Another program than the one that was built with the tests, named by `EDDY_PROGRAM`: a release.
fn other_program() -> Option<OsString> {
    std::env::var_os("EDDY_PROGRAM")
}

/// Whether the program is optimized, so that bounds in time hold.
pub(crate) fn is_optimized() -> bool {
    !cfg!(debug_assertions) || other_program().is_some()
}

fn program() -> OsString {
    other_program().unwrap_or_else(|| env!("CARGO_BIN_EXE_eddy").into())
}

/// The program.
pub(crate) fn eddy() -> Command {
    Command::new(program())
}

/// What becomes of a program whose answer nobody reads, as with `eddy … | head` when `head` has seen enough.
pub(crate) fn to_nobody(command: &mut Command) -> Output {
    let (reader, writer) = std::io::pipe().expect("there is room for a pipe");
    drop(reader);
    let output = command.stdout(writer).output();
    output.expect("the program runs")
}

/// What a program says that must end by itself, and soon: one that is to refuse its work must not be found at it.
pub(crate) fn output_of(command: &mut Command) -> Output {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("the program starts");
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().expect("it can be asked").is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it did not end: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

/// A daemon, ended when dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) api: SocketAddr,
    pub(crate) stderr: Arc<Mutex<String>>,
    /// Reads that, until it ends.
    listener: Option<JoinHandle<()>>,
}

/// A library that stands between a daemon and its system.
pub(crate) struct Library {
    object: PathBuf,
    variable: &'static str,
    pub(crate) file: PathBuf,
}

impl Library {
    /// Compiles `tests/e2e/NAME.c` into a directory. What the variable names is a file there, which need not be yet.
    pub(crate) fn compiled(name: &str, variable: &'static str, directory: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/e2e/{name}.c"));
        let object = directory.join(format!("{name}.so"));
        let compiled = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .args([&object, &source])
            .status();
        assert!(compiled.expect("there is a C compiler").success());
        let file = directory.join("worked-with");
        Self {
            object,
            variable,
            file,
        }
    }

    /// Has a command load it.
    pub(crate) fn load_into(&self, command: &mut Command) {
        command
            .env(self.variable, &self.file)
            .env("LD_PRELOAD", &self.object);
    }
}

impl Daemon {
    /// Starts one on free ports and waits until it says that it is ready.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_with(data, free_port(), &[])
    }

    /// Starts one on a given OTLP port, so that senders find it again after a restart.
    pub(crate) fn start_with(data: &Path, grpc: SocketAddr, arguments: &[&str]) -> Self {
        Self::start_as(eddy(), data, grpc, arguments)
    }

    /// Starts one whose guard has seconds for an answer, where it matters which one it is and not how soon it comes.
    pub(crate) fn start_unhurried(data: &Path, arguments: &[&str]) -> Self {
        let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/unhurried.yaml");
        let arguments = [&["--config", config], arguments].concat();
        Self::start_with(data, free_port(), &arguments)
    }

    /// Starts one that may write files of so many blocks.
    pub(crate) fn start_limited(data: &Path, blocks: &str) -> Self {
        let limit = format!("ulimit -S -f {blocks}");
        Self::start_under(&limit, data, free_port(), &[])
    }

    /// Starts one after a shell has done this.
    pub(crate) fn start_under(
        before: &str,
        data: &Path,
        grpc: SocketAddr,
        arguments: &[&str],
    ) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("{before}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(program());
        Self::start_as(shell, data, grpc, arguments)
    }

    /// Starts one with a library loaded into it (`tests/e2e/NAME.c`), which finds the file that it works with in a variable.
    pub(crate) fn start_with_library(
        library: &Library,
        data: &Path,
        grpc: SocketAddr,
        arguments: &[&str],
    ) -> Self {
        let Library {
            object,
            variable,
            file,
        } = library;
        let (object, file) = (object.display(), file.display());
        let before = format!("export {variable}={file} LD_PRELOAD={object}");
        Self::start_under(&before, data, grpc, arguments)
    }

    /// Starts one whose API has a given address, so that its clients find it again after a restart.
    pub(crate) fn start_at(data: &Path, api: SocketAddr, arguments: &[&str]) -> Self {
        Self::start_with_api(eddy(), data, (free_port(), api), arguments)
    }

    fn start_as(command: Command, data: &Path, grpc: SocketAddr, arguments: &[&str]) -> Self {
        Self::start_with_api(command, data, (grpc, free_port()), arguments)
    }

    fn start_with_api(
        mut command: Command,
        data: &Path,
        (grpc, api): (SocketAddr, SocketAddr),
        arguments: &[&str],
    ) -> Self {
        let http = free_port();
        let mut child = command
            .args([
                "serve",
                "--otlp-grpc",
                &grpc.to_string(),
                "--otlp-http",
                &http.to_string(),
                "--api",
                &api.to_string(),
                "--data-dir",
            ])
            .arg(data)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stderr = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().expect("its stderr is ours"));
        let said = Arc::clone(&stderr);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let listener = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if line.contains("ready") {
                    let _ = ready.send(());
                }
                let mut said = said.lock().expect("nobody panics with it");
                said.push_str(&line);
                said.push('\n');
            }
        });
        let daemon = Self {
            child,
            grpc,
            http,
            api,
            stderr,
            listener: Some(listener),
        };
        assert!(
            is_ready.recv_timeout(PATIENCE).is_ok(),
            "not ready: {}",
            daemon.stderr.lock().expect("nobody panics with it")
        );
        daemon
    }

    /// Ends it as a power cut of the process would.
    pub(crate) fn kill_9(mut self) {
        self.child.kill().expect("it still runs");
        self.child.wait().expect("it ends");
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .expect("there is a kill command");
        assert!(status.success());
    }

    /// Waits until it has ended, and all that it said has been read.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("it can be asked") {
                if let Some(listener) = self.listener.take() {
                    listener.join().expect("nobody panics with it");
                }
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end");
    }

    /// The JSON of a path on the API address, and its status code.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"), "")
    }

    /// The answer to a body of JSON that is posted to a path on the API address.
    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
        );
        self.ask(&head, body)
    }

    fn ask(&self, head: &str, body: &str) -> (u16, Value) {
        let mut socket = TcpStream::connect(self.api).expect("the API listens");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a time can be set");
        write!(
            socket,
            "{head}host: localhost\r\nconnection: close\r\n\r\n{body}"
        )
        .expect("it takes a request");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("it answers");
        let code = answer
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("a status line");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (code, json_in(body))
    }

    /// All runs by id, as the API shows them.
    pub(crate) fn runs(&self) -> BTreeMap<String, Value> {
        let (code, page) = self.get("/v1/runs?limit=1000");
        assert_eq!(code, 200, "{page}");
        let runs = page["runs"].as_array().expect("a list of runs");
        runs.iter()
            .map(|run| {
                (
                    run["run_id"].as_str().expect("an id").to_owned(),
                    run.clone(),
                )
            })
            .collect()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The JSON within a body that may be chunked.
fn json_in(body: &str) -> Value {
    let from = body.find('{').unwrap_or(0);
    let to = body.rfind('}').map_or(body.len(), |at| at + 1);
    let text: String = body[from..to].to_owned();
    serde_json::from_str(&text).unwrap_or_else(|_| Value::String(body.to_owned()))
}

/// An address that nobody listens on, and that no other test is given: below the ports that systems hand out for
/// connections, each number once, from a place that depends on the process.
pub(crate) fn free_port() -> SocketAddr {
    const LOWEST: u32 = 10_000;
    const PORTS: u32 = 20_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(127);
    (0..PORTS)
        .map(|_| {
            let number = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            SocketAddr::from(([127, 0, 0, 1], (LOWEST + number % PORTS) as u16))
        })
        .find(|address| TcpListener::bind(address).is_ok())
        .expect("a free port")
}

/// The runtime of a test that sends.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts")
}

/// Asks until there is an answer.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "it did not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// One request of a recording.
#[derive(Clone, Debug)]
pub(crate) enum Export {
    Traces(ExportTraceServiceRequest),
    Logs(ExportLogsServiceRequest),
}

/// The scenarios that were recorded; those that end like another one come first.
const SCENARIOS: [&str; 12] = [
    "exact-loop-nocontent",
    "exact-loop",
    "empty-search",
    "error-retry",
    "handoff",
    "healthy",
    "max-turns",
    "parallel",
    "rate-limit",
    "swarm",
    "text-only",
    "crash",
];

/// A recorded run: its name, the tool calls that were really made, and where its files lie.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) tool_calls: usize,
    pub(crate) files: Vec<PathBuf>,
}

impl Recording {
    /// What the recording shows: the end of its name.
    pub(crate) fn scenario(&self) -> &str {
        let is_end = |scenario: &&str| self.name.ends_with(*scenario);
        SCENARIOS
            .into_iter()
            .find(is_end)
            .expect("every recording is of a known scenario")
    }

    /// Its requests, traces before logs, in the order of arrival.
    pub(crate) fn requests(&self) -> Vec<Export> {
        let mut requests = Vec::new();
        for file in &self.files {
            let bytes = fs::read(file).expect("the recording is there");
            let is_logs = file.to_string_lossy().contains(".logs.");
            for request in otlp::delimited(&bytes) {
                let request = request.expect("a whole request");
                requests.push(if is_logs {
                    Export::Logs(ExportLogsServiceRequest::decode(request).expect("log records"))
                } else {
                    Export::Traces(ExportTraceServiceRequest::decode(request).expect("spans"))
                });
            }
        }
        requests
    }
}

/// Every recording.
pub(crate) fn recordings() -> Vec<Recording> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let text =
        fs::read_to_string(directory.join("ground-truth.json")).expect("the ground truth is there");
    let truth: BTreeMap<String, Value> =
        serde_json::from_str(&text).expect("the ground truth is JSON");
    truth
        .into_iter()
        .map(|(name, truth)| {
            let files = truth["files"].as_array().expect("a list of files").iter();
            let files = files
                .filter_map(Value::as_str)
                .filter(|file| !file.ends_with("jsonl"));
            Recording {
                files: files.map(|file| directory.join(file)).collect(),
                tool_calls: tool_calls(&truth),
                name,
            }
        })
        .collect()
}

/// The calls that the tools logged; for programs whose tools are their own, those that the model asked for.
fn tool_calls(truth: &Value) -> usize {
    let logged = truth["tool_calls"].as_array().map(Vec::len);
    let turns = truth["model_turns"].as_array().into_iter().flatten();
    logged.unwrap_or_else(|| {
        turns
            .filter_map(|turn| turn["calls"].as_array())
            .map(Vec::len)
            .sum()
    })
}

/// Requests cut so that each holds one span or log record.
pub(crate) fn cut(requests: &[Export]) -> Vec<Export> {
    let mut single = Vec::new();
    for request in requests {
        match request {
            Export::Traces(request) => cut_traces(request, &mut single),
            Export::Logs(request) => cut_logs(request, &mut single),
        }
    }
    single
}

fn cut_traces(request: &ExportTraceServiceRequest, single: &mut Vec<Export>) {
    for resource in &request.resource_spans {
        for scope in &resource.scope_spans {
            for span in &scope.spans {
                let scope_spans = vec![ScopeSpans {
                    spans: vec![span.clone()],
                    ..scope.clone()
                }];
                let resource_spans = vec![ResourceSpans {
                    scope_spans,
                    ..resource.clone()
                }];
                single.push(Export::Traces(ExportTraceServiceRequest { resource_spans }));
            }
        }
    }
}

fn cut_logs(request: &ExportLogsServiceRequest, single: &mut Vec<Export>) {
    for resource in &request.resource_logs {
        for scope in &resource.scope_logs {
            for record in &scope.log_records {
                let scope_logs = vec![ScopeLogs {
                    log_records: vec![record.clone()],
                    ..scope.clone()
                }];
                let resource_logs = vec![ResourceLogs {
                    scope_logs,
                    ..resource.clone()
                }];
                single.push(Export::Logs(ExportLogsServiceRequest { resource_logs }));
            }
        }
    }
}

/// A way to send to a daemon.
#[derive(Clone)]
pub(crate) struct Sender {
    traces: TraceServiceClient<Channel>,
    logs: LogsServiceClient<Channel>,
}

impl Sender {
    pub(crate) fn new(grpc: SocketAddr) -> Self {
        let channel = Endpoint::from_shared(format!("http://{grpc}"))
            .expect("an address")
            .connect_lazy();
        Self {
            traces: TraceServiceClient::new(channel.clone()),
            logs: LogsServiceClient::new(channel),
        }
    }

    pub(crate) async fn traces(
        &mut self,
        request: ExportTraceServiceRequest,
    ) -> Result<ExportTraceServiceResponse, tonic::Status> {
        self.traces
            .export(request)
            .await
            .map(tonic::Response::into_inner)
    }

    pub(crate) async fn send(&mut self, request: Export) -> Result<(), tonic::Status> {
        match request {
            Export::Traces(request) => self.traces.export(request).await.map(drop),
            Export::Logs(request) => self.logs.export(request).await.map(drop),
        }
    }

    /// Sends all of them, one after another; each must be accepted.
    pub(crate) async fn send_all(&mut self, requests: &[Export]) {
        for request in requests {
            self.send(request.clone()).await.expect("it is accepted");
        }
    }
}

/// Numbers that look random and are the same in every run of the tests.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

/// The ways in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Grpc,
    HttpProtobuf,
    HttpJson,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Grpc, Self::HttpProtobuf, Self::HttpJson];
}

/// A client of HTTP/1.1.
pub(crate) fn http_client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client")
}

/// Sends all of them over a transport, one after another; each must be accepted.
pub(crate) async fn send_over(daemon: &Daemon, transport: Transport, requests: &[Export]) {
    if transport == Transport::Grpc {
        Sender::new(daemon.grpc).send_all(requests).await;
        return;
    }
    let client = http_client();
    for request in requests {
        let (path, protobuf, json) = match request {
            Export::Traces(request) => (
                "traces",
                request.encode_to_vec(),
                serde_json::to_vec(request),
            ),
            Export::Logs(request) => ("logs", request.encode_to_vec(), serde_json::to_vec(request)),
        };
        let (content_type, body) = match transport {
            Transport::HttpJson => ("application/json", json.expect("it can be written")),
            _ => ("application/x-protobuf", protobuf),
        };
        let sent = client
            .post(format!("http://{}/v1/{path}", daemon.http))
            .header("content-type", content_type)
            .body(body)
            .send();
        let response = sent.await.expect("it answers");
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
    }
}

/// A backend that takes spans and log records and keeps them, ended when dropped.
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    kept: Kept,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone, Default)]
struct Kept {
    spans: Arc<Mutex<Vec<Span>>>,
    records: Arc<Mutex<Vec<LogRecord>>>,
}

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        let mut spans = self.spans.lock().expect("nobody panics with it");
        spans.extend(scopes.flat_map(|scope| scope.spans));
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Kept {
    async fn export(
        &self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> Result<tonic::Response<ExportLogsServiceResponse>, tonic::Status> {
        let resources = request.into_inner().resource_logs.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_logs);
        let mut records = self.records.lock().expect("nobody panics with it");
        records.extend(scopes.flat_map(|scope| scope.log_records));
        let answer = ExportLogsServiceResponse::default();
        Ok(tonic::Response::new(answer))
    }
}

impl Collector {
    pub(crate) fn start() -> Self {
        let runtime = runtime();
        let kept = Kept::default();
        // Bound before anybody is told of it, so that nobody else can have it.
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let gzip = tonic::codec::CompressionEncoding::Gzip;
        let traces = TraceServiceServer::new(kept.clone()).accept_compressed(gzip);
        let logs = LogsServiceServer::new(kept.clone()).accept_compressed(gzip);
        let server = tonic::transport::Server::builder()
            .add_service(traces)
            .add_service(logs);
        runtime.spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        Self {
            address,
            kept,
            _runtime: runtime,
        }
    }

    /// The log records that it was sent so far.
    pub(crate) fn records(&self) -> Vec<LogRecord> {
        let records = self.kept.records.lock().expect("nobody panics with it");
        records.clone()
    }

    /// The spans that it was sent so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let spans = self.kept.spans.lock().expect("nobody panics with it");
        spans.clone()
    }
}
