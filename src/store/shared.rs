//! What the callers of the store and its thread hold in common: the database, how far it is, and whether it is well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;

use super::bundles;
use super::database::Database;
use super::error::StoreError;
use super::hashing::FastSet;
use super::keys;
use super::known::Known;
use super::open::{self, DATABASE, JOURNAL, LOG};
use super::pending::Pending;
use super::pieces;

use super::records::TurnWriter;
use super::removal::Removals;
use super::snapshot;
use super::{Counters, Options};
use crate::engine::event::Text;
use crate::telemetry::Counter;

/// Writers of turns that are kept: as many as shards usually write at a time.
const SPARES_MAX: usize = 4;

/// Most that a writer may keep: enough for a turn of four thousand events.
const SPARE_BYTES_MAX: usize = 8 << 20;

/// In place of a position: how many runs there are is not known.
const NOT_COUNTED: u64 = u64::MAX;

/// Writers of turns, each in the box in which it goes from thread to thread.
pub(super) type Writers = Vec<Box<TurnWriter>>;

/// The database and everything about it that more than one thread looks at.
pub(super) struct Shared {
    pub(super) db: Database,
    pub(super) dir: PathBuf,
    pub(super) alerts_max: u64,
    cache_bytes: u64,
    /// Bytes of disk that are held back.
    pub(super) reserve_bytes: u64,
    /// Our own handle of the database's log, to bring it through to the disk with; none where the end of the process is all that is
    /// feared.
    pub(super) log: Option<File>,
    /// The newest committed journal position; written by the store's thread.
    pub(super) position: AtomicU64,
    /// The first journal position that somebody may need; written by the store's thread.
    pub(super) journal_start: AtomicU64,
    /// The first journal position that the newest snapshot needs; written by the thread that makes them.
    pub(super) snapshot_start: AtomicU64,
    /// When the newest snapshot was begun, milliseconds since 1970; 0 where there is none.
    pub(super) snapshot_at_ms: AtomicU64,
    /// The alert from which on all are kept, one above the newest when there is none; written by the store's thread.
    pub(super) first_cursor: AtomicU64,
    /// The newest committed alert; sent by the store's thread.
    pub(super) last_cursor: watch::Sender<u64>,
    /// What is committed and may not be in the database yet; added to and settled by the store's thread.
    pub(super) pending: Mutex<Arc<Pending>>,
    /// Runs of which not everything is removed yet; kept by the store's thread.
    pub(super) removals: Removals,
    /// The exporters that there are, once that is known.
    exporters: Mutex<Option<BTreeSet<Vec<u8>>>>,
    /// What the database surely lacks.
    pub(super) known: Known,
    /// Runs that were begun and whose first state is not in the database yet; kept by the store's thread.
    begun: Mutex<FastSet<Text>>,
    /// How many runs there are; written by the store's thread.
    runs: AtomicU64,
    /// Up to which position of the journal they are counted; [`NOT_COUNTED`] while that is not known.
    runs_counted: AtomicU64,
    /// Writers of turns that wait for their next turn.
    spare: Mutex<Writers>,
    /// From which position on each shard needs the journal.
    needed: Mutex<BTreeMap<u16, u64>>,
    /// Why the store takes no more writes.
    failure: OnceLock<StoreError>,
    /// Whether a test wants the database not to be read.
    #[cfg(test)]
    pub(super) holds_reads: AtomicBool,
    /// Alerts that were looked at, whether they have to leave.
    #[cfg(test)]
    pub(super) looked_at: Counter,
    pub(super) closed: AtomicBool,
    /// How large the files were when they were looked at last.
    pub(super) size_bytes: AtomicU64,
    pub(super) tally: Tally,
}

/// The counters while they count.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) commits: Counter,
    pub(super) turns: Counter,
    pub(super) journal_bytes: Counter,
    pub(super) runs_saved: Counter,
    pub(super) alerts_removed: Counter,
    pub(super) alerts_lost: Counter,
    pub(super) unreadable: Counter,
    pub(super) torn: Counter,
    pub(super) snapshots: Counter,
    pub(super) snapshots_failed: Counter,
    pub(super) lost_records: Counter,
}

impl Tally {
    pub(super) fn read(&self) -> Counters {
        Counters {
            commits: self.commits.value(),
            turns: self.turns.value(),
            journal_bytes: self.journal_bytes.value(),
            runs_saved: self.runs_saved.value(),
            alerts_removed: self.alerts_removed.value(),
            alerts_lost: self.alerts_lost.value(),
            unreadable: self.unreadable.value(),
            torn: self.torn.value(),
            snapshots: self.snapshots.value(),
            snapshots_failed: self.snapshots_failed.value(),
            lost_records: self.lost_records.value(),
        }
    }
}

impl Shared {
    /// Finds out where the alerts end.
    pub(super) fn new(
        db: Database,
        log: Option<File>,
        dir: PathBuf,
        options: &Options,
    ) -> Result<Self, StoreError> {
        let mut shared = Self {
            db,
            log,
            dir,
            alerts_max: options.alerts_max.max(1),
            cache_bytes: options.cache_bytes,
            reserve_bytes: options.reserve_bytes,
            position: AtomicU64::new(0),
            journal_start: AtomicU64::new(1),
            snapshot_start: AtomicU64::new(0),
            snapshot_at_ms: AtomicU64::new(0),
            first_cursor: AtomicU64::new(1),
            last_cursor: watch::Sender::new(0),
            pending: Mutex::default(),
            removals: Removals::default(),
            exporters: Mutex::default(),
            known: Known::default(),
            begun: Mutex::default(),
            runs: AtomicU64::new(0),
            runs_counted: AtomicU64::new(NOT_COUNTED),
            spare: Mutex::default(),
            needed: Mutex::default(),
            failure: OnceLock::new(),
            #[cfg(test)]
            holds_reads: AtomicBool::new(false),
            #[cfg(test)]
            looked_at: Counter::new(),
            closed: AtomicBool::new(false),
            size_bytes: AtomicU64::new(0),
            tally: Tally::default(),
        };
        if shared.knows_nothing()? {
            shared.known = Known::nothing();
        }
        let start = shared.number(keys::JOURNAL_START)?.unwrap_or(1).max(1);
        shared.journal_start.store(start, Ordering::Release);
        if let Some((runs, position)) = shared.saved_run_count()?
            && position + 1 >= start
        {
            shared.runs.store(runs, Ordering::Relaxed);
            shared.runs_counted.store(position, Ordering::Relaxed);
        }
        let given = shared.number(keys::POSITION)?.unwrap_or(0);
        shared.position.store(given, Ordering::Release);
        let snapshots = snapshot::dir_of(&shared.dir);
        let kept_from = match options.snapshot_every {
            // Until there is one, everything is kept for it.
            Some(_) => snapshot::newest_start(&snapshots)?.unwrap_or(1),
            None => u64::MAX,
        };
        shared.snapshot_start.store(kept_from, Ordering::Release);
        let (oldest, newest) = shared.read(bundles::ends)?.unwrap_or((1, 0));
        let all_from = (newest + 1).saturating_sub(shared.alerts_max).max(oldest);
        shared.first_cursor.store(all_from, Ordering::Release);
        shared.last_cursor.send_replace(newest);
        shared.thin_again(oldest, all_from)?;
        Ok(shared)
    }

    pub(super) fn begun(&self) -> MutexGuard<'_, FastSet<Text>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is neither a run nor a trace in the database.
    fn knows_nothing(&self) -> Result<bool, StoreError> {
        for prefix in [keys::INDEX, keys::RUN, keys::ALIAS, keys::BELONGINGS] {
            if self
                .read(|db| db.range(keys::all(prefix)).keys().next().transpose())?
                .is_some()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many runs there are.
    pub(super) fn run_count(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// How many there were when the journal was cut last, and at which position.
    fn saved_run_count(&self) -> Result<Option<(u64, u64)>, StoreError> {
        let saved = self.read(|db| db.get(keys::RUNS))?;
        let numbers = saved.and_then(|saved| {
            let (runs, position) = saved.split_first_chunk()?;
            Some((u64::from_be_bytes(*runs), pieces::read_number(position)?))
        });
        Ok(numbers)
    }

    /// What is to be saved of the number of runs whenever the journal is cut.
    pub(super) fn run_count_to_save(&self) -> [u8; 16] {
        let numbers = [self.run_count(), self.position.load(Ordering::Acquire)];
        let mut bytes = [0; 16];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// What is to be saved of the newest position, so that a journal that loses its end is found out.
    pub(super) fn known_position(&self) -> [u8; 8] {
        self.position.load(Ordering::Acquire).to_be_bytes()
    }

    /// Counts what the record at this position began and removed, unless it is counted already.
    pub(super) fn count_runs(&self, position: u64, begun: usize, removed: usize) {
        if position <= self.runs_counted.load(Ordering::Relaxed) {
            return;
        }
        let runs = self.run_count().saturating_add(begun as u64);
        let runs = runs.saturating_sub(removed as u64);
        self.runs.store(runs, Ordering::Relaxed);
        self.runs_counted.store(position, Ordering::Relaxed);
    }

    /// The number of runs cannot be told from what was saved: there is a gap in the journal behind it.
    pub(super) fn lose_run_count(&self) {
        self.runs_counted.store(NOT_COUNTED, Ordering::Relaxed);
    }

    /// Counts the runs of the index one by one where their number is not known: in a database that was made anew, behind a
    /// gap in the journal, and where the journal has lost its end.
    pub(super) fn find_run_count(&self) -> Result<(), StoreError> {
        let position = self.position.load(Ordering::Acquire);
        if self.runs_counted.load(Ordering::Relaxed) <= position {
            return Ok(());
        }
        self.settle()?;
        self.list_again(&AtomicBool::new(false))?;
        let runs = self.read(|db| {
            let mut keys = db.range(keys::all(keys::INDEX)).keys();
            keys.try_fold(0, |runs, key| key.map(|_| runs + 1))
        })?;
        self.runs.store(runs, Ordering::Relaxed);
        self.runs_counted.store(position, Ordering::Relaxed);
        Ok(())
    }

    /// Where the journal lies: within the database's directory, since neither is of use without the other.
    pub(super) fn journal_dir(&self) -> PathBuf {
        self.dir.join(DATABASE).join(JOURNAL)
    }

    pub(super) fn exporters(&self) -> MutexGuard<'_, Option<BTreeSet<Vec<u8>>>> {
        self.exporters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of states that are read or saved between two looks at the database's cache.
    pub(super) fn bytes_a_trim(&self) -> u64 {
        pieces::bytes_a_trim(self.cache_bytes)
    }

    /// Whether the database is larger than its cache, which otherwise has nothing to let go of.
    pub(super) fn outgrows_cache(&self) -> bool {
        let log = fs::metadata(self.dir.join(DATABASE).join(LOG));
        log.map_or(true, |log| log.len() > self.cache_bytes)
    }

    /// The number under a key, if there is one.
    pub(super) fn number(&self, key: &[u8]) -> Result<Option<u64>, StoreError> {
        let value = self.read(|db| db.get(key))?;
        Ok(value.and_then(|value| pieces::read_number(&value)))
    }

    /// Reads from sled, which panics where it meets damage.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        #[cfg(test)]
        self.wait_for_reads();
        self.guarded("reading", read)
    }

    /// Writes to sled; a failure is the last write.
    pub(super) fn write<T>(
        &self,
        write: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        self.may_write()?;
        self.guarded("writing", write)
            .map_err(|error| self.fail(&error))
    }

    fn guarded<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, StoreError> {
        let done = match catch_unwind(AssertUnwindSafe(|| work(&self.db))) {
            Ok(done) => done.map_err(|error| StoreError::of_sled(error, action, &self.dir)),
            Err(_) => Err(StoreError::Damaged {
                dir: self.dir.clone(),
                reason: format!("the database gave up while {action}"),
            }),
        };
        if let Err(error @ StoreError::Damaged { reason, .. }) = &done {
            // The next opening finds out how bad it is, and mends it.
            open::doubt(&self.dir, reason);
            self.fail(error);
        }
        done
    }

    /// Brings to the disk what has been written to the database by now.
    pub(super) fn write_through(&self) -> Result<(), StoreError> {
        self.write(|db| {
            db.flush()?;
            // On Linux sled's own flush does not reach through the disk's cache.
            self.log.as_ref().map_or(Ok(()), File::sync_data)?;
            Ok(())
        })
    }

    /// The first journal position that the newest snapshot may need.
    pub(super) fn kept_for_snapshots(&self) -> u64 {
        self.snapshot_start.load(Ordering::Acquire)
    }

    /// Whether the store takes writes; why not, if it does not.
    pub(super) fn may_write(&self) -> Result<(), StoreError> {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        Ok(())
    }

    /// A writer for a new turn, used before where there is one.
    pub(super) fn spare_writer(&self) -> Box<TurnWriter> {
        let mut writer = self.spares().pop().unwrap_or_default();
        writer.begin();
        writer
    }

    /// Keeps writers of turns for later, as far as they are not too many or too large.
    pub(super) fn spare(&self, writers: Writers) {
        let mut spares = self.spares();
        spares.extend(
            writers
                .into_iter()
                .filter(|writer| writer.capacity() <= SPARE_BYTES_MAX),
        );
        spares.truncate(SPARES_MAX);
    }

    fn spares(&self) -> MutexGuard<'_, Writers> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no more writes from here on. Answers what those who wait are told.
    pub(super) fn fail(&self, error: &StoreError) -> StoreError {
        let failure = self.failure.get_or_init(|| StoreError::Failed {
            reason: error.to_string().into(),
            is_disk_trouble: error.is_disk_trouble(),
            is_full: error.is_full(),
        });
        failure.clone()
    }

    /// The failure after which nothing is written any more.
    pub(super) fn failure(&self) -> Option<StoreError> {
        self.failure.get().cloned()
    }

    /// Whether a write has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Notes from where on a shard needs the journal, and answers up to where it may be cut.
    pub(super) fn need(&self, shard: u16, position: u64) -> u64 {
        // Turns that are not committed yet have later positions than this: their shard does not know of them either.
        let position = position.min(self.position.load(Ordering::Acquire) + 1);
        let mut needed = self.needed();
        needed.insert(shard, position);
        needed.values().copied().min().unwrap_or(0)
    }

    fn needed(&self) -> MutexGuard<'_, BTreeMap<u16, u64>> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
