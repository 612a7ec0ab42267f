//! How far the values of secrets reach: to the quote that closes them, the end of a word, of a line, or of what stands further in.

use std::ops::Range;

use super::{is_scheme, skip, token_length, word_length};

/// Signs behind a quote that tell that it ended a text (`input("password: ")`) and began none.
const BEHIND_TEXT: &[u8] = b"),;}]\n\r";

/// Longest command within another that is looked at, in bytes.
const PUT_IN_BYTES_MAX: usize = 256;

/// How far the name of a value may stand from the start of its line, in bytes.
const INDENT_BYTES_MAX: usize = 64;

/// An argument of a command without its quotes, and the place behind it. One without quotes ends as told. Of a quote that nothing
/// closes the text is one, too, and nothing stands behind it: it may have been cut off.
pub(super) fn argument(
    bytes: &[u8],
    from: usize,
    bare_length: impl FnOnce(&[u8]) -> usize,
) -> Option<(Range<usize>, Option<usize>)> {
    let Some(quote) = Quote::at(bytes, from) else {
        let end = from + bare_length(bytes.get(from..)?);
        return (end > from).then_some((from..end, Some(end)));
    };
    let value = quoted(bytes, from, quote)?;
    let behind = closed(bytes, value.end, quote);
    Some((value, behind))
}

/// The place behind the quote that ends a text, where it is there: the text may have been cut off.
pub(super) fn closed(bytes: &[u8], end: usize, quote: Quote) -> Option<usize> {
    let sign = end + quote.backslashes;
    (bytes.get(sign) == Some(&quote.sign)).then_some(sign + 1)
}

/// What stands between quotes, without the scheme that credentials begin with.
pub(super) fn quoted(bytes: &[u8], from: usize, quote: Quote) -> Option<Range<usize>> {
    let from = skip(bytes, from + quote.backslashes + 1, b" \t");
    let begins = bytes
        .get(from)
        .is_some_and(|byte| !BEHIND_TEXT.contains(byte));
    let from = behind_scheme(bytes, from).unwrap_or(from);
    begins.then(|| from..end(bytes, from, Some(quote)).max(from))
}

/// What stands below a name, further in, where nothing is left of its line but what says so: `password: |` of YAML.
pub(super) fn below(bytes: &[u8], name: &Range<usize>, from: usize) -> Option<Range<usize>> {
    let rest = match bytes.get(from)? {
        b'|' | b'>' => skip(bytes, from + 1, b"+-0123456789"),
        _ => from,
    };
    let line_end = skip(bytes, rest, b" \t\r");
    if bytes.get(line_end) != Some(&b'\n') {
        return None;
    }
    let near = name.start.saturating_sub(INDENT_BYTES_MAX);
    let line = bytes[near..name.start]
        .iter()
        .rposition(|byte| *byte == b'\n');
    let line = line.map_or(near, |end| near + end + 1);
    let is_first = line > near || near == 0;
    if !is_first || skip(bytes, line, b" \t-'\"") < name.start {
        return None;
    }
    let begin = skip(bytes, line_end, b" \t\r\n");
    let mut end = line_end + 1;
    for below in bytes[line_end + 1..].split_inclusive(|byte| *byte == b'\n') {
        let is_blank = below.trim_ascii().is_empty();
        if !is_blank && skip(below, 0, b" \t") <= name.start - line {
            break;
        }
        end += below.len();
    }
    let value = begin..end.max(begin);
    let text = bytes.get(value)?.trim_ascii_end();
    (!text.is_empty()).then(|| begin..begin + text.len())
}

/// A word, or where a header has several, what is left of its line or of the quotes around it.
pub(super) fn unquoted(
    bytes: &[u8],
    from: usize,
    is_header: bool,
    outer: Option<Quote>,
) -> Range<usize> {
    let from = skip(bytes, from, b" \\");
    match behind_scheme(bytes, from) {
        Some(from) => from..from + token_length(&bytes[from..]),
        None if is_header => from..end(bytes, from, outer),
        None => from..words_end(bytes, from),
    }
}

/// Where a value ends that stands in no quotes: a comma may be its own, unless a blank, a quote or another pair follows. Of a call
/// it is what the first argument is, `PASSWORD('…')`, and what a shell puts in is one value.
pub(super) fn words_end(bytes: &[u8], from: usize) -> usize {
    if let Some(end) = put_in(bytes, from) {
        return end;
    }
    let mut end = from + token_length(&bytes[from..]);
    while bytes.get(end) == Some(&b',') {
        let length = token_length(&bytes[end + 1..]);
        let next = &bytes[end + 1..end + 1 + length];
        if length == 0 || next.iter().any(|byte| b"=:".contains(byte)) {
            break;
        }
        end += 1 + length;
    }
    if bytes[from..end].ends_with(b"(")
        && let Some(quote) = Quote::at(bytes, end)
        && let Some(value) = quoted(bytes, end, quote)
    {
        return closed(bytes, value.end, quote).unwrap_or(value.end);
    }
    end
}

/// Where what a shell puts in ends: `$(…)`.
fn put_in(bytes: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0;
    let rest = bytes[from..]
        .strip_prefix(b"$")
        .filter(|rest| rest.starts_with(b"("))?;
    let rest = &rest[..rest.len().min(PUT_IN_BYTES_MAX)];
    let last = rest.iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    last.map(|last| from + last + 2)
}

/// Where credentials begin behind their scheme: `Bearer …`.
pub(super) fn behind_scheme(bytes: &[u8], from: usize) -> Option<usize> {
    let to = from + word_length(&bytes[from..]);
    let behind = skip(bytes, to, b" \"'\\");
    (behind > to && is_scheme(&bytes[from..to])).then_some(behind)
}

/// Where a value ends: at the quote that closes it, else with its line. Outside of quotes a line may also end in `\n`.
pub(super) fn end(bytes: &[u8], from: usize, quote: Option<Quote>) -> usize {
    let mut backslashes = 0;
    for (at, byte) in (from..).zip(&bytes[from..]) {
        match (byte, quote) {
            (b'\n' | b'\r', _) => return at,
            (b'n' | b'r', None) if backslashes > 0 => return at - backslashes,
            (byte, Some(quote)) if *byte == quote.sign && quote.closes(backslashes) => {
                return at - backslashes.min(quote.backslashes);
            }
            _ => {}
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
    }
    bytes.len()
}

/// A quote with the backslashes before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) sign: u8,
    pub(super) backslashes: usize,
}

impl Quote {
    /// The quote that begins at a place.
    pub(super) fn at(bytes: &[u8], from: usize) -> Option<Self> {
        let sign = skip(bytes, from, b"\\");
        Self::new(*bytes.get(sign)?, sign - from)
    }

    /// The quote that ends before a place.
    pub(super) fn before(bytes: &[u8], to: usize) -> Option<Self> {
        let (sign, before) = bytes[..to].split_last()?;
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\');
        Self::new(*sign, backslashes.count())
    }

    fn new(sign: u8, backslashes: usize) -> Option<Self> {
        b"\"'`"
            .contains(&sign)
            .then_some(Self { sign, backslashes })
    }

    /// Whether what this quote opened is closed by one with so many backslashes before it. Each escaping makes one backslash of
    /// a quote three, and two of each other: fewer are those of a quote further out, and what is left over are the value's own.
    fn closes(self, backslashes: usize) -> bool {
        backslashes < self.backslashes
            || backslashes % (2 * (self.backslashes + 1)) == self.backslashes
    }
}
