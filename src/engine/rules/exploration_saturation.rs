//! `exploration_saturation`: the agent reads on and on and changes nothing.
//!
//! # What it sees
//! So many calls in one turn that only read (a tool whose name begins with a word of reading: `read`, `view`, `list`, `grep`,
//! `search` and the like; a shell command that shows a file) and that each brought something new, by one worker, with
//! nothing written, edited or tested in between (attocode counts ten new files).
//!
//! # Why it matters
//! What is read fills the context, and what was read first is forgotten; an agent that never begins does not end either.
//!
//! # What to try
//! Have the agent say what it has learned and make a first change, or answer with what is known.
//!
//! # When it stays silent
//! Where the profile has it off, as all built-in ones have: for an agent whose task is to read, this is the work, so it is for
//! agents that are to change something. Reads that bring nothing new have rules of their own. A write, an edit, a run of
//! tests, a state update or a message of a user starts the count anew.

use crate::engine::event::Command;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::policy::Policy;
use crate::engine::tool_name;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::ExplorationSaturation;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.exploration_saturation.as_ref()?;
    if acts(judged) {
        fold.tallies.end(RULE, judged.worker);
        return None;
    }
    if judged.outcome != Outcome::Fresh || !reads(judged) {
        return None;
    }
    let begins = fold.totals.write_at.max(fold.totals.turn_at);
    let tally = fold.tallies.of(RULE, judged.worker);
    tally.begin_at(begins);
    tally.add(judged);
    (tally.count >= settings.calls).then(|| Finding::of_calls(tally, judged.worker, judged))
}

/// Whether a call changed something, or tried out what was changed.
fn acts(judged: &Judged<'_>) -> bool {
    let command = judged.call.traits.command;
    let by_command = matches!(
        command,
        Some(Command::WritesFile | Command::EditsFile | Command::RunsTests)
    );
    judged.outcome != Outcome::Failed && (judged.call.manner.writes() || by_command)
}

fn reads(judged: &Judged<'_>) -> bool {
    judged.call.traits.command == Some(Command::ReadsFile) || tool_name::reads(judged.tool)
}
