//! What becomes of a commit beside the journal: the keys that the database is to hold of it.
//!
//! New runs, aliases and alerts wait a little, to be put there together; until then they are read from here ([`Pending`]).
//! Exporters and tails that keep up never read the database. Only the store's thread adds and settles, and the journal has it
//! all: after a crash the same is done again, in the same order, and what is done twice is as if done once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::engine::event::{Text, TraceId};

use super::alert_log::WaitingAlert;
use super::belongings::Belongings;
use super::error::StoreError;
use super::journal::Found;
use super::keys;
use super::pieces::Writes;
use super::policies::PoliciesFound;
use super::records::decode_keys;
use super::shared::Shared;
use super::turn::{IndexKey, Keys};

/// Keys from which they are put into the database at once: some milliseconds of work, for which a commit may have to wait.
const PENDING_MAX: usize = 1_000;

/// Keys that are committed and may not be in the database yet.
#[derive(Clone, Default)]
pub(super) struct Pending {
    pub(super) new_runs: BTreeSet<IndexKey>,
    pub(super) aliases: BTreeMap<TraceId, Text>,
    /// In the order of their cursors.
    pub(super) alerts: Vec<WaitingAlert>,
}

impl Pending {
    fn len(&self) -> usize {
        self.new_runs.len() + self.aliases.len() + self.alerts.len()
    }

    /// What there is of each run beside its place in the index.
    fn belongings(&self) -> BTreeMap<Text, Belongings> {
        let mut runs: BTreeMap<Text, Belongings> = BTreeMap::new();
        for alert in self.alerts.iter().filter_map(WaitingAlert::staying) {
            let of_run = runs.entry(alert.run_id.clone()).or_default();
            of_run.note_newest(alert.warning.id, alert.cursor);
        }
        for (trace, run_id) in &self.aliases {
            runs.entry(run_id.clone()).or_default().traces.push(*trace);
        }
        runs
    }

    /// Lets go of what is there of runs that are removed: it need not come into the database first. Answers which traces were
    /// theirs, of which the database may still have the runs that they belonged to before.
    fn forget(&mut self, removed: &[IndexKey]) -> Vec<TraceId> {
        let run_ids: BTreeSet<_> = removed.iter().map(|run| &run.run_id).collect();
        for run in removed {
            self.new_runs.remove(run);
        }
        for alert in &mut self.alerts {
            alert.let_go_of(&run_ids);
        }
        let mut traces = Vec::new();
        self.aliases.retain(|trace, owner| {
            let stays = !run_ids.contains(owner);
            if !stays {
                traces.push(*trace);
            }
            stays
        });
        traces
    }
}

impl Shared {
    pub(super) fn pending(&self) -> MutexGuard<'_, Arc<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.pending().len() == 0
    }

    /// Whether so much waits that it is time to settle.
    pub(super) fn has_much_pending(&self) -> bool {
        self.pending().len() >= PENDING_MAX
    }

    /// Keeps what a group changed, which is in the journal at `position`: from here on it can be read.
    pub(super) fn keep(
        &self,
        position: u64,
        first_cursor: u64,
        turns: Vec<Keys>,
    ) -> Result<(), StoreError> {
        let (mut alerts, mut forgotten) = (Vec::new(), BTreeSet::new());
        let count = |of: fn(&Keys) -> usize| turns.iter().map(of).sum();
        self.count_runs(
            position,
            count(|turn| turn.new_runs.len()),
            count(|turn| turn.removed.len() + turn.unlisted.len()),
        );
        let cursor_behind = first_cursor + count(|turn| turn.alerts.len()) as u64;
        for turn in turns {
            self.removals.spare(&turn.aliases);
            let mut traces = Vec::new();
            {
                let mut pending = self.pending();
                let pending = Arc::make_mut(&mut pending);
                pending.new_runs.extend(turn.new_runs);
                pending.aliases.extend(turn.aliases);
                if !turn.removed.is_empty() {
                    traces = pending.forget(&turn.removed);
                }
                for place in &turn.unlisted {
                    pending.new_runs.remove(place);
                }
            }
            self.remove_aliases(&traces)?;
            self.remove_runs(position, cursor_behind, &turn.removed)?;
            self.unlist(&turn.unlisted)?;
            alerts.extend(turn.alerts);
            forgotten.extend(turn.removed.into_iter().map(|run| run.run_id));
        }
        self.keep_alerts(first_cursor, alerts, &forgotten);
        Ok(())
    }

    /// Puts into the database what waits.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        // Whoever reads looks here first and into the database then, so it must not leave before it has arrived.
        let pending = Arc::clone(&self.pending());
        self.add_belongings(pending.belongings())?;
        self.write(|db| {
            let mut writes = Writes::default();
            for run in &pending.new_runs {
                writes.put(&keys::index(run), &[]);
            }
            for (trace, run_id) in &pending.aliases {
                writes.put(&keys::alias(*trace), run_id.as_bytes());
            }
            writes.put(keys::POSITION, &self.known_position());
            writes.apply_each(db)
        })?;
        let aliases = pending.aliases.keys();
        self.known.add(aliases.map(|trace| keys::alias(*trace)));
        self.settle_alerts(&pending.alerts)?;
        *self.pending() = Arc::default();
        Ok(())
    }

    /// The journal ends at one position, and the database knows of commits up to another.
    pub(super) fn lose_end(&self, newest: u64, known: u64) {
        let lost = known - newest;
        tracing::error!(
            commits = lost,
            journal = %self.journal_dir().display(),
            "the journal has lost its end: what its last commits told is lost, but for what had been saved of it"
        );
        self.tally.lost_records.add(lost);
        self.lose_run_count();
    }

    /// Does again what a crash may have left undone, and notes which policies the record names and holds.
    pub(super) fn recover(
        &self,
        found: Found,
        policies: &mut PoliciesFound,
    ) -> Result<(), StoreError> {
        match found {
            Found::Record {
                position, payload, ..
            } => match decode_keys(&payload) {
                Ok(keys) => {
                    policies.note(keys.turns.iter().map(|turn| turn.policy), keys.policies);
                    self.keep(position, keys.first_cursor, keys.turns)?;
                    if self.has_much_pending() {
                        self.settle()?;
                    }
                    Ok(())
                }
                Err(error) => {
                    tracing::warn!(position, %error, "the keys of a journal record cannot be read and are lost");
                    self.lose_run_count();
                    Ok(())
                }
            },
            Found::Missing { from, until } => {
                // The replay will say so.
                self.tally.lost_records.add(until - from);
                self.lose_run_count();
                Ok(())
            }
            Found::Torn => {
                self.tally.torn.add(1);
                tracing::info!(
                    "the journal ends in a torn record; nobody had been answered for it, unless its file has been cut"
                );
                Ok(())
            }
        }
    }
}
