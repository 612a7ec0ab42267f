//! What is kept of a long text to compare it with others: 64 bits, of which similar texts have most in common.
//!
//! For each bit: do more words of the text have it set in their hash than not (`SimHash`; Charikar, *Similarity estimation
//! techniques from rounding algorithms*, 2002)? Of two texts whose sets of words have the cosine `c`, each bit differs with a
//! probability of `acos(c) / π`. The order of words, case and signs do not count.

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

/// Bytes whose words are told apart at a time: a bit of a number for each.
const PIECE_BYTES: usize = 64;

/// The sketch of a text; a sign of a script without blanks is a word of its own.
///
/// Where a word ends cannot be foreseen, by a processor either: so letters are told from other signs many at a time, and what
/// is walked are the places where a word begins or ends.
pub(super) fn of(text: &str) -> Sketch {
    let bytes = &text.as_bytes()[..text.len().min(SKETCHED_BYTES_MAX)];
    let (pieces, rest) = bytes.as_chunks();
    // Behind the end there are no letters, so that the last word ends as others do.
    let mut last = [b' '; PIECE_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let mut words = Words {
        bytes,
        begin: 0,
        is_within: false,
        votes: Votes::default(),
    };
    for (piece, start) in pieces.iter().zip((0..).step_by(PIECE_BYTES)) {
        words.take(piece, start);
    }
    words.take(&last, bytes.len() - rest.len());
    words.votes.sketch()
}

/// Bytes that are hashed at a time.
const EIGHT: usize = 8;

/// The words of a text, as far as it was read.
struct Words<'t> {
    bytes: &'t [u8],
    /// Where the last word began.
    begin: usize,
    /// That word has not ended yet.
    is_within: bool,
    votes: Votes,
}

impl Words<'_> {
    /// Takes the words that end in a piece of the text, which starts at this place.
    #[inline]
    fn take(&mut self, piece: &[u8; PIECE_BYTES], start: usize) {
        let Signs { letters, leads } = Signs::of(piece);
        let behind_letters = letters << 1 | u64::from(self.is_within);
        let mut begins = letters & (!behind_letters | leads);
        let mut ends = behind_letters & (!letters | leads);
        // Each word ends where the next end is; one that began in an earlier piece comes first.
        if !self.is_within {
            self.begin = start + take_lowest(&mut begins);
        }
        while ends != 0 {
            let end = start + take_lowest(&mut ends);
            self.votes.take(self.word(end));
            self.begin = start + take_lowest(&mut begins);
        }
        self.is_within = letters >> (PIECE_BYTES - 1) == 1;
    }

    /// The hash of the word that ends here, whatever the case of its ASCII letters.
    #[inline]
    fn word(&self, end: usize) -> u64 {
        let length = end - self.begin;
        let mut hash = length as u64;
        let mut rest = &self.bytes[self.begin..];
        let mut left = length;
        // Of most words that are longer the second eight bytes are the last.
        while left > EIGHT {
            let (eight, behind) = rest.split_first_chunk().unwrap_or((&[0; EIGHT], &[]));
            hash = hashed(hash, alike(u64::from_le_bytes(*eight)));
            (rest, left) = (behind, left - EIGHT);
        }
        // Eight bytes are read for a shorter word, too, where the text has them: how long it is cannot be foreseen.
        let eight = match rest.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => first_of(rest),
        };
        mix(hashed(hash, alike(eight) & FIRST[left]), SALT)
    }
}

/// As much as there is of eight bytes.
fn first_of(bytes: &[u8]) -> u64 {
    let mut eight = [0; EIGHT];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(eight)
}

/// The place of the lowest bit, which is taken away.
fn take_lowest(bits: &mut u64) -> usize {
    let place = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    place as usize
}

/// A bit for each byte of a piece.
#[derive(Default)]
struct Signs {
    /// The byte belongs to a word.
    letters: u64,
    /// It is the first of the three or four of a sign, which begins a word.
    leads: u64,
}

impl Signs {
    #[expect(clippy::needless_bitwise_bool, reason = "see `wide::any`")]
    #[inline]
    fn of(piece: &[u8; PIECE_BYTES]) -> Self {
        let is_letter = |byte: u8| {
            ((byte | b' ').wrapping_sub(b'a') < 26)
                | (byte.wrapping_sub(b'0') < 10)
                | (byte >= 0x80)
        };
        let letters = gathered(piece.map(|byte| u8::from(is_letter(byte))));
        // Most texts have no signs beyond ASCII.
        let leads = if piece.is_ascii() {
            0
        } else {
            gathered(piece.map(|byte| u8::from(byte >= 0xe0)))
        };
        Self { letters, leads }
    }
}

/// Flags of bytes as bits.
fn gathered(flags: [u8; PIECE_BYTES]) -> u64 {
    let eights = flags.as_chunks().0.iter().zip((0..u64::BITS).step_by(8));
    eights.fold(0, |bits, (eight, place)| {
        // Each factor's bit moves one byte's to its place at the top, and no two meet on the way.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | gathered << place
    })
}

/// A byte's highest bit, in each of eight.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The bit that small letters have and large ones have not, in each of eight bytes.
const SMALL: u64 = HIGH >> 2;

/// Eight bytes in which large and small letters of ASCII are alike. They are hashed with the bits of [`SMALL`] turned over, which
/// stay as they are here, so that what lies behind a word can be left out as zeros.
fn alike(eight: u64) -> u64 {
    (eight | (!eight & HIGH) >> 2) ^ SMALL
}

/// The first so many of eight bytes.
const FIRST: [u64; EIGHT + 1] = [
    0,
    0xff,
    0xffff,
    0x00ff_ffff,
    0xffff_ffff,
    0x00ff_ffff_ffff,
    0xffff_ffff_ffff,
    0x00ff_ffff_ffff_ffff,
    u64::MAX,
];

/// A hash with eight more bytes of a word.
fn hashed(hash: u64, alike: u64) -> u64 {
    mix(hash ^ SALT, alike ^ SMALL)
}

/// Any odd number with as many ones as zeros.
const SALT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Words that are counted together.
const TOGETHER: usize = 7;

/// Counts, for each of 64 bits, in how many words it is set: a plane holds one binary digit of all the counts.
#[derive(Default)]
struct Votes {
    planes: [u64; PLANES],
    /// Words that are counted in the planes.
    counted: u64,
    /// The words since then, and older ones behind them.
    waiting: [u64; TOGETHER],
    waits: usize,
}

impl Votes {
    #[inline]
    fn take(&mut self, word: u64) {
        self.waiting[self.waits] = word;
        self.waits += 1;
        if self.waits == TOGETHER {
            self.count();
        }
    }

    /// Counts the words that wait: seven are added up to a number of three digits first, which costs less than adding each.
    fn count(&mut self) {
        let words = self.waiting;
        self.counted += std::mem::take(&mut self.waits) as u64;
        let (first, second) = (
            added(words[0], words[1], words[2]),
            added(words[3], words[4], words[5]),
        );
        let ones = added(first.0, second.0, words[6]);
        let twos = added(first.1, second.1, ones.1);
        let [one, two, four, more @ ..] = &mut self.planes;
        let mut carry;
        (*one, carry) = added(*one, ones.0, 0);
        (*two, carry) = added(*two, twos.0, carry);
        (*four, carry) = added(*four, twos.1, carry);
        // Where nothing is carried any more cannot be foreseen, and adding it costs less than asking.
        for plane in more {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// The bits that are set in more than half of the words: all counts are compared with the half at once, digit by digit.
    fn sketch(mut self) -> Sketch {
        self.waiting[self.waits..].fill(0);
        self.count();
        let half = self.counted / 2;
        let (mut more, mut equal) = (0, u64::MAX);
        for (place, plane) in self.planes.iter().enumerate().rev() {
            if (half >> place) & 1 == 0 {
                more |= equal & plane;
                equal &= !plane;
            } else {
                equal &= plane;
            }
        }
        Sketch {
            bits: more,
            words: self.counted,
        }
    }
}

/// Three digits at each of 64 places: their sum, and what is carried on.
fn added(first: u64, second: u64, third: u64) -> (u64, u64) {
    let differ = first ^ second;
    (differ ^ third, first & second | differ & third)
}

#[cfg(test)]
mod tests {
    use super::super::hash;
    use super::{Sketch, Votes, of};

    /// A text of made-up words, of which so many differ from those of the plain one.
    fn text(words: usize, others: usize) -> String {
        let word = |at: usize| format!("{}{at}", if at % 100 < others { "other" } else { "word" });
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    }

    fn distance(left: &str, right: &str) -> u32 {
        (of(left).bits ^ of(right).bits).count_ones()
    }

    /// Given texts of which 3, 15, 50 and 100 words in a hundred differ, the bits that differ are about as many as the angle
    /// says.
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
        let [plain, reworded, other] = [
            "流れの中の渦と川の岸を見る人",
            "流れの中の渦と川の岸を見た人",
            "銀行の前の庭に犬が三匹いた",
        ];
        assert_eq!(of(plain).words, 14);
        assert!(distance(plain, reworded) < 10 && distance(plain, other) > 10);
    }

    /// Given texts of letters and other signs that begin and end anywhere, the words are those that a reader of one byte after
    /// the other finds.
    #[test]
    fn words_are_found_wherever_they_lie() {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
        for length in 0..300 {
            let text: String = (0..length)
                .map(|at| ["ab c", "Zz09@[`{/:", "\u{7f} é¿", "渦", "🌀x"][at % 5])
                .collect();
            for begin in (0..20).filter(|begin| text.is_char_boundary(*begin)) {
                let text = &text[begin..];
                let bytes = &text.as_bytes()[..text.len().min(super::SKETCHED_BYTES_MAX)];
                let begins = |at: usize| {
                    let within = at > 0 && is_letter(bytes[at - 1]) && bytes[at] < 0xe0;
                    is_letter(bytes[at]) && !within
                };
                let words = (0..bytes.len()).filter(|at| begins(*at)).count();
                assert_eq!(of(text).words, words as u64, "{text}");
            }
        }
    }

    /// Given words of all kinds, their sketch is the one that was kept on disk before.
    #[test]
    fn sketches_stay_as_they_are() {
        let text = "Eddy reads words, some of them extraordinarily long: déjà-vu, 渦, x86_64";
        let (bits, words) = (0xafb4_198b_51b5_5494, 13);
        assert_eq!(of(text), Sketch { bits, words });
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
                votes.sketch().bits,
                set.fold(0, |all, bit| all | (1_u64 << bit))
            );
        }
    }
}
