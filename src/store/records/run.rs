//! The state of a run as it is saved.

use crate::engine::RunState;

use super::RecordError;

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
