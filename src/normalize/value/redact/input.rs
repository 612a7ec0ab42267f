//! Secrets that a program is told as its input: `echo … | docker login --password-stdin`, `chpasswd <<< …`, and the lines of a
//! here-document.

use std::ops::Range;

use super::commands::{command_end, sets};
use super::extent::{Quote, argument, closed, end};
use super::named::COMMAND_BYTES_MAX;
use super::{names, skip, token_length, word_length};

/// Programs whose input is a secret, or has one in each line.
const LISTENERS: [&[u8]; 6] = [
    b"chpasswd",
    b"newusers",
    b"passwd",
    b"smbpasswd",
    b"cryptsetup",
    b"kinit",
];

/// How many arguments of what speaks to a program are looked at.
const ARGUMENTS_MAX: usize = 8;

/// What is said to a program that listens for a secret, whether or not other programs of the pipe change it first: all arguments
/// of `echo` or `printf`, but for flags.
pub(super) fn piped(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = skip(bytes, from, b" \t");
    let flag = &bytes[at..at + token_length(&bytes[at..])];
    if flag.starts_with(b"-") && flag.iter().all(|byte| b"-neE".contains(byte)) {
        at = skip(bytes, at + flag.len(), b" \t");
    }
    let first = at;
    for _ in 0..ARGUMENTS_MAX {
        let begin = at;
        let (value, behind) = said(bytes, at)?;
        let behind = behind?;
        at = skip(bytes, behind, b" \t");
        if bytes.get(at) == Some(&b'|') {
            let said = if begin == first { value } else { first..behind };
            return is_heard(bytes, at).then_some(said);
        }
    }
    None
}

/// What stands behind `<<<`, or in the lines behind `<<EOF`, where the command listens for a secret.
#[cold]
pub(super) fn redirected(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let behind = bytes[at..].strip_prefix(b"<<")?;
    if bytes[..at].ends_with(b"<") {
        return None;
    }
    let before = &bytes[at.saturating_sub(COMMAND_BYTES_MAX)..at];
    let command = before.rsplit(|byte| b"\n;|&".contains(byte)).next()?;
    if behind.starts_with(b"<") {
        let from = skip(bytes, at + 3, b" \t");
        let (value, _) = listens(command).then(|| said(bytes, from)).flatten()?;
        return Some(value);
    }
    let near = &bytes[..bytes.len().min(at + COMMAND_BYTES_MAX)];
    let name = skip(near, at + 2, b"-~ \t\"'\\");
    let name = name..name + word_length(&near[name..]);
    let line_end = name.end + near[name.end..].iter().position(|byte| *byte == b'\n')?;
    let pipe = near[name.end..line_end]
        .iter()
        .position(|byte| *byte == b'|');
    let is_said = listens(command) || pipe.is_some_and(|pipe| is_heard(bytes, name.end + pipe));
    (is_said && !name.is_empty())
        .then(|| line_end + 1..document_end(bytes, line_end + 1, &bytes[name]))
}

/// Where the lines of a here-document end, before the one that is its name; the text may have been cut off.
fn document_end(bytes: &[u8], from: usize, name: &[u8]) -> usize {
    let mut end = from;
    for line in bytes[from..].split_inclusive(|byte| *byte == b'\n') {
        let behind = line.trim_ascii_start().strip_prefix(name);
        if behind.is_some_and(|behind| word_length(behind) == 0) {
            return end.saturating_sub(1).max(from);
        }
        end += line.len();
    }
    end
}

/// Whether one of the programs behind a pipe's sign listens for a secret.
fn is_heard(bytes: &[u8], pipe: usize) -> bool {
    let near = &bytes[..bytes.len().min(pipe + 2 * COMMAND_BYTES_MAX)];
    let mut pipe = pipe;
    while near.get(pipe) == Some(&b'|') && near.get(pipe + 1) != Some(&b'|') {
        let from = skip(near, pipe + 1, b" \t\r\n\\");
        pipe = command_end(near, from);
        if listens(&near[from..pipe]) {
            return true;
        }
    }
    false
}

/// Whether a command, which may stand in quotes, brackets or a sentence, takes a secret from its input.
fn listens(command: &[u8]) -> bool {
    let is_apart = |byte: &u8| {
        let is_around = |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b',');
        let is_bracket = |byte| matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}');
        byte.is_ascii_whitespace() || is_around(*byte) || is_bracket(*byte)
    };
    let words = command.split(is_apart).filter(|word| !word.is_empty());
    let (mut is_sudo, mut is_password, mut has_flag) = (false, false, false);
    let (mut program, mut before) = (None, b"".as_slice());
    for word in words {
        is_sudo |= before.is_empty() && word == b"sudo";
        let is_asked = is_sudo && matches!(word, b"-S" | b"-kS" | b"-Sk");
        let is_flag = word == b"--stdin";
        let is_one = (is_heard_of(word) && !is_flag) || word.ends_with(b"chpasswd");
        if is_asked || is_one || is_told(before, word) {
            return true;
        }
        let may_be_program = word != b"sudo" && !word.starts_with(b"-");
        program = program.or(Some(word).filter(|_| may_be_program));
        is_password |= word.ends_with(b"passwd");
        has_flag |= is_flag;
        before = word;
    }
    let is_listener = program.is_some_and(|program| LISTENERS.contains(&last_of_path(program)));
    is_listener || (has_flag && (is_sudo || is_password))
}

/// Whether two words of a command say together that a secret is read.
fn is_told(word: &[u8], next: &[u8]) -> bool {
    let is_input = || matches!(next, b"-" | b"0" | b"stdin" | b"fd:0" | b"/dev/stdin");
    match (word, next) {
        (b"vault", b"login") | (b"pass", b"insert") => true,
        _ if word.starts_with(b"-") => {
            is_input() && (word.starts_with(b"-pass") || names::is_secret(word))
        }
        _ => sets(word, next),
    }
}

/// Whether a flag has a secret read from what the program is told, and has no value itself: `docker login --password-stdin`.
pub(super) fn is_heard_of(flag: &[u8]) -> bool {
    flag.starts_with(b"-") && flag.ends_with(b"-stdin") || flag == b"--with-token"
}

fn last_of_path(program: &[u8]) -> &[u8] {
    program
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or(program)
}

/// An argument as a shell reads it, of which several lines may stand in quotes, and the place behind it.
fn said(bytes: &[u8], from: usize) -> Option<(Range<usize>, Option<usize>)> {
    let (mut value, behind) = argument(bytes, from, shell_word_length)?;
    let (None, Some(quote)) = (behind, Quote::at(bytes, from)) else {
        return Some((value, behind));
    };
    while matches!(bytes.get(value.end), Some(b'\n' | b'\r')) {
        value.end = end(bytes, value.end + 1, Some(quote));
    }
    let behind = closed(bytes, value.end, quote);
    Some((value, behind))
}

/// How far an argument reaches that stands in no quotes, as a shell reads it.
fn shell_word_length(bytes: &[u8]) -> usize {
    let mut end = 0;
    while let Some(byte) = bytes.get(end) {
        end += match byte {
            b'\\' => match escaped(bytes, end) {
                0 => break,
                escaped => escaped,
            },
            b'|' | b';' | b'&' | b'<' | b'>' | b'(' | b')' | b'"' | b'\'' | b'`' => break,
            blank if blank.is_ascii_whitespace() => break,
            _ => 1,
        };
    }
    end
}

/// How many bytes of an argument backslashes make: they go in pairs, and one more takes the sign behind it along. None before a
/// quote.
fn escaped(bytes: &[u8], from: usize) -> usize {
    let sign = skip(bytes, from, b"\\");
    let count = sign - from;
    match bytes.get(sign) {
        Some(b'"' | b'\'' | b'`') => 0,
        Some(behind) if count % 2 == 1 && behind.is_ascii_graphic() => count + 1,
        _ => count - count % 2,
    }
}
