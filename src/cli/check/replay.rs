//! Reports into runs, as the shards do it, but in one place and without a disk or a clock.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::event::{Event, Text};
use crate::engine::policy::Policy;
use crate::engine::{Input, RunState, RunView, Service, step};
use crate::json::RunJson;
use crate::normalize::Report;
use crate::shard::router::Router;
use crate::shard::swarm;

/// Traces that the router remembers. A file is finite and nothing is stored beside it, so none may be forgotten.
const TRACES_MAX: usize = usize::MAX;

/// The runs of the files read so far.
pub(super) struct Replay {
    policy: Arc<Policy>,
    router: Router,
    runs: BTreeMap<Text, RunState>,
    /// The end of the latest event: the only time there is.
    latest_ms: u64,
}

impl Replay {
    pub(super) fn new(policy: Arc<Policy>) -> Self {
        Self {
            policy,
            router: Router::new(TRACES_MAX),
            runs: BTreeMap::new(),
            latest_ms: 0,
        }
    }

    /// Takes in what one span or log record told.
    pub(super) fn report(&mut self, report: Report) {
        let Some(route) = self.router.route(&report.run, &mut |_| None) else {
            return;
        };
        let moved = route.alias.and_then(|alias| alias.moves);
        if let Some(state) = moved.and_then(|run_id| self.runs.remove(&run_id)) {
            self.step(&route.run_id, &Input::Absorb(Box::new(state)));
        }
        if report.events.is_empty() {
            return;
        }
        let watches_swarms = self.policy.watches_swarms();
        let copy = watches_swarms.then(|| swarm::copy(&route.run_id, &report.run, &report.events));
        if let Some((run_id, events)) = copy.flatten() {
            self.tell(&run_id, report.run.session_id.clone(), None, events);
        }
        let (session_id, service) = (report.run.session_id, report.run.service);
        let service = service.map(|name| Service::of(name, &report.events));
        self.tell(&route.run_id, session_id, service, report.events);
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
