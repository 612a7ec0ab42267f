//! `unusual_run`: the run is not like this agent's good runs.
//!
//! # What it sees
//! An agent that makes more tool calls in one run than its good runs have, or repeats more calls (the same tool, arguments and
//! result as one of the newest twelve). What is usual is learned by `eddy calibrate`, which also says how often a good run goes
//! beyond it.
//!
//! # Why it matters
//! Stuck runs are long runs, whatever they are stuck in; what no rule has a pattern for still shows in its length.
//!
//! # What to try
//! Look at what the run does that good ones do not; calibrate anew when the agent or its task has changed.
//!
//! # When it stays silent
//! Where nothing has been learned, as in all built-in profiles; for agents that were not among the good runs, unless `*` says
//! what is usual for them. Calls of exempt tools and hand-offs do not count.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::hash::mix;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::{Finding, Proof};

const RULE: Rule = Rule::UnusualRun;

/// The two groups of an agent: its calls, and its repeats.
const CALLS: u64 = 0;
const REPEATS: u64 = 1;

pub(super) fn observe(fold: &Fold, judged: &Judged<'_>, policy: &Policy) -> Vec<Finding> {
    let Some(settings) = policy.rules.unusual_run.as_ref() else {
        return Vec::new();
    };
    let name = judged.call.agent.map_or("", |agent| agent);
    let usual = settings
        .agents
        .get(name)
        .or_else(|| settings.agents.get("*"));
    let (Some(usual), Some(work)) = (usual, fold.work_of(judged.agent)) else {
        return Vec::new();
    };
    let finding = |what: u64, count: u64| Finding {
        rule: RULE,
        group: mix(work.agent, what),
        count,
        tool: (what == REPEATS).then(|| judged.tool.clone()),
        agent: judged.call.agent.cloned(),
        ring: None,
        proof: Proof {
            evidence: [judged.call.span]
                .into_iter()
                .filter(|span| span.is_set())
                .collect(),
            first_ns: judged.call.start_ns,
            last_ns: judged.call.start_ns,
            spent: judged.spent,
            longest_ns: 0,
        },
        is_guess: false,
    };
    let long = (work.calls > usual.calls).then(|| finding(CALLS, work.calls));
    let repeats = work.repeats > usual.repeats && work.repeated;
    let repeats = repeats.then(|| finding(REPEATS, work.repeats));
    long.into_iter().chain(repeats).collect()
}
