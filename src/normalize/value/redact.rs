//! Takes secrets out of text before it may be kept or shown.
//!
//! Two signs tell a secret: the name it stands under (`password`, `api_key`), and its own look (`sk-…`, a JWT, a PEM
//! block, a card number that passes its check). Only samples and error texts pass here; fingerprints are hashes of the
//! true value and cannot be turned back. When in doubt a text is hidden: a sample that says less only makes two calls
//! look a little more alike.

use std::borrow::Cow;
use std::ops::Range;

use super::wide;

/// What stands in place of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// Names are looked at without separators and case, up to this many letters; no secret is named at greater length.
const KEY_BYTES_MAX: usize = 64;

/// No secret is named in fewer letters.
const KEY_BYTES_MIN: usize = 3;

/// A name that holds one of these names a secret.
const SECRET_PARTS: [&[u8]; 13] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"secret",
    b"apikey",
    b"accesskey",
    b"privatekey",
    b"signingkey",
    b"authorization",
    b"credential",
    b"cookie",
    b"cardnumber",
    b"connectionstring",
];

/// A name that is one of these names a secret.
const SECRET_NAMES: [&[u8]; 8] = [
    b"auth", b"pwd", b"pass", b"bearer", b"cvv", b"cvc", b"ssn", b"jwt",
];

/// A name that ends in `token` names a secret unless it holds one of these: those page through results or count.
const HARMLESS_TOKENS: [&[u8]; 9] = [
    b"page",
    b"next",
    b"continuation",
    b"sync",
    b"cursor",
    b"start",
    b"stop",
    b"pad",
    b"max",
];

/// How keys of well-known services begin, and how many letters follow at least.
const KEY_PREFIXES: [(&str, usize); 16] = [
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
];

/// Whether a member of this name holds a secret, however the name is written: `apiKey`, `API-KEY`, `x_api_key`.
pub(super) fn is_secret_key(key: &str) -> bool {
    if key.len() < KEY_BYTES_MIN || !may_be_secret(key) {
        return false;
    }
    let mut letters = [0; KEY_BYTES_MAX];
    let mut count = 0;
    for byte in key.bytes().filter(u8::is_ascii_alphanumeric) {
        if count == KEY_BYTES_MAX {
            break;
        }
        letters[count] = byte.to_ascii_lowercase();
        count += 1;
    }
    let name = &letters[..count];
    SECRET_NAMES.contains(&name)
        || SECRET_PARTS.iter().any(|part| holds(name, part))
        || (name.ends_with(b"token") && !HARMLESS_TOKENS.iter().any(|part| holds(name, part)))
}

/// Whether a name has all letters of some part or name of a secret, wherever they stand. Nearly every name lacks one of
/// each and is spared the search. No early end: that way it compiles to wide instructions.
fn may_be_secret(key: &str) -> bool {
    let in_key = letter_set(key.as_bytes());
    let lacking = SECRET_LETTERS.iter().map(|letters| letters & !in_key);
    lacking.fold(u32::MAX, u32::min) == 0
}

/// The letters that occur in a name, a bit each, whatever their case.
const fn letter_set(name: &[u8]) -> u32 {
    let mut set = 0;
    let mut at = 0;
    while at < name.len() {
        if name[at].is_ascii_alphabetic() {
            set |= 1 << (name[at].to_ascii_lowercase() - b'a');
        }
        at += 1;
    }
    set
}

/// The letters of each of [`SECRET_PARTS`] and [`SECRET_NAMES`], and of `token`.
static SECRET_LETTERS: [u32; SECRET_PARTS.len() + SECRET_NAMES.len() + 1] = secret_letters();

const fn secret_letters() -> [u32; SECRET_PARTS.len() + SECRET_NAMES.len() + 1] {
    let mut letters = [letter_set(b"token"); SECRET_PARTS.len() + SECRET_NAMES.len() + 1];
    let mut at = 0;
    while at < SECRET_PARTS.len() {
        letters[at] = letter_set(SECRET_PARTS[at]);
        at += 1;
    }
    while at < SECRET_PARTS.len() + SECRET_NAMES.len() {
        letters[at] = letter_set(SECRET_NAMES[at - SECRET_PARTS.len()]);
        at += 1;
    }
    letters
}

fn holds(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

/// The text with its secrets replaced; borrowed where there are none.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if !may_hold_secret(bytes) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    // Where the present run of words joined by hyphens began: `x-api-key` is one name.
    let mut name_start = 0;
    while at < bytes.len() {
        let start = at;
        let secret = match bytes[at] {
            byte if is_word(byte) => {
                at += word_length(&bytes[at..]);
                secret_word(bytes, name_start, start..at)
            }
            b'-' => {
                at += 1;
                pem(text, start)
            }
            byte => {
                at += 1;
                name_start = at;
                (byte == b'@')
                    .then(|| email(bytes, start, copied))
                    .flatten()
            }
        };
        if let Some(secret) = secret {
            clean.push_str(&text[copied..secret.from]);
            clean.push_str(REDACTED);
            copied = secret.to;
            at = secret.to;
            name_start = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Whether a text has any of the signs that secrets have: nearly all of them hold a digit, `-` or `_`, the others follow a
/// `:` or `=`, surround an `@`, or are keys of providers that begin with `A` and have an `I` soon after.
#[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
fn may_hold_secret(text: &[u8]) -> bool {
    let is_one =
        |byte: u8, signs: &[u8]| signs.iter().fold(false, |any, sign| any | (byte == *sign));
    let is_sign = |byte: u8| (byte.wrapping_sub(b'0') <= b':' - b'0') | is_one(byte, b"-_=@I");
    wide::any(text, is_sign)
}

/// A stretch of text to hide.
struct Secret {
    from: usize,
    to: usize,
}

/// Which bytes belong to words: letters, digits and `_`.
static IN_WORD: [bool; 256] = in_word();

const fn in_word() -> [bool; 256] {
    let mut in_word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        in_word[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    in_word
}

#[inline]
fn is_word(byte: u8) -> bool {
    IN_WORD[usize::from(byte)]
}

#[inline]
fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_word(**byte)).count()
}

/// The secret told by a word: itself, or what follows it.
#[inline]
fn secret_word(bytes: &[u8], name_start: usize, word: Range<usize>) -> Option<Secret> {
    // The first letter and the sign behind it spare almost every word a closer look.
    match bytes[word.start] {
        b'0'..=b'9' => return card(bytes, word.start),
        first if may_begin_key(first, bytes.get(word.start + 1)) => {
            if let Some(secret) = known_key(bytes, word.start) {
                return Some(secret);
            }
        }
        b'e' if bytes[word.start..].starts_with(b"eyJ") => return web_token(bytes, word.start),
        b'b' | b'B' if is_scheme(&bytes[word.clone()]) => {
            return credentials(bytes, skip(bytes, word.end, b" "));
        }
        _ => {}
    }
    let follows = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
    let is_flag = bytes[name_start..].starts_with(b"--");
    // Most words are followed by a blank and another word.
    let is_named = follows(word.end, b"=:\"'\\")
        || (follows(word.end, b" ") && (is_flag || follows(word.end + 1, b"=: \"'\\")));
    is_named
        .then(|| assignment(bytes, name_start..word.end))
        .flatten()
}

/// Whether one of [`KEY_PREFIXES`] may begin with these two letters.
#[inline]
fn may_begin_key(first: u8, second: Option<&u8>) -> bool {
    matches!(
        (first, second),
        (b's' | b'r', Some(b'k'))
            | (b'g', Some(b'h' | b'i' | b'l'))
            | (b'x', Some(b'o'))
            | (b'A', Some(b'K' | b'S' | b'I'))
    )
}

/// A key of a well-known service.
fn known_key(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at..];
    let (prefix, least) = KEY_PREFIXES
        .iter()
        .find(|(prefix, _)| rest.starts_with(prefix.as_bytes()))?;
    let letters = rest[prefix.len()..]
        .iter()
        .take_while(|byte| is_word(**byte) || **byte == b'-')
        .count();
    (letters >= *least).then_some(Secret {
        from: at,
        to: at + prefix.len() + letters,
    })
}

/// A JSON web token: stretches of base64 with dots between, the first beginning with `{"` in base64.
fn web_token(bytes: &[u8], at: usize) -> Option<Secret> {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| is_word(**byte) || matches!(byte, b'-' | b'.' | b'='))
        .count();
    let has_parts = bytes[at..at + length].contains(&b'.');
    (has_parts && length >= 20).then_some(Secret {
        from: at,
        to: at + length,
    })
}

/// What follows the name of a secret: `password=…`, `"api_key": "…"`, `--token …`.
fn assignment(bytes: &[u8], name: Range<usize>) -> Option<Secret> {
    let sign = skip(bytes, name.end, b" \"'\\");
    let is_flag = bytes[name.clone()].starts_with(b"--");
    let from = match bytes.get(sign) {
        Some(b'=' | b':') => skip(bytes, sign + 1, b" \"'\\"),
        _ if is_flag => sign,
        _ => return None,
    };
    if !std::str::from_utf8(&bytes[name]).is_ok_and(is_secret_key) {
        return None;
    }
    let value = &bytes[from..from + token_length(&bytes[from..])];
    if value.is_empty() || is_scheme(value) {
        // After a scheme (`Authorization: Bearer …`) the scheme's own turn comes next.
        return None;
    }
    Some(Secret {
        from,
        to: from + value.len(),
    })
}

fn is_scheme(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"bearer") || word.eq_ignore_ascii_case(b"basic")
}

/// The credentials after a scheme's name. Prose has those words too, so that a digit is asked for and some length.
fn credentials(bytes: &[u8], from: usize) -> Option<Secret> {
    let to = from + token_length(&bytes[from..]);
    let value = &bytes[from..to];
    (value.len() >= 8 && value.iter().any(u8::is_ascii_digit)).then_some(Secret { from, to })
}

fn token_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| {
            !byte.is_ascii_whitespace()
                && !matches!(
                    byte,
                    b'"' | b'\'' | b'&' | b',' | b';' | b')' | b'}' | b'\\'
                )
        })
        .count()
}

fn skip(bytes: &[u8], from: usize, signs: &[u8]) -> usize {
    let count = bytes[from..]
        .iter()
        .take_while(|byte| signs.contains(byte))
        .count();
    from + count
}

/// A PEM block, to its last line or, where that is missing, to the end of the text.
fn pem(text: &str, at: usize) -> Option<Secret> {
    let rest = &text[at..];
    if !rest.starts_with("-----BEGIN ") {
        return None;
    }
    let length = rest
        .find("-----END ")
        .and_then(|end| Some(end + 9 + rest[end + 9..].find("-----")? + 5));
    Some(Secret {
        from: at,
        to: at + length.unwrap_or(rest.len()),
    })
}

/// An e-mail address around an `@`, or the password of an address such as `https://user:password@host`.
fn email(bytes: &[u8], at: usize, floor: usize) -> Option<Secret> {
    let local = bytes[floor..at]
        .iter()
        .rev()
        .take_while(|byte| is_word(**byte) || matches!(byte, b'.' | b'+' | b'-' | b'%' | b':'))
        .count();
    let domain = bytes[at + 1..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
        .count();
    let has_dot = bytes[at + 1..at + 1 + domain]
        .iter()
        .skip(1)
        .any(|byte| *byte == b'.');
    let has_colon = bytes[at - local..at].contains(&b':');
    let full_stop = usize::from(bytes[at + domain] == b'.');
    (local > 0 && domain > 0 && (has_dot || has_colon)).then_some(Secret {
        from: at - local,
        to: at + 1 + domain - full_stop,
    })
}

/// A payment card's number: 13 to 19 digits, in groups or not, whose check digit is right (Luhn).
fn card(bytes: &[u8], at: usize) -> Option<Secret> {
    let mut digits = [0; 19];
    let mut count = 0;
    let mut to = at;
    for (offset, byte) in bytes[at..].iter().enumerate() {
        match byte {
            b'0'..=b'9' if count == digits.len() => return None,
            b'0'..=b'9' => {
                digits[count] = byte - b'0';
                count += 1;
                to = at + offset + 1;
            }
            b' ' | b'-' if to == at + offset => {}
            _ => break,
        }
    }
    if count < 13 || bytes.get(to).copied().is_some_and(is_word) {
        return None;
    }
    let sum: u32 = digits[..count]
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| luhn(place, u32::from(*digit)))
        .sum();
    // Cards begin with 2 to 6; epoch milliseconds begin with 1.
    (sum.is_multiple_of(10) && (2..=6).contains(&digits[0])).then_some(Secret { from: at, to })
}

fn luhn(place_from_end: usize, digit: u32) -> u32 {
    if place_from_end.is_multiple_of(2) {
        return digit;
    }
    let double = digit * 2;
    if double > 9 { double - 9 } else { double }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(text(input), expected, "redacting {input:?}");
    }

    /// Given names in any spelling, those of secrets are known and those of counts and pages are not.
    #[test]
    fn names_of_secrets() {
        for secret in [
            "password",
            "DB_PASSWORD",
            "apiKey",
            "x-api-key",
            "client_secret",
            "Authorization",
            "Set-Cookie",
            "token",
            "access_token",
            "refreshToken",
            "privateKey",
            "aws_credentials",
        ] {
            assert!(is_secret_key(secret), "{secret} names a secret");
        }
        for harmless in [
            "query",
            "path",
            "max_tokens",
            "page_token",
            "nextPageToken",
            "tokens",
            "author",
            "passenger",
            "key",
            "",
        ] {
            assert!(!is_secret_key(harmless), "{harmless} names no secret");
        }
    }

    /// Given keys of well-known services anywhere in a text, they are hidden.
    #[test]
    fn keys_are_hidden() {
        check("use sk-abcdefghijklmnop1234 now", "use [redacted] now");
        check("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]");
        check("AKIAIOSFODNN7EXAMPLE;", "[redacted];");
        check("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]");
        check(
            "curl -H 'Authorization: Bearer abcdef123456' x",
            "curl -H 'Authorization: Bearer [redacted]' x",
        );
        check("Bearer abcdef123456", "Bearer [redacted]");
        check(
            "export API_KEY=abc123 && run",
            "export API_KEY=[redacted] && run",
        );
        check("login --password hunter2", "login --password [redacted]");
        check("\"token\": \"abc\"", "\"token\": \"[redacted]\"");
        check(
            "a\n-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nb",
            "a\n[redacted]\nb",
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]");
    }

    /// Given addresses and card numbers, they are hidden; a number that fails the check stays.
    #[test]
    fn persons_are_hidden() {
        check("mail a.b+c@example.com.", "mail [redacted].");
        check("postgres://app:pw1@db/x", "postgres://[redacted]/x");
        check("card 4111 1111 1111 1111 ok", "card [redacted] ok");
        check("4111111111111111", "[redacted]");
        check("4111111111111112", "4111111111111112");
        check("1795294538329", "1795294538329");
    }

    /// Given ordinary text, it stays as it is.
    #[test]
    fn ordinary_text_stays() {
        for kept in [
            "",
            "SELECT id, total FROM orders WHERE state = 'open'",
            "sk-short",
            "@handle and a - b -- c",
            "--- a/file +++ b/file",
            "token economy: a study",
            "the bearer of news",
            "max_tokens: 500",
            "ünïcödé @ 5",
        ] {
            check(kept, kept);
        }
    }
}
