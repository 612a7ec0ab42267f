//! Work with the database for tasks, which share their threads with all others and must not wait for a disk.
//!
//! What has to be read goes to a thread that may wait, and what an exporter writes to the store's own. What is at hand in memory
//! is answered at once. A disk that hangs so holds up only what needs it, and as many threads as there are places here.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::alert::Alert;
use super::writer::Order;
use super::{Store, StoreError};

/// Most reads that are under way for those who send or ask the guard, and for the walks along the index.
const NEEDED_MAX: usize = 16;

/// Most reads that are under way for those who look on: lists, tails, exporters. They keep a core or two busy, not all of them.
const SHOWN_MAX: usize = 4;

/// A place for each read that may be under way.
pub(super) struct Places {
    needed: Arc<Semaphore>,
    shown: Arc<Semaphore>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            needed: Arc::new(Semaphore::new(NEEDED_MAX)),
            shown: Arc::new(Semaphore::new(SHOWN_MAX)),
        }
    }
}

impl Store {
    /// Has something read by a thread that may wait for the disk, unlike those that tasks share. Some are under way at a time;
    /// others wait before it. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// What `read` says.
    pub async fn read_beside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_at(&self.inner.places.needed, read).await
    }

    /// The same for what is only shown, or delivered: nobody who sends or asks the guard waits behind it, however much that is.
    ///
    /// # Errors
    /// What `read` says.
    pub async fn read_to_show<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_at(&self.inner.places.shown, read).await
    }

    async fn read_at<T: Send + 'static>(
        &self,
        places: &Arc<Semaphore>,
        read: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // A simulation comes to the same end again, and where time is let pass by a test it does not run ahead of a thread.
        #[cfg(test)]
        if !self.inner.shared.holds_reads() {
            return read(self);
        }
        let place = Arc::clone(places).acquire_owned().await;
        let place = place.map_err(|_| StoreError::Closed)?;
        let store = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _place = place;
            read(&store)
        });
        reading.await.unwrap_or(Err(StoreError::Closed))
    }

    /// What [`Store::alerts_after`] says, for a task: who keeps up has it from memory, and waits for no disk.
    ///
    /// # Errors
    /// The database could not be read.
    pub async fn next_alerts(&self, cursor: u64, limit: usize) -> Result<Vec<Alert>, StoreError> {
        match self.inner.shared.alerts_at_hand(cursor, limit) {
            Some(alerts) => Ok(alerts),
            None => {
                self.read_to_show(move |store| store.alerts_after(cursor, limit))
                    .await
            }
        }
    }

    /// What [`Store::set_exporter_cursor`] does, for a task. Resolves when it is written; dropped, it is written all the same.
    ///
    /// # Errors
    /// The store takes no more writes.
    pub async fn keep_exporter_cursor(&self, name: &str, cursor: u64) -> Result<(), StoreError> {
        #[cfg(test)]
        if !self.inner.shared.holds_reads() {
            return self.set_exporter_cursor(name, cursor);
        }
        let name = name.to_owned();
        self.ordered(|answer| Order::Cursor(name, cursor, answer))
            .await
    }
}
