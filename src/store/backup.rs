//! A copy of a data directory, made beside its daemon or without one: the newest whole snapshot, and the journal from there.
//! That is what a directory opens from when its database is not there, so a copy is itself a data directory, and restoring
//! one is copying it again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::durable::{make_dir, sync_all, sync_dir};
use super::error::StoreError;
use super::journal::{Found, Reader};
use super::open::{self, DATABASE, JOURNAL};
use super::snapshot::{self, Head, SNAPSHOTS};

/// How often the copying is begun anew where a daemon moves on under it: at most once a snapshot, so once nearly always.
const TRIES: usize = 5;

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// When its snapshot was begun, milliseconds since 1970; absent where the journal alone has everything.
    pub snapshot_ms: Option<u64>,
    /// Snapshots, newer than this one, that are damaged.
    pub snapshots_damaged: usize,
    /// Journal records behind the snapshot.
    pub records: u64,
    /// What is not in the copy although it was in the store, in words.
    pub lacks: Option<&'static str>,
}

impl Copied {
    /// Whether nothing was there: a store into which nothing has come yet.
    #[must_use]
    pub fn is_of_nothing(&self) -> bool {
        self.snapshot_ms.is_none()
            && self.snapshots_damaged == 0
            && self.records == 0
            && self.lacks.is_none()
    }
}

/// Lies in a copy for as long as it is being made: one that is cut short is no data directory, and may be begun again.
pub(super) const UNFINISHED: &str = "UNFINISHED";

/// Says in a copy up to which position its journal went when it was made: whether its end is missing, nothing else could tell.
pub(super) const COPIED: &str = "COPIED";

/// What a copy may have, beside that; there are the stores of tenants in it, too.
const MADE: [&str; 5] = [open::FORMAT, COPIED, SNAPSHOTS, DATABASE, "tenants"];

/// Whether a directory has nothing yet: a first start was cut short in it, before anything could be acknowledged.
///
/// # Errors
/// When it cannot be read, or holds what is no store.
pub fn is_unbegun(dir: &Path) -> Result<bool, StoreError> {
    if open::says_format(dir)? {
        return Ok(false);
    }
    open::refuse_foreign(dir)?;
    let parts = [dir.join(DATABASE).join(JOURNAL), snapshot::dir_of(dir)];
    Ok(parts.iter().all(|part| match fs::read_dir(part) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }))
}

/// Copies the stores that lie in these parts of the directory `from` to the same parts of `to`, which must be new or empty, or
/// hold a copy that was not finished. What was acknowledged before the call is in the copy.
///
/// # Errors
/// When a part of `from` holds no store of a known format, when `to` holds something, when a journal has gaps that no snapshot
/// bridges, and those of the file system. What was copied until then is removed.
pub fn copy(from: &Path, to: &Path, parts: &[PathBuf]) -> Result<Vec<Copied>, StoreError> {
    // To join nothing to a path is to put a slash behind it, which is not for people.
    let part_of = |dir: &Path, part: &PathBuf| dir.join(part).components().collect::<PathBuf>();
    for from in parts.iter().map(|part| part_of(from, part)) {
        if !open::says_format(&from)? {
            let error = io::Error::new(io::ErrorKind::NotFound, "there is no store of eddy");
            return Err(StoreError::io("cannot copy", from, error));
        }
    }
    let refused = |error| StoreError::io("cannot copy to", to, error);
    begin(to).map_err(refused)?;
    let copied = parts
        .iter()
        .map(|part| copy_store(&part_of(from, part), &part_of(to, part)));
    let copied: Result<Vec<_>, _> = copied.collect();
    if copied.is_err() {
        clear(to);
    } else {
        sync_all(to).map_err(refused)?;
    }
    // Last, since it says that the rest is not there.
    fs::remove_file(to.join(UNFINISHED))
        .and_then(|()| sync_dir(to))
        .map_err(refused)?;
    copied
}

fn begin(to: &Path) -> io::Result<()> {
    make_dir(to)?;
    let mark = to.join(UNFINISHED);
    if mark.exists() {
        clear(to);
    } else if fs::read_dir(to)?.next().is_some() {
        let text = "it is not empty; name a directory that is new or empty";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    fs::write(&mark, "eddy has not finished this copy\n")?;
    sync_dir(to)
}

/// Removes what there is of a copy. What cannot be removed is in the way of the next one, which says so.
fn clear(to: &Path) {
    for made in MADE.map(|made| to.join(made)) {
        let _ = fs::remove_file(&made).or_else(|_| fs::remove_dir_all(&made));
    }
}

fn copy_store(from: &Path, to: &Path) -> Result<Copied, StoreError> {
    let journal = from.join(DATABASE).join(JOURNAL);
    let mut copied = copy_once(from, Some(&journal), to);
    for nth in 2..=TRIES {
        if copied.is_ok() {
            break;
        }
        for part in [SNAPSHOTS, DATABASE] {
            let _ = fs::remove_dir_all(to.join(part));
        }
        // The journal may be gone. Where the database is missing with it, that is being set aside just now.
        let is_gone = nth == TRIES && !journal.exists() && from.join(DATABASE).exists();
        copied = copy_once(from, Some(&*journal).filter(|_| !is_gone), to);
    }
    let copied = copied.map_err(|error| match error.kind() {
        // What lies there is at fault, and not where it is to go.
        io::ErrorKind::InvalidData => StoreError::io("cannot copy", from, error),
        _ => StoreError::io("cannot copy to", to, error),
    })?;
    open::say_format(to)?;
    Ok(copied)
}

/// The position behind the last that a copy had when it was made; `None` where this is no copy.
pub(super) fn copied_until(dir: &Path) -> Option<u64> {
    let said = fs::read_to_string(dir.join(COPIED)).ok()?;
    Some(said.trim().parse().unwrap_or(0))
}

/// Copies a store, of which the journal may be gone.
fn copy_once(from: &Path, journal: Option<&Path>, to: &Path) -> io::Result<Copied> {
    // The snapshot first: the journal only grows behind it.
    let (snapshot, snapshots_damaged) = copy_snapshot(&snapshot::dir_of(from), to)?;
    let start = snapshot.map_or(1, |head| head.start.max(1));
    let copy = to.join(DATABASE).join(JOURNAL);
    fs::create_dir_all(&copy)?;
    let (mut acknowledged, mut files) = (0, 0);
    if let Some(journal) = journal {
        acknowledged = count_records(journal, start).map_err(|error| unread(journal, &error))?;
        files = copy_journal(journal, &copy)?;
    }
    let records = count_records(&copy, start)?;
    if records < acknowledged {
        // The files that held them were written anew, and those that they are in now were not there yet.
        let text = "its daemon wrote the journal anew meanwhile";
        return Err(io::Error::new(io::ErrorKind::Interrupted, text));
    }
    // What was copied from goes on if it is served, and then has more.
    let known = copied_until(from).unwrap_or(0);
    let end = (start + records).max(known);
    fs::write(to.join(COPIED), format!("{end}\n"))?;
    let lacks = match snapshot {
        None if snapshots_damaged > 0 && records == 0 => {
            Some("neither a snapshot nor the journal can be read: nothing of the store is in it")
        }
        // A store in which something was committed always has one.
        Some(_) if files == 0 => {
            Some("there is no journal: what came after the snapshot is not in it")
        }
        _ if start + records < known => {
            Some("its journal has been cut: the last commits that it had are not in it")
        }
        _ => None,
    };
    Ok(Copied {
        snapshot_ms: snapshot.map(|head| head.at_ms),
        snapshots_damaged,
        records,
        lacks,
    })
}

/// Copies the newest snapshot that is whole, if there is one, and says how many newer ones are damaged.
fn copy_snapshot(snapshots: &Path, to: &Path) -> io::Result<(Option<Head>, usize)> {
    // What a daemon removes meanwhile is not damaged, and what it adds is not among these.
    let listed = snapshot::list(snapshots).map_err(io::Error::other)?;
    let newest = snapshot::newest_whole(snapshots).map_err(io::Error::other)?;
    let newer = match &newest {
        Some((_, whole)) => listed
            .iter()
            .position(|(_, path)| path == whole)
            .unwrap_or(0),
        None => listed.len(),
    };
    let damaged = listed[..newer].iter().filter(|(_, path)| path.exists());
    let damaged = damaged.count();
    let Some((head, path)) = newest else {
        return Ok((None, damaged));
    };
    let copies = snapshot::dir_of(to);
    fs::create_dir_all(&copies)?;
    fs::copy(&path, copies.join(path.file_name().unwrap_or_default()))?;
    Ok((Some(head), damaged))
}

/// Copies the files of the journal, and says how many.
fn copy_journal(journal: &Path, to: &Path) -> io::Result<usize> {
    let mut copied = 0;
    let listed = fs::read_dir(journal).map_err(|error| unread(journal, &error))?;
    for file in listed {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
            copied += 1;
        }
    }
    Ok(copied)
}

/// What is said of a journal that cannot be read, which is at fault and not where it is copied to.
fn unread(journal: &Path, error: &io::Error) -> io::Error {
    let text = format!("cannot read `{}`: {error}", journal.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Records of a journal from this position on.
///
/// # Errors
/// When some are missing, and those of the file system.
fn count_records(journal: &Path, start: u64) -> io::Result<u64> {
    let mut records = 0;
    for found in Reader::new(journal, start)? {
        match found? {
            Found::Record { .. } => records += 1,
            Found::Missing { from, until } => {
                let text = format!(
                    "journal records {from} to {} are missing, and no snapshot has what they tell",
                    until - 1
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            Found::Torn => {}
        }
    }
    Ok(records)
}
