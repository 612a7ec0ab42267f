//! A request's way into the shards: route every report, take room in all the shards concerned, and only then hand
//! over, so that a request is taken whole or not at all. A request that is refused has left nothing behind, not even in
//! the router's memory.

use std::mem;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::warn;

use crate::engine::Service;
use crate::engine::event::Text;
use crate::normalize::Report;

use super::beginning::Beginning;
use super::clock;
use super::inbox::{Cost, Held, Message, Move, Part, Routed};
use super::looking_up::{Known, Unknown};
use super::parts::PartDraft;
use super::router::{Route, Router, TraceAlias};
use super::{NamedPolicy, Settings, Shards, Shared, swarm};

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A shard holds as much as it may: send it again, later.
    Overloaded {
        /// When to try again. Grows while requests are refused, and differs from sender to sender.
        retry_after: Duration,
    },
    /// There are far more runs than are to be kept, or would be with those that the request begins: send it again, later.
    Crowded {
        /// When to try again; see [`Refusal::Overloaded`].
        retry_after: Duration,
    },
    /// The daemon is leaving: send it to the next one.
    Stopping,
    /// The store failed, or could not be read. Nothing more is acknowledged until it has been opened anew, which the daemon sees
    /// to: send it again, later.
    Failed,
}

/// One request, sorted by shard.
struct Sorted {
    /// By the shard's number; `None` for those that get nothing.
    drafts: Vec<Option<PartDraft>>,
    lessons: Vec<TraceAlias>,
    unattributed: u64,
    /// Calls of which no swarm is told, since it would have to be begun.
    lost_copies: u64,
}

/// Where the reports of one request go.
struct Routes {
    /// In the order of the reports; `None` for those that nobody can know whose they are.
    routes: Vec<Option<Route>>,
    /// Which runs it begins, where it may not begin as many as it likes.
    beginning: Option<Beginning>,
}

/// Why a request was not taken yet.
enum NotAdmitted {
    Refused(Refusal),
    /// The database has to be asked first.
    Unknown(Unknown),
}

impl Shards {
    /// Takes the reports of one request, and the policy by which they were read. Resolves when all of them are committed:
    /// from then on they are effective and survive a crash. A refused request left nothing behind; of one that failed,
    /// parts may be committed, and sending it again is harmless.
    pub async fn submit(&self, reports: Vec<Report>, policy: NamedPolicy) -> Result<(), Refusal> {
        let shared = &self.shared;
        let outcome = match shared.admit(reports, &policy).await {
            Ok(waiting) => shared.wait(waiting).await,
            Err(refusal) => Err(refusal),
        };
        let counters = &shared.counters;
        match &outcome {
            // Who leaves is asked for no numbers any more; the receiver counts the request.
            Ok(()) | Err(Refusal::Stopping) => {}
            Err(Refusal::Overloaded { .. }) => counters.refused_overloaded.add(1),
            Err(Refusal::Crowded { .. }) => counters.refused_crowded.add(1),
            Err(Refusal::Failed) => counters.refused_failed.add(1),
        }
        outcome
    }
}

impl Shared {
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

    /// Takes a request, or refuses it whole. What comes back resolves when the parts are committed. Waits for nothing but the
    /// database, where that has to be asked (`looking_up`).
    pub(super) async fn admit(
        &self,
        mut reports: Vec<Report>,
        policy: &NamedPolicy,
    ) -> Result<Vec<oneshot::Receiver<()>>, Refusal> {
        if self.is_stopping() || self.is_failed() {
            return Err(self.ended());
        }
        let settled = self.settle(&mut reports);
        // Those that name their run come first, so that the others of the same trace need not move.
        let is_nameless = |report: &Report| report.run.run_id.is_none();
        if !reports.is_sorted_by_key(is_nameless) {
            reports.sort_by_key(is_nameless);
        }
        let mut known = Known::default();
        loop {
            match self.try_admit(&mut reports, policy, &known) {
                Ok(waiting) => {
                    self.counters.times_settled.add(settled);
                    return Ok(waiting);
                }
                Err(NotAdmitted::Refused(refusal)) => return Err(refusal),
                Err(NotAdmitted::Unknown(unknown)) => {
                    if let Err(error) = known.learn(&self.store, unknown).await {
                        warn!(%error, "aliases of traces or runs cannot be read; reports are refused");
                        return Err(Refusal::Failed);
                    }
                }
            }
        }
    }

    /// Takes a request, or refuses it whole, by what is known; where that is not enough, its reports stay. Holds the router for
    /// work in memory alone.
    fn try_admit(
        &self,
        reports: &mut Vec<Report>,
        policy: &NamedPolicy,
        known: &Known,
    ) -> Result<Vec<oneshot::Receiver<()>>, NotAdmitted> {
        let watches_swarms = policy.policy.watches_swarms();
        let mut router = self.router();
        router.make_room();
        let found = self.route(&mut router, reports, watches_swarms, known)?;
        let sorted = self.sort(mem::take(reports), found, watches_swarms, known);
        let cut = |draft: PartDraft| draft.cut(self.settings.turn_events_max);
        let parts = sorted.drafts.into_iter();
        let parts: Vec<_> = parts
            .map(|draft| draft.map_or_else(Vec::new, cut))
            .collect();
        if !self.take_room(&parts) {
            unlearn(&mut router, sorted.lessons);
            let retry_after = self.backpressure.refuse();
            return Err(NotAdmitted::Refused(Refusal::Overloaded { retry_after }));
        }
        for alias in &sorted.lessons {
            router.keep(alias);
        }
        self.backpressure.take();
        self.counters.unattributed.add(sorted.unattributed);
        self.counters.lost_copies.add(sorted.lost_copies);
        Ok(self.hand_over(parts, sorted.lessons, policy))
    }

    /// Gives back the room that a turn's reports took in an inbox.
    pub(super) fn give_back(&self, held: &Held, cost: Cost) {
        held.release(cost);
        self.backpressure.look(held.cost(), most(&self.settings));
    }

    /// Puts the times of what has just arrived right, and says how many were wrong.
    fn settle(&self, reports: &mut [Report]) -> u64 {
        let arrival_ms = self.clock.now_ms();
        let events = reports.iter().flat_map(|report| &report.events);
        let ahead_ns = clock::ahead_ns(events, arrival_ms);
        let events = reports.iter_mut().flat_map(|report| &mut report.events);
        events
            .zip(0..)
            .map(|(event, place)| clock::settle(event, arrival_ms, place, ahead_ns))
            .filter(|changed| *changed)
            .count() as u64
    }

    /// Finds the run of each report. Where that fails, nothing is left of it in the router.
    fn route(
        &self,
        router: &mut Router,
        reports: &[Report],
        watches_swarms: bool,
        known: &Known,
    ) -> Result<Routes, NotAdmitted> {
        let mut beginning = self.beginning(reports.len(), watches_swarms);
        let mut found = Vec::with_capacity(reports.len());
        let (mut unknown, mut begins) = (Unknown::default(), false);
        for report in reports {
            let route = self.route_one(router, &report.run, known, &mut unknown);
            if let Some(beginning) = &mut beginning
                && unknown.traces.is_empty()
            {
                let runs = route.iter().filter(|route| route.takes(report));
                for run_id in runs.map(|route| &route.run_id) {
                    match known.has_run(&self.store, run_id) {
                        Some(has) => begins = !has && !beginning.try_begin(run_id),
                        None => unknown.runs.push(run_id.clone()),
                    }
                }
                let session_id = report.run.session_id.as_ref().filter(|_| watches_swarms);
                let swarm = session_id.map(|session_id| swarm::swarm_of(session_id));
                let asked = |swarm: &Text| known.has_run(&self.store, swarm).is_none();
                unknown.runs.extend(swarm.filter(asked));
            }
            found.push(route);
            if begins {
                break;
            }
        }
        if unknown.is_empty() && !begins {
            return Ok(Routes {
                routes: found,
                beginning,
            });
        }
        let lessons = found.into_iter().flatten().filter_map(|route| route.alias);
        unlearn(router, lessons.collect());
        for trace in &unknown.traces {
            router.forget(*trace);
        }
        Err(if begins {
            let retry_after = self.backpressure.refuse();
            NotAdmitted::Refused(Refusal::Crowded { retry_after })
        } else {
            NotAdmitted::Unknown(unknown)
        })
    }

    /// Sorts reports by the shards of their runs.
    fn sort(
        &self,
        reports: Vec<Report>,
        Routes {
            routes,
            mut beginning,
        }: Routes,
        watches_swarms: bool,
        known: &Known,
    ) -> Sorted {
        let mut sorted = Sorted {
            drafts: self.inboxes.iter().map(|_| None).collect(),
            lessons: Vec::new(),
            unattributed: 0,
            lost_copies: 0,
        };
        let for_each_shard = reports.len().div_ceil(self.inboxes.len());
        for (report, route) in reports.into_iter().zip(routes) {
            let Some(route) = route else {
                sorted.unattributed += report.events.len().max(1) as u64;
                continue;
            };
            if !route.takes(&report) {
                continue;
            }
            let Report { run, events } = report;
            if watches_swarms && let Some(copy) = swarm::copy(&route.run_id, &run, &events) {
                let swarm = &copy.0;
                if let Some(beginning) = &mut beginning
                    && known.has_run(&self.store, swarm) != Some(true)
                    && !beginning.try_begin(swarm)
                {
                    sorted.lost_copies += copy.1.len() as u64;
                } else {
                    sorted.add(self, swarm::routed(run.session_id.clone(), copy));
                }
            }
            let Route { run_id, alias } = route;
            let shard = usize::from(self.shard_of(&run_id));
            let draft =
                sorted.drafts[shard].get_or_insert_with(|| PartDraft::for_reports(for_each_shard));
            if let Some(alias) = &alias {
                draft.aliases.push((alias.trace, alias.run_id.clone()));
            }
            draft.add(Routed {
                run_id,
                session_id: run.session_id,
                service: run.service.map(|name| Service::of(name, &events)),
                events,
            });
            sorted.lessons.extend(alias);
        }
        sorted
    }

    /// Takes room for all parts, or for none.
    fn take_room(&self, parts: &[Vec<PartDraft>]) -> bool {
        let most = most(&self.settings);
        let targets = self.inboxes.iter().zip(parts);
        let targets = targets.filter(|(_, parts)| !parts.is_empty());
        let targets = targets.map(|(inbox, parts)| (inbox, cost_of(parts)));
        let lacking = targets
            .clone()
            .position(|(inbox, cost)| !inbox.take_room(cost, most));
        if let Some(taken) = lacking {
            for (inbox, cost) in targets.take(taken) {
                inbox.give_room_back(cost);
            }
        }
        lacking.is_none()
    }

    /// Puts the parts into the inboxes; moves come last, behind the reports that teach them.
    fn hand_over(
        &self,
        parts: Vec<Vec<PartDraft>>,
        lessons: Vec<TraceAlias>,
        policy: &NamedPolicy,
    ) -> Vec<oneshot::Receiver<()>> {
        let mut waiting = Vec::new();
        let mut done = || {
            let (done, wait) = oneshot::channel();
            waiting.push(wait);
            done
        };
        for (inbox, parts) in self.inboxes.iter().zip(parts) {
            for draft in parts {
                inbox.send(Message::Reports(Part {
                    reports: draft.reports,
                    policy: policy.clone(),
                    aliases: draft.aliases,
                    cost: draft.cost,
                    done: done(),
                }));
            }
        }
        for TraceAlias { run_id, moves, .. } in lessons {
            if let Some(from) = moves {
                let done = done();
                let inbox = self.inbox_of(&from);
                inbox.send(Message::Move(Move {
                    from,
                    into: run_id,
                    again: false,
                    done,
                }));
            }
        }
        waiting
    }
}

impl Route {
    /// Whether a report that goes there has anything to tell.
    fn takes(&self, report: &Report) -> bool {
        self.alias.is_some() || !report.events.is_empty()
    }
}

impl Sorted {
    fn add(&mut self, owner: &Shared, report: Routed) {
        let shard = usize::from(owner.shard_of(&report.run_id));
        self.drafts[shard].get_or_insert_default().add(report);
    }
}

fn cost_of(parts: &[PartDraft]) -> Cost {
    let mut cost = Cost::default();
    for part in parts {
        cost.add(part.cost);
    }
    cost
}

/// The most that one shard may hold.
pub(super) fn most(settings: &Settings) -> Cost {
    Cost {
        reports: settings.inbox_reports_max,
        bytes: settings.inbox_bytes_max,
    }
}

fn unlearn(router: &mut Router, lessons: Vec<TraceAlias>) {
    for alias in lessons.into_iter().rev() {
        router.unlearn(alias);
    }
}
