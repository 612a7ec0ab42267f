//! What is kept of a long text to compare it with others: 64 bits, of which similar texts have most in common.
//!
//! For each bit: do more words of the text have it set in their hash than not (`SimHash`; Charikar, *Similarity estimation techniques
//! from rounding algorithms*, 2002)? Of two texts whose sets of words have the cosine `c`, each bit differs with a probability of
//! `acos(c) / π`. The order of words, case and signs do not count.

use super::hash::mix;

/// How much of a text is looked at, in bytes.
const SKETCHED_BYTES_MAX: usize = 4_096;

/// Digits of a count of all words of a text that long.
const PLANES: usize = 12;

/// The sketch of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sketch {
    pub(super) bits: u64,
    /// How many words it was made of.
    pub(super) words: u64,
}

/// What each byte is within a word: its small letter, or 0 where it belongs to none.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut byte = 0;
    while byte < letters.len() {
        if (byte as u8).is_ascii_alphanumeric() || byte >= 0x80 {
            letters[byte] = (byte as u8).to_ascii_lowercase();
        }
        byte += 1;
    }
    letters
};

/// Bytes of a text whose words are found before they are counted.
const PIECE_BYTES: usize = 128;

/// The sketch of a text; a sign of a script without blanks is a word of its own.
///
/// Where a word ends cannot be foreseen, by a processor either: so nothing is decided on the way through a piece of the text,
/// and the words found in it are counted afterwards.
pub(super) fn of(text: &str) -> Sketch {
    let mut votes = Votes::default();
    let bytes = &text.as_bytes()[..text.len().min(SKETCHED_BYTES_MAX)];
    let mut words = [0; PIECE_BYTES];
    let (mut word, mut is_within) = (0_u64, false);
    for piece in bytes.chunks(PIECE_BYTES) {
        let mut found = 0;
        for byte in piece {
            let letter = LETTERS[usize::from(*byte)];
            let begins = letter == 0 || letter >= 0xe0;
            words[found % PIECE_BYTES] = word;
            found += usize::from(begins & is_within);
            is_within = letter != 0;
            let before = if begins { 0 } else { word };
            // Letters of a long word lie over one another, each place turned further; its length is in it, too.
            let grown = (before.rotate_left(9) ^ u64::from(letter)).wrapping_add(LENGTHENED);
            word = if is_within { grown } else { 0 };
        }
        words[..found]
            .iter()
            .for_each(|word| votes.take(spread(*word)));
    }
    if is_within {
        votes.take(spread(word));
    }
    Sketch {
        bits: votes.majority(),
        words: votes.words,
    }
}

/// Has every bit depend on all of a word.
fn spread(word: u64) -> u64 {
    mix(mix(word, LENGTHENED), word)
}

/// What a word grows by with each letter.
const LENGTHENED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Counts, for each of 64 bits, in how many words it is set: a plane holds one binary digit of all the counts.
#[derive(Default)]
struct Votes {
    planes: [u64; PLANES],
    words: u64,
}

impl Votes {
    fn take(&mut self, word: u64) {
        self.words += 1;
        // No count is above that of the words.
        let digits = self.words.ilog2() as usize + 1;
        let mut carry = word;
        for plane in self.planes.iter_mut().take(digits) {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// The bits that are set in more than half of the words: all counts are compared with the half at once, digit by digit.
    fn majority(&self) -> u64 {
        let half = self.words / 2;
        let (mut more, mut equal) = (0, u64::MAX);
        for (place, plane) in self.planes.iter().enumerate().rev() {
            if (half >> place) & 1 == 0 {
                more |= equal & plane;
                equal &= !plane;
            } else {
                equal &= plane;
            }
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::{Sketch, Votes, of};
    use crate::normalize::hash;

    /// A text of made-up words, of which so many differ from those of the plain one.
    fn text(words: usize, others: usize) -> String {
        let word = |at: usize| format!("{}{at}", if at % 100 < others { "other" } else { "word" });
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    fn distance(left: &str, right: &str) -> u32 {
        (of(left).bits ^ of(right).bits).count_ones()
    }

    /// Given texts of which 3, 15, 50 and 100 words in a hundred differ, the bits that differ are about as many as the angle says.
    #[test]
    fn distance_follows_the_share_of_other_words() {
        for words in [100, 300] {
            let plain = text(words, 0);
            assert_eq!(distance(&plain, &plain), 0);
            assert!(distance(&plain, &text(words, 3)) <= 9);
            assert!((5..=18).contains(&distance(&plain, &text(words, 15))));
            assert!((13..=30).contains(&distance(&plain, &text(words, 50))));
            assert!((20..=44).contains(&distance(&plain, &text(words, 100))));
        }
    }

    /// Case, signs and the order of words do not count; nor does what lies beyond 4 kB; any text has a sketch.
    #[test]
    fn what_does_not_count() {
        assert_eq!(of("The Stream turns."), of("turns the -- stream"));
        let long = "stream bank ".repeat(400);
        assert_eq!(of(&long), of(&format!("{long} and more")));
        assert_eq!(of(""), Sketch { bits: 0, words: 0 });
        assert!(
            distance("流れの中の渦", "流れの外の渦") < distance("流れの中の渦", "銀行の前の庭")
        );
    }

    /// Given as many words as fit, counts do not overflow.
    #[test]
    fn every_count_fits() {
        assert_eq!(of(&"a ".repeat(2_048)).bits, of("a").bits);
    }

    /// Given words of any hashes, the majority is what counting bit by bit says, also where exactly half have a bit.
    #[test]
    fn the_majority_is_counted() {
        for words in 1..200_u64 {
            let hashes = (0..words).map(|word| hash::bytes(&(word % 7 * words).to_le_bytes()));
            let mut votes = Votes::default();
            hashes.clone().for_each(|hash| votes.take(hash));
            let count = |bit: u32| hashes.clone().filter(|hash| (hash >> bit) & 1 == 1).count();
            let set = (0..64).filter(|bit| 2 * count(*bit) > words as usize);
            assert_eq!(
                votes.majority(),
                set.fold(0, |all, bit| all | (1_u64 << bit))
            );
        }
    }
}
