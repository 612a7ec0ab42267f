//! `repeated_tool_call_exact_input`: the same tool with the same arguments.
//!
//! # What it sees
//! At least three calls of a tool whose arguments are equal as canonical JSON: the order of keys and blanks do not matter, nor do
//! ids and times that are made up for each request (threshold: LoopLens manual). It is the surest sign of a loop. One fewer, where
//! waiting for the answer has used up its time. And a user who is asked the very same for the sixth time, whatever the answers are,
//! with nothing said or done in between.
//!
//! # Why it matters
//! Asking the same question again does not change the answer; every repeat costs a model call and its tokens. Where the tool does
//! something (`pay_invoice`), each repeat may have done it once more.
//!
//! # What to try
//! If the calls fail, mend the cause that the error names. If not, give the agent the earlier result, or say what it may do
//! when the result does not help. If it waits for something, let it wait in the tool instead of asking again. Of what was done
//! again, undo what is too much, and have the tool refuse a repeat.
//!
//! # When it stays silent
//! Arguments that were not recorded, are redacted or were cut off, equal nothing. Where progress is known, a repeat that brings
//! a result not seen for this call starts the count anew (polling that moves is progress); the same calls of one model answer
//! count once, and the first one of each further agent or worker not at all; failures that may pass by themselves, and waiting
//! (long or growing pauses, a tool that waits, a steady pace where the result says that something is under way) within its
//! time, count for nothing (but for a verdict or an error that says no for the third time, `{"state": "FAILED"}`, behind a
//! `sleep`), nor does a gauge that is read every 45 seconds or less often, or every eight at the pace of a timer, or what is as
//! it was before whenever it is looked at, at such a pace, or a call that finds nothing in the time that its arguments say it
//! may take (`"timeout": 30`); where other calls lie between, or results were not recorded, one repeat more is needed, and
//! where something new came in between, from whatever call, two more than that, while repeats of whatever call must be six of
//! the newest thirteen calls (of those since the newest message of a user), and not each follow something that was newly asked
//! and found, as from a list to each of its items and back, and what works at the second try was asked for once (where several
//! agents work, an agent of which the newest six calls brought nothing new is not excused by what others found); the same goes
//! for what was done without a word (a shell's `sed -i`), of which a check that passes as before tells something, if it does
//! not merely look (`cat`, `grep`); a call that fails in the same way each time needs no more than that one, or one more where
//! it failed otherwise before and something was done since: what was done has mended some of it. So does one that says no
//! (`{"conclusion": "failure"}`, a pod in `CrashLoopBackOff`, faults that a compiler finds), where something was done since.
//! Faults of a file count for nothing where other files are changed, each once. A call that gives nothing at all (a shell's
//! `sed -i`) cannot show a standstill by itself: where another call brought something new since, or another tool did something,
//! it starts anew; so does one whose result is unknown or short (`ok`, a picture's placeholder) where something was done since.
//! Where nothing but numbers is new in the result, and they go up and down, the result is an old one, and one repeat more is
//! needed; where other calls brought something new meanwhile, it is a gauge and does not count. One repeat more is needed, too,
//! where the result says that what was asked about is still under way (`{"state": "running"}`), or where three of the newest
//! twelve calls are the same one and brought something new (one, where what a terminal prints is read). A call that takes
//! things away (`delete`, `process`), says how many at most (`LIMIT 1000`, `batch`), and is answered with how many they were,
//! has taken others each time. A check that follows each of several steps, all of them new and about other things, does not
//! count, unless it fails, says no, or merely looks; nor does a call that now goes well and now fails, up to forty times, or
//! that takes five seconds for numbers that go up and down, with nothing in between, nor a single test that passes, or a
//! benchmark, up to eight times. What is tried out does not count: a check that says no after each of several steps, none of
//! which was made before, where all is well again before the next; where nobody checks in between, but the same step takes each
//! of them back, seven in a row must say no.

use crate::engine::fold::Fold;
use crate::engine::fold::batch::says;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::tally::Tally;
use crate::engine::hash::mix;
use crate::engine::policy::{Policy, Repeats};
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::RepeatedToolCallExactInput;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.repeated_tool_call_exact_input.as_ref()?;
    let key = judged.key?;
    if policy.progress_aware
        && let Some(finding) = asked_again(fold, judged, key, settings)
    {
        return Some(finding);
    }
    if policy.progress_aware && judged.stands_aside() {
        return None;
    }
    let changed_at = fold.changed_at(judged);
    let is_first_of_worker = policy.progress_aware && fold.is_first_of_worker(judged);
    if policy.progress_aware {
        fold.begin_anew(RULE, key, judged);
    }
    let tally = fold.tallies.of(RULE, key);
    tally.expire(judged.number, settings.window_calls);
    if policy.progress_aware && !is_repeat(tally, judged, changed_at, is_first_of_worker) {
        return None;
    }
    tally.add(judged);
    if tally.count < calls_needed(tally, judged, settings) {
        return None;
    }
    // LoopLens keeps one warning for a rule and tool; with progress known each loop has its own.
    let group = if policy.progress_aware {
        key
    } else {
        judged.tool_hash
    };
    let moved = tally.moved;
    let finding = Finding {
        is_guess: policy.progress_aware && judged.result.is_none(),
        ..Finding::of_calls(tally, group, judged)
    };
    let may_be_trials = policy.progress_aware && fold.may_be_trials(judged, finding.count);
    (!may_be_trials && !fold.excuses(moved, judged)).then_some(finding)
}

/// What tells the count of what a user is asked, and how many times as often: whoever answers may be asked again what was meant.
const ASKED: u64 = 0x0061_736b_6564;
const ASKED_TIMES: u32 = 2;

/// Whether a user is asked the very same again and again and answers each time, and the agent says and does nothing in between.
/// What comes next may be asked for as often as there is something.
fn asked_again(
    fold: &mut Fold,
    judged: &Judged<'_>,
    key: u64,
    settings: &Repeats,
) -> Option<Finding> {
    let asks_on = || {
        let sample = judged.call.input.sample();
        NEXT.iter().any(|word| says(sample, word))
    };
    if !tool_name::asks_somebody(judged.tool) || judged.outcome == Outcome::Failed || asks_on() {
        return None;
    }
    let silences = fold.speech.silences;
    let tally = fold.tallies.of(RULE, mix(key, ASKED));
    if tally.number + 1 != judged.number || !tally.seen.contains(&silences) {
        tally.clear();
        tally.see(silences);
    }
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let enough = tally.count >= settings.calls.saturating_mul(ASKED_TIMES);
    enough.then(|| Finding::of_calls(tally, key, judged))
}

/// Words by which a question asks for the next thing of several, in lower case.
const NEXT: [&str; 7] = [
    "next", "else", "another", "more", "further", "continue", "command",
];

/// Whether a call repeats those that were counted, which is to be added, where progress is known. What it tells of them is noted.
fn is_repeat(
    tally: &mut Tally,
    judged: &Judged<'_>,
    changed_at: u64,
    is_first_of_worker: bool,
) -> bool {
    let unseen = judged.result.is_some_and(|result| tally.see(result));
    let new = (unseen && !judged.jitters()) || judged.takes_on;
    if new && tally.count > 0 {
        tally.begin_again();
        tally.add(judged);
        return false;
    }
    if is_first_of_worker || tally.has_counted_round(judged) {
        return false;
    }
    tally.note_news(changed_at);
    // A gauge that is read while the work goes on, such as a die that is thrown between moves.
    if tally.moved && judged.jitters() {
        return false;
    }
    let between = tally.count > 0 && tally.number + 1 != judged.number;
    tally.weak |= between || judged.result.is_none() || judged.jitters();
    true
}

/// How many calls it takes, this one included.
fn calls_needed(tally: &Tally, judged: &Judged<'_>, settings: &Repeats) -> u32 {
    let needed = match settings.calls_moving {
        Some(calls) if tally.moved && !judged.stays_refused() => calls,
        // News elsewhere is no excuse for a failure that stays the same.
        _ if tally.weak => settings.calls_weak.unwrap_or(settings.calls),
        _ => settings.calls,
    };
    // A test of which another failed before: what was done has mended something, and may mend more.
    let failed_otherwise = tally.moved && judged.fails_in_words() && tally.seen.len() > 1;
    // What was done before the same check may mend what it says no to.
    let tried = tally.moved && judged.denies;
    let more = judged.calls_more() + u32::from(failed_otherwise) + u32::from(tried);
    let calls = needed.saturating_add(more);
    calls.saturating_sub(judged.calls_less())
}
