//! Tells the hunt for a failure that comes and goes from a loop: the same call again and again, to see how often it fails.
//!
//! Who hunts does not wait, and has a budget of calls, not of time. What shows a hunt is that the very same call now fails and now
//! goes well, though nothing was done in between.

use crate::engine::event::Command;
use crate::engine::hash::mix;
use crate::engine::warning::Rule;

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;

/// Most calls in a row to see how often one fails: by then nearly every test that fails once in ten times has failed.
const FLIPPING_CALLS_MAX: u32 = 40;

/// Most runs in a row of a test that has not failed yet, or of a benchmark.
const PASSES_MAX: usize = 8;

/// What tells the count of such calls from that of all equal ones.
const FLIPPING: u64 = 0x666c_6970;

impl Fold {
    /// Whether the same is called again and again, with nothing in between, and now goes well and now fails: how often a test fails
    /// is seen by many runs of it, but not by ever more of them. The calls are counted from the first one on that shows it. What
    /// brings something new is no part of a hunt. A single test may pass several times before it fails, and a benchmark is run
    /// several times since times alone differ.
    pub(super) fn hunts(&mut self, judged: &Judged<'_>) -> bool {
        let Some(key) = judged.key.filter(|_| judged.outcome != Outcome::Fresh) else {
            return false;
        };
        let row = self.recent.iter().rev();
        let row = row.take_while(|mark| mark.key() == judged.key);
        let fails = judged.outcome == Outcome::Failed;
        let flips = |mark: &CallMark| (mark.outcome == Outcome::Failed) != fails;
        if !row.clone().any(flips) {
            let is_run_often = || runs_one_test(judged) || measures(judged);
            return !fails && is_run_often() && row.count() < PASSES_MAX;
        }
        let rule = Rule::RepeatedToolCallExactInput;
        let tally = self.tallies.of(rule, mix(key, FLIPPING));
        tally.begin_at(judged.number.saturating_sub(row.count() as u64));
        tally.number = judged.number;
        tally.count = tally.count.saturating_add(1);
        tally.count <= FLIPPING_CALLS_MAX
    }
}

/// How a command begins that is timed.
const TIMED: &str = "\"time ";

/// Whether a command measures how long something takes, as far as its words tell.
fn measures(judged: &Judged<'_>) -> bool {
    let is_apart = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '/');
    let is_one = |word: &str| word.to_ascii_lowercase().contains("bench") || word == "hyperfine";
    let sample = judged.call.input.sample();
    let command = judged.call.traits.command;
    matches!(command, Some(Command::Other | Command::RunsTests))
        && (sample.contains(TIMED) || sample.split(is_apart).any(is_one))
}

/// Whether a command runs some tests of all there are: a word of it holds more than that they are tests, `tests/test_queue.py`,
/// `TestDrain`, where `cargo test` and `pytest` run all.
fn runs_one_test(judged: &Judged<'_>) -> bool {
    let is_apart = |letter: char| letter.is_whitespace() || letter == '"';
    let names_one = |word: &str| {
        let word = word.to_ascii_lowercase();
        (word.contains("test") && !word.trim_end_matches('s').ends_with("test"))
            || word.contains(".spec.")
    };
    let sample = judged.call.input.sample();
    judged.call.traits.command == Some(Command::RunsTests) && sample.split(is_apart).any(names_one)
}
