//! Where OTLP comes in.
//!
//! A request comes to `grpc` or `http`, which know its language, and both send it one way (`arrival`): through `body`, which
//! gathers its bytes and decompresses them, to [`Intake`], which reads the items in place, has them normalized, and hands the
//! reports to the shards. What each item came to is counted (`tally`), and the sender is told of the whole (`outcome`) when the
//! reports are committed. What a request may cost is bounded by its size ([`Settings`]), and by what all requests together may
//! hold (`budget`): their bytes before they are read, and what is read of them while that goes on. Whatever is refused is counted
//! by reason ([`Counters`]).
//!
//! [`Intake`] knows nothing of transports, and nothing of who may get what was acknowledged after it ([`PassOn`]). OTLP/HTTP
//! stands beside gRPC: `http` takes protobuf or JSON on three paths and turns each [`Refused`] into its HTTP status as `grpc`
//! turns it into a gRPC one. Who may send at all is asked at the [`listener`](crate::listener).
//!
//! Pages in browsers are let in by `cors`.
//!
//! Deliberately absent: queues (the shards have the inboxes), retries (the senders have them), and any decision about
//! what a span means.

mod arrival;
mod body;
mod budget;
mod cors;
mod counters;
#[cfg(test)]
mod fake;
mod grpc;
mod http;
#[cfg(test)]
mod http_tests;
mod intake;
mod outcome;
#[cfg(test)]
mod refusal_tests;
mod serve;
#[cfg(test)]
mod serving_tests;
mod tally;
#[cfg(test)]
mod tests;

pub use cors::Cors;
pub use counters::{ByReason, Counters, Items};
pub use intake::{Intake, PassOn};
pub use outcome::{Accepted, Refused, Written};
pub use serve::{Protocol, serve};

use std::time::Duration;

/// How the receiver is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Largest request, in bytes, on the wire and after decompression. 16 MiB by default, which fits a machine of two
    /// cores; OTLP recommends up to 64.
    pub message_bytes_max: usize,
    /// Requests that one connection may have under way at once; further ones wait at the sender.
    pub streams_per_connection_max: u32,
    /// Longest time for a request to arrive. A sender that stops in the middle must not hold its share of the budget.
    pub arrival_max: Duration,
    /// Which web pages may send over HTTP; none by default.
    pub cors: Cors,
    /// How long open requests are waited for once the shutdown has begun; connections still open then are abandoned.
    pub shutdown_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            message_bytes_max: 16 << 20,
            streams_per_connection_max: 100,
            arrival_max: Duration::from_secs(30),
            cors: Cors::default(),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}
