//! `similar_query`: a search was asked nearly the same again.
//!
//! # What it sees
//! The queries of search tools since the newest message of a user, in lower case and without punctuation. A query that is at
//! least 75 % alike an earlier one of the same tool raises it (Automatos, *Semantic Deduplication*: "fix bug" and "fix the
//! bug"). The query is the first text among `query`, `search_query`, `q`, `text`, `question` and `prompt`.
//!
//! # Why it matters
//! A search that is asked the same in other words finds the same.
//!
//! # What to try
//! Use what the earlier query found, or ask about something that really differs.
//!
//! # When it stays silent
//! Queries that differ in a telling word (delete, deactivate) are never alike, and one with no letter or digit is like nothing.
//! A tool counts as one that searches where the section `tools` says so (`search: true`). Where progress is known, a query that
//! brings a new result starts the count anew. Calls of one model answer are not compared with each other. The very same call
//! again is `duplicate_call`.

use crate::engine::bounded::push_bounded;
use crate::engine::event::Text;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::QueryMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::{Fold, QUERIES_MAX};
use crate::engine::hash::mix;
use crate::engine::policy::{Policy, SimilarQuery};
use crate::engine::similarity::similar;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::SimilarQuery;

/// Arguments that may hold the query, in the order in which they are looked for.
const QUERY_KEYS: [&str; 6] = ["query", "search_query", "q", "text", "question", "prompt"];

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.similar_query.as_ref()?;
    if !judged.settings.search {
        return None;
    }
    let key = judged.key?;
    let query = normal(&query_in(&judged.call.input.value()?.sample)?);
    let turn_at = fold.totals.turn_at;
    let tool = fold.tallies.own(judged.tool_hash);
    let earlier = |mark: &&QueryMark| mark.tool == tool && mark.number >= turn_at;
    let mut known = fold.queries.iter().rev().filter(earlier);
    if query.is_empty() || known.clone().any(|mark| mark.key == key) {
        return None;
    }
    let like =
        known.find(|mark| mark.round != judged.round && alike(&mark.query, &query, settings));
    let (repeats, group) = (like.is_some(), like.map_or(key, |mark| mark.group));
    let mark = QueryMark {
        tool,
        key,
        number: judged.number,
        round: judged.round,
        group,
        query: Text::from(query),
    };
    // A query that was not asked is not an earlier one.
    if judged.call.asking.refused.is_none() {
        push_bounded(&mut fold.queries, mark, QUERIES_MAX);
    }
    let tally = fold.tallies.of(RULE, group);
    tally.begin_at(turn_at);
    if policy.progress_aware && judged.outcome == Outcome::Fresh {
        tally.clear();
    }
    tally.add(judged);
    let group = mix(group, RULE as u64);
    (repeats && tally.count >= settings.calls).then(|| Finding::of_calls(tally, group, judged))
}

/// Whether two normal queries are alike.
fn alike(left: &str, right: &str, settings: &SimilarQuery) -> bool {
    let has = |query: &str, word: &str| query.split(' ').any(|other| other == word);
    let told_apart = |word: &String| has(left, word) != has(right, word);
    !settings.telling_words.iter().any(told_apart) && similar(left, right, settings.similarity)
}

/// A query in lower case, its words without punctuation and with one blank between them.
fn normal(query: &str) -> String {
    let kept = |sign: char| sign.is_alphanumeric() || sign == '_' || sign.is_whitespace();
    let clean: String = query.chars().filter(|sign| kept(*sign)).collect();
    let words: Vec<String> = clean.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// The query in a sample of arguments: JSON without blanks between its signs, of which the middle may be cut out.
fn query_in(sample: &str) -> Option<String> {
    QUERY_KEYS.iter().find_map(|key| member_text(sample, key))
}

/// The text of an object's own member.
fn member_text(sample: &str, key: &str) -> Option<String> {
    let wanted = format!("\"{key}\":\"");
    let (mut depth, mut in_text, mut escaped) = (0, false, false);
    for (at, sign) in sample.char_indices() {
        let opens = depth == 1 && !in_text && sign == '"';
        if opens && let Some(text) = sample[at..].strip_prefix(&wanted) {
            return Some(until_quote(text));
        }
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = in_text,
            '"' => in_text = !in_text,
            '{' | '[' if !in_text => depth += 1,
            '}' | ']' if !in_text => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The text before the quotation mark that ends it. Escapes stand for punctuation and blanks, which do not count.
fn until_quote(text: &str) -> String {
    let mut clean = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '"' => break,
            '\\' => {
                signs.next();
                clean.push(' ');
            }
            sign => clean.push(sign),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::{normal, query_in};

    /// Given arguments, the query is found among their own members, whatever stands within the texts of others.
    #[test]
    fn the_query_is_found() {
        let check = |sample: &str, expected: Option<&str>| {
            assert_eq!(query_in(sample).as_deref(), expected, "{sample}");
        };
        check(r#"{"query":"fix the bug"}"#, Some("fix the bug"));
        check(r#"{"limit":5,"q":"a"}"#, Some("a"));
        check(r#"{"q":"second","query":"first"}"#, Some("first"));
        check(r#"{"filter":{"query":"x"},"text":"y"}"#, Some("y"));
        check(r#"{"note":"\"query\":\"x","text":"y"}"#, Some("y"));
        check(r#"{"query":5}"#, None);
        check("plain", None);
    }

    /// Given case, punctuation and blanks, none of them counts.
    #[test]
    fn queries_are_made_normal() {
        assert_eq!(normal("  Fix: the  BUG?! "), "fix the bug");
        assert_eq!(normal("?!"), "");
    }
}
