//! Tells a result that is an error, in words or in its envelope, from any other.
//!
//! Many frameworks catch what a tool throws and give the model its words as the result, and say nowhere else that the call
//! failed. Such a text begins as errors do: with the name of an exception, a status of HTTP's, or the words of a shell. Only
//! the beginning counts, so that a page about errors, or a log that was read, is a result like any other.

pub(in crate::normalize) mod closing;
pub(super) mod complaint;
pub(super) mod crashes;
mod refusal;
mod remark;
mod response;
pub(in crate::normalize) mod rpc;
mod system;
mod turned_away;
pub(super) mod walls;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::engine::event::Failure;

use self::closing::{LAST_LINES_BYTES_MAX, closes_with_failure, last_lines, printed_with};
use self::complaint::{complains, is_failed_at_length, is_turned_away};
use self::crashes::{stops_tex, thrown_in_node};
use self::refusal::{graphql_error, refusal, tells_of_thing};
use self::remark::{is_beside_result, tells_error};
use self::response::error_told;
use self::system::{begins_with_code, says_what_was_met, says_why};
use self::walls::is_page_before_another;
use super::places::without_places;
use super::sample::cut;
use super::wide::{begins_ignoring_case, trimmed_start};
use super::{failure, failure_of_call, items, member, unquote};

/// How much of the first line is looked at.
const LOOKED_AT_BYTES_MAX: usize = 160;

/// Beginnings, in lower case.
const BEGINNINGS: [&str; 47] = [
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
    "permission denied",
    "access denied",
    "accessdenied",
    "unauthorized",
    "forbidden",
    "rate limit",
    "too many requests",
    "read timed out",
    "request timed out",
    "connection refused",
    "connection reset",
    "service unavailable",
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
pub(crate) fn reads_as_failure(text: &str) -> bool {
    let text = without_drawing(text).trim_end();
    if let Some(code) = text.strip_prefix("Process exited with code ") {
        return code.starts_with(|digit: char| matches!(digit, '1'..='9'));
    }
    let start = cut(text, LOOKED_AT_BYTES_MAX);
    let line = start.lines().next().unwrap_or_default();
    let starts = |words: &str| begins_ignoring_case(line, words);
    BEGINNINGS.iter().any(|words| starts(words))
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
        || (line.len() == text.len()
            && ((!is_dated(line) && says_why(line))
                || is_turned_away(line)
                || LINE_BEGINNINGS
                    .iter()
                    .any(|words| starts(words) && !is_dated(&line[words.len()..]))))
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

/// What a traceback says in the end, `KeyError: 'name'`; what stands before it is the way there, which is another one each time
/// that the program was changed. A few remarks may follow: `DETAIL: …`, `[SQL: …]`.
pub(crate) fn end_of_traceback(text: &str) -> Option<&str> {
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
pub(crate) fn is_bracketed(line: &str) -> bool {
    let mut brackets = [('[', ']'), ('(', ')')].into_iter();
    brackets.any(|(open, close)| line.starts_with(open) && line.ends_with(close))
}

/// Longest text of which that is left out, number by number: more is a log, which is another one each time.
const WAY_BYTES_MAX: usize = 32 * 1024;

/// What a failed command printed, without what moves when a program is edited: the way to the error in a traceback, and places in
/// files.
pub(crate) fn without_way(printed: &str) -> Cow<'_, str> {
    if printed.len() > WAY_BYTES_MAX {
        return Cow::Borrowed(printed);
    }
    let Some(end) = end_of_traceback(printed) else {
        return without_places(printed);
    };
    let start = TRACEBACK.find(printed.as_bytes()).unwrap_or_default();
    Cow::Owned(without_places(&printed[..start]).into_owned() + end)
}

/// What `PowerShell` says of an error, without the command that met it and where that stands: `del : The file is in use.`, a
/// line for the place, the command behind `+`, and its category.
pub(crate) fn said_by_powershell(text: &str) -> Option<&str> {
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
fn has_failed_form(text: &str) -> bool {
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

/// How Python begins to tell where a program failed.
static TRACEBACK: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new("Traceback (most recent call last)"));

/// `ValueError: …`, `java.io.IOException: …`: one word before the first colon, with such an end.
fn names_exception(line: &str) -> bool {
    let Some((name, _)) = line.split_once(':') else {
        return false;
    };
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_');
    name.chars().all(is_name) && (name.ends_with("Error") || name.ends_with("Exception"))
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

/// The failure that only the result tells of, in its envelope or within.
pub(crate) fn failure_of(
    whole: Option<&str>,
    result: Option<&str>,
    arguments: &str,
) -> Option<Failure> {
    let inner = result.filter(|_| whole != result);
    let failure_in = |result| failure_in(result, arguments);
    let error = whole.and_then(failure_in).or_else(|| failure_in(inner?))?;
    Some(told_by_result(error, result, arguments))
}

/// Longest result that is undone from its quotes to see whether it reads as a failure.
const SHORT_BYTES_MAX: usize = 512;

/// The failure that a result tells of: what an object says of itself at its top, the line with which command runners report how a
/// process ended, or words with which programs begin to say that they failed.
fn failure_in(result: &str, arguments: &str) -> Option<Failure> {
    if let Some(error) = cell_error(result) {
        return Some(failure(error));
    }
    if let Some(error) = crashes::met_in_notebook(trimmed_start(result)) {
        return Some(failure_of_call(&error, arguments));
    }
    if !trimmed_start(result).starts_with('{') {
        // What tells it stands at the beginning, or in a result that is short as a whole.
        let words = if result.len() <= SHORT_BYTES_MAX {
            unquote(result)
        } else {
            Cow::Borrowed(result.trim_start().trim_start_matches('"'))
        };
        if words.starts_with('{') {
            return failure_in_object(&words, arguments);
        }
        return reads_as_failure(&words)
            .then(|| failure_of_call(&unquote(result), arguments))
            .or_else(|| failure_in_list(result, arguments));
    }
    failure_in_object(result, arguments)
}

/// The failure of which a list's only item tells, where that is an object with the code of an error: `[{"errorCode": …,
/// "message": …}]`, as Salesforce answers.
fn failure_in_list(list: &str, arguments: &str) -> Option<Failure> {
    let list = trimmed_start(list);
    if list.len() > SHORT_BYTES_MAX || !list.starts_with('[') {
        return None;
    }
    let mut items = items(list);
    let object = items.next().filter(|item| item.starts_with('{'))?;
    let is_only = items.next().is_none();
    let code = member(object, &["errorCode"]).or_else(|| member(object, &["error_code"]));
    code.filter(|_| is_only)?;
    failure_in_object(object, arguments)
}

/// The failure of which an object tells at its top: `isError`, an `error` with something in it, that it was refused, errors of
/// GraphQL, or a status of HTTP's.
fn failure_in_object(object: &str, arguments: &str) -> Option<Failure> {
    // A response within a response is none of anybody's.
    let carried = rpc::carried(object);
    let object = carried.as_deref().unwrap_or(object);
    let said = || {
        let refused = || refusal(object).or_else(|| graphql_error(object));
        refused().or_else(|| error_told(object, arguments).map(Cow::Owned))
    };
    error_in(object, arguments).or_else(|| said().map(|why| failure_of_call(&why, arguments)))
}

/// The same where a member named for errors tells it.
fn error_in(object: &str, arguments: &str) -> Option<Failure> {
    // Nearly every result is spared the walk through its members.
    ERROR.find(object.as_bytes())?;
    let is_error = ["isError", "is_error"]
        .iter()
        .any(|key| member(object, &[key]) == Some("true"));
    if is_error {
        return Some(failure(""));
    }
    let error = member(object, &["error"])?;
    let fails =
        tells_error(error) && !is_beside_result(object) && !tells_of_thing(object, arguments);
    fails.then(|| failure_of_call(&unquote(error), arguments))
}

/// What a sheet shows in a cell whose formula fails.
const CELL_ERRORS: [&str; 7] = [
    "#REF!", "#N/A", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#ERROR!",
];

/// Longest result that is of one cell.
const CELL_BYTES_MAX: usize = 128;

/// The error that a cell shows which was read alone: it stands at the end of a short result, and no other value before it.
fn cell_error(result: &str) -> Option<&'static str> {
    if result.len() > CELL_BYTES_MAX {
        return None;
    }
    let text = result.trim_end_matches(['"', ']', '}', '\\', ' ', '\n']);
    let (before, error) = text.rsplit_once('#')?;
    let is_alone = before.is_empty() || before.ends_with([':', '[', '"']);
    let is_row = before.trim_end_matches(['"', '\\', ' ']).ends_with(',');
    let known = CELL_ERRORS.iter().find(|known| known[1..] == *error);
    known.copied().filter(|_| is_alone && !is_row)
}

/// How the names of members end that tell of an error.
static ERROR: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("rror\""));

/// A failure without words takes the result's, which is then all that was said to these arguments.
pub(crate) fn told_by_result(error: Failure, result: Option<&str>, arguments: &str) -> Failure {
    match result {
        Some(result) if error.text.is_empty() => failure_of_call(result, arguments),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::{cell_error, end_of_traceback, reads_as_failure, said_by_powershell, without_way};

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

    /// Given a cell that was read alone and shows an error, that is a failure; in a row it is one value of many.
    #[test]
    fn cells_fail() {
        let check = |text: &str, expected| assert_eq!(cell_error(text), expected, "{text}");
        check(r##"{"values": [["#REF!"]]}"##, Some("#REF!"));
        check(r##"{"cell":"D2","value":"#N/A"}"##, Some("#N/A"));
        check("#NAME?", Some("#NAME?"));
        check(r##"{"values": [["copper", "#N/A"]]}"##, None);
        check("channel #general", None);
        check("see the page on #REF!", None);
    }

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
                super::failure_of(None, Some(&quoted), "{}").is_some(),
                expected,
                "{quoted}"
            );
        }
    }
}
