//! Secrets that are told by the name before them: in assignments, headers, flags and markup.
//!
//! A value in quotes is hidden up to the quote that ends it, another one up to a blank or a sign that parts values. The text
//! may itself have been taken out of quotes that were escaped, once or several times; then its own quotes carry backslashes,
//! whose number tells which quote ends what.

use std::ops::Range;

use super::extent::{Quote, below, closed, quoted, unquoted, words_end};
use super::{AROUND_NAME, input, is_of, markup, names, programs, skip, word_length};

/// Flags whose value is a user with a password, behind a colon; `-u` also as the last of several letters.
const USER_FLAGS: [&[u8]; 2] = [b"--user", b"--proxy-user"];

/// How far before its flag a program is looked for, in bytes.
pub(super) const COMMAND_BYTES_MAX: usize = 96;

/// The value behind a name, which is not the end of the text, where the name is that of a secret.
pub(super) fn value(bytes: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    match bytes[name.end] {
        b'>' => return markup::element(bytes, &name),
        b'(' => return argument(bytes, name),
        _ => {}
    }
    let key = &bytes[name.clone()];
    let around = bytes[name.end..].iter();
    let behind = name.end + around.take_while(|byte| is_of(**byte, AROUND_NAME)).count();
    let sign = sign_length(&bytes[behind..]);
    let is_flag = key.first() == Some(&b'-');
    if sign == 0 && !is_flag {
        return match bytes.get(behind) {
            Some(b'>') => markup::of_attribute(bytes, &name, behind),
            _ => paired(bytes, name, behind),
        };
    }
    let is_user = is_flag && is_user_flag(key);
    let is_flag = is_flag && sign == 0;
    if is_flag && input::is_heard_of(key) {
        return None;
    }
    let listed = is_flag.then(|| listed(bytes, &name)).flatten();
    let is_secret = names::is_secret(key) && !is_of_grammar(bytes, &name);
    let is_secret = is_secret
        || is_of_two_words(bytes, &name)
        || markup::is_named_before(bytes, &name)
        || markup::is_of_variable(bytes, &name);
    if !is_user && !is_secret && !is_of_address(bytes, &name) {
        return None;
    }
    let from = match listed {
        Some(from) => from,
        None if is_flag => skip(bytes, name.end, b" \t"),
        None => skip(bytes, behind + sign, b" \t"),
    };
    // Whether a user has a password is told at once, or not at all: what is given up is not walked to its end.
    if is_user && !is_secret && !has_password(user_near(bytes, from)) {
        return None;
    }
    if !is_flag
        && bytes[behind] == b':'
        && let Some(value) = below(bytes, &name, from)
    {
        return Some(value);
    }
    let is_quoted = Quote::at(bytes, name.end).is_some();
    let outer = Quote::before(bytes, name.start).filter(|_| !is_quoted);
    let value = match Quote::at(bytes, from) {
        Some(quote) if outer == Some(quote) => return None,
        Some(quote) => {
            let value = quoted(bytes, from, quote)?;
            let is_another_flag = listed.is_some() && bytes[value.start..].starts_with(b"-");
            (!is_another_flag).then_some(value)?
        }
        // Code compares and maps with longer signs, and what is a secret there stands in quotes. Another flag is no value.
        None if sign > 1 || (is_flag && bytes.get(from) == Some(&b'-')) => return None,
        None => {
            let has_colon = !is_flag && bytes[behind] == b':';
            let is_header = has_colon && names::is_header(key);
            let typed = (has_colon && !is_header).then(|| typed(bytes, from));
            let typed = typed.flatten();
            typed.unwrap_or_else(|| unquoted(bytes, from, is_header, outer))
        }
    };
    let is_secret = !value.is_empty() && (!is_user || has_password(&bytes[value.clone()]));
    is_secret.then_some(value)
}

/// The text behind a name in quotes, in a list: `["--password", "hunter"]`.
pub(super) fn listed(bytes: &[u8], name: &Range<usize>) -> Option<usize> {
    let quote = Quote::before(bytes, name.start)?;
    let comma = closed(bytes, name.end, quote)?;
    let from = skip(
        bytes,
        bytes[comma..].strip_prefix(b",").map(|_| comma + 1)?,
        b" ",
    );
    (Quote::at(bytes, from) == Some(quote)).then_some(from)
}

/// Whether a flag's value is a user with a password.
pub(super) fn is_user_flag(flag: &[u8]) -> bool {
    let letters = flag
        .strip_prefix(b"-")
        .and_then(|rest| rest.strip_suffix(b"u"));
    letters.is_some_and(|letters| letters.iter().all(u8::is_ascii_alphabetic))
        || USER_FLAGS.contains(&flag)
}

/// Shortest value of a parameter of an address that is called a key: a word is not that long.
const KEY_BYTES_MIN: usize = 16;

/// Whether a name is that of a parameter of an address that gives access: a signature, `…?sv=…&sig=…`, or a key.
fn is_of_address(bytes: &[u8], name: &Range<usize>) -> bool {
    let is_parameter = name.start > 0 && b"?&".contains(&bytes[name.start - 1]);
    if !is_parameter || bytes[name.end] != b'=' {
        return false;
    }
    let last = bytes[name.clone()].rsplit(|byte| *byte == b'-').next();
    let is_one = |names: [&[u8]; 2]| {
        last.is_some_and(|last| names.iter().any(|name| last.eq_ignore_ascii_case(name)))
    };
    let value = &bytes[name.end + 1..];
    let value = &value[..word_length(value)];
    is_one([b"sig", b"signature"])
        || (is_one([b"key", b"appid"])
            && value.len() >= KEY_BYTES_MIN
            && value.iter().any(u8::is_ascii_digit))
}

/// Whether a word is the second of two that name a secret together: `API key: …`.
pub(super) fn is_of_two_words(bytes: &[u8], name: &Range<usize>) -> bool {
    const SECOND: [&[u8]; 2] = [b"key", b"phrase"];
    let word = &bytes[name.clone()];
    let is_second = SECOND
        .iter()
        .any(|second| word.eq_ignore_ascii_case(second));
    let before = bytes[..name.start].strip_suffix(b" ").filter(|_| is_second);
    before.is_some_and(|before| {
        let letters = before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphabetic());
        let first = before.len() - letters.take(COMMAND_BYTES_MAX).count();
        names::is_secret(&bytes[first..name.end])
    })
}

/// Whether a token is one of a text that is parsed: `unexpected token: 'else'`.
fn is_of_grammar(bytes: &[u8], name: &Range<usize>) -> bool {
    bytes[name.clone()].eq_ignore_ascii_case(b"token")
        && words_before(bytes, name.start)
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case(b"unexpected"))
}

/// How far before a name in quotes the call is looked for whose first argument it is, and how long the type of a name may be, in
/// bytes.
const CODE_BYTES_MAX: usize = 64;

/// Longest secret that is the second of two arguments, in bytes: what is given up is looked at no further.
const PAIRED_BYTES_MAX: usize = 256;

/// The second of two texts that are all arguments of a call, where the first ends in the name of a secret:
/// `setdefault("API_KEY", "…")`, `fill("#password", "…")`.
fn paired(bytes: &[u8], name: Range<usize>, comma: usize) -> Option<Range<usize>> {
    let opened = Quote::before(bytes, comma).filter(|_| bytes.get(comma) == Some(&b','))?;
    let before = &bytes[name.start.saturating_sub(CODE_BYTES_MAX)..name.start];
    let quote = before.iter().rposition(|byte| *byte == opened.sign)?;
    let is_first = before[..quote.checked_sub(opened.backslashes)?].ends_with(b"(");
    if !is_first || !names::is_secret(&bytes[name]) {
        return None;
    }
    let from = skip(bytes, comma + 1, b" ");
    let quote = Quote::at(bytes, from)?;
    let near = &bytes[..bytes.len().min(from + PAIRED_BYTES_MAX)];
    let value = quoted(near, from, quote)?;
    let behind = skip(bytes, closed(bytes, value.end, quote)?, b" ");
    (!value.is_empty() && bytes.get(behind) == Some(&b')')).then_some(value)
}

/// The type of a name and the text that it is given: `token: string = "…"`.
fn typed(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let rest = bytes[from..].iter().take(CODE_BYTES_MAX);
    let is_of_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.[]<>|&'? ".contains(byte);
    let sign = from + rest.take_while(is_of_type).count();
    if sign_length(bytes.get(sign..)?) != 1 || bytes[sign] != b'=' {
        return None;
    }
    let begin = skip(bytes, sign + 1, b" ");
    let quote = Quote::at(bytes, begin)?;
    let value = quoted(bytes, begin, quote)?;
    Some(from..closed(bytes, value.end, quote).unwrap_or(value.end))
}

/// The secret behind a word and a blank, where the words around it say that it is one: elements with attributes, what a shell
/// gives to `sudo`, what is set, and logins.
#[inline]
pub(super) fn spoken(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let from = || skip(bytes, word.end, b" \t\r\n");
    if word.start > 0
        && b"<:".contains(&bytes[word.start - 1])
        && let Some(value) = markup::with_attributes(bytes, word)
    {
        return (!value.is_empty()).then_some(value);
    }
    let value = match &bytes[word.clone()] {
        b"echo" | b"printf" => input::piped(bytes, from()),
        name if name.contains(&b'_') && names::is_secret(name) => set(bytes, word.start, from()),
        program if programs::logs_in(program) => programs::login(bytes, word.end),
        _ => None,
    }?;
    (!value.is_empty()).then_some(value)
}

/// What a command sets something to: `aws configure set aws_secret_access_key …`, `setx API_KEY "…"`. A sign between them has
/// the value found as that of any name.
fn set(bytes: &[u8], name: usize, from: usize) -> Option<Range<usize>> {
    let is_set = |word: &[u8]| word == b"set" || word == b"setx" || word.ends_with(b":set");
    let mut before = words_before(bytes, name).skip_while(|word| word.starts_with(b"-"));
    // A place may stand before the name: `npm config set //registry.npmjs.org/:_authToken …`.
    let is_placed = bytes[..name].ends_with(b":");
    let before = before.nth(usize::from(is_placed));
    if !before.is_some_and(is_set) || bytes.get(from).is_none_or(|byte| b"-=:".contains(byte)) {
        return None;
    }
    match Quote::at(bytes, from) {
        Some(quote) => quoted(bytes, from, quote),
        None => Some(from..words_end(bytes, from)),
    }
}

/// Words before a place, the nearest first, of which one may be cut off.
pub(super) fn words_before(bytes: &[u8], place: usize) -> impl Iterator<Item = &[u8]> {
    let before = &bytes[place.saturating_sub(COMMAND_BYTES_MAX)..place];
    let words = before.rsplit(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty())
}

/// The password of a line of netrc, or of several: `machine … login … password …`.
pub(super) fn of_netrc(bytes: &[u8], name: &Range<usize>) -> Option<Range<usize>> {
    let from = skip(bytes, name.end, b" \t\r\n");
    let mut before = words_before(bytes, name.start).skip(1);
    let is_login = before.next() == Some(b"login");
    let place = before.next().filter(|_| is_login)?;
    let is_entry = place.ends_with(b"default") || before.next()?.ends_with(b"machine");
    is_entry.then(|| from..words_end(bytes, from))
}

/// The first argument of a call of a function of that name, where it is a text: `setPassword("…")`.
fn argument(bytes: &[u8], name: Range<usize>) -> Option<Range<usize>> {
    let from = skip(bytes, name.end + 1, b" ");
    let quote = Quote::at(bytes, from).filter(|_| names::is_secret(&bytes[name]))?;
    quoted(bytes, from, quote).filter(|value| !value.is_empty())
}

/// How long the sign is that parts a name from its value; 0 where there is none.
fn sign_length(bytes: &[u8]) -> usize {
    match bytes {
        // A path of names, in code.
        [b':', b':', ..] => 0,
        [b'=', b'=', b'=', ..] => 3,
        [b':', b'=', ..] | [b'=', b'=' | b'>', ..] => 2,
        [b':' | b'=', ..] => 1,
        _ => 0,
    }
}

/// What begins at a place, as far as a user's name may reach.
fn user_near(bytes: &[u8], from: usize) -> &[u8] {
    let begin = skip(bytes, from, b" \t\"'`\\");
    &bytes[begin..bytes.len().min(begin + COMMAND_BYTES_MAX)]
}

/// Whether a user is told with a password: `bob:hunter`, but no ids of user and group, no address, no variable.
pub(super) fn has_password(user: &[u8]) -> bool {
    let Some(colon) = user.iter().position(|byte| *byte == b':') else {
        return false;
    };
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b':';
    user[0].is_ascii_alphanumeric()
        && user
            .get(colon + 1)
            .is_some_and(|byte| !b"/:".contains(byte))
        && !user.iter().all(is_number)
}
