//! Who has a data directory: the lock of a file in it, whose text says who. It also tells whether the directory is still where
//! it was when it was locked.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::open::{DATABASE, JOURNAL, LOG};

/// The file that is locked.
pub(super) const LOCK: &str = "LOCK";

/// How long a store that this process is about to drop may take to let go of its directory.
const LET_GO_WAIT: Duration = Duration::from_secs(2);
const LET_GO_LOOK: Duration = Duration::from_millis(20);

/// Takes the lock and leaves our process id in the file. A file that a dead process left is not locked. Where another store of this
/// process has it, as while one that failed is being left, that is waited for.
pub(super) fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let refused = |error| StoreError::io("cannot lock", &path, error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(refused)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        file.seek(SeekFrom::Start(0)).map_err(refused)?;
        let holder = holder(&mut file);
        if holder != signature() || began.elapsed() >= LET_GO_WAIT {
            return Err(StoreError::Held {
                dir: dir.to_owned(),
                holder,
            });
        }
        thread::sleep(LET_GO_LOOK);
    }
    sign(&mut file).map_err(refused)?;
    Ok(file)
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", signature())
}

/// What this process leaves in the file.
fn signature() -> String {
    format!("pid {}", std::process::id())
}

/// What the holder wrote. On systems whose locks keep others from reading, that is nothing.
fn holder(file: &mut File) -> String {
    const TEXT_BYTES_MAX: u64 = 64;
    let mut text = String::new();
    let read = file.take(TEXT_BYTES_MAX).read_to_string(&mut text);
    match (read, text.trim()) {
        (Ok(_), text) if !text.is_empty() => text.to_owned(),
        _ => "which did not say who it is".to_owned(),
    }
}

/// Whether a directory is the one whose lock is held, with its database and its journal. Where that cannot be told, it is: a
/// write that fails will say more.
pub(super) fn in_place(dir: &Path, held: &File) -> Result<(), StoreError> {
    let database = dir.join(DATABASE);
    for path in [dir.join(LOCK), database.join(LOG), database.join(JOURNAL)] {
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::io("cannot find any more", path, error));
            }
            _ => {}
        }
    }
    let path = dir.join(LOCK);
    match (fs::metadata(&path), held.metadata()) {
        (Ok(there), Ok(held)) if !is_same(&there, &held) => {
            let error = io::Error::new(io::ErrorKind::NotFound, "another one is there");
            Err(StoreError::io("cannot find any more", path, error))
        }
        _ => Ok(()),
    }
}

/// Whether two files are one.
#[cfg(unix)]
pub(super) fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Other systems do not let a file that is held be moved or removed.
#[cfg(not(unix))]
pub(super) fn is_same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}
