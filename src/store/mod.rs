//! The room of the disk: what outlives the process.
//!
//! A shard hands over a [`Turn`]; the store's own thread takes all the turns that wait, writes them as one record of the
//! `journal` with everything that they changed, syncs once, and only then answers their senders and tells the tails how
//! far the log of alerts goes ([`Store::published`]). What is looked up lies in sled and follows: alerts, new runs and
//! aliases some milliseconds later (`pending`), states of runs later still and in bulk ([`Store::save_runs`]). The journal is
//! cut behind the oldest position that some shard still needs ([`Store::needed_from`]), once all before that is in sled and
//! sled is on disk. After a crash, the journal says again what sled may have lost, and the states and the journal after them
//! give what was acknowledged. A database that is damaged is set aside when it is opened, and another one made (`rebuild`)
//! from the newest `snapshot` and the journal.
//!
//! Reads go to sled directly. They are short, and what is known not to be there is not looked up (`known`); but they wait where
//! the disk hangs or a batch is being written, so tasks have them done `beside`.
//! Deliberately absent: any knowledge of what a state or an alert means, and any retry of a failed write. A store whose write
//! failed takes no more writes.

pub mod alert;
mod alert_log;
mod backup;
mod belongings;
mod beside;
mod bundles;
mod database;
mod durable;
mod error;
pub(crate) mod hashing;
mod journal;
mod keys;
mod known;
mod lengths;
mod listing;
mod lock;
mod open;
mod options;
mod pending;
mod pieces;
mod policies;
mod reads;
mod rebuild;
pub mod records;
mod removal;
mod reserve;
mod shared;
mod snapshot;
mod threads;
mod turn;
mod writer;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak, mpsc};
use std::thread;

use tokio::sync::{oneshot, watch};

pub use backup::{Copied, copy, is_unbegun};
use beside::Places;
pub use error::StoreError;
use journal::Journal;
use open::Opened;
pub use options::{Durability, Options};
use policies::PoliciesFound;
use shared::Shared;
use threads::{Snapshots, in_thread};
pub use turn::{Committed, Entry, IndexKey, Replayed, SavedRun, Turn, Written};
#[cfg(test)]
pub(crate) use writer::{ByHand, READS_HELD_MAX};
use writer::{Order, Reply, Writer};

/// What the store has done since it was opened, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Journal records written; each is one group of turns and one sync.
    pub commits: u64,
    /// Turns committed.
    pub turns: u64,
    /// Bytes of journal records written.
    pub journal_bytes: u64,
    /// Run states written.
    pub runs_saved: u64,
    /// Alerts removed: there were more than `alerts_max`, and they had been superseded, or their run was forgotten.
    pub alerts_removed: u64,
    /// Those of them that may have been the newest of their warning and that some exporter had not delivered: of a run that is
    /// forgotten this is not known of each.
    pub alerts_lost: u64,
    /// Alerts left out because they could not be read.
    pub unreadable: u64,
    /// Journal records left out at the opening because a crash had torn them. Nobody had been answered for them.
    pub torn: u64,
    /// Journal records that were missing or damaged at the opening.
    pub lost_records: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// Snapshots that could not be written.
    pub snapshots_failed: u64,
}

/// Something is not known without the database, which may have to wait for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDisk;

/// An open store. Clones share it; the directory is let go when the last one is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// A way back to a store that does not hold it: for whoever goes on as slowly as a client reads, while the directory may have to be
/// opened anew.
#[derive(Clone)]
pub struct WeakStore(Weak<Inner>);

impl WeakStore {
    /// The store, if somebody still holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<Store> {
        self.0.upgrade().map(|inner| Store { inner })
    }
}

struct Inner {
    shared: Arc<Shared>,
    /// To the store's thread.
    orders: mpsc::Sender<Order>,
    thread: Option<thread::JoinHandle<()>>,
    snapshots: Option<Snapshots>,
    mended: Option<Mended>,
    /// For the reads that may be under way beside ([`Store::read_beside`]).
    places: Places,
    /// Open as long as the directory is ours.
    lock: Option<File>,
}

impl Store {
    /// Whether there is a store in a directory, as far as can be seen.
    #[must_use]
    pub fn is_in(dir: &Path) -> bool {
        !matches!(open::says_format(dir), Ok(false))
    }

    /// A way back to it that does not hold it.
    #[must_use]
    pub fn downgrade(&self) -> WeakStore {
        WeakStore(Arc::downgrade(&self.inner))
    }

    /// Opens the store in a directory, which is made if it is not there.
    ///
    /// Blocks while the database reads itself: fractions of a second, more after a crash. Where the disk is full, what was
    /// set aside as damaged is given up for it, and the reserve.
    pub fn open(dir: &Path, options: &Options) -> Result<Self, StoreError> {
        let open = || Self::start(open::open(dir, options)?, dir, options, |_| {});
        let store = match open() {
            Err(error) if error.is_full() && rebuild::forget_oldest(dir, 0) => {
                tracing::warn!(dir = %dir.display(), "the disk is full; databases that were set aside as damaged are removed");
                Self::open(dir, options)?
            }
            Err(error) if error.is_disk_trouble() && reserve::spend(dir) => open()?,
            opened => opened?,
        };
        reserve::refill(dir, options.reserve_bytes);
        store.measure();
        Ok(store)
    }

    fn start(
        opened: Opened,
        dir: &Path,
        options: &Options,
        prepare: impl FnOnce(&mut Journal),
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::new(opened.db, opened.log, dir.to_owned(), options)?);
        let writer = shared.writer(prepare)?;
        let mended = opened.rebuilt.map(|rebuilt| {
            let lost = shared.tally.lost_records.value();
            let (mended, uncounted) = rebuilt.told(lost, shared.position.load(Ordering::Acquire));
            shared.tally.lost_records.add(uncounted);
            mended
        });
        let (orders, inbox) = mpsc::channel();
        let thread = in_thread(dir, "eddy-store", move || writer.run(&inbox))?;
        let snapshots = match options.snapshot_every {
            Some(every) => Some(Snapshots::keep(&shared, every)?),
            None => None,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                shared,
                orders,
                thread: Some(thread),
                snapshots,
                mended,
                places: Places::default(),
                lock: Some(opened.lock),
            }),
        })
    }

    /// Writes what entries a turn has so far to its record, and lets go of them: whoever adds many has them near then, and
    /// not any more when the turn is committed.
    pub fn write_down(&self, turn: &mut Turn) {
        let shared = &self.inner.shared;
        let written = &mut turn.written.0;
        let writer = written.get_or_insert_with(|| shared.spare_writer());
        for entry in turn.entries.drain(..) {
            writer.add(turn.at_ms, &entry);
        }
    }

    /// Commits a turn. Resolves when it is durable; all turns that wait at the same time share one sync, unless they are very
    /// large. By then [`Store::alerts_after`] knows its alerts.
    ///
    /// The order of the calls is that of the turns, whoever waits first. A dropped future does not undo the turn.
    pub fn commit(
        &self,
        mut turn: Turn,
    ) -> impl Future<Output = Result<Committed, StoreError>> + Send + use<> {
        let written = turn.written.0.take();
        let mut writer = written.unwrap_or_else(|| self.inner.shared.spare_writer());
        let keys = writer.finish(turn);
        self.ordered(|answer| Order::Commit {
            writer,
            keys,
            answer,
        })
    }

    /// Saves states of runs, behind whatever commits are waiting. Resolves when they are written: a later cut of the
    /// journal cannot become durable before them. Of several states of one run the last one holds.
    pub async fn save_runs(&self, runs: Vec<SavedRun>) -> Result<(), StoreError> {
        self.ordered(|answer| Order::Save(runs, answer)).await
    }

    /// The saved state of a run, if there is one.
    pub fn load_run(&self, run_id: &str) -> Result<Option<SavedRun>, StoreError> {
        self.inner.shared.load_run(run_id)
    }

    /// Whether a run has this place in the index.
    pub fn is_listed(&self, run: &IndexKey) -> Result<bool, StoreError> {
        self.inner.shared.is_listed(run)
    }

    /// How many runs there are: those that were begun and not removed.
    #[must_use]
    pub fn run_count(&self) -> u64 {
        self.inner.shared.run_count()
    }

    /// A shard says that it needs the journal from `position` on (`u64::MAX`: nothing of what is committed by now).
    /// The journal is cut behind the lowest position of all shards that have ever said so: before the first cut, each
    /// shard must have called this once, with 0 while it is not sure.
    pub fn needed_from(&self, shard: u16, position: u64) {
        let until = self.inner.shared.need(shard, position);
        // A store that is closed keeps its journal as it is.
        let _ = self.inner.orders.send(Order::Cut(until));
    }

    /// Keeps a policy under its hash, for replays. To be called before the first turn that names it; it waits for the disk
    /// where the policy is a new one.
    pub async fn put_policy(&self, hash: u64, json: String) -> Result<(), StoreError> {
        self.ordered(|answer| Order::Policy(hash, json, answer))
            .await
    }

    /// Cursor of the alert from which on all are kept; one above [`Store::last_cursor`] when there is none. Of older ones
    /// there are those that are the newest of their warning.
    #[must_use]
    pub fn first_cursor(&self) -> u64 {
        self.inner.shared.first_cursor.load(Ordering::Acquire)
    }

    /// Cursor of the newest committed alert; 0 before the first.
    #[must_use]
    pub fn last_cursor(&self) -> u64 {
        *self.inner.shared.last_cursor.borrow()
    }

    /// The newest committed cursor, to wait on before reading [`Store::alerts_after`].
    #[must_use]
    pub fn published(&self) -> watch::Receiver<u64> {
        self.inner.shared.last_cursor.subscribe()
    }

    /// Keeps how far an exporter has delivered. The first time it is flushed; later, the newest half second may be missing
    /// after a crash, so that some alerts are delivered again. It waits for the disk, unlike [`Store::keep_exporter_cursor`].
    pub fn set_exporter_cursor(&self, name: &str, cursor: u64) -> Result<(), StoreError> {
        self.inner.shared.set_exporter_cursor(name, cursor)
    }

    /// Bytes of the files on disk, those of the database, the journal, the snapshots and the reserve, as they were
    /// [counted](Store::measure) last; 0 where that was not possible.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.inner.shared.size_bytes.load(Ordering::Relaxed)
    }

    /// Counts the bytes of the files on disk. It waits for the disk.
    pub fn measure(&self) {
        let shared = &self.inner.shared;
        let of = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten();
        let beside = [
            shared.dir.clone(),
            shared.journal_dir(),
            snapshot::dir_of(&shared.dir),
        ];
        let files = beside.into_iter().flat_map(of);
        let files = files.filter_map(|file| file.ok()?.metadata().ok());
        let files = files.filter(fs::Metadata::is_file);
        let beside: u64 = files.map(|file| file.len()).sum();
        let database = shared.read(sled::Db::size_on_disk);
        let bytes = database.map_or(0, |database| database + beside);
        shared.size_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What has been done since the store was opened.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.inner.shared.tally.read()
    }

    /// What was damaged when the store was opened, and what became of it.
    #[must_use]
    pub fn mended(&self) -> Option<&Mended> {
        self.inner.mended.as_ref()
    }

    /// When the newest snapshot was begun, milliseconds since 1970; 0 where there is none.
    #[must_use]
    pub fn snapshot_ms(&self) -> u64 {
        self.inner.shared.snapshot_at_ms.load(Ordering::Acquire)
    }

    /// The failure since which nothing is committed any more: the store should be dropped and opened anew.
    #[must_use]
    pub fn failure(&self) -> Option<StoreError> {
        self.inner.shared.failure()
    }

    /// Sees whether the directory is still where it was opened. Where it was moved or removed, the store fails: what is
    /// committed would go to files that nobody finds again. Where the journal's newest file alone is gone, another one is begun,
    /// and what is committed goes on; what it held is saved with the states. It waits for the disk.
    pub fn look(&self) {
        let lost = self.inner.lock.as_ref().map(|held| {
            let dir = &self.inner.shared.dir;
            lock::in_place(dir, held)
        });
        if let Some(Err(error)) = lost {
            self.inner.shared.fail(&error);
        }
        // A store that is closed writes no journal.
        let _ = self.inner.orders.send(Order::Look);
    }

    /// Writes everything that waits, flushes and syncs. Later writes fail with [`StoreError::Closed`]; reads still
    /// work, and the directory is let go when the last clone is dropped.
    pub async fn close(self) -> Result<(), StoreError> {
        match self.ordered(|answer| Order::Close(Some(answer))).await {
            Err(StoreError::Closed) => Ok(()),
            closed => closed,
        }
    }

    /// Gives an order at once. Resolves when it is done.
    fn ordered<T, O: FnOnce(Reply<T>) -> Order>(
        &self,
        order: O,
    ) -> impl Future<Output = Result<T, StoreError>> + use<T, O> {
        let shared = Arc::clone(&self.inner.shared);
        let (answer, answered) = oneshot::channel();
        // The thread ends when it is told to, or by a failure that it has noted.
        let given = shared.may_write().map(|()| {
            let _ = self.inner.orders.send(order(answer));
        });
        async move {
            given?;
            let ended = || shared.may_write().err().unwrap_or(StoreError::Closed);
            answered.await.unwrap_or_else(|_| Err(ended()))
        }
    }
}

/// A database that was damaged when it was opened, and was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Where the damaged one lies now.
    pub set_aside: Option<PathBuf>,
    /// What was wrong with it.
    pub reason: String,
    /// What is lost, in words, if anything is.
    pub loss: Option<String>,
}

impl Shared {
    /// The thread's part, behind what the journal has.
    fn writer(self: &Arc<Self>, prepare: impl FnOnce(&mut Journal)) -> Result<Writer, StoreError> {
        let syncs = self.log.is_some();
        let start = self.journal_start.load(Ordering::Acquire);
        let keep_from = self.kept_for_snapshots();
        let mut policies = PoliciesFound::default();
        let recover = |found| self.recover(found, &mut policies);
        let mut journal = Journal::open(&self.journal_dir(), syncs, start, keep_from, recover)?;
        self.keep_policies(policies)?;
        prepare(&mut journal);
        let known = self.position.load(Ordering::Acquire);
        let newest = journal.newest().max(start - 1);
        if newest < known {
            self.lose_end(newest, known);
        }
        self.position.store(newest.max(known), Ordering::Release);
        self.find_run_count()?;
        Ok(Writer::new(Arc::clone(self), journal))
    }
}

#[cfg(test)]
mod tests;
