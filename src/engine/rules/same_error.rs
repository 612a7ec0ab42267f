//! `same_error`: the same error whatever is called.
//!
//! # What it sees
//! At least four failed calls of a tool within twelve whose errors are equal once times, ids and the like are masked, with
//! arguments that may differ. Five, where the errors are equal but for words that the arguments said (`no user ann`, `no user
//! bob`; `DescribeTags` where `describe-tags` was called) or for the number of a task, and no call of the tool brought anything
//! new in between. Twice as many failures in a row of at least three tools, with errors that are equal but for the tool's name.
//! And three times as many failures in a row, whatever their words and arguments, that may pass by themselves: without a pause
//! and without a call of the tool that went well, they do not. Twice as many times in a row the same short answer in words of
//! refusal (`The command was blocked.`) to other arguments each time, of a tool whose name does not say that it looks; or the
//! same verdict of a tool that writes (`{"approved": false}`, an edit that shows the same faults of its file). And one more than
//! usual to calls that differ in an id alone, whatever else the tool brought in between, where something else is asked for in the
//! same words each time: a job is started anew, and its log is read, or its state where nothing else tells more. Where waiting
//! has used up its time, one fewer. And ten failures of one tool in a row, whatever their words and arguments, with nothing else
//! called in between, unless each is about another item in one form.
//!
//! # Why it matters
//! The cause is one and stays: a credential, a server, a missing package, a way of asking that the tool does not take. Trying in
//! another way does not mend it.
//!
//! # What to try
//! Read the error and mend its cause, or take the tool away so that the agent looks for another way.
//!
//! # When it stays silent
//! Errors that may pass by themselves (too many requests, time-outs) neither count with others nor end their count. An error
//! without words, or one that only tells the exit code of a command, is the same one again where the output was recorded and is the
//! same; where it was not recorded, nobody knows. One call more is needed where something was done in between, which may have
//! mended the cause. Three times as many are needed of one command, the only one of its tool that fails, with an error of one line,
//! where something else was called in between and something was printed before the error that was not printed before. Tests of
//! which some passed count for nothing where each run is of another thing, such as another version, and so does that something is
//! not there, where each call names another id that a machine has made, or another item of a batch of which some are there, up to
//! seven in a row, and what fails where a range is halved. Where each call is about the next number of a list (seed 1, 2, 3), eight
//! must fail, unless the same words bring the next number each time. A failure of a file counts for nothing where other ones are
//! changed, each once, as long as it is no test. A new result of the tool starts the count anew, and so does a call that works when
//! it is tried again, unless nothing else is done, or one that went well with another thing in the same form, as of a batch in
//! which every third item fails; the calls of one model answer count once. Where each failure is that of another step, which was
//! taken back in the same way each time, seven must fail.

use crate::engine::event::{Failure, Manner, Value};
use crate::engine::fold::batch::are_of_one_form;
use crate::engine::fold::error_gist::tells_nothing;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::question::ids::{form, have_other_ids, share_id};
use crate::engine::fold::question::relation;
use crate::engine::fold::tally::SEEN_MAX;
use crate::engine::fold::unrelated_failure::share_file;
use crate::engine::fold::{Fold, name_of};
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::{Policy, ToolCounts};
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::SameError;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.same_error.as_ref()?;
    let streak = observe_streak(fold, judged, settings.calls);
    observe_alike(fold, judged, settings).or(streak)
}

/// Failures that are alike.
fn observe_alike(fold: &mut Fold, judged: &Judged<'_>, settings: &ToolCounts) -> Option<Finding> {
    if judged.outcome != Outcome::Failed {
        if !judged.denies && fold.tallies.counts(RULE) {
            fold.tallies.end(RULE, form_key(judged));
        }
        fold.tallies.end(RULE, passing(judged));
        fold.tallies.end(RULE, ANY_TOOL);
    }
    let refused = refused_with(judged);
    if refused.is_none() {
        fold.tallies.end(RULE, refused_key(judged));
    }
    if judged.transient {
        return observe_passing(fold, judged, settings.calls.saturating_mul(PASSING));
    }
    if judged.stands_aside() {
        // Who tries again and again to see how often it fails makes no headway.
        if fold.works_at_last(judged) && !fold.tries_on(judged) {
            note_success(fold, judged);
        }
        return None;
    }
    let Some(failure) = judged.call.error else {
        if let Some(answer) = refused {
            return observe_refused(fold, judged, answer, settings.calls.saturating_mul(REFUSED));
        }
        note_success(fold, judged);
        if let Some(result) = judged.result.filter(|_| judged.denies) {
            return observe_form(fold, judged, (result, result), settings.calls);
        }
        return expected(fold, judged, settings.calls);
    };
    if judged.is_wordless() || judged.answers_by_failing {
        return None;
    }
    // Where only the output says why, that is the error.
    let (error, gist) = if tells_nothing(&failure.text) {
        (judged.result?, judged.result?)
    } else {
        (failure.masked, judged.gist?)
    };
    let of_any_tool = observe_any_tool(fold, judged, &failure.text, gist, settings.calls);
    match observe_tool(fold, judged, failure, (error, gist), settings) {
        Some(finding)
            if fold.fails_through_list(judged, finding.count)
                || fold.works_elsewhere(judged)
                || fold.may_be_trials(judged, finding.count) =>
        {
            None
        }
        Some(finding) => Some(finding),
        None => of_any_tool.or_else(|| observe_form(fold, judged, (error, gist), settings.calls)),
    }
}

/// The key of what is counted of a tool's failures to calls of one form.
fn form_key(judged: &Judged<'_>) -> u64 {
    mix(mix(judged.tool_hash, form(judged.call.input.sample())), 5)
}

/// A failure of what was begun once more and has another id each time, the same as before, whatever else the tool did and brought
/// meanwhile: each time, a job is started and its log is read.
fn observe_form(
    fold: &mut Fold,
    judged: &Judged<'_>,
    (error, gist): (u64, u64),
    calls: u32,
) -> Option<Finding> {
    let sample = judged.call.input.sample();
    let asks_for_no_other = || {
        let own = form(sample);
        let before = fold.recent.of_tool(judged.tool_hash);
        let mut before = before.map(|mark| &*mark.sample);
        let of_form = before.find(|other| form(other) == own);
        of_form.is_some_and(|other| !have_other_ids(other, sample))
    };
    if fold.asked_before(judged) || asks_for_no_other() {
        return None;
    }
    let key = form_key(judged);
    let (error, gist) = (mix(error, 0), mix(gist, 1));
    let tally = fold.tallies.of(RULE, key);
    let number = tally.number;
    if !tally.seen.contains(&error) && !tally.seen.contains(&gist) {
        tally.clear();
    }
    tally.see(error);
    tally.see(gist);
    let is_first = tally.count == 0;
    if tally.has_counted_round(judged) || !(is_first || begins_once_more(fold, judged, number)) {
        return None;
    }
    // That it failed once more says little where something else said how.
    let is_told = judged.denies && tells_else(fold, judged, number);
    let tally = fold.tallies.of(RULE, key);
    if is_told {
        tally.clear();
    }
    tally.add(judged);
    (tally.count > calls).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// Whether something was asked for since a call of this number that was asked for before it in the same words; where a state alone
/// says that it failed, it brought the same but for numbers, too. What hands out one piece of work after the other begins another
/// one each time.
fn begins_once_more(fold: &Fold, judged: &Judged<'_>, number: u64) -> bool {
    let start = calls_until(fold, judged, number);
    let is_again = |mark: &CallMark| {
        let mut before = fold.recent.iter().take(start);
        if judged.denies {
            is_begun_again(fold, mark, start)
        } else {
            mark.has_key && before.any(|other| other.key() == mark.key())
        }
    };
    let hands_out = |mark: &CallMark| {
        name_of(&fold.tools, mark.tool).is_some_and(|tool| tool_name::hands_out(tool))
    };
    let mut newest = fold.recent.iter().skip(start);
    newest.any(|mark| is_again(mark) && !hands_out(mark))
}

/// Whether anything else brought something new since.
fn tells_else(fold: &Fold, judged: &Judged<'_>, number: u64) -> bool {
    let own = form(judged.call.input.sample());
    let start = calls_until(fold, judged, number);
    let mut newest = fold.recent.iter().skip(start);
    newest.any(|mark| {
        let is_of_form = mark.tool == judged.tool_hash && form(&mark.sample) == own;
        let is_news = matches!(mark.outcome, Outcome::Fresh | Outcome::Failed);
        is_news && !is_of_form && !is_begun_again(fold, mark, start)
    })
}

/// How many of the newest calls were made until the one of this number, it included.
fn calls_until(fold: &Fold, judged: &Judged<'_>, number: u64) -> usize {
    let since = judged.number.saturating_sub(number + 1) as usize;
    fold.recent.len().saturating_sub(since)
}

/// Whether one of so many calls asked for the same in the same words, and brought the same but for numbers.
fn is_begun_again(fold: &Fold, mark: &CallMark, start: usize) -> bool {
    let frame = |mark: &CallMark| mark.trend.as_ref().map(|trend| trend.frame());
    let is_same = |other: &CallMark| {
        let is_alike = mark.trend.is_some() && frame(mark) == frame(other);
        other.key() == mark.key() && (other.result() == mark.result() || is_alike)
    };
    mark.has_key && fold.recent.iter().take(start).any(is_same)
}

/// A success of the tool ends the count, whatever the error was: the key is that of the tool alone. Not one of an agent who did not
/// fail: others may lack what it has.
fn note_success(fold: &mut Fold, judged: &Judged<'_>) {
    let is_success = judged.outcome == Outcome::Fresh
        || fold.does_another(judged, Outcome::Failed)
        || fold.works_at_last(judged);
    if is_success && fold.tallies.has(RULE, judged.tool_hash) {
        let seen = &fold.tallies.of(RULE, judged.tool_hash).seen;
        if seen.contains(&who(judged)) {
            fold.tallies.end(RULE, judged.tool_hash);
        }
    }
}

/// A failure of the tool, with an error and its gist.
fn observe_tool(
    fold: &mut Fold,
    judged: &Judged<'_>,
    failure: &Failure,
    (error, gist): (u64, u64),
    settings: &ToolCounts,
) -> Option<Finding> {
    let (error, gist) = (mix(error, 0), mix(gist, 1));
    // What brought nothing new in between is no call that went well, a look at the same file, an edit without a word, unless it
    // did to another thing what this one could not do.
    let telling = |mark: &&CallMark| {
        matches!(mark.outcome, Outcome::Failed | Outcome::Fresh) || fold.did_another(mark, judged)
    };
    let failed_before = fold.recent.of_tool(judged.tool_hash).find(telling);
    let in_a_row = failed_before.is_some_and(|mark| mark.outcome == Outcome::Failed);
    let acted_at = fold.totals.acted_at;
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.expire(judged.number, settings.window_calls);
    tally.note_news(acted_at);
    let (same, alike) = (tally.seen.contains(&error), tally.seen.contains(&gist));
    // The same kind of failure between calls that went well is no sign of one cause.
    let alike = alike && in_a_row;
    if !same && !alike {
        tally.clear();
        tally.see(error);
        tally.see(gist);
    }
    // The errors must not be pushed out.
    if tally.seen.len() < SEEN_MAX {
        tally.see(who(judged));
    }
    tally.weak |= tally.count > 0 && !same;
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let more = u32::from(tally.weak) + u32::from(tally.moved);
    let needed = |times| {
        let calls = settings.calls.saturating_mul(times).saturating_add(more);
        calls.saturating_sub(judged.calls_less())
    };
    if tally.count < needed(1) {
        return None;
    }
    let printed_anew = same && prints_anew(fold, judged, failure);
    let times = if printed_anew { PASSING } else { 1 };
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    (tally.count >= needed(times)).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// Whether a program that alone fails printed something before it failed that it had not printed before, as it does where
/// somebody looks for the cause: what it printed is longer than the error and not known, and it was not the newest call. The
/// error is one line then, as that of a traceback is: what builds print beside an error of theirs is another each time anyway.
fn prints_anew(fold: &Fold, judged: &Judged<'_>, failure: &Failure) -> bool {
    let is_new = |printed: &Value| {
        printed.bytes as usize > failure.text.len()
            && !fold.is_known(mix(judged.tool_hash, printed.masked))
    };
    // Who looks for a cause changes something in between.
    let is_known = judged.call.input.value().is_some();
    let newest = fold.recent.iter().next_back();
    let prints_anyway = judged.call.traits.command.is_none() || failure.text.contains('\n');
    if prints_anyway || (is_known && newest.is_some_and(|mark| mark.key() == judged.key)) {
        return false;
    }
    let fails = |mark: &&CallMark| mark.outcome == Outcome::Failed;
    let mut failed = fold.recent.of_tool(judged.tool_hash).filter(fails);
    judged.call.output.value().is_some_and(is_new) && failed.all(|mark| mark.key() == judged.key)
}

/// The agent of a call, among what is known of failures.
fn who(judged: &Judged<'_>) -> u64 {
    mix(judged.worker, 3)
}

/// The key of what is counted of failures whatever the tool; no tool has it but by chance.
const ANY_TOOL: u64 = 0x616e_7920_746f_6f6c;

/// How many times as many failures it takes of several tools.
const SEVERAL: u32 = 2;

/// Fewest tools that are several: of two, one may be what the other one calls.
const TOOLS_MIN: usize = 3;

/// A failure of whatever tool, with an error that says the same but for the tool's name and the arguments: for want of a
/// credential, of a server, or of any tool of that name.
fn observe_any_tool(
    fold: &mut Fold,
    judged: &Judged<'_>,
    text: &str,
    gist: u64,
    calls: u32,
) -> Option<Finding> {
    let error = if text.contains(&**judged.tool) {
        text_hash(&text.replace(&**judged.tool, ""))
    } else {
        gist
    };
    let tally = fold.tallies.of(RULE, ANY_TOOL);
    if !tally.seen.contains(&error) {
        tally.clear();
        tally.see(error);
    }
    // The first one that was seen is the error.
    if tally.seen.len() <= TOOLS_MIN {
        tally.see(judged.tool_hash);
    }
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let enough = tally.count >= calls.saturating_mul(SEVERAL) && tally.seen.len() > TOOLS_MIN;
    enough.then(|| Finding {
        agent: judged.call.agent.cloned(),
        ..Finding::of_tally(tally, ANY_TOOL)
    })
}

/// The group of a tool's failures in a row, whatever they say, by the tool's hash.
pub(crate) fn streak_group(tool: u64) -> u64 {
    mix(tool, 6)
}

/// A failure of a tool behind others, in whatever words, with nothing else called in between: what is done may mend the cause. Of
/// what may pass by itself, pauses are no failures. It takes five calls for two that fail alike: who mends one error after the
/// other needs fewer.
fn observe_streak(fold: &mut Fold, judged: &Judged<'_>, calls: u32) -> Option<Finding> {
    let group = streak_group(judged.tool_hash);
    if judged.outcome != Outcome::Failed {
        fold.tallies.end(RULE, group);
        return None;
    }
    let is_answer = judged.is_wordless() || judged.answers_by_failing;
    if is_answer || judged.waiting.patient || judged.waiting.backs_off || fold.has_just_paused() {
        return None;
    }
    let tally = fold.tallies.of(RULE, group);
    if tally.has_counted_round(judged) {
        return None;
    }
    if tally.number + 1 != judged.number {
        tally.clear();
    }
    tally.add(judged);
    // What may pass is told of by itself, if it goes on.
    let enough = tally.count >= calls.saturating_mul(5) / 2 && !judged.transient;
    let finding = enough.then(|| Finding::of_calls(tally, group, judged))?;
    (!is_of_batch(fold, judged) && !fold.works_elsewhere(judged)).then_some(finding)
}

/// Whether at least half of the newest calls of the tool asked for the same of another item each: each may fail for a reason of its
/// own.
fn is_of_batch(fold: &Fold, judged: &Judged<'_>) -> bool {
    let sample = judged.call.input.sample();
    let of_tool = || fold.recent.of_tool(judged.tool_hash);
    let items = of_tool().filter(|mark| are_of_one_form(&mark.sample, sample));
    items.count() * 2 >= of_tool().count()
}

/// The key of what is counted of a tool's failures that may pass by themselves.
fn passing(judged: &Judged<'_>) -> u64 {
    passing_group(judged.tool_hash)
}

/// The same, of a tool's hash: the group of the warning, too.
pub(crate) fn passing_group(tool: u64) -> u64 {
    mix(tool, 2)
}

/// How many times as many failures it takes that may pass by themselves, or before each of which something else was printed.
const PASSING: u32 = 3;

/// A failure that may pass by itself: so many of them in a row do not.
fn observe_passing(fold: &mut Fold, judged: &Judged<'_>, calls: u32) -> Option<Finding> {
    if judged.waiting.patient || judged.waiting.backs_off || fold.has_just_paused() {
        return None;
    }
    let group = passing(judged);
    let tally = fold.tallies.of(RULE, group);
    if tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    (tally.count >= calls).then(|| Finding::of_calls(tally, group, judged))
}

/// The key of what is counted of a tool's refusals in words.
fn refused_key(judged: &Judged<'_>) -> u64 {
    mix(judged.tool_hash, 4)
}

/// How many times as many refusals it takes that may be answers.
const REFUSED: u32 = 2;

/// Hash of a result in words of refusal, of a tool of which the name does not say that it looks: to who looks, no is an answer. Or
/// of a verdict that says no, of a tool that writes.
fn refused_with(judged: &Judged<'_>) -> Option<u64> {
    let says_no = |value: &&Value| value.refuses || (value.denies && judged.call.manner.writes());
    let value = judged.call.output.value().filter(says_no)?;
    let is_told = !value.pending && judged.call.manner != Manner::Looks;
    (is_told && judged.call.error.is_none()).then_some(value.masked)
}

/// A result in words of refusal: so many in a row to other arguments each time are no answers. The same arguments once more ask how
/// something is by now.
fn observe_refused(
    fold: &mut Fold,
    judged: &Judged<'_>,
    answer: u64,
    calls: u32,
) -> Option<Finding> {
    let key = refused_key(judged);
    let is_again = fold.asked_before(judged);
    let is_verdict = judged.denies
        && !judged
            .call
            .output
            .value()
            .is_some_and(|value| value.refuses);
    if is_verdict && asks_for_another(fold, judged) {
        return None;
    }
    let tally = fold.tallies.of(RULE, key);
    if !tally.seen.contains(&answer) {
        tally.clear();
        tally.see(answer);
    }
    if is_again || tally.has_counted_round(judged) {
        return None;
    }
    tally.add(judged);
    let count = tally.count;
    let is_list = count < calls || fold.fails_through_list(judged, count.into());
    let tally = fold.tallies.of(RULE, key);
    (!is_list).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// Whether a call is about another thing than the one of the tool before it: each has a verdict of its own.
fn asks_for_another(fold: &Fold, judged: &Judged<'_>) -> bool {
    let before = fold.recent.of_tool(judged.tool_hash).next();
    let sample = judged.call.input.sample();
    before.is_some_and(|mark| {
        let is_reworded = relation(&mark.sample, sample).is_in_other_words();
        !is_reworded && !share_file(&mark.sample, sample) && !share_id(&mark.sample, sample)
    })
}

/// A call that the guard is asked about, and that is expected to fail as the one before did.
fn expected(fold: &mut Fold, judged: &Judged<'_>, calls: u32) -> Option<Finding> {
    let failed = judged.outcome == Outcome::Failed && fold.tallies.has(RULE, judged.tool_hash);
    if !failed {
        return None;
    }
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.add(judged);
    (tally.count >= calls).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}
