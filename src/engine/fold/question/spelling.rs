//! Whether two values are one number in other spellings, as the number of a file or a case has many: `2026/B-0417`, `B-417/2026`,
//! `2026 b 417`.

/// Longest value that is the number of something.
const BYTES_MAX: usize = 40;

/// Fewest digits of it, without zeros at the beginning of a part, and most parts and words.
const DIGITS_MIN: usize = 5;
const PARTS_MAX: usize = 4;

/// Fewest digits of a part that stands elsewhere, beside a year: with fewer, a day and a month may have changed places.
const MOVED_DIGITS_MIN: usize = 3;

/// Whether both hold the same numbers, and no word of one contradicts those of the other. Numbers in another order are the same
/// where one of them is a year.
pub(super) fn is_spelled_otherwise(left: &str, right: &str) -> bool {
    // Most values that differ have other digits.
    let sum = |value: &str| {
        let digits = value.bytes().filter(u8::is_ascii_digit);
        digits.map(|digit| u32::from(digit - b'0')).sum::<u32>()
    };
    if left.len().max(right.len()) > BYTES_MAX || sum(left) != sum(right) || sum(left) == 0 {
        return false;
    }
    let (Some(lefts), Some(rights)) = (Parts::of(left), Parts::of(right)) else {
        return false;
    };
    lefts.has_numbers_of(&rights) && (lefts.has_words_of(&rights) || rights.has_words_of(&lefts))
}

/// The numbers and the words of a value.
struct Parts<'v> {
    numbers: Vec<&'v str>,
    words: Vec<&'v str>,
}

impl<'v> Parts<'v> {
    fn of(value: &'v str) -> Option<Self> {
        let (mut numbers, mut words) = (Vec::new(), Vec::new());
        let kind = |byte: &u8| {
            (
                byte.is_ascii_digit(),
                byte.is_ascii_alphanumeric() || !byte.is_ascii(),
            )
        };
        let mut at = 0;
        for part in value
            .as_bytes()
            .chunk_by(|one, next| kind(one) == kind(next))
        {
            let text = &value[at..at + part.len()];
            at += part.len();
            match kind(&part[0]) {
                (true, _) => numbers.push(text.trim_start_matches('0')),
                (false, true) => words.push(text),
                _ => (),
            }
        }
        let is_short = numbers.len() <= PARTS_MAX && words.len() <= PARTS_MAX;
        let digits: usize = numbers.iter().map(|number| number.len()).sum();
        (is_short && digits >= DIGITS_MIN).then_some(Self { numbers, words })
    }

    fn has_numbers_of(&self, other: &Self) -> bool {
        if self.numbers == other.numbers {
            return true;
        }
        let is_year = |number: &str| {
            number.len() == 4 && (number.starts_with("19") || number.starts_with("20"))
        };
        let is_long = |number: &str| number.len() >= MOVED_DIGITS_MIN && !is_year(number);
        let any = |is_it: &dyn Fn(&str) -> bool| self.numbers.iter().any(|number| is_it(number));
        let may_move = any(&is_year) && any(&is_long);
        let sorted = |numbers: &[&'v str]| {
            let mut numbers = numbers.to_vec();
            numbers.sort_unstable();
            numbers
        };
        may_move && sorted(&self.numbers) == sorted(&other.numbers)
    }

    /// Whether all words of the other one are among these, whatever their case.
    fn has_words_of(&self, other: &Self) -> bool {
        let has = |word: &str| self.words.iter().any(|own| own.eq_ignore_ascii_case(word));
        other.words.iter().all(|word| has(word))
    }
}

#[cfg(test)]
mod tests {
    use super::is_spelled_otherwise;

    /// Given the number of a file, other signs, another order, another case and one word more make it no other; other letters and
    /// other digits do, and so do a day and a month in each other's place.
    #[test]
    fn numbers_of_files() {
        for other in [
            "2026-B-0417",
            "B-0417/2026",
            "2026/B0417",
            "2026 B 0417",
            "b-417/2026",
            "0417/2026",
            "Case 2026/B-0417",
        ] {
            assert!(is_spelled_otherwise("2026/B-0417", other), "{other}");
        }
        for [one, other] in [
            ["2026/B-0417", "2026/C-0417"],
            ["2026/B-0417", "2026/B-0418"],
            ["2026-03-04", "2026-04-03"],
            ["123-456", "456-123"],
            ["B-12", "B 12"],
            ["", ""],
            ["page 12345", "user 12345"],
        ] {
            assert!(!is_spelled_otherwise(one, other), "{one}");
        }
    }
}
