//! Where everything lies: one ordered map, a prefix byte for each kind of record.
//!
//! | key | value |
//! |---|---|
//! | `!schema` | format of the whole store, u32 |
//! | `!journal` | first position of the journal that somebody may need, u64 |
//! | `!runs` | number of runs, and the journal position of which it is, two u64 |
//! | `!position` | journal position up to which the database knew that something was committed, u64 |
//! | `!alerts` | cursor behind the snapshot's alerts, from a rebuilding until exporters have begun, u64 |
//! | `!thinned` | cursor before which the log of alerts is thinned, from the store's orderly end to its next opening, u64 |
//! | `a` cursor | that alert and some of those behind it (`bundles`) |
//! | `c` name | cursor of an exporter, u64 |
//! | `i` created, run id | nothing |
//! | `o` length, run id | what belongs to a run: its newest alerts and its traces (`belongings`) |
//! | `o` length, run id, number | further traces of it |
//! | `p` hash | policy as JSON |
//! | `r` run id | state of a run |
//! | `x` trace | run id |
//! | `+` key, number | further piece of a long value (`pieces`) |
//!
//! Numbers are big-endian, so that the order of keys is the order of numbers.

use std::ops::Range;

use crate::engine::event::{Text, TraceId};

use super::turn::IndexKey;

/// Format of the store; see [`super::open`].
pub(super) const SCHEMA: &[u8] = b"!schema";

/// First position of the journal that somebody may need.
pub(super) const JOURNAL_START: &[u8] = b"!journal";

/// How many runs there are, and up to which position of the journal this counts them.
pub(super) const RUNS: &[u8] = b"!runs";

/// The newest position that the database has heard of: a journal that ends before it has lost its end.
pub(super) const POSITION: &[u8] = b"!position";

/// Where exporters go on whose cursors a rebuilding has lost; see [`super::rebuild`].
pub(super) const ALERTS_FROM: &[u8] = b"!alerts";

/// Up to where the log of alerts was thinned when the store was closed; see [`super::alert_log`].
pub(super) const THINNED: &[u8] = b"!thinned";

pub(super) const ALERT: u8 = b'a';
pub(super) const INDEX: u8 = b'i';
pub(super) const EXPORTER: u8 = b'c';
pub(super) const BELONGINGS: u8 = b'o';
pub(super) const POLICY: u8 = b'p';
pub(super) const RUN: u8 = b'r';
pub(super) const ALIAS: u8 = b'x';
const PIECE: u8 = b'+';

/// Behind what the store says of itself and behind all pieces, and before every key whose value is told by itself.
pub(super) const BEFORE_VALUES: &[u8] = b",";

/// Length of a key that is a prefix and a number.
pub(super) const NUMBERED_BYTES: usize = 9;

/// Whether the value under a key is cut into pieces (`pieces`).
pub(super) fn is_in_pieces(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(ALERT | POLICY | RUN)))
}

/// A key made of a prefix and a number: alerts, policies.
pub(super) fn numbered(prefix: u8, number: u64) -> [u8; NUMBERED_BYTES] {
    let mut key = [prefix; NUMBERED_BYTES];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The number back from such a key.
pub(super) fn number(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(1..)?.try_into().ok()?))
}

/// All keys with a prefix.
pub(super) fn all(prefix: u8) -> Range<[u8; 1]> {
    [prefix]..[prefix + 1]
}

pub(super) fn policy(hash: u64) -> [u8; NUMBERED_BYTES] {
    numbered(POLICY, hash)
}

pub(super) fn exporter(name: &str) -> Vec<u8> {
    joined(&[&[EXPORTER], name.as_bytes()])
}

pub(super) fn run(run_id: &str) -> Vec<u8> {
    joined(&[&[RUN], run_id.as_bytes()])
}

pub(super) fn index(key: &IndexKey) -> Vec<u8> {
    joined(&[
        &[INDEX],
        &key.created_ms.to_be_bytes(),
        key.run_id.as_bytes(),
    ])
}

pub(super) fn index_key(key: &[u8]) -> Option<IndexKey> {
    let created_ms = number(key.get(..NUMBERED_BYTES)?)?;
    let run_id = std::str::from_utf8(&key[NUMBERED_BYTES..]).ok()?;
    Some(IndexKey {
        created_ms,
        run_id: Text::from(run_id),
    })
}

pub(super) fn alias(trace: TraceId) -> Vec<u8> {
    joined(&[&[ALIAS], &trace.0])
}

/// The first key of what belongs to a run, with which the further ones begin. The length keeps one id from being the beginning of
/// another.
pub(super) fn belongings(run_id: &str) -> Vec<u8> {
    let length = u32::try_from(run_id.len()).unwrap_or(u32::MAX);
    joined(&[&[BELONGINGS], &length.to_be_bytes(), run_id.as_bytes()])
}

/// A further one, numbered from 1.
pub(super) fn further_belongings(run_id: &str, number: u32) -> Vec<u8> {
    joined(&[&belongings(run_id), &number.to_be_bytes()])
}

/// The number of one of the keys that begin with a run's first one; 0 for that itself.
pub(super) fn belongings_number(first: &[u8], key: &[u8]) -> u32 {
    let number = key.get(first.len()..).unwrap_or_default();
    number.try_into().map_or(0, u32::from_be_bytes)
}

/// Key of a further piece of the value under `key`, numbered from 1.
pub(super) fn piece(key: &[u8], number: u16) -> Vec<u8> {
    joined(&[&[PIECE], key, &number.to_be_bytes()])
}

/// The very next key behind this one.
pub(super) fn next(key: &[u8]) -> Vec<u8> {
    joined(&[key, &[0]])
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given runs created at different times, their index keys sort by time and give the run back.
    #[test]
    fn index_keys_sort_by_time_and_come_back() {
        let early = IndexKey {
            created_ms: 255,
            run_id: "z".into(),
        };
        let late = IndexKey {
            created_ms: 256,
            run_id: "a".into(),
        };
        assert!(index(&early) < index(&late));
        assert_eq!(index_key(&index(&early)), Some(early));
        assert_eq!(index_key(b"i123"), None);
    }

    /// Given run ids of which one begins the other, what belongs to them does not mix; and the keys of a run are in order.
    #[test]
    fn what_belongs_to_a_run_does_not_mix_with_that_of_a_longer_id() {
        assert!(!further_belongings("ab", 1).starts_with(&belongings("a")));
        let keys = [
            belongings("a"),
            further_belongings("a", 1),
            further_belongings("a", 256),
        ];
        assert!(keys.is_sorted() && keys.iter().all(|key| key.starts_with(&keys[0])));
        let numbers = keys.each_ref().map(|key| belongings_number(&keys[0], key));
        assert_eq!(numbers, [0, 1, 256]);
    }
}
