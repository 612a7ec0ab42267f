//! A call beside those before it: whether the same was asked, by whom, and in which words. The newest calls are what is looked at.

use super::amount::without_amounts;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::{differ_in_options, relation};
use super::tags::Tag;
use super::{Fold, name_of};
use crate::engine::tool_name;

/// From so many equal calls among the newest ones on, another agent that makes it does not begin anew.
const FIRSTS_MAX: usize = 9;

impl Fold {
    /// Whether a call does something rather than looks, as far as can be seen: its arguments are not like those of a newest
    /// call, and it writes or is merely acknowledged.
    pub(crate) fn acts(&self, judged: &Judged<'_>) -> bool {
        let alone = judged.similar.is_none() || judged.similar == judged.key;
        let may = judged.outcome != Outcome::Failed && judged.may_act();
        may && judged.key.is_some() && alone && !self.asked_before(judged)
    }

    /// Whether the same was asked among the newest calls; what is not known was not.
    pub(crate) fn asked_before(&self, judged: &Judged<'_>) -> bool {
        self.recent.of_key(judged.key).next().is_some()
    }

    /// The number of the newest step, of a shell's command that asks once more behind it what was asked before it; `None` of any
    /// other call. A step is something that was done and was not done before: several checks behind it, which a shell has under one
    /// name, are one look at what came of it.
    pub(crate) fn step_before(&self, judged: &Judged<'_>) -> Option<u64> {
        judged.call.traits.command.and(judged.key)?;
        let newest = self.recent.iter().rev();
        let mut since = newest.take_while(|mark| mark.key() != judged.key);
        let back = since.position(|mark| mark.is_deed() && self.recent.is_only(mark))?;
        Some(judged.number_back(back))
    }

    /// Whether another agent or worker of the run asked the same and was answered the same, and this one asks for the first time,
    /// as far as is remembered: each begins with nothing, and has to read for itself what others have read. Where nearly all of
    /// the newest calls are this one, that is no beginning: agents are sent again and again to do the same.
    pub(crate) fn is_first_of_worker(&self, judged: &Judged<'_>) -> bool {
        let are_several =
            judged.call.worker.is_some() || self.work.iter().any(|work| work.agent != judged.agent);
        let same = |mark: &&CallMark| mark.result() == judged.result;
        are_several
            && judged.result.is_some()
            && (1..FIRSTS_MAX).contains(&self.recent.of_key(judged.key).filter(same).count())
            && self.tags.lack(Tag::of(self, judged))
    }

    /// Whether the same was asked just once before among the newest calls, and all others asked the tool for other things, as who
    /// waits for several jobs asks for each in turn.
    pub(crate) fn asks_each_once_more(&self, judged: &Judged<'_>) -> bool {
        let sample = judged.call.input.sample();
        let of_tool = self.recent.of_tool(judged.tool_hash);
        let (same, others) = of_tool.partition::<Vec<_>, _>(|mark| mark.key() == judged.key);
        let mut others = others.iter();
        let is_alike = |mark: &&CallMark| relation(&mark.sample, sample).is_in_other_words();
        judged.key.is_some() && same.len() == 1 && !others.any(is_alike)
    }

    /// The newest call that did not merely take what the agent thinks.
    pub(crate) fn newest_but_thoughts(&self) -> Option<&CallMark> {
        let thinks = |mark: &CallMark| {
            name_of(&self.tools, mark.tool).is_some_and(|tool| tool_name::thinks(tool))
        };
        self.recent.iter().rev().find(|mark| !thinks(mark))
    }

    /// Whether a tool brought something new among the newest calls.
    pub(crate) fn found_lately(&self, tool: u64) -> bool {
        let mut marks = self.recent.of_tool(tool);
        marks.any(|mark| mark.outcome == Outcome::Fresh)
    }

    /// As in [`Judged`].
    pub(crate) fn answers_by_failing(&self, judged: &Judged<'_>) -> bool {
        self.tests_another(judged) || self.lacks_another_id(judged) || self.narrows(judged)
    }

    /// Whether tests were run of another thing than lately, such as another version: that some fail is what was asked. The same
    /// tests of which more is shown, or with another option, are not.
    fn tests_another(&self, judged: &Judged<'_>) -> bool {
        if !judged.tells_of_tests() || judged.key.is_none() || self.asked_before(judged) {
            return false;
        }
        let sample = without_amounts(judged.call.input.sample());
        let of_tool = || self.recent.of_tool(judged.tool_hash);
        let is_other = |mark: &CallMark| {
            let other = without_amounts(&mark.sample);
            mark.key().is_some() && !relation(&other, &sample).is_in_other_words()
        };
        let is_same = |mark: &CallMark| {
            let other = without_amounts(&mark.sample);
            other == sample || differ_in_options(&other, &sample)
        };
        of_tool().next().is_some_and(is_other) && !of_tool().any(is_same)
    }

    /// Whether a call may have brought something new: it is not known what came back, but nobody asked this before.
    pub(crate) fn may_be_news(&self, judged: &Judged<'_>) -> bool {
        judged.outcome == Outcome::Unknown && judged.key.is_some() && !self.asked_before(judged)
    }

    /// Whether a call tells against a hand-off loop. The first answer of an agent that was handed a task tells nothing:
    /// only one that differs from an earlier one does, or where answers are not known, an errand unlike those before it.
    pub(crate) fn brings_news(&self, judged: &Judged<'_>) -> bool {
        match judged.outcome {
            Outcome::Fresh => !judged.call.hands_off || self.is_known(judged.tool_hash),
            _ => {
                self.may_be_news(judged) && (!judged.call.hands_off || judged.similar == judged.key)
            }
        }
    }
}
