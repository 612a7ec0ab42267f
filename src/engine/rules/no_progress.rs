//! `no_progress`: a tool repeats while nothing changes.
//!
//! # What it sees
//! A tool called at least three times with no state update and no memory write between its calls (LoopLens manual; looked at
//! between consecutive calls, so that one early update does not silence the rule). Where progress is known: three rounds of
//! calls of a tool, one after the other, that brought nothing new: the old result of an old question, an empty result, or an
//! error. Nine calls in a row, of those that were not made lately, that were each made twice before in this turn and brought
//! the same, in whatever order, and nothing new came up meanwhile. Six calls, of which the first clicks or presses something,
//! behind which the page is the same as before them. A plan (`TodoWrite`, `update_plan`) that is written nine times with no
//! other call in between but to think (`think`), or a text of one name (`write_file`, `save_report`) that is written in other
//! words six times more, with no call in between but to look at it.
//!
//! # Why it matters
//! The run costs time and money and is no nearer to its goal.
//!
//! # What to try
//! Stop the run or give it what it lacks: a credential, a missing file, a decision.
//!
//! # When it stays silent
//! Where progress is known, a new result, a written file, a state update or a memory write starts the count anew, calls of
//! one model answer count once. A call whose result was not recorded counts for nothing, nor does waiting, a failure that may
//! pass by itself, or a new call that gave nothing at all (a shell's `mkdir`) or failed without a word but its exit code;
//! after one of these, one call more is needed. Where other tools bring something new between its calls, more are needed, and
//! so they are for misses of a tool that found something lately. What another agent or worker asked is a new question to this
//! one. A question about another thing that finds nothing counts for nothing, and of questions that have no words in common,
//! as many are needed as in `empty_result_loop`. Where arguments were not recorded, as many calls are needed as beside news,
//! and mere acknowledgements count for nothing. Where each call asks for another thing, and for the second time only, as who
//! waits for several jobs does, one more is needed (three, where results of more than 64 bytes may have been forgotten), and
//! so it is where other calls fail alike, which may be about other things. Tests that fail, of which others passed, count for
//! nothing where each run is of another thing, such as another version, nor do failures that tell in which half of a range
//! something is, or that one item of a batch is not there. Short results start anew where something was done since, and so
//! does a new question that finds nothing where something new came since. Where other tools bring something new, repeats must
//! be six of the newest thirteen calls, unless the calls fail. A call that works after it failed is headway, whatever it
//! brings; a result that says that what was asked about is still under way counts for nothing here, since several things may
//! be waited for in turn, and so does one of a call that brought something new three times lately; of a list that is gone
//! through by number (seed 1, 2, 3), eight items must fail in the same way; and a plan or a text that grows each time, or of
//! which numbers or ticks alone are others, gets on. Several commands of a shell that answer as before behind one step,
//! something that was done and was not done before, count once.

use crate::engine::event::Manner;
use crate::engine::fold::Fold;
use crate::engine::fold::blanks::Blank;
use crate::engine::fold::fruitless::is_at_place;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::tags::Tag;
use crate::engine::hash::mix;
use crate::engine::policy::{Policy, ToolCounts};
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::NoProgress;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.no_progress.as_ref()?;
    if policy.progress_aware {
        return stands_still(fold, judged, policy, settings);
    }
    let tool = judged.tool_hash;
    let written_at = fold.totals.write_at;
    let tally = fold.tallies.of(RULE, tool);
    tally.expire(judged.number, settings.window_calls);
    tally.begin_at(written_at);
    tally.add(judged);
    (tally.count >= settings.calls).then(|| Finding::of_calls(tally, tool, judged))
}

/// Calls more that are allowed to who asks for each of several things once more: who has forgotten what he read reads all of it.
fn once_more(judged: &Judged<'_>) -> u32 {
    let reads = judged.outcome == Outcome::Stale && !judged.is_terse();
    if reads { 3 } else { 1 }
}

/// Whether calls of the tool bring nothing new any more.
fn stands_still(
    fold: &mut Fold,
    judged: &Judged<'_>,
    policy: &Policy,
    settings: &ToolCounts,
) -> Option<Finding> {
    if judged.call.manner == Manner::Plans || fold.writes_anew(judged) {
        return merely_words(fold, judged, settings);
    }
    let asked = Asked::of(fold, judged);
    if asked.is_another() && is_asked_thirdly(fold, judged) {
        return goes_through_again(fold, judged, settings);
    }
    if let Some(finding) = stays_at_page(fold, judged, settings) {
        return Some(finding);
    }
    let tool = judged.tool_hash;
    if stands_aside(judged, &asked) {
        // It may have changed something that the telemetry does not show: one call more is needed.
        if !judged.stands_aside() && fold.tallies.has(RULE, tool) {
            fold.tallies.of(RULE, tool).weak = true;
        }
        return None;
    }
    if judged.outcome == Outcome::Fresh || fold.works_at_last(judged) {
        fold.tallies.end(RULE, tool);
        return None;
    }
    let blank = if asked.before {
        Blank::Again
    } else {
        fold.blank_before(judged, policy.waiting.as_ref())
    };
    // How often it is asked for is counted call by call: there may be several things to wait for.
    let may_move = judged.pending || judged.moves || judged.waiting.may_back_off;
    if may_move || !counts(fold, judged, &asked, blank, settings) {
        return None;
    }
    let tally = fold.tallies.of(RULE, tool);
    let (count, moved) = (tally.count, tally.moved);
    let calls = settings
        .calls_moving
        .filter(|_| moved || judged.key.is_none());
    // Other calls that fail alike may be about other things.
    let fails_elsewhere = judged.outcome == Outcome::Failed && asked.is_another();
    let less_sure = tally.weak || fails_elsewhere;
    let needed = calls
        .unwrap_or(settings.calls)
        .saturating_add(less_sure.into())
        .max(blank.calls(settings.calls, settings.calls_moving));
    let excused = count < needed
        || (count < needed.saturating_add(once_more(judged)) && fold.asks_each_once_more(judged))
        || fold.excuses(moved, judged)
        || fold.fails_through_list(judged, count.into());
    (!excused).then(|| Finding {
        is_guess: judged.key.is_none(),
        ..Finding::of_calls(fold.tallies.of(RULE, tool), tool, judged)
    })
}

/// How many times as many calls it takes of a tool that writes the plan: with some, an agent that has only a text to write may well
/// go through its list.
const PLANS: u32 = 3;

/// The same of a text that is written anew.
const WRITTEN: u32 = 2;

/// Whether the plan, or one text, is written again and again, and nothing else is done.
fn merely_words(fold: &mut Fold, judged: &Judged<'_>, settings: &ToolCounts) -> Option<Finding> {
    let tool = judged.tool_hash;
    let plans = judged.call.manner == Manner::Plans;
    // Whoever thinks about the plan does nothing else.
    let goes_on = !plans
        || fold
            .newest_but_thoughts()
            .is_some_and(|mark| mark.tool == tool);
    if !goes_on {
        fold.tallies.end(RULE, tool);
    }
    let (grows_on, turn_at) = (fold.grows_on(judged), fold.totals.turn_at);
    let tally = fold.tallies.of(RULE, tool);
    tally.begin_at(turn_at);
    // Each of several agents begins with a plan of its own.
    if !tally.seen.contains(&judged.worker) {
        tally.clear();
        tally.see(judged.worker);
    }
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let times = if plans { PLANS } else { WRITTEN };
    let enough = tally.count >= settings.calls.saturating_mul(times) && !grows_on;
    enough.then(|| Finding::of_calls(tally, tool, judged))
}

/// What tells the count of what is asked for the third time from that of the tool's other calls.
const THIRDLY: u64 = 0x0074_6869_7264_6c79;

/// How many times as many calls it takes: who reads a few things for the third time may do so for each of several others.
const GONE_THROUGH: u32 = 3;

/// Whether the same was asked twice in this turn, longer ago than the newest calls, and answered the same.
fn is_asked_thirdly(fold: &Fold, judged: &Judged<'_>) -> bool {
    let is_old = judged.outcome == Outcome::Stale && !judged.is_terse();
    let of_turn = judged.number.saturating_sub(fold.totals.turn_at) as usize;
    is_old && !judged.stands_aside() && fold.tags.hold_twice(Tag::of(fold, judged), of_turn)
}

/// Whether many things are asked for the third time, one after the other in whatever order, and nothing new comes up meanwhile.
fn goes_through_again(
    fold: &mut Fold,
    judged: &Judged<'_>,
    settings: &ToolCounts,
) -> Option<Finding> {
    let totals = &fold.totals;
    let changed_at = totals.news_at.max(totals.acted_at).max(totals.write_at);
    let tally = fold.tallies.of(RULE, mix(judged.tool_hash, THIRDLY));
    tally.begin_at(changed_at);
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let enough = tally.count >= settings.calls.saturating_mul(GONE_THROUGH);
    enough.then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// What tells the count of what is done while a page stays as it is.
const PAGE: u64 = 0x7061_6765;

/// Whether clicks and the like, and what else is tried between them, leave a page as it is.
fn stays_at_page(fold: &mut Fold, judged: &Judged<'_>, settings: &ToolCounts) -> Option<Finding> {
    if judged.stands_aside() || !fold.leaves_page(judged) {
        return None;
    }
    let key = mix(judged.result?, PAGE);
    let presses = tool_name::presses(judged.tool) || is_at_place(judged.call.input.sample());
    if !presses && !fold.tallies.has(RULE, key) {
        return None;
    }
    let news_at = fold.totals.news_at;
    let tally = fold.tallies.of(RULE, key);
    tally.begin_at(news_at);
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let enough = tally.count >= settings.calls_moving.unwrap_or(settings.calls);
    enough.then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// Whether the question of a call was asked before.
struct Asked {
    before: bool,
    /// Nobody knows what was asked, and a result that says something may be that of the same question.
    may_be_again: bool,
}

impl Asked {
    fn of(fold: &Fold, judged: &Judged<'_>) -> Self {
        Self {
            before: fold.asked_before(judged) && !fold.is_first_of_worker(judged),
            may_be_again: judged.key.is_none() && !judged.merely_says_done(),
        }
    }

    /// Whether the question is another one, as far as is known.
    fn is_another(&self) -> bool {
        !self.before && !self.may_be_again
    }
}

/// Whether a call says nothing for or against a standstill.
fn stands_aside(judged: &Judged<'_>, asked: &Asked) -> bool {
    let says_nothing = judged.silent || judged.is_wordless();
    judged.stands_aside() || judged.answers_by_failing || (says_nothing && !asked.before)
}

/// Counts a call that brought nothing new, if it tells of a standstill.
fn counts(
    fold: &mut Fold,
    judged: &Judged<'_>,
    asked: &Asked,
    blank: Blank,
    settings: &ToolCounts,
) -> bool {
    let tool = judged.tool_hash;
    fold.begin_anew(RULE, tool, judged);
    let (written_at, news_at) = (fold.totals.write_at, fold.totals.news_at);
    // Of a call that fails, news are what counts here, wherever they come from.
    let changed_at = match judged.outcome {
        Outcome::Failed => news_at,
        _ => fold.changed_at(judged),
    };
    let is_miss = fold.found_lately(tool) && asked.is_another();
    let step_at = fold.step_before(judged);
    let tally = fold.tallies.of(RULE, tool);
    tally.expire(judged.number, settings.window_calls);
    tally.begin_at(written_at);
    // A blank drawn by another question, amid work that gets on.
    if judged.outcome == Outcome::Empty && !asked.before {
        tally.begin_at(news_at);
    }
    tally.note_news(changed_at);
    // A miss among hits.
    tally.moved |= tally.count == 0 && is_miss;
    match judged.outcome {
        Outcome::Unknown => return false,
        // An old result of new arguments may be an acknowledgement; only the same question again shows a standstill.
        Outcome::Stale if asked.is_another() => return false,
        Outcome::Stale if step_at.is_some_and(|at| tally.number >= at) => return false,
        Outcome::Empty if blank == Blank::Apart => return false,
        _ if tally.has_counted_round(judged) => return false,
        Outcome::Failed if judged.result.is_some_and(|result| tally.see(result)) => {
            // Another error is news, such as one test less that fails: the count starts with it.
            tally.begin_again();
        }
        _ => {}
    }
    tally.add(judged);
    true
}
