//! Whether what came between repeats excuses them: news, something that was done, another answer to a question asked before.
//!
//! A call that brings nothing new is no loop by itself: an agent at work looks at the same state now and then, and begins anew
//! where it has changed something. What each rule counts is weighed here against what the run did meanwhile.

use crate::engine::event::Manner;
use crate::engine::file_name::is_file;
use crate::engine::hash::text_hash;
use crate::engine::tool_name;
use crate::engine::warning::Rule;

use super::Fold;
use super::batch::are_of_one_form;
use super::fruitless::tells_score;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::pressed::works_screen;
use super::question::numbers::counts_up;
use super::question::{names_others, relation, words};

/// Repeats among the newest thirteen calls from which they are most of what a run does. An agent that goes through cases and
/// looks at the same page for each, does two other things for each as well, makes five.
const CROWD_CALLS_MIN: usize = 6;

/// Fewest new results of one call, among the newest calls, by which what it asks about moves: the first one is always new.
const MOVES_MIN: usize = 3;

/// Equal results of it in a row, from which it does not move any more.
const STANDS_MAX: usize = 5;

/// Fewest steps before this one after each of which the same was checked.
const STEPS_MIN: usize = 2;

/// Most calls of a step with its checks, where the steps do the same to other things.
const STEP_CALLS_MAX: usize = 4;

/// Fewest values that differ from one form that is filled in to the next.
const FIELDS_MIN: usize = 3;

/// Calls in a row, each about the next number, that go through a list.
const LISTED_MIN: usize = 3;

/// Items of a list that must fail in the same way: a run over seeds, or over versions, may well begin with some that do.
const LISTED_FAILURES_MIN: u64 = 8;

/// Calls in a row that only try again.
const TRIES_MAX: usize = 3;

impl Fold {
    /// Number of the newest call since which a repeat weighs less: one that brought something new, or did something without a
    /// word, as a shell does: a check that passes as before confirms what was done. Of a call that fails, only what was done, or
    /// shows in another answer, may have mended its cause.
    pub(crate) fn changed_at(&self, judged: &Judged<'_>) -> u64 {
        match judged.outcome {
            Outcome::Failed => self.totals.acted_at.max(self.moved_on_at(judged)),
            Outcome::Stale => self.totals.news_at.max(self.quiet_deed_at(judged)),
            _ => self.totals.news_at,
        }
    }

    /// Number of the newest deed without a word; 0 where none of the newest calls is one, or the present one merely looks, which
    /// shows by itself whether anything changed. What it showed is not known where a picture was left out.
    fn quiet_deed_at(&self, judged: &Judged<'_>) -> u64 {
        let is_deed = |mark: &CallMark| mark.is_quiet_deed() && mark.key() != judged.key;
        let newest = || self.recent.iter().rev().position(is_deed);
        let shows = judged.call.manner == Manner::Looks && judged.outcome != Outcome::Unknown;
        let back = if shows { None } else { newest() };
        back.map_or(0, |back| judged.number_back(back))
    }

    /// Whether what came between repeats excuses them: something new, unless repeats are most of what the run does, or, where
    /// several agents work, all that this one does. A call that fails in the same way is excused only where the same question
    /// brought another answer elsewhere, and one that says no, or shows that deeds are in vain, by nothing. Who checks after each
    /// of several steps, halves a range, or tries things out and puts back what they changed, is excused whatever else was done.
    pub(crate) fn excuses(&self, moved: bool, judged: &Judged<'_>) -> bool {
        if self.works_elsewhere(judged) || self.narrows(judged) || self.tries_out(judged) {
            return true;
        }
        if judged.denies || self.shows_deeds_in_vain(judged) {
            return false;
        }
        let stays_refused = judged.fails_in_words() && !self.worked_last(judged);
        let excused = moved && (!stays_refused || self.has_moved_on(judged));
        (excused && !self.repeats_crowd(judged) && !self.is_left_behind(judged, CROWD_CALLS_MIN))
            || (!stays_refused && self.checks_after_each(judged))
    }

    /// Whether the call is made after each of several steps, none of which was made before, and each of which is about another
    /// thing than the step before: tests that pass after each package that is installed, a button that is pressed below each form
    /// that is filled in. What merely looks shows by itself whether a step did anything. Who presses a button fills in several
    /// fields: one that is tried with another value is the same step once more. Of several agents, nobody knows whose step it was.
    fn checks_after_each(&self, judged: &Judged<'_>) -> bool {
        let looks = judged.call.manner == Manner::Looks;
        if judged.outcome != Outcome::Stale || looks || self.work.len() > 1 {
            return false;
        }
        let fields = if judged.call.manner.writes() {
            FIELDS_MIN
        } else {
            1
        };
        let is_check = |mark: &CallMark| mark.key() == judged.key;
        let mut later: Option<&CallMark> = None;
        let (mut steps, mut checks, mut found, mut in_one_form) = (0, 0, false, true);
        for mark in self.recent.iter().rev() {
            in_one_form &= mark.outcome != Outcome::Failed;
            if is_check(mark) {
                checks += 1;
                if !std::mem::take(&mut found) {
                    return false;
                }
                continue;
            }
            let is_step = mark.outcome != Outcome::Failed && self.recent.is_only(mark);
            if !is_step || found {
                continue;
            }
            let is_another = |later: &CallMark| {
                later.tool != mark.tool || names_others(&mark.sample, &later.sample, fields)
            };
            if later.is_some_and(|later| !is_another(later)) {
                return false;
            }
            in_one_form &= later.is_none_or(|later| does_to_another(mark, later));
            later = Some(mark);
            found = true;
            steps += 1;
        }
        // No more than one check for each step, unless the same is done to another thing each time and all goes well: who does more
        // besides goes round.
        let calls = if in_one_form { STEP_CALLS_MAX } else { 2 };
        checks >= STEPS_MIN && (steps + 1) * calls >= self.recent.len()
    }

    /// Whether that is so since the newest call of the same arguments.
    fn has_moved_on(&self, judged: &Judged<'_>) -> bool {
        let newest = self.recent.iter().rev();
        let since = newest.take_while(|mark| mark.key() != judged.key).count() as u64;
        self.moved_on_at(judged) + since >= judged.number
    }

    /// Number of the newest call that brought another answer to a question that was asked before: as from one version of a
    /// program to the next. 0 where none of the newest calls did.
    fn moved_on_at(&self, judged: &Judged<'_>) -> u64 {
        let mut newest = self.recent.iter().enumerate().rev();
        let back = newest.position(|(place, mark)| {
            let mut before = self.recent.iter().take(place);
            let is_fresh = mark.outcome == Outcome::Fresh && mark.key().is_some();
            is_fresh && before.any(|other| other.key() == mark.key())
        });
        back.map_or(0, |back| judged.number_back(back))
    }

    /// Whether repeats that brought nothing new, the present call among them, are so many of the newest calls that what came
    /// between them does not excuse them.
    fn repeats_crowd(&self, judged: &Judged<'_>) -> bool {
        let present = (
            judged.key,
            judged.tool_hash,
            judged.similar.unwrap_or(0),
            judged.result,
        );
        let told = |mark: &CallMark| (mark.key(), mark.tool, mark.group, mark.result());
        // What a user brings up again is no crowd.
        let of_turn = judged.number.saturating_sub(self.totals.turn_at) as usize;
        let before = self.recent.len().saturating_sub(of_turn);
        let newest = self.recent.iter().enumerate().skip(before);
        let repeats = newest.filter(|(place, mark)| {
            // The first call of a loop was new, and is part of it.
            let again = |(key, tool, group, result)| {
                let alike =
                    mark.key() == key || (mark.tool == tool && group != 0 && mark.group == group);
                alike && (mark.outcome != Outcome::Fresh || mark.result() == result)
            };
            let mut others = self
                .recent
                .iter()
                .enumerate()
                .filter(|(other, _)| other != place);
            mark.key().is_some() && (again(present) || others.any(|(_, other)| again(told(other))))
        });
        repeats.count() + 1 >= CROWD_CALLS_MIN && !self.returns_from_news(judged)
    }

    /// Whether something new was found between each two of the newest calls that are like this one, by a question that was not
    /// asked before, or where every second call brings something new: who comes back to a list after each of its items makes
    /// headway.
    fn returns_from_news(&self, judged: &Judged<'_>) -> bool {
        let group = judged.similar.unwrap_or(0);
        let is_same = |mark: &CallMark| {
            let is_alike = mark.tool == judged.tool_hash && group != 0 && mark.group == group;
            mark.key() == judged.key || is_alike
        };
        // A deed without a word is as good as one that says `ok`.
        let looks = judged.call.manner == Manner::Looks;
        let is_deed = |mark: &CallMark| mark.is_quiet_deed() && !looks;
        let is_new = |mark: &CallMark| mark.outcome == Outcome::Fresh || is_deed(mark);
        let all_new = self.recent.iter().filter(|mark| is_new(mark));
        let is_half_new = all_new.count() * 2 >= self.recent.len();
        let is_news = |mark: &CallMark| {
            // What failed was not answered yet.
            let answers = self
                .recent
                .iter()
                .filter(|other| other.key() == mark.key() && other.outcome != Outcome::Failed);
            let is_only = answers.count() <= 1;
            is_new(mark) && ((is_half_new && mark.outcome == Outcome::Fresh) || is_only)
        };
        let (mut found, mut works) = (false, judged.outcome != Outcome::Failed);
        for mark in self.recent.iter().rev() {
            // What works at the second try was asked for once.
            let is_try = mark.outcome == Outcome::Failed && std::mem::take(&mut works);
            if is_same(mark) && !is_try && !std::mem::take(&mut found) {
                return false;
            }
            works = is_same(mark) && mark.outcome != Outcome::Failed;
            found |= !is_same(mark) && is_news(mark);
        }
        true
    }

    /// Whether the same call, or one of its tool about another thing, such as the job before, brought something new several times
    /// among the newest calls, and this one what it brought last, which it has not brought for long.
    /// One that reads what something prints that goes on beside the run has moved as soon as it has brought anything.
    pub(super) fn moved_lately(
        &self,
        tool: &str,
        sample: &str,
        key: Option<u64>,
        result: Option<u64>,
    ) -> bool {
        let is_new = |mark: &&CallMark| mark.outcome == Outcome::Fresh;
        let is_equal = |mark: &&CallMark| mark.result() == result;
        let moves_min = if tool_name::reads_on(tool) {
            1
        } else {
            MOVES_MIN
        };
        let equal = self
            .recent
            .of_key(key)
            .take(STANDS_MAX)
            .take_while(is_equal);
        let moved = |key: Option<u64>| {
            let mut news = self.recent.of_key(key).filter(is_new);
            news.nth(moves_min - 1).is_some()
        };
        let another_moved = || {
            let mut of_tool = self.recent.of_tool(text_hash(tool));
            of_tool.any(|mark| {
                let other = mark.key();
                other != key && moved(other) && !relation(&mark.sample, sample).is_in_other_words()
            })
        };
        (1..STANDS_MAX).contains(&equal.count()) && (moved(key) || another_moved())
    }

    /// Whether a call that failed so often, and those of the tool before it, go through a list, each about the next number, of
    /// which more may fail in the same way. Where the same is asked for between them and brings something new each time, that is
    /// where the number comes from: the next build of one job. Or they ask another site each, of which others gave something.
    pub(crate) fn fails_through_list(&self, judged: &Judged<'_>, count: u64) -> bool {
        if judged.outcome != Outcome::Failed || count >= LISTED_FAILURES_MIN {
            return false;
        }
        if self.fails_at_sites(judged) {
            return true;
        }
        let mut next = judged.call.input.sample();
        let newest = self.recent.iter().rev();
        let mut listed = 1;
        for mark in newest.filter(|mark| mark.tool == judged.tool_hash) {
            if !counts_up(&mark.sample, next) {
                break;
            }
            if self.begins_between(mark) {
                return false;
            }
            listed += 1;
            next = &mark.sample;
        }
        listed >= LISTED_MIN
    }

    /// Whether something new came after a call of what was asked for before it in the very same words.
    fn begins_between(&self, mark: &CallMark) -> bool {
        self.recent.behind(mark).any(|other| {
            let mut same = self.recent.of_key(other.key());
            other.outcome == Outcome::Fresh && same.nth(1).is_some()
        })
    }

    /// Whether the call went well, and the same call failed the last time.
    pub(crate) fn works_at_last(&self, judged: &Judged<'_>) -> bool {
        let before = self.recent.of_key(judged.key).next();
        let failed = before.is_some_and(|mark| mark.outcome == Outcome::Failed);
        failed && judged.outcome == Outcome::Stale
    }

    /// Whether the same call is all that was made lately, now well and now not, to see how often it fails.
    pub(crate) fn tries_on(&self, judged: &Judged<'_>) -> bool {
        let mut row = self.recent.iter().rev().take(TRIES_MAX);
        row.all(|mark| mark.key() == judged.key)
    }

    /// Whether the newest call of the same arguments went well, after one that failed: it may be tried once more.
    fn worked_last(&self, judged: &Judged<'_>) -> bool {
        let mut before = self.recent.of_key(judged.key);
        let went_well = before
            .next()
            .is_some_and(|mark| mark.outcome != Outcome::Failed);
        went_well
            && before
                .next()
                .is_some_and(|mark| mark.outcome == Outcome::Failed)
    }

    /// Has a tally begin anew of which what it counted says nothing of this call any more.
    pub(crate) fn begin_anew(&mut self, rule: Rule, key: u64, judged: &Judged<'_>) {
        // For most calls none does.
        if !(judged.is_terse() || self.survives(judged)) || !self.tallies.has(rule, key) {
            return;
        }
        let number = self.tallies.of(rule, key).number;
        if judged.is_terse() && self.starts_anew(judged, number) {
            self.tallies.of(rule, key).clear();
        } else if self.survives(judged) {
            self.tallies.of(rule, key).begin_again();
        }
    }

    /// Whether what a tally of this number counted last says nothing of this call any more: the call tells too little to
    /// show a standstill by itself, and something was found or done since.
    pub(crate) fn starts_anew(&self, judged: &Judged<'_>, number: u64) -> bool {
        let totals = &self.totals;
        let changed_at = match judged.silent {
            true if self.has_acted_elsewhere(judged) => totals.news_at.max(totals.acted_at),
            true => totals.news_at.max(self.deed_elsewhere_at(judged)),
            false if judged.outcome == Outcome::Unknown => {
                totals.acted_at.max(self.quiet_deed_at(judged))
            }
            false => totals.acted_at,
        };
        let tells_little = judged.is_terse() && !tells_score(judged);
        tells_little && number < changed_at.max(self.moved_on_at(judged))
    }

    /// Number of the newest deed without a word that was done just once lately, and is about another thing: where one tool works
    /// all keys and buttons of a screen, as a shell's commands do, too, and what it showed is not known, a key may have been
    /// pressed for each of several things.
    fn deed_elsewhere_at(&self, judged: &Judged<'_>) -> u64 {
        let mut of_tool = self.recent.of_tool(judged.tool_hash);
        let sample = judged.call.input.sample();
        let shows_nothing = |mark: &CallMark| mark.outcome == Outcome::Unknown;
        if !works_screen(sample) && !of_tool.any(shows_nothing) {
            return 0;
        }
        let is_elsewhere = |mark: &CallMark| {
            mark.is_quiet_deed()
                && self.recent.is_only(mark)
                && names_others(&mark.sample, sample, 1)
        };
        let back = self.recent.iter().rev().position(is_elsewhere);
        back.map_or(0, |back| judged.number_back(back))
    }

    /// Whether the newest call that did something was of another tool: of one that gives nothing at all, each call may seem to.
    fn has_acted_elsewhere(&self, judged: &Judged<'_>) -> bool {
        let back = judged.number.saturating_sub(self.totals.acted_at) as usize;
        let acted = back
            .checked_sub(1)
            .and_then(|back| self.recent.iter().rev().nth(back));
        acted.is_some_and(|mark| mark.tool != judged.tool_hash)
    }
}

/// Whether two steps do the same to another thing each: `npm install a`, `npm install b`. What is changed in one file once more is
/// tried in another way.
fn does_to_another(step: &CallMark, later: &CallMark) -> bool {
    let is_found = |mark: &CallMark| mark.outcome != Outcome::Empty || mark.may_act;
    let mut files = words(&step.sample).filter(|word| is_file(word));
    step.tool == later.tool
        && is_found(step)
        && is_found(later)
        && are_of_one_form(&step.sample, &later.sample)
        && !files.any(|file| words(&later.sample).any(|word| word == file))
}
