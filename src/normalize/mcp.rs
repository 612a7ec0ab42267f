//! Model Context Protocol: what MCP clients and servers report of the tools between them.
//!
//! One call shows up to three times: the client's `tools/call X`, the transport's `MCP send tools/call X`, the server's
//! `tools/call X`. The two that name the tool are told, each with its parent, and the engine makes one call of them; the
//! transport's span names no tool in its attributes, ends without the error, and is left out. None of them carries
//! arguments or results.
//!
//! *Runs.* `mcp.session.id` differs on every call of an in-memory client and keys nothing: the trace does. MCP knows no
//! agents, no hand-offs and no end of a run.

use super::Outcome;
use super::facts::Slot;
use super::reading::{Call, Reading, json_text};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    if facts.text(Slot::McpMethod) == Some("tools/call") {
        if let Some(tool) = facts.text(Slot::ToolName) {
            let call = Call {
                tool,
                call_id: json_text(facts.value(Slot::CallId)),
                arguments: json_text(facts.value(Slot::Arguments)),
                result: json_text(facts.value(Slot::Result)),
                handoff_told_elsewhere: false,
            };
            reading.tell_call(&call);
        }
    }
    Outcome::Noise
}
