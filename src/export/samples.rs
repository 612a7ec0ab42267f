//! What the tests of this room share: alerts, a store with alerts in it, waiting for a condition, and what is logged.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::engine::event::{SpanId, TraceId};
use crate::engine::warning::{ChangeKind, Rule, Severity, Warning, WarningState};
use crate::store::alert::Alert;
use crate::store::{Durability, Options, Store, Turn};

/// 2026-11-21 14:03:22.600 UTC.
const AT_MS: u64 = 1_795_269_802_600;

/// A revision of a warning: raised as the first, updated after that.
pub(super) fn alert(id: u64, revision: u32) -> Alert {
    let change = if revision == 1 {
        ChangeKind::Raised
    } else {
        ChangeKind::Updated
    };
    Alert {
        cursor: 0,
        at_ms: AT_MS,
        change,
        run_id: "4bf92f3577b34da6a3ce929d0e0e4736".into(),
        trace: TraceId::of_run("4bf92f3577b34da6a3ce929d0e0e4736"),
        service: Some("research-bot".into()),
        score: 75,
        warning: Warning {
            id,
            incident: id,
            revision,
            rule: Rule::RepeatedToolCallExactInput,
            severity: Severity::Warning,
            penalty: 25,
            count: 3 + u64::from(revision),
            tool: Some("web_search".into()),
            agent: Some("researcher".into()),
            state: WarningState::Open,
            first_seen_ns: (AT_MS - 140_600) * 1_000_000,
            last_seen_ns: AT_MS * 1_000_000,
            evidence: vec![SpanId([0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7])],
            tokens: 12_440,
            cost_microusd: 81_200,
            what_happened:
                "web_search was called 4 times with the same arguments and gave the same result."
                    .into(),
            why_it_matters: "The same question gets the same answer.".into(),
            verdict: None,
            verdict_observed: false,
            what_to_try: "Give the agent the earlier result.".into(),
        },
    }
}

/// The same warning, resolved.
pub(super) fn resolved(id: u64, revision: u32) -> Alert {
    let mut alert = alert(id, revision);
    alert.change = ChangeKind::Resolved;
    alert.warning.state = WarningState::Resolved;
    alert.score = 100;
    alert
}

pub(super) fn store(dir: &Path) -> Store {
    store_of(dir, 100_000)
}

/// A store that keeps so many alerts.
pub(super) fn store_of(dir: &Path, alerts_max: u64) -> Store {
    let options = Options {
        durability: Durability::Process,
        cache_bytes: 1 << 20,
        alerts_max,
        ..Options::default()
    };
    Store::open(dir, &options).expect("a store")
}

pub(super) async fn publish(store: &Store, alerts: Vec<Alert>) {
    store
        .commit(Turn {
            alerts,
            ..Turn::default()
        })
        .await
        .expect("committed");
}

/// Waits for a condition, or fails after three minutes (of the test's clock).
pub(super) async fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..180_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("waited in vain: {what}");
}

/// What the exporters of a test log.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Takes in what this thread logs, as long as the guard is held.
    pub(super) fn read(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let lines = tracing_subscriber::fmt()
            .json()
            .with_writer(move || log.clone());
        tracing::subscriber::set_default(lines.finish())
    }

    /// The fields of each line.
    pub(super) fn lines(&self) -> Vec<serde_json::Value> {
        let text = String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8");
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            line["fields"].clone()
        });
        lines.collect()
    }

    /// How many alerts each line says are given up.
    pub(super) fn losses(&self) -> Vec<u64> {
        self.lines()
            .iter()
            .filter(|fields| fields["message"].to_string().contains("given up"))
            .map(|fields| fields["alerts"].as_u64().expect("a number"))
            .collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
