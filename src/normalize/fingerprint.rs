//! What a call's arguments and result tell besides being equal or not: its main arguments, and what its command does.
//!
//! Two calls that differ in an option only are the same attempt. Which arguments are the main ones is known by their names
//! (attocode's page *Loop Detection*, *Fingerprinting Details*); a shell command that only reads one file is known by that
//! file, whichever program reads it. What a command does is in `shell`. Nothing of a value leaves this file but a hash.

use crate::engine::event::{Command, Manner, Text, ToolCall, Traits};
use crate::engine::policy::ToolSettings;
use crate::engine::tool_name;

use super::ended::verdict;
use super::value;
use super::{hand_offs, shell};

/// Arguments that say what a call is about.
const MAIN: [&str; 10] = [
    "path",
    "file_path",
    "command",
    "pattern",
    "query",
    "url",
    "content",
    "filename",
    "offset",
    "limit",
];

/// Tools that run a shell command, in lower case.
const SHELLS: [&str; 18] = [
    "bash",
    "sh",
    "zsh",
    "shell",
    "powershell",
    "terminal",
    "command",
    "exec",
    "exec_command",
    "execute_command",
    "execute_bash",
    "run_command",
    "run_shell",
    "run_shell_command",
    "run_terminal_cmd",
    "run_in_terminal",
    "shell_command",
    "local_shell",
];

/// Tools whose only work is to run tests, in lower case.
const TEST_TOOLS: [&str; 5] = ["run_tests", "run_test", "runtests", "test", "pytest"];

/// A call of a tool as far as its name, its arguments and its result tell what it does; what was sent and what came of it is left
/// out. It passes control where it is known to whom. A text that is absent is empty.
pub(super) fn call(how: &ToolSettings<'_>, tool: Text, arguments: &str, result: &str) -> ToolCall {
    let (manner, traits) = deeds(how, &tool, tool_name::manner(&tool), arguments, result);
    ToolCall {
        hands_off: hand_offs::receiver(&tool, arguments).is_some(),
        manner,
        traits: Traits {
            main: main(how, &tool, arguments),
            ..traits
        },
        tool,
        ..ToolCall::default()
    }
}

/// What a call does, as far as the tool's name says (`named`), or else the command line of a shell's tool; and what arguments and
/// result tell but for the main arguments. A text that is absent is empty. Results may stand in quotes, as JSON text.
pub(super) fn deeds(
    how: &ToolSettings<'_>,
    tool: &str,
    named: Manner,
    arguments: &str,
    result: &str,
) -> (Manner, Traits) {
    if !is_shell(how, tool) {
        let tests = TEST_TOOLS
            .iter()
            .any(|name| tool.eq_ignore_ascii_case(name));
        let traits = Traits {
            command: tests.then_some(Command::RunsTests),
            tests_failed: tests && tests_failed(result),
            main: None,
        };
        return (named, traits);
    }
    let Some(line) = value::command_line(arguments) else {
        let traits = Traits {
            tests_failed: arguments.is_empty() && tests_failed(result),
            ..Traits::default()
        };
        return (named, traits);
    };
    let command = shell::kind(&line, how.test_commands);
    let traits = Traits {
        command: Some(command),
        tests_failed: command == Command::RunsTests && tests_failed(result),
        main: None,
    };
    if named == Manner::Unknown && shell::only_looks(&line) {
        return (Manner::Looks, traits);
    }
    (named, traits)
}

/// Fingerprint of a call's main arguments, as [`Traits::main`] has it.
pub(super) fn main(how: &ToolSettings<'_>, tool: &str, arguments: &str) -> Option<u64> {
    if !is_shell(how, tool) {
        return main_arguments(how, arguments);
    }
    let line = value::command_line(arguments).filter(|line| shell::is_simple(line))?;
    shell::file_read(&line)
        .map(|file| value::id_hash(&[b"file_read", file.as_bytes()]))
        .or_else(|| main_arguments(how, arguments))
}

fn is_shell(how: &ToolSettings<'_>, tool: &str) -> bool {
    let is_named = || SHELLS.iter().any(|name| tool.eq_ignore_ascii_case(name));
    how.shell.unwrap_or_else(is_named)
}

/// Fingerprint of the main arguments alone, as if they were all; `None` where they are, where there are none, or where not all are
/// there, since the text was cut off.
fn main_arguments(how: &ToolSettings<'_>, arguments: &str) -> Option<u64> {
    let arguments = value::unquote(arguments);
    if !arguments.ends_with('}') {
        return None;
    }
    let is_main = |key: &str| match how.primary_arguments {
        Some(names) => names.iter().any(|name| name == key),
        None => MAIN.contains(&key),
    };
    let mut members = value::members(&arguments);
    let (mut some, mut others) = (false, false);
    for (key, _) in members.by_ref() {
        some |= is_main(&key);
        others |= !is_main(&key);
    }
    if !(some && others) {
        return None;
    }
    let main: Vec<String> = value::members(&arguments)
        .filter(|(key, _)| is_main(key))
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    let main = value::input_json(how, &format!("{{{}}}", main.join(",")));
    main.value().map(|value| value.fingerprint)
}

fn tests_failed(result: &str) -> bool {
    verdict::tests_failed(&value::unquote(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ToolSettings<'_> = ToolSettings::PLAIN;

    /// The fingerprint that stands for the main arguments.
    fn main_or_all(tool: &str, arguments: &str) -> u64 {
        let all = value::input_json(&PLAIN, arguments);
        let all = all.value().unwrap().fingerprint;
        main(&PLAIN, tool, arguments).unwrap_or(all)
    }

    #[track_caller]
    fn check(tool: &str, left: &str, right: &str, same: bool) {
        assert_eq!(
            main_or_all(tool, left) == main_or_all(tool, right),
            same,
            "{left} and {right}"
        );
    }

    /// Given arguments that differ in what is not a main one, or in order, they count as the same; else not.
    #[test]
    fn main_arguments_count() {
        let one = r#"{"path":"a.rs","encoding":"utf8"}"#;
        check("read_file", one, r#"{"path":"a.rs"}"#, true);
        check("read_file", one, r#"{"note":"x","path":"a.rs"}"#, true);
        check(
            "read_file",
            one,
            r#"{"path":"b.rs","encoding":"utf8"}"#,
            false,
        );
        check("read_file", one, r#"{"path":"a.rs","offset":10}"#, false);
        check("read_file", r#""{\"path\":\"a.rs\",\"x\":1}""#, one, true);
        check("add", r#"{"a":1}"#, r#"{"a":2}"#, false);
        check("add", r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
    }

    /// Given commands that read the same file, they are the same call; given more than that, the whole of it counts.
    #[test]
    fn reading_a_file_is_one_call() {
        let cat = r#"{"command":"cat foo.ts"}"#;
        check("bash", cat, r#"{"command":"head -n 20 ./foo.ts"}"#, true);
        check(
            "bash",
            cat,
            r#"{"command":"tail foo.ts","timeout":5}"#,
            true,
        );
        check("bash", cat, r#"{"command":"tail bar.ts"}"#, false);
        check("bash", cat, r#"{"command":"cat foo.ts | wc"}"#, false);
        let piped = r#"{"command":"cat foo.ts | wc","timeout":5}"#;
        check("bash", piped, r#"{"command":"cat foo.ts | wc"}"#, false);
        check("bash", piped, piped, true);
    }

    /// Given a test run's result, it is read for failures; of other commands it is not.
    #[test]
    fn failed_tests_are_told() {
        let traits = |tool: &str, arguments: &str, result: &str| {
            deeds(&PLAIN, tool, Manner::Unknown, arguments, result).1
        };
        let run = traits("bash", r#"{"command":"cargo test"}"#, r#""2 failed""#);
        assert_eq!(run.command, Some(Command::RunsTests));
        assert!(run.tests_failed);
        let other = traits("bash", r#"{"command":"cat log"}"#, "2 failed");
        assert_eq!(
            (other.command, other.tests_failed),
            (Some(Command::ReadsFile), false)
        );
        assert!(traits("run_tests", "{}", "FAILED").tests_failed);
        assert!(traits("bash", "", "3 failed").tests_failed);
        assert_eq!(traits("search", "2 failed", "2 failed"), Traits::default());
    }
}
