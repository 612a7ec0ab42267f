//! The OpenTelemetry GenAI conventions, as frameworks and hand-written tracers speak them themselves: pydantic-ai, Agent
//! Framework, autogen, and every other span with `gen_ai.operation.name`.
//!
//! *Hand-offs* have no convention. They show as tools `transfer_to_B`, which are told as hand-offs, else as agent spans:
//! one after the other (autogen) or one inside the other (pydantic-ai's delegation).
//!
//! *Runs.* A parentless `invoke_agent` or `invoke_workflow` is one request; its end is the run's. A parentless
//! `create_agent` is set-up, in a trace of its own, and ends nothing. `gen_ai.conversation.id` keys the run where it is
//! given, but not for pydantic-ai: there every delegated agent has a conversation of its own within the same trace, and
//! keying on it would cut one run into pieces; the root's is kept as the session. autogen's runtime spreads one run
//! over dozens of traces; see [`messaging`].
//!
//! *Log records* (Agent Framework's messages) repeat the whole history at each model call and hold nothing that the
//! spans do not; they are not read.

use crate::engine::event::{Body, Recorded, TraceId};
use crate::otlp::ValueView;

use super::facts::Slot;
use super::reading::{Call, Reading, json_text};
use super::{Outcome, answer, value};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    if reading.span.scope_name.starts_with("autogen ") {
        return messaging(reading);
    }
    place(reading);
    match reading.facts.text(Slot::Operation) {
        Some(operation) => return operate(reading, operation),
        None if reading.facts.has(Slot::ToolName) => tool(reading),
        None if reading.facts.has(Slot::Model) => {
            reading.tell_model_call(answer::of(reading.facts))
        }
        None => {}
    }
    Outcome::Noise
}

/// Reads one span of a known operation.
pub(super) fn operate(reading: &mut Reading<'_, '_>, operation: &str) -> Outcome {
    match operation {
        "chat" | "generate_content" | "text_completion" => {
            reading.tell_model_call(answer::of(reading.facts))
        }
        "execute_tool" => tool(reading),
        "invoke_agent" | "invoke_workflow" => agent(reading),
        "create_memory" | "update_memory" | "upsert_memory" | "delete_memory" => {
            reading.tell(Body::MemoryWrite)
        }
        "create_agent"
        | "create_memory_store"
        | "delete_memory_store"
        | "search_memory"
        | "embeddings"
        | "retrieval"
        | "plan" => {}
        _ => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

fn place(reading: &mut Reading<'_, '_>) {
    let conversation = reading.facts.text(Slot::Conversation);
    if reading.span.scope_name != "pydantic-ai" {
        reading.run(conversation);
        reading.session(reading.facts.text(Slot::Session).or(conversation));
    } else if reading.is_root() {
        reading.session(conversation);
    }
}

fn agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let output = value::output(facts.value(Slot::Output));
    // The messages answered hold the whole conversation with its call ids: no answer that could be compared.
    let input = match facts.value(Slot::InputMessages) {
        ValueView::Empty => Recorded::NotRecorded,
        messages => value::input(messages),
    };
    if let Some(run) = autogen_run(reading) {
        reading.run(Some(run));
    }
    reading.tell_agent(input, output);
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let (facts, name) = (reading.facts, reading.span.name);
    let tool = facts
        .text(Slot::ToolName)
        .unwrap_or_else(|| name.trim_start_matches("execute_tool "));
    let call = Call {
        tool,
        call_id: json_text(facts.value(Slot::CallId)),
        arguments: json_text(facts.value(Slot::Arguments)),
        result: json_text(facts.value(Slot::Result)),
        handoff_told_elsewhere: false,
    };
    reading.tell_call(&call);
    if facts.count(Slot::RetryAttempt) > 0 {
        let tool = Some(value::name(tool));
        reading.tell_at(reading.span.end_ns, Body::Retry { tool });
    }
}

/// autogen's runtime: each message between agents is a trace of its own, joined to the one that sent it by a link. None
/// of these spans tells of work, but they name the team's run in their destination, `triage_RUN.(RUN)-A`, and arrive
/// before the tool calls and agents of their trace. Where no run is named, the link says which trace is continued.
fn messaging(reading: &mut Reading<'_, '_>) -> Outcome {
    let destination = reading.facts.text(Slot::Destination).unwrap_or_default();
    let run = destination
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(run, _)| run);
    if let Some(run) = run.filter(|run| is_uuid(run)) {
        reading.run(Some(run));
    } else if reading.is_root() {
        let own = reading.span.trace_id;
        let linked = reading
            .span
            .links
            .iter()
            .map(|link| link.trace_id)
            .find(|trace| *trace != own);
        linked
            .into_iter()
            .for_each(|trace| reading.continues(TraceId(trace)));
    }
    Outcome::Noise
}

/// The team's run in the id of one of autogen's agents: `triage_RUN/RUN`.
fn autogen_run<'a>(reading: &Reading<'_, 'a>) -> Option<&'a str> {
    let id = reading
        .facts
        .text(Slot::AgentId)
        .filter(|_| reading.span.scope_name == "autogen-core")?;
    id.rsplit_once('/')
        .map(|(_, run)| run)
        .filter(|run| is_uuid(run))
}

/// Whether a text is a UUID: keys that a program chose itself (`default`) would join runs that have nothing in common.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
