//! From what the rules would find to a verdict, by the profile's actions.

use crate::engine::event::{Body, Event, Nudge, Text, ToolCall};
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::notices::about;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::waiting::Waiting;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::Policy;
use crate::engine::policy::tools::fits_any;
use crate::engine::rules;
use crate::engine::run::RunState;
use crate::engine::view::id_of_warning;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::{Call, Step};

use super::matter::Matter;
use super::message::{Facts, without_controls, written};
use super::owed::owed;
use super::policy::{Action, When};
use super::verdict::{Answered, VerdictKind};
use super::{Caller, Verdict};

/// Longest result that says no more than that something was done ("ok", "done"), in bytes, though the tool's name says that it
/// looks.
const OK_BYTES_MAX: u32 = 4;

/// A verdict, and the note that the run keeps of it where something was said.
pub(super) type Decision = (Verdict, Option<Nudge>);

/// What would come of a call.
struct Foreseen {
    /// The run by then.
    fold: Fold,
    /// What the rules would find.
    findings: Vec<Finding>,
    /// For what the same call was refused before, where the rule does not see it now, or less of it, and nothing has changed since.
    standing: Option<Finding>,
}

/// What the profile says to a question.
pub(super) fn decide(
    state: &RunState,
    question: &Event,
    caller: &Caller,
    policy: &Policy,
) -> Decision {
    decide_by(state, question, None, caller, policy)
}

/// What was said to a question before, in the same words; `state` is the run before that question. What was told late stands
/// before it by now: the verdict stays, and should the rule find nothing any more, there are no words.
pub(super) fn decide_again(
    state: &RunState,
    question: &Event,
    said: (VerdictKind, Rule),
    caller: &Caller,
    policy: &Policy,
) -> Verdict {
    let (verdict, _) = decide_by(state, question, Some(said), caller, policy);
    let (kind, rule) = said;
    Some(verdict)
        .filter(|verdict| verdict.kind == kind)
        .unwrap_or_else(|| Verdict {
            kind,
            rule: Some(rule),
            ..Verdict::default()
        })
}

/// The same, where it is known what was `said` by the actions and rules that can have said it.
fn decide_by(
    state: &RunState,
    question: &Event,
    said: Option<(VerdictKind, Rule)>,
    caller: &Caller,
    policy: &Policy,
) -> Decision {
    let (Some(tip), Body::ToolCall(call)) = (&state.tip, &question.body) else {
        return Decision::default();
    };
    let (own, _) = policy.of(Some(&call.tool), caller.agent.as_deref());
    let is_exempt = fits_any(&own.guard.exempt_tools, &call.tool);
    let foreseen = if is_exempt || call.hands_off {
        None
    } else {
        let refused = state.refused_before(call, caller.worker_hash());
        let refused = refused.filter(|_| is_unchanged(state, tip, call));
        Some(tip.foresee(question, refused, policy))
    };
    let was_told = |matter: &Matter| {
        let about = about(matter.rule, matter.group);
        tip.was_told(caller.worker_hash(), about, matter.warned)
    };
    for action in &own.guard.actions {
        if !action.concerns(Some(&call.tool), caller.agent.as_ref()) || !action.can_say(said) {
            continue;
        }
        let matters = match (action.when, &foreseen) {
            (When::Owed, _) => Vec::from_iter(owed(state, tip, action, caller, (policy, own))),
            (When::Call, Some(foreseen)) => foreseen_matters(state, foreseen, action, call),
            (When::Call, None) => Vec::new(),
        };
        let holds = |matter: &&Matter| {
            if let Some((_, rule)) = said {
                return matter.rule == rule;
            }
            (!action.after_nudge || was_told(matter))
                && (!action.unchanged || is_unchanged(state, tip, call))
        };
        if let Some(matter) = matters.iter().find(holds) {
            return verdict(state, action, matter, Some(call), caller, own);
        }
    }
    let others = policy.all().filter(|other| !std::ptr::eq(*other, own));
    decide_owed_by(state, said, caller, policy, others)
}

/// The nudge that is owed to a worker who makes no call.
pub(super) fn decide_owed(state: &RunState, caller: &Caller, policy: &Policy) -> Decision {
    decide_owed_by(state, None, caller, policy, policy.all())
}

/// The nudge that is owed by one of some policies of the run: whatever is called next, nobody is left untold.
fn decide_owed_by<'p>(
    state: &RunState,
    said: Option<(VerdictKind, Rule)>,
    caller: &Caller,
    policy: &Policy,
    some: impl Iterator<Item = &'p Policy>,
) -> Decision {
    let Some(tip) = &state.tip else {
        return Decision::default();
    };
    let actions = some.flat_map(|own| own.guard.actions.iter().map(move |action| (own, action)));
    let mut nudges = actions.filter(|(_, action)| {
        action.when == When::Owed
            && action.verdict == VerdictKind::Nudge
            && action.can_say(said)
            && action.concerns(None, caller.agent.as_ref())
    });
    nudges
        .find_map(|(own, action)| {
            let matter = owed(state, tip, action, caller, (policy, own))?;
            if said.is_some_and(|(_, rule)| matter.rule != rule) {
                return None;
            }
            Some(verdict(state, action, &matter, None, caller, own))
        })
        .unwrap_or_default()
}

fn verdict(
    state: &RunState,
    action: &Action,
    matter: &Matter,
    call: Option<&ToolCall>,
    caller: &Caller,
    policy: &Policy,
) -> Decision {
    let earlier = call.filter(|_| action.when == When::Call && policy.guard.keep_results);
    let earlier = earlier.and_then(|call| state.earlier_sample(call));
    let facts = Facts {
        tool: &matter.tool,
        arguments: &matter.arguments,
        repeats: matter.count,
        limit: limit(policy, matter, caller.agent.as_ref()),
        workers: matter.workers,
        rule: matter.rule.name(),
        previous_result: earlier.as_deref(),
    };
    let verdict = Verdict {
        kind: action.verdict,
        message: Some(written(&action.message, &facts)),
        rule: Some(matter.rule),
        repeats: Some(matter.count),
        previous_result: earlier
            .filter(|_| action.verdict.refuses())
            .map(|result| without_controls(&result).into()),
        warning_id: Some(matter.warning_id),
    };
    let nudge = Nudge {
        rule: matter.rule,
        group: matter.group,
        count: matter.warned,
        worker: caller.worker_hash(),
        answered: Answered {
            kind: action.verdict,
            is_observed: false,
        },
    };
    (
        verdict,
        Some(nudge).filter(|_| action.verdict != VerdictKind::Allow),
    )
}

/// How often the call may be made.
fn limit(policy: &Policy, matter: &Matter, agent: Option<&Text>) -> u64 {
    let rules = &policy.rules;
    let calls = match matter.rule {
        Rule::ToolLimit => {
            let settings = policy.tools.of(&matter.tool, agent.map(|agent| &**agent));
            let of_all = rules.tool_limit.as_ref().and_then(|rule| rule.calls);
            settings.limit.or(of_all)
        }
        Rule::DuplicateCall => rules
            .duplicate_call
            .as_ref()
            .map(|rule| rule.calls.saturating_sub(1)),
        _ => None,
    };
    calls.map_or_else(|| matter.count.saturating_sub(1), u64::from)
}

/// What the rules of an action would find at the call.
fn foreseen_matters(
    state: &RunState,
    foreseen: &Foreseen,
    action: &Action,
    call: &ToolCall,
) -> Vec<Matter> {
    let standing = foreseen.standing.iter().filter(|_| action.unchanged);
    let concerned =
        foreseen.findings.iter().chain(standing).filter(|finding| {
            action.rules.contains(&finding.rule) && finding.count >= action.count
        });
    let warnings = state.tip.iter().flat_map(|tip| &tip.warnings);
    let matter = |finding: &Finding| {
        let known = warnings.clone().find(|kept| kept.is_about(finding));
        let before = known.map_or(0, |kept| kept.before(finding));
        Matter {
            rule: finding.rule,
            group: finding.group,
            count: finding.count,
            warned: before + finding.count,
            tool: call.tool.clone(),
            arguments: call
                .input
                .value()
                .map_or_else(Text::default, |value| value.sample.clone()),
            workers: foreseen.fold.workers(finding.rule, finding.group),
            warning_id: id_of_warning(state.id(), finding.rule, finding.group),
        }
    };
    concerned.map(matter).collect()
}

/// Whether asking the same again, or the same in other words, must bring the same: the earlier result says more than that
/// something was done, the tool does not write, and every call since is a repeat that brought nothing new and does nothing.
/// What a user said meanwhile may come of what a user did.
fn is_unchanged(state: &RunState, tip: &Fold, call: &ToolCall) -> bool {
    let Some(input) = call.input.value().filter(|_| !call.manner.writes()) else {
        return false;
    };
    let tool = text_hash(&call.tool);
    let key = mix(tool, input.fingerprint);
    let same = tip.recent.iter().rposition(|mark| mark.key() == Some(key));
    let reworded = || {
        let is_it = |mark: &CallMark| mark.asks_in_vain(tool, &input.sample);
        tip.recent.iter().rposition(is_it)
    };
    let Some(last) = same.or_else(reworded) else {
        return false;
    };
    let is_repeat = |place: usize| {
        let mark = &tip.recent[place];
        let mut earlier = tip.recent.iter().take(place);
        let known = mark.key().is_some() && earlier.any(|other| other.key() == mark.key());
        known
            && !mark.may_act
            && matches!(
                mark.outcome,
                Outcome::Stale | Outcome::Empty | Outcome::Failed
            )
    };
    let is_told = tip.recent[last].result().is_some();
    let since = (tip.recent.len() - last) as u64;
    let is_of_turn = tip.totals.tool_calls + 1 >= tip.totals.turn_at + since;
    is_told
        && is_of_turn
        && !state.is_acknowledged(call)
        && (!tip.recent[last].may_act || state.was_told(call))
        && (last + 1..tip.recent.len()).all(is_repeat)
}

impl RunState {
    /// Redacted sample of what the same call brought before, where one is kept.
    fn earlier_sample(&self, call: &ToolCall) -> Option<Text> {
        self.earlier(call).find_map(|value| value.kept().cloned())
    }

    /// Whether the earlier result says no more than that something was done.
    fn is_acknowledged(&self, call: &ToolCall) -> bool {
        let earlier = self.earlier(call).next();
        earlier.is_some_and(|value| !value.empty && !value.answers && value.bytes <= OK_BYTES_MAX)
    }

    /// Whether the earlier result, however short, holds what was asked for.
    fn was_told(&self, call: &ToolCall) -> bool {
        self.earlier(call).next().is_some_and(|value| value.answers)
    }
}

impl Fold {
    /// What would come of a call if it were made and brought what the same call brought last. It was `refused` because of a rule
    /// the last time, and nothing has changed since.
    fn foresee(&self, question: &Event, refused: Option<Rule>, policy: &Policy) -> Foreseen {
        let mut foreseen = Foreseen {
            fold: self.clone(),
            findings: Vec::new(),
            standing: None,
        };
        let Step::Tool(call) = Step::first(0, question) else {
            return foreseen;
        };
        let call = self.totals.in_time(&call);
        let Some(tool) = call.tool else {
            return foreseen;
        };
        let fold = &mut foreseen.fold;
        fold.begin_turn(call.asking.turn, policy);
        let (judged, own) = fold.judge_attempt(&call, tool, policy);
        foreseen.findings = rules::of_tool_call(fold, &judged, own);
        if let Some(rule) = refused {
            let found = foreseen.findings.iter().find(|found| found.rule == rule);
            let standing = foreseen.fold.standing(rule, found, &judged);
            foreseen.standing = standing;
        }
        foreseen
    }

    /// Judges a call that is not made, or not yet, by the policy that it is judged by.
    pub(super) fn judge_attempt<'a>(
        &mut self,
        call: &'a Call<'a>,
        tool: &'a Text,
        policy: &'a Policy,
    ) -> (Judged<'a>, &'a Policy) {
        let own = self.policy_of(policy, Some(tool), call.agent);
        let mut judged = self.judge(call, tool, own);
        self.expect(&mut judged, own);
        // Who asks again after a while waits, whether the call is made or only asked for.
        self.note_call(&judged, policy);
        judged.waiting = Waiting::of(self, &judged, own);
        judged.similar = rules::similar_group(self, &judged, own);
        judged.answers_by_failing = self.answers_by_failing(&judged);
        (judged, own)
    }
}
