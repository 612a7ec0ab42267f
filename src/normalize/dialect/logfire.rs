//! Logfire's own spans of openai-agents: the SDK's span data under plain names, and a message with gaps that says what kind
//! of span it is. Logfire's other instrumentations speak the GenAI conventions and are read as such, but for one peculiarity of
//! its clients ([`begins_stream`]).
//!
//! *Calls.* A tool's span has `name`, `input` and `output` and no id. A model call's `input` and `output` are the messages of
//! the provider, so that what it asked for lends the calls their ids.
//!
//! *Hand-offs* are spans of their own, from one agent to another. *Failures* are an `error` beside the status.
//!
//! *Runs.* The trace; its root is a request.

use std::borrow::Cow;

use crate::engine::event::Recorded;
use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::texts::json_text;
use crate::normalize::value;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    let template = facts
        .text(Slot::LogfireTemplate)
        .unwrap_or(reading.span.name);
    let kind = template.split([':', '{']).next().unwrap_or_default();
    match kind.trim_end() {
        "Function" => tool(reading),
        "Chat completion with" | "Responses API" | "Responses API with" => {
            reading.tell_model_call_and_asked();
        }
        "Agent run" => agent(reading),
        "Handoff" => handoff(reading),
        "OpenAI Agents trace" if reading.is_root() => reading.tell_turn(),
        _ => {}
    }
    Outcome::Noise
}

/// Whether a span of a provider's client is that of a request whose answer comes in pieces: it ends before the first of them, and
/// a record in the form of a span, `streaming response from …`, says the same of the request when the last has come. (To be asked
/// of spans that tell of no answer.)
pub(super) fn begins_stream(reading: &Reading<'_, '_>) -> bool {
    let is_logfire = reading.span.scope_name.starts_with("logfire.");
    let request = is_logfire.then(|| json_text(reading.facts.value(Slot::Input)));
    let request = request.flatten().unwrap_or_default();
    // That it is a stream is not said since 5.4.
    value::member(&request, &["model"]).is_some()
        && !reading.span.name.starts_with("streaming response from")
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let call = Call {
        arguments: json_text(facts.value(Slot::PlainInput)),
        result: json_text(facts.value(Slot::PlainOutput)).filter(|result| result != "null"),
        ..Call::of(facts.text(Slot::LogfireName).unwrap_or_default(), facts)
    };
    reading.tell_call(&call);
}

fn agent(reading: &mut Reading<'_, '_>) {
    reading.agent = reading.facts.text(Slot::LogfireName).map(Cow::Borrowed);
    reading.tell_agent(Recorded::NotRecorded, Recorded::NotRecorded);
}

fn handoff(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    if let Some(to) = facts.text(Slot::HandoffTo) {
        reading.tell_handoff(facts.text(Slot::HandoffFrom).map(value::name), to);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    const AGENTS: &str = "logfire.openai_agents";

    /// A call of a model whose answer comes in pieces is one, with the answer; a request that failed is one, too.
    #[test]
    fn streams_are_one_call() {
        let request = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "request_data": r#"{"messages":[],"model":"m","stream":true}"#});
        let began = || Captured::new("logfire.openai", "Chat Completion with 'm'", &request);
        assert!(began().told().is_empty());
        let mut newer = request.clone();
        newer["request_data"] = json!(r#"{"model":"m"}"#);
        let newer = Captured::new("logfire.openai", "Chat Completion with 'm'", &newer);
        assert!(newer.told().is_empty());
        assert_eq!(
            began().failed("refused").told(),
            ["model m 0+0 Unknown failed: refused"]
        );
        let mut answer = request.clone();
        answer["response_data"] = json!(r#"{"message":{"role":"assistant","content":"Done."}}"#);
        let name = "streaming response from 'm' took 1.00s";
        assert_eq!(
            Captured::new("logfire.openai", name, &answer).told(),
            ["model m 0+0 Text("]
        );
    }

    /// A tool, what a model asked for, an agent, a hand-over and the request, each as Logfire writes it.
    #[test]
    fn spans_of_openai_agents() {
        let span = |template: &str, more: &serde_json::Value| {
            let mut attributes =
                json!({"logfire.msg_template": template, "gen_ai.system": "openai"});
            let members = more.as_object().unwrap().clone();
            attributes.as_object_mut().unwrap().extend(members);
            Captured::new(AGENTS, template, &attributes)
        };
        let tool = json!({"name": "search", "input": {"query": "x"}, "output": "[]"});
        assert_eq!(
            span("Function: {name}", &tool).told(),
            [r#"call search({"query":"x"}) = 2 bytes"#]
        );
        let failed = json!({"name": "search", "input": {"query": "x"}, "output": null});
        assert_eq!(
            span("Function: {name}", &failed).failed("no").told(),
            [r#"call search({"query":"x"}) = - failed: no"#]
        );
        let model = json!({"gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2,
            "output": "[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"search\",\"arguments\":\"{}\"}}]}]"});
        assert_eq!(
            span("Chat completion with {gen_ai.request.model!r}", &model).told(),
            ["model m 7+2 ToolCalls(1)", "asked search(-)"]
        );
        assert_eq!(
            span("Agent run: {name!r}", &json!({"name": "demo"})).told(),
            ["demo: agent demo(-) = -"]
        );
        let handoff = json!({"from_agent": "triage", "to_agent": "researcher"});
        assert_eq!(
            span("Handoff: {from_agent} → {to_agent}", &handoff).told(),
            ["triage to researcher"]
        );
        assert_eq!(
            span("OpenAI Agents trace: {name}", &json!({"name": "w"}))
                .root()
                .told(),
            ["UserMessage", "end"]
        );
        assert!(
            span("Turn {turn} for agent demo", &json!({"name": "turn"}))
                .told()
                .is_empty()
        );
    }
}
