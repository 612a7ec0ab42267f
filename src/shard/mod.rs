//! The runs and their owners.
//!
//! A request's reports come in through [`Shards::submit`]: [`router`] says which run each belongs to, the run's id says
//! which shard owns it, and the reports go into that shard's inbox, all of them or none (`admit`). A shard is one task
//! (`worker`), the only one that touches its runs. Its turn (`turn`) takes what waits, steps each run once, commits
//! everything as one [`Turn`](crate::store::Turn), and only then answers the senders, wakes the watchers and lets
//! queries see the new states. States follow into the store later (`residence`); what the journal holds beyond them is
//! replayed at the next start (`replay`). A run that stays quiet is told so (`idle`), and old runs are forgotten
//! (`retire`).
//!
//! Queries have an inbox of their own and are answered between turns, several at a time. So a query waits for the turn that is
//! under way and at most one more, and never sees what is not on disk (`query`). Deliberately absent: anything that decides
//! whether a run is stuck, anything that knows a dialect, and any retry: a shard whose commit failed stops, and the daemon
//! begins the tenant's shards anew, over a store that it has opened anew.

mod admit;
mod announced;
mod backpressure;
mod batch;
mod beginning;
mod clock;
mod counters;
mod defect;
mod draft;
mod gathering;
pub mod guard;
mod idle;
mod inbox;
mod looking_up;
mod moving;
mod parts;
mod query;
mod readers;
mod replay;
mod residence;
mod retire;
pub(crate) mod retry_after;
pub mod router;
mod saving;
pub mod swarm;
mod tenant_shards;
#[cfg(test)]
mod tests;
mod turn;
mod watchers;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::engine::guard::GivenVerdict;
use crate::engine::policy::Policy;
use crate::store::{Store, StoreError};

pub use admit::Refusal;
pub use counters::{Alerts, Counters};
pub use query::{PAGE_SIZE_MAX, RunFilter, RunPage};
pub use readers::ReadTurn;
pub use tenant_shards::TenantShards;

use backpressure::Backpressure;
#[cfg(test)]
pub(crate) use clock::Clock;
#[cfg(not(test))]
use clock::Clock;
use inbox::InboxSender;
use readers::Readers;
use router::Router;
use worker::Worker;

/// Fewest runs that stay in memory, where there is too little of it: those at work would be read again at each turn.
const RESIDENT_MIN: usize = 100;

/// How the shards are set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of shards, at least 1. May differ from one start to the next. By default one for four cores: a shard takes
    /// less of a core than the reading of what it is sent, and fewer shards have larger turns.
    pub shards: u16,
    /// Most reports that one shard holds unanswered; a request that would exceed it is refused.
    pub inbox_reports_max: usize,
    /// Most bytes that the reports of one shard hold while they are unanswered, about.
    pub inbox_bytes_max: usize,
    /// Events after which a turn takes no further request, and after which what a request has for a shard is left to the next
    /// turn. Bounds what one commit holds up, and the record that it writes.
    pub turn_events_max: usize,
    /// How long after its answers a turn with little to do waits for the same senders; zero where none does.
    pub gather: Duration,
    /// Most runs whose state is in memory, over all shards; the others are on disk.
    pub resident_runs_max: usize,
    /// Time without a report after which a run counts as over.
    pub idle: Duration,
    /// How often changed states are written behind the journal.
    pub save_every: Duration,
    /// Time without a report after which a run is forgotten.
    pub retention_age: Duration,
    /// Most runs kept; of those that are over, the first begun are forgotten first.
    pub retention_runs: u64,
    /// Most traces whose run is remembered in memory. Should exceed the traces that arrive within a second by far.
    pub traces_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: std::thread::available_parallelism()
                .map_or(1, |cores| cores.get().div_ceil(4).min(8) as u16),
            inbox_reports_max: 16_384,
            inbox_bytes_max: 32 << 20,
            turn_events_max: 4_096,
            gather: Duration::from_millis(1),
            resident_runs_max: 10_000,
            idle: Duration::from_secs(5 * 60),
            save_every: Duration::from_secs(5),
            retention_age: Duration::from_secs(7 * 24 * 60 * 60),
            retention_runs: 100_000,
            traces_max: 100_000,
        }
    }
}

/// What shards hold at one moment, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Reports that are not answered yet.
    pub inbox_reports: usize,
    /// What these take in memory, about, in bytes.
    pub inbox_bytes: usize,
    /// Runs whose state is in memory.
    pub resident_runs: usize,
}

/// All runs, as the rest of the daemon sees them. Clones share them; when the last one is dropped without a stop, the
/// shards end where they are, and the journal has what was acknowledged.
#[derive(Clone)]
pub struct Shards {
    shared: Arc<Shared>,
    tasks: Arc<Tasks>,
}

/// The tasks of the shards and of the walk, which end with it.
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Tasks {
    fn abort(&self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// A policy, and the number by which the journal names it. Reports are judged by the one by which they were read.
#[derive(Clone, Debug)]
pub struct NamedPolicy {
    /// The policy.
    pub policy: Arc<Policy>,
    hash: u64,
}

impl NamedPolicy {
    /// Gives a policy its name, which is the same in every process.
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        Self {
            hash: replay::policy_hash(&policy),
            policy,
        }
    }
}

/// What the shards and those who talk to them have in common.
struct Shared {
    store: Store,
    policy: Mutex<NamedPolicy>,
    settings: Settings,
    clock: Clock,
    counters: Counters,
    /// Whoever holds the router may put reports of requests into the inboxes, so that what was routed first arrives first.
    router: Mutex<Router>,
    /// What swarms are warned of.
    swarms: swarm::SwarmWarnings,
    /// The way into each shard, by number.
    inboxes: Vec<InboxSender>,
    readers: Readers,
    /// Whoever was refused may wait for it.
    backpressure: Arc<Backpressure>,
    /// Most runs whose state is in memory just now, where that takes too much of it. Who minds the memory sets it.
    resident_max: AtomicUsize,
    /// Whether runs may have places in the index beside their own. The shards say so, and the walk then passes all runs once more.
    has_stale_places: AtomicBool,
    stopping: AtomicBool,
    failed: AtomicBool,
    /// Cancelled when the shards are given up.
    abandoned: CancellationToken,
    /// Those who listen to the guard hold the other ends.
    verdicts: broadcast::Sender<Arc<GivenVerdict>>,
}

impl Shards {
    /// Replays what the journal holds beyond the saved states, and starts the shards.
    ///
    /// Warnings that the replay raises again are not announced again: their alerts are in the commits that are replayed.
    /// Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// The store could not be read or written.
    pub async fn start(
        store: Store,
        policy: Arc<Policy>,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        Self::start_at(Clock::system(), store, policy, settings).await
    }

    pub(crate) async fn start_at(
        clock: Clock,
        store: Store,
        policy: Arc<Policy>,
        settings: Settings,
    ) -> Result<Self, StoreError> {
        let named = replay::keep_policy(&store, &policy).await?;
        let replay = replay::replay(&store, &policy, &settings).await?;
        let (inboxes, receivers): (Vec<_>, Vec<_>) = (0..settings.shards.max(1))
            .map(|_| inbox::channel())
            .unzip();
        let shared = Arc::new(Shared {
            policy: Mutex::new(named),
            clock,
            counters: Counters::default(),
            router: Mutex::new(Router::new(settings.traces_max)),
            swarms: swarm::SwarmWarnings::default(),
            inboxes,
            readers: Readers::default(),
            backpressure: Arc::default(),
            resident_max: AtomicUsize::new(settings.resident_runs_max),
            has_stale_places: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            abandoned: CancellationToken::new(),
            verdicts: broadcast::Sender::new(guard::VERDICTS_MAX),
            store,
            settings,
        });
        let mut tasks = Vec::new();
        for (number, (inbox, residence)) in receivers.into_iter().zip(replay.residences).enumerate()
        {
            let number = number as u16;
            let absorbed = replay.absorbed.iter();
            let absorbed = absorbed.filter(|(run_id, _)| shared.shard_of(run_id) == number);
            let absorbed = absorbed.map(|(run_id, (_, position))| (run_id.clone(), *position));
            let absorbed = absorbed.collect();
            let worker = Worker::new(number, shared.clone(), inbox, residence, absorbed);
            tasks.push(shared.spawn(worker.work()));
        }
        tasks.push(shared.spawn(retire::walk(shared.clone())));
        let moves = retire::finish_moves(shared.clone(), replay.absorbed);
        tasks.push(shared.spawn(moves));
        info!(
            runs = shared.store.run_count(),
            shards = shared.inboxes.len(),
            "shards started"
        );
        Ok(Self {
            shared,
            tasks: Arc::new(Tasks(tasks)),
        })
    }

    /// Resolves when a request is worth sending again, also for those that were told to come later; or when the shards are given
    /// up, and others may be there.
    pub fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let made = Arc::clone(&self.shared.backpressure).room_made();
        let abandoned = self.shared.abandoned.clone().cancelled_owned();
        async {
            tokio::select! {
                () = made => {}
                () = abandoned => {}
            }
        }
    }

    /// By what reports are read and judged at present.
    #[must_use]
    pub fn policy(&self) -> NamedPolicy {
        self.shared.policy()
    }

    /// The store below.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Whether reports are taken: not while leaving, and no more once a commit has failed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.shared.is_stopping() && !self.shared.is_failed()
    }

    /// Gives the shards up where they stand, because their store has failed.
    fn abandon(&self) {
        self.shared.fail();
        self.shared.abandoned.cancel();
        self.tasks.abort();
    }

    /// Cancelled when the shards are given up: whoever reads their store for long has to let go of it.
    #[must_use]
    pub fn abandoned(&self) -> &CancellationToken {
        &self.shared.abandoned
    }

    /// What has been done since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What the shards hold just now.
    #[must_use]
    pub fn load(&self) -> Load {
        let mut load = Load::default();
        for inbox in &self.shared.inboxes {
            inbox.add_load(&mut load);
        }
        load
    }

    /// Has an eighth of the runs in memory leave it, those that have been quiet longest, and as many stay away.
    pub fn keep_fewer(&self) {
        let now = self.load().resident_runs;
        let fewer = |most: usize| Some(most.min(now - now / 8).max(RESIDENT_MIN.min(most)));
        self.change_resident_max(fewer);
    }

    /// Lets an eighth more runs stay in memory than before, up to what the settings say.
    pub fn keep_more(&self) {
        let settings = &self.shared.settings;
        self.change_resident_max(|most| {
            let more = most.saturating_add(most / 8 + 1);
            Some(more.min(settings.resident_runs_max))
        });
    }

    fn change_resident_max(&self, change: impl FnMut(usize) -> Option<usize>) {
        let most = &self.shared.resident_max;
        let _ = most.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    /// Runs known, in memory or on disk.
    #[must_use]
    pub fn run_count(&self) -> u64 {
        self.shared.store.run_count()
    }

    /// Has what comes from now on read and judged by another policy. Warnings that are open stay, until the run recovers.
    ///
    /// # Errors
    /// When the store does not take the policy, which a replay will need. Then the old one stays.
    pub async fn set_policy(&self, policy: &Arc<Policy>) -> Result<(), StoreError> {
        let named = replay::keep_policy(&self.shared.store, policy).await?;
        *self.shared.named() = named;
        Ok(())
    }

    /// Takes no more reports, commits those that wait and saves all states. What is not done at the deadline is left to
    /// the journal, and to the replay of the next start. The store stays open: exporters have cursors to keep in it.
    pub async fn stop(&self, deadline: Instant) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        if let Ok(()) = tokio::time::timeout_at(deadline, self.shared.stop_workers()).await {
            info!("shards stopped, states saved");
        } else {
            warn!("shards did not stop in time; the journal keeps what is not saved");
        }
        self.tasks.abort();
    }
}

/// Has the shards fail when a panic drops it.
struct FailOnPanic(Arc<Shared>);

impl Drop for FailOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

impl Shared {
    /// The policy of the next turn.
    fn policy(&self) -> NamedPolicy {
        self.named().clone()
    }

    fn named(&self) -> MutexGuard<'_, NamedPolicy> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn router(&self) -> MutexGuard<'_, Router> {
        self.router.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Notes that the shards cannot go on: they take no more reports, and their store has to be opened anew.
    fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }

    /// Starts a task without which the shards cannot go on: they fail when it panics.
    fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let fail_on_panic = FailOnPanic(Arc::clone(self));
        tokio::spawn(async move {
            let _fail_on_panic = fail_on_panic;
            work.await;
        })
    }

    fn is_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    /// The way into the shard that owns a run.
    fn inbox_of(&self, run_id: &str) -> &InboxSender {
        &self.inboxes[usize::from(self.shard_of(run_id))]
    }

    fn shard_of(&self, run_id: &str) -> u16 {
        router::shard_of(run_id, self.inboxes.len() as u16)
    }
}
