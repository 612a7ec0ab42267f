//! The score: 100 minus the penalties of open warnings, minus a penalty if the run failed, within 0 to 100.
//!
//! Derived at every look, never saved or adjusted. The penalties of warnings come from the profile; the bounds are the LoopLens
//! manual's (its page *Loop detectors*, *Health scoring*).

use std::collections::BTreeMap;

use super::fold::Fold;
use super::policy::Policy;
use super::warning::Severity;

/// Lowest score that is called healthy.
pub(crate) const HEALTHY_FROM: u32 = 80;

/// Lowest score that is called a warning; below it a run is likely stuck.
pub(crate) const WARNING_FROM: u32 = 50;

/// What a failed run loses.
const FAILED_PENALTY: u32 = 30;

/// How a run stands, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Score 80 to 100; where progress is known, also no open warning that is more than a note.
    Healthy,
    /// Score 50 to 79; where progress is known, also more with an open warning that is more than a note.
    Warning,
    /// Score 0 to 49; where progress is known, also more with an open critical warning.
    LikelyStuck,
    /// It ended in failure.
    Failed,
    /// Its telemetry shows no tool calls although models asked for them: nothing can be said.
    Blind,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 5] = [
        Self::Healthy,
        Self::Warning,
        Self::LikelyStuck,
        Self::Failed,
        Self::Blind,
    ];

    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::LikelyStuck => "likely_stuck",
            Self::Failed => "failed",
            Self::Blind => "blind",
        }
    }
}

/// Model calls that asked for tools, from which a run that goes on without a single tool call is called blind. One may still
/// be under way, or have died under way.
const BLIND_ASKED: u64 = 2;

/// What the score has lost, 0 to 100. Where progress is known, what is merely worth knowing counts once for each rule (the
/// largest of it), of however many tools, and all of it together no more than leaves a run healthy, or than the largest: it does
/// not add up to an alarm.
pub(crate) fn lost(fold: &Fold, policy: &Policy) -> u32 {
    let mut notes = BTreeMap::new();
    let mut lost = if fold.totals.failed {
        FAILED_PENALTY
    } else {
        0
    };
    for kept in fold.warnings.iter().filter(|kept| kept.open) {
        if policy.progress_aware && kept.severity == Severity::Info {
            let largest = notes.entry(kept.rule).or_insert(0);
            *largest = kept.penalty.max(*largest);
        } else {
            lost = lost.saturating_add(kept.penalty);
        }
    }
    let all_notes = notes
        .values()
        .fold(0, |all: u32, note| all.saturating_add(*note));
    let largest = notes.values().max().copied().unwrap_or(0);
    let harmless = 100 - HEALTHY_FROM;
    lost.saturating_add(all_notes.min(harmless.max(largest)))
        .min(100)
}

/// The score in words. Where progress is known, a run is no better than its gravest open warning says, however little that costs.
pub(crate) fn status(fold: &Fold, policy: &Policy) -> Status {
    let score = 100 - lost(fold, policy);
    let open = fold.warnings.iter().filter(|kept| kept.open);
    let gravest = open.map(|kept| kept.severity).max();
    let gravest = gravest.filter(|_| policy.progress_aware);
    if fold.totals.failed {
        Status::Failed
    } else if is_blind(fold) {
        Status::Blind
    } else if score < WARNING_FROM || gravest == Some(Severity::Critical) {
        Status::LikelyStuck
    } else if score < HEALTHY_FROM || gravest == Some(Severity::Warning) {
        Status::Warning
    } else {
        Status::Healthy
    }
}

/// Whether models asked for tools and neither a tool call (be it one that the guard refused) nor a hand-off was ever
/// seen.
pub(crate) fn is_blind(fold: &Fold) -> bool {
    let totals = &fold.totals;
    let enough = if totals.root_seen { 1 } else { BLIND_ASKED };
    let seen = totals.tool_calls + totals.skipped;
    seen == 0 && fold.control.last.is_none() && totals.asked >= enough
}
