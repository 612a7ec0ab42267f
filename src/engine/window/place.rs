//! Where a report stands among the others of its run.

use crate::engine::event::Event;

use super::card::{Kind, kind};

/// Where a report stands in a run: by start; agents before what they do, outer ones before inner ones; what a model asked for
/// before the calls that came of it; a run's end by when it ended. Ties are broken by identity (`conventions.md` §8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) at_ns: u64,
    pub(crate) class: u8,
    pub(crate) then_ns: u64,
    pub(crate) id: u64,
}

impl Place {
    pub(crate) fn of(event: &Event) -> Self {
        let kind = kind(&event.body);
        Self::from_parts(kind, event.id, event.start_ns, event.end_ns)
    }

    pub(super) fn from_parts(kind: Kind, id: u64, start_ns: u64, end_ns: u64) -> Self {
        let (at_ns, class, then_ns) = match kind {
            Kind::Agent => (start_ns, 0, u64::MAX - end_ns),
            Kind::Requested => (start_ns, 1, 0),
            Kind::Handoff => (start_ns, 2, end_ns),
            Kind::End => (end_ns, 3, end_ns),
            _ => (start_ns, 1, end_ns),
        };
        Self {
            at_ns,
            class,
            then_ns,
            id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given what a model asked for and the call that came of it at the very same time, it stands before the call, whichever has
    /// the smaller id.
    #[test]
    fn what_was_asked_for_stands_before_its_call() {
        for (asked_id, call_id) in [(1, 2), (2, 1)] {
            let asked = Place::from_parts(Kind::Requested, asked_id, 7, 9);
            let call = Place::from_parts(Kind::Tool, call_id, 7, 7);
            assert!(asked < call);
        }
    }
}
