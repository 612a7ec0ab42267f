//! What normalizing comes to.

use crate::engine::event::{Event, Text, TraceId};

/// What one log record says, or one span, or several spans that follow one another and are of one run: which run that is, and
/// what happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which run.
    pub run: RunRef,
    /// What happened, in the order in which the source tells it; of a span often one event, of many spans none.
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

/// What a dialect made of one span or log record; the reason by which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gave at least one event.
    Told,
    /// It tells of nothing an agent did, but of the run that its trace belongs to.
    Placed,
    /// The dialect knows it, and it tells of nothing an agent did: framework steps, copies of other reports.
    Noise,
    /// An operation that the dialect does not know.
    UnknownOperation,
    /// No dialect knows it: spans of web servers, databases and the like.
    NoDialect,
}

impl Report {
    /// One that tells nothing yet.
    pub(super) fn about(trace: [u8; 16]) -> Self {
        Self {
            run: RunRef {
                trace: TraceId(trace),
                ..RunRef::default()
            },
            events: Vec::new(),
        }
    }
}
