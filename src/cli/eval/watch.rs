//! One labelled run, told to the engine event by event.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::engine::event::Event;
use crate::engine::policy::Policy;
use crate::engine::warning::{Rule, Severity};
use crate::engine::{Change, Input, RunState, step};
use crate::normalize::events_file::{EventsRun, Label};

/// What Eddy said of a run, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Verdict {
    /// The data set; empty where the line names none.
    pub(super) dataset: String,
    pub(super) run_id: String,
    /// A warning of severity warning or worse was raised.
    pub(super) flagged: bool,
    /// A warning was critical at some moment.
    pub(super) critical: bool,
    /// The number `i` of the event at which the run was first flagged.
    pub(super) first_flag_event: Option<u64>,
    /// The rules that flagged it, by name.
    pub(super) rules: Vec<&'static str>,
    /// The number `i` of its last event.
    #[serde(skip)]
    pub(super) last_event: u64,
    #[serde(skip)]
    pub(super) label: Label,
    /// The run's task was done in the end.
    #[serde(skip)]
    pub(super) succeeded: bool,
}

/// Tells the engine of a run, and notes what it said on the way.
pub(super) fn judge(run: EventsRun, policy: &Policy) -> Verdict {
    // Not by its own name, which may be that of a swarm.
    let mut state = RunState::new("run".into());
    let mut rules = BTreeSet::new();
    let mut critical = false;
    let mut first_flag_event = None;
    let last_event = run.events.last().map_or(0, number);
    for told in run.told() {
        let number = number(&told[0]);
        let input = Input::Reports {
            at_ms: told[0].end_ns / 1_000_000,
            session_id: None,
            service: None,
            events: told.to_vec(),
        };
        for Change { warning, .. } in step(&mut state, &input, policy) {
            if warning.severity >= Severity::Warning {
                rules.insert(warning.rule);
                critical |= warning.severity == Severity::Critical;
                first_flag_event.get_or_insert(number);
            }
        }
    }
    Verdict {
        dataset: run.dataset.unwrap_or_default(),
        run_id: run.run_id.to_string(),
        flagged: !rules.is_empty(),
        critical,
        first_flag_event,
        rules: rules.into_iter().map(Rule::name).collect(),
        label: run.label,
        succeeded: run
            .outcome
            .is_some_and(|outcome| outcome.eq_ignore_ascii_case("success")),
        last_event,
    }
}

/// The number `i` of an event in its line: the events format makes span ids of the numbers from 1.
fn number(event: &Event) -> u64 {
    u64::from_be_bytes(event.span.0).saturating_sub(1)
}
