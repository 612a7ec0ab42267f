//! What the shards have done since they started, for metrics. Plain numbers, one set for all shards.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// What the shards have done since they started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Reports committed.
    pub reports: Counter,
    /// Events committed. Events that arrived twice are among them: only the run knows.
    pub events: Counter,
    /// Turns committed.
    pub turns: Counter,
    /// Time spent waiting for commits, in microseconds, over all shards.
    pub commit_micros: Counter,
    /// Events whose times could not be true and were put right.
    pub times_settled: Counter,
    /// Reports without a run id and without a trace, which belong to no run and were dropped.
    pub unattributed: Counter,
    /// Runs begun.
    pub runs_created: Counter,
    /// Runs that went over to the run that their trace was later said to belong to.
    pub runs_moved: Counter,
    /// Runs found idle.
    pub runs_idle: Counter,
    /// Runs forgotten because of their age or their number.
    pub runs_retired: Counter,
    /// Runs that left memory and stay on disk.
    pub runs_evicted: Counter,
    /// States of runs that could not be read; these runs began anew.
    pub runs_unreadable: Counter,
    /// Requests refused because an inbox was full.
    pub refused_overloaded: Counter,
    /// Requests refused because the daemon was leaving.
    pub refused_stopping: Counter,
    /// Requests refused, or left without an answer, because a commit had failed.
    pub refused_failed: Counter,
    /// Watchers refused because a shard had too many watched runs.
    pub refused_watchers: Counter,
}
