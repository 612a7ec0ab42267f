//! A turn in the making: what is to be committed, and what follows from it.

use crate::engine::event::{Event, Text, TraceId};
use crate::engine::policy::Policy;
use crate::engine::run::is_swarm;
use crate::engine::{Change, RunState};
use crate::store::alert::Alert;
use crate::store::hashing::FastSet;
use crate::store::{Entry, IndexKey, Turn};

use super::inbox::{Done, Move, Release};
use super::residence::Slot;

/// A turn in the making, and what follows from it once it is committed.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) turn: Turn,
    /// Traces of which its reports said to which runs they belong.
    pub(super) taught: FastSet<TraceId>,
    /// Number of events in it.
    pub(super) events: u64,
    /// Number of runs that were closed because they were idle.
    pub(super) idle: u64,
    /// Number of runs of which another one goes on.
    pub(super) moved: u64,
    /// Number of runs that are forgotten because of their age or number.
    pub(super) retired: u64,
    /// Runs that were stepped, or have other revisions.
    pub(super) touched: Vec<Slot>,
    /// Runs that are forgotten.
    pub(super) removed: Vec<Text>,
    /// Owners of absorbed runs that are to hear of it.
    pub(super) releases: Vec<Release>,
    pub(super) moves: Vec<Move>,
    /// Runs that were absorbed, have grown since, and move once more.
    pub(super) moves_again: Vec<Move>,
    /// Runs that have gone over to another one.
    pub(super) arrived: Vec<Arrived>,
    pub(super) done: Vec<Done>,
}

/// Where a run has gone over to, and who waits for it to be where it belongs.
pub(super) struct Arrived {
    pub(super) at: Text,
    pub(super) done: Done,
}

impl Draft {
    /// Whether nothing is to be committed.
    pub(super) fn is_empty(&self) -> bool {
        let Turn {
            aliases,
            alerts,
            unlisted,
            ..
        } = &self.turn;
        let has_keys = !(aliases.is_empty() && alerts.is_empty() && unlisted.is_empty());
        self.turn.tells_nothing() && !has_keys && self.touched.is_empty()
    }

    /// Notes the traces of the first reports of a run that name any. Where no report of the turn has taught them, the router knows
    /// them from an earlier life of the run, with which what was stored of them has gone.
    pub(super) fn keep_traces(&mut self, run_id: &Text, events: &[Event]) {
        if is_swarm(run_id) {
            return;
        }
        let own = TraceId::of_run(run_id);
        for trace in events.iter().map(|event| event.trace) {
            if trace.is_set() && own != Some(trace) && self.taught.insert(trace) {
                self.turn.aliases.push((trace, run_id.clone()));
            }
        }
    }

    /// Notes that a run has gone over to another one, and who waits for that.
    pub(super) fn arrived(&mut self, at: &Text, waiting: impl Iterator<Item = Done>) {
        let at = |done| Arrived {
            at: at.clone(),
            done,
        };
        self.arrived.extend(waiting.map(at));
    }

    /// Notes that a run is to be forgotten.
    pub(super) fn remove(&mut self, key: IndexKey) {
        self.turn.entries.push(Entry::Removed {
            run_id: key.run_id.clone(),
        });
        self.removed.push(key.run_id.clone());
        self.turn.removed.push(key);
    }

    /// Makes alerts of what changed with a run's warnings.
    pub(super) fn announce(&mut self, changes: Vec<Change>, state: &RunState, policy: &Policy) {
        if changes.is_empty() {
            return;
        }
        let score = state.score(policy);
        let trace = state.trace();
        self.turn
            .alerts
            .extend(changes.into_iter().map(|change| Alert {
                cursor: 0,
                at_ms: self.turn.at_ms,
                change: change.kind,
                run_id: state.id().clone(),
                trace,
                service: state.service().cloned(),
                score,
                warning: change.warning,
            }));
    }
}
