//! Which runs and traces the database surely knows nothing of.
//!
//! A run that is heard of for the first time is looked for before it is begun, and its trace before that. Whoever looks into the
//! database may have to wait for its writer or for the disk, and a shard that waits answers nobody. The writer itself looks
//! what belongs to a run already, which mostly is nothing. So what comes into the database is noted in a filter of bits
//! (Bloom's): what the filter lacks is not there. Seldom it has what is not there, and then the database is asked, as it always
//! was.
//!
//! A database that is opened empty has its filter at once. For any other one, the thread that writes snapshots makes it, beside
//! the work, from the states, traces and belongings that it has; until then the database is asked. The same thread makes another
//! one when runs have come, or come and gone, for so long that the filter has too much. It has room for twice what was there.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::StoreError;
use super::hashing::Seeded;
use super::keys;
use super::pieces;
use super::shared::Shared;

/// Bits for each key that is expected. With this many and as many looks as there are, one key in 400 is taken for there.
const BITS_A_KEY: usize = 16;
const LOOKS: u64 = 4;

/// Keys for which there is always room (128 KiB), and for which there is at most (32 MiB).
const KEYS_MIN: usize = 1 << 16;
const KEYS_MAX: usize = 1 << 24;

/// Keys that are read at a time, so that nobody waits for all of them.
const KEYS_TOGETHER: usize = 1_000;

/// What is known to be in the database, or may be.
#[derive(Default)]
pub(super) struct Known(Mutex<Filters>);

#[derive(Default)]
struct Filters {
    /// Of all keys that there are, once that is known.
    all: Option<Filter>,
    /// The next one, while the keys are being read.
    coming: Option<Filter>,
}

struct Filter {
    words: Vec<u64>,
    /// How many keys it has, without those that seemed to be there already.
    keys: usize,
}

impl Known {
    /// Of a database without runs and traces.
    pub(super) fn nothing() -> Self {
        Self(Mutex::new(Filters {
            all: Some(Filter::for_keys(0)),
            coming: None,
        }))
    }

    /// Whether a key is surely not in the database.
    pub(super) fn lacks(&self, key: &[u8]) -> bool {
        let filters = self.filters();
        filters.all.as_ref().is_some_and(|all| !all.has(key))
    }

    /// Notes what is in the database from now on, before anybody relies on finding it there.
    pub(super) fn add(&self, keys: impl Iterator<Item = Vec<u8>>) {
        let Filters { all, coming } = &mut *self.filters();
        for key in keys {
            for filter in [&mut *all, &mut *coming].into_iter().flatten() {
                filter.add(&key);
            }
        }
    }

    /// Whether a filter is to be made: there is none, or it has too much.
    pub(super) fn is_wanted(&self) -> bool {
        self.filters().all.as_ref().is_none_or(Filter::is_crowded)
    }

    fn filters(&self) -> MutexGuard<'_, Filters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter {
    fn for_keys(keys: usize) -> Self {
        let bits = (keys.clamp(KEYS_MIN, KEYS_MAX) * BITS_A_KEY).next_power_of_two();
        Self {
            words: vec![0; bits / 64],
            keys: 0,
        }
    }

    fn add(&mut self, key: &[u8]) {
        if !self.has(key) {
            for (word, bit) in self.places(key) {
                self.words[word] |= bit;
            }
            self.keys += 1;
        }
    }

    fn has(&self, key: &[u8]) -> bool {
        self.places(key)
            .all(|(word, bit)| self.words[word] & bit != 0)
    }

    /// Whether it has twice the keys that it has room for, by when one in 40 is taken for there, and could be made better.
    fn is_crowded(&self) -> bool {
        let room = self.words.len() * 64 / BITS_A_KEY;
        self.keys > 2 * room && room < KEYS_MAX
    }

    fn places(&self, key: &[u8]) -> impl Iterator<Item = (usize, u64)> + use<> {
        let hash = Seeded::default().hash_one(key);
        // Two halves of one hash serve as well as many hashes (Kirsch and Mitzenmacher).
        let (first, step) = (hash, hash >> 32 | 1);
        let words = self.words.len() as u64;
        (0..LOOKS).map(move |look| {
            let place = first.wrapping_add(look.wrapping_mul(step));
            ((place / 64 % words) as usize, 1 << (place % 64))
        })
    }
}

impl Shared {
    /// Makes the filter of what is in the database, if one is wanted; none when told to leave.
    pub(super) fn learn_keys(&self, leave: &AtomicBool) -> Result<(), StoreError> {
        // A run has about one trace that is not its name, and one key of what belongs to it. Where they have far more, the first
        // filter tells how many there are.
        let mut keys = (self.run_count() as usize).saturating_mul(3);
        while self.known.is_wanted() {
            self.known.filters().coming = Some(Filter::for_keys(keys));
            let learned = self.read_keys(leave);
            let mut filters = self.known.filters();
            let coming = filters.coming.take();
            let Some(found) = learned? else {
                break;
            };
            filters.all = coming;
            keys = found.saturating_mul(2);
        }
        Ok(())
    }

    /// Notes all runs that have a state, all traces and what belongs to runs, and answers how many these are; none when told to
    /// leave. What comes meanwhile is noted by whoever brings it.
    fn read_keys(&self, leave: &AtomicBool) -> Result<Option<usize>, StoreError> {
        let mut count = 0;
        for kind in [keys::RUN, keys::ALIAS, keys::BELONGINGS] {
            let range = keys::all(kind);
            let (mut start, end) = (range.start.to_vec(), range.end);
            loop {
                let found: Vec<_> = self.read(|db| {
                    let found = db.range(start.clone()..end.to_vec()).keys();
                    let found: Vec<_> = found.take(KEYS_TOGETHER).collect::<sled::Result<_>>()?;
                    // The values come with their keys.
                    if kind == keys::RUN {
                        let mut of_pages = found.iter().step_by(pieces::PAGE_VALUES);
                        of_pages.try_for_each(|key| pieces::trim_cache(db, key))?;
                    }
                    Ok(found)
                })?;
                self.known.add(found.iter().map(|key| key.to_vec()));
                count += found.len();
                let Some(last) = found.last() else {
                    break;
                };
                start = keys::next(last);
                if leave.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(count))
    }
}
