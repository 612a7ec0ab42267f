//! One shard: a task that owns its runs.
//!
//! Between turns it answers queries, lets saves finish and minds the time; reports make it take a turn (`turn`). It ends
//! when it is told to, with everything committed and saved, or when the store refuses something, with everything since
//! the last commit forgotten: then all shards of the store count as failed, and the journal has what was acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use tracing::error;

use crate::engine::event::Text;
use crate::store::StoreError;
use crate::store::hashing::FastMap;

use super::batch::{Batch, Groups};
use super::gathering::Gathering;
use super::guard::Pending;
use super::idle::IdleQueue;
use super::inbox::{Done, InboxReceiver, Message, Move, Query};
use super::residence::Residence;
use super::saving::finished;
use super::watchers::Watchers;
use super::{NamedPolicy, Shared};

/// How often a shard minds the time. Bounds how late a run is found idle.
const TICK: Duration = Duration::from_secs(1);

/// Most runs that are found idle in one turn: what a sender behind them has to wait for.
const IDLE_PER_TURN: usize = 256;

/// Unsaved states from which they are saved at once. Bounds the replay after a crash, and how long leaving takes.
const UNSAVED_MAX: usize = 4_000;

/// How long what the guard did to runs may wait for reports to share a turn with: a commit for each question costs more than
/// answering it.
pub(super) const PENDING_WAIT: Duration = Duration::from_millis(5);

/// A shard.
pub(super) struct Worker {
    pub(super) number: u16,
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: InboxReceiver,
    pub(super) residence: Residence,
    pub(super) idle: IdleQueue,
    pub(super) watchers: Watchers,
    /// What questions to the guard did to runs since the last turn.
    pub(super) pending: Vec<Pending>,
    /// When that is committed at the latest, where there is any.
    pub(super) commit_at: Instant,
    /// Position of the newest commit of this shard; 0 before the first.
    pub(super) position: u64,
    /// Room for the reports of the next turn.
    pub(super) spare: Groups,
    /// A message that belongs to the next turn, since it is to be judged by another policy than this one.
    pub(super) kept_back: Option<Message>,
    /// Runs that are to move and wait for those that are moving.
    pub(super) moves: VecDeque<Move>,
    /// How many are: their states are under way to another owner, who has not released them yet.
    pub(super) moving: usize,
    /// Runs that another one may have absorbed and that are here all the same, each with the position from which on the journal may
    /// say so. Without that, what came of their traces since could have them go to a third one.
    pub(super) absorbed: FastMap<Text, u64>,
    /// Who else waits for one of these to arrive.
    pub(super) awaited: FastMap<Text, Vec<Done>>,
    pub(super) gathering: Gathering,
    /// By which the present turn judges.
    pub(super) policy: NamedPolicy,
    /// The states that are being saved.
    pub(super) saving: Option<JoinHandle<Result<(), StoreError>>>,
    /// All that changed up to this position is to be saved, batch by batch.
    pub(super) sweep_to: Option<u64>,
    next_sweep: Instant,
    tick: Interval,
}

impl Worker {
    pub(super) fn new(
        number: u16,
        shared: Arc<Shared>,
        inbox: InboxReceiver,
        mut residence: Residence,
        absorbed: FastMap<Text, u64>,
    ) -> Self {
        let mut idle = IdleQueue::default();
        let idle_ms = shared.idle_ms();
        for run in residence.residents() {
            if !run.state.is_closed() {
                run.is_queued = true;
                idle.add(
                    &run.key.run_id,
                    run.state.heard_ms().saturating_add(idle_ms),
                );
            }
        }
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            number,
            next_sweep: Instant::now() + shared.settings.save_every,
            gathering: Gathering::new(shared.settings.gather),
            policy: shared.policy(),
            shared,
            inbox,
            residence,
            idle,
            watchers: Watchers::default(),
            pending: Vec::new(),
            commit_at: Instant::now(),
            spare: Groups::default(),
            kept_back: None,
            moves: VecDeque::new(),
            moving: 0,
            absorbed,
            awaited: FastMap::default(),
            position: 0,
            saving: None,
            sweep_to: None,
            tick,
        }
    }

    /// Works until told to stop.
    pub(super) async fn work(mut self) {
        if let Err(error) = self.serve().await {
            self.shared.fail();
            error!(shard = self.number, %error, "a shard has stopped: nothing more is acknowledged");
        }
    }

    async fn serve(&mut self) -> Result<(), StoreError> {
        loop {
            // A sweep goes on batch by batch, whoever waited for the last one.
            self.start_save();
            self.answer_waiting()?;
            if self.commit_at <= Instant::now() {
                self.commit_pending().await?;
            }
            if let Ok(query) = self.inbox.queries.try_recv()
                && self.answer(query).await?
            {
                return Ok(());
            }
            if let Some(message) = self.kept_back.take() {
                self.take_turn(message).await?;
                continue;
            }
            // In this order, so that a simulation comes to the same end again.
            tokio::select! {
                biased;
                Some(ask) = self.inbox.asks.recv() => {
                    self.renew_policy();
                    self.answer_ask(ask)?;
                }
                saved = finished(&mut self.saving) => self.save_finished(saved)?,
                _ = self.tick.tick() => self.mind_the_time().await?,
                () = sleep_until(self.commit_at), if !self.pending.is_empty() => {}
                Some(message) = self.inbox.messages.recv() => self.take_turn(message).await?,
                // Those that wait have had their turn above: they keep nobody else from his.
                Some(query) = self.inbox.queries.recv() => if self.answer(query).await? {
                    return Ok(());
                },
            }
        }
    }

    /// Keeps what a question to the guard did, to be committed with the next turn.
    pub(super) fn keep_pending(&mut self, pending: Pending) {
        if self.pending.is_empty() {
            self.commit_at = Instant::now() + PENDING_WAIT;
        }
        self.pending.push(pending);
    }

    /// Commits what questions to the guard did, together with the reports that wait.
    async fn commit_pending(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.take_batch(Batch::default()).await
    }

    /// Takes a turn for a message. Requests that have arrived and are about to be read come in first: a turn costs a sync
    /// and several threads' waking, however many requests share it.
    async fn take_turn(&mut self, first: Message) -> Result<(), StoreError> {
        tokio::task::yield_now().await;
        let mut batch = Batch::with(std::mem::take(&mut self.spare));
        batch.add(first);
        self.gather(&mut batch).await?;
        self.take_batch(batch).await
    }

    /// Takes what waits, as far as a turn goes, and the turn.
    async fn take_batch(&mut self, mut batch: Batch) -> Result<(), StoreError> {
        self.fill(&mut batch);
        self.turn(batch).await?;
        self.make_room().await
    }

    /// Adds what waits, as far as a turn goes.
    pub(super) fn fill(&mut self, batch: &mut Batch) {
        while batch.work() < self.shared.settings.turn_events_max {
            match self.next_message() {
                Some(message) if batch.suits(&message) => batch.add(message),
                other => {
                    self.kept_back = other;
                    break;
                }
            }
        }
    }

    /// The next of the messages that wait, if any does.
    fn next_message(&mut self) -> Option<Message> {
        let kept_back = self.kept_back.take();
        kept_back.or_else(|| self.inbox.messages.try_recv().ok())
    }

    /// Finds runs that have gone quiet, and starts to save what has changed when it is time for that.
    async fn mind_the_time(&mut self) -> Result<(), StoreError> {
        let now_ms = self.shared.clock.now_ms();
        let batch = self.find_idle(now_ms).await?;
        self.turn(batch).await?;
        self.make_room().await?;
        if self.idle.is_due(now_ms) {
            self.tick.reset_immediately();
        }
        if self.next_sweep <= Instant::now() || self.residence.unsaved_len() >= UNSAVED_MAX {
            self.next_sweep = Instant::now() + self.shared.settings.save_every;
            self.sweep_to = Some(self.position);
        }
        self.watchers.prune();
        self.tell_what_is_needed();
        Ok(())
    }

    /// The next runs whose time has come and that were not heard of since it was set.
    async fn find_idle(&mut self, now_ms: u64) -> Result<Batch, StoreError> {
        let mut batch = Batch::default();
        let idle_ms = self.shared.idle_ms();
        for _ in 0..IDLE_PER_TURN {
            self.let_in().await?;
            let Some(run_id) = self.idle.take(now_ms) else {
                break;
            };
            let Some(run) = self.residence.fetch(&run_id)? else {
                continue;
            };
            let due_ms = run.state.heard_ms().saturating_add(idle_ms);
            run.is_queued = false;
            if run.state.is_closed() {
                continue;
            }
            if due_ms <= now_ms {
                batch.idle.push(run_id);
            } else {
                run.is_queued = true;
                self.idle.add(&run_id, due_ms);
            }
        }
        Ok(batch)
    }

    /// Keeps no more runs in memory than allowed; those that leave are saved first.
    pub(super) async fn make_room(&mut self) -> Result<(), StoreError> {
        let most = self.shared.resident_max.load(Ordering::Relaxed);
        let most = (most / self.shared.inboxes.len()).max(1);
        while self.residence.len() > most {
            self.finish_save().await?;
            let left = self.residence.evict(most);
            self.shared.counters.runs_evicted.add(left);
            if self.residence.len() > most {
                self.sweep();
                if self.saving.is_none() {
                    // Those that could leave know more than what is committed; they leave after the next turn.
                    break;
                }
            }
        }
        let resident_runs = &self.inbox.held.resident_runs;
        resident_runs.store(self.residence.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Finishes what waits, and saves everything.
    pub(super) async fn leave(&mut self) -> Result<(), StoreError> {
        // From now on who asks is answered by whoever asked: the call is allowed.
        self.inbox.asks.close();
        self.answer_waiting()?;
        self.take_batch(Batch::default()).await?;
        while let Some(message) = self.next_message() {
            self.take_turn(message).await?;
        }
        self.finish_save().await?;
        self.sweep();
        while self.saving.is_some() {
            self.finish_save().await?;
            self.start_save();
        }
        self.tell_what_is_needed();
        Ok(())
    }
}

impl Shared {
    /// The idle time in milliseconds.
    pub(super) fn idle_ms(&self) -> u64 {
        self.settings.idle.as_millis() as u64
    }

    /// Tells every shard to finish, and waits until they have.
    pub(super) async fn stop_workers(&self) {
        let stops = self
            .inboxes
            .iter()
            .map(|inbox| inbox.ask(|done| Query::Stop { done }));
        futures_util::future::join_all(stops).await;
    }
}
