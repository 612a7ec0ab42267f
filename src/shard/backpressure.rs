//! Who is refused for lack of room in the inboxes, and when to be listened to again.
//!
//! A refused sender is told when to come again ([`RetryAfter`]). One that ignores it could have requests refused as fast as it
//! sends them, at the expense of those that are taken. So its connection waits here ([`Backpressure::room_made`]): each turn
//! that leaves an inbox half empty lets one connection go on, which fills the inbox again before the next turn. If that one
//! sends nothing and the shards run out of work, the others go on one after the other until there is something to do again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::inbox::Cost;
use super::retry_after::RetryAfter;

/// Requests refused for which the time to come again grows by a step: a slow machine takes as many in that time.
const REFUSED_PER_STEP: u64 = 64;

/// How often a connection that waits looks whether anything is left to do.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Longest time for which a connection waits, half of the time after which senders give up.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// What senders are told who found no room in the inboxes.
pub(super) struct Backpressure {
    retry_after: RetryAfter,
    /// Whether a turn has left nothing to do, and nothing has come since.
    is_idle: AtomicBool,
    made: Notify,
}

impl Default for Backpressure {
    fn default() -> Self {
        Self {
            retry_after: RetryAfter::new(REFUSED_PER_STEP),
            is_idle: AtomicBool::new(true),
            made: Notify::new(),
        }
    }
}

impl Backpressure {
    /// Notes that a request was refused. Answers when its sender shall come again, which differs from sender to sender.
    pub(super) fn refuse(&self) -> Duration {
        self.is_idle.store(false, Ordering::Relaxed);
        self.retry_after.refuse()
    }

    /// Notes that a request was taken.
    pub(super) fn take(&self) {
        self.is_idle.store(false, Ordering::Relaxed);
        self.retry_after.take();
    }

    /// Looks whether a turn has left room, and lets a connection that waits go on.
    pub(super) fn look(&self, held: Cost, most: Cost) {
        if held.reports <= most.reports / 2 && held.bytes <= most.bytes / 2 {
            self.is_idle.store(held.reports == 0, Ordering::Relaxed);
            self.made.notify_one();
        }
    }

    /// Waits until there is room.
    pub(super) async fn room_made(self: Arc<Self>) {
        let mut made = std::pin::pin!(self.made.notified());
        made.as_mut().enable();
        let waiting = async {
            while !self.is_idle.load(Ordering::Relaxed) {
                if timeout(LOOK_EVERY, made.as_mut()).await.is_ok() {
                    return;
                }
            }
        };
        let _ = timeout(WAIT_MAX, waiting).await;
    }

    #[cfg(test)]
    pub(super) fn behind(&self) -> u64 {
        self.retry_after.behind()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::Instant;

    use super::*;

    const MOST: Cost = Cost {
        reports: 100,
        bytes: 1_000,
    };

    /// What a shard holds that has so many reports.
    fn held(reports: usize) -> Cost {
        Cost { reports, bytes: 0 }
    }

    /// Given three that wait for room, a turn that leaves more than half lets none go on, and one that leaves half the first;
    /// where one leaves nothing to do, the second goes on and then the third, and who comes then does not wait. Without a turn,
    /// they wait for a bounded time.
    #[tokio::test(start_paused = true)]
    async fn each_turn_with_room_lets_one_go_on() {
        let room = Arc::<Backpressure>::default();
        let made = || Box::pin(Arc::clone(&room).room_made());
        assert!(made().now_or_never().is_some());
        room.refuse();
        let mut waiting: Vec<_> = (0..3).map(|_| made()).collect();
        let mut gone = || {
            let before = waiting.len();
            waiting.retain_mut(|one| one.now_or_never().is_none());
            before - waiting.len()
        };
        for (reports, go_on) in [(100, 0), (51, 0), (50, 1), (0, 1)] {
            assert_eq!(gone(), 0);
            room.look(held(reports), MOST);
            assert_eq!(gone(), go_on, "{reports}");
        }
        let began = Instant::now();
        waiting.remove(0).await;
        assert!(began.elapsed() <= LOOK_EVERY);
        assert!(made().now_or_never().is_some());
        let refuse = |room: &Backpressure| {
            room.refuse();
        };
        for came in [Backpressure::take, refuse] {
            came(&room);
            let began = Instant::now();
            made().await;
            assert!((WAIT_MAX..2 * WAIT_MAX).contains(&began.elapsed()));
            room.look(held(0), MOST);
            made().await;
        }
    }
}
