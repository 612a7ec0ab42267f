//! What a program prints in the end of an error that nobody caught: Python's traceback, and the forms of `PowerShell` and Ansible.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::places::without_places;
use super::closing::{LAST_LINES_BYTES_MAX, last_lines, printed_with};

/// What a traceback says in the end, `KeyError: 'name'`; what stands before it is the way there, which is another one each time
/// that the program was changed. A few remarks may follow: `DETAIL: …`, `[SQL: …]`.
pub(in crate::normalize) fn end_of_traceback(text: &str) -> Option<&str> {
    TRACEBACK.find(text.as_bytes())?;
    let mut lines = last_lines(text).map(str::trim);
    let last = lines.find(|line| !is_remark(line))?;
    (names_exception(last) || names_class(last)).then_some(last)
}

/// `psycopg2.errors.UndefinedColumn: …`: the name of a class within a module, as the last line of a traceback begins.
fn names_class(line: &str) -> bool {
    let name = line.split_once(": ").map_or("", |(name, _)| name);
    let is_part = |part: &str| {
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        !part.is_empty() && part.chars().all(is_name)
    };
    name.split('.').all(is_part)
        && name
            .rsplit_once('.')
            .is_some_and(|(_, class)| class.starts_with(char::is_uppercase))
}

/// Whether a line says more about the error before it: nothing, a word in capitals, perhaps with a number, and what it is about,
/// or something in brackets.
fn is_remark(line: &str) -> bool {
    let is_capital = |letter: u8| letter.is_ascii_uppercase();
    let is_named = line.split_once(": ").is_some_and(|(name, _)| {
        let word = name.split_once(' ').map_or(name, |(word, number)| {
            let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
            if is_number { word } else { "" }
        });
        !word.is_empty() && word.bytes().all(is_capital)
    });
    line.is_empty() || is_named || is_bracketed(line)
}

/// Whether a whole line stands in brackets: `[SQL: …]`, `(Open file: n/a)`.
pub(in crate::normalize) fn is_bracketed(line: &str) -> bool {
    let mut brackets = [('[', ']'), ('(', ')')].into_iter();
    brackets.any(|(open, close)| line.starts_with(open) && line.ends_with(close))
}

/// Longest text of which that is left out, number by number: more is a log, which is another one each time.
const WAY_BYTES_MAX: usize = 32 * 1024;

/// What a failed command printed, without what moves when a program is edited: the way to the error in a traceback, and places in
/// files.
pub(in crate::normalize) fn without_way(printed: &str) -> Cow<'_, str> {
    if printed.len() > WAY_BYTES_MAX {
        return Cow::Borrowed(printed);
    }
    let Some(end) = end_of_traceback(printed) else {
        return without_places(printed);
    };
    let start = TRACEBACK.find(printed.as_bytes()).unwrap_or_default();
    Cow::Owned(without_places(&printed[..start]).into_owned() + end)
}

/// `ValueError: …`, `java.io.IOException: …`: one word before the first colon, with such an end.
pub(super) fn names_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else {
        return false;
    };
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_');
    name.chars().all(is_name) && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// How Python begins to tell where a program failed.
static TRACEBACK: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new("Traceback (most recent call last)"));

/// What `PowerShell` says of an error, without the command that met it and where that stands: `del : The file is in use.`, a
/// line for the place, the command behind `+`, and its category.
pub(in crate::normalize) fn said_by_powershell(text: &str) -> Option<&str> {
    let end = near_end(text, &CATEGORY)?;
    let place = text[..end].find("\n+ ")?;
    let said = text[..place].rsplit_once('\n')?.0.trim();
    let (command, words) = said.split_once(" : ").unwrap_or(("", said));
    let is_command = !command.contains(char::is_whitespace);
    Some(if is_command { words } else { said })
}

static CATEGORY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\n    + CategoryInfo "));

/// Words of `PowerShell` and Ansible that stand near the end of what they print of a failure.
const FORMS: [&str; 2] = ["+ CategoryInfo ", "PLAY RECAP "];

/// Whether a text ends in what `PowerShell` or Ansible print of a failure.
pub(super) fn has_failed_form(text: &str) -> bool {
    let printed = printed_with(text, &FORMS);
    printed.is_some_and(|text| said_by_powershell(&text).is_some() || has_failed_play(&text))
}

/// Whether a text ends with the recap of one of Ansible's plays in which a host failed.
fn has_failed_play(text: &str) -> bool {
    let Some(recap) = near_end(text, &RECAP) else {
        return false;
    };
    let counts = text[recap..].split_whitespace();
    let mut counts = counts.filter_map(|count| count.split_once('='));
    counts.any(|(what, count)| matches!(what, "failed" | "unreachable") && count != "0")
}

static RECAP: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\nPLAY RECAP "));

/// Where such words stand among the last lines of a text: above these, they belong to something that was read.
fn near_end(text: &str, words: &Finder<'_>) -> Option<usize> {
    let tail = text.len().saturating_sub(LAST_LINES_BYTES_MAX);
    words.find(&text.as_bytes()[tail..]).map(|at| tail + at)
}

#[cfg(test)]
mod tests {
    use super::super::{failure_of, reads_as_failure};
    use super::{end_of_traceback, said_by_powershell, without_way};

    /// Given a traceback, its last line is what went wrong; a text that speaks of one is none.
    #[test]
    fn tracebacks_end_with_what_went_wrong() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(end_of_traceback(text), expected, "{text}");
            assert_eq!(reads_as_failure(text), expected.is_some(), "{text}");
        };
        check(
            "-----\nKeyError      Traceback (most recent call last)\nCell In[3], line 1\nKeyError: 'size'\n",
            Some("KeyError: 'size'"),
        );
        check(
            "ran\\nTraceback (most recent call last):\\n  File\\nValueError: no\"",
            Some("ValueError: no"),
        );
        check(
            "A note:\nTraceback (most recent call last) is how it begins.",
            None,
        );
        check("ran\nValueError: no", None);
        check(
            "Traceback (most recent call last):\n  File\npsycopg2.errors.UndefinedColumn: no column\nLINE 1: select a",
            Some("psycopg2.errors.UndefinedColumn: no column"),
        );
        check(
            "ran\nTraceback (most recent call last):\n  File\nIt ends here. So: it does",
            None,
        );
        check(
            "Traceback (most recent call last):\n  File\nsql.Error: no table\nDETAIL:  a is not there.\n\n[SQL: SELECT a]\n(Background: b)",
            Some("sql.Error: no table"),
        );
        check(
            "ran\nTraceback (most recent call last):\n  File\nValueError: no\nit is tried again",
            None,
        );
    }

    /// Given what a failed command printed, the way to its error is left out, and what it printed before stays.
    #[test]
    fn the_way_to_an_error_is_left_out() {
        let check = |text: &str, expected: &str| assert_eq!(without_way(text), expected);
        check(
            "3 of 9 read\nTraceback (most recent call last):\n  File \"a.py\", line 4\nValueError: no",
            "3 of 9 read\nValueError: no",
        );
        check("a.c:3:4: error: no `x`", "a.c::: error: no `x`");
        check("3 of 9 failed", "3 of 9 failed");
    }

    /// Given what `PowerShell` prints of an error, or Ansible of a play, it is a failure, and of the former what is said is kept.
    #[test]
    fn closing_forms_of_failures() {
        let error = "del : The file 'D:\\a.xlsx' is in use.\nAt line:1 char:1\n+ del 'D:\\a.xlsx'\n+ ~~~~\n    + CategoryInfo          \
                     : WriteError: (:) [del], IOException\n    + FullyQualifiedErrorId : IOError";
        assert!(reads_as_failure(error));
        assert_eq!(
            said_by_powershell(error),
            Some("The file 'D:\\a.xlsx' is in use.")
        );
        assert_eq!(said_by_powershell("+ CategoryInfo is a word"), None);
        let play =
            "\nPLAY [all] ***\n\nPLAY RECAP ***\nweb01 : ok=2 changed=1 unreachable=0 failed=";
        assert!(reads_as_failure(&format!("{play}1 skipped=0")));
        assert!(!reads_as_failure(&format!("{play}0 skipped=0")));
        let read = "It is a page, and goes on.\n".repeat(50);
        assert!(!reads_as_failure(&format!("It begins.\n{error}\n{read}")));
        assert!(!reads_as_failure(&format!("It begins.{play}1\n{read}")));
        // As JSON text, which is undone from its quotes where it is short.
        for (text, expected) in [
            (format!("{read}{error}\n"), true),
            (format!("{read}{play}1 skipped=0\n"), true),
            (
                format!("{read}{play}0\nweb02 : ok=2 unreachable=0 failed=0\n"),
                false,
            ),
        ] {
            let quoted = serde_json::Value::from(text).to_string();
            assert_eq!(
                failure_of(None, Some(&quoted), "{}").is_some(),
                expected,
                "{quoted}"
            );
        }
    }
}
