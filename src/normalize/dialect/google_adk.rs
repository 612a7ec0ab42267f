//! google-adk: the GenAI conventions, with `gcp.vertex.agent.*` where these have nothing, and older names for its spans.
//!
//! *Wrappers.* A result that is no object is wrapped as `{"result": …}`. Hidden values are written as `{}` or `N/A`, and
//! what could not be had as `<not specified>` or `<not serializable>`, which the one for Java puts into an object: none of these
//! equals anything. `VeADK`, which is made of it, describes the tool beside the arguments, and has the call's id beside the result.
//!
//! *A tool call* is one span; for calls side by side there is one span more, `(merged tools)`, which repeats their answers
//! and is left out. A model call may be two spans, `call_llm` around `generate_content`: the engine makes one of them.
//!
//! *Hand-offs* are calls of `transfer_to_agent`, whose arguments name the receiver.
//!
//! *Runs.* The session's id stands on agents and model calls as the conversation and keys the run; tools follow their
//! trace. The invocation is one turn of it: a parentless `invoke_agent`, `invoke_workflow` or (formerly) `invocation`.

use std::borrow::Cow;

use crate::engine::event::Recorded;
use crate::normalize::call::{Call, HIDDEN};
use crate::normalize::facts::{Facts, Slot};
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::texts::json_text;
use crate::normalize::{value, wrappers};

use super::gen_ai;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    let name = reading.span.name;
    let operation = facts.text(Slot::Operation);
    gen_ai::place(reading, operation.unwrap_or_default());
    match operation {
        Some("execute_tool") => tool(reading),
        // The history, on its way to a model that is always connected.
        Some("send_data") => {}
        Some(operation) => return gen_ai::operate(reading, operation),
        // The names before the conventions.
        None if name == "call_llm" => reading.tell_model_call(),
        None if name.starts_with("execute_tool ") => tool(reading),
        None if name.starts_with("agent_run") => {
            let agent = name
                .split_once('[')
                .map(|(_, rest)| rest.trim_end_matches(']'));
            reading.agent = agent.map(Cow::Borrowed).or_else(|| reading.agent.take());
            reading.tell_agent(Recorded::NotRecorded, Recorded::NotRecorded);
        }
        None if name == "invocation" && reading.is_root() => reading.tell_turn(),
        None => {}
    }
    Outcome::Noise
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let named = reading.span.name.strip_prefix("execute_tool ");
    let tool = facts.text(Slot::ToolName).or(named).unwrap_or_default();
    if tool == gen_ai::MERGED_TOOLS {
        return;
    }
    let mut call = Call::of(tool, facts);
    call.id = call.id.filter(|id| !id.starts_with('<'));
    call.arguments = call
        .arguments
        .or_else(|| shown(facts, Slot::AdkArguments))
        .map(|arguments| wrappers::within(arguments, parameters));
    call.result = call
        .result
        .or_else(|| shown(facts, Slot::AdkResult))
        .map(|answer| wrappers::within(answer, wrappers::function_response))
        .map(|result| wrappers::within(result, |result| wrappers::only_member(result, "result")));
    reading.tell_call(&call);
}

/// The arguments that `VeADK` puts beside the tool's name and description.
fn parameters(input: &str) -> Option<Cow<'_, str>> {
    let is_described = wrappers::begins_with(input, &["name", "description"])
        && value::member(input, &["description"]).is_some();
    let parameters = value::member(input, &["parameters"]).filter(|_| is_described);
    parameters.map(Cow::Borrowed)
}

/// The value of a key of its own, or the marker for one that is hidden.
fn shown<'a>(facts: &Facts<'a>, slot: Slot) -> Option<Cow<'a, str>> {
    let text = json_text(facts.value(slot))?;
    let hidden = matches!(
        text.trim(),
        "{}" | "N/A"
            | "<not serializable>"
            | "<not specified>"
            | r#"{"result": "<not specified>"}"#
            | r#"{"result":"<not specified>"}"#
            | r#"{"error": "serialization failed"}"#
    );
    Some(if hidden { HIDDEN } else { text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn tool(more: &serde_json::Value) -> Vec<String> {
        let mut attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read",
            "gen_ai.tool.call.id": "c", "gcp.vertex.agent.llm_request": "{}"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        Captured::new("gcp.vertex.agent", "execute_tool read", &attributes).told()
    }

    /// Values as older versions show them, as they hide them, and as newer ones structure them (conventions §0.4, §7).
    #[test]
    fn tools() {
        let shown = json!({"gcp.vertex.agent.tool_call_args": "{\"path\": \"a\"}",
            "gcp.vertex.agent.tool_response": "{\"result\": \"b\"}"});
        assert_eq!(
            tool(&shown),
            [r#"call with id read({"path":"a"}) = 1 bytes"#]
        );
        let hidden = json!({"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "N/A"});
        assert_eq!(tool(&hidden), ["call with id read(redacted) = redacted"]);
        let structured = json!({"gen_ai.tool.call.arguments": {"path": "a"}, "gen_ai.tool.call.result": {"result": "b"},
            "gcp.vertex.agent.tool_call_args": "{}"});
        assert_eq!(
            tool(&structured),
            [r#"call with id read({"path":"a"}) = 1 bytes"#]
        );
        assert_eq!(tool(&json!({})), ["call with id read(-) = -"]);
        let whole = json!({"gcp.vertex.agent.tool_response": "{\"result\": \"b\", \"more\": 1}"});
        assert_eq!(tool(&whole), ["call with id read(-) = 23 bytes"]);
        assert!(tool(&json!({"gen_ai.tool.name": "(merged tools)"})).is_empty());
    }

    /// What the one for Java could not write down is hidden, neither a failure nor a result; its calls have their ids.
    #[test]
    fn values_that_could_not_be_had() {
        let told = |arguments: &str, response: &str| {
            let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read",
                "gen_ai.tool_call.id": "adk-1", "gcp.vertex.agent.tool_call_args": arguments,
                "gcp.vertex.agent.tool_response": response});
            Captured::new("gcp.vertex.agent", "execute_tool read", &attributes).told()
        };
        let broken = r#"{"error": "serialization failed"}"#;
        let unknown = r#"{"result":"<not specified>"}"#;
        assert_eq!(
            told(broken, broken),
            ["call with id read(redacted) = redacted"]
        );
        assert_eq!(
            told(r#"{"path":"a"}"#, unknown),
            [r#"call with id read({"path":"a"}) = redacted"#]
        );
        let refused = told(r#"{"path":"a"}"#, r#"{"error":"refused"}"#);
        assert!(refused[0].ends_with("failed: refused"), "{refused:?}");
    }

    /// `VeADK`, which is made of it, describes the tool beside the arguments, and gives the answer with the call's id.
    #[test]
    fn veadk_is_unwrapped() {
        let told = |id: &str| {
            tool(
                &json!({"gen_ai.tool.input": {"name": "read", "description": "Reads.", "parameters": {"path": "a"}},
                "gen_ai.tool.output": {"id": id, "name": "read", "response": {"result": "b"}}}),
            )
        };
        let expected = [r#"call with id read({"path":"a"}) = 1 bytes"#];
        assert_eq!(told("adk-1"), expected);
        assert_eq!(told("adk-2"), expected);
    }

    /// The hand-off tool names its receiver.
    #[test]
    fn transfers_are_hand_offs() {
        let transfer = json!({"gen_ai.tool.name": "transfer_to_agent",
            "gcp.vertex.agent.tool_call_args": "{\"agent_name\": \"researcher\"}"});
        assert_eq!(
            tool(&transfer),
            [
                r#"call with id transfer_to_agent({"agent_name":"researcher"}) = -"#,
                "? to researcher"
            ]
        );
    }

    /// Spans from before the conventions: a model call whose finish reason lies, an agent, a request.
    #[test]
    fn older_names() {
        let span = |name: &str, attributes: &serde_json::Value| {
            Captured::new("gcp.vertex.agent", name, attributes)
        };
        let model = json!({"gen_ai.request.model": "gemini-2.5-flash", "gen_ai.usage.input_tokens": 9,
            "gen_ai.response.finish_reasons": ["stop"], "gcp.vertex.agent.session_id": "s",
            "gcp.vertex.agent.llm_response": "{\"content\":{\"parts\":[{\"function_call\":{\"name\":\"read\"}}]}}"});
        assert_eq!(
            span("call_llm", &model).told(),
            ["model gemini-2.5-flash 9+0 ToolCalls(1)"]
        );
        assert_eq!(
            span("agent_run [demo]", &json!({})).told(),
            ["demo: agent demo(-) = -"]
        );
        assert_eq!(
            span("invocation", &json!({})).root().told(),
            ["UserMessage", "end"]
        );
    }
}
