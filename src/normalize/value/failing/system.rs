//! Tells a line in which a system, a runtime or a database says why a call failed from any other.
//!
//! Programs print these behind what they did: `connect to host a port 22: Connection refused`. The words are those of
//! `strerror` in glibc, of `getaddrinfo`, of shells, of git, and of Go's `net`, `context`, `crypto/x509` and `encoding/json`.

use super::super::wide::before_end_ignoring_case;

/// What such a line ends with, in lower case. What a path or a process is (`is a directory`, `killed`) may be what was asked.
const SAYINGS: [&str; 43] = [
    "address already in use",
    "argument list too long",
    "bad file descriptor",
    "broken pipe",
    "cannot allocate memory",
    "certificate signed by unknown authority",
    "command not found",
    "connection refused",
    "connection reset by peer",
    "connection timed out",
    "context deadline exceeded",
    "device or resource busy",
    "directory not empty",
    "disk quota exceeded",
    "exec format error",
    "file too large",
    "host is down",
    "i/o timeout",
    "input/output error",
    "invalid cross-device link",
    "name or service not known",
    "network is unreachable",
    "no route to host",
    "no space left on device",
    "no such device",
    "no such file or directory",
    "no such process",
    "nodename nor servname provided, or not known",
    "not a directory",
    "operation not permitted",
    "out of memory",
    "permission denied",
    "read-only file system",
    "resource temporarily unavailable",
    "segmentation fault",
    "segmentation fault (core dumped)",
    "temporary failure in name resolution",
    "terminal prompts disabled",
    "text file busy",
    "too many levels of symbolic links",
    "too many open files",
    "transport endpoint is not connected",
    "unexpected end of json input",
];

/// Whether a line ends with what a system says of a failed call, alone or behind a colon.
pub(super) fn says_why(line: &str) -> bool {
    let line = line.trim_end_matches(['.', '!']);
    SAYINGS.iter().any(|saying| {
        let before = before_end_ignoring_case(line, saying);
        before.is_some_and(|before| before.is_empty() || before.ends_with(": "))
    })
}

/// Whether a line says what a library met, or what a function could not do: `(psycopg2.errors.UndefinedColumn) …`, `Error
/// fetching page: 403 …`, `f() got an unexpected keyword argument 'q'`.
pub(super) fn says_what_was_met(line: &str) -> bool {
    let named = line
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(") "));
    let is_name = |name: &str| {
        let is_path = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '_');
        let ends = name.ends_with("Error") || name.contains(".errors.");
        name.contains('.') && name.chars().all(is_path) && ends
    };
    let doing = line
        .strip_prefix("Error ")
        .and_then(|rest| rest.split_once(": "));
    let is_doing = |doing: &str| {
        let word = doing.split(' ').next().unwrap_or_default();
        word.ends_with("ing")
            && !ABOUT_ERRORS.contains(&word)
            && doing.split(' ').count() <= DOING_WORDS_MAX
    };
    let call = line.split_once("() got an unexpected keyword argument ");
    named.is_some_and(|(name, _)| is_name(name))
        || doing.is_some_and(|(doing, _)| is_doing(doing))
        || call.is_some_and(|(name, _)| !name.contains(' '))
}

/// Words behind `Error` that say what is done about errors, and not what was done when one was met.
const ABOUT_ERRORS: [&str; 5] = ["handling", "logging", "reporting", "tracking", "monitoring"];

/// Most words of what was done.
const DOING_WORDS_MAX: usize = 5;

/// Whether a line begins with the code of an error: `ERROR 1045 (28000): …` of `MySQL`, `ORA-01017: …`, `error[E0432]: …`.
pub(super) fn begins_with_code(line: &str) -> bool {
    let behind_code = |name: &str, digits: usize| {
        let rest = line.strip_prefix(name)?;
        let (code, rest) = rest.split_at_checked(digits)?;
        code.bytes()
            .all(|digit| digit.is_ascii_digit())
            .then_some(rest)
    };
    let mysql = behind_code("ERROR ", "1045".len());
    let oracle = behind_code("ORA-", "01017".len());
    // The number of the error, and the state in SQL's five signs: `002003 (42S02): …`.
    let state = line.split_once(" (").and_then(|(code, rest)| {
        let (state, rest) = rest.split_at_checked("42S02".len())?;
        let is_code =
            code.len() == "002003".len() && code.bytes().all(|sign| sign.is_ascii_digit());
        let is_sign = |sign: u8| sign.is_ascii_digit() || sign.is_ascii_uppercase();
        (is_code && state.bytes().all(is_sign)).then_some(rest)
    });
    state.is_some_and(|rest| rest.starts_with("): "))
        || mysql.is_some_and(|rest| rest.starts_with(" ("))
        || oracle.is_some_and(|rest| rest.starts_with(':'))
        || line.starts_with("error[E")
}

#[cfg(test)]
mod tests {
    use super::{begins_with_code, says_why};

    /// Given a line that ends with why a call failed, alone or behind a colon, that is told; words within a sentence are not.
    #[test]
    fn systems_say_why() {
        for line in [
            "ssh: connect to host 10.0.0.7 port 22: Connection refused",
            "No route to host",
            "mkdir: cannot create directory 'a': No space left on device",
            "Segmentation fault (core dumped)",
            "dial tcp: lookup a.example: i/o timeout",
            "Out of memory.",
        ] {
            assert!(says_why(line), "{line}");
        }
        for line in [
            "",
            "Two of them were killed",
            "It says: the connection was refused",
            "killed: 3",
            "The song is called Broken Pipe",
        ] {
            assert!(!says_why(line), "{line}");
        }
    }

    /// Given the code of an error at the start of a line, it is one; other numbers and words are not.
    #[test]
    fn errors_have_codes() {
        for line in [
            "ERROR 1045 (28000): Access denied for user 'a'@'b'",
            "ORA-01017: invalid username/password; logon denied",
            "error[E0432]: unresolved import",
        ] {
            assert!(begins_with_code(line), "{line}");
        }
        for line in [
            "ERROR 2026-11-18 disk full",
            "ERROR 1045",
            "ORA-12",
            "ORA-0101é",
            "error in the code",
        ] {
            assert!(!begins_with_code(line), "{line}");
        }
    }
}
