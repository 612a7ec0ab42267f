//! How often, since when, and which spans show it: what a rule counts for one group of calls.
//!
//! A tally belongs to a rule and a key (a tool, or a tool with its arguments). It starts again when something new comes, or
//! when its last call lies too far back; the oldest one makes room when there are [`TALLIES_MAX`].

use super::event::SpanId;
use super::fold::{Spent, push_bounded};
use super::judge::Judged;
use super::warning::{EVIDENCE_MAX, Rule};

/// Most tallies of a run.
pub(crate) const TALLIES_MAX: usize = 32;
/// Most results that a tally remembers.
const SEEN_MAX: usize = 4;

/// The tallies of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tallies(pub(crate) Vec<Tally>);

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
    pub(crate) seen: Vec<u64>,
    pub(crate) evidence: Vec<SpanId>,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    pub(crate) spent: Spent,
}

impl Tallies {
    /// The tally of a rule and key; a new, empty one if there is none.
    pub(crate) fn of(&mut self, rule: Rule, key: u64) -> &mut Tally {
        let known = self
            .0
            .iter()
            .position(|tally| tally.rule == rule && tally.key == key);
        let place = known.unwrap_or_else(|| self.make_room(rule, key));
        &mut self.0[place]
    }

    fn make_room(&mut self, rule: Rule, key: u64) -> usize {
        let new = Tally::new(rule, key);
        if self.0.len() < TALLIES_MAX {
            self.0.push(new);
            return self.0.len() - 1;
        }
        let oldest = (0..self.0.len())
            .min_by_key(|place| self.0[*place].number)
            .unwrap_or(0);
        self.0[oldest] = new;
        oldest
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
            seen: Vec::new(),
            evidence: Vec::new(),
            first_ns: 0,
            last_ns: 0,
            spent: Spent::default(),
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

    /// Counts a call.
    pub(crate) fn add(&mut self, judged: &Judged<'_>) {
        self.add_span(judged.call.span, judged.call.start_ns);
        self.number = judged.number;
        self.round = judged.round;
        self.spent.add(judged.spent);
    }

    /// Counts something that is no tool call.
    pub(crate) fn add_span(&mut self, span: SpanId, start_ns: u64) {
        self.count += 1;
        if self.count == 1 {
            self.first_ns = start_ns;
        }
        self.last_ns = start_ns;
        if span.is_set() {
            push_bounded(&mut self.evidence, span, EVIDENCE_MAX);
        }
    }

    /// Remembers a result; says whether it is new to this tally.
    pub(crate) fn see(&mut self, result: u64) -> bool {
        let new = !self.seen.contains(&result);
        if new {
            push_bounded(&mut self.seen, result, SEEN_MAX);
        }
        new
    }
}
