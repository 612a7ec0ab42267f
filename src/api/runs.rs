//! `eddy.v1.RunService`.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use tonic::{Request, Response, Status};

use super::error::ApiError;
use super::queries::{Api, page_size, time, unless_empty};
use super::v1::run_service_server::RunService;
use super::{convert, v1};
use crate::engine::view;
use crate::shard::RunFilter;

#[tonic::async_trait]
impl RunService for Api {
    async fn get_run(
        &self,
        request: Request<v1::GetRunRequest>,
    ) -> Result<Response<v1::GetRunResponse>, Status> {
        let run = self.run(&request.get_ref().run_id).await?;
        Ok(Response::new(v1::GetRunResponse {
            run: Some(v1::Run::from(&run)),
        }))
    }

    async fn list_runs(
        &self,
        request: Request<v1::ListRunsRequest>,
    ) -> Result<Response<v1::ListRunsResponse>, Status> {
        let request = request.into_inner();
        let size = page_size("page_size", request.page_size.into())?;
        let filter = run_filter(&request.filter.unwrap_or_default())?;
        let (runs, next) = self.runs(&filter, size, &request.page_token).await?;
        Ok(Response::new(v1::ListRunsResponse {
            runs: runs.iter().map(v1::Run::from).collect(),
            next_page_token: next.unwrap_or_default(),
        }))
    }

    type WatchRunStream = Pin<Box<dyn Stream<Item = Result<v1::WatchRunResponse, Status>> + Send>>;

    async fn watch_run(
        &self,
        request: Request<v1::WatchRunRequest>,
    ) -> Result<Response<Self::WatchRunStream>, Status> {
        let changes = self.watch(&request.get_ref().run_id).await?;
        let answers = changes.map(|run| {
            Ok(v1::WatchRunResponse {
                run: Some(v1::Run::from(&run)),
            })
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

fn run_filter(filter: &v1::RunFilter) -> Result<RunFilter, ApiError> {
    let statuses = filter.statuses.iter().map(|number| status(*number));
    Ok(RunFilter {
        statuses: statuses.collect::<Result<_, _>>()?,
        agent: unless_empty(&filter.agent),
        min_last_seen_ns: time("filter.last_seen_after", filter.last_seen_after.as_ref())?,
        // The shards' bound is the last time that passes; the request's is the first that does not.
        max_last_seen_ns: time("filter.last_seen_before", filter.last_seen_before.as_ref())?
            .map(|before| before.saturating_sub(1)),
    })
}

fn status(number: i32) -> Result<view::Status, ApiError> {
    convert::status(number).ok_or_else(|| {
        let problem =
            format!("{number} is not a status that can be asked for; RunStatus lists 1 to 5");
        ApiError::invalid("filter.statuses", problem)
    })
}
