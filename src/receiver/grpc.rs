//! OTLP over gRPC: three services whose one method takes bytes and says what came of them.
//!
//! tonic's own codec says `OUT_OF_RANGE` of a message that is too large, which OTLP lists among the codes to try again, and
//! `INTERNAL` of one that it cannot decompress, which blames the server. No method here ever answers with either, so both
//! are corrected on their way out.

use std::convert::Infallible;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use tonic::body::Body;
use tonic::codec::{CompressionEncoding, EnabledCompressionEncodings};
use tonic::codegen::http::{HeaderValue, Request as HttpRequest, Response as HttpResponse};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tower::Service;

use super::Settings;
use super::counters::Counters;
use super::intake::{Intake, Outcome};
use super::raw::RawCodec;

/// A kind of telemetry: its service's name, and what is done with a request of it.
pub(super) trait Signal: Clone + Send + Sync + 'static {
    const SERVICE: &'static str;
    fn take(intake: Arc<Intake>, request: Bytes) -> impl Future<Output = Outcome> + Send;
}

/// Spans.
#[derive(Clone)]
pub(super) struct Traces;

impl Signal for Traces {
    const SERVICE: &'static str = "opentelemetry.proto.collector.trace.v1.TraceService";

    async fn take(intake: Arc<Intake>, request: Bytes) -> Outcome {
        intake.traces(&request).await
    }
}

/// Log records.
#[derive(Clone)]
pub(super) struct Logs;

impl Signal for Logs {
    const SERVICE: &'static str = "opentelemetry.proto.collector.logs.v1.LogsService";

    async fn take(intake: Arc<Intake>, request: Bytes) -> Outcome {
        intake.logs(&request).await
    }
}

/// Metrics, of which loops do not show: taken and ignored.
#[derive(Clone)]
pub(super) struct Metrics;

impl Signal for Metrics {
    const SERVICE: &'static str = "opentelemetry.proto.collector.metrics.v1.MetricsService";

    async fn take(_: Arc<Intake>, _: Bytes) -> Outcome {
        Outcome::Accepted
    }
}

/// The service of one signal.
#[derive(Clone)]
pub(super) struct Export<S> {
    intake: Arc<Intake>,
    settings: Settings,
    signal: PhantomData<S>,
}

impl<S: Signal> Export<S> {
    pub(super) fn new(intake: &Arc<Intake>, settings: Settings) -> Self {
        Self {
            intake: Arc::clone(intake),
            settings,
            signal: PhantomData,
        }
    }

    async fn answer(self, request: HttpRequest<Body>) -> HttpResponse<Body> {
        if request.uri().path().rsplit('/').next() != Some("Export") {
            return Status::unimplemented("the only method is Export").into_http();
        }
        let mut accepted = EnabledCompressionEncodings::default();
        accepted.enable(CompressionEncoding::Gzip);
        accepted.enable(CompressionEncoding::Zstd);
        let mut grpc = Grpc::new(RawCodec)
            .apply_compression_config(accepted, EnabledCompressionEncodings::default())
            .apply_max_message_size_config(Some(self.settings.request_bytes_max), None);
        let mut response = grpc.unary(self.clone(), request).await;
        self.correct(&mut response);
        response
    }

    /// Says in OTLP's words what tonic's codec said in its own.
    fn correct(&self, response: &mut HttpResponse<Body>) {
        let counters = self.intake.counters();
        let said = response
            .headers()
            .get("grpc-status")
            .map(HeaderValue::as_bytes)
            .map(Code::from_bytes);
        let meant = match said {
            Some(Code::OutOfRange | Code::ResourceExhausted) => {
                Counters::add(&counters.requests_too_large, 1);
                Code::ResourceExhausted
            }
            Some(Code::Internal) => {
                Counters::add(&counters.requests_undecodable, 1);
                Code::InvalidArgument
            }
            _ => return,
        };
        response
            .headers_mut()
            .insert("grpc-status", HeaderValue::from(meant as i32));
    }
}

impl<S: Signal> NamedService for Export<S> {
    const NAME: &'static str = S::SERVICE;
}

impl<S: Signal> Service<HttpRequest<Body>> for Export<S> {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

impl<S: Signal> UnaryService<Bytes> for Export<S> {
    type Response = Bytes;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Status>> + Send>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let intake = Arc::clone(&self.intake);
        Box::pin(async move {
            let outcome = S::take(intake, request.into_inner()).await;
            said_in_grpc(outcome).map(Response::new)
        })
    }
}

/// An outcome as a reply or a status. The replies of all signals have the same fields under the same numbers.
fn said_in_grpc(outcome: Outcome) -> Result<Bytes, Status> {
    match outcome {
        Outcome::Accepted => Ok(Bytes::new()),
        Outcome::Partial { rejected, message } => {
            let rejected_spans = i64::try_from(rejected).unwrap_or(i64::MAX);
            let partial_success = Some(ExportTracePartialSuccess {
                rejected_spans,
                error_message: message,
            });
            Ok(ExportTraceServiceResponse { partial_success }
                .encode_to_vec()
                .into())
        }
        Outcome::Undecodable(message) => {
            let details = ErrorDetails::with_bad_request_violation("request", message.clone());
            Err(Status::with_error_details(
                Code::InvalidArgument,
                message,
                details,
            ))
        }
        Outcome::Later { after, message } => {
            let details = ErrorDetails::with_retry_info(Some(after));
            Err(Status::with_error_details(
                Code::Unavailable,
                message,
                details,
            ))
        }
    }
}
