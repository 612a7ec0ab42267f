//! Profiles: built-in policies, and the configuration's changes to their rules.
//!
//! A profile is a YAML file of `config/profiles/`, part of the binary. What stands under `detectors.rules` and `tools` is laid
//! over the profile's sections of these names before either is read, so that a configuration changes single settings and
//! leaves the rest.

use serde::{Deserialize, Serialize};

use super::mistake::Mistakes;
use super::read::read;
use super::tree::{Node, Value};
use crate::engine::guard::policy::GuardPolicy;
use crate::engine::policy::{Policy, Rules, Tools};

/// The built-in profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// A repeat that brings something new is progress.
    Standard,
    /// The rules as the `LoopLens` manual documents them.
    Looplens,
    /// The doom loops of attocode: rows of one attempt, failing tests and commands, talk without work.
    Attocode,
    /// The repeat counter of agentium's tool executor.
    Agentium,
    /// The limits of Automatos: per tool and turn, no call twice, no search twice.
    Automatos,
    /// The duplicate calls of agent-runtime.
    AgentRuntime,
}

impl Name {
    /// Every profile.
    pub const ALL: [Self; 6] = [
        Self::Standard,
        Self::Looplens,
        Self::Attocode,
        Self::Agentium,
        Self::Automatos,
        Self::AgentRuntime,
    ];

    /// The name in configuration and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Looplens => "looplens",
            Self::Attocode => "attocode",
            Self::Agentium => "agentium",
            Self::Automatos => "automatos",
            Self::AgentRuntime => "agent-runtime",
        }
    }

    /// The profile's file.
    #[must_use]
    pub fn yaml(self) -> &'static str {
        match self {
            Self::Standard => include_str!("../../config/profiles/standard.yaml"),
            Self::Looplens => include_str!("../../config/profiles/looplens.yaml"),
            Self::Attocode => include_str!("../../config/profiles/attocode.yaml"),
            Self::Agentium => include_str!("../../config/profiles/agentium.yaml"),
            Self::Automatos => include_str!("../../config/profiles/automatos.yaml"),
            Self::AgentRuntime => include_str!("../../config/profiles/agent-runtime.yaml"),
        }
    }

    /// The profile without changes.
    ///
    /// # Panics
    /// Never: a test reads every built-in file.
    #[must_use]
    pub fn policy(self) -> Policy {
        let mut mistakes = Mistakes::default();
        let policy = read(&self.tree(), None, &[], &mut mistakes);
        policy.expect("built-in profiles are read by a test")
    }

    pub(super) fn tree(self) -> Node {
        Node::parse(self.yaml(), self.name(), &mut Mistakes::default())
    }
}

/// The part of the configuration that is laid over a profile.
#[derive(Deserialize)]
struct Changed {
    detectors: ChangedDetectors,
    #[serde(default)]
    tools: Tools,
}

#[derive(Deserialize)]
struct ChangedGuard {
    guard: GuardPolicy,
}

#[derive(Deserialize)]
struct ChangedDetectors {
    rules: Rules,
}

/// Where these parts stand in the configuration, and where in a profile.
const CHANGED: [(&[&str], &str); 2] = [(&["detectors", "rules"], "rules"), (&["tools"], "tools")];

/// Takes the parts that are laid over a profile out of the configuration.
pub(super) fn take_changes(tree: &mut Node) -> Node {
    let mut changes = Node::empty(tree.place.clone());
    for (path, _) in CHANGED {
        if let Some(mut section) = tree.take(path) {
            settle_switches(&mut section);
            changes.set(path, section);
        }
    }
    changes
}

/// A profile with the configuration's changes.
pub(super) fn policy(
    name: Name,
    changes: &Node,
    known: &[String],
    mistakes: &mut Mistakes,
) -> Policy {
    let mut policy = name.policy();
    let mut base = Node::empty(changes.place.clone());
    for (path, section) in CHANGED {
        if let Some(built_in) = name.tree().take(&[section]) {
            base.set(path, built_in);
        }
    }
    if let Some(changed) = read::<Changed>(changes, Some(&base), known, mistakes) {
        policy.rules = changed.detectors.rules;
        policy.tools = changed.tools;
    }
    policy
}

/// Lays what stands under `guard` over the profile's guard. A list takes the place of the profile's.
pub(super) fn lay_guard(
    name: Name,
    guard: Option<Node>,
    known: &[String],
    policy: &mut Policy,
    mistakes: &mut Mistakes,
) {
    let Some(guard) = guard.filter(|guard| !matches!(guard.value, Value::Null)) else {
        return;
    };
    let path = ["guard"];
    let mut base = Node::empty(guard.place.clone());
    if let Some(built_in) = name.tree().take(&path) {
        base.set(&path, built_in);
    }
    let mut changes = Node::empty(guard.place.clone());
    changes.set(&path, guard);
    if let Some(changed) = read::<ChangedGuard>(&changes, Some(&base), known, mistakes) {
        policy.guard = changed.guard;
    }
}

/// `rule: off` (or `false`) takes a rule or a tool's entry out. One with nothing after it is left as the profile has it, so
/// that commenting out the keys of a rule does not switch the rule off.
pub(super) fn settle_switches(section: &mut Node) {
    if matches!(section.value, Value::Null) {
        section.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut section.value else {
        return;
    };
    entries.retain(|entry| !matches!(entry.node.value, Value::Null));
    for entry in entries {
        let off = match &entry.node.value {
            Value::Bool(on) => !on,
            Value::Text(text) | Value::Untyped(text) => text == "off" || text == "false",
            _ => false,
        };
        if off {
            entry.node.value = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given each built-in file, it is a policy without mistakes that carries its own name.
    #[test]
    fn built_in_profiles_are_right() {
        for name in Name::ALL {
            let mut mistakes = Mistakes::default();
            let tree = Node::parse(name.yaml(), name.name(), &mut mistakes);
            let policy: Option<Policy> = read(&tree, None, &[], &mut mistakes);
            assert_eq!(mistakes.to_string(), "");
            assert_eq!(policy.unwrap().profile, name.name());
        }
    }

    /// Given what each profile says to an agent, it names only what is put in, and never how to get past the guard.
    #[test]
    fn advice_is_no_way_round() {
        let known = "tool_name arguments repeats limit workers rule previous_result";
        let evasions = [
            "other argument",
            "different argument",
            "the argument",
            "rephras",
            "reword",
            "slightly",
        ];
        let actions = Name::ALL.map(|name| name.policy().guard.actions);
        let texts: Vec<String> = actions
            .into_iter()
            .flatten()
            .map(|action| action.message)
            .collect();
        assert!(texts.len() > 20);
        for text in texts {
            for after in text.split('{').skip(1) {
                let (named, _) = after.split_once('}').unwrap();
                assert!(known.split(' ').any(|known| known == named), "{text}");
            }
            let text = text.to_lowercase();
            assert!(
                !evasions.iter().any(|evasion| text.contains(evasion)),
                "{text}"
            );
        }
    }

    /// Given the numbers of the `LoopLens` manual, its profile has them and infers nothing.
    #[test]
    fn looplens_has_the_manuals_numbers() {
        let policy = Name::Looplens.policy();
        let rules = policy.rules;
        assert!(!policy.progress_aware && policy.recovery_calls.is_none());
        let repeated = rules.repeated_tool_call.unwrap();
        assert_eq!((repeated.calls, repeated.window_calls), (3, Some(8)));
        assert!((rules.repeated_tool_call_similar_input.unwrap().similarity - 0.85).abs() < 1e-9);
        assert_eq!(rules.no_progress.unwrap().alarm.penalty, 30);
        assert!(!rules.retry_storm.unwrap().infer);
        assert!(rules.cost_spike.unwrap().first);
    }
}
