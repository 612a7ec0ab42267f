//! How a call ended: its result, and whether it failed, and of what. Spans go all of this way. Codex, Gemini CLI, the events
//! format and the guard's caller tell of a failure by a flag or an error of their own: that comes first there, and then 2 and 3
//! ([`answered`], [`told_in_blocks`]).
//!
//! 1. What its span tells (`span`: status, kind of error, exception), or who else tells of the call; but not that a search found
//!    nothing. Next a flag beside the result. These fail a call whatever its result says ([`why`]).
//! 2. Else what the result tells. What Python printed is read as the JSON that it would be, and what a command printed is taken out
//!    of the envelope in which a framework gives it, with its exit code (`envelope`). A search that printed nothing found nothing.
//! 3. Then the signs are asked one after the other (`failure_told`), and the first that tells is believed: that time ran out; an
//!    exit code other than 0, unless that is an answer (`exit_code`), or a last line that counts failed tests; an exit code of 0,
//!    by which all is well; what a build or a linter says near its end (`verdict`); and last `value::failing`, which reads what an
//!    object's members say, and the words of a text.
//!
//! The words of a failure, and a hash by which it is known again, are kept as `value::error` says. That a result says no
//! (`value::errors_printed`, `value::faults`) is something else: the call went well, and what it brought is no good.

pub(super) mod envelope;
pub(super) mod exit_code;
mod span;
pub(super) mod verdict;

use std::borrow::Cow;

use crate::engine::event::{Command, Failure, Recorded};
use crate::engine::policy::ToolSettings;

use self::envelope::{without_envelope, words};
use super::value::wide::{begins_ignoring_case, trimmed};
use super::value::{self, Arguments, failing};
use super::{shell, wrappers};

/// The exit code of a command that was ended because it took too long, as `timeout` gives it.
const TIMED_OUT: i64 = 124;

/// Longest line by which a shell's tool says that a command took too long.
const LINE_BYTES_MAX: usize = 96;

/// What a call brought.
pub(super) struct Ended<'t> {
    /// The result, without what stands around what a command printed.
    pub(super) result: Cow<'t, str>,
    /// The failure that the result tells of.
    pub(super) failure: Option<Failure>,
}

impl Ended<'_> {
    fn into_owned<'o>(self) -> Ended<'o> {
        Ended {
            result: Cow::Owned(self.result.into_owned()),
            failure: self.failure,
        }
    }
}

/// The result and the failure of a call, as far as something was recorded.
pub(super) fn told<'t>(
    how: &ToolSettings<'_>,
    tool: &str,
    arguments: &Arguments<'_>,
    whole: Option<&str>,
    result: Option<&'t str>,
) -> (Option<Cow<'t, str>>, Option<Failure>) {
    let Some(result) = result else {
        return (None, None);
    };
    let ended = ended(how, tool, arguments, whole, result);
    (Some(ended.result), ended.failure)
}

/// Why a call failed: by who tells of it, a flag beside its result, or else by the result.
pub(super) fn why(
    said: Option<Failure>,
    is_flagged: bool,
    told: Option<Failure>,
    arguments: &str,
    result: Option<&str>,
) -> Option<Failure> {
    said.filter(|error| !is_search_in_vain(error, arguments, result))
        .or_else(|| is_flagged.then(|| value::failure("")))
        .map(|error| failing::told_by_result(error, result, arguments))
        .or(told)
}

/// The same of a result that comes as JSON, perhaps in an envelope of content blocks as MCP servers write it.
pub(super) fn told_in_blocks<'t>(
    how: &ToolSettings<'_>,
    tool: &str,
    arguments: &Arguments<'_>,
    recorded: &'t str,
) -> (Cow<'t, str>, Option<Failure>) {
    let whole = value::unquote(recorded);
    let Ended { result, failure } = match wrappers::content(&whole) {
        Some(inner) => ended(how, tool, arguments, Some(&whole), &inner).into_owned(),
        None => ended(how, tool, arguments, None, recorded),
    };
    (result, failure)
}

/// What a tool answered, and the failure that the answer tells of: whoever tells of the call may not know that it failed.
pub(super) fn answered(
    how: &ToolSettings<'_>,
    tool: &str,
    arguments: &str,
    recorded: &str,
) -> (Recorded, Option<Failure>) {
    let arguments = Arguments::of(arguments);
    let (inner, failure) = told_in_blocks(how, tool, &arguments, recorded);
    let kind = value::ResultKind::of(tool);
    (value::answer_json(how, kind, &inner, &arguments), failure)
}

/// What a command printed, of which it is known whether it failed.
pub(super) fn printed(how: &ToolSettings<'_>, tool: &str, arguments: &str, text: &str) -> Recorded {
    let arguments = Arguments::of(arguments);
    value::answer_json(how, value::ResultKind::of(tool), text, &arguments)
}

/// What a call brought, by its result: a text, or JSON. `whole` is the result with its message around it, if there is one.
fn ended<'t>(
    how: &ToolSettings<'_>,
    tool: &str,
    asked: &Arguments<'_>,
    whole: Option<&str>,
    result: &'t str,
) -> Ended<'t> {
    if let Some(json) = wrappers::printed_dictionary(result) {
        let around = whole.filter(|whole| *whole != result);
        return match wrappers::content(&json) {
            Some(inner) => ended(how, tool, asked, Some(&json), &inner).into_owned(),
            None => ended(how, tool, asked, around, &json).into_owned(),
        };
    }
    let (printed, code) = without_envelope(result).unwrap_or((Cow::Borrowed(result), None));
    let is_blank = matches!(trimmed(&printed), "" | "\"\"");
    let looks_for = || shell::looks_for(asked.command_line().unwrap_or_default());
    if is_blank && code.is_none_or(|code| code <= 1) && looks_for() {
        return Ended {
            result: Cow::Borrowed("[]"),
            failure: None,
        };
    }
    // What stands around what was printed says nothing of it.
    let message = whole.filter(|whole| *whole != result);
    let failure = failure_told(how, tool, asked, (message, &printed), code);
    let failed = failure.as_ref();
    if failed.is_none() && ran_without_a_word(asked.json(), &printed) {
        return Ended {
            result: Cow::Borrowed(""),
            failure,
        };
    }
    let moved = failed.and_then(|_| match failing::without_way(&value::unquote(&printed)) {
        Cow::Owned(clean) => Some(clean),
        Cow::Borrowed(_) => None,
    });
    let result = moved.map_or(printed, Cow::Owned);
    Ended { result, failure }
}

/// The failure that a result tells of, by what was printed and the message around it: here the signs are asked one after the other.
fn failure_told(
    how: &ToolSettings<'_>,
    tool: &str,
    asked: &Arguments<'_>,
    (message, printed): (Option<&str>, &str),
    code: Option<i64>,
) -> Option<Failure> {
    let arguments = asked.json();
    // Read once, by whoever asks first.
    let command = || asked.command_line().unwrap_or_default();
    let runs_tests = || shell::kind(command(), how.test_commands) == Command::RunsTests;
    let in_words = || value::failure_of_call(&value::unquote(words(printed)), arguments);
    if code == Some(TIMED_OUT) || says_timed_out(printed) {
        return Some(ended_in_vain());
    }
    let ends_in_failure = |code| ends_in_failure(command(), code, printed);
    let closes_with_failed_tests =
        || verdict::closes_with_failed_tests(printed) && (says_tests(tool) || runs_tests());
    if code.is_some_and(ends_in_failure) || closes_with_failed_tests() {
        return Some(in_words());
    }
    if code == Some(0) && !shell::hides_code(command()) {
        // The shell knows better than words do.
        return None;
    }
    if verdict::tells_failure(command(), printed) {
        let failure = in_words();
        // That a test ran out of time is how it failed, and passes no more by itself than any other failure of it.
        return Some(Failure {
            transient: failure.transient && !runs_tests(),
            ..failure
        });
    }
    failing::failure_of(message, Some(printed), arguments)
}

/// Whether a command failed, by its exit code and what it printed.
fn ends_in_failure(command: &str, code: i64, printed: &str) -> bool {
    let text = trimmed(printed);
    if text.starts_with('{') {
        let object = value::Object::of(text);
        let output = object.text("stdout").or_else(|| object.text("output"));
        if let Some(output) = output.filter(|output| !output.is_empty()) {
            return code != 0 && !exit_code::is_answer(command, code, &output);
        }
    }
    exit_code::failed(command, code, &value::unquote(words(printed)))
}

/// Whether arguments hold code, and the result is a small object in whose place for what was printed or came of it is nothing, and
/// which says nothing else but that the code was run: that is no search that found nothing.
fn ran_without_a_word(arguments: &str, result: &str) -> bool {
    let object = trimmed(result);
    let may_be = object.len() <= RAN_BYTES_MAX && object.starts_with('{');
    if !may_be || !CODE.iter().any(|name| arguments.contains(name)) {
        return false;
    }
    let is_blank = |value: &str| matches!(value, "\"\"" | "null" | "[]" | "{}");
    let mut has_place = false;
    let says_nothing = value::members(object).all(|(name, value)| {
        let value = trimmed(value);
        has_place |= is_blank(value);
        is_blank(value) || value == "true" || (name == "status" && value.starts_with('"'))
    });
    has_place && says_nothing
}

/// Longest such object.
const RAN_BYTES_MAX: usize = 128;

/// Names of arguments that hold code.
const CODE: [&str; 3] = ["\"code\"", "\"script\"", "\"source\""];

/// Whether an error says no more than that a search which printed nothing ended with 1: it found nothing, and did not fail.
pub(super) fn is_search_in_vain(error: &Failure, arguments: &str, result: Option<&str>) -> bool {
    let is_blank =
        result.is_none_or(|result| matches!(trimmed(result), "" | "\"\"" | "[]" | "null"));
    let says_no_more =
        error.text.len() <= EXIT_BYTES_MAX && envelope::exit_code(&error.text) == Some(1);
    let command = || value::command_line(arguments).unwrap_or_default();
    is_blank && says_no_more && shell::looks_for(&command())
}

/// Longest error that says no more than an exit code: `Command failed with exit code 1`.
const EXIT_BYTES_MAX: usize = 40;

/// Whether a result is nothing but a line by which a shell's tool says that a command took too long.
fn says_timed_out(printed: &str) -> bool {
    let line = trimmed(printed).trim_start_matches(['"', '[']);
    begins_ignoring_case(line, TIMED_OUT_LINE) && line.len() <= LINE_BYTES_MAX
}

/// How such a line begins.
const TIMED_OUT_LINE: &str = "command timed out";

/// The failure of a command that was ended because it took too long: what it had printed until then is no error, and it will
/// not pass by itself, unlike a server that does not answer in time.
fn ended_in_vain() -> Failure {
    Failure {
        transient: false,
        ..value::failure("the command did not end in its time")
    }
}

/// Whether a tool says by its name that it runs tests.
fn says_tests(tool: &str) -> bool {
    tool.to_ascii_lowercase().contains("test")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ToolSettings<'_> = ToolSettings::PLAIN;

    fn ended<'t>(
        how: &ToolSettings<'_>,
        tool: &str,
        arguments: &str,
        whole: Option<&str>,
        result: &'t str,
    ) -> Ended<'t> {
        super::ended(how, tool, &Arguments::of(arguments), whole, result)
    }

    #[track_caller]
    fn check(command: &str, result: &str, expected: &str, failure: Option<&str>) {
        let arguments = serde_json::json!({"command": command}).to_string();
        let told = ended(&PLAIN, "bash", &arguments, None, result);
        assert_eq!(told.result, expected, "{result}");
        let failure_told = told.failure.as_ref().map(|failure| &*failure.text);
        assert_eq!(failure_told, failure, "{result}");
        // The same as JSON, as spans and files of events have it.
        let quoted = serde_json::Value::from(result).to_string();
        let quoted = ended(&PLAIN, "bash", &arguments, None, &quoted);
        assert_eq!(quoted.failure, told.failure, "{result}");
        assert_eq!(value::unquote(&quoted.result), told.result, "{result}");
    }

    /// Given what a shell printed in the envelopes of known frameworks, what was printed is the result, and an exit code other
    /// than 0 makes it a failure.
    #[test]
    fn envelopes_of_shells() {
        check(
            "python a.py",
            "no such user\n[The command completed with exit code 1.]\n[Current working directory: /app]\n[Python interpreter: /usr/bin/python3]",
            "no such user",
            Some("no such user"),
        );
        check(
            "make",
            "<returncode>2</returncode>\n<output>\nno rule\n</output>",
            "no rule",
            Some("no rule"),
        );
        check(
            "ls",
            "<returncode>0</returncode>\n<output>\na.py\n</output>",
            "a.py",
            None,
        );
        check(
            "make",
            "<returncode>0</returncode>\n<output>\nError: none\n</output>",
            "Error: none",
            None,
        );
        check(
            "make",
            "Exit code: 1\nWall time: 0.3 seconds\nOutput:\nstop",
            "stop",
            Some("stop"),
        );
        check(
            "touch a",
            "Exit code: 0\nWall time: 0.3 seconds\nOutput:\n",
            "",
            None,
        );
        check(
            "print(1)",
            "exitcode: 1 (execution failed)\nCode output: \nno such module\n",
            "no such module",
            Some("no such module"),
        );
        check(
            "pass",
            "exitcode: 0 (execution succeeded)\nCode output: \n",
            "",
            None,
        );
        check(
            "ls",
            "a.py\n(Open file: n/a)\n(Current directory: /app)\nbash-$",
            "a.py",
            None,
        );
        check("ls", "a.py\n[exit code: 0]", "a.py", None);
        let above = "Chunk ID: 7862ff\nWall time: 0.5 seconds";
        check(
            "make",
            &format!(
                "{above}\nProcess exited with code 2\nOriginal token count: 2\nOutput:\nno rule"
            ),
            "no rule",
            Some("no rule"),
        );
        check(
            "make",
            &format!("{above}\nProcess running with session ID 7\nOutput:\nstep 1\n"),
            "step 1",
            None,
        );
    }

    /// Given a text that only looks like an envelope, it stays as it is.
    #[test]
    fn other_texts_stay() {
        for text in [
            "[1, 2]",
            "a list\n[3]",
            "costs 5 $",
            "Exit codes are numbers.",
            "(see above)",
        ] {
            check("cat a.txt", text, text, None);
        }
    }

    /// Given a result that Python printed, it is the one that it would be in JSON, and so is its failure.
    #[test]
    fn printed_dictionaries_are_read() {
        fn told<'t>(whole: Option<&str>, result: &'t str) -> (Cow<'t, str>, Option<String>) {
            let told = ended(&PLAIN, "search", "{}", whole, result);
            (
                told.result,
                told.failure.map(|failure| failure.text.to_string()),
            )
        }
        for (printed, json) in [
            (
                "{'status': 'error', 'error_message': 'database is locked'}",
                r#"{"status": "error", "error_message": "database is locked"}"#,
            ),
            (
                "{'stdout': '', 'exit_code': 2}",
                r#"{"stdout": "", "exit_code": 2}"#,
            ),
            ("{'results': []}", r#"{"results": []}"#),
        ] {
            assert_eq!(told(None, printed), told(None, json));
        }
        let envelope = "{'content': [{'type': 'text', 'text': 'no rule'}], 'isError': True}";
        assert_eq!(
            told(Some(envelope), envelope),
            ("no rule".into(), Some("no rule".to_owned()))
        );
        let around = r#"{"content":[{"type":"text","text":"{'a': 1}"}],"isError":true}"#;
        assert!(told(Some(around), "{'a': 1}").1.is_some());
        assert!(told(None, "{'a': 1}").1.is_none());
    }

    /// Given a shell's object, its exit code counts, and where nothing was printed the result is nothing.
    #[test]
    fn objects_of_shells() {
        fn told(result: &str) -> Ended<'_> {
            ended(&PLAIN, "terminal", r#"{"cmd":"make"}"#, None, result)
        }
        let failed = told(r#"{"stdout":"","stderr":"no rule","exit_code":2}"#);
        assert_eq!(&*failed.failure.expect("a failure").text, "no rule");
        let silent = told(r#"{"stdout":"","stderr":"","exit_code":0}"#);
        assert_eq!(silent.result, "");
        assert!(silent.failure.is_none());
        let failed = told(r#"{"output":"no rule","metadata":{"exit_code":2}}"#);
        assert_eq!(&*failed.failure.expect("a failure").text, "no rule");
        let quoted = told(r#""{\"output\":\"no rule\",\"returncode\":2}""#);
        assert_eq!(quoted.result, "\"no rule\"");
        assert!(quoted.failure.is_some());
        let silent = told(r#"{"output":"","returncode":0}"#);
        assert_eq!(silent.result, "");
        let report = told(r#"{"output":"","lines":2}"#);
        assert_eq!(report.result, r#"{"output":"","lines":2}"#);
        for code in envelope::CODES {
            let result = format!(r#"{{"status":"done","{code}":2,"output":"no rule"}}"#);
            let failure = told(&result).failure.expect("a failure");
            assert_eq!(&*failure.text, "no rule", "{code}");
        }
        let other = told(r#"{"exit":1,"stdout":"a"}"#);
        assert_eq!(other.result, r#"{"exit":1,"stdout":"a"}"#);
        assert!(other.failure.is_none());
    }

    /// Given a command that fails, where in a file it did so is no part of the result; behind a pipe, what was printed tells that
    /// it failed.
    #[test]
    fn failures_without_their_places() {
        fn failed(command: &str, result: &'static str) -> Ended<'static> {
            ended(&PLAIN, "bash", command, None, result)
        }
        let one = failed(
            r#"{"command":"tsc"}"#,
            "<returncode>2</returncode>\n<output>\na.ts(4,7): error TS1: no b\n</output>",
        );
        let two = failed(
            r#"{"command":"tsc"}"#,
            "<returncode>2</returncode>\n<output>\na.ts(9,1): error TS1: no b\n</output>",
        );
        assert_eq!(one.result, two.result);
        let masked = |ended: &Ended<'_>| ended.failure.as_ref().expect("a failure").masked;
        assert_eq!(masked(&one), masked(&two));
        let printed = "<returncode>0</returncode>\n<output>\nbuilt\nerror: no rule\n</output>";
        assert!(
            failed(r#"{"command":"make | tail -2"}"#, printed)
                .failure
                .is_some()
        );
        assert!(failed(r#"{"command":"make"}"#, printed).failure.is_none());
    }

    /// Given a search that printed nothing, it found nothing, which is no failure; a command that is no search did its work.
    #[test]
    fn searches_that_print_nothing() {
        check(
            "grep -rn a src",
            "<returncode>1</returncode>\n<output>\n</output>",
            "[]",
            None,
        );
        check("cd /app && find . -name a", "", "[]", None);
        check("git grep a", "", "[]", None);
        check("sed -i s/a/b/ c", "", "", None);
        check("sed s/a/b/ c | grep d > e; touch f", "", "", None);
    }

    /// Given a test run whose last line says that tests failed, the call failed; what is read of failures did not.
    #[test]
    fn tests_that_fail() {
        let printed = "test_a\n1 failed, 41 passed in 0.4s";
        check("python -m pytest -q", printed, printed, Some(printed));
        check("cat log", printed, printed, None);
        check("pytest", "0 failed, 42 passed", "0 failed, 42 passed", None);
        let long = format!(
            "{}\n1 failed, 41 passed in 0.4s\n",
            "test_a PASSED\n".repeat(50)
        );
        check("pytest", &long, &long, Some("1 failed, 41 passed in 0.4s"));
        check("make", "stop\n[exit code: 2]\n", "stop", Some("stop"));
        let by_tool = ended(&PLAIN, "run_tests", "{}", None, printed);
        assert!(by_tool.failure.is_some());
        let tests = ["./ci.sh".to_owned()];
        let how = ToolSettings {
            test_commands: &tests,
            ..PLAIN
        };
        let own = |how: &ToolSettings<'_>| {
            ended(how, "bash", r#"{"command":"./ci.sh all"}"#, None, printed).failure
        };
        assert!(own(&how).is_some() && own(&PLAIN).is_none());
        let late = "1) pays\n    Error: Timed out 5000ms waiting for a\n  1 failed\n    a.spec.ts:12:5 pays\n  6 passed (1.2s)";
        let late = ended(
            &PLAIN,
            "bash",
            r#"{"command":"npx playwright test"}"#,
            None,
            late,
        );
        assert!(!late.failure.expect("a failure").transient);
    }

    /// Given a command that was ended because it took too long, that is its failure, whatever it had printed, and trying again
    /// does not help.
    #[test]
    fn commands_that_do_not_end() {
        let failures = ["port 3000", "port 3001"].map(|printed| {
            let result =
                format!("<returncode>124</returncode>\n<output>\ntimed out: {printed}\n</output>");
            ended(&PLAIN, "bash", r#"{"command":"npm start"}"#, None, &result)
                .failure
                .expect("a failure")
        });
        assert_eq!(failures[0], failures[1]);
        assert!(!failures[0].transient);
    }
}
