//! The walk along the index of runs, oldest first, in small steps.
//!
//! Only the owner of a run may forget it, so the walk hands each owner a few runs at a time to look at ([`Review`]), and waits.
//! The first round passes every run, to find those that were still open when the daemon ended and are in no queue of idle runs;
//! later rounds stop where no run can be too old or too many. When a run began anew because its record could not be read, nobody
//! knows its old place in the index; another round passes every run and takes that away. Once, beside it, the ids alone are
//! surveyed for runs that were about to move to another run when the daemon ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::yield_now;
use tracing::warn;

use crate::engine::RunState;
use crate::engine::event::TraceId;
use crate::store::records::decode_run;
use crate::store::{IndexKey, StoreError};

use super::batch::Batch;
use super::inbox::{Message, Move, Query, Review};
use super::replay::Absorbed;
use super::worker::Worker;
use super::{Settings, Shared};

/// How often steps are made.
const PACE: Duration = Duration::from_secs(1);

/// Most steps that are made one after the other, where there is something to forget. With [`STEP_RUNS`] this is how many
/// runs a second may begin for ever.
const STEPS_TOGETHER: usize = 64;

/// Most runs looked at in a step; an owner does so between two turns.
const STEP_RUNS: usize = 128;

/// Ids read at once by the survey: some two milliseconds of work.
const SURVEY_RUNS: usize = 256;

/// The pause after that, which others have. A million runs take some twenty seconds.
const SURVEY_PAUSE: Duration = Duration::from_millis(3);

/// By how much the number of runs may exceed the limit while those in excess are at work, as a share of the limit (one
/// part in this many) and a number on top for small limits. Beyond that, runs that were heard of only once are forgotten,
/// which invented ones are; beyond twice that, none are begun any more.
const EXCESS_SHARE: u64 = 4;
const EXCESS_MORE: u64 = 100;

/// How long a run of one report is left alone, however many there are.
const FIRST_REPORT: Duration = Duration::from_secs(2);

/// Moves the runs that should have moved to another one when the daemon ended: those that are named after a trace which was
/// said to belong elsewhere. Until then both are shown; what comes for the trace goes to the right one. Those that another run has
/// absorbed go there first, whatever has been said of their traces since, or what they tell would be in two runs.
pub(super) async fn finish_moves(shared: Arc<Shared>, absorbed: Absorbed) {
    for (from, (into, _)) in absorbed {
        let (done, is_there) = oneshot::channel();
        let inbox = shared.inbox_of(&from);
        inbox.send(Message::Move(Move {
            from,
            into,
            again: true,
            done,
        }));
        // Who leaves lets it go, and the next start finds it again.
        let _ = is_there.await;
    }
    let mut after = None;
    loop {
        match shared.move_again(after.take()).await {
            Ok(None) => return,
            Ok(next) => after = next,
            Err(error) => {
                warn!(%error, "the index of runs cannot be read; runs that should have moved stay until the next start");
                return;
            }
        }
        tokio::time::sleep(SURVEY_PAUSE).await;
    }
}

/// Where the walk is.
struct Walk {
    after: Option<IndexKey>,
    /// Whether this round passes every run.
    passes_all: bool,
}

/// Walks until the daemon leaves.
pub(super) async fn walk(shared: Arc<Shared>) {
    let mut walk = Walk {
        after: None,
        passes_all: true,
    };
    let mut pace = tokio::time::interval(PACE);
    loop {
        pace.tick().await;
        for _ in 0..STEPS_TOGETHER {
            match walk.step(&shared).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    warn!(%error, "the index of runs cannot be read; old runs stay");
                    break;
                }
            }
        }
    }
}

impl Walk {
    /// Has the next runs looked at. Returns whether the next step should follow at once.
    async fn step(&mut self, shared: &Shared) -> Result<bool, StoreError> {
        let most = shared.settings.retention_runs;
        let excess = shared.store.run_count().saturating_sub(most);
        let why = match excess {
            0 => Review::Age,
            _ if excess > shared.settings.excess_max() => Review::NumberAtAnyPrice,
            _ => Review::Number,
        };
        let limit = match why {
            Review::Age => STEP_RUNS,
            Review::Number | Review::NumberAtAnyPrice => STEP_RUNS.min(excess as usize),
        };
        let after = self.after.clone();
        let looking = shared
            .store
            .read_beside(move |store| store.run_ids_oldest_first(after.as_ref(), limit));
        let mut keys = looking.await?;
        if why == Review::Age && !self.passes_all {
            let oldest_ms = shared.oldest_ms();
            keys.retain(|key| key.created_ms < oldest_ms);
        }
        self.after = keys.last().cloned();
        if keys.is_empty() {
            self.passes_all = shared.has_stale_places.swap(false, Ordering::AcqRel);
            return Ok(false);
        }
        let retired = shared.review(keys, why).await;
        // At first those that are open are to be found idle in time.
        Ok(self.passes_all || retired > 0 || why != Review::Age)
    }
}

impl Settings {
    /// How many runs there may be above the limit before more than quiet ones are forgotten.
    fn excess_max(&self) -> u64 {
        self.retention_runs / EXCESS_SHARE + EXCESS_MORE
    }
}

impl Shared {
    /// How many runs may still be begun.
    pub(super) fn runs_left(&self) -> u64 {
        let most = self.settings.retention_runs + 2 * self.settings.excess_max();
        most.saturating_sub(self.store.run_count())
    }

    /// Whether there are so many runs that none may be begun.
    pub(super) fn is_crowded(&self) -> bool {
        self.runs_left() == 0
    }

    /// The time before which a run must have been heard of last to be forgotten, milliseconds since 1970.
    fn oldest_ms(&self) -> u64 {
        let age_ms = self.settings.retention_age.as_millis() as u64;
        self.clock.age_ms().saturating_sub(age_ms)
    }

    /// Has runs looked at by their owners.
    pub(super) async fn review(&self, keys: Vec<IndexKey>, why: Review) -> u64 {
        let mut by_shard: Vec<Vec<IndexKey>> = self.inboxes.iter().map(|_| Vec::new()).collect();
        for key in keys {
            by_shard[usize::from(self.shard_of(&key.run_id))].push(key);
        }
        let mut retired = 0;
        for (inbox, keys) in self.inboxes.iter().zip(by_shard) {
            if !keys.is_empty() {
                let answer = inbox.ask(|reply| Query::Review { keys, why, reply });
                retired += answer.await.unwrap_or(0);
            }
        }
        retired
    }

    /// Moves those of the next runs that should have moved, as if their traces had just been learned. Answers how far it came;
    /// nothing at the end.
    async fn move_again(&self, after: Option<IndexKey>) -> Result<Option<IndexKey>, StoreError> {
        let looking = self.store.read_beside(move |store| {
            let keys = store.run_ids_oldest_first(after.as_ref(), SURVEY_RUNS)?;
            let mut strays = Vec::new();
            for IndexKey { run_id, .. } in &keys {
                if let Some(trace) = TraceId::of_run(run_id)
                    && store.alias(trace)?.is_some_and(|into| into != *run_id)
                {
                    strays.push(run_id.clone());
                }
            }
            Ok((strays, keys.into_iter().next_back()))
        });
        let (strays, last) = looking.await?;
        for stray in strays {
            let (done, _) = oneshot::channel();
            self.move_on(stray, done).await?;
        }
        Ok(last)
    }
}

/// What there is at a place in the index.
enum InIndex {
    /// A run.
    Own(RunSummary),
    /// A run that is listed elsewhere: its record could not be read, and it began anew.
    Stale,
    /// Nothing any more: the run moved to another one, or was forgotten, after the walk came by.
    Empty,
}

/// What a review has to know of a run.
struct RunSummary {
    heard_ms: u64,
    is_open: bool,
    /// Whether nothing came after what it began with.
    is_single: bool,
    /// Whether it is still to be said of a warning that it is over.
    warns: bool,
}

impl Worker {
    /// Looks at runs, forgets those that must go, and sees to it that open ones will be found idle. Answers how many it forgot.
    pub(super) async fn review(
        &mut self,
        keys: Vec<IndexKey>,
        why: Review,
    ) -> Result<u64, StoreError> {
        let now_ms = self.shared.clock.now_ms();
        let oldest_ms = self.shared.oldest_ms();
        let idle_ms = self.shared.idle_ms();
        let mut batch = Batch::default();
        // Who is answered by this thread gets on first.
        yield_now().await;
        for key in keys {
            self.let_in().await?;
            let summary = match self.at_place(&key)? {
                InIndex::Own(summary) => summary,
                InIndex::Stale => {
                    batch.stale.push(key);
                    continue;
                }
                InIndex::Empty => continue,
            };
            let due_ms = summary.heard_ms.saturating_add(idle_ms);
            let must_go = match why {
                Review::Age => false,
                Review::Number => due_ms <= now_ms,
                Review::NumberAtAnyPrice => {
                    let alone_ms = summary
                        .heard_ms
                        .saturating_add(FIRST_REPORT.as_millis() as u64);
                    due_ms <= now_ms || (summary.is_single && alone_ms <= now_ms)
                }
            };
            if must_go || summary.heard_ms < oldest_ms {
                batch.retired.push((key, summary.warns));
            } else if summary.is_open {
                self.idle.add(&key.run_id, due_ms);
            }
        }
        if batch.retired.is_empty() && batch.stale.is_empty() {
            return Ok(0);
        }
        // The turn leaves alone those that were asked about meanwhile.
        self.turn_seen(batch, |_, draft| draft.retired).await
    }

    /// What is known of a run in the index. A run without a readable state is as old as its place.
    fn at_place(&self, key: &IndexKey) -> Result<InIndex, StoreError> {
        if let Some(run) = self.residence.resident(&key.run_id) {
            if run.key != *key {
                return self.beside(key, &run.key);
            }
            return Ok(InIndex::Own(RunSummary::at(&run.state, key)));
        }
        let nothing = RunSummary {
            heard_ms: key.created_ms,
            is_open: false,
            is_single: true,
            warns: false,
        };
        let saved = match self.shared.store.load_run(&key.run_id) {
            Ok(Some(saved)) => saved,
            // Nothing is to be removed once more.
            Ok(None) if !self.shared.store.is_listed(key)? => return Ok(InIndex::Empty),
            Ok(None) | Err(StoreError::Unreadable { .. }) => return Ok(InIndex::Own(nothing)),
            Err(error) => return Err(error),
        };
        if saved.key != *key {
            return self.beside(key, &saved.key);
        }
        Ok(InIndex::Own(match decode_run(&saved.state) {
            Ok(state) => RunSummary::at(&state, key),
            // As soon as it is found idle, it begins anew, and its warnings are said to be over.
            Err(_) => RunSummary {
                is_open: true,
                ..nothing
            },
        }))
    }

    /// What there is at a place that is not the run's own. Until that one is in the index, the run is found by this one alone.
    fn beside(&self, key: &IndexKey, own: &IndexKey) -> Result<InIndex, StoreError> {
        let store = &self.shared.store;
        let is_stale = store.is_listed(key)? && store.is_listed(own)?;
        Ok(if is_stale {
            InIndex::Stale
        } else {
            InIndex::Empty
        })
    }
}

impl RunSummary {
    fn at(state: &RunState, key: &IndexKey) -> Self {
        Self {
            heard_ms: state.heard_ms(),
            is_open: !state.is_closed(),
            is_single: state.heard_ms() <= key.created_ms,
            warns: state.warns(),
        }
    }
}
