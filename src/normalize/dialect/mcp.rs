//! Model Context Protocol: what MCP clients and servers report of the tools between them.
//!
//! One call shows up to three times: the client's `tools/call X`, the transport's `MCP send tools/call X`, the server's
//! `tools/call X`. The first and the last are told, each with its parent, and the engine makes one call of them; the
//! transport's span is not called after the tool, ends without the error, and is left out. Arguments and results are
//! recorded only where somebody asked for it, under the keys of the GenAI conventions, or of Laminar's where it watches.
//!
//! *Logfire* watches the protocol itself: client and server have a span each, with request and response as JSON in two
//! attributes.
//!
//! *Runs.* `mcp.session.id` differs on every call of an in-memory client and keys nothing: the trace does. MCP knows no
//! agents, no hand-offs and no end of a run.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::facts::{Facts, Slot};
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::scopes::LOGFIRE_MCP;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::value;

use super::gen_ai;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    if reading.span.scope_name == LOGFIRE_MCP {
        return message(reading);
    }
    let facts = reading.facts;
    match facts.text(Slot::McpMethod) {
        Some("tools/call") => {
            let named = reading.span.name.strip_prefix("tools/call ");
            if let Some(tool) = facts.text(Slot::ToolName).or(named) {
                reading.tell_call(&call(tool, facts));
            }
        }
        Some(method) if !is_known(method) => return Outcome::UnknownOperation,
        // A tool's own span under an MCP scope.
        None if facts.text(Slot::Operation) == Some("execute_tool") => {
            return gen_ai::span(reading);
        }
        Some(_) | None => {}
    }
    Outcome::Noise
}

/// A call as the facts have it. Laminar has the request under its own key, the tool's name beside the arguments, and the result.
fn call<'a>(tool: &'a str, facts: &Facts<'a>) -> Call<'a> {
    let plain = |slot| json_text(facts.value(slot));
    let mut call = Call::of(tool, facts);
    call.arguments = call.arguments.or_else(|| {
        let request = plain(Slot::PlainInput)?;
        let arguments = member_text(&request, &["arguments"])?;
        Some(Cow::Owned(arguments.into_owned()))
    });
    call.result = call.result.or_else(|| plain(Slot::PlainOutput));
    call
}

/// Reads one span of Logfire's.
fn message(reading: &mut Reading<'_, '_>) -> Outcome {
    let attributes = reading.span.attributes;
    let json = |key| attributes.find(key).and_then(json_text);
    let request = json("request").unwrap_or_default();
    if value::member(&request, &["method"]) == Some("\"tools/call\"")
        && let Some(tool) = member_text(&request, &["params", "name"])
    {
        reading.tell_call(&Call {
            tool: &tool,
            arguments: member_text(&request, &["params", "arguments"]),
            result: json("response"),
            ..Call::default()
        });
    }
    Outcome::Noise
}

/// Methods with which client and server arrange things between them.
fn is_known(method: &str) -> bool {
    const KINDS: [&str; 9] = [
        "tools/",
        "resources/",
        "prompts/",
        "notifications/",
        "server/",
        "completion/",
        "logging/",
        "sampling/",
        "tasks/",
    ];
    const ALONE: [&str; 4] = ["initialize", "ping", "elicitation/create", "roots/list"];
    ALONE.contains(&method) || KINDS.iter().any(|kind| method.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    /// Logfire's spans of client and server have the call in the messages between them.
    #[test]
    fn messages_are_read() {
        let told = |method: &str, response: &str| {
            let request = json!({"method": method, "params": {"meta": null, "name": "search", "arguments": {"query": "x"}}});
            let attributes = json!({"request": request.to_string(), "response": response, "rpc.method": method,
                "logfire.msg_template": "MCP request: tools/call search"});
            Captured::new(
                crate::normalize::scopes::LOGFIRE_MCP,
                "MCP request: tools/call search",
                &attributes,
            )
            .told()
        };
        let answer = |failed: bool| {
            format!(
                r#"{{"meta":null,"content":[{{"type":"text","text":"[]"}}],"isError":{failed}}}"#
            )
        };
        assert_eq!(
            told("tools/call", &answer(false)),
            [r#"call search({"query":"x"}) = 2 bytes"#]
        );
        assert_eq!(
            told("tools/call", &answer(true)),
            [r#"call search({"query":"x"}) = 2 bytes failed: []"#]
        );
        assert!(told("tools/list", "{}").is_empty());
    }

    /// Laminar's spans have the request and the result under its own keys; what else is written under these is no request.
    #[test]
    fn plain_keys_are_read() {
        let told = |input: &str, failed: bool| {
            let output = json!({"meta": null, "content": [{"type": "text", "text": "[]"}], "isError": failed});
            let attributes = json!({"lmnr.span.type": "TOOL", "mcp.method.name": "tools/call", "gen_ai.tool.name": "search",
                "lmnr.span.input": input, "lmnr.span.output": output.to_string()});
            Captured::new("lmnr.tracer", "search.tool", &attributes).told()
        };
        let input = r#"{"tool_name": "search", "arguments": {"query": "x"}}"#;
        let expected = r#"call search({"query":"x"}) = 2 bytes"#;
        assert_eq!(told(input, false), [expected]);
        assert_eq!(told(input, true), [format!("{expected} failed: []")]);
        assert_eq!(told("7", false), ["call search(-) = 2 bytes"]);
    }

    /// Client and server tell the call, the transport between them does not; the session of the connection keys nothing.
    #[test]
    fn calls_are_told_by_both_ends() {
        let end = json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "run_query", "mcp.session.id": "s",
            "error.type": "tool_error"});
        let span = || Captured::new("fastmcp", "tools/call run_query", &end).failed("refused");
        assert_eq!(span().told(), ["call run_query(-) = - failed: refused"]);
        assert_eq!(span().report().unwrap().run.run_id, None);
        let unnamed = json!({"mcp.method.name": "tools/call"});
        assert_eq!(
            Captured::new("fastmcp", "tools/call t", &unnamed).told(),
            ["call t(-) = -"]
        );
        let shown = json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": {"a": 1},
            "gen_ai.tool.call.result": "{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}"});
        assert_eq!(
            Captured::new("fastmcp", "tools/call t", &shown).told(),
            [r#"call t({"a":1}) = 1 bytes"#]
        );
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
