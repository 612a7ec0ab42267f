//! JSON text, handed to the digest's reader as it is read.
//!
//! Arguments and results are most of what a span carries, and reading them was most of what a span cost; hence a parser
//! of our own instead of serde's visitor. It does one thing only: one pass over the bytes, texts skipped many bytes at a
//! time and lent to the reader where they hold no escapes, nothing built. What is JSON is what `serde_json` takes for it,
//! which a test below holds against it; but a number with a fraction is always the nearest double.

use std::borrow::Cow;

use super::reader::Reader;
use super::scratch::{Scratch, Written};
use super::wide::plain_end;

/// How deep lists and objects may nest, as in `serde_json`: it bounds the stack.
const DEPTH_MAX: usize = 127;

/// What a text was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// One JSON value.
    Value,
    /// The beginning of a list or an object, which ends where more was to come.
    Beginning,
    /// Anything else.
    Other,
}

/// Reads one JSON value.
pub(super) fn read(text: &str, reader: &mut Reader<'_>) -> Found {
    let mut json = Json::of(text);
    match json.value(reader) {
        Some(()) if json.peek().is_none() => Found::Value,
        None if json.depth > 0 && json.at >= text.len() => Found::Beginning,
        _ => Found::Other,
    }
}

/// What a quoted text says; `None` where it is not one JSON text and nothing else.
pub(super) fn unquoted(text: &str) -> Option<Cow<'_, str>> {
    let mut json = Json::of(text);
    let inner = match json.text()? {
        Written::AsIs(text) => Cow::Borrowed(text),
        Written::Anew(text) => Cow::Owned(text.to_string()),
    };
    json.peek().is_none().then_some(inner)
}

/// A JSON text and how far it has been read.
struct Json<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Json<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    fn value(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        match self.peek()? {
            b'"' => match self.text()? {
                Written::AsIs(text) => reader.member_text(text),
                Written::Anew(text) => reader.member_text(&text),
            },
            b'{' => self.nested(|json| json.object(reader))?,
            b'[' => self.nested(|json| json.list(reader))?,
            b'-' | b'0'..=b'9' => self.number(reader)?,
            b't' => self.word("true").map(|()| reader.flag(true))?,
            b'f' => self.word("false").map(|()| reader.flag(false))?,
            b'n' => self.word("null").map(|()| reader.null())?,
            _ => return None,
        }
        Some(())
    }

    /// Steps over the opening sign of what nests and reads the rest, unless it lies too deep.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        read(self)?;
        self.depth -= 1;
        Some(())
    }

    fn list(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let mut list = reader.open_list();
        if !self.take(b']') {
            loop {
                self.value(reader)?;
                reader.add_item(&mut list);
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b']')?;
        }
        reader.close_list(&list);
        Some(())
    }

    fn object(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let mut map = reader.open_map();
        if !self.take(b'}') {
            loop {
                let key = self.text()?;
                let member = reader.next_member(&map, &key);
                self.expect(b':')?;
                self.value(reader)?;
                reader.add_member(&mut map, &key, member);
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b'}')?;
        }
        reader.close_map(&mut map);
        Some(())
    }

    /// A quoted text without its quotes and escapes.
    #[expect(
        clippy::inline_always,
        reason = "most texts are lent as they stand; where that is not known, each is passed through memory"
    )]
    #[inline(always)]
    fn text(&mut self) -> Option<Written<'t>> {
        self.expect(b'"')?;
        let start = self.at;
        self.at = plain_end(self.text.as_bytes(), start);
        if self.byte()? != b'"' {
            return self.escaped(start).map(Written::Anew);
        }
        self.at += 1;
        Some(Written::AsIs(&self.text[start..self.at - 1]))
    }

    /// The rest of a quoted text that is plain from `start` to here and then holds an escape.
    #[cold]
    fn escaped(&mut self, start: usize) -> Option<Scratch> {
        let mut text = Scratch::default();
        let mut start = start;
        loop {
            text.push_str(&self.text[start..self.at]);
            match self.byte()? {
                b'"' => break,
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
            start = self.at;
            self.at = plain_end(self.text.as_bytes(), start);
        }
        self.at += 1;
        Some(text)
    }

    fn escape(&mut self) -> Option<char> {
        self.at += 1;
        let letter = self.byte()?;
        self.at += 1;
        Some(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            _ => return None,
        })
    }

    /// The character of a `\u` escape, or of two of them that are the halves of one.
    fn code_point(&mut self) -> Option<char> {
        let unit = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        self.word("\\u")?;
        let low = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10 | (low - 0xdc00)))
    }

    fn four_digits(&mut self) -> Option<u32> {
        let from = self.at;
        self.at += 4;
        let digits = self.text.as_bytes().get(from..self.at)?;
        digits.iter().try_fold(0, |number, digit| {
            Some(number << 4 | char::from(*digit).to_digit(16)?)
        })
    }

    fn number(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let start = self.at;
        let is_negative = self.byte() == Some(b'-');
        self.at += usize::from(is_negative);
        let digits = self.digits()?;
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        if !matches!(self.byte(), Some(b'.' | b'e' | b'E'))
            && let Some(number) = integer(digits, is_negative)
        {
            reader.integer(number);
            return Some(());
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let written = &self.text[start..self.at];
        let number: f64 = written.parse().ok()?;
        let shortest = if is_shortest(written) { written } else { "" };
        number.is_finite().then(|| reader.float(number, shortest))
    }

    /// At least one decimal digit.
    fn digits(&mut self) -> Option<&'t str> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then(|| &self.text[start..self.at])
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += word.len();
        rest.starts_with(word.as_bytes()).then_some(())
    }

    fn expect(&mut self, sign: u8) -> Option<()> {
        self.take(sign).then_some(())
    }

    /// Steps over a sign, and blanks before it, if it is what comes next.
    fn take(&mut self, sign: u8) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// The next byte that is not blank.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Whether a float that is no whole number is written as shortly as can be: with a point and no more digits than every float
/// holds, of which the last is no zero. Writing it anew costs more than reading it.
fn is_shortest(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    let is_sign = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    digits.len() <= f64::DIGITS as usize + 1
        && !digits.starts_with("0.000")
        && digits.bytes().all(is_sign)
        && digits.contains('.')
        && !digits.ends_with(['0', '.'])
}

/// A whole number, if 64 bits hold it.
fn integer(digits: &str, is_negative: bool) -> Option<i128> {
    let magnitude = i128::from(digits.parse::<u64>().ok()?);
    if !is_negative {
        return Some(magnitude);
    }
    i64::try_from(-magnitude).ok().map(i128::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::engine::policy::ToolSettings;

    /// Reading a text says whether it is JSON, as `serde_json` does, and a quoted text says the same in both.
    #[track_caller]
    fn check(text: &str) {
        let expected = serde_json::from_str::<Value>(text);
        let found = read(text, &mut Reader::for_output(&ToolSettings::PLAIN));
        assert_eq!(found == Found::Value, expected.is_ok(), "{text}");
        let ends_early = expected.is_err_and(|error| error.is_eof())
            && text.trim_start().starts_with(['[', '{']);
        assert!(!ends_early || found == Found::Beginning, "{text}");
        let expected = serde_json::from_str::<String>(text).ok();
        assert_eq!(unquoted(text).as_deref(), expected.as_deref(), "{text}");
    }

    #[test]
    fn json_is_what_serde_takes_for_it() {
        for text in [
            "",
            " ",
            "0",
            "-0",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "1.5e3",
            "1e",
            "1e+",
            "1E-2",
            "1e400",
            "+1",
            "0x1",
            "18446744073709551616",
            "-9223372036854775809",
            "99999999999999999999999999",
            "true",
            "tru",
            "truex",
            "null",
            "[]",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1]]",
            "{}",
            "{",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1 "b":2}"#,
            r"{a:1}",
            r"{1:1}",
            r#"{"a":1}x"#,
            r#"{"a" : 1} "#,
            "\"",
            "\"a",
            "\"\n\"",
            "\"\u{7f}\"",
            r#""\""#,
            r#""\\""#,
            r#""\x""#,
            r#""\u12""#,
            r#""\u+123""#,
            r#""\u00e9""#,
            r#""\ud83d\ude00""#,
            r#""\ud83d""#,
            r#""\ude00""#,
            r#""\ud83d\u0041""#,
            r#""\ud83dx""#,
            r#""\b\f\n\r\t\/\"\\""#,
            r#""é\né""#,
            r#""\é""#,
            r#""\u00é""#,
        ] {
            check(text);
        }
    }

    /// Given lists and objects that nest as deep as may be and deeper, both draw the line at the same depth.
    #[test]
    fn nesting_ends_where_serde_ends_it() {
        for depth in [126, 127, 128, 129] {
            check(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
            check(&format!(
                "{}1{}",
                "{\"a\":".repeat(depth),
                "}".repeat(depth)
            ));
        }
    }

    /// Given floats, those that are known to be written shortly are so as they would be written anew.
    #[test]
    fn shortest_floats_are_known() {
        for text in [
            "1.25",
            "-0.5",
            "0.001",
            "123456789012.345",
            "9007199254740.5",
            "0.3000000000001",
            "-12.3",
        ] {
            assert!(is_shortest(text), "{text}");
            assert_eq!(format!("{:?}", text.parse::<f64>().expect("a float")), text);
        }
        for text in [
            "1.0",
            "1.50",
            "1e2",
            "1.5e-7",
            "0.00001",
            "1234567890123.456",
            "0.1000000000000000055",
            "12",
            "",
        ] {
            assert!(!is_shortest(text), "{text}");
        }
    }

    proptest! {
        /// Given signs of JSON in any order, both take the same for JSON.
        #[test]
        fn any_signs_are_read_alike(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\\", "\"a\"", "\"\\u00e9\"", "\\ud83d", "1", "-", "0", ".5", "e3", "true",
                    "null", " ", "\n", "é", "\"k\":", "\"a long text that fills a stride \"",
                ]),
                0..12,
            ),
        ) {
            check(&parts.concat());
        }

        /// Given any value as serde writes it, in one line or many, it is JSON; with a piece cut out, both say the same.
        #[test]
        fn what_serde_writes_is_read(
            texts in prop::collection::vec(".{0,40}", 1..5), float in any::<f64>(), whole in any::<i64>(), cut in 0..200_usize,
        ) {
            let value = serde_json::json!({"texts": texts, "numbers": [float, whole], "inner": {"a": [[], {}]}});
            for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("a value is JSON")] {
                check(&text);
                let without: String = text.chars().enumerate().filter(|(at, _)| *at != cut).map(|(_, sign)| sign).collect();
                check(&without);
            }
            let text = serde_json::to_string(&texts[0]).expect("a text is JSON");
            check(&text);
        }
    }
}
