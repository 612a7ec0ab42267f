//! What belongs to a run beside its state and its place in the index: the newest alert of each of its warnings, and its traces.
//!
//! A key costs sled about the same whatever lies under it, so all of a run lies under one, which is written once for all that is
//! settled together. Alerts are bounded there (`alert_log::STAY_MAX`). Of traces a run may have hundreds of thousands: whenever
//! there are too many under the first key, the oldest go to a further one, which is left alone until they leave. That one is put
//! before the first one lets go of them: whoever reads meanwhile, or after a crash in between, finds some twice and misses none.
//! Only the store's thread writes here.
//!
//! A trace is put here before its alias is, and leaves behind it: each alias that there is can be found by its run. These keys come
//! before those of aliases, so that this holds of a snapshot, too, once the journal has told what came while it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::{iter, mem};

use sled::{Db, IVec};

use crate::engine::event::{Text, TraceId};

use super::alert_log::STAY_MAX;
use super::bundles::Leaving;
use super::error::StoreError;
use super::keys;
use super::pieces;
use super::shared::Shared;

/// Traces under one key, beside the alerts under the first: this is less than the longest value that sled is given.
const TRACES_MAX: usize = 128;

/// Traces of a run that go over to another one in one turn: some milliseconds of work.
const TRACES_TOGETHER: usize = 2_000;

/// A trace, or a warning and a cursor.
const ITEM_BYTES: usize = 16;

const _: () = assert!((STAY_MAX + TRACES_MAX) * ITEM_BYTES < pieces::PIECE_BYTES_MAX);
const _: () = assert!(STAY_MAX <= u8::MAX as usize, "the number has a byte");

/// What lies under one of the keys, or is to be added there.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Belongings {
    /// Warnings, each with the cursor of its newest alert; only under the first key.
    pub(super) newest: Vec<(u64, u64)>,
    pub(super) traces: Vec<TraceId>,
}

impl Belongings {
    /// What lies under the first key.
    pub(super) fn first(db: &Db, run_id: &str) -> sled::Result<Self> {
        let value = db.get(keys::belongings(run_id))?;
        Ok(value.map_or_else(Self::default, |value| Self::decode(&value)))
    }

    /// Notes an alert as the newest of a warning. Answers which one was that before.
    pub(super) fn note_newest(&mut self, warning: u64, cursor: u64) -> Option<u64> {
        let mut newest = self.newest.iter_mut();
        if let Some((_, newest)) = newest.find(|(known, _)| *known == warning) {
            return Some(mem::replace(newest, cursor));
        }
        self.newest.push((warning, cursor));
        None
    }

    /// Puts it under the first key, and those of the traces that are too many there under further ones.
    pub(super) fn put_first(mut self, db: &Db, run_id: &str) -> sled::Result<()> {
        let first = keys::belongings(run_id);
        let full = self.traces.len().saturating_sub(1) / TRACES_MAX * TRACES_MAX;
        if full > 0 {
            let last = db.scan_prefix(&first).keys().next_back().transpose()?;
            let last = last.map_or(0, |last| keys::belongings_number(&first, &last));
            let staying = self.traces.split_off(full);
            let oldest = mem::replace(&mut self.traces, staying);
            for (traces, number) in oldest.chunks(TRACES_MAX).zip(last + 1..) {
                let further = Self {
                    traces: traces.to_vec(),
                    ..Self::default()
                };
                further.put(db, &keys::further_belongings(run_id, number))?;
            }
        }
        self.put(db, &first)
    }

    /// Puts it under one of the keys, which goes where nothing is left.
    pub(super) fn put(&self, db: &Db, key: &[u8]) -> sled::Result<()> {
        if self.newest.is_empty() && self.traces.is_empty() {
            return db.remove(key).map(drop);
        }
        db.insert(key, self.encode()).map(drop)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut value =
            Vec::with_capacity(1 + (self.newest.len() + self.traces.len()) * ITEM_BYTES);
        value.push(self.newest.len() as u8);
        for (warning, cursor) in &self.newest {
            value.extend_from_slice(&warning.to_be_bytes());
            value.extend_from_slice(&cursor.to_be_bytes());
        }
        value.extend(self.traces.iter().flat_map(|trace| trace.0));
        value
    }

    fn decode(value: &[u8]) -> Self {
        let (alerts, items) = value.split_first().unwrap_or((&0, &[]));
        let (items, _) = items.as_chunks::<ITEM_BYTES>();
        let (newest, traces) = items.split_at(items.len().min(usize::from(*alerts)));
        let newest = newest.iter().map(|item| {
            let (warning, cursor) = item.split_at(ITEM_BYTES / 2);
            [warning, cursor].map(|number| pieces::read_number(number).unwrap_or_default())
        });
        Self {
            newest: newest.map(|[warning, cursor]| (warning, cursor)).collect(),
            traces: traces.iter().map(|trace| TraceId(*trace)).collect(),
        }
    }
}

/// All that belongs to a run, key by key.
pub(super) fn all(
    db: &Db,
    run_id: &str,
) -> impl Iterator<Item = sled::Result<(IVec, Belongings)>> + use<> {
    let entries = db.scan_prefix(keys::belongings(run_id));
    entries.map(|entry| entry.map(|(key, value)| (key, Belongings::decode(&value))))
}

/// Adds traces of a run, from the first of its keys behind this one on, until there are many. Answers behind what the next ones
/// lie, if there are any.
pub(super) fn some(
    db: &Db,
    run_id: &str,
    behind: Option<&[u8]>,
    traces: &mut Vec<TraceId>,
) -> sled::Result<Option<Vec<u8>>> {
    let first = keys::belongings(run_id);
    let mut last = behind.map(<[u8]>::to_vec);
    let begin = last
        .clone()
        .map_or(Bound::Included(first.clone()), Bound::Excluded);
    for entry in db.range((begin, Bound::Unbounded)) {
        let (key, value) = entry?;
        if !key.starts_with(&first) {
            break;
        }
        if traces.len() >= TRACES_TOGETHER {
            return Ok(last);
        }
        traces.extend(Belongings::decode(&value).traces);
        last = Some(key.to_vec());
    }
    Ok(None)
}

/// What traces the database has of a run. Some may have gone over to another one since.
pub(super) fn traces(db: &Db, run_id: &str) -> sled::Result<BTreeSet<TraceId>> {
    let mut traces = BTreeSet::new();
    for part in all(db, run_id) {
        traces.extend(part?.1.traces);
    }
    Ok(traces)
}

impl Shared {
    /// Adds to what belongs to runs, and has the alerts leave the log that need not stay any more.
    pub(super) fn add_belongings(
        &self,
        added: BTreeMap<Text, Belongings>,
    ) -> Result<(), StoreError> {
        self.write(|db| {
            let mut leaving = Leaving::default();
            let mut lost = 0;
            for (run_id, added) in added {
                let first = keys::belongings(&run_id);
                let mut belongings = if self.known.lacks(&first) {
                    Belongings::default()
                } else {
                    Belongings::first(db, &run_id)?
                };
                lost += self.note_newest(db, &mut belongings, added.newest, &mut leaving)?;
                self.add_traces(db, &run_id, &mut belongings, added.traces)?;
                belongings.put_first(db, &run_id)?;
                // Behind the key: what learns meanwhile which keys there are finds it here or there.
                self.known.add(iter::once(first));
            }
            self.let_leave(db, leaving, lost)
        })
    }

    /// Adds traces of a run to what lies under its first key, but for those that it has.
    fn add_traces(
        &self,
        db: &Db,
        run_id: &str,
        belongings: &mut Belongings,
        mut added: Vec<TraceId>,
    ) -> sled::Result<()> {
        added.retain(|trace| !belongings.traces.contains(trace));
        // What was there before may lie under a further key: when the journal tells of it again, and seldom otherwise. What comes
        // from another run does not, or lies there twice.
        let mut was_there = false;
        for alias in added.iter().map(|trace| keys::alias(*trace)) {
            was_there = was_there
                || !self.known.lacks(&alias)
                    && db
                        .get(alias)?
                        .is_some_and(|owner| owner == run_id.as_bytes());
        }
        if was_there {
            let there = traces(db, run_id)?;
            added.retain(|trace| !there.contains(trace));
        }
        belongings.traces.extend(added);
        Ok(())
    }
}
