//! A run as it is shown: derived from its state at each look, never saved.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::event::Text;
use super::fold::Fold;
use super::fold::marks::CallMark;
use super::fold::outcome::Outcome;
use super::guard::verdict::VerdictKind;
use super::hash::stable;
use super::health;
use super::policy::Policy;
use super::run::{RunState, is_swarm};
use super::warning::kept::Kept;
use super::warning::{Rule, Warning, WarningState, wording};

pub use super::fold::work::AgentWork;
pub use super::health::Status;

/// Whether and how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// More may come.
    Open,
    /// Its root ended well, and it has been quiet since.
    Ok,
    /// Its root ended in failure.
    Failed,
    /// It has been quiet for the idle time and no root ever came, as after a crash.
    Idle,
}

impl Ended {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Idle => "idle",
        }
    }
}

/// A run as it is shown. Derived from the state at each call, never saved.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The run's id.
    pub run_id: Text,
    /// The session, where it is named apart from the run.
    pub session_id: Option<Text>,
    /// The service that reports it.
    pub service: Option<Text>,
    /// Agents seen, by name, at most 16.
    pub agents: Vec<Text>,
    /// What each of them has done, those included that have no name.
    pub work: Vec<AgentWork>,
    /// How it stands.
    pub status: Status,
    /// 0 to 100.
    pub score: u32,
    /// The lowest that the score has been.
    pub lowest_score: u32,
    /// Tool calls that were executed, each once.
    pub tool_calls: u64,
    /// Calls that the guard kept from being executed.
    pub skipped_calls: u64,
    /// Tokens that the skipped calls would have cost: an estimate, by the calls of their loops that were made.
    pub saved_tokens: u64,
    /// The same in millionths of a US dollar.
    pub saved_cost_microusd: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens of model calls, read and written.
    pub tokens: u64,
    /// Cost in millionths of a US dollar, where the telemetry tells.
    pub cost_microusd: u64,
    /// Models whose tokens are not in the cost, since nobody knows what they cost; at most four. An empty name is of one that was
    /// not named.
    pub unpriced_models: Vec<Text>,
    /// Whether and how it ended.
    pub ended: Ended,
    /// Start of the earliest event, nanoseconds since 1970; 0 before the first.
    pub first_seen_ns: u64,
    /// End of the latest event, nanoseconds since 1970.
    pub last_seen_ns: u64,
    /// When it was last heard of, milliseconds since 1970.
    pub heard_ms: u64,
    /// Warnings: open ones first, the gravest of them first, and of these the one whose rule says most.
    pub warnings: Vec<Warning>,
    /// What the telemetry did not show, and what that means.
    pub notes: Vec<&'static str>,
    /// Reports that came too late to be put into their place.
    pub late_events: u64,
}

impl RunView {
    /// Whether it belongs into a list of runs: not a swarm of which there is nothing to say, since its runs are listed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        !is_swarm(&self.run_id) || !self.warnings.is_empty()
    }
}

impl RunState {
    /// The run as it is shown.
    #[must_use]
    pub fn view(&self, policy: &Policy) -> RunView {
        let tip = &*self.seen(policy);
        let totals = &tip.totals;
        let lost = health::lost(tip, policy);
        let mut warnings: Vec<Warning> = tip
            .warnings
            .iter()
            .map(|kept| self.warning(tip, kept))
            .collect();
        warnings.sort_by_key(|warning| {
            (
                warning.state == WarningState::Resolved,
                Reverse(warning.severity),
                warning.rule.vagueness(),
                warning.rule,
                warning.id,
            )
        });
        RunView {
            run_id: self.id.clone(),
            session_id: self.session_id.clone(),
            service: self.service().cloned(),
            agents: tip.agents.clone(),
            work: tip.shown_work(),
            status: health::status(tip, policy),
            score: 100 - lost,
            lowest_score: 100 - lost.max(totals.worst),
            tool_calls: totals.tool_calls,
            skipped_calls: totals.skipped,
            saved_tokens: totals.saved.tokens,
            saved_cost_microusd: totals.saved.cost_microusd,
            model_calls: totals.model_calls,
            tokens: totals.tokens,
            cost_microusd: totals.cost_microusd,
            unpriced_models: tip.unpriced.clone(),
            ended: self.ended(tip),
            first_seen_ns: totals.first_ns,
            last_seen_ns: totals.last_ns,
            heard_ms: self.heard_ms,
            warnings,
            notes: notes(tip),
            late_events: self.late,
        }
    }

    /// The score alone, 0 to 100, as the [`view`](Self::view) has it.
    #[must_use]
    pub fn score(&self, policy: &Policy) -> u32 {
        100 - health::lost(&self.seen(policy), policy)
    }

    /// The fold of all reports, made now where it is not there.
    pub(super) fn seen(&self, policy: &Policy) -> Cow<'_, Fold> {
        let made = || Cow::Owned(self.fold_window(policy));
        self.tip.as_deref().map_or_else(made, Cow::Borrowed)
    }

    pub(super) fn ended(&self, tip: &Fold) -> Ended {
        if tip.totals.failed {
            Ended::Failed
        } else if !self.closed {
            Ended::Open
        } else if tip.totals.root_seen {
            Ended::Ok
        } else {
            Ended::Idle
        }
    }

    pub(super) fn warning(&self, tip: &Fold, kept: &Kept) -> Warning {
        let id = warning_id(&self.id, kept);
        let revision = self
            .published
            .iter()
            .find(|known| known.id == id)
            .map_or(1, |known| known.revision);
        Warning {
            agent: tip.agent_of(kept).cloned(),
            ..shown(&self.id, kept, revision, tip.fails(kept))
        }
    }
}

/// The stable id of a warning of a run.
pub(super) fn warning_id(run_id: &Text, kept: &Kept) -> u64 {
    id_of_warning(run_id, kept.rule, kept.group)
}

/// The stable id of a warning of a run, by its rule and group.
pub(super) fn id_of_warning(run_id: &Text, rule: Rule, group: u64) -> u64 {
    stable(&[
        run_id.as_bytes(),
        rule.name().as_bytes(),
        &group.to_be_bytes(),
    ])
}

/// A warning as it is shown. Whether its calls fail is told where it is known.
pub(super) fn shown(run_id: &Text, kept: &Kept, revision: u32, fails: Option<bool>) -> Warning {
    Warning {
        id: warning_id(run_id, kept),
        incident: stable(&[run_id.as_bytes(), b"incident", &kept.incident.to_be_bytes()]),
        revision,
        rule: kept.rule,
        severity: kept.severity,
        penalty: kept.penalty,
        count: kept.count,
        tool: kept.tool.clone(),
        agent: kept.agent.clone(),
        state: kept.state(),
        first_seen_ns: kept.proof.first_ns,
        last_seen_ns: kept.proof.last_ns,
        evidence: kept.proof.evidence.to_vec(),
        tokens: kept.proof.spent.tokens,
        cost_microusd: kept.proof.spent.cost_microusd,
        verdict: Some(kept.verdict.kind).filter(|verdict| *verdict != VerdictKind::Allow),
        verdict_observed: kept.verdict.is_observed,
        what_happened: wording::what_happened(kept),
        why_it_matters: wording::why_it_matters(kept, fails).to_owned(),
        what_to_try: wording::what_to_try(kept, fails).to_owned(),
    }
}

impl Fold {
    /// Whose a warning is: where its calls name no agent, of the only one that is known. Many frameworks name an agent on its own
    /// span alone.
    pub(super) fn agent_of<'a>(&'a self, kept: &'a Kept) -> Option<&'a Text> {
        kept.agent.as_ref().or(self.only_agent())
    }

    /// Whether the calls of a warning fail, or are answered by a no, by the newest of them; where that lies too far back, by
    /// whether another warning of the same calls is about failures. `None` where nothing is known of it.
    pub(super) fn fails(&self, kept: &Kept) -> Option<bool> {
        let is_part = |mark: &&CallMark| mark.key() == Some(kept.group) || mark.tool == kept.group;
        let newest = self.recent.iter().rev().find(is_part);
        let told = newest.map(|mark| mark.outcome == Outcome::Failed || mark.denies);
        told.or_else(|| {
            let about_failures = |other: &&Kept| {
                other.incident == kept.incident
                    && matches!(other.rule, Rule::SameError | Rule::RetryStorm)
            };
            self.warnings.iter().find(about_failures).map(|_| true)
        })
    }
}

fn notes(tip: &Fold) -> Vec<&'static str> {
    let facts = &tip.notes;
    let mut notes = Vec::new();
    if health::is_blind(tip) {
        notes.push(
            "models asked for tools but the telemetry shows no tool call: loops cannot be seen",
        );
    }
    if facts.input_missing {
        notes.push("arguments of some calls were not recorded: rules that compare arguments leave them out");
    }
    if facts.input_redacted {
        notes.push(
            "arguments of some calls are redacted or cut off: rules that compare arguments leave them out",
        );
    }
    if facts.output_missing {
        notes.push("results of some calls were not recorded: repeats of them are judged with less confidence");
    }
    if facts.warnings_full {
        notes.push("more warnings were open at once than a run keeps: some were not told");
    }
    if facts.begun_anew {
        notes.push(
            "what was known of the run could not be read, or judging it failed by a defect of Eddy (the log says which), \
             and it began anew: what came before does not count",
        );
    }
    if facts.absorbed {
        notes.push(
            "the beginning of the run was kept under another id and is only part of the totals",
        );
    }
    notes
}
