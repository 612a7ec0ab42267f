//! Tells a search that halves a range from tries that come to nothing: which half holds the fault is what each step finds out.
//!
//! Who looks for the row that breaks an import, the commit that broke a test or the largest batch that fits, asks for the same with
//! another number each time, which is half as far from the one before as that was from its own. Few answers are possible, and each
//! is news.

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::numbers::distance;

/// Steps that are looked at: two of which one is half as long as the other may be by chance, where there are more.
const STEPS_MAX: usize = 3;

/// Newest calls of the tool among which these are looked for.
const LOOKED_AT_MAX: usize = 12;

/// How much a step may differ from half of the one before where numbers are whole: of nine, four and five are halves.
const ROUNDED: f64 = 1.0;

impl Fold {
    /// Whether a call that failed, or the step right before it, halves a range once more. The very same step was taken before, and
    /// halves nothing.
    pub(crate) fn narrows(&self, judged: &Judged<'_>) -> bool {
        let says_no = judged.outcome == Outcome::Failed || judged.denies;
        let is_step =
            |step: &CallMark| self.recent.is_only(step) && self.halves(step.tool, &step.sample);
        let halves = || {
            self.halves(judged.tool_hash, judged.call.input.sample()) && !self.asked_before(judged)
        };
        says_no && (halves() || self.recent.back().is_some_and(is_step))
    }

    /// Whether a call with these arguments halves a range: each of the newest steps of its tool is half as long as the one before.
    fn halves(&self, tool: u64, sample: &str) -> bool {
        if !sample.bytes().any(|sign| sign.is_ascii_digit()) {
            return false;
        }
        let mut later = sample;
        let marks = self.recent.of_tool(tool).take(LOOKED_AT_MAX);
        let mut steps = marks.filter_map(|mark| {
            let step = distance(&mark.sample, later)?;
            later = &mark.sample;
            Some(step)
        });
        let Some(mut newer) = steps.next() else {
            return false;
        };
        let mut before = steps.take(STEPS_MAX - 1).peekable();
        let is_half = |step| is_half(std::mem::replace(&mut newer, step), step);
        before.peek().is_some() && before.all(is_half)
    }
}

/// Whether a step is half as long as another one.
fn is_half(step: f64, before: f64) -> bool {
    let apart = (step - before / 2.0).abs();
    step < before && (apart <= before / 16.0 || (before.fract() == 0.0 && apart <= ROUNDED))
}
