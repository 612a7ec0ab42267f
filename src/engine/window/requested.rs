//! What a model asked for, and the call that came of it.
//!
//! An answer that asks for tools names id, tool and arguments of each call ([`Body::Requested`]); the reports of the call may
//! leave out any of these. What was asked for is found by the id. Where the call or what was asked for has none from the
//! provider, it is the first of the newest answer that asked for this tool with these arguments and that no other call has
//! taken. By itself it is no call: whether the tool ran, other reports tell.

use crate::engine::event::{Body, Event, Recorded, ToolCall, is_of_place};

use super::calls::Call;

/// What a model asked for, and its place in the window.
pub(crate) struct Requested<'a> {
    pub(crate) place: usize,
    pub(crate) event: &'a Event,
    pub(crate) call: &'a ToolCall,
}

impl<'a> Call<'a> {
    /// Takes what the model asked for when it asked for this call.
    pub(crate) fn take_asked(&mut self, asked: &mut Vec<Requested<'a>>) {
        let Some(newest) = asked.iter().rfind(|asked| self.may_come_of(asked)) else {
            return;
        };
        let answer = newest.event.start_ns;
        let of_answer =
            |asked: &Requested<'_>| asked.event.start_ns == answer && self.may_come_of(asked);
        let Some(place) = asked.iter().position(of_answer) else {
            return;
        };
        let Requested { place, event, call } = asked.remove(place);
        self.asked = Some((place, event));
        if self.tool.is_some_and(|tool| tool.is_empty()) {
            // Only the answer of the tool is there, which is a moment.
            self.start_ns = self.start_ns.min(event.end_ns);
            self.tool = Some(&call.tool);
            self.hands_off = call.hands_off && self.error.is_none();
            self.manner = call.manner;
            self.agent = self.agent.or(event.agent.as_ref());
            self.worker = self.worker.or(event.worker.as_ref());
        }
        if *self.input == Recorded::NotRecorded {
            self.input = &call.input;
            self.traits.main = call.traits.main;
            self.traits.command = call.traits.command;
        }
    }

    /// Whether the model asked for it under this id.
    pub(crate) fn is_asked_as(&self, call_id: Option<u64>) -> bool {
        match self.asked.map(|(_, event)| &event.body) {
            Some(Body::Requested(call)) => call.call_id.is_some() && call.call_id == call_id,
            _ => false,
        }
    }

    fn may_come_of(&self, asked: &Requested<'_>) -> bool {
        let same_tool = self.tool == Some(&asked.call.tool);
        let unnamed = self.tool.is_some_and(|tool| tool.is_empty());
        let is_of_place = asked.call.call_id.is_some_and(is_of_place);
        match self.call_id {
            Some(_) if unnamed || !is_of_place => {
                self.call_id == asked.call.call_id && (same_tool || unnamed)
            }
            _ => {
                same_tool
                    && self.first.1.trace == asked.event.trace
                    && !self.differs_from(&asked.call.input)
            }
        }
    }
}
