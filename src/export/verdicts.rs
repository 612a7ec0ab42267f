//! The guard's verdicts to OTLP backends: a log record for each one that is not `ALLOW`, whether or not a warning is raised.
//!
//! Alerts lie in the store until they are delivered. Verdicts do not: they wait in a ring of the shards, and a receiver that is
//! away for longer than that lasts misses the oldest, which is counted. What they bring about in the end, a warning, is an
//! alert.

use std::sync::Arc;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use tokio::sync::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use super::given_up::GivenUp;
use super::otlp::{attribute, int, string, text};
use super::otlp_logs::OtlpLogs;
use super::retry::{Settled, until_settled};
use super::{Exporter, NotTaken};
use crate::engine::guard::GivenVerdict;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::Rule;
use crate::json::hex_id;

/// Verdicts sent together.
const TOGETHER: usize = 256;

/// Why those are lost that the ring has let go of.
const TOO_MANY: &str = "too many were waiting";

/// The verdicts of one tenant on their way to one receiver.
pub(super) struct Verdicts {
    pub(super) sink: Arc<Mutex<OtlpLogs>>,
    /// What observers see.
    pub(super) exporter: Exporter,
    /// The shards hold the other end.
    pub(super) given: Receiver<Arc<GivenVerdict>>,
    /// What is lost to the receiver and not told of yet.
    pub(super) given_up: GivenUp,
    /// Cancelled when the daemon leaves.
    pub(super) leaving: CancellationToken,
}

impl Verdicts {
    /// Sends verdicts until the shards have gone, or until it is told to leave and nothing waits.
    pub(super) async fn run(mut self) {
        loop {
            let first = tokio::select! {
                biased;
                first = self.given.recv() => first,
                () = self.given_up.due() => {
                    self.given_up.tell_if_due();
                    continue;
                }
                () = self.leaving.cancelled() => return,
            };
            let mut batch = Vec::new();
            match first {
                Ok(given) => batch.push(given),
                Err(RecvError::Lagged(missed)) => self.miss(missed, TOO_MANY),
                Err(RecvError::Closed) => return,
            }
            while batch.len() < TOGETHER {
                match self.given.try_recv() {
                    Ok(given) => batch.push(given),
                    Err(TryRecvError::Lagged(missed)) => self.miss(missed, TOO_MANY),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            if !batch.is_empty() {
                self.deliver(&batch).await;
            }
        }
    }

    async fn deliver(&mut self, batch: &[Arc<GivenVerdict>]) {
        let sending = until_settled(
            self.exporter.settings.retry,
            &self.leaving,
            || async {
                let records = batch.iter().map(|given| log_record(given)).collect();
                self.sink.lock().await.export(records).await
            },
            |_| self.exporter.update(|progress| progress.retries += 1),
        );
        match sending.await {
            Settled::Taken => {}
            Settled::Partly { refused, reason } => self.miss(refused, reason),
            Settled::Refused { reason } | Settled::GivenUp { reason, .. } => {
                self.miss(batch.len() as u64, reason);
            }
        }
    }

    fn miss(&mut self, verdicts: u64, reason: impl Into<NotTaken>) {
        self.given_up.add(verdicts, reason.into().to_string());
        self.exporter.update(|progress| progress.missed += verdicts);
    }
}

fn log_record(given: &GivenVerdict) -> LogRecord {
    let verdict = &given.verdict;
    let at_ns = given.at_ms.saturating_mul(1_000_000);
    let (number, severity) = match verdict.kind {
        VerdictKind::Allow | VerdictKind::Nudge => (SeverityNumber::Info, "INFO"),
        VerdictKind::Skip => (SeverityNumber::Warn, "WARN"),
        VerdictKind::Abort => (SeverityNumber::Error, "ERROR"),
    };
    let rule = verdict.rule.map(Rule::name);
    let about = given.tool.as_deref().unwrap_or("a message");
    let mut body = format!("{} for {about}", verdict.kind.name());
    if let Some(rule) = rule {
        body = format!("{body}: {rule}");
    }
    let mut attributes = vec![
        text("eddy.run.id", &given.run_id),
        text("eddy.guard.verdict", verdict.kind.name()),
        attribute("eddy.guard.enforced", Value::BoolValue(given.is_enforced)),
    ];
    let warning = verdict.warning_id.map(hex_id);
    let optional = [
        ("eddy.warning.rule", rule),
        ("eddy.warning.id", warning.as_deref()),
        ("gen_ai.tool.name", given.tool.as_deref()),
        ("gen_ai.agent.name", given.agent.as_deref()),
    ];
    let named = optional.map(|(key, value)| value.map(|value| text(key, value)));
    attributes.extend(named.into_iter().flatten());
    let repeats = verdict.repeats;
    attributes.extend(repeats.map(|repeats| int("eddy.guard.repeats", repeats)));
    LogRecord {
        time_unix_nano: at_ns,
        observed_time_unix_nano: at_ns,
        severity_number: number.into(),
        severity_text: severity.to_owned(),
        event_name: "eddy.guard.verdict".to_owned(),
        body: Some(string(&body)),
        attributes,
        trace_id: given
            .trace
            .map(|trace| trace.0.to_vec())
            .unwrap_or_default(),
        ..LogRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast;

    use super::*;
    use crate::export::given_up::Item;
    use crate::export::not_taken::WHAT_CHARS_MAX;
    use crate::export::samples::Log;
    use crate::export::{ExporterSettings, Kind, OtlpLogsSettings};

    // Given a receiver that has much to say of what it does not take; the log has the beginning of it.
    #[test]
    fn a_long_refusal_is_cut() {
        let log = Log::default();
        let _reading = log.read();
        let settings = OtlpLogsSettings::new("http://127.0.0.1:1");
        let settings = ExporterSettings::new("backend", Kind::OtlpLogs(settings));
        let exporter = Exporter::new(settings).expect("settings that work");
        let mut verdicts = Verdicts {
            sink: exporter.verdicts.clone().expect("it takes log records"),
            exporter,
            given: broadcast::Sender::new(1).subscribe(),
            given_up: GivenUp::new("backend", Item::Verdicts),
            leaving: CancellationToken::new(),
        };
        verdicts.miss(2, "no ".repeat(20_000));
        assert_eq!(verdicts.exporter.progress().missed, 2);
        let lines = log.lines();
        let said = lines[0]["reason"].as_str().expect("a text");
        assert_eq!(said.len(), WHAT_CHARS_MAX);
    }
}
