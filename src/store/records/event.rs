//! One event of the journal. A tool call without sample takes about 80 bytes.

use crate::engine::event::{
    AgentSpan, Answer, Body, Event, Handoff, Manner, ModelCall, RunEnd, SpanId, ToolCall, Traits,
};
use crate::engine::window::packed::{command_number, command_numbered};
use crate::engine::witness::Witness;

use super::RecordError;
use super::guard::{GuardedRecord, NudgeRecord};
use super::tables::{TablesReader, TablesWriter};
use super::value::{FailureRecord, ValueRecord, read_recorded, write_recorded};
use super::wire;

/// An event; numbers marked *t*, *c* and *s* are those of texts, traces and spans in the record's tables.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EventRecord {
    #[prost(fixed64, tag = "1")]
    id: u64,
    /// *c*
    #[prost(uint32, tag = "2")]
    trace: u32,
    #[prost(fixed64, tag = "3")]
    span: u64,
    /// *s*
    #[prost(uint32, tag = "4")]
    parent: u32,
    /// Difference to the event before it in the record, in nanoseconds.
    #[prost(sint64, tag = "5")]
    start_after_ns: i64,
    #[prost(uint64, tag = "6")]
    duration_ns: u64,
    /// *t*
    #[prost(uint32, tag = "7")]
    agent: u32,
    /// *t*
    #[prost(uint32, tag = "8")]
    worker: u32,
    #[prost(
        oneof = "BodyRecord",
        tags = "9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19"
    )]
    body: Option<BodyRecord>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum BodyRecord {
    #[prost(message, tag = "9")]
    ToolCall(ToolCallRecord),
    #[prost(message, tag = "10")]
    ModelCall(ModelCallRecord),
    #[prost(message, tag = "11")]
    AgentSpan(AgentSpanRecord),
    #[prost(message, tag = "12")]
    Handoff(HandoffRecord),
    #[prost(bool, tag = "13")]
    StateUpdate(bool),
    #[prost(bool, tag = "14")]
    MemoryWrite(bool),
    /// *t*: the tool
    #[prost(uint32, tag = "15")]
    Retry(u32),
    #[prost(bool, tag = "16")]
    UserMessage(bool),
    #[prost(message, tag = "17")]
    RunEnd(RunEndRecord),
    #[prost(message, tag = "18")]
    Nudge(NudgeRecord),
    #[prost(message, tag = "19")]
    Requested(ToolCallRecord),
}

#[derive(Clone, PartialEq, prost::Message)]
struct ToolCallRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    tool: u32,
    #[prost(fixed64, optional, tag = "2")]
    call_id: Option<u64>,
    #[prost(message, optional, tag = "3")]
    input: Option<ValueRecord>,
    #[prost(message, optional, tag = "4")]
    output: Option<ValueRecord>,
    #[prost(message, optional, tag = "5")]
    error: Option<FailureRecord>,
    #[prost(bool, tag = "6")]
    hands_off: bool,
    /// 0: unknown, 1: writes, 2: looks, 3: plans
    #[prost(uint32, tag = "7")]
    manner: u32,
    #[prost(fixed64, optional, tag = "8")]
    main: Option<u64>,
    /// As `engine::window::packed` numbers it
    #[prost(uint32, tag = "9")]
    command: u32,
    #[prost(bool, tag = "10")]
    tests_failed: bool,
    #[prost(message, optional, tag = "11")]
    guarded: Option<GuardedRecord>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ModelCallRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    model: u32,
    #[prost(fixed64, optional, tag = "2")]
    call_id: Option<u64>,
    #[prost(uint64, tag = "3")]
    input_tokens: u64,
    #[prost(uint64, tag = "4")]
    output_tokens: u64,
    #[prost(uint64, optional, tag = "5")]
    cost_microusd: Option<u64>,
    #[prost(oneof = "AnswerRecord", tags = "6, 7, 8")]
    answer: Option<AnswerRecord>,
    #[prost(message, optional, tag = "9")]
    error: Option<FailureRecord>,
    #[prost(uint64, tag = "10")]
    cached_tokens: u64,
    #[prost(bool, tag = "11")]
    cost_is_estimate: bool,
    #[prost(fixed64, optional, tag = "12")]
    witness: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, prost::Oneof)]
enum AnswerRecord {
    #[prost(uint32, tag = "6")]
    ToolCalls(u32),
    #[prost(fixed64, tag = "7")]
    Text(u64),
    #[prost(bool, tag = "8")]
    UnrecordedText(bool),
}

#[derive(Clone, PartialEq, prost::Message)]
struct AgentSpanRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    name: u32,
    #[prost(message, optional, tag = "2")]
    input: Option<ValueRecord>,
    #[prost(message, optional, tag = "3")]
    output: Option<ValueRecord>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct HandoffRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    from: u32,
    /// *t*
    #[prost(uint32, tag = "2")]
    to: u32,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct RunEndRecord {
    #[prost(message, optional, tag = "1")]
    error: Option<FailureRecord>,
}

impl TablesWriter {
    /// Appends an event behind its length, as an [`EventRecord`]: the structs above are only read.
    pub(super) fn event(&mut self, event: &Event, out: &mut Vec<u8>) {
        wire::delimited(out, |out| {
            wire::fixed(out, 1, event.id);
            wire::number(out, 2, self.trace(event.trace).into());
            wire::fixed(out, 3, u64::from_be_bytes(event.span.0));
            wire::number(out, 4, self.span(event.parent).into());
            wire::signed(out, 5, self.time(event.start_ns));
            wire::number(out, 6, event.end_ns.wrapping_sub(event.start_ns));
            wire::number(out, 7, self.optional(event.agent.as_ref()).into());
            wire::number(out, 8, self.optional(event.worker.as_ref()).into());
            self.body(&event.body, out);
        });
    }

    fn body(&mut self, body: &Body, out: &mut Vec<u8>) {
        match body {
            Body::ToolCall(call) => wire::message(out, 9, |out| self.tool_call(call, out)),
            Body::Requested(call) => wire::message(out, 19, |out| self.tool_call(call, out)),
            Body::ModelCall(call) => wire::message(out, 10, |out| self.model_call(call, out)),
            Body::AgentSpan(span) => wire::message(out, 11, |out| {
                wire::number(out, 1, self.text(&span.name).into());
                write_recorded(2, &span.input, out);
                write_recorded(3, &span.output, out);
            }),
            Body::Handoff(handoff) => wire::message(out, 12, |out| {
                wire::number(out, 1, self.optional(handoff.from.as_ref()).into());
                wire::number(out, 2, self.text(&handoff.to).into());
            }),
            Body::StateUpdate => wire::flag(out, 13, true),
            Body::MemoryWrite => wire::flag(out, 14, true),
            Body::Retry { tool } => wire::some(out, 15, self.optional(tool.as_ref()).into()),
            Body::UserMessage => wire::flag(out, 16, true),
            Body::RunEnd(end) => wire::message(out, 17, |out| {
                self.failure(1, end.error.as_ref(), out);
            }),
            Body::Nudge(nudge) => wire::message(out, 18, |out| self.nudge(nudge, out)),
        }
    }

    fn tool_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        wire::number(out, 1, self.text(&call.tool).into());
        if let Some(id) = call.call_id {
            wire::fixed(out, 2, id);
        }
        write_recorded(3, &call.input, out);
        write_recorded(4, &call.output, out);
        self.failure(5, call.error.as_ref(), out);
        wire::flag(out, 6, call.hands_off);
        wire::number(out, 7, manner_number(call.manner).into());
        if let Some(main) = call.traits.main {
            wire::fixed(out, 8, main);
        }
        wire::number(out, 9, command_number(call.traits.command).into());
        wire::flag(out, 10, call.traits.tests_failed);
        if let Some(guarded) = &call.guarded {
            wire::message(out, 11, |out| self.guarded(guarded, out));
        }
    }

    fn model_call(&mut self, call: &ModelCall, out: &mut Vec<u8>) {
        wire::number(out, 1, self.optional(call.model.as_ref()).into());
        if let Some(id) = call.call_id {
            wire::fixed(out, 2, id);
        }
        wire::number(out, 3, call.input_tokens);
        wire::number(out, 4, call.output_tokens);
        if let Some(cost) = call.cost_microusd {
            wire::some(out, 5, cost);
        }
        match call.answer {
            Answer::Unknown => {}
            Answer::ToolCalls(calls) => wire::some(out, 6, calls.into()),
            Answer::Text(Some(hash)) => wire::fixed(out, 7, hash),
            Answer::Text(None) => wire::flag(out, 8, true),
        }
        self.failure(9, call.error.as_ref(), out);
        wire::number(out, 10, call.cached_tokens);
        wire::flag(out, 11, call.cost_is_estimate);
        if let Some(witness) = call.witness {
            wire::fixed(out, 12, witness.0);
        }
    }
}

impl TablesReader {
    pub(super) fn event(&mut self, record: EventRecord) -> Result<Event, RecordError> {
        let start_ns = self.time(record.start_after_ns);
        Ok(Event {
            id: record.id,
            trace: self.trace(record.trace)?,
            span: SpanId(record.span.to_be_bytes()),
            parent: self.span(record.parent)?,
            start_ns,
            end_ns: start_ns.wrapping_add(record.duration_ns),
            agent: self.optional(record.agent)?,
            worker: self.optional(record.worker)?,
            body: self.body(
                record
                    .body
                    .ok_or_else(|| RecordError::missing("an event's body"))?,
            )?,
        })
    }

    fn body(&self, record: BodyRecord) -> Result<Body, RecordError> {
        Ok(match record {
            BodyRecord::ToolCall(call) => Body::ToolCall(self.tool_call(&call)?),
            BodyRecord::Requested(call) => Body::Requested(self.tool_call(&call)?),
            BodyRecord::ModelCall(call) => Body::ModelCall(self.model_call(&call)?),
            BodyRecord::AgentSpan(span) => Body::AgentSpan(AgentSpan {
                name: self.text(span.name)?,
                input: read_recorded(span.input.as_ref())?,
                output: read_recorded(span.output.as_ref())?,
            }),
            BodyRecord::Handoff(handoff) => Body::Handoff(Handoff {
                from: self.optional(handoff.from)?,
                to: self.text(handoff.to)?,
            }),
            BodyRecord::StateUpdate(_) => Body::StateUpdate,
            BodyRecord::MemoryWrite(_) => Body::MemoryWrite,
            BodyRecord::Retry(tool) => Body::Retry {
                tool: self.optional(tool)?,
            },
            BodyRecord::UserMessage(_) => Body::UserMessage,
            BodyRecord::RunEnd(end) => Body::RunEnd(RunEnd {
                error: self.failure(end.error)?,
            }),
            BodyRecord::Nudge(nudge) => Body::Nudge(self.nudge(&nudge)?),
        })
    }

    fn tool_call(&self, record: &ToolCallRecord) -> Result<ToolCall, RecordError> {
        Ok(ToolCall {
            tool: self.text(record.tool)?,
            call_id: record.call_id,
            input: read_recorded(record.input.as_ref())?,
            output: read_recorded(record.output.as_ref())?,
            error: self.failure(record.error)?,
            hands_off: record.hands_off,
            manner: manner_numbered(record.manner)?,
            traits: Traits {
                main: record.main,
                command: command_numbered(record.command)
                    .map_err(|_| RecordError::unknown("command", record.command))?,
                tests_failed: record.tests_failed,
            },
            guarded: record
                .guarded
                .map(|guarded| self.guarded(&guarded).map(Box::new))
                .transpose()?,
        })
    }

    fn model_call(&self, record: &ModelCallRecord) -> Result<ModelCall, RecordError> {
        Ok(ModelCall {
            model: self.optional(record.model)?,
            call_id: record.call_id,
            witness: record.witness.map(Witness),
            input_tokens: record.input_tokens,
            cached_tokens: record.cached_tokens,
            output_tokens: record.output_tokens,
            cost_microusd: record.cost_microusd,
            cost_is_estimate: record.cost_is_estimate,
            answer: match record.answer {
                None => Answer::Unknown,
                Some(AnswerRecord::ToolCalls(calls)) => Answer::ToolCalls(calls),
                Some(AnswerRecord::Text(hash)) => Answer::Text(Some(hash)),
                Some(AnswerRecord::UnrecordedText(_)) => Answer::Text(None),
            },
            error: self.failure(record.error)?,
        })
    }
}

fn manner_number(manner: Manner) -> u32 {
    match manner {
        Manner::Unknown => 0,
        Manner::Writes => 1,
        Manner::Looks => 2,
        Manner::Plans => 3,
    }
}

fn manner_numbered(number: u32) -> Result<Manner, RecordError> {
    match number {
        0 => Ok(Manner::Unknown),
        1 => Ok(Manner::Writes),
        2 => Ok(Manner::Looks),
        3 => Ok(Manner::Plans),
        _ => Err(RecordError::unknown("manner", number)),
    }
}
