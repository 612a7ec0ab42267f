//! Attribute values and lists of attributes, as they stand in the bytes.
//!
//! A list or an array is no more than the bytes that hold it; its members are read when they are asked for. That cannot
//! fail for what [`Raw::check`] has passed, and everything of a yielded view has been passed by it.
#![expect(
    clippy::inline_always,
    reason = "most attributes are texts; where that is not known, each is passed through memory"
)]

use std::fmt::Write;
use std::iter;

use super::Reason;
use super::wire::{Fields, Payload, check_text, text};

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
    /// Keys with values, in order, as in a list of attributes; keys may repeat.
    Map(Attributes<'a>),
}

impl<'a> ValueView<'a> {
    /// Shows a value that has been checked.
    #[inline]
    pub(super) fn of(raw: Raw<'a>) -> Option<Self> {
        Some(match raw {
            Raw::Empty => Self::Empty,
            Raw::Text(bytes) => Self::Str(text(bytes).ok()?),
            Raw::Bool(value) => Self::Bool(value),
            Raw::Int(number) => Self::Int(number),
            Raw::Double(number) => Self::Double(number),
            Raw::Bytes(bytes) => Self::Bytes(bytes),
            Raw::Array(message) => Self::Array(ArrayView { message }),
            Raw::Map(message) => Self::Map(Attributes::of(message, 1)),
        })
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
                return ValueView::of(Raw::read(message, Raw::Empty).ok()?);
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
                return ValueView::of(read_pair(message).ok()?.1);
            }
        }
        None
    }

    /// The attributes whose keys `pick` knows, in order, each with what it says of its key. Values of other keys are
    /// passed over unread. Keys come as bytes, which are UTF-8.
    pub fn picked<T>(
        &self,
        pick: impl Fn(&'a [u8]) -> Option<T>,
    ) -> impl Iterator<Item = (T, ValueView<'a>)> {
        let mut pairs = self.iter();
        iter::from_fn(move || {
            loop {
                let (key, value) = read_pair(pairs.message()?).ok()?;
                if let Some(picked) = pick(key) {
                    return Some((picked, ValueView::of(value)?));
                }
            }
        })
    }

    /// Whether both are the same bytes of the same request, as the resources of neighbouring items are.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.fields, other.fields)
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
        let (key, value) = read_pair(self.message()?).ok()?;
        Some((text(key).ok()?, ValueView::of(value)?))
    }
}

/// A value as it is encoded, with texts not yet checked and members not yet looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    Empty,
    Text(&'a [u8]),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(&'a [u8]),
    Array(&'a [u8]),
    Map(&'a [u8]),
}

impl<'a> Raw<'a> {
    /// Reads one encoded value over `before`, which an earlier occurrence of the same field has set: the last kind that
    /// occurs wins.
    #[inline]
    pub(super) fn read(message: &'a [u8], before: Self) -> Result<Self, Reason> {
        let mut value = before;
        for field in Fields::of(message) {
            value = match field? {
                (1, Payload::Bytes(bytes)) => Self::Text(bytes),
                (2, Payload::Varint(number)) => Self::Bool(number != 0),
                (3, Payload::Varint(number)) => Self::Int(number as i64),
                (4, Payload::Fixed64(bits)) => Self::Double(f64::from_bits(bits)),
                (5, Payload::Bytes(bytes)) if !matches!(value, Self::Array(_)) => {
                    Self::Array(bytes)
                }
                (6, Payload::Bytes(bytes)) if !matches!(value, Self::Map(_)) => Self::Map(bytes),
                (7, Payload::Bytes(bytes)) => Self::Bytes(bytes),
                // An index into a table of texts, which only profiles have.
                (8, Payload::Varint(_)) => Self::Empty,
                (1..=8, _) => return Err(Reason::Malformed),
                _ => value,
            };
        }
        Ok(value)
    }

    /// Reads the value completely, with everything nested in it, so that later looks into it cannot fail. `depth_left`
    /// is how many levels it may have.
    #[inline]
    pub(super) fn check(self, depth_left: usize) -> Result<(), Reason> {
        match self {
            Self::Text(bytes) => check_text(bytes),
            Self::Array(message) => check_members(message, false, depth_left),
            Self::Map(message) => check_members(message, true, depth_left),
            _ => Ok(()),
        }
    }

    /// Reads the value completely, as [`Raw::check`] does, and shows it.
    #[inline]
    pub(super) fn view(self, depth_left: usize) -> Result<ValueView<'a>, Reason> {
        if let Self::Text(bytes) = self {
            return text(bytes).map(ValueView::Str);
        }
        self.check(depth_left)?;
        ValueView::of(self).ok_or(Reason::Malformed)
    }
}

/// Reads an attribute completely; see [`Raw::check`].
#[inline]
pub(super) fn check_pair(message: &[u8], depth_left: usize) -> Result<(), Reason> {
    let (key, value) = read_pair(message)?;
    check_text(key)?;
    value.check(depth_left)
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
            (1, Payload::Bytes(member)) => Raw::read(member, Raw::Empty)?.check(depth_left)?,
            (1, _) => return Err(Reason::Malformed),
            _ => {}
        }
    }
    Ok(())
}

/// Key and value of an attribute, not checked.
#[inline(always)]
pub(super) fn read_pair(message: &[u8]) -> Result<(&[u8], Raw<'_>), Reason> {
    match text_pair(message) {
        Some((key, text)) => Ok((key, Raw::Text(text))),
        None => read_any_pair(message),
    }
}

/// The same of an attribute of any kind.
#[inline(never)]
fn read_any_pair(message: &[u8]) -> Result<(&[u8], Raw<'_>), Reason> {
    let mut key: &[u8] = b"";
    let mut value = Raw::Empty;
    for field in Fields::of(message) {
        match field? {
            (1, Payload::Bytes(bytes)) => key = bytes,
            (2, Payload::Bytes(bytes)) => value = Raw::read(bytes, value)?,
            (1 | 2, _) => return Err(Reason::Malformed),
            _ => {}
        }
    }
    Ok((key, value))
}

/// Key and text of an attribute that is written as nearly all are: a short key, then a text, and nothing else. What looks
/// any different is left to [`read_any_pair`], which gives the same for these and costs twice as much.
#[inline]
fn text_pair(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let [0x0a, key_bytes @ ..0x80, rest @ ..] = message else {
        return None;
    };
    let (key, rest) = rest.split_at_checked(usize::from(*key_bytes))?;
    let value = rest_of(0x12, rest)?;
    Some((key, rest_of(0x0a, value)?))
}

/// The payload of a length-delimited field of that tag which takes up all the bytes, its length being one or two bytes.
#[inline]
fn rest_of(tag: u8, bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = match bytes {
        [found, low @ ..0x80, rest @ ..] if *found == tag => (usize::from(*low), rest),
        [found, low, high @ ..0x80, rest @ ..] if *found == tag => {
            (usize::from(*low & 0x7f) | usize::from(*high) << 7, rest)
        }
        _ => return None,
    };
    (rest.len() == length).then_some(rest)
}

/// The key alone, not checked for UTF-8: looking an attribute up must not read the values that it passes.
#[inline]
fn key_of(message: &[u8]) -> Option<&[u8]> {
    if let Some((key, _)) = text_pair(message) {
        return Some(key);
    }
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

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
    use prost::Message;

    use super::*;

    fn any(value: Option<Value>) -> AnyValue {
        AnyValue { value }
    }

    fn map(members: &[(&str, Option<Value>)]) -> Value {
        let pair = |(key, value): &(&str, Option<Value>)| KeyValue {
            key: (*key).into(),
            value: Some(any(value.clone())),
            key_strindex: 0,
        };
        let values = members.iter().map(pair).collect();
        Value::KvlistValue(KeyValueList { values })
    }

    fn read(message: &[u8]) -> Result<ValueView<'_>, Reason> {
        let raw = Raw::read(message, Raw::Empty)?;
        raw.check(64)?;
        Ok(ValueView::of(raw).expect("checked"))
    }

    fn check(value: Option<Value>, expected: &str) {
        let message = any(value).encode_to_vec();
        let mut json = String::new();
        let view = read(&message).expect("encoded by prost");
        view.write_json(&mut json);
        assert_eq!(json, expected);
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    }

    /// Given a value of each kind, its JSON is what a reader of JSON expects.
    #[test]
    fn values_are_written_as_json() {
        check(None, "null");
        check(
            Some(Value::StringValue("a\"b\\c\n\u{1}é".into())),
            r#""a\"b\\c\n\u0001é""#,
        );
        check(Some(Value::BoolValue(true)), "true");
        check(Some(Value::IntValue(i64::MIN)), "-9223372036854775808");
        check(Some(Value::DoubleValue(1.5)), "1.5");
        check(Some(Value::DoubleValue(1e300)), "1e300");
        check(Some(Value::DoubleValue(f64::NAN)), "null");
        check(Some(Value::BytesValue(b"M".to_vec())), r#""TQ==""#);
        check(Some(Value::BytesValue(b"Ma".to_vec())), r#""TWE=""#);
        check(
            Some(Value::BytesValue(b"Man\xff".to_vec())),
            r#""TWFu/w==""#,
        );
        check(Some(Value::BytesValue(Vec::new())), r#""""#);
        let values = vec![any(Some(Value::IntValue(1))), any(None)];
        let array = Value::ArrayValue(ArrayValue { values });
        let members = map(&[("a", Some(array)), ("b", Some(map(&[]))), ("b", None)]);
        check(Some(members), r#"{"a":[1,null],"b":{},"b":null}"#);
    }

    /// Given a key that occurs twice, the first is found; one that does not occur is not.
    #[test]
    fn the_first_of_a_key_is_found() {
        let members = map(&[
            ("k", Some(Value::IntValue(1))),
            ("k", Some(Value::IntValue(2))),
        ]);
        let message = any(Some(members)).encode_to_vec();
        let Ok(ValueView::Map(map)) = read(&message) else {
            panic!("not a map");
        };
        assert!(matches!(map.find("k"), Some(ValueView::Int(1))));
        assert!(map.find("").is_none());
    }

    /// Given an array spread over two occurrences, which protobuf would merge, the value is refused; a kind that
    /// replaces another is not.
    #[test]
    fn values_are_replaced_but_not_merged() {
        let array = any(Some(Value::ArrayValue(ArrayValue::default()))).encode_to_vec();
        let text = any(Some(Value::StringValue("t".into()))).encode_to_vec();
        let is_text = |parts: &[&[u8]]| {
            let message = parts.concat();
            read(&message).map(|value| value.as_str().is_some())
        };
        assert_eq!(is_text(&[&array, &array]), Err(Reason::Malformed));
        assert_eq!(is_text(&[&array, &text, &array]), Ok(false));
        assert_eq!(is_text(&[&array, &text]), Ok(true));
    }
}
