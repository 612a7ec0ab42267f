//! The traces of a window's reports: each is kept once, and a card has its number. Most runs have one, and many reports of it.

use super::card::Card;
use super::event::TraceId;

/// Which of the traces of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceNumber(u16);

impl TraceNumber {
    /// That of reports that name no trace.
    pub(crate) const NONE: Self = Self(0);
}

/// Most reports of which each may have a trace of its own: far more than a window has.
pub(super) const REPORTS_MAX: usize = u16::MAX as usize;

/// The traces of a window; number 1 is the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Traces(Vec<TraceId>);

impl Traces {
    pub(super) fn get(&self, number: TraceNumber) -> TraceId {
        match number {
            TraceNumber::NONE => TraceId::default(),
            TraceNumber(number) => self.0[usize::from(number) - 1],
        }
    }

    /// The number of a trace. A new one gets that of one which none of these cards has any more, where there is such.
    pub(super) fn number(&mut self, trace: TraceId, cards: &[Card]) -> TraceNumber {
        if trace == TraceId::default() {
            return TraceNumber::NONE;
        }
        let known = self.0.iter().position(|known| *known == trace);
        TraceNumber(known.unwrap_or_else(|| self.add(trace, cards)) as u16 + 1)
    }

    fn add(&mut self, trace: TraceId, cards: &[Card]) -> usize {
        let mut is_free = vec![true; self.0.len()];
        for card in cards.iter().filter(|card| card.trace != TraceNumber::NONE) {
            is_free[usize::from(card.trace.0) - 1] = false;
        }
        if let Some(place) = is_free.iter().position(|free| *free) {
            self.0[place] = trace;
            return place;
        }
        self.0.push(trace);
        self.0.len() - 1
    }
}
