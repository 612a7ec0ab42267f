//! `handoff_bounce`: two agents toss a task to and fro.
//!
//! # What it sees
//! Three hand-offs in a row between the same two agents, each the reverse of the one before: A to B, B to A, A to B (LoopLens
//! manual). Hand-offs are read from hand-off spans and transfer tools, else from the order and nesting of agent spans.
//!
//! # Why it matters
//! Each agent thinks that the other one is responsible; nobody works on the task.
//!
//! # What to try
//! Say in both agents' instructions who owns this kind of task, or forbid handing back without a result.
//! Where one errand is sent out again and again, change the plan.
//!
//! # When it stays silent
//! When something new came up in between: a new tool result, an answer that differs from the agent's earlier ones, a turn of
//! text that was not heard before, a message of a user, or an errand unlike those before it, or like them about another
//! thing. To delegate twice and get two answers is no bounce. Agents side by side do not hand over. Where hand-offs show in
//! the nesting alone and answers were not recorded, more are needed.

use crate::engine::event::Text;
use crate::engine::fold::Fold;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{BETWEEN, Finding};

const RULE: Rule = Rule::HandoffBounce;

pub(super) fn observe(fold: &Fold, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.handoff_bounce.as_ref()?;
    let control = &fold.control;
    let weak = control.weak && !control.explicit;
    let needed = if weak {
        settings.handoffs_weak.unwrap_or(settings.handoffs)
    } else {
        settings.handoffs
    };
    if control.bounces < u64::from(needed) {
        return None;
    }
    let (giver, receiver) = control.last.as_ref()?;
    let (one, other) = if giver < receiver {
        (giver, receiver)
    } else {
        (receiver, giver)
    };
    // Who gave may become known later than that it was given: the group must not change with it, so a run has one then.
    let giver_counts = !control.explicit || control.giver_said;
    let group = if giver_counts {
        mix(text_hash(one), text_hash(other))
    } else {
        0
    };
    let agents = if one.is_empty() {
        other.clone()
    } else {
        Text::from(format!("{one}{BETWEEN}{other}"))
    };
    Some(Finding {
        rule: RULE,
        group,
        count: control.bounces,
        tool: None,
        agent: Some(agents),
        ring: None,
        proof: control.proof(control.bounces),
        is_guess: false,
    })
}
