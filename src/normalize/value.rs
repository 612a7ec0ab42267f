//! What is kept of arguments, results and errors: a fingerprint, of arguments a redacted sample, of results up to six numbers and
//! hashes of 16 bits of what they list, and of errors their words.
//!
//! The same value must look the same whichever framework wrapped it, so every form ends in one digest: JSON text, JSON
//! within JSON, OTLP's own lists and maps, plain text. Fingerprints are taken over the true value, samples and the words of
//! errors after redaction, and numbers without those of secrets; nothing else of a value leaves this room. A marker that stands
//! for a hidden value is not a value: two hidden values are not the same one.

mod arguments;
mod aside;
mod attempts;
mod beside;
mod clock;
mod digest;
mod drawn;
mod echo;
mod elements;
mod emptiness;
mod error;
mod errors_printed;
pub(super) mod failing;
mod faults;
pub(super) mod hash;
mod hits;
mod items;
mod json;
mod lexicon;
mod markers;
mod mask;
mod member_name;
pub(super) mod nothing;
mod now;
mod numbers;
mod pending;
mod places;
mod raw;
mod reader;
mod receipts;
mod redact;
mod sample;
mod scratch;
mod sketch;
mod telling;
mod temporary;
pub(super) mod wide;
mod words;

use std::borrow::Cow;

use crate::engine::event::{
    Manner, NAME_BYTES_MAX, Recorded, SAID_BYTES_MIN, SAMPLE_BYTES_MAX, Text, Value, said,
};
use crate::engine::policy::ToolSettings;
use crate::engine::tool_name;
use crate::otlp::ValueView;

pub(super) use self::arguments::{Arguments, command_line};
use self::digest::Shape;
use self::echo::without_echo;
pub(super) use self::error::{failure, failure_of_call};
pub(super) use self::hash::id_hash;
use self::markers::{is_marker, is_picture_left_out};
pub(super) use self::now::{Now, without_clock};
pub(super) use self::raw::{Object, items, items_from_end, member, members, unquote};
use self::reader::{READ_BYTES_MAX, Reader};
use self::sample::cut;
use self::wide::trimmed;

/// Fewest letters of a text of a model that is remembered.
const SPOKEN_LETTERS_MIN: usize = 16;

/// Arguments, from an attribute or a part of one. Absent is [`Recorded::NotRecorded`].
pub(super) fn input(view: ValueView<'_>) -> Recorded {
    input_of(&ToolSettings::PLAIN, view)
}

/// The same, of a tool about which something is set.
pub(super) fn input_of(how: &ToolSettings<'_>, view: ValueView<'_>) -> Recorded {
    if let Some(known) = without_value(view) {
        return known;
    }
    let mut reader = Reader::for_input(how);
    reader.whole_view(view);
    input_value(reader)
}

/// A result, from an attribute or a part of one. Absent is [`Recorded::NotRecorded`].
pub(super) fn output(view: ValueView<'_>) -> Recorded {
    output_of(&ToolSettings::PLAIN, view)
}

/// The same, of a tool about which something is set.
pub(super) fn output_of(how: &ToolSettings<'_>, view: ValueView<'_>) -> Recorded {
    if let Some(known) = without_value(view) {
        return known;
    }
    if matches!(view, ValueView::Str(text) if is_picture_left_out(text)) {
        return Recorded::Redacted;
    }
    read_output(how, |reader| reader.whole_view(view))
}

/// Arguments of a tool, from JSON text such as [`member`] gives; what is not JSON is taken as a text.
pub(super) fn input_json(how: &ToolSettings<'_>, text: &str) -> Recorded {
    Arguments::of(text).input(how)
}

/// What the name of a tool says of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultKind {
    /// Nothing in particular.
    Plain,
    /// They are things that were there, since it looks.
    Found,
    /// They are one thing after the other.
    HandedOut,
    /// They name what was made.
    Made,
    /// They tell what came of a change in something that is there: that it was not found is a no.
    Changed,
}

impl ResultKind {
    /// That of a tool of this name.
    pub(super) fn of(tool: &str) -> Self {
        let manner = tool_name::manner(tool);
        if tool_name::hands_out(tool) {
            Self::HandedOut
        } else if manner == Manner::Looks {
            Self::Found
        } else if manner.writes() && tool_name::makes(tool) {
            Self::Made
        } else if tool_name::changes_in_place(tool) {
            Self::Changed
        } else {
            Self::Plain
        }
    }
}

/// The result of a call, of which what its arguments said is no news: what is compared is the rest. Of a tool that hands out
/// one thing after the other, and of a command that makes one up by chance, ids are compared, too, where the result says hardly
/// anything else; and of one that looks, what the arguments said, where there is hardly anything else: that it is there is the
/// answer.
pub(super) fn answer_json(
    how: &ToolSettings<'_>,
    result_kind: ResultKind,
    json: &str,
    arguments: &Arguments<'_>,
) -> Recorded {
    let asked = arguments.json();
    let is_short = asked.len().max(json.len()) <= DRAWN_BYTES_MAX;
    let is_plain = matches!(result_kind, ResultKind::Plain | ResultKind::Made);
    let is_drawn = || is_plain && is_short && tool_name::draws(asked);
    if (result_kind == ResultKind::HandedOut || is_drawn()) && !is_marker(json) {
        return handed_out(how, json);
    }
    let how = &ToolSettings {
        search: how.search || arguments.is_question(),
        ..*how
    };
    let output = output_json(how, json);
    let rest = without_echo(json, arguments);
    let output = match (output, &rest) {
        (Recorded::Value(whole), Cow::Owned(rest)) => {
            let mut reader = Reader::for_output(how);
            reader.json(rest);
            if result_kind == ResultKind::Found && !whole.empty && says_hardly_anything(&reader) {
                return Recorded::Value(whole);
            }
            let rest = settled(how, &reader, |reader| reader.json(rest));
            Recorded::Value(Value {
                fingerprint: whole.fingerprint,
                ..rest
            })
        }
        (output, _) => output,
    };
    let is_receipt = match result_kind {
        ResultKind::Made => asked.len() >= SAID_BYTES_MIN,
        ResultKind::Plain => receipts::says_done(&rest),
        ResultKind::Found | ResultKind::HandedOut | ResultKind::Changed => false,
    };
    let output = match output {
        Recorded::Value(whole) if is_receipt => Recorded::Value(receipt(how, whole, &rest)),
        Recorded::Value(whole) if receipts::says_failed(&rest) => {
            Recorded::Value(refused(how, whole, &rest))
        }
        output => output,
    };
    match output {
        Recorded::Value(value)
            if value.empty && result_kind == ResultKind::Changed && is_sentence(json) =>
        {
            Recorded::Value(Value {
                empty: false,
                denies: true,
                ..value
            })
        }
        Recorded::Value(value) if !value.empty => Recorded::Value(Value {
            answers: telling::answers(json, asked),
            ..errors_printed::judged(with_hits(value, &rest, arguments), json, arguments)
        }),
        output => output,
    }
}

/// Whether a result is a text of several words.
fn is_sentence(json: &str) -> bool {
    !json.starts_with(['{', '[']) && trimmed(json).contains(' ')
}

/// Longest command that does no more than to make something up, and longest result of it.
const DRAWN_BYTES_MAX: usize = 256;

/// What is kept of a result that names what was made, or what was done, without the name.
fn receipt(how: &ToolSettings<'_>, whole: Value, json: &str) -> Value {
    if whole.empty || whole.denies || whole.refuses {
        return whole;
    }
    let mut reader = Reader::for_receipt(how);
    reader.json(json);
    Value {
        fingerprint: whole.fingerprint,
        ..output_value(&reader)
    }
}

/// What is kept of a result that says that a call failed, without the id of that.
fn refused(how: &ToolSettings<'_>, whole: Value, json: &str) -> Value {
    let rest = receipts::without_error_ids(Cow::Borrowed(json));
    let Recorded::Value(value) = output_json(how, &rest) else {
        return whole;
    };
    Value {
        fingerprint: whole.fingerprint,
        ..value
    }
}

/// What is kept of a result, of which lines that tell hits are compared whatever their order.
fn with_hits(value: Value, json: &str, arguments: &Arguments<'_>) -> Value {
    match hits::hits(json, arguments) {
        Some(hits) => Value {
            masked: hits.masked,
            items: hits.items,
            ..value
        },
        None => value,
    }
}

/// Whether a result that was read holds no number, and hardly any words beside ids.
fn says_hardly_anything(reader: &Reader<'_>) -> bool {
    reader.numbers().is_none() && reader.plain_bytes < PLAIN_BYTES_MIN
}

/// Fewest bytes of a result's texts by which it is known without its ids: the words of a task, the name of a thing.
const PLAIN_BYTES_MIN: usize = 12;

fn handed_out(how: &ToolSettings<'_>, json: &str) -> Recorded {
    let mut reader = Reader::for_output(how);
    reader.json(json);
    let mut output = output_value(&reader);
    let is_none = output.empty || hands_out_none(json);
    if reader.plain_bytes < PLAIN_BYTES_MIN && !is_none {
        output.masked = output.fingerprint;
    }
    Recorded::Value(output)
}

/// Whether a text begins as one that says that there is none: `No messages. RequestId: …`.
fn hands_out_none(json: &str) -> bool {
    let text = trimmed(json).trim_start_matches('"');
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    first.eq_ignore_ascii_case("no") && first.len() < text.len()
}

/// A result of a tool, from JSON text such as [`member`] gives; what is not JSON is taken as a text.
pub(super) fn output_json(how: &ToolSettings<'_>, text: &str) -> Recorded {
    if is_marker(text) || is_picture_left_out(text) {
        return Recorded::Redacted;
    }
    read_output(how, |reader| reader.json(text))
}

fn read_output<'h>(how: &ToolSettings<'h>, read: impl Fn(&mut Reader<'h>)) -> Recorded {
    let mut reader = Reader::for_output(how);
    read(&mut reader);
    Recorded::Value(settled(how, &reader, read))
}

/// What a result that was read tells. One that says no, or refuses, is read once more, without what tells one attempt from the
/// next.
fn settled<'h>(
    how: &ToolSettings<'h>,
    reader: &Reader<'h>,
    read: impl Fn(&mut Reader<'h>),
) -> Value {
    if !reader.told().denies && !reader.told().refuses {
        return output_value(reader);
    }
    let mut reader = Reader::for_verdict(how);
    read(&mut reader);
    output_value(&reader)
}

/// Bytes of `#` and four digits of a hash.
const NAME_HASH_BYTES: usize = 5;

/// A name of a tool, agent or model: without blanks around it, at most [`NAME_BYTES_MAX`] bytes, and without secrets. Names
/// that differ in a secret, or behind what there is room for, still differ, by four digits of a hash.
pub(super) fn name(text: &str) -> Text {
    let text = trimmed(text);
    // Twice the limit, so that a secret which the limit would cut in two is still recognised.
    let clean = redact::text(cut(text, NAME_BYTES_MAX * 2));
    if matches!(clean, Cow::Borrowed(_)) && text.len() <= NAME_BYTES_MAX {
        return text.into();
    }
    let clean = cut(&clean, NAME_BYTES_MAX - NAME_HASH_BYTES);
    format!("{clean}#{:04x}", hash::text(text) as u16).into()
}

/// A text without secrets, of which parts may then be left out.
pub(super) fn without_secrets(text: &str) -> Cow<'_, str> {
    redact::text(text)
}

/// The hash of a text whatever the time at which it was written, 0 for an empty one: what is volatile in it is masked.
pub(super) fn lasting_hash(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    hash::text(&mask::text(cut(text, READ_BYTES_MAX)))
}

/// What is kept of a text that a model spoke, in the form of [`said`]; 0 for a text that is too short to be told from another
/// (`yes` said twice is not said again), `None` for a hidden one.
pub(super) fn spoken(text: &str) -> Option<u64> {
    if is_marker(text) {
        return None;
    }
    let letters = cut(text, READ_BYTES_MAX)
        .chars()
        .filter(|letter| letter.is_alphabetic());
    let enough = letters.take(SPOKEN_LETTERS_MIN).count() == SPOKEN_LETTERS_MIN;
    let sketch = sketch::of(text);
    Some(if enough {
        said(sketch.bits, sketch.words)
    } else {
        0
    })
}

/// What is kept of arguments. Those of which a part is hidden are hidden: two that are alike in what is left need not be the same.
fn input_value(reader: Reader<'_>) -> Recorded {
    if reader.is_partial {
        return Recorded::Redacted;
    }
    let digest = *reader.told();
    let sample = reader.into_sample();
    Recorded::Value(Value {
        fingerprint: digest.hash,
        masked: if digest.bytes > SAMPLE_BYTES_MAX {
            sample.sketch()
        } else {
            digest.hash
        },
        bytes: u32::try_from(digest.bytes).unwrap_or(u32::MAX),
        empty: digest.empty,
        pending: false,
        denies: false,
        refuses: false,
        answers: false,
        sample: sample.finish(),
        numbers: None,
        items: Box::default(),
    })
}

fn output_value(reader: &Reader<'_>) -> Value {
    let digest = reader.told();
    // `""`, `null`, `None`: no list or object that could have held something.
    let says_nothing =
        digest.empty && digest.bytes <= 4 && matches!(digest.shape, Shape::Nothing | Shape::Text);
    let numbers = reader.numbers();
    Value {
        fingerprint: digest.hash,
        masked: digest.masked,
        bytes: if says_nothing {
            0
        } else {
            u32::try_from(digest.bytes).unwrap_or(u32::MAX)
        },
        empty: digest.empty,
        pending: digest.pending && digest.shape != Shape::List,
        denies: digest.denies,
        refuses: digest.refuses,
        answers: false,
        sample: Text::default(),
        numbers: numbers.map(Box::new),
        items: reader.items(),
    }
}

/// What is known without looking at a value: that there is none, or that it was hidden.
fn without_value(view: ValueView<'_>) -> Option<Recorded> {
    match view {
        ValueView::Empty => Some(Recorded::NotRecorded),
        ValueView::Str(text) if is_marker(text) => Some(Recorded::Redacted),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
