//! What is read from the store, and the writes that wait for nobody: index, states, aliases, journal, alerts, cursors.

use std::iter;
use std::sync::atomic::Ordering;

use crate::engine::event::{Text, TraceId};

use super::alert::Alert;
use super::error::StoreError;
use super::keys;
use super::pieces::{self, Writes};
use super::records::{RecordError, decode_alert, decode_saved, decode_turns};
use super::shared::{Shared, count, journal_start};
use super::turn::{Entry, IndexKey, SavedRun};

/// Runs removed together.
const DELETE_RUNS_MAX: usize = 64;

/// A turn of a replay: position, entries, hash of the policy.
pub(super) type Replayed = (u64, Vec<Entry>, u64);

impl Shared {
    pub(super) fn load_run(&self, run_id: &str) -> Result<Option<SavedRun>, StoreError> {
        let key = keys::run(run_id);
        match self.read(|db| pieces::get(db, &key))? {
            Some(record) => decode_saved(run_id, &record)
                .map(Some)
                .map_err(|error| unreadable("state", &key, &error)),
            None => Ok(None),
        }
    }

    pub(super) fn run_ids(
        &self,
        after: Option<&IndexKey>,
        newest_first: bool,
        limit: usize,
    ) -> Result<Vec<IndexKey>, StoreError> {
        let all = keys::all(keys::INDEX);
        let after = after.map(keys::index);
        let found: Vec<_> = self.read(|db| {
            if newest_first {
                let end = after.unwrap_or_else(|| all.end.to_vec());
                let range = db.range(all.start.to_vec()..end);
                range.keys().rev().take(limit).collect()
            } else {
                // A key with a zero byte behind it is the very next one.
                let start = after.map_or(all.start.to_vec(), |mut key| {
                    key.push(0);
                    key
                });
                let range = db.range(start..all.end.to_vec());
                range.keys().take(limit).collect()
            }
        })?;
        Ok(found
            .iter()
            .filter_map(|key| keys::index_key(key))
            .collect())
    }

    pub(super) fn delete_runs(&self, runs: &[IndexKey]) -> Result<(), StoreError> {
        for runs in runs.chunks(DELETE_RUNS_MAX) {
            self.write(|db| {
                let mut writes = Writes::default();
                for run in runs {
                    remove_run(&mut writes, db, run)?;
                }
                writes.apply(db)
            })?;
        }
        Ok(())
    }

    pub(super) fn alias(&self, trace: TraceId) -> Result<Option<Text>, StoreError> {
        let key = keys::alias(trace);
        let Some(run_id) = self.read(|db| db.get(&key))? else {
            return Ok(None);
        };
        match std::str::from_utf8(&run_id) {
            Ok(run_id) => Ok(Some(run_id.into())),
            Err(error) => Err(unreadable("alias", &key, &RecordError::from(error))),
        }
    }

    /// One item for each turn, and an error for each record that is missing or cannot be read. An error of the database
    /// itself is the last item.
    pub(super) fn replay(&self) -> impl Iterator<Item = Result<Replayed, StoreError>> {
        let mut records = Some(self.db.range(keys::all(keys::JOURNAL)));
        let mut expected = self.read(journal_start).unwrap_or(1);
        iter::from_fn(move || {
            let next = self.read(|_| records.as_mut().and_then(Iterator::next).transpose());
            let (key, first) = match next.transpose()? {
                Ok(record) => record,
                Err(error) => {
                    records = None;
                    return Some(vec![Err(error)]);
                }
            };
            let position = keys::number(&key).unwrap_or(expected);
            let missing = (expected..position).map(|missing| Err(missing_record(missing)));
            expected = position + 1;
            let turns = match self.turns_of(position, &key, &first) {
                Ok(turns) => turns.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            Some(missing.chain(turns).collect())
        })
        .flatten()
    }

    fn turns_of(
        &self,
        position: u64,
        key: &[u8],
        first: &[u8],
    ) -> Result<Vec<Replayed>, StoreError> {
        let record = self.read(|db| pieces::joined(db, key, first))?;
        let turns =
            decode_turns(&record).map_err(|error| unreadable("journal record", key, &error))?;
        Ok(turns
            .into_iter()
            .map(|(policy, entries)| (position, entries, policy))
            .collect())
    }

    pub(super) fn alerts_after(&self, cursor: u64, limit: usize) -> Result<Vec<Alert>, StoreError> {
        // What lies behind the newest committed cursor is being committed.
        let last = *self.last_cursor.borrow();
        let first = cursor
            .saturating_add(1)
            .max(self.first_cursor.load(Ordering::Acquire));
        let mut alerts = Vec::new();
        for cursor in first..=last {
            if alerts.len() >= limit {
                break;
            }
            let key = keys::numbered(keys::ALERT, cursor);
            let Some(record) = self.read(|db| pieces::get(db, &key))? else {
                continue;
            };
            match decode_alert(cursor, &record) {
                Ok(alert) => alerts.push(alert),
                // No exporter would ever get past it.
                Err(error) => {
                    count(&self.tally.unreadable, 1);
                    tracing::error!(cursor, %error, "an alert cannot be read and is left out");
                }
            }
        }
        Ok(alerts)
    }

    pub(super) fn policy(&self, hash: u64) -> Result<Option<String>, StoreError> {
        let key = keys::policy(hash);
        let Some(json) = self.read(|db| pieces::get(db, &key))? else {
            return Ok(None);
        };
        String::from_utf8(json)
            .map(Some)
            .map_err(|error| unreadable("policy", &key, &RecordError::from(error.utf8_error())))
    }

    pub(super) fn put_policy(&self, hash: u64, json: &str) -> Result<(), StoreError> {
        let key = keys::policy(hash);
        self.write(|db| {
            let mut writes = Writes::default();
            writes.remove_stored(db, &key)?;
            writes.put_pieces(&key, json.as_bytes());
            writes.apply(db)
        })
    }

    pub(super) fn exporter_cursor(&self, name: &str) -> Result<u64, StoreError> {
        let value = self.read(|db| db.get(keys::exporter(name)))?;
        Ok(value
            .and_then(|value| pieces::read_number(&value))
            .unwrap_or(0))
    }

    pub(super) fn set_exporter_cursor(&self, name: &str, cursor: u64) -> Result<(), StoreError> {
        self.write(|db| db.insert(keys::exporter(name), &cursor.to_be_bytes()))?;
        Ok(())
    }
}

fn remove_run(writes: &mut Writes, db: &sled::Db, run: &IndexKey) -> sled::Result<()> {
    writes.remove(&keys::index(run));
    writes.remove_stored(db, &keys::run(&run.run_id))?;
    for key in db.scan_prefix(keys::aliases_of_run(&run.run_id)).keys() {
        let key = key?;
        writes.remove(&key);
        let Some(trace) = keys::alias_trace(&key) else {
            continue;
        };
        // The trace may have gone over to another run since.
        let alias = keys::alias(trace);
        if db
            .get(&alias)?
            .is_some_and(|owner| owner == run.run_id.as_bytes())
        {
            writes.remove(&alias);
        }
    }
    Ok(())
}

fn missing_record(position: u64) -> StoreError {
    let key = keys::numbered(keys::JOURNAL, position);
    unreadable("journal record", &key, &RecordError::missing("it"))
}

fn unreadable(what: &'static str, key: &[u8], error: &RecordError) -> StoreError {
    StoreError::Unreadable {
        what,
        key: key.escape_ascii().to_string(),
        reason: error.to_string(),
    }
}
