//! Reports into runs, as the shards do it, but in one place and without a disk or a clock.
//!
//! Files come in any order: a file for each process, the newest first. So nothing is judged before all is read, each thing is told
//! in the order of its time, and to the run whose name came last. Only what is more than may be held is judged earlier.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use crate::engine::event::{Event, Text};
use crate::engine::policy::Policy;
use crate::engine::window::place::Place;
use crate::engine::{Input, RunState, RunView, Service, step};
use crate::json::RunJson;
use crate::normalize::{Report, RunRef};
use crate::shard::router::Router;
use crate::shard::swarm;

/// Traces that the router remembers. A file is finite and nothing is stored beside it, so none may be forgotten.
const TRACES_MAX: usize = usize::MAX;

/// Most events that are held: a gigabyte or two.
const HELD_MAX: usize = 2_000_000;

/// The runs of the files read so far.
pub(super) struct Replay {
    policy: Arc<Policy>,
    router: Router,
    /// What has not been told to any run yet; a report without events says where its trace belongs.
    held: Vec<(RunRef, Option<Event>)>,
    held_max: usize,
    runs: BTreeMap<Text, RunState>,
    /// The end of the latest event: the only time there is.
    latest_ms: u64,
}

impl Replay {
    pub(super) fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            router: Router::new(TRACES_MAX),
            held: Vec::new(),
            held_max: HELD_MAX,
            runs: BTreeMap::new(),
            latest_ms: 0,
        }
    }

    /// Takes in what one span or log record told.
    pub(super) fn report(&mut self, report: Report) {
        let Report { run, events } = report;
        if events.is_empty() {
            self.held.push((run, None));
        } else {
            let told = events.into_iter();
            self.held
                .extend(told.map(|event| (run.clone(), Some(event))));
        }
        if self.held.len() >= self.held_max {
            self.tell_held();
        }
    }

    /// Tells what is held in the order of its times.
    fn tell_held(&mut self) {
        let mut held = mem::take(&mut self.held);
        held.sort_by_cached_key(|(_, event)| event.as_ref().map(Place::of));
        let mut goals = BTreeMap::new();
        let mut on_their_way = Vec::with_capacity(held.len());
        for (run, event) in held {
            let Some(route) = self.router.route(&run, &mut |_| None) else {
                continue;
            };
            let moved = route.alias.and_then(|alias| alias.moves);
            if let Some(moved) = moved.filter(|moved| *moved != route.run_id) {
                if let Some(state) = self.runs.remove(&moved) {
                    self.step(&route.run_id, &Input::Absorb(Box::new(state)));
                }
                // Where traces continue one another in a circle, the one in which they end has not moved.
                goals.remove(&route.run_id);
                goals.insert(moved, route.run_id.clone());
            }
            on_their_way.extend(event.map(|event| (route.run_id, run, event)));
        }
        for (mut run_id, run, event) in on_their_way {
            while let Some(further) = goals.get(&run_id) {
                run_id = further.clone();
            }
            self.report_of(&run_id, run, event);
        }
    }

    fn report_of(&mut self, run_id: &Text, run: RunRef, event: Event) {
        let events = vec![event];
        let watches_swarms = self.policy.watches_swarms();
        let copy = watches_swarms.then(|| swarm::copy(run_id, &run, &events));
        if let Some((swarm_id, copies)) = copy.flatten() {
            self.tell(&swarm_id, run.session_id.clone(), None, copies);
        }
        let service = run.service.map(|name| Service::of(name, &events));
        self.tell(run_id, run.session_id, service, events);
    }

    fn tell(
        &mut self,
        run_id: &Text,
        session_id: Option<Text>,
        service: Option<Service>,
        events: Vec<Event>,
    ) {
        let at_ms = events.iter().map(end_ms).max().unwrap_or(0);
        self.latest_ms = self.latest_ms.max(at_ms);
        let input = Input::Reports {
            at_ms,
            session_id,
            service,
            events,
        };
        self.step(run_id, &input);
    }

    /// Every run, now over, in the order in which they began.
    pub(super) fn finish(self) -> Vec<RunJson> {
        let (states, policy) = self.into_states();
        let views = states.iter().map(|state| state.view(&policy));
        let mut views: Vec<RunView> = views.filter(RunView::is_listed).collect();
        views.sort_by(|a, b| (a.first_seen_ns, &a.run_id).cmp(&(b.first_seen_ns, &b.run_id)));
        views.iter().map(RunJson::from).collect()
    }

    /// The states of every run, now over, and the policy by which they were judged.
    pub(super) fn into_states(mut self) -> (Vec<RunState>, Arc<Policy>) {
        self.tell_held();
        let input = Input::Idle {
            at_ms: self.latest_ms,
        };
        for state in self.runs.values_mut() {
            step(state, &input, &self.policy);
        }
        (self.runs.into_values().collect(), self.policy)
    }

    fn step(&mut self, run_id: &Text, input: &Input) {
        let state = self.runs.entry(run_id.clone());
        let state = state.or_insert_with(|| RunState::new(run_id.clone()));
        step(state, input, &self.policy);
    }
}

fn end_ms(event: &Event) -> u64 {
    event.end_ns / 1_000_000
}

#[cfg(test)]
mod tests {
    use crate::config::profile::Name;
    use crate::normalize::events_file;

    use super::*;

    /// Given more than may be held, in the order of time, all of it counts; where what is older than all of it comes behind, that
    /// is counted as too late.
    #[test]
    fn what_is_more_than_may_be_held_is_told_before() {
        let policy = Arc::new(Name::Standard.policy());
        let event = |i: u32| {
            let call = r#""kind":"tool_call","tool":"t""#;
            format!(r#"{{"i":{i},"t_ms":{i},{call},"input":{{"q":{i}}},"output":"{i}"}}"#)
        };
        let line = |first: u32| {
            let events: Vec<String> = (first..first + 200).map(event).collect();
            format!(r#"{{"run_id":"r","events":[{}]}}"#, events.join(","))
        };
        for (lines, late) in [([line(0), line(200)], 0), ([line(200), line(0)], 200)] {
            let mut replay = Replay::new(Arc::clone(&policy));
            replay.held_max = 200;
            for run in events_file::runs(lines.join("\n").as_bytes(), &policy).unwrap() {
                let run = run.unwrap();
                replay.report(Report {
                    run: RunRef {
                        run_id: Some(run.run_id),
                        ..RunRef::default()
                    },
                    events: run.events,
                });
            }
            let run = replay.finish().remove(0);
            assert_eq!((run.late_events, run.tool_calls), (late, 400 - late));
        }
    }
}
