//! Alerts in the database, some under one key.
//!
//! sled has sixteen keys to a page and splits it when there are more, which takes longer than writing what an alert has to say.
//! So alerts that are put there together lie in bundles: a bundle lies under the cursor that its first alert had when it was
//! put there, and reaches to the next bundle. An alert that leaves is taken out of its bundle, whose key stays; a bundle without
//! alerts is removed.
//!
//! A bundle is its alerts, each behind its cursor and its length.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sled::Db;

use super::keys;
use super::pieces::{self, PIECE_BYTES_MAX, Writes};

/// An alert as it is stored, with its cursor.
pub(super) type Stored = (u64, Vec<u8>);

/// Puts new alerts, in the order of their cursors, into bundles of as much as sled is given in one value. A longer alert has
/// one of its own.
pub(super) fn put<'r>(writes: &mut Writes, alerts: impl IntoIterator<Item = (u64, &'r [u8])>) {
    let mut first = None;
    let mut bundle = Vec::new();
    for (cursor, record) in alerts {
        let is_full = bundle.len() + HEAD_BYTES + record.len() > PIECE_BYTES_MAX;
        if let Some(first) = first.take_if(|_| is_full) {
            writes.put_pieces(&key(first), &bundle);
            bundle.clear();
        }
        first.get_or_insert(cursor);
        add(&mut bundle, cursor, record);
    }
    if let Some(first) = first {
        writes.put_pieces(&key(first), &bundle);
    }
}

/// Bytes before an alert in a bundle: cursor and length.
const HEAD_BYTES: usize = size_of::<u64>() + size_of::<u32>();

fn add(bundle: &mut Vec<u8>, cursor: u64, record: &[u8]) {
    bundle.extend_from_slice(&cursor.to_be_bytes());
    bundle.extend_from_slice(&(record.len() as u32).to_be_bytes());
    bundle.extend_from_slice(record);
}

/// The alerts of a bundle. Where it has lost its end, that comes as the alert behind those before it, which cannot be read.
fn alerts(first: u64, bundle: &[u8]) -> Vec<Stored> {
    let mut found: Vec<Stored> = Vec::new();
    let mut rest = bundle;
    while !rest.is_empty() {
        let lost = || found.last().map_or(first, |(cursor, _)| cursor + 1);
        let (cursor, record, behind) = next(rest).unwrap_or_else(|| (lost(), rest, &[]));
        found.push((cursor, record.to_vec()));
        rest = behind;
    }
    found
}

/// The next alert of a bundle with its cursor, and what stands behind it.
fn next(bundle: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (cursor, rest) = bundle.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let (record, behind) = rest.split_at_checked(length)?;
    Some((u64::from_be_bytes(*cursor), record, behind))
}

/// The alerts from one cursor to another: so many of them, and those that lie in a bundle with the last of these.
pub(super) fn range(db: &Db, from: u64, to: u64, least: usize) -> sled::Result<Vec<Stored>> {
    let mut found = Vec::new();
    let first = bundle_of(db, from)?.unwrap_or(from);
    for entry in db.range(key(first)..=key(to)) {
        let (key, piece) = entry?;
        let first = keys::number(&key).unwrap_or(from);
        let bundle = pieces::whole(db, &key, &piece)?.unwrap_or_default();
        let alerts = alerts(first, &bundle).into_iter();
        found.extend(alerts.filter(|(cursor, _)| (from..=to).contains(cursor)));
        if found.len() >= least {
            break;
        }
    }
    Ok(found)
}

/// An alert.
pub(super) fn get(db: &Db, cursor: u64) -> sled::Result<Option<Vec<u8>>> {
    let found = range(db, cursor, cursor, 1)?;
    Ok(found.into_iter().map(|(_, record)| record).next())
}

/// The cursors of the first and of the last alert.
pub(super) fn ends(db: &Db) -> sled::Result<Option<(u64, u64)>> {
    let mut keys = db.range(keys::all(keys::ALERT)).keys();
    let Some(first) = keys.next().transpose()? else {
        return Ok(None);
    };
    let last = keys.next_back().transpose()?;
    let alerts_of = |key: &sled::IVec| -> sled::Result<Vec<Stored>> {
        let bundle = pieces::get(db, key)?.unwrap_or_default();
        Ok(alerts(keys::number(key).unwrap_or_default(), &bundle))
    };
    let (oldest, newest) = (
        alerts_of(&first)?,
        alerts_of(last.as_ref().unwrap_or(&first))?,
    );
    let ends = oldest.first().zip(newest.last());
    Ok(ends.map(|((oldest, _), (newest, _))| (*oldest, *newest)))
}

/// The key of the bundle in which an alert is, if it is anywhere.
fn bundle_of(db: &Db, cursor: u64) -> sled::Result<Option<u64>> {
    let before = db.range(key(0)..=key(cursor)).keys().next_back();
    Ok(before.transpose()?.and_then(|key| keys::number(&key)))
}

fn key(cursor: u64) -> [u8; keys::NUMBERED_BYTES] {
    keys::numbered(keys::ALERT, cursor)
}

/// Alerts that leave, together.
#[derive(Default)]
pub(super) struct Leaving {
    /// What stays of the bundles that are changed.
    bundles: BTreeMap<u64, Vec<Stored>>,
    count: usize,
}

impl Leaving {
    /// Takes an alert out, if it is there.
    pub(super) fn take_out(&mut self, db: &Db, cursor: u64) -> sled::Result<()> {
        let Some(first) = bundle_of(db, cursor)? else {
            return Ok(());
        };
        let bundle = match self.bundles.entry(first) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let bundle = pieces::get(db, &key(first))?.unwrap_or_default();
                place.insert(alerts(first, &bundle))
            }
        };
        let before = bundle.len();
        bundle.retain(|(other, _)| *other != cursor);
        self.count += before - bundle.len();
        Ok(())
    }

    /// Has them leave; answers how many there were. What stays and shared its bundle with them lies in one piece with them, over
    /// which it is written: no reader finds it gone meanwhile.
    pub(super) fn apply(self, db: &Db) -> sled::Result<usize> {
        let mut writes = Writes::default();
        for (first, alerts) in self.bundles {
            let mut bundle = Vec::new();
            for (cursor, record) in &alerts {
                add(&mut bundle, *cursor, record);
            }
            if bundle.is_empty() {
                writes.remove_stored(db, &key(first))?;
            } else {
                writes.put_pieces(&key(first), &bundle);
            }
        }
        writes.apply_each(db)?;
        Ok(self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn database() -> Db {
        let config = sled::Config::new().temporary(true);
        config.open().expect("a temporary database")
    }

    fn record(cursor: u64, bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|at| (cursor + at) as u8).collect()
    }

    fn put_all(db: &Db, alerts: &[Stored]) {
        let mut writes = Writes::default();
        put(
            &mut writes,
            alerts.iter().map(|(cursor, record)| (*cursor, &**record)),
        );
        writes.apply(db).expect("they are written");
    }

    fn check(db: &Db, expected: &[Stored]) {
        let first = expected.first().map_or(0, |(cursor, _)| *cursor);
        let last = expected.last().map_or(0, |(cursor, _)| *cursor);
        let ends = ends(db).expect("it can be read");
        assert_eq!(ends, (!expected.is_empty()).then_some((first, last)));
        assert_eq!(
            range(db, 0, u64::MAX, usize::MAX).expect("it can be read"),
            expected
        );
        for from in first.saturating_sub(1)..=last {
            let (to, enough) = (from + 3, 2);
            let some = range(db, from, to, enough).expect("it can be read");
            let wanted = expected
                .iter()
                .filter(|(cursor, _)| (from..=to).contains(cursor));
            let wanted: Vec<_> = wanted.cloned().collect();
            assert!(wanted.starts_with(&some) && some.len() >= wanted.len().min(enough));
            let one = expected.iter().find(|(cursor, _)| *cursor == from);
            let found = get(db, from).expect("it can be read");
            assert_eq!(found.as_ref(), one.map(|(_, record)| record));
        }
    }

    proptest! {
        /// Given alerts of any length that are put down in any pieces, all are found from any cursor on, and so are the others
        /// when some have left.
        #[test]
        fn alerts_are_found_and_leave(
            lengths in prop::collection::vec(prop_oneof![0..900_usize, 3_900..9_000_usize], 1..30),
            together in 1..12_usize,
            leaving in prop::collection::btree_set(1..32_u64, 0..30),
        ) {
            let db = database();
            let mut alerts: Vec<Stored> = (1..).zip(lengths).map(|(cursor, bytes)| (cursor, record(cursor, bytes))).collect();
            for alerts in alerts.chunks(together) {
                put_all(&db, alerts);
            }
            check(&db, &alerts);
            let mut gone = Leaving::default();
            for cursor in &leaving {
                gone.take_out(&db, *cursor).expect("it can be read");
            }
            let before = alerts.len();
            alerts.retain(|(cursor, _)| !leaving.contains(cursor));
            prop_assert_eq!(gone.apply(&db).expect("they leave"), before - alerts.len());
            check(&db, &alerts);
        }
    }

    /// Given many alerts, few keys have them.
    #[test]
    fn keys_are_few() {
        let db = database();
        let alerts: Vec<Stored> = (1..=100)
            .map(|cursor| (cursor, record(cursor, 500)))
            .collect();
        put_all(&db, &alerts);
        assert!(db.len() <= 15, "{} keys", db.len());
        check(&db, &alerts);
    }

    /// Given a bundle that lost its end, wherever that is, its alerts before that are found.
    #[test]
    fn what_is_left_of_a_bundle_is_read() {
        let mut bundle = Vec::new();
        for cursor in 1..=3 {
            add(&mut bundle, cursor, &record(cursor, 20));
        }
        let whole = alerts(1, &bundle);
        assert_eq!(whole.len(), 3);
        let mut found = BTreeSet::new();
        for length in 1..bundle.len() {
            let left = alerts(1, &bundle[..length]);
            let cursors: BTreeSet<u64> = left.iter().map(|(cursor, _)| *cursor).collect();
            assert!(
                cursors.iter().copied().eq(1..=left.len() as u64),
                "{left:?}"
            );
            let intact = left
                .iter()
                .zip(&whole)
                .take_while(|(one, other)| one == other);
            found.insert(intact.count());
        }
        assert_eq!(found, BTreeSet::from([0, 1, 2]));
    }
}
