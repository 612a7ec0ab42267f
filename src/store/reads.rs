//! What is read from the store, and the writes that wait for nobody: index, states, aliases, journal, cursors.
//! What is committed and not in the database yet is found all the same.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering;

use crate::engine::event::{Text, TraceId};

use super::belongings;
use super::error::StoreError;
use super::journal::{Found, Reader};
use super::keys;
use super::pieces::{self, Writes};
use super::records::{RecordError, decode_saved, decode_turns};
use super::shared::Shared;
use super::turn::{IndexKey, Replayed, SavedRun};
use super::{OnDisk, Store};

impl Store {
    /// Whether a run was committed and not removed since, be its state saved or not.
    ///
    /// # Errors
    /// The database could not be read.
    pub fn has_run(&self, run_id: &str) -> Result<bool, StoreError> {
        match self.has_run_at_hand(run_id) {
            Some(has) => Ok(has),
            None => self
                .inner
                .shared
                .read(|db| db.contains_key(keys::run(run_id))),
        }
    }

    /// What [`Store::has_run`] says, where it says so without the database: this never waits for a disk. `None` where it would.
    #[must_use]
    pub fn has_run_at_hand(&self, run_id: &str) -> Option<bool> {
        let shared = &self.inner.shared;
        if shared.begun().contains(run_id) {
            return Some(true);
        }
        shared.known.lacks(&keys::run(run_id)).then_some(false)
    }

    /// At most `limit` runs of the index before `after`, the newest first; from the newest on without `after`.
    pub fn run_ids_newest_first(
        &self,
        after: Option<&IndexKey>,
        limit: usize,
    ) -> Result<Vec<IndexKey>, StoreError> {
        let shared = &self.inner.shared;
        let waiting = shared.waiting_runs(|run| after.is_none_or(|after| run < after));
        let Range { start, end } = keys::all(keys::INDEX);
        let end = after.map_or(end.to_vec(), keys::index);
        let found: Vec<_> = shared.read(|db| {
            let keys = db.range(start.to_vec()..end).keys();
            keys.rev().take(limit).collect()
        })?;
        let mut runs = listed(&found, waiting);
        runs.reverse();
        runs.truncate(limit);
        Ok(runs)
    }

    /// At most `limit` runs of the index behind `after`, the oldest first; from the oldest on without `after`.
    pub fn run_ids_oldest_first(
        &self,
        after: Option<&IndexKey>,
        limit: usize,
    ) -> Result<Vec<IndexKey>, StoreError> {
        let shared = &self.inner.shared;
        let waiting = shared.waiting_runs(|run| after.is_none_or(|after| run > after));
        let Range { start, end } = keys::all(keys::INDEX);
        let start = after.map_or(start.to_vec(), |after| keys::next(&keys::index(after)));
        let found: Vec<_> = shared.read(|db| {
            let keys = db.range(start..end.to_vec()).keys();
            keys.take(limit).collect()
        })?;
        let mut runs = listed(&found, waiting);
        runs.truncate(limit);
        Ok(runs)
    }

    /// Removes the state of a run, for a replay that finds the run removed. The rest of it went when the turn that removed
    /// it was committed, or when the store was opened.
    pub fn forget_state(&self, run_id: &str) -> Result<(), StoreError> {
        self.inner.shared.write(|db| {
            let mut writes = Writes::default();
            writes.remove_stored(db, &keys::run(run_id))?;
            writes.apply(db)
        })
    }

    /// The run that a trace belongs to, where it was committed as an alias.
    pub fn alias(&self, trace: TraceId) -> Result<Option<Text>, StoreError> {
        if let Ok(alias) = self.alias_at_hand(trace) {
            return Ok(alias);
        }
        let shared = &self.inner.shared;
        let key = keys::alias(trace);
        // It leaves the database before its run leaves here.
        let is_of_before = shared.removals.now();
        let Some(run_id) = shared.read(|db| db.get(&key))? else {
            return Ok(None);
        };
        match std::str::from_utf8(&run_id) {
            Ok(run_id) => Ok(Some(run_id.into()).filter(|run_id| !is_of_before(run_id, trace))),
            Err(error) => {
                // It would be met again by every start, and by every request that names the trace.
                let error = unreadable("alias", &key, &RecordError::from(error));
                tracing::error!(%error, "the trace counts as one of which nothing is known");
                Ok(None)
            }
        }
    }

    /// What [`Store::alias`] says, where it says so without the database: this never waits for a disk.
    ///
    /// # Errors
    /// Only the database knows.
    pub fn alias_at_hand(&self, trace: TraceId) -> Result<Option<Text>, OnDisk> {
        let shared = &self.inner.shared;
        if let Some(run_id) = shared.pending().aliases.get(&trace) {
            return Ok(Some(run_id.clone()));
        }
        if shared.known.lacks(&keys::alias(trace)) {
            return Ok(None);
        }
        Err(OnDisk)
    }

    /// Some of the traces that were committed as aliases of a run, at least two thousand unless these are all, and behind
    /// what the next ones lie, if there are any. What has gone over to another run is none of them.
    pub fn aliases_of(
        &self,
        run_id: &str,
        behind: Option<&[u8]>,
    ) -> Result<(Vec<TraceId>, Option<Vec<u8>>), StoreError> {
        let shared = &self.inner.shared;
        // They come into the database before they leave here.
        let mut traces = match behind {
            None => shared.waiting_aliases_of(run_id),
            Some(_) => Vec::new(),
        };
        let next = shared.read(|db| belongings::some(db, run_id, behind, &mut traces))?;
        traces.sort_unstable();
        traces.dedup();
        let mut belong = Vec::new();
        for trace in traces {
            if self.alias(trace)?.is_some_and(|owner| *owner == *run_id) {
                belong.push(trace);
            }
        }
        Ok((belong, next))
    }

    /// What may not be contained in saved states yet, in the order in which it was committed. A record that is missing or cannot
    /// be read is one error, and the next ones follow; an error of the file system is the last item.
    pub fn replay(&self) -> impl Iterator<Item = Result<Replayed, StoreError>> {
        let shared = &self.inner.shared;
        let dir = shared.journal_dir();
        let refused = move |error| StoreError::io("cannot read the journal in", &dir, error);
        let start = shared.journal_start.load(Ordering::Acquire);
        let (reader, failure) = match Reader::new(&shared.journal_dir(), start) {
            Ok(reader) => (Some(reader), None),
            Err(error) => (None, Some(Err(error))),
        };
        let found = failure.into_iter().chain(reader.into_iter().flatten());
        found.flat_map(move |found| match found {
            Ok(Found::Record {
                position, payload, ..
            }) => turns_of(position, &payload),
            Ok(Found::Missing { from, until }) => vec![Err(StoreError::Unreadable {
                what: "journal records",
                key: format!("{from} to {}", until - 1),
                reason: "they are missing".to_owned(),
            })],
            Ok(Found::Torn) => Vec::new(),
            Err(error) => vec![Err(refused(error))],
        })
    }

    /// Cursor of the next alert for an exporter; 0 for one that is new. Where the database was made anew without its cursor,
    /// that of the first alert behind the snapshot.
    pub fn exporter_cursor(&self, name: &str) -> Result<u64, StoreError> {
        let shared = &self.inner.shared;
        if let Some(cursor) = shared.number(&keys::exporter(name))? {
            return Ok(cursor);
        }
        Ok(match shared.number(keys::ALERTS_FROM)? {
            // All that there are come from the journal.
            Some(1) => self.first_cursor(),
            Some(cursor) => cursor,
            None => 0,
        })
    }

    /// Says which exporters there are, once each has a cursor: of the alerts that leave the log, those are lost that one of these
    /// has not delivered. The answer has the names of others, of an earlier configuration, and the cursor of the next alert for
    /// each.
    pub fn set_exporters<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let names: BTreeSet<_> = names.map(|name| name.as_bytes().to_vec()).collect();
        let shared = &self.inner.shared;
        let others = shared.write(|db| {
            db.remove(keys::ALERTS_FROM)?;
            let mut others = Vec::new();
            for entry in db.range(keys::all(keys::EXPORTER)) {
                let (key, cursor) = entry?;
                let name = &key[1..];
                if !names.contains(name) {
                    let name = String::from_utf8_lossy(name).into_owned();
                    others.extend(pieces::read_number(&cursor).map(|cursor| (name, cursor)));
                }
            }
            Ok(others)
        })?;
        *shared.exporters() = Some(names);
        Ok(others)
    }
}

impl Shared {
    pub(super) fn load_run(&self, run_id: &str) -> Result<Option<SavedRun>, StoreError> {
        let key = keys::run(run_id);
        if self.known.lacks(&key) {
            return Ok(None);
        }
        match self.read(|db| pieces::get(db, &key))? {
            Some(record) => decode_saved(run_id, &record)
                .map(Some)
                .map_err(|error| unreadable("state", &key, &error)),
            None => Ok(None),
        }
    }

    /// Whether a run has this place in the index.
    pub(super) fn is_listed(&self, run: &IndexKey) -> Result<bool, StoreError> {
        // It comes into the database before it leaves here.
        let is_waiting = self.pending().new_runs.contains(run);
        Ok(is_waiting || self.read(|db| db.contains_key(keys::index(run)))?)
    }

    /// Runs of a part of the index that may not be in the database yet.
    fn waiting_runs(&self, is_asked_for: impl Fn(&IndexKey) -> bool) -> Vec<IndexKey> {
        let pending = self.pending();
        let runs = pending.new_runs.iter();
        runs.filter(|run| is_asked_for(run)).cloned().collect()
    }

    /// Traces of a run that may not be in the database yet.
    fn waiting_aliases_of(&self, run_id: &str) -> Vec<TraceId> {
        let pending = self.pending();
        let of_run = pending.aliases.iter();
        let of_run = of_run.filter(|(_, owner)| ***owner == *run_id);
        of_run.map(|(trace, _)| *trace).collect()
    }

    pub(super) fn set_exporter_cursor(&self, name: &str, cursor: u64) -> Result<(), StoreError> {
        self.write(|db| {
            let known = db.insert(keys::exporter(name), &cursor.to_be_bytes())?;
            if known.is_none() {
                // An exporter whose first cursor a crash has taken would begin anew, behind what it had not delivered.
                db.flush()?;
            }
            Ok(())
        })
    }
}

/// Runs by the keys of their places in the database, and those that may not be there yet, the oldest first.
fn listed(keys: &[impl AsRef<[u8]>], waiting: Vec<IndexKey>) -> Vec<IndexKey> {
    let stored = keys.iter().filter_map(|key| keys::index_key(key.as_ref()));
    let mut runs: Vec<_> = stored.chain(waiting).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

fn turns_of(position: u64, group: &[u8]) -> Vec<Result<Replayed, StoreError>> {
    match decode_turns(position, group) {
        Ok(turns) => turns.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(unreadable_record(position, &error))],
    }
}

fn unreadable_record(position: u64, error: &RecordError) -> StoreError {
    StoreError::Unreadable {
        what: "journal record",
        key: position.to_string(),
        reason: error.to_string(),
    }
}

pub(super) fn unreadable(what: &'static str, key: &[u8], error: &RecordError) -> StoreError {
    StoreError::Unreadable {
        what,
        key: key.escape_ascii().to_string(),
        reason: error.to_string(),
    }
}
