//! A damaged database is set aside, and another one made from what is still good.
//!
//! The new one is made completely under a name of its own: from the newest whole snapshot, else empty, beside the files of
//! the journal. Then the damaged one is renamed with the time, and the new one takes its place. Whenever this is cut short,
//! the next opening either finishes it or begins again. The journal belongs to the new database: damage in it costs the
//! record that it hit, and the replay reports that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tracing::{error, info, warn};

use super::backup::copied_until;
use super::bundles;
use super::durable::{sync_all, sync_dir};
use super::error::{StoreError, leads_somewhere};
use super::keys;
use super::lock::LOCK;
use super::open::{
    BLOBS, CONFIGURATION, DATABASE, FORMAT, JOURNAL, LOG, SCHEMA_KNOWN, format_of, known,
    open_database,
};
use super::pieces::{self, Writes};
use super::records::decode_saved;
use super::reserve::RESERVE;
use super::snapshot;
use super::{Mended, Options};

/// Where the new database is made.
pub(super) const FRESH: &str = "store.new";

/// What the directory of a database is called that has none, until it is removed.
pub(super) const OLD: &str = "store.old";

/// What the name of a database, or of anything else, that was set aside begins with.
pub(super) const SET_ASIDE: &str = "damaged-";

/// Databases that were set aside and are kept for somebody to look at.
const SET_ASIDE_MAX: usize = 3;

/// Records put into the new database together, and their bytes.
const TOGETHER: usize = 200;
const TOGETHER_BYTES: usize = 1 << 20;

/// What was done about a damaged database.
#[derive(Clone, Debug)]
pub(super) struct Rebuilt {
    /// Where the damaged one lies now; nothing where there was none.
    pub(super) set_aside: Option<PathBuf>,
    /// What was wrong with it.
    pub(super) reason: String,
    /// When the snapshot was made that took its place, milliseconds since 1970.
    pub(super) snapshot_ms: Option<u64>,
    /// There were snapshots, whole or not: something had been committed.
    pub(super) had_snapshots: bool,
    /// The journal has a file.
    pub(super) has_journal: bool,
    /// In a copy, the position behind the last that it had when it was made.
    pub(super) copied_until: Option<u64>,
    /// The first position that the snapshot needs; 0 without one.
    pub(super) start: u64,
}

impl Rebuilt {
    /// Says what came of it, once the journal has been read up to a position, which is 0 where nothing could be read of it, and
    /// how many records are lost that were not found missing there.
    pub(super) fn told(self, lost_records: u64, position: u64) -> (Mended, u64) {
        let loss = self.loss(lost_records, position);
        let (loss, uncounted) = loss.map_or((None, 0), |(loss, records)| (Some(loss), records));
        let mended = Mended {
            set_aside: self.set_aside,
            reason: self.reason,
            loss,
        };
        let (reason, loss) = (&mended.reason, mended.told_loss());
        if let Some(path) = &mended.set_aside {
            error!(set_aside = %path.display(), reason, loss, "the database was damaged, and another one has been made");
        } else if mended.loss.is_none() {
            // As in a directory that has been restored.
            info!(reason, "a database has been made; nothing is lost");
        } else {
            warn!(reason, loss, "a database has been made from what was there");
        }
        (mended, uncounted)
    }

    /// Whether something may have been committed: a copy may be one of a store that had nothing yet.
    fn had_something(&self) -> bool {
        self.had_snapshots || self.set_aside.is_some() || self.copied_until.is_none()
    }

    /// What is lost, in words, and how many records beside those that are known to be: one where nobody can tell.
    fn loss(&self, lost_records: u64, position: u64) -> Option<(String, u64)> {
        let unknown = u64::from(lost_records == 0);
        let loss = match (lost_records, self.snapshot_ms) {
            (_, Some(_)) if !self.has_journal => {
                let loss = "there is no journal: what came after the newest snapshot, or just before it, is lost";
                (loss.to_owned(), unknown)
            }
            (0, None) if self.had_something() && position == 0 => {
                let loss =
                    "neither a snapshot nor the journal can be read: all that was there is lost";
                (loss.to_owned(), unknown)
            }
            (0, _) => {
                let until = self.start.max(position + 1);
                let cut = self
                    .copied_until?
                    .checked_sub(until)
                    .filter(|cut| *cut > 0)?;
                let loss = format!("the journal has been cut: its last {cut} commits are lost");
                (loss, cut)
            }
            (records, Some(_)) => (
                format!("{records} commits after the newest snapshot are lost"),
                0,
            ),
            (records, None) => (
                format!("there was no snapshot: what {records} earlier commits told is lost"),
                0,
            ),
        };
        Some(loss)
    }
}

impl Mended {
    /// What is lost, in words, or that nothing is.
    #[must_use]
    pub fn told_loss(&self) -> &str {
        self.loss.as_deref().unwrap_or("nothing is lost")
    }
}

/// Sets aside what is no directory where the store needs one, or no file where it needs a file: it would be in the way for ever,
/// and whoever reads a pipe waits for ever. A link to a directory that is not there is refused: its disk may not be mounted.
pub(super) fn make_way(dir: &Path) -> Result<(), StoreError> {
    let (database, snapshots) = (dir.join(DATABASE), snapshot::dir_of(dir));
    let journal = database.join(JOURNAL);
    let needed = [
        (dir.join(LOCK), false),
        (dir.join(FORMAT), false),
        (dir.join(RESERVE), false),
        (snapshots.clone(), true),
        (database.join(CONFIGURATION), false),
        (database.join(BLOBS), true),
        (journal.clone(), true),
        (database.clone(), true),
    ];
    // Only what was made here is put into place or cleared away there.
    for path in [FRESH, OLD].map(|name| dir.join(name)) {
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_dir()) {
            set_apart(dir, &path, "a directory")?;
        }
    }
    for (path, is_dir) in needed {
        let nowhere = leads_somewhere(&path);
        let is_in_the_way = match fs::metadata(&path) {
            Ok(found) if is_dir => !found.is_dir(),
            Ok(found) => !found.is_file(),
            Err(_) if is_dir => nowhere.map(|()| false)?,
            // What cannot be looked at for now may be sound.
            Err(_) => nowhere.is_err(),
        };
        if is_in_the_way {
            set_apart(dir, &path, if is_dir { "a directory" } else { "a file" })?;
        }
    }
    for folder in [&database, &journal, &snapshots] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let path = entry.path();
            match fs::metadata(&path) {
                Ok(found) if !found.is_file() && !found.is_dir() => {
                    set_apart(dir, &path, "a file")?;
                }
                Err(_) if *folder == journal || entry.file_name() == LOG => {
                    leads_somewhere(&path)?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn set_apart(dir: &Path, path: &Path, needed: &str) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let to = dir.join(format!("{}-{name}", name_aside()));
    fs::rename(path, &to).map_err(|error| StoreError::io("cannot set aside", path, error))?;
    error!(path = %path.display(), set_aside = %to.display(), "it is not {needed} and was set aside");
    Ok(())
}

/// Finishes, or clears away, what an earlier process was doing here when it ended.
pub(super) fn finish(dir: &Path) -> Result<(), StoreError> {
    let (fresh, database) = (dir.join(FRESH), dir.join(DATABASE));
    let done = match (fresh.exists(), database.exists()) {
        (false, _) => Ok(()),
        // The damaged one has been set aside, and that is done only when the new one is complete.
        (true, false) => fs::rename(&fresh, &database).and_then(|()| sync_dir(dir)),
        (true, true) => fs::remove_dir_all(&fresh),
    };
    done.map_err(|error| StoreError::io("cannot put in order", fresh, error))?;
    // Nobody needs these any more, and the next start tries again.
    let _ = fs::remove_dir_all(dir.join(OLD));
    for set_aside in all_set_aside(dir) {
        let _ = fs::remove_dir_all(set_aside.join(JOURNAL));
    }
    Ok(())
}

/// Puts a new database into the place of a damaged one.
pub(super) fn rebuild(
    dir: &Path,
    reason: String,
    options: &Options,
) -> Result<Rebuilt, StoreError> {
    let fresh = dir.join(FRESH);
    let refused = |error| StoreError::io("cannot make a new database in", dir, error);
    let snapshots = snapshot::dir_of(dir);
    let had_snapshots = !snapshot::list(&snapshots)?.is_empty();
    let snapshot = snapshot::newest_whole(&snapshots)?;
    fs::create_dir_all(fresh.join(JOURNAL)).map_err(refused)?;
    let made = fill(
        dir,
        &fresh,
        snapshot.as_ref().map(|(_, path)| &**path),
        options,
    )
    .and_then(|()| take_journal(dir, &fresh).map_err(refused))
    .and_then(|files| sync_all(&fresh).map(|()| files > 0).map_err(refused));
    let has_journal = made.inspect_err(|_| {
        // What it takes up may be needed.
        let _ = fs::remove_dir_all(&fresh);
    })?;
    let set_aside = set_aside(dir).map_err(refused)?;
    finish(dir)?;
    forget_oldest(dir, SET_ASIDE_MAX);
    Ok(Rebuilt {
        set_aside,
        reason,
        snapshot_ms: snapshot.as_ref().map(|(head, _)| head.at_ms),
        had_snapshots,
        has_journal,
        copied_until: copied_until(dir),
        start: snapshot.map_or(0, |(head, _)| head.start),
    })
}

/// Makes the new database.
fn fill(
    dir: &Path,
    fresh: &Path,
    snapshot: Option<&Path>,
    options: &Options,
) -> Result<(), StoreError> {
    let refused = |error| StoreError::io("cannot make a new database in", dir, error);
    let of_sled = |error| StoreError::of_sled(error, "cannot make a new database in", dir);
    let db = open_database(dir, fresh, options)?;
    let mut start = 1_u64;
    let mut position = 0;
    if let Some(path) = snapshot {
        let mut format = SCHEMA_KNOWN;
        let mut writes = Writes::default();
        let (mut records, mut bytes) = (0, 0);
        let head = snapshot::read(path, |key, value| {
            if key == keys::SCHEMA {
                format = format_of(value);
                return Ok(());
            }
            position = position.max(position_in(key, value));
            if key == keys::POSITION {
                return Ok(());
            }
            if keys::is_in_pieces(key) {
                writes.put_pieces(key, value);
            } else {
                writes.put(key, value);
            }
            records += 1;
            bytes += value.len();
            if records % TOGETHER == 0 || bytes >= TOGETHER_BYTES {
                bytes = 0;
                let writes = std::mem::take(&mut writes);
                writes.apply(&db).map_err(io::Error::other)?;
            }
            Ok(())
        });
        start = head.map_err(refused)?.start.max(1);
        known(dir, format)?;
        writes.apply(&db).map_err(of_sled)?;
    }
    // An exporter whose cursor the snapshot does not have began after it.
    let alerts_from = bundles::ends(&db).map_err(of_sled)?;
    let alerts_from = alerts_from.map_or(1, |(_, newest)| newest + 1);
    for (key, number) in [
        (keys::JOURNAL_START, start),
        (keys::POSITION, position),
        (keys::ALERTS_FROM, alerts_from),
    ] {
        db.insert(key, &number.to_be_bytes()).map_err(of_sled)?;
    }
    // Last, since it says that the rest is there.
    db.insert(keys::SCHEMA, &SCHEMA_KNOWN.to_be_bytes())
        .map_err(of_sled)?;
    db.flush().map_err(of_sled)?;
    db.close().map_err(refused)
}

/// The journal's position that a state contains, or that the database knew of. No later record may have one that is not above it.
fn position_in(key: &[u8], value: &[u8]) -> u64 {
    if key == keys::POSITION {
        return pieces::read_number(value).unwrap_or(0);
    }
    let Some((&keys::RUN, run_id)) = key.split_first() else {
        return 0;
    };
    let saved = decode_saved(&String::from_utf8_lossy(run_id), value);
    saved.map_or(0, |saved| saved.position)
}

/// Gives the new database the files of the journal, which the damaged one keeps until it is set aside, and says how many.
fn take_journal(dir: &Path, fresh: &Path) -> io::Result<usize> {
    let files = match fs::read_dir(dir.join(DATABASE).join(JOURNAL)) {
        // It is lost, too, or never was.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        files => files,
    };
    let mut taken = 0;
    for file in files? {
        let file = file?;
        if file.file_type()?.is_file() {
            let to = fresh.join(JOURNAL).join(file.file_name());
            // Not every file system can have a file under two names.
            fs::hard_link(file.path(), &to).or_else(|_| fs::copy(file.path(), &to).map(drop))?;
            taken += 1;
        }
    }
    Ok(taken)
}

/// Renames the damaged database, if there is one.
fn set_aside(dir: &Path) -> io::Result<Option<PathBuf>> {
    let database = dir.join(DATABASE);
    if !database.join(LOG).exists() {
        // A restored directory has none, and there is nothing to look at. It leaves its place at once: for as long as it is
        // there, its journal is the one that counts.
        if database.exists() {
            fs::rename(database, dir.join(OLD))?;
            sync_dir(dir)?;
        }
        return Ok(None);
    }
    let to = dir.join(name_aside());
    fs::rename(database, &to)?;
    sync_dir(dir)?;
    Ok(Some(to))
}

/// What something is called that is set aside now.
fn name_aside() -> String {
    let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    format!("{SET_ASIDE}{}", time.replace(':', "-"))
}

/// Removes the oldest of those that were set aside, but for so many. Says whether there were any.
pub(super) fn forget_oldest(dir: &Path, kept: usize) -> bool {
    let mut found = all_set_aside(dir);
    found.sort_unstable();
    found.reverse();
    let old = found.into_iter().skip(kept);
    let remove = |old: &PathBuf| {
        if old.is_dir() {
            fs::remove_dir_all(old).is_ok()
        } else {
            fs::remove_file(old).is_ok()
        }
    };
    old.filter(remove).count() > 0
}

fn all_set_aside(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_one = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(SET_ASIDE);
    entries.filter(is_one).map(|entry| entry.path()).collect()
}
