//! LangSmith's exporter: `langsmith.span.kind` beside keys of the GenAI conventions.
//!
//! The kind is the truth; the operation beside it calls a prompt template `chat`. Inputs and outputs of everything are
//! `gen_ai.prompt` and `gen_ai.completion`, as JSON text.
//!
//! *Wrappers.* A tool's arguments are the member `input`, in which Python's own writing of a dictionary stands as a text;
//! its result is a LangChain message with the call's id in it. Failures are an exception whose message ends in a traceback.
//! What is hidden (`LANGSMITH_HIDE_INPUTS`) is an object of nothing, where what is shown has at least that member.
//!
//! *Hand-offs* are tools `transfer_to_B`; the exception with which LangGraph carries them out is no failure.
//!
//! *Runs.* A parentless chain is one request. The thread and the session stand in the metadata; `langsmith.trace.session_name`
//! is the name of a project and keys nothing.

use crate::engine::event::Recorded;
use crate::normalize::call::{Call, HIDDEN};
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::scopes::LANGSMITH;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    let session = facts.id(Slot::Session);
    let thread = facts.id(Slot::Thread).or_else(|| session.clone());
    let kind = facts
        .word(Slot::LangSmithKind)
        .or_else(|| facts.word(Slot::Operation));
    let kind = kind.as_deref();
    match kind {
        Some("llm" | "chat" | "tool" | "execute_tool") => reading.run_of_call(thread.as_deref()),
        _ => reading.run(thread.as_deref()),
    }
    reading.session(session.as_deref());
    match kind {
        Some("llm" | "chat") => reading.tell_model_call(),
        Some("tool" | "execute_tool") => tool(reading),
        Some("chain" | "agent" | "invoke_agent") => chain(reading),
        Some("retriever" | "embedding" | "embeddings" | "prompt" | "parser") | None => {}
        Some(_) => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

fn chain(reading: &mut Reading<'_, '_>) {
    // LangGraph runs an agent as a chain of the agent's name.
    if reading.agent.as_deref() == Some(reading.span.name) {
        reading.tell_agent(Recorded::NotRecorded, Recorded::NotRecorded);
    }
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let tool = facts.text(Slot::ToolName).unwrap_or(reading.span.name);
    let mut call = Call::observed(tool, facts, Some(("input", "output")));
    if hides(reading, Slot::Input) {
        call.arguments = Some(HIDDEN);
    }
    if hides(reading, Slot::Output) {
        call.result = Some(HIDDEN);
    }
    reading.tell_call(&call);
}

/// Whether the exporter was told to leave a value out. What somebody writes by hand means what it says.
fn hides(reading: &Reading<'_, '_>, slot: Slot) -> bool {
    reading.span.scope_name == LANGSMITH && reading.facts.text(slot) == Some("{}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn span(kind: &str, more: &serde_json::Value) -> Captured {
        let mut attributes = json!({"langsmith.span.kind": kind, "langsmith.metadata.thread_id": "t",
            "langsmith.metadata.session_id": "s", "langsmith.trace.session_name": "default",
            "langsmith.metadata.lc_agent_name": "demo"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        Captured::new("langsmith", "search", &attributes)
    }

    /// Two identical calls differ in the id within the result; unwrapped they are the same (conventions §5).
    #[test]
    fn tools_are_unwrapped() {
        let told = |id: &str| {
            let result = json!({"output": {"content": "[]", "type": "tool", "tool_call_id": id}});
            span(
                "tool",
                &json!({"gen_ai.operation.name": "execute_tool",
                "gen_ai.prompt": "{\"input\": \"{'query': 'x'}\"}", "gen_ai.completion": result.to_string()}),
            )
        };
        let expected = [r#"demo: call with id search({"query":"x"}) = 2 bytes"#];
        assert_eq!(told("call_1").told(), expected);
        assert_eq!(told("call_2").told(), expected);
        let run = told("call_1").report().unwrap().run;
        assert_eq!(
            (run.run_id.as_deref(), run.session_id.as_deref()),
            (Some("t"), Some("s"))
        );
    }

    /// Values that the exporter was told to hide are hidden, not empty; a tool without arguments has an empty input within.
    #[test]
    fn hidden_values_are_no_empty_ones() {
        let hidden = json!({"gen_ai.prompt": "{}", "gen_ai.completion": "{}"});
        assert_eq!(
            span("tool", &hidden).told(),
            ["demo: call search(redacted) = redacted"]
        );
        let shown = json!({"gen_ai.prompt": "{\"input\": \"{}\"}", "gen_ai.completion": "{\"output\": \"\"}"});
        assert_eq!(
            span("tool", &shown).told(),
            ["demo: call search({}) = 0 bytes"]
        );
        let by_hand = json!({"langsmith.span.kind": "TOOL", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"});
        let by_hand = Captured::new("mine", "search", &by_hand);
        assert_eq!(by_hand.told(), ["call search({}) = 2 bytes"]);
    }

    /// The exception holds a traceback; the one with which LangGraph hands over is no failure.
    #[test]
    fn failures_are_told() {
        let input = json!({"gen_ai.prompt": "{\"input\": {\"q\": 1}}"});
        let failed = span("tool", &input).failed("").raised(
            "Exception",
            "ValueError('no')Traceback (most recent call last): …",
        );
        assert_eq!(
            failed.told(),
            [r#"demo: call search({"q":1}) = - failed: Exception: ValueError('no')"#]
        );
        let flow = span("tool", &input)
            .failed("")
            .raised("Exception", "ParentCommand(Command(graph='x'))");
        assert_eq!(flow.told(), [r#"demo: call search({"q":1}) = -"#]);
    }

    /// Somebody's own tracer is known by LangSmith's keys, and its kind stands before the operation.
    #[test]
    fn the_kind_makes_the_dialect() {
        let prompt = json!({"langsmith.span.kind": "prompt", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        assert!(Captured::new("mine", "p", &prompt).told().is_empty());
    }

    /// A prompt template is no model call, a root chain is a request, and the answer stands within the generations.
    #[test]
    fn other_kinds() {
        let prompt = json!({"gen_ai.operation.name": "chat"});
        assert!(span("prompt", &prompt).told().is_empty());
        assert_eq!(
            span("chain", &json!({"gen_ai.operation.name": "chain"}))
                .root()
                .told(),
            ["demo: UserMessage", "demo: end"]
        );
        let completion = json!({"generations": [[{"text": "", "message": {"kwargs": {"content": "",
            "additional_kwargs": {"tool_calls": []}, "tool_calls": [{"name": "a"}, {"name": "b"}]}}}]]});
        let model = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2,
            "gen_ai.completion": completion.to_string()});
        assert_eq!(
            span("llm", &model).told(),
            ["demo: model m 7+2 ToolCalls(2)"]
        );
        let text = json!({"gen_ai.request.model": "m", "gen_ai.completion": "{\"generations\": [[{\"text\": \"Done.\"}]]}"});
        assert_eq!(span("llm", &text).told(), ["demo: model m 0+0 Text("]);
    }
}
