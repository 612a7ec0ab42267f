//! Tells a text that is an error from any other.
//!
//! Many frameworks catch what a tool throws and give the model its words as the result, and say nowhere else that the call
//! failed. Such a text begins as errors do: with the name of an exception, a status of HTTP's, or the words of a shell. Only
//! the beginning counts, so that a page about errors, or a log that was read, is a result like any other; and the last lines,
//! where a program closes with what went wrong (`closing`, `crashes`, `traceback`).

use super::super::sample::cut;
use super::super::wide::begins_ignoring_case;
use super::closing::closes_with_failure;
use super::complaint::{complains, is_failed_at_length, is_turned_away};
use super::crashes::{stops_tex, thrown_in_node};
use super::forms::is_error_by_form;
use super::remark::tells_error;
use super::system::{begins_with_code, says_what_was_met, says_why};
use super::traceback::{end_of_traceback, has_failed_form, names_exception};
use super::walls::is_page_before_another;

/// How much of the first line is looked at.
const LOOKED_AT_BYTES_MAX: usize = 160;

/// Beginnings, in lower case.
const BEGINNINGS: [&str; 40] = [
    "error:",
    "<error>",
    "api error:",
    "command not found:",
    "error executing ",
    "error calling ",
    "error code:",
    "an error occurred",
    "fatal:",
    "curl: (",
    "exception:",
    "traceback (most recent call last)",
    "tool error",
    "tool execution failed",
    "the tool execution failed",
    "string to replace not found",
    "missing required ",
    "login failed",
    "failed to ",
    "unable to ",
    "failure:",
    "accessdenied",
    "read timed out",
    "request timed out",
    "connection refused",
    "connection reset",
    "internal server error",
    "http error ",
    "request failed",
    "no replacement was performed",
    "<tool_use_error>",
    "could not resolve host",
    "expecting value: line ",
    "getaddrinfo ",
    "no module named ",
    "psql: error: ",
    "rate exceeded",
    "unexpected token ",
    "upstream connect error",
    "zsh: command not found: ",
];

/// Beginnings that are headings of pages as well, in lower case: `Rate limits | Stripe docs`, `Forbidden City`.
const REFUSALS: [&str; 8] = [
    "permission denied",
    "access denied",
    "unauthorized",
    "forbidden",
    "rate limit",
    "rate limited",
    "too many requests",
    "service unavailable",
];

/// What goes on behind one of these where it is no heading, if not a sign.
const BEHIND_REFUSALS: [&str; 17] = [
    "exceeded", "reached", "hit", "error", "for", "to", "from", "while", "when", "by", "on",
    "with", "due", "because", "access", "please", "trying",
];

/// Beginnings of a first line that is all there is, in lower case: several such lines are a log that was read.
const LINE_BEGINNINGS: [&str; 2] = ["[error] ", "error - "];

/// What stands before the colon of an error in other languages.
const ERRORS_ABROAD: [&str; 2] = [
    "fehler|erreur|erro|errore|fout|fel|fejl|feil|virhe|hata|błąd|chyba|hiba|eroare|lỗi|kesalahan|ralat",
    "ошибка|Ошибка|помилка|Помилка|σφάλμα|Σφάλμα|错误|錯誤|报错|异常|エラー|오류|خطأ|خطا|שגיאה|त्रुटि|ข้อผิดพลาด",
];

/// The statuses of HTTP for failures, with the first word of what they mean.
const STATUSES: [(&str, &str); 14] = [
    ("400", "Bad"),
    ("401", "Unauthorized"),
    ("402", "Payment"),
    ("403", "Forbidden"),
    ("404", "Not"),
    ("405", "Method"),
    ("408", "Request"),
    ("409", "Conflict"),
    ("422", "Unprocessable"),
    ("429", "Too"),
    ("500", "Internal"),
    ("502", "Bad"),
    ("503", "Service"),
    ("504", "Gateway"),
];

/// Whether a result's words say that the call failed.
pub(in crate::normalize) fn reads_as_failure(text: &str) -> bool {
    let text = without_drawing(text).trim_end();
    if let Some(code) = text.strip_prefix("Process exited with code ") {
        return code.starts_with(|digit: char| matches!(digit, '1'..='9'));
    }
    if says_no_error(text) {
        return false;
    }
    let start = cut(text, LOOKED_AT_BYTES_MAX);
    let line = start.lines().next().unwrap_or_default();
    let starts = |words: &str| begins_ignoring_case(line, words);
    BEGINNINGS.iter().any(|words| starts(words))
        || is_refusal(line)
        || names_exception(line)
        || is_error_abroad(line)
        || says_failed(line)
        || is_failed_at_length(line)
        || is_status(line)
        || is_error_page(text)
        || is_page_before_another(text)
        || closes_with_failure(text)
        || stops_tex(text)
        || end_of_traceback(text).is_some()
        || has_failed_form(text)
        || thrown_in_node(text).is_some()
        || complains(text)
        || begins_with_code(line)
        || says_what_was_met(line)
        || is_error_by_form(text, line)
        || (line.len() == text.len()
            && ((!is_dated(line) && says_why(line))
                || is_turned_away(line)
                || LINE_BEGINNINGS
                    .iter()
                    .any(|words| starts(words) && !is_dated(&line[words.len()..]))))
}

/// Whether a line begins as a refusal and goes on as one.
fn is_refusal(line: &str) -> bool {
    REFUSALS.iter().any(|words| {
        let behind = begins_ignoring_case(line, words).then(|| &line[words.len()..]);
        behind.is_some_and(|behind| {
            let rest = behind.trim_start();
            let word = rest.split(|sign: char| !sign.is_alphanumeric()).next();
            rest.is_empty()
                || rest.starts_with([':', '.', ',', ';', '!', '(', '-', '"', '\\'])
                || (rest.len() < behind.len()
                    && word
                        .is_some_and(|word| BEHIND_REFUSALS.contains(&&*word.to_ascii_lowercase())))
        })
    })
}

/// Longest line that may say that there was no error.
const NO_ERROR_BYTES_MAX: usize = 64;

/// Whether a text says no more than that there was no error of a kind: `Compile error: none`. `KeyError: None` was one.
pub(in crate::normalize) fn says_no_error(text: &str) -> bool {
    let is_short = text.len() <= NO_ERROR_BYTES_MAX && !text.contains('\n');
    let Some((of, told)) = text.rsplit_once(':').filter(|_| is_short) else {
        return false;
    };
    let told = told.trim().trim_end_matches('.');
    let kind = of.rsplit_once(' ');
    let is_of_kind = kind.is_some_and(|(_, word)| {
        ["error", "errors", "exception"]
            .iter()
            .any(|error| word.eq_ignore_ascii_case(error))
    });
    is_of_kind && !told.is_empty() && !tells_error(told)
}

/// A text without the sign or the box that some draw before it. It may still be JSON text, in which the ends of lines and such
/// signs are written as escapes.
fn without_drawing(text: &str) -> &str {
    let is_drawn =
        |sign: char| sign.is_whitespace() || !(sign.is_ascii() || sign.is_alphanumeric());
    let mut text = text.trim_start_matches(is_drawn);
    while let Some(escape) = text.strip_prefix('\\') {
        let is_line = escape.starts_with(['n', 'r', 't']);
        let bytes = if is_line { 1 } else { "u2500".len() };
        let Some((sign, rest)) = escape.split_at_checked(bytes) else {
            break;
        };
        if !is_line && !DRAWN.iter().any(|signs| sign.starts_with(signs)) {
            break;
        }
        text = rest.trim_start_matches(is_drawn);
    }
    text
}

/// How the escapes of lines, boxes, crosses and warning signs begin.
const DRAWN: [&str; 3] = ["u25", "u26", "u27"];

/// Whether a line begins with a number, as those of a log do that say when.
fn is_dated(line: &str) -> bool {
    line.starts_with(|sign: char| sign.is_ascii_digit() || sign == '[')
}

/// Whether a line begins with another language's word for an error, and a colon.
fn is_error_abroad(line: &str) -> bool {
    let named = line.split_once([':', '：']);
    named.is_some_and(|(name, _)| {
        let name = name.trim_end();
        let mut words = ERRORS_ABROAD.iter().flat_map(|row| row.split('|'));
        words.any(|word| word.eq_ignore_ascii_case(name))
    })
}

/// `verification failed: lines not found`: a few words that end so, and words that say why. A number would be a count.
fn says_failed(line: &str) -> bool {
    let Some((what, why)) = line.split_once(" failed: ") else {
        return false;
    };
    what.len() <= FAILED_BYTES_MAX
        && what.split(' ').count() <= FAILED_WORDS_MAX
        && !what.contains(['.', ':', ',', '"'])
        && why.starts_with(char::is_alphabetic)
}

/// Longest text, and most words, before `failed:`: longer ones are sentences about something else.
const FAILED_BYTES_MAX: usize = 32;
const FAILED_WORDS_MAX: usize = 3;

/// `404 Not Found`, `HTTP 503`, `404 Client Error: …`: a status of HTTP's for a failure, alone behind that name or with the first
/// word of its meaning, or as Python's libraries tell it.
fn is_status(line: &str) -> bool {
    let named = line.strip_prefix("HTTP ");
    let (code, word) = named
        .unwrap_or(line)
        .split_at_checked(3)
        .unwrap_or_default();
    let word = word.strip_prefix(" -").unwrap_or(word);
    let word = word.strip_prefix(' ').unwrap_or(word);
    STATUSES.iter().any(|(status, means)| {
        let is_told = word.starts_with(means)
            || word.starts_with("Client Error: ")
            || word.starts_with("Server Error: ");
        *status == code && (is_told || (word.is_empty() && named.is_some()))
    })
}

/// Longest page with which a web server says that it failed: a longer one may be about such pages.
const ERROR_PAGE_BYTES_MAX: usize = 1_024;

/// Whether a text is the page with which a web server says that it failed, which has the status for a title: `<title>502 Bad
/// Gateway</title>`. That a page is not there is an answer.
fn is_error_page(text: &str) -> bool {
    if text.len() > ERROR_PAGE_BYTES_MAX || !text.starts_with('<') {
        return false;
    }
    let title = ["<title>", "<TITLE>"]
        .iter()
        .find_map(|mark| text.split_once(mark));
    title.is_some_and(|(_, title)| is_status(title) && !title.starts_with("404"))
}

#[cfg(test)]
mod tests {
    use super::reads_as_failure;

    /// Words of an error are told from a text that speaks of errors, counts or is a log.
    #[test]
    fn errors_begin_as_errors() {
        for text in [
            "Error: user not found",
            "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body>",
            "<!doctype html>\n<html lang=en>\n<title>403 Forbidden</title>\n<h1>Forbidden</h1>",
            "AccessDenied: User is not authorized to perform: s3:GetObject",
            "An error occurred (NoSuchKey) when calling the GetObject operation",
            "apply_patch verification failed: Failed to find expected lines in /a.py:\nb",
            "<tool_use_error>File has not been read yet.</tool_use_error>",
            "ValueError: invalid literal",
            "KeyError: None",
            "Compile error: no such name",
            "java.io.IOException: closed",
            "Traceback (most recent call last):\n  File",
            "429 Too Many Requests",
            "HTTP 503",
            "401 Unauthorized: the key has expired",
            "403 Client Error: Forbidden for url: https://a.example/b",
            "502 Server Error: Bad Gateway for url: https://a.example/b",
            "bash: foo: command not found",
            "cat: a.txt: No such file or directory",
            "Read timed out. (read timeout=10)",
            "Process exited with code 2\nOutput: x",
            "compiling\nerror: could not compile `engine`",
            "compiling\\nerror: could not compile `engine`\"",
            "> build\nnpm error errno 2",
            "FATAL: password authentication failed",
            "❌ Error: no key",
            "Lỗi: không thể kết nối",
            "خطأ: فشل الاتصال",
            "त्रुटि: कनेक्ट नहीं हो सका",
            "Błąd: nie można się połączyć",
            "\u{2577}\n\u{2502} Error: the state is locked",
            r"\u2577\n\u2502 Error: the state is locked",
            r"\u274c Error: no key",
            "[ERROR] no key",
            "(psycopg2.errors.UndefinedColumn) column \"a\" does not exist\nLINE 1: select a",
            "(sqlite3.OperationalError) no such table: a",
            "Error fetching URL: 403 Client Error: Forbidden for url",
            "002003 (42S02): SQL compilation error:\nObject 'A' does not exist.",
            "kb_lookup() got an unexpected keyword argument 'q'",
            "Error - no key",
            "Tool execution failed",
            "Missing required parameter: database",
            "错误：没有这个文件",
            "Erreur : le fichier est absent",
            "FEHLER: Datei fehlt",
            "401 - Unauthorized",
            "Invalid API key",
            "NOAUTH Authentication required.",
            "ssh: connect to host 10.0.0.7 port 22: Connection refused",
            "ERROR 1045 (28000): Access denied for user 'app'@'db' (using password: YES)",
            "'jq' is not recognized as an internal or external command,\noperable program or batch file.",
            "Please enable JavaScript and cookies to continue",
        ] {
            assert!(reads_as_failure(text), "{text}");
        }
        for text in [
            "",
            "Errors in Rust are values.",
            "404 pages were read",
            "<html><head><title>404 Not Found</title></head><body></body></html>",
            "<html><head><title>502 ways to bake</title></head><body></body></html>",
            "404 Client Errors in a day",
            "500 Main Street",
            "Error handling: a guide",
            "Compile error: none",
            "Validation errors: None.",
            "Last sync error: n/a",
            "Error logging in Rust: how it is done",
            "(see sqlite3.Error) and so on",
            "200303 (4 of 9): read",
            "Why a() got an unexpected keyword argument 'b'",
            "src/error.rs:1: pub enum Error",
            "2026-11-18 ERROR: disk full",
            "[ERROR] disk full\n[INFO] disk mended",
            "2026-11-18 20:12:03 dial: connection refused",
            "Failed logins: 0",
            "3 failed logins",
            "No failed logins",
            "Which author was refused?",
            "[ERROR] 2026-11-18 20:12:03 disk full",
            "Process exited with code 0",
            "a.txt: text\nb.txt: No such file or directory",
            "Note: ValueError: is raised",
            "Tests failed: 3",
            "compiling\\nerror: mended\\ndone\"",
            "What the report says of the upload that failed: it was large",
            "503",
            "错误处理：指南",
            r"\u0041 Error: no key",
            r"\u25",
        ] {
            assert!(!reads_as_failure(text), "{text}");
        }
    }

    /// Given a beginning that headings have as well, it is an error where it goes on as one.
    #[test]
    fn refusals_are_told_from_headings() {
        for text in [
            "Permission denied",
            "permission denied: /etc/shadow",
            "Permission denied (publickey).",
            "Rate limit exceeded, try again in 20s",
            "Rate limited. Try again later.",
            "Too many requests from this address",
            "Access denied for user 'app'@'db'",
            "Unauthorized access to /v1/orders",
            "Forbidden\nYou may not see this page.",
            "Service Unavailable",
        ] {
            assert!(reads_as_failure(text), "{text}");
        }
        for text in [
            "Rate limits | Stripe docs\nEach account may send 100 requests a second.",
            "Rate limiting in nginx\nWhat it does.",
            "Forbidden City – Wikipedia\nA palace in Beijing.",
            "Access denied errors in S3 | AWS docs\nWhere they come from.",
            "Unauthorized immigration, a study\nIt began early.",
            "Service Unavailable responses and how to read them\nThey are 503.",
        ] {
            assert!(!reads_as_failure(text), "{text}");
        }
    }
}
