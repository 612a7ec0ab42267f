//! `no_progress`: a tool repeats while nothing changes.
//!
//! # What it sees
//! A tool called at least three times with no state update and no memory write between its calls (LoopLens manual; looked at
//! between consecutive calls, so that one early update does not silence the rule). Where progress is known: three rounds of
//! calls of a tool, one after the other, that brought nothing new: the old result of an old question, an empty result, or an
//! error.
//!
//! # Why it matters
//! The run costs time and money and is no nearer to its goal.
//!
//! # What to try
//! Stop the run or give it what it lacks: a credential, a missing file, a decision.
//!
//! # When it stays silent
//! Where progress is known, a new result, a written file, a state update or a memory write starts the count anew, calls of one
//! model answer count once. A call whose result was not recorded counts for nothing, nor does waiting, a failure that may pass
//! by itself, or a new call that gave nothing at all (a shell's `mkdir`) or failed without a word but its exit code; after one
//! of these, one call more is needed. Where other tools bring something new between its calls, more are needed, and so they are
//! for misses of a tool that found something lately. A question about another thing that finds nothing counts for nothing.
//! Where arguments were not recorded, as many calls are needed as beside news, and mere acknowledgements count for nothing.
//! Where each call asks for another thing, and for the second time only, as who waits for several jobs does, one more is
//! needed. So do tests that fail, of which others passed, where each run is of another thing, such as another version. Short
//! results start anew where something was done since, and so does a new question that finds nothing where something new came
//! since. Where other tools bring something new, repeats must be six of the newest thirteen calls, unless the calls fail. A call
//! that works after it failed is headway, whatever it brings; a result that says that what was asked about is still under way
//! counts for nothing here, since several things may be waited for in turn; and of a list that is gone through by number (seed
//! 1, 2, 3), eight items must fail in the same way.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::{Judged, Outcome};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::NoProgress;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.no_progress.as_ref()?;
    let written_at = fold.totals.write_at;
    // An old result of new arguments may be an acknowledgement; only the same question again shows a standstill.
    let asked_before = fold.asked_before(judged);
    let aside = judged.stands_aside()
        || fold.tests_another(judged)
        || ((judged.silent || judged.is_wordless()) && !asked_before);
    // Where nobody knows what was asked, a result that says something may be that of the same question.
    let may_ask_again = judged.key.is_none() && !judged.merely_says_done();
    let tool = judged.tool_hash;
    if policy.progress_aware && aside {
        // It may have changed something that the telemetry does not show: one call more is needed.
        if !judged.stands_aside() && fold.tallies.has(RULE, tool) {
            fold.tallies.of(RULE, tool).weak = true;
        }
        return None;
    }
    let is_headway = judged.outcome == Outcome::Fresh || fold.works_at_last(judged);
    if policy.progress_aware && is_headway {
        fold.tallies.end(RULE, tool);
        return None;
    }
    // How often it is asked for is counted call by call: there may be several things to wait for.
    if judged.pending {
        return None;
    }
    let news_at = fold.totals.news_at;
    if policy.progress_aware {
        fold.begin_anew(RULE, tool, judged);
    }
    let found_before = fold.found_lately(tool) && !asked_before && !may_ask_again;
    let drew_blank = policy.progress_aware && fold.drew_blank_before(judged);
    let tally = fold.tallies.of(RULE, tool);
    tally.expire(judged.number, settings.window_calls);
    if written_at > tally.number {
        tally.clear();
    }
    if policy.progress_aware {
        // A blank drawn by another question, amid work that gets on.
        if judged.outcome == Outcome::Empty && !asked_before && tally.number < news_at {
            tally.clear();
        }
        tally.note_news(news_at);
        // A miss among hits.
        tally.moved |= tally.count == 0 && found_before;
        match judged.outcome {
            Outcome::Unknown => return None,
            Outcome::Stale if !asked_before && !may_ask_again => return None,
            Outcome::Empty if !asked_before && !drew_blank => return None,
            _ if tally.count > 0 && tally.round == judged.round => return None,
            Outcome::Failed if judged.result.is_some_and(|result| tally.see(result)) => {
                // Another error is news, such as one test less that fails: the count starts with it.
                tally.begin_again();
                tally.add(judged);
            }
            _ => tally.add(judged),
        }
    } else {
        tally.add(judged);
    }
    let calls = settings.calls_moving;
    let calls = calls.filter(|_| tally.moved || judged.key.is_none());
    let less_sure = tally.weak;
    let needed = calls
        .unwrap_or(settings.calls)
        .saturating_add(less_sure.into());
    let (count, moved) = (tally.count, tally.moved);
    if count < needed || (count == needed && fold.asks_each_once_more(judged)) {
        return None;
    }
    let tally = fold.tallies.of(RULE, tool);
    let finding = Finding {
        is_guess: policy.progress_aware && judged.key.is_none(),
        ..Finding::of_calls(tally, tool, judged)
    };
    let excused = fold.excuses(moved, judged) || fold.fails_through_list(judged, count.into());
    (!excused).then_some(finding)
}
