//! Hits that a search tells line by line, in words: `1. Opening hours (score: 0.83)`.
//!
//! Asked in other words, a search may find the same in another order, each hit with another score and in another place. What is
//! compared are the lines, whatever their order, without either.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::engine::event::ITEMS_MIN;

use super::arguments::Arguments;
use super::digest::{Shape, scalar};
use super::items::Items;
use super::scratch::Scratch;
use super::{hash, mask, unquote, wide};

/// Longest text that is read line by line: a longer one is a page.
const READ_BYTES_MAX: usize = 16 * 1024;

/// Longest arguments that are a question.
pub(super) const ARGUMENTS_BYTES_MAX: usize = 1_024;

/// How the end of a line is written in JSON text.
static LINE_END: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\\n"));

/// Names of arguments that hold what is searched for.
pub(super) const QUESTIONS: [&str; 8] = [
    "query",
    "q",
    "question",
    "search",
    "search_query",
    "searchQuery",
    "keywords",
    "search_term",
];

/// What is kept of such a text.
pub(super) struct Hits {
    pub(super) masked: u64,
    pub(super) items: Box<[u16]>,
}

/// The hits in a result, which is JSON text or the text within a block, of a call with these arguments; `None` where nothing was
/// searched for, or the result is no text of several lines that say something.
pub(super) fn hits(json: &str, arguments: &Arguments<'_>) -> Option<Hits> {
    if json.len() > READ_BYTES_MAX || json.starts_with('{') || !arguments.is_question() {
        return None;
    }
    let has_lines = if json.starts_with('"') {
        LINE_END.find(json.as_bytes()).is_some()
    } else {
        json.contains('\n')
    };
    if !has_lines {
        return None;
    }
    let text = unquote(json);
    if ["{", "[{", "[\"", "[[", "[\n"]
        .iter()
        .any(|begin| text.starts_with(begin))
    {
        return None;
    }
    let (mut masked, mut items, mut scored) = (0_u64, Items::default(), 0);
    for line in text.lines() {
        let ranked = without_rank(line);
        let line = without_scores(ranked);
        scored += usize::from(line.len() < ranked.len());
        let hash = hash::text(&mask::text(&line));
        if !line.is_empty() {
            masked = masked.wrapping_add(hash::mix(hash, 0));
            items.add(&scalar(hash, line.len(), Shape::Text));
        }
    }
    (items.count().max(scored) >= ITEMS_MIN).then(|| Hits {
        masked,
        items: items.told(),
    })
}

/// A line without its place among the others: `1. `, `[2] `, `- `.
fn without_rank(line: &str) -> &str {
    let is_sign = |sign: char| matches!(sign, ' ' | '\t' | '#' | '-' | '*' | '[' | '(');
    let line = line.trim_end();
    let number = line.trim_start_matches(is_sign);
    let behind = number.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let rest = behind.trim_start_matches(['.', ')', ']', ':']);
    if rest.len() < behind.len() && rest.starts_with(' ') {
        rest.trim_start()
    } else {
        number
    }
}

/// A line without scores, which are nought and some decimals, or one and noughts.
fn without_scores(line: &str) -> Scratch {
    let mut rest = Scratch::default();
    let (mut copied, mut at) = (0, 0);
    while let Some(from) = wide::digit(line.as_bytes(), at) {
        let digits = line[from..].bytes();
        let length = digits
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count();
        let number = line[from..from + length].trim_end_matches('.');
        at = from + length;
        let is_within = line[..from].ends_with(|sign: char| sign.is_alphanumeric());
        let decimals = number.strip_prefix("0.").or_else(|| {
            let noughts = number.strip_prefix("1.")?;
            noughts
                .bytes()
                .all(|digit| digit == b'0')
                .then_some(noughts)
        });
        if !is_within && decimals.is_some_and(|decimals| !decimals.is_empty()) {
            rest.push_str(&line[copied..from]);
            copied = from + number.len();
        }
    }
    rest.push_str(&line[copied..]);
    rest
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Hits};

    fn hits(json: &str, arguments: &str) -> Option<Hits> {
        super::hits(json, &Arguments::of(arguments))
    }

    const ASKED: &str = r#"{"query":"hours"}"#;

    fn masked(text: &str) -> Option<u64> {
        let json = serde_json::Value::from(text).to_string();
        hits(&json, ASKED).map(|hits| hits.masked)
    }

    /// Given the same hits in another order and with other scores, they are the same; others are others.
    #[test]
    fn order_and_scores_are_no_news() {
        let [hours, cards, ships] = [
            "Opening hours of all shops",
            "Gift cards and how to use them",
            "How long ships take to come",
        ];
        let one = masked(&format!(
            "1. {hours} (score: 0.83)\n2. {cards} (score: 0.71)\n[3] {ships} (0.52)"
        ));
        let two = masked(&format!(
            "1. {ships} (0.9731)\n2. {hours} (score: 1.00)\n3. {cards} (score: 0.6)"
        ));
        assert!(one.is_some());
        assert_eq!(one, two);
        let other = masked(&format!(
            "1. {ships} (0.9731)\n2. {hours} (score: 1.00)\n3. {cards} again (costs 4.50, score: 0.61)"
        ));
        assert_ne!(one, other);
    }

    /// Given a text of few lines, one that is JSON, or no question, there are no hits.
    #[test]
    fn other_results() {
        assert_eq!(masked("Opening hours of all shops\nand no more"), None);
        let text = "Opening hours of all shops\nGift cards and how to use them\nHow long ships take to come";
        assert!(masked(text).is_some());
        let within = |text: &str| hits(text, ASKED).map(|hits| hits.masked);
        assert_eq!(within(text), masked(text));
        assert_eq!(
            within("[\n  \"Opening hours\",\n  \"Gift cards\",\n  \"Ships\"\n]"),
            None
        );
        assert!(hits(&format!("{text:?}"), r#"{"path":"a"}"#).is_none());
        assert!(hits(r#"{"a":1}"#, ASKED).is_none());
        assert!(hits(&format!("{:?}", r#"{"a":1}"#), ASKED).is_none());
    }
}
