//! Looking through bytes many at a time.
//!
//! Every byte of arguments and results is looked at for several things, most of which it has not; this is what that costs.

use std::iter;

use memchr::memchr2;

/// Whether some byte is of a kind.
///
/// All bytes are looked at, and what is asked of each should have no early end either: that way it compiles to wide
/// instructions.
#[inline]
pub(super) fn any(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    let found = bytes.iter().fold(0, |any, byte| any | u8::from(is(*byte)));
    found != 0
}

/// Whether some byte and the one behind it are of a kind.
#[inline]
pub(super) fn any_neighbours(bytes: &[u8], are: impl Fn(u8, u8) -> bool) -> bool {
    let pairs = iter::zip(bytes, bytes.get(1..).unwrap_or_default());
    let found = pairs.fold(0, |any, (byte, next)| any | u8::from(are(*byte, *next)));
    found != 0
}

/// How many eights of bytes are looked at one by one before a longer text is expected.
const SHORT_EIGHTS: usize = 4;

/// Where a text stops being plain, from a place on: at a quotation mark, a backslash or a control character, else at the
/// end.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let mut rest = bytes.get(from..).unwrap_or_default();
    for _ in 0..SHORT_EIGHTS {
        let Some((eight, behind)) = rest.split_first_chunk() else {
            break;
        };
        let special = specials(u64::from_le_bytes(*eight));
        if special != 0 {
            return bytes.len() - rest.len() + (special.trailing_zeros() / 8) as usize;
        }
        rest = behind;
    }
    bytes.len() - rest.len() + long_plain(rest)
}

/// How many bytes at the start are plain, where these are likely to be many.
fn long_plain(bytes: &[u8]) -> usize {
    let plain = &bytes[..memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len())];
    let is_control = |byte: u8| byte < b' ';
    if any(plain, is_control) {
        let control = plain.iter().position(|byte| is_control(*byte));
        return control.unwrap_or(plain.len());
    }
    plain.len()
}

/// The place of the next decimal digit, from a place on.
#[inline]
pub(super) fn digit(bytes: &[u8], from: usize) -> Option<usize> {
    let (eights, rest) = bytes.get(from..)?.as_chunks();
    let mut at = from;
    for eight in eights {
        let digits = digits(u64::from_le_bytes(*eight));
        if digits != 0 {
            return Some(at + (digits.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let place = rest.iter().position(u8::is_ascii_digit)?;
    Some(at + place)
}

/// Has the highest bit of each of eight bytes say whether it is a decimal digit.
fn digits(eight: u64) -> u64 {
    let high = each(0x80);
    let ascii = eight & !high;
    (ascii + each(0x80 - b'0')) & !(ascii + each(0x7f - b'9')) & !eight & high
}

/// A byte in each of eight.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Has the highest bit of a byte set where it is the first of eight that is not plain; above it, bits say nothing.
fn specials(eight: u64) -> u64 {
    // Borrowing from the next byte, each difference is right up to the first byte that it finds.
    let below = |eight: u64, least: u8| eight.wrapping_sub(each(least)) & !eight;
    let equal = |byte: u8| below(eight ^ each(byte), 1);
    (below(eight, b' ') | equal(b'"') | equal(b'\\')) & each(0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a byte of a kind at each place of texts of each length, it is found there and nowhere else.
    #[test]
    fn what_is_looked_for_is_found() {
        for length in 0..100 {
            let plain = "aé\u{7f}~!".repeat(20).into_bytes();
            let plain = &plain[..length];
            assert_eq!(plain_end(plain, 0), length);
            assert!(!any(plain, |byte| byte == b'7'));
            for place in 0..length {
                for special in [b'"', b'\\', 0, 0x1f] {
                    let mut text = plain.to_vec();
                    text[place] = special;
                    text[length - 1] = if place + 1 < length { b'"' } else { special };
                    assert_eq!(plain_end(&text, 0), place);
                    assert_eq!(plain_end(&text, place), place);
                    assert!(any(&text, |byte| byte == special));
                }
            }
        }
        assert_eq!(plain_end(b"ab", 3), 2);
    }
}
