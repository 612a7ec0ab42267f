//! Whether two calls ask for the same in other words, or each for something else.
//!
//! A batch asks one question of many things: its calls have a frame in common and name another thing in it (`{"issue":
//! "ABC-1"}`, `check a.py`). An agent that rewords a question says the same words in another order, with other words around
//! them. Both look alike as texts, and both may get the same answer each time; only the second one goes round. So what both say
//! in the same places is the frame, value by value, and what is left is compared.

use std::iter::zip;

use super::similarity::common_ends;

/// Shortest word that names something, in bytes: shorter ones are flags and grammar.
const NAME_BYTES_MIN: usize = 3;

/// Words that hold a question together and name nothing.
const GRAMMAR: [&str; 12] = [
    "and", "for", "from", "where", "with", "the", "that", "are", "was", "what", "how", "not",
];

/// How two questions stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The same in other words, or with something added.
    Reworded,
    /// The same but for numbers, as pages and items of a list have them.
    Numbered,
    /// The same of another thing.
    Other,
}

/// How the samples of two calls' arguments stand to each other.
pub(crate) fn relation(left: &str, right: &str) -> Relation {
    let (mut only_left, mut only_right) = (Vec::new(), Vec::new());
    let mut is_framed = false;
    for (left, right) in values(left, right) {
        let (own, others, has_frame) = differing(left, right);
        // A whole phrase in place of another is a question in other words; a single word is a name.
        is_framed |= has_frame || own.len() == 1 || others.len() == 1;
        only_left.extend(own);
        only_right.extend(others);
    }
    let names = |words: &[&str]| words.iter().any(|word| is_name(word));
    match (names(&only_left), names(&only_right)) {
        (false, false) => Relation::Numbered,
        (true, true) if !is_framed || share_half(&only_left, &only_right) => Relation::Reworded,
        // One says the other's words and more.
        (true, false) if only_right.is_empty() => Relation::Reworded,
        (false, true) if only_left.is_empty() => Relation::Reworded,
        _ => Relation::Other,
    }
}

/// The values of both that differ, side by side; the whole texts where they are not built alike.
fn values<'t>(left: &'t str, right: &'t str) -> Vec<(&'t str, &'t str)> {
    // None behind a backslash, which may not be a mark.
    let is_mark = |bytes: &[u8]| match bytes {
        [.., before, b'"'] => *before != b'\\',
        _ => bytes == b"\"",
    };
    let (start, end) = equal_ends(left, right, is_mark);
    let lefts = pieces(&left[start..left.len() - end]);
    let rights = pieces(&right[start..right.len() - end]);
    if lefts.len() != rights.len() {
        return vec![(left, right)];
    }
    let pairs = zip(lefts, rights);
    pairs.filter(|(left, right)| left != right).collect()
}

/// The words that only one of two values has in its place, and whether they have others in common.
fn differing<'t>(left: &'t str, right: &'t str) -> (Vec<&'t str>, Vec<&'t str>, bool) {
    let is_end = |bytes: &[u8]| bytes.last().is_some_and(|byte| is_apart((*byte).into()));
    let (start, end) = equal_ends(left, right, is_end);
    let (begin, rest) = left.split_at(start);
    let (middle, behind) = rest.split_at(rest.len() - end);
    let (lefts, rights) = (words(middle), words(&right[start..right.len() - end]));
    let (own, others) = without_frame(&lefts, &rights);
    let is_word = |letter: char| !is_apart(letter) && !AROUND_WORDS.contains(&letter);
    let has_frame = own.len() < lefts.len() || begin.contains(is_word) || behind.contains(is_word);
    (own, others, has_frame)
}

/// How much is equal at the beginning and at the end of two texts, which is most of what two calls of a tool say: from signs on
/// behind which a text may be cut, which are ASCII, and of which the one at the end and the sign before it belong to what is
/// equal.
fn equal_ends(left: &str, right: &str, is_cut: impl Fn(&[u8]) -> bool) -> (usize, usize) {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let (prefix, _) = common_ends(left, right);
    let mut starts = (1..=prefix).rev();
    let start = starts.find(|at| is_cut(&left[..*at])).unwrap_or(0);
    let (left, right) = (&left[start..], &right[start..]);
    let (_, suffix) = common_ends(left, right);
    let mut ends = left.len() - suffix + 2..=left.len();
    let end = ends.find(|at| is_cut(&left[..*at]));
    (start, end.map_or(0, |at| left.len() + 1 - at))
}

/// A JSON text, cut at its quotation marks.
fn pieces(json: &str) -> Vec<&str> {
    if !json.contains('\\') {
        return json.split('"').collect();
    }
    let mut is_escaped = false;
    let is_mark = |letter: char| {
        let is_mark = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_mark
    };
    json.split(is_mark).collect()
}

/// Signs around a word that do not belong to it, and within one do.
const AROUND_WORDS: [char; 2] = ['.', ':'];

/// The words of a text. A path, an address or an id is one word.
fn words(text: &str) -> Vec<&str> {
    let words = text.split(is_apart);
    let words = words.map(|word| word.trim_matches(AROUND_WORDS));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whether a sign stands between words.
fn is_apart(letter: char) -> bool {
    letter.is_whitespace() || "()[]{},;='`*\\\"?!".contains(letter)
}

/// Both without the words that both say in the same places: counted from the beginning where they are equally long, else from
/// both ends.
fn without_frame<'t>(left: &[&'t str], right: &[&'t str]) -> (Vec<&'t str>, Vec<&'t str>) {
    if left.len() == right.len() {
        let differing = zip(left, right).filter(|(l, r)| l != r);
        return differing.map(|(l, r)| (*l, *r)).unzip();
    }
    let start = zip(left, right).take_while(|(l, r)| l == r).count();
    let (left, right) = (&left[start..], &right[start..]);
    let ends = zip(left.iter().rev(), right.iter().rev());
    let end = ends.take_while(|(l, r)| l == r).count();
    let without = |words: &[&'t str]| words[..words.len() - end].to_vec();
    (without(left), without(right))
}

/// Whether a word names something: not a word of grammar, and no number with a few letters around it, as `user14`, `W4711` and
/// `3rd` are. A day is a name.
fn is_name(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_day = word.len() == 10 && digits == 8 && word.matches('-').count() == 2;
    let is_word = word.len() >= NAME_BYTES_MIN && word.contains(char::is_alphabetic) && digits == 0;
    is_day
        || (is_word
            && !GRAMMAR
                .iter()
                .any(|grammar| word.eq_ignore_ascii_case(grammar)))
}

/// Whether at least half of the names in one are also in the other: two of them, or the only one.
fn share_half(left: &[&str], right: &[&str]) -> bool {
    fn names<'t>(words: &[&'t str]) -> Vec<&'t str> {
        let mut names: Vec<_> = words.iter().copied().filter(|word| is_name(word)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    let (left, right) = (names(left), names(right));
    let shared = |word: &&&str| right.iter().any(|other| is_same(word, other));
    let (common, fewer) = (
        left.iter().filter(shared).count(),
        left.len().min(right.len()),
    );
    common >= fewer.min(SHARED_MIN) && common * 2 >= fewer
}

/// Fewest names that two questions have in common, if both have so many: one may be the same by chance.
const SHARED_MIN: usize = 2;

/// Whether two words are one, or one is a form of the other: `config`, `configs`, `the_config`.
fn is_same(left: &str, right: &str) -> bool {
    let (short, long) = if left.len() < right.len() {
        (left, right)
    } else {
        (right, left)
    };
    left.eq_ignore_ascii_case(right) || (short.len() >= FORM_BYTES_MIN && long.contains(short))
}

/// Shortest word that is known in its forms, in bytes.
const FORM_BYTES_MIN: usize = 5;

#[cfg(test)]
mod tests {
    use std::iter::zip;

    use super::{Relation, differing, pieces, relation, values, without_frame, words};

    #[track_caller]
    fn check(left: &str, right: &str, expected: Relation) {
        assert_eq!(relation(left, right), expected, "{left} {right}");
        assert_eq!(relation(right, left), expected, "{right} {left}");
    }

    /// Given a question in other words, in another order, or with something added, it is the same question.
    #[test]
    fn questions_in_other_words() {
        check(
            r#"{"query":"harbour ferry times"}"#,
            r#"{"query":"when does the ferry leave the harbour"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"query":"harbour ferry times"}"#,
            r#"{"query":"harbour ferry times winter"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"command":"grep -rn 'open_door' src"}"#,
            r#"{"command":"rg open_door"}"#,
            Relation::Reworded,
        );
    }

    /// Given whole phrases that have nothing in common, they may be one question in wholly other words; single words are names.
    #[test]
    fn phrases_and_names() {
        check(
            r#"{"query":"who pays hotels"}"#,
            r#"{"query":"refund after a strike"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"url":"https://a.example/harbour/health"}"#,
            r#"{"url":"https://a.example/ferry/health"}"#,
            Relation::Other,
        );
        check(
            r#"{"command":"grep -rn \"run_config\" src"}"#,
            r#"{"command":"grep -rn \"run_configs\" src"}"#,
            Relation::Reworded,
        );
    }

    /// Given one question about other things, however long the frame is, each is another question; where the things are
    /// numbers, that is said.
    #[test]
    fn questions_about_other_things() {
        check(r#"{"user":"ann"}"#, r#"{"user":"bob"}"#, Relation::Other);
        check(
            r#"{"command":"npx biome check src/a.ts"}"#,
            r#"{"command":"npx biome check src/b.ts"}"#,
            Relation::Other,
        );
        check(
            r#"{"description":"Review parser","prompt":"Review the module parser for leaks."}"#,
            r#"{"description":"Review writer","prompt":"Review the module writer for leaks."}"#,
            Relation::Other,
        );
        check(
            r#"{"sql":"SELECT orchid FROM garden WHERE orchid IS NULL"}"#,
            r#"{"sql":"SELECT copper FROM tunnel WHERE copper IS NULL"}"#,
            Relation::Other,
        );
        check(
            r#"{"day":"2027-03-04"}"#,
            r#"{"day":"2027-03-05"}"#,
            Relation::Other,
        );
        check(
            r#"{"page":1,"q":"a b"}"#,
            r#"{"page":2,"q":"a b"}"#,
            Relation::Numbered,
        );
        check(
            r#"{"email":"user14@mail.example","zip":"10000"}"#,
            r#"{"email":"user7@mail.example","zip":"20000"}"#,
            Relation::Numbered,
        );
    }

    proptest::proptest! {
        /// Given any texts, leaving out what is equal at their ends changes nothing of what differs.
        #[test]
        fn equal_ends_do_not_matter(
            start in "[\"\\\\a .é]{0,6}",
            own in "[\"\\\\ab. 1]{0,6}",
            other in "[\"\\\\ab. 1]{0,6}",
            end in "[\"\\\\a .é]{0,6}",
        ) {
            let (left, right) = (format!("{start}{own}{end}"), format!("{start}{other}{end}"));
            let (lefts, rights) = (pieces(&left), pieces(&right));
            let pairs = zip(&lefts, &rights).map(|(left, right)| (*left, *right));
            let mut expected: Vec<_> = pairs.filter(|(left, right)| left != right).collect();
            if lefts.len() != rights.len() {
                expected = vec![(&*left, &*right)];
            }
            proptest::prop_assert_eq!(values(&left, &right), expected);
            let (lefts, rights) = (words(&left), words(&right));
            // Of one word said twice, either may be the other's.
            let sorted = |mut words: Vec<_>| {
                words.sort_unstable();
                words
            };
            let (own, others) = without_frame(&lefts, &rights);
            let has_frame = own.len() < lefts.len();
            let expected = (sorted(own), sorted(others), has_frame);
            let (own, others, has_frame) = differing(&left, &right);
            proptest::prop_assert_eq!((sorted(own), sorted(others), has_frame), expected);
        }
    }
}
