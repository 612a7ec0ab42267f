//! Tells a failure that may pass by itself from one that will not.
//!
//! Too many requests, a time-out, a broken connection, a server's own fault: an agent that tries these again does what it
//! should. The words are those of HTTP's status lines and of the usual clients; a bare number counts only where a word
//! before it says that it is a status, for tests fail with numbers too.

use super::complaint::blames;
use super::sample::cut;

/// How far into an error is looked: what went wrong is said first.
const LOOKED_AT_BYTES_MAX: usize = 512;

/// In lower case.
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

/// HTTP's status codes for what may pass.
const CODES: [&str; 6] = ["408", "429", "500", "502", "503", "504"];

/// Words after which a code is a status.
const BEFORE_CODES: [&str; 4] = ["http", "status", "code", "error"];

/// Whether an error says that trying again later may help.
pub(super) fn is_transient(error: &str) -> bool {
    let text = cut(error.trim(), LOOKED_AT_BYTES_MAX).to_ascii_lowercase();
    let text = text.strip_prefix(SAID_OF_EVERYTHING).unwrap_or(&text);
    if WILL_NOT_PASS.iter().any(|phrase| text.contains(phrase)) {
        return false;
    }
    PHRASES.iter().any(|phrase| text.contains(phrase))
        || has_code(text)
        || (ASKS_AGAIN.iter().any(|phrase| text.contains(phrase)) && !blames(text))
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
        ] {
            assert!(!is_transient(error), "{error}");
        }
    }
}
