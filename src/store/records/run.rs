//! The state of a run as it is saved.

use prost::Message;

use crate::engine::RunState;
use crate::engine::event::Text;
use crate::store::turn::{IndexKey, SavedRun};

use super::RecordError;

/// A saved run; its id is the key.
#[derive(Clone, PartialEq, prost::Message)]
struct SavedRecord {
    #[prost(uint64, tag = "1")]
    created_ms: u64,
    #[prost(uint64, tag = "2")]
    position: u64,
    #[prost(bytes = "vec", tag = "3")]
    state: Vec<u8>,
}

/// A saved run as bytes.
pub(crate) fn encode_saved(run: &SavedRun) -> Vec<u8> {
    let record = SavedRecord {
        created_ms: run.key.created_ms,
        position: run.position,
        state: run.state.clone(),
    };
    record.encode_to_vec()
}

/// The saved run back from its bytes and its id.
pub(crate) fn decode_saved(run_id: &str, bytes: &[u8]) -> Result<SavedRun, RecordError> {
    let record = SavedRecord::decode(bytes)?;
    Ok(SavedRun {
        key: IndexKey {
            created_ms: record.created_ms,
            run_id: Text::from(run_id),
        },
        position: record.position,
        state: record.state,
    })
}

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
