//! What the guard has said, as the fold remembers it: who was told of which warning.

use serde::{Deserialize, Serialize};

use crate::engine::bounded::push_bounded;
use crate::engine::event::Nudge;
use crate::engine::guard::verdict::{Answered, VerdictKind};
use crate::engine::hash::mix;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Kept;

use super::Fold;

/// Messages of the guard that are remembered.
pub(crate) const TOLD_MAX: usize = 32;

/// What the guard told a worker of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    /// Hash of the warning's rule and group.
    pub(crate) about: u64,
    pub(crate) worker: u64,
    /// The warning's count at that time.
    pub(crate) count: u64,
    /// Nobody heard it: the guard only observed.
    pub(crate) is_observed: bool,
}

/// Names a warning within a run.
pub(crate) fn about(rule: Rule, group: u64) -> u64 {
    mix(group, rule as u64)
}

impl Fold {
    /// Remembers what the guard said.
    pub(crate) fn note_told(&mut self, nudge: &Nudge) {
        self.tell(Notice {
            about: about(nudge.rule, nudge.group),
            worker: nudge.worker,
            count: nudge.count,
            is_observed: nudge.answered.is_observed,
        });
        self.note_verdict(nudge.rule, nudge.group, nudge.answered);
    }

    pub(crate) fn note_verdict(&mut self, rule: Rule, group: u64, answered: Answered) {
        let is_it = |kept: &&mut Kept| kept.rule == rule && kept.group == group;
        if let Some(kept) = self.warnings.iter_mut().find(is_it) {
            kept.verdict = answered;
        }
    }

    /// The verdict on a warning that is raised now: a nudge may have gone before it.
    pub(crate) fn verdict_before(&self, rule: Rule, group: u64) -> Answered {
        let about = about(rule, group);
        let told = self.told.iter().find(|told| told.about == about);
        told.map_or_else(Answered::default, |told| Answered {
            kind: VerdictKind::Nudge,
            is_observed: told.is_observed,
        })
    }

    pub(crate) fn tell(&mut self, told: Notice) {
        self.told
            .retain(|known| (known.about, known.worker) != (told.about, told.worker));
        push_bounded(&mut self.told, told, TOLD_MAX);
    }

    /// Whether a worker was told of a loop when it was shorter. What was told of an earlier row that ended is told again: a
    /// poll that gets each state twice is not refused.
    pub(crate) fn was_told(&self, worker: u64, about: u64, warned: u64) -> bool {
        let earlier =
            |told: &Notice| told.about == about && told.worker == worker && told.count < warned;
        self.told.iter().any(earlier)
    }

    /// Whether a worker was told of a warning as it stands.
    pub(crate) fn has_heard(&self, worker: u64, about: u64, count: u64) -> bool {
        self.told
            .iter()
            .any(|told| (told.about, told.worker) == (about, worker) && told.count >= count)
    }
}
