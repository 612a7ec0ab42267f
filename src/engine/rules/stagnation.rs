//! `stagnation`: other arguments, the same result.
//!
//! # What it sees
//! At least four calls of a tool within twelve that ask for the same in other words, and whose results are equal once times,
//! ids and the like are masked, or differ in a few numbers alone that stand aside, such as scores, or are lists of which four
//! fifths or more were listed before and which are asked for in some of the same words. Of hits that are told in lines, neither
//! their order nor their scores count. How much is shown (`"limit": 50`,
//! `| tail -n 20`), how long it may take and how often it was asked for (`"attempt": 3`) are other words. Five, where each opens
//! another address (`https://…`) and brings the same page of at least 256 bytes: one that asks for a person, or one article at
//! many sites. Four, where each asks for another page of one list (`"page": 3`, a cursor), and gets the same 512 bytes or six
//! things, six by number, where it is more than 64 bytes; ten of the long ones, whatever is asked.
//!
//! # Why it matters
//! The arguments only look like headway. Comparing arguments alone misses a question that is asked in other words.
//!
//! # What to try
//! Tell the agent that this source has nothing else, and name another one or let it answer with what is known.
//!
//! # When it stays silent
//! Empty results and errors have rules of their own. Calls that ask the same of other things (another file, user or page in one
//! frame) are a batch, whose answers may well be equal, and so are texts with hardly a word in common that are handed over to
//! be judged (`text`, `document`, a whole sentence), and things of up to four words with none in common (`standing desk`, `yoga
//! mat`), but to a tool that searches, and so are questions (`query`) in wholly other words between which something was done or a
//! user spoke. A result of up to 64 bytes, or one no longer than what was
//! sent, may be a mere acknowledgement (`ok`, `saved`), unless it counts nought (`{"count": 0}`) or the tool looks (`grep`),
//! and so may that of a tool that writes. Other numbers for other numbers are an answer, and so is another number for each of
//! several questions without a word in common. A new result of the tool starts the count
//! anew; where other results of the tool are more than these, it has more than one to give; and the calls of one model answer count
//! once.

use crate::engine::event::Manner;
use crate::engine::fold::Fold;
use crate::engine::fold::amount::{differ_in_amount, differ_in_page, says_amount, says_page};
use crate::engine::fold::handed_text::{asks, hands_over};
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::{ACKNOWLEDGEMENT_BYTES_MAX, Outcome};
use crate::engine::fold::question::numbers::names_file;
use crate::engine::fold::question::things::asks_for_other_things;
use crate::engine::fold::question::{Relation, relation};
use crate::engine::fold::recent::{RECENT_CALLS_MAX, Recent};
use crate::engine::fold::totals::Totals;
use crate::engine::policy::Policy;
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::Stagnation;

/// Fewest other wordings of the question: with fewer, it is the same call again.
const WORDINGS_MIN: usize = 2;

/// Shortest result that is a page rather than an answer, which many addresses may have in common.
const PAGE_BYTES_MIN: u32 = 256;

/// Shortest result of which ten things in a row have seldom the same, or fewest things in one that is shorter, and how many calls
/// these are.
const LONG_BYTES_MIN: u32 = 512;
const LISTED_MIN: usize = 6;
const LONG_CALLS_MIN: usize = 10;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.stagnation.as_ref()?;
    // Who looks is told something, however short it is.
    let looks = judged.call.manner == Manner::Looks;
    let denies = judged.denies && !judged.merely_says_done();
    let says_something = looks || denies || !judged.is_acknowledged() || counts_nothing(judged);
    // What comes back to a thought says that it was taken.
    let thinks = || judged.call.manner == Manner::Unknown && tool_name::thinks(judged.tool);
    let speaks = says_something && !judged.call.manner.writes();
    let old = judged.outcome == Outcome::Stale || has_numbers_aside(judged);
    let failed = judged.outcome == Outcome::Failed;
    if !speaks || !old || failed || judged.stands_aside() || thinks() {
        return None;
    }
    let window = settings.window_calls.unwrap_or(u32::MAX) as usize;
    let enough = settings.calls.saturating_sub(1) as usize;
    let mut same = same_results(&fold.recent, &fold.totals, judged, window, enough)?;
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.expire(judged.number, settings.window_calls);
    // Another result than the one that was counted has come up since.
    let last_ns = tally.proof.last_ns;
    if same.iter().all(|mark| mark.start_ns > last_ns) {
        tally.clear();
    }
    if tally.count == 0 {
        same.sort_by_key(|mark| mark.start_ns);
        for mark in same {
            tally.add_span(mark.span, mark.start_ns);
        }
    }
    tally.add(judged);
    Some(Finding::of_calls(tally, judged.tool_hash, judged))
}

/// From when on calls may ask for the same in wholly other words.
struct Since {
    /// Start of the first call of the present turn.
    turn_ns: u64,
    /// Start of the first call after the newest deed.
    deed_ns: u64,
}

impl Since {
    fn of(recent: &Recent, totals: &Totals, judged: &Judged<'_>) -> Self {
        let start_ns = |first: u64| {
            let calls = judged.number.saturating_sub(first) as usize;
            let starts = recent.iter().rev().map(|mark| mark.start_ns);
            starts.take(calls).min().unwrap_or(u64::MAX)
        };
        Self {
            turn_ns: start_ns(totals.turn_at),
            deed_ns: start_ns(totals.acted_at + 1),
        }
    }
}

/// The calls of the tool among the newest ones that asked for the same in other words, or for whatever where the result is long,
/// and got this result, each round once, back to where the tool gave something else that was new. Nothing where they are not
/// enough, or fewer than [`WORDINGS_MIN`] others are among them.
fn same_results<'m>(
    recent: &'m Recent,
    totals: &Totals,
    judged: &Judged<'_>,
    window: usize,
    enough: usize,
) -> Option<Vec<&'m CallMark>> {
    let own = judged.key?;
    let sample = &*judged.call.input.value()?.sample;
    let trend = judged.trend.as_deref();
    if !judged.retells && recent.may_have_given(judged.result, trend) < enough {
        return None;
    }
    // The same call again and again is seen by other rules.
    let mut of_tool = recent.of_tool(judged.tool_hash);
    of_tool.find(|mark| mark.key() != judged.key)?;
    let mut in_other_words = recent.of_other_shape(judged.tool_hash, judged.shape);
    let output = judged.call.output.value();
    let items = output.map_or(0, |value| value.items.len());
    let is_long = has_bytes(judged, LONG_BYTES_MIN) || items >= LISTED_MIN;
    let in_numbers_alone = in_other_words.next().is_none();
    let is_told = has_bytes(judged, ACKNOWLEDGEMENT_BYTES_MAX + 1);
    let pages = is_told && says_page(sample) && !names_file(sample);
    if in_numbers_alone && !is_long && !pages && !says_amount(sample) {
        return None;
    }
    let (same, others) = gave_alike(recent, judged, sample, window);
    if same.len() < enough {
        return None;
    }
    let since = Since::of(recent, totals, judged);
    let opens = !in_numbers_alone && sample.contains("://");
    let is_page = opens && has_bytes(judged, PAGE_BYTES_MIN);
    let is_other_page =
        |mark: &&CallMark| mark.result() == judged.result && differ_in_page(&mark.sample, sample);
    let may_be_list = is_long || (pages && same.len() > enough + 1);
    let is_of_list = may_be_list && same.iter().all(is_other_page);
    let of_turn = same.iter().filter(|mark| mark.start_ns >= since.turn_ns);
    let is_often = of_turn.count() + 1 >= LONG_CALLS_MIN;
    let stands = is_of_list || (is_page && same.len() > enough) || (is_long && is_often);
    let same = if others == 0 && stands {
        same
    } else {
        let same = reworded(judged, sample, same, &since);
        if have_answers(judged, sample, &same) {
            return None;
        }
        same
    };
    let mut wordings: Vec<_> = same.iter().filter_map(|mark| mark.key()).collect();
    wordings.retain(|key| *key != own);
    wordings.sort_unstable();
    wordings.dedup();
    (same.len() >= enough.max(others) && wordings.len() >= WORDINGS_MIN).then_some(same)
}

/// The calls of the tool among the newest ones that got this result, each round once, back to where it gave something else that
/// was new, and how many of the tool in between gave something else that was known.
fn gave_alike<'m>(
    recent: &'m Recent,
    judged: &Judged<'_>,
    sample: &str,
    window: usize,
) -> (Vec<&'m CallMark>, usize) {
    let (mut same, mut others) = (Vec::<&CallMark>::with_capacity(RECENT_CALLS_MAX), 0);
    let has_numbers_aside = has_numbers_aside(judged);
    let newest = recent.compared(judged.trend.as_deref());
    let newest = newest.take(window.saturating_sub(1));
    for (mark, differs_in_numbers) in newest.filter(|(mark, _)| mark.tool == judged.tool_hash) {
        // Other numbers for other numbers are what was asked.
        let is_answer = || {
            mark.result() != judged.result
                && relation(&mark.sample, sample) == Relation::Numbered
                && !differ_in_amount(&mark.sample, sample)
        };
        let is_same = gave_the_same(mark, judged)
            || (differs_in_numbers && has_numbers_aside && !is_answer());
        let is_same = is_same && mark.outcome != Outcome::Failed;
        if !is_same && mark.outcome == Outcome::Fresh {
            break;
        }
        if !is_same || mark.key().is_none() {
            others += usize::from(mark.outcome == Outcome::Stale);
        } else if mark.round != judged.round && same.iter().all(|one| one.round != mark.round) {
            same.push(mark);
        }
    }
    (same, others)
}

/// Whether questions without a word in common brought another number each: that is what was asked.
fn have_answers(judged: &Judged<'_>, sample: &str, same: &[&CallMark]) -> bool {
    let mut results: Vec<_> = same.iter().map(|mark| mark.result()).collect();
    results.push(judged.result);
    results.sort_unstable();
    results.dedup();
    results.len() > same.len()
        && same.iter().all(|mark| {
            let retells = mark.retells && judged.retells;
            !retells && relation(&mark.sample, sample) == Relation::Rephrased
        })
}

/// Whether a result is short and tells of numbers which are all nought: `{"count": 0}`.
fn counts_nothing(judged: &Judged<'_>) -> bool {
    let value = judged.call.output.value();
    let short = value.filter(|value| value.bytes <= ACKNOWLEDGEMENT_BYTES_MAX);
    let numbers = short.and_then(|value| value.numbers.as_deref());
    numbers.is_some_and(|numbers| {
        let mut all = numbers.all.iter().take(numbers.count.into());
        all.all(|number| *number == 0.0)
    })
}

fn has_bytes(judged: &Judged<'_>, least: u32) -> bool {
    let value = judged.call.output.value();
    value.is_some_and(|value| value.bytes >= least)
}

/// Whether a call got the same result, or both lists are of what was listed before.
fn gave_the_same(mark: &CallMark, judged: &Judged<'_>) -> bool {
    mark.result() == judged.result || (mark.retells && judged.retells)
}

/// Bytes of a result for each of its numbers, from which these stand aside. In a shorter one they are the answer: what a
/// simulation came to, where a place lies.
const NUMBER_BYTES_MIN: u32 = 48;

/// Whether a result has numbers, and is about something else. One that is merely expected is taken for such a one.
fn has_numbers_aside(judged: &Judged<'_>) -> bool {
    let is_long = |count: u32| {
        let value = judged.call.output.value();
        value.is_none_or(|value| value.bytes >= count * NUMBER_BYTES_MIN)
    };
    let trend = judged.trend.as_deref();
    trend.is_some_and(|trend| is_long(trend.numbers.count.into()))
}

/// Of some calls those that are a rewording of the present one, or of one that is; what differs in numbers alone is none, unless
/// these say how much is shown or how long it may take.
fn reworded<'s, 'm: 's>(
    judged: &Judged<'_>,
    mut sample: &'s str,
    mut rest: Vec<&'m CallMark>,
    since: &Since,
) -> Vec<&'m CallMark> {
    let mut found: Vec<&CallMark> = Vec::new();
    let mut compared = 0;
    let mut shape = judged.shape;
    let (hands_over, asks) = (hands_over(judged), asks(sample));
    loop {
        let (alike, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|mark| {
            let relation = relation(&mark.sample, sample);
            let is_before = asks && mark.start_ns < since.deed_ns;
            let is_other = || asks_for_other_things(judged.tool, &mark.sample, sample);
            if relation == Relation::Rephrased && (hands_over || is_before || is_other()) {
                return false;
            }
            // Wholly other words that find much of the same may be another question to few texts.
            let is_alike =
                relation == Relation::Reworded || !mark.retells || mark.result() == judged.result;
            let is_reworded = mark.shape != shape && relation.is_in_other_words() && is_alike;
            is_reworded || differ_in_amount(&mark.sample, sample)
        });
        found.extend(alike);
        rest = others;
        let Some(next) = found.get(compared).filter(|_| !rest.is_empty()) else {
            return found;
        };
        compared += 1;
        (sample, shape) = (&next.sample, next.shape);
    }
}
