//! Connections, from the listening socket to the server that speaks HTTP over them.
//!
//! A peer that connects and says nothing must cost little: each has to finish its handshake and to begin in time, and there
//! may be only so many (`connection_limit`); one more waits, and further ones behind it in the system's queue. What a peer may
//! do once it has begun is the server's affair (time for headers, signs of life, number of streams).

use std::future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt, stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::connection_limit::{ConnectionLimit, Opening};
use super::peer::Peer;
use super::tls::Tls;
use crate::telemetry::{Counter, Throttle};

/// Longest time for a TLS handshake.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Longest time until a peer has said the first [`OPENING_BYTES`].
const OPENING_MAX: Duration = Duration::from_secs(30);

/// The length of HTTP/2's preface; a request of HTTP/1.1 to a path of ours with a host is longer.
const OPENING_BYTES: usize = 24;

/// The pause after a connection could not be accepted, usually for want of file descriptors: trying again at once would
/// keep a core busy, and others need time to leave.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

static HANDSHAKES_FAILED: Counter = Counter::new();

/// How many TLS handshakes have failed in this process, at whatever listener.
#[must_use]
pub fn failed_handshakes() -> u64 {
    HANDSHAKES_FAILED.value()
}

/// The connections as they come in.
pub(super) fn incoming(
    listener: TcpListener,
    connections: Arc<ConnectionLimit>,
    tls: Option<Arc<Tls>>,
) -> impl Stream<Item = io::Result<Connection>> {
    // One more than there may be: it is for this one that another is closed.
    let at_once = connections.most() + 1;
    let state = (listener, connections, Throttle::default());
    let accepted = stream::unfold(state, |(listener, connections, trouble)| async {
        let socket = accept(&listener, &trouble).await;
        let permit = connections.admit().await;
        let accepted = (socket, permit, connections.opening());
        Some((accepted, (listener, connections, trouble)))
    });
    accepted
        .map(move |(socket, permit, opening)| begin(socket, permit, opening, tls.clone()))
        .buffer_unordered(at_once)
        .filter_map(|connection| future::ready(connection.map(Ok)))
}

async fn accept(listener: &TcpListener, trouble: &Throttle) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => return socket,
            Err(error) => {
                if let Some(times) = trouble.times() {
                    tracing::warn!(%error, times, "a connection could not be accepted; it is tried again");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A connection that may speak; nothing when the handshake failed, which is the peer's affair.
async fn begin(
    socket: TcpStream,
    permit: OwnedSemaphorePermit,
    mut opening: Opening,
    tls: Option<Arc<Tls>>,
) -> Option<Connection> {
    // An answer is one small packet; it must not wait for another to fill it up.
    socket.set_nodelay(true).ok()?;
    let wire = match tls {
        None => Wire::Plain(socket),
        Some(tls) => {
            let shaking = TlsAcceptor::from(tls.config()).accept(socket);
            let shaken = tokio::select! {
                shaken = shaking => shaken.map_err(|error| error.to_string()),
                () = tokio::time::sleep(HANDSHAKE_MAX) => Err(format!("not done after {HANDSHAKE_MAX:?}")),
                () = opening.evicted() => Err("it was closed for another connection".to_owned()),
            };
            match shaken {
                Ok(stream) => Wire::Tls(Box::new(stream)),
                Err(why) => {
                    HANDSHAKES_FAILED.add(1);
                    // For who looks for it: anybody may knock, and as often as he likes.
                    tracing::debug!(why, "a TLS handshake failed");
                    return None;
                }
            }
        }
    };
    Some(Connection {
        wire,
        peer: Peer::default(),
        waits: false,
        has_ended: false,
        read: 0,
        opening: Some(Box::pin(async move {
            let _ = timeout(OPENING_MAX, opening.evicted()).await;
        })),
        _permit: permit,
    })
}

enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A peer that has come in.
pub struct Connection {
    wire: Wire,
    /// Its requests hold the other ends.
    peer: Peer,
    /// What is to be written has waited for other answers.
    waits: bool,
    /// The peer has closed its side.
    has_ended: bool,
    /// Bytes read while it is opening.
    read: usize,
    /// Comes when it has taken too long to begin, or is to be closed for another; nothing once it has begun.
    opening: Option<BoxFuture<'static, ()>>,
    /// Given back when the connection ends.
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn wire_read(&mut self) -> Pin<&mut (dyn AsyncRead + Unpin)> {
        match &mut self.wire {
            Wire::Plain(socket) => Pin::new(socket),
            Wire::Tls(stream) => Pin::new(&mut **stream),
        }
    }

    fn wire_write(&mut self) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        match &mut self.wire {
            Wire::Plain(socket) => Pin::new(socket),
            Wire::Tls(stream) => Pin::new(&mut **stream),
        }
    }

    /// Where other requests of this connection are answered soon, writes nothing yet and has the connection's task come once
    /// more, behind those that run already. One turn of a shard answers many requests: by then their answers are here, and one
    /// packet takes all of them, where the first would have left by itself.
    fn gather(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.waits = !self.waits && self.peer.is_answered_soon();
        if self.waits {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// The peer has closed its side, as a script does that has sent its one request and waits for the answer. HTTP/1.1 allows
    /// that; hyper would end the connection and drop the request in the middle. So it is told when all are answered. What has
    /// just been read comes to whom it is for within one turn of this task.
    fn last_answers(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !std::mem::replace(&mut self.has_ended, true) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.peer.poll_answered(context)
    }

    /// The error of a peer that has not begun and may not stay for it.
    fn overdue(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.opening {
            Some(opening) => {
                let over = opening.as_mut().poll(context);
                over.map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            None => Poll::Pending,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.peer.poll_reading(context));
        let before = buffer.filled().len();
        let Poll::Ready(read) = self.wire_read().poll_read(context, buffer) else {
            return self.overdue(context);
        };
        if read.is_ok() && buffer.filled().len() == before && buffer.remaining() > 0 {
            ready!(self.last_answers(context));
        }
        if self.opening.is_some() {
            self.read += buffer.filled().len() - before;
            if self.read >= OPENING_BYTES {
                self.opening = None;
            }
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.gather(context));
        self.wire_write().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.gather(context));
        self.wire_write().poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(socket) => socket.is_write_vectored(),
            Wire::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire_write().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire_write().poll_shutdown(context)
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a connection has to be asked until it writes something.
    async fn asked_to_write(connection: &mut Connection) -> usize {
        let mut asked = 0;
        let writing = future::poll_fn(|context| {
            asked += 1;
            Pin::new(&mut *connection).poll_write(context, b"answer")
        });
        let written = timeout(Duration::from_secs(10), writing).await;
        assert_eq!(written.unwrap().unwrap(), 6);
        asked
    }

    /// Given other requests of a connection that are answered soon, an answer lets the other tasks go first, once; given none,
    /// or one that was taken back, it leaves at once.
    #[tokio::test]
    async fn an_answer_waits_for_others_that_come_soon() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _other_end = TcpStream::connect(listener.local_addr().unwrap()).await;
        let connections = ConnectionLimit::of(&listener, 1);
        let (permit, opening) = (connections.admit().await, connections.opening());
        let connection = begin(
            accept(&listener, &Throttle::default()).await,
            permit,
            opening,
            None,
        )
        .await;
        let mut connection = connection.unwrap();
        assert_eq!(asked_to_write(&mut connection).await, 1);

        let peer = connection.connect_info();
        let soon = peer.answered_soon();
        assert_eq!(asked_to_write(&mut connection).await, 2);
        assert_eq!(asked_to_write(&mut connection).await, 2);

        drop(soon);
        assert_eq!(asked_to_write(&mut connection).await, 1);
    }
}
