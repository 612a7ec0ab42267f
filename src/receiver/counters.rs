//! What the receiver has taken and refused since it started, for metrics. Labels are bounded: reasons, never names.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::otlp::Reason;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The number.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

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
    /// Spans and log records read.
    pub items_read: Counter,
    /// Spans and log records refused.
    pub items_refused: ByReason,
    /// Resources and scopes that could not be read; their items were taken without them.
    pub contexts_left_out: ByReason,
    /// Attributes beyond the limit of their item.
    pub attributes_left_out: Counter,
}
