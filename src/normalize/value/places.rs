//! Takes out of a failure where and when it was met: places in a file (`src/a.ts(41,7)`, `a.py:12:5`, `line 12`, the numbers that
//! a compiler writes before the lines it shows), the seconds that a build writes before them, and numbers in the names of
//! temporary directories or all that was drawn there (`temporary`); and the numbers of processes, and sizes in memory.
//!
//! Each edit moves the lines below it, and each run has another directory. What went wrong is the same as before, wherever it
//! stands now.

use std::borrow::Cow;

use memchr::memmem;

use crate::engine::file_name::ends_in_file;

use super::echo::ECHO;
use super::temporary;

/// Words behind which a number says where, or which process it was.
const WORDS: [&str; 8] = [
    "line", "column", "col", "char", "position", "pos", "process", "pid",
];

/// The text of a failure without what says where.
pub(super) fn without_places(text: &str) -> Cow<'_, str> {
    match temporary::without_drawn(text) {
        Cow::Borrowed(text) => without_numbers(text),
        Cow::Owned(clean) => Cow::Owned(without_numbers(&clean).into_owned()),
    }
}

/// The text of a failure without the numbers that say where.
fn without_numbers(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let (mut copied, mut at) = (0, 0);
    // Where the newest place ends: behind it, a column or decimals may follow.
    let mut place_end = None;
    while let Some(start) = text[at..].find(|sign: char| sign.is_ascii_digit()) {
        let start = at + start;
        let rest = text[start..].trim_start_matches(|sign: char| sign.is_ascii_digit());
        let end = text.len() - rest.len();
        at = end;
        // `0x1f` is no number of a line.
        if &text[start..end] == "0" && rest.starts_with('x') {
            continue;
        }
        let before = &text[..start];
        let goes_on =
            place_end.is_some_and(|end| matches!(&text[end..start], ":" | "," | ", " | "."));
        let is_place = goes_on
            || follows_file(before)
            || follows_word(before)
            || is_margin(before, rest)
            || is_size(rest)
            || is_bracketed(before, rest)
            || is_of_log(before, rest)
            || (is_temporary(before) && !is_in_id(before, &text[start..end], rest));
        if is_place {
            clean.push_str(&text[copied..start]);
            copied = end;
            place_end = Some(end);
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

/// Whether a line ends, as far as it goes, in where something stands in a file: `src/a.ts:12:5 - `, `[Line 12] `, or the line and
/// the column that a linter writes before what it says: `  12:5  `.
pub(super) fn ends_in_place(line: &str) -> bool {
    let is_behind = |sign: char| matches!(sign, ' ' | ':' | '-' | '\u{2013}' | ')' | ']' | '|');
    let number = line.trim_end_matches(is_behind);
    let before = number.trim_end_matches(is_digit);
    if before.len() == number.len() {
        return false;
    }
    let line_before = before.trim_end_matches([':', ',', ' ']);
    let column = line_before.trim_end_matches(is_digit);
    let has_column = column.len() < line_before.len() && line_before.len() < before.len();
    let is_margin = || column.len() >= 2 && column.bytes().all(|sign| sign == b' ');
    follows_file(before)
        || follows_word(before)
        || (has_column && (follows_file(column) || follows_word(column) || is_margin()))
}

/// Whether a text ends in a file's name and a sign behind which its line stands: `a.py:`, `a.ts(`, `A.java:[`, `Dockerfile:`. A
/// file that the arguments name is not shown by its name.
fn follows_file(before: &str) -> bool {
    let before = before.strip_suffix('[').unwrap_or(before);
    let Some(name) = before.strip_suffix([':', '(']) else {
        return false;
    };
    let letters = name.bytes().rev();
    let ending = letters.take_while(u8::is_ascii_alphanumeric).count();
    let (stem, word) = name.split_at(name.len() - ending);
    if !word.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return false;
    }
    if word.ends_with("file") && word.starts_with(char::is_uppercase) {
        return true;
    }
    if word == ECHO {
        return !stem.ends_with(|sign: char| sign.is_alphanumeric());
    }
    ends_in_file(name)
}

/// Whether a text ends in a word behind which a line or a column is told: `line 12`.
fn follows_word(before: &str) -> bool {
    let Some(told) = before.strip_suffix([' ', ':']) else {
        return false;
    };
    let told = told.trim_end_matches(':');
    let letters = told.bytes().rev();
    let length = letters.take_while(u8::is_ascii_alphabetic).count();
    let word = &told[told.len() - length..];
    WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a number stands in the margin of a line that is shown: `12 | let a = b;`, in a box `│   12:   a = b`; begins what a
/// linter says with line and column: `  12:5  error`; or is a part of the seconds that stand before a line of what a build printed:
/// `#10 26.734 Missing`.
fn is_margin(before: &str, behind: &str) -> bool {
    // Not the whole line is looked at: it may be all there is, and have a number in each second place.
    let line_before = before.trim_end_matches([' ', '>']);
    if let Some(before) = line_before.strip_suffix('│') {
        return begins_line(before) && behind.starts_with(':');
    }
    let has_column = || {
        let column = behind.strip_prefix(':').unwrap_or_default();
        let rest = column.trim_start_matches(is_digit);
        rest.len() < column.len() && rest.starts_with(' ')
    };
    let is_shown =
        || behind.trim_start_matches(' ').starts_with(['|', '│']) || is_marked_below(behind);
    (begins_line(line_before) && (is_shown() || has_column()))
        || (is_seconds(behind) && follows_step(before))
}

/// Whether signs below the rest of a line mark a part of it: `~~~~`.
fn is_marked_below(behind: &str) -> bool {
    let mut lines = behind.lines().skip(1);
    let marks = lines.next().map_or("", str::trim);
    behind.starts_with(' ') && !marks.is_empty() && marks.chars().all(|sign| "~^".contains(sign))
}

/// Whether a size in memory goes on here, `12.50 GiB`: how much there was is another each time.
fn is_size(behind: &str) -> bool {
    let decimals = behind.strip_prefix('.').unwrap_or(behind);
    let unit = decimals
        .trim_start_matches(is_digit)
        .trim_start_matches(' ');
    ["KiB", "MiB", "GiB"]
        .iter()
        .any(|known| unit.starts_with(known))
}

/// Whether a line and a column stand in brackets: `Unrecognized name: a at [1:57]`.
fn is_bracketed(before: &str, behind: &str) -> bool {
    let column = behind.strip_prefix(':').unwrap_or_default();
    let rest = column.trim_start_matches(is_digit);
    rest.len() < column.len() && rest.starts_with(']') && before.ends_with(" [")
}

/// Whether the number of the process stands in a line of a log, between the level and a line: `WARN 4711 --- [main]`.
fn is_of_log(before: &str, behind: &str) -> bool {
    let level = before.trim_end_matches(' ');
    behind.starts_with(" ---") && LEVELS.iter().any(|known| level.ends_with(known))
}

/// Levels of lines of a log.
const LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

fn is_digit(sign: char) -> bool {
    sign.is_ascii_digit()
}

fn begins_line(before: &str) -> bool {
    before.is_empty() || before.ends_with('\n')
}

/// Whether three decimals and a blank follow.
fn is_seconds(behind: &str) -> bool {
    let decimals = behind
        .strip_prefix('.')
        .and_then(|rest| rest.split_at_checked(3));
    decimals.is_some_and(|(digits, rest)| digits.chars().all(is_digit) && rest.starts_with(' '))
}

/// Whether a further line begins here, or one with the number of a step: `#10 `.
fn follows_step(before: &str) -> bool {
    let step = before
        .strip_suffix(' ')
        .map(|step| step.trim_end_matches(is_digit));
    let begins_with_step = step
        .and_then(|step| step.strip_suffix('#'))
        .is_some_and(begins_line);
    before.ends_with('\n') || begins_with_step
}

/// Longest path that is looked at, in bytes.
const PATH_BYTES_MAX: usize = 128;

/// Whether a text ends within the name of a temporary file or directory: `/tmp/pytest-of-ann/pytest-`.
fn is_temporary(before: &str) -> bool {
    let is_end =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'(' | b'=');
    let path = before.bytes().rev().take(PATH_BYTES_MAX);
    let length = path.take_while(|byte| !is_end(byte)).count();
    let path = &before.as_bytes()[before.len() - length..];
    TEMPORARY
        .iter()
        .any(|directory| memmem::find(path, directory).is_some())
}

/// Whether digits are a part of a word that is long enough to be an id, which is masked as a whole: without them, its letters would
/// be left.
fn is_in_id(before: &str, digits: &str, behind: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let behind = behind.bytes().take(ID_BYTES_MIN).take_while(is_part);
    let before = before.bytes().rev().take(ID_BYTES_MIN).take_while(is_part);
    before.count() + digits.len() + behind.count() >= ID_BYTES_MIN
}

/// Shortest such word.
const ID_BYTES_MIN: usize = 16;

/// Where systems keep temporary files.
const TEMPORARY: [&[u8]; 2] = [b"/tmp/", b"/var/folders/"];

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::without_places;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_places(text), expected);
    }

    /// Given a line of numbers as long as a span may be, each is looked at once.
    #[test]
    fn a_long_line_of_numbers_takes_no_longer() {
        let text = "1 ".repeat(1 << 19);
        let began = Instant::now();
        check(&text, &text);
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    /// Given failures that say where in a file they were met, that is left out, and nothing else.
    #[test]
    fn places_are_left_out() {
        check(
            "src/a.ts(41,7): error TS2322: Type 'b'",
            "src/a.ts(,): error TS2322: Type 'b'",
        );
        check(
            "tests/a.py:12: AssertionError: 3 != 4",
            "tests/a.py:: AssertionError: 3 != 4",
        );
        check(
            "error[E0425]: no value `x`\n  --> src/main.rs:12:5\n   |\n12 |     x\n",
            "error[E0425]: no value `x`\n  --> src/main.rs::\n   |\n |     x\n",
        );
        check(
            "a.ps1:12 failed\n12   Order.load()\n     ~~~~~\n12   of them",
            "a.ps1: failed\n   Order.load()\n     ~~~~~\n12   of them",
        );
        check(
            "/src/Cart.java:[31,25] cannot find symbol",
            "/src/Cart.java:[,] cannot find symbol",
        );
        check(
            "│   on main.tf line 59:\n│   59:   acl = 1",
            "│   on main.tf line :\n│   :   acl = 1",
        );
        check(
            "#10 26.734 Missing: pad@1.3.0\n26.734 Missing: pad@1.3.0\nDockerfile:9",
            "#10 . Missing: pad@1.3.0\n. Missing: pad@1.3.0\nDockerfile:",
        );
        check(
            "open('/tmp/pytest-of-ann/pytest-12/test_a0') failed",
            "open('/tmp/pytest-of-ann/pytest-/test_a') failed",
        );
        check(
            "/root/.ansible/tmp/ansible-tmp-179.12-4/a.py: no",
            "/root/.ansible/tmp/ansible-tmp-.-/a.py: no",
        );
        check(
            "error: unknown variable\n12 │ #show: a\n",
            "error: unknown variable\n │ #show: a\n",
        );
        check(
            "process 2113 has 21.22 GiB, 863 MiB are asked for",
            "process  has . GiB,  MiB are asked for",
        );
        check(
            "bash: -c: line 3: syntax error",
            "bash: -c: line : syntax error",
        );
        check(
            "SyntaxError at line 4, column 19 of 30",
            "SyntaxError at line , column  of 30",
        );
        check(
            "Expecting ',' delimiter: line 1 column 34 (char 33)",
            "Expecting ',' delimiter: line  column  (char )",
        );
        check(
            "Unexpected token } in JSON at position 34",
            "Unexpected token } in JSON at position ",
        );
        check(
            "Unrecognized name: revenu at [1:57]; line 1 pos 12;",
            "Unrecognized name: revenu at [:]; line  pos ;",
        );
        check(
            "at noon WARN 4711 --- [main] a.b.C",
            "at noon WARN  --- [main] a.b.C",
        );
    }

    /// Given numbers that are what went wrong, they stay.
    #[test]
    fn other_numbers_stay() {
        for text in [
            "3 failed, 4 passed",
            "connect to 10.0.0.1:5432 failed",
            "connect to localhost:5432 failed",
            "expected 4 columns, found 5",
            "HTTP 503",
            "12.50 is too much",
            "12.504 of 13",
            "see /tmp/log, 4 lines",
            "│ 3 of 4",
            "profile:4",
            "a[1:57] is empty",
            "see [12]",
            "see /tmp/run/9F0C2A11-77D1-4E0B-9A52-0C1F6F2F9D11.log",
            "the WARN 4 is --- not one",
            "version 1.2: not found",
            "main.f(0xc0003ee040)",
            "",
        ] {
            check(text, text);
        }
    }
}
