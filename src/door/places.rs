//! The places of a door: how many connections it has at once, and who makes room where all are taken.
//!
//! A peer that has not begun yet may be one that only knocks. Where somebody else comes and no place is free, the peer that has
//! been beginning for longest is closed, so that silence keeps nobody out for as long as it is let be. Connections that have begun
//! are never closed for others; where there are no more than these, who comes waits until one ends.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use super::seldom::Seldom;

/// Connections at once, of one door, where the system gives the process file descriptors enough.
const CONNECTIONS_MAX: usize = 1024;

/// File descriptors that are left to the store, exporters and threads.
const FILES_KEPT: usize = 64;

/// Doors that share the others.
const DOORS: usize = 3;

/// File descriptors of a process that nobody knows more of.
const FILES_USUAL: usize = 1024;

/// How long one that is closed may take to leave until another is: it may have begun at that very moment, and stayed.
const LEAVING_MAX: Duration = Duration::from_secs(1);

/// The places of one door. Its connections hold the other ends.
#[derive(Debug)]
pub struct Places {
    address: Option<SocketAddr>,
    most: usize,
    free: Arc<Semaphore>,
    full: AtomicU64,
    is_full: Seldom,
    waiting_room: Mutex<WaitingRoom>,
}

#[derive(Debug, Default)]
struct WaitingRoom {
    /// Those that have not begun, in the order in which they came. Who loses its sender is to leave.
    beginning: BTreeMap<u64, oneshot::Sender<()>>,
    /// The number of the next one.
    next: u64,
}

impl Places {
    /// As many places as the process's limits allow.
    pub(super) fn of(listener: &TcpListener) -> Arc<Self> {
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        Self::with(connections_max(&limits), listener.local_addr().ok())
    }

    /// So many places.
    pub(super) fn with(most: usize, address: Option<SocketAddr>) -> Arc<Self> {
        Arc::new(Self {
            address,
            most,
            free: Arc::new(Semaphore::new(most)),
            full: AtomicU64::new(0),
            is_full: Seldom::default(),
            waiting_room: Mutex::default(),
        })
    }

    /// How many there are.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// How many are taken: by connections, those that have not begun among them.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.most - self.free.available_permits()
    }

    /// How many connections have found no place free.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    /// A place for one that has come. Where none is free, another is closed, or has to end, first.
    pub(super) async fn take(&self) -> OwnedSemaphorePermit {
        const OPEN: &str = "nobody closes the places";
        if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            return place;
        }
        self.full.fetch_add(1, Ordering::Relaxed);
        self.warn();
        loop {
            self.waiting_room().beginning.pop_first();
            let place = Arc::clone(&self.free).acquire_owned();
            if let Ok(place) = timeout(LEAVING_MAX, place).await {
                return place.expect(OPEN);
            }
        }
    }

    /// Notes one that has not begun yet.
    pub(super) fn beginning(self: &Arc<Self>) -> Beginning {
        let (stay, leave) = oneshot::channel();
        let mut room = self.waiting_room();
        let number = room.next;
        room.next += 1;
        room.beginning.insert(number, stay);
        Beginning {
            places: Arc::clone(self),
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
            "an address has as many connections as it may; who comes now takes the place of one that has not begun, or waits"
        );
    }

    fn waiting_room(&self) -> MutexGuard<'_, WaitingRoom> {
        let room = self.waiting_room.lock();
        room.unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that has not begun yet. Dropped once it has.
pub(super) struct Beginning {
    places: Arc<Places>,
    number: u64,
    leave: oneshot::Receiver<()>,
}

impl Beginning {
    /// Comes when its place is wanted for another.
    pub(super) async fn unwanted(&mut self) {
        // Nothing is ever sent: the other end is dropped.
        let _ = (&mut self.leave).await;
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        self.places.waiting_room().beginning.remove(&self.number);
    }
}

/// Connections at once, of one door, under these limits (as Linux shows them): a store that has no file descriptor left can
/// begin no file.
fn connections_max(limits: &str) -> usize {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let files = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let files: usize = files.unwrap_or(FILES_USUAL);
    (files.saturating_sub(FILES_KEPT) / DOORS).clamp(1, CONNECTIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given limits, three doors together leave files for the store, also where there are few.
    #[test]
    fn connections_leave_files_for_the_store() {
        let limits = |files: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max open files            {files}                  524288               files     \n"
            )
        };
        for (files, most) in [("256", 64), ("1024", 320), ("20000", 1024), ("50", 1)] {
            assert_eq!(connections_max(&limits(files)), most, "{files}");
        }
        assert_eq!(connections_max(""), 320);
    }
}
