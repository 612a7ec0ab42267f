//! The thread that writes: commits first, then states of runs, then cuts of the journal, a bounded piece at a time.
//!
//! Turns that arrive while a commit is under way wait for the next one and share its flush. After each commit one batch
//! of states is written, so that neither side starves. Batches are bounded because sled stops all readers while it
//! applies one.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};

use tokio::sync::oneshot;

use crate::engine::event::{Text, TraceId};

use super::alert::Alert;
use super::error::StoreError;
use super::keys;
use super::pieces::Writes;
use super::records::{encode_alert, encode_saved};
use super::shared::{Shared, count, journal_start};
use super::turn::{Committed, IndexKey, SavedRun};

/// States written together.
const SAVE_RUNS_MAX: usize = 100;

/// Bytes of states written together: some five milliseconds of work, for which a commit may have to wait.
const SAVE_BYTES_MAX: usize = 256 << 10;

/// Journal records removed together.
const CUT_RECORDS_MAX: u64 = 128;

/// How one who waits is answered.
pub(super) type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the thread is asked to do.
pub(super) enum Order {
    /// Commit a turn.
    Commit(EncodedTurn, Answer<Committed>),
    /// Save states.
    Save(Vec<SavedRun>, Answer<()>),
    /// Nobody needs the journal before this position.
    Cut(u64),
    /// Do all that waits, and end.
    Close(Option<Answer<()>>),
}

/// A turn whose journal record was made on its shard's thread.
pub(super) struct EncodedTurn {
    pub(super) record: Vec<u8>,
    pub(super) new_runs: Vec<IndexKey>,
    pub(super) aliases: Vec<(TraceId, Text)>,
    pub(super) alerts: Vec<Alert>,
}

/// States whose sender waits until the last one is written.
struct Saving {
    runs: VecDeque<SavedRun>,
    answer: Answer<()>,
}

/// The thread's own state.
pub(super) struct Writer {
    shared: Arc<Shared>,
    log: Option<File>,
    alerts_max: u64,
    turns: Vec<(EncodedTurn, Answer<Committed>)>,
    savings: VecDeque<Saving>,
    /// First position that has not been cut.
    journal_start: u64,
    cut_until: u64,
    closing: bool,
    closers: Vec<Answer<()>>,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        log: Option<File>,
        alerts_max: u64,
    ) -> Result<Self, StoreError> {
        let journal_start = shared.read(journal_start)?;
        Ok(Self {
            shared,
            log,
            alerts_max: alerts_max.max(1),
            turns: Vec::new(),
            savings: VecDeque::new(),
            journal_start,
            cut_until: 0,
            closing: false,
            closers: Vec::new(),
        })
    }

    /// The thread's whole life. A panic, which sled uses for damage, ends it like any failed write.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        let ended = catch_unwind(AssertUnwindSafe(|| self.work(orders)));
        if ended.is_err() {
            self.shared.fail(&StoreError::Damaged {
                dir: self.shared.dir.clone(),
                reason: "the database gave up while writing".to_owned(),
            });
        }
    }

    fn work(&mut self, orders: &Receiver<Order>) {
        while self.take_orders(orders) {
            self.commit_turns();
            self.save_runs();
            self.cut_journal();
        }
        let flushed = self.shared.write(|db| self.flush(db));
        self.shared.closed.store(true, Ordering::Release);
        for answer in self.closers.drain(..) {
            let _ = answer.send(flushed.clone());
        }
    }

    /// Takes all orders there are, and waits for one where nothing else is to be done. False when the work is over.
    fn take_orders(&mut self, orders: &Receiver<Order>) -> bool {
        if self.is_idle() {
            if self.closing {
                return false;
            }
            match orders.recv() {
                Ok(order) => self.take(order),
                Err(_) => return false,
            }
        }
        loop {
            match orders.try_recv() {
                Ok(order) => self.take(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {
                    self.closing = true;
                    return true;
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        let uncut = self.journal_start < self.cut_until && !self.shared.has_failed();
        self.turns.is_empty() && self.savings.is_empty() && !uncut
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Commit(turn, answer) => self.turns.push((turn, answer)),
            Order::Save(runs, answer) => self.savings.push_back(Saving {
                runs: runs.into(),
                answer,
            }),
            Order::Cut(until) => self.cut_until = self.cut_until.max(until),
            Order::Close(answer) => {
                self.closing = true;
                self.closers.extend(answer);
            }
        }
    }

    /// Commits all turns that wait: one record, one batch, one flush.
    fn commit_turns(&mut self) {
        if self.turns.is_empty() {
            return;
        }
        let turns = mem::take(&mut self.turns);
        let (turns, answers): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
        let result = self.commit_group(&turns);
        for answer in answers {
            // One who no longer waits loses the receipt, not the turn.
            let _ = answer.send(result.clone());
        }
    }

    fn commit_group(&self, turns: &[EncodedTurn]) -> Result<Committed, StoreError> {
        let shared = &self.shared;
        let position = shared.position.load(Ordering::Acquire) + 1;
        let old = Cursors {
            first: shared.first_cursor.load(Ordering::Acquire),
            last: *shared.last_cursor.borrow(),
        };
        let record = turns
            .iter()
            .map(|turn| turn.record.as_slice())
            .collect::<Vec<_>>()
            .concat();
        let new = shared.write(|db| {
            let mut writes = Writes::default();
            writes.put_pieces(&keys::numbered(keys::JOURNAL, position), &record);
            for turn in turns {
                add_keys(&mut writes, turn);
            }
            let alerts = turns.iter().flat_map(|turn| &turn.alerts).collect();
            let new = self.add_alerts(&mut writes, db, &old, alerts)?;
            writes.apply(db)?;
            self.flush(db)?;
            Ok(new)
        })?;
        count(&shared.tally.commits, 1);
        count(&shared.tally.turns, turns.len());
        count(&shared.tally.journal_bytes, record.len());
        count(
            &shared.tally.alerts_removed,
            (new.first - old.first) as usize,
        );
        shared.position.store(position, Ordering::Release);
        shared.first_cursor.store(new.first, Ordering::Release);
        if new.last != old.last {
            shared.last_cursor.send_replace(new.last);
        }
        Ok(Committed { position })
    }

    /// Adds alerts behind those there are, and removes the oldest where they become too many.
    fn add_alerts(
        &self,
        writes: &mut Writes,
        db: &sled::Db,
        old: &Cursors,
        alerts: Vec<&Alert>,
    ) -> sled::Result<Cursors> {
        let last = old.last + alerts.len() as u64;
        let first = old.first.max((last + 1).saturating_sub(self.alerts_max));
        for cursor in old.first..first.min(old.last + 1) {
            writes.remove_stored(db, &keys::numbered(keys::ALERT, cursor))?;
        }
        for (cursor, alert) in (old.last + 1..).zip(alerts) {
            if cursor >= first {
                writes.put_pieces(&keys::numbered(keys::ALERT, cursor), &encode_alert(alert));
            }
        }
        Ok(Cursors { first, last })
    }

    /// Saves one batch of states.
    fn save_runs(&mut self) {
        let mut batch = BTreeMap::new();
        let mut bytes = 0;
        let mut answers = Vec::new();
        while let Some(saving) = self.savings.front_mut() {
            while batch.len() < SAVE_RUNS_MAX && bytes < SAVE_BYTES_MAX {
                let Some(run) = saving.runs.pop_front() else {
                    break;
                };
                bytes += run.state.len();
                batch.insert(run.key.run_id.clone(), run);
            }
            if !saving.runs.is_empty() {
                break;
            }
            answers.extend(self.savings.pop_front().map(|saving| saving.answer));
        }
        let result = self.save_batch(&batch);
        if result.is_err() {
            answers.extend(self.savings.drain(..).map(|saving| saving.answer));
        }
        for answer in answers {
            let _ = answer.send(result.clone());
        }
    }

    fn save_batch(&self, batch: &BTreeMap<Text, SavedRun>) -> Result<(), StoreError> {
        if batch.is_empty() {
            return self.shared.may_write();
        }
        self.shared.write(|db| {
            let mut writes = Writes::default();
            for (run_id, run) in batch {
                let key = keys::run(run_id);
                writes.remove_stored(db, &key)?;
                writes.put_pieces(&key, &encode_saved(run));
            }
            writes.apply(db)
        })?;
        count(&self.shared.tally.runs_saved, batch.len());
        Ok(())
    }

    /// Removes some of the journal records that nobody needs.
    fn cut_journal(&mut self) {
        let (from, until) = (
            self.journal_start,
            self.cut_until.min(self.journal_start + CUT_RECORDS_MAX),
        );
        if from >= until {
            return;
        }
        let cut = self.shared.write(|db| {
            let mut writes = Writes::default();
            for position in from..until {
                writes.remove_stored(db, &keys::numbered(keys::JOURNAL, position))?;
            }
            writes.put(keys::JOURNAL_START, &until.to_be_bytes());
            writes.apply(db)
        });
        if cut.is_ok() {
            self.journal_start = until;
        }
    }

    /// Brings everything written so far to where the durability asked for wants it. On Linux sled's own flush does not
    /// reach through the disk's cache.
    fn flush(&self, db: &sled::Db) -> sled::Result<()> {
        db.flush()?;
        if let Some(log) = &self.log {
            log.sync_data()?;
        }
        Ok(())
    }
}

/// The alerts that are kept.
struct Cursors {
    first: u64,
    last: u64,
}

fn add_keys(writes: &mut Writes, turn: &EncodedTurn) {
    for key in &turn.new_runs {
        writes.put(&keys::index(key), &[]);
    }
    for (trace, run_id) in &turn.aliases {
        writes.put(&keys::alias(*trace), run_id.as_bytes());
        writes.put(&keys::alias_of_run(run_id, *trace), &[]);
    }
}
