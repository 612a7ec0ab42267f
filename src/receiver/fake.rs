//! Stands in for the shards in tests of the receiver: takes reports or refuses them as the test says, and has no room at all
//! while the test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::config::profile;
use crate::normalize::Report;
use crate::shard::{NamedPolicy, Refusal};

type Answer = dyn Fn(Vec<Report>) -> Result<(), Refusal> + Send + Sync;

/// Shards that a test plays.
pub(super) struct Fake {
    answer: Box<Answer>,
    /// The test holds the other end.
    is_full: Arc<AtomicBool>,
    has_pauses: bool,
}

impl Fake {
    /// Has room, and answers what `answer` says.
    pub(super) fn answering(
        answer: impl Fn(Vec<Report>) -> Result<(), Refusal> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Box::new(answer),
            is_full: Arc::default(),
            has_pauses: false,
        }
    }

    /// Takes everything, but turns it away while it is full.
    pub(super) fn full_while(is_full: Arc<AtomicBool>) -> Self {
        Self {
            answer: Box::new(|_| Ok(())),
            is_full,
            has_pauses: false,
        }
    }

    /// Has connections wait on which it turned something away.
    pub(super) fn with_pauses(mut self) -> Self {
        self.has_pauses = true;
        self
    }

    pub(super) fn turn_away(&self) -> Result<(), Refusal> {
        if self.is_full.load(Ordering::SeqCst) {
            let retry_after = Duration::from_millis(1_500);
            return Err(Refusal::Overloaded { retry_after });
        }
        Ok(())
    }

    /// Resolves when it is not full, where it is to be waited for.
    pub(super) fn room(&self) -> impl Future<Output = ()> + Send + use<> {
        let (is_full, has_pauses) = (Arc::clone(&self.is_full), self.has_pauses);
        async move {
            while has_pauses && is_full.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    pub(super) fn policy() -> NamedPolicy {
        NamedPolicy::new(profile::Name::Standard.policy().into())
    }

    pub(super) fn submit(&self, reports: Vec<Report>) -> Result<(), Refusal> {
        (self.answer)(reports)
    }
}
