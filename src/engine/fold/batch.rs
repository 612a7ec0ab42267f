//! Work that is taken off in batches: the same call, with the same answer, does another part each time.
//!
//! `DELETE … LIMIT 1000` that says each time that it deleted 1,000 has deleted others each time, as has a tool that processes the
//! next hundred. What tells it from a call that changes nothing is that the call takes something away, says how many at most, and
//! is answered by how many these were. Once there are none, the answer is nought, and an answer like any other.

use crate::engine::window::calls::Call;

use super::outcome::Outcome;

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

/// Whether a word stands in a text, in whatever case.
pub(super) fn says(text: &str, word: &str) -> bool {
    let mut places = text.as_bytes().windows(word.len());
    places.any(|place| place.eq_ignore_ascii_case(word.as_bytes()))
}
