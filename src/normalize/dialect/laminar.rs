//! Frameworks that tell of themselves through Laminar's tracer, each with wrappers of its own around a tool's values, and the
//! clients that it watches.
//!
//! *`OpenHands`.* A tool's span is named for the kind of action, `FileEditorAction`, where the model asks for `file_editor`. Its
//! arguments are the members of the action, its result is in an observation, with the process and the machine beside it.
//! The action of a server's tool does not say which it is: what the model asked for under the call's id does. The span within,
//! of the server's client, is the same call again and has no id.
//!
//! *browser-use.* Arguments are `params` beside the name of the action; the result is what was extracted or an error, among
//! flags. `done` is the agent's answer, and no tool.
//!
//! *openai-agents.* Hand-offs, and listings of a server's tools, are marked as tools.
//!
//! *Clients.* All spans come from one scope, which says beside whom it watches: calls of clients are read as everywhere
//! ([`given`](crate::normalize::given)).

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::scopes::Dialect;
use crate::normalize::texts::{json_text, member_text, only_text};
use crate::normalize::{value, wrappers};

/// The tracer of all spans that go through Laminar.
const SCOPE: &str = "lmnr.tracer";

/// `OpenHands`' action of a tool of some MCP server.
const OF_SERVER: &str = "MCPToolAction";

/// Whether the span is a call of a client that Laminar watches.
pub(super) fn is_client(reading: &Reading<'_, '_>) -> bool {
    let span = reading.span;
    let watched = span.attributes.find("lmnr.span.instrumentation_scope.name");
    let watched = watched.and_then(|name| name.as_str());
    span.scope_name == SCOPE && watched.is_some_and(Dialect::is_client)
}

/// Tells of a tool call of one of these frameworks; `false` where it is nobody's that is known here.
pub(super) fn tell_call(reading: &mut Reading<'_, '_>) -> bool {
    if reading.span.scope_name != SCOPE {
        return false;
    }
    if tell_openai_agents(reading) {
        return true;
    }
    let facts = reading.facts;
    let input = json_text(facts.value(Slot::PlainInput)).unwrap_or_default();
    if !wrappers::begins_with(&input, &["action"]) {
        return false;
    }
    let output = json_text(facts.value(Slot::PlainOutput));
    // Somebody else's tool may have parameters of these names.
    let is_named = member_text(&input, &["action"]).as_deref() == Some(reading.span.name);
    if let Some(parameters) = value::member(&input, &["params"]).filter(|_| is_named) {
        tell_browser_use(reading, parameters, output.as_deref());
        return true;
    }
    let Some(kind) = member_text(&input, &["action", "kind"]) else {
        return false;
    };
    let action = value::member(&input, &["action"]).unwrap_or_default();
    tell_openhands(reading, &kind, action, output.as_deref());
    true
}

/// Tells of a hand-off; `false` where the span may be of a tool.
fn tell_openai_agents(reading: &mut Reading<'_, '_>) -> bool {
    let attributes = reading.span.attributes;
    let named = |key| attributes.find(key).and_then(json_text);
    match reading.span.name {
        "agents.handoff" => {
            let from = named("openai.agents.handoff.from");
            if let Some(to) = named("openai.agents.handoff.to") {
                reading.tell_handoff(from.as_deref().map(value::name), &to);
            }
            true
        }
        "agents.mcp_tools" | "agents.mcp_list_tools" => true,
        _ => false,
    }
}

fn tell_browser_use(reading: &mut Reading<'_, '_>, parameters: &str, output: Option<&str>) {
    let tool = reading.span.name;
    if tool == "done" {
        return;
    }
    let said = |name| member_text(output?, &[name]).filter(|said| said != "null");
    let error = said("error");
    reading.tell_call(&Call {
        tool,
        arguments: Some(Cow::Borrowed(parameters)),
        failed: error.is_some(),
        result: error
            .or_else(|| said("extracted_content"))
            .or(output.map(Cow::Borrowed)),
        ..Call::default()
    });
}

fn tell_openhands(reading: &mut Reading<'_, '_>, kind: &str, action: &str, output: Option<&str>) {
    let attributes = &reading.span.attributes;
    let id = attributes.find("lmnr.association.properties.metadata.tool_call_id");
    let id = id.and_then(json_text);
    let of_server = kind == OF_SERVER;
    if of_server && id.is_none() {
        return;
    }
    let tool = if of_server {
        String::new()
    } else {
        snake_case(kind.strip_suffix("Action").unwrap_or(kind))
    };
    let data = value::member(action, &["data"]).filter(|_| of_server);
    let arguments = data.map_or_else(|| Cow::Owned(without_kind(action)), Cow::Borrowed);
    let mut call = Call {
        tool: &tool,
        id,
        arguments: Some(arguments),
        result: output.map(|output| {
            wrappers::within(Cow::Borrowed(output), |seen| only_text(seen, "content"))
        }),
        ..Call::default()
    };
    let said = |name| value::member(output?, &[name]);
    call.failed = said("is_error") == Some("true");
    // Below zero, the command has not ended.
    let exit_code = said("exit_code").and_then(|code| code.parse().ok());
    if let Some(exit_code) = exit_code.filter(|code| *code > 0) {
        call.note_exit_code(exit_code);
    }
    reading.tell_call(&call);
}

/// The members of an action without the kind of action.
fn without_kind(action: &str) -> String {
    let members = value::members(action).filter(|(name, _)| name != "kind");
    let members = members.map(|(name, json)| format!("{}:{json}", serde_json::Value::from(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// `FileEditor` as `file_editor`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::SCOPE;
    use crate::normalize::captured::Captured;

    fn tool(name: &str, input: &Value, output: &Value) -> Vec<String> {
        let attributes = json!({"lmnr.span.type": "TOOL", "lmnr.span.input": input.to_string(),
            "lmnr.span.output": output.to_string(), "lmnr.association.properties.metadata.tool_call_id": "c1"});
        Captured::new(SCOPE, name, &attributes).told()
    }

    /// `OpenHands`' tools have the names that the model asks for, the arguments of the action alone, and failures in a flag or in
    /// an exit code.
    #[test]
    fn openhands_is_unwrapped() {
        let output = |text: &str, failed: bool, more: &Value| {
            let mut output = json!({"content": [{"cache_prompt": false, "type": "text", "text": text}],
                "is_error": failed, "kind": "Observation"});
            let more = more.as_object().unwrap().clone();
            output.as_object_mut().unwrap().extend(more);
            output
        };
        let view =
            json!({"action": {"command": "view", "path": "a.rs", "kind": "FileEditorAction"}});
        assert_eq!(
            tool(
                "FileEditorAction",
                &view,
                &output("fn a", false, &json!({}))
            ),
            [r#"call with id file_editor({"command":"view","path":"a.rs"}) = 4 bytes"#]
        );
        assert_eq!(
            tool(
                "FileEditorAction",
                &view,
                &output("no file", true, &json!({}))
            ),
            [
                r#"call with id file_editor({"command":"view","path":"a.rs"}) = 7 bytes failed: no file"#
            ]
        );
        let make = json!({"action": {"command": "make", "kind": "TerminalAction"}});
        let told = |exit_code: i64| {
            let more = json!({"exit_code": exit_code, "metadata": {"pid": exit_code + 100}});
            tool("TerminalAction", &make, &output("made", false, &more)).remove(0)
        };
        let expected = r#"call with id terminal({"command":"make"}) = 4 bytes"#;
        assert_eq!(told(0), expected);
        assert_eq!(told(-1), expected);
        assert_eq!(told(2), format!("{expected} failed: made"));
    }

    /// A server's tool has no name here, and its client's span is the same call.
    #[test]
    fn tools_of_servers_are_told_once() {
        let input = json!({"action": {"data": {"query": "x"}, "kind": "MCPToolAction"}});
        let output = json!({"content": [{"type": "text", "text": "[]"}], "is_error": false});
        assert_eq!(
            tool("MCPToolAction", &input, &output),
            [r#"call with id ({"query":"x"}) = 2 bytes"#]
        );
        let inner = json!({"lmnr.span.type": "TOOL", "lmnr.span.input": input.to_string()});
        let inner = Captured::new(SCOPE, "MCPToolExecutor.call_tool", &inner);
        assert!(inner.told().is_empty());
    }

    /// browser-use's results are what was extracted, or the error; its answer is no tool.
    #[test]
    fn browser_use_is_unwrapped() {
        let input = json!({"action": "search", "params": {"query": "x"}});
        let output = |found: Option<&str>, error: Option<&str>| json!({"is_done": false, "error": error, "extracted_content": found});
        assert_eq!(
            tool("search", &input, &output(Some("[]"), None)),
            [r#"call search({"query":"x"}) = 2 bytes"#]
        );
        assert_eq!(
            tool("search", &input, &output(None, Some("refused"))),
            [r#"call search({"query":"x"}) = 7 bytes failed: refused"#]
        );
        assert_eq!(
            tool("browser", &input, &json!("[]")),
            [r#"call browser({"action":"search","params":{"query":"x"}}) = 2 bytes"#]
        );
        let done = json!({"action": "done", "params": {"text": "Done.", "success": true}});
        assert!(tool("done", &done, &output(Some("Done."), None)).is_empty());
    }

    /// openai-agents' hand-offs are no calls, nor is it one that a server's tools were listed.
    #[test]
    fn hand_offs_and_listings_are_no_calls() {
        let told = |name: &str, more: &Value| {
            let mut attributes = json!({"lmnr.span.type": "TOOL"});
            let more = more.as_object().unwrap().clone();
            attributes.as_object_mut().unwrap().extend(more);
            Captured::new(SCOPE, name, &attributes).told()
        };
        let given =
            json!({"openai.agents.handoff.from": "triage", "openai.agents.handoff.to": "billing"});
        assert_eq!(told("agents.handoff", &given), ["triage to billing"]);
        let refused = json!({"openai.agents.handoff.from": "triage"});
        assert!(told("agents.handoff", &refused).is_empty());
        let listed =
            json!({"openai.agents.mcp.server": "files", "lmnr.span.output": r#"["read_file"]"#});
        for name in ["agents.mcp_tools", "agents.mcp_list_tools"] {
            assert!(told(name, &listed).is_empty());
        }
        assert_eq!(
            told("search", &json!({"lmnr.span.output": "[]"})),
            ["call search(-) = 2 bytes"]
        );
    }

    /// Answers are a provider's messages or its choices, in which they lie: calls and text are read from either.
    #[test]
    fn choices_are_answers() {
        let told = |answer: &Value| {
            let attributes = json!({"lmnr.span.type": "LLM", "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 3, "gen_ai.output.messages": json!([answer]).to_string()});
            Captured::new(SCOPE, "ChatOpenAI", &attributes)
                .told()
                .remove(0)
        };
        let choice = |reason: &str, content: Option<&str>, calls: Option<Value>| {
            let message = json!({"content": content, "refusal": null, "role": "assistant", "annotations": null,
                "audio": null, "function_call": null, "tool_calls": calls});
            json!({"finish_reason": reason, "index": 0, "logprobs": null, "message": message})
        };
        let said = told(&choice("stop", Some("Done."), None));
        assert_eq!(said, "model m 3+0 Text(");
        let alone = json!({"content": "Done.", "role": "assistant", "tool_calls": null});
        assert_eq!(told(&alone), said);
        let call = json!([{"function": {"arguments": "{\"job_id\": \"build-42\"}", "name": "check_status"},
            "id": "c1", "type": "function"}]);
        let asked = told(&choice("tool_calls", None, Some(call)));
        assert_eq!(asked, "model m 3+0 ToolCalls(1)");
        assert_eq!(told(&choice("tool_calls", None, None)), asked);
        let nothing = told(&choice("stop", None, None));
        assert_eq!(nothing, "model m 3+0 Unknown");
    }

    /// A client that Laminar watches tells of the calls around it; a framework does not.
    #[test]
    fn clients_tell_of_the_calls_around_them() {
        let given = json!([{"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [{"id": "c1"}]}, {"role": "tool", "tool_call_id": "c1", "content": "[]"}]);
        let told = |watched: &str| {
            let attributes = json!({"lmnr.span.type": "LLM", "lmnr.span.instrumentation_scope.name": watched,
                "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.input.messages": given.to_string()});
            Captured::new(SCOPE, "chat", &attributes).told()
        };
        assert_eq!(
            told("openai"),
            ["model m 3+0 Unknown", "call with id (-) = 2 bytes"]
        );
        let framework = "opentelemetry.instrumentation.langchain";
        assert_eq!(told(framework), ["model m 3+0 Unknown"]);
    }
}
