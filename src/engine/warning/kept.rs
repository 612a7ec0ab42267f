//! From what a rule finds to the warning that a run keeps.
//!
//! A finding comes at every step at which a rule holds. The first makes a warning; the next ones make it grow. Productive
//! calls resolve it; a finding after that opens it again, and what it then counts is added to what it had counted.

use serde::{Deserialize, Serialize};

use crate::engine::bounded::MostlyOne;
use crate::engine::event::{SpanId, Text};
use crate::engine::fold::totals::Spent;
use crate::engine::guard::verdict::Answered;
use crate::engine::hash::mix;
use crate::engine::policy::{Alarm, Policy};

use super::{EVIDENCE_MAX, Rule, Severity, WarningState};

/// Which spans show something, since when, and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Proof {
    pub(crate) evidence: MostlyOne<SpanId, EVIDENCE_MAX>,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) spent: Spent,
    /// Length of the longest step, where a rule measures that.
    pub(crate) longest_ns: u64,
}

/// Names that are told of what goes round.
pub(crate) const RING_NAMES_MAX: usize = 6;

/// What goes round: the tools of the calls of a round, or the agents of a ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ring {
    /// How many there are.
    pub(crate) length: u32,
    /// The names of the first ones, at most [`RING_NAMES_MAX`]; empty where a name is not known.
    pub(crate) names: Vec<Text>,
}

/// Stands between the names of two agents.
pub(crate) const BETWEEN: &str = " ⇄ ";

/// What a rule reports at one step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    pub(crate) group: u64,
    pub(crate) count: u64,
    pub(crate) tool: Option<Text>,
    pub(crate) agent: Option<Text>,
    pub(crate) ring: Option<Box<Ring>>,
    pub(crate) proof: Proof,
    /// What was asked or what came of it is not known: it is never critical.
    pub(crate) is_guess: bool,
}

/// A warning as the fold keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) rule: Rule,
    pub(crate) group: u64,
    pub(crate) severity: Severity,
    pub(crate) penalty: u32,
    pub(crate) count: u64,
    /// What had been counted before it was last raised anew.
    pub(crate) before: u64,
    pub(crate) open: bool,
    /// Productive calls since it last grew.
    pub(crate) productive: u32,
    pub(crate) tool: Option<Text>,
    pub(crate) agent: Option<Text>,
    /// Who made the newest of its calls, where the guard was asked about that: as `Call::asker` tells.
    pub(crate) asker: Option<u64>,
    pub(crate) ring: Option<Box<Ring>>,
    pub(crate) proof: Proof,
    /// Equal for warnings that describe the same calls.
    pub(crate) incident: u64,
    /// What the guard said of it last.
    pub(crate) verdict: Answered,
}

impl Kept {
    pub(crate) fn new(finding: Finding, alarm: &Alarm) -> Self {
        let mut kept = Self {
            rule: finding.rule,
            group: finding.group,
            severity: alarm.severity,
            penalty: alarm.penalty,
            count: 0,
            before: 0,
            open: true,
            productive: 0,
            tool: None,
            agent: None,
            asker: None,
            ring: None,
            incident: mix(finding.group, finding.rule as u64),
            proof: finding.proof.clone(),
            verdict: Answered::default(),
        };
        kept.grow(finding, alarm);
        kept
    }

    /// Whether both are the same warning, however much either has grown.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.rule == other.rule && self.group == other.group
    }

    /// The policy of which it is, among those of the run.
    pub(crate) fn policy<'p>(&self, policy: &'p Policy) -> &'p Policy {
        policy.of_warning(self.rule, self.tool.as_ref(), self.agent.as_ref())
    }

    pub(crate) fn is_about(&self, finding: &Finding) -> bool {
        self.rule == finding.rule && self.group == finding.group
    }

    /// What has been counted since it was last raised.
    pub(crate) fn since_raised(&self) -> u64 {
        self.count - self.before
    }

    /// What had been counted before the calls that a finding counts: nothing more than before where the warning is open, or was
    /// resolved while the rule went on counting.
    pub(crate) fn before(&self, finding: &Finding) -> u64 {
        let began_anew = finding.proof.first_ns > self.proof.last_ns;
        if !self.open && began_anew {
            self.count
        } else {
            self.before
        }
    }

    pub(crate) fn grow(&mut self, finding: Finding, alarm: &Alarm) {
        self.before = self.before(&finding);
        if !self.open {
            self.open = true;
            self.severity = alarm.severity;
        }
        self.productive = 0;
        self.count = self.count.max(self.before + finding.count);
        let critical = alarm
            .critical_count
            .is_some_and(|critical| self.since_raised() >= critical);
        if critical && !finding.is_guess {
            self.severity = Severity::Critical;
        }
        self.penalty = alarm.penalty;
        self.tool = finding.tool.or_else(|| self.tool.take());
        self.agent = finding.agent.or_else(|| self.agent.take());
        self.ring = finding.ring.or_else(|| self.ring.take());
        self.proof = Proof {
            first_ns: self.proof.first_ns.min(finding.proof.first_ns),
            last_ns: self.proof.last_ns.max(finding.proof.last_ns),
            longest_ns: self.proof.longest_ns.max(finding.proof.longest_ns),
            ..finding.proof
        };
    }

    /// Whether both describe the same calls: an open warning that a new one shares spans with, or where reports have no spans,
    /// one of the same tool that is still growing.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let shared = |span: &SpanId| other.proof.evidence.contains(span);
        let spanless = self.proof.evidence.is_empty() && other.proof.evidence.is_empty();
        let same_time = self.tool == other.tool
            && self.proof.first_ns <= other.proof.last_ns
            && other.proof.first_ns <= self.proof.last_ns;
        self.open && (self.proof.evidence.iter().any(shared) || (spanless && same_time))
    }

    /// Counts a productive call; `enough` of them in a row resolve a warning about a loop.
    pub(crate) fn recover(&mut self, enough: u32) {
        let passes = !matches!(
            self.rule,
            Rule::LongRunningStep | Rule::CostSpike | Rule::CostBudgetExceeded
        );
        if self.open && passes {
            self.productive += 1;
            self.open = self.productive < enough;
        }
    }

    pub(crate) fn state(&self) -> WarningState {
        if self.open {
            WarningState::Open
        } else {
            WarningState::Resolved
        }
    }
}
