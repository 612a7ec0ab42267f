//! How often, since when, and which spans show it: what a rule counts for one group of calls.
//!
//! A tally belongs to a rule and a key (a tool, or a tool with its arguments). It starts again when something new comes, or
//! when its last call lies too far back; the oldest one makes room when there are [`TALLIES_MAX`], but none of those that count
//! over the whole run, of which a run has three at most, and limits of tools only among themselves: they hold for a whole turn,
//! however much else is done in it. One that ended gives its place back at once. Most steps look for several that are not there
//! and make two that will not be needed again, so what is searched lies close together, apart from them.

use serde::{Deserialize, Serialize};

use crate::engine::bounded::MostlyOne;
use crate::engine::event::SpanId;
use crate::engine::hash::mix;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, Proof};

use super::eight_bytes;
use super::judge::Judged;

/// Most tallies of a run: a power of two.
pub(crate) const TALLIES_MAX: usize = 32;
/// The key of a tally that counts over the whole run.
pub(crate) const WHOLE_RUN: u64 = 0;
/// Most results that a tally remembers.
pub(crate) const SEEN_MAX: usize = 4;

/// The tallies of a run.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    all: Vec<Tally>,
    /// For each tally, half a hash of its rule and key: what is searched.
    keys: [u32; TALLIES_MAX],
    /// For each tally, its [`age`](Tally::age) and below it its place: the least of them tells which is the oldest.
    ages: [u32; TALLIES_MAX],
    /// A bit for each rule that may have one. Most rules have none, and need no search to know.
    rules: u32,
    /// The one that was given out last: its age here may be behind.
    touched: usize,
    /// Keeps what is counted under one policy apart from what is under others; set anew before each step.
    apart: u64,
}

/// One count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) rule: Rule,
    #[serde(with = "eight_bytes")]
    pub(crate) key: u64,
    pub(crate) count: u32,
    /// Number of the newest call counted.
    pub(crate) number: u64,
    /// Round of the newest call counted.
    pub(crate) round: u64,
    /// Something the telemetry did not show lowers the confidence.
    pub(crate) weak: bool,
    /// Something new came between its calls: the run moves, if not here.
    pub(crate) moved: bool,
    /// Results seen, masked; newest last.
    pub(crate) seen: MostlyOne<u64, SEEN_MAX>,
    pub(crate) proof: Proof,
}

impl Clone for Tallies {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.all.clone_from(&other.all);
        self.keys = other.keys;
        self.ages = other.ages;
        self.rules = other.rules;
        self.touched = other.touched;
    }
}

impl Tallies {
    /// From here on, counts are those of one of the run's policies; 0 is the main one.
    pub(crate) fn keep_apart(&mut self, apart: u64) {
        self.apart = apart;
    }

    /// A key of the present policy's own.
    pub(crate) fn own(&self, key: u64) -> u64 {
        key ^ self.apart
    }

    /// The tally of a rule and key; a new, empty one if there is none.
    pub(crate) fn of(&mut self, rule: Rule, key: u64) -> &mut Tally {
        self.note_age(self.touched);
        let key = self.key_of(rule, key);
        self.touched = self
            .find(rule, key)
            .unwrap_or_else(|| self.add(Tally::new(rule, key)));
        &mut self.all[self.touched]
    }

    /// Whether there is a tally of a rule and key.
    pub(crate) fn has(&self, rule: Rule, key: u64) -> bool {
        self.find(rule, self.key_of(rule, key)).is_some()
    }

    /// Whether there is any tally of a rule.
    pub(crate) fn counts(&self, rule: Rule) -> bool {
        self.rules & bit(rule) != 0
    }

    /// Lets a tally go, if there is one.
    pub(crate) fn end(&mut self, rule: Rule, key: u64) {
        if let Some(place) = self.find(rule, self.key_of(rule, key)) {
            self.remove(place);
        }
    }

    /// Lets those of a rule go that are over, whatever their key but this one.
    pub(crate) fn end_others(&mut self, rule: Rule, key: u64, is_over: impl Fn(&Tally) -> bool) {
        if self.rules & bit(rule) == 0 {
            return;
        }
        let own = self.key_of(rule, key);
        let is_one = |tally: &Tally| tally.rule == rule && tally.key != own && is_over(tally);
        while let Some(place) = self.all.iter().position(is_one) {
            self.remove(place);
        }
    }

    fn remove(&mut self, place: usize) {
        self.note_age(self.touched);
        self.all.swap_remove(place);
        if place < self.all.len() {
            self.keys[place] = self.keys[self.all.len()];
            self.note_age(place);
        }
        self.rules = self.all.iter().fold(0, |all, tally| all | bit(tally.rule));
    }

    /// Takes back the number of a call that was not made, so that the next call has it.
    pub(crate) fn hold_back(&mut self, rule: Rule, number: u64) {
        for place in 0..self.all.len() {
            let tally = &mut self.all[place];
            if tally.rule == rule && tally.number > number {
                tally.number = number;
                self.note_age(place);
            }
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tally> {
        self.all.iter()
    }

    /// As [`RunState::bring_near`](crate::engine::run::RunState::bring_near): what is searched, the tally that
    /// was given out last, and that of which the next one takes the place.
    pub(crate) fn bring_near(&self) -> u64 {
        let near = |tally: &Tally| {
            let proof = &tally.proof;
            let seen = tally.seen.len() ^ proof.evidence.len();
            tally.key ^ tally.number ^ proof.last_ns ^ proof.spent.tokens ^ seen as u64
        };
        let touched = self.all.get(self.touched).map_or(0, near);
        let next = self.all.get(self.oldest()).map_or(0, near);
        let keys = self.keys.iter().step_by(16);
        keys.fold(touched ^ next, |all, key| all ^ u64::from(*key))
    }

    /// What counts over the whole run counts under every policy.
    fn key_of(&self, rule: Rule, key: u64) -> u64 {
        if key == WHOLE_RUN || rule.is_of_run() {
            key
        } else {
            self.own(key)
        }
    }

    fn find(&self, rule: Rule, key: u64) -> Option<usize> {
        if self.rules & bit(rule) == 0 {
            return None;
        }
        let wanted = searched(rule, key);
        // Many are compared at a time to see that it is not there, which is the usual case.
        if !self.keys.contains(&wanted) {
            return None;
        }
        let is_it = |tally: &Tally| tally.rule == rule && tally.key == key;
        let mut pairs = self.keys.iter().zip(&self.all);
        pairs.position(|(known, tally)| *known == wanted && is_it(tally))
    }

    /// Notes the age of the tally at a place, if there is one; that which was given out may have counted since.
    fn note_age(&mut self, place: usize) {
        if let Some(tally) = self.all.get(place) {
            self.ages[place] = tally.age() << PLACE_BITS | place as u32;
        }
    }

    fn add(&mut self, tally: Tally) -> usize {
        let lasting = self.all.iter().filter(|tally| tally.lasts());
        let place = if tally.lasts() && lasting.count() >= LASTING_MAX {
            self.oldest_lasting()
        } else if self.all.len() < TALLIES_MAX {
            self.all.len()
        } else {
            self.oldest()
        };
        self.rules |= bit(tally.rule);
        self.keys[place] = searched(tally.rule, tally.key);
        if place < self.all.len() {
            self.all[place] = tally;
        } else {
            self.all.push(tally);
        }
        self.note_age(place);
        place
    }

    /// Where the oldest of those is that last longer.
    fn oldest_lasting(&self) -> usize {
        let tallies = self.all.iter().enumerate();
        let lasting = tallies.filter(|(_, tally)| tally.lasts());
        let oldest = lasting.min_by_key(|(_, tally)| tally.number);
        oldest.map_or(0, |(place, _)| place)
    }

    /// Where the oldest of all tallies is. Many ages are compared at a time.
    fn oldest(&self) -> usize {
        let least = self
            .ages
            .iter()
            .fold(u32::MAX, |least, age| least.min(*age));
        least as usize % TALLIES_MAX
    }
}

/// Bits of a tally's place.
const PLACE_BITS: u32 = TALLIES_MAX.ilog2();

/// The age of a tally that is never the oldest.
const AGELESS: u32 = u32::MAX >> PLACE_BITS;

/// The age from which on tallies last longer than all others.
const LASTING: u32 = AGELESS / 2;
/// Most tallies that last longer, besides those without an age: a tool that is limited is seldom one of many.
const LASTING_MAX: usize = 12;

fn bit(rule: Rule) -> u32 {
    const { assert!(Rule::ALL.len() <= u32::BITS as usize) };
    1 << rule as u32
}

/// What a tally is searched by.
fn searched(rule: Rule, key: u64) -> u32 {
    mix(key, rule as u64) as u32
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
            moved: false,
            seen: MostlyOne::default(),
            proof: Proof::default(),
        }
    }

    /// Whether it lasts longer than others: a limit of a tool counts for a whole turn.
    fn lasts(&self) -> bool {
        self.rule == Rule::ToolLimit
    }

    /// By which the oldest tally is found, that with the least: one that counts over the whole run is never the oldest.
    fn age(&self) -> u32 {
        let of_run = matches!(
            self.rule,
            Rule::LongRunningStep | Rule::CostSpike | Rule::RetryStorm
        );
        if of_run && self.key == WHOLE_RUN {
            return AGELESS;
        }
        // Calls that are so late in a run are all of one age.
        let number = self.number.min(u64::from(LASTING - 1)) as u32;
        if self.lasts() {
            LASTING + number
        } else {
            number
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.rule, self.key);
    }

    /// Forgets everything but the results.
    pub(crate) fn begin_again(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        self.clear();
        self.seen = seen;
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

    /// Notes whether something new came since the call counted last; `news_at` is the number of the call that brought it.
    pub(crate) fn note_news(&mut self, news_at: u64) {
        self.moved |= self.count > 0 && self.number < news_at;
    }

    /// Whether a call of the same round was counted already: what one model answer asks for counts once.
    pub(crate) fn has_counted_round(&self, judged: &Judged<'_>) -> bool {
        self.count > 0 && self.round == judged.round
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
        self.count = self.count.saturating_add(1);
        if self.count == 1 {
            self.proof.first_ns = start_ns;
        }
        self.proof.last_ns = start_ns;
        // Log records of several calls may have the span of the turn that they belong to.
        if span.is_set() && !self.proof.evidence.contains(&span) {
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

impl Finding {
    /// What a tally shows about the calls of a tool.
    pub(crate) fn of_calls(tally: &Tally, group: u64, judged: &Judged<'_>) -> Self {
        Self {
            tool: Some(judged.tool.clone()),
            agent: judged.call.agent.cloned(),
            ..Self::of_tally(tally, group)
        }
    }

    /// What a tally shows, without a tool.
    pub(crate) fn of_tally(tally: &Tally, group: u64) -> Self {
        Self {
            rule: tally.rule,
            group,
            count: tally.count.into(),
            tool: None,
            agent: None,
            ring: None,
            proof: tally.proof.clone(),
            is_guess: false,
        }
    }
}
