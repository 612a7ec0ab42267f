//! Records of the journal as bytes, and the way back.
//!
//! ```text
//! [length u64][hash u64][position u64][payload][zeros to a multiple of 8] ... [end mark: 8 zeros]
//! ```
//!
//! Numbers are little-endian; the hash covers position and payload. The end mark is written with the record before it
//! and lies where the next one goes.
//!
//! The reader takes a record for what it claims to be if its hash is right and its position is not below the one that
//! comes next: what was in a segment before it was written anew has lower ones. Where there is no such record, the rest
//! of the segment is searched for one, so that damage costs what it hit and not what follows. What is not found is
//! reported by its position as soon as a later record shows that it was there; what comes behind the last
//! record of all was torn by a crash before anybody had been answered, and is left out.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

const HEADER_BYTES: usize = 24;
pub(super) const END_MARK_BYTES: usize = 8;

/// Records begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

const EXTENSION: &str = "log";

/// What the reader came across.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Found {
    /// A record.
    Record {
        /// Number of the segment that holds it.
        segment: u64,
        position: u64,
        payload: Vec<u8>,
    },
    /// The records with these positions are not there, or not whole.
    Missing {
        /// The first.
        from: u64,
        /// The one behind the last, which is there.
        until: u64,
    },
    /// Something that is no record, behind the last one of a segment.
    Torn,
}

impl Found {
    /// What of it concerns positions from `start` on.
    pub(super) fn at_or_after(self, start: u64) -> Option<Self> {
        match self {
            Self::Record { position, .. } if position < start => None,
            Self::Missing { until, .. } if until <= start => None,
            Self::Missing { from, until } => Some(Self::Missing {
                from: from.max(start),
                until,
            }),
            found => Some(found),
        }
    }
}

/// Makes a record with its end mark.
pub(super) fn frame<'a>(
    record: &mut Vec<u8>,
    position: u64,
    parts: impl Iterator<Item = &'a [u8]>,
) {
    record.clear();
    record.resize(HEADER_BYTES, 0);
    for part in parts {
        record.extend_from_slice(part);
    }
    let payload = &record[HEADER_BYTES..];
    let header = [
        payload.len() as u64,
        xxh3_64_with_seed(payload, position),
        position,
    ];
    for (place, number) in record.chunks_exact_mut(8).zip(header) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    record.resize(record.len().next_multiple_of(ALIGNMENT) + END_MARK_BYTES, 0);
}

/// The record that begins at this byte, if one does: its position, its payload and where it ends.
fn record_at(bytes: &[u8], at: usize, least: u64) -> Option<(u64, &[u8], usize)> {
    let header = bytes.get(at..at + HEADER_BYTES)?;
    let (numbers, _) = header.as_chunks();
    let [length, hash, position] = [0, 1, 2].map(|place| u64::from_le_bytes(numbers[place]));
    if position < least || length == 0 {
        return None;
    }
    let start = at + HEADER_BYTES;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    let payload = bytes.get(start..end)?;
    let is_whole = hash == xxh3_64_with_seed(payload, position);
    is_whole.then_some((position, payload, end.next_multiple_of(ALIGNMENT)))
}

/// Name of a segment.
pub(super) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.{EXTENSION}"))
}

/// Numbers of the segments in a directory, in order.
pub(super) fn segment_numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            continue;
        }
        let name = PathBuf::from(entry.file_name());
        let stem = name.file_stem().and_then(|stem| stem.to_str());
        if name.extension().is_some_and(|found| found == EXTENSION) {
            numbers.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads all segments, in order of position.
pub(in crate::store) struct Reader {
    dir: PathBuf,
    segments: VecDeque<u64>,
    /// The segment that is being read, and its number.
    bytes: Vec<u8>,
    segment: u64,
    at: usize,
    /// Position that the next record should have.
    expected: u64,
}

impl Reader {
    /// A reader of the records from position `start` on.
    pub(in crate::store) fn new(dir: &Path, start: u64) -> io::Result<Self> {
        Ok(Self {
            dir: dir.to_owned(),
            segments: segment_numbers(dir)?.into(),
            bytes: Vec::new(),
            segment: 0,
            at: 0,
            expected: start,
        })
    }

    /// Something other than the end mark, where nothing but a record or an end mark should be.
    fn is_torn(&self) -> bool {
        let next = self.bytes.get(self.at..self.at + END_MARK_BYTES);
        self.at > 0 && next.is_some_and(|next| next.iter().any(|byte| *byte != 0))
    }
}

impl Iterator for Reader {
    type Item = io::Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut places = (self.at..self.bytes.len()).step_by(ALIGNMENT);
            let found = places.find_map(|at| {
                let (position, payload, end) = record_at(&self.bytes, at, self.expected)?;
                Some((at, position, payload, end))
            });
            if let Some((at, position, payload, end)) = found {
                if position > self.expected {
                    self.at = at;
                    let from = std::mem::replace(&mut self.expected, position);
                    let until = position;
                    return Some(Ok(Found::Missing { from, until }));
                }
                self.expected += 1;
                let payload = payload.to_vec();
                self.at = end;
                return Some(Ok(Found::Record {
                    segment: self.segment,
                    position,
                    payload,
                }));
            }
            if self.is_torn() {
                self.at = self.bytes.len();
                return Some(Ok(Found::Torn));
            }
            self.segment = self.segments.pop_front()?;
            self.at = 0;
            match fs::read(path(&self.dir, self.segment)) {
                Ok(bytes) => self.bytes = bytes,
                // It was given up a moment ago: nobody needs it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.bytes.clear(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
