//! The thread that writes: commits first, then states of runs, then what is to follow the journal, a bounded piece at
//! a time.
//!
//! Turns that arrive while a commit is under way wait for the next one and share its sync. After each commit one batch
//! of states is written, so that neither side starves. Batches are bounded because sled stops all readers while it
//! applies one.

#[cfg(test)]
mod by_hand;

use std::collections::{BTreeMap, VecDeque};
use std::iter;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::engine::event::Text;

use super::error::StoreError;
use super::hashing::FastSet;
use super::journal::Journal;
use super::keys;
use super::pieces::{self, Writes};
use super::records::{TurnWriter, encode_policy, encode_saved, group_head};
use super::shared::{Shared, Writers};
use super::turn::{Committed, Keys, SavedRun};

#[cfg(test)]
pub(crate) use by_hand::{ByHand, READS_HELD_MAX};

/// States written together.
const SAVE_RUNS_MAX: usize = 100;

/// Bytes of states written together: some five milliseconds of work, for which a commit may have to wait.
const SAVE_BYTES_MAX: usize = 256 << 10;

/// Bytes of turns that one record holds, unless one turn has more: a record is read in one piece, and what a reader would not take
/// (`journal::reader`) is never written.
const GROUP_BYTES_MAX: usize = 32 << 20;

/// How long keys wait for others, to be put into the database together: of a warning's revisions in that time, one is noted as
/// the newest.
const SETTLE_AFTER: Duration = Duration::from_millis(50);

/// How one who waits is answered.
pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the thread is asked to do.
pub(super) enum Order {
    /// Commit a turn, whose record was made on its shard's thread.
    Commit {
        writer: Box<TurnWriter>,
        keys: Keys,
        answer: Reply<Committed>,
    },
    /// Save states.
    Save(Vec<SavedRun>, Reply<()>),
    /// Keep a policy, with its hash.
    Policy(u64, String, Reply<()>),
    /// Keep how far the exporter of this name has delivered.
    Cursor(String, u64, Reply<()>),
    /// Nobody needs the journal before this position.
    Cut(u64),
    /// See whether the journal's file is still there.
    Look,
    /// Do all that waits, and end.
    Close(Option<Reply<()>>),
}

/// The turns that wait to be committed together.
#[derive(Default)]
struct Group {
    writers: Writers,
    keys: Vec<Keys>,
    answers: Vec<Reply<Committed>>,
}

impl Group {
    /// Takes out the first turns, as many as one record holds.
    fn first(&mut self) -> Self {
        let mut bytes = 0;
        let others = self.writers.iter().skip_while(|writer| {
            let is_first = bytes == 0;
            bytes += writer.record().map(<[u8]>::len).iter().sum::<usize>();
            is_first || bytes <= GROUP_BYTES_MAX
        });
        let count = self.writers.len() - others.count();
        Self {
            writers: self.writers.drain(..count).collect(),
            keys: self.keys.drain(..count).collect(),
            answers: self.answers.drain(..count).collect(),
        }
    }
}

/// States whose sender waits until the last one is written.
struct Saving {
    runs: VecDeque<SavedRun>,
    answer: Reply<()>,
}

/// The thread's own state.
pub(super) struct Writer {
    shared: Arc<Shared>,
    journal: Journal,
    group: Group,
    savings: VecDeque<Saving>,
    /// Policies that the next record is to hold, before the turns that may name them (`policies`).
    policies: Vec<Vec<u8>>,
    /// Bytes of states that were saved since the database's cache was last looked at.
    untrimmed_bytes: u64,
    /// When the keys that wait are put into the database.
    settle_at: Option<Instant>,
    cut_until: u64,
    closing: bool,
    closers: Vec<Reply<()>>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, journal: Journal) -> Self {
        Self {
            shared,
            journal,
            group: Group::default(),
            savings: VecDeque::new(),
            policies: Vec::new(),
            untrimmed_bytes: 0,
            settle_at: None,
            cut_until: 0,
            closing: false,
            closers: Vec::new(),
        }
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
            self.commit_group();
            self.save_runs();
            self.settle();
            self.remove_some();
            self.cut_as_told();
        }
        self.end();
    }

    /// Gives up of the journal what nobody needs any more.
    fn cut_as_told(&mut self) {
        let is_due = self.cut_until > self.shared.journal_start.load(Ordering::Acquire);
        if is_due && !self.shared.is_removing() {
            // A failure is noted, and what is not cut is there at the next start.
            let kept = self.shared.kept_for_snapshots();
            let _ = self.cut(self.journal.can_free(self.cut_until, kept));
        }
    }

    /// Brings everything to the disk, and takes no more.
    fn end(&mut self) {
        let settled = self.shared.settle();
        let thinned = settled.and_then(|()| self.shared.note_thinned());
        let ended = thinned.and_then(|()| self.cut(true));
        self.shared.closed.store(true, Ordering::Release);
        for answer in self.closers.drain(..) {
            let _ = answer.send(ended.clone());
        }
    }

    /// Takes all orders there are, and waits for one where nothing else is to be done. False when the work is over.
    fn take_orders(&mut self, orders: &Receiver<Order>) -> bool {
        let nobody_waits = self.group.answers.is_empty() && self.savings.is_empty();
        if nobody_waits && !self.shared.is_removing() {
            if self.closing {
                return false;
            }
            match self.next_order(orders) {
                Ok(order) => self.take(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
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

    /// The next order, or none when keys are to be put into the database.
    fn next_order(&self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        match self.settle_at {
            Some(at) => orders.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => orders.recv().map_err(RecvTimeoutError::from),
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Commit {
                writer,
                keys,
                answer,
            } => {
                self.group.writers.push(writer);
                self.group.keys.push(keys);
                self.group.answers.push(answer);
            }
            Order::Save(runs, answer) => self.savings.push_back(Saving {
                runs: runs.into(),
                answer,
            }),
            Order::Policy(hash, json, answer) => {
                let _ = answer.send(self.shared.put_policy(hash, &json));
                self.policies.push(encode_policy(hash, json));
            }
            Order::Cursor(name, cursor, answer) => {
                let _ = answer.send(self.shared.set_exporter_cursor(&name, cursor));
            }
            Order::Cut(until) => self.cut_until = self.cut_until.max(until),
            Order::Look => self.look(),
            Order::Close(answer) => {
                self.closing = true;
                self.closers.extend(answer);
            }
        }
    }

    /// Goes on in another file where the journal's newest one is gone.
    fn look(&mut self) {
        if self.journal.leave_lost() {
            let dir = self.shared.journal_dir();
            tracing::error!(journal = %dir.display(), "the journal's newest file was removed, replaced or cut; another one is begun, and what it held is lost if Eddy ends before the states of runs are saved");
        }
    }

    /// Commits all turns that wait: one record and one sync for all of them, unless they are very large.
    fn commit_group(&mut self) {
        while !self.group.answers.is_empty() {
            let group = self.group.first();
            let result = self.commit(&group.writers, group.keys);
            for answer in group.answers {
                // One who no longer waits loses the receipt, not the turn.
                let _ = answer.send(result.clone());
            }
            self.shared.spare(group.writers);
        }
    }

    fn commit(
        &mut self,
        turns: &[Box<TurnWriter>],
        keys: Vec<Keys>,
    ) -> Result<Committed, StoreError> {
        let shared = &self.shared;
        shared.may_write()?;
        let position = shared.position.load(Ordering::Acquire) + 1;
        let first_cursor = *shared.last_cursor.borrow() + 1;
        let head = group_head(first_cursor);
        let policies = mem::take(&mut self.policies);
        let policies = policies.iter().map(Vec::as_slice);
        let records = turns.iter().flat_map(|turn| turn.record());
        let records = policies.chain(records);
        let bytes = records.clone().map(<[u8]>::len).sum::<usize>();
        self.journal
            .append(position, iter::once(head.as_slice()).chain(records))
            .map_err(|error| {
                let dir = shared.journal_dir();
                shared.fail(&StoreError::io("cannot write the journal in", dir, error))
            })?;
        shared.tally.commits.add(1);
        shared.tally.turns.add(turns.len() as u64);
        shared.tally.journal_bytes.add(bytes as u64);
        shared.position.store(position, Ordering::Release);
        note_begun(&mut shared.begun(), &keys);
        shared.keep(position, first_cursor, keys)?;
        Ok(Committed { position })
    }

    /// Puts keys that wait into the database when it is time for that.
    fn settle(&mut self) {
        match self.settle_at {
            None if self.shared.has_failed() || self.shared.is_settled() => {}
            None => self.settle_at = Some(Instant::now() + SETTLE_AFTER),
            Some(at) if at <= Instant::now() || self.shared.has_much_pending() => {
                // A failure is noted, and the journal has the keys.
                let _ = self.shared.settle();
                self.settle_at = None;
            }
            Some(_) => {}
        }
    }

    /// Removes a piece of what removed runs have left.
    fn remove_some(&self) {
        // A failure is noted, and the journal says the removal again.
        let _ = self.shared.remove_some();
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

    fn save_batch(&mut self, batch: &BTreeMap<Text, SavedRun>) -> Result<(), StoreError> {
        if batch.is_empty() {
            return self.shared.may_write();
        }
        let to_trim = self.due_for_trim(batch);
        self.shared.write(|db| {
            let mut writes = Writes::default();
            for (run_id, run) in batch {
                let key = keys::run(run_id);
                if !self.shared.known.lacks(&key) {
                    writes.remove_stored(db, &key)?;
                }
                writes.put_pieces(&key, &encode_saved(run));
            }
            writes.put(keys::POSITION, &self.shared.known_position());
            writes.apply(db)?;
            to_trim
                .iter()
                .try_for_each(|key| pieces::trim_cache(db, key))
        })?;
        let run_ids = batch.keys();
        self.shared
            .known
            .add(run_ids.map(|run_id| keys::run(run_id)));
        // From here on they are found in the database.
        let mut begun = self.shared.begun();
        for run_id in batch.keys() {
            begun.remove(run_id);
        }
        self.shared.tally.runs_saved.add(batch.len() as u64);
        Ok(())
    }

    /// The keys of a batch behind which the cache is to look what it may let go of.
    fn due_for_trim(&mut self, batch: &BTreeMap<Text, SavedRun>) -> Vec<Vec<u8>> {
        let due = batch.values().filter(|run| {
            self.untrimmed_bytes += run.state.len() as u64;
            let is_due = self.untrimmed_bytes >= self.shared.bytes_a_trim();
            if is_due {
                self.untrimmed_bytes = 0;
            }
            is_due && self.shared.outgrows_cache()
        });
        due.map(|run| keys::run(&run.key.run_id)).collect()
    }

    /// Gives up what nobody needs of the journal. That is written behind all that it had for the database, so it cannot
    /// become durable before; files are given up once it is.
    fn cut(&mut self, durably: bool) -> Result<(), StoreError> {
        let shared = &self.shared;
        shared.settle()?;
        shared.remove_rest()?;
        let start = shared.journal_start.load(Ordering::Acquire);
        let start = start.max(self.cut_until);
        shared.write(|db| {
            // First, since without it what the journal has behind the cut would have to be counted.
            db.insert(keys::RUNS, &shared.run_count_to_save())?;
            db.insert(keys::POSITION, &shared.known_position())?;
            db.insert(keys::JOURNAL_START, &start.to_be_bytes())
        })?;
        if durably {
            shared.write_through()?;
            self.journal.free(start, shared.kept_for_snapshots());
        }
        shared.journal_start.store(start, Ordering::Release);
        Ok(())
    }
}

/// Notes which runs were begun, and not removed again.
fn note_begun(begun: &mut FastSet<Text>, turns: &[Keys]) {
    for turn in turns {
        begun.extend(turn.new_runs.iter().map(|run| run.run_id.clone()));
        for run in &turn.removed {
            begun.remove(&run.run_id);
        }
    }
}
