//! OTLP/gRPC: the three Export methods, over tonic, without its decoding.
//!
//! tonic undoes framing and compression under the size limit and hands over the message's bytes ([`Frames`]); its body is
//! metered against the budget as it arrives ([`Metered`]). Where tonic refuses a message itself, it does so with codes
//! that tell a sender the wrong thing (`OUT_OF_RANGE`, which OTLP senders repeat, for a message too large; `INTERNAL`,
//! which blames the server, for one that cannot be read), so [`corrected`] puts them right.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::routing::post;
use bytes::{Buf, BufMut, Bytes};
use http_body::Frame;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use tokio::time::Sleep;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::Grpc;
use tonic::service::Routes;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::Settings;
use super::body::{LATE, no_room};
use super::budget::Share;
use super::intake::{Accepted, Intake, Refused};
use crate::door::{Tenant, Tokens, UNAUTHENTICATED};
use crate::otlp::Signal;

const METHODS: [(&str, Signal); 3] = [
    (
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        Signal::Traces,
    ),
    (
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        Signal::Logs,
    ),
    (
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        Signal::Metrics,
    ),
];

/// The methods; every other one is answered `UNIMPLEMENTED`.
pub(super) fn routes(intake: &Intake, settings: &Settings, tokens: Tokens) -> Routes {
    let router = Routes::default().into_axum_router();
    let add = |router: Router, (path, signal): (&str, Signal)| {
        let (intake, settings) = (intake.clone(), settings.clone());
        router.route(
            path,
            post(move |request: Request| export(intake, settings, signal, request)),
        )
    };
    let router = METHODS.into_iter().fold(router, add);
    let counters = intake.clone();
    tokens
        .guard(router, move |_| {
            counters.counters().requests_unauthenticated.add(1);
            Status::unauthenticated(UNAUTHENTICATED).into_http()
        })
        .into()
}

async fn export(
    intake: Intake,
    settings: Settings,
    signal: Signal,
    request: Request,
) -> Response<tonic::body::Body> {
    let share = intake.share();
    let tenant = Tenant::of(&request);
    let request = request.map(|body| Metered {
        body,
        deadline: Box::pin(tokio::time::sleep(settings.arrival_max)),
        intake: intake.clone(),
        share: Arc::clone(&share),
    });
    let frames = Frames {
        intake: intake.clone(),
        share,
    };
    let method = tower::service_fn(|request: tonic::Request<Bytes>| async {
        let outcome = intake.export(&tenant, signal, request.into_inner()).await;
        outcome
            .map(|accepted| tonic::Response::new(reply(accepted)))
            .map_err(|refused| status(&refused))
    });
    let response = Grpc::new(frames)
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .max_decoding_message_size(settings.message_bytes_max)
        .unary(method, request)
        .await;
    corrected(response, &intake, &settings)
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
        Refused::TooLarge { .. } => return Status::resource_exhausted(text),
        Refused::Busy { retry_after, .. } => (
            Code::Unavailable,
            ErrorDetails::with_retry_info(Some(*retry_after)),
        ),
    };
    Status::with_error_details(code, text, details)
}

/// Replaces what tonic said of a message that it refused. Neither of these codes is ever an answer of ours, save the one
/// for a message that the budget has no room for, and that has none of them.
fn corrected(
    response: Response<tonic::body::Body>,
    intake: &Intake,
    settings: &Settings,
) -> Response<tonic::body::Body> {
    let Some(said) = Status::from_header_map(response.headers()) else {
        return response;
    };
    let refused = match said.code() {
        Code::OutOfRange | Code::ResourceExhausted => Refused::TooLarge {
            bytes_max: settings.message_bytes_max,
        },
        Code::Internal => Refused::Invalid("the gRPC message cannot be read".into()),
        _ => return response,
    };
    intake.count_refused(&refused);
    status(&refused).into_http()
}

fn not_now(intake: &Intake, refused: &Refused) -> Status {
    intake.count_refused(refused);
    status(refused)
}

/// A request's body on its way in: each piece is paid for from the budget, and all must be there in time.
struct Metered {
    body: Body,
    deadline: Pin<Box<Sleep>>,
    intake: Intake,
    share: Arc<Share>,
}

impl http_body::Body for Metered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            let late = self.deadline.as_mut().poll(context);
            return late.map(|()| Some(Err(not_now(&self.intake, &LATE))));
        };
        let frame = frame.map(|frame| {
            let frame = frame.map_err(|error| Status::from_error(Box::new(error)))?;
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            let paid = self.share.grow(bytes);
            paid.map_err(|retry_after| not_now(&self.intake, &no_room(retry_after)))?;
            Ok(frame)
        });
        Poll::Ready(frame)
    }
}

/// Hands messages over as they are: bytes in, bytes out.
struct Frames {
    intake: Intake,
    share: Arc<Share>,
}

impl Codec for Frames {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Encoded;
    type Decoder = Undecoded;

    fn encoder(&mut self) -> Encoded {
        Encoded
    }

    fn decoder(&mut self) -> Undecoded {
        Undecoded {
            intake: self.intake.clone(),
            share: Arc::clone(&self.share),
        }
    }
}

struct Encoded;

impl Encoder for Encoded {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&message);
        Ok(())
    }
}

struct Undecoded {
    intake: Intake,
    share: Arc<Share>,
}

impl Decoder for Undecoded {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let bytes = message.remaining();
        // What has arrived is paid for; what decompression has made of it beyond that is not yet.
        let paid = self.share.grow_to(bytes);
        paid.map_err(|retry_after| not_now(&self.intake, &no_room(retry_after)))?;
        Ok(Some(message.copy_to_bytes(bytes)))
    }
}
