//! Calls that were refused, as the fold takes them in.
//!
//! A refusal holds as long as what it is based on: the rule may not see its loop any more only because the call was not made.

use crate::engine::event::Text;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::notices::Notice;
use crate::engine::fold::notices::about;
use crate::engine::fold::totals::Spent;
use crate::engine::policy::Policy;
use crate::engine::rules;
use crate::engine::warning::kept::{Finding, Kept, Proof};
use crate::engine::warning::{Rule, Severity};
use crate::engine::window::calls::Call;

use super::verdict::{Answered, VerdictKind};

impl Fold {
    /// What a rule found of a call that was refused because of it, one call more, where the rule does not see it any more, or has
    /// `found` less of it: a call that is not made leaves a gap in its round. Who waits has waited for something.
    pub(super) fn standing(
        &self,
        rule: Rule,
        found: Option<&Finding>,
        judged: &Judged<'_>,
    ) -> Option<Finding> {
        let is_found = |kept: &Kept| found.is_none_or(|found| kept.is_about(found));
        let was_told = |kept: &Kept| {
            let about = about(rule, kept.group);
            let mut told = self.told.iter();
            told.any(|told| (told.about, told.worker) == (about, judged.worker))
        };
        let is_it = |kept: &&Kept| {
            let of_tool = kept.tool.is_none() || kept.tool.as_ref() == Some(judged.tool);
            kept.rule == rule && kept.open && of_tool && is_found(kept) && was_told(kept)
        };
        let kept = self.warnings.iter().filter(|_| !judged.stands_aside());
        let kept = kept.filter(is_it).max_by_key(|kept| kept.proof.last_ns)?;
        let count = kept.count - kept.before + 1;
        if found.is_some_and(|found| found.count >= count) {
            return None;
        }
        Some(Finding {
            rule,
            group: kept.group,
            count,
            tool: kept.tool.clone(),
            agent: judged.call.agent.cloned(),
            ring: None,
            proof: Proof {
                last_ns: judged.call.start_ns,
                ..kept.proof.clone()
            },
            is_guess: kept.severity < Severity::Critical,
        })
    }

    /// Takes in a call that was refused because of a rule.
    pub(in crate::engine) fn take_refused(
        &mut self,
        call: &Call<'_>,
        tool: &Text,
        (rule, verdict): (Rule, VerdictKind),
        policy: &Policy,
    ) {
        let (judged, own) = self.judge_attempt(call, tool, policy);
        self.speech.hush();
        self.totals.tool_calls -= 1;
        self.totals.skipped += 1;
        let finding = rules::of_attempt(self, &judged, rule, own);
        let standing = self.standing(rule, finding.as_ref(), &judged);
        let finding = standing.or(finding);
        self.tallies.hold_back(rule, self.totals.tool_calls);
        let Some(finding) = finding else {
            return;
        };
        let spent = finding.proof.spent;
        self.totals.saved.add(Spent {
            tokens: spent.tokens / finding.count.max(1),
            cost_microusd: spent.cost_microusd / finding.count.max(1),
        });
        let about = about(rule, finding.group);
        let is_same = |kept: &&Kept| kept.is_about(&finding);
        let before = self
            .warnings
            .iter()
            .find(is_same)
            .map_or(0, |kept| kept.before(&finding));
        let told = Notice {
            about,
            worker: judged.worker,
            count: before + finding.count,
            is_observed: false,
        };
        self.tell(told);
        let group = finding.group;
        self.keep(vec![finding], Some(call), own);
        let answered = Answered {
            kind: verdict,
            is_observed: false,
        };
        self.note_verdict(rule, group, answered);
    }
}
