//! LangGraph, whoever instruments it: what its nodes write to the graph's state.
//!
//! A node returns what it writes: an object with a member for each part of the state, or a command with the object in it,
//! or a list of commands, of which the first is read.
//! Messages are not progress (every step adds one), nor is what LangGraph keeps for itself, nor a number or a flag: graphs
//! count their steps. Everything else is a state update; the same one again in the same trace changes nothing, and has
//! the same identity, so that it is not told twice.

use crate::engine::event::Body;
use crate::normalize::reading::Reading;
use crate::normalize::value::{self, Object};

/// Parts of the state that are no progress.
const NOT_TOLD: [&str; 8] = [
    "messages",
    "remaining_steps",
    "is_last_step",
    "active_agent",
    "structured_response",
    "jump_to",
    "next",
    "goto",
];

/// Tells of what a node wrote, if that is an update of the state. `output` is what the node returned, as JSON.
pub(super) fn tell_update(reading: &mut Reading<'_, '_>, output: &str) {
    // In JavaScript what a node returned stands within `output`, where it is no object of the state.
    let mut returned = Object::of(output);
    let within = returned.member("output");
    let within = within.filter(|inner| inner.contains("\"lg_name\""));
    let output = within.unwrap_or(output);
    let first = value::items(output).next();
    if let Some(inner) = first.or(within) {
        returned = Object::of(inner);
    }
    let is_command =
        returned.member("goto").is_some() || returned.member("lg_name") == Some("\"Command\"");
    let update = if is_command {
        Object::of(returned.member("update").unwrap_or_default())
    } else if first.is_some() {
        return;
    } else {
        returned
    };
    let mut identity: Vec<u8> = Vec::new();
    for (part, written) in update.members() {
        let says = written.starts_with(['"', '{', '[']) && !matches!(written, "\"\"" | "{}" | "[]");
        if says && !NOT_TOLD.contains(&part) {
            identity.extend_from_slice(part.as_bytes());
            identity.extend_from_slice(written.as_bytes());
        }
    }
    if !identity.is_empty() {
        let trace = reading.span.trace_id;
        let id = value::id_hash(&[b"langgraph", &trace, &identity]);
        reading.tell_named(id, Body::StateUpdate);
    }
}
