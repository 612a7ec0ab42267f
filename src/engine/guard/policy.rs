//! What the guard answers, as data: part of a profile.
//!
//! A profile lists actions. For a call about to be made, they are gone through in order, and the first that applies gives
//! the verdict; where none does, the call is allowed.

use serde::{Deserialize, Serialize};

use crate::engine::event::Text;
use crate::engine::policy::tools::fits_any;
use crate::engine::warning::rule::Rule;

use super::verdict::VerdictKind;

/// The guard's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardPolicy {
    /// Whether verdicts count.
    pub mode: Mode,
    /// Time within which every question is answered, in milliseconds; after it, the call is allowed.
    pub deadline_ms: u64,
    /// Whether a redacted sample of each result that the guard is told is kept with the run, to be given back with a refusal.
    pub keep_results: bool,
    /// Tools that are never refused, since repeating them is right: they poll, wait or tell the time. `*` stands for any
    /// text.
    pub exempt_tools: Vec<String>,
    /// What to answer, first match first.
    pub actions: Vec<Action>,
}

impl Default for GuardPolicy {
    fn default() -> Self {
        Self {
            mode: Mode::Enforce,
            deadline_ms: 50,
            keep_results: false,
            exempt_tools: Vec::new(),
            actions: Vec::new(),
        }
    }
}

/// Whether verdicts count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Verdicts are given.
    #[default]
    Enforce,
    /// Verdicts are reached, counted and shown, and every call is allowed.
    Observe,
    /// Nothing is looked at: every call is allowed, and takes part in the run.
    Off,
}

impl Mode {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
            Self::Off => "off",
        }
    }
}

/// One answer, and when it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// The rules that bring it about.
    pub rules: Vec<Rule>,
    /// What of these rules does.
    #[serde(default)]
    pub when: When,
    /// The answer.
    pub verdict: VerdictKind,
    /// Least count of the rule; absent: as soon as the rule holds.
    #[serde(default)]
    pub count: u64,
    /// Whether the run must have been nudged about the same loop before.
    #[serde(default)]
    pub after_nudge: bool,
    /// Whether the same call must have been answered before, with nothing in between that can have changed the answer.
    #[serde(default)]
    pub unchanged: bool,
    /// The tools to which it applies; none: all. `*` stands for any text.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The agents to which it applies; none: all.
    #[serde(default)]
    pub agents: Vec<String>,
    /// What the agent is told. `{tool_name}`, `{arguments}`, `{repeats}`, `{limit}`, `{workers}`, `{rule}` and
    /// `{previous_result}` are put in.
    pub message: String,
}

impl Action {
    /// Whether it can have given an answer, where that is known.
    pub(super) fn can_say(&self, said: Option<(VerdictKind, Rule)>) -> bool {
        said.is_none_or(|(kind, rule)| self.verdict == kind && self.rules.contains(&rule))
    }

    /// Whether it is for a tool and an agent, where these are known.
    pub(super) fn concerns(&self, tool: Option<&Text>, agent: Option<&Text>) -> bool {
        let among = |patterns: &[String], name: Option<&Text>| {
            patterns.is_empty() || name.is_some_and(|name| fits_any(patterns, name))
        };
        among(&self.tools, tool) && among(&self.agents, agent)
    }
}

/// What of a rule brings an answer about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// With this very call the rule would hold, if the call brought what it brought last.
    #[default]
    Call,
    /// A warning of the rule is open, and this worker has not been told of it as it stands by now.
    Owed,
}
