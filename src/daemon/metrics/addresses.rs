//! The numbers of the addresses: connections, and questions for which there was no room.

use std::sync::Arc;

use crate::api::REFUSED;
use crate::listener::{self, ConnectionLimit};
use crate::telemetry::page::Page;

/// Connections.
pub(super) fn listeners(page: &mut Page, listeners: &[(&str, Arc<ConnectionLimit>)]) {
    let help = "Open connections, including those that have not begun.";
    let mut family = page.gauge("listener_connections", help);
    for (listener, connections) in listeners {
        family.sample(&[("listener", listener)], connections.open());
    }
    let mut family = page.counter(
        "listener_full_total",
        "Connections that came when the address had as many as it may: each waited, or one that had not begun was closed for it.",
    );
    for (listener, connections) in listeners {
        family.sample(&[("listener", listener)], connections.full());
    }
    page.counter(
        "listener_failed_handshakes_total",
        "TLS handshakes that failed, at any of the addresses: the peer does not trust the certificate, lacks one that is required, or speaks no TLS.",
    )
    .value(listener::failed_handshakes());
}

/// Questions that were refused.
pub(super) fn api(page: &mut Page) {
    let mut family = page.counter(
        "api_refused_total",
        "Questions to the API for which there was no room: too many `questions` (or pages) under way, too much `arriving`, too \
         many `streams` open. They may come again.",
    );
    for (reason, counter) in [
        ("questions", &REFUSED.questions),
        ("arriving", &REFUSED.arriving),
        ("streams", &REFUSED.streams),
    ] {
        family.sample(&[("reason", reason)], counter.value());
    }
}
