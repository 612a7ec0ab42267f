//! `repeated_tool_call_similar_input`: the same tool with nearly the same arguments.
//!
//! # What it sees
//! At least three calls of a tool whose arguments are at least 85 % alike, each compared with the tool's newest calls, so a
//! query that drifts is followed (threshold: LoopLens manual; the measure is the indel ratio over a sample of the arguments;
//! longer ones must also be alike by a sketch of their words up to 4 kB). What is pressed up to twelve pixels from where it was
//! pressed before is pressed again.
//!
//! # Why it matters
//! A question asked again, also in other words, usually finds what it found first.
//!
//! # What to try
//! Tell the agent what the earlier queries found, and ask for another source or for the answer with what is known.
//!
//! # When it stays silent
//! Arguments that were not recorded, are redacted or were cut off, are alike nothing. Where progress is known, a call that
//! brings a result or an error not seen before starts the count anew; failures that may pass and waiting count for nothing;
//! arguments that differ in digits only (paging, batches over numbered items) are not alike, nor are those that name another
//! thing in the same frame (another file, user or page), however long the frame is; calls of one model answer count once, and
//! the first one of each further agent or worker not at all; and where results were nothing at all or not recorded, or other
//! calls lie between, one more is needed, and where something new came in between, or results were not recorded and other calls
//! lie between, two more than that, while repeats of whatever call must be six of the newest thirteen calls, unless the calls
//! fail or say no: those need one more where something was done in between. Calls that gave nothing at all start anew where
//! another call brought something new since or another tool did something, those with a short or unknown result where something
//! was done since; and these are alike only where two thirds of the words of both are the same and not only numbers differ,
//! since to touch another file is to do another thing. One more is needed where the result says that something is still under
//! way, or where the very same call brought something new three times among the newest twelve. What is tried out and taken back
//! does not count, as in `repeated_tool_call_exact_input`.

use crate::engine::event::{SAMPLE_BYTES_MAX, Value};
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::question::{Relation, relation};
use crate::engine::fold::speech::Words;
use crate::engine::fold::tally::Tally;
use crate::engine::hash::mix;
use crate::engine::policy::{Policy, SimilarRepeats};
use crate::engine::similarity::{Sketch, similar};
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::RepeatedToolCallSimilarInput;

/// Letters of the shortest word that names something: shorter ones are flags and the like.
const NAME_LETTERS_MIN: usize = 3;

/// Share of the words of both arguments from which they name the same things.
const NAMES_ALIKE: f64 = 0.66;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.repeated_tool_call_similar_input.as_ref()?;
    let group = judged.similar?;
    if policy.progress_aware && judged.stands_aside() {
        return None;
    }
    let changed_at = fold.changed_at(judged);
    let is_first_of_worker = policy.progress_aware && fold.is_first_of_worker(judged);
    let group = mix(judged.tool_hash, group);
    if policy.progress_aware {
        fold.begin_anew(RULE, group, judged);
    }
    let tally = fold.tallies.of(RULE, group);
    tally.expire(judged.number, settings.window_calls);
    if policy.progress_aware && !is_repeat(tally, judged, changed_at, is_first_of_worker) {
        return None;
    }
    tally.add(judged);
    if tally.count < calls_needed(tally, judged, settings) {
        return None;
    }
    let moved = tally.moved;
    let finding = Finding::of_calls(tally, judged.tool_hash, judged);
    let may_be_trials = policy.progress_aware && fold.may_be_trials(judged, finding.count);
    (!may_be_trials && !fold.excuses(moved, judged)).then_some(finding)
}

/// Whether a call repeats those that were counted, which is to be added, where progress is known. What it tells of them is noted.
fn is_repeat(
    tally: &mut Tally,
    judged: &Judged<'_>,
    changed_at: u64,
    is_first_of_worker: bool,
) -> bool {
    let another_error =
        judged.outcome == Outcome::Failed && judged.result.is_some_and(|result| tally.see(result));
    if judged.outcome == Outcome::Fresh || another_error {
        tally.begin_again();
    }
    if judged.outcome == Outcome::Stale && judged.merely_says_done() && tally.number > 0 {
        return false;
    }
    if is_first_of_worker || tally.has_counted_round(judged) {
        return false;
    }
    tally.note_news(changed_at);
    let between = tally.count > 0 && tally.number + 1 != judged.number;
    tally.weak |= between || judged.silent;
    true
}

/// How many calls it takes, this one included.
fn calls_needed(tally: &Tally, judged: &Judged<'_>, settings: &SimilarRepeats) -> u32 {
    let is_unknown = judged.outcome == Outcome::Unknown;
    let needed = match settings.calls_moving {
        Some(calls) if tally.moved && !judged.stays_refused() => calls,
        // Nobody knows what came of it, and other calls lie between.
        Some(calls) if is_unknown && tally.weak => calls,
        // What was done may have mended what fails.
        _ if tally.weak || is_unknown => {
            let calls = settings.calls_weak.unwrap_or(settings.calls);
            calls.saturating_add(tally.moved.into())
        }
        _ => settings.calls,
    };
    needed.saturating_add(judged.calls_more())
}

/// The group of similar calls that a call joins: that of the newest call of the tool that is like it, else one of its own.
/// `None` where its arguments are unknown or the rule is off.
pub(crate) fn group_of(fold: &Fold, judged: &Judged<'_>, policy: &Policy) -> Option<u64> {
    let settings = policy.rules.repeated_tool_call_similar_input.as_ref()?;
    let key = judged.key?;
    let value = judged.call.input.value()?;
    if let Some(same) = fold.recent.of_key(judged.key).next() {
        return Some(same.group);
    }
    if policy.progress_aware
        && let Some(near) = fold.pressed_before(judged.call, judged.tool_hash)
    {
        return Some(near.group);
    }
    let alike = |mark: &&CallMark| {
        mark.key().is_some()
            && lengths_allow(mark.input_bytes, value.bytes, settings.similarity)
            && similar(&mark.sample, &value.sample, settings.similarity)
            && (!policy.progress_aware || may_be_same(judged, mark, value))
    };
    let tool = judged.tool_hash;
    // What is not longer than a sample has no sketch and is compared whole, and what is much longer is not like it.
    let sketch = Sketch::new(value.sketch(), settings.similarity);
    // What differs in digits alone, as pages do, is no rewording.
    let found = if policy.progress_aware {
        let mut others = fold.recent.of_other_shape_near(tool, judged.shape, sketch);
        others.find(alike)
    } else {
        let mut others = fold.recent.of_tool(tool);
        others.find(|mark| sketch.allows(mark.sketch) && alike(mark))
    };
    Some(found.map_or(key, |mark| mark.group))
}

/// What arguments hold besides numbers and their signs.
fn besides_numbers(sample: &str) -> impl Iterator<Item = u8> {
    let is_of_number = |sign: &u8| sign.is_ascii_digit() || matches!(sign, b'-' | b'.');
    sample.bytes().filter(move |sign| !is_of_number(sign))
}

/// Whether two calls that are alike may ask for the same, or do it. Where it is merely acknowledged, other numbers are another
/// place.
fn may_be_same(judged: &Judged<'_>, mark: &CallMark, value: &Value) -> bool {
    let relation = relation(&mark.sample, &value.sample);
    let is_elsewhere = || {
        relation == Relation::Numbered
            && besides_numbers(&mark.sample).eq(besides_numbers(&value.sample))
    };
    let does_the_same = || !is_elsewhere() && names_the_same(mark, value);
    relation != Relation::Other && (!judged.is_terse() || does_the_same())
}

/// Whether the arguments of two calls name the same things: most of their words are those of both. Of calls that merely give
/// an acknowledgement, those that name others do others: `touch a.txt`, `touch b.txt`.
fn names_the_same(mark: &CallMark, value: &Value) -> bool {
    let words = |sample| Words::of(sample, NAME_LETTERS_MIN);
    words(&mark.sample).likeness(&words(&value.sample)) >= NAMES_ALIKE
}

/// Whether two values may be alike by their full lengths, of which the samples show only a part.
fn lengths_allow(left: u32, right: u32, ratio: f64) -> bool {
    let (short, long) = (left.min(right), left.max(right));
    long as usize <= SAMPLE_BYTES_MAX
        || f64::from(short) * 2.0 >= ratio * (f64::from(short) + f64::from(long))
}
