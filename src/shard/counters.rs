//! What the shards have done since they started, for metrics. Plain numbers, one set for all shards.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::engine::guard::Verdict;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::{ChangeKind, Rule, Severity};
use crate::store::alert::Alert;
use crate::telemetry::Counter;

/// What the shards have done since they started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Reports committed.
    pub reports: Counter,
    /// Events committed. Events that arrived twice are among them: only the run knows.
    pub events: Counter,
    /// Turns committed.
    pub turns: Counter,
    /// Time spent waiting for commits, in microseconds, over all shards.
    pub commit_micros: Counter,
    /// Events whose times could not be true and were put right.
    pub times_settled: Counter,
    /// Reports without a run id and without a trace, which belong to no run and were dropped.
    pub unattributed: Counter,
    /// Runs begun.
    pub runs_created: Counter,
    /// Runs that went over to the run that their trace was later said to belong to.
    pub runs_moved: Counter,
    /// Runs found idle.
    pub runs_idle: Counter,
    /// Runs forgotten because of their age or their number.
    pub runs_retired: Counter,
    /// Runs that left memory and stay on disk.
    pub runs_evicted: Counter,
    /// States of runs that could not be read; these runs began anew.
    pub runs_unreadable: Counter,
    /// Runs whose judging failed by a defect of Eddy; they began anew.
    pub runs_broken: Counter,
    /// Requests refused because inboxes were full, or many waited to be read.
    pub refused_overloaded: Counter,
    /// Requests refused because they would have begun runs, of which there were too many.
    pub refused_crowded: Counter,
    /// Requests refused, or left without an answer, because a commit had failed.
    pub refused_failed: Counter,
    /// Events that came too late to be put into their place.
    pub late_events: Counter,
    /// Calls that a swarm was not told of: its shard held as much as it may, or there were too many runs to begin it.
    pub lost_copies: Counter,
    /// Alerts committed.
    pub alerts: Alerts,
    /// Watchers refused because a shard had too many watched runs.
    pub refused_watchers: Counter,
    /// What the guard did.
    pub guard: GuardCounters,
}

/// What the guard has done since it started.
#[derive(Debug, Default)]
pub struct GuardCounters {
    /// By rule, in the order of [`Rule::ALL`] and those without one last; and by verdict, in the order of [`VerdictKind::ALL`].
    verdicts: [[Counter; VerdictKind::ALL.len()]; Rule::ALL.len() + 1],
    /// Results that were told.
    pub results: Counter,
    /// Messages that were told.
    pub messages: Counter,
    /// Questions that were not answered in time.
    pub degraded_late: Counter,
    /// Questions for which there was no room.
    pub degraded_full: Counter,
    /// Questions that would have begun runs, of which there were too many.
    pub degraded_crowded: Counter,
    /// Questions while the daemon was leaving, or after its store had failed.
    pub degraded_leaving: Counter,
    /// Calls that were not made.
    pub saved_calls: Counter,
    /// Tokens that these would have cost: an estimate, by the calls of their loops that were made.
    pub saved_tokens: Counter,
    /// The same in millionths of a US dollar.
    pub saved_cost_microusd: Counter,
}

impl GuardCounters {
    /// Verdicts reached, by rule (`None` for calls about which no rule has anything to say) and kind. Those that were reached
    /// while the guard only observes are among them.
    pub fn verdicts(&self) -> impl Iterator<Item = (Option<Rule>, VerdictKind, u64)> {
        let rules = Rule::ALL.into_iter().map(Some).chain([None]);
        rules.zip(&self.verdicts).flat_map(|(rule, kinds)| {
            let kinds = VerdictKind::ALL.into_iter().zip(kinds);
            kinds.map(move |(kind, count)| (rule, kind, count.value()))
        })
    }

    /// Questions to which nobody looked in time.
    #[must_use]
    pub fn degraded(&self) -> u64 {
        [
            &self.degraded_late,
            &self.degraded_full,
            &self.degraded_crowded,
            &self.degraded_leaving,
        ]
        .map(Counter::value)
        .iter()
        .sum()
    }

    pub(super) fn count_verdict(&self, verdict: &Verdict) {
        let rule = verdict
            .rule
            .and_then(|rule| Rule::ALL.iter().position(|known| *known == rule));
        let kind = VerdictKind::ALL
            .iter()
            .position(|known| *known == verdict.kind);
        self.verdicts[rule.unwrap_or(Rule::ALL.len())][kind.unwrap_or(0)].add(1);
    }
}

/// Alerts, counted by what happened to a warning of which rule and severity.
#[derive(Debug)]
pub struct Alerts(Mutex<BTreeMap<Kind, u64>>);

impl Default for Alerts {
    /// With those that raise a warning at 0: of what appears with its first one, Prometheus' `rate` does not count that.
    fn default() -> Self {
        let severities = [Severity::Warning, Severity::Critical];
        let of_rule = |rule: Rule| {
            severities.map(|severity| (ChangeKind::Raised.name(), rule.name(), severity.name()))
        };
        let kinds = Rule::ALL.into_iter().flat_map(of_rule);
        Self(Mutex::new(kinds.map(|kind| (kind, 0)).collect()))
    }
}

/// The public ids of change, rule and severity.
type Kind = (&'static str, &'static str, &'static str);

impl Alerts {
    /// The numbers of those that there may have been, with the public ids of change, rule and severity.
    #[must_use]
    pub fn values(&self) -> Vec<(Kind, u64)> {
        let numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers
            .iter()
            .map(|(kind, count)| (*kind, *count))
            .collect()
    }

    pub(super) fn add(&self, alerts: &[Kind]) {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in alerts {
            *numbers.entry(*kind).or_default() += 1;
        }
    }
}

/// How an alert is counted.
pub(super) fn kind(alert: &Alert) -> Kind {
    let warning = &alert.warning;
    (
        alert.change.name(),
        warning.rule.name(),
        warning.severity.name(),
    )
}
