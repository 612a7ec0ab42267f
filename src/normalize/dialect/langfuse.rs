//! Langfuse's SDK: `langfuse.observation.type`, with keys of its own for everything else.
//!
//! *Wrappers.* Its LangChain handler records a result as the message around it, with the call's id, and arguments as
//! Python prints them.
//!
//! *Errors* are a level of `ERROR` and a status message.
//!
//! *Haystack*, where it traces to Langfuse, calls the span of a tool `tool - NAME`: the name by which the model asks for it and
//! whether it failed stand in the metadata.
//!
//! *Hand-offs* have no type; they show as tools or as the order of agents.
//!
//! *Runs.* A parentless observation is one request, whatever its type. The session stands on the trace alone, so it is
//! shown and never keys; LangGraph's thread, where it is in the metadata, does.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::value;

use super::gen_ai;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    let kind = facts.word(Slot::LangfuseKind);
    let kind = kind.as_deref();
    if kind.is_none() || (facts.has(Slot::Operation) && kind == Some("span")) {
        return gen_ai::span(reading);
    }
    // What stands in the metadata is JSON.
    let thread = facts.id(Slot::Thread);
    let thread = thread.as_deref().map(value::unquote);
    let kind = kind.unwrap_or_default();
    match kind {
        "generation" | "llm" | "tool" => reading.run_of_call(thread.as_deref()),
        _ => reading.run(thread.as_deref()),
    }
    reading.session(facts.id(Slot::Session).as_deref());
    match kind {
        "generation" | "llm" => reading.tell_model_call_and_asked(),
        "tool" => tool(reading),
        "agent" => agent(reading),
        "span" | "chain" if reading.is_root() => reading.tell_turn(),
        "span" | "chain" | "event" | "retriever" | "evaluator" | "guardrail" | "embedding" => {}
        _ => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

fn agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    if reading.agent.is_none() {
        reading.agent = Some(Cow::Borrowed(reading.span.name));
    }
    reading.tell_agent(
        value::input(facts.value(Slot::Input)),
        value::output(facts.value(Slot::Output)),
    );
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let attributes = &reading.span.attributes;
    // What stands in the metadata is JSON.
    let of_haystack = |key| Some(value::unquote(attributes.find(key)?.as_str()?));
    let named = of_haystack("langfuse.observation.metadata.haystack.tool.name");
    let failed = of_haystack("langfuse.observation.metadata.haystack.tool.error");
    let tool = named.as_deref().or_else(|| facts.text(Slot::ToolName));
    let mut call = Call::observed(tool.unwrap_or(reading.span.name), facts, None);
    call.failed |= failed.as_deref() == Some("true");
    reading.tell_call(&call);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn span(kind: &str, more: &serde_json::Value) -> Captured {
        let mut attributes = json!({"langfuse.observation.type": kind, "session.id": "s"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        Captured::new("langfuse-sdk", "read", &attributes)
    }

    /// A tool's arguments and result, as the SDK and as its LangChain handler write them (conventions §5).
    #[test]
    fn tools() {
        let plain = json!({"langfuse.observation.input": "{\"path\": \"a\"}", "langfuse.observation.output": "b"});
        assert_eq!(
            span("tool", &plain).told(),
            [r#"call read({"path":"a"}) = 1 bytes"#]
        );
        let message = json!({"langfuse.observation.input": "{'path': 'a'}",
            "langfuse.observation.output": "{\"content\": \"b\", \"type\": \"tool\", \"tool_call_id\": \"c\"}"});
        assert_eq!(
            span("tool", &message).told(),
            [r#"call with id read({"path":"a"}) = 1 bytes"#]
        );
        let failed = json!({"langfuse.observation.input": "{\"path\": \"a\"}", "langfuse.observation.level": "ERROR",
            "langfuse.observation.status_message": "no such file"});
        assert_eq!(
            span("tool", &failed).told(),
            [r#"call read({"path":"a"}) = - failed: no such file"#]
        );
    }

    /// Given a tool's span by Haystack: the tool is called as in the metadata, which says whether it failed.
    #[test]
    fn tools_of_haystack() {
        let mut tool = json!({"langfuse.observation.metadata.haystack.tool.name": "\"search\"",
            "langfuse.observation.input": "{\"path\": \"a\"}", "langfuse.observation.output": "refused"});
        let call = r#"call search({"path":"a"}) = 7 bytes"#;
        assert_eq!(span("tool", &tool).told(), [call]);
        tool["langfuse.observation.metadata.haystack.tool.error"] = json!("true");
        assert_eq!(
            span("tool", &tool).told(),
            [format!("{call} failed: refused")]
        );
    }

    /// Tokens and costs are objects of their own; a generation that asks for tools says so in its output.
    #[test]
    fn generations() {
        let output = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]});
        let generation = span(
            "generation",
            &json!({"langfuse.observation.model.name": "m", "langfuse.observation.output": output.to_string(),
            "langfuse.observation.usage_details": "{\"input\": 120, \"output\": 25, \"input_cached_tokens\": 20, \"total\": 145}",
            "langfuse.observation.cost_details": "{\"input\": 0.001, \"output\": 0.002, \"total\": 0.003}"}),
        );
        let event = generation.report().unwrap().events.remove(0);
        let crate::engine::event::Body::ModelCall(call) = event.body else {
            panic!()
        };
        assert_eq!(
            (call.input_tokens, call.cached_tokens, call.output_tokens),
            (120, 20, 25)
        );
        assert_eq!(
            (call.cost_microusd, call.cost_is_estimate),
            (Some(3_000), false)
        );
        assert_eq!(call.answer, crate::engine::event::Answer::ToolCalls(1));
    }

    /// Agents are named by their span; whatever has no parent is a request; a new type is not guessed.
    #[test]
    fn other_types() {
        assert_eq!(
            span("agent", &json!({})).told(),
            ["read: agent read(-) = -"]
        );
        let named = json!({"langfuse.observation.metadata.lc_agent_name": "\"worker\""});
        assert_eq!(
            span("agent", &named).told(),
            ["worker: agent worker(-) = -"]
        );
        assert_eq!(
            span("span", &json!({})).root().told(),
            ["UserMessage", "end"]
        );
        assert!(span("retriever", &json!({})).told().is_empty());
        assert!(span("novelty", &json!({})).told().is_empty());
        let run = span("tool", &json!({"langfuse.observation.input": "x"}))
            .report()
            .unwrap()
            .run;
        assert_eq!((run.run_id, run.session_id.as_deref()), (None, Some("s")));
    }

    /// A thread in the metadata is JSON text; arguments of a decorated function lose what Python puts around them.
    #[test]
    fn values_are_unwrapped() {
        let tool = json!({"langfuse.observation.metadata.thread_id": "\"thread\"",
            "langfuse.observation.input": "{\"args\": [], \"kwargs\": {\"path\": \"a\"}}", "langfuse.observation.output": "b"});
        assert_eq!(
            span("tool", &tool).told(),
            [r#"call read({"path":"a"}) = 1 bytes"#]
        );
        let run = span("tool", &tool).report().unwrap().run;
        assert_eq!(run.run_id.as_deref(), Some("thread"));
    }
}
