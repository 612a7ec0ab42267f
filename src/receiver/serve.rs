//! Listening for OTLP/gRPC, from the first connection to the last.

use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::{Error, Server};
use tracing::warn;

use super::{Intake, Settings, grpc};

/// Largest block of headers of one request, in bytes. Senders use a few hundred; h2 would take 16 MiB.
const HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Requests that a sender may have taken back before they were looked at, per connection, before the connection is
/// closed: a defence against "rapid reset". h2's own number.
const RESET_STREAMS_MAX: usize = 20;

/// Requests that may be reset because the sender broke the protocol, per connection, before it is closed.
const BROKEN_STREAMS_MAX: usize = 64;

/// After so long without a sign of life a connection is asked for one, and closed when none comes.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The pause after a connection could not be accepted, usually for want of file descriptors: trying again at once would
/// keep a core busy, and others need time to leave.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves OTLP/gRPC on the listener until `shutdown` is cancelled.
///
/// Then it accepts nothing more, tells the senders to go, waits for open requests at most [`Settings::shutdown_grace`],
/// and returns. A connection that is still open by then, idle or stuck, does not hold it up: it is left to end with the
/// runtime, and what may still come over it is refused by shards that have stopped.
///
/// # Errors
/// When the server cannot be set up; errors of single connections end these alone.
pub async fn serve(
    listener: TcpListener,
    intake: Intake,
    settings: Settings,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let server = Server::builder()
        .max_concurrent_streams(settings.streams_per_connection_max)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .http2_max_pending_accept_reset_streams(Some(RESET_STREAMS_MAX))
        .http2_max_local_error_reset_streams(Some(BROKEN_STREAMS_MAX))
        .http2_keepalive_interval(Some(KEEPALIVE))
        .add_routes(grpc::routes(&intake, &settings))
        .serve_with_incoming_shutdown(connections(listener), shutdown.clone().cancelled_owned());
    let grace_over = async {
        shutdown.cancelled().await;
        tokio::time::sleep(settings.shutdown_grace).await;
    };
    tokio::select! {
        ended = server => ended,
        () = grace_over => {
            warn!("connections of OTLP senders were still open when the time for them was over");
            Ok(())
        }
    }
}

/// The connections as they come in.
fn connections(listener: TcpListener) -> impl Stream<Item = std::io::Result<TcpStream>> {
    stream::unfold(listener, |listener| async {
        let connection = loop {
            match listener.accept().await {
                Ok((connection, _)) => break connection,
                Err(error) => {
                    warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        };
        // An answer is one small packet; it must not wait for another to fill it up.
        let connection = connection.set_nodelay(true).map(|()| connection);
        Some((connection, listener))
    })
}
