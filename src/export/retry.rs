//! When to try again: waits that double up to a limit, each drawn at random below it ("full jitter"), unless the receiver
//! names a time. Requests to pass on and verdicts are sent by it as they are until they are settled; alerts, which are read anew
//! for each attempt, have a loop of their own in `outbox`.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::settings::Retry;
use super::{Delivery, NotTaken, caught};

/// Longest wait that a receiver can ask for. A mistaken `Retry-After` must not silence an exporter for a day.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// What became of something in the end, however many attempts that took.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The receiver has it.
    Taken,
    /// The receiver has it, except for so much, which it will never take.
    Partly { refused: u64, reason: NotTaken },
    /// The receiver will never take it.
    Refused { reason: NotTaken },
    /// It is tried no more: its time is over, or Eddy stops, which is no fault of the receiver's.
    GivenUp { reason: NotTaken, is_leaving: bool },
}

/// Makes one attempt after the other until it is settled what becomes of what is sent. `again` hears of each attempt that failed
/// and will be followed by another. When `leaving` is cancelled, the wait is over, and what follows is the last attempt.
pub(super) async fn until_settled<Sending: Future<Output = Delivery>>(
    retry: Retry,
    leaving: &CancellationToken,
    mut send: impl FnMut() -> Sending,
    mut again: impl FnMut(&NotTaken),
) -> Settled {
    let mut attempts = Attempts::new(retry);
    loop {
        let is_leaving = leaving.is_cancelled();
        let (reason, after) = match caught(send()).await {
            Delivery::Taken => return Settled::Taken,
            Delivery::Partly { refused, reason } => return Settled::Partly { refused, reason },
            Delivery::Refused { reason } => return Settled::Refused { reason },
            Delivery::Later { reason, after } => (reason, after),
        };
        let Some(wait) = attempts.next_wait(after).filter(|_| !is_leaving) else {
            return Settled::GivenUp { reason, is_leaving };
        };
        again(&reason);
        // Ended early or not, it is followed by an attempt.
        let _ = timeout(wait, leaving.cancelled()).await;
    }
}

/// The attempts at one batch.
#[derive(Debug)]
pub(super) struct Attempts {
    retry: Retry,
    failed: u32,
    /// When the first attempt failed.
    since: Option<Instant>,
}

impl Attempts {
    pub(super) fn new(retry: Retry) -> Self {
        Self {
            retry,
            failed: 0,
            since: None,
        }
    }

    /// How long to wait after an attempt has failed; nothing if the batch is to be given up. No wait goes beyond the batch's time,
    /// whatever the receiver asks for: the last attempt is made at its end, and nothing stands in the way of others for longer.
    pub(super) fn next_wait(&mut self, after: Option<Duration>) -> Option<Duration> {
        let elapsed = self.since.get_or_insert_with(Instant::now).elapsed();
        let max_elapsed = self.retry.max_elapsed.unwrap_or(Duration::MAX);
        let left = max_elapsed.saturating_sub(elapsed);
        if left.is_zero() {
            return None;
        }
        let doubled = self.retry.initial.saturating_mul(1 << self.failed.min(30));
        self.failed = self.failed.saturating_add(1);
        let drawn = doubled.min(self.retry.max).mul_f64(random_share());
        let asked = after.unwrap_or_default().min(RETRY_AFTER_MAX);
        Some(drawn.max(asked).min(left))
    }
}

/// Into how many parts the longest time of an alert is cut: so much later than that it is given up at most.
const PARTS: u32 = 16;

/// Since when alerts are tried: how far the log went when an attempt failed. An alert that comes in the middle of an outage has a
/// time of its own.
#[derive(Debug)]
pub(super) struct Tried {
    max_elapsed: Option<Duration>,
    /// When an attempt failed, and the newest alert then; oldest first, [`PARTS`] and one at most.
    failed: VecDeque<(Instant, u64)>,
    /// The newest alert that has been tried for the longest time.
    overdue: u64,
}

impl Tried {
    pub(super) fn new(max_elapsed: Option<Duration>) -> Self {
        Self {
            max_elapsed,
            failed: VecDeque::new(),
            overdue: 0,
        }
    }

    /// Notes that an attempt failed when this was the newest alert. The answer is the newest alert that is to be given up; 0 if
    /// none.
    pub(super) fn note(&mut self, newest: u64) -> u64 {
        let Some(max_elapsed) = self.max_elapsed else {
            return 0;
        };
        let is_news =
            |&(at, alert): &(Instant, u64)| newest > alert && at.elapsed() >= max_elapsed / PARTS;
        if self.failed.back().is_none_or(is_news) {
            self.failed.push_back((Instant::now(), newest));
        }
        let mut old = self
            .failed
            .iter()
            .take_while(|(at, _)| at.elapsed() >= max_elapsed);
        if let Some((_, alert)) = old.by_ref().last() {
            self.overdue = *alert;
        }
        self.failed.retain(|(at, _)| at.elapsed() < max_elapsed);
        self.overdue
    }

    /// How long until the next alerts are to be given up.
    pub(super) fn left(&self) -> Duration {
        let first = self.failed.front().zip(self.max_elapsed);
        first.map_or(Duration::MAX, |((at, _), max_elapsed)| {
            max_elapsed.saturating_sub(at.elapsed())
        })
    }

    /// The receiver has answered: whatever waits is tried anew.
    pub(super) fn forget(&mut self) {
        self.failed.clear();
        self.overdue = 0;
    }
}

/// A number from 0 to below 1. The seeds of the standard library's hash maps are random enough to spread waits.
fn random_share() -> f64 {
    #[cfg(test)]
    if let Some(share) = SHARE.get() {
        return share;
    }
    let random = RandomState::new().hash_one(0_u8);
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// The wait that a `Retry-After` header asks for: seconds, or a date in one of the three forms that HTTP has
/// (`Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`).
pub(super) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let seconds = header.trim();
    if !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than there is room for is as long as it can be.
        return Some(Duration::from_secs(seconds.parse().unwrap_or(u64::MAX)));
    }
    let words: Vec<_> = header
        .split([' ', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = words[..] else {
        return None;
    };
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.find(month)? / 3 + 1;
    // A year of two digits is no more than fifty years ahead, which no wait is, either.
    let century = if year.len() == 2 { "20" } else { "" };
    let date = format!("{century}{year}-{month:02}-{day:0>2}T{time}Z");
    let at = humantime::parse_rfc3339(&date).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
thread_local! {
    /// What every draw on this thread gives.
    static SHARE: std::cell::Cell<Option<f64>> = const { std::cell::Cell::new(None) };
}

/// Has every draw on this thread give one number, so that a simulation comes to the same end again.
#[cfg(test)]
pub(crate) fn fix_shares(share: f64) {
    SHARE.set(Some(share));
}

#[cfg(test)]
mod tests {
    use super::*;

    // Given attempts that fail; the longest possible wait doubles and stays below its limit, and waits differ.
    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_a_limit() {
        let mut longest = [Duration::ZERO; 9];
        for _ in 0..200 {
            let mut attempts = Attempts::new(Retry::default());
            for longest in &mut longest {
                *longest = attempts
                    .next_wait(None)
                    .expect("no end is set")
                    .max(*longest);
            }
        }
        for (attempt, longest) in longest.iter().enumerate() {
            let limit = Duration::from_secs(60.min(1 << attempt));
            assert!(
                *longest <= limit && *longest > limit / 2,
                "{attempt}: {longest:?}"
            );
        }
    }

    // Given a receiver that names a time; the wait is not shorter, and not absurdly long.
    #[tokio::test(start_paused = true)]
    async fn the_receiver_may_name_the_wait() {
        let mut attempts = Attempts::new(Retry::default());
        let wait = attempts.next_wait(Some(Duration::from_secs(120)));
        assert_eq!(wait, Some(Duration::from_secs(120)));
        let wait = attempts.next_wait(Some(Duration::from_secs(1 << 40)));
        assert_eq!(wait, Some(RETRY_AFTER_MAX));
    }

    // Given a longest time for a batch; after it the batch is given up.
    #[tokio::test(start_paused = true)]
    async fn a_batch_may_be_given_up() {
        let max_elapsed = Some(Duration::from_secs(300));
        let mut attempts = Attempts::new(Retry {
            max_elapsed,
            ..Retry::default()
        });
        assert!(attempts.next_wait(None).is_some());
        tokio::time::advance(Duration::from_secs(299)).await;
        assert!(attempts.next_wait(None).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(attempts.next_wait(None), None);
    }

    // Given a receiver that names a time beyond the end of a batch's; the wait ends with it, and what follows is the last attempt.
    #[tokio::test(start_paused = true)]
    async fn the_receiver_cannot_have_a_batch_wait_beyond_its_time() {
        let mut attempts = Attempts::new(Retry {
            max_elapsed: Some(Duration::from_secs(300)),
            ..Retry::default()
        });
        let hour = Some(Duration::from_secs(3_600));
        assert_eq!(attempts.next_wait(hour), Some(Duration::from_secs(300)));
        tokio::time::advance(Duration::from_secs(300)).await;
        assert_eq!(attempts.next_wait(hour), None);
    }

    // Given an attempt at which Eddy panics; another follows, and nothing is lost.
    #[tokio::test(start_paused = true)]
    async fn a_panic_is_followed_by_another_attempt() {
        let leaving = CancellationToken::new();
        let mut attempts = 0;
        let mut failed = Vec::new();
        let settled = until_settled(
            Retry::default(),
            &leaving,
            || {
                attempts += 1;
                let is_first = attempts == 1;
                async move {
                    assert!(!is_first, "as the test has it");
                    Delivery::Taken
                }
            },
            |reason| failed.push(reason.to_string()),
        );
        assert_eq!(settled.await, Settled::Taken);
        assert!(failed[0].contains("panicked"), "{failed:?}");
        assert_eq!((attempts, failed.len()), (2, 1));
    }

    // Given a receiver that fails and an order to leave during the wait for the next attempt; that attempt is made at once, and is
    // the last.
    #[tokio::test(start_paused = true)]
    async fn leaving_gives_one_more_attempt() {
        let began = Instant::now();
        let leaving = CancellationToken::new();
        let mut attempts = 0;
        let settled = until_settled(
            Retry::default(),
            &leaving,
            || {
                attempts += 1;
                async {
                    Delivery::Later {
                        reason: "away".into(),
                        after: Some(Duration::from_secs(60)),
                    }
                }
            },
            |_| leaving.cancel(),
        );
        let reason = NotTaken::from("away");
        let is_leaving = true;
        assert_eq!(settled.await, Settled::GivenUp { reason, is_leaving });
        assert_eq!((attempts, began.elapsed()), (2, Duration::ZERO));
    }

    // Given all forms of the header; nonsense names no time.
    #[test]
    fn retry_after_is_read() {
        let now = humantime::parse_rfc3339("1994-11-06T08:49:00Z").expect("a time");
        assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
        let most = Some(Duration::from_secs(u64::MAX));
        assert_eq!(retry_after("99999999999999999999", now), most);
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after(date, now), Some(Duration::from_secs(37)));
        let old = "Sun Nov  6 08:49:37 1994";
        assert_eq!(retry_after(old, now), Some(Duration::from_secs(37)));
        let now_2026 = humantime::parse_rfc3339("2026-11-06T08:49:00Z").expect("a time");
        let older = "Friday, 06-Nov-26 08:49:37 GMT";
        assert_eq!(retry_after(older, now_2026), Some(Duration::from_secs(37)));
        let past = "Sat, 05 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after(past, now), Some(Duration::ZERO));
        for nonsense in [
            "",
            "soon",
            "-1",
            "1.5",
            "Sun, 06 Brumaire 1994 08:49:37 GMT",
            "Sun, 99 Nov 1994 1 GMT",
        ] {
            assert_eq!(retry_after(nonsense, now), None, "{nonsense}");
        }
    }
}
