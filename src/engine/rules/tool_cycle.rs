//! `tool_cycle`: the same calls with the same results, round and round.
//!
//! # What it sees
//! A round of two to six calls that comes again in the same order, each call with the arguments and the result that it had
//! the round before: a round of two three times, a round of three nearly three times, longer ones twice and one call more.
//! A round of seven to 32 calls must come three times, by one agent: who has lost what was known reads its files once more, but
//! not twice. Three times, too, as far as so many calls are remembered, where the call that closes a round of three to six is
//! merely acknowledged (`ok`): what failed without a word is done once more. Then it is critical from the fifth round on.
//!
//! # Why it matters
//! Each step leads back to the first one. Rules that look at one call at a time see it later, for other calls lie between.
//!
//! # What to try
//! Tell the agent what the round brought; take one of its steps away, or decide for it.
//!
//! # When it stays silent
//! Where a result was not recorded or is another one; while the agent waits (a sleep and a look at a job make a round, too);
//! over a message of a user, who may ask for the same again; after failures that may pass by themselves; for calls that one
//! model answer asked for together; for the same call again and again, which other rules see.

use crate::engine::event::SpanId;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::recent::RECENT_CALLS_MAX;
use crate::engine::fold::tags::Tag;
use crate::engine::fold::{Fold, named};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, RING_NAMES_MAX, Ring};

const RULE: Rule = Rule::ToolCycle;
/// Longest round of which the newest calls remembered one by one hold enough.
const SHORT_MAX: usize = 6;
/// Rounds, of calls that are merely acknowledged, from which the same round may be critical: four tries may be in earnest.
const ACKNOWLEDGED_ROUNDS_MIN: usize = 5;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.tool_cycle.as_ref()?;
    let newest = judged.signature()?;
    if judged.stands_aside() || (policy.progress_aware && fold.is_first_of_worker(judged)) {
        return None;
    }
    let longest = settings.longest as usize;
    let (period, calls) = short_round(fold, judged, newest, longest)
        .map(|period| (period, period + needed(period, judged) - 1))
        .or_else(|| {
            // What is new closes no round.
            if judged.outcome == Outcome::Fresh {
                return None;
            }
            let period = fold
                .tags
                .goes_round(Tag::of(fold, judged), SHORT_MAX + 1..=longest)?;
            Some((period, 3 * period - 1))
        })?;
    // What a user asks for again is no loop.
    if judged.number.saturating_sub(fold.totals.turn_at) < calls as u64 {
        return None;
    }
    let before: Vec<_> = fold
        .recent
        .iter()
        .rev()
        .take(calls)
        .rev()
        .map(place)
        .collect();
    let tally = fold.tallies.of(RULE, period as u64);
    if tally.number + 1 != judged.number {
        tally.clear();
        for (span, start_ns) in before {
            tally.add_span(span, start_ns);
        }
        tally.count = calls as u32;
    }
    tally.add(judged);
    let finding = Finding {
        agent: judged.call.agent.cloned(),
        is_guess: judged.is_terse() && (tally.count as usize) < ACKNOWLEDGED_ROUNDS_MIN * period,
        ..Finding::of_tally(tally, 0)
    };
    let ring = ring(fold, judged, period, finding.count as usize);
    Some(Finding {
        ring: Some(Box::new(ring)),
        ..finding
    })
}

/// The tools of a round, from the call on with which it began. Of rounds that are longer than what is remembered call by call, none
/// are known.
fn ring(fold: &Fold, judged: &Judged<'_>, period: usize, count: usize) -> Ring {
    let before = fold.recent.iter().rev().take(period - 1).rev();
    let tools = before.map(|mark| mark.tool).chain([judged.tool_hash]);
    let mut tools: Vec<_> = tools.collect();
    if tools.len() == period {
        tools.rotate_right(count % period);
        tools.truncate(RING_NAMES_MAX);
    } else {
        tools.clear();
    }
    Ring {
        length: period as u32,
        names: tools.iter().map(|tool| named(&fold.tools, *tool)).collect(),
    }
}

/// The length of a short round that the newest call closes.
fn short_round(fold: &Fold, judged: &Judged<'_>, newest: u64, longest: usize) -> Option<usize> {
    let mut periods = 2..=longest.min(SHORT_MAX);
    // The last of the round before must be this very call: most calls end here.
    let is_there = fold.asked_before(judged)
        && periods
            .clone()
            .any(|period| back(fold, period) == Some(newest));
    let closes = |period: &usize| goes_round(fold, judged, newest, *period);
    is_there.then(|| periods.find(closes)).flatten()
}

fn place(mark: &CallMark) -> (SpanId, u64) {
    (mark.span, mark.start_ns)
}

/// What tells the call that lies so many calls back; `None` where it cannot be told or was one of waiting.
fn back(fold: &Fold, calls: usize) -> Option<u64> {
    let mark = fold.recent.iter().rev().nth(calls - 1)?;
    mark.signature().filter(|_| mark.waited_ns == 0)
}

/// Calls in a row that must be as a round before, within what is remembered.
fn needed(period: usize, judged: &Judged<'_>) -> usize {
    let calls = if judged.is_terse() {
        2 * period
    } else {
        period + 2
    };
    calls.min(RECENT_CALLS_MAX + 1 - period)
}

fn goes_round(fold: &Fold, judged: &Judged<'_>, newest: u64, period: usize) -> bool {
    let at = |calls: usize| match calls {
        0 => Some(newest),
        _ => back(fold, calls),
    };
    let same = |calls: usize| at(calls).is_some() && at(calls) == at(calls + period);
    // Calls that one model answer asked for are one step, not a round.
    let needed = needed(period, judged);
    let marks = fold.recent.iter().rev().take(needed + period - 1);
    let mut later = judged.round;
    let mut in_turn = marks.map(|mark| std::mem::replace(&mut later, mark.round) != mark.round);
    // The same call again and again is soon told from a round.
    (1..period).any(|calls| at(calls) != Some(newest))
        && (0..needed).all(same)
        && in_turn.all(|apart| apart)
}
