//! The HTTP side: the same answers in the JSON of [`crate::json`], and the two questions of a process supervisor.
//!
//! Every answer but those of `/v1/alerts`, `/metrics` and the page is one JSON object; every refusal is `{"error": "…"}` with a
//! status that says whose fault it is.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::{ApiError, failure};
use super::gate::is_anonymous;
use super::grpc;
use super::parameters::{NoQuery, Parameters, count, min_severity, not_utf8, statuses};
use super::queries::{Api, page_size, unless_empty};
use super::ready::note_of;
use super::tail::{AlertFilter, TailItem};
use super::{page, verdicts_http};
use crate::json::{AlertJson, ExplanationJson, NoPlace, Place, RunJson};
use crate::listener::is_grpc;
use crate::shard::RunFilter;
use crate::telemetry;

/// Puts the HTTP side beside the gRPC services, and answers what neither knows.
pub(super) fn add_routes(
    services: Router,
    api: Api,
    metrics: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> Router {
    let metrics = async move || ([(CONTENT_TYPE, telemetry::page::CONTENT_TYPE)], metrics());
    let http = Router::new()
        .route("/v1/runs", get(list_runs))
        // A run's id is a framework's own text and may contain slashes.
        .route("/v1/runs/{*run_id}", get(one_run))
        .route("/v1/warnings/{warning}", get(explain))
        .route("/v1/alerts", get(alerts))
        .merge(verdicts_http::routes())
        .merge(page::routes())
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(wrong_method)
        .with_state(api);
    services
        .reset_fallback()
        .route_layer(from_fn(grpc::speak))
        .merge(http)
        .fallback(unknown_path)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunsQuery {
    #[serde(default, deserialize_with = "count")]
    limit: i64,
    #[serde(default)]
    page_token: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    agent: String,
}

#[derive(Serialize)]
struct RunsJson {
    runs: Vec<RunJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

async fn list_runs(
    State(api): State<Api>,
    Parameters(query): Parameters<RunsQuery>,
) -> Result<Json<RunsJson>, ApiError> {
    let filter = RunFilter {
        statuses: statuses(&query.status)?,
        agent: unless_empty(&query.agent),
        ..RunFilter::default()
    };
    let size = page_size("limit", query.limit)?;
    let (runs, next_page_token) = api.runs(&filter, size, &query.page_token).await?;
    Ok(Json(RunsJson {
        runs: runs.iter().map(RunJson::from).collect(),
        next_page_token,
    }))
}

async fn one_run(
    State(api): State<Api>,
    run_id: Result<Path<String>, PathRejection>,
    _: Parameters<NoQuery>,
) -> Result<Json<RunJson>, ApiError> {
    let Path(run_id) = run_id.map_err(|_| not_utf8("run_id"))?;
    let run = api.run(&run_id).await?;
    Ok(Json(RunJson::from(&run)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainQuery {
    run_id: String,
}

async fn explain(
    State(api): State<Api>,
    warning: Result<Path<String>, PathRejection>,
    Parameters(query): Parameters<ExplainQuery>,
) -> Result<Json<ExplanationJson>, ApiError> {
    let Path(warning) = warning.map_err(|_| not_utf8("warning"))?;
    Ok(Json(api.explain(&query.run_id, &warning).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlertsQuery {
    cursor: Option<String>,
    #[serde(default)]
    min_severity: String,
    #[serde(default)]
    run_id: String,
}

async fn alerts(
    State(api): State<Api>,
    headers: HeaderMap,
    Parameters(query): Parameters<AlertsQuery>,
) -> Result<Response, ApiError> {
    let filter = AlertFilter {
        min_severity: min_severity(&query.min_severity)?,
        run_ids: unless_empty(&query.run_id).into_iter().collect(),
    };
    let asked = query.cursor.map(|cursor| place("cursor", &cursor));
    let asked = asked.transpose()?;
    // An event source that reconnects asks with its first address again, so what it last saw goes before `cursor`.
    let seen = last_event_id(&headers)?;
    let (begins, items, anew) = match api.tail(seen.or(asked), filter.clone()).await {
        // It is never again asked for what is refused to it, so it is told within the stream.
        Err(elsewhere) if seen.is_some() && elsewhere.is_of_another_log() => {
            let (begins, items) = api.tail(Some(Place::OLDEST), filter).await?;
            let said = json!({ "error": elsewhere.to_string() }).to_string();
            (begins, items, Event::default().event("anew").data(said))
        }
        tail => {
            let (begins, items) = tail?;
            (begins, items, Event::default())
        }
    };
    // Whoever is cut off before the first alert asks for what came since.
    let begins = anew.id(begins.to_string());
    let events = stream::iter([Ok(begins)]).chain(items.map(|item| item.map(event)));
    let keep_alive = KeepAlive::new().interval(api.settings.keep_alive);
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

fn event(item: TailItem) -> Event {
    let (event, place, data) = match item {
        TailItem::Alert(alert) => {
            let data = serde_json::to_string(&AlertJson::from(&*alert));
            (Event::default(), Place::from(&*alert), data)
        }
        TailItem::Lagged(lagged) => {
            let data = json!({ "missed": lagged.missed(), "from": lagged.from, "to": lagged.to });
            (
                Event::default().event("lagged"),
                Place {
                    cursor: lagged.to,
                    at_ms: None,
                },
                Ok(data.to_string()),
            )
        }
    };
    event
        .id(place.to_string())
        .data(data.expect("an alert has only text keys and numbers that JSON can show"))
}

async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "alive": true }))
}

/// Whether reports are taken. What is wrong, and what was found, is told with the tenant's token alone.
async fn ready(State(api): State<Api>, request: Request) -> Response {
    let own = Some(api.tenant_shards()).filter(|_| !is_anonymous(&request));
    let reasons = api.readiness.not_ready(own);
    if reasons.is_empty() {
        let shards = own.and_then(|shards| shards.current().ok());
        let body = match shards.and_then(|shards| note_of(shards.store())) {
            None => json!({ "ready": true }),
            Some(note) => json!({ "ready": true, "notes": [note] }),
        };
        return Json(body).into_response();
    }
    let body = json!({ "error": "not ready", "reasons": reasons });
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

/// What is said to senders of telemetry that have the wrong address.
const ELSEWHERE: &str =
    "OTLP is received on other addresses; by default OTLP/gRPC has port 4317 and OTLP/HTTP 4318";

async fn unknown_path(request: Request) -> Response {
    let path = request.uri().path();
    let is_telemetry = path.starts_with("/opentelemetry.proto.collector.")
        || ["/v1/traces", "/v1/logs", "/v1/metrics"].contains(&path);
    if is_telemetry && is_grpc(&request) {
        return tonic::Status::unimplemented(ELSEWHERE).into_http();
    }
    if is_telemetry {
        return failure(StatusCode::NOT_FOUND, ELSEWHERE);
    }
    if is_grpc(&request) {
        return tonic::Status::unimplemented("no such service on this address; see proto/eddy/v1")
            .into_http();
    }
    failure(
        StatusCode::NOT_FOUND,
        "no such path; there are / (a page for people), /v1/runs, /v1/runs/ID, /v1/warnings/ID, /v1/alerts, /v1/guard/check, /v1/guard/report, \
         /v1/guard/message, /v1/guard/totals, /healthz, /readyz and /metrics",
    )
}

async fn wrong_method() -> Response {
    failure(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path has another method: POST for /v1/guard/check, /v1/guard/report and /v1/guard/message, else GET",
    )
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Place>, ApiError> {
    let id = headers.get("last-event-id");
    let text = id.map(|id| id.to_str().unwrap_or_default());
    text.map(|text| place("Last-Event-ID", text)).transpose()
}

fn place(field: &'static str, text: &str) -> Result<Place, ApiError> {
    let place: Result<Place, NoPlace> = text.trim().parse();
    place.map_err(|no_place| ApiError::invalid(field, no_place.to_string()))
}
