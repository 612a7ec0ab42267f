//! The newest calls, each by two bytes that tell it and what it brought: enough to see that a long round of them comes again.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::engine::bounded::{holds, push_bounded};
use crate::engine::hash::mix;

use super::Fold;
use super::judge::Judged;

/// Longest round that can be seen, in calls.
const ROUND_MAX: usize = 32;
/// Rounds that must be alike.
const ROUNDS: usize = 3;
/// Calls that are remembered.
const TAGS_MAX: usize = ROUND_MAX * ROUNDS;

/// What tells a call: who made it, what it asked and what came of it. `None` where one of them is not known, or where it came after
/// a pause or is one of waiting, so that it is part of no round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(Option<u16>);

impl Tag {
    pub(crate) fn of(fold: &Fold, judged: &Judged<'_>) -> Self {
        let paused = fold.has_just_paused();
        let waits = judged.stands_aside() || judged.waiting.waited_ns > 0;
        let told = judged.signature().filter(|_| !paused && !waits);
        // 0 stands for a call that is part of no round.
        Self(told.map(|told| (mix(told, judged.worker) as u16).max(1)))
    }
}

/// The newest calls, newest last, at most [`TAGS_MAX`].
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tags(VecDeque<u16>);

impl Clone for Tags {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl Tags {
    /// Remembers a call.
    pub(crate) fn push(&mut self, tag: Tag) {
        push_bounded(&mut self.0, tag.0.unwrap_or(0), TAGS_MAX);
    }

    /// Whether a call can be told, and is not among the newest ones.
    pub(crate) fn lack(&self, tag: Tag) -> bool {
        tag.0.is_some_and(|tag| !holds(&self.0, tag))
    }

    /// Whether a call is among so many of the newest ones often enough for this to be its third time at least.
    pub(crate) fn hold_twice(&self, tag: Tag, calls: usize) -> bool {
        let newest = || self.0.iter().rev().take(calls);
        let same = |tag: u16| newest().filter(move |other| **other == tag);
        tag.0.is_some_and(|tag| same(tag).nth(ROUNDS - 2).is_some())
    }

    /// The length of the shortest round, of those asked for, that the newest call closes for the third time. It is not made of
    /// rounds that are shorter than those asked for.
    pub(crate) fn goes_round(&self, newest: Tag, periods: RangeInclusive<usize>) -> Option<usize> {
        // Most calls are not among the newest ones.
        let newest = newest.0.filter(|newest| holds(&self.0, *newest))?;
        let at = |back: usize| {
            if back == 0 {
                return Some(newest);
            }
            let place = self.0.len().checked_sub(back)?;
            self.0.get(place).copied().filter(|tag| *tag != 0)
        };
        // Of longer ones, not so many are remembered.
        let longest = ROUND_MAX.min((self.0.len() + 1) / ROUNDS);
        let (shortest, longest) = (*periods.start(), longest.min(*periods.end()));
        let comes_again = |period: &usize| {
            let again = |back: usize| at(back).is_some() && at(back) == at(back + period);
            (0..period * (ROUNDS - 1)).all(again)
        };
        let mut periods = shortest..=longest;
        let period = periods.find(|period| at(*period) == Some(newest) && comes_again(period))?;
        let is_shorter = |shorter: usize| (0..period).all(|back| at(back) == at(back + shorter));
        (!(1..shortest).any(is_shorter)).then_some(period)
    }

    /// As [`RunState::bring_near`](crate::engine::run::RunState::bring_near): about where the next one goes.
    pub(super) fn bring_near(&self) -> u64 {
        self.0.back().copied().unwrap_or(0).into()
    }

    /// All of them, oldest first, two bytes each.
    pub(crate) fn packed(&self) -> Vec<u8> {
        self.0.iter().flat_map(|tag| tag.to_le_bytes()).collect()
    }

    /// What [`packed`](Self::packed) made; of more than are remembered the newest.
    pub(crate) fn of_packed(bytes: &[u8]) -> Self {
        let mut tags = Self::default();
        for tag in bytes.chunks_exact(2) {
            push_bounded(&mut tags.0, u16::from_le_bytes([tag[0], tag[1]]), TAGS_MAX);
        }
        tags
    }
}
