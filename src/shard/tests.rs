//! The room as a whole, over a real store in a directory of its own and the real engine.

mod defect;
mod guard;
mod policy;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::Instant;

use super::clock::Clock;
use super::{Refusal, RunFilter, Settings, Shards};
use crate::config::profile;
use crate::engine::event::{
    Body, Event, Recorded, RunEnd, SpanId, Text, ToolCall, TraceId, Traits, Value,
};
use crate::engine::policy::Policy;
use crate::engine::view::{Ended, Status};
use crate::engine::warning::{ChangeKind, WarningState};
use crate::engine::{Input, RunState, RunView, step};
use crate::normalize::{Report, RunRef};
use crate::store::records::encode_run;
use crate::store::{Durability, Options, Store, StoreError, Turn};

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
        ..Settings::default()
    }
}

async fn start(dir: &Path, settings: Settings) -> Shards {
    let clock = Clock::Paused {
        began_ms: NOW_MS,
        began: Instant::now(),
    };
    start_at(clock, dir, settings).await
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
        sample: "".into(),
        numbers: None,
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
        writes: false,
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
    let mut token = None;
    loop {
        let page = shards.runs(filter, 2, token.as_deref()).await.unwrap();
        assert!(page.runs.len() <= 2);
        ids.extend(page.runs.iter().map(|run| run.run_id.to_string()));
        token = page.next_page_token;
        if token.is_none() {
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
    super::router::own_id(trace)
}

/// Given three identical calls, the run is there as soon as the sender is answered, with its warning, and the alert is
/// in the log.
#[tokio::test(start_paused = true)]
async fn what_is_acknowledged_is_effective() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..3)).await;
    let run = view(&shards, "r").await;
    assert_eq!((run.tool_calls, run.warnings.is_empty()), (3, false));
    assert_eq!(run.service.as_deref(), Some("service"));
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    assert_eq!(alerts.len(), run.warnings.len());
    assert!(
        alerts
            .iter()
            .all(|alert| alert.change == ChangeKind::Raised)
    );
    assert_eq!((alerts[0].score, &*alerts[0].run_id), (run.score, "r"));
    assert_eq!(shards.counters().events.value(), 3);
    assert_eq!(
        (shards.run_count(), shards.run("s").await.unwrap()),
        (1, None)
    );
}

/// Given reports without events, or without anything to find their run by, no run comes of them.
#[tokio::test(start_paused = true)]
async fn reports_without_content_make_no_runs() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, vec![]).await;
    submit(&shards, vec![report(A, None, vec![])]).await;
    submit(&shards, vec![report(A, Some("r"), vec![])]).await;
    let nobody = TraceId::default();
    submit(&shards, vec![report(nobody, None, vec![call(A, 1)])]).await;
    assert_eq!(shards.run_count(), 0);
    assert_eq!(shards.counters().unattributed.value(), 1);
    // The trace's run is known all the same, also after a crash.
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 1);
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, None, 1..2)).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a crash at any moment, the next start shows the same runs, with the same warning ids and revisions, and says
/// nothing twice; also with another number of shards.
#[tokio::test(start_paused = true)]
async fn a_crash_changes_nothing() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let mut before: Vec<(Text, RunView)> = Vec::new();
    for round in 0..4_u16 {
        let settings = Settings {
            shards: 1 + round,
            ..settings()
        };
        let shards = start(dir.path(), settings).await;
        for (run_id, old) in &before {
            assert_eq!(&view(&shards, run_id).await, old);
        }
        let alerts = shards.store().last_cursor();
        let ns = u64::from(round) * 3..u64::from(round) * 3 + 3;
        for trace in [A, B, C] {
            submit(&shards, calls(trace, None, ns.clone())).await;
            submit(&shards, calls(trace, None, ns.clone())).await;
        }
        assert!(shards.store().last_cursor() > alerts);
        before.clear();
        for trace in [A, B, C] {
            let run_id = hex(trace);
            let run = view(&shards, &run_id).await;
            assert_eq!(run.tool_calls, ns.end);
            before.push((run_id, run));
        }
        let alerts = shards.store().last_cursor();
        kill(shards).await;
        assert_eq!(open(dir.path()).await.last_cursor(), alerts);
    }
    let all = {
        let store = open(dir.path()).await;
        store.alerts_after(0, 1_000).unwrap()
    };
    for (_, run) in before {
        for warning in run.warnings {
            let revisions: Vec<u32> = all
                .iter()
                .filter(|alert| alert.warning.id == warning.id)
                .map(|alert| alert.warning.revision)
                .collect();
            let expected: Vec<u32> = (1..=warning.revision).collect();
            assert_eq!(revisions, expected, "{:?}", warning.rule);
        }
    }
}

/// Given an orderly end, everything is in the states and the journal is not needed.
#[tokio::test(start_paused = true)]
async fn an_orderly_end_saves_everything() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..3)).await;
    let before = view(&shards, "r").await;
    stop(&shards).await;
    assert!(!shards.is_ready());
    assert_eq!(
        shards
            .submit(calls(A, Some("r"), 3..4), shards.policy())
            .await,
        Err(Refusal::Stopping)
    );
    // What is on disk can still be read.
    assert_eq!(view(&shards, "r").await, before);
    kill(shards).await;
    let store = open(dir.path()).await;
    assert!(store.load_run("r").unwrap().is_some());
    drop(store);
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await, before);
}

/// Given what waits when the end comes, it is committed and its sender answered.
#[tokio::test(start_paused = true)]
async fn an_orderly_end_answers_what_waits() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let waiting = shards
        .shared
        .admit(calls(A, Some("r"), 0..3), &shards.policy())
        .unwrap();
    stop(&shards).await;
    for done in waiting {
        done.await.expect("it was committed");
    }
    assert_eq!(view(&shards, "r").await.tool_calls, 3);
}

/// Given a trace whose name comes last, all of it is in the named run, none in the run named after the trace, whose
/// warnings are resolved; asked for by its old id, it is found.
#[tokio::test(start_paused = true)]
async fn a_late_name_moves_the_run() {
    let _still = still();
    for shards in 1..5 {
        let settings = Settings {
            shards,
            ..settings()
        };
        check_late_name(settings).await;
    }
}

async fn check_late_name(settings: Settings) {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings.clone()).await;
    submit(&shards, calls(A, None, 0..3)).await;
    let old = view(&shards, &hex(A)).await;
    assert!(!old.warnings.is_empty());
    submit(&shards, calls(A, Some("r"), 3..4)).await;
    submit(&shards, calls(A, None, 4..5)).await;
    let run = view(&shards, "r").await;
    assert_eq!(run.tool_calls, 5);
    assert_eq!(view(&shards, &hex(A)).await, run);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    assert_eq!(shards.counters().runs_moved.value(), 1);
    let alerts = shards.store().alerts_after(0, 100).unwrap();
    for warning in old.warnings {
        let newest = alerts.iter().rfind(|alert| alert.warning.id == warning.id);
        assert_eq!(newest.unwrap().warning.state, WarningState::Resolved);
    }
    kill(shards).await;
    let shards = start(dir.path(), settings).await;
    assert_eq!(view(&shards, "r").await, run);
    submit(&shards, calls(A, None, 5..6)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 6);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given several traces with one name, whatever the order and the batches, they are one run.
#[tokio::test(start_paused = true)]
async fn traces_with_one_name_are_one_run() {
    let _still = still();
    let whole = || {
        let mut reports = calls(A, None, 0..2);
        reports.extend(calls(A, Some("r"), 2..3));
        reports.extend(calls(B, Some("r"), 10..11));
        reports.extend(calls(B, None, 11..13));
        reports
    };
    let mut views = Vec::new();
    for (reversed, together) in [(false, 1), (true, 1), (false, 3), (true, 2), (false, 100)] {
        let dir = tempfile::tempdir().unwrap();
        let shards = start(dir.path(), settings()).await;
        let mut reports = whole();
        if reversed {
            reports.reverse();
        }
        for batch in reports.chunks(together) {
            submit(&shards, batch.to_vec()).await;
        }
        let mut run = view(&shards, "r").await;
        assert_eq!(run.tool_calls, 6);
        assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
        run.heard_ms = 0;
        for warning in &mut run.warnings {
            warning.revision = 0;
        }
        views.push(run);
    }
    assert!(views.iter().all(|run| *run == views[0]), "{views:#?}");
}

/// Given a trace that continues another, both are one run, by the first one's id until that gets a name.
#[tokio::test(start_paused = true)]
async fn a_continued_trace_is_the_same_run() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(B, None, 5..6)).await;
    let mut continuing = report(B, None, vec![call(B, 6)]);
    continuing.run.continues = Some(A);
    submit(&shards, vec![continuing]).await;
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(view(&shards, &hex(A)).await.tool_calls, 3);
    assert_eq!(listed(&shards, &RunFilter::default()).await, [&*hex(A)]);
    submit(&shards, calls(A, Some("r"), 1..2)).await;
    submit(&shards, calls(B, None, 7..8)).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 5);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given a crash after the alias was committed and before the run had moved, the next start moves it; given one after
/// the run was absorbed and before the old one was removed, nothing counts twice.
#[tokio::test(start_paused = true)]
async fn an_interrupted_move_is_finished() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, None, 0..3)).await;
    submit(&shards, calls(B, Some("r"), 10..11)).await;
    let state = shards.store().clone();
    let alias = Turn {
        at_ms: NOW_MS,
        policy: shards.shared.policy().hash,
        aliases: vec![(A, "r".into())],
        ..Turn::default()
    };
    state.commit(alias).await.unwrap();
    drop(state);
    kill(shards).await;

    let shards = start(dir.path(), settings()).await;
    until(async || (shards.counters().runs_moved.value() == 1).then_some(())).await;
    let run = view(&shards, "r").await;
    assert_eq!(run.tool_calls, 4);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
    // The old run again, as if its removal had not been committed.
    let mut old = RunState::new(hex(A));
    let told = Input::Reports {
        at_ms: NOW_MS,
        session_id: None,
        service: None,
        events: (0..3).map(|n| call(A, n)).collect(),
    };
    step(&mut old, &told, &policy());
    let key = crate::store::IndexKey {
        created_ms: NOW_MS,
        run_id: hex(A),
    };
    let again = Turn {
        at_ms: NOW_MS,
        policy: shards.shared.policy().hash,
        new_runs: vec![key.clone()],
        ..Turn::default()
    };
    shards.store().commit(again).await.unwrap();
    let saved = crate::store::SavedRun {
        key,
        position: 1_000,
        state: encode_run(&old),
    };
    shards.store().save_runs(vec![saved]).await.unwrap();
    kill(shards).await;

    let shards = start(dir.path(), settings()).await;
    until(async || (shards.counters().runs_moved.value() == 1).then_some(())).await;
    assert_eq!(view(&shards, "r").await, run);
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["r"]);
}

/// Given more runs than may be in memory, they go to disk and come back with everything.
#[tokio::test(start_paused = true)]
async fn runs_leave_memory_and_come_back() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let few = Settings {
        resident_runs_max: 8,
        shards: 2,
        ..settings()
    };
    let shards = start(dir.path(), few.clone()).await;
    let trace = |number: u8| TraceId([number; 16]);
    for n in 0..4 {
        for number in 1..40 {
            submit(&shards, calls(trace(number), None, n..n + 1)).await;
        }
    }
    assert!(shards.counters().runs_evicted.value() > 100);
    let mut views = Vec::new();
    for number in 1..40 {
        let run = view(&shards, &hex(trace(number))).await;
        assert_eq!(
            (run.tool_calls, run.warnings.len()),
            (4, run.warnings.len().max(1))
        );
        views.push(run);
    }
    assert_eq!(listed(&shards, &RunFilter::default()).await.len(), 39);
    assert_eq!(
        (shards.run_count(), shards.counters().runs_created.value()),
        (39, 39)
    );
    kill(shards).await;
    let shards = start(dir.path(), few).await;
    for run in views {
        assert_eq!(view(&shards, &run.run_id).await, run);
    }
}

/// Given a run that goes quiet, it ends after the idle time and not before, once; a late report opens it again.
#[tokio::test(start_paused = true)]
async fn a_quiet_run_ends() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..1)).await;
    submit(&shards, calls(B, Some("busy"), 0..1)).await;
    pass(200, SECOND).await;
    submit(&shards, calls(B, Some("busy"), 1..2)).await;
    pass(90, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Open);
    let ended = until(async || {
        let run = view(&shards, "r").await;
        (run.ended != Ended::Open).then_some(run)
    });
    assert_eq!(ended.await.ended, Ended::Idle);
    assert_eq!(view(&shards, "busy").await.ended, Ended::Open);
    pass(1_000, SECOND).await;
    assert_eq!(view(&shards, "busy").await.ended, Ended::Idle);
    assert_eq!(shards.counters().runs_idle.value(), 2);
    submit(&shards, calls(A, Some("r"), 1..2)).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Open);
    pass(400, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Idle);
}

/// Given a run that was open when the daemon died, on disk and not in memory, it is found idle afterwards; its root's
/// good end counts.
#[tokio::test(start_paused = true)]
async fn a_run_left_open_ends_after_the_next_start() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let few = Settings {
        resident_runs_max: 1,
        shards: 1,
        ..settings()
    };
    let shards = start(dir.path(), few.clone()).await;
    let root = event(A, 9, Body::RunEnd(RunEnd { error: None }));
    submit(&shards, vec![report(A, Some("r"), vec![call(A, 0), root])]).await;
    submit(&shards, calls(B, Some("other"), 0..1)).await;
    kill(shards).await;
    let shards = start(dir.path(), few).await;
    pass(400, SECOND).await;
    assert_eq!(view(&shards, "r").await.ended, Ended::Ok);
    assert_eq!(view(&shards, "other").await.ended, Ended::Idle);
    let before = view(&shards, "r").await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await, before);
}

/// Given runs that nobody has heard of for the retention time, they are forgotten, and one that is at work is not.
#[tokio::test(start_paused = true)]
async fn old_runs_are_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let hour = Settings {
        retention_age: Duration::from_secs(3_600),
        ..settings()
    };
    let shards = start(dir.path(), hour.clone()).await;
    submit(&shards, calls(A, Some("old"), 0..1)).await;
    submit(&shards, calls(B, Some("working"), 0..1)).await;
    for n in 1..4 {
        pass(30, 60 * SECOND).await;
        submit(&shards, calls(B, Some("working"), n..n + 1)).await;
    }
    until(async || (shards.run_count() == 1).then_some(())).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
    assert_eq!(shards.run("old").await.unwrap(), None);
    assert_eq!(shards.counters().runs_retired.value(), 1);
    let later = Clock::Paused {
        began_ms: shards.shared.clock.now_ms(),
        began: Instant::now(),
    };
    kill(shards).await;
    let shards = start_at(later, dir.path(), hour).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
}

/// Given a run whose turn to be looked at comes after it has gone, it is not forgotten once more, and the number of runs is
/// right.
#[tokio::test(start_paused = true)]
async fn a_run_is_forgotten_once() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let hour = Settings {
        retention_age: Duration::from_secs(3_600),
        ..settings()
    };
    let shards = start(dir.path(), hour).await;
    submit(&shards, calls(A, Some("old"), 0..1)).await;
    let old = shards.shared.store.run_ids(None, false, 10).unwrap();
    assert_eq!(old.len(), 1);
    pass(70, 60 * SECOND).await;
    submit(&shards, calls(B, Some("working"), 0..1)).await;
    until(async || (shards.run_count() == 1).then_some(())).await;
    assert_eq!(listed(&shards, &RunFilter::default()).await, ["working"]);
    assert_eq!(
        shards.shared.review(old, super::inbox::Review::Age).await,
        0
    );
    assert_eq!(shards.run_count(), 1);
    assert_eq!(shards.counters().runs_retired.value(), 1);
}

/// Given more runs than are kept, those begun first are forgotten as they go quiet, except one that is at work.
#[tokio::test(start_paused = true)]
async fn too_many_runs_are_forgotten() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let shards = start(dir.path(), three).await;
    for number in 1..10_u8 {
        submit(&shards, calls(A, Some("working"), 0..u64::from(number))).await;
        let trace = TraceId([number; 16]);
        submit(&shards, calls(trace, Some(&format!("run {number}")), 0..1)).await;
        pass(60, SECOND).await;
    }
    until(async || (shards.run_count() == 3).then_some(())).await;
    assert_eq!(
        listed(&shards, &RunFilter::default()).await,
        ["run 9", "run 8", "working"]
    );
}

/// Given far too many runs of one report each, the first begun are forgotten before they count as quiet.
#[tokio::test(start_paused = true)]
async fn the_number_of_runs_has_a_limit_in_any_case() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let idle = three.idle;
    let shards = start(dir.path(), three).await;
    let began = Instant::now();
    let all: Vec<Report> = (0..200_u8)
        .flat_map(|number| {
            let trace = TraceId([number, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
            calls(trace, None, 0..1)
        })
        .collect();
    submit(&shards, all).await;
    until(async || (shards.run_count() <= 103).then_some(())).await;
    assert!(began.elapsed() < idle, "they were quiet by then");
}

/// Given far too many runs that are at work, none of them is forgotten: a request that would begin another one is refused for
/// now and leaves nothing behind, one that goes on is taken, and when the others have gone quiet there is room again.
#[tokio::test(start_paused = true)]
async fn runs_at_work_are_kept_and_no_more_begun() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let three = Settings {
        retention_runs: 3,
        ..settings()
    };
    let shards = start(dir.path(), three).await;
    let each = |numbers: std::ops::Range<u8>, calls_of: std::ops::Range<u64>| -> Vec<Report> {
        let traces = numbers.map(|number| TraceId([number + 1; 16]));
        traces
            .flat_map(|trace| calls(trace, None, calls_of.clone()))
            .collect()
    };
    submit(&shards, each(0..202, 0..1)).await;
    pass(1, SECOND).await;
    submit(&shards, each(0..202, 1..2)).await;
    pass(10, SECOND).await;
    submit(&shards, each(202..203, 0..1)).await;
    assert_eq!(shards.run_count(), 203);
    let mut mixed = each(0..1, 2..3);
    mixed.extend(each(203..204, 0..1));
    let refused = shards.submit(mixed.clone(), shards.policy()).await;
    assert!(
        matches!(refused, Err(Refusal::Crowded { .. })),
        "{refused:?}"
    );
    assert_eq!(view(&shards, &hex(TraceId([1; 16]))).await.tool_calls, 2);
    submit(&shards, each(0..1, 2..3)).await;
    assert_eq!(shards.counters().refused_crowded.value(), 1);
    until(async || (shards.run_count() <= 3).then_some(())).await;
    submit(&shards, mixed).await;
}

/// Given a full inbox, a request is refused whole and leaves nothing behind; the time to wait grows; when there is room
/// again the same request is taken.
#[tokio::test(start_paused = true)]
async fn a_full_inbox_refuses_whole_requests() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let small = Settings {
        inbox_reports_max: 4,
        ..settings()
    };
    let shards = start(dir.path(), small).await;
    // Nothing is taken out before this task waits for something.
    let waiting = shards
        .shared
        .admit(calls(A, None, 0..3), &shards.policy())
        .unwrap();
    let mut mixed = calls(B, None, 0..1);
    mixed.extend(calls(C, Some(&hex(A)), 5..7));
    let mut waits = Vec::new();
    for _ in 0..100 {
        match shards.shared.admit(mixed.clone(), &shards.policy()) {
            Err(Refusal::Overloaded { retry_after }) => waits.push(retry_after),
            other => panic!("not refused but {:?}", other.map(|waiting| waiting.len())),
        }
    }
    assert!(waits[0] <= Duration::from_secs(1), "{waits:?}");
    assert!(waits[99] > waits[0] * 3, "{waits:?}");
    assert!(waits.windows(2).any(|pair| pair[0] > pair[1]), "no jitter");
    for done in waiting {
        done.await.unwrap();
    }
    // The refused request has taught nothing: its trace without a name is still a run of its own.
    submit(&shards, calls(C, None, 8..9)).await;
    let own = [hex(C), hex(A)];
    assert_eq!(
        listed(&shards, &RunFilter::default()).await.len(),
        own.len()
    );
    submit(&shards, mixed).await;
    assert_eq!(view(&shards, &hex(A)).await.tool_calls, 6);
    // A request larger than any inbox is taken when the inbox is empty.
    submit(&shards, calls(A, None, 20..40)).await;
}

/// Given a store that takes no more, senders are told to try again, readiness is gone, and what was committed can still
/// be read, and nothing else.
#[tokio::test(start_paused = true)]
async fn a_failed_commit_stops_the_shard() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    submit(&shards, calls(A, Some("r"), 0..1)).await;
    assert!(shards.is_ready());
    shards.store().clone().close().await.unwrap();
    let refused = shards
        .submit(calls(A, Some("r"), 1..2), shards.policy())
        .await;
    assert_eq!(refused, Err(Refusal::Failed));
    assert!(!shards.is_ready());
    assert_eq!(
        shards.submit(calls(B, None, 0..1), shards.policy()).await,
        Err(Refusal::Failed)
    );
    let seen = shards.run("r").await.unwrap();
    assert!(seen.is_none_or(|run| run.tool_calls == 1));
    stop(&shards).await;
    kill(shards).await;
    let shards = start(dir.path(), settings()).await;
    assert_eq!(view(&shards, "r").await.tool_calls, 1);
}

/// Given a watcher, it sees the run as it is, and then every commit or the newest of several; it sees the end of a run
/// that moves.
#[tokio::test(start_paused = true)]
async fn watchers_see_what_is_committed() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let mut early = Box::pin(shards.watch(&hex(A)));
    let nothing = futures_util::poll!(early.next());
    assert!(nothing.is_pending());
    submit(&shards, calls(A, None, 0..1)).await;
    assert_eq!(early.next().await.unwrap().tool_calls, 1);
    let mut late = Box::pin(shards.watch(&hex(A)));
    assert_eq!(late.next().await.unwrap().tool_calls, 1);
    for n in 1..4 {
        submit(&shards, calls(A, None, n..n + 1)).await;
    }
    assert_eq!(early.next().await.unwrap().tool_calls, 4);
    assert_eq!(late.next().await.unwrap().tool_calls, 4);
    submit(&shards, calls(A, Some("r"), 4..5)).await;
    assert!(early.next().await.is_none());
    let mut moved = Box::pin(shards.watch("r"));
    assert_eq!(moved.next().await.unwrap().tool_calls, 5);
    stop(&shards).await;
    assert!(moved.next().await.is_none());
}

/// Given a thousand watched runs of one shard, a further watcher is refused, until some of the others have gone.
#[tokio::test(start_paused = true)]
async fn watched_runs_have_a_limit() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let one = Settings {
        shards: 1,
        ..settings()
    };
    let shards = start(dir.path(), one).await;
    let mut watching = Vec::new();
    for number in 0..super::watchers::WATCHED_RUNS_MAX {
        let run_id = number.to_string().into();
        let ask = |reply| super::inbox::Query::Watch { run_id, reply };
        watching.push(
            shards.shared.desks[0]
                .ask(ask)
                .await
                .expect("there is room"),
        );
    }
    assert!(shards.watch("more").boxed().next().await.is_none());
    assert_eq!(shards.counters().refused_watchers.value(), 1);
    drop(watching);
    submit(&shards, calls(A, Some("more"), 0..1)).await;
    assert!(shards.watch("more").boxed().next().await.is_some());
}

/// Given runs of different kinds, a list has those that pass, the last begun first, in pages.
#[tokio::test(start_paused = true)]
async fn lists_are_filtered_and_paged() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    for number in 1..8_u8 {
        let trace = TraceId([number; 16]);
        let count = if number % 2 == 0 { 8 } else { 1 };
        submit(&shards, calls(trace, Some(&number.to_string()), 0..count)).await;
        pass(1, Duration::from_millis(10)).await;
    }
    let all = listed(&shards, &RunFilter::default()).await;
    assert_eq!(all, ["7", "6", "5", "4", "3", "2", "1"]);
    let healthy = RunFilter {
        statuses: vec![Status::Healthy],
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &healthy).await, ["7", "5", "3", "1"]);
    let seen = view(&shards, "1").await.last_seen_ns;
    let late = RunFilter {
        min_last_seen_ns: Some(seen + 1),
        agent: Some("agent".into()),
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &late).await, ["6", "4", "2"]);
    let early = RunFilter {
        max_last_seen_ns: Some(seen),
        ..RunFilter::default()
    };
    assert_eq!(listed(&shards, &early).await.len(), 4);
    let other = RunFilter {
        agent: Some("nobody".into()),
        ..RunFilter::default()
    };
    assert!(listed(&shards, &other).await.is_empty());
    assert!(shards.runs(&other, 10, Some("nonsense")).await.is_err());
}

/// Given a clock that cannot be right, the event counts as happening on arrival, and that is counted.
#[tokio::test(start_paused = true)]
async fn impossible_times_are_put_right() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let mut ahead = call(A, 0);
    ahead.start_ns = u64::MAX / 2;
    ahead.end_ns = ahead.start_ns;
    submit(&shards, vec![report(A, Some("r"), vec![ahead, call(A, 1)])]).await;
    let run = view(&shards, "r").await;
    assert!(run.last_seen_ns / 1_000_000 <= NOW_MS + 60_000);
    assert_eq!(shards.counters().times_settled.value(), 1);
}

/// Given states behind by at most the interval, the journal is cut and the memory of what is unsaved is empty.
#[tokio::test(start_paused = true)]
async fn states_follow_the_journal() {
    let _still = still();
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    for number in 1..30_u8 {
        let trace = TraceId([number; 16]);
        submit(&shards, calls(trace, None, 0..2)).await;
    }
    assert!(shards.store().replay().count() > 0);
    until(async || (shards.store().counters().runs_saved == 29).then_some(())).await;
    for number in 1..30_u8 {
        let run_id = hex(TraceId([number; 16]));
        assert!(shards.store().load_run(&run_id).unwrap().is_some());
    }
    until(async || {
        // The store cuts when it has something to write.
        submit(&shards, calls(A, None, 0..1)).await;
        (shards.store().replay().count() < 10).then_some(())
    })
    .await;
}

/// Given many senders at once, everything is there in the end, and what they were told was true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_senders_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let shards = start(dir.path(), settings()).await;
    let senders = (1..9_u8).map(|sender| {
        let shards = shards.clone();
        tokio::spawn(async move {
            for n in 0..30 {
                let trace = TraceId([sender; 16]);
                let name = format!("run {}", sender % 4);
                let name = (n == 20).then_some(&*name);
                submit(&shards, calls(trace, name, n..n + 1)).await;
            }
        })
    });
    for sender in futures_util::future::join_all(senders).await {
        sender.unwrap();
    }
    let mut all = listed(&shards, &RunFilter::default()).await;
    all.sort();
    assert_eq!(all, ["run 0", "run 1", "run 2", "run 3"]);
    for run_id in all {
        assert_eq!(view(&shards, &run_id).await.tool_calls, 60);
    }
    assert_eq!(shards.shared.refused_in_row.load(Ordering::Relaxed), 0);
    stop(&shards).await;
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
