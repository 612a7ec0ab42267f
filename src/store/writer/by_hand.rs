//! A store whose thread is a test: it does what waits when the test says so, and fails when the test wants it to.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::super::beside::Places;
use super::super::open;
use super::super::shared::Shared;
use super::super::{Inner, Options, Store, StoreError};
use super::{Order, Writer};

/// How long reads hang at most, so that a test that is wrong comes to its end.
pub(crate) const READS_HELD_MAX: Duration = Duration::from_secs(10);

/// What the store's thread would do. Dropped, it leaves undone what waits, as a crash would.
pub(crate) struct ByHand {
    writer: Writer,
    orders: Receiver<Order>,
}

impl Store {
    /// Opens a store that does nothing by itself.
    pub(crate) fn by_hand(dir: &Path, options: &Options) -> Result<(Self, ByHand), StoreError> {
        let opened = open::open(dir, options)?;
        let shared = Arc::new(Shared::new(opened.db, opened.log, dir.to_owned(), options)?);
        let writer = shared.writer(|_| {})?;
        let (sender, orders) = mpsc::channel();
        let inner = Inner {
            shared,
            orders: sender,
            thread: None,
            snapshots: None,
            mended: None,
            places: Places::default(),
            lock: Some(opened.lock),
        };
        let store = Self {
            inner: Arc::new(inner),
        };
        Ok((store, ByHand { writer, orders }))
    }
}

impl Shared {
    /// Whether reads hang.
    pub(in super::super) fn holds_reads(&self) -> bool {
        self.holds_reads.load(Ordering::SeqCst)
    }

    /// Waits as long as reads hang.
    pub(in super::super) fn wait_for_reads(&self) {
        let began = Instant::now();
        while self.holds_reads() && began.elapsed() < READS_HELD_MAX {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl ByHand {
    /// Does all that waits. True if there was anything.
    pub(crate) fn work(&mut self) -> bool {
        let mut worked = false;
        while let Ok(order) = self.orders.try_recv() {
            self.writer.take(order);
            worked = true;
        }
        self.writer.commit_group();
        while !self.writer.savings.is_empty() {
            self.writer.save_runs();
        }
        self.writer.remove_some();
        self.writer.cut_as_told();
        if self.writer.closing && !self.writer.closers.is_empty() {
            self.writer.end();
        }
        worked
    }

    /// Puts into the database what waits for that.
    pub(crate) fn settle(&self) {
        // A failure is noted.
        let _ = self.writer.shared.settle();
    }

    /// From here on reads of the database hang, for ten seconds at most, or go on.
    pub(crate) fn hold_reads(&self, hold: bool) {
        self.writer.shared.holds_reads.store(hold, Ordering::SeqCst);
    }

    /// The disk is full from here on.
    pub(crate) fn fill_the_disk(&mut self) {
        let full = OpenOptions::new().write(true).open("/dev/full");
        self.writer.journal.divert(full.expect("Linux has one"));
    }

    /// The journal's newest file, and where its records end.
    pub(crate) fn end_of_journal(&self) -> Option<(PathBuf, u64)> {
        self.writer.journal.end()
    }
}
