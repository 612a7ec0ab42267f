//! The rules, a file each; each file's comment is its page of the manual.
//!
//! A rule looks at one judged call or event and at what the fold remembers, and answers with a finding while it holds. Rules
//! keep their counts in tallies and never look at each other. In a profile that knows progress, what brought something new
//! does not count, calls that one model answer asked for count once, and weaker evidence needs more repeats.

mod command_failure_cascade;
mod cost_budget_exceeded;
mod cost_spike;
mod doom_loop;
mod duplicate_call;
mod empty_result_loop;
mod exploration_saturation;
mod global_doom_loop;
mod goal_loop;
mod handoff_bounce;
mod handoff_cycle;
mod long_running_step;
mod no_progress;
mod repeated_text;
mod repeated_tool_call;
mod repeated_tool_call_exact_input;
mod repeated_tool_call_similar_input;
mod retry_storm;
mod same_error;
mod similar_query;
mod stagnation;
mod summary_loop;
mod test_fix_cycle;
mod tool_cycle;
mod tool_limit;
mod unusual_run;

use super::event::{AgentSpan, Event, Text};
use super::fold::Fold;
use super::fold::judge::Judged;
use super::fold::totals::Spent;
use super::policy::Policy;
use super::warning::Rule;
use super::warning::kept::Finding;
use super::window::calls::Call;
use super::window::spoken::Spoken;

pub(crate) use command_failure_cascade::advice as cascade_advice;
pub(crate) use goal_loop::is_new_errand;
pub(crate) use repeated_tool_call_similar_input::group_of as similar_group;
pub(crate) use same_error::{passing_group, streak_group};

/// What the rules find at a tool call.
pub(crate) fn of_tool_call(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Vec<Finding> {
    if fold.is_swarm {
        return Vec::from_iter(global_doom_loop::observe(fold, judged, policy));
    }
    let mut findings = Vec::new();
    let mut note = |found: Option<Finding>| {
        if let Some(finding) = found {
            add(&mut findings, finding);
        }
    };
    note(long_running_step::observe(fold, judged.call, policy));
    note(cost_budget_exceeded::observe(fold, judged.call, policy));
    summary_loop::end(fold);
    if judged.call.hands_off || judged.is_exempt() {
        return findings;
    }
    note(repeated_tool_call::observe(fold, judged, policy));
    note(repeated_tool_call_similar_input::observe(
        fold, judged, policy,
    ));
    note(repeated_tool_call_exact_input::observe(
        fold, judged, policy,
    ));
    note(no_progress::observe(fold, judged, policy));
    note(empty_result_loop::observe(fold, judged, policy));
    note(retry_storm::observe_call(fold, judged, policy));
    note(tool_limit::observe(fold, judged, policy));
    note(duplicate_call::observe(fold, judged, policy));
    note(similar_query::observe(fold, judged, policy));
    note(doom_loop::observe(fold, judged, policy));
    note(test_fix_cycle::observe(fold, judged, policy));
    note(command_failure_cascade::observe(fold, judged, policy));
    note(global_doom_loop::observe(fold, judged, policy));
    note(tool_cycle::observe(fold, judged, policy));
    note(stagnation::observe(fold, judged, policy));
    note(same_error::observe(fold, judged, policy));
    note(goal_loop::observe_call(fold, judged, policy));
    note(exploration_saturation::observe(fold, judged, policy));
    findings.extend(unusual_run::observe(fold, judged, policy));
    findings
}

/// Apart from the rules' calls: hardly any of them finds something.
#[cold]
fn add(findings: &mut Vec<Finding>, finding: Finding) {
    findings.push(finding);
}

/// What one rule finds at a call that was not made because of it.
pub(crate) fn of_attempt(
    fold: &mut Fold,
    judged: &Judged<'_>,
    rule: Rule,
    policy: &Policy,
) -> Option<Finding> {
    summary_loop::end(fold);
    match rule {
        Rule::RepeatedToolCall => repeated_tool_call::observe(fold, judged, policy),
        Rule::RepeatedToolCallSimilarInput => {
            repeated_tool_call_similar_input::observe(fold, judged, policy)
        }
        Rule::RepeatedToolCallExactInput => {
            repeated_tool_call_exact_input::observe(fold, judged, policy)
        }
        Rule::NoProgress => no_progress::observe(fold, judged, policy),
        Rule::EmptyResultLoop => empty_result_loop::observe(fold, judged, policy),
        Rule::RetryStorm => retry_storm::observe_call(fold, judged, policy),
        Rule::ToolLimit => tool_limit::observe(fold, judged, policy),
        Rule::DuplicateCall => duplicate_call::observe(fold, judged, policy),
        Rule::SimilarQuery => similar_query::observe(fold, judged, policy),
        Rule::DoomLoop => doom_loop::observe(fold, judged, policy),
        Rule::TestFixCycle => test_fix_cycle::observe(fold, judged, policy),
        Rule::CommandFailureCascade => command_failure_cascade::observe(fold, judged, policy),
        Rule::GlobalDoomLoop => global_doom_loop::observe(fold, judged, policy),
        Rule::ToolCycle => tool_cycle::observe(fold, judged, policy),
        Rule::Stagnation => stagnation::observe(fold, judged, policy),
        Rule::SameError => same_error::observe(fold, judged, policy),
        Rule::GoalLoop => goal_loop::observe_call(fold, judged, policy),
        Rule::ExplorationSaturation => exploration_saturation::observe(fold, judged, policy),
        Rule::LongRunningStep
        | Rule::CostSpike
        | Rule::CostBudgetExceeded
        | Rule::HandoffBounce
        | Rule::HandoffCycle
        | Rule::SummaryLoop
        | Rule::RepeatedText
        | Rule::UnusualRun => None,
    }
}

/// What the rules find at a model call.
pub(crate) fn of_model_call(
    fold: &mut Fold,
    call: &Call<'_>,
    model: &Spoken,
    spent: Spent,
    policy: &Policy,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(long_running_step::observe(fold, call, policy));
    findings.extend(cost_spike::observe(fold, call, spent, policy));
    findings.extend(cost_budget_exceeded::observe(fold, call, policy));
    findings.extend(retry_storm::observe_model(fold, call, policy));
    findings.extend(summary_loop::observe(fold, call, model, spent, policy));
    findings
}

/// What a message of a user ends.
pub(crate) fn of_user_message(fold: &mut Fold) {
    summary_loop::end(fold);
}

/// What the rules find when control passes.
pub(crate) fn of_hand_off(fold: &Fold, policy: &Policy) -> Vec<Finding> {
    let bounce = handoff_bounce::observe(fold, policy);
    bounce
        .into_iter()
        .chain(handoff_cycle::observe(fold, policy))
        .collect()
}

/// What the rules find at a retry that the framework reports.
pub(crate) fn of_retry(
    fold: &mut Fold,
    event: &Event,
    tool: Option<&Text>,
    policy: &Policy,
) -> Vec<Finding> {
    retry_storm::observe_retry(fold, event, tool, policy)
        .into_iter()
        .collect()
}

/// What the rules find when an agent is told what to do.
pub(crate) fn of_instruction(
    fold: &mut Fold,
    event: &Event,
    agent: &AgentSpan,
    policy: &Policy,
) -> Option<Finding> {
    goal_loop::observe_instruction(fold, event, agent, policy)
}

/// What the rules find at a turn of text alone.
pub(crate) fn of_text(
    fold: &mut Fold,
    call: &Call<'_>,
    text: u64,
    policy: &Policy,
) -> Option<Finding> {
    repeated_text::observe(fold, call, text, policy)
}
