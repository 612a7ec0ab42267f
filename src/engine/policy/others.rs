//! Policies of single tools and agents: whoever they name is judged and answered by them instead.
//!
//! An entry is found as one of [`Tools`](super::Tools) is, by the closest name. What nobody names, and what is about the run
//! as a whole, is the main policy's. An entry has no entries of its own.

use super::Policy;
use super::tools::{ToolSettings, closeness};
use crate::engine::event::Text;
use crate::engine::hash::stable;
use crate::engine::warning::Rule;

impl Policy {
    /// The policy by which something that an agent does is judged, with a tool or without, and what keeps its counts apart
    /// from those of others: nothing for this policy itself.
    pub(crate) fn of(&self, tool: Option<&str>, agent: Option<&str>) -> (&Self, u64) {
        if self.others.is_empty() {
            return (self, 0);
        }
        let fitting = self.others.iter().filter_map(|(name, own)| {
            let closeness = closeness(name, tool.unwrap_or_default(), agent)?;
            Some((closeness, name, own))
        });
        let closest = fitting.max_by_key(|(closeness, ..)| *closeness);
        closest.map_or((self, 0), |(_, name, own)| {
            (own, stable(&[name.as_bytes()]))
        })
    }

    /// The policy of which a warning is, by its rule and what it was last seen at.
    pub(crate) fn of_warning(
        &self,
        rule: Rule,
        tool: Option<&Text>,
        agent: Option<&Text>,
    ) -> &Self {
        if rule.is_of_run() {
            return self;
        }
        let [tool, agent] = [tool, agent].map(|name| name.map(|name| &**name));
        self.of(tool, agent).0
    }

    /// What is special about a tool, by the policy by which its calls are judged: they are read by the same.
    pub(crate) fn tool<'t>(&'t self, tool: &'t str, agent: Option<&str>) -> ToolSettings<'t> {
        let (own, _) = self.of(Some(tool), agent);
        own.tools.of(tool, agent)
    }

    /// This policy and all that it has for single tools and agents.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.others.values())
    }
}
