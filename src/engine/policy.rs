//! What counts as a loop: the settings of every rule, as data.
//!
//! A profile (`config/profiles/*.yaml`) is this shape as YAML; the configuration may change single members. A rule that is
//! absent is switched off.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::event::SECOND_NS;
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
    /// Policies in the stores of earlier builds have these bounds, which were the same in all of them.
    #[serde(default, skip_serializing, rename = "health")]
    pub(crate) older_health: IgnoredAny,
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

impl Patience {
    /// The pause in nanoseconds.
    pub(crate) fn pause_ns(&self) -> u64 {
        self.pause_seconds.saturating_mul(SECOND_NS)
    }

    /// The budget in nanoseconds.
    pub(crate) fn budget_ns(&self) -> u64 {
        self.budget_seconds.saturating_mul(SECOND_NS)
    }
}

impl Policy {
    /// Whether workers in different runs of one session are to be seen together.
    #[must_use]
    pub fn watches_swarms(&self) -> bool {
        self.rules.global_doom_loop.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Given a policy as stores of earlier builds have it, with bounds of scores, it is read, and written without them.
    #[test]
    fn policies_of_earlier_builds_are_read() {
        let health = json!({"healthy_from": 80, "warning_from": 50, "failed_penalty": 30});
        let old = json!({"profile": "p", "health": health, "progress_aware": true, "rules": {}});
        let policy: Policy = serde_json::from_value(old).expect("a policy");
        let written = serde_json::to_value(&policy).expect("plain data");
        assert!(written.get("health").is_none(), "{written}");
    }
}
