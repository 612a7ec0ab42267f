//! `global_doom_loop`: several workers make the same attempt over and over.
//!
//! # What it sees
//! Ten calls of one tool with the same main arguments by at least two workers of a run, or of different runs of one session, in
//! a row or not (attocode, *Global Doom Loop Detection*). A worker is what the report names as one, else the agent. What runs
//! of one session do together is shown as a run of its own, `swarm:` with the session's id.
//!
//! # Why it matters
//! No worker alone does enough of it to be noticed, but the swarm as a whole is stuck on one approach.
//!
//! # What to try
//! Give the swarm another strategy, forbid this call, or ask whether the task can be done as it is set.
//!
//! # When it stays silent
//! One worker alone is `doom_loop`'s matter, however often it calls. Reports that name neither worker nor agent count as one
//! worker. A run keeps 32 counts for all rules together, the newest ones, among which that of the fingerprint must be. In a session
//! only calls count whose report names the session; what several workers of one run do alone is that run's matter.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::hash::{mix, text_hash};
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::GlobalDoomLoop;

/// Tells the tally of the runs that make an attempt from that of the attempt.
const RUNS: u64 = 1;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.global_doom_loop.as_ref()?;
    let attempt = judged.main?;
    let tally = fold.tallies.of(RULE, attempt);
    tally.see(judged.worker);
    tally.add(judged);
    let enough = tally.count >= settings.calls && tally.seen.len() >= settings.workers as usize;
    if fold.is_swarm && !is_of_two_runs(fold, attempt, judged) {
        return None;
    }
    let tally = fold.tallies.of(RULE, attempt);
    enough.then(|| Finding {
        agent: None,
        ..Finding::of_calls(tally, attempt, judged)
    })
}

/// Whether calls of at least two runs were counted. In what a swarm is told, the run has the agent's place.
fn is_of_two_runs(fold: &mut Fold, attempt: u64, judged: &Judged<'_>) -> bool {
    let runs = fold.tallies.of(RULE, mix(attempt, RUNS));
    runs.add(judged);
    runs.see(judged.call.agent.map_or(0, |run_id| text_hash(run_id)));
    runs.seen.len() >= 2
}
