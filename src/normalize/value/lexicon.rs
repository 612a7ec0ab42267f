//! Words of many languages, found in one walk through a text.

use std::iter;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Words, and what is known of each. ASCII's letters are the same in any case, others are taken as they stand.
pub(super) struct Lexicon<T> {
    /// A state a byte, since nearly all texts are looked through; with letters of all languages that would take megabytes.
    ascii: (AhoCorasick, Vec<T>),
    beyond: (AhoCorasick, Vec<T>),
}

impl<T: Copy> Lexicon<T> {
    pub(super) fn of(words: impl Iterator<Item = (&'static str, T)>) -> Self {
        let (ascii, beyond): (Vec<_>, Vec<_>) = words.partition(|(words, _)| words.is_ascii());
        let finder = |words: Vec<(&str, T)>, kind| {
            let (words, known): (Vec<_>, Vec<_>) = words.into_iter().unzip();
            let mut builder = AhoCorasick::builder();
            builder.kind(Some(kind)).ascii_case_insensitive(true);
            let automaton = builder.build(words);
            (automaton.expect("a few words are no more than fit"), known)
        };
        Self {
            ascii: finder(ascii, AhoCorasickKind::DFA),
            beyond: finder(beyond, AhoCorasickKind::ContiguousNFA),
        }
    }

    /// The words in a text, also within others, with where each stands.
    pub(super) fn found<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (T, Range<usize>)> {
        let beyond = (!text.is_ascii()).then_some(&self.beyond);
        let finders = iter::once(&self.ascii).chain(beyond);
        // Names and numbers are too short for any of them.
        let long_enough = finders.filter(|(words, _)| text.len() >= words.min_pattern_len());
        long_enough.flat_map(move |(automaton, known)| {
            let found = automaton.find_overlapping_iter(text);
            found.map(|found| (known[found.pattern().as_usize()], found.range()))
        })
    }
}

impl Lexicon<()> {
    /// Words in rows, parted by `|`.
    pub(super) fn of_rows(rows: &[&'static str]) -> Self {
        let words = rows.iter().flat_map(|row| row.split('|'));
        Self::of(words.map(|words| (words, ())))
    }

    /// Whether one of the words, which are in lower case, stands in a text, with no letter or digit of ASCII and no decimal sign
    /// before it.
    pub(super) fn is_said_in(&self, text: &str) -> bool {
        if !text.is_ascii() {
            return self.begins_in(&text.to_lowercase());
        }
        self.begins_in(text)
    }

    fn begins_in(&self, text: &str) -> bool {
        let is_within = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, ',' | '.');
        let mut found = self.found(text);
        found.any(|((), place)| {
            let is_apart = !text.as_bytes()[place.start].is_ascii();
            is_apart || !text[..place.start].ends_with(is_within)
        })
    }
}
