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
use super::reading::{Call, Reading};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    if facts.text(Slot::McpMethod) == Some("tools/call")
        && let Some(tool) = facts.text(Slot::ToolName)
    {
        reading.tell_call(&Call::of(tool, facts));
    }
    Outcome::Noise
}
