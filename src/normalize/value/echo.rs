//! Takes out of a result what the arguments said: what was asked is no answer.

use std::borrow::Cow;
use std::iter;
use std::ops::RangeInclusive;

use memchr::{memchr_iter, memmem};

use crate::engine::event::SAMPLE_BYTES_MAX;

use super::arguments::Arguments;
use super::markers::is_marker;
use super::raw::members;
use super::reader::READ_BYTES_MAX;
use super::wide::quote;

/// Longest arguments of which what a result repeats is left out: longer ones are texts that are sent, and no questions.
const ARGUMENTS_BYTES_MAX: usize = 1_024;

/// How long an argument is that is left out of a result: an address, a sentence, an id. What a sample has no room for is a text
/// that is handed over.
const SAID_BYTES: RangeInclusive<usize> = 10..=SAMPLE_BYTES_MAX;

/// Most arguments that are looked for.
const SAID_MAX: usize = 8;

/// What stands for an argument that a result repeats.
pub(super) const ECHO: &str = "it";

/// A result with a word in the place of what the arguments, as JSON, said.
pub(super) fn without_echo<'t>(result: &'t str, asked: &Arguments<'_>) -> Cow<'t, str> {
    let arguments = asked.json();
    let mut rest = Cow::Borrowed(result);
    if arguments.len() > ARGUMENTS_BYTES_MAX || result.len() > READ_BYTES_MAX {
        return rest;
    }
    let mut leave_out = |said: &str| {
        if memmem::find(rest.as_bytes(), said.as_bytes()).is_some() {
            rest = Cow::Owned(rest.replace(said, ECHO));
        }
    };
    let (mut hosts, mut count) = ([None; SAID_MAX], 0);
    for said in values(arguments).take(SAID_MAX) {
        leave_out(said);
        hosts[count] = host(said);
        count += 1;
    }
    if memmem::find(arguments.as_bytes(), b"://").is_some() {
        let hosts = hosts.into_iter().flatten();
        hosts.take(SAID_MAX - count).for_each(&mut leave_out);
        let addresses = values(arguments).filter(|said| said.contains("://"));
        let queries = addresses.take(SAID_MAX).flat_map(query_values);
        for said in queries.take(SAID_MAX) {
            leave_out(&said);
        }
    }
    if !asked.has_page() {
        return rest;
    }
    let pages =
        members(arguments).filter(|(name, number)| PAGES.contains(&&**name) && is_number(number));
    for (name, number) in pages {
        if let Cow::Owned(without) = without_page(&rest, &name, number.trim_matches('"')) {
            rest = Cow::Owned(without);
        }
    }
    rest
}

/// Names that say with a number which part of a list is asked for, or shown.
pub(super) const PAGES: [&str; 8] = [
    "page",
    "page_number",
    "pageNumber",
    "page_no",
    "pageNo",
    "offset",
    "start",
    "skip",
];

/// What stands for the number of a page that was asked for: a number, by which the result says which page it is.
const ANY_PAGE: &str = "1";

fn is_number(json: &str) -> bool {
    let digits = json.trim_matches('"').as_bytes();
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A result without the number of the page that it is, where this is the one that was asked for: `"page": 3`, `Page 3 of 9`.
fn without_page<'t>(result: &'t str, name: &str, number: &str) -> Cow<'t, str> {
    let is_between = |sign: char| matches!(sign, '"' | '\\' | ':' | '=' | '#' | ' ');
    let (mut kept, mut copied) = (String::new(), 0);
    for (at, _) in result.match_indices(number) {
        let before = result[..at].trim_end_matches(is_between);
        let behind = &result[at + number.len()..];
        let (word, named) = before
            .split_at_checked(before.len().saturating_sub(name.len()))
            .unwrap_or_default();
        let is_named = named.eq_ignore_ascii_case(name) && at > before.len();
        let is_whole = !word.ends_with(is_of_word) && !behind.starts_with(is_of_word);
        if is_named && is_whole && at >= copied {
            kept.push_str(&result[copied..at]);
            kept.push_str(ANY_PAGE);
            copied = at + number.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(result);
    }
    kept.push_str(&result[copied..]);
    Cow::Owned(kept)
}

fn is_of_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// Longest arguments whose lines are looked for in an error, and most lines of it that are looked for.
const GIVEN_BYTES_MAX: usize = 16 * 1_024;
const LINES_MAX: usize = 64;

/// Shortest line that is known to be one that was given; of shorter ones, only what stands between such lines is.
const LINE_BYTES_MIN: usize = 8;

/// An error without the lines behind its first that the arguments, as JSON, hold, nor what of a line they hold: a patch that does
/// not fit is shown in it.
pub(super) fn without_given_lines<'t>(error: &'t str, arguments: &str) -> Cow<'t, str> {
    let several = error.contains('\n') && error.len() <= READ_BYTES_MAX;
    if !several || arguments.is_empty() || arguments.len() > GIVEN_BYTES_MAX {
        return Cow::Borrowed(error);
    }
    let mut rest: Vec<&str> = Vec::new();
    let (mut after_given, mut is_cut) = (false, false);
    for (nth, line) in error.lines().enumerate() {
        let said = line.trim();
        let is_given = match said.len() {
            0..LINE_BYTES_MIN => after_given,
            _ => (1..LINES_MAX).contains(&nth) && holds_line(arguments, said),
        };
        after_given = is_given;
        if is_given {
            is_cut = true;
            continue;
        }
        let own = if nth < LINES_MAX {
            without_quoted_part(line, arguments)
        } else {
            line
        };
        is_cut |= own.len() < line.len();
        rest.push(own);
    }
    if !is_cut {
        return Cow::Borrowed(error);
    }
    Cow::Owned(rest.join("\n"))
}

/// A line without the part of what was given with which it ends or begins, where a text of several lines is quoted within a
/// sentence: ``old_str `let a = 1;`` and ``let b = 2;` was not found``.
fn without_quoted_part<'l>(line: &'l str, arguments: &str) -> &'l str {
    let is_given =
        |part: &str| part.trim().len() >= LINE_BYTES_MIN && holds_line(arguments, part.trim());
    let quotes = line.matches('`').count();
    if quotes > 1 {
        return line;
    }
    if let Some((before, behind)) = line.split_once('`') {
        if is_given(behind) {
            return before;
        }
        return if is_given(before) { behind } else { line };
    }
    match line.split_once(": ") {
        Some((before, behind)) if is_given(behind) => before,
        _ => line,
    }
}

/// Whether a line stands in JSON.
fn holds_line(json: &str, line: &str) -> bool {
    if !line.contains(['"', '\\', '\t']) {
        return memmem::find(json.as_bytes(), line.as_bytes()).is_some();
    }
    let escaped = serde_json::Value::from(line).to_string();
    let inner = &escaped.as_bytes()[1..escaped.len() - 1];
    memmem::find(json.as_bytes(), inner).is_some()
}

/// The host of an address, by which a page names itself.
fn host(address: &str) -> Option<&str> {
    let mut colons = memchr_iter(b':', address.as_bytes());
    let colon = colons.find(|colon| address[colon + 1..].starts_with("//"))?;
    let behind = &address[colon + "://".len()..];
    let host = behind.split(['/', ':', '?', '#']).next()?;
    SAID_BYTES.contains(&host.len()).then_some(host)
}

/// Shortest value in the query of an address that a page repeats as it was meant.
const QUERY_BYTES_MIN: usize = 4;

/// The values in the query of an address, as they were meant: `bus 29` of `?q=bus+29`. A number is none: it may count something.
fn query_values(address: &str) -> impl Iterator<Item = String> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    values.filter_map(|(_, value)| {
        let meant = decoded(value)?;
        let is_long = SAID_BYTES.end() >= &meant.len() && meant.len() >= QUERY_BYTES_MIN;
        (is_long && meant.contains(char::is_alphabetic)).then_some(meant)
    })
}

/// A value of a query without its escapes; `None` where they are no text.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                let digits = std::str::from_utf8(digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The texts among arguments that may be left out, and between the quotation marks within a text those parts of it; arguments
/// that are no JSON are one.
fn values(arguments: &str) -> impl Iterator<Item = &str> {
    let bytes = arguments.as_bytes();
    let mut from = 0;
    let parts = iter::from_fn(move || {
        let part = (from <= bytes.len()).then_some(from)?;
        let end = quote(bytes, from).unwrap_or(bytes.len());
        from = end + 1;
        Some((part, end))
    });
    parts.filter_map(move |(from, end)| {
        let said = &arguments[from..end];
        // Most of what stands between quotation marks is too short: names of members, and the signs between them.
        if said.len() < *SAID_BYTES.start() {
            return None;
        }
        // The name of a member is no value; before a quotation mark within a text stands a backslash.
        let is_name = bytes.get(end + 1) == Some(&b':');
        let said = said.trim_end_matches('\\');
        (!is_name && SAID_BYTES.contains(&said.len()) && !is_marker(said)).then_some(said)
    })
}

#[cfg(test)]
mod tests {
    use super::{ARGUMENTS_BYTES_MAX, Arguments, SAMPLE_BYTES_MAX, without_echo};

    /// Given an address with a query in it, what it asks for is left out of the page in words too; numbers stay.
    #[test]
    fn queries_of_addresses_are_left_out_as_they_were_meant() {
        let check = |query: &str, page: &str, expected: &str| {
            let arguments = format!(r#"{{"url":"https://duck.example/html/?{query}"}}"#);
            let told = without_echo(page, &Arguments::of(&arguments)).into_owned();
            assert_eq!(told, expected, "{query}");
        };
        check(
            "q=bus+29",
            "<title>bus 29 at Duck</title>",
            "<title>it at Duck</title>",
        );
        check(
            "a=b&q=caf%C3%A9%20roma#x",
            "café roma: 3 pages",
            "it: 3 pages",
        );
        check("page=2025", "2025 pages", "2025 pages");
        check("q=%zz+wide", "%zz wide", "%zz wide");
        check("q=%FF%FEab", "ab", "ab");
    }

    /// Given a result that repeats what was asked, that is left out; names of members, and what is short, stay.
    #[test]
    fn results_without_what_was_asked() {
        let told = |arguments: &str, result: &str| {
            without_echo(result, &Arguments::of(arguments)).into_owned()
        };
        assert_eq!(
            told(
                r#"{"address":"https://a.example/b"}"#,
                r#"{"address":"https://a.example/b","text":"c"}"#
            ),
            r#"{"address":"it","text":"c"}"#
        );
        assert_eq!(
            told(
                r#"{"chapter_of_it":"3"}"#,
                r#"{"chapter_of_it":"3","items":[]}"#
            ),
            r#"{"chapter_of_it":"3","items":[]}"#
        );
        assert_eq!(
            told(
                r#"{"q":"say \"open the door\""}"#,
                r#"{"q":"say \"open the door\""}"#
            ),
            r#"{"q":"say \"it\""}"#
        );
        for (result, expected) in [
            (
                r#"{"page": 3,"pages":3,"items":[3]}"#,
                r#"{"page": 1,"pages":3,"items":[3]}"#,
            ),
            (
                r#""Page 3 of 33, 3 per page""#,
                r#""Page 1 of 33, 3 per page""#,
            ),
            (
                r#"{"page":33,"next_page":3}"#,
                r#"{"page":33,"next_page":3}"#,
            ),
        ] {
            assert_eq!(told(r#"{"page":3}"#, result), expected);
            assert_eq!(told(r#"{"limit":3}"#, result), result);
        }
        for bytes in [SAMPLE_BYTES_MAX + 1, ARGUMENTS_BYTES_MAX] {
            let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(bytes));
            assert_eq!(told(&long, &long), long);
        }
    }
}
