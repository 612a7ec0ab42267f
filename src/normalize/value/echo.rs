//! Takes out of a result what the arguments said: what was asked is no answer.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use memchr::memmem;

use crate::engine::event::SAMPLE_BYTES_MAX;

use super::digest::READ_BYTES_MAX;
use super::is_marker;

/// Longest arguments of which what a result repeats is left out: longer ones are texts that are sent, and no questions.
const ARGUMENTS_BYTES_MAX: usize = 1_024;

/// How long an argument is that is left out of a result: an address, a sentence, an id. What a sample has no room for is a text
/// that is handed over.
const SAID_BYTES: RangeInclusive<usize> = 10..=SAMPLE_BYTES_MAX;

/// Most arguments that are looked for.
const SAID_MAX: usize = 8;

/// What stands for an argument that a result repeats.
const ECHO: &str = "it";

/// A result with a word in the place of what the arguments, as JSON, said.
pub(super) fn without_echo<'t>(result: &'t str, arguments: &str) -> Cow<'t, str> {
    if arguments.len() > ARGUMENTS_BYTES_MAX || result.len() > READ_BYTES_MAX {
        return Cow::Borrowed(result);
    }
    let pieces = arguments.split('"');
    let behind = pieces.clone().skip(1).chain([""]);
    // The name of a member is no value; before a quotation mark within a text stands a backslash.
    let values = pieces
        .zip(behind)
        .filter(|(_, behind)| !behind.starts_with(':'));
    let said = values.map(|(said, _)| said.trim_end_matches('\\'));
    let said = said.filter(|said| SAID_BYTES.contains(&said.len()) && !is_marker(said));
    said.take(SAID_MAX)
        .fold(Cow::Borrowed(result), |result, said| {
            match memmem::find(result.as_bytes(), said.as_bytes()) {
                Some(_) => Cow::Owned(result.replace(said, ECHO)),
                None => result,
            }
        })
}

#[cfg(test)]
mod tests {
    use super::{ARGUMENTS_BYTES_MAX, SAMPLE_BYTES_MAX, without_echo};

    /// Given a result that repeats what was asked, that is left out; names of members, and what is short, stay.
    #[test]
    fn results_without_what_was_asked() {
        let told = |arguments: &str, result: &str| without_echo(result, arguments).into_owned();
        assert_eq!(
            told(
                r#"{"address":"https://a.example/b"}"#,
                r#"{"address":"https://a.example/b","text":"c"}"#
            ),
            r#"{"address":"it","text":"c"}"#
        );
        assert_eq!(
            told(
                r#"{"page_number":"3"}"#,
                r#"{"page_number":"3","items":[]}"#
            ),
            r#"{"page_number":"3","items":[]}"#
        );
        assert_eq!(
            told(
                r#"{"q":"say \"open the door\""}"#,
                r#"{"q":"say \"open the door\""}"#
            ),
            r#"{"q":"say \"it\""}"#
        );
        for bytes in [SAMPLE_BYTES_MAX + 1, ARGUMENTS_BYTES_MAX] {
            let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(bytes));
            assert_eq!(told(&long, &long), long);
        }
    }
}
