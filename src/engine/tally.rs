//! How often, since when, and which spans show it: what a rule counts for one group of calls.
//!
//! A tally belongs to a rule and a key (a tool, or a tool with its arguments). It starts again when something new comes, or
//! when its last call lies too far back; the oldest one makes room when there are [`TALLIES_MAX`]. Most steps look for several
//! that are not there and make two that will not be needed again, so what is searched lies close together, apart from them.

use super::event::SpanId;
use super::few::Few;
use super::hash::mix;
use super::judge::Judged;
use super::kept::Proof;
use super::warning::Rule;

/// Most tallies of a run.
pub(crate) const TALLIES_MAX: usize = 32;
/// Most results that a tally remembers.
const SEEN_MAX: usize = 4;

/// The tallies of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    all: Vec<Tally>,
    /// For each tally, a hash of its rule and key: what is searched.
    keys: Vec<u64>,
    /// For each tally, its number, by which the oldest is found.
    numbers: Vec<u64>,
    /// The one that was given out last: its number here may be behind.
    touched: usize,
}

/// One count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    pub(crate) rule: Rule,
    pub(crate) key: u64,
    pub(crate) count: u64,
    /// Number of the newest call counted.
    pub(crate) number: u64,
    /// Round of the newest call counted.
    pub(crate) round: u64,
    /// Something the telemetry did not show lowers the confidence.
    pub(crate) weak: bool,
    /// Results seen, masked; newest last.
    pub(crate) seen: Few<u64, SEEN_MAX>,
    pub(crate) proof: Proof,
}

impl Tallies {
    /// The tally of a rule and key; a new, empty one if there is none.
    pub(crate) fn of(&mut self, rule: Rule, key: u64) -> &mut Tally {
        self.note_number();
        self.touched = self
            .find(rule, key)
            .unwrap_or_else(|| self.add(Tally::new(rule, key)));
        &mut self.all[self.touched]
    }

    /// Whether there is a tally of a rule and key.
    pub(crate) fn has(&self, rule: Rule, key: u64) -> bool {
        self.find(rule, key).is_some()
    }

    /// The tally of a rule and key, if there is one.
    pub(crate) fn known(&mut self, rule: Rule, key: u64) -> Option<&mut Tally> {
        self.find(rule, key).map(|place| &mut self.all[place])
    }

    /// Takes back the number of a call that was not made, so that the next call has it.
    pub(crate) fn hold_back(&mut self, rule: Rule, number: u64) {
        for (tally, known) in self.all.iter_mut().zip(&mut self.numbers) {
            if tally.rule == rule && tally.number > number {
                tally.number = number;
                *known = number;
            }
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tally> {
        self.all.iter()
    }

    fn find(&self, rule: Rule, key: u64) -> Option<usize> {
        let wanted = mix(key, rule as u64);
        // Many are compared at a time to see that it is not there, which is the usual case.
        let is_there = self.keys.contains(&wanted);
        let place = || self.keys.iter().position(|key| *key == wanted);
        is_there.then(place).flatten()
    }

    /// The tally that was given out may have counted since.
    fn note_number(&mut self) {
        if let Some(tally) = self.all.get(self.touched) {
            self.numbers[self.touched] = tally.number;
        }
    }

    fn add(&mut self, tally: Tally) -> usize {
        let key = mix(tally.key, tally.rule as u64);
        if self.all.len() < TALLIES_MAX {
            self.keys.push(key);
            self.numbers.push(tally.number);
            self.all.push(tally);
            return self.all.len() - 1;
        }
        let numbers = self.numbers.iter().enumerate();
        let oldest = numbers
            .min_by_key(|(_, number)| **number)
            .map_or(0, |(place, _)| place);
        self.keys[oldest] = key;
        self.numbers[oldest] = tally.number;
        self.all[oldest] = tally;
        oldest
    }
}

impl FromIterator<Tally> for Tallies {
    fn from_iter<I: IntoIterator<Item = Tally>>(all: I) -> Self {
        let mut tallies = Self::default();
        for tally in all {
            tallies.add(tally);
        }
        tallies
    }
}

impl PartialEq for Tallies {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Tally {
    fn new(rule: Rule, key: u64) -> Self {
        Self {
            rule,
            key,
            count: 0,
            number: 0,
            round: 0,
            weak: false,
            seen: Few::default(),
            proof: Proof::default(),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.rule, self.key);
    }

    /// Starts again if the last call counted lies more than `window_calls` back.
    pub(crate) fn expire(&mut self, number: u64, window_calls: Option<u32>) {
        if window_calls.is_some_and(|window| self.number + u64::from(window) <= number) {
            self.clear();
        }
    }

    /// Starts again if the last call counted came before the one with this number.
    pub(crate) fn begin_at(&mut self, number: u64) {
        if self.number < number {
            self.clear();
        }
    }

    /// Counts a call.
    pub(crate) fn add(&mut self, judged: &Judged<'_>) {
        self.add_span(judged.call.span, judged.call.start_ns);
        self.number = judged.number;
        self.round = judged.round;
        self.proof.spent.add(judged.spent);
    }

    /// Counts something that is no tool call.
    pub(crate) fn add_span(&mut self, span: SpanId, start_ns: u64) {
        self.count += 1;
        if self.count == 1 {
            self.proof.first_ns = start_ns;
        }
        self.proof.last_ns = start_ns;
        if span.is_set() {
            self.proof.evidence.push(span);
        }
    }

    /// Remembers a result; says whether it is new to this tally.
    pub(crate) fn see(&mut self, result: u64) -> bool {
        let new = !self.seen.contains(&result);
        if new {
            self.seen.push(result);
        }
        new
    }
}
