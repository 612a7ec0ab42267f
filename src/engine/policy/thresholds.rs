//! The settings of each rule: from how many, within which distance, how alike.
//!
//! Numbers and penalties are those of the LoopLens manual (its page *Loop detectors*) unless a field says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::warning::Severity;

/// Most calls among which a rule can count that looks at the newest ones: those that are remembered, and the one at hand.
pub const LOOKED_BACK_CALLS_MAX: u32 = 13;

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
    /// Calls that raise it where something new came between them, if not from them. Absent: news elsewhere do not matter.
    #[serde(default)]
    pub calls_moving: Option<u32>,
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
    /// Repeats that raise it where the evidence is weaker: results were not recorded, or other calls lie between. Absent: the
    /// same as `calls`.
    #[serde(default)]
    pub calls_weak: Option<u32>,
    /// Calls that raise it where something new came between them, if not from them. Absent: news elsewhere do not matter.
    #[serde(default)]
    pub calls_moving: Option<u32>,
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
    pub calls_moving: Option<u32>,
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
    /// Whether one of the first costs of a run may be a spike.
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
    /// Calls that a tool may have for which `tools` sets no limit; one more raises it. Absent: any number.
    #[serde(default)]
    pub calls: Option<u32>,
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
    /// Tools that may repeat: they wait for something, change something, or tell the time. `*` stands for any text.
    #[serde(default)]
    pub except_tools: Vec<String>,
    /// Agents that may repeat, in the same way.
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

/// Queries that are nearly equal, within a turn, of the tools of which `tools` says that they search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimilarQuery {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Queries that are alike that raise it, the first one included.
    pub calls: u32,
    /// Share of equal text, 0 to 1, from which two queries are alike.
    pub similarity: f64,
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
    /// Longest round that is looked for, in calls, 2 to 32.
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

/// Reading without an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exploration {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// Calls that only read and that raise it.
    pub calls: u32,
}

/// Runs that are not like good ones. `eddy calibrate` writes this section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnusualRun {
    /// What a warning weighs.
    pub alarm: Alarm,
    /// What is usual, by the agent's name; `*` stands for agents that are not named.
    #[serde(default)]
    pub agents: BTreeMap<String, NormalRun>,
}

/// What is usual for one agent in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalRun {
    /// Most tool calls.
    pub calls: u64,
    /// Most calls with the same tool, arguments and result as one of the newest twelve.
    pub repeats: u64,
}
