//! Numbers in results: whether they move one way, which is progress, or go up and down, which is not.
//!
//! A result of which nothing but numbers is new says little by itself: rows left, per cent done, or the load of a machine. What
//! tells is how the numbers move from one call to the next of the same arguments. One that has turned back and has not gone
//! the same way for three calls since jitters; where all that moved jitter, the result brought nothing new. A number that
//! always grows is taken for progress, whatever it counts, but for the agent's own calls.

use serde::{Deserialize, Serialize};

use crate::engine::event::{NUMBERS_MAX, Numbers};
use crate::engine::hash::{mix, text_hash};
use crate::engine::window::calls::Call;

/// Calls for which a number must go the same way, after it has turned back, to be progress again: of random numbers one in
/// twelve does.
const SAME_WAY_MIN: u8 = 3;

/// The numbers in a result, and how they have moved over the calls with the same arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trend {
    /// The result's numbers.
    pub(crate) numbers: Numbers,
    /// For each number, how many times in a row it went up, or down (negative).
    pub(crate) runs: [i8; NUMBERS_MAX],
    /// For each number, whether it turned back; the lowest bit is the first number.
    pub(crate) turned: u8,
    /// What moved last are numbers that turned back.
    pub(crate) jitters: bool,
}

impl Trend {
    /// What the numbers of a result add to how they moved before.
    pub(crate) fn of(numbers: &Numbers, before: Option<&Self>) -> Self {
        let new = Self {
            numbers: *numbers,
            ..Self::default()
        };
        let is_same = |before: &&Self| {
            before.numbers.frame == numbers.frame && before.numbers.count == numbers.count
        };
        before
            .filter(is_same)
            .map_or(new, |before| new.after(before))
    }

    /// The numbers in a call's result or error, and how they have moved since the same call before; `None` where there are none.
    pub(super) fn in_result(call: &Call<'_>, before: Option<&Self>) -> Option<Box<Self>> {
        if let Some(failure) = call.error {
            let numbers = told_in(&failure.text).filter(|_| failure.is_whole())?;
            return Some(Box::new(Self::of(&numbers, before)));
        }
        let numbers = call.output.value()?.numbers.as_deref()?;
        Some(Box::new(Self::of(numbers, before)))
    }

    /// Whether some number is higher than it was, of which none has turned back.
    pub(crate) fn rises_from(&self, before: &Self) -> bool {
        let pairs = before.numbers.all.iter().zip(&self.numbers.all);
        self.turned == 0
            && self.numbers.frame == before.numbers.frame
            && pairs.clone().all(|(old, new)| new >= old)
            && pairs.clone().any(|(old, new)| new > old)
    }

    /// The first number that is another one than before; `None` where there is none, or something else is new, too.
    pub(super) fn first_new(&self, before: &Self) -> Option<f64> {
        let is_same = self.numbers.frame == before.numbers.frame
            && self.numbers.count == before.numbers.count;
        let mut pairs = self.numbers.all.iter().zip(&before.numbers.all);
        let new = pairs.find(|(new, old)| (*new - *old).abs() > 0.0);
        new.filter(|_| is_same).map(|(new, _)| *new)
    }

    /// Whether all numbers that are others than before have grown by just so many, and some have.
    pub(super) fn has_grown_by(&self, calls: f64, before: &Self) -> bool {
        let pairs = self.numbers.all.iter().zip(&before.numbers.all);
        let mut grown = pairs.map(|(new, old)| new - old);
        self.first_new(before).is_some()
            && grown.all(|by| by.abs() <= f64::EPSILON || (by - calls).abs() <= f64::EPSILON)
    }

    /// Whether one of the numbers is this one.
    pub(super) fn tells(&self, number: f64) -> bool {
        let mut all = self.numbers.all.iter().take(self.numbers.count.into());
        all.any(|told| (told - number).abs() <= f64::EPSILON)
    }

    /// Hash of the result without its numbers.
    pub(crate) fn frame(&self) -> u32 {
        self.numbers.frame
    }

    fn after(self, before: &Self) -> Self {
        let mut next = Self {
            runs: before.runs,
            turned: before.turned,
            ..self
        };
        let pairs = before.numbers.all.iter().zip(&self.numbers.all);
        let mut goes_on = false;
        for (place, (old, new)) in pairs.enumerate() {
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
            if next.runs[place].unsigned_abs() >= SAME_WAY_MIN {
                next.turned &= !bit;
            }
            goes_on |= next.turned & bit == 0;
        }
        next.jitters = next.turned != 0 && !goes_on;
        next
    }
}

/// The numbers in an error's text, without those that are parts of words; `None` where there are none or too many.
fn told_in(error: &str) -> Option<Numbers> {
    let is_digit = |sign: char| sign.is_ascii_digit();
    let mut numbers = Numbers::default();
    let (mut frame, mut rest) = (0, error);
    let mut before = ' ';
    while let Some(start) = rest.find(is_digit) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        let behind = rest[start..].trim_start_matches(|sign| is_digit(sign) || sign == '.');
        let number = rest[start..rest.len() - behind.len()].trim_end_matches('.');
        let is_word = before.is_alphanumeric() || behind.starts_with(char::is_alphanumeric);
        let value = number.parse().ok().filter(|_| !is_word);
        if let Some(value) = value {
            *numbers.all.get_mut(usize::from(numbers.count))? = value;
            numbers.count += 1;
            frame = mix(frame, text_hash(&rest[..start]));
        } else {
            frame = mix(frame, text_hash(&rest[..start + number.len()]));
        }
        before = '0';
        rest = &rest[start + number.len()..];
    }
    numbers.frame = mix(frame, text_hash(rest)) as u32;
    (numbers.count > 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each result, given by its numbers, whether it jitters.
    fn jitters(results: &[&str]) -> Vec<bool> {
        let mut before: Option<Trend> = None;
        let step = |numbers: &&str| {
            let mut all = [0.0; NUMBERS_MAX];
            let words = numbers.split(' ');
            let count = words.clone().count() as u8;
            for (place, word) in all.iter_mut().zip(words) {
                *place = word.parse().expect("a number");
            }
            let frame = 15;
            let trend = Trend::of(&Numbers { frame, count, all }, before.as_ref());
            before = Some(trend);
            trend.jitters
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

    /// Given a number that falls for long, it does not jitter.
    #[test]
    fn what_falls_for_long() {
        let numbers: Vec<String> = (0..300).rev().map(|left| left.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        assert!(!jitters(&numbers).contains(&true));
    }

    /// Given an error, its numbers are told from words with digits.
    #[test]
    fn numbers_of_errors() {
        let told = |error: &str| told_in(error).map(|told| told.all[..told.count.into()].to_vec());
        assert_eq!(told("no solution (residual 0.4310)"), Some(vec![0.431]));
        assert_eq!(told("2 out of 6 are up, e41 is not."), Some(vec![2.0, 6.0]));
        for error in [
            "",
            "refused",
            "port x80 is taken",
            "10.0.0.1",
            "1 2 3 4 5 6 7",
        ] {
            assert_eq!(told(error), None, "{error}");
        }
        let frame = |error: &str| told_in(error).map(|told| told.frame);
        assert_eq!(frame("residual 0.4, or so"), frame("residual 17, or so"));
        assert_ne!(frame("residual 0.4, or so"), frame("residue 0.4, or so"));
        assert_ne!(frame("a1 is not 4"), frame("a2 is not 4"));
    }

    /// Given one number that goes one way beside one that jitters, it is progress; where it stops, it is not.
    #[test]
    fn one_that_goes_on_is_enough() {
        assert_eq!(
            jitters(&["5 1", "7 2", "6 3", "8 4", "7 4"]),
            [false, false, false, false, true]
        );
    }
}
