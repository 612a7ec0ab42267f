//! The names of the rules. What each looks for is in `rules`.

use serde::{Deserialize, Serialize};

/// The rules, named as in configuration, protobuf, alerts and the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The same tool many times among the last calls.
    RepeatedToolCall,
    /// The same tool with nearly the same arguments.
    RepeatedToolCallSimilarInput,
    /// The same tool with the same arguments.
    RepeatedToolCallExactInput,
    /// A tool repeats while nothing changes.
    NoProgress,
    /// A tool keeps finding nothing.
    EmptyResultLoop,
    /// The same thing is tried again and again.
    RetryStorm,
    /// A step that takes long.
    LongRunningStep,
    /// One event that costs more than everything before it.
    CostSpike,
    /// The run costs more than it may.
    CostBudgetExceeded,
    /// Two agents toss a task to and fro.
    HandoffBounce,
    /// A tool was called more often in one turn than it may be.
    ToolLimit,
    /// A call was made again although the earlier one was answered.
    DuplicateCall,
    /// A search was asked nearly the same again.
    SimilarQuery,
    /// The same attempt, call after call.
    DoomLoop,
    /// Test runs fail one after the other.
    TestFixCycle,
    /// Shell commands fail one after the other.
    CommandFailureCascade,
    /// The agent talks and calls no tool.
    SummaryLoop,
    /// Several workers make the same attempt over and over.
    GlobalDoomLoop,
    /// The same few calls with the same results, round and round.
    ToolCycle,
    /// Other arguments, the same result.
    Stagnation,
    /// The same error whatever is called.
    SameError,
    /// Three or more agents hand a task round in a ring.
    HandoffCycle,
    /// An agent is sent on the same errand again and again.
    GoalLoop,
    /// An agent says the same again and does nothing.
    RepeatedText,
    /// The agent reads on and on and changes nothing.
    ExplorationSaturation,
    /// The run is not like this agent's good runs.
    UnusualRun,
}

impl Rule {
    /// Whether it is about the run as a whole, whoever does what in it.
    #[must_use]
    pub fn is_of_run(self) -> bool {
        matches!(
            self,
            Self::CostSpike
                | Self::CostBudgetExceeded
                | Self::HandoffBounce
                | Self::HandoffCycle
                | Self::GlobalDoomLoop
                | Self::UnusualRun
        )
    }

    /// Every rule, in the order of the manual.
    pub const ALL: [Self; 26] = [
        Self::RepeatedToolCall,
        Self::RepeatedToolCallSimilarInput,
        Self::RepeatedToolCallExactInput,
        Self::NoProgress,
        Self::EmptyResultLoop,
        Self::RetryStorm,
        Self::LongRunningStep,
        Self::CostSpike,
        Self::CostBudgetExceeded,
        Self::HandoffBounce,
        Self::ToolLimit,
        Self::DuplicateCall,
        Self::SimilarQuery,
        Self::DoomLoop,
        Self::TestFixCycle,
        Self::CommandFailureCascade,
        Self::SummaryLoop,
        Self::GlobalDoomLoop,
        Self::ToolCycle,
        Self::Stagnation,
        Self::SameError,
        Self::HandoffCycle,
        Self::GoalLoop,
        Self::RepeatedText,
        Self::ExplorationSaturation,
        Self::UnusualRun,
    ];

    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RepeatedToolCall => "repeated_tool_call",
            Self::RepeatedToolCallSimilarInput => "repeated_tool_call_similar_input",
            Self::RepeatedToolCallExactInput => "repeated_tool_call_exact_input",
            Self::NoProgress => "no_progress",
            Self::EmptyResultLoop => "empty_result_loop",
            Self::RetryStorm => "retry_storm",
            Self::LongRunningStep => "long_running_step",
            Self::CostSpike => "cost_spike",
            Self::CostBudgetExceeded => "cost_budget_exceeded",
            Self::HandoffBounce => "handoff_bounce",
            Self::ToolLimit => "tool_limit",
            Self::DuplicateCall => "duplicate_call",
            Self::SimilarQuery => "similar_query",
            Self::DoomLoop => "doom_loop",
            Self::TestFixCycle => "test_fix_cycle",
            Self::CommandFailureCascade => "command_failure_cascade",
            Self::SummaryLoop => "summary_loop",
            Self::GlobalDoomLoop => "global_doom_loop",
            Self::ToolCycle => "tool_cycle",
            Self::Stagnation => "stagnation",
            Self::SameError => "same_error",
            Self::HandoffCycle => "handoff_cycle",
            Self::GoalLoop => "goal_loop",
            Self::RepeatedText => "repeated_text",
            Self::ExplorationSaturation => "exploration_saturation",
            Self::UnusualRun => "unusual_run",
        }
    }

    /// How much the rule's name says of a loop beside others that see the same calls: the lower, the more. The same call
    /// says more than the same tool, and what follows from a loop (nothing changes, it costs) says least.
    #[must_use]
    pub(crate) fn vagueness(self) -> u8 {
        match self {
            Self::GlobalDoomLoop
            | Self::ToolCycle
            | Self::HandoffCycle
            | Self::HandoffBounce
            | Self::TestFixCycle => 0,
            Self::RepeatedToolCallExactInput | Self::DuplicateCall | Self::DoomLoop => 1,
            Self::SameError
            | Self::RetryStorm
            | Self::CommandFailureCascade
            | Self::EmptyResultLoop
            | Self::Stagnation => 2,
            Self::RepeatedToolCallSimilarInput
            | Self::SimilarQuery
            | Self::GoalLoop
            | Self::RepeatedText
            | Self::SummaryLoop => 3,
            Self::NoProgress | Self::ExplorationSaturation | Self::ToolLimit => 4,
            Self::RepeatedToolCall => 5,
            Self::LongRunningStep
            | Self::CostSpike
            | Self::CostBudgetExceeded
            | Self::UnusualRun => 6,
        }
    }

    /// The rule with this public id.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}
