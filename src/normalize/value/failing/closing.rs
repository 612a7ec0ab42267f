//! The end of what a program printed, where it says how it went.
//!
//! A result may still be JSON text as it comes here, in which the end of a line is written as two signs: what stands behind the
//! last line is left out in either form.

use std::borrow::Cow;

use memchr::memmem::find;

use super::super::wide::begins_ignoring_case;

/// Beginnings of a last line, with which package managers and compilers close what they printed, in lower case.
const CLOSINGS: [&str; 8] = [
    "e: ",
    "error: ",
    "fatal: ",
    "make: *** ",
    "make[1]: *** ",
    "npm err! ",
    "npm error ",
    "operable program or batch file",
];

/// How much of the end of a text is looked through for its last lines.
pub(super) const LAST_LINES_BYTES_MAX: usize = 1_024;

/// How much of the end of JSON text is undone from its escapes to see whether it is in a form that is known.
const UNDONE_BYTES_MAX: usize = 4_096;

/// How the ends of lines and tabs are written within JSON text.
const BLANKS: [&str; 3] = ["\\n", "\\r", "\\t"];

/// A text without the blanks behind its last line, and without the quotation mark that closes it.
pub(in crate::normalize) fn without_blank_end(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_end_matches(|letter: char| letter.is_whitespace() || letter == '"');
        let Some(shorter) = BLANKS.iter().find_map(|blank| rest.strip_suffix(blank)) else {
            return rest;
        };
        rest = shorter;
    }
}

/// The lines at the end of a text, the last one first.
pub(super) fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    last_lines_within(text, LAST_LINES_BYTES_MAX)
}

/// The same within so many bytes.
pub(in crate::normalize) fn last_lines_within(
    text: &str,
    bytes: usize,
) -> impl Iterator<Item = &str> {
    let end = end_of(without_blank_end(text), bytes);
    let break_of_lines = if end.contains('\n') { "\n" } else { "\\n" };
    end.rsplit(break_of_lines)
}

/// Those of them that are no words of a language, and say so in the only line as well.
const ALONE: [&str; 4] = ["make: *** ", "make[1]: *** ", "npm err! ", "npm error "];

/// Whether the last of several lines says that it failed, or the only one, in the form of a program's.
pub(super) fn closes_with_failure(text: &str) -> bool {
    let mut lines = last_lines(text);
    let Some(last) = lines.next() else {
        return false;
    };
    let begins = |words: &&str| begins_ignoring_case(last, words);
    let last = lines.next().map(|_| last);
    ALONE.iter().any(begins)
        || last.is_some_and(|last| begins_closing(last) || closes_job(last) || closes_tex(text))
}

/// How TeX's last line begins, behind which who runs it may say more, and those with which it says before what was wrong.
const TEX_ENDS: [&str; 2] = ["Transcript written on ", "No pages of output"];
const TEX_ERROR: &str = "! ";

/// Whether TeX's last line is near the end, and one near it tells of an error.
fn closes_tex(text: &str) -> bool {
    last_lines(text).any(|line| TEX_ENDS.iter().any(|end| line.starts_with(end)))
        && last_lines(text).any(|line| line.starts_with(TEX_ERROR))
}

/// How services that run jobs close the log of one that failed: Jenkins, and within a line GitHub.
const JOB_FAILED: &str = "Finished: FAILURE";
const JOB_ERROR: &str = "##[error]";

/// What stands before the code with which a process ended.
const CODES: [&str; 5] = [
    "exit code ",
    "exit status ",
    "exited with code ",
    "exited with status ",
    "return code ",
];

/// Whether a line says that a job has failed, or ends with the code of a process that did.
fn closes_job(line: &str) -> bool {
    let line = line.trim_end_matches(['.', ')', ' ']);
    let before = line.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let code = &line[before.len()..];
    let is_failed = code.bytes().any(|digit| digit != b'0');
    line == JOB_FAILED
        || line.contains(JOB_ERROR)
        || (is_failed
            && CODES
                .iter()
                .any(|words| before.replace(':', "").ends_with(words)))
}

/// Whether a line begins with one of [`CLOSINGS`].
pub(in crate::normalize::value) fn begins_closing(line: &str) -> bool {
    CLOSINGS
        .iter()
        .any(|words| begins_ignoring_case(line, words))
}

/// A text with one of these words near its end, as it was printed: of JSON text, the end is undone from its escapes.
pub(super) fn printed_with<'t>(text: &'t str, words: &[&str]) -> Option<Cow<'t, str>> {
    let near = end_of(text, LAST_LINES_BYTES_MAX);
    let has = |word: &&str| find(near.as_bytes(), word.as_bytes()).is_some();
    if !words.iter().any(has) {
        return None;
    }
    if near.contains('\n') || !near.contains("\\n") {
        return Some(Cow::Borrowed(text));
    }
    let end = end_of(without_blank_end(text), UNDONE_BYTES_MAX);
    let undone = end.replace("\\r", "").replace("\\n", "\n");
    Some(Cow::Owned(undone.replace("\\\"", "\"").replace("\\t", " ")))
}

/// So many bytes of the end of a text.
fn end_of(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests {
    use super::{closes_with_failure, without_blank_end};

    /// Given blanks behind the last line, as they are or as JSON text writes them, that line is the last one.
    #[test]
    fn blanks_end_no_text() {
        for text in ["made\nerror: no", "made\\nerror: no"] {
            for end in ["", "\n", "\\n\"", "\\r\\n\\r\\n\"", "\r\n\n", "\\n \\t\""] {
                assert!(closes_with_failure(&format!("{text}{end}")), "{text}{end}");
            }
        }
        assert!(!closes_with_failure("error: no\\nmended\\n\""));
        for last in [
            "Finished: FAILURE",
            "job\tstep\t##[error]Process completed with exit code 1.",
            "INFO - Task exited with return code 1",
            "(exit status: 2)",
            "! Undefined control sequence.\nl.82 a\nNo pages of output.",
            "! Missing $ inserted.\nTranscript written on a.log.\nLatexmk: All done",
        ] {
            assert!(closes_with_failure(&format!("made\n{last}")), "{last}");
        }
        for only in [
            "make: *** [Makefile:3: all] Error 1",
            "npm error Missing script: \"a\"",
        ] {
            assert!(closes_with_failure(only), "{only}");
        }
        for last in [
            "Finished: SUCCESS",
            "It exited with code 0.",
            "Output written on a.pdf (3 pages).\nTranscript written on a.log.",
            "code 1",
            "7",
            "",
        ] {
            assert!(!closes_with_failure(&format!("made\n{last}")), "{last}");
        }
        assert_eq!(without_blank_end("\\n\""), "");
        assert_eq!(without_blank_end("C:\\net"), "C:\\net");
    }
}
