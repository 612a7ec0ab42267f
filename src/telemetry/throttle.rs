//! Troubles that come again and again, and of which the log tells once a minute.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often a trouble is told of at most: anybody may knock, and as often as he likes, and files are looked at all the time.
pub(crate) const TELL_EVERY: Duration = Duration::from_secs(60);

/// One trouble.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When it was last told of.
    told: Option<Instant>,
    /// How often it has come since.
    times: u64,
}

impl Throttle {
    /// Notes that it has come. Where it is to be told of now, the answer is how often it has come since it was last.
    pub(crate) fn times(&self) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.times += 1;
        if state.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return None;
        }
        state.told = Some(Instant::now());
        Some(std::mem::take(&mut state.times))
    }

    /// The same, where nobody wants to know how often.
    pub(crate) fn is_due(&self) -> bool {
        self.times().is_some()
    }

    /// When it may be told of again; `None` where it never was.
    pub(crate) fn next(&self) -> Option<Instant> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.told.map(|told| told + TELL_EVERY)
    }
}
