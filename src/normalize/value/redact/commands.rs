//! Secrets that the words of a command tell, without a name before them: `vault login …`, `net user bob …`, the flags and pairs
//! of commands that set secrets, and Docker's `ENV NAME …`.

use std::iter;
use std::ops::Range;

use super::extent::{Quote, end, quoted};
use super::named::words_before;
use super::{names, skip, token_length, word_length};

/// Words behind which the words before them may say that a secret stands, as they are written.
const WORDS: [&[u8]; 10] = [
    b"ENV",
    b"ARG",
    b"user",
    b"login",
    b"AUTH",
    b"auth",
    b"htpasswd",
    b"secret",
    b"secrets",
    b"kv",
];

/// For each first letter of one of [`WORDS`], how long they are: a bit each.
static LENGTHS: [u32; 256] = lengths();

const fn lengths() -> [u32; 256] {
    let mut lengths = [0; 256];
    let mut at = 0;
    while at < WORDS.len() {
        lengths[WORDS[at][0] as usize] |= 1 << WORDS[at].len();
        at += 1;
    }
    lengths
}

/// Whether a word, which is not empty, may be one of [`WORDS`]: almost no word is.
#[inline]
pub(super) fn may_tell(word: &[u8]) -> bool {
    LENGTHS[usize::from(word[0])] & (1 << word.len().min(31)) != 0
}

/// The secret behind a word and a blank, where they are those of a command that takes one there.
pub(super) fn told(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let before = || words_before(bytes, word.start).next();
    let value = match &bytes[word.clone()] {
        b"ENV" | b"ARG" => return of_image(bytes, word),
        b"login" if before()?.ends_with(b"vault") => {
            let is_pair = |word: &Range<usize>| bytes[word.clone()].contains(&b'=');
            plain(bytes, word.end).next().filter(|word| !is_pair(word))
        }
        b"user" if before()?.ends_with(b"net") && begins(bytes, word.start) => {
            of_account(bytes, word.end)
        }
        b"AUTH" | b"auth" if is_of_redis(bytes, word.start) => plain(bytes, word.end).last(),
        b"htpasswd" if has_batch_flag(bytes, word.end) => plain(bytes, word.end).last(),
        _ => None,
    }?;
    (!value.is_empty() && bytes[value.clone()] != *b"*").then_some(value)
}

/// Where a command ends that sets secrets, if a word and a blank are of one.
pub(super) fn setting(bytes: &[u8], word: &Range<usize>) -> Option<usize> {
    const VERBS: [&[u8]; 4] = [b"set", b"put", b"create", b"patch"];
    let is_verb = |word: &[u8]| VERBS.contains(&word);
    if !matches!(&bytes[word.clone()], b"secret" | b"secrets" | b"kv") {
        return None;
    }
    let from = skip(bytes, word.end, b" ");
    let sets = is_verb(&bytes[from..from + word_length(&bytes[from..])])
        || words_before(bytes, word.start).next() == Some(b"create");
    sets.then(|| command_end(bytes, word.end))
}

/// The value of a flag or of a pair, in a command that sets secrets: `--body …`, `NAME=…`. The name is not the end of the text.
pub(super) fn set(bytes: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    const FLAGS: [&[u8]; 5] = [b"--body", b"-b", b"--value", b"--secret-string", b"--data"];
    let key = &bytes[name.clone()];
    let is_flag = FLAGS.contains(&key);
    let is_pair = key.first() != Some(&b'-') && bytes[name.end] == b'=';
    if !is_flag && !is_pair {
        return None;
    }
    let from = skip(bytes, name.end, if is_pair { b"=" } else { b" =" });
    let value = match Quote::at(bytes, from) {
        Some(quote) => quoted(bytes, from, quote)?,
        // What stands in quotes together with its name.
        None => match Quote::before(bytes, name.start).filter(|_| is_pair) {
            Some(quote) => from..end(bytes, from, Some(quote)),
            None => from..from + token_length(&bytes[from..]),
        },
    };
    let is_another = is_flag && bytes[value.clone()].starts_with(b"-");
    (!value.is_empty() && !is_another).then_some(value)
}

/// What a line of a Dockerfile sets the name of a secret to, without a sign between them.
fn of_image(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let before = bytes[..word.start].last();
    let from = skip(bytes, word.end, b" \t");
    let name = from..from + word_length(&bytes[from..]);
    let begin = skip(bytes, name.end, b" \t");
    let is_line = before.is_none_or(|byte| *byte == b'\n') && begin > name.end;
    if !is_line || bytes.get(begin) == Some(&b'=') || !names::is_secret(&bytes[name]) {
        return None;
    }
    let value = match Quote::at(bytes, begin) {
        Some(quote) => quoted(bytes, begin, quote)?,
        None => begin..end(bytes, begin, None),
    };
    (!value.is_empty()).then_some(value)
}

/// The password of `net user NAME PASSWORD`, behind which nothing but flags stands.
fn of_account(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let mut words = arguments(bytes, from);
    let is_flag = |word: &Range<usize>| bytes[word.clone()].starts_with(b"/");
    words.next().filter(|word| !is_flag(word))?;
    let value = words.next().filter(|word| !is_flag(word))?;
    words.all(|word| is_flag(&word)).then_some(value)
}

/// Whether the word before a place is the first one of a command.
fn begins(bytes: &[u8], place: usize) -> bool {
    let before = bytes[..place].trim_ascii_end();
    let word = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric());
    let before = &before[..before.len() - word.take(ARGUMENTS_MAX).count()];
    let sign = before.iter().rev().find(|byte| **byte != b' ');
    sign.is_none_or(|sign| b"\n;|&\"'`(\\".contains(sign))
}

/// Whether a command of Redis' client is told from the same command's beginning on.
fn is_of_redis(bytes: &[u8], place: usize) -> bool {
    const CLIENTS: [&[u8]; 2] = [b"redis-cli", b"valkey-cli"];
    let is_over = |word: &&[u8]| !matches!(word.last(), Some(b';' | b'|' | b'&'));
    let mut before = words_before(bytes, place).take_while(is_over);
    before.any(|word| CLIENTS.iter().any(|client| word.ends_with(client)))
}

/// Whether a flag says that a password is told as an argument: `htpasswd -cb`.
fn has_batch_flag(bytes: &[u8], from: usize) -> bool {
    let mut words = arguments(bytes, from).map(|word| &bytes[word]);
    words.any(|word| word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'b'))
}

/// How many arguments are looked at, and how far.
const ARGUMENTS_MAX: usize = 8;
const ARGUMENT_BYTES_MAX: usize = 256;

/// The arguments of a command from a place on that are no flags.
fn plain(bytes: &[u8], from: usize) -> impl Iterator<Item = Range<usize>> {
    arguments(bytes, from).filter(|word| !bytes[word.clone()].starts_with(b"-"))
}

/// The arguments of a command from a place on, without their quotes.
fn arguments(bytes: &[u8], from: usize) -> impl Iterator<Item = Range<usize>> {
    let near = &bytes[..bytes.len().min(from + ARGUMENT_BYTES_MAX)];
    let mut at = from;
    let next = move || {
        let from = skip(near, at, b" \t");
        if near
            .get(from)
            .is_none_or(|byte| b"\r\n;|&<>)\\".contains(byte))
        {
            return None;
        }
        let Some(quote) = Quote::at(near, from) else {
            let length = token_length(&near[from..]);
            at = from + length;
            return (length > 0).then_some(from..at);
        };
        let value = quoted(near, from, quote)?;
        at = value.end + quote.backslashes + 1;
        (at <= near.len()).then_some(value)
    };
    iter::from_fn(next).take(ARGUMENTS_MAX)
}

/// Where a command ends: with its line, unless that goes on, or at a sign that parts commands.
fn command_end(bytes: &[u8], from: usize) -> usize {
    let mut before = b' ';
    let end = bytes[from..].iter().position(|byte| {
        let ends = matches!(byte, b';' | b'|' | b'&') || (*byte == b'\n' && before != b'\\');
        before = *byte;
        ends
    });
    end.map_or(bytes.len(), |length| from + length)
}
