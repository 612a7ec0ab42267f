//! `global_doom_loop`: several workers make the same attempt over and over.
//!
//! # What it sees
//! Ten calls of one tool with the same main arguments by at least two workers of the run, in a row or not (attocode, *Global
//! Doom Loop Detection*). A worker is what the report names as one, else the agent.
//!
//! # Why it matters
//! No worker alone does enough of it to be noticed, but the swarm as a whole is stuck on one approach.
//!
//! # What to try
//! Give the swarm another strategy, forbid this call, or ask whether the task can be done as it is set.
//!
//! # When it stays silent
//! One worker alone is `doom_loop`'s matter, however often it calls. Reports that name neither worker nor agent count as one
//! worker. The fingerprint must be among the newest few dozen different ones.

use crate::engine::fold::Fold;
use crate::engine::judge::Judged;
use crate::engine::kept::Finding;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;

const RULE: Rule = Rule::GlobalDoomLoop;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.global_doom_loop.as_ref()?;
    let attempt = judged.main?;
    let tally = fold.tallies.of(RULE, attempt);
    tally.see(judged.worker);
    tally.add(judged);
    let enough =
        tally.count >= u64::from(settings.calls) && tally.seen.len() >= settings.workers as usize;
    enough.then(|| Finding {
        agent: None,
        ..Finding::of_calls(tally, attempt, judged)
    })
}
