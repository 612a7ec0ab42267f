//! Whether a command failed, by the code with which it ended, and where that code is a part of its answer.
//!
//! Programs that look tell by it what they found: `diff` that there is a difference, `systemctl is-active` how a service is. And
//! `find`, `grep` and `du` end so where they could not read something, beside all that they could: what they printed is the
//! answer, and what they say of themselves a remark.

use super::super::shell;
use super::super::value::failing;

/// Codes from which on the shell tells how a command ended, and not the command.
const OF_SHELL: i64 = 124;

/// What a program that looks says of how it is called, or of what it is given.
const USAGE: [&str; 5] = ["Usage: ", "usage: ", "Try '", "       ", "parse error: "];

/// Shells, which speak for programs that they cannot start.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];

/// How many programs of a command are looked for among those that speak in what was printed.
const PROGRAMS_MAX: usize = 16;

/// Whether a command failed, from its exit code and what it printed. A search that finds nothing ends with 1 and prints
/// nothing; that is an empty result.
pub(in crate::normalize) fn failed(command: &str, exit_code: i64, printed: &str) -> bool {
    let found_nothing = exit_code == 1 && printed.trim().is_empty() && shell::is_search(command);
    exit_code != 0 && !found_nothing && !is_answer_among(command, exit_code, printed)
}

/// Whether a command that did not end with 0 answered: it does nothing but look, and printed something, as far as that is told
/// apart from what it printed of errors.
pub(super) fn is_answer(command: &str, code: i64, printed: &str) -> bool {
    (1..OF_SHELL).contains(&code) && !printed.trim().is_empty() && shell::only_looks(command)
}

/// The same where everything that was printed stands together: the code is the lowest, and a line is none that a program says of
/// itself. Programs with commands of their own say errors in many ways; of them, only those are known that ask how something is.
fn is_answer_among(command: &str, code: i64, printed: &str) -> bool {
    if !is_answer(command, code, printed) {
        return false;
    }
    let programs = || shell::programs(command);
    if programs().any(shell::has_commands) {
        return command.contains(" is-");
    }
    if code > 1 {
        return false;
    }
    let speakers: Vec<&str> = programs().take(PROGRAMS_MAX).chain(SHELLS).collect();
    let is_own = |line: &str| {
        let said_by = line.split_once(':').map_or("", |(name, _)| name.trim_end());
        speakers.contains(&shell::file_name(said_by))
            || USAGE.iter().any(|words| line.starts_with(words))
    };
    let mut lines = printed.lines().filter(|line| !line.trim().is_empty());
    lines.any(|line| !is_own(line)) && !failing::reads_as_failure(printed)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{failed, is_answer, is_answer_among};

    #[track_caller]
    fn check(command: &str, exit_code: i64, printed: &str, expected: bool) {
        assert_eq!(failed(command, exit_code, printed), expected, "{command}");
    }

    /// A search without a hit is no failure; anything else that does not end with 0 is.
    #[test]
    fn only_searches_may_end_with_one() {
        check("ls", 0, "a", false);
        check("ls missing", 2, "ls: cannot access", true);
        check("grep -rn runtime_async .", 1, "", false);
        check("cd src && /usr/bin/rg foo", 1, "\n", false);
        check("cat a | grep b", 1, "", false);
        check("git grep x", 1, "", false);
        check("grep -rn x .", 2, "", true);
        check("grep x missing", 1, "grep: missing", true);
        check("grep x a; make", 1, "", true);
        check("false", 1, "", true);
    }

    /// Given a command that only looks and printed something, its code is a part of the answer; what the shell says, or what any
    /// other command ends with, is not.
    #[test]
    fn who_looks_answers() {
        for (command, code) in [
            ("find / -name a.cfg", 1),
            ("grep -rn a /srv | head -3", 2),
            ("du -sh /srv", 1),
            ("diff a b", 1),
            ("systemctl is-active web", 3),
        ] {
            assert!(is_answer(command, code, "a"), "{command}");
            assert!(!is_answer(command, code, " \n"), "{command}");
            assert!(!is_answer(command, 0, "a"), "{command}");
        }
        for (command, code) in [
            ("make", 1),
            ("cat a; python b.py", 1),
            ("ls", 127),
            ("ls", 137),
        ] {
            assert!(!is_answer(command, code, "a"), "{command}");
        }
    }

    /// Given many programs that all speak, each line is looked at once.
    #[test]
    fn many_remarks_do_not_take_long() {
        let (command, printed) = ("ls;".repeat(30_000), "zsh: a\n".repeat(30_000));
        let began = Instant::now();
        assert!(!is_answer_among(&command, 1, &printed));
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    /// Given what was printed as a whole, there is an answer where a line is none that the program says of itself.
    #[test]
    fn remarks_are_no_answer() {
        for (command, printed) in [
            ("diff a b", "3c3\n< old\n---\n> new"),
            ("find / -name a", "find: '/root': Permission denied\n/srv/a"),
            ("systemctl is-active web", "inactive"),
            (
                "cat a b",
                "the text of a\ncat: b: No such file or directory",
            ),
        ] {
            assert!(is_answer_among(command, 1, printed), "{command}");
        }
        for (command, printed) in [
            ("cat b", "cat: b: No such file or directory"),
            ("ls b", "/bin/ls: cannot access 'b'"),
            (
                "grep -y a b",
                "grep: unknown option\nUsage: grep [OPTION]\nTry 'grep --help'",
            ),
            ("kubectl get pods", "The server was refused"),
            ("git status", "fatal: not a git repository"),
            ("jq . a", "bash: jq: command not found"),
        ] {
            assert!(!is_answer_among(command, 1, printed), "{command}");
        }
    }
}
