//! Where a tenant's shards are found, while there are any.
//!
//! A store that fails takes its shards with it, and others take their place once it has been opened anew. Whoever hands
//! over reports or asks questions looks here each time. The daemon puts shards here and takes them away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Shards;
use crate::telemetry::Counter;

/// A place for shards. Clones share it.
#[derive(Clone)]
pub struct TenantShards(Arc<Inner>);

struct Inner {
    shards: Mutex<Result<Shards, Arc<str>>>,
    unasked: Counter,
}

impl From<Shards> for TenantShards {
    fn from(shards: Shards) -> Self {
        Self::with(Ok(shards))
    }
}

impl TenantShards {
    /// A place without shards, and why.
    #[must_use]
    pub fn unavailable(why: &str) -> Self {
        Self::with(Err(why.into()))
    }

    fn with(shards: Result<Shards, Arc<str>>) -> Self {
        Self(Arc::new(Inner {
            shards: Mutex::new(shards),
            unasked: Counter::default(),
        }))
    }

    /// The shards, or why there are none.
    ///
    /// # Errors
    /// The reason given to [`TenantShards::abandon`].
    pub fn current(&self) -> Result<Shards, Arc<str>> {
        self.lock().clone()
    }

    /// Puts shards here.
    pub fn set(&self, shards: Shards) {
        *self.lock() = Ok(shards);
    }

    /// Takes the shards away and ends what goes on with them: their tasks, the tails of their alerts. Those that are in
    /// the middle of something let go of the store when they come to it.
    pub fn abandon(&self, why: &str) {
        let before = std::mem::replace(&mut *self.lock(), Err(why.into()));
        if let Ok(shards) = before {
            shards.abandon();
        }
    }

    /// Why reports are not taken at present; nothing where they are.
    #[must_use]
    pub fn not_ready(&self) -> Option<Arc<str>> {
        match &*self.lock() {
            Ok(shards) if shards.is_ready() => None,
            Ok(_) => Some("a shard takes no reports: it is stopping, or a write failed".into()),
            Err(why) => Some(Arc::clone(why)),
        }
    }

    /// Questions to the guard for which there were no shards, since the process began.
    #[must_use]
    pub fn unasked(&self) -> &Counter {
        &self.0.unasked
    }

    fn lock(&self) -> MutexGuard<'_, Result<Shards, Arc<str>>> {
        let shards = self.0.shards.lock();
        shards.unwrap_or_else(PoisonError::into_inner)
    }
}
