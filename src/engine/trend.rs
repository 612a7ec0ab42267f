//! Numbers in results: whether they move one way, which is progress, or go up and down, which is not.
//!
//! A result of which nothing but numbers is new says little by itself: rows left, per cent done, or the load of a machine. What
//! tells is how the numbers move from one call to the next of the same arguments. One that has turned back and has not gone
//! the same way for three calls since jitters; where all that moved jitter, the result brought nothing new. A number that
//! always grows is taken for progress, whatever it counts.

use super::event::{NUMBERS_MARK, NUMBERS_MAX, Text, Value};

/// Calls for which a number must go the same way, after it has turned back, to be progress again: of random numbers one in
/// twelve does.
const SAME_WAY_MIN: i8 = 3;

/// The numbers in a result, and how they have moved over the calls with the same arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trend {
    /// The result's sample: a hash of the result without its numbers, and these.
    pub(crate) numbers: Text,
    /// For each number, how many times in a row it went up, or down (negative).
    pub(crate) runs: [i8; NUMBERS_MAX],
    /// For each number, whether it turned back; the lowest bit is the first number.
    pub(crate) turned: u8,
    /// What moved last are numbers that turned back.
    pub(crate) jitters: bool,
}

impl Trend {
    /// What the numbers of a result add to how they moved before; `None` where it has none, or too many.
    pub(crate) fn of(value: &Value, before: Option<&Self>) -> Option<Self> {
        let (frame, _) = read(&value.sample)?;
        let new = Self {
            numbers: value.sample.clone(),
            ..Self::default()
        };
        let same = before.filter(|before| before.frame() == Some(frame));
        Some(same.and_then(|before| new.after(before)).unwrap_or(new))
    }

    /// Hash of the result without its numbers.
    pub(crate) fn frame(&self) -> Option<u32> {
        read(&self.numbers).map(|(frame, _)| frame)
    }

    fn after(&self, before: &Self) -> Option<Self> {
        let ((_, old), (_, new)) = (read(&before.numbers)?, read(&self.numbers)?);
        let mut next = Self {
            runs: before.runs,
            turned: before.turned,
            ..self.clone()
        };
        let mut goes_on = false;
        for (place, (old, new)) in old.zip(new).enumerate() {
            let way = i8::from(new > old) - i8::from(new < old);
            if way == 0 {
                continue;
            }
            let (run, bit) = (next.runs[place], 1 << place);
            if run != 0 && run.signum() != way {
                next.turned |= bit;
                next.runs[place] = way;
            } else {
                next.runs[place] = run.saturating_add(way);
            }
            if next.runs[place].abs() >= SAME_WAY_MIN {
                next.turned &= !bit;
            }
            goes_on |= next.turned & bit == 0;
        }
        next.jitters = next.turned != 0 && !goes_on;
        Some(next)
    }
}

/// The hash and the numbers of a result's sample; `None` where it has none, or is that of a text.
fn read(sample: &str) -> Option<(u32, impl Iterator<Item = f64>)> {
    let (frame, numbers) = sample.strip_prefix(NUMBERS_MARK)?.split_once(' ')?;
    let frame = u32::from_str_radix(frame, 16).ok()?;
    let mut all = [0.0; NUMBERS_MAX];
    let mut count = 0;
    for word in numbers.split(' ') {
        *all.get_mut(count)? = word.parse().ok()?;
        count += 1;
    }
    Some((frame, all.into_iter().take(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each result, given by its numbers, whether it jitters.
    fn jitters(results: &[&str]) -> Vec<bool> {
        let mut before: Option<Trend> = None;
        let step = |numbers: &&str| {
            let value = Value {
                fingerprint: 7,
                masked: 8,
                bytes: 20,
                empty: false,
                sample: format!("{NUMBERS_MARK}0000000f {numbers}").into(),
            };
            let trend = Trend::of(&value, before.as_ref());
            let jitters = trend.as_ref().is_some_and(|trend| trend.jitters);
            before = trend;
            jitters
        };
        results.iter().map(step).collect()
    }

    /// Given numbers that go one way, or stand still, they do not jitter; once they have turned, they do, until they go one way
    /// for long enough.
    #[test]
    fn what_turns_back_jitters() {
        assert_eq!(jitters(&["1", "2", "2", "9"]), [false; 4]);
        assert_eq!(jitters(&["9", "7.5", "-3"]), [false; 3]);
        assert_eq!(
            jitters(&["5", "7", "6", "8", "7"]),
            [false, false, true, true, true]
        );
        assert_eq!(
            jitters(&["5", "7", "1", "2", "3", "4"]),
            [false, false, true, true, true, false]
        );
    }

    /// Given one number that goes one way beside one that jitters, it is progress; where it stops, it is not.
    #[test]
    fn one_that_goes_on_is_enough() {
        assert_eq!(
            jitters(&["5 1", "7 2", "6 3", "8 4", "7 4"]),
            [false, false, false, false, true]
        );
    }

    /// Given a text that is not all numbers, or too many of them, nothing is said.
    #[test]
    fn other_texts_have_no_trend() {
        for sample in ["", "12 1", "\u{1}12", "\u{1}12 a", "\u{1}12 1 2 3 4 5 6 7"] {
            assert!(read(sample).is_none(), "{sample}");
        }
        assert!(read("\u{1}12 1").is_some());
    }
}
