//! What an error says besides what the arguments said: by its gist, a failure is known again of another user, file or query.

use std::borrow::Cow;

use crate::engine::event::{ERROR_BYTES_MAX, Failure};
use crate::engine::hash::{mix, text_hash};

/// How much shorter than its longest an error's text may be where it was cut, so that no character is cut in two.
const GIST_CUT_BYTES: usize = 4;

/// Fewest words that an error must have besides those of the arguments, to be known by them.
const GIST_WORDS_MIN: usize = 3;

/// Longest error that may tell no more than an exit code: "Command failed with exit code 1" with a little room.
const EXIT_CODE_BYTES_MAX: usize = 40;

/// Words behind which a number says where in a file or which time it failed.
const PLACES: [&str; 4] = ["line", "column", "attempt", "try"];

/// Words that hold an error's sentence together and name nothing: that a query has one of them as well says nothing.
const GRAMMAR: [&str; 16] = [
    "a", "an", "and", "at", "by", "for", "from", "in", "is", "no", "not", "of", "on", "or", "the",
    "to",
];

/// Hash of an error's words without what the arguments said, so that `no user ann` and `no user bob`
/// are the same error; of the whole error where little else is said.
pub(crate) fn gist(failure: &Failure, arguments: &str) -> u64 {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    }
    // A word with a digit that is this long is a port, an address or an id.
    let is_id = |word: &str| word.len() >= 5 && word.bytes().any(|byte| byte.is_ascii_digit());
    let said = |word: &str| !GRAMMAR.contains(&word) && words(arguments).any(|said| said == word);
    let mut before = "";
    let text = without_echo(&failure.text, arguments);
    let own = words(&text).filter(|word| {
        // Where in a file it happened is not what happened.
        let before = std::mem::replace(&mut before, word);
        let is_place = PLACES
            .iter()
            .any(|place| before.eq_ignore_ascii_case(place));
        !is_place && !is_id(word) && !said(word)
    });
    let (hash, count) = own.fold((0, 0), |(hash, count), word| {
        (mix(hash, text_hash(word)), count + 1)
    });
    // Of a text that was cut, what went wrong may stand in the part that is not there.
    let is_whole = failure.text.len() + GIST_CUT_BYTES < ERROR_BYTES_MAX;
    if is_whole && count >= GIST_WORDS_MIN {
        hash
    } else {
        failure.masked
    }
}

/// Shortest argument that is cut out of an error as a whole.
const ECHO_BYTES_MIN: usize = 8;

/// An error's text without the arguments that it repeats word by word, such as a query.
fn without_echo<'t>(text: &'t str, arguments: &str) -> Cow<'t, str> {
    // Within JSON, the end of a line is two signs.
    let echoes = arguments.split('"').flat_map(|said| said.split("\\n"));
    let echoes = echoes.filter(|said| said.len() >= ECHO_BYTES_MIN);
    echoes.fold(Cow::Borrowed(text), |text, said| {
        if text.contains(said) {
            Cow::Owned(text.replacen(said, " ", 1))
        } else {
            text
        }
    })
}

/// Whether an error has no words, or tells only that a command's exit code was not zero.
pub(crate) fn tells_nothing(error: &str) -> bool {
    let names = ["exit", "exited", "exitcode", "exit_code"];
    let is_name = |word: &str| {
        let word = word.trim_end_matches(':');
        names.iter().any(|name| word.eq_ignore_ascii_case(name))
    };
    // A further line is what was printed.
    let is_line = error.len() <= EXIT_CODE_BYTES_MAX && !error.trim().contains('\n');
    error.is_empty() || (is_line && error.split_whitespace().any(is_name))
}
