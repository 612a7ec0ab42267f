//! The journal: what was committed, one record a group, in files that are only written forward.
//!
//! A *segment* is a file of records one behind the other. When it is full the next one is begun; when nobody needs any
//! of its records it is written anew from its start, under a new number. So files stop growing, and a commit that is to
//! survive a power cut writes data and nothing else: no length, no new block, half the work of a sync that has both
//! to write. For the same reason a segment grows by zeros, a piece at a time, ahead of its records.
//!
//! Nothing is ever removed from within a segment. What lies behind its newest record is the end mark, and behind that
//! older records, which their positions give away. A segment that another process wrote is only read.

mod reader;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::durable::sync_dir;
use super::error::StoreError;
use super::lock::is_same;
use reader::{ALIGNMENT, END_MARK_BYTES, Segment};
pub(super) use reader::{Found, Reader};

/// Where a new segment is begun instead. A longer record makes its segment longer.
const SEGMENT_BYTES: u64 = 16 << 20;

/// By how much a segment grows.
const GROWTH_BYTES: u64 = 1 << 20;

/// Length of a record from which it makes its own room: for one that is shorter, a sync costs more than its bytes.
const ITS_OWN_ROOM_BYTES: u64 = 16 << 10;

/// What a segment grows by, in pieces.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Segments kept to be written anew. Under the heaviest load one lasts for half a second.
const FREE_MAX: usize = 4;

/// Bytes of full segments from which none is kept for the sake of a snapshot alone. Making the database anew would then cost what
/// lies between the snapshot and the oldest segment. Their number says little: each process begins one of its own.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// The journal, as its only writer has it.
pub(super) struct Journal {
    dir: PathBuf,
    /// Whether records are brought through to the disk.
    syncs: bool,
    segment_bytes: u64,
    active: Option<Active>,
    /// Full segments, oldest first, and those that earlier processes wrote.
    full: VecDeque<Full>,
    /// Segments that nobody needs.
    free: Vec<Segment>,
    /// Number of the next segment.
    next: u64,
    /// The record that is being written.
    buffer: Vec<u8>,
}

/// The segment that is being written.
struct Active {
    file: File,
    segment: Segment,
    /// Where the next record goes: over the end mark.
    end: u64,
    /// Length of the file.
    length: u64,
    /// Position of its newest record.
    last: u64,
}

struct Full {
    segment: Segment,
    /// Position of its newest record.
    last: u64,
    /// Length of the file.
    bytes: u64,
}

impl Journal {
    /// Opens the journal in a directory, which is made if it is not there, and shows `each` record from position
    /// `start` on. Files with records from `keep_from` on, which is not above `start`, are left alone.
    ///
    /// # Errors
    /// Those of the file system, and those of `each`.
    pub(super) fn open(
        dir: &Path,
        syncs: bool,
        start: u64,
        keep_from: u64,
        mut each: impl FnMut(Found) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let refused = |error| StoreError::io("cannot read the journal in", dir, error);
        fs::create_dir_all(dir).map_err(refused)?;
        let segments = reader::segments(dir).map_err(refused)?;
        let mut newest: BTreeMap<Segment, u64> =
            segments.into_iter().map(|segment| (segment, 0)).collect();
        for found in Reader::new(dir, keep_from.min(start)).map_err(refused)? {
            let found = found.map_err(refused)?;
            if let Found::Record {
                segment, position, ..
            } = &found
            {
                newest.insert(*segment, *position);
            }
            if let Some(found) = found.at_or_after(start) {
                each(found)?;
            }
        }
        let last = newest.keys().next_back();
        let next = last.map_or(1, |last| last.number + 1);
        let (free, full): (Vec<_>, Vec<_>) = newest.into_iter().partition(|(_, last)| *last == 0);
        let full = full.into_iter().map(|(segment, last)| {
            // It has just been read.
            let bytes = fs::metadata(segment.path(dir)).map_or(0, |file| file.len());
            Full {
                segment,
                last,
                bytes,
            }
        });
        let mut journal = Self {
            dir: dir.to_owned(),
            syncs,
            segment_bytes: SEGMENT_BYTES,
            active: None,
            full: full.collect(),
            free: Vec::new(),
            next,
            buffer: Vec::new(),
        };
        for (segment, _) in free {
            journal.spare(segment);
        }
        Ok(journal)
    }

    /// Position of the newest record; 0 without any.
    pub(super) fn newest(&self) -> u64 {
        let active = self.active.as_ref().map(|active| active.last);
        let full = self.full.back().map(|full| full.last);
        active.or(full).unwrap_or(0)
    }

    /// Writes a record of these parts. When this returns it is as safe as it is going to be.
    ///
    /// After an error nobody knows what is on disk: nothing may be written any more.
    pub(super) fn append<'a>(
        &mut self,
        position: u64,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        let length = reader::lay_out(&mut self.buffer, parts);
        let bytes = self.buffer.len() as u64;
        if bytes > reader::READ_BYTES_MAX {
            let text = format!("a record of {bytes} bytes is longer than one that is read again");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let has_room = |active: &Active| active.end + bytes <= self.segment_bytes;
        if !self.active.as_ref().is_some_and(has_room) {
            self.begin_segment()?;
        }
        let active = self.active.as_mut().expect("a segment has just been begun");
        reader::seal(&mut self.buffer, length, active.segment, position);
        if self.syncs {
            active.grow(active.end + bytes)?;
        }
        active.file.seek(SeekFrom::Start(active.end))?;
        active.file.write_all(&self.buffer)?;
        if self.syncs {
            active.file.sync_data()?;
        }
        active.end += bytes - END_MARK_BYTES as u64;
        active.last = position;
        debug_assert!(active.end.is_multiple_of(ALIGNMENT as u64));
        Ok(())
    }

    /// Whether some segment holds nothing from position `start` on, and nothing from `keep_from` on either, unless all
    /// take more than may be kept for that.
    pub(super) fn can_free(&self, start: u64, keep_from: u64) -> bool {
        let bytes: u64 = self.full.iter().map(|full| full.bytes).sum();
        let start = if bytes > KEPT_BYTES_MAX {
            start
        } else {
            start.min(keep_from)
        };
        self.full.front().is_some_and(|full| full.last < start)
    }

    /// Gives up the segments that [`Journal::can_free`] speaks of. That nobody needs them must be on disk.
    pub(super) fn free(&mut self, start: u64, keep_from: u64) {
        while self.can_free(start, keep_from)
            && let Some(full) = self.full.pop_front()
        {
            self.spare(full.segment);
        }
    }

    /// Keeps a segment that nobody needs to be written anew, or removes it where there are enough of these.
    fn spare(&mut self, segment: Segment) {
        if self.free.len() < FREE_MAX {
            self.free.push(segment);
        } else if let Err(error) = fs::remove_file(segment.path(&self.dir)) {
            tracing::warn!(%error, "a file of the journal that nobody needs cannot be removed");
        }
    }

    /// Leaves the segment that is being written where somebody has removed, replaced or cut its file: the next record goes to
    /// another one. Says whether that was so.
    pub(super) fn leave_lost(&mut self) -> bool {
        let is_lost = |active: &Active| {
            let there = fs::metadata(active.segment.path(&self.dir));
            match (there, active.file.metadata()) {
                (Ok(there), Ok(held)) => !is_same(&there, &held) || there.len() < active.end,
                (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
                // A write that fails will say more.
                _ => false,
            }
        };
        self.active.take_if(|active| is_lost(active)).is_some()
    }

    /// Begins the next segment: one that is free, else a new one.
    fn begin_segment(&mut self) -> io::Result<()> {
        if let Some(active) = self.active.take() {
            self.full.push_back(Full {
                segment: active.segment,
                last: active.last,
                bytes: active.length.max(active.end),
            });
        }
        let segment = Segment::begin(self.next);
        let path = segment.path(&self.dir);
        let is_renamed = loop {
            let Some(free) = self.free.pop() else {
                break false;
            };
            match fs::rename(free.path(&self.dir), &path) {
                Ok(()) => break true,
                // Somebody has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        };
        let file = if is_renamed {
            OpenOptions::new().write(true).open(&path)?
        } else {
            File::create_new(&path)?
        };
        // Under its old number the segment would be read before those that are older than its new records.
        if self.syncs {
            sync_dir(&self.dir)?;
        }
        self.next += 1;
        self.active = Some(Active {
            length: file.metadata()?.len(),
            file,
            segment,
            end: 0,
            last: 0,
        });
        Ok(())
    }

    /// A journal whose segments are shorter.
    #[cfg(test)]
    pub(super) fn set_segment_bytes(&mut self, bytes: u64) {
        self.segment_bytes = bytes;
    }

    /// The file that is being written, and where its records end.
    #[cfg(test)]
    pub(super) fn end(&self) -> Option<(PathBuf, u64)> {
        let active = self.active.as_ref()?;
        Some((active.segment.path(&self.dir), active.end))
    }

    /// Has the next record go to another file.
    #[cfg(test)]
    pub(super) fn divert(&mut self, file: File) {
        self.syncs = true;
        self.active = Some(Active {
            file,
            segment: Segment::begin(0),
            end: 0,
            length: u64::MAX,
            last: 0,
        });
    }
}

impl Active {
    /// Sees to it that the file has room for a record up to here, and some more if it has not. A large record makes its own
    /// room: to write as many zeros before it would cost more than the longer sync.
    fn grow(&mut self, end: u64) -> io::Result<()> {
        if end > self.length {
            let missing = end - self.length;
            let more = if end - self.end >= ITS_OWN_ROOM_BYTES {
                missing
            } else {
                let more = missing.next_multiple_of(GROWTH_BYTES);
                self.file.seek(SeekFrom::Start(self.length))?;
                for _ in 0..more / ZEROS.len() as u64 {
                    self.file.write_all(&ZEROS)?;
                }
                more
            };
            self.length += more;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given more segments than are kept to be written anew, of which nobody needs any, opening removes the rest.
    #[test]
    fn opening_leaves_few_free_segments() {
        let dir = tempfile::tempdir().unwrap();
        let open = |start| Journal::open(dir.path(), false, start, start, |_| Ok(())).unwrap();
        let files = || fs::read_dir(dir.path()).unwrap().count();
        let mut journal = open(1);
        journal.set_segment_bytes(64);
        for position in 1..=10 {
            let parts = [&[7_u8; 100][..]];
            journal.append(position, parts.into_iter()).unwrap();
        }
        drop(journal);
        assert_eq!(files(), 10);
        drop(open(8));
        assert_eq!(files(), 3 + FREE_MAX);
        let mut journal = open(11);
        assert_eq!(files(), FREE_MAX);
        journal.append(11, [&[7_u8; 100][..]].into_iter()).unwrap();
        assert_eq!(open(1).newest(), 11);
    }
}
