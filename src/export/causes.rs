//! An error in one line.

/// An error with its causes, which is where HTTP clients put what one wants to know. What a cause says that the one before has said
/// is not said again.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Around(&'static str, #[source] io::Error);

    /// Given an error that repeats its cause, as some do for readers of one line, the cause is said once.
    #[test]
    fn a_cause_is_said_once() {
        for (text, expected) in [
            ("connecting", "connecting: refused"),
            ("connecting: refused", "connecting: refused"),
            ("refused", "refused"),
        ] {
            let error = Around(text, io::Error::other("refused"));
            assert_eq!(causes(&error), expected);
        }
    }
}
