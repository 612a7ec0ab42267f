//! What the guard speaks about.

use crate::engine::event::Text;
use crate::engine::warning::rule::Rule;

use super::Warned;

/// What an action is about: a finding, or a warning that is open.
pub(super) struct Matter {
    pub(super) rule: Rule,
    pub(super) group: u64,
    /// The rule's count in this row.
    pub(super) count: u64,
    /// The warning's count by then, rows before it included.
    pub(super) warned: u64,
    pub(super) tool: Text,
    pub(super) arguments: Text,
    pub(super) workers: usize,
    pub(super) warning_id: u64,
}

/// A warning as it stands, whatever led to it.
impl From<Warned> for Matter {
    fn from(warned: Warned) -> Self {
        Self {
            rule: warned.rule,
            group: warned.group,
            count: warned.count,
            warned: warned.count,
            tool: warned.tool,
            arguments: Text::default(),
            workers: warned.workers,
            warning_id: warned.warning_id,
        }
    }
}
