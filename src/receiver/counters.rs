//! What the receiver counts: items accepted and refused, requests refused, each by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::otlp::Reason;

/// Counters since the start. Only grow; read at any time.
#[derive(Debug, Default)]
pub struct Counters {
    /// Spans and log records acknowledged.
    pub accepted: AtomicU64,
    /// Spans and log records refused for good, by reason, in the order of [`Reason::ALL`].
    pub refused: [AtomicU64; Reason::ALL.len()],
    /// Resources and scopes that could not be read and were left out.
    pub contexts_left_out: AtomicU64,
    /// Requests refused for good because they are larger than allowed.
    pub requests_too_large: AtomicU64,
    /// Requests refused for good because they cannot be decoded or decompressed.
    pub requests_undecodable: AtomicU64,
    /// Requests refused for a while: overload, shutdown, or a store that fails.
    pub requests_deferred: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Items refused for a reason.
    #[must_use]
    pub fn refused_for(&self, reason: Reason) -> u64 {
        self.refused[reason.index()].load(Ordering::Relaxed)
    }
}
