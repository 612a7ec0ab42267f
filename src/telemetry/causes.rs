//! An error in one line.

use std::error::Error;
use std::iter;

/// An error with its causes, which is where HTTP clients put what one wants to know. What a cause says that the one before has said
/// is not said again.
pub(crate) fn causes(error: &dyn Error) -> String {
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
    if text.contains("CaUsedAsEndEntity") {
        text.push_str(OF_AUTHORITY);
    }
    text
}

/// What `openssl req -x509` makes by default, and no client takes of a server.
const OF_AUTHORITY: &str = ": the server shows an authority's certificate, which none may show as its own; have one made with \
     `basicConstraints=CA:FALSE`, signed by that authority";

/// The innermost cause of an error, which says what happened; those around it say where in the programs that handed it on.
pub(crate) fn innermost(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    let innermost = causes.last().map(ToString::to_string);
    innermost.unwrap_or_else(|| error.to_string())
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

    /// Given a server's certificate that is an authority's, what to do is said.
    #[test]
    fn what_to_do_about_an_authority_is_said() {
        let said = "invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))";
        let error = Around("connecting", io::Error::other(said));
        assert!(causes(&error).ends_with("signed by that authority"));
    }
}
