//! From a view of a span or log record to the engine's vocabulary.
//!
//! A span says which framework made it through its scope name and its keys; the file of that dialect reads the facts,
//! undoes the framework's wrappers, and writes [`Report`]s. Normalizing never fails: what cannot be read is left out and
//! counted, and a span that tells of nothing an agent did gives no event, though it may still say which run its trace
//! belongs to. Arguments and results leave this room only as fingerprints and redacted samples.

use crate::engine::event::{Event, Text, TraceId};

/// What one span or log record says: whose run it belongs to, and what happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which run.
    pub run: RunRef,
    /// What happened, in the order in which the source tells it; often one event, for many spans none.
    pub events: Vec<Event>,
}

/// What a report says about the run it belongs to. The shard resolves it to a run id: `run_id` where there is one,
/// else what an earlier report of the same trace said, else the trace id in hex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRef {
    /// The trace.
    pub trace: TraceId,
    /// The conversation, session or run id on which the dialect keys its runs, as it stands in the source.
    pub run_id: Option<Text>,
    /// The session, where it is named apart from the run: for showing and for swarms, never for routing.
    pub session_id: Option<Text>,
    /// A trace that this trace continues, for dialects that spread one run over linked traces.
    pub continues: Option<TraceId>,
    /// The service (`service.name` of the resource).
    pub service: Option<Text>,
}
