//! The room as a whole, over a real store in a directory of its own and the real engine.

mod asking;
mod defect;
mod forgetting;
mod gathering;
mod guard;
mod lasting;
mod looking_up;
mod moving;
mod naming;
mod policy;
mod refusing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::clock::Clock;
use super::{RunFilter, Settings, Shards};
use crate::config::profile;
use crate::engine::RunView;
use crate::engine::event::{
    Body, Event, Manner, Recorded, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use crate::engine::policy::Policy;
use crate::normalize::{Report, RunRef};
use crate::store::{Durability, Options, Store, StoreError};

const NOW_MS: u64 = 1_700_000_000_000;
const A: TraceId = TraceId([0xaa; 16]);
const B: TraceId = TraceId([0xbb; 16]);
const C: TraceId = TraceId([0xcc; 16]);

async fn open(dir: &Path) -> Store {
    let options = Options {
        durability: Durability::Process,
        cache_bytes: 8 << 20,
        ..Options::default()
    };
    // Tasks that were aborted let go of the store when the runtime comes to them.
    for _ in 0..10_000 {
        match Store::open(dir, &options) {
            Err(StoreError::Held { .. }) => moment().await,
            opened => return opened.expect("the store opens"),
        }
    }
    panic!("somebody keeps the store open");
}

/// A moment of real time, in which other threads get on.
async fn moment() {
    let sleeping = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_millis(1)));
    sleeping.await.expect("sleeping does not fail");
}

fn policy() -> Arc<Policy> {
    Arc::new(profile::Name::Standard.policy())
}

fn settings() -> Settings {
    Settings {
        shards: 3,
        // Time stands still in most tests.
        gather: Duration::ZERO,
        ..Settings::default()
    }
}

async fn start(dir: &Path, settings: Settings) -> Shards {
    start_under(policy(), dir, settings).await
}

async fn start_under(policy: Arc<Policy>, dir: &Path, settings: Settings) -> Shards {
    let clock = Clock::Paused {
        began_ms: NOW_MS,
        began: Instant::now(),
    };
    let started = Shards::start_at(clock, open(dir).await, policy, settings).await;
    started.expect("the shards start")
}

async fn start_at(clock: Clock, dir: &Path, settings: Settings) -> Shards {
    Shards::start_at(clock, open(dir).await, policy(), settings)
        .await
        .expect("the shards start")
}

/// As after kill -9: nothing is said, nothing is saved.
async fn kill(shards: Shards) {
    drop(shards);
    tokio::task::yield_now().await;
}

async fn stop(shards: &Shards) {
    shards.stop(Instant::now() + Duration::from_secs(30)).await;
}

fn value(of: u64) -> Recorded {
    Recorded::Value(Value {
        fingerprint: of,
        masked: of,
        bytes: 20,
        empty: false,
        pending: false,
        denies: false,
        refuses: false,
        answers: false,
        sample: "".into(),
        numbers: None,
        items: Box::default(),
    })
}

/// The nth thing that happened in a trace.
fn event(trace: TraceId, n: u64, body: Body) -> Event {
    let id = u64::from(trace.0[0]) << 32 | u64::from(trace.0[1]) << 24 | n;
    let start_ns = NOW_MS * 1_000_000 - 60_000_000_000 + n * 1_000_000_000;
    Event {
        id,
        trace,
        span: SpanId(id.to_be_bytes()),
        parent: SpanId::default(),
        start_ns,
        end_ns: start_ns + 1_000,
        agent: Some("agent".into()),
        worker: None,
        body,
    }
}

/// The nth event: always the same call, with the same result. Three of them are a loop.
fn call(trace: TraceId, n: u64) -> Event {
    let call = ToolCall {
        tool: "search".into(),
        call_id: None,
        input: value(1),
        output: value(2),
        error: None,
        hands_off: false,
        manner: Manner::default(),
        guarded: None,
        traits: Traits::default(),
    };
    event(trace, n, Body::ToolCall(call))
}

fn report(trace: TraceId, run_id: Option<&str>, events: Vec<Event>) -> Report {
    Report {
        run: RunRef {
            trace,
            run_id: run_id.map(Text::from),
            service: Some("service".into()),
            ..RunRef::default()
        },
        events,
    }
}

fn calls(trace: TraceId, run_id: Option<&str>, ns: std::ops::Range<u64>) -> Vec<Report> {
    ns.map(|n| report(trace, run_id, vec![call(trace, n)]))
        .collect()
}

async fn submit(shards: &Shards, reports: Vec<Report>) {
    let outcome = shards.submit(reports, shards.policy()).await;
    outcome.expect("the reports are taken");
}

/// Keeps paused time where it is as long as it lives. Otherwise time would leap ahead whenever all tasks wait for the
/// store's thread; it does not while a blocking task runs.
struct Still {
    _end: std::sync::mpsc::Sender<()>,
}

fn still() -> Still {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    drop(tokio::task::spawn_blocking(move || ended.recv()));
    Still { _end: end }
}

/// Lets time pass in steps, each with a moment in which the shards do what is due.
async fn pass(steps: u64, step: Duration) {
    for _ in 0..steps {
        tokio::time::advance(step).await;
        moment().await;
    }
}

const SECOND: Duration = Duration::from_secs(1);

async fn view(shards: &Shards, run_id: &str) -> RunView {
    let found = shards.run(run_id).await.expect("the run can be read");
    found.unwrap_or_else(|| panic!("there is no run {run_id}"))
}

async fn listed(shards: &Shards, filter: &RunFilter) -> Vec<String> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = shards.runs(filter, 2, after.as_ref()).await.unwrap();
        assert!(page.runs.len() <= 2);
        ids.extend(page.runs.iter().map(|run| run.run_id.to_string()));
        after = page.next_after;
        if after.is_none() {
            return ids;
        }
    }
}

/// Lets time pass until something holds, and fails if it never does.
async fn until<T>(mut check: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = check().await {
            return found;
        }
        pass(1, SECOND).await;
    }
    panic!("it never came to hold");
}

fn hex(trace: TraceId) -> Text {
    trace.run_id()
}

/// The daemon spawns these.
#[test]
fn futures_may_travel() {
    fn check(_: impl Send) {}
    fn never(store: Store, shards: &Shards) {
        check(Shards::start(store, policy(), settings()));
        check(shards.submit(Vec::new(), shards.policy()));
        check(shards.run(""));
        check(shards.runs(&RunFilter::default(), 1, None));
        check(shards.watch(""));
        check(shards.stop(Instant::now()));
    }
    let _ = never;
}
