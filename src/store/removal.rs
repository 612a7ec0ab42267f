//! What the database has of runs that are removed, and how it goes.
//!
//! State, place in the index and alerts go with the commit. Of aliases a run may have hundreds of thousands: they go piece by
//! piece between later commits, and nobody finds them any more from the commit of the removal on. Only the store's thread
//! removes. The journal is not cut before they are gone: after a crash it says the removal again, and what is gone stays gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::event::{Text, TraceId};

use super::error::StoreError;
use super::keys;
use super::pieces::Writes;
use super::shared::Shared;
use super::turn::IndexKey;

/// Runs whose states and places in the index are removed together.
const RUNS_TOGETHER: usize = 64;

/// Aliases removed together, with two keys each: some milliseconds of work, for which a commit may have to wait.
pub(super) const ALIASES_TOGETHER: usize = 250;

/// Runs that are removed and whose aliases the database may still have.
#[derive(Default)]
pub(super) struct Removals(Mutex<Arc<BTreeSet<Text>>>);

impl Removals {
    /// Those of this moment.
    pub(super) fn now(&self) -> Arc<BTreeSet<Text>> {
        Arc::clone(&self.runs())
    }

    fn add(&self, runs: &[IndexKey]) {
        let run_ids = runs.iter().map(|run| run.run_id.clone());
        Arc::make_mut(&mut self.runs()).extend(run_ids);
    }

    fn are_over(&self, run_id: &Text) {
        Arc::make_mut(&mut self.runs()).remove(run_id);
    }

    fn runs(&self) -> MutexGuard<'_, Arc<BTreeSet<Text>>> {
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
        while room > 0 {
            let Some(run_id) = self.removals.runs().first().cloned() else {
                break;
            };
            let removed = self.remove_aliases_of(&run_id, room)?;
            // Looking for them is work, too.
            room = room.saturating_sub(removed.max(1));
        }
        Ok(())
    }

    /// Removes all that is still to be removed.
    pub(super) fn remove_rest(&self) -> Result<(), StoreError> {
        self.remove_rest_of(self.removals.now().iter())
    }

    /// Removes what is left of those of these runs that were removed: they begin anew, and what they get is to stay.
    pub(super) fn remove_rest_of<'r>(
        &self,
        run_ids: impl Iterator<Item = &'r Text>,
    ) -> Result<(), StoreError> {
        let removals = self.removals.now();
        for run_id in run_ids.filter(|run_id| removals.contains(*run_id)) {
            while self.remove_aliases_of(run_id, ALIASES_TOGETHER)? > 0 {}
        }
        Ok(())
    }

    /// Removes so many of a run's aliases at most; answers how many there were. The run is done with when they are fewer. They
    /// go one by one: what a batch of sled's replaces stays in memory until the batch has ended, some 7 KB for each alias.
    fn remove_aliases_of(&self, run_id: &Text, most: usize) -> Result<usize, StoreError> {
        let removed = self.write(|db| {
            let keys = db.scan_prefix(keys::aliases_of_run(run_id)).keys();
            let keys = keys.take(most).collect::<sled::Result<Vec<_>>>()?;
            let mut writes = Writes::default();
            for key in &keys {
                if let Some(trace) = keys::alias_trace(key) {
                    let alias = keys::alias(trace);
                    let owner = db.get(&alias)?;
                    // The trace may have gone over to another run since.
                    if owner.is_some_and(|owner| owner == run_id.as_bytes()) {
                        writes.remove(&alias);
                    }
                }
                // Behind the alias, which is found by it after a crash.
                writes.remove(key);
            }
            writes.apply_each(db).map(|()| keys.len())
        })?;
        if removed < most {
            self.removals.are_over(run_id);
        }
        Ok(removed)
    }
}
