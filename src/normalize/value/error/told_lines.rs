//! The lines of a long failure by which it is known: those that speak of an error, among all that a program printed before
//! it gave up.

use std::borrow::Cow;

use crate::engine::event::ERROR_BYTES_MAX;

use super::super::failing::closing::begins_closing;

/// How much of the end of a long failure is looked through for what it says of itself.
pub(super) const END_BYTES_MAX: usize = 4_096;

/// Of a failure that is too long to be kept, the lines near its end that speak of an error; where these are too long as well, those
/// that begin as errors do, if the others say no more than they do. What else was printed is the way there, or what is left of
/// it. The whole text where it is short or has no such lines.
pub(crate) fn told_lines(text: &str) -> Cow<'_, str> {
    let mut lines: Vec<&str> = all_lines_of_error(text).collect();
    let bytes = lines.iter().map(|line| line.len() + 1).sum::<usize>();
    if bytes > ERROR_BYTES_MAX {
        let (told, others): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| begins_closing(line));
        let says_more = |line: &&str| {
            let said = said_behind_error(line);
            said.is_some_and(|said| said.is_empty() || !told.iter().any(|told| told.contains(said)))
        };
        lines = if others.iter().any(says_more) {
            Vec::new()
        } else {
            told
        };
    }
    if lines.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(lines.join("\n"))
}

/// All lines of a long failure that speak of an error, however long they are together; the text itself where it is short, or none
/// does. By these it is known again, whatever else is printed with it.
pub(crate) fn lines_of_error(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = all_lines_of_error(text).collect();
    if lines.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(lines.join("\n"))
}

/// The lines near the end of a failure that speak of an error; none where the whole is short.
fn all_lines_of_error(text: &str) -> impl Iterator<Item = &str> {
    let text = if text.len() <= ERROR_BYTES_MAX {
        ""
    } else {
        text
    };
    let start = text.ceil_char_boundary(text.len().saturating_sub(END_BYTES_MAX));
    let lines = text[start..].lines().map(str::trim);
    lines.filter(|line| speaks_of_error(line))
}

/// What a line says behind the word `error`.
fn said_behind_error(line: &str) -> Option<&str> {
    let at = line.to_ascii_lowercase().find("error")?;
    Some(line[at + "error".len()..].trim_start_matches([':', ' ']))
}

/// Whether a line says what went wrong, or what was expected instead.
fn speaks_of_error(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    begins_closing(line)
        || lower.starts_with("e  ")
        || ERROR_WORDS.iter().any(|word| lower.contains(word))
}

/// Words of such lines, in lower case.
const ERROR_WORDS: [&str; 6] = [
    "assert",
    "error",
    "exception",
    "expected",
    "fail",
    "panicked",
];

#[cfg(test)]
mod tests {
    use super::told_lines;

    /// Given a long failure, what it says of itself are the lines that speak of an error, as far as there are any; where these are
    /// too long, those that begin as errors do.
    #[test]
    fn long_failures_say_what_went_wrong_in_a_line() {
        let download = "Collecting a\n  Downloading a-1.2.tar.gz (30 kB)\n".repeat(8);
        let failed =
            format!("{download}ERROR: a and b do not fit.\n\n  a depends on c\nERROR: no way out");
        assert_eq!(
            told_lines(&failed),
            "ERROR: a and b do not fit.\nERROR: no way out"
        );
        assert_eq!(told_lines(&download), download);
        let compiled = format!("{download}a.c:3: error: no `x`\nerror: 1 failed");
        assert_eq!(
            told_lines(&compiled),
            "a.c:3: error: no `x`\nerror: 1 failed"
        );
        assert_eq!(told_lines("so\nerror: it is"), "so\nerror: it is");
        let step = "#9 ERROR: process \"make\" did not end well";
        let built =
            format!("{download}{step}\nERROR: failed to solve: process \"make\" did not end well");
        assert_eq!(
            told_lines(&built),
            format!("{step}\nERROR: failed to solve: process \"make\" did not end well")
        );
        let steps = format!("{built}\n{}", "ERROR: out of memory. ".repeat(12));
        assert_eq!(told_lines(&steps).matches("#9").count(), 0);
        let much = format!(
            "{download}{}error: 9 failed",
            "a.c:3: error: no `x`\n".repeat(20)
        );
        assert_eq!(told_lines(&much), much);
    }
}
