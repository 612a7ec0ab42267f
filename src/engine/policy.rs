//! What counts as a loop: the settings of every rule, as data.
//!
//! A profile (`config/profiles/*.yaml`) is this shape as YAML; the configuration may change single members. A rule that is
//! absent is switched off. Numbers and penalties are those of the LoopLens manual (its page *Loop detectors*) unless a
//! field says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::guard::policy::GuardPolicy;
use super::warning::{Rule, Severity};

/// One profile, with the configuration's changes applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The profile's name.
    pub profile: String,
    /// Score and status.
    pub health: Health,
    /// Whether a repeat that brings something new counts as progress and not as part of a loop.
    pub progress_aware: bool,
    /// Productive calls after which a warning resolves; absent: warnings stay open.
    #[serde(default)]
    pub recovery_calls: Option<u32>,
    /// What counts as waiting; absent: nothing does.
    #[serde(default)]
    pub waiting: Option<Patience>,
    /// The rules.
    pub rules: Rules,
    /// What the guard answers when it is asked before a call.
    #[serde(default)]
    pub guard: GuardPolicy,
}

/// When asking the same again is waiting and not repeating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// Pause between two equal calls from which the second one waits.
    pub pause_seconds: u64,
    /// How long an agent may wait for another result before its calls count.
    pub budget_seconds: u64,
}

/// How a score is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Lowest score that is called healthy.
    pub healthy_from: u32,
    /// Lowest score that is called a warning; below it a run is likely stuck.
    pub warning_from: u32,
    /// What a failed run loses.
    pub failed_penalty: u32,
}

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
}

impl Rules {
    /// Whether some rule looks at the [`Traits`](super::event::Traits) of calls.
    #[must_use]
    pub fn read_traits(&self) -> bool {
        self.doom_loop.is_some()
            || self.global_doom_loop.is_some()
            || self.test_fix_cycle.is_some()
            || self.command_failure_cascade.is_some()
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
        }
    }
}

/// What a warning of a rule weighs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alarm {
    /// Severity when raised.
    pub severity: Severity,
    /// Count from which the severity is critical; absent: never.
    #[serde(default)]
    pub critical_count: Option<u64>,
    /// What an open warning takes from the score.
    pub penalty: u32,
}

/// A rule that counts calls of one tool, whatever their arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCounts {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Calls that raise it.
    pub calls: u32,
    /// Calls of the run within which they count; absent: the whole run.
    #[serde(default)]
    pub window_calls: Option<u32>,
}

/// A rule that counts calls of one tool with equal arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Repeats that raise it, the first call included.
    pub calls: u32,
    /// Repeats that raise it where the evidence is weaker: results were not recorded, or other calls lie between. Absent: the same as `calls`.
    #[serde(default)]
    pub calls_weak: Option<u32>,
    /// Calls of the run within which repeats count; absent: the whole run.
    #[serde(default)]
    pub window_calls: Option<u32>,
}

/// A rule that compares texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimilarRepeats {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Repeats that raise it, the first call included.
    pub calls: u32,
    /// As in [`Repeats`].
    #[serde(default)]
    pub calls_weak: Option<u32>,
    /// As in [`Repeats`].
    #[serde(default)]
    pub window_calls: Option<u32>,
    /// Share of equal text, 0 to 1, from which two inputs are similar.
    pub similarity: f64,
}

/// Retries of a tool or model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryStorm {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Retries that raise it.
    pub retries: u32,
    /// Retries that raise it where the failure may pass by itself; absent: the same as `retries`.
    #[serde(default)]
    pub retries_transient: Option<u32>,
    /// Whether a call right after a failed one of the same tool with the same arguments counts as a retry.
    pub infer: bool,
}

/// Steps that take long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongRunningStep {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Longest duration that is not worth a warning.
    pub seconds: u64,
    /// Whether each long step has a warning of its own; otherwise a run has one, with the number of long steps.
    pub each: bool,
}

/// Single events that cost much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostSpike {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Cost of the run, this event included, below which nothing is a spike, in US dollars.
    pub floor_usd: f64,
    /// Share of the run's cost so far, 0 to 1, that one event must exceed.
    pub share: f64,
    /// Whether each spike has a warning of its own; otherwise a run has one, with the number of spikes.
    pub each: bool,
    /// Whether the very first cost of a run may be a spike.
    pub first: bool,
}

/// A budget for the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostBudget {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// The budget in US dollars; absent: the rule is silent.
    #[serde(default)]
    pub budget_usd: Option<f64>,
}

/// Hand-offs to and fro.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffBounce {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Hand-offs between the same two agents, each the reverse of the one before, that raise it.
    pub handoffs: u32,
    /// Hand-offs that raise it where they show in the nesting of agents only and answers were not recorded. Absent: the
    /// same as `handoffs`.
    #[serde(default)]
    pub handoffs_weak: Option<u32>,
}

/// How often a tool may be called in one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolLimit {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Calls that a tool may have which is not named below; one more raises it.
    pub calls: u32,
    /// The same for single tools.
    #[serde(default)]
    pub tools: BTreeMap<String, u32>,
}

/// Calls that repeat an earlier one, wherever in the run or turn it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateCall {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Equal calls that raise it, the first one included.
    pub calls: u32,
    /// Where the earlier calls are looked for.
    pub within: Scope,
    /// Whether each agent has a count of its own.
    #[serde(default)]
    pub per_agent: bool,
    /// Whether only a call without an error counts as an earlier one, so that trying again after a failure is free.
    #[serde(default)]
    pub after_success: bool,
    /// Tools that may repeat: they wait for something, change something, or tell the time.
    #[serde(default)]
    pub except_tools: Vec<String>,
    /// Agents that may repeat.
    #[serde(default)]
    pub except_agents: Vec<String>,
}

/// How far back a rule looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole run.
    Run,
    /// Since the newest message of a user.
    Turn,
}

/// Queries of search tools that are nearly equal, within a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimilarQuery {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Queries that are alike that raise it, the first one included.
    pub calls: u32,
    /// Share of equal text, 0 to 1, from which two queries are alike.
    pub similarity: f64,
    /// The search tools.
    pub tools: Vec<String>,
    /// Words that two queries must share, or both lack, to be alike: to delete is not to create.
    #[serde(default)]
    pub telling_words: Vec<String>,
}

/// The same attempt, call after call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoomLoop {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Calls in a row with the same arguments that raise it.
    pub calls: u32,
    /// Calls in a row with the same main arguments that raise it.
    pub calls_fuzzy: u32,
}

/// Failures in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failures {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Failures in a row that raise it.
    pub failures: u32,
}

/// Turns of text alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryLoop {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Model answers in a row without a tool call that raise it.
    pub answers: u32,
}

/// The same attempt by several workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalDoomLoop {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Calls with the same main arguments that raise it, whoever made them.
    pub calls: u32,
    /// Workers that must have a part in it, at most four.
    pub workers: u32,
}

/// Calls that go round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCycle {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Longest round that is looked for, in calls, 2 to 6.
    pub longest: u32,
}

/// Hand-offs that go round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffCycle {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Full rounds that raise it, 2 or 3.
    pub rounds: u32,
}

/// Instructions that come again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalLoop {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Instructions to one agent that raise it, the newest and those like it among the remembered ones.
    pub instructions: u32,
    /// Share of common words, 0 to 1, from which two instructions are alike.
    pub similarity: f64,
    /// Equal calls under at least three instructions that raise it.
    pub calls: u32,
}

/// Texts that come again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatedText {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Turns that only repeat an earlier one which raise it, where more than one text is repeated.
    pub turns: u32,
    /// The same where it is one text, after a tool call that brought nothing or none at all.
    pub turns_alone: u32,
}
