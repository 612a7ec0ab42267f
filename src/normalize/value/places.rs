//! Takes out of a failure where in a file it was met: `src/a.ts(41,7)`, `a.py:12:5`, `line 12`, the numbers that a compiler
//! writes before the lines it shows.
//!
//! Each edit moves the lines below it. What went wrong is the same as before, wherever it stands now.

use std::borrow::Cow;

/// Longest ending of a file's name, in bytes.
const ENDING_BYTES_MAX: usize = 5;

/// Words behind which a number says where.
const WORDS: [&str; 3] = ["line", "column", "col"];

/// The text of a failure without the numbers that say where.
pub(super) fn without_places(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let (mut copied, mut at) = (0, 0);
    // Where the newest place ends: behind it, a column may follow.
    let mut place_end = None;
    while let Some(start) = text[at..].find(|sign: char| sign.is_ascii_digit()) {
        let start = at + start;
        let rest = text[start..].trim_start_matches(|sign: char| sign.is_ascii_digit());
        let end = text.len() - rest.len();
        at = end;
        let before = &text[..start];
        let goes_on = place_end.is_some_and(|end| matches!(&text[end..start], ":" | "," | ", "));
        if goes_on || follows_file(before) || follows_word(before) || is_margin(before, rest) {
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

/// Whether a text ends in a file's name and a sign behind which its line stands: `a.py:`, `a.ts(`.
fn follows_file(before: &str) -> bool {
    let Some(name) = before.strip_suffix([':', '(']) else {
        return false;
    };
    let letters = name.bytes().rev();
    let ending = letters.take_while(u8::is_ascii_alphabetic).count();
    let stem = &name[..name.len() - ending];
    (1..=ENDING_BYTES_MAX).contains(&ending)
        && stem
            .strip_suffix('.')
            .is_some_and(|stem| stem.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_'))
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

/// Whether a number stands in the margin of a line that is shown: `12 | let a = b;`.
fn is_margin(before: &str, behind: &str) -> bool {
    // Not the whole line is looked at: it may be all there is, and have a number in each second place.
    let line_before = before.trim_end_matches([' ', '>']);
    let is_first = line_before.is_empty() || line_before.ends_with('\n');
    is_first && behind.trim_start_matches(' ').starts_with('|')
}

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
            "bash: -c: line 3: syntax error",
            "bash: -c: line : syntax error",
        );
        check(
            "SyntaxError at line 4, column 19 of 30",
            "SyntaxError at line , column  of 30",
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
            "version 1.2: not found",
            "",
        ] {
            check(text, text);
        }
    }
}
