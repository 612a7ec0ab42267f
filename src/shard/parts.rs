//! What one request has for one shard, in parts of what is enough for a turn.
//!
//! Some thirty bytes may come to an event, and one to a run: a request of the largest size is enough for many turns. If one turn
//! took all of it, everybody else would wait for that, all its runs would be in memory at once, and its record would be in the
//! journal whole, to be read whole at the next start. So it is cut, and its sender is answered when the last part is committed.
//! Within a request the reports of a run come in any order, and what a turn takes is sorted, so they are put together and sorted
//! before they are cut: otherwise most would come too late for the run's window.

use crate::engine::event::{Text, TraceId};
use crate::engine::window::place::Place;
use crate::store::hashing::FastMap;

use super::batch::Groups;
use super::inbox::{Cost, Routed};

/// A [`Part`](super::inbox::Part) in the making.
#[derive(Default)]
pub(super) struct PartDraft {
    pub(super) reports: Vec<Routed>,
    pub(super) aliases: Vec<(TraceId, Text)>,
    pub(super) cost: Cost,
}

/// The parts of one that was too large.
struct Parts {
    events_max: usize,
    all: Vec<PartDraft>,
    /// The first part that has something of a trace.
    by_trace: FastMap<TraceId, usize>,
}

impl PartDraft {
    pub(super) fn for_reports(count: usize) -> Self {
        Self {
            reports: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    /// Adds a report. One without events takes room, too: it has an alias.
    pub(super) fn add(&mut self, report: Routed) {
        self.cost.add(Cost::of(&report.events));
        if !report.events.is_empty() {
            self.reports.push(report);
        }
    }

    /// The parts of it, none of which has more than so many events.
    pub(super) fn cut(self, events_max: usize) -> Vec<Self> {
        if self.cost.reports <= events_max {
            return vec![self];
        }
        let mut groups = Groups::default();
        for report in self.reports {
            groups.add(report);
        }
        let mut parts = Parts {
            events_max: events_max.max(1),
            all: Vec::new(),
            by_trace: FastMap::default(),
        };
        for group in groups.groups {
            parts.add(group);
        }
        for alias in self.aliases {
            parts.add_alias(alias);
        }
        parts.all
    }
}

impl Parts {
    fn add(&mut self, mut report: Routed) {
        if !report.events.is_sorted_by_key(Place::of) {
            report.events.sort_by_cached_key(Place::of);
        }
        let mut events = report.events.into_iter();
        while events.len() > 0 {
            let part = self.with_room();
            let room = self.events_max - self.all[part].cost.reports;
            let piece = Routed {
                run_id: report.run_id.clone(),
                session_id: report.session_id.clone(),
                service: report.service.clone(),
                events: events.by_ref().take(room).collect(),
            };
            for event in &piece.events {
                self.by_trace.entry(event.trace).or_insert(part);
            }
            self.all[part].add(piece);
        }
    }

    fn add_alias(&mut self, alias: (TraceId, Text)) {
        let part = self.by_trace.get(&alias.0).copied();
        let part = part.unwrap_or_else(|| {
            let part = self.with_room();
            self.all[part].cost.add(Cost::of(&[]));
            part
        });
        self.all[part].aliases.push(alias);
    }

    /// The newest part, or another one if there is no room in it.
    fn with_room(&mut self) -> usize {
        let newest = self.all.last();
        if newest.is_none_or(|part| part.cost.reports >= self.events_max) {
            self.all.push(PartDraft::default());
        }
        self.all.len() - 1
    }
}
