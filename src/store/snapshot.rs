//! Snapshots: what the database holds, in plain files from which it can be made anew.
//!
//! A file is written beside the work of the store, at a name of its own, synced, and only then given the name by which it
//! is found; the newest two are kept. It begins with the journal's position from which on the journal is needed, so that
//! the snapshot and the journal from there give everything, as the database and the journal do after a crash. For the
//! same reason it need not be of one moment: each value is whole, and what changed while it was written is in the journal.
//!
//! ```text
//! "eddy snapshot 1\n" [start u64][time u64][hash u64]
//! [key length u32][value length u32][hash u64][key][value] ... [u32::MAX][0u32][number of records u64]
//! ```
//!
//! Numbers are little-endian. The first record says the format of the store, whose values the others are. A file is believed as a
//! whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_64;

use super::durable::{make_dir, sync_dir};
use super::error::StoreError;
use super::keys;
use super::open::SCHEMA_KNOWN;
use super::pieces;
use super::reserve;
use super::shared::Shared;

/// Directory of the snapshots, beside the database's, so that it stays when that one is set aside.
pub(super) const SNAPSHOTS: &str = "snapshots";

const MAGIC: &[u8; 16] = b"eddy snapshot 1\n";

const EXTENSION: &str = "snapshot";

/// Extension of a snapshot that is being written.
const UNFINISHED: &str = "unfinished";

/// What is said of a snapshot that may be good.
const UNREAD: &str = "cannot read the snapshot (an older one serves if this one is moved away)";

/// What stands in place of the length of a key behind the last record.
const END: u32 = u32::MAX;

/// Longest key and value that are believed, in bytes: ids have some hundred, states some ten thousand.
const KEY_BYTES_MAX: u32 = 64 << 10;
const VALUE_BYTES_MAX: u32 = 256 << 20;

/// Snapshots kept: should the newest be damaged too, there is another.
const KEPT: usize = 2;

/// Share of the time, one part in this many, that may go into writing snapshots: a large store is written less often.
const SHARE_OF_TIME: u32 = 20;

/// How often the time until the next one is doubled while they cannot be written: each try may have filled the disk nearly.
const DOUBLED_MAX: u32 = 4;

/// What a snapshot must leave of the disk, in bytes, which is looked at before it begins, for as much as the one before took, and
/// behind so many bytes of it: what the store writes meanwhile must not be what finds the disk full.
const ROOM_BYTES: u64 = 16 << 20;
const BYTES_A_LOOK: usize = 4 << 20;

/// What a snapshot says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// From this position on the journal is needed.
    pub(super) start: u64,
    /// When it was begun, milliseconds since 1970.
    pub(super) at_ms: u64,
}

/// The directory of snapshots of a data directory.
pub(super) fn dir_of(data_dir: &Path) -> PathBuf {
    data_dir.join(SNAPSHOTS)
}

/// The snapshots in a directory with their numbers, newest first, whatever may be in them.
///
/// # Errors
/// The directory is there and cannot be read.
pub(super) fn list(dir: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let number = |path: &Path| path.file_stem()?.to_str()?.parse().ok();
    let listed = with_extension(dir, EXTENSION);
    let refused = |error| StoreError::io("cannot list the snapshots in", dir, error);
    let paths = listed.map_err(refused)?.into_iter();
    let mut found: Vec<_> = paths
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    found.sort_unstable();
    found.reverse();
    Ok(found)
}

/// Removes what an earlier process did not finish. What cannot be removed is written over, sooner or later.
pub(super) fn remove_unfinished(dir: &Path) {
    for path in with_extension(dir, UNFINISHED).into_iter().flatten() {
        let _ = fs::remove_file(path);
    }
}

fn with_extension(dir: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let files = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let paths = files.map(|file| Ok(file?.path()));
    let of_kind = |path: &io::Result<PathBuf>| {
        let path = path.as_ref().ok();
        path.is_none_or(|path| path.extension().is_some_and(|found| found == extension))
    };
    paths.filter(of_kind).collect()
}

/// The newest snapshot that is whole.
///
/// # Errors
/// What the disk or the system refuses, with the file: such a snapshot may be good, and whoever took an older one for it would
/// lose what lies between. Only what is damaged is passed over.
pub(super) fn newest_whole(dir: &Path) -> Result<Option<(Head, PathBuf)>, StoreError> {
    for (_, path) in list(dir)? {
        match read(&path, |_, _| Ok(())) {
            Ok(head) => return Ok(Some((head, path))),
            Err(error) if is_refusal(&error) => return Err(StoreError::io(UNREAD, path, error)),
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a snapshot cannot be used");
            }
        }
    }
    Ok(None)
}

/// Whether a file is there and the system does not let us read it. What we find wrong in it has no number of the system's.
fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some() && error.kind() != io::ErrorKind::NotFound
}

/// From where on the newest snapshot needs the journal, by its head alone; a head that cannot be read is passed over, since
/// nothing is taken from the snapshot.
///
/// # Errors
/// The directory is there and cannot be read.
pub(super) fn newest_start(dir: &Path) -> Result<Option<u64>, StoreError> {
    let heads = list(dir)?.into_iter();
    let mut heads = heads.filter_map(|(_, path)| read_head(&mut File::open(path).ok()?).ok());
    Ok(heads.next().map(|head| head.start))
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is damaged"))
}

fn read_head(file: &mut impl Read) -> io::Result<Head> {
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic)?;
    let [start, at_ms, hash] = [read_u64(file)?, read_u64(file)?, read_u64(file)?];
    let head = Head { start, at_ms };
    if magic != *MAGIC || hash != head.hash() {
        return Err(damaged("the head"));
    }
    Ok(head)
}

impl Head {
    fn hash(self) -> u64 {
        let numbers = [self.start.to_le_bytes(), self.at_ms.to_le_bytes()];
        xxh3_64(&numbers.concat())
    }
}

/// Reads a snapshot and shows each record.
///
/// # Errors
/// Those of the file system and of `each`, and `InvalidData` where the file is not what was written.
pub(super) fn read(
    path: &Path,
    mut each: impl FnMut(&[u8], &[u8]) -> io::Result<()>,
) -> io::Result<Head> {
    let mut file = BufReader::new(File::open(path)?);
    let head = read_head(&mut file)?;
    let mut records = 0;
    let mut record = Vec::new();
    loop {
        let (key_bytes, value_bytes) = (read_u32(&mut file)?, read_u32(&mut file)?);
        let sum = read_u64(&mut file)?;
        if key_bytes == END {
            return if sum == records {
                Ok(head)
            } else {
                Err(damaged("the end"))
            };
        }
        if key_bytes > KEY_BYTES_MAX || value_bytes > VALUE_BYTES_MAX {
            return Err(damaged("a length"));
        }
        record.clear();
        let length = u64::from(key_bytes) + u64::from(value_bytes);
        // Reads no more than there is, whatever the length says.
        (&mut file).take(length).read_to_end(&mut record)?;
        if record.len() as u64 != length || xxh3_64(&record) != sum {
            return Err(damaged("a record"));
        }
        let (key, value) = record.split_at(key_bytes as usize);
        each(key, value)?;
        records += 1;
    }
}

fn read_u32(file: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn read_u64(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Writes records behind a head.
struct Records<W> {
    out: W,
    records: u64,
}

impl<W: Write> Records<W> {
    fn begin(mut out: W, head: Head) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        for number in [head.start, head.at_ms, head.hash()] {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(Self { out, records: 0 })
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let record = [key, value].concat();
        self.out.write_all(&(key.len() as u32).to_le_bytes())?;
        self.out.write_all(&(value.len() as u32).to_le_bytes())?;
        self.out.write_all(&xxh3_64(&record).to_le_bytes())?;
        self.out.write_all(&record)?;
        self.records += 1;
        Ok(())
    }

    fn end(mut self) -> io::Result<W> {
        self.out.write_all(&END.to_le_bytes())?;
        self.out.write_all(&0_u32.to_le_bytes())?;
        self.out.write_all(&self.records.to_le_bytes())?;
        Ok(self.out)
    }
}

/// How long after the start the store looks which runs and traces it has: whoever starts has other things to do.
const LEARN_AFTER: Duration = Duration::from_secs(2);

/// The life of the thread that writes snapshots: one whenever `every` has passed and something was committed since,
/// until the other end of `stop` is gone. It also sees to it that what the store lacks is known, and that all runs are listed.
pub(super) fn keep(shared: &Arc<Shared>, every: Duration, stop: &Receiver<()>, leave: &AtomicBool) {
    let mut contained = None;
    let mut failures = 0;
    let mut wait = every;
    if stop.recv_timeout(LEARN_AFTER.min(every)) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    learn(shared, leave);
    if let Err(error) = shared.list_again(leave) {
        tracing::warn!(%error, "the states of runs cannot be read; runs that are not listed stay so");
    }
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(wait) {
        wait = every;
        if shared.may_write().is_err() {
            continue;
        }
        learn(shared, leave);
        let position = shared.position.load(Ordering::Acquire);
        if contained == Some(position) {
            continue;
        }
        let began = Instant::now();
        let written = catch_unwind(AssertUnwindSafe(|| write(shared, leave)));
        let written = written.unwrap_or_else(|_| {
            let error = io::Error::other("Eddy panicked; the log says where");
            Err(StoreError::io(
                "cannot write a snapshot in",
                &shared.dir,
                error,
            ))
        });
        wait = every.max(began.elapsed() * SHARE_OF_TIME);
        match written {
            Ok(Some(head)) => {
                contained = Some(position);
                failures = 0;
                shared.snapshot_start.store(head.start, Ordering::Release);
                shared.snapshot_at_ms.store(head.at_ms, Ordering::Release);
                shared.tally.snapshots.add(1);
                // Where it was given up, there may be room for it by now.
                reserve::refill(&shared.dir, shared.reserve_bytes);
            }
            Ok(None) => return,
            Err(error) => {
                shared.tally.snapshots_failed.add(1);
                failures = DOUBLED_MAX.min(failures + 1);
                wait *= 1 << failures;
                tracing::warn!(%error, "a snapshot could not be written; the one before stays");
            }
        }
    }
}

fn learn(shared: &Shared, leave: &AtomicBool) {
    if let Err(error) = shared.learn_keys(leave) {
        tracing::warn!(%error, "what the store has cannot be listed; the database is asked for each new run");
    }
}

/// Writes a snapshot of what the database holds; none when told to leave.
pub(super) fn write(shared: &Shared, leave: &AtomicBool) -> Result<Option<Head>, StoreError> {
    let dir = dir_of(&shared.dir);
    let refused = |error| StoreError::io("cannot write a snapshot in", &dir, error);
    make_dir(&dir).map_err(refused)?;
    let before = list(&dir)?;
    let newest = before.first().and_then(|(_, path)| fs::metadata(path).ok());
    let as_before = newest.map_or(0, |data| data.len());
    reserve::check_room(&dir, ROOM_BYTES.saturating_add(as_before)).map_err(refused)?;
    let number = before.first().map_or(1, |(number, _)| number + 1);
    let path = dir.join(format!("{number:08}.{EXTENSION}"));
    let unfinished = path.with_extension(UNFINISHED);
    let head = Head {
        start: shared.journal_start.load(Ordering::Acquire),
        at_ms: now_ms(),
    };
    let written = write_values(shared, leave, head, &unfinished);
    let named = written.and_then(|is_whole| {
        if is_whole {
            let named = fs::rename(&unfinished, &path);
            named.and_then(|()| sync_dir(&dir)).map_err(refused)?;
        }
        Ok(is_whole)
    });
    if !matches!(named, Ok(true)) {
        // What it takes up may be needed.
        let _ = fs::remove_file(&unfinished);
    }
    if !named? {
        return Ok(None);
    }
    for (_, old) in before.into_iter().skip(KEPT - 1) {
        let _ = fs::remove_file(old);
    }
    Ok(Some(head))
}

/// Writes what the database holds to a file, and syncs it. False when told to leave.
fn write_values(
    shared: &Shared,
    leave: &AtomicBool,
    head: Head,
    path: &Path,
) -> Result<bool, StoreError> {
    let refused = |error| StoreError::io("cannot write the snapshot", path, error);
    let out = File::create(path).map(BufWriter::new).map_err(refused)?;
    let mut records = Records::begin(out, head).map_err(refused)?;
    let format = records.add(keys::SCHEMA, &SCHEMA_KNOWN.to_be_bytes());
    format.map_err(refused)?;
    let mut after = Vec::new();
    let (mut untrimmed_bytes, mut unlooked_bytes) = (0, 0);
    while let Some((key, value)) = next(shared, &after)? {
        if leave.load(Ordering::Relaxed) {
            return Ok(false);
        }
        records.add(&key, &value).map_err(refused)?;
        untrimmed_bytes += value.len() as u64;
        // Neighbours come in one page.
        if untrimmed_bytes >= shared.bytes_a_trim() * pieces::PAGE_VALUES as u64 {
            shared.read(|db| pieces::trim_cache(db, &key))?;
            untrimmed_bytes = 0;
        }
        unlooked_bytes += key.len() + value.len();
        if unlooked_bytes >= BYTES_A_LOOK {
            reserve::check_room(path, ROOM_BYTES).map_err(refused)?;
            unlooked_bytes = 0;
        }
        after = key;
    }
    let finished = records
        .end()
        .and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    let finished = finished.and_then(|file| file.sync_all());
    finished.map(|()| true).map_err(refused)
}

type KeyAndValue = (Vec<u8>, Vec<u8>);

/// The next key behind this one, with its whole value.
fn next(shared: &Shared, after: &[u8]) -> Result<Option<KeyAndValue>, StoreError> {
    shared.read(|db| {
        // What else the store says of itself is not told again, and pieces come with the keys that they belong to.
        let after = after.max(keys::BEFORE_VALUES);
        loop {
            let Some((key, first)) = db.get_gt(after)? else {
                return Ok(None);
            };
            if !keys::is_in_pieces(&key) {
                return Ok(Some((key.to_vec(), first.to_vec())));
            }
            if let Some(value) = pieces::whole(db, &key, &first)? {
                return Ok(Some((key.to_vec(), value)));
            }
        }
    })
}

pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path) -> Head {
        let head = Head { start: 7, at_ms: 9 };
        let file = File::create(path).unwrap();
        let mut records = Records::begin(file, head).unwrap();
        for number in 0..20_u8 {
            records
                .add(&[number], &vec![number; usize::from(number)])
                .unwrap();
        }
        records.end().unwrap();
        head
    }

    /// Given a snapshot, all of it comes back; given one with any byte changed, or cut anywhere, it is not believed.
    #[test]
    fn a_snapshot_is_whole_or_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("00000001.snapshot");
        let head = written(&path);
        let mut keys = Vec::new();
        let read_back = read(&path, |key, value| {
            assert_eq!(value, vec![key[0]; usize::from(key[0])]);
            keys.push(key[0]);
            Ok(())
        });
        assert_eq!(read_back.unwrap(), head);
        assert_eq!(keys, (0..20).collect::<Vec<_>>());
        let bytes = fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            // The second number of the end says nothing.
            let is_end = (bytes.len() - 12..bytes.len() - 8).contains(&place);
            fs::write(&path, &changed).unwrap();
            assert_eq!(read(&path, |_, _| Ok(())).is_ok(), is_end, "{place}");
            fs::write(&path, &bytes[..place]).unwrap();
            read(&path, |_, _| Ok(())).unwrap_err();
        }
    }
}
