//! Checks what is written of the policy: `detectors`, `tools` and `guard`, also those of single tools and agents.

use super::checker::{Checker, key};
use super::mistake::{Mistakes, listed, nearest};
use super::others;
use super::read::read;
use super::shape::Shape;
use super::tree::Node;
use crate::engine::guard::message;
use crate::engine::guard::policy::{Action, GuardPolicy, When};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::policy::{LOOKED_BACK_CALLS_MAX, Policy, Tools};
use crate::engine::warning::Rule;

/// Most entries of `tools`: each is compared with the tool of every call.
const TOOLS_MAX: usize = 64;

/// The policy of a profile with what is written laid over it.
pub(super) fn policy(shape: &Shape, mut policy: Policy, check: &mut Checker<'_>) -> Policy {
    let entries = policy.tools.0.len();
    if entries > TOOLS_MAX {
        let text = format!("at most {TOOLS_MAX} entries, found {entries}");
        check.wrong(&["tools"], text);
    }
    tool_names(&policy.tools, &["tools"], check);
    if let Some(budget) = shape.detectors.cost_budget_usd {
        if budget <= 0.0 {
            check.wrong(&["detectors", "cost_budget_usd"], "must be more than 0");
        }
        if let Some(rule) = &mut policy.rules.cost_budget_exceeded {
            rule.budget_usd = Some(budget);
        }
    }
    if let Some(calls) = shape.detectors.recovery_calls {
        if calls == 0 {
            check.wrong(&["detectors", "recovery_calls"], "must be at least 1");
        }
        policy.recovery_calls = Some(calls);
    }
    guard(&policy.guard, &["guard"], check);
    shares(&policy, &["detectors"], check);
    costs(&policy, &["detectors"], check);
    counts(&policy, &["detectors"], check);
    other_policies(&mut policy, check);
    policy
}

/// What single tools and agents are named by.
const NAME_EXPECTED: &str = "expected a tool's name or `TOOL@AGENT`; `*` stands for any text";

/// Whether a name has all its parts: an empty one would fit nothing.
fn is_name(name: &str) -> bool {
    !name.split('@').any(str::is_empty)
}

/// Checks what is written under `tools`; entries of a profile are right.
fn tool_names(tools: &Tools, path: &[&str], check: &mut Checker<'_>) {
    for name in tools.0.keys().filter(|name| !is_name(name)) {
        let path = key(path, &[name]);
        if check.tree.has(&path) {
            check.wrong(&path, NAME_EXPECTED);
        }
    }
}

/// Most entries of `detectors.profiles`: each is compared with the tool and the agent of every call.
const PROFILES_MAX: usize = 16;

/// Checks the policies of single tools and agents, and gives them what is about the run as a whole.
fn other_policies(policy: &mut Policy, check: &mut Checker<'_>) {
    let entries = policy.others.len();
    if entries > PROFILES_MAX {
        let text = format!("at most {PROFILES_MAX} entries, found {entries}");
        check.wrong(&others::PATH, text);
    }
    for (name, other) in &mut policy.others {
        let path = [others::PATH[0], others::PATH[1], name];
        if !is_name(name) {
            check.wrong(&path, NAME_EXPECTED);
        }
        tool_names(&other.tools, &key(&path, &["tools"]), check);
        for rule in Rule::ALL.iter().filter(|rule| rule.is_of_run()) {
            let path = key(&path, &["rules", rule.name()]);
            if check.tree.has(&path) {
                let text = format!(
                    "is about the whole run; it belongs under `detectors.rules.{}`",
                    rule.name()
                );
                check.wrong(&path, text);
            }
        }
        guard(&other.guard, &key(&path, &["guard"]), check);
        shares(other, &path, check);
        costs(other, &path, check);
        counts(other, &path, check);
        other.rules.share_run(&policy.rules);
    }
}

/// Checks the settings that are shares.
fn shares(policy: &Policy, path: &[&str], check: &mut Checker<'_>) {
    let similar = policy.rules.repeated_tool_call_similar_input.as_ref();
    let query = policy.rules.similar_query.as_ref();
    let goal = policy.rules.goal_loop.as_ref();
    let spike = policy.rules.cost_spike.as_ref();
    let shares = [
        (
            "repeated_tool_call_similar_input",
            "similarity",
            similar.map(|rule| rule.similarity),
        ),
        (
            "similar_query",
            "similarity",
            query.map(|rule| rule.similarity),
        ),
        ("goal_loop", "similarity", goal.map(|rule| rule.similarity)),
        ("cost_spike", "share", spike.map(|rule| rule.share)),
    ];
    for (rule, setting, share) in shares {
        if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            check.wrong(
                &key(path, &["rules", rule, setting]),
                "must be between 0 and 1",
            );
        }
    }
}

/// Checks the settings that are costs.
fn costs(policy: &Policy, path: &[&str], check: &mut Checker<'_>) {
    let floor = policy.rules.cost_spike.as_ref().map(|rule| rule.floor_usd);
    if floor.is_some_and(|floor| floor < 0.0) {
        let path = key(path, &["rules", "cost_spike", "floor_usd"]);
        check.wrong(&path, "must be at least 0");
    }
    let budget = policy.rules.cost_budget_exceeded.as_ref();
    let path = key(path, &["rules", "cost_budget_exceeded", "budget_usd"]);
    // That of `detectors.cost_budget_usd`, which takes its place, has been looked at.
    if check.tree.has(&path)
        && budget.is_some_and(|rule| rule.budget_usd.is_some_and(|budget| budget <= 0.0))
    {
        check.wrong(&path, "must be more than 0");
    }
}

/// Checks the settings that are counts. A rule that holds at nothing would warn of every run, and one that asks for more than it
/// looks at would be silent for ever.
fn counts(policy: &Policy, path: &[&str], check: &mut Checker<'_>) {
    let rules = serde_json::to_value(&policy.rules).expect("settings are plain data");
    for rule in Rule::ALL {
        let settings = rules[rule.name()].as_object();
        for (setting, value) in settings.into_iter().flatten() {
            let Some(found) = value.as_u64() else {
                continue;
            };
            let path = key(path, &["rules", rule.name(), setting]);
            match (rule, setting.as_str(), policy.rules.most(rule, setting)) {
                // No call at all may be allowed, and no time.
                (Rule::ToolLimit, "calls", _) | (Rule::LongRunningStep, "seconds", _) => {}
                (Rule::ToolCycle, "longest", _) => _ = check.range(&path, found, 2, 32),
                (Rule::HandoffCycle, "rounds", _) => _ = check.range(&path, found, 2, 3),
                (Rule::GoalLoop, _, Some(most)) => _ = check.range(&path, found, 1, most),
                (Rule::GlobalDoomLoop, "workers", _) => _ = check.range(&path, found, 1, 4),
                _ if found == 0 => check.wrong(&path, "must be at least 1"),
                (_, _, Some(most)) if most > 0 && found > most => {
                    let text = format!(
                        "expected {most} at most, found {found}: the rule looks at the newest {most} calls (`window_calls`, and \
                         never more than {LOOKED_BACK_CALLS_MAX})"
                    );
                    check.wrong(&path, text);
                }
                _ => {}
            }
        }
    }
}

/// Longest that an agent may be made to wait for the guard.
const GUARD_DEADLINE_MS_MAX: u64 = 10_000;

/// Checks what is written of the guard; the profile's is right.
fn guard(guard: &GuardPolicy, path: &[&str], check: &mut Checker<'_>) {
    let deadline = key(path, &["deadline_ms"]);
    if check.tree.has(&deadline) {
        check.range(&deadline, guard.deadline_ms, 1, GUARD_DEADLINE_MS_MAX);
    }
    let actions = key(path, &["actions"]);
    for item in check.tree.at(&actions).map_or(&[][..], Node::items) {
        // What of it cannot be read has been named, and is left out.
        let readable = read::<Action>(&item.node, None, &[], &mut Mistakes::default());
        let path = key(&actions, &[&item.key]);
        if let Some(action) = readable {
            self::action(&action, &item.node, &path, check);
        }
    }
}

fn action(action: &Action, written: &Node, path: &[&str], check: &mut Checker<'_>) {
    if written
        .child("rules")
        .is_some_and(|rules| rules.items().is_empty())
    {
        check.wrong(&key(path, &["rules"]), "names no rule");
    }
    let message = key(path, &["message"]);
    if action.message.trim().is_empty() && action.verdict != VerdictKind::Allow {
        check.wrong(&message, "is empty");
    }
    for name in message::unknown_names(&action.message) {
        let text = match nearest(name, message::NAMES) {
            Some(meant) => format!("did you mean `{{{meant}}}`?"),
            None => format!(
                "known are {}",
                listed(
                    &message::NAMES
                        .map(|name| format!("{{{name}}}"))
                        .each_ref()
                        .map(String::as_str)
                )
            ),
        };
        let text = format!("nothing is put in for `{{{name}}}`; {text}");
        check.wrong(&message, text);
    }
    if action.when == When::Owed && action.verdict.refuses() {
        check.wrong(
            &key(path, &["when"]),
            "what is owed can be said, but no call is refused for it; use `verdict: nudge`",
        );
    }
}
