//! Attribute values and lists of attributes, as they stand in the bytes.
//!
//! A list or an array is no more than the bytes that hold it; its members are read when they are asked for. That cannot
//! fail for what [`check_pair`] has passed, and everything of a yielded view has been passed by it.

use std::fmt::Write;

use super::Reason;
use super::wire::{Fields, Payload, text};

/// Levels of nesting that [`ValueView::write_json`] writes. Above every sensible `depth_max`; it only protects the stack
/// from limits that are not sensible.
const JSON_DEPTH_MAX: usize = 256;

/// An attribute's value (OTLP `AnyValue`).
#[derive(Clone, Copy, Debug, Default)]
pub enum ValueView<'a> {
    /// No value is set, or one of a kind that is unknown.
    #[default]
    Empty,
    /// Text.
    Str(&'a str),
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number; may be infinite or not a number.
    Double(f64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Values in order.
    Array(ArrayView<'a>),
    /// Keys with values, in order; keys may repeat.
    Map(MapView<'a>),
}

/// A map value looks like a list of attributes.
pub type MapView<'a> = Attributes<'a>;

impl<'a> ValueView<'a> {
    /// Reads one encoded value over `before`, which an earlier occurrence of the same field has set: the last kind that
    /// occurs wins.
    #[inline]
    pub(super) fn read(message: &'a [u8], before: Self) -> Result<Self, Reason> {
        let mut value = before;
        for field in Fields::of(message) {
            value = match field? {
                (1, Payload::Bytes(bytes)) => Self::Str(text(bytes)?),
                (2, Payload::Varint(number)) => Self::Bool(number != 0),
                (3, Payload::Varint(number)) => Self::Int(number as i64),
                (4, Payload::Fixed64(bits)) => Self::Double(f64::from_bits(bits)),
                (5, Payload::Bytes(bytes)) if !matches!(value, Self::Array(_)) => {
                    Self::Array(ArrayView { message: bytes })
                }
                (6, Payload::Bytes(bytes)) if !matches!(value, Self::Map(_)) => {
                    Self::Map(Attributes::of(bytes, 1))
                }
                (7, Payload::Bytes(bytes)) => Self::Bytes(bytes),
                // An index into a table of texts, which only profiles have.
                (8, Payload::Varint(_)) => Self::Empty,
                (1..=8, _) => return Err(Reason::Malformed),
                _ => value,
            };
        }
        Ok(value)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Appends the value as JSON: bytes as base64 text, numbers that JSON cannot write and empty values as `null`,
    /// repeated keys as often as they occur.
    pub fn write_json(&self, out: &mut String) {
        self.write_nested(out, 1);
    }

    fn write_nested(&self, out: &mut String, depth: usize) {
        match *self {
            _ if depth > JSON_DEPTH_MAX => out.push_str("null"),
            Self::Str(text) => write_json_text(text, out),
            Self::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            Self::Int(number) => write!(out, "{number}").expect("a String takes everything"),
            Self::Double(number) if number.is_finite() => {
                write!(out, "{number:?}").expect("a String takes everything");
            }
            Self::Empty | Self::Double(_) => out.push_str("null"),
            Self::Bytes(bytes) => write_base64(bytes, out),
            Self::Array(array) => {
                out.push('[');
                for (index, value) in array.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    value.write_nested(out, depth + 1);
                }
                out.push(']');
            }
            Self::Map(map) => map.write_nested(out, depth),
        }
    }
}

/// The values of an array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayView<'a> {
    message: &'a [u8],
}

impl<'a> ArrayView<'a> {
    /// The values in order.
    #[must_use]
    pub fn iter(&self) -> Elements<'a> {
        Elements(Fields::of(self.message))
    }
}

impl<'a> IntoIterator for &ArrayView<'a> {
    type Item = ValueView<'a>;
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// Walks an array; see [`ArrayView::iter`].
#[derive(Clone, Debug)]
pub struct Elements<'a>(Fields<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = ValueView<'a>;

    fn next(&mut self) -> Option<ValueView<'a>> {
        loop {
            if let (1, Payload::Bytes(message)) = self.0.next()?.ok()? {
                return ValueView::read(message, ValueView::Empty).ok();
            }
        }
    }
}

/// A list of attributes: of a resource, span, event, link or log record, or the members of a map.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes<'a> {
    /// Whole fields of the message that holds the list; those of another number are not of the list.
    fields: &'a [u8],
    /// The list's field number in that message.
    number: u32,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(fields: &'a [u8], number: u32) -> Self {
        Self { fields, number }
    }

    /// The attributes in order; keys may repeat.
    #[must_use]
    pub fn iter(&self) -> Pairs<'a> {
        Pairs {
            fields: Fields::of(self.fields),
            number: self.number,
        }
    }

    /// The value of the first attribute of that name. Looks through the list anew each time, at a few nanoseconds an
    /// attribute.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<ValueView<'a>> {
        let mut pairs = self.iter();
        while let Some(message) = pairs.message() {
            if key_of(message) == Some(key.as_bytes()) {
                return read_pair(message).ok().map(|(_, value)| value);
            }
        }
        None
    }

    /// Appends the list as a JSON object, as [`ValueView::write_json`] does.
    pub fn write_json(&self, out: &mut String) {
        self.write_nested(out, 1);
    }

    fn write_nested(&self, out: &mut String, depth: usize) {
        out.push('{');
        for (index, (key, value)) in self.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            write_json_text(key, out);
            out.push(':');
            value.write_nested(out, depth + 1);
        }
        out.push('}');
    }
}

impl<'a> IntoIterator for &Attributes<'a> {
    type Item = (&'a str, ValueView<'a>);
    type IntoIter = Pairs<'a>;

    fn into_iter(self) -> Pairs<'a> {
        self.iter()
    }
}

/// Walks a list of attributes; see [`Attributes::iter`].
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    fields: Fields<'a>,
    number: u32,
}

impl<'a> Pairs<'a> {
    #[inline]
    fn message(&mut self) -> Option<&'a [u8]> {
        loop {
            match self.fields.next()?.ok()? {
                (number, Payload::Bytes(message)) if number == self.number => return Some(message),
                _ => {}
            }
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, ValueView<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        read_pair(self.message()?).ok()
    }
}

/// Reads an attribute completely, with everything nested in its value, so that later looks into it cannot fail.
/// `depth_left` is how many levels the value may have.
#[inline]
pub(super) fn check_pair(message: &[u8], depth_left: usize) -> Result<(), Reason> {
    let (_, value) = read_pair(message)?;
    check_value(value, depth_left)
}

/// The same for a value alone, whose own level has been read already.
#[inline]
pub(super) fn check_value(value: ValueView<'_>, depth_left: usize) -> Result<(), Reason> {
    match value {
        ValueView::Array(array) => check_members(array.message, false, depth_left),
        ValueView::Map(map) => check_members(map.fields, true, depth_left),
        _ => Ok(()),
    }
}

fn check_members(message: &[u8], are_pairs: bool, depth_left: usize) -> Result<(), Reason> {
    // The recursion ends here: each level of arrays and maps passes through this function once.
    let depth_left = depth_left.checked_sub(1).ok_or(Reason::TooDeep)?;
    if depth_left == 0 && !message.is_empty() {
        return Err(Reason::TooDeep);
    }
    for field in Fields::of(message) {
        match field? {
            (1, Payload::Bytes(member)) if are_pairs => check_pair(member, depth_left)?,
            (1, Payload::Bytes(member)) => {
                check_value(ValueView::read(member, ValueView::Empty)?, depth_left)?;
            }
            (1, _) => return Err(Reason::Malformed),
            _ => {}
        }
    }
    Ok(())
}

#[inline]
fn read_pair(message: &[u8]) -> Result<(&str, ValueView<'_>), Reason> {
    let mut key = "";
    let mut value = ValueView::Empty;
    for field in Fields::of(message) {
        match field? {
            (1, Payload::Bytes(bytes)) => key = text(bytes)?,
            (2, Payload::Bytes(bytes)) => value = ValueView::read(bytes, value)?,
            (1 | 2, _) => return Err(Reason::Malformed),
            _ => {}
        }
    }
    Ok((key, value))
}

/// The key alone, not checked for UTF-8: looking an attribute up must not read the values that it passes.
#[inline]
fn key_of(message: &[u8]) -> Option<&[u8]> {
    let mut key: &[u8] = b"";
    for field in Fields::of(message) {
        if let (1, Payload::Bytes(bytes)) = field.ok()? {
            key = bytes;
        }
    }
    Some(key)
}

fn write_json_text(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (index, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[written..index]);
        written = index + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => write!(out, "\\u{byte:04x}").expect("a String takes everything"),
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}

fn write_base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for chunk in bytes.chunks(3) {
        let byte = |index| chunk.get(index).map_or(0, |&byte: &u8| u32::from(byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit <= chunk.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    out.push('"');
}
