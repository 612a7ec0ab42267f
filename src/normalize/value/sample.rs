//! The short redacted text that an input keeps for similarity and for people.
//!
//! The digest's one pass writes the value here as it reads it: JSON without insignificant blanks, members in the order
//! of the document, each run of blanks within a text as one. A member whose value turns out to be nothing is taken
//! back. At the end the middle is cut out.

use std::fmt::Write;
use std::ops::Range;

use crate::engine::event::{HIDDEN, SAMPLE_BYTES_MAX, SAMPLE_CUT, SAMPLE_HEAD_BYTES, Text};

use super::member_name::{MemberName, Says};
use super::reader::READ_BYTES_MAX;
use super::scratch::Scratch;
use super::{redact, sketch, wide};

/// A sample being written.
#[derive(Default)]
pub(super) struct Sample {
    text: Scratch,
}

impl Sample {
    /// A place to come back to with [`Sample::take_back`].
    pub(super) fn place(&self) -> usize {
        self.text.len()
    }

    /// Forgets what was written after a place.
    pub(super) fn take_back(&mut self, place: usize) {
        self.text.truncate(place);
    }

    /// Takes out a member with the comma that parts it from another.
    pub(super) fn cut_out(&mut self, mut place: Range<usize>) {
        let bytes = self.text.as_bytes();
        if bytes.get(place.start) != Some(&b',') && bytes.get(place.end) == Some(&b',') {
            place.end += 1;
        }
        self.text.replace_range(place, "");
    }

    /// Writes a sign of JSON's own: a bracket, a comma, a number, `true`.
    pub(super) fn sign(&mut self, sign: &str) {
        self.text.push_str(sign);
    }

    /// Writes a whole number.
    pub(super) fn integer(&mut self, number: i128) {
        // Nearly every number has at most 64 bits, and writing those is much quicker.
        match i64::try_from(number) {
            Ok(number) => write!(self.text, "{number}"),
            Err(_) => write!(self.text, "{number}"),
        }
        .expect("a String takes everything");
    }

    /// Writes a member's name and its colon, redacted where it is no name but an address, encoded, or long enough for a key of a
    /// service.
    pub(super) fn key(&mut self, key: &str, name: MemberName) {
        if name.says(Says::Plain) {
            self.text.push('"');
            self.text.push_str(key);
            self.text.push_str("\":");
            return;
        }
        if is_name(key) {
            self.quoted(key);
        } else {
            self.quoted(&redact::text(key));
        }
        self.text.push(':');
    }

    /// Writes a text within JSON, redacted.
    pub(super) fn member_text(&mut self, text: &str) {
        self.quoted(&redact::text(text));
    }

    /// Writes a text that is the whole value, redacted and without quotes.
    pub(super) fn whole_text(&mut self, text: &str) {
        let clean = redact::text(text);
        for word in clean.split_whitespace() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
    }

    /// What was written since a place.
    pub(super) fn since(&self, place: usize) -> &str {
        &self.text[place..]
    }

    /// Hides what was written since a place.
    pub(super) fn hide(&mut self, place: usize) {
        self.text.truncate(place);
        self.quoted(HIDDEN);
    }

    /// Hides what was written at a place.
    pub(super) fn hide_within(&mut self, place: Range<usize>) {
        let hidden = format!("\"{HIDDEN}\"");
        self.text.replace_range(place, &hidden);
    }

    /// A sketch of what was written.
    pub(super) fn sketch(&self) -> u64 {
        sketch::of(&self.text).bits
    }

    /// The sample: whole when it is short, else its head and its tail.
    pub(super) fn finish(mut self) -> Text {
        if self.text.len() > SAMPLE_BYTES_MAX {
            let head = cut(&self.text, SAMPLE_HEAD_BYTES).len();
            let tail_bytes = SAMPLE_BYTES_MAX - SAMPLE_HEAD_BYTES - SAMPLE_CUT.len();
            let tail = self.text.ceil_char_boundary(self.text.len() - tail_bytes);
            self.text.replace_range(head..tail, SAMPLE_CUT);
        }
        self.text.as_str().into()
    }

    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        if is_plain(text.as_bytes()) {
            self.text.push_str(text);
        } else {
            self.escaped(text);
        }
        self.text.push('"');
    }

    fn escaped(&mut self, text: &str) {
        let mut after_blank = false;
        let mut rest = text;
        loop {
            let (ordinary, behind) =
                rest.split_at(wide::ordinary_end(rest.as_bytes(), after_blank));
            self.text.push_str(ordinary);
            after_blank = ordinary
                .bytes()
                .last()
                .map_or(after_blank, |byte| byte == b' ');
            let mut signs = behind.chars();
            let Some(sign) = signs.next() else {
                return;
            };
            rest = signs.as_str();
            let is_blank = sign.is_whitespace() || sign.is_control();
            if is_blank {
                if !after_blank {
                    self.text.push(' ');
                }
            } else {
                if matches!(sign, '"' | '\\') {
                    self.text.push('\\');
                }
                self.text.push(sign);
            }
            after_blank = is_blank;
        }
    }
}

/// Whether what stands where a member's name does is no address, nothing encoded, and too short for a key of a service.
#[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
fn is_name(key: &str) -> bool {
    let is_sign = |byte: u8| (byte == b'@') | (byte == b'%');
    key.len() < redact::KEY_BYTES_MIN && !wide::any(key.as_bytes(), is_sign)
}

/// Whether a member's name can stand in the sample as it is.
pub(super) fn is_plain_name(key: &str) -> bool {
    is_name(key) && is_plain(key.as_bytes())
}

/// Whether a text can stand in the sample as it is.
#[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
fn is_plain(bytes: &[u8]) -> bool {
    let is_odd = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    let is_run = |byte, next| (byte == b' ') & (next == b' ');
    !bytes.last().is_some_and(|last| is_odd(*last))
        && !wide::any_neighbours(bytes, |byte, next| is_odd(byte) | is_run(byte, next))
}

/// As much of a text as a sample looks at. What follows is left out of the sample, never shown unredacted.
pub(super) fn head(text: &str) -> &str {
    cut(text, READ_BYTES_MAX)
}

/// The start of a text, as much of it as fits in so many bytes without cutting a character in two.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a text longer than a sample may be, its head and tail are kept and no character is cut in two.
    #[test]
    fn long_texts_lose_their_middle() {
        let mut sample = Sample::default();
        sample.whole_text(&"äöü".repeat(200));
        let text = sample.finish();
        assert!(text.len() <= SAMPLE_BYTES_MAX);
        assert!(text.len() > SAMPLE_BYTES_MAX - 8);
        assert!(text.contains(SAMPLE_CUT));
    }

    /// Given blanks and quotes within a text, blanks become one and quotes stay JSON.
    #[test]
    fn member_texts_are_json() {
        let mut sample = Sample::default();
        sample.member_text("a \n\t b \"c\" d\\e");
        assert_eq!(&*sample.finish(), r#""a b \"c\" d\\e""#);
    }
}
