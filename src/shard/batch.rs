//! What a turn takes: reports, put together by run, so that a run is stepped once for all that wait for it, and whatever else is
//! to be done to runs.

use crate::engine::Service;
use crate::engine::event::{Text, TraceId};
use crate::engine::run::WINDOW_EVENTS_MAX;
use crate::store::IndexKey;
use crate::store::hashing::FastMap;

use super::NamedPolicy;
use super::inbox::{Absorb, Cost, Done, Message, Move, Part, Release, Routed};

/// Most runs for whose reports room is kept from one turn to the next: some hundred kilobytes.
const SPARE_RUNS_MAX: usize = 4_096;

/// The reports of a turn, by run.
#[derive(Default)]
pub(super) struct Groups {
    /// In the order in which the runs appeared.
    pub(super) groups: Vec<Routed>,
    /// Where each run's group is.
    by_run: FastMap<Text, usize>,
}

/// What one turn does.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) reports: Groups,
    /// By which the reports were read; absent while there are none.
    pub(super) policy: Option<NamedPolicy>,
    pub(super) aliases: Vec<(TraceId, Text)>,
    pub(super) moves: Vec<Move>,
    pub(super) absorbs: Vec<Absorb>,
    pub(super) releases: Vec<Release>,
    /// Runs found idle.
    pub(super) idle: Vec<Text>,
    /// Runs to be forgotten because of their age or number, and whether they warn.
    pub(super) retired: Vec<(IndexKey, bool)>,
    /// Places in the index that are not their runs' own.
    pub(super) stale: Vec<IndexKey>,
    pub(super) cost: Cost,
    pub(super) done: Vec<Done>,
    /// How much work all this is, in events.
    work: usize,
}

impl Groups {
    pub(super) fn add(&mut self, report: Routed) {
        if let Some(&group) = self.by_run.get(&report.run_id) {
            self.groups[group].join(report);
        } else {
            self.by_run.insert(report.run_id.clone(), self.groups.len());
            self.groups.push(report);
        }
    }

    /// The room of groups that have gone, to be used again unless it is more than most turns need.
    pub(super) fn emptied(mut self) -> Self {
        self.by_run.clear();
        if self.by_run.capacity() > SPARE_RUNS_MAX {
            return Self::default();
        }
        self
    }
}

impl Batch {
    /// An empty batch, with the room of one before.
    pub(super) fn with(reports: Groups) -> Self {
        Self {
            reports,
            ..Self::default()
        }
    }

    /// Adds a message.
    pub(super) fn add(&mut self, message: Message) {
        match message {
            Message::Reports(part) => self.add_part(part),
            Message::Move(moved) => self.moves.push(moved),
            Message::Absorb(absorb) => {
                // A state is worth about as much work as the reports that it holds.
                self.work += WINDOW_EVENTS_MAX;
                self.absorbs.push(*absorb);
            }
            Message::Release(release) => self.releases.push(release),
        }
        self.work += 1;
    }

    /// Whether a message may be done in the same turn: the journal names one policy for all of it.
    pub(super) fn suits(&self, message: &Message) -> bool {
        match (message, &self.policy) {
            (Message::Reports(part), Some(policy)) => part.policy.hash == policy.hash,
            _ => true,
        }
    }

    /// How many requests there are.
    pub(super) fn requests(&self) -> usize {
        self.done.len()
    }

    /// About how much work the batch is, in events.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    fn add_part(&mut self, part: Part) {
        self.policy.get_or_insert(part.policy);
        for report in part.reports {
            self.work += report.events.len();
            self.reports.add(report);
        }
        self.aliases.extend(part.aliases);
        self.cost.add(part.cost);
        self.done.push(part.done);
    }
}

impl Routed {
    /// Adds another report of the same run.
    fn join(&mut self, other: Self) {
        self.session_id = self.session_id.take().or(other.session_id);
        self.service = Service::first(self.service.take(), other.service);
        self.events.extend(other.events);
    }
}
