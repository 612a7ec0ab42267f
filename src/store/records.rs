//! The records of the store: prost messages with one number per field, for ever.

use crate::engine::RunState;

/// Bytes that are not the record they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(pub(crate) String);

/// A run's state as bytes.
#[must_use]
pub fn encode_run(state: &RunState) -> Vec<u8> {
    let _ = state;
    unimplemented!()
}

/// The state back from its bytes.
pub fn decode_run(bytes: &[u8]) -> Result<RunState, RecordError> {
    let _ = bytes;
    unimplemented!()
}
