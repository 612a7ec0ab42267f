//! What a connection and the requests that come over it tell each other.
//!
//! Whoever refuses a request for want of room has nothing more read from its connection until there is some. What a peer
//! sends nevertheless fills the system's buffers, and then the peer waits: it cannot have requests refused faster than others
//! are taken. Answers go out meanwhile.
//!
//! Requests that are answered soon are counted: answers that come together leave together (`connection`), and a peer that has
//! closed its side is still there for them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use axum::extract::Request;
use futures_util::future::BoxFuture;

/// One end of it: the connection has one, and each of its requests.
#[derive(Clone, Default)]
pub struct Peer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// What is waited for before more is read.
    paused: Mutex<Option<BoxFuture<'static, ()>>>,
    /// Requests that are answered soon.
    answering: AtomicUsize,
    /// The peer has closed its side, and who is to be woken when nothing is answered any more.
    has_ended: AtomicBool,
    ended: Mutex<Option<Waker>>,
}

impl Peer {
    /// The peer that sent a request.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let peer = request.extensions().get::<Self>();
        peer.cloned().unwrap_or_default()
    }

    /// Reads nothing more until something comes about, which must not take long. Where something is waited for already, that
    /// is enough.
    pub fn pause_until(&self, event: BoxFuture<'static, ()>) {
        let mut paused = self.0.paused.lock().unwrap_or_else(PoisonError::into_inner);
        paused.get_or_insert(event);
    }

    /// Says that a request of it is answered soon, as long as what comes of this is there. Until then, answers to others may wait
    /// a moment to leave with it. It does not take the future of the answer, which would then be held twice.
    #[must_use]
    pub fn answered_soon(&self) -> Soon {
        self.0.answering.fetch_add(1, Ordering::Relaxed);
        Soon(Arc::clone(&self.0))
    }

    /// Whether requests are answered soon.
    pub(super) fn is_answered_soon(&self) -> bool {
        self.0.answering.load(Ordering::Relaxed) > 0
    }

    /// Waits until no request is answered any more, once the peer has closed its side.
    pub(super) fn poll_answered(&self, context: &mut Context<'_>) -> Poll<()> {
        let waker = Some(context.waker().clone());
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = waker;
        self.0.has_ended.store(true, Ordering::SeqCst);
        match self.0.answering.load(Ordering::SeqCst) {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// Whether more may be read.
    pub(super) fn poll_reading(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut paused = self.0.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = &mut *paused {
            ready!(event.as_mut().poll(context));
            *paused = None;
        }
        Poll::Ready(())
    }
}

/// Counts a request as long as it is there: whoever sent it may take it back.
pub struct Soon(Arc<Shared>);

impl Drop for Soon {
    fn drop(&mut self) {
        let before = self.0.answering.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.0.has_ended.load(Ordering::SeqCst) {
            let ended = self.0.ended.lock();
            if let Some(waker) = ended.unwrap_or_else(PoisonError::into_inner).take() {
                waker.wake();
            }
        }
    }
}
