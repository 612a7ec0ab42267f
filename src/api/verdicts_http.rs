//! The guard over HTTP: `POST /v1/guard/check`, `/v1/guard/report` and `/v1/guard/message`, and `GET /v1/guard/totals`, with
//! the fields of `eddy.v1.GuardService` under the same names.
//!
//! A body is read field by field, so that whatever is wrong is said with the field's name. `arguments` and `result` may be any
//! JSON or a text; enums are words.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Formatter};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::de::{MapAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;
use tonic::{Code, Status};

use super::admission::{GUARD_BYTES_MAX, too_long};
use super::error::{ApiError, failure};
use super::parameters::{NoQuery, Parameters};
use super::queries::Api;
use super::v1;
use crate::engine::guard::verdict::VerdictKind;
use crate::json::VerdictJson;
use crate::telemetry::innermost;

/// The routes of the guard.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/v1/guard/check", post(check))
        .route("/v1/guard/report", post(report))
        .route("/v1/guard/message", post(message))
        .route("/v1/guard/totals", get(totals))
        .layer(DefaultBodyLimit::max(GUARD_BYTES_MAX))
        .layer(from_fn(refuse_strangers))
}

/// Refuses what a page in a browser sends: it could invent runs, and no agent is one. Refuses, too, what is compressed, which
/// nobody here undoes, and parameters, which nobody looks at.
async fn refuse_strangers(request: Request, next: Next) -> Response {
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) {
        return failure(StatusCode::FORBIDDEN, "web pages may not ask the guard");
    }
    let coding = headers.get(header::CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let text = "content-encoding: bodies are taken as they are, and none that is compressed";
        return failure(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
    }
    match Parameters::<NoQuery>::of(request.uri()) {
        Ok(_) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

#[derive(Serialize)]
struct MessageJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

async fn check(State(api): State<Api>, Whole(body): Whole) -> Result<Json<VerdictJson>, ApiError> {
    let mut fields = Fields::read(&body)?;
    let request = v1::CheckToolCallRequest {
        run_id: fields.text("run_id")?.unwrap_or_default(),
        tool: fields.text("tool")?.unwrap_or_default(),
        arguments: fields.value("arguments"),
        call_id: fields.text("call_id")?,
        agent: fields.text("agent")?,
        worker: fields.text("worker")?,
        session_id: fields.text("session_id")?,
        turn_id: fields.text("turn_id")?,
        round_id: fields.text("round_id")?,
    };
    fields.end()?;
    let answer = api.check_call(&request).await?;
    Ok(Json(VerdictJson {
        verdict: answer.verdict().into(),
        message: answer.message,
        rule: answer.rule,
        repeats: answer.repeats,
        previous_result: answer.previous_result,
        warning_id: answer.warning_id,
        degraded: answer.degraded,
    }))
}

async fn report(State(api): State<Api>, Whole(body): Whole) -> Result<Json<MessageJson>, ApiError> {
    let mut fields = Fields::read(&body)?;
    let request = v1::ReportToolResultRequest {
        run_id: fields.text("run_id")?.unwrap_or_default(),
        tool: fields.text("tool")?.unwrap_or_default(),
        call_id: fields.text("call_id")?,
        arguments: fields.value("arguments"),
        status: fields.status()?.into(),
        result: fields.value("result"),
        message: fields.text("message")?,
        error: fields.value("error"),
        agent: fields.text("agent")?,
        worker: fields.text("worker")?,
    };
    fields.end()?;
    api.report_result(&request).await?;
    Ok(Json(MessageJson { message: None }))
}

async fn message(
    State(api): State<Api>,
    Whole(body): Whole,
) -> Result<Json<MessageJson>, ApiError> {
    let mut fields = Fields::read(&body)?;
    let request = v1::ReportMessageRequest {
        run_id: fields.text("run_id")?.unwrap_or_default(),
        kind: fields.kind()?.into(),
        text: fields.text("text")?,
        agent: fields.text("agent")?,
        worker: fields.text("worker")?,
    };
    fields.end()?;
    let answer = api.report_message_of(&request).await?;
    Ok(Json(MessageJson {
        message: answer.message,
    }))
}

#[derive(Serialize)]
struct TotalsJson {
    verdicts: Vec<VerdictCountJson>,
    degraded: u64,
    skipped_calls: u64,
    saved_tokens_estimate: u64,
    saved_cost_usd_estimate: f64,
}

#[derive(Serialize)]
struct VerdictCountJson {
    rule: String,
    verdict: &'static str,
    count: u64,
}

async fn totals(State(api): State<Api>) -> Result<Json<TotalsJson>, ApiError> {
    let totals = api.guard_totals()?;
    let verdicts = totals.verdicts.into_iter().map(|count| VerdictCountJson {
        verdict: VerdictKind::from(count.verdict()).name(),
        rule: count.rule,
        count: count.count,
    });
    Ok(Json(TotalsJson {
        verdicts: verdicts.collect(),
        degraded: totals.degraded,
        skipped_calls: totals.skipped_calls,
        saved_tokens_estimate: totals.saved_tokens_estimate,
        saved_cost_usd_estimate: totals.saved_cost_usd_estimate,
    }))
}

/// The body of a question.
struct Whole(Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = Bytes::from_request(request, state).await;
        body.map(Self).map_err(|rejection| not_arrived(&rejection))
    }
}

/// Why the body of a question was not taken whole: what its place, its length or its connection has to say.
fn not_arrived(rejection: &BytesRejection) -> Response {
    let mut causes = std::iter::successors(rejection.source(), |&cause| cause.source());
    let refused = causes.find_map(|cause| cause.downcast_ref::<Status>());
    match refused.map(|status| (status.code(), status.message())) {
        Some((Code::Unavailable, text)) => failure(StatusCode::SERVICE_UNAVAILABLE, text),
        Some((Code::DeadlineExceeded, text)) => failure(StatusCode::REQUEST_TIMEOUT, text),
        _ if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => too_long(),
        _ => {
            let cause = innermost(rejection);
            failure(rejection.status(), &format!("body: broke off: {cause}"))
        }
    }
}

/// The members of a body, taken out one by one.
#[derive(Default)]
struct Fields<'a> {
    once: BTreeMap<String, &'a RawValue>,
    /// The name of one that is there again.
    twice: Option<String>,
}

impl<'de> Visitor<'de> for Fields<'de> {
    type Value = Self;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
        while let Some((field, json)) = members.next_entry::<String, _>()? {
            if self.once.insert(field.clone(), json).is_some() {
                self.twice = Some(field);
            }
        }
        Ok(self)
    }
}

impl<'a> Fields<'a> {
    fn read(body: &'a [u8]) -> Result<Self, ApiError> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = json.deserialize_map(Self::default());
        let read = read.and_then(|fields| json.end().map(|()| fields));
        let fields = read
            .map_err(|error| ApiError::invalid("body", format!("is not a JSON object: {error}")))?;
        match fields.twice {
            Some(field) => Err(ApiError::invalid(field, "is given twice")),
            None => Ok(fields),
        }
    }

    fn take(&mut self, field: &str) -> Option<&'a RawValue> {
        self.once.remove(field).filter(|json| json.get() != "null")
    }

    /// A text, or a number as a text: ids are numbers in some programs.
    fn text(&mut self, field: &'static str) -> Result<Option<String>, ApiError> {
        let Some(json) = self.take(field) else {
            return Ok(None);
        };
        let json = json.get();
        if serde_json::from_str::<serde_json::Number>(json).is_ok() {
            return Ok(Some(json.to_owned()));
        }
        let text = serde_json::from_str::<String>(json);
        text.map(Some)
            .map_err(|_| ApiError::invalid(field, "must be a text"))
    }

    /// Any JSON as text; a text as it is.
    fn value(&mut self, field: &str) -> Option<String> {
        let json = self.take(field)?.get();
        Some(serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()))
    }

    /// One that is missing is missed later, behind what names the run and the tool.
    fn status(&mut self) -> Result<v1::ResultStatus, ApiError> {
        match self.text("status")?.as_deref() {
            None => Ok(v1::ResultStatus::Unspecified),
            Some("success") => Ok(v1::ResultStatus::Success),
            Some("success_no_data") => Ok(v1::ResultStatus::SuccessNoData),
            Some("error") => Ok(v1::ResultStatus::Error),
            _ => Err(ApiError::invalid(
                "status",
                "must be success, success_no_data or error",
            )),
        }
    }

    /// As with the status.
    fn kind(&mut self) -> Result<v1::MessageKind, ApiError> {
        match self.text("kind")?.as_deref() {
            None => Ok(v1::MessageKind::Unspecified),
            Some("assistant") => Ok(v1::MessageKind::Assistant),
            Some("user") => Ok(v1::MessageKind::User),
            _ => Err(ApiError::invalid("kind", "must be assistant or user")),
        }
    }

    /// Refuses what is left: a misspelt field would be passed over in silence.
    fn end(self) -> Result<(), ApiError> {
        match self.once.into_keys().next() {
            None => Ok(()),
            Some(field) => Err(ApiError::invalid(field, "is not a field of this request")),
        }
    }
}
