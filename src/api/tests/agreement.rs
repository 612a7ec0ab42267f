//! What is shown over gRPC and over HTTP is the same, field by field.

use prost_types::Timestamp;

use super::{Severity, alert, v1};
use crate::engine::RunView;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::view::AgentWork;
use crate::engine::view::{Ended, Status};
use crate::engine::warning::{ChangeKind, Warning, WarningState};
use crate::json::{AlertJson, RunJson, WarningJson, rfc3339};
use crate::store::alert::Alert;

/// A public word, from the name that protobuf has for it: `RUN_STATUS_LIKELY_STUCK` is `likely_stuck`.
fn word(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap().to_lowercase()
}

fn time(time: Option<Timestamp>) -> Option<String> {
    let time = time?;
    rfc3339(time.seconds as u64 * 1_000_000_000 + time.nanos as u64)
}

/// A run of gRPC in the JSON of HTTP. Every field is named: a new one has to be told here.
fn run_json(run: v1::Run) -> RunJson {
    let (status, ended) = (run.status(), run.ended());
    let v1::Run {
        run_id,
        session_id,
        service,
        agents,
        status: _,
        score,
        lowest_score,
        tool_calls,
        skipped_calls,
        model_calls,
        tokens,
        cost_usd,
        ended: _,
        first_seen_time,
        last_seen_time,
        warnings,
        notes,
        late_events,
        saved_tokens_estimate,
        saved_cost_usd_estimate,
        unpriced_models,
        work,
    } = run;
    let work = work.into_iter().map(|work| AgentWork {
        agent: work.agent.into(),
        calls: work.calls,
        repeats: work.repeats,
    });
    RunJson {
        run_id,
        session_id,
        service,
        agents,
        work: work.collect(),
        status: word(status.as_str_name(), "RUN_STATUS_"),
        score,
        lowest_score,
        tool_calls,
        skipped_calls,
        saved_tokens_estimate,
        saved_cost_usd_estimate,
        model_calls,
        tokens,
        cost_usd,
        unpriced_models,
        ended: word(ended.as_str_name(), "RUN_ENDING_"),
        first_seen: time(first_seen_time),
        last_seen: time(last_seen_time),
        warnings: warnings.into_iter().map(warning_json).collect(),
        notes,
        late_events,
    }
}

fn warning_json(warning: v1::Warning) -> WarningJson {
    let (severity, state) = (warning.severity(), warning.state());
    let shown = warning.verdict.map(|_| warning.verdict().as_str_name());
    let v1::Warning {
        warning_id,
        incident_id,
        rule,
        severity: _,
        penalty,
        count,
        tool,
        agent,
        state: _,
        revision,
        first_seen_time,
        last_seen_time,
        evidence_span_ids,
        tokens,
        cost_usd,
        what_happened,
        why_it_matters,
        what_to_try,
        verdict: _,
        verdict_observed,
    } = warning;
    WarningJson {
        id: warning_id,
        incident: incident_id,
        rule,
        severity: word(severity.as_str_name(), "SEVERITY_"),
        penalty,
        count,
        tool,
        agent,
        state: word(state.as_str_name(), "WARNING_STATE_"),
        revision,
        first_seen: time(first_seen_time),
        last_seen: time(last_seen_time),
        evidence: evidence_span_ids,
        tokens,
        cost_usd,
        verdict: shown.map(|verdict| word(verdict, "VERDICT_").to_uppercase()),
        verdict_observed,
        message: what_happened.clone(),
        what_happened,
        why_it_matters,
        what_to_try,
    }
}

fn alert_json(alert: v1::Alert) -> AlertJson {
    let change = alert.change();
    let v1::Alert {
        cursor,
        commit_time,
        change: _,
        run_id,
        service,
        score,
        warning,
    } = alert;
    AlertJson {
        cursor,
        at: time(commit_time),
        change: word(change.as_str_name(), "ALERT_CHANGE_"),
        tenant: None,
        run_id,
        service,
        score,
        warning: warning_json(warning.unwrap()),
    }
}

/// A warning of which everything is known, or next to nothing.
fn warning(is_full: bool) -> Warning {
    let full = Warning {
        incident: 9,
        revision: 3,
        count: 12,
        evidence: vec![crate::engine::event::SpanId([7; 8])],
        tokens: 1_200,
        cost_microusd: 345,
        verdict: Some(VerdictKind::Skip),
        verdict_observed: true,
        ..alert("run", Severity::Critical).warning
    };
    if is_full {
        return full;
    }
    Warning {
        severity: Severity::Info,
        state: WarningState::Resolved,
        tool: None,
        agent: None,
        first_seen_ns: 5,
        evidence: Vec::new(),
        verdict: None,
        verdict_observed: false,
        ..full
    }
}

fn run(status: Status, ended: Ended, is_full: bool) -> RunView {
    let named = |name: &str| is_full.then(|| name.into());
    RunView {
        run_id: "run".into(),
        session_id: named("session"),
        service: named("service"),
        agents: named("agent").into_iter().collect(),
        work: vec![AgentWork {
            agent: "agent".into(),
            calls: 1,
            repeats: 2,
        }],
        status,
        score: 3,
        lowest_score: 4,
        tool_calls: 5,
        skipped_calls: 6,
        saved_tokens: 7,
        saved_cost_microusd: 8,
        model_calls: 9,
        tokens: 10,
        cost_microusd: 11,
        unpriced_models: named("model").into_iter().collect(),
        ended,
        first_seen_ns: u64::from(is_full) * 1_700_000_000_123_000_000,
        last_seen_ns: 1_700_000_001_000_000_000,
        heard_ms: 12,
        warnings: vec![warning(true), warning(false)],
        notes: vec!["a note"],
        late_events: 13,
    }
}

/// Given runs of every status and end, of which all is known or little, both ways of asking show the same.
#[test]
fn both_ways_of_asking_show_the_same_runs() {
    for (status, ended, is_full) in [
        (Status::Healthy, Ended::Open, true),
        (Status::Warning, Ended::Ok, false),
        (Status::LikelyStuck, Ended::Idle, true),
        (Status::Failed, Ended::Failed, false),
        (Status::Blind, Ended::Open, true),
    ] {
        let run = run(status, ended, is_full);
        assert_eq!(run_json(v1::Run::from(&run)), RunJson::from(&run));
    }
}

/// Given alerts of every kind, both ways of following them show the same.
#[test]
fn both_ways_of_following_show_the_same_alerts() {
    for (change, is_full) in [
        (ChangeKind::Raised, true),
        (ChangeKind::Updated, false),
        (ChangeKind::Resolved, true),
        (ChangeKind::Reopened, false),
    ] {
        let alert = Alert {
            cursor: 41,
            change,
            warning: warning(is_full),
            ..alert("run", Severity::Warning)
        };
        assert_eq!(alert_json(v1::Alert::from(&alert)), AlertJson::from(&alert));
    }
}
