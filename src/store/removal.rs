//! What the database has of runs that are removed, and how it goes.
//!
//! State, place in the index and alerts go with the commit. Of aliases a run may have hundreds of thousands: they go piece by
//! piece between later commits, and nobody finds them any more from the commit of the removal on. Only the store's thread
//! removes. The journal is not cut before they are gone: after a crash it says the removal again, and what is gone stays
//! gone. A run that begins anew meanwhile has the traces that it gets from then on, which are remembered until the others are
//! gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::event::{Text, TraceId};

use super::belongings;
use super::error::StoreError;
use super::keys;
use super::pieces::Writes;
use super::shared::Shared;
use super::turn::IndexKey;

/// Runs whose states and places in the index are removed together.
const RUNS_TOGETHER: usize = 64;

/// Aliases removed together: some milliseconds of work, for which a commit may have to wait.
pub(super) const ALIASES_TOGETHER: usize = 250;

/// Runs that are removed and whose aliases the database may still have, each with the traces that it got since.
type Removed = BTreeMap<Text, BTreeSet<TraceId>>;

/// The removals that are under way.
#[derive(Default)]
pub(super) struct Removals(Mutex<Arc<Removed>>);

impl Removals {
    /// Whether what the database has of a trace is of an earlier life of this run, as of this moment for as long as it is held.
    pub(super) fn now(&self) -> impl Fn(&Text, TraceId) -> bool + use<> {
        let removed = Arc::clone(&self.runs());
        move |run_id, trace| {
            let since = removed.get(run_id);
            since.is_some_and(|since| !since.contains(&trace))
        }
    }

    fn add(&self, runs: &[IndexKey]) {
        let runs = runs.iter().map(|run| (run.run_id.clone(), BTreeSet::new()));
        Arc::make_mut(&mut self.runs()).extend(runs);
    }

    /// Runs get traces: those of them that were removed begin anew, and keep these.
    pub(super) fn spare(&self, aliases: &[(TraceId, Text)]) {
        let mut runs = self.runs();
        if runs.is_empty() {
            return;
        }
        let runs = Arc::make_mut(&mut runs);
        for (trace, run_id) in aliases {
            if let Some(since) = runs.get_mut(run_id) {
                since.insert(*trace);
            }
        }
    }

    /// One of the runs whose aliases are still to be removed.
    fn first(&self) -> Option<Text> {
        self.runs().keys().next().cloned()
    }

    fn are_over(&self, run_id: &Text) {
        Arc::make_mut(&mut self.runs()).remove(run_id);
    }

    fn runs(&self) -> MutexGuard<'_, Arc<Removed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Removes runs whose removal is in the journal at `position`, before the alert with that cursor; their aliases go later. A
    /// state or an alert that is newer belongs to a run that began after it.
    pub(super) fn remove_runs(
        &self,
        position: u64,
        cursor_behind: u64,
        runs: &[IndexKey],
    ) -> Result<(), StoreError> {
        self.removals.add(runs);
        for runs in runs.chunks(RUNS_TOGETHER) {
            let mut writes = Writes::default();
            for run in runs {
                let saved = self.load_run(&run.run_id);
                let is_newer =
                    saved.is_ok_and(|saved| saved.is_some_and(|run| run.position > position));
                writes.remove(&keys::index(run));
                if !is_newer {
                    self.read(|db| writes.remove_stored(db, &keys::run(&run.run_id)))?;
                }
                self.forget_alerts_of(&run.run_id, cursor_behind)?;
            }
            self.write(|db| writes.apply(db))?;
        }
        Ok(())
    }

    /// Removes places in the index whose runs have others.
    pub(super) fn unlist(&self, places: &[IndexKey]) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let mut writes = Writes::default();
        for place in places {
            writes.remove(&keys::index(place));
        }
        self.write(|db| writes.apply_each(db))
    }

    /// Removes what the database has of traces that belong to no run any more.
    pub(super) fn remove_aliases(&self, traces: &[TraceId]) -> Result<(), StoreError> {
        let keys = traces.iter().map(|trace| keys::alias(*trace));
        let mut writes = Writes::default();
        for key in keys.filter(|key| !self.known.lacks(key)) {
            writes.remove(&key);
        }
        self.write(|db| writes.apply_each(db))
    }

    /// Whether aliases of removed runs are still to be removed.
    pub(super) fn is_removing(&self) -> bool {
        !self.has_failed() && !self.removals.runs().is_empty()
    }

    /// Removes a piece of what is still to be removed.
    pub(super) fn remove_some(&self) -> Result<(), StoreError> {
        let mut room = ALIASES_TOGETHER;
        while room > 0
            && let Some(run_id) = self.removals.first()
        {
            let removed = self.remove_aliases_of(&run_id, room)?;
            // Looking for them is work, too.
            room = room.saturating_sub(removed.max(1));
        }
        Ok(())
    }

    /// Removes all that is still to be removed.
    pub(super) fn remove_rest(&self) -> Result<(), StoreError> {
        while let Some(run_id) = self.removals.first() {
            self.remove_aliases_of(&run_id, ALIASES_TOGETHER)?;
        }
        Ok(())
    }

    /// Removes so many of a run's aliases at most; answers how many there were. The run is done with when they are fewer. They
    /// go one by one: what a batch of sled's replaces stays in memory until the batch has ended, some 7 KB for each alias.
    fn remove_aliases_of(&self, run_id: &Text, most: usize) -> Result<usize, StoreError> {
        let is_of_before = self.removals.now();
        let removed = self.write(|db| {
            let mut removed = 0;
            for part in belongings::all(db, run_id) {
                let (key, mut part) = part?;
                let traces = part.traces.iter().copied();
                let goes = |trace: &TraceId| is_of_before(run_id, *trace);
                let going: BTreeSet<_> = traces.filter(goes).take(most - removed).collect();
                if going.is_empty() {
                    continue;
                }
                for alias in going.iter().map(|trace| keys::alias(*trace)) {
                    // The trace may have gone over to another run since.
                    if db
                        .get(&alias)?
                        .is_some_and(|owner| owner == run_id.as_bytes())
                    {
                        db.remove(alias)?;
                    }
                }
                // Behind the aliases, which are found by it after a crash.
                part.traces.retain(|trace| !going.contains(trace));
                part.put(db, &key)?;
                removed += going.len();
                if removed == most {
                    break;
                }
            }
            Ok(removed)
        })?;
        if removed < most {
            self.removals.are_over(run_id);
        }
        Ok(removed)
    }
}
