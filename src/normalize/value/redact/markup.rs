//! Secrets of markup and of pairs: `<password>…</password>`, and `value="…"` beside `name="password"`.

use std::ops::Range;

use super::super::digest::VALUE_NAMES;
use super::named::COMMAND_BYTES_MAX;
use super::{is_word, names, word_length};

/// The value of an element: `<password>…</password>`.
pub(super) fn element(bytes: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    if !is_opened(bytes, name) || !names::is_secret(&bytes[name.clone()]) {
        return None;
    }
    content(bytes, name.end + 1)
}

/// The value of an element with attributes: `<password type="text">…</password>`.
pub(super) fn with_attributes(bytes: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    if !is_opened(bytes, name) || !names::is_secret(&bytes[name.clone()]) {
        return None;
    }
    let attributes = bytes[name.end..].iter().take(COMMAND_BYTES_MAX);
    let mut signs = attributes.enumerate();
    let (length, sign) = signs.find(|(_, byte)| b"<>".contains(byte))?;
    let is_whole = *sign == b'>' && bytes[name.end + length - 1] != b'/';
    is_whole.then(|| content(bytes, name.end + length + 1))?
}

/// The value of an element whose last attribute names it: `<property name="password">…</property>`.
pub(super) fn of_attribute(
    bytes: &[u8],
    name: &Range<usize>,
    closed: usize,
) -> Option<Range<usize>> {
    let before = &bytes[name.start.saturating_sub(COMMAND_BYTES_MAX)..name.start];
    let is_named = is_name(without(before, is_of_name), |byte| byte == b'=');
    let is_secret = is_named && names::is_secret(&bytes[name.clone()]);
    is_secret.then(|| content(bytes, closed + 1))?
}

/// How many pairs before a value are looked at.
const PAIRS_MAX: usize = 4;

/// Whether one of the pairs before what is called a value says that it is a secret: `key="password" value=…`, `name: API_KEY` and
/// `value: …`, `--name api-key --value …`.
pub(super) fn is_named_before(bytes: &[u8], name: &Range<usize>) -> bool {
    const VALUES: [&[u8]; 3] = [b"value", b"Value", b"--value"];
    if !VALUES.contains(&&bytes[name.clone()]) {
        return false;
    }
    let mut before = &bytes[name.start.saturating_sub(COMMAND_BYTES_MAX)..name.start];
    for _ in 0..PAIRS_MAX {
        before = without(before, |byte| b" \t\r\n\"'\\,".contains(&byte));
        let rest = without(before, is_of_name);
        let named = &before[rest.len()..];
        if is_name(rest, |byte| b"=:".contains(&byte)) && names::is_secret(named) {
            return true;
        }
        let signs = without(rest, |byte| b" \t\"'\\=:".contains(&byte));
        before = without(signs, is_of_name);
        if named.is_empty() || signs.len() == rest.len() || before.len() == signs.len() {
            return false;
        }
    }
    false
}

/// Whether a text ends in the name of a member that names values, and a sign behind it, or a blank behind a flag.
fn is_name(before: &[u8], is_sign: impl Fn(u8) -> bool) -> bool {
    let rest = without(before, |byte| is_sign(byte) || b" \t\"'\\".contains(&byte));
    let signs = &before[rest.len()..];
    let start = without(rest, is_word);
    let name = &rest[start.len()..];
    let is_parted =
        signs.iter().any(|byte| is_sign(*byte)) || (start.ends_with(b"--") && !signs.is_empty());
    is_parted && VALUE_NAMES.iter().any(|known| known.as_bytes() == name)
}

fn is_of_name(byte: u8) -> bool {
    is_word(byte) || b"-./".contains(&byte)
}

/// A text without the signs of a kind at its end.
fn without(text: &[u8], is: impl Fn(u8) -> bool) -> &[u8] {
    let kept = text.iter().rposition(|byte| !is(*byte));
    &text[..kept.map_or(0, |last| last + 1)]
}

/// Whether a name is that of an element that begins there, with the name of a space before it or without.
fn is_opened(bytes: &[u8], name: &Range<usize>) -> bool {
    let before = &bytes[name.start.saturating_sub(COMMAND_BYTES_MAX)..name.start];
    let space = before.strip_suffix(b":");
    let space = space.map(|before| without(before, is_word));
    space.unwrap_or(before).ends_with(b"<")
}

/// Longest content of an element that is looked through for its end, in bytes.
const CONTENT_BYTES_MAX: usize = 4096;

/// What stands in an element up to its end.
fn content(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    if let Some(data) = bytes[from..].strip_prefix(b"<![CDATA[") {
        let from = bytes.len() - data.len();
        let length = data.windows(3).position(|end| end == b"]]>");
        return Some(from..from + length.unwrap_or(data.len()));
    }
    let near = bytes[from..].iter().take(CONTENT_BYTES_MAX);
    let length = near.take_while(|byte| **byte != b'<').count();
    let is_value = length > 0 && bytes[from + length..].starts_with(b"</");
    is_value.then_some(from..from + length)
}

/// Whether `default` is that of a variable of Terraform's whose name is a secret's.
pub(super) fn is_of_variable(bytes: &[u8], name: &Range<usize>) -> bool {
    const BEGIN: &[u8] = b"variable \"";
    if bytes[name.clone()] != *b"default" {
        return false;
    }
    let before = &bytes[name.start.saturating_sub(COMMAND_BYTES_MAX)..name.start];
    let mut places = before.windows(BEGIN.len());
    let Some(at) = places.rposition(|part| part == BEGIN) else {
        return false;
    };
    let block = &before[at + BEGIN.len()..];
    names::is_secret(&block[..word_length(block)]) && !block.windows(2).any(|end| end == b"\n}")
}
