//! The JSON in which runs, warnings and alerts are shown, everywhere the same: `eddy check`, `eddy run --json`, the API
//! address, the tail and the file exporter. Times are RFC 3339 in UTC with milliseconds, ids of warnings and spans are
//! hexadecimal, costs are US dollars.

mod explanation;
mod place;
mod verdict;

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::engine::RunView;
use crate::engine::event::{SpanId, hexadecimal};
use crate::engine::view::AgentWork;
use crate::engine::warning::Warning;
use crate::store::alert::Alert;

pub use explanation::{ExplanationJson, ShownJson, SilenceJson};
pub use place::{NoPlace, Place};
pub use verdict::VerdictJson;

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunJson {
    /// The run's id.
    pub run_id: String,
    /// The session, where it is named apart from the run.
    pub session_id: Option<String>,
    /// The service that reports it.
    pub service: Option<String>,
    /// Agents seen.
    pub agents: Vec<String>,
    /// What each agent did; absent in what older versions wrote.
    #[serde(default)]
    pub work: Vec<AgentWork>,
    /// `healthy`, `warning`, `likely_stuck`, `failed` or `blind`.
    pub status: String,
    /// 0 to 100.
    pub score: u32,
    /// The lowest that the score has been.
    pub lowest_score: u32,
    /// Tool calls that were executed.
    pub tool_calls: u64,
    /// Calls that the guard refused.
    pub skipped_calls: u64,
    /// Tokens that these would have cost, by the calls of their loops that were made.
    #[serde(default)]
    pub saved_tokens_estimate: u64,
    /// The same in US dollars.
    #[serde(default)]
    pub saved_cost_usd_estimate: f64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens of model calls.
    pub tokens: u64,
    /// Cost as far as the telemetry tells.
    pub cost_usd: f64,
    /// Models whose tokens are not in the cost, since nobody knows what they cost; at most four. An empty name is of one that was
    /// not named.
    #[serde(default)]
    pub unpriced_models: Vec<String>,
    /// `ok`, `failed`, `idle` or `open`.
    pub ended: String,
    /// Start of the earliest event.
    pub first_seen: Option<String>,
    /// End of the latest event.
    pub last_seen: Option<String>,
    /// Warnings, open ones first.
    pub warnings: Vec<WarningJson>,
    /// What the telemetry did not show.
    pub notes: Vec<String>,
    /// Reports that came too late to count.
    pub late_events: u64,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarningJson {
    /// Stable id, sixteen hexadecimal digits.
    pub id: String,
    /// Equal for warnings that describe the same calls.
    pub incident: String,
    /// The rule.
    pub rule: String,
    /// `info`, `warning` or `critical`.
    pub severity: String,
    /// What it takes from the score while open.
    pub penalty: u32,
    /// How often.
    pub count: u64,
    /// The tool.
    pub tool: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// `open` or `resolved`.
    pub state: String,
    /// 1 when raised, one more with every announced change.
    pub revision: u32,
    /// Start of the loop's first event.
    pub first_seen: Option<String>,
    /// Start of its newest.
    pub last_seen: Option<String>,
    /// Span ids of the loop, newest last.
    pub evidence: Vec<String>,
    /// Tokens spent in the loop.
    pub tokens: u64,
    /// Cost of the loop.
    pub cost_usd: f64,
    /// What the guard last answered because of it: `NUDGE`, `SKIP` or `ABORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The guard only observed (`guard.mode: observe`): it answered `ALLOW` whatever the verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verdict_observed: bool,
    /// What happened; the same text as `what_happened`.
    pub message: String,
    /// What happened.
    pub what_happened: String,
    /// Why it matters.
    pub why_it_matters: String,
    /// What to try.
    pub what_to_try: String,
}

/// An alert, one a line in `eddy tail --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertJson {
    /// Its place in the log of alerts; give it back, best with `at` ([`Place`]), to go on after it.
    pub cursor: u64,
    /// When it was committed.
    pub at: Option<String>,
    /// `raised`, `updated`, `resolved` or `reopened`.
    pub change: String,
    /// Whose run it is; absent for the default tenant, and where a tenant reads its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The run.
    pub run_id: String,
    /// The service that reports the run.
    pub service: Option<String>,
    /// The score of the run after the change.
    pub score: u32,
    /// The warning after the change.
    pub warning: WarningJson,
}

impl From<&RunView> for RunJson {
    fn from(run: &RunView) -> Self {
        Self {
            run_id: run.run_id.to_string(),
            session_id: run.session_id.as_deref().map(str::to_owned),
            service: run.service.as_deref().map(str::to_owned),
            agents: run.agents.iter().map(ToString::to_string).collect(),
            work: run.work.clone(),
            status: run.status.name().to_owned(),
            score: run.score,
            lowest_score: run.lowest_score,
            tool_calls: run.tool_calls,
            skipped_calls: run.skipped_calls,
            saved_tokens_estimate: run.saved_tokens,
            saved_cost_usd_estimate: dollars(run.saved_cost_microusd),
            model_calls: run.model_calls,
            tokens: run.tokens,
            cost_usd: dollars(run.cost_microusd),
            unpriced_models: run
                .unpriced_models
                .iter()
                .map(ToString::to_string)
                .collect(),
            ended: run.ended.name().to_owned(),
            first_seen: rfc3339(run.first_seen_ns),
            last_seen: rfc3339(run.last_seen_ns),
            warnings: run.warnings.iter().map(WarningJson::from).collect(),
            notes: run.notes.iter().map(ToString::to_string).collect(),
            late_events: run.late_events,
        }
    }
}

impl From<&Warning> for WarningJson {
    fn from(warning: &Warning) -> Self {
        Self {
            id: hex_id(warning.id),
            incident: hex_id(warning.incident),
            rule: warning.rule.name().to_owned(),
            severity: warning.severity.name().to_owned(),
            penalty: warning.penalty,
            count: warning.count,
            tool: warning.tool.as_deref().map(str::to_owned),
            agent: warning.agent.as_deref().map(str::to_owned),
            state: warning.state.name().to_owned(),
            revision: warning.revision,
            first_seen: rfc3339(warning.first_seen_ns),
            last_seen: rfc3339(warning.last_seen_ns),
            evidence: warning.evidence.iter().copied().map(hex_span).collect(),
            tokens: warning.tokens,
            cost_usd: dollars(warning.cost_microusd),
            verdict: warning.verdict.map(|verdict| verdict.name().to_owned()),
            verdict_observed: warning.verdict_observed,
            message: warning.what_happened.clone(),
            what_happened: warning.what_happened.clone(),
            why_it_matters: warning.why_it_matters.clone(),
            what_to_try: warning.what_to_try.clone(),
        }
    }
}

impl From<&Alert> for AlertJson {
    fn from(alert: &Alert) -> Self {
        Self {
            cursor: alert.cursor,
            at: rfc3339(alert.at_ms.saturating_mul(1_000_000)),
            change: alert.change.name().to_owned(),
            tenant: None,
            run_id: alert.run_id.to_string(),
            service: alert.service.as_deref().map(str::to_owned),
            score: alert.score,
            warning: WarningJson::from(&alert.warning),
        }
    }
}

impl AlertJson {
    /// An alert for those who see the alerts of every tenant.
    #[must_use]
    pub fn of_tenant(tenant: &str, alert: &Alert) -> Self {
        Self {
            tenant: Some(tenant.to_owned()).filter(|tenant| !tenant.is_empty()),
            ..Self::from(alert)
        }
    }
}

/// A warning's or incident's id as it is shown.
#[must_use]
pub fn hex_id(id: u64) -> String {
    hexadecimal(&id.to_be_bytes())
}

/// A span id as it is shown.
#[must_use]
pub fn hex_span(span: SpanId) -> String {
    hexadecimal(&span.0)
}

/// Times before 2000, in nanoseconds since 1970, are no dates: no agent ran then. They count from the start of a run or of a
/// machine, or stand for none.
pub(crate) const DATE_NS_MIN: u64 = 946_684_800_000_000_000;

/// Nanoseconds since 1970 as RFC 3339 with milliseconds; nothing for what is no date.
#[must_use]
pub fn rfc3339(ns: u64) -> Option<String> {
    let at = UNIX_EPOCH + Duration::from_nanos(ns);
    (ns >= DATE_NS_MIN).then(|| humantime::format_rfc3339_millis(at).to_string())
}

/// The id of a warning, from its sixteen hexadecimal digits in either case; nothing where the text is no such id.
#[must_use]
pub fn warning_id(text: &str) -> Option<u64> {
    let is_id = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| is_id)
}

/// Millionths of a dollar as dollars.
#[must_use]
pub fn dollars(microusd: u64) -> f64 {
    microusd as f64 / 1_000_000.0
}
