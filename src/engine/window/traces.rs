//! The traces of a window's reports: each is kept once, and a card has its number. Most runs have one, and many reports of it.

use crate::engine::event::TraceId;

use super::card::Card;

/// Which of the traces of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TraceNumber(u16);

impl TraceNumber {
    /// That of reports that name no trace.
    pub(crate) const NONE: Self = Self(0);
}

/// Most reports of which each may have a trace of its own: far more than a window has.
pub(crate) const REPORTS_MAX: usize = u16::MAX as usize;

/// The traces of a window; number 1 is the first, which lies in place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traces {
    first: TraceId,
    others: Vec<TraceId>,
}

impl Traces {
    pub(crate) fn get(&self, number: TraceNumber) -> TraceId {
        match number {
            TraceNumber::NONE => TraceId::default(),
            TraceNumber(1) => self.first,
            TraceNumber(number) => self.others[usize::from(number) - 2],
        }
    }

    /// The number of a trace. A new one gets that of one which none of these cards has any more, where there is such.
    pub(crate) fn number(&mut self, trace: TraceId, cards: &[Card]) -> TraceNumber {
        if trace == TraceId::default() {
            return TraceNumber::NONE;
        }
        if trace == self.first {
            return TraceNumber(1);
        }
        let known = self.others.iter().position(|known| *known == trace);
        TraceNumber(known.map_or_else(|| self.add(trace, cards), |place| place + 2) as u16)
    }

    fn add(&mut self, trace: TraceId, cards: &[Card]) -> usize {
        let mut is_free = vec![true; self.others.len() + 2];
        is_free[0] = false;
        for card in cards {
            is_free[usize::from(card.trace.0)] = false;
        }
        let free = is_free.iter().position(|free| *free);
        let number = free.unwrap_or(is_free.len());
        match number {
            1 => self.first = trace,
            _ if number == is_free.len() => self.others.push(trace),
            _ => self.others[number - 2] = trace,
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::event::{Body, Event, SpanId, TraceId};
    use crate::engine::window::Window;

    fn report((id, trace): (u64, u8)) -> Event {
        Event {
            id,
            trace: TraceId([trace; 16]),
            span: SpanId::default(),
            parent: SpanId::default(),
            start_ns: id,
            end_ns: id,
            agent: None,
            worker: None,
            body: Body::StateUpdate,
        }
    }

    /// Given a trace of which no report is left, its number goes to the next new one; every report keeps its own trace, and a
    /// window is the same as one with other numbers.
    #[test]
    fn numbers_are_given_again() {
        let mut window: Window = [(1, 7), (2, 8), (3, 0), (4, 8)]
            .map(report)
            .into_iter()
            .collect();
        let freed = window.cards()[0].trace;
        window.remove_first(1);
        let event = report((5, 9));
        let card = window.card(&event);
        window.push(&card, &event);
        assert_eq!(card.trace, freed);
        let left = [(2, 8), (3, 0), (4, 8), (5, 9)].map(report);
        let unpacked = window.unpack_all();
        assert!(unpacked.iter().map(|(_, event)| event).eq(&left));
        let anew: Window = left.into_iter().collect();
        assert_ne!(anew.cards()[3].trace, freed);
        assert!(anew == window);
    }
}
