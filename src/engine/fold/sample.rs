//! The sample of arguments, read: JSON text without blanks between its signs, of which the middle may be cut out, or any other
//! text.

use std::iter;
use std::ops::Range;

/// A JSON text, cut at its quotation marks.
pub(super) fn pieces(json: &str) -> impl Iterator<Item = &str> + Clone {
    let (mut rest, mut is_escaped) = (Some(json), false);
    iter::from_fn(move || {
        let text = rest?;
        let mark = text.bytes().position(|sign| {
            let is_mark = sign == b'"' && !is_escaped;
            is_escaped = sign == b'\\' && !is_escaped;
            is_mark
        });
        rest = mark.map(|at| &text[at + 1..]);
        Some(&text[..mark.unwrap_or(text.len())])
    })
}

/// A member of an object, at whatever depth.
pub(super) struct Member<'s> {
    pub(super) name: &'s str,
    /// A text without its quotation marks; a number or a word; empty where it is a list or an object.
    pub(super) value: &'s str,
    /// Where the value is in the sample.
    pub(super) place: Range<usize>,
}

/// The members of all objects in a sample, in their order.
pub(super) fn members(sample: &str) -> impl Iterator<Item = Member<'_>> {
    let colons = sample.match_indices(':').map(|(at, _)| at);
    let mut marks = colons.filter(|at| sample[..*at].ends_with('"'));
    // Where the newest value ends: a mark before that is a part of it.
    let mut taken = 0;
    iter::from_fn(move || {
        let colon = marks.find(|colon| *colon > taken)?;
        let name = sample[taken..colon - 1].rsplit('"').next();
        let name = name.unwrap_or_default();
        let behind = colon + 1;
        let rest = &sample[behind..];
        let place = if let Some(text) = rest.strip_prefix('"') {
            behind + 1..behind + 1 + text_bytes(text)
        } else {
            let length = rest.find([',', '}', ']', '{', '[']);
            behind..behind + length.unwrap_or(rest.len())
        };
        taken = place.end;
        let value = &sample[place.clone()];
        Some(Member { name, value, place })
    })
}

/// Whether three letters of which this holds stand behind a quotation mark in a sample; what comes behind its end are zeros. Mostly
/// none do, which is seen for all places of a block at a time, and blocks without a mark are passed over.
#[inline]
#[allow(
    clippy::needless_bitwise_bool,
    reason = "all places of a block at a time"
)]
pub(super) fn quotes(sample: &str, is_it: impl Fn([u8; 3]) -> bool) -> bool {
    const BLOCK: usize = 32;
    const SEEN: usize = BLOCK + 3;
    let has_it = |seen: &[u8; SEEN]| {
        let is_mark = |any, letter: &u8| any | (*letter == b'"');
        let is_it = |any, letters: &[u8]| {
            any | ((letters[0] == b'"') & is_it([letters[1], letters[2], letters[3]]))
        };
        seen[..BLOCK].iter().fold(false, is_mark) && seen.windows(4).fold(false, is_it)
    };
    let sample = sample.as_bytes();
    let rest = &sample[sample.len().saturating_sub(3) / BLOCK * BLOCK..];
    let mut last = [0; SEEN];
    last[..rest.len()].copy_from_slice(rest);
    let whole = sample.windows(SEEN).step_by(BLOCK);
    let whole = whole.filter_map(|seen| seen.first_chunk());
    whole.chain([&last]).any(has_it)
}

/// Length of a text up to the quotation mark that ends it.
fn text_bytes(text: &str) -> usize {
    let is_end = |(at, _): &(usize, &str)| {
        let escapes = text.as_bytes()[..*at].iter().rev();
        escapes.take_while(|sign| **sign == b'\\').count() % 2 == 0
    };
    let end = text.match_indices('"').find(is_end);
    end.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::members;

    /// Given arguments, their members are told with values, whatever these hold; of a sample that was cut, as far as it goes.
    #[test]
    fn members_are_told() {
        let check = |sample: &str, expected: &[(&str, &str)]| {
            let told: Vec<_> = members(sample).map(|one| (one.name, one.value)).collect();
            assert_eq!(told, expected, "{sample}");
            for one in members(sample) {
                assert_eq!(&sample[one.place], one.value, "{sample}");
            }
        };
        check(
            r#"{"a":"x \"y\": 1","b":{"c":5,"d":[true]},"e":null}"#,
            &[
                ("a", r#"x \"y\": 1"#),
                ("b", ""),
                ("c", "5"),
                ("d", ""),
                ("e", "null"),
            ],
        );
        check(
            r#"{"cursor":"a\\","q":"x"}"#,
            &[("cursor", r"a\\"), ("q", "x")],
        );
        check(r#"{"a":"x"#, &[("a", "x")]);
        check(r#"{"a":"#, &[("a", "")]);
        check("make test", &[]);
        check("", &[]);
    }
}
