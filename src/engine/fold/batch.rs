//! Work that is taken off in batches: the same call, with the same answer, does another part each time.
//!
//! `DELETE … LIMIT 1000` that says each time that it deleted 1,000 has deleted others each time, as has a tool that processes the
//! next hundred. What tells it from a call that changes nothing is that the call takes something away, says how many at most, and
//! is answered by how many these were. Once there are none, the answer is nought, and an answer like any other.

use std::iter::zip;

use crate::engine::window::calls::Call;

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::{Relation, relation, values, words};
use super::sample::pieces;

/// Words by which a call says that what it was about is not there for the next one, in lower case.
const TAKES: [&str; 9] = [
    "delete", "purge", "archive", "remove", "process", "update", "move", "migrat", "backfill",
];

/// Words by which a call says how many it takes at most.
const LIMITS: [&str; 4] = ["limit", "batch", "\"max", "\"size\""];

/// What a call brought, and whether it took the next part of what there is, which is news though it looks like the part before.
pub(super) fn taken_on(outcome: Outcome, call: &Call<'_>, progress_aware: bool) -> (Outcome, bool) {
    if progress_aware && outcome == Outcome::Stale && takes_the_next(call) {
        return (Outcome::Fresh, true);
    }
    (outcome, false)
}

/// Whether a call takes the next part of what there is, and got some.
fn takes_the_next(call: &Call<'_>) -> bool {
    let numbers = call
        .output
        .value()
        .and_then(|value| value.numbers.as_deref());
    let got_some = numbers.is_some_and(|numbers| {
        let mut all = numbers.all.iter().take(numbers.count.into());
        all.all(|number| *number > 0.0)
    });
    let sample = call.input.sample();
    let tool = call.tool.map_or("", |tool| &**tool);
    let says = |words: &[&str]| {
        let mut words = words.iter();
        words.any(|word| says(tool, word) || says(sample, word))
    };
    got_some && call.error.is_none() && says(&LIMITS) && says(&TAKES)
}

impl Fold {
    /// Whether a call did what the newest one of its tool that came to this could not do, in the same form with another thing that
    /// was not asked for lately: the next item of a batch, of which some fail, or are not there.
    pub(crate) fn does_another(&self, judged: &Judged<'_>, in_vain: Outcome) -> bool {
        let failed = |mark: &&CallMark| mark.outcome == in_vain;
        let is_done = judged.outcome == Outcome::Stale || (judged.silent && judged.may_act());
        let is_new = judged.key.is_some() && !self.asked_before(judged);
        let sample = judged.call.input.sample();
        is_done
            && is_new
            && self
                .recent
                .of_tool(judged.tool_hash)
                .find(failed)
                .is_some_and(|mark| are_of_one_form(&mark.sample, sample))
    }

    /// Whether a call before this failed one did with another thing, just once lately, what this one could not do.
    pub(crate) fn did_another(&self, mark: &CallMark, judged: &Judged<'_>) -> bool {
        (mark.outcome == Outcome::Stale || mark.is_quiet_deed())
            && self.recent.is_only(mark)
            && mark.key() != judged.key
            && are_of_one_form(&mark.sample, judged.call.input.sample())
    }
}

/// Whether two calls ask for the same of another thing each, in one form: what differs are single words, or as many words of which
/// the first one and half of all stand in the same places, as behind one program.
pub(crate) fn are_of_one_form(left: &str, right: &str) -> bool {
    let is_alike = |(left, right): (&str, &str)| {
        let (lefts, rights) = (words(left), words(right));
        let count = lefts.clone().count();
        let is_same = |(left, right): &(&str, &str)| left == right;
        let same = zip(lefts.clone(), rights.clone()).filter(is_same).count();
        let begins_alike = lefts.clone().next() == rights.clone().next();
        count == rights.count() && (count == 1 || (begins_alike && same * 2 >= count))
    };
    matches!(relation(left, right), Relation::Other | Relation::Numbered)
        && pieces(left).count() == pieces(right).count()
        && values(left, right).all(is_alike)
}

/// Whether a word stands in a text, in whatever case.
pub(crate) fn says(text: &str, word: &str) -> bool {
    let mut places = text.as_bytes().windows(word.len());
    places.any(|place| place.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    /// Given calls that do the same with another thing each, they are of one form; another program or another question is not.
    #[test]
    fn forms() {
        let check = |left: &str, right: &str, expected| {
            assert_eq!(
                super::are_of_one_form(left, right),
                expected,
                "{left} {right}"
            );
        };
        check(
            r#"{"to":"C-1","by":"mail"}"#,
            r#"{"to":"C-8","by":"mail"}"#,
            true,
        );
        check(r#"{"id":7}"#, r#"{"id":8}"#, true);
        check(
            r#"{"command":"cp /old/a.conf /new/"}"#,
            r#"{"command":"cp /old/b.conf /new/"}"#,
            true,
        );
        check(
            r#"{"command":"cp /old/a.conf /new/"}"#,
            r#"{"command":"ls /old/b.conf /new/"}"#,
            false,
        );
        check(
            r#"{"command":"git add a.py"}"#,
            r#"{"command":"git commit all"}"#,
            false,
        );
        check(
            r#"{"command":"make"}"#,
            r#"{"command":"cat make.log"}"#,
            false,
        );
        check(r#"{"do":"click","at":4}"#, r#"{"do":"scroll"}"#, false);
    }
}
