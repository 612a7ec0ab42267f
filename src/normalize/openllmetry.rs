//! OpenLLMetry (traceloop): the GenAI conventions with `traceloop.*` beside them.
//!
//! *Wrappers.* For LangChain the arguments stand in the member `inputs` of an object that also holds the step's number,
//! the checkpoint and the call's id, and the result in `output.kwargs.content`: undone here, or no call would equal
//! another.
//!
//! *Hand-offs.* LangGraph's show as tools `transfer_to_B`, told as hand-offs with `lc_agent_name` as the giver; its
//! `goto B` spans say the same twice more, naming graph nodes and no agents, and are left out. openai-agents' `handoff`
//! spans do not know the receiver (`A → unknown`): only one that is named is told, else the agent spans show the change.
//! Spans through which a hand-over passes end with an error that is control flow, no failure.
//!
//! *Runs.* A parentless workflow or agent is one request; `create_agent` has a trace of its own and is none. The thread
//! stands on nearly every span; LangGraph's agent spans lack it and carry it as the conversation.

use std::borrow::Cow;

use super::facts::Slot;
use super::reading::{Call, Reading, json_text, member_text};
use super::{Outcome, answer, gen_ai, value};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    place(reading);
    let facts = reading.facts;
    match (facts.text(Slot::Operation), facts.text(Slot::TraceloopKind)) {
        (Some("execute_tool"), _) | (None, Some("tool")) => tool(reading),
        (_, Some("workflow")) => workflow(reading),
        (None, Some("agent")) => return gen_ai::operate(reading, "invoke_agent"),
        (Some("handoff"), _) => handoff(reading),
        (Some("goto" | "execute_task"), _) | (None, Some("task")) => {}
        (Some(operation), _) => return gen_ai::operate(reading, operation),
        (None, None) if facts.has(Slot::LlmRequest) => reading.tell_model_call(answer::of(facts)),
        // Web and database clients are instrumented under the same scope names.
        (None, None) => return Outcome::NoDialect,
        (None, Some(_)) => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

fn place(reading: &mut Reading<'_, '_>) {
    let session = reading.facts.text(Slot::Session);
    let run = [Slot::Thread, Slot::Conversation]
        .into_iter()
        .find_map(|slot| reading.facts.text(slot));
    reading.run(run.or(session));
    reading.session(session);
}

/// The framework's outermost span. LangGraph wraps the agent span of the same name around it.
fn workflow(reading: &mut Reading<'_, '_>) {
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn handoff(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let from = facts.text(Slot::HandoffFrom).map(value::name);
    if let Some(to) = facts.text(Slot::HandoffTo) {
        reading.tell_handoff(from, to);
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let name = || reading.span.name.trim_end_matches(".tool");
    let tool = facts
        .text(Slot::ToolName)
        .or_else(|| facts.text(Slot::EntityName))
        .unwrap_or_else(name);
    let arguments =
        json_text(facts.value(Slot::Arguments)).or_else(|| json_text(facts.value(Slot::Input)));
    let result =
        json_text(facts.value(Slot::Result)).or_else(|| json_text(facts.value(Slot::Output)));
    let call_id = facts.text(Slot::CallId).map(Cow::Borrowed);
    let plain = Call {
        tool,
        call_id,
        arguments,
        result,
        ..Call::default()
    };
    reading.tell_call(&unwrapped(plain));
}

/// Undoes what the LangChain instrumentation wraps around arguments and result.
fn unwrapped(plain: Call<'_>) -> Call<'_> {
    let mut call = plain;
    if let Some(Cow::Borrowed(wrapper)) = call.arguments {
        if value::member(wrapper, &["input_str"]).is_some() {
            call.call_id = call
                .call_id
                .or_else(|| member_text(wrapper, &["kwargs", "tool_call_id"]));
            call.arguments =
                member_text(wrapper, &["inputs"]).or_else(|| member_text(wrapper, &["input_str"]));
        }
    }
    if let Some(Cow::Borrowed(wrapper)) = call.result {
        // A tool's own result may have a member `output`; the wrapper has `kwargs` beside it.
        let output = value::member(wrapper, &["output"])
            .filter(|_| value::member(wrapper, &["kwargs"]).is_some());
        if let Some(output) = output {
            let message = value::member(output, &["update", "messages", "0"]).unwrap_or(output);
            call.call_id = call
                .call_id
                .or_else(|| member_text(message, &["kwargs", "tool_call_id"]));
            call.result = member_text(message, &["kwargs", "content"])
                .or_else(|| Some(value::unquote(output)));
        }
    }
    call
}
