//! What arguments say of the amount of an answer: how much of it is shown (`"limit": 50`, `| tail -n 20`), how long it may take
//! (`timeout 60 …`), how often it was asked for (`"attempt": 2`), and which page of it is asked for (`"cursor": "q8Zk"`).
//!
//! It is no part of what is asked: a command is the same one, however many of its last lines are shown. And a server that brings
//! one page whatever page is asked for has no other.

use std::borrow::Cow;

use super::sample::{Member, members};

/// Parts of the names of arguments that say how much is shown, how long it may take or how often it was asked for, in small
/// letters, without `_`.
const AMOUNTS: [&str; 15] = [
    "limit",
    "timeout",
    "maxresults",
    "maxoutput",
    "maxchars",
    "maxlength",
    "numresults",
    "perpage",
    "pagesize",
    "topk",
    "yieldtime",
    "attempt",
    "retries",
    "retrycount",
    "retrynumber",
];

/// Parts of the names of arguments that say with a number, or with whatever, from where on an answer is shown; the last one also
/// those of hours and the like.
const PAGES: [&str; 4] = ["page", "offset", "skip", "start"];
const CURSORS: [&str; 4] = ["cursor", "pagetoken", "continuation", "marker"];

/// What stands before such a number in a command or a query.
const BEFORE: [&str; 12] = [
    "head -n ",
    "head -n",
    "head -c ",
    "head -",
    "head --lines=",
    "tail -n ",
    "tail -n",
    "tail -c ",
    "tail -",
    "tail --lines=",
    "timeout ",
    "limit ",
];

/// Whether two samples of arguments, which are not the same, say the same but for an amount.
pub(crate) fn differ_in_amount(left: &str, right: &str) -> bool {
    left != right && says_amount(left) && without_amounts(left) == without_amounts(right)
}

/// Whether arguments say an amount.
pub(crate) fn says_amount(sample: &str) -> bool {
    matches!(without_amounts(sample), Cow::Owned(_))
}

/// Arguments without the amounts that they say.
pub(crate) fn without_amounts(sample: &str) -> Cow<'_, str> {
    let is_said = |name: &str, value: &str| is_number(value) && is_one_of(&AMOUNTS, name);
    let sample = without_members(sample, is_said);
    match without_numbers(&sample) {
        Some(rest) => Cow::Owned(rest),
        None => sample,
    }
}

/// Whether two samples of arguments, which are not the same, ask for two pages of one answer.
pub(crate) fn differ_in_page(left: &str, right: &str) -> bool {
    let is_said = |name: &str, value: &str| {
        is_one_of(&CURSORS, name) || (is_number(value) && is_one_of(&PAGES, name))
    };
    left != right && without_members(left, is_said) == without_members(right, is_said)
}

/// Whether arguments ask for a page of a list by its number, and not merely from where on, as from an hour. A cursor is handed out,
/// so there is more.
pub(crate) fn says_page(sample: &str) -> bool {
    members(sample).any(|member| is_number(member.value) && is_one_of(&PAGES[..3], member.name))
}

/// Whether an argument of this name says from where on an answer is shown.
pub(crate) fn names_page(name: &str) -> bool {
    is_one_of(&CURSORS, name) || is_one_of(&PAGES, name)
}

fn is_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit())
}

/// Whether an argument's name has one of some parts, whatever its spelling.
fn is_one_of(parts: &[&str], name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    parts.iter().any(|part| name.contains(part))
}

/// Arguments without the numbers and texts of some members.
pub(super) fn without_members(sample: &str, is_said: impl Fn(&str, &str) -> bool) -> Cow<'_, str> {
    let (mut kept, mut copied) = (String::new(), 0);
    for Member { name, value, place } in members(sample) {
        if place.start >= copied && is_said(name, value) {
            kept.push_str(&sample[copied..place.start]);
            copied = place.end;
        }
    }
    rest_of(sample, kept, copied)
}

/// A command or a query without the numbers in it that say an amount; nothing where there are none.
fn without_numbers(sample: &str) -> Option<String> {
    let (mut kept, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(start) = sample[at..].find(|sign: char| sign.is_ascii_digit()) {
        let start = at + start;
        let rest = sample[start..].trim_start_matches(|sign: char| sign.is_ascii_digit());
        at = sample.len() - rest.len();
        if follows_amount(&sample[..start]) {
            kept.push_str(&sample[copied..start]);
            copied = at;
        }
    }
    (copied > 0).then(|| kept + &sample[copied..])
}

fn follows_amount(before: &str) -> bool {
    BEFORE.iter().any(|word| {
        let begin = before.len().checked_sub(word.len());
        let parts = begin.and_then(|begin| before.split_at_checked(begin));
        parts.is_some_and(|(before, end)| {
            end.eq_ignore_ascii_case(word) && !before.ends_with(char::is_alphanumeric)
        })
    })
}

fn rest_of(text: &str, mut kept: String, copied: usize) -> Cow<'_, str> {
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::{differ_in_amount, differ_in_page, says_amount, says_page};

    /// Given arguments that say how much is shown or how long it may take, they are the same without; other numbers are what is
    /// asked about.
    #[test]
    fn amounts() {
        for (left, right, is_amount) in [
            (
                r#"{"command":"make 2>&1 | tail -n 20"}"#,
                r#"{"command":"make 2>&1 | tail -n 5"}"#,
                true,
            ),
            (
                r#"{"command":"make | head -20 | tail -5"}"#,
                r#"{"command":"make | head -40 | tail -15"}"#,
                true,
            ),
            (
                r#"{"command":"timeout 60 make","timeout":60000}"#,
                r#"{"command":"timeout 120 make","timeout":120000}"#,
                true,
            ),
            (
                r#"{"q":"SELECT 1 LIMIT 5"}"#,
                r#"{"q":"SELECT 1 LIMIT 50"}"#,
                true,
            ),
            (
                r#"{"maxResults":5,"q":"a"}"#,
                r#"{"maxResults":50,"q":"a"}"#,
                true,
            ),
            (
                r#"{"limit":"5","q":"a"}"#,
                r#"{"limit":"50","q":"a"}"#,
                true,
            ),
            (
                r#"{"q":"a","retry_count":1}"#,
                r#"{"q":"a","retry_count":2}"#,
                true,
            ),
            (r#"{"q":"a","retries":1}"#, r#"{"q":"a","retries":2}"#, true),
            (r#"{"limit":5,"q":"a"}"#, r#"{"limit":5,"q":"b"}"#, false),
            (r#"{"limit":5,"page":1}"#, r#"{"limit":5,"page":2}"#, false),
            (
                r#"{"command":"make -j4"}"#,
                r#"{"command":"make -j8"}"#,
                false,
            ),
            (
                r#"{"command":"python a.py --seed 4"}"#,
                r#"{"command":"python a.py --seed 8"}"#,
                false,
            ),
            (
                r#"{"command":"git show ahead -4"}"#,
                r#"{"command":"git show ahead -8"}"#,
                false,
            ),
            (r#"{"limit":5}"#, r#"{"limit":5}"#, false),
        ] {
            assert_eq!(differ_in_amount(left, right), is_amount, "{left} {right}");
        }
        assert!(!says_amount(r#"{"command":"ls -l","n":12}"#));
    }

    /// Given arguments that ask for another page, by number or by a cursor, they are of one answer; a page with a name is
    /// another thing.
    #[test]
    fn pages() {
        for (left, right, is_page) in [
            (r#"{"page":1,"q":"a"}"#, r#"{"page":2,"q":"a"}"#, true),
            (
                r#"{"cursor":"q8Zk","q":"a"}"#,
                r#"{"cursor":"h3\"t","q":"a"}"#,
                true,
            ),
            (
                r#"{"q":"a","startIndex":0}"#,
                r#"{"q":"a","startIndex":10}"#,
                true,
            ),
            (r#"{"pageToken":"q8Zk"}"#, r#"{"pageToken":"h3Rt"}"#, true),
            (
                r#"{"cursor":"a\\","q":"x"}"#,
                r#"{"cursor":"b","q":"y"}"#,
                false,
            ),
            (r#"{"page":"about"}"#, r#"{"page":"news"}"#, false),
            (r#"{"page":1,"q":"a"}"#, r#"{"page":1,"q":"b"}"#, false),
            (r#"{"page":1,"q":"a"}"#, r#"{"page":2,"q":"b"}"#, false),
        ] {
            assert_eq!(differ_in_page(left, right), is_page, "{left} {right}");
        }
        assert!(says_page(r#"{"q":"a","offset":20}"#));
        for other in [
            r#"{"start_hour":9}"#,
            r#"{"cursor":"q8Zk"}"#,
            r#"{"page":"next"}"#,
        ] {
            assert!(!says_page(other), "{other}");
        }
    }
}
