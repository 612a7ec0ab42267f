//! A request's way into the shards: route every report, see that all the shards concerned have room, and only then hand
//! over, so that a request is taken whole or not at all. A request that is refused has left nothing behind, not even in
//! the router's memory.

use std::time::Duration;

use tokio::sync::oneshot;
use tracing::warn;

use crate::engine::Service;
use crate::engine::event::{Event, Text, TraceId};
use crate::normalize::{Report, RunRef};
use crate::store::StoreError;

use super::clock;
use super::inbox::{Cost, Held, Message, Move, Part, Routed};
use super::router::{Lesson, Router};
use super::{NamedPolicy, Settings, Shared, swarm};

/// An inbox is nearly full when less than this part of it is empty.
const NEARLY: usize = 16;

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A shard holds as much as it may: send it again, later.
    #[error("too many reports are waiting; send them again in {} ms", retry_after.as_millis())]
    Overloaded {
        /// When to try again. Grows while requests are refused, and differs from sender to sender.
        retry_after: Duration,
    },
    /// There are far more runs than are to be kept, and the request would begin another: send it again, later.
    #[error("there are too many runs; send the reports again in {} ms", retry_after.as_millis())]
    Crowded {
        /// When to try again; see [`Refusal::Overloaded`].
        retry_after: Duration,
    },
    /// The daemon is leaving: send it to the next one.
    #[error("the daemon is stopping")]
    Stopping,
    /// The store failed, so that nothing more can be acknowledged until the daemon is started anew.
    #[error("the store has failed; nothing can be committed")]
    Failed,
}

/// One request, sorted by shard.
struct Sorted {
    /// By the shard's number; `None` for those that get nothing.
    parts: Vec<Option<Draft>>,
    lessons: Vec<Lesson>,
    unattributed: u64,
}

/// Why a request could not be sorted.
enum Unsorted {
    /// The store could not be read.
    Unread(StoreError),
    /// It would begin a run, and there are too many.
    Crowded,
}

/// A [`Part`] in the making.
#[derive(Default)]
struct Draft {
    reports: Vec<Routed>,
    aliases: Vec<(TraceId, Text)>,
    cost: Cost,
}

impl Shared {
    pub(super) async fn submit(
        &self,
        reports: Vec<Report>,
        policy: NamedPolicy,
    ) -> Result<(), Refusal> {
        let outcome = match self.admit(reports, &policy) {
            Ok(waiting) => self.wait(waiting).await,
            Err(refusal) => Err(refusal),
        };
        match &outcome {
            // Who leaves is asked for no numbers any more; the receiver counts the request.
            Ok(()) | Err(Refusal::Stopping) => {}
            Err(Refusal::Overloaded { .. }) => self.counters.refused_overloaded.add(1),
            Err(Refusal::Crowded { .. }) => self.counters.refused_crowded.add(1),
            Err(Refusal::Failed) => self.counters.refused_failed.add(1),
        }
        outcome
    }

    /// Waits until everything has been committed.
    async fn wait(&self, waiting: Vec<oneshot::Receiver<()>>) -> Result<(), Refusal> {
        for done in waiting {
            if done.await.is_err() {
                return Err(self.ended());
            }
        }
        Ok(())
    }

    /// Why a shard takes no more reports.
    fn ended(&self) -> Refusal {
        if self.is_stopping() && !self.is_failed() {
            Refusal::Stopping
        } else {
            Refusal::Failed
        }
    }

    /// Refuses a request that nobody has read yet, where it would most likely be refused after: reading costs half of what a
    /// report costs, and under a load that is several times too much nothing would be left for those that are taken.
    pub(super) fn turn_away(&self) -> Result<(), Refusal> {
        let most = most(&self.settings);
        let nearly = Cost {
            reports: most.reports - most.reports / NEARLY,
            bytes: most.bytes - most.bytes / NEARLY,
        };
        let mut desks = self.desks.iter();
        if desks.any(|desk| desk.holds_at_most(nearly)) {
            return Ok(());
        }
        self.counters.refused_overloaded.add(1);
        let retry_after = self.room.refuse();
        Err(Refusal::Overloaded { retry_after })
    }

    /// Takes a request, or refuses it whole. What comes back resolves when the parts are committed.
    pub(super) fn admit(
        &self,
        mut reports: Vec<Report>,
        policy: &NamedPolicy,
    ) -> Result<Vec<oneshot::Receiver<()>>, Refusal> {
        if self.is_stopping() || self.is_failed() {
            return Err(self.ended());
        }
        self.settle(&mut reports);
        let mut router = self
            .router
            .lock()
            .expect("nobody panics holding the router");
        let sorted = match self.sort(&mut router, reports, policy.policy.watches_swarms()) {
            Ok(sorted) => sorted,
            Err(Unsorted::Crowded) => {
                let retry_after = self.room.refuse();
                return Err(Refusal::Crowded { retry_after });
            }
            Err(Unsorted::Unread(error)) => {
                warn!(%error, "aliases of traces or runs cannot be read; reports are refused");
                return Err(Refusal::Failed);
            }
        };
        if !self.take_room(&sorted) {
            unlearn(&mut router, sorted.lessons);
            let retry_after = self.room.refuse();
            return Err(Refusal::Overloaded { retry_after });
        }
        self.room.take();
        self.counters.unattributed.add(sorted.unattributed);
        Ok(self.hand_over(sorted, policy))
    }

    /// Gives back the room that a turn's reports took in an inbox.
    pub(super) fn give_back(&self, held: &Held, cost: Cost) {
        held.release(cost);
        self.room.look(held.cost(), most(&self.settings));
    }

    /// Puts the times of what has just arrived right.
    fn settle(&self, reports: &mut [Report]) {
        let arrival_ms = self.clock.now_ms();
        let events = reports.iter_mut().flat_map(|report| &mut report.events);
        let settled = events
            .zip(0..)
            .map(|(event, place)| clock::settle(event, arrival_ms, place))
            .filter(|changed| *changed)
            .count();
        self.counters.times_settled.add(settled as u64);
    }

    /// Finds the run and the shard of each report. Those that name their run come first, so that the others of the
    /// same trace need not move.
    fn sort(
        &self,
        router: &mut Router,
        mut reports: Vec<Report>,
        watches_swarms: bool,
    ) -> Result<Sorted, Unsorted> {
        let is_nameless = |report: &Report| report.run.run_id.is_none();
        if !reports.is_sorted_by_key(is_nameless) {
            reports.sort_by_key(is_nameless);
        }
        let mut sorted = Sorted {
            parts: self.desks.iter().map(|_| None).collect(),
            lessons: Vec::new(),
            unattributed: 0,
        };
        let is_crowded = self.is_crowded();
        let for_each_shard = reports.len().div_ceil(self.desks.len());
        let (mut failure, mut unread) = (None, Vec::new());
        for Report { run, events } in reports {
            let route = router.route(&run, &mut |trace| match self.store.alias(trace) {
                Ok(alias) => alias,
                Err(error) => {
                    failure = Some(Unsorted::Unread(error));
                    unread.push(trace);
                    None
                }
            });
            let Some(route) = route else {
                sorted.unattributed += events.len().max(1) as u64;
                continue;
            };
            if route.lesson.is_none() && events.is_empty() {
                continue;
            }
            if is_crowded && failure.is_none() {
                failure = self.unknown(&route.run_id);
            }
            if watches_swarms && let Some(copy) = swarm::copy(&route.run_id, &run, &events) {
                sorted.add(self, swarm::routed(run.session_id.clone(), copy));
            }
            let shard = usize::from(self.shard_of(&route.run_id));
            let draft =
                sorted.parts[shard].get_or_insert_with(|| Draft::for_reports(for_each_shard));
            if let Some(lesson) = route.lesson {
                draft.aliases.push((lesson.trace, lesson.run_id.clone()));
                sorted.lessons.push(lesson);
            }
            draft.cost.add(Cost::of(&events));
            draft.report(route.run_id, run, events);
        }
        match failure {
            None => Ok(sorted),
            Some(error) => {
                unlearn(router, sorted.lessons);
                for trace in unread {
                    router.forget(trace);
                }
                Err(error)
            }
        }
    }

    /// What is in the way of a run's report when none may be begun. One that was begun within the last seconds may not be
    /// found yet; its reports wait, too.
    fn unknown(&self, run_id: &Text) -> Option<Unsorted> {
        match self.store.load_run(run_id) {
            Ok(Some(_)) => None,
            Ok(None) | Err(StoreError::Unreadable { .. }) => Some(Unsorted::Crowded),
            Err(error) => Some(Unsorted::Unread(error)),
        }
    }

    /// Takes room for all parts, or for none.
    fn take_room(&self, sorted: &Sorted) -> bool {
        let most = most(&self.settings);
        let targets = self.desks.iter().zip(&sorted.parts);
        let targets = targets.filter_map(|(desk, part)| Some((desk, part.as_ref()?.cost)));
        let lacking = targets
            .clone()
            .position(|(desk, cost)| !desk.take_room(cost, most));
        if let Some(taken) = lacking {
            for (desk, cost) in targets.take(taken) {
                desk.give_room_back(cost);
            }
        }
        lacking.is_none()
    }

    /// Puts the parts into the inboxes; moves come last, behind the reports that teach them.
    fn hand_over(&self, sorted: Sorted, policy: &NamedPolicy) -> Vec<oneshot::Receiver<()>> {
        let mut waiting = Vec::new();
        let mut done = || {
            let (done, wait) = oneshot::channel();
            waiting.push(wait);
            done
        };
        for (desk, draft) in self.desks.iter().zip(sorted.parts) {
            if let Some(draft) = draft {
                desk.send(Message::Reports(Part {
                    reports: draft.reports,
                    policy: policy.clone(),
                    aliases: draft.aliases,
                    cost: draft.cost,
                    done: done(),
                }));
            }
        }
        for Lesson { run_id, moves, .. } in sorted.lessons {
            if let Some(from) = moves {
                let done = done();
                let desk = self.desk_of(&from);
                desk.send(Message::Move(Move {
                    from,
                    into: run_id,
                    done,
                }));
            }
        }
        waiting
    }
}

impl Sorted {
    fn add(&mut self, house: &Shared, report: Routed) {
        let shard = usize::from(house.shard_of(&report.run_id));
        let draft = self.parts[shard].get_or_insert_default();
        draft.cost.add(Cost::of(&report.events));
        draft.reports.push(report);
    }
}

impl Draft {
    fn for_reports(count: usize) -> Self {
        Self {
            reports: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    fn report(&mut self, run_id: Text, run: RunRef, events: Vec<Event>) {
        if !events.is_empty() {
            self.reports.push(Routed {
                run_id,
                session_id: run.session_id,
                service: run.service.map(|name| Service::of(name, &events)),
                events,
            });
        }
    }
}

/// The most that one shard may hold.
pub(super) fn most(settings: &Settings) -> Cost {
    Cost {
        reports: settings.inbox_reports_max,
        bytes: settings.inbox_bytes_max,
    }
}

fn unlearn(router: &mut Router, lessons: Vec<Lesson>) {
    for lesson in lessons.into_iter().rev() {
        router.unlearn(lesson);
    }
}
