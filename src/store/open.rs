//! Opening a data directory, so that nothing in it is ever overwritten that is not ours or that we do not understand.
//!
//! First a look at what lies there, then the lock, then the database, then its format, and only then anything else.
//! The directory holds `FORMAT`, which says that it is ours and what wrote it; `LOCK`, whose lock says that somebody
//! has it and whose text says who; `store`, the database with the journal; and `snapshots`, from which a damaged database is
//! made anew. The format is said twice, since a database whose beginning is damaged looks like a new one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::backup::{COPIED, UNFINISHED as UNFINISHED_COPY};
use super::database::Database;
use super::durable::{make_dir, sync_dir};
use super::error::{StoreError, is_held};
use super::journal::{Found, Reader};
use super::keys;
use super::lengths::{is_hollow, read_short};
use super::lock::{LOCK, lock};
use super::pieces::{self, SEGMENT_BYTES};
use super::rebuild::{self, Rebuilt};
use super::reserve::RESERVE;
use super::snapshot::{self, SNAPSHOTS};
use super::{Durability, Options};

/// Format that this build writes, and the only one that it reads.
pub(super) const SCHEMA_KNOWN: u32 = 7;

/// What stands before the number in the file that says the format.
const FORMAT_SIGN: &str = "eddy store format ";

pub(super) const FORMAT: &str = "FORMAT";
pub(super) const DATABASE: &str = "store";

/// Directory of the journal, in the one of the database.
pub(super) const JOURNAL: &str = "journal";

/// File of the database that holds its log.
pub(super) const LOG: &str = "db";

/// In the database's directory: it was found damaged while it was in use, and is to be looked at as a whole.
const DOUBT: &str = "DOUBT";

/// In the database's directory while it is being opened, with a character for each time.
const OPENING: &str = "OPENING";

/// What else may lie in a data directory that has lost its format.
const OURS: [&str; 9] = [
    LOCK,
    COPIED,
    FORMAT,
    SNAPSHOTS,
    rebuild::FRESH,
    rebuild::OLD,
    RESERVE,
    "tenants",
    "lost+found",
];

/// File of the database that says how it was configured, which is written before the log is begun.
pub(super) const CONFIGURATION: &str = "conf";

/// Directory of the database for values that are too large for its log.
pub(super) const BLOBS: &str = "blobs";

/// What the name of a snapshot of sled ends in for as long as it is being written.
const UNFINISHED: &str = "generating";

/// How long a small database may take to open; it takes fractions of a second.
const OPEN_MAX: Duration = Duration::from_secs(30);

/// How long a database that this process has just closed may take to let go of its file.
const LET_GO_WAIT: Duration = Duration::from_secs(5);

/// An open data directory.
pub(super) struct Opened {
    pub(super) db: Database,
    /// The database's log, where it is to be brought through to the disk.
    pub(super) log: Option<File>,
    /// Held as long as the directory is.
    pub(super) lock: File,
    /// What was damaged and has been made anew.
    pub(super) rebuilt: Option<Rebuilt>,
}

/// Opens a data directory, which is made if it is not there. A damaged database in it is set aside, and another one made
/// from what is still good ([`rebuild`]).
pub(super) fn open(dir: &Path, options: &Options) -> Result<Opened, StoreError> {
    make_dir(dir).map_err(|error| StoreError::no_directory(dir, error))?;
    let is_said = says_format(dir)?;
    if !is_said {
        refuse_foreign(dir)?;
    }
    rebuild::make_way(dir)?;
    let lock = lock(dir)?;
    rebuild::finish(dir)?;
    snapshot::remove_unfinished(&snapshot::dir_of(dir));
    let path = dir.join(DATABASE);
    let is_ours = is_said || path.join(JOURNAL).is_dir();
    let is_new = !is_said || !path.join(LOG).is_file();
    let (db, rebuilt) = match open_sound(dir, is_said, options) {
        Err(StoreError::Damaged { reason, .. }) if is_ours => {
            tracing::info!(dir = %dir.display(), reason, "the database cannot be used; another one is made");
            let rebuilt = rebuild::rebuild(dir, reason, options)?;
            (open_sound(dir, is_said, options)?, Some(rebuilt))
        }
        opened => (opened?, None),
    };
    let log = match options.durability {
        Durability::Power => Some(open_log(&path)?),
        Durability::Process => None,
    };
    if is_new || rebuilt.is_some() {
        fs::create_dir_all(path.join(JOURNAL))
            .map_err(|error| StoreError::io("cannot make a directory in", &path, error))?;
        // Only once the rest is there for good: a directory that says its format has been in use.
        sync_new(dir, &path)?;
        say_format(dir)?;
    }
    Ok(Opened {
        db,
        log,
        lock,
        rebuilt,
    })
}

/// Opens the database if it is sound, as far as that can be seen; all of it is looked at where it was in doubt before.
fn open_sound(dir: &Path, is_said: bool, options: &Options) -> Result<Database, StoreError> {
    let path = dir.join(DATABASE);
    let is_ours = is_said || path.join(JOURNAL).is_dir();
    let has_content = || -> Result<_, StoreError> {
        Ok(path.exists() || !snapshot::list(&snapshot::dir_of(dir))?.is_empty())
    };
    // What has been in use held something, even where all of that is gone.
    let is_filled = is_said || (is_ours && has_content()?);
    if is_filled && !path.join(LOG).is_file() {
        return Err(damaged(dir, "the database is not there"));
    }
    if is_hollow(&path.join(LOG)) {
        return Err(damaged(
            dir,
            "next to nothing of the database is there, for its length",
        ));
    }
    // A first start that is cut short leaves nothing that could be damaged, and may be begun again as often as it likes.
    let _attempt = is_filled.then(|| Attempts::begin(dir, &path)).transpose()?;
    let db = open_database(dir, &path, options)?;
    check_schema(dir, &db, is_filled)?;
    if is_cut_short(dir, &db)? {
        return Err(damaged(dir, "the end of the database is lost"));
    }
    if path.join(DOUBT).exists() {
        look_at_all(dir, &db)?;
        let _ = fs::remove_file(path.join(DOUBT));
    }
    Ok(db)
}

fn damaged(dir: &Path, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        dir: dir.to_owned(),
        reason: reason.into(),
    }
}

/// Notes that the next opening must look at the whole database.
pub(super) fn doubt(dir: &Path, reason: &str) {
    // Where this cannot be written, the damage will be met again.
    let _ = fs::write(dir.join(DATABASE).join(DOUBT), reason);
}

/// Whether the database needs more of the journal than there is, while there is a snapshot that does not: what was written
/// last to it is lost, and sled takes that for an end torn by a crash.
fn is_cut_short(dir: &Path, db: &sled::Db) -> Result<bool, StoreError> {
    let start = db.get(keys::JOURNAL_START);
    let start = start.map_err(|error| StoreError::of_sled(error, "reading", dir))?;
    let start = start.and_then(|value| pieces::read_number(&value));
    let start = start.unwrap_or(1).max(1);
    let snapshot = snapshot::newest_start(&snapshot::dir_of(dir))?.unwrap_or(0);
    let journal = dir.join(DATABASE).join(JOURNAL);
    if start >= snapshot || !journal.is_dir() {
        return Ok(false);
    }
    let refused = |error| StoreError::io("cannot read the journal in", dir, error);
    let mut found = Reader::new(&journal, start).map_err(refused)?;
    let is_gap = |found| matches!(found, Ok(Found::Missing { from, .. }) if from < snapshot);
    Ok(found.any(is_gap))
}

/// Reads everything once, since sled notices most damage only then.
fn look_at_all(dir: &Path, db: &sled::Db) -> Result<(), StoreError> {
    let looking = AssertUnwindSafe(|| db.iter().try_for_each(|entry| entry.map(drop)));
    match catch_unwind(looking) {
        Ok(looked) => looked.map_err(|error| StoreError::of_sled(error, "reading", dir)),
        Err(panic) => Err(damaged(dir, panic_message(panic.as_ref()))),
    }
}

/// Openings that the process did not survive, counted in a file. Damage may make sled ask for more memory than there is,
/// and nothing in the process can catch that.
struct Attempts {
    path: PathBuf,
}

impl Attempts {
    /// Counts one more, or says that there were too many.
    fn begin(dir: &Path, database: &Path) -> Result<Self, StoreError> {
        const MAX: usize = 3;
        let path = database.join(OPENING);
        let before = fs::read(&path).map_or(0, |marks| marks.len());
        if before >= MAX {
            return Err(damaged(dir, "processes ended while they opened it"));
        }
        // A directory that is full or not there is not worth a word here.
        let _ = fs::write(&path, vec![b'x'; before + 1]);
        Ok(Self { path })
    }
}

impl Drop for Attempts {
    /// The process is still there, whatever came of it.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the directory says that it has our format; not where it is new. Another one is refused, and so is a copy that was not
/// finished.
pub(super) fn says_format(dir: &Path) -> Result<bool, StoreError> {
    if dir.join(UNFINISHED_COPY).exists() {
        return Err(StoreError::Unfinished {
            dir: dir.to_owned(),
        });
    }
    let path = dir.join(FORMAT);
    let text = match read_short(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        // It leads to itself.
        Err(_) if path.is_symlink() => String::new(),
        Err(error) => return Err(StoreError::io("cannot read", path, error)),
    };
    let format = text.trim_end().strip_prefix(FORMAT_SIGN);
    match format.and_then(|number| number.parse().ok()) {
        Some(format @ 1..) => known(dir, format).map(|()| true),
        // The file is damaged; the database says its format, too.
        _ if dir.join(DATABASE).join(JOURNAL).is_dir() => Ok(false),
        _ => Err(foreign(dir, FORMAT)),
    }
}

pub(super) fn say_format(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(FORMAT);
    fs::write(&path, format!("{FORMAT_SIGN}{SCHEMA_KNOWN}\n"))
        .and_then(|()| File::open(&path)?.sync_all())
        .and_then(|()| sync_dir(dir))
        .map_err(|error| StoreError::io("cannot write", path, error))
}

/// The format that a value under [`keys::SCHEMA`] says; 0 where it is none.
pub(super) fn format_of(value: &[u8]) -> u32 {
    value.try_into().map_or(0, u32::from_be_bytes)
}

pub(super) fn known(dir: &Path, format: u32) -> Result<(), StoreError> {
    match format {
        SCHEMA_KNOWN => Ok(()),
        0 => Err(damaged(dir, "its format is 0")),
        found => Err(StoreError::OtherFormat {
            dir: dir.to_owned(),
            found,
            known: SCHEMA_KNOWN,
        }),
    }
}

/// Refuses a directory that holds anything but what a first start leaves when it is cut short, and `lost+found`, which a
/// fresh file system holds.
pub(super) fn refuse_foreign(dir: &Path) -> Result<(), StoreError> {
    let unreadable = |error| StoreError::io("cannot read the directory", dir, error);
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let is_database = name == DATABASE && is_database(&dir.join(DATABASE));
        let name = name.to_string_lossy();
        let is_ours = OURS.contains(&&*name) || name.starts_with(rebuild::SET_ASIDE);
        if !(is_database || is_ours) {
            return Err(foreign(dir, &name));
        }
    }
    Ok(())
}

/// Whether a directory is one of sled's, or one that sled did not come to fill.
fn is_database(path: &Path) -> bool {
    let is_empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    is_empty || path.join(BLOBS).is_dir() || path.join(JOURNAL).is_dir()
}

fn foreign(dir: &Path, found: &str) -> StoreError {
    StoreError::Foreign {
        dir: dir.to_owned(),
        found: found.to_owned(),
    }
}

pub(super) fn open_database(
    dir: &Path,
    path: &Path,
    options: &Options,
) -> Result<Database, StoreError> {
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(options.cache_bytes);
    remove_unfinished(path)
        .map_err(|error| StoreError::io("cannot remove an unfinished file in", path, error))?;
    let start = Instant::now();
    loop {
        match open_in_thread(&config, open_max(path)) {
            Ok(Ok(db)) => return Ok(Database::new(db)),
            // The lock is ours, so the file can only be held by a database that this process is about to drop.
            Ok(Err(sled::Error::Io(error))) if is_held(&error) && start.elapsed() < LET_GO_WAIT => {
                thread::sleep(Duration::from_millis(20));
            }
            Ok(Err(error)) => {
                return Err(StoreError::of_sled(
                    error,
                    "cannot open the database in",
                    dir,
                ));
            }
            Err(reason) => return Err(damaged(dir, reason)),
        }
    }
}

/// Removes what sled did not come to finish. A snapshot of its own: it takes it for its newest (`get_snapshot_files` of 0.34.7),
/// and a torn one for damage of the whole database; the one before is there for as long as the next has not its name. And its
/// configuration, where it did not come to begin the log: it would refuse a torn one for ever.
fn remove_unfinished(database: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(database) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let has_log = database.join(LOG).exists();
    for entry in entries {
        let path = entry?.path();
        let is_unfinished = path.extension().is_some_and(|kind| kind == UNFINISHED)
            || !has_log && path.ends_with(CONFIGURATION);
        if is_unfinished {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// How long a database may take to open: sled reads all of its log where its own snapshot is missing.
fn open_max(path: &Path) -> Duration {
    /// Some tenth of what a slow disk reads.
    const BYTES_PER_SECOND: u64 = 10 << 20;
    let bytes = fs::metadata(path.join(LOG)).map_or(0, |data| data.len());
    OPEN_MAX + Duration::from_secs(bytes / BYTES_PER_SECOND)
}

/// sled panics on damage, or never returns: a thread of its own turns that into a message.
fn open_in_thread(
    config: &sled::Config,
    wait_max: Duration,
) -> Result<sled::Result<sled::Db>, String> {
    let config = config.clone();
    let (tell, told) = mpsc::channel();
    let opening = thread::Builder::new()
        .name("eddy-store-open".to_owned())
        .spawn(move || {
            let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
            let _ = tell.send(opened.map_err(|panic| panic_message(panic.as_ref())));
        });
    match opening {
        Ok(_) => told
            .recv_timeout(wait_max)
            .unwrap_or_else(|_| Err("the database does not come to an end of opening".to_owned())),
        Err(error) => Ok(Err(error.into())),
    }
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "the database gave up: {}",
        text.unwrap_or("no reason given")
    )
}

/// Reads the format before anything else is read; a database without any content gets ours, unless it had content.
fn check_schema(dir: &Path, db: &sled::Db, is_filled: bool) -> Result<(), StoreError> {
    let of_sled = |error| StoreError::of_sled(error, "cannot read the format of the store in", dir);
    if let Some(value) = db.get(keys::SCHEMA).map_err(of_sled)? {
        return known(dir, format_of(&value));
    }
    if is_filled {
        return Err(damaged(dir, "the beginning of the database is lost"));
    }
    if let Some(entry) = db.iter().next() {
        entry.map_err(of_sled)?;
        return Err(foreign(dir, DATABASE));
    }
    let of_sled =
        |error| StoreError::of_sled(error, "cannot write the format of the store in", dir);
    db.insert(keys::SCHEMA, &SCHEMA_KNOWN.to_be_bytes())
        .map_err(of_sled)?;
    db.flush().map(drop).map_err(of_sled)
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
    for path in [database.join(LOG), database.join(CONFIGURATION)] {
        File::open(&path)
            .and_then(|file| file.sync_all())
            .map_err(|error| StoreError::io("cannot sync", path, error))?;
    }
    for path in [database, dir] {
        sync_dir(path).map_err(|error| StoreError::io("cannot sync", path, error))?;
    }
    Ok(())
}
