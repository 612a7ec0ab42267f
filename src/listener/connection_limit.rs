//! How many connections a listener has at once, and which one is closed for another where it has as many as it may.
//!
//! A peer that has connected and not said anything yet may never do so. Where another one connects and the limit is reached, the
//! one that has been silent for longest is closed, so that silent peers keep nobody out. Connections that have begun are never
//! closed for others; where there are only these, a new one waits until one ends.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::telemetry::{Counter, Throttle};

/// Connections at once, of one listener, where the system gives the process file descriptors enough.
const CONNECTIONS_MAX: usize = 1024;

/// File descriptors that are left to the store, exporters and threads.
const FILES_KEPT: usize = 64;

/// The same for each further tenant. A store that works has four or five open, and more for a moment.
const FILES_KEPT_OF_TENANT: usize = 8;

/// Listeners that share the others.
const LISTENERS: usize = 3;

/// File descriptors of a process that nobody knows more of.
const FILES_USUAL: usize = 1024;

/// How long one that is closed may take to leave until another is: it may have begun at that very moment, and stayed.
const LEAVING_MAX: Duration = Duration::from_secs(1);

/// Counts the connections of one listener. Each of them holds a permit.
#[derive(Debug)]
pub struct ConnectionLimit {
    address: Option<SocketAddr>,
    most: usize,
    free: Arc<Semaphore>,
    full: Counter,
    is_full: Throttle,
    openings: Mutex<Openings>,
}

#[derive(Debug, Default)]
struct Openings {
    /// Those that have not begun, in the order in which they came. Who loses its sender is to leave.
    silent: BTreeMap<u64, oneshot::Sender<()>>,
    /// The number of the next one.
    next: u64,
}

impl ConnectionLimit {
    /// As many as the process's limits allow beside so many tenants.
    pub(super) fn of(listener: &TcpListener, tenants: usize) -> Arc<Self> {
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        Self::with(
            connections_max(&limits, tenants),
            listener.local_addr().ok(),
        )
    }

    /// So many.
    pub(super) fn with(most: usize, address: Option<SocketAddr>) -> Arc<Self> {
        Arc::new(Self {
            address,
            most,
            free: Arc::new(Semaphore::new(most)),
            full: Counter::new(),
            is_full: Throttle::default(),
            openings: Mutex::default(),
        })
    }

    /// How many there may be at once.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many there are, those that have not begun among them.
    #[must_use]
    pub fn open(&self) -> usize {
        self.most - self.free.available_permits()
    }

    /// How many connections came when there were as many as there may be.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full.value()
    }

    /// A permit for one that has come. Where none is free, another connection is closed, or has to end, first.
    pub(super) async fn admit(&self) -> OwnedSemaphorePermit {
        const OPEN: &str = "nobody closes the semaphore";
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return permit;
        }
        self.full.add(1);
        self.warn();
        loop {
            self.openings().silent.pop_first();
            let permit = Arc::clone(&self.free).acquire_owned();
            if let Ok(permit) = timeout(LEAVING_MAX, permit).await {
                return permit.expect(OPEN);
            }
        }
    }

    /// Notes one that has not begun yet.
    pub(super) fn opening(self: &Arc<Self>) -> Opening {
        let (stay, leave) = oneshot::channel();
        let mut openings = self.openings();
        let number = openings.next;
        openings.next += 1;
        openings.silent.insert(number, stay);
        Opening {
            connections: Arc::clone(self),
            number,
            leave,
        }
    }

    fn warn(&self) {
        if self.is_full.times().is_none() {
            return;
        }
        tracing::warn!(
            address = self.address.map(tracing::field::display),
            connections = self.most,
            "an address has as many connections as it may; a new one has one closed that has not begun, or waits"
        );
    }

    fn openings(&self) -> MutexGuard<'_, Openings> {
        let openings = self.openings.lock();
        openings.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that has not begun yet. Dropped once it has.
pub(super) struct Opening {
    connections: Arc<ConnectionLimit>,
    number: u64,
    leave: oneshot::Receiver<()>,
}

impl Opening {
    /// Comes when it is to be closed for another.
    pub(super) async fn evicted(&mut self) {
        // Nothing is ever sent: the other end is dropped.
        let _ = (&mut self.leave).await;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.connections.openings().silent.remove(&self.number);
    }
}

/// Connections at once, of one listener, under these limits (as Linux shows them): a store that has no file descriptor left can
/// begin no file.
fn connections_max(limits: &str, tenants: usize) -> usize {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let files: usize = files.unwrap_or(FILES_USUAL);
    let kept = FILES_KEPT + FILES_KEPT_OF_TENANT * tenants.saturating_sub(1);
    (files.saturating_sub(kept) / LISTENERS).clamp(1, CONNECTIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given limits, three listeners together leave files for the store, also where there are few.
    #[test]
    fn connections_leave_files_for_the_store() {
        let limits = |files: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max open files            {files}                  524288               files     \n"
            )
        };
        for (files, tenants, most) in [
            ("256", 1, 64),
            ("1024", 1, 320),
            ("20000", 1, 1024),
            ("50", 1, 1),
            ("1024", 64, 152),
            ("256", 64, 1),
        ] {
            assert_eq!(connections_max(&limits(files), tenants), most, "{files}");
        }
        assert_eq!(connections_max("", 1), 320);
    }
}
