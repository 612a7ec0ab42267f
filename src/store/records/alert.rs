//! Alerts as exporters and tails read them. The cursor is the key and is not repeated in the record.

use prost::Message;

use crate::engine::event::{SpanId, Text, TraceId};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::{ChangeKind, Rule, Severity, Warning, WarningState};
use crate::store::alert::Alert;

use super::RecordError;
use super::guard::{verdict_number, verdict_numbered};

#[derive(Clone, PartialEq, prost::Message)]
struct AlertRecord {
    #[prost(uint64, tag = "1")]
    at_ms: u64,
    #[prost(uint32, tag = "2")]
    change: u32,
    #[prost(string, tag = "3")]
    run_id: String,
    #[prost(string, optional, tag = "4")]
    service: Option<String>,
    #[prost(uint32, tag = "5")]
    score: u32,
    #[prost(message, optional, tag = "6")]
    warning: Option<WarningRecord>,
    /// The run is named after its trace.
    #[prost(bool, tag = "7")]
    of_trace: bool,
}

/// A warning.
#[derive(Clone, PartialEq, prost::Message)]
struct WarningRecord {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(fixed64, tag = "2")]
    incident: u64,
    #[prost(uint32, tag = "3")]
    revision: u32,
    /// The rule's public id.
    #[prost(string, tag = "4")]
    rule: String,
    #[prost(uint32, tag = "5")]
    severity: u32,
    #[prost(uint32, tag = "6")]
    penalty: u32,
    #[prost(uint64, tag = "7")]
    count: u64,
    #[prost(string, optional, tag = "8")]
    tool: Option<String>,
    #[prost(string, optional, tag = "9")]
    agent: Option<String>,
    #[prost(bool, tag = "10")]
    resolved: bool,
    #[prost(fixed64, tag = "11")]
    first_seen_ns: u64,
    #[prost(fixed64, tag = "12")]
    last_seen_ns: u64,
    #[prost(fixed64, repeated, tag = "13")]
    evidence: Vec<u64>,
    #[prost(uint64, tag = "14")]
    tokens: u64,
    #[prost(uint64, tag = "15")]
    cost_microusd: u64,
    #[prost(string, tag = "16")]
    what_happened: String,
    #[prost(string, tag = "17")]
    why_it_matters: String,
    #[prost(string, tag = "18")]
    what_to_try: String,
    /// 0: none
    #[prost(uint32, tag = "30")]
    verdict: u32,
    #[prost(bool, tag = "31")]
    verdict_observed: bool,
}

/// An alert as bytes.
pub(crate) fn encode_alert(alert: &Alert) -> Vec<u8> {
    let record = AlertRecord {
        at_ms: alert.at_ms,
        change: change_number(alert.change),
        run_id: alert.run_id.to_string(),
        service: alert.service.as_deref().map(str::to_owned),
        score: alert.score,
        warning: Some(warning_record(&alert.warning)),
        of_trace: alert.trace.is_some(),
    };
    record.encode_to_vec()
}

/// The alert back from its bytes and its key.
pub(crate) fn decode_alert(cursor: u64, bytes: &[u8]) -> Result<Alert, RecordError> {
    let record = AlertRecord::decode(bytes)?;
    let warning = record
        .warning
        .ok_or_else(|| RecordError::missing("an alert's warning"))?;
    let trace = TraceId::of_run(&record.run_id).filter(|_| record.of_trace);
    Ok(Alert {
        cursor,
        at_ms: record.at_ms,
        change: change_numbered(record.change)?,
        trace,
        run_id: record.run_id.into(),
        service: record.service.map(Text::from),
        score: record.score,
        warning: read_warning(warning)?,
    })
}

fn warning_record(warning: &Warning) -> WarningRecord {
    WarningRecord {
        id: warning.id,
        incident: warning.incident,
        revision: warning.revision,
        rule: warning.rule.name().to_owned(),
        severity: severity_number(warning.severity),
        penalty: warning.penalty,
        count: warning.count,
        tool: warning.tool.as_deref().map(str::to_owned),
        agent: warning.agent.as_deref().map(str::to_owned),
        resolved: warning.state == WarningState::Resolved,
        first_seen_ns: warning.first_seen_ns,
        last_seen_ns: warning.last_seen_ns,
        evidence: warning
            .evidence
            .iter()
            .map(|span| u64::from_be_bytes(span.0))
            .collect(),
        tokens: warning.tokens,
        cost_microusd: warning.cost_microusd,
        what_happened: warning.what_happened.clone(),
        why_it_matters: warning.why_it_matters.clone(),
        what_to_try: warning.what_to_try.clone(),
        verdict: warning.verdict.map_or(0, verdict_number),
        verdict_observed: warning.verdict_observed,
    }
}

fn read_warning(record: WarningRecord) -> Result<Warning, RecordError> {
    Ok(Warning {
        id: record.id,
        incident: record.incident,
        revision: record.revision,
        rule: Rule::named(&record.rule)
            .ok_or_else(|| RecordError::unknown("rule", &record.rule))?,
        severity: severity_numbered(record.severity)?,
        penalty: record.penalty,
        count: record.count,
        tool: record.tool.map(Text::from),
        agent: record.agent.map(Text::from),
        state: if record.resolved {
            WarningState::Resolved
        } else {
            WarningState::Open
        },
        first_seen_ns: record.first_seen_ns,
        last_seen_ns: record.last_seen_ns,
        evidence: record
            .evidence
            .into_iter()
            .map(|span| SpanId(span.to_be_bytes()))
            .collect(),
        tokens: record.tokens,
        cost_microusd: record.cost_microusd,
        what_happened: record.what_happened,
        why_it_matters: record.why_it_matters,
        what_to_try: record.what_to_try,
        verdict: Some(verdict_numbered(record.verdict)?)
            .filter(|verdict| *verdict != VerdictKind::Allow),
        verdict_observed: record.verdict_observed,
    })
}

fn change_number(change: ChangeKind) -> u32 {
    match change {
        ChangeKind::Raised => 1,
        ChangeKind::Updated => 2,
        ChangeKind::Resolved => 3,
        ChangeKind::Reopened => 4,
    }
}

fn change_numbered(number: u32) -> Result<ChangeKind, RecordError> {
    match number {
        1 => Ok(ChangeKind::Raised),
        2 => Ok(ChangeKind::Updated),
        3 => Ok(ChangeKind::Resolved),
        4 => Ok(ChangeKind::Reopened),
        _ => Err(RecordError::unknown("change", number)),
    }
}

pub(super) fn severity_number(severity: Severity) -> u32 {
    match severity {
        Severity::Info => 1,
        Severity::Warning => 2,
        Severity::Critical => 3,
    }
}

pub(super) fn severity_numbered(number: u32) -> Result<Severity, RecordError> {
    match number {
        1 => Ok(Severity::Info),
        2 => Ok(Severity::Warning),
        3 => Ok(Severity::Critical),
        _ => Err(RecordError::unknown("severity", number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples;
    use super::*;

    proptest! {
        /// Given any alert, it comes back under its cursor.
        #[test]
        fn alerts_come_back(alert in samples::alert()) {
            let bytes = encode_alert(&alert);
            prop_assert_eq!(decode_alert(alert.cursor, &bytes), Ok(alert));
        }

        /// Given any bytes, or an alert with one of them changed or the end lost, reading answers and never panics.
        #[test]
        fn reading_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            alert in samples::alert(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let spoilt = samples::spoilt(&encode_alert(&alert), at, byte);
            for bytes in [bytes].iter().chain(&spoilt) {
                let _ = decode_alert(1, bytes);
            }
        }
    }
}
