//! Tells a result in which a tool says that a call went wrong, in the words that tools have for models, from any other.
//!
//! A tool whose caller is a model answers the model: `Please enter a valid number.`, `Code execution failed at line 3`, `Fix the
//! errors and try again.` Words for what went wrong alone do not tell such a text: a page may be about errors, a count of failed
//! tests is an answer, and so is that something is not there. What tells it is that the caller is asked for another try, or that
//! the first line speaks of the call itself.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::sample::cut;

/// How much of a text is looked at; one that is no longer is told as a whole.
const LOOKED_AT_BYTES_MAX: usize = 256;

/// Longest text of which the first line says that the call went wrong: a longer one is a page or a file.
const FAILED_BYTES_MAX: usize = 1_024;

/// Longest first line that says so.
const LINE_BYTES_MAX: usize = 160;

/// What words tell.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    /// Another try is asked for.
    Asks,
    /// Something is wrong in what was given.
    Blames,
    /// The same, of which those texts speak, too, that go on to show what they are about.
    BlamesAtLength,
    /// Something is not there, which answers the question whether it is.
    Absent,
    /// The call went wrong.
    Failed,
    /// The same, where the line is all there is: with more below, it may be the state of what was asked about.
    FailedAlone,
}

use Tells::{Absent, Asks, Blames, BlamesAtLength, Failed, FailedAlone};

/// Words with what they tell, whatever the case of their letters.
const WORDS: [(&str, Tells); 73] = [
    ("please", Asks),
    ("try again", Asks),
    ("retry", Asks),
    ("try another", Asks),
    ("try a different", Asks),
    ("error", BlamesAtLength),
    ("errors", BlamesAtLength),
    ("invalid", Blames),
    ("failed", BlamesAtLength),
    ("a valid", Blames),
    ("not valid", Blames),
    ("incorrect", Blames),
    ("unrecognized", Blames),
    ("unrecognised", Blames),
    ("unsupported", Blames),
    ("not supported", Blames),
    ("not allowed", Blames),
    ("not permitted", Blames),
    ("must be", Blames),
    ("must have", Blames),
    ("must not", Blames),
    ("is required", Blames),
    ("are required", Blames),
    ("missing", Blames),
    ("does not exist", Absent),
    ("doesn't exist", Absent),
    ("not found", Absent),
    ("no such", Absent),
    ("encountered an error", Failed),
    ("error occurred", Failed),
    ("error while", Failed),
    ("error when", Failed),
    ("error during", Failed),
    ("error in tool", Failed),
    ("mcp error", Failed),
    ("exception in thread", Failed),
    ("failed to match", Failed),
    ("failed to", FailedAlone),
    ("failed at", FailedAlone),
    ("failed due to", FailedAlone),
    ("failed with", FailedAlone),
    ("invalid action", Failed),
    ("invalid argument", Failed),
    ("invalid arguments", Failed),
    ("invalid format", Failed),
    ("invalid function", Failed),
    ("invalid input", Failed),
    ("invalid json", Failed),
    ("invalid option", Failed),
    ("invalid parameter", Failed),
    ("invalid parameters", Failed),
    ("invalid params", Failed),
    ("invalid request", Failed),
    ("invalid syntax", Failed),
    ("invalid tool", Failed),
    ("unknown action", Failed),
    ("unknown command", Failed),
    ("unknown function", Failed),
    ("unknown method", Failed),
    ("unknown option", Failed),
    ("unknown parameter", Failed),
    ("unknown tool", Failed),
    ("these are the only available", Failed),
    ("not authorized", Failed),
    ("not have permission", Failed),
    ("don't have permission", Failed),
    ("exceeded your", Failed),
    ("quota exceeded", Failed),
    ("ratelimit", Failed),
    ("timed out", Failed),
    ("just a moment...", Failed),
    ("was not able to", FailedAlone),
    ("wasn't able to", FailedAlone),
];

static FINDER: LazyLock<AhoCorasick> =
    LazyLock::new(|| finder(&mut WORDS.iter().map(|(words, _)| *words)));

fn finder(words: &mut dyn Iterator<Item = &'static str>) -> AhoCorasick {
    let mut builder = AhoCorasick::builder();
    let finder = builder.ascii_case_insensitive(true).build(words);
    finder.expect("a few words are no more than fit")
}

/// Whether a text says that the call went wrong, or that what was given is wrong, and asks for another try.
pub(super) fn complains(text: &str) -> bool {
    if is_validation_error(text) {
        return true;
    }
    let start = cut(text, LOOKED_AT_BYTES_MAX);
    let line = first_line(start);
    let is_whole = start.len() == text.len();
    let is_alone = line == text.len();
    let (mut asks, mut blames, mut failed) = (false, false, false);
    for (tells, end) in words(start) {
        let is_in_line = end <= line;
        match tells {
            Asks => asks = true,
            Blames => blames |= is_whole,
            BlamesAtLength => blames |= is_whole || is_in_line,
            Absent => return false,
            Failed => failed |= is_in_line && end <= LINE_BYTES_MAX,
            FailedAlone => failed |= is_alone && end <= LINE_BYTES_MAX,
        }
    }
    (asks && blames) || (failed && text.len() <= FAILED_BYTES_MAX)
}

/// Whether an error says that something is wrong in what was given, which another try of the same does not mend.
pub(super) fn blames(error: &str) -> bool {
    let mut words = words(cut(error, LOOKED_AT_BYTES_MAX));
    words.any(|(tells, _)| tells == Blames)
}

/// What the known words in a text tell, and where each of them ends.
fn words(text: &str) -> impl Iterator<Item = (Tells, usize)> {
    let bytes = text.as_bytes();
    let is_apart = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let all = FINDER.find_overlapping_iter(text);
    let apart = all.filter(move |found| {
        is_apart(bytes[..found.start()].last())
            && is_apart(bytes.get(found.end()))
            && !is_denied(&text[..found.start()])
    });
    apart.map(|found| (WORDS[found.pattern().as_usize()].1, found.end()))
}

/// Whether a text is short and in words of refusal, such as `The command was blocked.`, `Input too long.`: the call may have been
/// turned down, or that may be what was asked.
pub(super) fn refuses(text: &str) -> bool {
    if text.len() > LOOKED_AT_BYTES_MAX {
        return false;
    }
    let bytes = text.as_bytes();
    let begins_word = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let mut refuses = false;
    for found in REFUSALS.find_overlapping_iter(text) {
        let at = found.start();
        let is_negation = found.pattern().as_usize() == 0;
        if is_negation || begins_word(at) {
            if is_denied(&text[..at]) {
                return false;
            }
            refuses = true;
        }
    }
    refuses
}

/// Whether the words behind this text are said to be of nothing: `no error`, `0 failed`.
fn is_denied(before: &str) -> bool {
    let mut denials = ["no ", "No ", "without "].iter();
    let number = before.strip_suffix("0 ");
    denials.any(|denial| before.ends_with(denial))
        || number.is_some_and(|number| !number.ends_with(|sign: char| sign.is_ascii_digit()))
}

/// How words begin in which a call is turned down, whatever the case of their letters; the first one ends a word, and a blank
/// behind one makes it a whole word.
const REFUSED: [&str; 53] = [
    "n't",
    "abort",
    "ambiguous",
    "bad ",
    "blocked",
    "but got",
    "cannot",
    "could not",
    "denied",
    "disabled",
    "duplicate",
    "error",
    "exceed",
    "exhaust",
    "expir",
    "fail",
    "forbid",
    "halted",
    "incorrect",
    "insufficient",
    "invalid",
    "mismatch",
    "missing",
    "must ",
    "never ",
    "not a valid",
    "not accept",
    "not allow",
    "not author",
    "not enabled",
    "not implemented",
    "not match",
    "not permit",
    "not support",
    "not valid",
    "refus",
    "reject",
    "required",
    "requires",
    "sorry",
    "stopped",
    "suspend",
    "timed out",
    "timeout",
    "too ",
    "truncat",
    "unable",
    "unauthor",
    "unavailable",
    "unexpected",
    "unknown",
    "unsupported",
    "wrong",
];

static REFUSALS: LazyLock<AhoCorasick> = LazyLock::new(|| finder(&mut REFUSED.iter().copied()));

/// Where the first line ends that says anything: above it, a box may be drawn.
fn first_line(text: &str) -> usize {
    let begin = text.find(|sign: char| sign.is_alphanumeric());
    let begin = begin.unwrap_or(text.len());
    let rest = &text[begin..];
    begin + rest.find('\n').unwrap_or(rest.len())
}

/// Whether a text begins as pydantic does that says of arguments that they do not fit: `2 validation errors for Order`.
fn is_validation_error(text: &str) -> bool {
    let behind = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let rest = behind.strip_prefix(" validation error");
    let rest = rest.filter(|_| behind.len() < text.len());
    rest.is_some_and(|rest| rest.trim_start_matches('s').starts_with([' ', ':']))
}

/// An error's text without the values that pydantic shows in it, and where more can be read: they are others with each try.
pub(super) fn without_values(text: &str) -> Cow<'_, str> {
    if !text.contains(SHOWN) {
        return Cow::Borrowed(text);
    }
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(FURTHER));
    let lines = lines.map(|line| line.split_once(SHOWN).map_or(line, |(said, _)| said));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// What stands before a value that is shown, and how the line begins that says where to read more.
const SHOWN: &str = ", input_value=";
const FURTHER: &str = "For further information visit ";

#[cfg(test)]
mod tests {
    use super::{blames, complains, refuses, without_values};

    /// Given a text that blames what was given and asks for another try, it is a complaint; one that does neither or only one of
    /// both is none, nor is a long text of which only the rest does.
    #[test]
    fn complaints_ask_for_another_try() {
        let edit = "Your proposed edit has introduced new syntax error(s). Please read this error message carefully and then retry \
                    editing the file.\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\n12: if a:\n13: return b\n14: pass\n\
                    Your changes have NOT been applied.";
        for text in [
            "Please enter a valid phone number.",
            "The date must be in the future; please choose another one.",
            "Invalid arguments for search: limit. Try again with other values.",
            "1 validation error:\n```json\n[]\n```\n\nFix the errors and try again.",
            edit,
            "Code execution failed at line 'import a' due to: InterpreterError: Import of a is not allowed.",
            "I encountered an error while trying to use the tool. This was the error: no recipient.",
            "# 1 SEARCH/REPLACE block failed to match!",
            "MCP error -32602: Invalid arguments for tool create_issue: []",
            "Invalid Format: Missing 'Action:' after 'Thought:'",
            "Unknown tool name: 'a'. Available tools: 'b'",
            "You do not have permission to do that.",
            "Command timed out after 120 seconds",
            "\u{256d}\u{2574}\n\u{2502} Exception in thread \"main\"",
        ] {
            assert!(complains(text), "{text}");
        }
        let page = format!(
            "How to sign in.\n{}\nPlease enter a valid name.",
            "words ".repeat(60)
        );
        for text in [
            "",
            "0 failed, 43 passed",
            "Please find the report below.",
            "Please wait while the terrors of the deep are loaded.",
            "No flights found. Please try other days.",
            "The path is invalid.",
            "A story.\nHe failed to come.",
            "Messages cannot be sent.",
            "The run ended, and no error occurred.",
            "You have permission to do that.",
            "The path /a.md does not exist. Please provide a valid path.",
            &page,
            &format!("The launch failed to match.\n{}", "words ".repeat(200)),
        ] {
            assert!(!complains(text), "{text}");
        }
    }

    /// Given a short text, words of refusal are known in it, not those that say that there were none.
    #[test]
    fn refusals_are_known_by_their_words() {
        for text in [
            "The command was blocked by policy.",
            "Input too long.",
            "The user doesn't want that.",
            "Bad credentials",
        ] {
            assert!(refuses(text), "{text}");
        }
        for text in [
            "",
            "saved",
            "The file has been edited.",
            "43 passed, 0 failed",
            "No errors found.",
            "A badge for note 7",
            "The text does not tell of it.",
        ] {
            assert!(!refuses(text), "{text}");
        }
    }

    /// Given an error, it blames what was given, or asks for the same once more.
    #[test]
    fn who_is_blamed() {
        assert!(blames("Invalid date. Please try again."));
        assert!(!blames("An error occurred. Please try again."));
    }

    /// Given what pydantic says of arguments, it is a complaint, and what is kept of it has no values.
    #[test]
    fn values_are_left_out_of_validation_errors() {
        let said = "1 validation error for CreateEvent\nend\n  Field required [type=missing, input_value={'title': 'a'}, \
                    input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.9/v/missing";
        let kept = "1 validation error for CreateEvent\nend\n  Field required [type=missing";
        assert!(complains(said));
        assert_eq!(without_values(said), kept);
        assert_eq!(without_values("bad a"), "bad a");
        for text in [
            " validation error for A",
            "2 validations",
            "3 validation errors.md",
        ] {
            assert!(!complains(text), "{text}");
        }
    }
}
