//! `handoff_cycle`: three or more agents hand a task round in a ring.
//!
//! # What it sees
//! Three to six agents that receive control in the same order, three full rounds, with nothing new in between.
//!
//! # Why it matters
//! Each agent passes the task on; nobody works on it. Between two agents the same is a bounce (`handoff_bounce`).
//!
//! # What to try
//! Name one agent that owns the task and may not pass it on.
//!
//! # When it stays silent
//! When a tool gave a new result, but to an agent that has no part in the ring, a user said something, or an agent something
//! that was not heard before in the run: agents that take turns in a discussion go round by design.

use crate::engine::fold::{Fold, named};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, Ring};

const RULE: Rule = Rule::HandoffCycle;

pub(super) fn observe(fold: &Fold, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.handoff_cycle.as_ref()?;
    let control = &fold.control;
    let (ring, count) = control.ring(settings.rounds.clamp(2, 3).into())?;
    let mut names: Vec<_> = ring.iter().map(|to| named(&fold.agents, *to)).collect();
    // Whoever has control just now, the same one is told first.
    let first = (0..names.len()).min_by_key(|place| &names[*place]);
    names.rotate_left(first.unwrap_or(0));
    let length = names.len() as u32;
    Some(Finding {
        rule: RULE,
        group: 0,
        count,
        tool: None,
        agent: None,
        ring: Some(Box::new(Ring { length, names })),
        proof: control.proof(count),
        is_guess: false,
    })
}
