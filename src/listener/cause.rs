//! What an error comes from.

use std::error::Error;
use std::iter;

/// The innermost cause of an error, which says what happened; those around it say where in the programs that handed it on.
pub(crate) fn innermost(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    let innermost = causes.last().map(ToString::to_string);
    innermost.unwrap_or_else(|| error.to_string())
}
