//! The address as its clients see it: over a real socket, with a real store and real shards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::Channel;

use super::v1::run_service_client::RunServiceClient;
use super::v1::tail_alerts_response::Message;
use super::v1::warning_service_client::WarningServiceClient;
use super::{Settings, serve, v1};
use crate::engine::event::{
    Body, Event, Manner, Recorded, SpanId, ToolCall, TraceId, Traits, Value as Input,
};
use crate::engine::policy::Policy;
use crate::engine::warning::{ChangeKind, Rule, Severity, Warning, WarningState};
use crate::listener::Tenant;
use crate::normalize::{Report, RunRef};
use crate::shard::{self, Shards};
use crate::store::alert::Alert;
use crate::store::{Options, Store, Turn};

mod address;
mod agreement;
mod alerts;
mod held;
mod page;
mod reflection;
mod refusals;
mod runs;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Three identical calls raise two warnings, one of which is critical from the seventh call on. Recovery is off.
const POLICY: &str = r#"{
    "profile": "test",
    "progress_aware": false,
    "rules": {
        "repeated_tool_call": {
            "alarm": {"severity": "info", "penalty": 5}, "calls": 3
        },
        "repeated_tool_call_exact_input": {
            "alarm": {"severity": "warning", "critical_count": 7, "penalty": 20}, "calls": 3
        }
    }
}"#;

/// A daemon's API and what stands behind it.
struct Fixture {
    address: String,
    shards: Shards,
    stopping: CancellationToken,
    shutdown: CancellationToken,
    served: JoinHandle<Result<(), tonic::transport::Error>>,
    _dir: TempDir,
}

impl Fixture {
    async fn start() -> Self {
        Self::start_with(&Options::default(), Settings::default()).await
    }

    async fn start_with(options: &Options, settings: Settings) -> Self {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), options).unwrap();
        let policy: Policy = serde_json::from_str(POLICY).unwrap();
        let shards = Shards::start(store, Arc::new(policy), shard::Settings::default());
        Self::serve(shards.await.unwrap(), settings, dir).await
    }

    async fn serve(shards: Shards, settings: Settings, dir: TempDir) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stopping, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let store = shards.store().downgrade();
        let size = move || store.upgrade().map_or(0, |store| store.size_bytes());
        let served = tokio::spawn(serve(
            listener.into(),
            BTreeMap::from([(Tenant::default(), shards.clone().into())]),
            Arc::new(move |_| format!("eddy_store_size_bytes {}\n", size())),
            settings,
            stopping.clone(),
            shutdown.clone(),
        ));
        Self {
            address,
            shards,
            stopping,
            shutdown,
            served,
            _dir: dir,
        }
    }

    async fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    async fn runs(&self) -> RunServiceClient<Channel> {
        RunServiceClient::new(self.channel().await)
    }

    async fn warnings(&self) -> WarningServiceClient<Channel> {
        WarningServiceClient::new(self.channel().await)
    }

    /// A run in which the agent calls one tool with one input, the calls `from` to `to` of it.
    async fn report_loop(&self, run_id: &str, agent: &str, calls: std::ops::Range<u64>) {
        let report = Report {
            run: RunRef {
                run_id: Some(run_id.into()),
                ..RunRef::default()
            },
            events: calls.map(|call| tool_call(run_id, agent, call)).collect(),
        };
        self.shards
            .submit(vec![report], self.shards.policy())
            .await
            .unwrap();
    }

    /// Puts `count` alerts into the log, as a shard would.
    async fn commit_alerts(&self, run_id: &str, severity: Severity, count: usize) {
        let alerts = (0..count).map(|_| alert(run_id, severity)).collect();
        let turn = Turn {
            alerts,
            ..Turn::default()
        };
        self.shards.store().commit(turn).await.unwrap();
    }

    async fn tail(&self, request: v1::TailAlertsRequest) -> Streaming<v1::TailAlertsResponse> {
        let answer = self.warnings().await.tail_alerts(request).await;
        answer.unwrap().into_inner()
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.get_text(path).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    async fn get_text(&self, path: &str) -> (u16, String) {
        let mut socket = self.ask("GET", path, "").await;
        let mut text = String::new();
        timeout(PATIENCE, socket.read_to_string(&mut text))
            .await
            .unwrap()
            .unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (
            head.split(' ').nth(1).unwrap().parse().unwrap(),
            body.to_owned(),
        )
    }

    /// Sends a request of HTTP/1.0, to which the answer ends with the connection and is not cut into chunks.
    async fn ask(&self, method: &str, path: &str, headers: &str) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        let request = format!("{method} {path} HTTP/1.0\r\nhost: localhost\r\n{headers}\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        BufReader::new(socket)
    }

    async fn events(&self, path: &str, headers: &str) -> Events {
        let mut socket = self.ask("GET", path, headers).await;
        let mut line = String::new();
        socket.read_line(&mut line).await.unwrap();
        assert!(line.contains("200"), "{line}");
        while !line.trim().is_empty() {
            line.clear();
            socket.read_line(&mut line).await.unwrap();
        }
        Events { socket }
    }
}

/// A client of a server-sent stream.
struct Events {
    socket: BufReader<TcpStream>,
}

#[derive(Debug, Default, PartialEq)]
struct SentEvent {
    id: String,
    event: String,
    data: String,
}

impl Events {
    /// The next event; nothing when the stream has ended.
    async fn next(&mut self) -> Option<SentEvent> {
        let mut event = SentEvent::default();
        loop {
            let line = self.next_line().await?;
            match line.split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut event.id),
                Some(("event", name)) => name.clone_into(&mut event.event),
                Some(("data", data)) => data.clone_into(&mut event.data),
                _ if line.is_empty() && !event.data.is_empty() => return Some(event),
                _ => {}
            }
        }
    }

    async fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.socket.read_line(&mut line)).await;
        (read.unwrap().unwrap() > 0).then(|| line.trim_end().to_owned())
    }
}

fn tool_call(run_id: &str, agent: &str, call: u64) -> Event {
    let id = xxhash_rust::xxh3::xxh3_64_with_seed(run_id.as_bytes(), call);
    let input = Input {
        fingerprint: 1,
        masked: 1,
        bytes: 2,
        empty: false,
        pending: false,
        denies: false,
        refuses: false,
        answers: false,
        sample: "{}".into(),
        numbers: None,
        items: Box::default(),
    };
    let start_ns = 1_700_000_000_000_000_000 + call * 1_000_000_000;
    Event {
        id,
        trace: TraceId(*b"0123456789abcdef"),
        span: SpanId(id.to_be_bytes()),
        parent: SpanId::default(),
        start_ns,
        end_ns: start_ns + 1_000_000,
        agent: Some(agent.into()),
        worker: None,
        body: Body::ToolCall(ToolCall {
            tool: "search".into(),
            call_id: None,
            output: Recorded::Value(input.clone()),
            input: Recorded::Value(input),
            error: None,
            hands_off: false,
            manner: Manner::default(),
            guarded: None,
            traits: Traits::default(),
        }),
    }
}

fn alert(run_id: &str, severity: Severity) -> Alert {
    let warning = Warning {
        id: 7,
        incident: 7,
        revision: 1,
        rule: Rule::NoProgress,
        severity,
        penalty: 10,
        count: 3,
        tool: Some("search".into()),
        agent: None,
        state: WarningState::Open,
        first_seen_ns: 1_700_000_000_000_000_000,
        last_seen_ns: 1_700_000_001_000_000_000,
        evidence: Vec::new(),
        tokens: 0,
        cost_microusd: 0,
        what_happened: "It went round.".into(),
        why_it_matters: "It costs.".into(),
        verdict: None,
        verdict_observed: false,
        what_to_try: "Stop it.".into(),
    };
    Alert {
        cursor: 0,
        at_ms: 1_700_000_002_000,
        change: ChangeKind::Raised,
        run_id: run_id.into(),
        trace: None,
        service: None,
        score: 90,
        warning,
    }
}

fn after(cursor: u64) -> v1::TailAlertsRequest {
    v1::TailAlertsRequest {
        after_cursor: Some(cursor),
        ..v1::TailAlertsRequest::default()
    }
}

/// What comes next on a tail, in short: the cursor of an alert, or what was left out.
async fn next(
    tail: &mut Streaming<v1::TailAlertsResponse>,
) -> Option<Result<u64, (u64, u64, u64)>> {
    let answer = timeout(PATIENCE, tail.message())
        .await
        .expect("the tail is silent");
    Some(match answer.unwrap()?.message.unwrap() {
        Message::Alert(alert) => Ok(alert.cursor),
        Message::Lagged(lagged) => Err((lagged.missed, lagged.from, lagged.to)),
    })
}
