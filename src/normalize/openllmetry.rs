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
use super::{Outcome, gen_ai, value};

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
        (None, None) if facts.has(Slot::LlmRequest) => reading.tell_model_call(),
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
    let tool = facts
        .text(Slot::ToolName)
        .or_else(|| facts.text(Slot::EntityName));
    let tool = tool.unwrap_or_else(|| reading.span.name.trim_end_matches(".tool"));
    let mut call = Call::of(tool, facts);
    // Older versions had no keys of their own for them.
    call.arguments = call
        .arguments
        .or_else(|| json_text(facts.value(Slot::Input)));
    call.result = call.result.or_else(|| json_text(facts.value(Slot::Output)));
    unwrap_arguments(&mut call);
    unwrap_result(&mut call);
    reading.tell_call(&call);
}

/// Undoes what the LangChain instrumentation wraps around arguments, and finds the call's id there.
fn unwrap_arguments(call: &mut Call<'_>) {
    let Some(Cow::Borrowed(wrapper)) = call.arguments else {
        return;
    };
    let Some(as_text) = member_text(wrapper, &["input_str"]) else {
        return;
    };
    call.arguments = Some(member_text(wrapper, &["inputs"]).unwrap_or(as_text));
    if call.id.is_none() {
        call.id = member_text(wrapper, &["kwargs", "tool_call_id"]);
    }
}

/// Undoes what the LangChain instrumentation wraps around a result: a message, or a command with a message in it. A
/// tool's own result may have a member `output`, too; the wrapper has `kwargs` beside it.
fn unwrap_result(call: &mut Call<'_>) {
    let Some(Cow::Borrowed(wrapper)) = call.result else {
        return;
    };
    let (Some(output), Some(_)) = (
        value::member(wrapper, &["output"]),
        value::member(wrapper, &["kwargs"]),
    ) else {
        return;
    };
    let message = value::member(output, &["update", "messages", "0"]).unwrap_or(output);
    let content = member_text(message, &["kwargs", "content"]);
    call.result = Some(content.unwrap_or_else(|| value::unquote(output)));
    if call.id.is_none() {
        call.id = member_text(message, &["kwargs", "tool_call_id"]);
    }
}
