//! The numbers in a result, by which the engine sees whether they move one way.

use crate::engine::event::{self, NUMBERS_MAX};

use super::scratch::Scratch;
use super::{hash, wide};

/// Numbers being read.
#[derive(Default)]
pub(super) struct Numbers {
    /// Each with a hash of the names of the members that it stands in.
    all: [(u64, f64); NUMBERS_MAX],
    /// How many there were, also those for which there is no room.
    count: usize,
}

impl Numbers {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, number: f64) {
        if let Some(place) = self.all.get_mut(self.count) {
            *place = (0, number);
        }
        self.count += 1;
    }

    /// Forgets all but the first so many.
    pub(super) fn take_back(&mut self, count: usize) {
        self.count = count;
    }

    /// Notes that the numbers from here on stand in a member whose name has this hash.
    pub(super) fn belong_to(&mut self, from: usize, name: u64) {
        if from < self.count.min(NUMBERS_MAX) {
            for (within, _) in &mut self.all[from..] {
                *within = hash::mix(*within, name);
            }
        }
    }

    /// The numbers, with 32 bits of a hash of the rest; nothing where there are none, or too many. Their order does not depend
    /// on the order of members.
    pub(super) fn told(&self, frame: u64) -> Option<event::Numbers> {
        let mut own = self.all;
        let own = own.get_mut(..self.count).filter(|all| !all.is_empty())?;
        own.sort_by_key(|(within, _)| *within);
        let mut all = [0.0; NUMBERS_MAX];
        for (place, (_, number)) in all.iter_mut().zip(own) {
            *place = *number;
        }
        Some(event::Numbers {
            frame: frame as u32,
            count: self.count as u8,
            all,
        })
    }

    /// Takes the numbers out of a text; `None` where it has none. Digits within a word or a version are part of it.
    pub(super) fn take_out(&mut self, text: &str) -> Option<Scratch> {
        let mut rest = Scratch::default();
        let mut copied = 0;
        let mut at = 0;
        while let Some(from) = wide::digit(text.as_bytes(), at) {
            let digits = text[from..].bytes();
            let length = digits
                .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
                .count();
            let word = text[from..from + length].trim_end_matches('.');
            at = from + length;
            let is_within = text[..from]
                .ends_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.'));
            let Some(number) = word.parse::<f64>().ok().filter(|_| !is_within) else {
                continue;
            };
            self.push(number);
            rest.push_str(&text[copied..from]);
            copied = from + word.len();
        }
        if copied == 0 {
            return None;
        }
        rest.push_str(&text[copied..]);
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::output_json;
    use super::{Numbers, hash};
    use crate::engine::event::Recorded;
    use crate::engine::policy::ToolSettings;

    #[track_caller]
    fn check(text: &str, numbers: &str, rest: Option<&str>) {
        let mut read = Numbers::default();
        assert_eq!(
            read.take_out(text).as_deref().map(String::as_str),
            rest,
            "{text}"
        );
        let told = read.told(0x1_0000_00ab);
        let words = told.map(|told| {
            assert_eq!(told.frame, 0xab);
            let all = told.all.iter().take(told.count.into());
            all.map(ToString::to_string).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(words.unwrap_or_default(), numbers, "{text}");
    }

    /// The order of members does not matter, that of numbers within one does.
    #[test]
    fn members_have_no_order() {
        let text = |members: [(&str, f64); 2]| {
            let mut read = Numbers::default();
            for (name, number) in members {
                let from = read.count();
                read.push(number);
                read.push(7.0);
                read.belong_to(from, hash::text(name));
            }
            read.told(0)
        };
        assert_eq!(
            text([("a", 1.0), ("b", 2.0)]),
            text([("b", 2.0), ("a", 1.0)])
        );
        assert_ne!(
            text([("a", 1.0), ("b", 2.0)]),
            text([("a", 2.0), ("b", 1.0)])
        );
    }

    /// Given a result with a secret of digits, those are no numbers of it, whatever holds them; the others are.
    #[test]
    fn digits_of_secrets_are_no_numbers() {
        let how = ToolSettings::PLAIN;
        for (result, expected) in [
            (r#"{"pin":4711,"left":3}"#, Some(&[3.0][..])),
            (r#"{"card":{"cvv":{"value":123}},"left":3}"#, Some(&[3.0])),
            (r#"{"otp":"4711"}"#, None),
            ("Your password: 471104, 3 attempts left", None),
            (r#"{"said":"password: 471104","left":3}"#, Some(&[3.0])),
            ("3 attempts left", Some(&[3.0])),
        ] {
            let Recorded::Value(value) = output_json(&how, result) else {
                panic!("{result}");
            };
            let told = value.numbers.as_deref();
            let told = told.map(|told| &told.all[..usize::from(told.count)]);
            assert_eq!(told, expected, "{result}");
        }
    }

    /// Numbers that stand by themselves are read, with a unit behind them or not; those within a word or a version are not.
    #[test]
    fn numbers_stand_by_themselves() {
        check(
            "45% of 1200 rows, load 0.5.",
            "45 1200 0.5",
            Some("% of  rows, load ."),
        );
        check("512MB free", "512", Some("MB free"));
        check("v1.2.3 on sha a1b2 and x_7", "", None);
        check("no numbers", "", None);
        check("é3 7", "7", Some("é3 "));
        check("1 2 3 4 5 6 7", "", Some("      "));
    }
}
