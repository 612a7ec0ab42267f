//! Looking through bytes many at a time.
//!
//! Every byte of arguments and results is looked at for several things, most of which it has not; this is what that costs.

use std::iter;

use memchr::{memchr, memchr2};

/// Bytes that are looked at together, and where there are less.
const PIECE: usize = 16;
const HALF: usize = PIECE / 2;

/// Whether some byte is of a kind.
///
/// Of the bytes of a piece all are looked at, and what is asked of each should have no early end either: that way it compiles to
/// wide instructions. What is left over is looked at together with bytes before it.
#[inline]
pub(crate) fn any(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    let is = &is;
    let (pieces, rest) = bytes.as_chunks::<PIECE>();
    if pieces.iter().any(|piece| any_in(piece, is)) {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    if let Some(last) = bytes.last_chunk::<PIECE>() {
        return any_in(last, is);
    }
    match (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>()) {
        (Some(first), Some(last)) => any_in(first, is) || any_in(last, is),
        _ => rest.iter().any(|byte| is(*byte)),
    }
}

#[inline]
fn any_in<const COUNT: usize>(piece: &[u8; COUNT], is: &impl Fn(u8) -> bool) -> bool {
    piece.iter().fold(false, |any, byte| any | is(*byte))
}

/// Whether some byte and the one behind it are of a kind.
#[inline]
pub(crate) fn any_neighbours(bytes: &[u8], are: impl Fn(u8, u8) -> bool) -> bool {
    let are = &are;
    let (Some((_, before)), Some((_, behind))) = (bytes.split_last(), bytes.split_first()) else {
        return false;
    };
    let pieces = iter::zip(before.as_chunks::<PIECE>().0, behind.as_chunks().0);
    if pieces
        .into_iter()
        .any(|(piece, next)| any_beside(piece, next, are))
    {
        return true;
    }
    if let (Some(last), Some(next)) = (before.last_chunk::<PIECE>(), behind.last_chunk()) {
        return any_beside(last, next, are);
    }
    let firsts = before.first_chunk::<HALF>().zip(behind.first_chunk());
    let lasts = before.last_chunk::<HALF>().zip(behind.last_chunk());
    match (firsts, lasts) {
        (Some((first, next)), Some((last, behind))) => {
            any_beside(first, next, are) || any_beside(last, behind, are)
        }
        _ => iter::zip(before, behind).any(|(byte, next)| are(*byte, *next)),
    }
}

#[inline]
fn any_beside<const COUNT: usize>(
    piece: &[u8; COUNT],
    next: &[u8; COUNT],
    are: &impl Fn(u8, u8) -> bool,
) -> bool {
    iter::zip(piece, next).fold(false, |any, (byte, next)| any | are(*byte, *next))
}

/// Whether some byte and the two behind it are of a kind.
#[inline]
pub(crate) fn any_three(bytes: &[u8], are: impl Fn(u8, u8, u8) -> bool) -> bool {
    let behind = |count: usize| bytes.get(count..).unwrap_or_default();
    let threes = iter::zip(bytes, iter::zip(behind(1), behind(2)));
    let found = threes.fold(0, |any, (byte, (next, third))| {
        any | u8::from(are(*byte, *next, *third))
    });
    found != 0
}

/// The text without blanks around it. Nearly always there are none, which its first and its last byte tell.
#[inline]
pub(crate) fn trimmed(text: &str) -> &str {
    let is_sign = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_sign(text.as_bytes().first()) && is_sign(text.as_bytes().last()) {
        return text;
    }
    text.trim()
}

/// The text without blanks before it, which its first byte tells as a rule.
#[inline]
pub(crate) fn trimmed_start(text: &str) -> &str {
    if text.as_bytes().first().is_some_and(u8::is_ascii_graphic) {
        return text;
    }
    text.trim_start()
}

/// Whether two short texts are one: told in place, where a call would cost more than what it compares.
#[inline]
pub(crate) fn equal_names(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (Some(end), Some(other_end)) = (one.last_chunk::<8>(), other.last_chunk()) else {
        return one.iter().eq(other);
    };
    let (eights, others) = (one.as_chunks().0, other.as_chunks().0);
    end == other_end
        && eights
            .iter()
            .zip(others)
            .all(|(one, other): (&[u8; 8], _)| one == other)
}

/// Whether a text begins with these words, whatever the case of their letters.
#[inline]
pub(crate) fn begins_ignoring_case(text: &str, words: &str) -> bool {
    let start = text.as_bytes().get(..words.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(words.as_bytes()))
}

/// What stands before these words where a text ends with them, whatever the case of their letters.
#[inline]
pub(crate) fn before_end_ignoring_case<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let begin = text.len().checked_sub(words.len())?;
    let (before, end) = text.split_at_checked(begin)?;
    end.eq_ignore_ascii_case(words).then_some(before)
}

/// How many eights of bytes are looked at one by one before a longer text is expected.
const SHORT_EIGHTS: usize = 4;

/// Where a text stops being plain, from a place on: at a quotation mark, a backslash or a control character, else at the
/// end.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], from: usize) -> usize {
    near_or_far(bytes, from, specials, long_plain)
}

/// Where a quoted text goes on that is not checked: the next quotation mark or backslash, from a place on, else the end.
#[inline]
pub(crate) fn mark(bytes: &[u8], from: usize) -> usize {
    let far = |bytes: &[u8]| memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
    near_or_far(bytes, from, marks, far)
}

/// The ends of what may be longer, of so many bytes each, for looking for something of [`SHORT_BYTES_MAX`] at most: all of it
/// together where that is hardly more.
#[inline]
pub(crate) fn ends(bytes: &[u8], bytes_max: usize) -> [&[u8]; 2] {
    if bytes.len() + SHORT_BYTES_MAX <= 2 * bytes_max {
        return [bytes, &[]];
    }
    let head = &bytes[..bytes.len().min(bytes_max)];
    [head, &bytes[bytes.len().saturating_sub(bytes_max)..]]
}

/// Longest thing that is looked for near the ends of what may be longer.
const SHORT_BYTES_MAX: usize = 16;

/// The next quotation mark, from a place on.
#[inline]
pub(crate) fn quote(bytes: &[u8], from: usize) -> Option<usize> {
    let far = |bytes: &[u8]| memchr(b'"', bytes).unwrap_or(bytes.len());
    let found = near_or_far(bytes, from, |eight| equal(eight, b'"'), far);
    (found < bytes.len()).then_some(found)
}

/// A place that is mostly near: the first of the next bytes whose highest bit `near` sets, where it finds none the one that
/// `far` finds in what follows.
#[inline]
fn near_or_far(
    bytes: &[u8],
    from: usize,
    near: impl Fn(u64) -> u64,
    far: impl Fn(&[u8]) -> usize,
) -> usize {
    let mut rest = bytes.get(from..).unwrap_or_default();
    for _ in 0..SHORT_EIGHTS {
        let Some((eight, behind)) = rest.split_first_chunk() else {
            break;
        };
        let found = near(u64::from_le_bytes(*eight));
        if found != 0 {
            return bytes.len() - rest.len() + (found.trailing_zeros() / 8) as usize;
        }
        rest = behind;
    }
    bytes.len() - rest.len() + far(rest)
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

/// How many bytes at the start are ordinary: plain ASCII without a second blank behind one. The first may be a second blank.
#[inline]
pub(crate) fn ordinary_end(bytes: &[u8], after_blank: bool) -> usize {
    let (eights, rest) = bytes.as_chunks();
    let mut blank_before = u64::from(after_blank) << 7;
    for (eight, at) in eights.iter().zip((0..).step_by(8)) {
        let eight = u64::from_le_bytes(*eight);
        let blanks = equal(eight, b' ');
        let second_blanks = blanks & (blanks << 8 | blank_before);
        let beyond = (eight & each(0x80)) | equal(eight, 0x7f);
        let odd = specials(eight) | beyond | second_blanks;
        if odd != 0 {
            return at + (odd.trailing_zeros() / 8) as usize;
        }
        blank_before = blanks >> 56;
    }
    let mut after_blank = blank_before != 0;
    let is_ordinary = |byte: &u8| match byte {
        b' ' => !std::mem::replace(&mut after_blank, true),
        b'"' | b'\\' => false,
        _ => {
            after_blank = false;
            byte.is_ascii_graphic()
        }
    };
    bytes.len() - rest.len() + rest.iter().copied().take_while(is_ordinary).count()
}

/// The place of the next decimal digit, from a place on.
#[inline]
pub(crate) fn digit(bytes: &[u8], from: usize) -> Option<usize> {
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

/// Has the highest bit of each of eight bytes say whether it is this one.
fn equal(eight: u64, byte: u8) -> u64 {
    let (differ, low) = (eight ^ each(byte), each(0x7f));
    !(((differ & low) + low) | differ | low)
}

/// Has the highest bit of a byte set where it is the first of eight that is not plain; above it, bits say nothing.
fn specials(eight: u64) -> u64 {
    below(eight, b' ') & each(0x80) | marks(eight)
}

/// The same where it is the first quotation mark or backslash.
fn marks(eight: u64) -> u64 {
    let is = |byte: u8| below(eight ^ each(byte), 1);
    (is(b'"') | is(b'\\')) & each(0x80)
}

/// The same where a byte of plain ASCII is the first below one, and nothing of the other bits.
fn below(eight: u64, least: u8) -> u64 {
    // Borrowing from the next byte, the difference is right up to the first byte that it finds.
    eight.wrapping_sub(each(least)) & !eight
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given names of each length, they are the same, and others where any byte differs, or one more is there.
    #[test]
    fn names_are_the_same_or_not() {
        for length in 0..40 {
            let name = &b"gen_ai.usage.cache_read.input_tokens.all"[..length];
            assert!(equal_names(name, name));
            assert!(!equal_names(name, &[name, b"x"].concat()));
            for place in 0..length {
                let mut other = name.to_vec();
                other[place] ^= 1;
                assert!(!equal_names(name, &other), "{place} of {length}");
            }
        }
    }

    /// Given a byte of a kind at each place of texts of each length, it is found there and nowhere else.
    #[test]
    fn what_is_looked_for_is_found() {
        for length in 0..100 {
            let plain = "aé\u{7f}~!".repeat(20).into_bytes();
            let plain = &plain[..length];
            for place in 1..length {
                let mut text = plain.to_vec();
                text[place - 1..=place].copy_from_slice(b"78");
                assert!(any_neighbours(&text, |byte, next| byte == b'7' && next == b'8'));
                assert!(!any_neighbours(&text, |byte, next| byte == b'8' && next == b'7'));
            }
            assert_eq!(plain_end(plain, 0), length);
            assert!(!any(plain, |byte| byte == b'7'));
            for place in 0..length {
                for special in [b'"', b'\\', 0, 0x1f] {
                    let mut text = plain.to_vec();
                    text[place] = special;
                    text[length - 1] = if place + 1 < length { b'"' } else { special };
                    assert_eq!(plain_end(&text, 0), place);
                    assert_eq!(plain_end(&text, place), place);
                    let is_mark = special >= b' ' || place + 1 < length;
                    let marked = if special >= b' ' { place } else { length - 1 };
                    assert_eq!(mark(&text, 0), if is_mark { marked } else { length });
                    let quote_in = |from| text[from..].iter().position(|byte| *byte == b'"');
                    assert_eq!(quote(&text, 0), quote_in(0));
                    assert_eq!(quote(&text, place), quote_in(place).map(|at| place + at));
                    assert!(any(&text, |byte| byte == special));
                }
            }
        }
        assert_eq!(plain_end(b"ab", 3), 2);
    }

    /// Given texts with blanks of any kind around them or without, they come out as `str` trims them.
    #[test]
    fn blanks_are_trimmed() {
        for text in [
            "",
            " ",
            "a",
            "é",
            " a b",
            "a\n",
            "\u{a0}a",
            "a\u{2003}",
            "ab",
        ] {
            assert_eq!(trimmed(text), text.trim());
            assert_eq!(trimmed_start(text), text.trim_start());
        }
    }

    /// Given texts that begin or end with words in other letters, or with words as long that are others, these are told apart,
    /// and no character is cut in two.
    #[test]
    fn words_are_known_in_any_case() {
        for text in ["error", "ERROR: no", "Errors"] {
            assert!(begins_ignoring_case(text, "error"), "{text}");
        }
        for text in ["", "erro", "eérror", "no error"] {
            assert!(!begins_ignoring_case(text, "error"), "{text}");
        }
        let check = |text, expected| {
            let before = before_end_ignoring_case(text, "no error");
            assert_eq!(before, expected, "{text}");
        };
        check("No Error", Some(""));
        check("é: no ERROR", Some("é: "));
        check("error", None);
        check("new error", None);
        check("éo error", None);
        check("é error", None);
        check("no error.", None);
    }

    /// Given signs that are not ordinary, digits and blanks at each place, ordinary text ends before the first that is not, and
    /// the next digit is found.
    #[test]
    fn ordinary_text_ends() {
        for length in 1..40 {
            for place in 0..length {
                for odd in ["\"", "\\", "\n", "\u{7f}", "é", "  "] {
                    let text = format!(
                        "{}{odd}{}",
                        "a b! ~".repeat(7)[..place].trim_end(),
                        "c ".repeat(length - place)
                    );
                    let expected = text.find(odd).expect("it is there") + usize::from(odd == "  ");
                    assert_eq!(ordinary_end(text.as_bytes(), false), expected, "{text}");
                }
                let mut text = "a/ é:\u{7f}\u{b5}".repeat(9).into_bytes();
                text.truncate(length);
                assert_eq!(digit(&text, place), None);
                text[place] = b"09"[place % 2];
                assert_eq!(digit(&text, 0), Some(place));
                assert_eq!(digit(&text, place + 1), None);
            }
        }
        assert_eq!(ordinary_end(b" a", true), 0);
        assert_eq!(ordinary_end(b" a", false), 2);
        assert_eq!(ordinary_end(b"1234567  9abcdef0", false), 8);
    }
}
