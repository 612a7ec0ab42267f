//! What a run is warned of: by which rule ([`Rule`]), how grave a warning is, and the three sentences that explain it.
//!
//! A rule reports findings while events are folded; the fold keeps one [`Warning`] for each run, rule and group, which
//! grows in place; `step` compares what is kept with what was announced and answers with changes.

pub(crate) mod kept;
pub(super) mod rule;
pub(crate) mod wording;

use serde::{Deserialize, Serialize};

use super::event::{SpanId, Text};
use super::guard::verdict::VerdictKind;

pub use rule::Rule;

/// Most span ids kept as evidence of one warning; the oldest leave first.
pub const EVIDENCE_MAX: usize = 8;

/// How grave a warning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; alarms nobody.
    Info,
    /// The agent is probably stuck.
    Warning,
    /// The agent is stuck; a person or the guard should stop it.
    Critical,
}

impl Severity {
    /// Every severity, the gravest last.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Critical];

    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// Whether a warning still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningState {
    /// It holds.
    Open,
    /// The run recovered.
    Resolved,
}

impl WarningState {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
        }
    }
}

/// A warning as it is shown, sent and stored with an alert.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// Stable hash of run id, rule and group; shown as sixteen hexadecimal digits.
    pub id: u64,
    /// Equal for the warnings of one run that describe the same calls.
    pub incident: u64,
    /// 1 when raised, one more with every announced change.
    pub revision: u32,
    /// The rule.
    pub rule: Rule,
    /// How grave it is by now.
    pub severity: Severity,
    /// What it costs in the score while it is open.
    pub penalty: u32,
    /// How often: calls, hand-offs, retries or steps, as the rule counts.
    pub count: u64,
    /// The tool concerned, where there is one.
    pub tool: Option<Text>,
    /// The agent concerned, where it is known; for hand-offs to and fro both, as `a ⇄ b`, or the one that is known.
    pub agent: Option<Text>,
    /// Whether it still holds.
    pub state: WarningState,
    /// Start of the first event of the loop, nanoseconds since 1970.
    pub first_seen_ns: u64,
    /// Start of the newest event of the loop, nanoseconds since 1970.
    pub last_seen_ns: u64,
    /// Spans of the loop, newest last, at most [`EVIDENCE_MAX`].
    pub evidence: Vec<SpanId>,
    /// Model tokens spent in the loop.
    pub tokens: u64,
    /// Cost of the loop in millionths of a US dollar, where costs are known.
    pub cost_microusd: u64,
    /// What the guard last answered because of it; `None` where it said nothing.
    pub verdict: Option<VerdictKind>,
    /// The guard only observed: it answered `ALLOW` whatever the verdict.
    pub verdict_observed: bool,
    /// What happened, in a sentence.
    pub what_happened: String,
    /// Why it matters, in a sentence.
    pub why_it_matters: String,
    /// What to try, in a sentence.
    pub what_to_try: String,
}

/// What one step changed: a warning was raised, grew, was resolved or re-opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which of these.
    pub kind: ChangeKind,
    /// The warning as it now is.
    pub warning: Warning,
}

/// How a warning changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Raised,
    /// It grew, or its severity changed.
    Updated,
    /// The run recovered.
    Resolved,
    /// It had been resolved and holds again.
    Reopened,
}

impl ChangeKind {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Updated => "updated",
            Self::Resolved => "resolved",
            Self::Reopened => "reopened",
        }
    }
}
