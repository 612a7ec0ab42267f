//! What counts as a loop: the settings of every rule, as data.
//!
//! A profile (`config/profiles/*.yaml`) is this shape as YAML; the configuration may change single members. A rule that is
//! absent is switched off.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::guard::policy::GuardPolicy;

mod others;
mod rules;
mod thresholds;
pub(crate) mod tools;

pub use rules::Rules;
pub use thresholds::{
    Alarm, CostBudget, CostSpike, DoomLoop, DuplicateCall, Exploration, Failures, GlobalDoomLoop,
    GoalLoop, HandoffBounce, HandoffCycle, LOOKED_BACK_CALLS_MAX, LongRunningStep, NormalRun,
    RepeatedText, Repeats, RetryStorm, Scope, SimilarQuery, SimilarRepeats, SummaryLoop,
    ToolCounts, ToolCycle, ToolLimit, UnusualRun,
};
pub use tools::{Tool, ToolSettings, Tools};

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
    /// Productive calls, or answers to a user, after which a warning resolves; absent: warnings stay open.
    #[serde(default)]
    pub recovery_calls: Option<u32>,
    /// What counts as waiting; absent: nothing does.
    #[serde(default)]
    pub waiting: Option<Patience>,
    /// What is special about single tools and agents.
    #[serde(default)]
    pub tools: Tools,
    /// The rules.
    pub rules: Rules,
    /// What the guard answers when it is asked before a call.
    #[serde(default)]
    pub guard: GuardPolicy,
    /// Policies of single tools and agents, by name as in `tools`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Policy>,
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

impl Policy {
    /// Whether workers in different runs of one session are to be seen together.
    #[must_use]
    pub fn watches_swarms(&self) -> bool {
        self.rules.global_doom_loop.is_some()
    }
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
