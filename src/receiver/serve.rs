//! Listening for OTLP, from the first connection to the last.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic::transport::{Error, Server};
use tracing::warn;

use super::budget::WAITING_MAX;
use super::{Intake, Settings, grpc, http};
use crate::listener::Listener;

/// Largest block of headers of one request, in bytes. Senders use a few hundred; h2 would take 16 MiB.
const HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Largest piece in which a request may be sent, where the protocol's own would be 16 KiB: each piece is a look at the socket
/// and a step of the connection. It bounds what a connection may have to hold of one.
const FRAME_BYTES_MAX: u32 = 256 << 10;

/// What may be sent of a request before it is read, and of all requests on a connection: those that wait for a place are not read,
/// and must leave the others their connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = (WAITING_MAX as u32 + 1) * STREAM_WINDOW;

/// Requests that may be reset because the sender broke the protocol, per connection, before it is closed.
const BROKEN_STREAMS_MAX: usize = 64;

/// After so long without a sign of life a connection is asked for one, and closed when none comes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// What is spoken at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP/gRPC. Who speaks HTTP/1.1, which is not gRPC, is told so.
    Grpc,
    /// OTLP/HTTP, over HTTP/1.1 and HTTP/2. Over HTTP/1.1, hyper closes a connection that takes more than 30 seconds for
    /// the headers of its first or next request.
    Http,
}

/// Serves OTLP at the listener until `shutdown` is cancelled.
///
/// Then it accepts nothing more, tells the senders to go, waits for open requests at most [`Settings::shutdown_grace`],
/// and returns. A connection that is still open by then, idle or stuck, does not hold it up: it is left to end with the
/// runtime, and what may still come over it is refused by shards that have stopped.
///
/// # Errors
/// When the server cannot be set up; errors of single connections end these alone.
pub async fn serve(
    protocol: Protocol,
    listener: Listener,
    intake: Intake,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let tokens = listener.tokens().clone();
    let routes = match protocol {
        Protocol::Grpc => grpc::routes(&intake, &settings, tokens),
        Protocol::Http => http::routes(&intake, &settings, tokens),
    };
    let (connections, watch) = listener.open();
    // A sender that waits no longer takes back all that it has under way, perhaps before any of it was looked at. More than that
    // is "rapid reset", and the connection is closed: to many exporters an error after which what was sent is lost.
    let taken_back_max = settings.streams_per_connection_max as usize;
    let server = Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(settings.streams_per_connection_max)
        .max_frame_size(FRAME_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .http2_max_pending_accept_reset_streams(Some(taken_back_max))
        .http2_max_local_error_reset_streams(Some(BROKEN_STREAMS_MAX))
        .http2_keepalive_interval(Some(KEEPALIVE))
        .add_routes(routes)
        .serve_with_incoming_shutdown(connections, shutdown.clone().cancelled_owned());
    let grace_over = async {
        shutdown.cancelled().await;
        tokio::time::sleep(settings.shutdown_grace).await;
    };
    tokio::select! {
        ended = server => ended,
        () = watch => Ok(()),
        () = grace_over => {
            warn!(?protocol, "connections of OTLP senders were still open when the time for them was over");
            Ok(())
        }
    }
}
