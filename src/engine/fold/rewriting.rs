//! Tells a text that is written again and again in other words from one that gets on.
//!
//! What is written is news by itself, and so is the same file with another text. But who writes the whole of one text again and
//! again, and does nothing else meanwhile but look at it, and is told nothing, polishes words. One that is written part by part
//! grows each time; so does a list of which one item after the other is marked as done.

use crate::engine::tool_name;

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::question::{Relation, relation};
use super::sample::members;

/// How the names of arguments end that say which text it is.
const NAMES: [&str; 6] = ["path", "Path", "file", "filename", "title", "name"];

impl Fold {
    /// Whether a call writes the whole of a text in other words, which the newest call has written, too, but for those that looked
    /// at it. Where numbers or ticks alone are others, an item of a list may be done.
    pub(crate) fn writes_anew(&self, judged: &Judged<'_>) -> bool {
        if !tool_name::writes_whole(judged.tool) || judged.outcome == Outcome::Failed {
            return false;
        }
        let sample = judged.call.input.sample();
        let own = Named::of(sample);
        let looks_at_it = |mark: &&CallMark| !mark.may_act && own.is_named_in(&mark.sample);
        let before = self.recent.iter().rev().find(|mark| !looks_at_it(mark));
        before.is_some_and(|mark| {
            mark.tool == judged.tool_hash
                && mark.asked == self.speech.instructions
                && own.is_named_in(&mark.sample)
                && relation(&mark.sample, sample) != Relation::Numbered
        })
    }

    /// Whether what is written grew with each of the newest calls of the tool, or shrank.
    pub(crate) fn grows_on(&self, judged: &Judged<'_>) -> bool {
        let mut later = judged.call.input.bytes();
        let of_tool = self.recent.of_tool(judged.tool_hash);
        let mut steps = of_tool
            .map(|mark| std::mem::replace(&mut later, mark.input_bytes).cmp(&mark.input_bytes));
        let first = steps.next();
        first.is_some_and(|first| first.is_ne() && steps.all(|step| step == first))
    }
}

/// Which text arguments name: for each of the [`NAMES`], the text of the first one of which the name ends so.
pub(super) struct Named<'s>([Option<&'s str>; NAMES.len()]);

impl<'s> Named<'s> {
    pub(super) fn of(sample: &'s str) -> Self {
        let mut named = [None; NAMES.len()];
        for member in members(sample).filter(|member| !member.value.is_empty()) {
            for (known, name) in named.iter_mut().zip(NAMES) {
                if known.is_none() && member.name.ends_with(name) {
                    *known = Some(member.value);
                }
            }
        }
        Self(named)
    }

    /// Whether other arguments name the same text.
    pub(super) fn is_named_in(&self, sample: &str) -> bool {
        let names_any = self.0.iter().any(Option::is_some);
        names_any && {
            let pairs = self.0.iter().zip(Named::of(sample).0);
            pairs
                .into_iter()
                .any(|(own, other)| own.is_some() && *own == other)
        }
    }
}
