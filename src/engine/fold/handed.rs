//! Tells arguments that hand over a text, to be judged, sorted or translated, from those that ask a question.

use super::question::QUESTIONS;

/// Whether arguments hand over a text that something is to be said of, and hold no question: a text in the place of another one is
/// another text, however little both have in common.
pub(crate) fn hands_over_text(sample: &str) -> bool {
    let holds = |names: &[&str]| names.iter().any(|name| sample.contains(name));
    holds(&TEXTS) && !holds(&QUESTIONS)
}

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
