//! Records as they lie on disk: prost messages, one number per field, for ever.
//!
//! `turn` is the hot path: everything that a shard was told goes through it, so texts, traces and parents that recur
//! within a turn are written once (`tables`), and times as differences. `alert` is read by exporters, `run`
//! is a saved state. The number of a field that goes is given to no other; a record that an older release could not
//! read needs a new format of the store (`open::SCHEMA_KNOWN`).

mod alert;
mod call_mark;
mod control;
mod event;
mod fold;
mod guard;
mod kept;
mod notes;
mod query;
mod run;
mod speech;
mod tables;
mod trend;
mod turn;
mod value;
mod wire;
mod work;

pub(super) use alert::decode_alert;
pub use run::{decode_run, encode_run};
pub(super) use run::{decode_saved, encode_saved};
pub(super) use turn::{TurnWriter, decode_keys, decode_turns, encode_policy, group_head};

/// Bytes that are not the record they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(String);

impl RecordError {
    fn unknown(what: &str, number: impl std::fmt::Display) -> Self {
        Self(format!("{what} {number} is not known"))
    }

    pub(super) fn missing(what: &str) -> Self {
        Self(format!("{what} is missing"))
    }
}

impl From<std::str::Utf8Error> for RecordError {
    fn from(error: std::str::Utf8Error) -> Self {
        Self(error.to_string())
    }
}

impl From<prost::DecodeError> for RecordError {
    fn from(error: prost::DecodeError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
pub(super) mod samples;
