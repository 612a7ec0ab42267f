//! What was said of a run's warnings, and what must be said next: the difference between what is kept and what was
//! announced. The revision counts what was said, so it never falls and is never used twice: where a warning is not remembered
//! any more, it goes on behind every revision that was forgotten.

use std::cmp::Reverse;

use crate::engine::bounded::push_bounded;
use crate::engine::event::Text;
use crate::engine::fold::Fold;
use crate::engine::view::{shown, warning_id};
use crate::engine::warning::kept::Kept;
use crate::engine::warning::{Change, ChangeKind, Rule, Warning, WarningState};

use super::RunState;

/// Counts up to this one are all announced.
const EVERY_COUNT_UP_TO: u64 = 10;

/// How much a count has to grow beyond them to be announced again, in hundredths: of the warning that leads its incident a
/// tenth part, of the others, which see what the leading one sees, as much again.
const GROWTH_LEADING: u64 = 110;
const GROWTH_OTHERS: u64 = 200;

/// Announcements that are remembered.
pub(crate) const PUBLISHED_MAX: usize = 48;

/// What was last announced of a warning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) id: u64,
    pub(crate) revision: u32,
    /// The warning as it was then, kept to be able to resolve it if late reports take it back.
    pub(crate) kept: Kept,
}

impl RunState {
    /// Whether there is a warning of which nobody has been told that it is over.
    #[must_use]
    pub fn warns(&self) -> bool {
        let mut published = self.published.iter();
        published.any(|known| known.kept.open)
    }

    /// Resolves what was announced and is open, for a run that goes on under another id, or is forgotten.
    #[must_use]
    pub fn retire(&mut self) -> Vec<Change> {
        let run_id = self.id.clone();
        let open = self.published.iter_mut().filter(|known| known.kept.open);
        open.map(|known| known.take_back(&run_id)).collect()
    }

    /// Forgets everything but what was announced, which is resolved, and that it has done so.
    #[must_use]
    pub fn begin_anew(&mut self) -> Vec<Change> {
        let changes = self.retire();
        *self = Self {
            heard_ms: self.heard_ms,
            published: std::mem::take(&mut self.published),
            forgotten_revision: self.forgotten_revision,
            ..Self::begun_anew(self.id.clone())
        };
        changes
    }

    /// Has announcements go on behind a revision that was announced of this run before it began anew.
    pub fn go_on_behind(&mut self, revision: u32) {
        self.forgotten_revision = self.forgotten_revision.max(revision);
    }

    /// Whether more was announced of this run than it remembers.
    #[must_use]
    pub fn has_forgotten_announcements(&self) -> bool {
        self.forgotten_revision > 0
    }

    /// What is to be said so that what others were told of this run's warnings, by the newest announcement of each, is what it
    /// knows to be announced: what it knows otherwise is said, and those are over that it does not know. Revisions go on behind
    /// all that was announced.
    #[must_use]
    pub fn agree_with(&mut self, announced: Vec<Warning>) -> Vec<Change> {
        let (tip, run_id) = (&self.tip, &self.id);
        let mut changes = Vec::new();
        for known in &mut self.published {
            let fails = tip.as_ref().and_then(|tip| tip.fails(&known.kept));
            let told = announced.iter().find(|told| told.id == known.id);
            changes.extend(known.agree_with(told, run_id, fails));
        }
        for told in announced {
            if self.published.iter().any(|known| known.id == told.id) {
                continue;
            }
            let is_open = told.state == WarningState::Open;
            let revision = told.revision + u32::from(is_open);
            self.forgotten_revision = self.forgotten_revision.max(revision);
            if is_open {
                let warning = Warning {
                    revision,
                    state: WarningState::Resolved,
                    ..told
                };
                changes.push(Change {
                    kind: ChangeKind::Resolved,
                    warning,
                });
            }
        }
        changes
    }

    /// What differs between what is kept and what was announced.
    pub(crate) fn announce(&mut self) -> Vec<Change> {
        let Some(tip) = self.tip.take() else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        let order = most_telling_first(&tip.warnings);
        for (place, kept) in order.iter().enumerate() {
            let leads = |other: &&Kept| other.open && other.incident == kept.incident;
            let growth = if order[..place].iter().any(leads) {
                GROWTH_OTHERS
            } else {
                GROWTH_LEADING
            };
            self.announce_one(&tip, kept, growth, &mut changes);
        }
        let run_id = &self.id;
        let is_kept = |known: &Published| tip.warnings.iter().any(|kept| known.kept.is_same(kept));
        for known in &mut self.published {
            if known.kept.open && !is_kept(known) {
                changes.push(known.take_back(run_id));
            }
        }
        self.tip = Some(tip);
        changes
    }

    fn announce_one(&mut self, tip: &Fold, kept: &Kept, growth: u64, changes: &mut Vec<Change>) {
        let agent = tip.agent_of(kept);
        let place = self
            .published
            .iter()
            .position(|known| known.kept.is_same(kept));
        let Some(known) = place.and_then(|place| self.published.get_mut(place)) else {
            let id = warning_id(&self.id, kept);
            let mut known = Published::at(self.forgotten_revision + 1, id, kept, agent);
            changes.push(known.change(&self.id, ChangeKind::Raised, tip.fails(kept)));
            if !kept.open {
                known.revision += 1;
                changes.push(known.change(&self.id, ChangeKind::Resolved, tip.fails(kept)));
            }
            self.remember_published(known);
            return;
        };
        let kind = match (known.kept.open, kept.open) {
            (true, false) => ChangeKind::Resolved,
            (false, true) => ChangeKind::Reopened,
            _ if known.kept.severity == kept.severity
                && known.kept.verdict == kept.verdict
                && !known.is_worth_an_update(kept.count, growth)
                && !known.leaves_out(kept, agent) =>
            {
                return;
            }
            _ => ChangeKind::Updated,
        };
        *known = Published::at(known.revision + 1, known.id, kept, agent);
        changes.push(known.change(&self.id, kind, tip.fails(kept)));
    }

    /// Remembers what was announced of one more warning. The first one that is resolved is forgotten for it.
    fn remember_published(&mut self, known: Published) {
        if self.published.len() >= PUBLISHED_MAX {
            let is_resolved = |known: &Published| !known.kept.open;
            let place = self.published.iter().position(is_resolved).unwrap_or(0);
            let forgotten = self.published.remove(place);
            let revision = forgotten.map_or(0, |known| known.revision);
            self.forgotten_revision = self.forgotten_revision.max(revision);
        }
        push_bounded(&mut self.published, known, PUBLISHED_MAX);
    }
}

/// In the order in which a reader should hear of them, who has heard enough of an incident when the first has spoken.
fn most_telling_first(warnings: &[Kept]) -> Vec<&Kept> {
    let mut order: Vec<&Kept> = warnings.iter().collect();
    order.sort_by_key(|kept| (Reverse(kept.severity), kept.rule.vagueness()));
    order
}

impl Published {
    fn at(revision: u32, id: u64, kept: &Kept, agent: Option<&Text>) -> Self {
        let mut kept = kept.clone();
        kept.agent = agent.cloned();
        Self { id, revision, kept }
    }

    fn change(&self, run_id: &Text, kind: ChangeKind, fails: Option<bool>) -> Change {
        Change {
            kind,
            warning: shown(run_id, &self.kept, self.revision, fails),
        }
    }

    /// What is to be said where others were told something else, if they were told of it at all.
    fn agree_with(
        &mut self,
        told: Option<&Warning>,
        run_id: &Text,
        fails: Option<bool>,
    ) -> Option<Change> {
        let Some(told) = told else {
            let is_open = self.kept.open;
            return is_open.then(|| self.change(run_id, ChangeKind::Raised, fails));
        };
        let kept = &self.kept;
        if (told.state, told.severity, told.count) == (kept.state(), kept.severity, kept.count) {
            self.revision = self.revision.max(told.revision);
            return None;
        }
        let kind = match (told.state, kept.open) {
            (WarningState::Open, false) => ChangeKind::Resolved,
            (WarningState::Resolved, true) => ChangeKind::Reopened,
            _ => ChangeKind::Updated,
        };
        if self.revision <= told.revision {
            self.revision = told.revision + 1;
        }
        Some(self.change(run_id, kind, fails))
    }

    /// Whether a count is worth saying after the one that was said: every step up to ten, then whenever it has grown so much,
    /// so that a loop of a hundred thousand calls makes a hundred alerts. The run itself always shows the true count.
    fn is_worth_an_update(&self, count: u64, growth: u64) -> bool {
        let said = self.kept.count;
        let few = count <= EVERY_COUNT_UP_TO && count != said;
        few || count < said || count.saturating_mul(100) >= said.saturating_mul(growth)
    }

    /// Whether something is known now that was not when it was announced: whose it is, which spans show it, or what it costs. A
    /// report that comes later tells so. Each becomes known once, so that this is not said with every event.
    fn leaves_out(&self, now: &Kept, agent: Option<&Text>) -> bool {
        let said = &self.kept;
        let (was, is) = (&said.proof, &now.proof);
        // Who gave a task may become known after who got it.
        let other_agents = self.kept.rule == Rule::HandoffBounce && said.agent.as_ref() != agent;
        (said.agent.is_none() && agent.is_some())
            || other_agents
            || (said.tool.is_none() && now.tool.is_some())
            || (was.evidence.is_empty() && !is.evidence.is_empty())
            || (was.spent.tokens == 0 && is.spent.tokens > 0)
            || (was.spent.cost_microusd == 0 && is.spent.cost_microusd > 0)
    }

    fn take_back(&mut self, run_id: &Text) -> Change {
        self.revision += 1;
        self.kept.open = false;
        self.change(run_id, ChangeKind::Resolved, None)
    }
}
