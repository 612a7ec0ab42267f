//! What a request cannot be routed without, and only the database knows: of which run a trace is that the router does not
//! remember, and, where none may be begun, whether there is a run. And which run a question to the guard is about.
//!
//! The disk may be slow, and everybody waits for whoever holds the router. So nobody who does asks the database: a request that
//! lacks something lets go of the router, has it looked up by a thread that may wait, and is routed anew. Nearly every request
//! lacks nothing, since the store knows without its database what is new.

use crate::engine::event::{Text, TraceId};
use crate::normalize::RunRef;
use crate::store::hashing::FastMap;
use crate::store::{Store, StoreError};

use super::Shared;
use super::router::{CHAIN_MAX, Route, Router, reported_id};
use super::worker::Worker;

/// Traces and runs of which the database has to be asked.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    pub(super) traces: Vec<TraceId>,
    pub(super) runs: Vec<Text>,
}

/// What it has said of some.
#[derive(Debug, Default)]
pub(super) struct Known {
    aliases: FastMap<TraceId, Option<Text>>,
    runs: FastMap<Text, bool>,
}

impl Unknown {
    pub(super) fn is_empty(&self) -> bool {
        self.traces.is_empty() && self.runs.is_empty()
    }
}

impl Known {
    /// Looks up what is unknown, and waits for it.
    pub(super) async fn learn(
        &mut self,
        store: &Store,
        unknown: Unknown,
    ) -> Result<(), StoreError> {
        let Unknown { traces, runs } = unknown;
        let looking = store.read_beside(move |store| {
            let aliases = traces
                .into_iter()
                .map(|trace| Ok((trace, store.alias(trace)?)));
            let aliases = aliases.collect::<Result<Vec<_>, StoreError>>()?;
            let runs = runs.into_iter().map(|run_id| {
                let has = store.has_run(&run_id)?;
                Ok((run_id, has))
            });
            Ok((aliases, runs.collect::<Result<Vec<_>, StoreError>>()?))
        });
        let (aliases, runs) = looking.await?;
        self.aliases.extend(aliases);
        self.runs.extend(runs);
        Ok(())
    }

    /// Whether there is a run; `None` where the database has to be asked.
    pub(super) fn has_run(&self, store: &Store, run_id: &Text) -> Option<bool> {
        let at_hand = store.has_run_at_hand(run_id);
        at_hand.or_else(|| self.runs.get(run_id).copied())
    }
}

/// The run of a trace, by the database; none where that cannot be read.
pub(super) async fn alias(store: &Store, trace: TraceId) -> Option<Text> {
    let looking = store.read_beside(move |store| store.alias(trace));
    looking.await.ok().flatten()
}

impl Shared {
    /// Where a report goes. What is missing for that is noted, and the answer is worth nothing then.
    pub(super) fn route_one(
        &self,
        router: &mut Router,
        run: &RunRef,
        known: &Known,
        unknown: &mut Unknown,
    ) -> Option<Route> {
        router.route(run, &mut self.stored(known, unknown))
    }

    /// What is stored of a trace, for the router.
    pub(super) fn stored<'a>(
        &'a self,
        known: &'a Known,
        unknown: &'a mut Unknown,
    ) -> impl FnMut(TraceId) -> Option<Text> {
        move |trace| {
            let at_hand = self.store.alias_at_hand(trace).ok();
            let alias = at_hand.or_else(|| known.aliases.get(&trace).cloned());
            alias.unwrap_or_else(|| {
                unknown.traces.push(trace);
                None
            })
        }
    }
}

impl Shared {
    /// The run that an id names. A trace may have gone over to a run with a name of its own, by way of other traces. Who asks
    /// waits for the database where that has to say so, and no thread does that others need.
    pub(super) async fn run_named(&self, run_id: &str) -> Text {
        let mut run_id = reported_id(&run_id.into());
        for _ in 0..CHAIN_MAX {
            let Some(trace) = TraceId::of_run(&run_id) else {
                break;
            };
            let remembered = || self.router.try_lock().ok()?.known(trace).map(Some);
            let known = remembered().or_else(|| self.store.alias_at_hand(trace).ok());
            let next = match known {
                Some(next) => next,
                None => alias(&self.store, trace).await,
            };
            match next.filter(|next| *next != run_id) {
                Some(next) => run_id = next,
                None => break,
            }
        }
        run_id
    }
}

impl Worker {
    /// The run to which a trace has gone over since somebody asked about its own, of which nothing is left: if that were begun
    /// again, nobody would move it.
    pub(super) fn gone_over(&mut self, run_id: &Text) -> Result<Option<Text>, StoreError> {
        let Some(trace) = TraceId::of_run(run_id) else {
            return Ok(None);
        };
        if self.residence.fetch(run_id)?.is_some() {
            return Ok(None);
        }
        let known = self.shared.router().known(trace);
        Ok(known.filter(|known| known != run_id))
    }
}
