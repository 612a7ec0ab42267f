//! What is left out of arguments because it was made up for the call.

use crate::engine::tool_name;

use super::super::digest::{Map, Shape};
use super::super::drawn;
use super::Reader;

impl Reader<'_> {
    /// Whether a member of arguments is set to say what a call is about.
    pub(super) fn is_main(&self, key: &str) -> bool {
        let mut main = self.how.primary_arguments.unwrap_or_default().iter();
        main.any(|name| name == key)
    }

    /// Whether what was read last is a number by which an agent counts its own thoughts: of a tool that does nothing but take them,
    /// every number says which one it is, or how many there may be.
    pub(super) fn counts_thoughts(&self) -> bool {
        let is_number = matches!(self.told.shape, Shape::Number | Shape::Zero);
        is_number && !self.is_output && tool_name::thinks(self.how.tool)
    }

    /// Leaves out members of arguments that may have been made up for the call, where something else is asked.
    pub(super) fn leave_out_drawn(&mut self, map: &mut Map) {
        let drawn = std::mem::take(&mut map.drawn);
        let (mut from, mut asks) = (map.place, false);
        let ends = drawn.iter().map(|member| member.place.clone());
        let end = self.sample.place();
        for place in ends.chain(std::iter::once(end..end)) {
            let others = &self.sample.since(from)[..place.start - from];
            asks |= drawn::asks_for_another(&self.how, others);
            from = place.end;
        }
        for member in drawn.iter().rev().filter(|_| asks) {
            self.sample.cut_out(member.place.clone());
            map.leave_out(member);
        }
    }
}
