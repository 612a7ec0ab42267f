//! What the receiver has taken and refused since it started, for metrics. Labels are bounded: reasons, never names.

use crate::otlp::{Reason, Signal};
use crate::telemetry::Counter;

/// One number for each reason.
#[derive(Debug, Default)]
pub struct ByReason([Counter; Reason::ALL.len()]);

impl ByReason {
    /// The number for that reason.
    #[must_use]
    pub fn value(&self, reason: Reason) -> u64 {
        self.0[reason.index()].value()
    }

    pub(super) fn add(&self, reason: Reason, more: u64) {
        self.0[reason.index()].add(more);
    }
}

/// What the receiver has taken and refused since it started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests acknowledged, in whole or in part.
    pub requests_accepted: Counter,
    /// Requests acknowledged of which some items were refused; they are among the accepted.
    pub requests_partial: Counter,
    /// Requests refused because they cannot be decoded or hold nothing usable.
    pub requests_invalid: Counter,
    /// Requests refused because they are larger than allowed.
    pub requests_too_large: Counter,
    /// Requests refused for now: the budget was used up, an inbox full, or the daemon about to leave.
    pub requests_busy: Counter,
    /// Requests refused because they showed no token that is known.
    pub requests_unauthenticated: Counter,
    /// Requests whose sender went away before the answer, while they came or after: nobody was told what became of them, and those
    /// that had come whole may be taken.
    pub requests_left: Counter,
    /// Times that nothing more was read from a connection until there was room.
    pub pauses: Counter,
    /// Spans.
    pub spans: Items,
    /// Log records.
    pub log_records: Items,
    /// Resources and scopes that could not be read; their items were taken without them.
    pub contexts_left_out: ByReason,
    /// Attributes beyond the limit of their item.
    pub attributes_left_out: Counter,
}

/// What became of the items of one kind.
#[derive(Debug, Default)]
pub struct Items {
    /// Acknowledged: what they tell is on disk.
    pub accepted: Counter,
    /// In requests that were refused for now; they are likely to come again.
    pub busy: Counter,
    /// Can never be used.
    pub refused: ByReason,
}

impl Counters {
    /// The items of a signal; metrics have none, since they are not read.
    #[must_use]
    pub fn items(&self, signal: Signal) -> Option<&Items> {
        match signal {
            Signal::Traces => Some(&self.spans),
            Signal::Logs => Some(&self.log_records),
            Signal::Metrics => None,
        }
    }
}
