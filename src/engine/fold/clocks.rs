//! Numbers that a clock makes under a name that does not say so: they grow by just the time that has passed, and say nothing.

use super::Fold;
use super::trend::Trend;

/// How many times in a row numbers must have grown with the time, and how long that must have taken in all; within less time,
/// whatever is counted may grow so.
const GROWN_MIN: usize = 3;
const SECONDS_MIN: f64 = 10.0;

/// By how much the pauses must differ: where they are all alike, what is counted at each call grows so, too.
const PAUSES_DIFFER: f64 = 2.0;

/// How many of a clock's units a second may have.
const UNITS: [f64; 2] = [1.0, 1_000.0];

const SECOND_NS: f64 = 1e9;

impl Fold {
    /// Whether all that is new in a result are numbers that have grown by as many seconds, or thousandths of them, as have passed
    /// since the same call before, and so between the calls before that, whose pauses differed.
    pub(super) fn shows_clock(
        &self,
        key: Option<u64>,
        trend: Option<&Trend>,
        start_ns: u64,
    ) -> bool {
        let Some(mut newer) = trend.map(|trend| (trend, start_ns)) else {
            return false;
        };
        let (mut least, mut most, mut all) = (f64::MAX, 0.0_f64, 0.0);
        for (nth, mark) in self.recent.of_key(key).enumerate() {
            let Some(before) = mark.trend.as_deref() else {
                return false;
            };
            let seconds = newer.1.saturating_sub(mark.start_ns) as f64 / SECOND_NS;
            if !newer.0.has_grown_with_time(seconds, before) {
                return false;
            }
            (least, most, all) = (least.min(seconds), most.max(seconds), all + seconds);
            if nth + 1 >= GROWN_MIN && all >= SECONDS_MIN && most - least >= PAUSES_DIFFER {
                return true;
            }
            newer = (before, mark.start_ns);
        }
        false
    }
}

impl Trend {
    /// Whether all numbers that are others than before have grown by so many seconds, or thousandths of them, give or take one
    /// second, and some have.
    fn has_grown_with_time(&self, seconds: f64, before: &Self) -> bool {
        let pairs = || self.numbers.all.iter().zip(&before.numbers.all);
        let grown = || {
            pairs()
                .map(|(new, old)| new - old)
                .filter(|by| by.abs() > f64::EPSILON)
        };
        let is_clock =
            |unit: &f64| grown().all(|by| by > 0.0 && (by / unit - seconds).abs() <= 1.0);
        self.first_new(before).is_some() && UNITS.iter().any(is_clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{NUMBERS_MAX, Numbers};

    /// Given numbers of which each that has moved has grown with the time, they are a clock's; of one that has not, that falls, or
    /// that stands in another result, they are none.
    #[test]
    fn clocks_grow_with_time() {
        let trend = |frame: u32, numbers: [f64; 2]| {
            let mut all = [0.0; NUMBERS_MAX];
            all[..2].copy_from_slice(&numbers);
            let count = 2;
            Trend::of(&Numbers { frame, count, all }, None)
        };
        let before = trend(1, [7.0, 900.0]);
        let grows = |frame, numbers| trend(frame, numbers).has_grown_with_time(17.0, &before);
        assert!(grows(1, [7.0, 917.0]) && grows(1, [7.0, 916.2]));
        assert!(grows(1, [17_007.0, 900.0]));
        assert!(!grows(1, [8.0, 917.0]) && !grows(1, [7.0, 883.0]));
        assert!(!grows(1, [7.0, 920.0]) && !grows(1, [7.0, 900.0]));
        assert!(!grows(2, [7.0, 917.0]));
    }
}
