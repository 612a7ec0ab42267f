//! `empty_result_loop`: a tool keeps finding nothing.
//!
//! # What it sees
//! At least three calls of a tool that returned nothing: an empty text, list or object, an envelope around one, or a phrase
//! such as "no results" (threshold: LoopLens manual).
//!
//! # Why it matters
//! The agent searches a dead end; the next query of the same kind will find nothing either.
//!
//! # What to try
//! Tell the agent that the source does not have it, and name another source or let it answer that nothing was found.
//!
//! # When it stays silent
//! Results that were not recorded are not empty. Where progress is known, a new result of the same tool starts the count anew,
//! and so does what it finds of another thing in the same form, or a new result of any tool where the question is another one;
//! questions about other things (another table, another
//! user in one frame, an id) do not count together, nor do texts that are handed over to be judged, or those in wholly other
//! words between which something was done; where a question has no words in common with any of those before it, five are needed,
//! and ten where it asks for other names (`Sony WH-1000XM5`, `Ava Meier`); where something new was found between each two, as
//! by who turns and looks, it does not count; other numbers count, but for pages, only behind one that found nothing (nine, where
//! they are pages of a file); several empty answers to one model answer count once, five are needed where the tool found
//! something among the newest calls or the arguments were not recorded, a call that gave nothing at all and did not even say so
//! (a note-taking tool, a shell's `mkdir`) may not have looked for anything, a result that says that it is still under way is
//! not complete, and a tool that looks for faults (`get_diagnostics`, `lint`, a console) begins anew where something was done
//! since, and counts only where it looks at the same thing again.

use crate::engine::fold::Fold;
use crate::engine::fold::blanks::Blank;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::policy::Policy;
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::EmptyResultLoop;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.empty_result_loop.as_ref()?;
    if policy.progress_aware && (judged.silent || judged.waiting.patient || judged.pending) {
        return None;
    }
    let tool = judged.tool_hash;
    let finds = || judged.outcome == Outcome::Fresh || fold.does_another(judged, Outcome::Empty);
    if policy.progress_aware && fold.tallies.has(RULE, tool) && finds() {
        fold.tallies.end(RULE, tool);
    }
    if judged.outcome != Outcome::Empty {
        return None;
    }
    let found_before = policy.progress_aware && fold.found_lately(tool);
    let asked_before = fold.asked_before(judged);
    let blank = if policy.progress_aware && !asked_before {
        fold.blank_before(judged, policy.waiting.as_ref())
    } else {
        Blank::Again
    };
    let (news_at, turn_at) = (fold.totals.news_at, fold.totals.turn_at);
    let changed_at = news_at.max(fold.totals.acted_at);
    let tally = fold.tallies.of(RULE, tool);
    tally.expire(judged.number, settings.window_calls);
    // A user asks for it again, or it is another question, amid work that gets on.
    let is_asked_for = tally.number < turn_at || (!asked_before && tally.number < news_at);
    // Who looks for faults after something was done hopes for none.
    let is_well = tally.number < changed_at && tool_name::looks_for_faults(judged.tool);
    if policy.progress_aware && (is_asked_for || is_well) {
        tally.clear();
    }
    // Unknown questions may be about other things each.
    tally.moved |= judged.key.is_none() || (tally.count == 0 && found_before);
    // Several questions, each about another thing: that one has no answer tells nothing of the next.
    if policy.progress_aware && tally.count > 0 && blank == Blank::Apart {
        return None;
    }
    if policy.progress_aware && tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let calls = settings.calls_moving.filter(|_| tally.moved);
    let of_question = blank.calls(settings.calls, settings.calls_moving);
    if tally.count < calls.unwrap_or(settings.calls).max(of_question) {
        return None;
    }
    let finding = Finding::of_calls(tally, tool, judged);
    let is_excused = policy.progress_aware
        && asked_before
        && fold.looks_elsewhere(judged)
        && fold.excuses(true, judged);
    (!is_excused).then_some(finding)
}
