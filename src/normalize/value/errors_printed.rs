//! Tells what a command printed that speaks of an error, where nothing else says that the command failed.
//!
//! There are more forms of errors than can be known: each compiler, interpreter and service has its own. A word for an error
//! makes no failure of what was printed, but a verdict that says no: it tells something where the same is printed again, whatever
//! was changed in between.

use super::super::shell;
use super::failing::{reads_as_failure, says_no_error, without_way};
use super::wide::trimmed;
use super::{Arguments, Value, hash, mask, unquote};

/// Longest text that is looked through: what is longer tells of other things as well.
const TEXT_BYTES_MAX: usize = 4_096;

/// Words for errors, of which the longer ones of names (`NameError`) end so, and which may go on with `s`.
const ERRORS: [&str; 16] = [
    "error",
    "exception",
    "failed",
    "failure",
    "fatal",
    "panicked",
    "undefined",
    "unresolved",
    "cannot",
    "can't",
    "conflict",
    "aborted",
    "halted",
    "traceback",
    "denied",
    "invalid",
];

/// What says that all went well, or that something is counted which may be nought.
const WELL: [&str; 8] = [
    "success",
    "passed",
    "passing",
    "finished",
    "0 errors",
    "no errors",
    "0 failed",
    "no issues",
];

/// A result that says no where it is what a command printed, which does not merely look, and speaks of an error: it is known
/// whatever places in files it names.
pub(super) fn judged(value: Value, json: &str, arguments: &Arguments<'_>) -> Value {
    let may_be = !value.denies && json.len() <= TEXT_BYTES_MAX && !trimmed(json).starts_with('{');
    let command = || arguments.command_line().filter(|line| !line.is_empty());
    let Some(command) = may_be.then(command).flatten() else {
        return value;
    };
    let printed = unquote(json);
    let speaks = speaks_of_error(&printed) && !says_no_error(&printed);
    if shell::only_looks(command) || !speaks || reads_as_failure(&printed) {
        return value;
    }
    Value {
        denies: true,
        masked: hash::text(&mask::text(&without_way(&printed))),
        ..value
    }
}

/// Whether a text speaks of an error, and not of what went well.
fn speaks_of_error(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    !WELL.iter().any(|word| text.contains(word))
        && ERRORS.iter().any(|word| {
            let mut places = text.match_indices(word);
            places.any(|(at, _)| is_word(&text, at, at + word.len()))
        })
}

/// Whether what stands there is a word, or the end of a name, and no part of a path or of another word, and no count of none.
fn is_word(text: &str, from: usize, to: usize) -> bool {
    let behind = text[to..].strip_prefix('s').unwrap_or(&text[to..]);
    let goes_on = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '/');
    let is_path = behind
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let before = text[..from].rsplit(char::is_whitespace).next();
    let count = behind.trim_start_matches([':', '=', ' ']).strip_prefix('0');
    let counts_none =
        count.is_some_and(|rest| !rest.starts_with(|sign| goes_on(sign) || sign == '.'));
    !counts_none
        && !behind.starts_with(goes_on)
        && !is_path
        && !before.unwrap_or_default().contains(['/', '-'])
}

#[cfg(test)]
mod tests {
    use super::super::{ResultKind, answer_json};
    use super::*;
    use crate::engine::event::Recorded;
    use crate::engine::policy::ToolSettings;

    fn answer(command: &str, printed: &str) -> Value {
        let arguments = serde_json::json!({"command": command}).to_string();
        let json = serde_json::Value::from(printed).to_string();
        let arguments = Arguments::of(&arguments);
        match answer_json(&ToolSettings::PLAIN, ResultKind::Plain, &json, &arguments) {
            Recorded::Value(value) => value,
            other => panic!("{other:?}"),
        }
    }

    /// Given what a command printed that runs something, it says no where it speaks of an error, whatever line that is in; what
    /// was read, what went well, and names with such a word in them say nothing of the kind.
    #[test]
    fn what_speaks_of_an_error() {
        for (command, printed) in [
            (
                "ruby a.rb",
                "a.rb:1:in `<main>': undefined local variable (NameError)",
            ),
            ("Rscript a.R", "1 of 2 was read\nExecution halted"),
            (
                "go build ./...",
                "# example.com/a\n./main.go:3:2: undefined: foo",
            ),
            ("patch -p1 < a", "patching file a.c\n1 out of 1 hunk FAILED"),
        ] {
            assert!(answer(command, printed).denies, "{command}");
        }
        for (command, printed) in [
            ("cat a.log", "a.rb:1: undefined (NameError)"),
            ("make", "cc -c src/error.c\ncc -c no-error.c"),
            ("make", "0 errors, 1 warning"),
            ("./soak.sh", "rounds: 90632 errors: 0 p99_ms: 3.34"),
            ("cargo build", "warning: unused error\n    Finished in 3s"),
            ("ls -l; make", "built error-list"),
        ] {
            assert!(!answer(command, printed).denies, "{command}");
        }
        let at =
            |line: u32| answer("go build", &format!("./main.go:{line}:2: undefined: foo")).masked;
        assert_eq!(at(3), at(4));
    }
}
