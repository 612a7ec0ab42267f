//! How many requests are read at once.
//!
//! Reading costs as much as all that is done with a report after. Were all requests read at once that have arrived, none would
//! be done before most are, and by then those that were read first would have filled the inboxes: under a load that is several
//! times too much, most would be read for nothing. So they wait for their turn, as many being read as there are processors, and
//! who finds the inboxes full when its turn comes is refused unread. Where those whose turn comes have waited for long, new
//! ones are turned away before they are received.
//!
//! Large requests have a queue of their own, in which they take turns at most with their like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::admit::most;
use super::inbox::Cost;
use super::{Refusal, Shards};

/// Largest request that is small, in bytes: of some hundred spans at most, it is read within a millisecond.
const SMALL_BYTES_MAX: usize = 64 << 10;

/// An inbox is nearly full when less than this part of it is empty.
const NEARLY: usize = 16;

/// How long requests wait whose turn comes, from which on others are turned away.
const WAITS_LONG: Duration = Duration::from_secs(2);

/// How long a request waits, half of the time after which senders give up.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The turns of all requests for one store.
pub(super) struct Readers {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Whether the small request whose turn came last had waited for long.
    waits_long: AtomicBool,
}

/// A request's turn to be read, until it is dropped.
pub struct ReadTurn {
    _turn: OwnedSemaphorePermit,
}

impl Shards {
    /// Refuses a request that nobody has received yet, where it would most likely be refused after, or wait for long to be read.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`].
    pub fn turn_away(&self) -> Result<(), Refusal> {
        if self.shared.readers.are_behind() {
            return Err(self.overloaded(WAITS_LONG / 2));
        }
        self.turn_away_unread()
    }

    /// Waits for the turn of a request of so many bytes to be read. Refuses it where that takes too long, or it would most likely
    /// be refused after.
    ///
    /// # Errors
    /// [`Refusal::Overloaded`].
    pub async fn read_turn(&self, bytes: usize) -> Result<ReadTurn, Refusal> {
        let turn = self.shared.readers.turn(bytes).await;
        let turn = turn.ok_or_else(|| self.overloaded(WAITS_LONG / 2))?;
        self.turn_away_unread()?;
        Ok(turn)
    }

    /// Refuses a request where all shards hold nearly as much as they may.
    fn turn_away_unread(&self) -> Result<(), Refusal> {
        let shared = &self.shared;
        let most = most(&shared.settings);
        let nearly = Cost {
            reports: most.reports - most.reports / NEARLY,
            bytes: most.bytes - most.bytes / NEARLY,
        };
        let mut inboxes = shared.inboxes.iter();
        if inboxes.any(|inbox| inbox.holds_at_most(nearly)) {
            return Ok(());
        }
        Err(self.overloaded(Duration::ZERO))
    }

    /// A refusal, with a time to come again that is so much longer than where the inboxes are full: those are empty sooner than
    /// the queue of those that wait to be read.
    fn overloaded(&self, longer: Duration) -> Refusal {
        self.shared.counters.refused_overloaded.add(1);
        let retry_after = self.shared.backpressure.refuse() + longer;
        Refusal::Overloaded { retry_after }
    }
}

impl Default for Readers {
    fn default() -> Self {
        Self::of(available_parallelism().map_or(1, usize::from))
    }
}

impl Readers {
    /// So many turns at once, for small requests and as many for large ones.
    fn of(turns: usize) -> Self {
        Self {
            small: Arc::new(Semaphore::new(turns)),
            large: Arc::new(Semaphore::new(turns)),
            waits_long: AtomicBool::new(false),
        }
    }

    /// Whether a small request that comes now would wait for long.
    pub(super) fn are_behind(&self) -> bool {
        self.waits_long.load(Ordering::Relaxed) && self.small.available_permits() == 0
    }

    /// Waits for the turn of a request of so many bytes; nothing where that takes too long.
    pub(super) async fn turn(&self, bytes: usize) -> Option<ReadTurn> {
        let is_small = bytes <= SMALL_BYTES_MAX;
        let turns = if is_small { &self.small } else { &self.large };
        let began = Instant::now();
        let turn = timeout(WAIT_MAX, Arc::clone(turns).acquire_owned()).await;
        if is_small {
            let is_long = began.elapsed() > WAITS_LONG;
            self.waits_long.store(is_long, Ordering::Relaxed);
        }
        Some(ReadTurn {
            _turn: turn.ok()?.ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;

    /// Given more small requests than are read at once, the others wait; large ones do not wait for them. When they have waited for
    /// long, those that come then are told, until nobody waits any more; and nobody waits for ever.
    #[tokio::test(start_paused = true)]
    async fn requests_take_turns() {
        const LARGE: usize = 1 << 20;
        let readers = Readers::of(2);
        let turn = |bytes| Box::pin(readers.turn(bytes));
        let at_once = |bytes| readers.turn(bytes).now_or_never().flatten();
        let mut read: Vec<_> = (0..4).map_while(|_| at_once(100)).collect();
        assert_eq!(read.len(), 2);
        assert!(at_once(LARGE).is_some());
        let mut waiting = [turn(100), turn(100)];
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        advance(WAITS_LONG * 3 / 2).await;
        assert!(!readers.are_behind());
        let [first, second] = &mut waiting;
        read.pop();
        read.extend(first.now_or_never().flatten());
        assert!(readers.are_behind());
        read.clear();
        assert!(second.now_or_never().flatten().is_some());
        assert!(!readers.are_behind());
        let _read = [at_once(100), at_once(100)];
        assert!(turn(100).await.is_none());
        assert!(readers.are_behind());
    }
}
