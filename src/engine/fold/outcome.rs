//! What a call brought, in a word.

use serde::{Deserialize, Serialize};

/// Longest result that may say no more than that a call was done.
pub(crate) const ACKNOWLEDGEMENT_BYTES_MAX: u32 = 64;

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// Something new.
    Fresh,
    /// A result that this tool gave before.
    Stale,
    /// Nothing.
    Empty,
    /// An error.
    Failed,
    /// The telemetry does not say.
    Unknown,
}
