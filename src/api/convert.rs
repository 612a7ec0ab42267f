//! The one place where values of the engine, the shards and the store become protobuf, and where enums of protobuf become values.
//!
//! The shapes agree with those of [`crate::json`]; a field that is added here is added there. Nothing in this file can
//! fail but the reading of an enum's number, because proto3 lets a client send any number.

use prost_types::Timestamp;

use super::tail::Lagged;
use super::v1;
use crate::engine::RunView;
use crate::engine::event::SECOND_NS;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::view::{AgentWork, Ended, Status};
use crate::engine::warning::{ChangeKind, Severity, Warning, WarningState};
use crate::json::{DATE_NS_MIN, dollars, hex_id, hex_span};
use crate::shard::guard::GuardAnswer;
use crate::store::alert::Alert;

pub(super) const NANOS_PER_MILLI: u64 = 1_000_000;

impl From<&RunView> for v1::Run {
    fn from(run: &RunView) -> Self {
        Self {
            run_id: run.run_id.to_string(),
            session_id: run.session_id.as_deref().map(str::to_owned),
            service: run.service.as_deref().map(str::to_owned),
            agents: run.agents.iter().map(ToString::to_string).collect(),
            status: v1::RunStatus::from(run.status).into(),
            score: run.score,
            lowest_score: run.lowest_score,
            tool_calls: run.tool_calls,
            work: run.work.iter().map(v1::AgentWork::from).collect(),
            skipped_calls: run.skipped_calls,
            saved_tokens_estimate: run.saved_tokens,
            saved_cost_usd_estimate: dollars(run.saved_cost_microusd),
            model_calls: run.model_calls,
            tokens: run.tokens,
            cost_usd: dollars(run.cost_microusd),
            ended: v1::RunEnding::from(run.ended).into(),
            first_seen_time: timestamp(run.first_seen_ns),
            last_seen_time: timestamp(run.last_seen_ns),
            warnings: run.warnings.iter().map(v1::Warning::from).collect(),
            notes: run.notes.iter().map(ToString::to_string).collect(),
            late_events: run.late_events,
            unpriced_models: run
                .unpriced_models
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl From<&AgentWork> for v1::AgentWork {
    fn from(work: &AgentWork) -> Self {
        Self {
            agent: work.agent.to_string(),
            calls: work.calls,
            repeats: work.repeats,
        }
    }
}

impl From<&Warning> for v1::Warning {
    fn from(warning: &Warning) -> Self {
        Self {
            warning_id: hex_id(warning.id),
            incident_id: hex_id(warning.incident),
            rule: warning.rule.name().to_owned(),
            severity: v1::Severity::from(warning.severity).into(),
            penalty: warning.penalty,
            count: warning.count,
            tool: warning.tool.as_deref().map(str::to_owned),
            agent: warning.agent.as_deref().map(str::to_owned),
            state: v1::WarningState::from(warning.state).into(),
            revision: warning.revision,
            first_seen_time: timestamp(warning.first_seen_ns),
            last_seen_time: timestamp(warning.last_seen_ns),
            evidence_span_ids: warning.evidence.iter().copied().map(hex_span).collect(),
            tokens: warning.tokens,
            cost_usd: dollars(warning.cost_microusd),
            what_happened: warning.what_happened.clone(),
            why_it_matters: warning.why_it_matters.clone(),
            what_to_try: warning.what_to_try.clone(),
            verdict: warning
                .verdict
                .map(|verdict| v1::Verdict::from(verdict).into()),
            verdict_observed: warning.verdict_observed,
        }
    }
}

impl From<&Alert> for v1::Alert {
    fn from(alert: &Alert) -> Self {
        Self {
            cursor: alert.cursor,
            commit_time: timestamp(alert.at_ms.saturating_mul(NANOS_PER_MILLI)),
            change: v1::AlertChange::from(alert.change).into(),
            run_id: alert.run_id.to_string(),
            service: alert.service.as_deref().map(str::to_owned),
            score: alert.score,
            warning: Some(v1::Warning::from(&alert.warning)),
        }
    }
}

impl From<Lagged> for v1::Lagged {
    fn from(lagged: Lagged) -> Self {
        Self {
            missed: lagged.missed(),
            from: lagged.from,
            to: lagged.to,
        }
    }
}

impl From<GuardAnswer> for v1::CheckToolCallResponse {
    fn from(answer: GuardAnswer) -> Self {
        let GuardAnswer { verdict, degraded } = answer;
        Self {
            verdict: v1::Verdict::from(verdict.kind).into(),
            message: verdict.message,
            rule: verdict.rule.map(|rule| rule.name().to_owned()),
            repeats: verdict.repeats,
            previous_result: verdict.previous_result.as_deref().map(str::to_owned),
            warning_id: verdict.warning_id.map(hex_id),
            degraded,
        }
    }
}

impl From<Status> for v1::RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Healthy => Self::Healthy,
            Status::Warning => Self::Warning,
            Status::LikelyStuck => Self::LikelyStuck,
            Status::Failed => Self::Failed,
            Status::Blind => Self::Blind,
        }
    }
}

impl From<Ended> for v1::RunEnding {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Open => Self::Open,
            Ended::Ok => Self::Ok,
            Ended::Failed => Self::Failed,
            Ended::Idle => Self::Idle,
        }
    }
}

impl From<Severity> for v1::Severity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Info,
            Severity::Warning => Self::Warning,
            Severity::Critical => Self::Critical,
        }
    }
}

impl From<WarningState> for v1::WarningState {
    fn from(state: WarningState) -> Self {
        match state {
            WarningState::Open => Self::Open,
            WarningState::Resolved => Self::Resolved,
        }
    }
}

impl From<ChangeKind> for v1::AlertChange {
    fn from(change: ChangeKind) -> Self {
        match change {
            ChangeKind::Raised => Self::Raised,
            ChangeKind::Updated => Self::Updated,
            ChangeKind::Resolved => Self::Resolved,
            ChangeKind::Reopened => Self::Reopened,
        }
    }
}

impl From<VerdictKind> for v1::Verdict {
    fn from(kind: VerdictKind) -> Self {
        match kind {
            VerdictKind::Allow => Self::Allow,
            VerdictKind::Nudge => Self::Nudge,
            VerdictKind::Skip => Self::Skip,
            VerdictKind::Abort => Self::Abort,
        }
    }
}

/// The verdict of an answer; no verdict lets the call be made.
impl From<v1::Verdict> for VerdictKind {
    fn from(verdict: v1::Verdict) -> Self {
        match verdict {
            v1::Verdict::Nudge => Self::Nudge,
            v1::Verdict::Skip => Self::Skip,
            v1::Verdict::Abort => Self::Abort,
            v1::Verdict::Allow | v1::Verdict::Unspecified => Self::Allow,
        }
    }
}

/// The status with this number in `eddy.v1.RunStatus`; nothing for 0 and for numbers that this release does not know.
pub(super) fn status(number: i32) -> Option<Status> {
    match v1::RunStatus::try_from(number).ok()? {
        v1::RunStatus::Unspecified => None,
        v1::RunStatus::Healthy => Some(Status::Healthy),
        v1::RunStatus::Warning => Some(Status::Warning),
        v1::RunStatus::LikelyStuck => Some(Status::LikelyStuck),
        v1::RunStatus::Failed => Some(Status::Failed),
        v1::RunStatus::Blind => Some(Status::Blind),
    }
}

/// The least severity that a filter with this number of `eddy.v1.Severity` lets through; nothing for numbers that this
/// release does not know.
pub(super) fn min_severity(number: i32) -> Option<Severity> {
    match v1::Severity::try_from(number).ok()? {
        v1::Severity::Unspecified | v1::Severity::Info => Some(Severity::Info),
        v1::Severity::Warning => Some(Severity::Warning),
        v1::Severity::Critical => Some(Severity::Critical),
    }
}

/// Nanoseconds since 1970 as protobuf shows them; nothing for what is no date, as in JSON.
fn timestamp(ns: u64) -> Option<Timestamp> {
    (ns >= DATE_NS_MIN).then_some(Timestamp {
        seconds: (ns / SECOND_NS) as i64,
        nanos: (ns % SECOND_NS) as i32,
    })
}

/// A time of a request in nanoseconds since 1970: 0 for times before, the largest number for times after 2554, and
/// nothing where the nanoseconds are not those of a second.
pub(super) fn nanos(time: &Timestamp) -> Option<u64> {
    let nanos = u64::try_from(time.nanos)
        .ok()
        .filter(|nanos| *nanos < SECOND_NS)?;
    let seconds = u64::try_from(time.seconds).ok();
    Some(seconds.map_or(0, |seconds| {
        seconds.saturating_mul(SECOND_NS).saturating_add(nanos)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every status has a number, and the number is read back as the same status; no other number is.
    #[test]
    fn statuses_have_numbers() {
        let all = [
            Status::Healthy,
            Status::Warning,
            Status::LikelyStuck,
            Status::Failed,
            Status::Blind,
        ];
        for known in all {
            assert_eq!(status(v1::RunStatus::from(known).into()), Some(known));
        }
        for unknown in [-1, 0, 6, i32::MAX] {
            assert_eq!(status(unknown), None, "{unknown}");
        }
    }

    /// A severity as a filter lets itself through; "not set" lets everything through.
    #[test]
    fn severities_have_numbers() {
        for known in [Severity::Info, Severity::Warning, Severity::Critical] {
            assert_eq!(min_severity(v1::Severity::from(known).into()), Some(known));
        }
        assert_eq!(min_severity(0), Some(Severity::Info));
        assert_eq!(min_severity(4), None);
    }

    /// Times survive the way there and back; those that a clock of ours cannot show become the nearest that it can.
    #[test]
    fn times_are_read_as_they_are_shown() {
        assert_eq!(timestamp(0), None);
        assert_eq!(timestamp(DATE_NS_MIN - 1), None);
        for ns in [DATE_NS_MIN, 1_700_000_000_123_456_789, u64::MAX] {
            assert_eq!(nanos(&timestamp(ns).unwrap()), Some(ns));
        }
        let check = |seconds, part, expected| {
            let time = Timestamp {
                seconds,
                nanos: part,
            };
            assert_eq!(nanos(&time), expected, "{time:?}");
        };
        check(-5, 3, Some(0));
        check(i64::MAX, 0, Some(u64::MAX));
        check(1, -1, None);
        check(1, 1_000_000_000, None);
    }
}
