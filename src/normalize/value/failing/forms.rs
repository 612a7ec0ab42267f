//! Tells an error by its form, whatever program it is of: before the first colon stands what kind of error it was, or its code.
//!
//! `Catalog Error: no such table`, `Error from server (NotFound): …`, `Msg 208, Level 16, State 1`: there are more programs than
//! can be known, but they have few forms. Only the first line counts, and of a longer text it may be about errors.

use super::super::wide::begins_ignoring_case;
use super::remark::tells_error;

/// Longest text that is nothing but an error with what belongs to it.
const TEXT_BYTES_MAX: usize = 1_024;

/// Longest kind of an error, and most words of it before the word for one.
const KIND_BYTES_MAX: usize = 64;
const KIND_WORDS_MAX: usize = 2;

/// Words for an error.
const ERRORS: [&str; 2] = ["error", "exception"];

/// Words before one of them with which it is spoken about.
const ABOUT: [&str; 8] = [
    "any", "common", "known", "last", "no", "of", "possible", "typical",
];

/// Words behind one of them, with which it is told where the error was met.
const MET: [&str; 9] = [
    "at", "from", "in", "near", "on", "response", "when", "while", "with",
];

/// Beginnings of errors, in lower case.
const BEGINNINGS: [&str; 5] = [
    "panic: ",
    "*** exception: ",
    "rpc error: code = ",
    "(error) ",
    "%error: ",
];

/// Whether a text is an error by the form of its first line.
pub(super) fn is_error_by_form(text: &str, line: &str) -> bool {
    // Within JSON text, the end of a line is two signs.
    let line = line.split("\\n").next().unwrap_or(line);
    text.len() <= TEXT_BYTES_MAX
        && (is_heading(text, line)
            || names_kind(line)
            || begins_with_number(line)
            || tells_state(line)
            || is_thrown(line))
}

/// Whether a line has nothing but the word for an error, as the heading of what follows: `### Error`.
fn is_heading(text: &str, line: &str) -> bool {
    let word = line.trim_matches(|sign: char| "#*: ".contains(sign));
    line.len() < text.len() && ERRORS.iter().any(|error| word.eq_ignore_ascii_case(error))
}

/// `PHP Fatal error:  Uncaught …`, `Parse error near line 1: …`, `Error in lm(y) : …`: a few words with one for an error, and
/// behind the colon a word, not that there was none, and no number, as a measured error has.
fn names_kind(line: &str) -> bool {
    let Some((kind, what)) = line.split_once(':') else {
        return false;
    };
    let says = |sign: char| sign.is_alphabetic() || matches!(sign, '\'' | '"' | '`' | '[');
    let what = what.trim();
    let tells = what.starts_with(says) && tells_error(what.trim_end_matches('.'));
    if kind.len() > KIND_BYTES_MAX || !tells {
        return false;
    }
    let is_one_of = |known: &[&str], word: &str| {
        let mut known = known.iter();
        known.any(|known| word.eq_ignore_ascii_case(known))
    };
    let words = kind.split_ascii_whitespace();
    let mut first = words.clone().take(KIND_WORDS_MAX + 1);
    let Some(at) = first.position(|word| is_one_of(&ERRORS, word)) else {
        return false;
    };
    // A day may stand before it, as in a log.
    let is_kind = |word: &str| word.starts_with(char::is_alphabetic) && !word.ends_with(',');
    let speaks = |word: &str| is_one_of(&ABOUT, word) || !is_kind(word);
    let is_met = words
        .clone()
        .nth(at + 1)
        .is_none_or(|word| is_one_of(&MET, word));
    is_met && !words.take(at).any(speaks)
}

/// `Msg 208, Level 16, …` of SQL Server, `SQL0204N  …` of Db2, `[Error 3807] …` of Teradata.
fn begins_with_number(line: &str) -> bool {
    let behind = |name: &str| {
        let rest = line.strip_prefix(name)?;
        let behind = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
        (behind.len() < rest.len()).then_some(behind)
    };
    behind("Msg ").is_some_and(|rest| rest.starts_with(", Level "))
        || behind("SQL").is_some_and(|rest| rest.starts_with("N "))
        || behind("[Error ").is_some_and(|rest| rest.starts_with("] "))
}

/// `SQLSTATE: 42P01`, `SQLSTATE=42704`, `SQLSTATE[42S02]`: a state of SQL's for an error, in five signs.
fn tells_state(line: &str) -> bool {
    let Some((_, behind)) = line.split_once("SQLSTATE") else {
        return false;
    };
    let state = behind.trim_start_matches([':', '=', '[', ' ']);
    let signs = state.bytes().take_while(u8::is_ascii_alphanumeric);
    state.len() < behind.len() && signs.count() == "42P01".len() && !state.starts_with("00")
}

/// `thread 'main' panicked at …`, `** (KeyError) …` of Elixir, `Code: 60. DB::Exception: …`, `Query 9 failed: line 1: …`.
fn is_thrown(line: &str) -> bool {
    let is_of_query = || line.starts_with("Query ") && line.contains(" failed: ");
    BEGINNINGS
        .iter()
        .any(|words| begins_ignoring_case(line, words))
        || (line.starts_with("thread '") && line.contains("' panicked at "))
        || (line.starts_with("** (") && line.contains("Error) "))
        || line.contains("DB::Exception: ")
        || is_of_query()
}

#[cfg(test)]
mod tests {
    use super::is_error_by_form;

    fn is_error(text: &str) -> bool {
        is_error_by_form(text, text.lines().next().unwrap_or_default())
    }

    /// Given errors of databases, runtimes and services, each is known by its form.
    #[test]
    fn errors_in_their_forms() {
        for error in [
            "Catalog Error: Table with name foo does not exist!",
            "PHP Fatal error:  Uncaught Error: Call to undefined function foo()",
            "Parse error near line 1: no such column: z",
            "Runtime error: boom at line 3",
            "Error in eval(expr, envir) : object 'x' not found",
            "Error from server (NotFound): pods \"foo\" not found",
            "Error response from daemon: No such container: foo",
            "Modbus Error: [Input/Output] no response",
            "Msg 208, Level 16, State 1, Line 1\nInvalid object name 'a'.",
            "SQL0204N  \"ANN.FOO\" is an undefined name.",
            "[Error 3807] Object 'foo' does not exist.",
            "The table `foo` cannot be found. SQLSTATE: 42P01",
            "SQLSTATE[42S02]: Base table not found",
            "Code: 60. DB::Exception: Table default.foo does not exist.",
            "Query 20261130_101112 failed: line 1:15: no such table",
            "** (UndefinedFunctionError) function Foo.bar/0 is undefined",
            "*** Exception: Prelude.head: empty list",
            "thread 'main' panicked at src/main.rs:2:5:\nboom",
            "panic: runtime error: index out of range",
            "### Error\nTimeoutError: locator.click: Timeout 5000ms exceeded.",
            "### Error\\nTimeoutError: locator.click: Timeout 5000ms exceeded.",
            "(error) WRONGTYPE Operation against a key",
        ] {
            assert!(is_error(error), "{error}");
        }
    }

    /// Given what is measured, spoken about or long, it is no error.
    #[test]
    fn what_is_no_error() {
        for other in [
            "Mean squared error: 0.31",
            "Standard error: 3 %",
            "Margin of error: three points",
            "Last error: none",
            "No error: all is well",
            "Compile error: none",
            "Exception: n/a",
            "Sync error: OK.",
            "Error: 7",
            "A long tale of one small error: how it came about",
            "Error handling: a guide",
            "Errors: none",
            "It was an error",
            "Error",
            "### Errors\nnone",
            "2026-11-18 ERROR: disk full",
            "SQLSTATE: 00000",
            "SQLSTATE values are listed here",
            "Msg of the day",
            "SQL3 is old",
            "Query done",
            "",
        ] {
            assert!(!is_error(other), "{other}");
        }
        let long = format!("Catalog Error: no table\n{}", "x".repeat(1_024));
        assert!(!is_error(&long));
    }
}
