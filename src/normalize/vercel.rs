//! The Vercel AI SDK with its own keys (`ai.operationId`), as versions 4 and 5 write them.
//!
//! `ai.generateText` and its sisters are one request to an agent each; below them stand `….doGenerate` or `….doStream`,
//! one for each try of a model call, and `ai.toolCall`. A try that failed is a model call with an error, so that retries
//! are seen. The outer span repeats the tokens of the inner ones and is no model call.
//!
//! *Hand-offs* do not exist; an agent that calls another as a tool shows as nested requests with different function ids.
//!
//! *Runs.* The session that the application puts into the telemetry's metadata stands on every span and keys the run.
//! A request without a parent ends the run, or this turn of it.

use std::borrow::Cow;

use super::facts::Slot;
use super::reading::{Call, Reading, json_text};
use super::{Outcome, answer, value};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let session = reading.facts.text(Slot::Session);
    reading.run(session);
    reading.session(session);
    match reading.facts.text(Slot::VercelOperation) {
        Some("ai.toolCall") => tool(reading),
        Some("ai.generateText" | "ai.streamText" | "ai.generateObject" | "ai.streamObject") => {
            request(reading)
        }
        Some(operation)
            if operation.ends_with(".doGenerate") || operation.ends_with(".doStream") =>
        {
            reading.tell_model_call(answer::of(reading.facts));
        }
        Some(operation) if operation.starts_with("ai.embed") => {}
        Some(_) => return Outcome::UnknownOperation,
        None => {}
    }
    Outcome::Noise
}

fn request(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    reading.tell_agent(
        value::input(facts.value(Slot::Prompt)),
        value::output(facts.value(Slot::ResponseText)),
    );
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let call = Call {
        tool: facts.text(Slot::ToolName).unwrap_or_default(),
        call_id: facts.text(Slot::CallId).map(Cow::Borrowed),
        arguments: json_text(facts.value(Slot::Arguments)),
        result: json_text(facts.value(Slot::Result)),
        handoff_told_elsewhere: false,
    };
    reading.tell_call(&call);
}
