//! What becomes of a request: what its sender is told.

use std::time::Duration;

/// What a request was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// As the bytes that it is read as.
    Protobuf,
    /// As JSON, of which this is known to be wrong.
    Json {
        /// Items that could not be read, and are not among the bytes.
        unread: u64,
        /// What is wrong with the first of these.
        fault: Option<String>,
    },
}

/// The request is acknowledged: what it holds is on disk, save what is rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Items that can never be used and were left out.
    pub rejected: u64,
    /// Why, in English, shorter than a kibibyte; empty when nothing was rejected.
    pub message: String,
}

/// The request is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It cannot be decoded, or nothing in it can be used; never to be sent again.
    #[error("{0}")]
    Invalid(String),
    /// Its sender went away before all of it had come, and hears nothing.
    #[error("the request broke off before its end")]
    Left,
    /// It is larger than allowed; never to be sent again.
    #[error("the request is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// Not now: to be sent again.
    #[error("{why}")]
    Busy {
        /// What is in the way, in English.
        why: &'static str,
        /// When to send it again.
        retry_after: Duration,
    },
}
