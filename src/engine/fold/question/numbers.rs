//! Two questions that differ in a number: whether it is the next page or item of a list, a guess, or the id of another thing.

use crate::engine::file_name::is_file;
use crate::engine::fold::amount::names_page;
use crate::engine::fold::question::{Relation, relation};
use crate::engine::fold::sample::pieces;
use crate::engine::ids::names_id;
use crate::engine::similarity::{common_ends, digits_at_end, digits_at_start};

/// Whether two questions differ first in a number that says where in a list to go on: behind its end there is nothing more. Not in
/// the page of a file.
pub(crate) fn turns_pages(left: &str, right: &str) -> bool {
    let (prefix, _) = common_ends(left.as_bytes(), right.as_bytes());
    let name = left.get(..prefix).and_then(|before| {
        let before = before.trim_end_matches(|letter: char| letter.is_ascii_digit());
        before.strip_suffix("\":")?.rsplit('"').next()
    });
    relation(left, right) == Relation::Numbered
        && name.is_some_and(names_page)
        && !names_file(right)
}

/// Whether a value of arguments is the name of a file on a disk, alone or at the end of a path.
pub(crate) fn names_file(sample: &str) -> bool {
    pieces(sample).any(|value| is_file(value) && !value.contains("://"))
}

/// Whether two questions differ first in a number that is an id: the name of its argument says so, or both are as long as ids are,
/// and one is not the next, nor both round, as the sizes and places are that are tried, nor a time in seconds or thousandths.
pub(crate) fn differ_in_id(left: &str, right: &str) -> bool {
    let (prefix, _) = common_ends(left.as_bytes(), right.as_bytes());
    let number = |text: &'_ str| -> Option<(usize, usize)> {
        let (before, behind) = text.split_at_checked(prefix)?;
        let start = prefix - digits_at_end(before).len();
        Some((start, prefix + digits_at_start(behind).len()))
    };
    let (Some((start, end)), Some((_, other_end))) = (number(left), number(right)) else {
        return false;
    };
    let numbers = [&left[start..end], &right[start..other_end]];
    let name = left[..start].trim_end_matches('"').strip_suffix(':');
    let name = name.and_then(|before| before.strip_suffix('"')?.rsplit('"').next());
    let is_next = match numbers.map(str::parse::<u64>) {
        [Ok(left), Ok(right)] => left.abs_diff(right) <= 1,
        _ => false,
    };
    if is_next || name.is_some_and(names_page) {
        return false;
    }
    let is_round = |number: &str| number.ends_with('0');
    let may_be_time = |number: &str| matches!(number.len(), 10 | 13) && number.starts_with('1');
    let are_long = numbers.iter().all(|number| number.len() >= ID_DIGITS_MIN)
        && !numbers.iter().all(|number| is_round(number))
        && !numbers.iter().any(|number| may_be_time(number));
    are_long
        || name
            .is_some_and(|name| names_id(name) || NUMBER_ENDS.iter().any(|end| name.ends_with(end)))
}

/// Fewest digits of a number that is an id whatever its name is: those of towns have up to six, and may be tried.
const ID_DIGITS_MIN: usize = 7;

/// How else the names of arguments end of which the number is an id.
const NUMBER_ENDS: [&str; 4] = ["ID", "_no", "number", "Number"];

/// Whether two questions differ in one number alone, and that of the second one is the next: as who goes through a list counts up.
pub(crate) fn counts_up(left: &str, right: &str) -> bool {
    let (prefix, suffix) = common_ends(left.as_bytes(), right.as_bytes());
    let number = |text: &str| {
        let (before, after) = text.split_at_checked(prefix)?;
        let (_, behind) = after.split_at_checked(after.len().checked_sub(suffix)?)?;
        let start = prefix - digits_at_end(before).len();
        let end = text.len() - suffix + digits_at_start(behind).len();
        text[start..end].parse::<u32>().ok()
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.checked_add(1) == Some(right),
        _ => false,
    }
}

/// How far apart the numbers of two questions are that say the same but for these: the shortest way, of several. `None` where
/// they say something else, too, or the same.
pub(crate) fn distance(left: &str, right: &str) -> Option<f64> {
    let is_of_number = |sign: &u8| sign.is_ascii_digit() || *sign == b'.';
    let are_one = |left: &u8, right: &u8| is_of_number(left) == is_of_number(right);
    let mut lefts = left.as_bytes().chunk_by(are_one);
    let mut rights = right.as_bytes().chunk_by(are_one);
    let mut shortest = None::<f64>;
    loop {
        let (left, right) = match (lefts.next(), rights.next()) {
            (Some(left), Some(right)) if left == right => continue,
            (Some(left), Some(right)) => (left, right),
            (None, None) => return shortest,
            _ => return None,
        };
        let number = |part: &[u8]| str::from_utf8(part).ok()?.parse::<f64>().ok();
        let apart = (number(left)? - number(right)?).abs();
        shortest = Some(shortest.map_or(apart, |other| other.min(apart)));
    }
}

#[cfg(test)]
mod tests {
    use super::{counts_up, differ_in_id, names_file, turns_pages};

    /// Given questions that differ in one number, they count up where the second number is the next; other signs count for nothing.
    #[test]
    fn lists_count_up() {
        let check = |left: &str, right: &str, expected: bool| {
            assert_eq!(counts_up(left, right), expected, "{left}, {right}");
        };
        check("seed 1", "seed 2", true);
        check("run 9 of 12", "run 10 of 12", true);
        check("{\"page\":199}", "{\"page\":200}", true);
        check("seed 2", "seed 1", false);
        check("seed 2", "seed 4", false);
        check("seed 2", "seed 2", false);
        check("seed 1 a", "seed 2 b", false);
        check("é1", "è2", false);
        check("", "1", false);
    }

    /// Given questions that differ in a number, it is a page where the name of the argument says so, in whatever spelling.
    #[test]
    fn pages_are_turned() {
        let check = |left: &str, right: &str, expected: bool| {
            assert_eq!(turns_pages(left, right), expected, "{left}, {right}");
        };
        for name in ["page", "nextPage", "Offset", "start_index", "marker"] {
            let asks = |number: u32| format!(r#"{{"q":"lamps","{name}":{number}}}"#);
            check(&asks(3), &asks(4), true);
        }
        check(
            r#"{"q":"lamps","seed":3}"#,
            r#"{"q":"lamps","seed":4}"#,
            false,
        );
        let file = [r#"{"doc":"a.pdf","page":3}"#, r#"{"doc":"a.pdf","page":4}"#];
        check(file[0], file[1], false);
    }

    /// Given two numbers, they are ids where the name says so or they are long, unless one is the next, both are round, or they may
    /// be times or pages.
    #[test]
    fn numbers_that_are_ids() {
        let check = |left: &str, right: &str, expected: bool| {
            assert_eq!(differ_in_id(left, right), expected, "{left}, {right}");
            assert_eq!(differ_in_id(right, left), expected, "{right}, {left}");
        };
        check(r#"{"customer_id":48211}"#, r#"{"customer_id":50377}"#, true);
        check(r#"{"id":48211}"#, r#"{"id":50377}"#, true);
        check(r#"{"orderId":"17"}"#, r#"{"orderId":"29"}"#, true);
        check(r#"{"a":"482110093311"}"#, r#"{"a":"503772209918"}"#, true);
        check(
            r#"{"customer_id":48211}"#,
            r#"{"customer_id":48212}"#,
            false,
        );
        check(r#"{"zip":"28409"}"#, r#"{"zip":"16533"}"#, false);
        check(r#"{"page_number":4}"#, r#"{"page_number":9}"#, false);
        check(r#"{"from":1763780255}"#, r#"{"from":1763783855}"#, false);
        check(r#"{"rows":1000000}"#, r#"{"rows":5000000}"#, false);
        check(r#"{"a":"x"}"#, r#"{"a":"y"}"#, false);
        check("", "1", false);
        check("é1", "è2", false);
    }

    /// Given arguments, a file is known by the kind in its name.
    #[test]
    fn files_are_known_by_their_kinds() {
        assert!(names_file(r#"{"doc":"annual_report.pdf","page":4}"#));
        assert!(names_file(r#"{"path":"/srv/a/b.xlsx"}"#));
        assert!(!names_file(r#"{"q":"lamps","page":4}"#));
        assert!(!names_file(r#"{"q":"all. of it"}"#));
        assert!(!names_file(r#"{"url":"https://a.example/x.pdf"}"#));
        assert!(!names_file(r#"{"version":"1.2"}"#));
    }
}
