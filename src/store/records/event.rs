//! One event of the journal or of a saved state. A tool call without sample takes about 80 bytes.

use crate::engine::event::{
    AgentSpan, Answer, Body, Command, Event, Failure, Handoff, ModelCall, Recorded, RunEnd, SpanId,
    ToolCall, Traits, Value,
};

use super::RecordError;
use super::tables::{TablesReader, TablesWriter};

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
    #[prost(oneof = "BodyRecord", tags = "9, 10, 11, 12, 13, 14, 15, 16, 17, 18")]
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
    Asked(ToolCallRecord),
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
    #[prost(bool, tag = "7")]
    writes: bool,
    #[prost(fixed64, optional, tag = "8")]
    main: Option<u64>,
    /// 0: none
    #[prost(uint32, tag = "9")]
    command: u32,
    #[prost(bool, tag = "10")]
    tests_failed: bool,
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

/// A failure.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct FailureRecord {
    /// *t*
    #[prost(uint32, tag = "1")]
    text: u32,
    #[prost(fixed64, tag = "2")]
    masked: u64,
    #[prost(bool, tag = "3")]
    transient: bool,
}

/// A recorded or redacted value; one that is not recorded has no record.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct ValueRecord {
    #[prost(fixed64, tag = "1")]
    fingerprint: u64,
    /// Absent where it equals the fingerprint.
    #[prost(fixed64, optional, tag = "2")]
    masked: Option<u64>,
    #[prost(uint32, tag = "3")]
    bytes: u32,
    #[prost(bool, tag = "4")]
    empty: bool,
    /// *t*
    #[prost(uint32, tag = "5")]
    sample: u32,
    #[prost(bool, tag = "6")]
    redacted: bool,
}

impl<'a> TablesWriter<'a> {
    pub(super) fn event(&mut self, event: &'a Event) -> EventRecord {
        EventRecord {
            id: event.id,
            trace: self.trace(event.trace),
            span: u64::from_be_bytes(event.span.0),
            parent: self.span(event.parent),
            start_after_ns: self.time(event.start_ns),
            duration_ns: event.end_ns.wrapping_sub(event.start_ns),
            agent: self.optional(event.agent.as_ref()),
            worker: self.optional(event.worker.as_ref()),
            body: Some(self.body(&event.body)),
        }
    }

    fn body(&mut self, body: &'a Body) -> BodyRecord {
        match body {
            Body::ToolCall(call) => BodyRecord::ToolCall(self.tool_call(call)),
            Body::Asked(call) => BodyRecord::Asked(self.tool_call(call)),
            Body::ModelCall(call) => BodyRecord::ModelCall(self.model_call(call)),
            Body::AgentSpan(span) => BodyRecord::AgentSpan(AgentSpanRecord {
                name: self.text(&span.name),
                input: self.recorded(&span.input),
                output: self.recorded(&span.output),
            }),
            Body::Handoff(handoff) => BodyRecord::Handoff(HandoffRecord {
                from: self.optional(handoff.from.as_ref()),
                to: self.text(&handoff.to),
            }),
            Body::StateUpdate => BodyRecord::StateUpdate(true),
            Body::MemoryWrite => BodyRecord::MemoryWrite(true),
            Body::Retry { tool } => BodyRecord::Retry(self.optional(tool.as_ref())),
            Body::UserMessage => BodyRecord::UserMessage(true),
            Body::RunEnd(end) => BodyRecord::RunEnd(RunEndRecord {
                error: self.failure(end.error.as_ref()),
            }),
        }
    }

    fn tool_call(&mut self, call: &'a ToolCall) -> ToolCallRecord {
        ToolCallRecord {
            tool: self.text(&call.tool),
            call_id: call.call_id,
            input: self.recorded(&call.input),
            output: self.recorded(&call.output),
            error: self.failure(call.error.as_ref()),
            hands_off: call.hands_off,
            writes: call.writes,
            main: call.traits.main,
            command: command_number(call.traits.command),
            tests_failed: call.traits.tests_failed,
        }
    }

    fn model_call(&mut self, call: &'a ModelCall) -> ModelCallRecord {
        ModelCallRecord {
            model: self.optional(call.model.as_ref()),
            call_id: call.call_id,
            input_tokens: call.input_tokens,
            cached_tokens: call.cached_tokens,
            output_tokens: call.output_tokens,
            cost_microusd: call.cost_microusd,
            cost_is_estimate: call.cost_is_estimate,
            answer: match call.answer {
                Answer::Unknown => None,
                Answer::ToolCalls(calls) => Some(AnswerRecord::ToolCalls(calls)),
                Answer::Text(Some(hash)) => Some(AnswerRecord::Text(hash)),
                Answer::Text(None) => Some(AnswerRecord::UnrecordedText(true)),
            },
            error: self.failure(call.error.as_ref()),
        }
    }

    pub(super) fn failure(&mut self, failure: Option<&'a Failure>) -> Option<FailureRecord> {
        failure.map(|failure| FailureRecord {
            text: self.text(&failure.text),
            masked: failure.masked,
            transient: failure.transient,
        })
    }

    pub(super) fn recorded(&mut self, recorded: &'a Recorded) -> Option<ValueRecord> {
        match recorded {
            Recorded::Value(value) => Some(ValueRecord {
                fingerprint: value.fingerprint,
                masked: (value.masked != value.fingerprint).then_some(value.masked),
                bytes: value.bytes,
                empty: value.empty,
                sample: self.text(&value.sample),
                redacted: false,
            }),
            Recorded::Redacted => Some(ValueRecord {
                redacted: true,
                ..ValueRecord::default()
            }),
            Recorded::NotRecorded => None,
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
            BodyRecord::Asked(call) => Body::Asked(self.tool_call(&call)?),
            BodyRecord::ModelCall(call) => Body::ModelCall(self.model_call(&call)?),
            BodyRecord::AgentSpan(span) => Body::AgentSpan(AgentSpan {
                name: self.text(span.name)?,
                input: self.recorded(span.input)?,
                output: self.recorded(span.output)?,
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
        })
    }

    fn tool_call(&self, record: &ToolCallRecord) -> Result<ToolCall, RecordError> {
        Ok(ToolCall {
            tool: self.text(record.tool)?,
            call_id: record.call_id,
            input: self.recorded(record.input)?,
            output: self.recorded(record.output)?,
            error: self.failure(record.error)?,
            hands_off: record.hands_off,
            writes: record.writes,
            traits: Traits {
                main: record.main,
                command: command_numbered(record.command)?,
                tests_failed: record.tests_failed,
            },
        })
    }

    fn model_call(&self, record: &ModelCallRecord) -> Result<ModelCall, RecordError> {
        Ok(ModelCall {
            model: self.optional(record.model)?,
            call_id: record.call_id,
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

    pub(super) fn failure(
        &self,
        record: Option<FailureRecord>,
    ) -> Result<Option<Failure>, RecordError> {
        record
            .map(|record| {
                Ok(Failure {
                    text: self.text(record.text)?,
                    masked: record.masked,
                    transient: record.transient,
                })
            })
            .transpose()
    }

    pub(super) fn recorded(&self, record: Option<ValueRecord>) -> Result<Recorded, RecordError> {
        Ok(match record {
            None => Recorded::NotRecorded,
            Some(record) if record.redacted => Recorded::Redacted,
            Some(record) => Recorded::Value(Value {
                fingerprint: record.fingerprint,
                masked: record.masked.unwrap_or(record.fingerprint),
                bytes: record.bytes,
                empty: record.empty,
                sample: self.text(record.sample)?,
            }),
        })
    }
}

fn command_number(command: Option<Command>) -> u32 {
    match command {
        None => 0,
        Some(Command::Other) => 1,
        Some(Command::ReadsFile) => 2,
        Some(Command::WritesFile) => 3,
        Some(Command::EditsFile) => 4,
        Some(Command::RunsTests) => 5,
    }
}

fn command_numbered(number: u32) -> Result<Option<Command>, RecordError> {
    match number {
        0 => Ok(None),
        1 => Ok(Some(Command::Other)),
        2 => Ok(Some(Command::ReadsFile)),
        3 => Ok(Some(Command::WritesFile)),
        4 => Ok(Some(Command::EditsFile)),
        5 => Ok(Some(Command::RunsTests)),
        _ => Err(RecordError::unknown("command", number)),
    }
}
