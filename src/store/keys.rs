//! Where everything lies: one ordered map, a prefix byte for each kind of record.
//!
//! | key | value |
//! |---|---|
//! | `!schema` | format of the whole store, u32 |
//! | `!journal` | first position of the journal that somebody may need, u64 |
//! | `!runs` | number of runs, and the journal position of which it is, two u64 |
//! | `!position` | newest journal position contained in states, where the database was rebuilt, u64 |
//! | `!alerts` | cursor behind the snapshot's alerts, from a rebuilding until exporters have begun, u64 |
//! | `a` cursor | that alert and some of those behind it (`bundles`) |
//! | `b` length, run id, warning id | cursor of the warning's newest alert, u64 |
//! | `c` name | cursor of an exporter, u64 |
//! | `i` created, run id | nothing |
//! | `p` hash | policy as JSON |
//! | `r` run id | state of a run |
//! | `x` trace | run id |
//! | `y` length, run id, trace | nothing; finds the aliases of a run |
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

/// The newest position that states in a rebuilt database contain; see [`super::rebuild`].
pub(super) const POSITION: &[u8] = b"!position";

/// Where exporters go on whose cursors a rebuilding has lost; see [`super::rebuild`].
pub(super) const ALERTS_FROM: &[u8] = b"!alerts";

pub(super) const ALERT: u8 = b'a';
const NEWEST_ALERT: u8 = b'b';
pub(super) const INDEX: u8 = b'i';
pub(super) const EXPORTER: u8 = b'c';
const POLICY: u8 = b'p';
pub(super) const RUN: u8 = b'r';
pub(super) const ALIAS: u8 = b'x';
const ALIAS_OF_RUN: u8 = b'y';
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

/// Prefix of the keys that name a run's aliases.
pub(super) fn aliases_of_run(run_id: &str) -> Vec<u8> {
    of_run(ALIAS_OF_RUN, run_id)
}

/// Prefix of the keys that name the newest alerts of a run's warnings.
pub(super) fn newest_alerts_of(run_id: &str) -> Vec<u8> {
    of_run(NEWEST_ALERT, run_id)
}

pub(super) fn newest_alert(run_id: &str, warning: u64) -> Vec<u8> {
    let mut key = newest_alerts_of(run_id);
    key.extend_from_slice(&warning.to_be_bytes());
    key
}

/// Prefix of the keys of a kind that a run has. The length keeps one id from being the beginning of another.
fn of_run(prefix: u8, run_id: &str) -> Vec<u8> {
    let length = u32::try_from(run_id.len()).unwrap_or(u32::MAX);
    joined(&[&[prefix], &length.to_be_bytes(), run_id.as_bytes()])
}

pub(super) fn alias_of_run(run_id: &str, trace: TraceId) -> Vec<u8> {
    let mut key = aliases_of_run(run_id);
    key.extend_from_slice(&trace.0);
    key
}

/// The trace at the end of such a key.
pub(super) fn alias_trace(key: &[u8]) -> Option<TraceId> {
    key.last_chunk().map(|trace| TraceId(*trace))
}

/// Key of a further piece of the value under `key`, numbered from 1.
pub(super) fn piece(key: &[u8], number: u16) -> Vec<u8> {
    joined(&[&[PIECE], key, &number.to_be_bytes()])
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

    /// Given run ids of which one begins the other, their aliases do not mix.
    #[test]
    fn aliases_of_a_run_do_not_mix_with_those_of_a_longer_id() {
        let trace = TraceId([7; 16]);
        assert!(!alias_of_run("ab", trace).starts_with(&aliases_of_run("a")));
        assert_eq!(alias_trace(&alias_of_run("ab", trace)), Some(trace));
    }
}
