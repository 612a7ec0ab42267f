//! Where OTLP comes in.
//!
//! A request arrives as the bytes of one gRPC message ([`grpc`], through a codec that does not decode). [`intake`] walks
//! them, normalizes each span or log record, hands the reports to the shards and waits until they are on disk; what comes
//! of it is one [`Outcome`](intake::Outcome), and only `grpc` knows how gRPC says it. OTLP over HTTP will be a second file
//! beside `grpc` that says the same outcomes in status codes and headers; nothing else has to know of it.
//!
//! What OTLP obliges a receiver to do is kept here: gzip and zstd are accepted; a request over the size limit, before or
//! after decompression, is refused for good, as is one that cannot be decoded; items that are bad for good are counted in
//! `partial_success`; overload is refused with a time after which to try again; an empty request succeeds; metrics are
//! taken and ignored, because a sender that is told otherwise would try for ever.

mod counters;
mod grpc;
pub mod intake;
mod raw;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

pub use counters::Counters;

use intake::Intake;

/// Most streams that one connection may have open (OTLP asks for concurrent unary calls and a limit that is known).
const STREAMS_PER_CONNECTION_MAX: u32 = 256;

/// Largest header list of a request, in bytes. OTLP senders use a few hundred.
const HEADER_LIST_BYTES_MAX: u32 = 16 * 1024;

/// Streams reset by the peer that may wait to be forgotten; beyond it the connection is closed (CVE-2023-44487).
const PENDING_RESETS_MAX: usize = 64;

/// How the receiver is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest request in bytes, on the wire and after decompression.
    pub request_bytes_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        // OTLP recommends 64 MiB; on two cores a request of 16 holds ten thousand ordinary spans, which is plenty.
        Self {
            request_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// Serves OTLP over gRPC until `shutdown` is cancelled, then answers what it holds. A connection that stays idle may keep
/// this waiting: the caller sets a deadline around it.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(
    listener: TcpListener,
    intake: Arc<Intake>,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .http2_max_header_list_size(HEADER_LIST_BYTES_MAX)
        .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS_MAX))
        .add_service(grpc::Export::<grpc::Traces>::new(&intake, settings))
        .add_service(grpc::Export::<grpc::Logs>::new(&intake, settings))
        .add_service(grpc::Export::<grpc::Metrics>::new(&intake, settings))
        .serve_with_incoming_shutdown(incoming, shutdown.cancelled_owned())
        .await
}
