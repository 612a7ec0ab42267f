//! Questions about runs, answered from what is committed.
//!
//! A run that is in memory is shown by its shard, between two turns; any other is read from the store for whoever asks, by a
//! thread that may wait, so that neither a long list nor a slow disk holds up a shard or the tasks of others. A state leaves
//! memory only once it is saved, so one of the two has the newest where the shard is asked first.
//! Those who ask at the same time are answered together: where the shard knows more than what is on disk, one commit serves
//! all of them and the reports that wait, so that no number of questions keeps reports from being taken.

use futures_util::{Stream, StreamExt, future, stream};
use tokio::sync::{oneshot, watch};
use tokio_stream::wrappers::WatchStream;
use tracing::warn;

use crate::engine::event::{Text, TraceId};
use crate::engine::explain::Explanation;
use crate::engine::policy::Policy;
use crate::engine::view::Status;
use crate::engine::{RunState, RunView};
use crate::normalize::guarded;
use crate::store::records::decode_run;
use crate::store::{IndexKey, Store, StoreError};

use super::Shards;
use super::batch::Batch;
use super::inbox::{Look, Query};
use super::router::bounded;
use super::worker::Worker;

/// Most runs on a page.
pub const PAGE_SIZE_MAX: usize = 1_000;

/// Most runs looked at for one page, so that a filter which nothing passes costs little; but always as many as fit.
const EXAMINED_MAX: usize = 1_000;

/// Runs looked at together: a shard shows its share of them between two turns.
const TOGETHER: usize = 100;

/// Runs from which a shard looks for no further queries before it shows them: some milliseconds of work.
const SHOWN_TOGETHER: usize = 128;

/// Tells one who asked what was seen for him.
type Telling = Box<dyn FnOnce(&mut Worker) + Send>;

/// Which runs to list. What is left empty does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Any of these.
    pub statuses: Vec<Status>,
    /// Last seen at this time or later, nanoseconds since 1970.
    pub min_last_seen_ns: Option<u64>,
    /// Last seen at this time or earlier, nanoseconds since 1970.
    pub max_last_seen_ns: Option<u64>,
    /// One of the run's agents has this name, as it was reported or as it is shown.
    pub agent: Option<Text>,
}

/// A page of a list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPage {
    /// The runs, those begun last first.
    pub runs: Vec<RunView>,
    /// Behind which run the next page begins; nothing after the last.
    pub next_after: Option<IndexKey>,
}

impl RunFilter {
    /// Whether a run passes.
    #[must_use]
    pub fn passes(&self, run: &RunView) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&run.status))
            && self
                .min_last_seen_ns
                .is_none_or(|min| run.last_seen_ns >= min)
            && self
                .max_last_seen_ns
                .is_none_or(|max| run.last_seen_ns <= max)
            && self
                .agent
                .as_ref()
                .is_none_or(|agent| run.agents.contains(agent))
    }
}

impl Shards {
    /// A run, as it was last committed. One that has gone over to another is found under its old id, too.
    pub async fn run(&self, run_id: &str) -> Result<Option<RunView>, StoreError> {
        // As it was reported, or as it is shown.
        let run_id = bounded(&run_id.into());
        let trace = TraceId::of_run(&run_id);
        let found = self.views(&[run_id]).await?.pop().flatten();
        let (None, Some(trace)) = (&found, trace) else {
            return Ok(found);
        };
        let looking = self.store().read_to_show(move |store| store.alias(trace));
        match looking.await? {
            Some(run_id) => Ok(self.views(&[run_id]).await?.pop().flatten()),
            None => Ok(None),
        }
    }

    /// A page of runs, those begun last first, behind one of them. `page_size` is held between 1 and [`PAGE_SIZE_MAX`]. A bounded
    /// number of runs is looked at for each page, so that a page may be short, even empty, and still name a next one.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn runs(
        &self,
        filter: &RunFilter,
        page_size: usize,
        after: Option<&IndexKey>,
    ) -> Result<RunPage, StoreError> {
        let page_size = page_size.clamp(1, PAGE_SIZE_MAX);
        let shown = |agent: &Text| guarded::name(agent).unwrap_or_default();
        let filter = RunFilter {
            agent: filter.agent.as_ref().map(shown),
            ..filter.clone()
        };
        let mut after = after.cloned();
        let mut runs = Vec::new();
        let mut examined = 0;
        while runs.len() < page_size && examined < EXAMINED_MAX {
            let limit = TOGETHER.min(EXAMINED_MAX - examined);
            let behind = after.clone();
            let looking = self
                .store()
                .read_to_show(move |store| store.run_ids_newest_first(behind.as_ref(), limit));
            let keys = looking.await?;
            if keys.is_empty() {
                return Ok(RunPage {
                    runs,
                    next_after: None,
                });
            }
            let ids: Vec<Text> = keys.iter().map(|key| key.run_id.clone()).collect();
            for (key, view) in keys.into_iter().zip(self.views(&ids).await?) {
                if runs.len() == page_size {
                    break;
                }
                examined += 1;
                after = Some(key);
                runs.extend(view.filter(|view| view.is_listed() && filter.passes(view)));
            }
        }
        Ok(RunPage {
            runs,
            next_after: after,
        })
    }

    /// The runs with these ids, in their order, each as it was last committed, as far as there are any. The shards are asked once
    /// for all.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn views(&self, run_ids: &[Text]) -> Result<Vec<Option<RunView>>, StoreError> {
        let mut views: Vec<Option<RunView>> = run_ids.iter().map(|_| None).collect();
        for (shard, inbox) in self.shared.inboxes.iter().enumerate() {
            let owned = |run_id: &Text| usize::from(self.shared.shard_of(run_id)) == shard;
            let places: Vec<usize> = (0..run_ids.len())
                .filter(|place| owned(&run_ids[*place]))
                .collect();
            if places.is_empty() {
                continue;
            }
            let run_ids = places.iter().map(|place| run_ids[*place].clone()).collect();
            // A shard that has ended shows nothing; what is on disk remains.
            let look = |reply| Query::Look(Look::Views { run_ids, reply });
            let shown = inbox.ask(look).await;
            for (place, view) in places.into_iter().zip(shown.unwrap_or_default()) {
                views[place] = view;
            }
        }
        let missing: Vec<_> = (0..views.len())
            .filter(|place| views[*place].is_none())
            .collect();
        let saved = missing.iter().map(|place| run_ids[*place].clone());
        let saved = self.saved_views(saved.collect()).await?;
        for (place, view) in missing.into_iter().zip(saved) {
            views[place] = view;
        }
        let shown = views.into_iter().map(|view| view.filter(is_told));
        Ok(shown.collect())
    }

    /// Runs as they lie on disk.
    async fn saved_views(&self, run_ids: Vec<Text>) -> Result<Vec<Option<RunView>>, StoreError> {
        if run_ids.is_empty() {
            return Ok(Vec::new());
        }
        let policy = self.policy().policy;
        let looking = self.store().read_to_show(move |store| {
            let views = run_ids.iter();
            views
                .map(|run_id| saved_view(store, run_id, &policy))
                .collect()
        });
        looking.await
    }

    /// Why a warning of a run was raised, by the run's own id; none where there is no such warning.
    ///
    /// # Errors
    /// The store could not be read.
    pub async fn explain(
        &self,
        run_id: &Text,
        warning: u64,
    ) -> Result<Option<Explanation>, StoreError> {
        let inbox = self.shared.inbox_of(run_id);
        let asked = inbox.ask(|reply| {
            Query::Look(Look::Explain {
                run_id: run_id.clone(),
                warning,
                reply,
            })
        });
        if let Some(explanation) = asked.await.flatten() {
            return Ok(Some(explanation));
        }
        let (run_id, policy) = (run_id.clone(), self.policy().policy);
        let looking = self.store().read_to_show(move |store| {
            let saved = store.load_run(&run_id)?;
            let state = saved.and_then(|saved| decode_run(&saved.state).ok());
            Ok(state.and_then(|state| state.explain(warning, &policy)))
        });
        looking.await
    }

    /// A run as it is now, if it is there, and after each commit that concerns it. Who reads slowly misses states in
    /// between, never the newest, and holds nothing of the shards meanwhile. Ends when the run is forgotten or has gone over to
    /// another one, and when the daemon leaves.
    pub async fn watch(&self, run_id: &str) -> impl Stream<Item = RunView> + Send + use<> {
        let run_id = Text::from(run_id);
        let inbox = self.shared.inbox_of(&run_id);
        let look = |reply| {
            Query::Look(Look::Watch {
                run_id: run_id.clone(),
                reply,
            })
        };
        let mut watcher = inbox.ask(look).await;
        // Of a run that was not in memory it knows nothing until its next commit, and the disk has what came before that.
        let knows_nothing = |watcher: &watch::Receiver<Option<RunView>>| watcher.borrow().is_none();
        let mut saved = Vec::new();
        if watcher.as_ref().is_some_and(knows_nothing) {
            match self.saved_views(vec![run_id]).await {
                Ok(views) => saved = views,
                Err(error) => {
                    warn!(%error, "a run cannot be read, and is not watched");
                    watcher = None;
                }
            }
        }
        if !watcher.as_ref().is_some_and(knows_nothing) {
            // What was committed meanwhile is newer.
            saved.clear();
        }
        let shown = stream::iter(watcher).flat_map(WatchStream::new);
        stream::iter(saved).chain(shown).filter_map(future::ready)
    }
}

/// Whether there is anything to show of a run: of some it is known only which traces belong to them.
fn is_told(run: &RunView) -> bool {
    run.last_seen_ns > 0 || !run.warnings.is_empty() || !run.notes.is_empty()
}

/// A run as it lies on disk. One whose state cannot be read is shown as it will begin anew.
fn saved_view(
    store: &Store,
    run_id: &Text,
    policy: &Policy,
) -> Result<Option<RunView>, StoreError> {
    let anew = || RunState::begun_anew(run_id.clone());
    let state = match store.load_run(run_id) {
        Ok(Some(saved)) => decode_run(&saved.state).unwrap_or_else(|_| anew()),
        Ok(None) => return Ok(None),
        Err(StoreError::Unreadable { .. }) => anew(),
        Err(error) => return Err(error),
    };
    Ok(Some(state.view(policy)))
}

impl Look {
    /// How many runs are looked at for it.
    fn runs(&self) -> usize {
        match self {
            Self::Views { run_ids, .. } => run_ids.len(),
            Self::Explain { .. } | Self::Watch { .. } => 1,
        }
    }
}

impl Worker {
    /// Answers a query, and with it those that wait, up to a number: what they show is on disk by then. Returns whether the
    /// shard is to end.
    pub(super) async fn answer(&mut self, first: Query) -> Result<bool, StoreError> {
        let (mut looks, mut runs) = (Vec::new(), 0);
        let mut next = Some(first);
        while let Some(Query::Look(look)) = next {
            runs += look.runs();
            looks.push(look);
            let more = (runs < SHOWN_TOGETHER).then(|| self.inbox.queries.try_recv().ok());
            next = more.flatten();
        }
        if !looks.is_empty() {
            self.show(looks).await?;
        }
        match next {
            Some(Query::Review { keys, why, reply }) => {
                let retired = self.review(keys, why).await?;
                let _ = reply.send(retired);
            }
            Some(Query::Stop { done }) => {
                self.leave().await?;
                let _ = done.send(());
                return Ok(true);
            }
            Some(Query::Look(_)) | None => {}
        }
        Ok(false)
    }

    async fn show(&mut self, looks: Vec<Look>) -> Result<(), StoreError> {
        let look = |worker: &Self| {
            let looks = looks.into_iter();
            looks.map(|look| worker.look(look)).collect::<Vec<_>>()
        };
        for tell in self.seen(look).await? {
            tell(self);
        }
        self.make_room().await
    }

    /// What there is to see when all that is known is on disk: it is looked at as soon as a turn holds all, with the reports that
    /// wait, and told behind its commit, so that questions are answered meanwhile.
    async fn seen<T>(&mut self, look: impl FnOnce(&Self) -> T) -> Result<T, StoreError> {
        if self.pending.is_empty() {
            return Ok(look(self));
        }
        let mut batch = Batch::default();
        self.fill(&mut batch);
        self.turn_seen(batch, |worker, _| look(worker)).await
    }

    /// Looks at what is to be shown as it is now. It is told when that is on disk.
    fn look(&self, look: Look) -> Telling {
        match look {
            Look::Views { run_ids, reply } => {
                let views = run_ids.iter().map(|run_id| self.view(run_id)).collect();
                Box::new(|_| {
                    let _ = reply.send(views);
                })
            }
            Look::Explain {
                run_id,
                warning,
                reply,
            } => {
                let run = self.residence.resident(&run_id);
                let explanation =
                    run.and_then(|run| run.state.explain(warning, &self.policy.policy));
                Box::new(|_| {
                    let _ = reply.send(explanation);
                })
            }
            Look::Watch { run_id, reply } => {
                let view = self.view(&run_id);
                Box::new(|worker| worker.begin_watch(run_id, view, reply))
            }
        }
    }

    fn begin_watch(
        &mut self,
        run_id: Text,
        view: Option<RunView>,
        reply: oneshot::Sender<watch::Receiver<Option<RunView>>>,
    ) {
        match self.watchers.watch(run_id, view) {
            Some(watcher) => drop(reply.send(watcher)),
            None => self.shared.counters.refused_watchers.add(1),
        }
    }

    /// A run that is in memory, as it is shown.
    fn view(&self, run_id: &str) -> Option<RunView> {
        let run = self.residence.resident(run_id)?;
        Some(run.state.view(&self.policy.policy))
    }
}
