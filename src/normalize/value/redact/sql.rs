//! Secrets of accounts in SQL: `PASSWORD '…'`, `SET PASSWORD FOR bob = '…'`, `IDENTIFIED BY '…'`.

use std::ops::Range;

use super::commands::ends_in;
use super::extent::{Quote, quoted, words_end};
use super::named::{COMMAND_BYTES_MAX, words_before};
use super::{skip, word_length};

const BLANKS: &[u8] = b" \t\r\n";

/// The password behind the word for it.
pub(super) fn password(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let from = skip(bytes, word.end, BLANKS);
    if let Some(value) = text(bytes, from) {
        return Some(value);
    }
    match Quote::at(bytes, from) {
        Some(quote) if is_of_account(bytes, word.start) => quoted(bytes, from, quote),
        Some(_) => None,
        None => of_other(bytes, behind(bytes, from, b"for")?),
    }
}

/// The password that somebody is given: `FOR 'bob'@'%' = '…'`.
fn of_other(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let near = &bytes[from..bytes.len().min(from + COMMAND_BYTES_MAX)];
    let sign = near.iter().position(|byte| b"=;\n".contains(byte))?;
    let begin = skip(bytes, from + sign + 1, BLANKS);
    let quote = Quote::at(bytes, begin).filter(|_| near[sign] == b'=')?;
    quoted(bytes, begin, quote)
}

/// The password or its hash behind `IDENTIFIED`: `BY '…'`, `WITH mysql_native_password AS '…'`, `BY VALUES '…'`. As a rule it
/// is a text; Oracle's may be a word, which prose has in that place as well.
pub(super) fn identified(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let from = skip(bytes, word.end, BLANKS);
    let from = match behind(bytes, from, b"with") {
        Some(from) => {
            let plugin = skip(bytes, from, b"\"'`\\");
            let plugin = plugin + word_length(&bytes[plugin..]);
            let from = skip(bytes, plugin, b"\"'`\\ \t\r\n");
            let said = [b"by".as_slice(), b"as", b"using"];
            said.iter().find_map(|word| behind(bytes, from, word))?
        }
        None => behind(bytes, from, b"by")?,
    };
    let kinds = [b"values".as_slice(), b"password"];
    let kind = kinds.iter().find_map(|word| behind(bytes, from, word));
    let from = kind.unwrap_or(from);
    match Quote::at(bytes, from) {
        // In backquotes prose has the names of code.
        Some(quote) => quoted(bytes, from, quote).filter(|_| quote.sign != b'`'),
        None if kind.is_some() || behind(bytes, from, b"random").is_some() => None,
        None => is_of_account(bytes, word.start).then(|| from..words_end(bytes, from)),
    }
}

/// Whether an account is made or changed before a place, in the same statement.
fn is_of_account(bytes: &[u8], place: usize) -> bool {
    const ACCOUNTS: [&[u8]; 3] = [b"user", b"role", b"login"];
    const VERBS: [&[u8]; 2] = [b"create", b"alter"];
    let is_in = |word: &[u8], words: &[&[u8]]| words.iter().any(|end| ends_in(word, end));
    let mut words = words_before(bytes, place).take_while(|word| !word.ends_with(b";"));
    words.any(|word| is_in(word, &ACCOUNTS)) && words.next().is_some_and(|word| is_in(word, &VERBS))
}

/// The place behind a word and blanks, where it is there.
fn behind(bytes: &[u8], from: usize, word: &[u8]) -> Option<usize> {
    let to = from + word.len();
    let is_there = bytes.get(from..to)?.eq_ignore_ascii_case(word);
    let next = skip(bytes, to, BLANKS);
    (is_there && next > to).then_some(next)
}

/// A text as SQL writes it: `'…'`, `E'…'`, `$$…$$`, or `''…''` within another text.
fn text(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let from = match bytes.get(from..from + 2)? {
        b"E'" | b"e'" | b"N'" | b"n'" => from + 1,
        b"$$" => return between(bytes, from, *b"$$"),
        b"''" => return between(bytes, from, *b"''"),
        _ => from,
    };
    let quote = Quote::at(bytes, from).filter(|quote| quote.sign == b'\'')?;
    quoted(bytes, from, quote)
}

/// What stands between two signs, near each other.
fn between(bytes: &[u8], from: usize, sign: [u8; 2]) -> Option<Range<usize>> {
    let from = from + sign.len();
    let near = &bytes[from..bytes.len().min(from + COMMAND_BYTES_MAX)];
    let length = near.windows(sign.len()).position(|two| two == sign)?;
    let is_line = length > 0 && !near[..length].contains(&b'\n');
    is_line.then_some(from..from + length)
}
