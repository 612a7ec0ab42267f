//! When a sender that is refused for now is told to come again.
//!
//! The time grows while more are refused than taken, so that about as many come back as can be taken then, and differs from sender
//! to sender, so that not all come back at once. Those that are taken bring it back.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shortest time, but for the half by which it differs from sender to sender: some turns of a busy shard. It grows by as much.
const STEP: Duration = Duration::from_millis(250);

/// Longest one, but for that half. SDKs give an export up after ten seconds, and drop at once what they are told to send again
/// after more.
const LONGEST: Duration = Duration::from_secs(6);

/// How many of the shortest times the longest one is.
const STEPS: u64 = (LONGEST.as_millis() / STEP.as_millis()) as u64;

/// The time after which the next one that is refused shall come again.
#[derive(Debug)]
pub(crate) struct RetryAfter {
    /// Requests refused, less those that were taken since. No more are counted than make the time the longest: a sender that does
    /// not heed it may be refused a million times, and others would have to pay for it long after.
    behind: AtomicU64,
    refused_per_step: u64,
}

impl RetryAfter {
    /// One that grows by a step for so many that are refused: as many as are taken in that time.
    pub(crate) const fn new(refused_per_step: u64) -> Self {
        Self {
            behind: AtomicU64::new(0),
            refused_per_step,
        }
    }

    /// Notes that a request was refused. Answers when its sender shall come again.
    pub(crate) fn refuse(&self) -> Duration {
        let behind_max = self.refused_per_step * STEPS;
        let more = |behind: u64| Some((behind + 1).min(behind_max));
        let behind = (self.behind).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let behind = behind.unwrap_or(behind_max);
        let grown = STEP * (1 + behind / self.refused_per_step) as u32;
        let jitter = RandomState::new().hash_one(behind) % 1_000;
        grown.min(LONGEST) * (500 + jitter as u32) / 1_000
    }

    /// Notes that a request was taken.
    pub(crate) fn take(&self) {
        let less = |behind: u64| behind.checked_sub(1);
        let _ = (self.behind).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    #[cfg(test)]
    pub(crate) fn behind(&self) -> u64 {
        self.behind.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests refused for a step.
    const PER_STEP: u64 = 64;

    /// Given more refused than taken, they are told to come later; those that are taken bring the time back.
    #[test]
    fn waits_grow_with_those_that_wait() {
        let retry_after = RetryAfter::new(PER_STEP);
        let mean = || (0..64).map(|_| retry_after.refuse()).sum::<Duration>() / 64;
        let (first, second) = (mean(), mean());
        assert!((STEP / 2..STEP * 2).contains(&first), "{first:?}");
        assert!(second > first * 3 / 2, "{first:?} and {second:?}");
        for _ in 0..200 {
            retry_after.take();
        }
        assert_eq!(retry_after.behind(), 0);
        assert!(retry_after.refuse() < STEP * 2);
    }

    /// Given senders that were refused a million times, because they did not heed the time that they were told, others are told
    /// short times again once as many are taken as the longest time is for. Nobody is told a time for which no sender waits.
    #[test]
    fn a_storm_is_over_some_time() {
        let retry_after = RetryAfter::new(PER_STEP);
        for _ in 0..1_000_000 {
            retry_after.refuse();
        }
        let told: Vec<_> = (0..1_000).map(|_| retry_after.refuse()).collect();
        let heeded = LONGEST / 2..Duration::from_secs(10);
        assert!(told.iter().all(|time| heeded.contains(time)), "{told:?}");
        assert!(told.windows(2).any(|pair| pair[0] != pair[1]));
        for _ in 0..10_000 {
            retry_after.take();
        }
        assert!(retry_after.refuse() < STEP * 2);
    }
}
