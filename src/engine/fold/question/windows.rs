//! Two times from which and until which something is asked for: who looks through one window behind the other asks for another
//! thing each time, and so does who asks from time to time for what is new since the last time.

use std::iter::zip;
use std::ops::RangeInclusive;

use crate::engine::fold::sample::{Member, members};

use super::{Relation, day};

/// How many digits a time has that is a number, from seconds since 1970 to nanoseconds.
const DIGITS: RangeInclusive<usize> = 10..=19;

/// How two questions stand to each other that differ in numbers alone.
pub(super) fn relation_of_numbers(left: &str, right: &str) -> Relation {
    if are_apart(left, right) {
        Relation::Other
    } else {
        Relation::Numbered
    }
}

/// Whether two questions differ in two times alone, and what lies between those of the one lies as a whole before or behind what
/// lies between those of the other. One that is wider, or begins a little earlier, asks for the same once more.
fn are_apart(left: &str, right: &str) -> bool {
    let mut others =
        zip(members(left), members(right)).filter(|(one, other)| one.value != other.value);
    let (Some(first), Some(second), None) = (others.next(), others.next(), others.next()) else {
        return false;
    };
    let rest = |sample: &str, first: &Member<'_>, second: &Member<'_>| {
        let between = sample.get(first.place.end..second.place.start)?;
        Some(format!(
            "{}\n{between}\n{}",
            &sample[..first.place.start],
            &sample[second.place.end..]
        ))
    };
    let (one, other) = (
        [first.0.value, second.0.value],
        [first.1.value, second.1.value],
    );
    lie_apart(one, other) && rest(left, &first.0, &second.0) == rest(right, &first.1, &second.1)
}

/// Whether two questions differ in one time alone, and that of the second one is later: what is new since then is asked for.
pub(in crate::engine::fold) fn asks_since_later(left: &str, right: &str) -> bool {
    let mut others =
        zip(members(left), members(right)).filter(|(one, other)| one.value != other.value);
    let (Some((one, other)), None) = (others.next(), others.next()) else {
        return false;
    };
    let is_later = one.value < other.value && one.value.len() == other.value.len();
    is_later
        && is_time(one.value)
        && is_time(other.value)
        && left[..one.place.start] == right[..other.place.start]
        && left[one.place.end..] == right[other.place.end..]
}

/// Whether two windows have no time in common, each told by its ends in the same order and in one form.
fn lie_apart(mut one: [&str; 2], mut other: [&str; 2]) -> bool {
    let is_in_form = |time: &&str| is_time(time) && time.len() == one[0].len();
    let runs_on = |[from, to]: [&str; 2]| from < to;
    if !one.iter().chain(&other).all(is_in_form) || runs_on(one) != runs_on(other) {
        return false;
    }
    one.sort_unstable();
    other.sort_unstable();
    runs_on(one) && runs_on(other) && (one[1] <= other[0] || other[1] <= one[0])
}

fn is_time(text: &str) -> bool {
    let is_number = || text.bytes().all(|digit| digit.is_ascii_digit());
    day(text).is_some_and(|day| text.starts_with(day))
        || (DIGITS.contains(&text.len()) && is_number())
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, relation};
    use super::asks_since_later;

    #[track_caller]
    fn check(left: [&str; 2], right: [&str; 2], expected: Relation) {
        let asks = |[from, to]: [&str; 2]| {
            let mark = if from.contains('-') { "\"" } else { "" };
            format!(r#"{{"end":{mark}{to}{mark},"query":"deadlock","start":{mark}{from}{mark}}}"#)
        };
        let (left, right) = (asks(left), asks(right));
        assert_eq!(relation(&left, &right), expected, "{left} {right}");
        assert_eq!(relation(&right, &left), expected, "{right} {left}");
    }

    /// Given windows of one day, of which one begins where the other ends or later, each is another thing; where they overlap, as
    /// those do that are made wider, the same is asked once more.
    #[test]
    fn windows_that_lie_apart() {
        let [six, nine, noon, three] = [
            "2027-03-04T06:00:00Z",
            "2027-03-04T09:00:00Z",
            "2027-03-04T12:00:00Z",
            "2027-03-04T15:00:00Z",
        ];
        check([six, nine], [nine, noon], Relation::Other);
        check([six, nine], [noon, three], Relation::Other);
        check([six, noon], [nine, three], Relation::Numbered);
        check([nine, noon], [six, three], Relation::Numbered);
        check([six, six], [nine, nine], Relation::Numbered);
        check(
            ["1767225600", "1767229199"],
            ["1767229200", "1767232799"],
            Relation::Other,
        );
        check(
            ["1767225600", "1767232800"],
            ["1767229200", "1767232800"],
            Relation::Numbered,
        );
        check(["0", "20"], ["20", "40"], Relation::Numbered);
    }
    /// Given a question whose only time is later than the last time, it asks for what is new; an earlier one, another time beside
    /// it, and a number that is none do not.
    #[test]
    fn what_is_asked_since_the_last_time() {
        let [six, nine] = ["2027-03-04T06:00:00Z", "2027-03-04T09:00:00Z"];
        let asks =
            |chat: &str, since: &str| format!(r#"{{"chat":"{chat}","since":"{since}","top":9}}"#);
        assert!(asks_since_later(&asks("é", six), &asks("é", nine)));
        assert!(!asks_since_later(&asks("é", nine), &asks("é", six)));
        assert!(!asks_since_later(&asks("é", six), &asks("é", six)));
        assert!(!asks_since_later(&asks("é", six), &asks("a", nine)));
        assert!(!asks_since_later(r#"{"page":1}"#, r#"{"page":2}"#));
    }
}
