//! The questions that gRPC and HTTP have in common, and the state that they share.

use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use prost_types::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Settings;
use super::admission::REFUSED;
use super::convert;
use super::error::ApiError;
use super::ready::Readiness;
use super::tail::{AlertFilter, Start, Tail, TailItem};
use super::token::Position;
use crate::engine::RunView;
use crate::engine::event::Text;
use crate::json::{ExplanationJson, Place, warning_id};
use crate::shard::router::bounded;
use crate::shard::{PAGE_SIZE_MAX, RunFilter, Shards, TenantShards};
use crate::store::StoreError;
use crate::telemetry::Counter;

/// Things in a page where the client does not say how many it wants.
const PAGE_SIZE: usize = 100;

/// What every request of a tenant needs. Clones share it.
#[derive(Clone)]
pub(super) struct Api {
    shards: TenantShards,
    pub(super) settings: Settings,
    pub(super) readiness: Readiness,
    /// One for each stream that may still be opened.
    streams: Arc<Semaphore>,
}

impl Api {
    pub(super) fn new(shards: TenantShards, settings: Settings, readiness: Readiness) -> Self {
        let streams = Arc::new(Semaphore::new(settings.streams_max));
        Self {
            shards,
            settings,
            readiness,
            streams,
        }
    }

    /// The shards of the tenant, also where there are none just now.
    pub(super) fn tenant_shards(&self) -> &TenantShards {
        &self.shards
    }

    /// One run.
    pub(super) async fn run(&self, run_id: &str) -> Result<RunView, ApiError> {
        if run_id.is_empty() {
            return Err(ApiError::invalid("run_id", "is empty; name a run"));
        }
        let run = self.shards()?.run(run_id).await;
        let run = run.map_err(|error| not_read(&error))?;
        // As it would be shown: over gRPC the text goes into a header, and many clients take few bytes of these.
        run.ok_or_else(|| ApiError::NoRun(bounded(&run_id.into()).to_string()))
    }

    /// Why a warning of a run was raised.
    pub(super) async fn explain(
        &self,
        run_id: &str,
        warning: &str,
    ) -> Result<ExplanationJson, ApiError> {
        let run = self.run(run_id).await?;
        let id = warning_id(warning).ok_or_else(|| {
            ApiError::invalid("warning", "is no warning's id: sixteen hexadecimal digits")
        })?;
        let explanation = self.shards()?.explain(&run.run_id, id).await;
        let explanation = explanation.map_err(|error| not_read(&error))?;
        let explanation = explanation.ok_or_else(|| ApiError::NoWarning {
            warning: warning.to_owned(),
            run_id: run.run_id.to_string(),
        })?;
        let policy = self.shards()?.policy();
        let shown = ExplanationJson::new(&run.run_id, &explanation, &policy.policy);
        Ok(if self.settings.show_arguments {
            shown.with_samples(&explanation)
        } else {
            shown
        })
    }

    /// A page of runs, and the token of the next one, if there may be one; an empty token begins the listing.
    pub(super) async fn runs(
        &self,
        filter: &RunFilter,
        page_size: usize,
        page_token: &str,
    ) -> Result<(Vec<RunView>, Option<String>), ApiError> {
        let after = Position::parse_run(page_token)?;
        let page = self.shards()?.runs(filter, page_size, after.as_ref()).await;
        let page = page.map_err(|error| not_read(&error))?;
        let next = page.next_after.map(|key| Position::behind(key).token());
        Ok((page.runs, next))
    }

    /// A run now and after each change.
    pub(super) async fn watch(
        &self,
        run_id: &str,
    ) -> Result<impl Stream<Item = RunView> + Send + use<>, ApiError> {
        let permit = self.stream_permit()?;
        // It may be known by another id than the one that was asked for, also since a moment ago.
        let mut known_by = self.run(run_id).await?.run_id;
        let changes = loop {
            let changes = self.shards()?.watch(&known_by).await;
            let now = self.run(run_id).await?.run_id;
            if now == known_by {
                break changes;
            }
            known_by = now;
        };
        let changes = changes.map(move |run| {
            let _held = &permit;
            run
        });
        Ok(changes.take_until(self.readiness.shutdown.clone().cancelled_owned()))
    }

    /// The place behind which the reader begins, and the alerts after it: those that there are, and those to come. A run may be
    /// named by one of its traces, as it is known now.
    pub(super) async fn tail(
        &self,
        place: Option<Place>,
        mut filter: AlertFilter,
    ) -> Result<
        (
            Place,
            impl Stream<Item = Result<TailItem, ApiError>> + Send + use<>,
        ),
        ApiError,
    > {
        let start = Start::from_place(place);
        for run_id in &mut filter.run_ids {
            *run_id = bounded(run_id);
        }
        if let [run_id] = &*filter.run_ids
            && let Ok(run) = self.run(run_id).await
            && run.run_id != *run_id
        {
            filter.run_ids.push(run.run_id);
        }
        let shards = self.shards()?;
        let lag_max = self.settings.tail_lag_max;
        let (tail, begins) = Tail::new(shards.store(), start, filter, lag_max).await?;
        let items = tail.into_stream(self.readiness.shutdown.clone(), self.stream_permit()?);
        let items = items.take_until(shards.abandoned().clone().cancelled_owned());
        let items = items.map(|item| item.map_err(|error| not_read(&error)));
        Ok((begins, items))
    }

    /// The shards that know the answer.
    pub(super) fn shards(&self) -> Result<Shards, ApiError> {
        self.shards.current().map_err(|_| ApiError::Unavailable)
    }

    /// The shards that answer for the guard. Where there are none, the question counts as one that nobody looked at.
    pub(super) fn guard(&self) -> Option<Shards> {
        let shards = self.shards.current().ok();
        if shards.is_none() {
            self.shards.unasked().add(1);
        }
        shards
    }

    /// Questions to the guard for which there were no shards.
    pub(super) fn unasked(&self) -> &Counter {
        self.shards.unasked()
    }

    pub(super) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| {
            REFUSED.streams.add(1);
            ApiError::StreamsTaken(self.settings.streams_max)
        })
    }
}

/// The number of things in a page, from what the client asked for in `field`; more than [`PAGE_SIZE_MAX`] are taken as so many.
pub(super) fn page_size(field: &'static str, asked: i64) -> Result<usize, ApiError> {
    match usize::try_from(asked) {
        Ok(0) => Ok(PAGE_SIZE),
        Ok(size) => Ok(size.min(PAGE_SIZE_MAX)),
        Err(_) => Err(ApiError::invalid(
            field,
            format!("{asked} is negative; give 1 to {PAGE_SIZE_MAX}, or 0 for {PAGE_SIZE}"),
        )),
    }
}

/// A time in nanoseconds since 1970 that a client gave in `field`.
pub(super) fn time(field: &'static str, time: Option<&Timestamp>) -> Result<Option<u64>, ApiError> {
    time.map(|time| {
        convert::nanos(time).ok_or_else(|| ApiError::invalid(field, "nanos must be 0 to 999999999"))
    })
    .transpose()
}

/// What a filter asks for; nothing where it is left out.
pub(super) fn unless_empty(text: &str) -> Option<Text> {
    (!text.is_empty()).then(|| text.into())
}

/// The client learns that it may try again; the log learns why.
pub(super) fn not_read(error: &StoreError) -> ApiError {
    tracing::error!(%error, "a question to the store could not be answered");
    ApiError::Unavailable
}
