//! Haystack's own tracer: spans of the program's tracer whose names begin with `haystack.`.
//!
//! *Version 3* has a span for each call of a model and of a tool within the steps of an agent. That of a tool has no id, and there
//! is none for a tool that does not exist: so what the model asks for and what it is given are told as well. *Version 2* has a
//! span for each component that ran: the tool invoker's holds all calls of one answer, each with its id, and the chat generator's
//! the model's reply. A `SuperComponent` has the reply of a model within it once more. Values are there where the program
//! switched content tracing on.
//!
//! *Errors.* A tool that raised leaves the span well: version 3 has a flag, version 2 one beside the result, and the result
//! says what happened.
//!
//! *Hand-offs* do not exist, and agents have no names. *Runs.* The trace; a root agent or pipeline is a request.

use std::borrow::Cow;

use crate::normalize::answer::Requested;
use crate::normalize::call::Call;
use crate::normalize::facts::{ASKED_MAX, Slot};
use crate::normalize::history::History;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::value::Object;
use crate::normalize::{names, reply, value};
use crate::otlp::ValueView;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    match reading.span.name {
        "haystack.agent.run" | "haystack.pipeline.run" | "haystack.async_pipeline.run"
            if reading.is_root() =>
        {
            reading.tell_turn();
        }
        "haystack.agent.step.llm" => step(reading),
        "haystack.agent.step.tool" => tool(reading),
        "haystack.component.run" => component(reading),
        _ => {}
    }
    Outcome::Noise
}

/// A model within the steps of an agent: its call, and what went on before it and comes after.
fn step(reading: &mut Reading<'_, '_>) {
    model(reading);
    let given = reading
        .span
        .attributes
        .find("haystack.agent.step.llm.input");
    let given = given.and_then(json_text).unwrap_or_default();
    let given = History::of(&given);
    let output = json_text(reading.facts.value(Slot::PlainOutput)).unwrap_or_default();
    let mut asked = asked_in(&output);
    given.name_asked(&mut asked);
    reading.tell_exchange(&asked, &given.tool_answers());
}

/// The calls that a reply asks for.
fn asked_in(output: &str) -> Vec<Requested<'_>> {
    let parts = value::member(output, &["replies", "0", "content"]).unwrap_or_default();
    let calls = value::items(parts).filter_map(|part| value::member(part, &["tool_call"]));
    let calls = calls.filter(|call| call.starts_with('{')).map(Object::of);
    calls
        .take(ASKED_MAX)
        .map(|call| Requested {
            id: (call.text("id"))
                .filter(|id| names::is_id(id))
                .unwrap_or_default(),
            tool: call.text("tool_name").unwrap_or_default(),
            arguments: call.text("arguments"),
        })
        .collect()
}

fn model(reading: &mut Reading<'_, '_>) {
    let output = json_text(reading.facts.value(Slot::PlainOutput));
    let reply = output.as_deref().map(reply::of);
    reading.tell_model_call_with(&reply.unwrap_or_default());
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let failed = reading.span.attributes.find("haystack.tool.error");
    let call = Call {
        arguments: json_text(facts.value(Slot::PlainInput)),
        result: json_text(facts.value(Slot::PlainOutput)),
        failed: matches!(failed, Some(ValueView::Bool(true))),
        ..Call::of(facts.text(Slot::ToolName).unwrap_or_default(), facts)
    };
    reading.tell_call(&call);
}

/// A component: its output says whether it called tools or a model.
fn component(reading: &mut Reading<'_, '_>) {
    let kind = reading.span.attributes.find("haystack.component.type");
    if matches!(kind, Some(ValueView::Str("SuperComponent"))) {
        return;
    }
    let Some(output) = json_text(reading.facts.value(Slot::PlainOutput)) else {
        return;
    };
    if let Some(messages) = value::member(&output, &["tool_messages"]) {
        for message in value::items(messages) {
            invoked(reading, message);
        }
    } else if value::member(&output, &["replies", "0", "meta"]).is_some() {
        model(reading);
    }
}

/// One call of the tool invoker: the result, and where it came from.
fn invoked(reading: &mut Reading<'_, '_>, message: &str) {
    let Some(answer) = value::member(message, &["content", "0", "tool_call_result"]) else {
        return;
    };
    let of_origin = |key| member_text(answer, &["origin", key]);
    let tool = of_origin("tool_name").unwrap_or_default();
    reading.tell_call(&Call {
        tool: &tool,
        id: of_origin("id"),
        arguments: value::member(answer, &["origin", "arguments"]).map(Cow::Borrowed),
        result: member_text(answer, &["result"]),
        failed: value::member(answer, &["error"]) == Some("true"),
        ..Call::default()
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    fn told(name: &str, attributes: &Value) -> Vec<String> {
        Captured::new("my-application", name, attributes).told()
    }

    fn replies() -> Value {
        json!({"replies": [{"role": "assistant", "content": [{"tool_call": {"tool_name": "t", "arguments": {}, "id": "c"}}],
            "meta": {"model": "m", "usage": {"prompt_tokens": 110, "completion_tokens": 20}}}]})
    }

    /// Given a span that tells of more calls than a byte counts, each has an identity of its own.
    #[test]
    fn many_calls_of_one_span_are_told_apart() {
        let message = json!({"content": [{"tool_call_result": {"result": "ok", "origin": {"tool_name": "t", "id": null}}}]});
        let output = json!({"tool_messages": vec![message; 600]}).to_string();
        let attributes = json!({"haystack.component.output": output});
        let span = Captured::new("my-application", "haystack.component.run", &attributes);
        let events = span.report().expect("it is told").events;
        let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        assert_eq!((events.len(), ids.len()), (600, 600));
    }

    /// Version 3: a span a call, and a flag for a tool that raised; what the model asks for and what it is given.
    #[test]
    fn steps_of_an_agent() {
        let output = replies().to_string();
        assert_eq!(
            told(
                "haystack.agent.step.llm",
                &json!({"haystack.agent.step.llm.output": output})
            ),
            ["model m 110+20 ToolCalls(1)", "asked t({})"]
        );
        let answer = json!({"role": "tool", "content": [{"tool_call_result": {"result": "Tool 'u' not found.", "error": true,
            "origin": {"tool_name": "u", "arguments": {}, "id": "b"}}}]});
        let input = json!({"messages": [{"role": "assistant", "content": [{"tool_call": {"tool_name": "u", "id": "b"}}]}, answer]});
        assert_eq!(
            told(
                "haystack.agent.step.llm",
                &json!({"haystack.agent.step.llm.input": input.to_string()})
            ),
            [
                "model ? 0+0 Unknown",
                "call with id (-) = 19 bytes failed: Tool 'u' not found."
            ]
        );
        let mut call = json!({"haystack.tool.name": "search", "haystack.agent.step.tool.input": "{\"query\": \"x\"}",
            "haystack.agent.step.tool.output": "[]"});
        assert_eq!(
            told("haystack.agent.step.tool", &call),
            [r#"call search({"query":"x"}) = 2 bytes"#]
        );
        call["haystack.tool.error"] = json!(true);
        call["haystack.agent.step.tool.output"] = json!("refused");
        assert_eq!(
            told("haystack.agent.step.tool", &call),
            [r#"call search({"query":"x"}) = 7 bytes failed: refused"#]
        );
        assert!(told("haystack.agent.step", &json!({"haystack.agent.step": 0})).is_empty());
    }

    /// Version 2: the invoker tells all calls of an answer, the generator the reply, other components nothing.
    #[test]
    fn components() {
        let answer = |id: &str, error: bool| {
            json!({"role": "tool", "content": [{"tool_call_result": {"result": "[]", "error": error,
                "origin": {"tool_name": "search", "arguments": {"query": "x"}, "id": id}}}]})
        };
        let run = |output: &Value| {
            told(
                "haystack.component.run",
                &json!({"haystack.component.output": output.to_string()}),
            )
        };
        assert_eq!(
            run(&json!({"tool_messages": [answer("a", false), answer("b", true)], "state": {}})),
            [
                r#"call with id search({"query":"x"}) = 2 bytes"#,
                r#"call with id search({"query":"x"}) = 2 bytes failed: []"#,
            ]
        );
        assert_eq!(run(&replies()), ["model m 110+20 ToolCalls(1)"]);
        let within = json!({"haystack.component.type": "SuperComponent", "haystack.component.output": replies().to_string()});
        assert!(told("haystack.component.run", &within).is_empty());
        assert!(run(&json!({"documents": []})).is_empty());
    }

    /// A root agent or pipeline is a request; within another it is none.
    #[test]
    fn requests() {
        let span = || Captured::new("my-application", "haystack.agent.run", &json!({}));
        assert_eq!(span().root().told(), ["UserMessage", "end"]);
        assert!(span().told().is_empty());
    }
}
