//! Words that name something by their form alone, whatever stands beside them: a day, the address of a machine or its name, a
//! code, a commit.

use std::ops::RangeInclusive;

/// The day that a word names, `2027-03-04`: alone, before a time, or in the name of a file that was written on it.
pub(super) fn day(word: &str) -> Option<&str> {
    const BYTES: usize = 10;
    let bytes = word.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_day = |from: usize| {
        let mut day = bytes[from..from + BYTES].iter().enumerate();
        day.all(|(at, sign)| match at {
            4 | 7 => *sign == b'-',
            _ => sign.is_ascii_digit(),
        })
    };
    let begins = |from: &usize| from.checked_sub(1).is_none_or(|before| !is_digit(before));
    let mut starts = 0..(bytes.len() + 1).saturating_sub(BYTES);
    let start = starts.find(|from| begins(from) && is_day(*from) && !is_digit(from + BYTES))?;
    word.get(start..start + BYTES)
}

/// Whether a word names something by its form alone.
pub(super) fn is_name_by_form(word: &str) -> bool {
    is_address(word) || is_code(word) || is_commit(word) || is_place(word)
}

/// Whether a word is the address of a machine: four numbers with points between.
fn is_address(word: &str) -> bool {
    let mut numbers = 0;
    word.split('.').all(|number| {
        numbers += 1;
        number.parse::<u8>().is_ok()
    }) && numbers == 4
}

/// Whether a word is a code: two capitals, as countries have them, or capitals and numbers, as cells, orders and notices have, and
/// the files that are named after them, `C-118.pdf`.
fn is_code(word: &str) -> bool {
    let first = word.bytes().find(u8::is_ascii_alphabetic);
    if !first.is_some_and(|first| first.is_ascii_uppercase()) {
        return false;
    }
    let word = match word.rsplit_once('.') {
        Some((stem, kind)) if (1..=KIND_BYTES_MAX).contains(&kind.len()) && stem.len() > 2 => stem,
        _ => word,
    };
    let is_capital = |letter: &u8| letter.is_ascii_uppercase();
    let letters = || word.bytes().filter(u8::is_ascii_alphabetic);
    let has_digit = word.bytes().any(|digit| digit.is_ascii_digit());
    letters().next().is_some()
        && letters().all(|letter| is_capital(&letter))
        && (has_digit || word.len() == 2)
}

/// Longest kind of a file, behind the point: `json`.
const KIND_BYTES_MAX: usize = 4;

/// Whether a word is the name of a machine or of where one stands: words with `-` between, and a number of up to two digits behind
/// them, as in `us-east-1` and `web-prod-01`.
fn is_place(word: &str) -> bool {
    if !word.ends_with(|sign: char| sign.is_ascii_digit()) {
        return false;
    }
    let mut parts = word.rsplit('-');
    let number = parts.next().unwrap_or_default();
    let is_number =
        (1..=2).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit());
    let is_word =
        |part: &str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_alphabetic());
    let (all, count) = parts.fold((true, 0), |(all, count), part| {
        (all && is_word(part), count + 1)
    });
    is_number && all && count >= 2
}

/// Whether a word is an abbreviated commit: hex digits, of which some are letters and some are not.
fn is_commit(word: &str) -> bool {
    COMMIT_BYTES.contains(&word.len())
        && word
            .bytes()
            .all(|digit| digit.is_ascii_digit() || matches!(digit, b'a'..=b'f'))
        && word.bytes().any(|digit| digit.is_ascii_digit())
        && word.bytes().any(|digit| digit.is_ascii_lowercase())
}

/// How long commits are, from abbreviated ones to whole ones.
const COMMIT_BYTES: RangeInclusive<usize> = 7..=40;
