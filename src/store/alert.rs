//! An alert as it lies in the store and as exporters and tails read it.

use crate::engine::event::{Text, TraceId};
use crate::engine::warning::{ChangeKind, Warning, WarningState};

/// The notification of a change of a warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Its place in the log of alerts: 1 for the first, one more for each, without gaps, over all shards.
    pub cursor: u64,
    /// When it was committed, milliseconds since 1970.
    pub at_ms: u64,
    /// What changed.
    pub change: ChangeKind,
    /// The run.
    pub run_id: Text,
    /// The trace after which the run is named, if it is.
    pub trace: Option<TraceId>,
    /// The service that reports the run.
    pub service: Option<Text>,
    /// The score of the run after the change.
    pub score: u32,
    /// The warning after the change.
    pub warning: Warning,
}

impl Alert {
    /// Whether the warning is resolved by this change, or was before.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.warning.state == WarningState::Resolved
    }
}
