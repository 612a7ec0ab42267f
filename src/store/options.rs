//! How a store is opened.

use std::time::Duration;

/// What the store is to hold against once it has acknowledged a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: each commit waits for the disk.
    #[default]
    Power,
    /// The end of the process, however sudden; a power cut may cost the newest turns.
    Process,
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// What an acknowledged turn survives.
    pub durability: Durability,
    /// Memory for pages of the database, in bytes. The process takes two to three times as much.
    pub cache_bytes: u64,
    /// Newest alerts that are all kept, at least 1. Of older ones, the newest of each warning stays until its run is
    /// forgotten.
    pub alerts_max: u64,
    /// How often a snapshot is written, if anything was committed since the last one; never, where this is absent.
    pub snapshot_every: Option<Duration>,
    /// Bytes of disk that are held back, so that a store whose disk is full can still be opened.
    pub reserve_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            cache_bytes: 64 << 20,
            alerts_max: 100_000,
            snapshot_every: None,
            reserve_bytes: 0,
        }
    }
}
