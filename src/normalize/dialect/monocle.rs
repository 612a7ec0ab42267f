//! Monocle's spans of agents: `span.type` says what a span is, entities are numbered, and values stand in span events.
//!
//! *Who.* `entity.1` is what the span is about: the tool, the agent, the provider. `entity.2` is the agent that calls the tool,
//! or the model.
//!
//! *Values.* The events `data.input` and `data.output` have what went in and what came out, arguments as Python prints them;
//! the event `metadata` has a model's tokens and how its answer ended. Calls have no ids.
//!
//! *Model calls.* A framework's call of a model has its client's below it (`inference.modelapi`), which repeats it and says
//! less.
//!
//! *Hand-offs* are a span of their own in older versions, and else show by the order of agents.
//!
//! *Runs.* The trace; Monocle puts a span `workflow` around whatever a program does, and that is the request.

use std::borrow::Cow;

use crate::engine::event::Answer;
use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::records;
use crate::normalize::reply::Reply;
use crate::normalize::report::Outcome;
use crate::normalize::texts::{event_text, event_value, json_text};
use crate::normalize::{answer, value, wrappers};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let session = attribute(reading, "scope.agentic.session");
    reading.session(session.as_deref());
    match reading.facts.text(Slot::OwnKind) {
        Some("agentic.tool.invocation" | "agentic.mcp.invocation") => tool(reading),
        Some("inference" | "inference.framework") => model(reading),
        Some("agentic.invocation") => agent(reading),
        Some("agentic.delegation") => handoff(reading),
        _ if reading.is_root() => reading.tell_turn(),
        _ => {}
    }
    Outcome::Noise
}

fn attribute<'a>(reading: &Reading<'_, 'a>, key: &str) -> Option<Cow<'a, str>> {
    json_text(reading.span.attributes.find(key)?)
}

fn said<'a>(reading: &Reading<'_, 'a>) -> Option<Cow<'a, str>> {
    event_text(reading.span, "data.output", "response")
}

fn given<'a>(reading: &Reading<'_, 'a>) -> Option<Cow<'a, str>> {
    event_text(reading.span, "data.input", "input")
}

fn tool(reading: &mut Reading<'_, '_>) {
    let tool = attribute(reading, "entity.1.name");
    reading.agent = attribute(reading, "entity.2.name");
    let tool = tool.as_deref().unwrap_or(reading.span.name);
    let arguments = given(reading).map(|printed| {
        let json = wrappers::python_dictionary(&printed);
        json.map_or(printed, Cow::Owned)
    });
    let mut call = Call {
        arguments,
        result: said(reading),
        ..Call::of(tool, reading.facts)
    };
    call.unwrap_message();
    reading.tell_call(&call);
}

fn model(reading: &mut Reading<'_, '_>) {
    let metadata = |key| event_text(reading.span, "metadata", key);
    let count = |key| records::count(event_value(reading.span, "metadata", key)?);
    let answered = match metadata("finish_type").as_deref() {
        Some("tool_call") => Answer::ToolCalls(asked(reading)),
        _ => said(reading).map_or(Answer::Unknown, |said| answer::text_alone(spoken(&said))),
    };
    let reply = Reply {
        model: attribute(reading, "entity.2.name").map(Cow::into_owned),
        input_tokens: count("prompt_tokens").unwrap_or(0),
        output_tokens: count("completion_tokens").unwrap_or(0),
        answer: answered,
    };
    reading.tell_model_call_with(&reply);
}

/// How many calls an answer asks for: some frameworks' answers show the first alone.
fn asked(reading: &Reading<'_, '_>) -> u32 {
    let said = said(reading).unwrap_or_default();
    said.matches("\"tool_id\"").count().max(1) as u32
}

/// The words of an answer without who said them: `{"ai": "…"}`.
fn spoken(said: &str) -> &str {
    let mut members = value::members(said).map(|(_, words)| words);
    members.next().unwrap_or(said)
}

fn agent(reading: &mut Reading<'_, '_>) {
    reading.agent = attribute(reading, "entity.1.name");
    let (given, said) = (given(reading), said(reading));
    let how = reading.policy.tool("", None);
    let input = given.map(|given| value::input_json(&how, &given));
    let output = said.map(|said| value::output_json(&how, &said));
    reading.tell_agent(input.unwrap_or_default(), output.unwrap_or_default());
}

fn handoff(reading: &mut Reading<'_, '_>) {
    let from = attribute(reading, "entity.1.from_agent");
    if let Some(to) = attribute(reading, "entity.1.to_agent") {
        reading.tell_handoff(from.as_deref().map(value::name), &to);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;
    use crate::normalize::scopes::MONOCLE;

    fn span(kind: &str, more: &Value) -> Captured {
        let mut attributes =
            json!({"span.type": kind, "entity.1.name": "search", "entity.2.name": "support"});
        let more = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(more);
        Captured::new(MONOCLE, "search", &attributes)
    }

    /// Arguments as Python prints them, of any kind of tool, and a call that raised.
    #[test]
    fn tools() {
        for kind in ["agentic.tool.invocation", "agentic.mcp.invocation"] {
            let called = span(kind, &json!({}))
                .said("data.input", &json!({"input": "{'query': 'x'}"}))
                .said("data.output", &json!({"response": "[]"}));
            assert_eq!(
                called.told(),
                [r#"support: call search({"query":"x"}) = 2 bytes"#]
            );
        }
        let failed = span("agentic.tool.invocation", &json!({})).failed("refused");
        assert_eq!(
            failed.told(),
            ["support: call search(-) = - failed: refused"]
        );
    }

    /// Tokens and the end of the answer stand in an event; the client's span below says it again.
    #[test]
    fn model_calls() {
        let model = json!({"entity.1.name": "openai", "entity.2.name": "m"});
        let metadata =
            json!({"prompt_tokens": 110, "completion_tokens": 20, "finish_type": "tool_call"});
        let asked = r#"{"assistant": [{"tool_id": "a", "tool_name": "x"}, {"tool_id": "b", "tool_name": "y"}]}"#;
        for kind in ["inference", "inference.framework"] {
            let span = span(kind, &model)
                .said("data.output", &json!({"response": asked}))
                .said("metadata", &metadata);
            assert_eq!(span.told(), ["model m 110+20 ToolCalls(2)"]);
        }
        let words = span("inference", &model).said(
            "data.output",
            &json!({"response": r#"{"ai": "Done, all of it."}"#}),
        );
        assert!(words.told()[0].starts_with("model m 0+0 Text("));
        assert!(span("inference.modelapi", &model).told().is_empty());
    }

    /// Agents, delegation, and the request around everything.
    #[test]
    fn agents_and_requests() {
        let agent = span("agentic.invocation", &json!({"entity.1.name": "support"}))
            .said("data.input", &json!({"input": "Go."}));
        assert_eq!(agent.told(), ["support: agent support(Go.) = -"]);
        let to = json!({"entity.1.from_agent": "support", "entity.1.to_agent": "billing"});
        assert_eq!(
            span("agentic.delegation", &to).told(),
            ["support to billing"]
        );
        assert_eq!(
            span("workflow", &json!({})).root().told(),
            ["UserMessage", "end"]
        );
        assert!(span("agentic.turn", &json!({})).told().is_empty());
        let session = span("workflow", &json!({"scope.agentic.session": "s"})).root();
        assert_eq!(
            session.report().unwrap().run.session_id.as_deref(),
            Some("s")
        );
    }
}
