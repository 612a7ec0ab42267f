//! Whether more is read from a connection.
//!
//! Whoever refuses a request for want of room has nothing more read from its connection until there is some. What a peer
//! sends nevertheless fills the system's buffers, and then the peer waits: it cannot have requests refused faster than others
//! are taken. Answers go out meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::extract::Request;
use futures_util::future::BoxFuture;

/// The reading from one connection. Clones are of the same one: the connection holds one, and each of its requests.
#[derive(Clone, Default)]
pub struct Reading(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Reading {
    /// The reading from the connection that a request came over.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let reading = request.extensions().get::<Self>();
        reading.cloned().unwrap_or_default()
    }

    /// Reads nothing more until something comes about, which must not take long. Where something is waited for already, that
    /// is enough.
    pub fn pause_until(&self, event: BoxFuture<'static, ()>) {
        let mut paused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paused.get_or_insert(event);
    }

    /// Whether it may go on.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut paused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = &mut *paused {
            ready!(event.as_mut().poll(context));
            *paused = None;
        }
        Poll::Ready(())
    }
}
