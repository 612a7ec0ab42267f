//! Shell commands, which are most of what coding agents do, and what their end means.

/// Programs that end with 1 to say that they found nothing, or a difference: an answer, not a failure.
const SEARCHES: [&str; 12] = [
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep", "which", "diff", "cmp", "test",
];

/// Whether a command failed, from its exit code and what it printed. A search that finds nothing ends with 1 and prints
/// nothing; that is an empty result.
pub(super) fn failed(command: &str, exit_code: i64, printed: &str) -> bool {
    let found_nothing = exit_code == 1 && printed.trim().is_empty() && is_search(command);
    exit_code != 0 && !found_nothing
}

/// Whether the last program of a command line, whose exit code it is, is a search.
fn is_search(command: &str) -> bool {
    let last = command
        .rsplit(['|', ';', '&', '\n'])
        .map(str::trim)
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    let mut words = last.split_whitespace();
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or(program);
    SEARCHES.contains(&program)
        || (program == "git" && matches!(words.next(), Some("grep" | "diff")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
