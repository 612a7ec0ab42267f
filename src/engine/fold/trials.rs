//! Tells what is tried out and taken back from tries that come to nothing: a program is changed in one place after the other to see
//! whether its tests notice, and put back each time.
//!
//! Who tries things out asks of each whether the check still goes well, and that it does not is an answer. What shows it is that
//! each of them is another one, and that what is checked is well again before the next: who mends something and fails is not back
//! where all is well. Where nobody checks in between, what takes each of them back is the same step every time, and of several
//! some leave all well.

use super::Fold;
use super::judge::Judged;
use super::marks::CallMark;
use super::outcome::Outcome;

/// Fewest checks that said no, each after another step, the present one among them.
const TRIALS_MIN: usize = 2;

/// How many of them in a row, each of which is taken back, come to nothing.
const TRIALS_MAX: u64 = 7;

impl Fold {
    /// Whether the call checks what is tried out, one thing after the other, or takes it back without a word once a check said no.
    pub(super) fn tries_out(&self, judged: &Judged<'_>) -> bool {
        let says_no = judged.outcome == Outcome::Failed || judged.denies;
        let is_known = judged.outcome != Outcome::Unknown;
        let newest = || self.recent.iter().rev();
        if is_known && self.are_trials(judged.key, says_no, newest()) {
            return true;
        }
        let refused = newest().position(fails);
        let check = refused.filter(|_| judged.silent && judged.may_act());
        check.is_some_and(|back| {
            let key = self.recent[self.recent.len() - 1 - back].key();
            self.are_trials(key, true, newest().skip(back + 1))
        })
    }

    /// Whether all calls of a key, among those before one that said no or not, went well and said no in turn, each time that they
    /// said no after a step that was not made before, and each time that they went well after something that was done. Of several
    /// agents, nobody knows whose step it was.
    fn are_trials<'m>(
        &'m self,
        key: Option<u64>,
        mut says_no: bool,
        newest: impl Iterator<Item = &'m CallMark>,
    ) -> bool {
        if key.is_none() || self.work.len() > 1 {
            return false;
        }
        let (mut trials, mut done, mut begun) = (0, false, false);
        for mark in newest {
            if mark.key() != key {
                done |= mark.is_deed();
                begun |= self.is_new_step(mark);
                continue;
            }
            if says_no == fails(mark) || !done || (says_no && !begun) {
                return false;
            }
            trials += usize::from(says_no);
            says_no = !says_no;
            (done, begun) = (false, false);
        }
        trials + usize::from(says_no && begun) >= TRIALS_MIN
    }

    /// Whether so many checks may still be trials: each of those among the newest calls follows a step that was not made before,
    /// and between each two of them there is one that was, which takes the step back.
    pub(crate) fn may_be_trials(&self, judged: &Judged<'_>, count: u64) -> bool {
        count < TRIALS_MAX && self.takes_back(judged)
    }

    /// Whether the check goes well, and the one before it said no, of which each was of another step, taken back before the next.
    pub(super) fn survives(&self, judged: &Judged<'_>) -> bool {
        let newest = || self.recent.of_key(judged.key).next();
        judged.outcome == Outcome::Stale
            && !judged.denies
            && newest().is_some_and(fails)
            && self.takes_back(judged)
    }

    fn takes_back(&self, judged: &Judged<'_>) -> bool {
        if judged.key.is_none() || self.work.len() > 1 {
            return false;
        }
        let (mut checks, mut begun, mut taken_back) = (0, false, false);
        for mark in self.recent.iter().rev() {
            if mark.key() != judged.key {
                begun |= self.is_new_step(mark);
                // The step comes behind what takes the one before it back.
                taken_back |= begun && mark.is_deed() && !self.recent.is_only(mark);
                continue;
            }
            if !begun || !taken_back {
                return false;
            }
            checks += 1;
            (begun, taken_back) = (false, false);
        }
        checks >= TRIALS_MIN
    }

    /// Whether a call did something that was not done before, as far as is remembered.
    fn is_new_step(&self, mark: &CallMark) -> bool {
        mark.is_deed() && self.recent.is_only(mark)
    }
}

/// Whether a call failed or said no.
fn fails(mark: &CallMark) -> bool {
    mark.outcome == Outcome::Failed || mark.denies
}
