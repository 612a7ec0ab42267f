//! What a shard hands over to be committed and saved, and what it gets back.

use crate::engine::Service;
use crate::engine::event::{Event, Text, TraceId};

use super::alert::Alert;
use super::records::TurnWriter;

/// All that one turn of a shard changed. It is committed whole or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// When the turn was taken, milliseconds since 1970.
    pub at_ms: u64,
    /// Hash of the policy under which it was computed (`Store::put_policy`).
    pub policy: u64,
    /// What the runs were told, in order. A replay of these gives the same states and changes.
    pub entries: Vec<Entry>,
    /// The entries before those, which are in the record already ([`Store::write_down`](super::Store::write_down)).
    pub written: Written,
    /// Runs that the turn began.
    pub new_runs: Vec<IndexKey>,
    /// Traces that turned out to belong to a run.
    pub aliases: Vec<(TraceId, Text)>,
    /// Runs that are forgotten, with an [`Entry::Removed`] each: their places in the index, their states and their
    /// aliases go. No save of these runs may be under way.
    pub removed: Vec<IndexKey>,
    /// Places in the index that go alone, for their runs have others.
    pub unlisted: Vec<IndexKey>,
    /// What is to be announced, oldest first. The commit gives each its cursor; what stands there before is ignored.
    pub alerts: Vec<Alert>,
}

impl Turn {
    /// Whether the runs were told nothing.
    #[must_use]
    pub fn tells_nothing(&self) -> bool {
        self.entries.is_empty() && self.written.0.is_none()
    }
}

/// Entries of a turn as the journal will have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written(pub(super) Option<Box<TurnWriter>>);

/// What a turn changed beside the states of runs: what the database is to hold once the turn is committed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keys {
    /// Number of the policy that the record names.
    pub(super) policy: u64,
    pub(super) new_runs: Vec<IndexKey>,
    pub(super) aliases: Vec<(TraceId, Text)>,
    pub(super) removed: Vec<IndexKey>,
    pub(super) unlisted: Vec<IndexKey>,
    pub(super) alerts: Vec<NewAlert>,
}

/// An alert that has no cursor yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NewAlert {
    /// As it is stored.
    pub(super) record: Vec<u8>,
    /// As it is read; absent where only the record is at hand, as in the journal.
    pub(super) alert: Option<Alert>,
}

/// The receipt of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Position in the journal of the record that holds the turn. Positions start at 1 and grow; turns that were
    /// committed together share one.
    pub position: u64,
}

/// One thing that a run was told.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Reports, as `Input::Reports`.
    Reports {
        /// The run.
        run_id: Text,
        /// When they arrived, milliseconds since 1970.
        at_ms: u64,
        /// The session, where it is named apart from the run.
        session_id: Option<Text>,
        /// The first of the services that sent them.
        service: Option<Service>,
        /// What happened. Nothing: the guard met a defect of the engine, and the run began anew.
        events: Vec<Event>,
    },
    /// The run was found idle, as `Input::Idle`.
    Idle {
        /// The run.
        run_id: Text,
        /// When that was found, milliseconds since 1970.
        at_ms: u64,
    },
    /// What was kept under one id went over to another run, as `Input::Absorb`.
    Absorb {
        /// The run that goes on.
        into: Text,
        /// The id that is given up.
        from: Text,
        /// The state that was kept under it (`records::encode_run`).
        state: Vec<u8>,
    },
    /// The run was forgotten.
    Removed {
        /// The run.
        run_id: Text,
    },
}

/// A turn as the journal has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Of its record.
    pub position: u64,
    /// Hash of the policy by which it was judged.
    pub policy: u64,
    /// What runs were told.
    pub entries: Vec<Entry>,
    /// What was announced with that, without cursors.
    pub alerts: Vec<Alert>,
}

/// A run in the index, which is ordered by the time at which runs began.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexKey {
    /// When it was first heard of, milliseconds since 1970.
    pub created_ms: u64,
    /// Its id.
    pub run_id: Text,
}

/// The state of a run as it lies on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// The run.
    pub key: IndexKey,
    /// Newest journal position whose entries the state contains.
    pub position: u64,
    /// The state (`records::encode_run`).
    pub state: Vec<u8>,
}
