//! Tells a failure that may pass by itself from one that will not.
//!
//! Too many requests, a time-out, a broken connection, a server's own fault: an agent that tries these again does what it
//! should. The words are those of HTTP's status lines and of the usual clients; a bare number counts only where a word
//! before it says that it is a status, for tests fail with numbers too.

use std::sync::LazyLock;

use super::super::failing::closing::last_lines_within;
use super::super::failing::complaint::blames;
use super::super::lexicon::Lexicon;
use super::super::sample::cut;

/// How far into an error is looked: what went wrong is said first.
const LOOKED_AT_BYTES_MAX: usize = 512;

/// What may pass by itself; in lower case.
const PHRASES: [&str; 36] = [
    "too many requests",
    "rate limit",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "throttl",
    "timed out",
    "timeout",
    "time-out",
    "connection reset",
    "reset by peer",
    "reset by the peer",
    "econnreset",
    "etimedout",
    "connection aborted",
    "temporarily unavailable",
    "service unavailable",
    "bad gateway",
    "internal server error",
    "overloaded",
    "database is locked",
    "deadlock",
    "try again later",
    "später erneut",
    "später noch einmal",
    "zu viele anfragen",
    "plus tard",
    "más tarde",
    "mais tarde",
    "più tardi",
    "稍后",
    "稍後",
    "超时",
    "しばらく",
    "タイムアウト",
    "잠시 후",
];

/// What is waited for in vain, or is ended for taking too long, however often it is tried; in lower case.
const WILL_NOT_PASS: [&str; 6] = [
    "waiting for locator",
    "waiting for selector",
    "waiting for element",
    "not clickable",
    "statement timeout",
    "command timed out",
];

/// What asks for the same once more, where it does not blame what was given; in lower case.
const ASKS_AGAIN: [&str; 2] = ["please try again", "please retry"];

/// What openai-agents says of every tool that raised, whatever went wrong in it; in lower case.
const SAID_OF_EVERYTHING: &str = "an error occurred while running the tool. please try again.";

/// What the words above say of a failure.
#[derive(Clone, Copy)]
enum Says {
    WillNotPass,
    MayPass,
    AsksAgain,
}

static WORDS: LazyLock<Lexicon<Says>> = LazyLock::new(|| {
    let hopeless = WILL_NOT_PASS.map(|words| (words, Says::WillNotPass));
    let passing = PHRASES.map(|words| (words, Says::MayPass));
    let asking = ASKS_AGAIN.map(|words| (words, Says::AsksAgain));
    Lexicon::of(hopeless.into_iter().chain(passing).chain(asking))
});

/// HTTP's status codes for what may pass.
const CODES: [&str; 6] = ["408", "429", "500", "502", "503", "504"];

/// Words after which a code is a status.
const BEFORE_CODES: [&str; 4] = ["http", "status", "code", "error"];

/// Whether an error says that trying again later may help.
pub(super) fn is_transient(error: &str) -> bool {
    let text = cut(error.trim(), LOOKED_AT_BYTES_MAX).to_ascii_lowercase();
    let text = text.strip_prefix(SAID_OF_EVERYTHING).unwrap_or(&text);
    let (mut may_pass, mut asks_again) = (false, false);
    for (says, _) in WORDS.found(text) {
        match says {
            Says::WillNotPass => return false,
            Says::MayPass => may_pass = true,
            Says::AsksAgain => asks_again = true,
        }
    }
    may_pass = may_pass || has_code(text) || (asks_again && !blames(text));
    may_pass && !tells_of_tests(error)
}

/// How much of the end of an error is looked through for the summary of tests.
const SUMMARY_BYTES_MAX: usize = 2_048;

/// How a line begins with which a run of tests sums up, or names one that failed.
const TESTS: [&str; 10] = [
    "FAIL ",
    "FAILED ",
    "--- FAIL",
    "Tests:",
    "Tests  ",
    "Test Files ",
    "Test Suites:",
    "Failures: ",
    "[ERROR] Tests run:",
    "test result: FAILED",
];

/// Whether an error is a summary of tests of which some failed: that one timed out, or was told of a server's fault, is what was
/// tested.
fn tells_of_tests(error: &str) -> bool {
    let start = cut(error, LOOKED_AT_BYTES_MAX);
    let end = last_lines_within(error, SUMMARY_BYTES_MAX);
    let mut lines = start.lines().chain(end).map(str::trim);
    lines.any(|line| TESTS.iter().any(|words| line.starts_with(words)) || counts_failed(line))
}

/// Whether a line counts tests that failed: `1 failed, 3 passed`, `2 failing`.
fn counts_failed(line: &str) -> bool {
    let mut words = line
        .split(|sign: char| sign.is_whitespace() || matches!(sign, ',' | '|' | '(' | ')' | '='));
    let mut before = "";
    words.any(|word| {
        let counted = before.bytes().all(|digit| digit.is_ascii_digit())
            && before.bytes().any(|digit| digit != b'0');
        let says_so = counted && matches!(word, "failed" | "failing");
        before = word;
        says_so
    }) && (line.contains("pass") || line.contains("failing") || line.contains(" in "))
}

fn has_code(text: &str) -> bool {
    let mut before = "";
    for word in text.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        let is_status = BEFORE_CODES.iter().any(|name| before.ends_with(name));
        if CODES.contains(&word) && is_status {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_transient;

    /// Failures that may pass are told from those that will not, and from numbers that are no status.
    #[test]
    fn what_may_pass_is_told_by_its_words() {
        for error in [
            "429 Too Many Requests",
            "HTTP 503",
            "Error code: 429 - {'error': …}",
            r#"{"status": 502}"#,
            "Read timed out. (read timeout=10)",
            "ECONNRESET",
            "The server is overloaded, please try again",
            "系统繁忙，请稍后重试",
            "Uploaded 8, 2 failed: 503 Service Unavailable",
            "gave up after 3 failed attempts: timed out",
        ] {
            assert!(is_transient(error), "{error}");
        }
        for error in [
            "",
            "ImportError: cannot import name Settings",
            "expected 500, got 429",
            "4 failed, 40 passed",
            "401 Unauthorized",
            "HTTP 404",
            "Connection refused",
            "page.click: Timeout 30000ms exceeded.\nCall log:\n  - waiting for locator('#submit')",
            "ERROR: canceling statement due to statement timeout",
            "Command timed out after 2m 0.0s",
            "An error occurred while running the tool. Please try again. Error: no such table",
            " \u{d7} queue > drains 5004ms\n   Test timed out in 5000ms.\n\n Test Files  1 failed (1)",
            "FAILED tests/test_a.py::test_b - Timeout >5.0s\n1 failed, 11 passed in 6.20s",
            "AssertionError: 500 Internal Server Error\n2 failing",
        ] {
            assert!(!is_transient(error), "{error}");
        }
    }
}
