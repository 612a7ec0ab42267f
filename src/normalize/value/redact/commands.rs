//! Secrets that the words of a command tell, without a name before them: `vault login …`, `net user bob …`, the flags and pairs
//! of commands that set secrets, and Docker's `ENV NAME …`; and sentences that tell one.

use std::iter;
use std::ops::Range;

use super::extent::{Quote, argument, end, quoted};
use super::named::{is_of_two_words, of_netrc, words_before};
use super::{is_word, names, skip, sql, token_length, word_length};

/// Words behind which the words before them or behind them may say that a secret stands.
const WORDS: [&[u8]; 16] = [
    b"env",
    b"arg",
    b"user",
    b"login",
    b"auth",
    b"htpasswd",
    b"secret",
    b"secrets",
    b"kv",
    b"password",
    b"passwd",
    b"identified",
    b"requirepass",
    b"masterauth",
    b"securestring",
    b"is",
];

/// For each first letter of one of [`WORDS`], in either case, how long they are: a bit each.
static LENGTHS: [u32; 256] = lengths();

const fn lengths() -> [u32; 256] {
    let mut lengths = [0; 256];
    let mut at = 0;
    while at < WORDS.len() {
        let first = WORDS[at][0];
        lengths[first as usize] |= 1 << WORDS[at].len();
        lengths[first.to_ascii_uppercase() as usize] |= 1 << WORDS[at].len();
        at += 1;
    }
    lengths
}

/// Whether a word, which is not empty, may be one of [`WORDS`]: almost no word is.
#[inline]
pub(super) fn may_tell(word: &[u8]) -> bool {
    LENGTHS[usize::from(word[0])] & (1 << word.len().min(31)) != 0
}

const CLIENTS_OF_REDIS: [&[u8]; 2] = [b"redis-cli", b"valkey-cli"];

/// Programs that set the password that stands behind the word for it.
const SETTING_PASSWORDS: [&[u8]; 3] = [b"mysqladmin", b"mariadb-admin", b"nmcli"];

/// The secret behind a word and a blank, where they are those of a command that takes one there.
pub(super) fn told(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let before = || words_before(bytes, word.start).next();
    let value = match &bytes[word.clone()] {
        b"ENV" | b"ARG" => return of_image(bytes, word),
        b"login" if before()?.ends_with(b"vault") => {
            let is_other = |word: &[u8]| word.contains(&b'=') || word.ends_with(b":");
            let value = plain(bytes, word.end).next();
            value.filter(|word| !is_other(&bytes[word.clone()]))
        }
        b"user" if before()?.ends_with(b"net") && begins(bytes, word.start) => {
            of_account(bytes, word.end)
        }
        b"AUTH" | b"auth" if is_given_to(bytes, word.start, &CLIENTS_OF_REDIS) => {
            plain(bytes, word.end).last()
        }
        b"AUTH" => of_connection(bytes, word),
        b"requirepass" | b"masterauth" => of_server(bytes, word),
        b"htpasswd" if has_batch_flag(bytes, word.end) => plain(bytes, word.end).last(),
        b"passwd" if before()? == b"openssl" => plain(bytes, word.end).last(),
        b"secrets" | b"secret" => of_store(bytes, word),
        b"is" => of_sentence(bytes, word),
        b"SecureString" if bytes[..word.start].ends_with(b"ConvertTo-") => {
            let value = plain(bytes, word.end).next();
            value.filter(|word| bytes[word.start] != b'$')
        }
        b"password" if is_given_to(bytes, word.start, &SETTING_PASSWORDS) => {
            plain(bytes, word.end).next()
        }
        word_of_sql if word_of_sql.eq_ignore_ascii_case(b"password") => {
            sql::password(bytes, word).or_else(|| of_netrc(bytes, word))
        }
        word_of_sql if word_of_sql.eq_ignore_ascii_case(b"identified") => {
            sql::identified(bytes, word)
        }
        _ => None,
    }?;
    let is_one = |byte: &u8| !byte.is_ascii_punctuation();
    bytes[value.clone()].iter().any(is_one).then_some(value)
}

/// Where a command ends that sets secrets, if a word and a blank are of one.
pub(super) fn setting(bytes: &[u8], word: &Range<usize>) -> Option<usize> {
    let name = &bytes[word.clone()];
    if !is_store(name) {
        return None;
    }
    let from = skip(bytes, word.end, b" ");
    let is_set = sets(name, &bytes[from..from + word_length(&bytes[from..])])
        || words_before(bytes, word.start).next() == Some(b"create");
    is_set.then(|| command_end(bytes, word.end))
}

fn is_store(word: &[u8]) -> bool {
    matches!(word, b"secret" | b"secrets" | b"kv")
}

/// Whether two words of a command set a secret: `secrets set`, `create secret`.
pub(super) fn sets(word: &[u8], next: &[u8]) -> bool {
    const VERBS: [&[u8]; 6] = [b"set", b"put", b"create", b"patch", b"import", b"versions"];
    (is_store(word) && VERBS.contains(&next)) || (word == b"create" && next == b"secret")
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

/// Whether one of these programs is named before a place, in the same command.
fn is_given_to(bytes: &[u8], place: usize, programs: &[&[u8]]) -> bool {
    let is_over = |word: &&[u8]| !matches!(word.last(), Some(b';' | b'|' | b'&'));
    let mut before = words_before(bytes, place).take_while(is_over);
    before.any(|word| programs.iter().any(|program| word.ends_with(program)))
}

/// The password of a line of its own that Redis is told: `AUTH …`, `AUTH bob …`. Prose has that word, too, and mechanisms have
/// names in capitals, so that a digit and a small letter are asked for and some length.
fn of_connection(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    const LEAST: usize = 6;
    let mut words = line(bytes, word)?;
    let first = words.next()?;
    let value = words.next().unwrap_or(first);
    let letters = &bytes[value.clone()];
    let is_random =
        letters.iter().any(u8::is_ascii_digit) && letters.iter().any(u8::is_ascii_lowercase);
    (words.next().is_none() && is_random && letters.len() >= LEAST).then_some(value)
}

/// The password that Redis is set to ask for: `requirepass …` in a line of its own, `CONFIG SET requirepass …`.
fn of_server(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let mut before = words_before(bytes, word.start);
    let is_set = before.next().is_some_and(|word| ends_in(word, b"set"));
    if is_set && before.next().is_some_and(|word| ends_in(word, b"config")) {
        return plain(bytes, word.end).next();
    }
    let mut words = line(bytes, word)?;
    let value = words.next()?;
    words.next().is_none().then_some(value)
}

/// Whether a word, behind signs or not, is another one in whatever case.
pub(super) fn ends_in(word: &[u8], end: &[u8]) -> bool {
    let start = word.len().checked_sub(end.len());
    start.is_some_and(|start| word[start..].eq_ignore_ascii_case(end))
}

/// The words behind one that begins a line, or what stands in quotes.
fn line<'a>(
    bytes: &'a [u8],
    word: &Range<usize>,
) -> Option<impl Iterator<Item = Range<usize>> + 'a> {
    let sign = bytes[..word.start]
        .iter()
        .rev()
        .find(|byte| !b" \t".contains(byte));
    let begins = sign.is_none_or(|sign| b"\n\"'`".contains(sign));
    begins.then(|| arguments(bytes, word.end))
}

/// What a sentence says that a secret is: `the password is …`. Sentences say other things as well, so that a digit and a letter
/// are asked for and some length.
fn of_sentence(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    const LEAST: usize = 6;
    let end = bytes[..word.start].trim_ascii_end().len();
    let letters = bytes[..end].iter().rev().take(ARGUMENT_BYTES_MAX);
    let name = end - letters.take_while(|byte| is_word(**byte)).count()..end;
    if !names::is_secret(&bytes[name.clone()]) && !is_of_two_words(bytes, &name) {
        return None;
    }
    let mut value = arguments(bytes, word.end).next()?;
    let signs = bytes[value.clone()].iter().rev();
    value.end -= signs.take_while(|byte| b".!?:".contains(byte)).count();
    let letters = &bytes[value.clone()];
    let is_random =
        letters.iter().any(u8::is_ascii_digit) && letters.iter().any(u8::is_ascii_alphabetic);
    (is_random && letters.len() >= LEAST).then_some(value)
}

/// What a secret is set to whose name stands before it: `dotnet user-secrets set NAME …`. Other names are in capitals.
fn of_store(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let mut words = arguments(bytes, word.end);
    words.next().filter(|verb| bytes[verb.clone()] == *b"set")?;
    let name = &bytes[words.next()?];
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let value = words.next()?;
    let is_named = bytes[..word.start].ends_with(b"user-") || name.iter().all(is_name);
    let is_plain = |word: &[u8]| !word.starts_with(b"-");
    (is_named && is_plain(name) && is_plain(&bytes[value.clone()])).then_some(value)
}

/// Whether a flag says that a password is told as an argument: `htpasswd -cb`.
fn has_batch_flag(bytes: &[u8], from: usize) -> bool {
    let mut words = arguments(bytes, from).map(|word| &bytes[word]);
    words.any(|word| word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'b'))
}

/// How many arguments are looked at, and how far from the word before them they may begin.
const ARGUMENTS_MAX: usize = 8;
const ARGUMENT_BYTES_MAX: usize = 256;

/// The arguments of a command from a place on that are no flags.
fn plain(bytes: &[u8], from: usize) -> impl Iterator<Item = Range<usize>> {
    arguments(bytes, from).filter(|word| !bytes[word.clone()].starts_with(b"-"))
}

/// The arguments of a command that begin near a place, without their quotes.
fn arguments(bytes: &[u8], from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut rest = Some(from);
    let next = move || {
        let begin = skip(bytes, rest.take()?, b" \t");
        let first = bytes.get(begin)?;
        let ends = b"\r\n;|&<>)\\".contains(first) && Quote::at(bytes, begin).is_none();
        if ends || begin - from >= ARGUMENT_BYTES_MAX {
            return None;
        }
        let (value, behind) = argument(bytes, begin, token_length)?;
        rest = behind;
        Some(value)
    };
    iter::from_fn(next).fuse().take(ARGUMENTS_MAX)
}

/// Where a command ends: with its line, unless that goes on, or at a sign that parts commands.
pub(super) fn command_end(bytes: &[u8], from: usize) -> usize {
    let mut before = b' ';
    let end = bytes[from..].iter().position(|byte| {
        let ends = matches!(byte, b';' | b'|' | b'&') || (*byte == b'\n' && before != b'\\');
        before = *byte;
        ends
    });
    end.map_or(bytes.len(), |length| from + length)
}
