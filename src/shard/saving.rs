//! Saving the states of runs behind the turns.
//!
//! Every few seconds a shard has what has changed since written to the database, some states at a time; how far it has come says
//! from where on the journal is needed. A state must not hold more than what is committed. One that does when it is its turn is
//! passed over, and encoded when the next turn is about to be committed, which holds all that it knows.

use tokio::task::JoinHandle;

use crate::store::{SavedRun, StoreError};

use super::draft::Draft;
use super::residence::UncommittedState;
use super::worker::Worker;

/// States that are saved together. Below 100 the store's batches get dear, above 500 they hold up commits.
pub(super) const SAVE_TOGETHER: usize = 200;

impl Worker {
    /// The states that a save had to pass over, if one may begin when a turn is committed that holds all that they know.
    pub(super) fn held_up(&mut self, draft: &Draft) -> Vec<UncommittedState> {
        let is_all = self.pending.is_empty() && draft.removed.is_empty();
        if is_all && self.saving.is_none() {
            self.residence.held_up(SAVE_TOGETHER)
        } else {
            Vec::new()
        }
    }

    /// Starts to save states that were held up, now that the turn is committed.
    pub(super) fn save_held_up(&mut self, states: Vec<UncommittedState>) {
        let runs = self.residence.take_held_up(states, self.position);
        if !runs.is_empty() {
            self.save(runs);
        }
    }

    /// Has all that is committed saved, batch by batch.
    pub(super) fn sweep(&mut self) {
        self.sweep_to = Some(self.position);
        self.start_save();
    }

    /// Starts to save the next batch of what is to be saved, unless one is under way.
    pub(super) fn start_save(&mut self) {
        let Some(sweep_to) = self.sweep_to.filter(|_| self.saving.is_none()) else {
            return;
        };
        let runs = self.residence.take_unsaved(sweep_to, SAVE_TOGETHER);
        if runs.is_empty() {
            self.sweep_to = None;
            return;
        }
        self.save(runs);
    }

    /// Has the store save a batch, beside the turns.
    fn save(&mut self, runs: Vec<SavedRun>) {
        let store = self.shared.store.clone();
        self.saving = Some(tokio::spawn(async move { store.save_runs(runs).await }));
    }

    /// A batch is on disk.
    pub(super) fn save_finished(
        &mut self,
        saved: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        saved?;
        self.residence.saved();
        self.tell_what_is_needed();
        Ok(())
    }

    /// Waits for the batch that is being saved. Whoever removes a run, or lets go of it, must have done so, or the
    /// batch might bring it back.
    pub(super) async fn finish_save(&mut self) -> Result<(), StoreError> {
        if let Some(mut task) = self.saving.take() {
            let saved = self.meanwhile(&mut task).await?;
            saved.unwrap_or(Err(StoreError::Closed))?;
            self.residence.saved();
        }
        Ok(())
    }

    /// Says how far back the journal is needed. Only between turns: what is being committed must be counted.
    pub(super) fn tell_what_is_needed(&mut self) {
        let absorbed = self.absorbed.values().copied();
        let position = absorbed.fold(self.residence.needed_from(), u64::min);
        self.shared.store.needed_from(self.number, position);
    }
}

/// Waits for a save; for ever if none is under way.
pub(super) async fn finished(
    saving: &mut Option<JoinHandle<Result<(), StoreError>>>,
) -> Result<(), StoreError> {
    let Some(task) = saving else {
        return std::future::pending().await;
    };
    let outcome = task.await;
    *saving = None;
    outcome.unwrap_or(Err(StoreError::Closed))
}
