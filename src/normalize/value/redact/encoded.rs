//! Secrets in what is percent-encoded, as parameters of an address are, once or several times, or has letters, ends of lines and
//! colours as JSON and code write them (`\u0077`, `\n`).
//!
//! Only a text that has such a sign is walked again, as it reads decoded; what is found is hidden where it stands in the text.

use std::borrow::Cow;

use memchr::memchr2_iter;

use crate::engine::event::HIDDEN;

use super::{Walk, terminal};

/// The text without the secrets that are seen when it is decoded.
pub(super) fn hidden(text: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut signs = memchr2_iter(b'%', b'\\', bytes);
    if !signs.any(|at| sign(&bytes[at..]).1 > 1) {
        return text;
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = sign(&bytes[at..]);
        decoded.extend(byte);
        at += length;
    }
    let decoded = String::from_utf8(decoded).expect("ASCII alone is decoded");
    let mut clean = String::new();
    let mut copied = 0;
    let mut walk = Walk::over(&decoded);
    let mut place = Place::default();
    while let Some(secret) = walk.next_secret() {
        let start = place.of(bytes, secret.start).max(copied);
        let end = behind_blanks(bytes, place.of(bytes, secret.end));
        if end > copied {
            clean.push_str(&text[copied..start]);
            clean.push_str(HIDDEN);
            copied = end;
        }
    }
    if copied == 0 {
        return text;
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// A place in a text, and in what it reads decoded.
#[derive(Default)]
struct Place {
    at: usize,
    decoded: usize,
}

impl Place {
    /// Where a place of the decoded text, which lies behind the last one, is in the text.
    fn of(&mut self, bytes: &[u8], decoded: usize) -> usize {
        while self.decoded < decoded {
            let (byte, length) = sign(&bytes[self.at..]);
            self.at += length;
            self.decoded += usize::from(byte.is_some());
        }
        self.at
    }
}

/// What a letter outside of ASCII reads as: no part of a word, and no blank either.
const OTHER: u8 = 0x1a;

/// What stands first in a text that is not empty, nothing where that is a colour, and how many bytes it takes there.
fn sign(rest: &[u8]) -> (Option<u8>, usize) {
    let as_it_is = (Some(rest[0]), 1);
    match rest {
        [b'+', ..] => (Some(b' '), 1),
        [b'%', behind @ ..] => {
            // Encoded again, a `%` is `%25`.
            let digits = 1 + 2 * behind.chunks(2).take_while(|two| *two == b"25").count();
            let letter = code(rest, digits, 2).and_then(ascii);
            letter.map_or(as_it_is, |letter| (Some(letter), digits + 2))
        }
        [b'\\', behind @ ..] => match (terminal::written_length(rest), behind) {
            (0, [b'n' | b'r' | b't', ..]) => (Some(b' '), 2),
            (0, [b'u', ..]) => {
                let letter = code(rest, 2, 4).map(|code| ascii(code).unwrap_or(OTHER));
                letter.map_or(as_it_is, |letter| (Some(letter), 6))
            }
            (0, _) => as_it_is,
            (length, _) => (None, length),
        },
        _ => as_it_is,
    }
}

/// The number of a letter, in so many hexadecimal digits.
fn code(rest: &[u8], from: usize, digits: usize) -> Option<u32> {
    let mut digits = rest.get(from..from + digits)?.iter();
    digits.try_fold(0, |code, digit| {
        Some(code * 16 + char::from(*digit).to_digit(16)?)
    })
}

fn ascii(code: u32) -> Option<u8> {
    u8::try_from(code).ok().filter(u8::is_ascii)
}

/// Where a secret ends to which what follows a `+` belongs: whether that stands for a blank or for itself, is not known.
fn behind_blanks(bytes: &[u8], end: usize) -> usize {
    if bytes.get(end) != Some(&b'+') {
        return end;
    }
    let goes_on = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=._~-".contains(byte);
    end + bytes[end..].iter().take_while(goes_on).count()
}

#[cfg(test)]
mod tests {
    use super::super::text;

    /// Given secrets that are encoded, once or twice, as a whole or in part, they are hidden as they stand, and what is around
    /// them stays.
    #[test]
    fn encoded_secrets_are_hidden() {
        for (input, expected) in [
            (
                "https://a.b/cb?next=https%3A%2F%2Fc.d%2F%3Faccess_token%3Dabc123%26page%3D2&e=%20",
                "https://a.b/cb?next=https%3A%2F%2Fc.d%2F%3Faccess_token%3D[redacted]%26page%3D2&e=%20",
            ),
            (
                "?n=c%252F%253Ftoken%253Dabc%2526d",
                "?n=c%252F%253Ftoken%253D[redacted]%2526d",
            ),
            (
                "https://bob%3Ahunter%40db.example/x",
                "https://[redacted]/x",
            ),
            (
                "postgres%3A%2F%2Fapp%3Apw%40db%2Fx",
                "postgres%3A%2F%2F[redacted]%2Fx",
            ),
            ("mail bob%40example.com now", "mail [redacted] now"),
            (
                "-d 'u=b&p%61ssword=hunter&c=d'",
                "-d 'u=b&p%61ssword=[redacted]&c=d'",
            ),
            (
                "q=Authorization%3A+Bearer+abc1+d e",
                "q=Authorization%3A+Bearer+[redacted] e",
            ),
            (
                "?k=-----BEGIN+PRIVATE+KEY-----%0AMI%2BE%0A-----END+PRIVATE+KEY-----&a",
                "?k=[redacted]&a",
            ),
            (r"pass\u0077ord: hunter", r"pass\u0077ord: [redacted]"),
            (
                "password=%C3%BCx&ü=%C3%BC%40",
                "password=[redacted]&ü=%C3%BC%40",
            ),
            ("a=b%3Fpassword%3Dab%2Bc+d", "a=b%3Fpassword%3D[redacted]"),
            (
                r#"{"text":"a\nAKIAIOSFODNN7EXAMPLE\r\n"}"#,
                r#"{"text":"a\n[redacted]\r\n"}"#,
            ),
            (
                r#"["\u00a0AKIAIOSFODNN7EXAMPLE\u2003b"]"#,
                r#"["\u00a0[redacted]\u2003b"]"#,
            ),
            (
                r"a\\tmy password: hunter\nb",
                r"a\\tmy password: [redacted]\nb",
            ),
        ] {
            assert_eq!(text(input), expected, "redacting {input}");
        }
    }

    /// Given texts with signs of encoding and without secrets, they stay as they are.
    #[test]
    fn other_encoded_texts_stay() {
        for kept in [
            "100% of 5%, 50%25, %zz, %2, % and %",
            "https://a.b/?q=two%20words%3A+three%2Ffour&next_page=%2Fc%3Fd%3D2",
            r"caf\u00e9 \u00 \u0041bc",
            "printf '%5d %02x %-3s'",
        ] {
            assert_eq!(text(kept), kept);
        }
    }
}
