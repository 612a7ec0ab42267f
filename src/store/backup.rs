//! A copy of a data directory, made beside its daemon or without one: the newest whole snapshot, and the journal from there.
//! That is what a directory opens from when its database is not there, so a copy is itself a data directory, and restoring
//! one is copying it again.

use std::fs;
use std::io;
use std::path::Path;

use super::error::StoreError;
use super::journal::{Found, Reader};
use super::open::{self, DATABASE, JOURNAL};
use super::snapshot::{self, SNAPSHOTS};

/// How often the copying is begun anew where a daemon moves on under it: at most once a snapshot, so once nearly always.
const TRIES: usize = 5;

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// When its snapshot was begun, milliseconds since 1970; absent where the journal alone has everything.
    pub snapshot_ms: Option<u64>,
    /// Journal records behind the snapshot.
    pub records: u64,
}

/// Copies the store in `from` to `to`, which must be new or empty. What was acknowledged before the call is in the copy.
///
/// # Errors
/// When `from` holds no store of a known format, when `to` holds something, when the journal has gaps that no snapshot
/// bridges, and those of the file system. What was copied until then is removed.
pub fn copy(from: &Path, to: &Path) -> Result<Copied, StoreError> {
    if open::said_format(from)?.is_none() {
        let error = io::Error::new(io::ErrorKind::NotFound, "there is no store of eddy");
        return Err(StoreError::io("cannot copy", from, error));
    }
    let is_free = fs::read_dir(to).map_or(true, |mut entries| entries.next().is_none());
    if !is_free {
        let error = io::Error::new(
            io::ErrorKind::AlreadyExists,
            "it is not empty; name a directory that is new or empty",
        );
        return Err(StoreError::io("cannot copy to", to, error));
    }
    let refused = |error| StoreError::io("cannot copy to", to, error);
    let mut problem = None;
    for _ in 0..TRIES {
        let copied = copy_once(from, to);
        match copied {
            Ok(copied) => {
                open::say_format(to)?;
                snapshot::sync_dir(to).map_err(refused)?;
                return Ok(copied);
            }
            Err(error) => problem = Some(error),
        }
        for part in [SNAPSHOTS, DATABASE] {
            let _ = fs::remove_dir_all(to.join(part));
        }
    }
    Err(refused(
        problem.unwrap_or_else(|| io::Error::other("it was not tried")),
    ))
}

fn copy_once(from: &Path, to: &Path) -> io::Result<Copied> {
    let journal = to.join(DATABASE).join(JOURNAL);
    fs::create_dir_all(&journal)?;
    // The snapshot first: the journal only grows behind it.
    let snapshot = match snapshot::newest_whole(&snapshot::dir_of(from)) {
        Some((head, path)) => {
            let snapshots = snapshot::dir_of(to);
            fs::create_dir_all(&snapshots)?;
            let name = path.file_name().unwrap_or_default();
            copy_file(&path, &snapshots.join(name))?;
            Some(head)
        }
        None => None,
    };
    // Where it is missing, the database is being set aside just now, and the journal with it.
    let files = from.join(DATABASE).join(JOURNAL);
    let unread = |error: io::Error| {
        let text = format!("cannot read `{}`: {error}", files.display());
        io::Error::new(error.kind(), text)
    };
    for file in fs::read_dir(&files).map_err(unread)? {
        let file = file?;
        if file.file_type()?.is_file() {
            copy_file(&file.path(), &journal.join(file.file_name()))?;
        }
    }
    let mut records = 0;
    let start = snapshot.map_or(1, |head| head.start.max(1));
    for found in Reader::new(&journal, start)? {
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
    Ok(Copied {
        snapshot_ms: snapshot.map(|head| head.at_ms),
        records,
    })
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()
}
