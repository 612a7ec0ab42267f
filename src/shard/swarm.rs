//! Workers in different runs of one session, seen together.
//!
//! A *swarm* is a run of its own, named after the session, that gets a copy of every tool call whose report names both a
//! session and a worker or an agent. Copies are made where reports are admitted, so that they are journalled, replayed and
//! acknowledged with the reports themselves; a call that a question to the guard tells of is copied by the shard that
//! answers. In a copy the run stands in the agent's place, and its hash in the trace's, so that calls of two runs are never
//! taken for one. The engine lets one rule look at a swarm, `global_doom_loop`; where the profile does not have it, nothing
//! is copied.
//!
//! What a swarm is warned of, every worker of the session is told at its next question to the guard. Its own shard may be another
//! one than the swarm's, so warnings are kept here once they are committed. They are in memory alone: after a start, workers are
//! told when the loop goes on.

use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_128;

use crate::engine::event::{Body, Event, Text, TraceId};
use crate::engine::guard::Warned;
use crate::engine::run::{SWARM, is_swarm};
use crate::engine::worker::actor;
use crate::normalize::RunRef;
use crate::store::hashing::FastMap;

use super::inbox::Routed;
use super::router::bounded;

/// Most swarms whose warnings hang out; beyond them, some swarm's workers are not told.
const SWARMS_MAX: usize = 4_096;

/// The run in which the workers of a session are seen together.
pub(super) fn swarm_of(session_id: &str) -> Text {
    bounded(&format!("{SWARM}{session_id}").into())
}

/// What a swarm is told of a run's report: nothing where the report names no session apart from its run, or no tool call.
#[must_use]
pub fn copy(run_id: &Text, run: &RunRef, events: &[Event]) -> Option<(Text, Vec<Event>)> {
    let session_id = run.session_id.as_ref()?;
    copy_of(run_id, session_id, events)
}

/// The same for what the guard was asked and told.
pub(super) fn copy_of(
    run_id: &Text,
    session_id: &Text,
    events: &[Event],
) -> Option<(Text, Vec<Event>)> {
    if session_id.is_empty() || session_id == run_id {
        return None;
    }
    let trace = TraceId(xxh3_128(run_id.as_bytes()).to_be_bytes());
    let copies: Vec<Event> = events
        .iter()
        .filter(|event| matches!(event.body, Body::ToolCall(_) | Body::Requested(_)))
        .filter_map(|event| {
            let worker = actor(event.worker.as_ref(), event.agent.as_ref())?;
            Some(Event {
                trace,
                worker: Some(worker.clone()),
                agent: Some(run_id.clone()),
                ..event.clone()
            })
        })
        .collect();
    (!copies.is_empty()).then(|| (swarm_of(session_id), copies))
}

/// A copy on its way to its shard.
pub(super) fn routed(session_id: Option<Text>, (run_id, events): (Text, Vec<Event>)) -> Routed {
    Routed {
        run_id,
        session_id,
        service: None,
        events,
    }
}

/// What swarms are warned of, by the swarm's id.
#[derive(Debug, Default)]
pub(super) struct SwarmWarnings(Mutex<FastMap<Text, Arc<[Warned]>>>);

impl SwarmWarnings {
    /// Notes what a swarm is warned of by now.
    pub(super) fn publish(&self, run_id: &Text, warned: Vec<Warned>) {
        let mut warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_empty() {
            warnings.remove(run_id);
        } else if warnings.len() < SWARMS_MAX || warnings.contains_key(run_id) {
            warnings.insert(run_id.clone(), warned.into());
        }
    }

    /// Forgets what is told of a run that is forgotten.
    pub(super) fn forget(&self, run_id: &Text) {
        if is_swarm(run_id) {
            let mut warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            warnings.remove(run_id);
        }
    }

    /// What the workers of a session are to be told.
    pub(super) fn of(&self, session_id: Option<&Text>) -> Arc<[Warned]> {
        let known = session_id.and_then(|session_id| {
            let warnings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if warnings.is_empty() {
                return None;
            }
            warnings.get(&swarm_of(session_id)).cloned()
        });
        known.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::warning::Rule;

    /// Given as many stuck swarms as hang out, one that is forgotten makes room for another.
    #[test]
    fn a_swarm_that_is_forgotten_makes_room() {
        let warnings = SwarmWarnings::default();
        let warned = || {
            vec![Warned {
                warning_id: 1,
                rule: Rule::GlobalDoomLoop,
                group: 1,
                count: 9,
                tool: "search".into(),
                workers: 2,
            }]
        };
        let session = |number: usize| Text::from(format!("session {number}"));
        let is_told = |number| !warnings.of(Some(&session(number))).is_empty();
        for number in 0..=SWARMS_MAX {
            warnings.publish(&swarm_of(&session(number)), warned());
        }
        assert!(is_told(0) && !is_told(SWARMS_MAX));
        warnings.forget(&swarm_of(&session(0)));
        warnings.publish(&swarm_of(&session(SWARMS_MAX)), warned());
        assert!(!is_told(0) && is_told(SWARMS_MAX));
    }
}
