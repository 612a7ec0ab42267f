//! `repeated_tool_call_similar_input`: the same tool with nearly the same arguments.
//!
//! # What it sees
//! At least three calls of a tool whose arguments are at least 85 % alike, each compared with the tool's newest calls, so a
//! query that drifts is followed (threshold: LoopLens manual; the measure is the indel ratio over a sample of the arguments).
//!
//! # Why it matters
//! A question asked in other words usually finds what the first one found.
//!
//! # What to try
//! Tell the agent what the earlier queries found, and ask for another source or for the answer with what is known.
//!
//! # When it stays silent
//! Arguments that were not recorded, or are redacted, are alike nothing. Where progress is known, a call that brings a
//! result or an error not seen before starts the count anew; failures that may pass and waiting count for nothing; arguments
//! that differ in digits only (paging, batches over numbered items) are not alike; calls of one model answer count once; and
//! where results were not recorded or were nothing at all, or other calls lie between, one more is needed. Calls that gave
//! nothing at all start anew where another call brought something new since.

use crate::engine::event::SAMPLE_BYTES_MAX;
use crate::engine::fold::Fold;
use crate::engine::hash::mix;
use crate::engine::judge::{Judged, Outcome};
use crate::engine::kept::Finding;
use crate::engine::marks::CallMark;
use crate::engine::policy::Policy;
use crate::engine::similarity::similar;
use crate::engine::warning::Rule;

const RULE: Rule = Rule::RepeatedToolCallSimilarInput;

/// Longest result that may be a mere acknowledgement: `{"status": "success"}` with a little room.
const ACKNOWLEDGEMENT_BYTES_MAX: u32 = 32;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.repeated_tool_call_similar_input.as_ref()?;
    let group = judged.similar?;
    if policy.progress_aware && judged.stands_aside() {
        return None;
    }
    let news_at = fold.totals.news_at;
    let tally = fold.tallies.of(RULE, mix(judged.tool_hash, group));
    tally.expire(judged.number, settings.window_calls);
    if policy.progress_aware {
        if judged.silent && tally.number < news_at {
            tally.clear();
        }
        let another_error = judged.outcome == Outcome::Failed
            && judged.result.is_some_and(|result| tally.see(result));
        if judged.outcome == Outcome::Fresh || another_error {
            tally.begin_again();
        }
        if judged.outcome == Outcome::Stale && is_acknowledgement(judged) && tally.number > 0 {
            return None;
        }
        if tally.count > 0 && tally.round == judged.round {
            return None;
        }
        let between = tally.count > 0 && tally.number + 1 != judged.number;
        tally.weak |= between || judged.outcome == Outcome::Unknown || judged.silent;
    }
    tally.add(judged);
    let needed = if tally.weak {
        settings.calls_weak.unwrap_or(settings.calls)
    } else {
        settings.calls
    };
    (tally.count >= u64::from(needed)).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}

/// Whether the result is too short to say more than that the call was done. The same acknowledgement of other arguments
/// is no sign that nothing new came of it.
fn is_acknowledgement(judged: &Judged<'_>) -> bool {
    judged
        .call
        .output
        .value()
        .is_some_and(|value| value.bytes <= ACKNOWLEDGEMENT_BYTES_MAX)
}

/// The group of similar calls that a call joins: that of the newest call of the tool that is like it, else one of its own.
/// `None` where its arguments are unknown or the rule is off.
pub(crate) fn group_of(fold: &Fold, judged: &Judged<'_>, policy: &Policy) -> Option<u64> {
    let settings = policy.rules.repeated_tool_call_similar_input.as_ref()?;
    let key = judged.key?;
    let value = judged.call.input.value()?;
    let of_tool = || {
        fold.recent
            .iter()
            .rev()
            .filter(|mark| mark.tool == judged.tool_hash)
    };
    if let Some(same) = of_tool().find(|mark| mark.key == Some(key)) {
        return Some(same.group);
    }
    let alike = |mark: &&CallMark| {
        mark.key.is_some()
            && lengths_allow(mark.input_bytes, value.bytes, settings.similarity)
            && !(policy.progress_aware && mark.shape == judged.shape)
            && similar(&mark.sample, &value.sample, settings.similarity)
    };
    Some(of_tool().find(alike).map_or(key, |mark| mark.group))
}

/// Whether two values may be alike by their full lengths, of which the samples show only a part.
fn lengths_allow(left: u32, right: u32, ratio: f64) -> bool {
    let (short, long) = (left.min(right), left.max(right));
    long as usize <= SAMPLE_BYTES_MAX
        || f64::from(short) * 2.0 >= ratio * (f64::from(short) + f64::from(long))
}
