//! sled's database, closed so that a disk which refuses is no defect of ours.
//!
//! Whoever lets go of it last has it synced once more, and sled panics where the disk refuses that: in the middle of a start, or
//! when everything has been saved and the process is about to leave.

use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::refusal;
use super::open::panic_message;

/// An open database.
pub(super) struct Database(Option<sled::Db>);

impl Database {
    pub(super) fn new(db: sled::Db) -> Self {
        Self(Some(db))
    }

    /// Closes it, and says what the disk refused.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.let_go()
    }

    fn let_go(&mut self) -> io::Result<()> {
        let db = self.0.take();
        catch_unwind(AssertUnwindSafe(|| drop(db))).map_err(|panic| {
            let said = panic_message(panic.as_ref());
            refusal(io::Error::other(said.clone())).unwrap_or_else(|| io::Error::other(said))
        })
    }
}

impl Deref for Database {
    type Target = sled::Db;

    fn deref(&self) -> &sled::Db {
        self.0.as_ref().expect("it is there until it is closed")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Err(error) = self.let_go() {
            tracing::warn!(%error, "the database could not be closed in good order; the journal has what it lacks");
        }
    }
}
