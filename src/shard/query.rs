//! Questions about runs, answered from what is committed.
//!
//! A run that is in memory is shown by its shard, between two turns; any other is read from the store by whoever asks,
//! so that a long list holds up no shard. A state leaves memory only once it is saved, so one of the two has the newest.

use futures_util::{Stream, StreamExt, future, stream};
use tokio_stream::wrappers::WatchStream;

use crate::engine::event::{Text, TraceId};
use crate::engine::explain::Explanation;
use crate::engine::view::Status;
use crate::engine::{RunState, RunView};
use crate::store::records::decode_run;
use crate::store::{IndexKey, StoreError};

use super::Shared;
use super::inbox::Query;
use super::router::bounded;

/// Most runs on a page.
pub const PAGE_SIZE_MAX: usize = 1_000;

/// Most runs looked at for one page, so that a filter which nothing passes costs little; but always as many as fit.
const EXAMINED_MAX: usize = 1_000;

/// Runs looked at together: a shard shows its share of them between two turns.
const TOGETHER: usize = 100;

/// Which runs to list. What is left empty does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Any of these.
    pub statuses: Vec<Status>,
    /// Last seen at this time or later, nanoseconds since 1970.
    pub min_last_seen_ns: Option<u64>,
    /// Last seen at this time or earlier, nanoseconds since 1970.
    pub max_last_seen_ns: Option<u64>,
    /// One of the run's agents has this name.
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

impl Shared {
    /// A run. One that has gone over to another is found under its old id, too.
    pub(super) async fn run(&self, run_id: &str) -> Result<Option<RunView>, StoreError> {
        // As it was reported, or as it is shown.
        let found = self
            .views(&[bounded(&run_id.into())])
            .await?
            .pop()
            .flatten();
        let (None, Some(trace)) = (&found, TraceId::of_run(run_id)) else {
            return Ok(found);
        };
        match self.store.alias(trace)? {
            Some(run_id) => Ok(self.views(&[run_id]).await?.pop().flatten()),
            None => Ok(None),
        }
    }

    pub(super) async fn runs(
        &self,
        filter: &RunFilter,
        page_size: usize,
        after: Option<&IndexKey>,
    ) -> Result<RunPage, StoreError> {
        let page_size = page_size.clamp(1, PAGE_SIZE_MAX);
        let mut after = after.cloned();
        let mut runs = Vec::new();
        let mut examined = 0;
        while runs.len() < page_size && examined < EXAMINED_MAX {
            let limit = TOGETHER.min(EXAMINED_MAX - examined);
            let keys = self.store.run_ids(after.as_ref(), true, limit)?;
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

    /// The runs with these ids, in their order, as far as there are any.
    async fn views(&self, run_ids: &[Text]) -> Result<Vec<Option<RunView>>, StoreError> {
        let mut views: Vec<Option<RunView>> = run_ids.iter().map(|_| None).collect();
        for (shard, desk) in self.desks.iter().enumerate() {
            let owned = |run_id: &Text| usize::from(self.shard_of(run_id)) == shard;
            let places: Vec<usize> = (0..run_ids.len())
                .filter(|place| owned(&run_ids[*place]))
                .collect();
            if places.is_empty() {
                continue;
            }
            let run_ids = places.iter().map(|place| run_ids[*place].clone()).collect();
            // A shard that has ended shows nothing; what is on disk remains.
            let shown = desk.ask(|reply| Query::Views { run_ids, reply }).await;
            for (place, view) in places.into_iter().zip(shown.unwrap_or_default()) {
                views[place] = view;
            }
        }
        for (run_id, view) in run_ids.iter().zip(&mut views) {
            if view.is_none() {
                *view = self.saved_view(run_id)?;
            }
        }
        Ok(views)
    }

    /// Why a warning of a run was raised; none where there is no such warning.
    pub(super) async fn explain(
        &self,
        run_id: &Text,
        warning: u64,
    ) -> Result<Option<Explanation>, StoreError> {
        let desk = self.desk_of(run_id);
        let asked = desk.ask(|reply| Query::Explain {
            run_id: run_id.clone(),
            warning,
            reply,
        });
        if let Some(explanation) = asked.await.flatten() {
            return Ok(Some(explanation));
        }
        let saved = self.store.load_run(run_id)?;
        let state = saved.and_then(|saved| decode_run(&saved.state).ok());
        Ok(state.and_then(|state| state.explain(warning, &self.policy().policy)))
    }

    /// A run as it lies on disk. One whose state cannot be read is shown as it will begin anew.
    pub(super) fn saved_view(&self, run_id: &Text) -> Result<Option<RunView>, StoreError> {
        let anew = || RunState::begun_anew(run_id.clone());
        let state = match self.store.load_run(run_id) {
            Ok(Some(saved)) => decode_run(&saved.state).unwrap_or_else(|_| anew()),
            Ok(None) => return Ok(None),
            Err(StoreError::Unreadable { .. }) => anew(),
            Err(error) => return Err(error),
        };
        Ok(Some(state.view(&self.policy().policy)))
    }
}

/// A run now and from now on. The stream holds nothing of the shards: it may be as slow as a client.
pub(super) async fn watch(
    shared: &Shared,
    run_id: Text,
) -> impl Stream<Item = RunView> + Send + use<> {
    let desk = shared.desk_of(&run_id);
    let watcher = desk.ask(|reply| Query::Watch { run_id, reply }).await;
    stream::iter(watcher)
        .flat_map(WatchStream::new)
        .filter_map(future::ready)
}
