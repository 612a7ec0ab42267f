//! `detectors.profiles`: other profiles for single tools and agents.
//!
//! Each entry is a profile with changes of its own. What the configuration says under `tools` and `guard` holds for all of
//! them, and an entry's own settings before it; but `guard.actions`, like `detectors.rules`, are those of `detectors.profile`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::mistake::Mistakes;
use super::profile::{Name, settle_switches};
use super::read::read;
use super::tree::{Node, Value};
use crate::engine::guard::policy::GuardPolicy;
use crate::engine::policy::{Policy, Rules, Tools};

/// Where the entries stand.
pub(super) const PATH: [&str; 2] = ["detectors", "profiles"];

/// What entries are made of.
const SECTIONS: [&str; 3] = ["rules", "tools", "guard"];

/// The entries, each as an `E`.
#[derive(Deserialize)]
struct File<E> {
    detectors: Detectors<E>,
}

#[derive(Deserialize)]
struct Detectors<E> {
    profiles: BTreeMap<String, E>,
}

/// An entry as far as it says over what it is laid.
#[derive(Deserialize)]
struct Named {
    profile: Name,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    profile: Name,
    rules: Rules,
    #[serde(default)]
    tools: Tools,
    #[serde(default)]
    guard: GuardPolicy,
}

/// The policies of single tools and agents, from the entries and what holds for all of them.
pub(super) fn policies(
    entries: Option<Node>,
    tools: Option<&Node>,
    guard: Option<&Node>,
    known: &[String],
    mistakes: &mut Mistakes,
) -> BTreeMap<String, Policy> {
    let Some(entries) = entries.filter(|entries| !matches!(entries.value, Value::Null)) else {
        return BTreeMap::new();
    };
    let mut all = Node::empty(entries.place.clone());
    all.set(&PATH, entries);
    let named = read::<File<Named>>(&all, None, known, mistakes);
    let named = named.map_or_else(BTreeMap::new, |file| file.detectors.profiles);
    if named.is_empty() {
        return BTreeMap::new();
    }
    let mut base = Node::empty(all.place.clone());
    let mut over = base.clone();
    for (name, Named { profile }) in &named {
        let path = [PATH[0], PATH[1], name];
        if let Some(entry) = all.take(&path) {
            over.set(&path, entry);
        }
        lay(&mut base, &mut over, name, *profile);
        hold(&mut over, name, "tools", tools.cloned());
        let mut guard = guard.cloned();
        if let Some(guard) = &mut guard {
            guard.take(&["actions"]);
        }
        hold(&mut over, name, "guard", guard);
    }
    let read = read::<File<Entry>>(&over, Some(&base), known, mistakes);
    let entries = read.map_or_else(BTreeMap::new, |file| file.detectors.profiles);
    let policy = |entry: Entry| Policy {
        rules: entry.rules,
        tools: entry.tools,
        guard: entry.guard,
        ..entry.profile.policy()
    };
    entries
        .into_iter()
        .map(|(name, entry)| (name, policy(entry)))
        .collect()
}

/// Puts a built-in profile under an entry.
fn lay(base: &mut Node, over: &mut Node, name: &str, profile: Name) {
    let mut built_in = profile.tree();
    for section in SECTIONS {
        let path = [PATH[0], PATH[1], name, section];
        if let Some(section) = built_in.take(&[section]) {
            base.set(&path, section);
        }
        if let Some(mut own) = over.take(&path) {
            if section != "guard" {
                settle_switches(&mut own);
            }
            over.set(&path, own);
        }
    }
}

/// Puts what holds for all entries under what one says itself.
fn hold(over: &mut Node, name: &str, section: &str, of_all: Option<Node>) {
    let path = [PATH[0], PATH[1], name, section];
    let is_set = |node: &Node| !matches!(node.value, Value::Null);
    let Some(of_all) = of_all.filter(is_set) else {
        return;
    };
    let own = over.take(&path).filter(is_set);
    over.set(
        &path,
        own.map_or(of_all.clone(), |own| of_all.overlaid(&own)),
    );
}
