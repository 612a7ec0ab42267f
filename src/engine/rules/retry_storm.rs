//! `retry_storm`: the same thing is tried again and again.
//!
//! # What it sees
//! At least three retries in the run (LoopLens manual). A retry is what the framework reports as one; where the profile
//! infers, it is also a call that follows a failed call of the same tool with the same arguments (or with arguments that
//! were not recorded) and fails in the same way, or in a way that may pass by itself; of these, also one whose arguments differ
//! in numbers alone, such as that of the attempt. And a model call that fails after one that failed, with none that went well and
//! no call of a tool in between.
//!
//! # Why it matters
//! What failed three times in the same way will fail again, and retries against a struggling service make it worse.
//!
//! # What to try
//! Read the error; mend its cause, wait longer between tries, or give up with a clear message.
//!
//! # When it stays silent
//! Where the profile infers, a success of the tool, another error or something done in between starts its count anew, and
//! so does any call of the tool that of the retries which the framework reports of it: the calls show themselves whether they
//! are retries. One that is reported without its tool, just before a call that is one, is not counted again. Failures that may
//! pass by themselves (too many requests, time-outs) need more retries, and a retry after a markedly longer pause than the one
//! before is an honest one and does not count; nor does one that gets further (`2 out of 6 replicas are up`), nor a look that
//! fails after a pause or a `sleep`, or of what was just started, as long as it may wait.

use crate::engine::event::{Event, Text};
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::tally::WHOLE_RUN;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::{Policy, RetryStorm};
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;
use crate::engine::window::calls::Call;

const RULE: Rule = Rule::RetryStorm;

/// The key of what is counted of model calls; no tool has it but by chance.
const MODELS: u64 = 0x6d6f_6465_6c73;

pub(super) fn observe_retry(
    fold: &mut Fold,
    event: &Event,
    tool: Option<&Text>,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.retry_storm.as_ref()?;
    let number = fold.totals.tool_calls;
    let tool = tool.filter(|_| settings.infer);
    let group = tool.map_or(WHOLE_RUN, |tool| reported_of(text_hash(tool)));
    let tally = fold.tallies.of(RULE, group);
    tally.add_span(event.span, event.start_ns);
    tally.number = number;
    (tally.count >= settings.retries).then(|| Finding {
        tool: tool.cloned(),
        ..Finding::of_tally(tally, group)
    })
}

/// The key of what is counted of the retries that the framework reports of a tool, until it is called.
fn reported_of(tool: u64) -> u64 {
    mix(tool, 0x7265_706f_7274_6564)
}

pub(super) fn observe_call(
    fold: &mut Fold,
    judged: &Judged<'_>,
    policy: &Policy,
) -> Option<Finding> {
    let settings = policy.rules.retry_storm.as_ref()?;
    if !settings.infer {
        return None;
    }
    fold.tallies.end(RULE, reported_of(judged.tool_hash));
    let mut newest = (1..).zip(fold.recent.iter().rev());
    let previous = newest.find(|(_, mark)| mark.tool == judged.tool_hash);
    // What was done in between may have mended the cause.
    let untouched = |back: &u64| fold.totals.acted_at + back <= judged.number;
    let previous = previous.filter(|(back, _)| untouched(back));
    let since = previous.map_or(u64::MAX, |(back, _)| judged.number.saturating_sub(back));
    let previous = previous.map(|(_, mark)| mark);
    let tried = previous.filter(|mark| mark.outcome == Outcome::Failed && mark.key() == judged.key);
    // What may pass by itself is told in other words each time: another port, a time-out and then a broken connection.
    let same = previous.is_some_and(|mark| judged.tries_again(mark))
        || tried.is_some_and(|mark| {
            judged.outcome == Outcome::Failed
                && (judged.transient || mark.result() == judged.result)
        });
    let tool = judged.tool_hash;
    if !same {
        fold.tallies.end(RULE, tool);
        return None;
    }
    let gets_on = previous.is_some_and(|mark| gets_on(judged, mark));
    take_back(fold, since);
    let tally = fold.tallies.of(RULE, tool);
    if judged.waiting.patient || (judged.transient && (judged.waiting.backs_off || gets_on)) {
        return None;
    }
    tally.add(judged);
    (tally.count >= needed(settings, judged.transient))
        .then(|| Finding::of_calls(tally, tool, judged))
}

/// Whether an error tells of more parts that are done than the one before: `2 out of 6 replicas are up`. Of attempts, it is no
/// progress that there are more.
fn gets_on(judged: &Judged<'_>, before: &CallMark) -> bool {
    let trends = judged.trend.as_deref().zip(before.trend.as_deref());
    let rises = trends.is_some_and(|(trend, before)| trend.rises_from(before));
    rises
        && judged.call.error.is_some_and(|failure| {
            let said = failure.text.to_ascii_lowercase();
            PARTS.iter().any(|words| said.contains(words))
                && !TRIES.iter().any(|words| said.contains(words))
        })
}

/// What stands between the number of parts that are done and that of all, and words by which attempts are counted.
const PARTS: [&str; 4] = [" out of ", " of ", "/", "%"];
const TRIES: [&str; 3] = ["attempt", "try", "tries"];

/// Takes back a retry that was reported without its tool since the call with this number: the call made again shows it itself.
fn take_back(fold: &mut Fold, since: u64) {
    if !fold.tallies.has(RULE, WHOLE_RUN) {
        return;
    }
    let reported = fold.tallies.of(RULE, WHOLE_RUN);
    if reported.number < since {
        return;
    }
    reported.count = reported.count.saturating_sub(1);
    if reported.count == 0 {
        fold.tallies.end(RULE, WHOLE_RUN);
    }
}

pub(super) fn observe_model(fold: &mut Fold, call: &Call<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.retry_storm.as_ref()?;
    // What the framework reports is not counted twice.
    if !settings.infer || fold.tallies.has(RULE, WHOLE_RUN) {
        return None;
    }
    let Some(failure) = call.error else {
        fold.tallies.end(RULE, MODELS);
        return None;
    };
    let totals = &fold.totals;
    let (number, waited) = (totals.tool_calls, totals.paused_ns == call.start_ns);
    let is_beside = call.start_ns < totals.busy_ns;
    let tally = fold.tallies.of(RULE, MODELS);
    tally.begin_at(number);
    tally.number = number;
    // The first failure is no retry; calls side by side try different things, and a later one that waited is an honest one.
    if tally.count > 0 && (is_beside || (failure.transient && waited)) {
        return None;
    }
    tally.add_span(call.span, call.start_ns);
    let retries = tally.count.saturating_sub(1);
    (retries >= needed(settings, failure.transient)).then(|| Finding {
        agent: call.agent.cloned(),
        count: retries.into(),
        ..Finding::of_tally(tally, MODELS)
    })
}

/// How many retries it takes, by whether the failure may pass by itself.
fn needed(settings: &RetryStorm, transient: bool) -> u32 {
    let retries = settings.retries_transient.filter(|_| transient);
    retries.unwrap_or(settings.retries)
}
