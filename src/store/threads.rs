//! The threads beside a store: how they begin, and how they end with it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::shared::Shared;
use super::writer::Order;
use super::{Inner, snapshot};

/// How long those who still read a store that has failed are waited for.
const LAST_READERS_MAX: Duration = Duration::from_secs(10);

/// The thread that writes snapshots, and how it is ended.
pub(super) struct Snapshots {
    /// Dropped to end it.
    stop: Option<mpsc::Sender<()>>,
    leave: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Snapshots {
    pub(super) fn keep(shared: &Arc<Shared>, every: Duration) -> Result<Self, StoreError> {
        let (stop, stopped) = mpsc::channel();
        let leave = Arc::new(AtomicBool::new(false));
        let (theirs, left) = (Arc::clone(shared), Arc::clone(&leave));
        let thread = in_thread(&shared.dir, "eddy-snapshots", move || {
            snapshot::keep(&theirs, every, &stopped, &left);
        })?;
        Ok(Self {
            stop: Some(stop),
            leave,
            thread: Some(thread),
        })
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.leave.store(true, Ordering::Relaxed);
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a thread of the store.
pub(super) fn in_thread(
    dir: &Path,
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, StoreError> {
    let thread = thread::Builder::new().name(name.to_owned());
    let refused = |error| StoreError::io("cannot start a thread for the store in", dir, error);
    thread.spawn(work).map_err(refused)
}

impl Drop for Inner {
    /// Ends the threads first, so that the database is closed before the lock is let go.
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Close(None));
        let (snapshots, thread) = (self.snapshots.take(), self.thread.take());
        let end = move || {
            drop(snapshots);
            let _ = thread.map(thread::JoinHandle::join);
        };
        if self.shared.failure().is_none() {
            return end();
        }
        // A database that has failed may take its time, or for ever; whoever drops it has other things to do.
        let (shared, lock) = (Arc::clone(&self.shared), self.lock.take());
        let spawned = thread::Builder::new().spawn(move || {
            end();
            let until = Instant::now() + LAST_READERS_MAX;
            while Arc::strong_count(&shared) > 1 && Instant::now() < until {
                thread::sleep(Duration::from_millis(5));
            }
            drop(shared);
            drop(lock);
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "a store that has failed is not let go of");
        }
    }
}
