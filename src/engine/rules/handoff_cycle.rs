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
//! When a tool gave a new result, or an agent said something that was not heard before in the run: agents that take turns in
//! a discussion go round by design.

use crate::engine::fold::Fold;
use crate::engine::fold::totals::Spent;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, Proof};

const RULE: Rule = Rule::HandoffCycle;

/// The largest ring that is looked for.
const AGENTS_MAX: usize = 6;

pub(super) fn observe(fold: &Fold, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.handoff_cycle.as_ref()?;
    let control = &fold.control;
    let trail = &*control.trail;
    let rounds = settings.rounds.clamp(2, 3) as usize;
    let ring = (3..=AGENTS_MAX).find(|agents| goes_round(trail, *agents, rounds))?;
    let count = (ring * rounds) as u64;
    Some(Finding {
        rule: RULE,
        group: 0,
        count,
        tool: None,
        agent: None,
        proof: Proof {
            evidence: control.evidence.iter().copied().collect(),
            first_ns: control.first_ns,
            last_ns: control.last_ns,
            spent: Spent::default(),
        },
        is_guess: false,
    })
}

/// Whether the trail ends with so many rounds of so many agents, at least three of them different.
fn goes_round(trail: &[u64], agents: usize, rounds: usize) -> bool {
    let Some(start) = trail.len().checked_sub(agents * rounds) else {
        return false;
    };
    let (ring, rest) = trail[start..].split_at(agents);
    let different = (0..agents).filter(|place| !ring[..*place].contains(&ring[*place]));
    rest.chunks(agents).all(|round| round == ring) && different.count() >= 3
}
