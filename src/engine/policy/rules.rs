//! Which rules are on, and what their warnings weigh.

use serde::{Deserialize, Serialize};

use super::thresholds::{
    Alarm, CostBudget, CostSpike, DoomLoop, DuplicateCall, Exploration, Failures, GlobalDoomLoop,
    GoalLoop, HandoffBounce, HandoffCycle, LOOKED_BACK_CALLS_MAX, LongRunningStep, RepeatedText,
    Repeats, RetryStorm, SimilarQuery, SimilarRepeats, SummaryLoop, ToolCounts, ToolCycle,
    ToolLimit, UnusualRun,
};
use crate::engine::fold::speech::ASKED_MAX;
use crate::engine::warning::Rule;

/// The rules' settings; an absent rule is off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// The same tool many times among the last calls.
    pub repeated_tool_call: Option<ToolCounts>,
    /// The same tool with nearly the same arguments.
    pub repeated_tool_call_similar_input: Option<SimilarRepeats>,
    /// The same tool with the same arguments.
    pub repeated_tool_call_exact_input: Option<Repeats>,
    /// A tool repeats while nothing changes.
    pub no_progress: Option<ToolCounts>,
    /// A tool keeps finding nothing.
    pub empty_result_loop: Option<ToolCounts>,
    /// The same thing is tried again and again.
    pub retry_storm: Option<RetryStorm>,
    /// A step that takes long.
    pub long_running_step: Option<LongRunningStep>,
    /// One event that costs more than everything before it.
    pub cost_spike: Option<CostSpike>,
    /// The run costs more than it may.
    pub cost_budget_exceeded: Option<CostBudget>,
    /// Two agents toss a task to and fro.
    pub handoff_bounce: Option<HandoffBounce>,
    /// A tool was called more often in one turn than it may be.
    pub tool_limit: Option<ToolLimit>,
    /// A call was made again although the earlier one was answered.
    pub duplicate_call: Option<DuplicateCall>,
    /// A search was asked nearly the same again.
    pub similar_query: Option<SimilarQuery>,
    /// The same attempt, call after call.
    pub doom_loop: Option<DoomLoop>,
    /// Test runs fail one after the other.
    pub test_fix_cycle: Option<Failures>,
    /// Shell commands fail one after the other.
    pub command_failure_cascade: Option<Failures>,
    /// The agent talks and calls no tool.
    pub summary_loop: Option<SummaryLoop>,
    /// Several workers make the same attempt over and over.
    pub global_doom_loop: Option<GlobalDoomLoop>,
    /// The same few calls with the same results, round and round.
    pub tool_cycle: Option<ToolCycle>,
    /// Other arguments, the same result.
    pub stagnation: Option<ToolCounts>,
    /// The same error whatever is called.
    pub same_error: Option<ToolCounts>,
    /// Three or more agents hand a task round in a ring.
    pub handoff_cycle: Option<HandoffCycle>,
    /// An agent is sent on the same errand again and again.
    pub goal_loop: Option<GoalLoop>,
    /// An agent says the same again and does nothing.
    pub repeated_text: Option<RepeatedText>,
    /// The agent reads on and on and changes nothing.
    pub exploration_saturation: Option<Exploration>,
    /// The run is not like this agent's good runs.
    pub unusual_run: Option<UnusualRun>,
}

impl Rules {
    /// Whether some rule looks at the [main arguments](crate::engine::event::Traits::main) of calls.
    #[must_use]
    pub fn read_main(&self) -> bool {
        self.doom_loop.is_some() || self.global_doom_loop.is_some()
    }

    /// Takes over from the main policy what is about the run as a whole.
    pub fn share_run(&mut self, main: &Self) {
        self.cost_spike.clone_from(&main.cost_spike);
        self.cost_budget_exceeded
            .clone_from(&main.cost_budget_exceeded);
        self.handoff_bounce.clone_from(&main.handoff_bounce);
        self.handoff_cycle.clone_from(&main.handoff_cycle);
        self.global_doom_loop.clone_from(&main.global_doom_loop);
        self.unusual_run.clone_from(&main.unusual_run);
    }

    /// The most that a setting of a rule can be, where the rule looks at no more than that: with more it would be silent for ever.
    #[must_use]
    pub fn most(&self, rule: Rule, setting: &str) -> Option<u64> {
        /// Those remembered, the present one, and the one before these by its words.
        const INSTRUCTIONS: u64 = ASKED_MAX as u64 + 2;
        let counts = match (rule, setting) {
            (Rule::RepeatedToolCall, "calls") => self.repeated_tool_call.as_ref()?,
            (Rule::Stagnation, "calls") => self.stagnation.as_ref()?,
            (Rule::GoalLoop, "instructions") => return Some(INSTRUCTIONS),
            _ => return None,
        };
        let window = counts.window_calls.unwrap_or(u32::MAX);
        Some(u64::from(window.min(LOOKED_BACK_CALLS_MAX)))
    }

    /// What a rule's warnings weigh; `None` where the rule is off.
    #[must_use]
    pub fn alarm(&self, rule: Rule) -> Option<&Alarm> {
        match rule {
            Rule::RepeatedToolCall => self.repeated_tool_call.as_ref().map(|rule| &rule.alarm),
            Rule::RepeatedToolCallSimilarInput => self
                .repeated_tool_call_similar_input
                .as_ref()
                .map(|rule| &rule.alarm),
            Rule::RepeatedToolCallExactInput => self
                .repeated_tool_call_exact_input
                .as_ref()
                .map(|rule| &rule.alarm),
            Rule::NoProgress => self.no_progress.as_ref().map(|rule| &rule.alarm),
            Rule::EmptyResultLoop => self.empty_result_loop.as_ref().map(|rule| &rule.alarm),
            Rule::RetryStorm => self.retry_storm.as_ref().map(|rule| &rule.alarm),
            Rule::LongRunningStep => self.long_running_step.as_ref().map(|rule| &rule.alarm),
            Rule::CostSpike => self.cost_spike.as_ref().map(|rule| &rule.alarm),
            Rule::CostBudgetExceeded => self.cost_budget_exceeded.as_ref().map(|rule| &rule.alarm),
            Rule::HandoffBounce => self.handoff_bounce.as_ref().map(|rule| &rule.alarm),
            Rule::ToolLimit => self.tool_limit.as_ref().map(|rule| &rule.alarm),
            Rule::DuplicateCall => self.duplicate_call.as_ref().map(|rule| &rule.alarm),
            Rule::SimilarQuery => self.similar_query.as_ref().map(|rule| &rule.alarm),
            Rule::DoomLoop => self.doom_loop.as_ref().map(|rule| &rule.alarm),
            Rule::TestFixCycle => self.test_fix_cycle.as_ref().map(|rule| &rule.alarm),
            Rule::CommandFailureCascade => self
                .command_failure_cascade
                .as_ref()
                .map(|rule| &rule.alarm),
            Rule::SummaryLoop => self.summary_loop.as_ref().map(|rule| &rule.alarm),
            Rule::GlobalDoomLoop => self.global_doom_loop.as_ref().map(|rule| &rule.alarm),
            Rule::ToolCycle => self.tool_cycle.as_ref().map(|rule| &rule.alarm),
            Rule::Stagnation => self.stagnation.as_ref().map(|rule| &rule.alarm),
            Rule::SameError => self.same_error.as_ref().map(|rule| &rule.alarm),
            Rule::HandoffCycle => self.handoff_cycle.as_ref().map(|rule| &rule.alarm),
            Rule::GoalLoop => self.goal_loop.as_ref().map(|rule| &rule.alarm),
            Rule::RepeatedText => self.repeated_text.as_ref().map(|rule| &rule.alarm),
            Rule::ExplorationSaturation => {
                self.exploration_saturation.as_ref().map(|rule| &rule.alarm)
            }
            Rule::UnusualRun => self.unusual_run.as_ref().map(|rule| &rule.alarm),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Given rules that count among the newest calls, as many are known as they look at, which is never more than are kept; of the
    /// others, and of those that are off, nothing is.
    #[test]
    fn what_is_looked_back_at_is_known() {
        let counts = |window: Option<u32>| json!({"alarm": {"severity": "info", "penalty": 1}, "calls": 3, "window_calls": window});
        let told = json!({"repeated_tool_call": counts(Some(8)), "same_error": counts(Some(9)), "stagnation": counts(Some(12))});
        let mut rules: Rules = serde_json::from_value(told).expect("rules");
        let bounded = |rules: &Rules| {
            let bound = |rule: Rule| Some((rule, rules.most(rule, "calls")?));
            Rule::ALL.into_iter().filter_map(bound).collect::<Vec<_>>()
        };
        let expected = [(Rule::RepeatedToolCall, 8), (Rule::Stagnation, 12)];
        assert_eq!(bounded(&rules), expected);
        rules.repeated_tool_call = None;
        for window in [None, Some(100)] {
            let stagnation = rules.stagnation.as_mut().expect("it is on");
            stagnation.window_calls = window;
            let most = u64::from(LOOKED_BACK_CALLS_MAX);
            assert_eq!(bounded(&rules), [(Rule::Stagnation, most)]);
        }
    }
}
