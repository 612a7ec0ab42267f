//! Tells arguments that hand over a text, to be judged, sorted or translated, from those that ask a question.

use crate::engine::tool_name;

use super::judge::Judged;
use super::question::QUESTIONS;
use super::sample::pieces;

/// Whether a call hands over a text, to a tool that does not search by it.
pub(crate) fn hands_over(judged: &Judged<'_>) -> bool {
    hands_over_text(judged.call.input.sample()) && !tool_name::searches(judged.tool)
}

/// Whether arguments hand over a text that something is to be said of, and hold no question: a text in the place of another one is
/// another text, however little both have in common.
fn hands_over_text(sample: &str) -> bool {
    let mut names = TEXTS.iter();
    (names.any(|name| sample.contains(name)) || holds_sentence(sample)) && !asks(sample)
}

/// Whether arguments hold a question.
pub(crate) fn asks(sample: &str) -> bool {
    QUESTIONS.iter().any(|name| sample.contains(name))
}

/// Whether a value of arguments is a sentence, or several, that asks nothing: it begins with a capital, has some words, and ends in
/// a full stop, as questions to tools and their names do not.
fn holds_sentence(sample: &str) -> bool {
    pieces(sample).any(|value| {
        let text = value.trim_end_matches(['\\', '\'', ')']);
        text.ends_with(['.', '!', '\u{3002}'])
            && text.starts_with(char::is_uppercase)
            && text
                .split_ascii_whitespace()
                .nth(SENTENCE_WORDS_MIN - 1)
                .is_some()
    })
}

/// Fewest words of a sentence: fewer are a name or an order.
const SENTENCE_WORDS_MIN: usize = 4;

/// Names of arguments that hold such a text.
const TEXTS: [&str; 11] = [
    "\"text\":",
    "\"document\":",
    "\"content\":",
    "\"message\":",
    "\"body\":",
    "\"comment\":",
    "\"paragraph\":",
    "\"passage\":",
    "\"review\":",
    "\"ticket\":",
    "\"transcript\":",
];

#[cfg(test)]
mod tests {
    use super::hands_over_text;

    /// Given a text to be judged, it is handed over; a question is not, nor is a text beside one.
    #[test]
    fn texts_and_questions() {
        assert!(hands_over_text(r#"{"text":"Thanks a lot"}"#));
        assert!(!hands_over_text(r#"{"query":"ferry times"}"#));
        assert!(!hands_over_text(
            r#"{"text":"Thanks a lot","question":"Is it rude?"}"#
        ));
    }
}
