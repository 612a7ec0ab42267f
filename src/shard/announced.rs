//! What others were told of a run's warnings, and what the run knows of that, are brought to agree where they may not.
//!
//! A run knows what was announced of it, and says what differs from that. It may know something else than was announced: when it
//! began anew, since its state could not be read or the engine had a defect; and after a replay in which it was judged otherwise
//! than before the crash (`replay`). Then the newest alert of each warning in the log is what others know, and what differs from
//! that is announced in the turn in which this is found, or in the first one after a replay, before which nothing of the journal
//! is given up.

use std::collections::BTreeMap;

use crate::engine::Warning;
use crate::engine::event::Text;
use crate::store::StoreError;

use super::draft::Draft;
use super::worker::Worker;

impl Worker {
    /// Says of each run that was noted what others are still to be told.
    pub(super) fn tell_what_is_owed(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        for run_id in self.residence.take_unsure() {
            let announced = self.announced(&run_id, draft)?;
            if self.residence.fetch(&run_id)?.is_none() {
                continue;
            }
            let slot = self.residence.slot(&run_id).expect("it is in memory now");
            let state = &mut self.residence.at(slot).state;
            let changes = state.agree_with(announced);
            draft.announce(changes, state, &self.policy.policy);
            // With the revisions behind which it goes on.
            draft.touched.push(slot);
        }
        Ok(())
    }

    /// What was announced last of each warning of a run, in this turn or before.
    fn announced(&self, run_id: &Text, draft: &Draft) -> Result<Vec<Warning>, StoreError> {
        let log = self.shared.store.newest_alerts_of(run_id)?;
        let of_turn = draft.turn.alerts.iter().cloned();
        let alerts = log
            .into_iter()
            .chain(of_turn.filter(|alert| alert.run_id == *run_id));
        let newest: BTreeMap<u64, Warning> = alerts
            .map(|alert| (alert.warning.id, alert.warning))
            .collect();
        Ok(newest.into_values().collect())
    }
}
