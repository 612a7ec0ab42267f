//! `eddy.v1.WarningService`.
//!
//! Warnings have no index of their own: a listing walks the runs, newest first, and a page may end within a run. Its
//! token names the place in the walk: the last run that is done with, and the last warning given of the one after it.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use super::error::ApiError;
use super::queries::{Api, not_read, page_size, time, unless_empty};
use super::tail::{AlertFilter, TailItem};
use super::token::Position;
use super::v1::tail_alerts_response::Message;
use super::v1::warning_service_server::WarningService;
use super::{convert, v1};
use crate::engine::RunView;
use crate::engine::warning::{Severity, Warning, WarningState};
use crate::json::Place;

/// Most runs that one page of warnings looks at, so that a filter that lets little through costs a bounded time a page.
const RUNS_EXAMINED_MAX: usize = 1_000;

/// Runs of the index that are read together.
const RUNS_TOGETHER: usize = 100;

#[tonic::async_trait]
impl WarningService for Api {
    async fn list_warnings(
        &self,
        request: Request<v1::ListWarningsRequest>,
    ) -> Result<Response<v1::ListWarningsResponse>, Status> {
        let request = request.into_inner();
        let filter = WarningFilter {
            open_only: request.open_only,
            min_severity: min_severity(request.min_severity)?,
        };
        let mut page = Page {
            filter,
            size: page_size("page_size", request.page_size.into())?,
            warnings: Vec::new(),
        };
        let mut place = Position::parse(&request.page_token)?;
        let next = if request.run_id.is_empty() {
            page.fill_from_all(self, place).await?
        } else {
            let run = self.run(&request.run_id).await?;
            page.fill_from_one(&run, &mut place.after_id)
                .then_some(place)
        };
        Ok(Response::new(v1::ListWarningsResponse {
            warnings: page.warnings,
            next_page_token: next.map(|place| place.token()).unwrap_or_default(),
        }))
    }

    type TailAlertsStream =
        Pin<Box<dyn Stream<Item = Result<v1::TailAlertsResponse, Status>> + Send>>;

    async fn tail_alerts(
        &self,
        request: Request<v1::TailAlertsRequest>,
    ) -> Result<Response<Self::TailAlertsStream>, Status> {
        let request = request.into_inner();
        let filter = AlertFilter {
            min_severity: min_severity(request.min_severity)?,
            run_ids: unless_empty(&request.run_id).into_iter().collect(),
        };
        let (_, items) = self.tail(place_after(&request)?, filter).await?;
        let answers = items.map(|item| item.map(answer).map_err(Status::from));
        Ok(Response::new(Box::pin(answers)))
    }
}

/// Where a tail is to begin, if the client says so.
fn place_after(request: &v1::TailAlertsRequest) -> Result<Option<Place>, ApiError> {
    let field = "after_commit_time";
    let at_ms =
        time(field, request.after_commit_time.as_ref())?.map(|ns| ns / convert::NANOS_PER_MILLI);
    match (request.after_cursor, at_ms) {
        (None, Some(_)) => Err(ApiError::invalid(
            field,
            "goes with after_cursor, whose alert was committed then",
        )),
        (cursor, at_ms) => Ok(cursor.map(|cursor| Place { cursor, at_ms })),
    }
}

fn min_severity(number: i32) -> Result<Severity, ApiError> {
    convert::min_severity(number).ok_or_else(|| {
        ApiError::invalid(
            "min_severity",
            format!("{number} is not one of Severity, which lists 0 to 3"),
        )
    })
}

fn answer(item: TailItem) -> v1::TailAlertsResponse {
    let message = match item {
        TailItem::Alert(alert) => Message::Alert(v1::Alert::from(&*alert)),
        TailItem::Lagged(lagged) => Message::Lagged(v1::Lagged::from(lagged)),
    };
    v1::TailAlertsResponse {
        message: Some(message),
    }
}

struct WarningFilter {
    open_only: bool,
    min_severity: Severity,
}

impl WarningFilter {
    fn lets_through(&self, warning: &Warning) -> bool {
        let open = warning.state == WarningState::Open;
        (open || !self.open_only) && warning.severity >= self.min_severity
    }
}

/// A page that is being filled.
struct Page {
    filter: WarningFilter,
    size: usize,
    warnings: Vec<v1::RunWarning>,
}

impl Page {
    /// Fills the page with warnings of all runs, and says where the next one begins.
    async fn fill_from_all(
        &mut self,
        api: &Api,
        mut place: Position,
    ) -> Result<Option<Position>, ApiError> {
        if let (Some(key), Some(_)) = (&place.after_run, place.after_id) {
            let run = api.shards()?.run(&key.run_id).await;
            let run = run.map_err(|error| not_read(&error))?;
            if let Some(run) = run.filter(|run| run.run_id == key.run_id)
                && self.fill_from_one(&run, &mut place.after_id)
            {
                return Ok(Some(place));
            }
            place.after_id = None;
        }
        for _ in 0..RUNS_EXAMINED_MAX / RUNS_TOGETHER {
            let shards = api.shards()?;
            let after = place.after_run.clone();
            let looking = shards.store().read_to_show(move |store| {
                store.run_ids_newest_first(after.as_ref(), RUNS_TOGETHER)
            });
            let keys = looking.await.map_err(|error| not_read(&error))?;
            if keys.is_empty() {
                return Ok(None);
            }
            let run_ids: Vec<_> = keys.iter().map(|key| key.run_id.clone()).collect();
            let runs = shards.views(&run_ids).await;
            let runs = runs.map_err(|error| not_read(&error))?;
            // A run that has just gone over to another one is not there, and the walk finds the other as well.
            for (key, run) in keys.into_iter().zip(runs) {
                let mut after_id = None;
                let is_full = run.is_some_and(|run| self.fill_from_one(&run, &mut after_id));
                if is_full && after_id.is_none() {
                    return Ok(Some(place));
                }
                place = Position {
                    after_run: Some(key),
                    after_id,
                };
                if is_full {
                    return Ok(Some(place));
                }
                place.after_id = None;
            }
        }
        Ok(Some(place))
    }

    /// Fills the page with warnings of one run behind an id, which becomes that of the last one given; true if there is no room
    /// for all. The order is by id, which stays while warnings come, grow and resolve between two pages.
    fn fill_from_one(&mut self, run: &RunView, after_id: &mut Option<u64>) -> bool {
        let mut warnings: Vec<&Warning> = run.warnings.iter().collect();
        warnings.sort_unstable_by_key(|warning| warning.id);
        for warning in warnings {
            let given = after_id.is_some_and(|after| warning.id <= after);
            if given || !self.filter.lets_through(warning) {
                continue;
            }
            if self.warnings.len() == self.size {
                return true;
            }
            *after_id = Some(warning.id);
            self.warnings.push(v1::RunWarning {
                run_id: run.run_id.to_string(),
                warning: Some(v1::Warning::from(warning)),
            });
        }
        false
    }
}
