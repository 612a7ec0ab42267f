//! What tells that a run has found its way out of what it is warned of; when it has been told often enough (`recovery_calls` of
//! the profile), its warnings are resolved.

use super::Fold;
use super::judge::Judged;
use super::outcome::Outcome;
use crate::engine::event::Text;
use crate::engine::hash::text_hash;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Kept;

impl Fold {
    /// Counts a productive call for the open warnings, and resolves those from which the run has recovered. What one agent
    /// finds is no way out for another one that is still stuck.
    pub(crate) fn recover_by_call(&mut self, judged: &Judged<'_>, policy: &Policy) {
        if judged.outcome == Outcome::Fresh || self.may_be_news(judged) {
            let stuck = self.work.iter().filter(|work| work.is_stuck_beside(judged));
            let stuck: Vec<u64> = stuck.map(|work| work.agent).collect();
            let is_stuck = |agent: &Text| stuck.contains(&text_hash(agent));
            self.recover(policy, |kept| !kept.agent.as_ref().is_some_and(is_stuck));
        }
    }

    /// The same of a text that a model spoke and that repeats nothing: an answer to what a user said, without calls in between,
    /// is the way out of any loop, and whatever else is said that of who repeated himself, and of agents who handed a task to and
    /// fro and now speak.
    pub(crate) fn recover_by_text(&mut self, policy: &Policy) {
        let answers_user = self.totals.turn_at == self.totals.tool_calls + 1;
        self.recover(policy, |kept| {
            answers_user
                || matches!(
                    kept.rule,
                    Rule::RepeatedText
                        | Rule::SummaryLoop
                        | Rule::HandoffBounce
                        | Rule::HandoffCycle
                        | Rule::GoalLoop
                )
        });
    }

    /// The same of a call of a model that went well, for calls of models that were tried again.
    pub(crate) fn recover_by_model(&mut self, policy: &Policy) {
        self.recover(policy, |kept| {
            kept.rule == Rule::RetryStorm && kept.tool.is_none()
        });
    }

    fn recover(&mut self, policy: &Policy, concerns: impl Fn(&Kept) -> bool) {
        let open = self.warnings.iter_mut().filter(|kept| kept.open);
        for kept in open.filter(|kept| concerns(kept)) {
            if let Some(enough) = kept.policy(policy).recovery_calls {
                kept.recover(enough);
            }
        }
    }
}
