//! OTLP/gRPC: the three Export methods, on tonic's server, without its codecs.
//!
//! A call has one message, which comes as any body does ([`body`]): behind five bytes that tell its length and whether it is
//! compressed (*gRPC over HTTP2*, "Length-Prefixed-Message"). It is read where it arrived. tonic would gather it in a buffer of
//! its own, and would refuse what it cannot take with codes that tell a sender the wrong thing: `OUT_OF_RANGE`, which OTLP
//! senders repeat, for a message too large, and `INTERNAL`, which blames the server, for one that cannot be read.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::post;
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use tonic::service::Routes;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::Settings;
use super::arrival::Arrival;
use super::body::{self, Coding, Framing};
use super::budget::Share;
use super::intake::Intake;
use super::outcome::{Accepted, Refused, Written};
use crate::listener::{Tokens, UNAUTHENTICATED, discard, is_grpc};
use crate::otlp::Signal;

/// What stands before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

const FRAMING: Framing = Framing {
    prefix_bytes: PREFIX_BYTES,
    body_bytes: |begun| {
        let [_, length @ ..] = begun.first_chunk::<PREFIX_BYTES>()?;
        Some(PREFIX_BYTES + u32::from_be_bytes(*length) as usize)
    },
};

/// How messages may be compressed.
const ENCODINGS: HeaderValue = HeaderValue::from_static("identity,gzip,zstd");

const ENCODING: &str = "grpc-encoding";
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
const STATUS: &str = "grpc-status";
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// The methods; every other one is answered `UNIMPLEMENTED`, and what is not gRPC is refused.
pub(super) fn routes(intake: &Intake, settings: &Settings, tokens: Tokens) -> Routes {
    let router = Routes::default().into_axum_router();
    let add = |router: Router, signal: Signal| {
        let (intake, settings) = (intake.clone(), settings.clone());
        router.route(
            signal.grpc_method(),
            post(move |request: Request| export(intake, settings, signal, request)),
        )
    };
    let router = Signal::ALL.into_iter().fold(router, add);
    let (unknown_intake, unknown_settings) = (intake.clone(), settings.clone());
    let router =
        router.fallback(move |request: Request| unknown(unknown_intake, unknown_settings, request));
    let counters = intake.clone();
    tokens
        .guard(router, move |request| {
            counters.counters().requests_unauthenticated.add(1);
            if is_grpc(request) {
                Status::unauthenticated(UNAUTHENTICATED).into_http()
            } else {
                other_language()
            }
        })
        .into()
}

async fn unknown(intake: Intake, settings: Settings, request: Request) -> Response<Body> {
    if is_grpc(&request) {
        // Others are called by who asks for health, or what there is.
        if request.uri().path().starts_with("/opentelemetry.") {
            intake.count_refused(&Refused::Invalid(String::new()));
        }
        return Status::unimplemented("there are the Export methods of OTLP").into_http();
    }
    refuse(&intake, &settings, request).await;
    other_language()
}

/// Counts a request that is refused for good, and listens to its end.
async fn refuse(intake: &Intake, settings: &Settings, request: Request) {
    intake.count_refused(&Refused::Invalid(String::new()));
    discard(request, settings.arrival_max).await;
}

/// What is answered to what is not gRPC, as the requests of OTLP/HTTP are that have the wrong port (*gRPC over HTTP2*,
/// "Requests").
fn other_language() -> Response<Body> {
    let text = "gRPC is spoken here (content-type application/grpc); OTLP/HTTP has another port, which is 4318 by default\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
}

async fn export(
    intake: Intake,
    settings: Settings,
    signal: Signal,
    request: Request,
) -> Response<Body> {
    if !is_grpc(&request) {
        refuse(&intake, &settings, request).await;
        return other_language();
    }
    let Some(coding) = coding(request.headers()) else {
        refuse(&intake, &settings, request).await;
        return unknown_encoding();
    };
    match taken(request, coding, signal, intake, &settings).await {
        Ok(accepted) => answer(&reply(accepted)),
        Err(refused) => status(&refused).into_http(),
    }
}

async fn taken(
    request: Request,
    coding: Coding,
    signal: Signal,
    intake: Intake,
    settings: &Settings,
) -> Result<Accepted, Refused> {
    let (body, arrival) = Arrival::of(request, &FRAMING, signal, intake, settings).await?;
    let message = message(body, coding, settings, &arrival.share).await;
    let understood = message.map(|message| (message, Written::Protobuf));
    arrival.take(understood).await
}

/// How a compressed message of a call is compressed; nothing where nobody here can undo it.
fn coding(headers: &HeaderMap) -> Option<Coding> {
    match headers.get(ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Some(Coding::Identity),
        Some(b"gzip") => Some(Coding::Gzip),
        Some(b"zstd") => Some(Coding::Zstd),
        Some(_) => None,
    }
}

/// The call's message, without what is around it.
async fn message(
    body: Bytes,
    coding: Coding,
    settings: &Settings,
    share: &Share,
) -> Result<Bytes, Refused> {
    let Some((&[flag, ..], rest)) = body.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(unreadable("it has no message"));
    };
    if Some(body.len()) != (FRAMING.body_bytes)(&body) {
        return Err(unreadable("there is not one whole message"));
    }
    let message = body.slice_ref(rest);
    let bytes_max = settings.message_bytes_max;
    match (flag, coding) {
        (0, _) => Ok(message),
        (1, Coding::Gzip | Coding::Zstd) => {
            body::decompressed(coding, message, bytes_max, share).await
        }
        (1, _) => Err(unreadable("it is compressed and does not say how")),
        _ => Err(unreadable("its first byte is neither 0 nor 1")),
    }
}

fn unreadable(why: &str) -> Refused {
    Refused::Invalid(format!("the gRPC message cannot be read: {why}"))
}

/// A call's answer, that went well.
fn answer(message: &[u8]) -> Response<Body> {
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.put_slice(message);
    let ok = HeaderMap::from_iter([(STATUS.parse().expect("a name"), HeaderValue::from(0))]);
    let framed = Full::new(framed.freeze()).with_trailers(async { Some(Ok(ok)) });
    let mut response = Response::new(Body::new(framed));
    response.headers_mut().insert(header::CONTENT_TYPE, GRPC);
    response
}

fn unknown_encoding() -> Response<Body> {
    let text = "messages may be compressed with gzip or zstd (grpc-encoding)";
    let mut response = Status::unimplemented(text).into_http();
    response.headers_mut().insert(ACCEPT_ENCODING, ENCODINGS);
    response
}

/// The answer's bytes. Those of the other signals are the same: the fields have the same numbers.
pub(super) fn reply(accepted: Accepted) -> Vec<u8> {
    let partial_success = (accepted.rejected > 0).then(|| ExportTracePartialSuccess {
        rejected_spans: i64::try_from(accepted.rejected).unwrap_or(i64::MAX),
        error_message: accepted.message,
    });
    ExportTraceServiceResponse { partial_success }.encode_to_vec()
}

/// What a sender is told of a request that is not acknowledged. It decides whether the request is sent again:
/// `UNAVAILABLE` is, the others are not, and `RESOURCE_EXHAUSTED` only because it has no `RetryInfo`.
pub(super) fn status(refused: &Refused) -> Status {
    let text = refused.to_string();
    let (code, details) = match refused {
        Refused::Invalid(_) => (
            Code::InvalidArgument,
            ErrorDetails::with_bad_request_violation("request", &text),
        ),
        Refused::Left => return Status::cancelled(text),
        Refused::TooLarge { .. } => return Status::resource_exhausted(text),
        Refused::Busy { retry_after, .. } => (
            Code::Unavailable,
            ErrorDetails::with_retry_info(Some(*retry_after)),
        ),
    };
    Status::with_error_details(code, text, details)
}
