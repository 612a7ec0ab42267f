//! Reports as bytes: what a run keeps of its newest reports in memory and on disk.
//!
//! A report is its [`Card`], and behind it what has no fixed length or is rarely there. In memory the cards lie apart from the
//! rest, on disk each before its own. Samples of arguments, which are most of it, lie apart in memory too: what is known of a
//! run's newest calls holds the same ones. The form is part of the store's format: a change of it needs a new number there.
//! What the engine never looks at again is left out. Bytes from a disk may be anything: reading says so where they
//! are no report.

mod reading;

use crate::engine::event::{
    Answer, Body, Command, Event, Failure, ITEMS_MAX, Manner, ModelCall, NUMBERS_MAX, Numbers,
    Part, Recorded, Text, ToolCall, TraceId, Traits, Value,
};

use super::card::{CALL_ID, CONTENT, Card, QUESTION};

pub(crate) use reading::{Reader, command_numbered, items_in, numbers_in};

/// Bits of a tool call's first byte.
const HANDS_OFF: u8 = 1;
const WRITES: u8 = 1 << 1;
const TESTS_FAILED: u8 = 1 << 2;
const HAS_MAIN: u8 = 1 << 3;
const LOOKS: u8 = 1 << 4;

/// What a value's first byte says.
const NOT_RECORDED: u8 = 0;
const REDACTED: u8 = 1;
const RECORDED: u8 = 2;
/// Bits of the first byte of a value that is there.
const EMPTY: u8 = 1 << 2;
const MASKED: u8 = 1 << 3;
const PARTS: u8 = 1 << 4;
const PENDING: u8 = 1 << 5;
const DENIES: u8 = 1 << 6;
const REFUSES: u8 = 1 << 7;
// And one with how many parts it has.
const ANSWERS: u8 = 1 << 7;

/// In the byte that says how many numbers and items a value has, the items stand above the numbers.
const ITEMS_SHIFT: u8 = 3;
const _: () = assert!(NUMBERS_MAX < 1 << ITEMS_SHIFT && ITEMS_MAX < 1 << (7 - ITEMS_SHIFT));

/// What a failure's first byte says.
const NO_FAILURE: u8 = 0;
const FAILURE: u8 = 1;
const TRANSIENT: u8 = 2;

/// The sample of a tool's arguments, and where on disk it lies within the bytes of its report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) text: Text,
    at: u32,
}

/// Appends what is not on the card, without the sample of a tool's arguments, which is returned.
pub(crate) fn pack(event: &Event, out: &mut Vec<u8>) -> Option<Sample> {
    let start = out.len();
    put_name(event.agent.as_ref(), out);
    put_name(event.worker.as_ref(), out);
    match &event.body {
        Body::ToolCall(call) | Body::Requested(call) => return pack_tool(call, start, out),
        Body::ModelCall(call) => pack_model(call, out),
        Body::AgentSpan(span) => {
            put_text(&span.name, out);
            let input = span
                .instruction()
                .map_or(&Recorded::NotRecorded, |_| &span.input);
            put_recorded(input, out);
            put_recorded(&span.output, out);
        }
        Body::Handoff(handoff) => {
            put_name(handoff.from.as_ref(), out);
            put_text(&handoff.to, out);
        }
        Body::Retry { tool } => put_name(tool.as_ref(), out),
        Body::RunEnd(end) => put_failure(end.error.as_ref(), out),
        Body::Nudge(nudge) => {
            put_text(nudge.rule.name(), out);
            put_fixed(nudge.group, out);
            put_number(nudge.count, out);
            put_fixed(nudge.worker, out);
        }
        Body::StateUpdate | Body::MemoryWrite | Body::UserMessage => {}
    }
    None
}

/// Appends what [`pack`] appended, as it lies on disk.
pub(crate) fn put_whole(packed: &[u8], sample: Option<&Sample>, out: &mut Vec<u8>) {
    let (before, after) = packed.split_at(sample.map_or(0, |sample| sample.at as usize));
    out.extend_from_slice(before);
    if let Some(sample) = sample {
        put_text(&sample.text, out);
    }
    out.extend_from_slice(after);
}

fn pack_tool(call: &ToolCall, start: usize, out: &mut Vec<u8>) -> Option<Sample> {
    let Traits {
        main,
        command,
        tests_failed,
    } = call.traits;
    out.push(
        bit(HANDS_OFF, call.hands_off)
            | bit(WRITES, call.manner.writes())
            | bit(LOOKS, matches!(call.manner, Manner::Looks | Manner::Plans))
            | bit(TESTS_FAILED, tests_failed)
            | bit(HAS_MAIN, main.is_some()),
    );
    if let Some(main) = main {
        put_fixed(main, out);
    }
    out.push(command_number(command));
    put_text(&call.tool, out);
    let sample_at = put_input(&call.input, out);
    put_recorded(&call.output, out);
    put_failure(call.error.as_ref(), out);
    if let Some(guarded) = &call.guarded {
        // The journal has other numbers for these (`store::records::guard`).
        let (part, rule) = match guarded.part {
            Part::Question => (0, None),
            Part::Skipped(rule) => (1, Some(rule)),
            Part::Aborted(rule) => (2, Some(rule)),
            Part::Result => (3, None),
        };
        out.push(part);
        if let Some(rule) = rule {
            put_text(rule.name(), out);
        }
        put_fixed(guarded.round, out);
        put_fixed(guarded.turn, out);
    }
    Some(Sample {
        text: call.input.value()?.sample.clone(),
        at: (sample_at? - start) as u32,
    })
}

fn pack_model(call: &ModelCall, out: &mut Vec<u8>) {
    // Who it was that nobody has a price for is shown.
    let model = call.model.as_ref().filter(|_| call.cost_microusd.is_none());
    put_name(model, out);
    put_number(call.input_tokens, out);
    put_number(call.cached_tokens, out);
    put_number(call.output_tokens, out);
    match call.cost_microusd {
        None => out.push(0),
        Some(cost) => {
            out.push(1 + u8::from(call.cost_is_estimate));
            put_number(cost, out);
        }
    }
    match call.answer {
        Answer::Unknown => out.push(0),
        Answer::ToolCalls(calls) => {
            out.push(1);
            put_number(calls.into(), out);
        }
        Answer::Text(_) => out.push(2),
    }
    put_failure(call.error.as_ref(), out);
}

fn put_fixed(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_number(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// A name that may be absent: its length and one, or 0.
fn put_name(name: Option<&Text>, out: &mut Vec<u8>) {
    put_number(name.map_or(0, |name| name.len() as u64 + 1), out);
    out.extend_from_slice(name.map_or(&[], |name| name.as_bytes()));
}

/// A tool's arguments, without the fingerprint, which is on the card, and without their sample: says where that belongs.
fn put_input(input: &Recorded, out: &mut Vec<u8>) -> Option<usize> {
    let value = put_value_marks(input, out)?;
    put_value_size(value, out);
    let sample_at = out.len();
    put_value_parts(value, out);
    Some(sample_at)
}

/// Any other value.
fn put_recorded(recorded: &Recorded, out: &mut Vec<u8>) {
    if let Some(value) = put_value_marks(recorded, out) {
        put_fixed(value.fingerprint, out);
        put_value_size(value, out);
        put_text(&value.sample, out);
        put_value_parts(value, out);
    }
}

/// A bit that stands for a fact, where it holds.
fn bit(bit: u8, holds: bool) -> u8 {
    if holds { bit } else { 0 }
}

fn put_value_marks<'a>(recorded: &'a Recorded, out: &mut Vec<u8>) -> Option<&'a Value> {
    let (marks, value) = match recorded {
        Recorded::NotRecorded => (NOT_RECORDED, None),
        Recorded::Redacted => (REDACTED, None),
        Recorded::Value(value) => {
            let marks = bit(EMPTY, value.empty)
                | bit(MASKED, is_masked(value))
                | bit(PARTS, has_parts(value))
                | bit(PENDING, value.pending)
                | bit(DENIES, value.denies)
                | bit(REFUSES, value.refuses);
            (RECORDED | marks, Some(value))
        }
    };
    out.push(marks);
    value
}

fn is_masked(value: &Value) -> bool {
    value.masked != value.fingerprint
}

fn put_value_size(value: &Value, out: &mut Vec<u8>) {
    if is_masked(value) {
        put_fixed(value.masked, out);
    }
    put_number(value.bytes.into(), out);
}

fn has_parts(value: &Value) -> bool {
    value.numbers.is_some() || !value.items.is_empty() || value.answers
}

/// The numbers and the items of a value that has some: how many there are of both, in one byte with whether it answers, and these.
fn put_value_parts(value: &Value, out: &mut Vec<u8>) {
    let numbers = value.numbers.as_deref();
    let count = numbers.map_or(0, |numbers| numbers.count);
    if !has_parts(value) {
        return;
    }
    out.push(count | (value.items.len() as u8) << ITEMS_SHIFT | bit(ANSWERS, value.answers));
    if let Some(numbers) = numbers {
        put_numbers(numbers, out);
    }
    put_items(&value.items, out);
}

/// The items of a result, but not how many there are.
pub(crate) fn put_items(items: &[u16], out: &mut Vec<u8>) {
    for item in items {
        out.extend_from_slice(&item.to_le_bytes());
    }
}

/// The hash and the numbers of a result, but not how many there are.
pub(crate) fn put_numbers(numbers: &Numbers, out: &mut Vec<u8>) {
    out.extend_from_slice(&numbers.frame.to_le_bytes());
    for number in numbers.all.iter().take(numbers.count.into()) {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// A failure with its text, of which the rules read the words.
fn put_failure(failure: Option<&Failure>, out: &mut Vec<u8>) {
    let Some(failure) = failure else {
        return out.push(NO_FAILURE);
    };
    out.push(if failure.transient {
        TRANSIENT
    } else {
        FAILURE
    });
    put_fixed(failure.masked, out);
    put_text(&failure.text, out);
}

/// What a command does, as a number.
pub(crate) fn command_number(command: Option<Command>) -> u8 {
    match command {
        None => 0,
        Some(Command::Other) => 1,
        Some(Command::ReadsFile) => 2,
        Some(Command::WritesFile) => 3,
        Some(Command::EditsFile) => 4,
        Some(Command::RunsTests) => 5,
    }
}

/// Appends a card, with its trace where that is another one than the report before has.
pub(crate) fn pack_card(card: &Card, trace: Option<TraceId>, out: &mut Vec<u8>) {
    out.push(card.kind as u8);
    out.push(card.marks);
    put_fixed(card.id, out);
    out.push(u8::from(trace.is_some()));
    if let Some(trace) = trace {
        out.extend_from_slice(&trace.0);
    }
    out.extend_from_slice(&card.span.0);
    out.extend_from_slice(&card.parent.0);
    put_fixed(card.start_ns, out);
    put_number(card.end_ns.wrapping_sub(card.start_ns), out);
    for place in [CALL_ID, CONTENT, QUESTION] {
        if card.marks & 1 << place != 0 {
            put_fixed(card.ids[place], out);
        }
    }
}
