//! Opening a data directory, so that nothing in it is ever overwritten that is not ours or that we do not understand.
//!
//! First a look at what lies there, then the lock, then the database, then its format, and only then anything else.
//! The directory holds `FORMAT`, which says that it is ours and what wrote it; `LOCK`, whose lock says that somebody
//! has it and whose text says who; and `store`, the database with the journal, which can be moved away as one piece. The
//! format is said twice, since a database whose beginning is damaged looks like a new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::keys;
use super::pieces::SEGMENT_BYTES;
use super::{Durability, Options};

/// Format that this release writes, and the newest that it can read.
pub(super) const SCHEMA_KNOWN: u32 = 2;

/// The oldest format that this release can read. In format 1, which was never released, the journal lay in sled.
pub(super) const SCHEMA_OLDEST: u32 = 2;

/// What stands before the number in the file that says the format.
const FORMAT_SIGN: &str = "eddy store format ";

const FORMAT: &str = "FORMAT";
const LOCK: &str = "LOCK";
pub(super) const DATABASE: &str = "store";

/// Directory of the journal, in the one of the database.
pub(super) const JOURNAL: &str = "journal";

/// File of the database that holds its log.
const LOG: &str = "db";

/// How long a database that this process has just closed may take to let go of its file.
const LET_GO_WAIT: Duration = Duration::from_secs(5);

/// An open data directory.
pub(super) struct Opened {
    pub(super) db: sled::Db,
    /// Our own handle of the database's log, to sync it with before the journal is cut; none where the end of the process
    /// is all that is feared.
    pub(super) log: Option<File>,
    /// Held as long as the directory is.
    pub(super) lock: File,
}

/// Opens a data directory, which is made if it is not there.
pub(super) fn open(dir: &Path, options: &Options) -> Result<Opened, StoreError> {
    fs::create_dir_all(dir)
        .map_err(|error| StoreError::io("cannot make the directory", dir, error))?;
    let said = said_format(dir)?;
    if said.is_none() {
        refuse_foreign(dir)?;
    }
    let lock = lock(dir)?;
    let path = dir.join(DATABASE);
    let is_filled = said.is_some() && path.exists();
    let db = open_database(dir, &path, options)?;
    check_schema(dir, &db, is_filled)?;
    let log = match options.durability {
        Durability::Power => Some(open_log(&path)?),
        Durability::Process => None,
    };
    if !is_filled {
        fs::create_dir_all(path.join(JOURNAL))
            .map_err(|error| StoreError::io("cannot make a directory in", &path, error))?;
        say_format(dir)?;
        sync_new(dir, &path)?;
    }
    Ok(Opened { db, log, lock })
}

/// The format that the directory says it has; none where it is new. One that we do not know is refused.
fn said_format(dir: &Path) -> Result<Option<u32>, StoreError> {
    let path = dir.join(FORMAT);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("cannot read", path, error)),
    };
    let format = text.trim_end().strip_prefix(FORMAT_SIGN);
    let format = format.and_then(|number| number.parse().ok());
    let format = format.ok_or_else(|| foreign(dir, FORMAT))?;
    known(dir, format)?;
    Ok(Some(format))
}

fn say_format(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(FORMAT);
    fs::write(&path, format!("{FORMAT_SIGN}{SCHEMA_KNOWN}\n"))
        .map_err(|error| StoreError::io("cannot write", path, error))
}

fn known(dir: &Path, format: u32) -> Result<(), StoreError> {
    match format {
        SCHEMA_OLDEST..=SCHEMA_KNOWN => Ok(()),
        0 => Err(StoreError::Damaged {
            dir: dir.to_owned(),
            reason: "its format is 0".to_owned(),
        }),
        found @ ..SCHEMA_OLDEST => Err(StoreError::SchemaOlder {
            dir: dir.to_owned(),
            found,
            known: SCHEMA_OLDEST,
        }),
        found => Err(StoreError::SchemaNewer {
            dir: dir.to_owned(),
            found,
            known: SCHEMA_KNOWN,
        }),
    }
}

/// Refuses a directory that holds anything but what a first start leaves when it is cut short, and `lost+found`, which a
/// fresh file system holds.
fn refuse_foreign(dir: &Path) -> Result<(), StoreError> {
    let unreadable = |error| StoreError::io("cannot read the directory", dir, error);
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let is_database = name == DATABASE && is_database(&dir.join(DATABASE));
        if !(is_database || name == LOCK || name == "lost+found") {
            return Err(foreign(dir, &name.to_string_lossy()));
        }
    }
    Ok(())
}

/// Whether a directory is one of sled's, or one that sled did not come to fill.
fn is_database(path: &Path) -> bool {
    let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    is_empty || path.join("blobs").is_dir()
}

fn foreign(dir: &Path, found: &str) -> StoreError {
    StoreError::Foreign {
        dir: dir.to_owned(),
        found: found.to_owned(),
    }
}

/// Takes the lock and leaves our process id in the file. A file that a dead process left is not locked.
fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let refused = |error| StoreError::io("cannot lock", &path, error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::Held {
                dir: dir.to_owned(),
                holder: holder(&mut file),
            });
        }
        Err(TryLockError::Error(error)) => return Err(refused(error)),
    }
    sign(&mut file).map_err(refused)?;
    Ok(file)
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "pid {}", std::process::id())
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

fn open_database(dir: &Path, path: &Path, options: &Options) -> Result<sled::Db, StoreError> {
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(options.cache_bytes);
    let start = Instant::now();
    loop {
        match open_in_thread(&config) {
            Ok(Ok(db)) => return Ok(db),
            // The lock is ours, so the file can only be held by a database that this process is about to drop.
            Ok(Err(sled::Error::Io(error)))
                if is_locked(&error) && start.elapsed() < LET_GO_WAIT =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            Ok(Err(error)) => {
                return Err(StoreError::of_sled(
                    error,
                    "cannot open the database in",
                    dir,
                ));
            }
            Err(reason) => {
                return Err(StoreError::Damaged {
                    dir: dir.to_owned(),
                    reason,
                });
            }
        }
    }
}

/// sled panics on damage: a thread of its own turns that into a message.
fn open_in_thread(config: &sled::Config) -> Result<sled::Result<sled::Db>, String> {
    let config = config.clone();
    let opening = thread::Builder::new()
        .name("eddy-store-open".to_owned())
        .spawn(move || config.open());
    match opening.map(thread::JoinHandle::join) {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(panic)) => Err(panic_message(panic.as_ref())),
        Err(error) => Ok(Err(error.into())),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "the database gave up while opening: {}",
        text.unwrap_or("no reason given")
    )
}

fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Reads the format before anything else is read; a database without any content gets ours, unless it had content.
fn check_schema(dir: &Path, db: &sled::Db, is_filled: bool) -> Result<(), StoreError> {
    let of_sled = |error| StoreError::of_sled(error, "cannot read the format of the store in", dir);
    if let Some(value) = db.get(keys::SCHEMA).map_err(of_sled)? {
        let found = value.as_ref().try_into().map_or(0, u32::from_be_bytes);
        return known(dir, found);
    }
    if is_filled {
        return Err(StoreError::Damaged {
            dir: dir.to_owned(),
            reason: "the beginning of the database is lost".to_owned(),
        });
    }
    if let Some(entry) = db.iter().next() {
        entry.map_err(of_sled)?;
        return Err(foreign(dir, DATABASE));
    }
    db.insert(keys::SCHEMA, &SCHEMA_KNOWN.to_be_bytes())
        .map_err(of_sled)?;
    db.flush().map_err(of_sled)?;
    Ok(())
}

fn open_log(path: &Path) -> Result<File, StoreError> {
    let path = path.join(LOG);
    OpenOptions::new()
        .write(true)
        .open(&path)
        .map_err(|error| StoreError::io("cannot open", path, error))
}

/// Makes a new store's files and their names durable, which sled leaves to the system.
fn sync_new(dir: &Path, database: &Path) -> Result<(), StoreError> {
    let sync = |path: &Path| {
        File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|error| StoreError::io("cannot sync", path, error))
    };
    // Elsewhere directories cannot be opened like files.
    if cfg!(unix) {
        for path in [
            &database.join(LOG),
            &database.join("conf"),
            database,
            &dir.join(FORMAT),
            dir,
        ] {
            sync(path)?;
        }
    }
    Ok(())
}
