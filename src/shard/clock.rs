//! The only clock on a report's way, and what it does to the times that reports claim.
//!
//! A report's arrival is read here once and travels on as data. The times inside it come from other machines and order
//! the run's events, so they are left as they are wherever they can be true: a recording from last year may be replayed.
//! What cannot be true is put right by [`settle`] and counted, before the journal sees it, so that a replay after a crash
//! gives the same. The age of runs, by which they are forgotten, follows a clock that leaps ahead only once that has lasted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::engine::event::Event;

/// How far ahead of the arrival a time may lie. Clocks of machines that keep time at all differ by less, and a time
/// years ahead would be the run's newest event for ever.
const AHEAD_MAX: Duration = Duration::from_secs(10 * 60);

/// How far a clock may be ahead at all. A time that is further ahead is none that a clock showed.
const CLOCK_AHEAD_MAX: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

/// How far the system's clock has to go ahead between two looks to have leapt, and how long that has to last before it counts for
/// the age of runs. Who forgets by a clock that was wrong for a moment has lost everything; an hour more of keeping costs little.
const LEAP: Duration = AHEAD_MAX;
const LEAP_LASTS: Duration = Duration::from_secs(60 * 60);

/// Longest duration that is believed of an event whose times have to be moved.
const MOVED_DURATION_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the time comes from.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The system's clock, but for its way back.
    System(Arc<Forward>),
    /// Tokio's clock, which a test can stop, beginning at a given time in milliseconds since 1970.
    #[cfg(test)]
    Paused {
        /// What it showed in the beginning.
        began_ms: u64,
        /// When that was.
        began: tokio::time::Instant,
    },
}

impl Clock {
    /// The clock of this machine, which is believed as it is now.
    pub(crate) fn system() -> Self {
        let forward = Forward::default();
        // A leap is known from the first moment on, and not only from the first run on of which the age is asked.
        let _ = forward.age_ns();
        Self::System(Arc::new(forward))
    }

    /// Nanoseconds since 1970.
    pub(super) fn now_ns(&self) -> u64 {
        match self {
            Self::System(forward) => forward.now_ns(),
            #[cfg(test)]
            Self::Paused { .. } => self.now_ms() * 1_000_000,
        }
    }

    /// Milliseconds since 1970, to tell the age of runs by ([`LEAP_LASTS`]): whoever does so looks every second.
    pub(super) fn age_ms(&self) -> u64 {
        match self {
            Self::System(forward) => forward.age_ns() / 1_000_000,
            #[cfg(test)]
            Self::Paused { .. } => self.now_ms(),
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        match self {
            Self::System(forward) => forward.now_ns() / 1_000_000,
            #[cfg(test)]
            Self::Paused { began_ms, began } => began_ms + began.elapsed().as_millis() as u64,
        }
    }
}

/// A clock that follows the system's ahead, as after the sleep of a laptop, and does not follow it back. Set back by a day, it
/// would put whatever comes before everything that came, where a run no longer looks. It goes at half the pace then, until
/// the system's clock has caught up: many small steps back must not add up to a clock that is hours ahead.
#[derive(Debug, Default)]
pub(crate) struct Forward {
    /// What it showed last, in nanoseconds since 1970, and when that was.
    shown: Mutex<Option<(u64, Instant)>>,
    /// For the age of runs.
    lasting: Mutex<Lasting>,
}

/// The system's clock, but for a leap ahead that has not lasted yet.
#[derive(Debug, Default)]
struct Lasting {
    /// What it showed last, in nanoseconds since 1970, and when that was.
    shown: Option<(u64, Instant)>,
    /// Since when the system's has been ahead.
    leapt: Option<Instant>,
}

impl Lasting {
    fn at(&mut self, system_ns: u64, now: Instant) -> u64 {
        let gone_on = self.shown.map_or(system_ns, |(ns, at)| {
            let passed = now.saturating_duration_since(at).as_nanos() as u64;
            ns.saturating_add(passed)
        });
        let is_ahead = system_ns.saturating_sub(gone_on) > nanos(LEAP);
        self.leapt = is_ahead.then(|| self.leapt.unwrap_or(now));
        let is_early = |since: Instant| now.saturating_duration_since(since) < LEAP_LASTS;
        let ns = if self.leapt.is_some_and(is_early) {
            gone_on
        } else {
            system_ns
        };
        self.shown = Some((ns, now));
        ns
    }
}

fn system_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

impl Forward {
    fn now_ns(&self) -> u64 {
        self.at(system_ns(), Instant::now())
    }

    fn age_ns(&self) -> u64 {
        let lasting = self.lasting.lock();
        let mut lasting = lasting.unwrap_or_else(PoisonError::into_inner);
        lasting.at(system_ns(), Instant::now())
    }

    fn at(&self, system_ns: u64, now: Instant) -> u64 {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let gone_on = shown.map_or(0, |(ns, at)| {
            let passed = now.saturating_duration_since(at).as_nanos() as u64;
            ns.saturating_add(passed / 2)
        });
        let ns = system_ns.max(gone_on);
        *shown = Some((ns, now));
        ns
    }
}

/// By how much the clock of a sender is ahead, by the first of the events that arrived together and lie too far ahead; 0
/// where none does. Moved by this, they keep the time between them, and as a multiple of [`AHEAD_MAX`] it is the same for what
/// the same sender sends next, in nearly all cases. Of times that no clock showed, the last one is the arrival.
pub(super) fn ahead_ns<'e>(
    events: impl Iterator<Item = &'e Event> + Clone,
    arrival_ms: u64,
) -> u64 {
    let now_ns = arrival_ms.saturating_mul(1_000_000);
    let starts = events.clone().map(|event| match event.start_ns {
        0 => event.end_ns,
        start_ns => start_ns,
    });
    let ahead = starts.filter(|start_ns| *start_ns > latest_ns(now_ns));
    let Some(first_ns) = ahead.min() else {
        return 0;
    };
    let first_ahead_ns = first_ns - now_ns;
    if first_ahead_ns > nanos(CLOCK_AHEAD_MAX) {
        let is_near = |at_ns: &u64| at_ns.saturating_sub(first_ns) <= nanos(AHEAD_MAX);
        let times = events.flat_map(|event| [event.start_ns, event.end_ns]);
        let last_ns = times.filter(is_near).max().unwrap_or(first_ns);
        return last_ns.max(first_ns) - now_ns;
    }
    let step_ns = nanos(AHEAD_MAX);
    first_ahead_ns.saturating_add(step_ns / 2) / step_ns * step_ns
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// The latest time that is believed.
fn latest_ns(now_ns: u64) -> u64 {
    now_ns.saturating_add(nanos(AHEAD_MAX))
}

/// Puts an event's times right: a missing time is the other one; where the start lies too far ahead, the event is moved by
/// what its sender's clock is ahead ([`ahead_ns`]), and where that is not enough or both times are missing, it began on its
/// arrival; it never ends before it begins. `place` keeps those that arrived together in the order in which they came. An
/// end that cannot be true says nothing about how long the event took, so it took no time: nothing is called slow because of
/// a clock. Returns whether anything had to be changed.
pub(super) fn settle(event: &mut Event, arrival_ms: u64, place: u64, ahead_ns: u64) -> bool {
    let now_ns = arrival_ms.saturating_mul(1_000_000);
    let latest_ns = latest_ns(now_ns);
    let claimed = (event.start_ns, event.end_ns);
    if event.start_ns == 0 {
        event.start_ns = event.end_ns;
    }
    if event.start_ns == 0 || event.start_ns > latest_ns {
        let longest = nanos(MOVED_DURATION_MAX);
        let claimed_duration = event.end_ns.saturating_sub(event.start_ns);
        let duration = if claimed_duration <= longest {
            claimed_duration
        } else {
            0
        };
        let moved_ns = event.start_ns.saturating_sub(ahead_ns);
        let earliest_ns = now_ns.saturating_sub(nanos(AHEAD_MAX));
        let is_moved = (earliest_ns..=latest_ns).contains(&moved_ns);
        let start_ns = if is_moved { moved_ns } else { now_ns };
        event.start_ns = start_ns.saturating_add(place);
        event.end_ns = event.start_ns.saturating_add(duration);
    } else if event.end_ns > latest_ns {
        event.end_ns = event.start_ns;
    }
    event.end_ns = event.end_ns.max(event.start_ns);
    claimed != (event.start_ns, event.end_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Body, SpanId, TraceId};

    const NOW_MS: u64 = 1_700_000_000_000;
    const NOW: u64 = NOW_MS * 1_000_000;
    const HOUR: u64 = 3_600_000_000_000;

    /// An event that claims to begin and end then.
    fn event(start_ns: u64) -> Event {
        Event {
            id: 1,
            trace: TraceId::default(),
            span: SpanId::default(),
            parent: SpanId::default(),
            start_ns,
            end_ns: start_ns,
            agent: None,
            worker: None,
            body: Body::UserMessage,
        }
    }

    /// An event that claims these times, arriving at `NOW` in the given place, and the times that it then has.
    fn check(claimed: (u64, u64), place: u64, expected: (u64, u64)) {
        let mut event = Event {
            end_ns: claimed.1,
            ..event(claimed.0)
        };
        let ahead_ns = ahead_ns([&event].into_iter(), NOW_MS);
        let changed = settle(&mut event, NOW_MS, place, ahead_ns);
        assert_eq!((event.start_ns, event.end_ns), expected, "{claimed:?}");
        assert_eq!(changed, claimed != expected);
    }

    /// Given a system's clock that is set ahead, it is followed; set back, time goes on at half the pace until it has caught
    /// up.
    #[test]
    fn time_never_goes_back() {
        let (clock, began) = (Forward::default(), Instant::now());
        let second = Duration::from_secs(1).as_nanos() as u64;
        let shown = |system: u64, passed: u64| {
            let ns = clock.at(NOW + system * second, began + Duration::from_secs(passed));
            (ns - NOW) / second
        };
        assert_eq!(shown(0, 0), 0);
        assert_eq!(shown(5_000, 1), 5_000);
        assert_eq!(shown(1_000, 1), 5_000);
        assert_eq!(shown(1_100, 101), 5_050);
        assert_eq!(shown(5_060, 111), 5_060);
        assert_eq!(shown(5_061, 112), 5_061);
    }

    /// Given a clock that leaps ahead by eight days for a moment, age goes on as before; given one that stays there, age follows
    /// after an hour; back, it follows at once.
    #[test]
    fn age_follows_a_leap_that_lasts() {
        let (began, mut lasting) = (Instant::now(), Lasting::default());
        let second = 1_000_000_000;
        let mut age = |system: u64, passed: u64| {
            let ns = lasting.at(NOW + system * second, began + Duration::from_secs(passed));
            (ns - NOW) / second
        };
        let days = 8 * 24 * 3_600;
        assert_eq!(age(0, 0), 0);
        assert_eq!(age(60, 60), 60);
        assert_eq!(age(days, 70), 70);
        assert_eq!(age(days + 50, 120), 120);
        assert_eq!(age(130, 130), 130);
        for passed in (140..3_700).step_by(10) {
            assert_eq!(age(days + passed, passed), passed);
        }
        assert_eq!(age(days + 3_750, 3_750), days + 3_750);
        assert_eq!(age(3_760, 3_760), 3_760);
    }

    #[test]
    fn times_that_can_be_true_stay() {
        check((NOW, NOW), 0, (NOW, NOW));
        check((NOW - HOUR, NOW), 0, (NOW - HOUR, NOW));
        check((NOW + HOUR / 10, NOW + HOUR / 10), 0, {
            (NOW + HOUR / 10, NOW + HOUR / 10)
        });
        check((1, 2), 0, (1, 2));
    }

    #[test]
    fn missing_times_are_filled() {
        check((0, 0), 3, (NOW + 3, NOW + 3));
        check((0, NOW - 5), 3, (NOW - 5, NOW - 5));
        check((NOW - 5, 0), 3, (NOW - 5, NOW - 5));
    }

    #[test]
    fn an_end_before_the_start_is_the_start() {
        check((NOW, NOW - 1), 0, (NOW, NOW));
    }

    /// Two events of a machine whose clock is a day ahead keep their order and their durations.
    #[test]
    fn times_too_far_ahead_become_the_arrival() {
        let ahead = NOW + 24 * HOUR;
        check((ahead, ahead + 7), 0, (NOW, NOW + 7));
        check((ahead + 9, ahead + 10), 1, (NOW + 10, NOW + 11));
        check((NOW - 1, ahead), 0, (NOW - 1, NOW - 1));
        check((0, ahead), 0, (NOW, NOW));
    }

    /// Given a clock that is an hour ahead, what its machine sends bit by bit keeps the time between it, also what happened before
    /// it was sent; and a time without end is that of the arrival.
    #[test]
    fn what_one_machine_sends_keeps_its_distances() {
        let ahead = NOW + HOUR;
        for second in 0..8 {
            let second = second * HOUR / 3_600;
            let expected = (NOW + second, NOW + second + 7);
            check((ahead + second, ahead + second + 7), 0, expected);
            let expected = (NOW - second, NOW - second + 7);
            check((ahead - second, ahead - second + 7), 0, expected);
        }
        check((u64::MAX - 1, u64::MAX - 1), 0, (NOW, NOW));
    }

    /// Given times decades ahead, which no clock shows, they are those of the arrival; several that arrive together end with it and
    /// keep the time between them.
    #[test]
    fn times_that_no_clock_shows_become_the_arrival() {
        const YEAR: u64 = 365 * 24 * HOUR;
        for years in [3, 74, 174, 500] {
            let claimed = NOW + years * YEAR + 123_456_789_012;
            check((claimed, claimed + 7), 0, (NOW - 7, NOW));
            check((claimed, claimed - 7), 0, (NOW, NOW));
            check((0, claimed), 0, (NOW, NOW));
            let mut events = [claimed, claimed - 9_000, u64::MAX, NOW - 7].map(event);
            let ahead_ns = ahead_ns(events.iter(), NOW_MS);
            for (event, place) in events.iter_mut().zip(0..) {
                settle(event, NOW_MS, place, ahead_ns);
            }
            let starts = events.map(|event| event.start_ns);
            assert_eq!(starts, [NOW, NOW - 8_999, NOW + 2, NOW - 7], "{years}");
        }
        for extreme in [u64::MAX, u64::MAX / 2] {
            check((extreme, extreme), 0, (NOW, NOW));
            check((extreme, 0), 0, (NOW, NOW));
            check((NOW - 5, extreme), 0, (NOW - 5, NOW - 5));
        }
    }

    #[test]
    fn a_moved_event_lasts_a_day_or_no_time() {
        check((NOW + HOUR, NOW + 3 * HOUR), 0, (NOW, NOW + 2 * HOUR));
        check((NOW + HOUR, u64::MAX), 0, (NOW, NOW));
    }

    /// Given events of a clock that is a day ahead and one that claims a time without end, the former keep the time between them.
    #[test]
    fn what_arrives_together_keeps_its_distances() {
        let ahead = NOW + 24 * HOUR;
        let mut events = [ahead + 5_000, ahead, NOW - 7, u64::MAX, ahead + 9_000].map(event);
        let ahead_ns = ahead_ns(events.iter(), NOW_MS);
        for (event, place) in events.iter_mut().zip(0..) {
            settle(event, NOW_MS, place, ahead_ns);
        }
        let starts = events.map(|event| event.start_ns);
        assert_eq!(
            starts,
            [NOW + 5_000, NOW + 1, NOW - 7, NOW + 3, NOW + 9_004]
        );
    }
}
