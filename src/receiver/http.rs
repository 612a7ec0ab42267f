//! OTLP/HTTP: three paths that take protobuf or JSON, over HTTP/1.1 and HTTP/2.
//!
//! A request goes the way of every request ([`Arrival`]); its body is decompressed on it, and JSON is turned into the bytes that
//! the walk reads. The answer is in the language of the request: a response message, or a `google.rpc.Status` that says what is
//! wrong. The HTTP status decides whether a sender comes back: it repeats 503, after the time in `Retry-After`, and gives up on
//! every other refusal.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use prost::Message;
use serde_json::json;
use tonic::service::Routes;

use super::Settings;
use super::arrival::Arrival;
use super::body::{self, Coding, Framing};
use super::grpc::{reply, status};
use super::intake::Intake;
use super::outcome::{Accepted, Refused, Written};
use crate::listener::{Tokens, UNAUTHENTICATED, discard, is_grpc};
use crate::otlp::Signal;
use crate::otlp::json::{self as otlp_json, FromJson};
use crate::telemetry::causes;

/// JSON beyond this size is read on a thread of its own: a mebibyte takes several milliseconds, and other requests must
/// not wait for it.
const JSON_INLINE_MAX: usize = 64 << 10;

/// The language of a request and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Protobuf,
    Json,
}

impl Format {
    /// What the content type says, whatever parameters it has.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let essence = text.split(';').next().unwrap_or("").trim();
        [Self::Protobuf, Self::Json]
            .into_iter()
            .find(|format| essence.eq_ignore_ascii_case(format.content_type()))
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// The paths; every other one, and every method but POST, is answered with what there is.
pub(super) fn routes(intake: &Intake, settings: &Settings, tokens: Tokens) -> Routes {
    let add = |router: Router, signal: Signal| {
        let (intake, settings) = (intake.clone(), settings.clone());
        let handler = move |request: Request| export(intake, settings, signal, request);
        router.route(signal.http_path(), post(handler))
    };
    let router = Signal::ALL.into_iter().fold(Router::new(), add);
    let arrival_max = settings.arrival_max;
    let unknown_intake = intake.clone();
    let router = router
        .method_not_allowed_fallback(move |request| wrong_method(request, arrival_max))
        .fallback(move |request| unknown_path(unknown_intake, request, arrival_max));
    let counters = intake.clone();
    let guarded = tokens.guard(router, move |request| {
        counters.counters().requests_unauthenticated.add(1);
        unauthenticated(request)
    });
    settings.cors.around(guarded).into()
}

async fn export(intake: Intake, settings: Settings, signal: Signal, request: Request) -> Response {
    let (format, coding) = match understood(request.headers()) {
        Ok(understood) => understood,
        Err(response) => {
            intake.count_refused(&Refused::Invalid(String::new()));
            discard(request, settings.arrival_max).await;
            return *response;
        }
    };
    let kind = (format, coding);
    match taken(request, kind, signal, intake, &settings).await {
        Ok(accepted) => acknowledgement(format, signal, accepted),
        Err(refused) => refusal(format, &refused),
    }
}

async fn taken(
    request: Request,
    (format, coding): (Format, Coding),
    signal: Signal,
    intake: Intake,
    settings: &Settings,
) -> Result<Accepted, Refused> {
    let is_read = signal != Signal::Metrics || intake.passes_on();
    let (body, arrival) = Arrival::of(request, &Framing::NONE, signal, intake, settings).await?;
    let bytes_max = settings.message_bytes_max;
    let text = body::decompressed(coding, body, bytes_max, &arrival.share).await;
    let (understood, arrival) = match text {
        Ok(text) if format == Format::Json && is_read => of_json(signal, text, arrival).await,
        text => (text.map(|text| (text, Written::Protobuf)), arrival),
    };
    arrival.take(understood).await
}

/// In which language and compression a request comes, or the answer to one whose headers cannot be gone by.
fn understood(headers: &HeaderMap) -> Result<(Format, Coding), Box<Response>> {
    // Only browsers send an Origin, and those of allowed pages do not come so far with it. A page that made a name of its
    // own point to this machine could invent runs.
    if headers.contains_key(header::ORIGIN) {
        let status = tonic::Status::permission_denied(
            "requests of this web page are not taken (its Origin is not in `cors.allowed_origins`)",
        );
        let response = status_answer(StatusCode::FORBIDDEN, Format::Json, &status);
        return Err(response.into());
    }
    let Some(format) = Format::of(headers) else {
        let text = "the content type must be application/x-protobuf or application/json";
        return Err(unsupported(Format::Json, text).into());
    };
    let Some(coding) = Coding::of(headers) else {
        let text = "the content encoding must be gzip, zstd, deflate or identity";
        let mut response = unsupported(format, text);
        let known = HeaderValue::from_static("gzip, zstd, deflate, identity");
        response
            .headers_mut()
            .insert(header::ACCEPT_ENCODING, known);
        return Err(response.into());
    };
    Ok((format, coding))
}

/// A message in JSON as protobuf bytes. Who reads it has the request meanwhile: a sender that goes away does not stop the thread,
/// and what the text holds of the budget is given back with the text.
async fn of_json(
    signal: Signal,
    text: Bytes,
    arrival: Arrival,
) -> (Result<(Bytes, Written), Refused>, Arrival) {
    let is_small = text.len() <= JSON_INLINE_MAX;
    let convert = move || (otlp_json::read(signal, &text), arrival);
    let (converted, arrival) = if is_small {
        convert()
    } else {
        let converting = tokio::task::spawn_blocking(convert);
        converting.await.expect("reading JSON does not panic")
    };
    let understood = converted
        .map(|read| {
            let FromJson {
                bytes,
                unread,
                fault,
            } = read;
            (bytes.into(), Written::Json { unread, fault })
        })
        .map_err(|error| Refused::Invalid(causes(&error)));
    (understood, arrival)
}

fn acknowledgement(format: Format, signal: Signal, accepted: Accepted) -> Response {
    let body = match format {
        Format::Protobuf => reply(accepted),
        Format::Json => json_reply(signal, &accepted).to_string().into_bytes(),
    };
    answer(StatusCode::OK, format, body)
}

fn json_reply(signal: Signal, accepted: &Accepted) -> serde_json::Value {
    if accepted.rejected == 0 {
        return json!({});
    }
    let rejected = match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
    };
    // Protobuf's JSON writes 64-bit integers as text.
    let count = accepted.rejected.to_string();
    json!({ "partialSuccess": { rejected: count, "errorMessage": accepted.message } })
}

fn refusal(format: Format, refused: &Refused) -> Response {
    let http_status = match refused {
        Refused::Invalid(_) | Refused::Left => StatusCode::BAD_REQUEST,
        Refused::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refused::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = status_answer(http_status, format, &status(refused));
    if let Refused::Busy { retry_after, .. } = refused {
        let seconds = retry_after.as_millis().div_ceil(1000).max(1);
        let seconds = HeaderValue::from_str(&seconds.to_string()).expect("digits");
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// The answer to a request whose headers say that it cannot be read.
fn unsupported(format: Format, text: &str) -> Response {
    let status = tonic::Status::invalid_argument(text);
    status_answer(StatusCode::UNSUPPORTED_MEDIA_TYPE, format, &status)
}

fn unauthenticated(request: &Request) -> Response {
    if is_grpc(request) {
        return other_language();
    }
    let format = Format::of(request.headers()).unwrap_or(Format::Json);
    let status = tonic::Status::unauthenticated(UNAUTHENTICATED);
    let mut response = status_answer(StatusCode::UNAUTHORIZED, format, &status);
    let scheme = HeaderValue::from_static("Bearer");
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, scheme);
    response
}

async fn wrong_method(request: Request, arrival_max: Duration) -> Response {
    discard(request, arrival_max).await;
    let status = tonic::Status::unimplemented("this path takes POST only");
    status_answer(StatusCode::METHOD_NOT_ALLOWED, Format::Json, &status)
}

async fn unknown_path(intake: Intake, request: Request, arrival_max: Duration) -> Response {
    let is_grpc = is_grpc(&request);
    // Most likely telemetry that is lost. What asks whether somebody is here does not post.
    if request.method() == Method::POST {
        intake.count_refused(&Refused::Invalid(String::new()));
    }
    let format = Format::of(request.headers()).unwrap_or(Format::Json);
    discard(request, arrival_max).await;
    if is_grpc {
        return other_language();
    }
    let text =
        "no such path; there are /v1/traces, /v1/logs and /v1/metrics, and gRPC has another port";
    let status = tonic::Status::unimplemented(text);
    status_answer(StatusCode::NOT_FOUND, format, &status)
}

/// What is answered to calls of gRPC, which have the wrong port: in their own language, or a client would only see the 404.
fn other_language() -> Response {
    let text = "OTLP/HTTP is spoken here; OTLP/gRPC has another port, which is 4317 by default";
    tonic::Status::unimplemented(text).into_http()
}

/// A `google.rpc.Status` in the language of the request. JSON leaves the details out: they say nothing that the text and
/// the headers do not.
fn status_answer(http_status: StatusCode, format: Format, status: &tonic::Status) -> Response {
    let code = status.code() as i32;
    let message = status.message();
    let body = match format {
        Format::Json => json!({ "code": code, "message": message })
            .to_string()
            .into_bytes(),
        // The details of a gRPC status are the whole of it once more, as the message that is wanted here.
        Format::Protobuf if !status.details().is_empty() => status.details().to_vec(),
        Format::Protobuf => tonic_types::Status {
            code,
            message: message.to_owned(),
            details: Vec::new(),
        }
        .encode_to_vec(),
    };
    answer(http_status, format, body)
}

fn answer(status: StatusCode, format: Format, body: Vec<u8>) -> Response {
    let content_type = [(header::CONTENT_TYPE, format.content_type())];
    (status, content_type, body).into_response()
}
