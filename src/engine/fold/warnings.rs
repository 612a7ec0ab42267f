//! The warnings that a run keeps.

use crate::engine::policy::Policy;
use crate::engine::warning::kept::{Finding, Kept};
use crate::engine::window::calls::Call;

use super::Fold;

/// Warnings that a run keeps. For one more, a resolved one leaves; where all are open, what more a rule finds is left out and
/// noted.
const WARNINGS_MAX: usize = 24;

/// Whether one more warning can be kept: the resolved one that has grown least lately leaves for it.
fn has_room(warnings: &mut Vec<Kept>) -> bool {
    if warnings.len() < WARNINGS_MAX {
        return true;
    }
    let resolved = (0..warnings.len()).filter(|place| !warnings[*place].open);
    let oldest = resolved.min_by_key(|place| warnings[*place].proof.last_ns);
    oldest.map(|place| warnings.remove(place)).is_some()
}

impl Fold {
    /// Keeps what rules found, at a call where it was one.
    pub(crate) fn keep(
        &mut self,
        findings: Vec<Finding>,
        call: Option<&Call<'_>>,
        policy: &Policy,
    ) {
        for finding in findings {
            let Some(alarm) = policy.rules.alarm(finding.rule) else {
                continue;
            };
            // What is of the run as a whole is nobody's.
            let asker = call.filter(|_| !finding.rule.is_of_run());
            let asker = asker.and_then(Call::asker);
            let known = self
                .warnings
                .iter()
                .position(|kept| kept.is_about(&finding));
            match known {
                Some(place) => {
                    self.warnings[place].grow(finding, alarm);
                    self.warnings[place].asker = asker;
                }
                None if has_room(&mut self.warnings) => {
                    let mut new = Kept::new(finding, alarm);
                    new.asker = asker;
                    new.verdict = self.verdict_before(new.rule, new.group);
                    let known = self.warnings.iter().find(|kept| kept.overlaps(&new));
                    new.incident = known.map_or(new.incident, |kept| kept.incident);
                    self.warnings.push(new);
                }
                None => self.notes.warnings_full = true,
            }
        }
    }
}
