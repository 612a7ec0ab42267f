//! The whole store over directories that vanish with their test.

mod alerts;
mod belongings;
mod churn;
mod committing;
mod crashes;
mod damage;
mod directories;
mod formats;
mod known;
mod policies;
mod runs;

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::alert::Alert;
use super::records::samples;
use super::*;
use crate::engine::event::{Text, TraceId};

const TRACE: TraceId = TraceId([7; 16]);

fn options() -> Options {
    Options {
        durability: Durability::Process,
        cache_bytes: 1 << 20,
        ..Options::default()
    }
}

fn open(dir: &Path) -> Store {
    Store::open(dir, &options()).expect("the store opens")
}

/// Opens a store whose journal is changed before anything is written.
fn open_with(dir: &Path, change: impl FnOnce(&mut journal::Journal)) -> Store {
    let opened = open::open(dir, &options()).expect("the store opens");
    Store::start(opened, dir, &options(), change).expect("the store starts")
}

/// All traces that are aliases of a run.
fn aliases_of(store: &Store, run_id: &str) -> Vec<TraceId> {
    let (mut all, mut behind) = store.aliases_of(run_id, None).unwrap();
    while behind.is_some() {
        let (more, next) = store.aliases_of(run_id, behind.as_deref()).unwrap();
        all.extend(more);
        behind = next;
    }
    all
}

fn idle(run_id: &str, at_ms: u64) -> Turn {
    Turn {
        at_ms,
        policy: 9,
        entries: vec![Entry::Idle {
            run_id: run_id.into(),
            at_ms,
        }],
        ..Turn::default()
    }
}

fn alerting(alerts: usize) -> Turn {
    Turn {
        alerts: vec![samples::raised("run"); alerts],
        ..Turn::default()
    }
}

fn removing(run_id: &str) -> Turn {
    Turn {
        entries: vec![Entry::Removed {
            run_id: run_id.into(),
        }],
        removed: vec![key(1, run_id)],
        ..Turn::default()
    }
}

fn key(created_ms: u64, run_id: &str) -> IndexKey {
    IndexKey {
        created_ms,
        run_id: run_id.into(),
    }
}

fn saved(created_ms: u64, run_id: &str, state_bytes: usize) -> SavedRun {
    SavedRun {
        key: key(created_ms, run_id),
        position: created_ms + 1,
        state: vec![run_id.len() as u8; state_bytes],
    }
}

fn replayed(store: &Store) -> Vec<(u64, Vec<Entry>, u64)> {
    let turns = store.replay().map(|turn| {
        let turn = turn.expect("every record can be read");
        (turn.position, turn.entries, turn.policy)
    });
    turns.collect()
}

fn cursors(store: &Store) -> Vec<u64> {
    let alerts = store.alerts_after(0, 1000).expect("alerts can be read");
    alerts.iter().map(|alert| alert.cursor).collect()
}

/// Waits until all that was committed is in the database.
async fn settled(store: &Store) {
    let all = async {
        while !store.inner.shared.is_settled() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), all).await;
    waited.expect("what was committed is put into the database");
}

/// Spoils 64 bytes of the log, and removes sled's snapshots, which would hide that.
fn damage(database: &Path, place: usize) {
    let log = database.join("db");
    let mut bytes = fs::read(&log).unwrap();
    for byte in &mut bytes[place..place + 64] {
        *byte ^= 0x5a;
    }
    fs::write(&log, bytes).unwrap();
    for entry in fs::read_dir(database).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("snap") {
            fs::remove_file(path).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

impl Store {
    /// Has what is saved of a run say nothing that can be read, not even which place in the index it has.
    pub(crate) fn spoil_saved(&self, run_id: &str) {
        let spoil = |db: &sled::Db| {
            let mut writes = pieces::Writes::default();
            writes.put_pieces(&keys::run(run_id), b"\xff\xff");
            writes.apply(db)
        };
        let spoilt = self.inner.shared.write(spoil);
        spoilt.expect("the record can be written");
    }

    /// Has what is kept of a policy be no text.
    pub(crate) fn spoil_policy(&self, hash: u64) {
        let spoil = |db: &sled::Db| {
            let mut writes = pieces::Writes::default();
            writes.remove_stored(db, &keys::policy(hash))?;
            writes.put_pieces(&keys::policy(hash), b"{\xff");
            writes.apply(db)
        };
        let spoilt = self.inner.shared.write(spoil);
        spoilt.expect("the record can be written");
    }
}

/// A look at the database without the store.
mod raw {
    use std::path::Path;

    fn database(dir: &Path) -> sled::Db {
        let config = sled::Config::new()
            .path(dir.join("store"))
            .segment_size(super::pieces::SEGMENT_BYTES);
        // The threads of a database that was closed let go of its lock a while after.
        for _ in 0..1_000 {
            match config.open() {
                Err(sled::Error::Io(error)) if error.to_string().contains("acquire lock") => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                opened => return opened.expect("the database opens"),
            }
        }
        panic!("somebody keeps the database open");
    }

    /// The keys, those of the index without what follows the prefix.
    pub(super) fn keys(dir: &Path) -> Vec<String> {
        let found = database(dir).iter().keys().map(|key| {
            let key = key.expect("the key can be read");
            let shown = if key.starts_with(b"i") {
                &key[..1]
            } else {
                &key
            };
            String::from_utf8_lossy(shown).into_owned()
        });
        found.collect()
    }

    /// Takes away what the database knows of the journal's end, as where it was written last before that.
    pub(super) fn remove_position(dir: &Path) {
        let removed = database(dir).remove(super::keys::POSITION);
        removed.expect("the key can be removed");
    }

    /// Takes away what lies under keys with these prefixes.
    pub(super) fn remove(dir: &Path, prefixes: &[u8]) {
        let database = database(dir);
        for prefix in prefixes {
            for key in database.scan_prefix([*prefix]).keys() {
                let key = key.expect("the key can be read");
                database.remove(key).expect("the key can be removed");
            }
        }
        database.flush().expect("the database can be flushed");
    }

    pub(super) fn put(dir: &Path, key: &[u8], value: &[u8]) {
        let database = database(dir);
        database.insert(key, value).expect("the key can be written");
        database.flush().expect("the database can be flushed");
    }
}
