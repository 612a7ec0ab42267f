//! How a question that finds nothing stands to those before it that found nothing either.
//!
//! Who asks for the same in other words looks once more for what is not there. Who asks for one thing after the other, none
//! of which is there, has an answer to each, however many there are. Between both, nobody knows: words that have nothing in
//! common may mean one thing or several, and so more of them are needed, and most of those that are names.

use super::Fold;
use super::handed_text::hands_over;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::numbers::{differ_in_id, names_file, turns_pages};
use super::question::things::asks_for_other_things;
use super::question::windows::asks_since_later;
use super::question::{Relation, asks_for_other_names, relation};
use crate::engine::policy::Patience;
use crate::engine::tool_name;

/// Blanks in a row, each for another page of a file, before one that is drawn in vain.
const PAGES_BLANK_MIN: usize = 9;

/// How many times as many blanks are needed where each is drawn by other names as where each is by other words.
const NAMES: u32 = 2;

/// How a question that found nothing stands to those of its tool that found nothing lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blank {
    /// It is about another thing than each of them, or there are none.
    Apart,
    /// It asks for other names than each of them, `Ava Meier`, `Sony WH-1000XM5`, or for other things: `yoga mat`.
    Named,
    /// It is in wholly other words than each of them.
    Rephrased,
    /// It asks for the same in other words, for another page, or for the next number.
    Again,
}

impl Blank {
    /// How many blanks it takes, where it takes so many of the same question, and so many of a tool that found something.
    pub(crate) fn calls(self, calls: u32, calls_moving: Option<u32>) -> u32 {
        let moving = calls_moving.unwrap_or(calls);
        match self {
            Self::Named => moving.saturating_mul(NAMES),
            Self::Rephrased => moving,
            Self::Apart | Self::Again => calls,
        }
    }
}

impl Fold {
    /// How a question that found nothing stands to those of the tool that found nothing lately. A phrase in the place of another is
    /// another question where something was done about the blank, such as to write it down, and so is a text that is handed over.
    /// Of a tool that looks for faults, a blank is what was hoped for.
    pub(crate) fn blank_before(&self, judged: &Judged<'_>, waiting: Option<&Patience>) -> Blank {
        if judged.outcome != Outcome::Empty || tool_name::looks_for_faults(judged.tool) {
            return Blank::Apart;
        }
        let sample = judged.call.input.sample();
        let since_deed = judged.number.saturating_sub(self.totals.acted_at + 1) as usize;
        let newest = self.recent.iter().rev().enumerate();
        let blanks = newest
            .filter(|(_, mark)| mark.tool == judged.tool_hash && mark.outcome == Outcome::Empty);
        let is_other = |mark: &CallMark| asks_for_other_things(judged.tool, &mark.sample, sample);
        let mut closest = Blank::Apart;
        for (back, mark) in blanks {
            let blank = match relation(&mark.sample, sample) {
                Relation::Reworded => Blank::Again,
                Relation::Numbered if turns_pages(&mark.sample, sample) => Blank::Again,
                Relation::Numbered if self.counts_on(judged, waiting) => Blank::Again,
                Relation::Rephrased if back >= since_deed || hands_over(judged) => Blank::Apart,
                Relation::Rephrased if asks_for_other_names(&mark.sample, sample) => Blank::Named,
                Relation::Rephrased if is_other(mark) => Blank::Named,
                Relation::Rephrased => Blank::Rephrased,
                Relation::Numbered | Relation::Other => Blank::Apart,
            };
            closest = closest.max(blank);
            if closest == Blank::Again {
                break;
            }
        }
        closest
    }

    /// Whether another call brought something since the same question was asked last that no other call of its tool brought lately:
    /// who turns, drives or scrolls looks at another place. What is merely acknowledged shows nothing of it.
    pub(crate) fn looks_elsewhere(&self, judged: &Judged<'_>) -> bool {
        let newest = self.recent.iter().rev();
        let mut since = newest.take_while(|mark| mark.key() != judged.key);
        since.any(|mark| {
            let same = |other: &&CallMark| other.result() == mark.result();
            mark.outcome == Outcome::Fresh
                && mark.has_result
                && self.recent.of_tool(mark.tool).filter(same).count() == 1
        })
    }

    /// Whether the newest call of the tool drew a blank, and differs from this one in numbers alone, which are no ids. Of a file,
    /// each page is another thing, of which many in a row may lack what is looked for. Who asks after a pause for what is new since
    /// then counts nothing.
    fn counts_on(&self, judged: &Judged<'_>, waiting: Option<&Patience>) -> bool {
        let sample = judged.call.input.sample();
        let least = if names_file(sample) {
            PAGES_BLANK_MIN
        } else {
            1
        };
        let newest = || self.recent.of_tool(judged.tool_hash).take(least);
        let later = newest().map(|mark| &*mark.sample);
        let later = std::iter::once(sample).chain(later);
        let is_blank = |(mark, later): (&CallMark, &str)| {
            mark.outcome == Outcome::Empty
                && relation(&mark.sample, later) == Relation::Numbered
                && !differ_in_id(&mark.sample, later)
        };
        let asks_for_news = |mark: &CallMark| {
            let pause_ns = judged.call.start_ns.saturating_sub(mark.start_ns);
            waiting.is_some_and(|waiting| pause_ns >= waiting.pause_ns())
                && asks_since_later(&mark.sample, sample)
        };
        newest().count() == least
            && newest().zip(later).all(is_blank)
            && !newest().any(asks_for_news)
    }
}
