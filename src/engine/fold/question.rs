//! Whether two calls ask for the same in other words, or each for something else.
//!
//! A batch asks one question of many things: its calls have a frame in common and name another thing in it (`{"issue":
//! "ABC-1"}`, `check a.py`). An agent that rewords a question says the same words in another order, with other words around
//! them. Both look alike as texts, and both may get the same answer each time; only the second one goes round. So what both say
//! in the same places is the frame, value by value, and what is left is compared.
//!
//! Values that are names are no questions: a person's, an address, a code, or a day are another thing each, and so are long
//! texts that have hardly a word in common.

mod forms;
pub(crate) mod ids;
pub(crate) mod numbers;
mod spelling;
pub(crate) mod things;
pub(super) mod windows;
mod zones;

use std::iter::zip;

use crate::engine::event::HIDDEN;
use crate::engine::similarity::common_ends;

use super::sample::pieces;
use forms::{day, is_name_by_form};
use spelling::is_spelled_otherwise;
use zones::relation_but_for_zones;

/// Shortest word that names something, in bytes: shorter ones are flags and grammar.
const NAME_BYTES_MIN: usize = 3;

/// Words that hold a sentence together and name nothing.
pub(super) const GRAMMAR: [&str; 23] = [
    "a", "an", "and", "are", "at", "by", "for", "from", "how", "in", "is", "no", "not", "of", "on",
    "or", "that", "the", "to", "was", "what", "where", "with",
];

/// How two questions stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The same in other words, or with something added: both say some of the same words.
    Reworded,
    /// A phrase in the place of another with which it has little in common: perhaps the same in wholly other words.
    Rephrased,
    /// The same but for numbers, as pages and items of a list have them.
    Numbered,
    /// The same of another thing.
    Other,
}

impl Relation {
    /// Whether it may be the same question in other words.
    pub(crate) fn is_in_other_words(self) -> bool {
        matches!(self, Self::Reworded | Self::Rephrased)
    }
}

/// How the samples of two calls' arguments stand to each other.
pub(crate) fn relation(left: &str, right: &str) -> Relation {
    if left == right && left.contains(HIDDEN) {
        // They differ where it is not shown.
        return Relation::Other;
    }
    let is_other_text = left != right;
    let samples = (left, right);
    let may_be_names = || !QUESTIONS.iter().any(|name| samples.0.contains(name));
    let mut only = Only::default();
    let mut is_framed = false;
    for (left, right) in values(left, right) {
        if is_spelled_otherwise(left, right) {
            continue;
        }
        let before = (only.left.len(), only.right.len());
        let has_frame = only.add(left, right);
        let (lefts, rights) = (&only.left[before.0..], &only.right[before.1..]);
        // A whole phrase in place of another is a question in other words; a single word is a name, as are several.
        let is_word = lefts.len() == 1 || rights.len() == 1 || is_term(left) || is_term(right);
        let are_names = || are_names(lefts) && are_names(rights) && may_be_names();
        let are_many = lefts.len().min(rights.len()) >= UNRELATED_WORDS_MIN;
        is_framed = is_framed
            || has_frame
            || is_word
            || are_names()
            || (are_many && share_little(lefts, rights));
    }
    let Only { left, right } = only;
    let name = |words: &[&str], others: &[&str]| words.iter().any(|word| is_name(word, others));
    match (name(&left, &right), name(&right, &left)) {
        // All words are the same, and signs and blanks between them differ.
        _ if is_other_text && left.is_empty() && right.is_empty() => Relation::Reworded,
        (false, false) => windows::relation_of_numbers(samples.0, samples.1),
        (true, true) if share_half(&left, &right) => Relation::Reworded,
        (true, true) if !is_framed => Relation::Rephrased,
        // One says the other's words and more.
        (true, false) if adds_names(&left, &right) => Relation::Reworded,
        (false, true) if adds_names(&right, &left) => Relation::Reworded,
        _ => relation_but_for_zones(samples.0, samples.1),
    }
}

/// Whether two calls are about other things each, which they name in at least so many values.
pub(crate) fn names_others(left: &str, right: &str, values_min: usize) -> bool {
    relation(left, right) == Relation::Other
        && (values_min <= 1 || values(left, right).count() >= values_min)
}

/// Whether all that differs between two questions are names, of which they have none in common: whoever looks for one person or
/// product after the other.
pub(crate) fn asks_for_other_names(left: &str, right: &str) -> bool {
    let mut values = values(left, right).peekable();
    let are_others = |(left, right): (&str, &str)| {
        let [left, right] = [left, right].map(|value| words(value).collect::<Vec<_>>());
        are_names(&left) && are_names(&right) && shared(&left, &right).0 == 0
    };
    values.peek().is_some() && values.all(are_others)
}

/// Whether what differs between two questions is options alone, `-v` or `-x`, which say how something is done and not to what.
pub(crate) fn differ_in_options(left: &str, right: &str) -> bool {
    let mut only = Only::default();
    for (left, right) in values(left, right) {
        only.add(left, right);
    }
    let is_option =
        |word: &&str| word.starts_with('-') && !word.contains(|sign: char| sign.is_ascii_digit());
    let mut words = only.left.iter().chain(&only.right).peekable();
    words.peek().is_some() && words.all(is_option)
}

/// Whether the second of two calls, of which the first one failed, tries hardly anything else: what differs begins with the same
/// word, such as a program or a verb, and has more than half of its names in common. Another one may be what mends the cause.
pub(crate) fn tries_the_same(failed: &str, next: &str) -> bool {
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    for (left, right) in values(failed, next) {
        lefts.extend(words(left));
        rights.extend(words(right));
    }
    let begins_alike = lefts.first() == rights.first();
    for names in [&mut lefts, &mut rights] {
        names.retain(|word| is_name(word, &[]));
        names.sort_unstable();
        names.dedup();
    }
    let common = lefts.iter().filter(|name| rights.contains(name)).count();
    begins_alike && common * 2 > lefts.len().max(rights.len())
}

/// The values of both that differ, side by side; the whole texts where they are not built alike.
pub(super) fn values<'t>(
    left: &'t str,
    right: &'t str,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    // None behind a backslash, which may not be a mark.
    let is_mark = |bytes: &[u8]| match bytes {
        [.., before, b'"'] => *before != b'\\',
        _ => bytes == b"\"",
    };
    let (start, end) = equal_ends(left, right, is_mark);
    let lefts = pieces(&left[start..left.len() - end]);
    let rights = pieces(&right[start..right.len() - end]);
    let are_alike = lefts.clone().count() == rights.clone().count();
    let pieces = are_alike.then(|| zip(lefts, rights));
    let whole = (!are_alike).then_some((left, right));
    let pairs = pieces.into_iter().flatten().chain(whole);
    pairs.filter(|(left, right)| left != right)
}

/// The words that only one of two questions has in its place.
#[derive(Default)]
struct Only<'t> {
    left: Vec<&'t str>,
    right: Vec<&'t str>,
}

impl<'t> Only<'t> {
    /// Adds those of two values; says whether they have others in common.
    fn add(&mut self, left: &'t str, right: &'t str) -> bool {
        let is_end = |bytes: &[u8]| match bytes.last() {
            // Beyond ASCII, a byte is not a sign.
            Some(byte) => byte.is_ascii() && is_apart((*byte).into()),
            None => false,
        };
        let (start, end) = equal_ends(left, right, is_end);
        let (begin, rest) = left.split_at(start);
        let (middle, behind) = rest.split_at(rest.len() - end);
        let is_word = |letter: char| !is_apart(letter) && !AROUND_WORDS.contains(&letter);
        let lefts: Vec<_> = words(middle).collect();
        let rights: Vec<_> = words(&right[start..right.len() - end]).collect();
        self.add_without_frame(&lefts, &rights)
            || begin.contains(is_word)
            || behind.contains(is_word)
    }

    /// Adds the words of both without those that both say in the same places: counted from the beginning where they are equally
    /// many, else from both ends. Says whether there are any such.
    fn add_without_frame(&mut self, lefts: &[&'t str], rights: &[&'t str]) -> bool {
        let before = self.left.len();
        let is_same = |(left, right): &(&&str, &&str)| left == right;
        if lefts.len() == rights.len() {
            for (left, right) in zip(lefts, rights).filter(|pair| !is_same(pair)) {
                self.left.push(left);
                self.right.push(right);
            }
        } else {
            let start = zip(lefts, rights).take_while(is_same).count();
            let (rest, others) = (&lefts[start..], &rights[start..]);
            let ends = zip(rest.iter().rev(), others.iter().rev());
            let end = ends.take_while(is_same).count();
            self.left.extend(&rest[..rest.len() - end]);
            self.right.extend(&others[..others.len() - end]);
        }
        self.left.len() - before < lefts.len()
    }
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

/// Signs around a word that do not belong to it, and within one do.
const AROUND_WORDS: [char; 2] = ['.', ':'];

/// The words of a text. A path, an address or an id is one word, and so is each sign of a script without blanks.
pub(super) fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    let words = text.split(is_apart);
    let words = words.flat_map(|word| word.split_inclusive(is_word_alone));
    let words = words.map(|word| word.trim_matches(AROUND_WORDS));
    words.filter(|word| !word.is_empty())
}

/// Whether a sign is of a script that may have no blanks between words: one of at least three bytes, as in the sketches of long
/// texts.
fn is_word_alone(letter: char) -> bool {
    letter.len_utf8() >= 3
}

/// Whether a sign stands between words.
fn is_apart(letter: char) -> bool {
    match letter {
        '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '=' | '\'' | '`' | '*' | '\\' | '"'
        | '?' | '!' => true,
        _ => letter.is_whitespace(),
    }
}

/// Fewest words of two texts that are no question in other words where they have little in common: who asks anew keeps some.
const UNRELATED_WORDS_MIN: usize = 8;

/// Names of arguments that hold a question, in which some languages write each thing with a capital.
pub(super) const QUESTIONS: [&str; 9] = [
    "\"query\":",
    "\"q\":",
    "\"question\":",
    "\"search\":",
    "\"search_query\":",
    "\"searchQuery\":",
    "\"search_term\":",
    "\"keywords\":",
    "\"prompt\":",
];

/// Most words of a name.
const NAME_WORDS_MAX: usize = 4;

/// Whether a value is one word of a script that has no blanks between words, or an unbroken one of Korean or of katakana, as
/// entries of a glossary are.
fn is_term(value: &str) -> bool {
    let is_unbroken =
        |letter: char| matches!(letter, '\u{30a0}'..='\u{30ff}' | '\u{ac00}'..='\u{d7a3}');
    let signs = value.chars().count();
    let signs_max = if value.chars().all(is_unbroken) {
        UNBROKEN_SIGNS_MAX
    } else {
        TERM_SIGNS_MAX
    };
    signs <= signs_max
        && value
            .chars()
            .all(|letter| letter.is_alphabetic() && is_word_alone(letter))
}

/// Most signs of a word of several ideograms; more are a phrase.
const TERM_SIGNS_MAX: usize = 4;

/// Most signs of an unbroken word.
const UNBROKEN_SIGNS_MAX: usize = 12;

/// Whether words are a name together, each in capitals or with a capital at its beginning, perhaps with a number: `Ava Meier`,
/// `10115 Berlin`.
fn are_names(words: &[&str]) -> bool {
    let is_number = |word: &str| word.bytes().all(|digit| digit.is_ascii_digit());
    let is_one = |word: &&str| word.starts_with(char::is_uppercase) || is_number(word);
    words.len() <= NAME_WORDS_MAX
        && words.iter().all(is_one)
        && !words.iter().all(|word| is_number(word))
}

/// Whether a word names something: not a word of grammar, and no number with a few letters around it, as `user14` and `3rd` are,
/// unless the letters are others, as in `us-east-1` and `eu-west-1`. A day is a name, also within another one, an address of a
/// machine, its name, and a code in capitals, `DE` or `W4711`. Of a path, what it does not share with one of these counts.
fn is_name(word: &str, others: &[&str]) -> bool {
    if let Some(day) = day(word) {
        return !others.iter().any(|other| forms::day(other) == Some(day));
    }
    if is_name_by_form(word) {
        return true;
    }
    let has_digits = |word: &str| word.bytes().any(|sign| sign.is_ascii_digit());
    let is_numbered = || {
        let own = has_digits(word).then(|| own_part(word, others));
        own.is_some_and(|own| has_digits(own) && !has_letters_of_its_own(own, others))
    };
    let is_word = word.len() >= NAME_BYTES_MIN && word.contains(char::is_alphabetic);
    let is_grammar = || {
        let mut grammar = GRAMMAR.iter();
        grammar.any(|grammar| word.eq_ignore_ascii_case(grammar))
    };
    is_word && !is_grammar() && !is_numbered()
}

/// Whether the letters of a word with digits are others than those of each of these, so that it is no number that was counted up,
/// and no end by chance behind a name (`api-7d4f-x2v9k`): less than half of them stand at the beginning of one of these, unless the
/// digits are the same.
fn has_letters_of_its_own(word: &str, others: &[&str]) -> bool {
    let digits = |word: &str| -> String { word.chars().filter(char::is_ascii_digit).collect() };
    let letters = |word: &str| -> String {
        let letters = word.chars().filter(|letter| letter.is_alphabetic());
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let (own, numbers) = (letters(word), digits(word));
    let is_own = |other: &&str| {
        let is_same_number = digits(other) == numbers;
        let other = letters(other);
        if is_same_number {
            return other != own;
        }
        let (shared, _) = common_ends(own.as_bytes(), other.as_bytes());
        shared * 2 < own.len() && !other.contains(&own)
    };
    own.len() >= NAME_BYTES_MIN && others.iter().all(is_own)
}

/// Of a path, `/v2/users/ann`, the parts by which it differs from that of these which it is most like.
fn own_part<'t>(path: &'t str, others: &[&str]) -> &'t str {
    let is_cut = |bytes: &[u8]| bytes.last() == Some(&b'/');
    let shared = others.iter().map(|other| equal_ends(path, other, is_cut));
    let (start, end) = shared
        .max_by_key(|(start, end)| start + end)
        .unwrap_or_default();
    &path[start..path.len() - end]
}

/// Whether one says the other's words and names more, perhaps with other numbers: each number of the other has one in its place.
fn adds_names(more: &[&str], numbers: &[&str]) -> bool {
    let is_number = |word: &&&str| !is_name(word, numbers);
    numbers.is_empty() || more.iter().filter(is_number).count() == numbers.len()
}

/// Whether at least half of the names in one are also in the other: two of them, or the only one.
fn share_half(left: &[&str], right: &[&str]) -> bool {
    let (common, fewer) = shared(left, right);
    common >= fewer.min(SHARED_MIN) && common * 2 >= fewer
}

/// Whether less than a quarter of the names in one are also in the other.
fn share_little(left: &[&str], right: &[&str]) -> bool {
    let (common, fewer) = shared(left, right);
    common * 4 < fewer
}

/// How many names both have, and how many that one has which has fewer.
fn shared(left: &[&str], right: &[&str]) -> (usize, usize) {
    fn names<'t>(words: &[&'t str], others: &[&str]) -> Vec<&'t str> {
        let is_name = |word: &&str| is_name(word, others);
        let mut names: Vec<_> = words.iter().copied().filter(is_name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    let (left, right) = (names(left, right), names(right, left));
    let is_shared = |word: &&&str| right.iter().any(|other| is_same(word, other));
    let common = left.iter().filter(is_shared).count();
    (common, left.len().min(right.len()))
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

    use super::{Only, Relation, pieces, relation, values, words};

    #[track_caller]
    fn check(left: &str, right: &str, expected: Relation) {
        assert_eq!(relation(left, right), expected, "{left} {right}");
        assert_eq!(relation(right, left), expected, "{right} {left}");
    }

    /// Given terms of a script without blanks, each is another one; a phrase in it may be the same in other words.
    #[test]
    fn terms_of_scripts_without_blanks() {
        let asks = |term: &str| format!("{{\"term\":\"{term}\"}}");
        for (left, right) in [
            ("勘定", "在庫"),
            ("应收账款", "固定资产"),
            ("데이터베이스", "상태"),
            ("パラメーター", "サーバー"),
        ] {
            check(&asks(left), &asks(right), Relation::Other);
        }
        check(
            &asks("渡轮时刻表"),
            &asks("何时有船呢"),
            Relation::Rephrased,
        );
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
            r#"{"query":"harbour ferry times 2024"}"#,
            r#"{"query":"harbour ferry times winter 2026"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"command":"grep -rn 'open_door' src"}"#,
            r#"{"command":"rg open_door"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"pattern":"open_door\\("}"#,
            r#"{"pattern":"open_door"}"#,
            Relation::Reworded,
        );
        check(
            r#"{"sql":"SELECT a,b FROM c;"}"#,
            r#"{"sql":"SELECT a, b FROM c"}"#,
            Relation::Reworded,
        );
        check(r#"{"page":[1]}"#, r#"{"page":[2]}"#, Relation::Numbered);
    }

    /// Given whole phrases that have nothing in common, they may be one question in wholly other words; single words are names.
    #[test]
    fn phrases_and_names() {
        check(
            r#"{"query":"who pays hotels"}"#,
            r#"{"query":"refund after a strike"}"#,
            Relation::Rephrased,
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
            r#"{"command":"curl -s https://a.example/v1/users/ann | jq .state"}"#,
            r#"{"command":"curl -s https://a.example/v1/users/bob | jq .state"}"#,
            Relation::Other,
        );
        check(
            r#"{"path":"/srv/app-11039/src/a.py"}"#,
            r#"{"path":"/srv/app-11040/src/a.py"}"#,
            Relation::Numbered,
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
        check(
            r#"{"command":"git show 61f40293 -- a.rs"}"#,
            r#"{"command":"git show 9402e715 -- a.rs"}"#,
            Relation::Other,
        );
        check(r#"{"id":"ann"}"#, r#"{"id":"17"}"#, Relation::Other);
    }

    /// Given values that are names, of people, addresses, codes, days or ids, each is another thing.
    #[test]
    fn values_that_are_names() {
        for (key, left, right) in [
            ("customer", "Ava Meier", "Ben Okafor"),
            ("to", "10115 Berlin", "80331 München"),
            ("country", "DE", "FR"),
            ("order", "W4711", "W4712"),
            ("notice", "CVE-2026-1234", "CVE-2026-1235"),
            ("contract", "C-118.pdf", "C-907.pdf"),
            ("path", "data/sales_2023.csv", "data/costs_2023.csv"),
            ("host", "alpha-prod-01", "bravo-prod-01"),
            ("region", "ap-south-1", "ap-southeast-1"),
            ("region", "eu-west-1", "eu-west-2"),
            ("locale", "de_DE", "fr_FR"),
            ("region", "us-east-1", "eu-central-1"),
            ("ip", "10.0.1.14", "10.0.2.7"),
            (
                "id",
                "0f21ddb6-6cad-4a26-8d11-6ece1738f7d9",
                "f28c105d-1fb1-4c23-90c1-92cfd3ac94af",
            ),
            ("from", "2026-03-10T00:00:00Z", "2026-03-11T00:00:00Z"),
            (
                "path",
                "/var/log/a/2026-03-10.log.gz",
                "/var/log/a/2026-03-11.log.gz",
            ),
            ("path", "app-2026-03-10.log", "app-2026-03-11.log"),
            ("email", "[redacted]", "[redacted]"),
            (
                "text",
                "Photosynthesis converts sunlight into chemical energy stored in glucose molecules.",
                "Our delivery van broke down near Leipzig and the driver waited three hours.",
            ),
        ] {
            let [left, right] = [left, right].map(|value| format!("{{\"{key}\":\"{value}\"}}"));
            check(&left, &right, Relation::Other);
        }
        for (key, left, right, expected) in [
            (
                "since",
                "2026-03-10T10:00:00Z",
                "2026-03-10T10:05:00Z",
                Relation::Numbered,
            ),
            ("page", "3rd", "4th", Relation::Numbered),
            (
                "pod",
                "api-7d4f-x2v9k",
                "api-7d4f-q8w5z",
                Relation::Numbered,
            ),
            ("symbol", "orchid_17", "orchid_18", Relation::Numbered),
            (
                "version",
                "release-1.2.3",
                "release-1.2.4",
                Relation::Numbered,
            ),
            ("query", "Ava Meier", "Meier Ava", Relation::Reworded),
            (
                "text",
                "please list all ferry departures from the harbour on winter sundays",
                "which ferry leaves the harbour when it is a sunday during winter",
                Relation::Reworded,
            ),
            ("query", "Ava Meier", "orders of ava", Relation::Rephrased),
            ("query", "", "", Relation::Numbered),
        ] {
            let [left, right] = [left, right].map(|value| format!("{{\"{key}\":\"{value}\"}}"));
            check(&left, &right, expected);
        }
    }

    /// Given texts of a script without blanks, their signs are compared as words are.
    #[test]
    fn scripts_without_blanks() {
        // The first two bytes of both are the same, of which the second is a blank in another encoding.
        check(r#"{"q":"校"}"#, r#"{"q":"样"}"#, Relation::Other);
        check(
            r#"{"q":"查询用户张三"}"#,
            r#"{"q":"查询用户李四"}"#,
            Relation::Other,
        );
        check(
            r#"{"q":"北京天气"}"#,
            r#"{"q":"北京今天天气"}"#,
            Relation::Reworded,
        );
    }

    proptest::proptest! {
        /// Given any texts, leaving out what is equal at their ends changes nothing of what differs.
        #[test]
        fn equal_ends_do_not_matter(
            start in "[\"\\\\a .é校]{0,6}",
            own in "[\"\\\\ab. 1校样]{0,6}",
            other in "[\"\\\\ab. 1校样]{0,6}",
            end in "[\"\\\\a .é样]{0,6}",
        ) {
            let (left, right) = (format!("{start}{own}{end}"), format!("{start}{other}{end}"));
            let lefts: Vec<_> = pieces(&left).collect();
            let rights: Vec<_> = pieces(&right).collect();
            let pairs = zip(&lefts, &rights).map(|(left, right)| (*left, *right));
            let mut expected: Vec<_> = pairs.filter(|(left, right)| left != right).collect();
            if lefts.len() != rights.len() {
                expected = vec![(&*left, &*right)];
            }
            proptest::prop_assert_eq!(values(&left, &right).collect::<Vec<_>>(), expected);
            // Of one word said twice, either may be the other's.
            let told = |(only, has_frame): (Only<'_>, bool)| {
                let [mut left, mut right] = [only.left, only.right].map(|words| words.join(" "));
                let sorted = |words: &mut String| {
                    let mut apart: Vec<_> = words.split(' ').collect();
                    apart.sort_unstable();
                    *words = apart.join(" ");
                };
                sorted(&mut left);
                sorted(&mut right);
                (left, right, has_frame)
            };
            let mut whole = Only::default();
            let [lefts, rights] = [&left, &right].map(|text| words(text).collect::<Vec<_>>());
            let has_frame = whole.add_without_frame(&lefts, &rights);
            let mut middle = Only::default();
            let finds_frame = middle.add(&left, &right);
            proptest::prop_assert_eq!(told((middle, finds_frame)), told((whole, has_frame)));
        }
    }
}
