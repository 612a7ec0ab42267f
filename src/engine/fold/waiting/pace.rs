//! The pace at which the same is asked for: a gauge is read by a timer, a job looked at by a client that backs off, and a check
//! made once a minute. A model is fast, now more and now less.

use crate::engine::event::SECOND_NS;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;

use super::{asks_for_another, gap_ns, waits};

/// How many pauses in a row, each markedly longer than the one before, are those of a client that backs off: of two, the second
/// one is so by chance often enough.
pub(super) const GROWN_PAUSES: usize = 3;

/// Shortest time between two looks at a job that is under way, where it is as long as the time before: an honest pace.
const JOB_PACE_NS: u64 = 8 * SECOND_NS;

/// The same for a gauge, whatever was done meanwhile: a model hardly takes so long for an answer.
const GAUGE_PACE_NS: u64 = 45 * SECOND_NS;

/// How many times before must be as long as the newest one where what is looked at faster is a gauge: a timer's, and no model's.
const TIMER_GAPS: usize = 2;

/// Shortest time that a measurement takes itself.
const MEASURED_NS: u64 = 5 * SECOND_NS;

impl Fold {
    /// Whether a gauge that moves is looked at after a pause, at an honest pace, or by what takes its time itself.
    pub(super) fn watches(&self, judged: &Judged<'_>, before: &CallMark, pauses: bool) -> bool {
        let since_ns = before.start_ns;
        let only_waits = || self.since(since_ns).all(|mark| mark.waited_ns > 0);
        let is_gauge = |mark: &CallMark| mark.waited_ns > 0 || mark.jitters();
        let only_gauges = || self.since(since_ns).all(is_gauge) && !judged.may_act();
        judged.jitters()
            && !judged.denies
            && judged.outcome != Outcome::Failed
            && (pauses
                || (gap_ns(judged, before) >= GAUGE_PACE_NS && only_waits())
                || (self.keeps_pace(judged, since_ns, TIMER_GAPS) && only_gauges())
                || self.is_measured_again(judged))
    }

    /// Whether the same was measured once more, with nothing in between, by what takes its time itself.
    pub(super) fn is_measured_again(&self, judged: &Judged<'_>) -> bool {
        let call = judged.call;
        let newest = self.recent.back();
        call.end_ns.saturating_sub(call.start_ns) >= MEASURED_NS
            && newest.is_some_and(|mark| mark.key() == judged.key)
    }

    /// How many of the newest pauses between calls that asked for the same, or tried it again, have each grown markedly: up to
    /// one less than [`GROWN_PAUSES`], and none where one of these has not.
    pub(super) fn grown_pauses(&self, judged: &Judged<'_>, since_ns: u64) -> usize {
        let is_same = |mark: &&CallMark| {
            mark.start_ns < since_ns
                && ((judged.key.is_some() && mark.key() == judged.key) || judged.tries_again(mark))
        };
        let mut pause_ns = judged.call.start_ns.saturating_sub(since_ns);
        let (mut later_ns, mut grown) = (since_ns, 0);
        let before = self.recent.iter().rev().filter(is_same);
        for mark in before.take(GROWN_PAUSES - 1) {
            let before_ns =
                std::mem::replace(&mut later_ns, mark.start_ns).saturating_sub(mark.start_ns);
            if pause_ns / 7 < before_ns / 5 {
                return 0;
            }
            (pause_ns, grown) = (before_ns, grown + 1);
        }
        grown
    }

    /// Whether nothing else was done since the call before, as a client does that backs off; it may wait for several things in
    /// turn.
    pub(super) fn does_nothing_else(&self, judged: &Judged<'_>, since_ns: u64) -> bool {
        self.since(since_ns)
            .all(|mark| judged.tries_again(mark) || asks_for_another(mark, judged))
    }

    /// Whether the same was asked at a steady pace that is slow enough, of which this call and so many times before it tell, and
    /// nothing was done meanwhile but to wait: who goes round is as fast as the model, now more and now less.
    pub(super) fn keeps_pace(&self, judged: &Judged<'_>, since_ns: u64, gaps: usize) -> bool {
        let waits_too = |mark: &CallMark| mark.waited_ns > 0 || asks_for_another(mark, judged);
        judged.call.start_ns.saturating_sub(since_ns) >= JOB_PACE_NS
            && self.is_steady(judged, since_ns, gaps)
            && self.since(since_ns).all(waits_too)
    }

    /// Whether somebody looks in once a minute or less often, at a steady pace, on what is as it was: nothing is under way that
    /// would have to end, nothing fails, and nothing is done in between. A sleep is part of that where it is not alone.
    pub(super) fn looks_in(&self, judged: &Judged<'_>, since_ns: u64) -> bool {
        let idles = |mark: &CallMark| {
            mark.outcome != Outcome::Failed && (!mark.may_act || self.only_waited(mark))
        };
        let is_at_rest = !judged.pending && !judged.denies && judged.outcome != Outcome::Failed;
        is_at_rest
            && judged.result.is_some()
            && judged.call.start_ns.saturating_sub(since_ns) >= GAUGE_PACE_NS
            && self.is_steady(judged, since_ns, 1)
            && if waits(judged) {
                self.since(since_ns).next().is_some()
            } else {
                !judged.silent && self.since(since_ns).all(idles)
            }
    }

    /// Whether the time since the call before is as long as each of so many between two before.
    pub(super) fn is_steady(&self, judged: &Judged<'_>, since_ns: u64, gaps: usize) -> bool {
        let gap_ns = judged.call.start_ns.saturating_sub(since_ns);
        let (mut later_ns, mut steady) = (since_ns, 0);
        for before in self.recent.of_key(judged.key).skip(1).take(gaps) {
            let gap_before_ns = later_ns.saturating_sub(before.start_ns);
            steady += usize::from(gap_ns.abs_diff(gap_before_ns) <= gap_ns / 4);
            later_ns = before.start_ns;
        }
        steady == gaps
    }
}
