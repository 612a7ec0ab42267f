//! How alike two texts are: the share of text that one has in common with the other, in order.
//!
//! The measure is the indel ratio `2·LCS / (n + m)` over bytes, where LCS is the length of the longest common subsequence. It
//! is symmetric and, unlike Python's `difflib`, has no shortcut that breaks on texts of more than 200 characters. Most pairs
//! are decided by exact bounds, from below and from above, before the bit-parallel LCS (Crochemore and others, *A fast and
//! practical bit-vector algorithm for the longest common subsequence problem*, 2001) is run on what differs.

use std::f64::consts::PI;

use super::event::{SAID_BITS, SAMPLE_BYTES_MAX, SAMPLE_CUT, SAMPLE_HEAD_BYTES};

/// Whether the ratio of two texts is at least `ratio` (0 to 1). Texts beyond [`SAMPLE_BYTES_MAX`] are cut there.
#[must_use]
pub fn similar(left: &str, right: &str, ratio: f64) -> bool {
    let left = &left.as_bytes()[..left.len().min(SAMPLE_BYTES_MAX)];
    let right = &right.as_bytes()[..right.len().min(SAMPLE_BYTES_MAX)];
    let total = left.len() + right.len();
    if total == 0 {
        return true;
    }
    // The least LCS that reaches the ratio.
    let needed = (ratio * total as f64 / 2.0 - 1e-9).ceil().max(0.0) as usize;
    if left.len().min(right.len()) < needed {
        return false;
    }
    let (prefix, suffix) = common_ends(left, right);
    if prefix + suffix >= needed {
        return true;
    }
    let left = &left[prefix..left.len() - suffix];
    let right = &right[prefix..right.len() - suffix];
    let needed = needed - prefix - suffix;
    // Most texts are not alike, and have too few bytes in common, whatever their order.
    common_bytes(left, right) >= needed
        && (in_step(left, right) >= needed || lcs(left, right) >= needed)
}

/// Whether two sketches of texts, of 64 bits, say that the cosine of their words is at least `ratio` (0 to 1).
///
/// Of two texts whose cosine is `c`, each bit differs with a probability of `acos(c) / π`; so at the ratio itself the answer is
/// right as often as not, and of 64 bits at 0.12 above or below it nineteen times in twenty.
#[must_use]
pub fn near(left: u64, right: u64, ratio: f64) -> bool {
    differ_little(left ^ right, 64, ratio)
}

/// A sketch with which many are compared; 0, which is none, is near to all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sketch {
    bits: u64,
    /// In how many bits one that is [`near`] differs at most.
    differing_max: u32,
}

impl Sketch {
    pub(crate) fn new(bits: u64, ratio: f64) -> Self {
        let differing_max = (64.0 * ratio.clamp(-1.0, 1.0).acos() / PI) as u32;
        Self {
            bits,
            differing_max,
        }
    }

    /// Whether another one is near, or none.
    #[allow(
        clippy::needless_bitwise_bool,
        reason = "many sketches are compared at a time"
    )]
    pub(crate) fn allows(self, other: u64) -> bool {
        let is_near = (self.bits ^ other).count_ones() <= self.differing_max;
        is_near | (self.bits == 0) | (other == 0)
    }
}

/// Whether two texts, of which [`said`](super::event::said) tells, say the same: the same words, or both have at least
/// [`WORDS_MIN`] and a cosine of at least `ratio`. In a short text, one other word may say another thing.
#[must_use]
pub(crate) fn say_the_same(left: u64, right: u64, ratio: f64) -> bool {
    let words = (left >> SAID_BITS).min(right >> SAID_BITS);
    let differing = (left ^ right) & ((1 << SAID_BITS) - 1);
    left == right || (words >= WORDS_MIN && differ_little(differing, SAID_BITS, ratio))
}

/// Whether a text, of which [`said`](super::event::said) tells, is long enough to be a piece of work rather than a report.
#[must_use]
pub(crate) fn says_much(text: u64) -> bool {
    text >> SAID_BITS >= PIECE_WORDS_MIN
}

/// Fewest words of a text that is a piece of work: a paragraph.
const PIECE_WORDS_MIN: u64 = 24;

/// Fewest words of a text of which one may be another.
const WORDS_MIN: u64 = 16;

fn differ_little(differing: u64, bits: u32, ratio: f64) -> bool {
    let (differing, bits) = (f64::from(differing.count_ones()), f64::from(bits));
    // Of texts that have nothing to do with each other half of the bits differ: `acos(r) <= π/2 - r` tells most of them apart.
    if ratio > 0.0 && differing > bits * (0.5 - ratio / PI) {
        return false;
    }
    differing <= bits * ratio.clamp(-1.0, 1.0).acos() / PI
}

/// Hash of a sample without its digits: equal for texts that differ in nothing else, as paging and batches over numbered
/// items do, which are not rewordings.
///
/// A number with a digit more moves the places where a long text is cut, so what lies next to the cut does not count: so much
/// of it as there may be digits.
#[must_use]
pub(crate) fn shape(text: &str) -> u64 {
    let text = text.as_bytes();
    let text = &text[..text.len().min(SAMPLE_BYTES_MAX)];
    let mut words = [0_u8; SAMPLE_BYTES_MAX];
    let length = match at_cut(text) {
        None => without_digits(text, &mut words),
        Some((head, tail)) => {
            let head = without_digits(head, &mut words).min(HEAD_SIGNS);
            let mut ending = [0_u8; SAMPLE_BYTES_MAX];
            let length = without_digits(tail, &mut ending);
            let ending = &ending[length.saturating_sub(TAIL_SIGNS)..length];
            words[head..head + ending.len()].copy_from_slice(ending);
            head + ending.len()
        }
    };
    // What was copied last may have been longer than what counts.
    words[length..length.next_multiple_of(8)].fill(0);
    let (words, _) = words[..length.next_multiple_of(8)].as_chunks();
    words.iter().fold(length as u64, |hash, word| {
        (hash.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

/// How much of a sample's head counts beside its digits, in bytes: all but 32.
const HEAD_SIGNS: usize = SAMPLE_HEAD_BYTES - 32;

/// How much of its tail does: all but 16, and the bytes of the cut.
const TAIL_SIGNS: usize = SAMPLE_BYTES_MAX - SAMPLE_HEAD_BYTES - 16 - SAMPLE_CUT.len();

/// Head and tail of a sample that was cut.
fn at_cut(sample: &[u8]) -> Option<(&[u8], &[u8])> {
    // Where the cut would have parted a sign, it is up to three bytes before its place, and the tail as much shorter.
    const PARTED_MAX: usize = 3;
    if sample.len() < SAMPLE_BYTES_MAX - 2 * PARTED_MAX {
        return None;
    }
    let places = SAMPLE_HEAD_BYTES - PARTED_MAX..=SAMPLE_HEAD_BYTES;
    places.rev().find_map(|place| {
        let (head, tail) = sample.split_at_checked(place)?;
        Some((head, tail.strip_prefix(SAMPLE_CUT.as_bytes())?))
    })
}

/// Copies what is no digit to the words; says how long it is.
fn without_digits(text: &[u8], words: &mut [u8; SAMPLE_BYTES_MAX]) -> usize {
    let mut length = 0;
    let (blocks, rest) = text.as_chunks::<32>();
    for block in blocks {
        length = take_others(block, words, length);
    }
    take_others(rest, words, length)
}

/// Copies what is no digit to a place of the words; says where that ends. Most pieces have none, which is seen for all of their
/// bytes at a time.
#[inline]
#[allow(clippy::needless_bitwise_bool, reason = "all bytes at a time")]
fn take_others(text: &[u8], words: &mut [u8; SAMPLE_BYTES_MAX], mut length: usize) -> usize {
    let any = |any, byte: &u8| any | byte.is_ascii_digit();
    if !text.iter().fold(false, any) {
        words[length..length + text.len()].copy_from_slice(text);
        return length + text.len();
    }
    for byte in text {
        words[length] = *byte;
        length += usize::from(!byte.is_ascii_digit());
    }
    length
}

/// The decimal digits with which a text begins.
pub(crate) fn digits_at_start(text: &str) -> &str {
    let behind = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    &text[..text.len() - behind.len()]
}

/// The decimal digits with which a text ends.
pub(crate) fn digits_at_end(text: &str) -> &str {
    let before = text.trim_end_matches(|sign: char| sign.is_ascii_digit());
    &text[before.len()..]
}

/// Lengths of the common prefix and of the common suffix of what is left.
pub(crate) fn common_ends(left: &[u8], right: &[u8]) -> (usize, usize) {
    let prefix = common_prefix(left, right);
    let (left, right) = (&left[prefix..], &right[prefix..]);
    let ((_, ends), (_, others)) = (left.as_rchunks::<8>(), right.as_rchunks());
    let equal = ends.iter().rev().zip(others.iter().rev());
    let end = equal.take_while(|(l, r)| l == r).count() * 8;
    let left = left[..left.len() - end].iter().rev();
    let right = right[..right.len() - end].iter().rev();
    let pairs = left.zip(right);
    (prefix, end + pairs.take_while(|(l, r)| l == r).count())
}

/// Length of the common prefix, compared eight bytes at a time.
fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let ((fronts, _), (others, _)) = (left.as_chunks::<8>(), right.as_chunks());
    let equal = fronts.iter().zip(others).take_while(|(l, r)| l == r);
    let start = equal.count() * 8;
    let pairs = left[start..].iter().zip(&right[start..]);
    start + pairs.take_while(|(l, r)| l == r).count()
}

/// Longest piece of either text that is passed over on the way through both in step: a number, an id's half, a short word.
const OUT_OF_STEP_BYTES_MAX: usize = 8;

/// Bytes that must agree behind it.
const IN_STEP_AGAIN_BYTES: usize = 4;

/// Bytes that agree on a way through both texts that passes over short pieces where they do not: a lower bound of the LCS,
/// which ends where such a piece is too long.
fn in_step(mut left: &[u8], mut right: &[u8]) -> usize {
    let mut agree = 0;
    loop {
        let prefix = common_prefix(left, right);
        agree += prefix;
        (left, right) = (&left[prefix..], &right[prefix..]);
        let Some((of_left, of_right)) = out_of_step(left, right) else {
            return agree;
        };
        (left, right) = (&left[of_left..], &right[of_right..]);
    }
}

/// Lengths of the shortest pieces behind which two texts agree again.
fn out_of_step(left: &[u8], right: &[u8]) -> Option<(usize, usize)> {
    (1..=2 * OUT_OF_STEP_BYTES_MAX).find_map(|both| {
        let least = both.saturating_sub(OUT_OF_STEP_BYTES_MAX);
        (least..=both - least).find_map(|of_left| {
            let of_right = both - of_left;
            let left = left.get(of_left..)?.first_chunk::<IN_STEP_AGAIN_BYTES>()?;
            let right = right.get(of_right..)?.first_chunk()?;
            (left == right).then_some((of_left, of_right))
        })
    })
}

/// Bytes that both have, whatever their order: an upper bound of the LCS.
fn common_bytes(left: &[u8], right: &[u8]) -> usize {
    let mut counts = [0_i16; 256];
    for byte in left {
        counts[usize::from(*byte)] += 1;
    }
    let mut common = 0;
    for byte in right {
        let count = &mut counts[usize::from(*byte)];
        common += usize::from(*count > 0);
        *count -= 1;
    }
    common
}

/// Length of the longest common subsequence, 64 bytes of the shorter text at a time: where they end, what is carried on by
/// each byte of the longer one is kept for the next 64.
fn lcs(left: &[u8], right: &[u8]) -> usize {
    let (short, long) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let mut carries = [false; SAMPLE_BYTES_MAX];
    let mut length = 0;
    for piece in short.chunks(64) {
        let mut positions = [0_u64; 256];
        for (index, byte) in piece.iter().enumerate() {
            positions[usize::from(*byte)] |= 1 << index;
        }
        let mut row = u64::MAX;
        for (byte, carry) in long.iter().zip(&mut carries) {
            let hits = row & positions[usize::from(*byte)];
            let (sum, first) = row.overflowing_add(hits);
            let (sum, second) = sum.overflowing_add(u64::from(*carry));
            *carry = first | second;
            row = sum | (row - hits);
        }
        let unused = u64::MAX.checked_shl(piece.len() as u32).unwrap_or(0);
        length += (row | unused).count_zeros() as usize;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::{
        PI, SAMPLE_BYTES_MAX, SAMPLE_CUT, SAMPLE_HEAD_BYTES, Sketch, lcs, near, shape, similar,
    };

    /// The textbook table, to compare with.
    fn lcs_by_table(left: &[u8], right: &[u8]) -> usize {
        let mut table = vec![vec![0; right.len() + 1]; left.len() + 1];
        for (i, l) in left.iter().enumerate() {
            for (j, r) in right.iter().enumerate() {
                table[i + 1][j + 1] = if l == r {
                    table[i][j] + 1
                } else {
                    table[i][j + 1].max(table[i + 1][j])
                };
            }
        }
        table[left.len()][right.len()]
    }

    proptest::proptest! {
        /// Given two texts, the bit-parallel length is the table's, and `similar` agrees with the plain formula.
        #[test]
        fn agrees_with_the_table(left in "[a-d ]{0,200}", right in "[a-d ]{0,200}", ratio in 0.0_f64..1.0) {
            let expected = lcs_by_table(left.as_bytes(), right.as_bytes());
            proptest::prop_assert_eq!(lcs(left.as_bytes(), right.as_bytes()), expected);
            let total = left.len() + right.len();
            let reached = total == 0 || 2.0 * expected as f64 / total as f64 >= ratio;
            proptest::prop_assert_eq!(similar(&left, &right, ratio), reached);
        }
    }

    /// Given sketches that differ in any number of bits, the short way to tell that they are not near agrees with the formula.
    #[test]
    fn nearness_agrees_with_the_formula() {
        const OTHER: u64 = 0x5555_5555_5555_5555;
        for differing in 0..=64 {
            let bits = u64::MAX.checked_shr(64 - differing).unwrap_or(0);
            for hundredths in -10..=110 {
                let ratio = f64::from(hundredths) / 100.0;
                let angle = PI * f64::from(differing) / 64.0;
                let expected = angle <= ratio.clamp(-1.0, 1.0).acos() + 1e-12;
                assert_eq!(near(0, bits, ratio), expected, "{differing} {ratio}");
                let sketch = Sketch::new(OTHER, ratio);
                assert_eq!(sketch.allows(OTHER ^ bits), expected);
                assert!(sketch.allows(0) && Sketch::new(0, ratio).allows(OTHER));
            }
        }
    }

    /// Given long texts that differ in little, they stay similar: the length does not matter.
    #[test]
    fn long_texts_stay_similar() {
        let left = "search the archive for rust runtimes ".repeat(6);
        let right = left.replace("runtimes", "runtime");
        assert!(similar(&left, &right, 0.85));
        assert!(!similar(
            &left,
            "an unrelated question about the weather",
            0.85
        ));
    }

    /// Given a page number or an item's number that moves on, that is told from a reworded query.
    #[test]
    fn paging_is_told_from_rewording() {
        assert_eq!(shape(r#"{"page":1}"#), shape(r#"{"page":12}"#));
        assert_ne!(shape(r#"{"q":"rust"}"#), shape(r#"{"q":"rusts"}"#));
        // The same where the text is so long that it was cut: with a digit more, elsewhere.
        let text = "stream turns upon itself where the bank is steep ".repeat(8);
        let cut = |page: u64, text: &str| {
            let text = format!("{{\"page\":{page},\"text\":\"{text}\"}}");
            let tail = text.len() - (SAMPLE_BYTES_MAX - SAMPLE_HEAD_BYTES - SAMPLE_CUT.len());
            format!("{}…{}", &text[..SAMPLE_HEAD_BYTES], &text[tail..])
        };
        assert_eq!(shape(&cut(9, &text)), shape(&cut(10_000, &text)));
        assert_ne!(
            shape(&cut(9, &text)),
            shape(&cut(9, &text.replacen("turns", "runs", 1)))
        );
        assert_ne!(shape(&cut(9, &text)), shape(&cut(9, &format!("{text}."))));
    }
}
