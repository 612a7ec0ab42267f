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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::captured::Captured;

    /// Client and server tell the call, the transport between them does not; the session of the connection keys nothing.
    #[test]
    fn calls_are_told_by_both_ends() {
        let end = json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "run_query", "mcp.session.id": "s",
            "error.type": "tool_error"});
        let span = || Captured::new("fastmcp", "tools/call run_query", &end).failed("refused");
        assert_eq!(span().told(), ["call run_query(-) = - failed: refused"]);
        assert_eq!(span().report().unwrap().run.run_id, None);
        let transport = json!({"mcp.method.name": "tools/call", "jsonrpc.request.id": "2"});
        assert!(
            Captured::new(
                "mcp-python-sdk",
                "MCP send tools/call run_query",
                &transport
            )
            .told()
            .is_empty()
        );
        assert!(
            Captured::new(
                "fastmcp",
                "tools/list",
                &json!({"mcp.method.name": "tools/list"})
            )
            .told()
            .is_empty()
        );
    }
}
