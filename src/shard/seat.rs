//! Where a tenant's shards are found, while there are any.
//!
//! A store that fails takes its shards with it, and others take their place once it has been opened anew. Whoever hands
//! over reports or asks questions looks here each time. The daemon puts shards here and takes them away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Shards;

/// A place for shards. Clones share it.
#[derive(Clone)]
pub struct Seat(Arc<Mutex<Result<Shards, Arc<str>>>>);

impl From<Shards> for Seat {
    fn from(shards: Shards) -> Self {
        Self(Arc::new(Mutex::new(Ok(shards))))
    }
}

impl Seat {
    /// A place without shards, and why.
    #[must_use]
    pub fn vacant(why: &str) -> Self {
        Self(Arc::new(Mutex::new(Err(why.into()))))
    }

    /// The shards, or why there are none.
    ///
    /// # Errors
    /// The reason given to [`Seat::vacate`].
    pub fn shards(&self) -> Result<Shards, Arc<str>> {
        self.current().clone()
    }

    /// Puts shards here.
    pub fn put(&self, shards: Shards) {
        *self.current() = Ok(shards);
    }

    /// Takes the shards away and ends what goes on with them: their tasks, the tails of their alerts. Those that are in
    /// the middle of something let go of the store when they come to it.
    pub fn vacate(&self, why: &str) {
        let before = std::mem::replace(&mut *self.current(), Err(why.into()));
        if let Ok(shards) = before {
            shards.abandon();
        }
    }

    /// Why reports are not taken at present; nothing where they are.
    #[must_use]
    pub fn not_ready(&self) -> Option<Arc<str>> {
        match &*self.current() {
            Ok(shards) if shards.is_ready() => None,
            Ok(_) => Some("a shard takes no reports: it is stopping, or a write failed".into()),
            Err(why) => Some(Arc::clone(why)),
        }
    }

    fn current(&self) -> MutexGuard<'_, Result<Shards, Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
