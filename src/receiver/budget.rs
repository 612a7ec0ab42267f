//! How many bytes all requests together may hold, how many there may be, and how many may be decompressed at once.
//!
//! Each request has a [`Share`], which grows as its bytes arrive and as they are decompressed, and is given back when the
//! request has been answered. When the budget is used up, a request that needs more is refused for now. Without it, 256
//! requests a connection and any number of connections could each hold a message of the largest size. A request that has not
//! sent a byte costs some kibibytes too, so their number is bounded beside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Requests under way at once, of all connections: each costs about 6 KiB besides its bytes, most of it for the server.
const REQUESTS_MAX: usize = 4096;

/// Requests under way beyond which there is no time for slow ones.
const REQUESTS_MANY: usize = REQUESTS_MAX / 2;

/// By how much the time to arrive is shorter then.
const HASTE: u32 = 10;

/// Requests that are decompressed at once; others wait. A decoder has some 100 KiB of its own, a window of up to 8 MiB beside
/// that, and each is a task that keeps the others of the daemon waiting for its turn.
pub(super) const DECODERS_MAX: usize = 8;

/// The wait told to the first sender that is refused; it grows from here.
const WAIT_MIN: Duration = Duration::from_millis(250);

/// How often [`WAIT_MIN`] is doubled at most: up to 8 seconds.
const DOUBLINGS_MAX: u64 = 5;

/// Refusals in a row after which the wait is doubled: about one for each sender of a small installation.
const REFUSALS_PER_DOUBLING: u64 = 16;

/// The bytes that are left, shared by all requests.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: usize,
    left: AtomicUsize,
    requests: AtomicUsize,
    /// Refusals since bytes were last given.
    refused_in_row: AtomicU64,
    decoders: Semaphore,
}

impl Budget {
    pub(super) fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            left: AtomicUsize::new(bytes),
            requests: AtomicUsize::new(0),
            refused_in_row: AtomicU64::new(0),
            decoders: Semaphore::new(DECODERS_MAX),
        })
    }

    /// What all shares hold.
    pub(super) fn held(&self) -> usize {
        self.bytes - self.left.load(Ordering::Relaxed)
    }

    /// The share of one request more, or when to try again where there are too many.
    pub(super) fn share(self: &Arc<Self>) -> Result<Share, Duration> {
        let before = self.requests.fetch_add(1, Ordering::Relaxed);
        let share = Share {
            budget: Arc::clone(self),
            held: AtomicUsize::new(0),
            is_hasty: before >= REQUESTS_MANY,
        };
        if before >= REQUESTS_MAX {
            return Err(wait(self.refused_in_row.fetch_add(1, Ordering::Relaxed)));
        }
        Ok(share)
    }

    fn take(&self, bytes: usize) -> Result<(), Duration> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        if taken.is_ok() {
            self.refused_in_row.store(0, Ordering::Relaxed);
            return Ok(());
        }
        Err(wait(self.refused_in_row.fetch_add(1, Ordering::Relaxed)))
    }
}

/// How long the sender refused after that many others should wait. The waits of senders refused one after the other are
/// spread over half their length, so that they do not all come back at once.
fn wait(refused_before: u64) -> Duration {
    let doublings = (refused_before / REFUSALS_PER_DOUBLING).min(DOUBLINGS_MAX) as u32;
    let base = WAIT_MIN * 2_u32.pow(doublings);
    // The golden ratio spreads successive numbers evenly.
    let place = refused_before.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    base + base * (place as u32) / 2 / 1024
}

/// What one request holds of the budget. Dropped, it gives everything back.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    held: AtomicUsize,
    /// Whether there were many requests when this one came.
    is_hasty: bool,
}

impl Share {
    /// How long the request may take to arrive, of the time that there usually is.
    pub(super) fn time_to_arrive(&self, usual: Duration) -> Duration {
        if self.is_hasty { usual / HASTE } else { usual }
    }

    /// Takes so many bytes more, or says when to try again.
    pub(super) fn grow(&self, bytes: usize) -> Result<(), Duration> {
        self.budget.take(bytes)?;
        self.held.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// A place to decompress in, when there is one.
    pub(super) async fn decoder(&self) -> SemaphorePermit<'_> {
        let place = self.budget.decoders.acquire().await;
        place.expect("nobody closes it")
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let held = self.held.load(Ordering::Relaxed);
        self.budget.left.fetch_add(held, Ordering::Relaxed);
        self.budget.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a budget, shares take from it what is left and give it back when they go.
    #[test]
    fn shares_take_and_give_back() {
        let budget = Budget::of(100);
        let first = budget.share().expect("it is the first");
        first.grow(40).expect("100 are left");
        first.grow(20).expect("60 are left of 100");
        let second = budget.share().expect("there is one");
        second.grow(40).expect("40 are left");
        second.grow(1).expect_err("none are left");
        drop(first);
        second.grow(60).expect("60 are left");
    }

    /// Given as many requests as there may be, the next one is told to come again, until one of them has gone; half as many are
    /// given less time to arrive.
    #[test]
    fn requests_are_counted() {
        let budget = Budget::of(100);
        let usual = Duration::from_secs(30);
        let mut requests: Vec<_> = (0..REQUESTS_MAX)
            .map(|_| budget.share().expect("there are fewer"))
            .collect();
        let times =
            [REQUESTS_MANY - 1, REQUESTS_MANY].map(|nth| requests[nth].time_to_arrive(usual));
        assert_eq!(times, [usual, usual / HASTE]);
        budget.share().expect_err("there are too many");
        budget
            .share()
            .expect_err("those that were refused do not count");
        requests.pop();
        budget.share().expect("one has gone");
    }

    /// Given refusals in a row, the waits grow, differ from each other and stay bounded.
    #[test]
    fn waits_grow_and_differ() {
        assert!(wait(0) >= WAIT_MIN && wait(15) < WAIT_MIN * 2);
        assert!(wait(1) != wait(2));
        assert!(wait(160) >= Duration::from_secs(8));
        assert!(wait(u64::MAX) <= Duration::from_secs(12));
    }
}
