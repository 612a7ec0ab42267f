//! What a worker is owed: a warning of its run, or of the swarm that it is part of, of which it has not been told.

use crate::engine::event::Text;
use crate::engine::fold::Fold;
use crate::engine::fold::notices::about;
use crate::engine::fold::tally::Tally;
use crate::engine::policy::Policy;
use crate::engine::run::RunState;
use crate::engine::view::id_of_warning;
use crate::engine::warning::kept::Kept;
use crate::engine::warning::{Rule, Severity, WarningState};

use super::matter::Matter;
use super::policy::Action;
use super::{Caller, Warned};

/// A warning of the run, or of the swarm that it is part of, of which the caller has not been told as it stands. An action of
/// one of the run's policies is about the warnings of that policy; those of a swarm are the main one's.
pub(super) fn owed(
    state: &RunState,
    tip: &Fold,
    action: &Action,
    caller: &Caller,
    (policy, own): (&Policy, &Policy),
) -> Option<Matter> {
    let is_own = |kept: &Kept| std::ptr::eq(kept.policy(policy), own);
    owed_by_run(state, tip, action, caller, is_own).or_else(|| {
        let is_main = std::ptr::eq(policy, own);
        is_main.then(|| owed_by_swarm(tip, action, caller))?
    })
}

fn owed_by_swarm(tip: &Fold, action: &Action, caller: &Caller) -> Option<Matter> {
    let worker = caller.worker_hash();
    let warned = caller.swarm.iter().find(|warned| {
        action.rules.contains(&warned.rule)
            && warned.count >= action.count
            && !tip.has_heard(worker, about(warned.rule, warned.group), warned.count)
    })?;
    Some(warned.clone().into())
}

/// A warning that is open and of which the caller has not been told as it stands.
fn owed_by_run(
    state: &RunState,
    tip: &Fold,
    action: &Action,
    caller: &Caller,
    is_own: impl Fn(&Kept) -> bool,
) -> Option<Matter> {
    let worker = caller.worker_hash();
    // Who caused it, or anybody where that is not known. Who asked is known without a name: nobody who has one.
    let concerns = |kept: &Kept| match (kept.asker, &kept.agent, &caller.agent) {
        (Some(asker), ..) => asker == worker,
        (None, Some(warned), Some(agent)) => warned == agent,
        _ => true,
    };
    let is_owed = |kept: &&Kept| {
        action.rules.contains(&kept.rule)
            && kept.state() == WarningState::Open
            && kept.severity >= Severity::Warning
            && kept.count >= action.count
            && concerns(kept)
            && is_own(kept)
            && !tip.has_heard(worker, about(kept.rule, kept.group), kept.count)
            // Of several warnings about one tool's calls, the first that is told stands for all that say no more.
            && !tip.warnings.iter().any(|other| {
                other.tool.is_some()
                    && other.tool == kept.tool
                    && other.count >= kept.count
                    && tip.has_heard(worker, about(other.rule, other.group), other.count)
            })
    };
    let kept = tip.warnings.iter().find(is_owed)?;
    Some(tip.warned(state.id(), kept).into())
}

impl RunState {
    /// What the workers of this swarm are to be told.
    pub(crate) fn told_to_workers(&self) -> Vec<Warned> {
        let open = |tip: &Fold| {
            let open = tip.warnings.iter().filter(|kept| kept.open);
            open.map(|kept| tip.warned(&self.id, kept)).collect()
        };
        self.tip.as_deref().map_or_else(Vec::new, open)
    }
}

impl Fold {
    /// What a worker is told of a warning of this run.
    fn warned(&self, run_id: &Text, kept: &Kept) -> Warned {
        Warned {
            warning_id: id_of_warning(run_id, kept.rule, kept.group),
            rule: kept.rule,
            group: kept.group,
            count: kept.count,
            tool: kept.tool.clone().unwrap_or_default(),
            workers: self.workers(kept.rule, kept.group),
        }
    }

    /// How many workers have a part in what a rule found for the whole swarm.
    pub(super) fn workers(&self, rule: Rule, group: u64) -> usize {
        let is_it = |tally: &&Tally| tally.rule == rule && tally.key == group;
        match rule {
            Rule::GlobalDoomLoop => self
                .tallies
                .iter()
                .find(is_it)
                .map_or(0, |tally| tally.seen.len()),
            _ => 0,
        }
    }
}
