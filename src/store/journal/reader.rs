//! Records of the journal as bytes, and the way back.
//!
//! ```text
//! [length u64][hash u64][position u64][payload][zeros to a multiple of 8] ... [end mark: 8 zeros]
//! ```
//!
//! Numbers are little-endian; the hash covers position, payload and the segment's *salt*. The end mark is written with the
//! record before it and lies where the next one goes.
//!
//! The reader takes a record for what it claims to be if its hash is right and its position is not below the one that
//! comes next. Where there is no record, the rest of the segment is searched for one, so that damage costs what it hit and
//! not what follows. There lies what was recorded before the segment was written anew, in words that senders have chosen:
//! the salt, a random number in the segment's name, is what they would need to have theirs taken for records. What is not
//! found is reported by its position as soon as a later record shows that it was there; what comes behind the last record of
//! all was torn by a crash before anybody had been answered, and is left out.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

const HEADER_BYTES: usize = 24;
pub(super) const END_MARK_BYTES: usize = 8;

/// Records begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

/// Further above the one that comes next no position is: so many commits there never are between two records.
const POSITIONS_AHEAD: u64 = 1 << 32;

/// How often the bytes of a segment may be hashed in the search for a record, all together. What merely looks like the head
/// of one is rare, unless somebody has put it into what was recorded, to make each start long.
const SEARCH_MAX: usize = 16;

/// How much of a segment is read. None has more, whatever its length says: a longer record is not written.
pub(super) const READ_BYTES_MAX: u64 = 256 << 20;

const EXTENSION: &str = "log";

/// A file of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct Segment {
    /// Above those of all that were begun before.
    pub(super) number: u64,
    /// What the hashes of its records begin with.
    salt: u64,
}

impl Segment {
    /// The next one, with a salt that nobody can foresee.
    pub(super) fn begin(number: u64) -> Self {
        let salt = RandomState::new().hash_one(number);
        Self { number, salt }
    }

    /// Where it lies in the journal's directory.
    pub(super) fn path(self, dir: &Path) -> PathBuf {
        let Self { number, salt } = self;
        dir.join(format!("{number:08}-{salt:016x}.{EXTENSION}"))
    }

    /// By the name of its file.
    fn named(name: &Path) -> Option<Self> {
        let (number, salt) = name.file_stem()?.to_str()?.split_once('-')?;
        let is_ours = name.extension().is_some_and(|found| found == EXTENSION);
        is_ours.then_some(Self {
            number: number.parse().ok()?,
            salt: u64::from_str_radix(salt, 16).ok()?,
        })
    }

    /// Where the hash of a record with this position starts.
    fn seed(self, position: u64) -> u64 {
        self.salt.wrapping_add(position)
    }
}

/// What the reader came across.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Found {
    /// A record.
    Record {
        /// The segment that holds it.
        segment: Segment,
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

/// Lays out a record of these parts with its end mark, to be [sealed](seal): the length of its payload.
pub(super) fn lay_out<'a>(record: &mut Vec<u8>, parts: impl Iterator<Item = &'a [u8]>) -> usize {
    record.clear();
    record.resize(HEADER_BYTES, 0);
    for part in parts {
        record.extend_from_slice(part);
    }
    let length = record.len() - HEADER_BYTES;
    record.resize(record.len().next_multiple_of(ALIGNMENT) + END_MARK_BYTES, 0);
    length
}

/// Makes what is laid out, with a payload of that length, a record of this segment.
pub(super) fn seal(record: &mut [u8], length: usize, segment: Segment, position: u64) {
    let payload = &record[HEADER_BYTES..][..length];
    let hash = xxh3_64_with_seed(payload, segment.seed(position));
    for (place, number) in record
        .chunks_exact_mut(8)
        .zip([length as u64, hash, position])
    {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// Where a record lies in its segment.
struct Framed {
    position: u64,
    payload: Range<usize>,
    /// Where it ends, and another one may begin.
    end: usize,
    is_whole: bool,
}

/// What claims to be a record at this byte of a segment, if anything does that has one of these positions.
fn record_at(segment: Segment, bytes: &[u8], at: usize, positions: Range<u64>) -> Option<Framed> {
    let header = bytes.get(at..at + HEADER_BYTES)?;
    let (numbers, _) = header.as_chunks();
    let [length, hash, position] = [0, 1, 2].map(|place| u64::from_le_bytes(numbers[place]));
    if !positions.contains(&position) || length == 0 {
        return None;
    }
    let start = at + HEADER_BYTES;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    let payload = bytes.get(start..end)?;
    Some(Framed {
        position,
        payload: start..end,
        end: end.next_multiple_of(ALIGNMENT),
        is_whole: hash == xxh3_64_with_seed(payload, segment.seed(position)),
    })
}

/// The segments in a directory, in order.
pub(super) fn segments(dir: &Path) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            segments.extend(Segment::named(Path::new(&entry.file_name())));
        }
    }
    segments.sort_unstable();
    Ok(segments)
}

/// Reads all segments, in order of position.
pub(in crate::store) struct Reader {
    dir: PathBuf,
    segments: VecDeque<Segment>,
    /// The segment that is being read, and what is in it.
    segment: Segment,
    bytes: Vec<u8>,
    /// Behind which there are only zeros, with which no record begins.
    filled: usize,
    at: usize,
    /// Whether a record of this segment was told of.
    has_records: bool,
    /// Position that the next record should have.
    expected: u64,
}

impl Reader {
    /// A reader of the records from position `start` on.
    pub(in crate::store) fn new(dir: &Path, start: u64) -> io::Result<Self> {
        Ok(Self {
            dir: dir.to_owned(),
            segments: segments(dir)?.into(),
            segment: Segment { number: 0, salt: 0 },
            bytes: Vec::new(),
            filled: 0,
            at: 0,
            has_records: false,
            expected: start,
        })
    }

    /// Something other than the end mark, where nothing but a record or an end mark should be.
    fn is_torn(&self) -> bool {
        let next = self.bytes.get(self.at..self.at + END_MARK_BYTES);
        self.has_records && next.is_some_and(|next| next.iter().any(|byte| *byte != 0))
    }

    /// Steps over whole records that nobody asked for.
    fn pass_by_older(&mut self) {
        while let Some(record) = self.record_at(self.at, 0..self.expected)
            && record.is_whole
        {
            self.at = record.end;
        }
    }

    fn record_at(&self, at: usize, positions: Range<u64>) -> Option<Framed> {
        record_at(self.segment, &self.bytes, at, positions)
    }

    /// The next record that is there, from here on.
    fn search(&self) -> Option<Framed> {
        let positions = self.expected..self.expected.saturating_add(POSITIONS_AHEAD);
        // Where damage has left the length of a record as it was, the next one lies behind it.
        if let Some(hit) = self.record_at(self.at, positions.clone())
            && !hit.is_whole
            && let Some(next) = self.record_at(hit.end, positions.clone())
            && next.is_whole
        {
            return Some(next);
        }
        let mut left = SEARCH_MAX * self.bytes.len();
        for at in (self.at..self.filled).step_by(ALIGNMENT) {
            let Some(record) = self.record_at(at, positions.clone()) else {
                continue;
            };
            if record.is_whole {
                return Some(record);
            }
            left = left.checked_sub(record.payload.len())?;
        }
        None
    }
}

impl Iterator for Reader {
    type Item = io::Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.pass_by_older();
            if let Some(record) = self.search() {
                self.has_records = true;
                if record.position > self.expected {
                    self.at = record.payload.start - HEADER_BYTES;
                    let from = std::mem::replace(&mut self.expected, record.position);
                    let until = record.position;
                    return Some(Ok(Found::Missing { from, until }));
                }
                self.expected += 1;
                self.at = record.end;
                return Some(Ok(Found::Record {
                    segment: self.segment,
                    position: record.position,
                    payload: self.bytes[record.payload].to_vec(),
                }));
            }
            if self.is_torn() {
                self.at = self.bytes.len();
                return Some(Ok(Found::Torn));
            }
            self.segment = self.segments.pop_front()?;
            self.at = 0;
            self.has_records = false;
            self.bytes.clear();
            let file = File::open(self.segment.path(&self.dir));
            let read = file.and_then(|file| file.take(READ_BYTES_MAX).read_to_end(&mut self.bytes));
            match read {
                Ok(_) => {}
                // It was given up a moment ago: nobody needs it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Some(Err(error)),
            }
            let last = self.bytes.iter().rposition(|byte| *byte != 0);
            self.filled = last.map_or(0, |last| last + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A segment whose salt is known: what its records look like can be foreseen.
    const FORESEEN: Segment = Segment { number: 1, salt: 0 };

    /// Bytes in which a head of a record begins at each third word: of a long record, with this position.
    fn like_heads(bytes: usize, position: u64) -> Vec<u8> {
        let head = [bytes as u64 / 2, 7, position].map(u64::to_le_bytes);
        head.concat().repeat(bytes / HEADER_BYTES)
    }

    /// What a reader from `start` on finds in a segment, by position: records as they are, what is missing up to where.
    fn found(segment: &[u8], start: u64) -> Vec<(u64, Option<u64>)> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(FORESEEN.path(dir.path()), segment).unwrap();
        let began = Instant::now();
        let found = Reader::new(dir.path(), start).unwrap();
        let found = found.filter_map(|found| match found.unwrap() {
            Found::Record { position, .. } => Some((position, None)),
            Found::Missing { from, until } => Some((from, Some(until))),
            Found::Torn => None,
        });
        let found = found.collect();
        assert!(began.elapsed() < Duration::from_secs(10));
        found
    }

    /// Given a journal of which only the end is wanted, what lies before it is passed by, record by record: what was
    /// recorded is not searched for records.
    #[test]
    fn what_nobody_asks_for_is_passed_by() {
        let (mut segment, mut record) = (Vec::new(), Vec::new());
        let payload = like_heads(1 << 20, 100);
        for position in 1..=8 {
            let length = lay_out(&mut record, [payload.as_slice()].into_iter());
            seal(&mut record, length, FORESEEN, position);
            segment.truncate(segment.len().saturating_sub(END_MARK_BYTES));
            segment.extend_from_slice(&record);
        }
        assert_eq!(found(&segment, 7), [(7, None), (8, None)]);
        assert_eq!(found(&segment, 9), []);
        // With damage in it, what follows the damage is found.
        let third = 2 * (HEADER_BYTES + payload.len());
        segment[third + HEADER_BYTES] ^= 1;
        assert_eq!(found(&segment, 3)[..2], [(3, Some(4)), (4, None)]);
    }

    /// Given a file of nothing but what looks like heads of records, it is given up in time.
    #[test]
    fn what_looks_like_records_does_not_hold_up_the_start() {
        assert_eq!(found(&like_heads(16 << 20, 1), 1), []);
    }

    /// Given a gap that begins before the position from which on somebody asks, what is missing begins there.
    #[test]
    fn a_gap_counts_from_where_it_matters() {
        let gap = |from| Found::Missing { from, until: 9 };
        assert_eq!(gap(3).at_or_after(5), Some(gap(5)));
        assert_eq!(gap(7).at_or_after(5), Some(gap(7)));
        assert_eq!(gap(3).at_or_after(9), None);
    }
}
