//! Arguments that say in the times of which zone an answer is wanted: they are no part of what is asked.

use std::borrow::Cow;

use crate::engine::event::HIDDEN;
use crate::engine::fold::amount::without_members;

use super::{Relation, relation};

/// Names of such arguments, in small letters, without `_`.
const ZONES: [&str; 2] = ["timezone", "tz"];

/// How two questions stand to each other of which both name a zone in whose times they are to be answered: as they do without
/// it. Others ask for something else each, and so may those that hide what they ask for.
pub(super) fn relation_but_for_zones(left: &str, right: &str) -> Relation {
    let Some(left) = without_zone(left) else {
        return Relation::Other;
    };
    match without_zone(right) {
        Some(right) if left == right && !left.contains(HIDDEN) => Relation::Reworded,
        Some(right) => relation(&left, &right),
        None => Relation::Other,
    }
}

/// Arguments without the name of a zone; `None` where they have none.
fn without_zone(sample: &str) -> Option<String> {
    match without_members(sample, |name, value| !value.is_empty() && is_zone(name)) {
        Cow::Owned(rest) => Some(rest),
        Cow::Borrowed(_) => None,
    }
}

/// Whether an argument of this name says which zone.
fn is_zone(name: &str) -> bool {
    let letters = name.bytes().filter(u8::is_ascii_alphabetic);
    let letters = letters.map(|letter| letter.to_ascii_lowercase());
    ZONES.iter().any(|zone| letters.clone().eq(zone.bytes()))
}

#[cfg(test)]
mod tests {
    use super::{HIDDEN, Relation, relation};

    #[track_caller]
    fn check(left: &str, right: &str, expected: Relation) {
        assert_eq!(relation(left, right), expected, "{left} {right}");
        assert_eq!(relation(right, left), expected, "{right} {left}");
    }

    /// Given the same question in the times of another zone, it is the same question; of another day or town it is not.
    #[test]
    fn questions_in_the_times_of_a_zone() {
        let asks = |of: &str, zone: &str| format!(r#"{{"calendar":"{of}","timeZone":"{zone}"}}"#);
        let [berlin, utc] = ["Europe/Berlin", "UTC"];
        check(&asks("ann", berlin), &asks("ann", utc), Relation::Reworded);
        check(&asks("ann", berlin), &asks("bob", utc), Relation::Other);
        check(
            r#"{"town":"Berlin","tz":"CET"}"#,
            r#"{"town":"Berlin","tz":"GMT"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"from":"2026-01-15T09:00:00Z","of":"ann","timeZone":"UTC"}"#,
            r#"{"from":"2026-01-15T10:00:00+01:00","of":"ann","timeZone":"CET"}"#,
            Relation::Numbered,
        );
        check(&asks(HIDDEN, berlin), &asks(HIDDEN, utc), Relation::Other);
        check(r#"{"zone":"CET"}"#, r#"{"zone":"GMT"}"#, Relation::Other);
    }
}
