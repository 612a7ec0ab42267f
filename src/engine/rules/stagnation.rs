//! `stagnation`: other arguments, the same result.
//!
//! # What it sees
//! At least four calls of a tool within twelve whose arguments differ and whose results are equal once times, ids and the
//! like are masked.
//!
//! # Why it matters
//! The arguments only look like headway. Comparing arguments alone misses a question that is asked in wholly other words.
//!
//! # What to try
//! Tell the agent that this source has nothing else, and name another one or let it answer with what is known.
//!
//! # When it stays silent
//! Empty results and errors have rules of their own. A result of up to 64 bytes, or one no longer than what was sent, may be a mere
//! acknowledgement (`ok`, `saved`), as in a batch over many items, and so may that of a tool that writes. A new result of the tool starts the count anew, and
//! the calls of one model answer count once.

use crate::engine::event::SpanId;
use crate::engine::fold::Fold;
use crate::engine::judge::{Judged, Outcome};
use crate::engine::kept::Finding;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;

const RULE: Rule = Rule::Stagnation;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.stagnation.as_ref()?;
    let speaks = !judged.is_acknowledged() && !judged.call.writes;
    if !speaks || judged.outcome != Outcome::Stale || judged.stands_aside() {
        return None;
    }
    let window = settings.window_calls.unwrap_or(u32::MAX);
    let same = same_results(fold, judged, window as usize)?;
    if same.len() as u64 + 1 < u64::from(settings.calls) {
        return None;
    }
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.expire(judged.number, settings.window_calls);
    if tally.count == 0 {
        for (span, start_ns) in same.into_iter().rev() {
            tally.add_span(span, start_ns);
        }
    }
    tally.add(judged);
    Some(Finding::of_calls(tally, judged.tool_hash, judged))
}

/// The calls of the tool among the newest ones that gave this result for other arguments, each arguments and each round once,
/// newest first, back to where the tool gave something else that was new.
fn same_results(fold: &Fold, judged: &Judged<'_>, window: usize) -> Option<Vec<(SpanId, u64)>> {
    let own = judged.key?;
    let mut seen = vec![(own, judged.round)];
    let mut same = Vec::new();
    let marks = fold.recent.iter().rev().take(window - 1);
    for mark in marks.filter(|mark| mark.tool == judged.tool_hash) {
        let is_same = mark.result == judged.result;
        if !is_same && mark.outcome == Outcome::Fresh {
            break;
        }
        let Some(key) = mark.key.filter(|_| is_same) else {
            continue;
        };
        if seen
            .iter()
            .all(|(other, round)| *other != key && *round != mark.round)
        {
            seen.push((key, mark.round));
            same.push((mark.span, mark.start_ns));
        }
    }
    Some(same)
}
