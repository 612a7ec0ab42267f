//! `command_failure_cascade`: shell commands fail one after the other.
//!
//! # What it sees
//! Three shell commands in a row that failed, whatever they were (attocode, *Bash Failure Cascade*). It looks at what the
//! first of them were for: where all of them read, wrote or changed files, the advice names the tool for that.
//!
//! # Why it matters
//! The next command is likely to fail for the reason for which the first one did: a wrong directory, a missing program, a
//! missing right.
//!
//! # What to try
//! Read the first error and mend its cause. For files, use the file tools (`read_file`, `write_file`, `edit_file`) in place of
//! `cat`, `echo` and `sed`.
//!
//! # When it stays silent
//! A command that worked ends the row, and so do tests that were run and failed (`test_fix_cycle`); calls of other tools in
//! between do not. Each worker has a row of its own. Where neither an error nor a result was recorded, the command tells nothing.

use crate::engine::event::Command;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::CommandFailureCascade;

/// Groups, by what the failing commands were for. A run has one warning for each.
const ANYTHING: u64 = 0;
const READING: u64 = 1;
const WRITING: u64 = 2;
const EDITING: u64 = 3;
const FILES: u64 = 4;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.command_failure_cascade.as_ref()?;
    let command = judged.call.traits.command?;
    if judged.outcome == Outcome::Unknown {
        return None;
    }
    if judged.outcome != Outcome::Failed || judged.call.traits.tests_failed {
        fold.tallies.end(RULE, judged.worker);
        return None;
    }
    let tally = fold.tallies.of(RULE, judged.worker);
    // What raises it decides the group; what fails after that does not make it another one.
    if tally.count < settings.failures {
        tally.see(purpose(command));
    }
    tally.add(judged);
    let group = match &*tally.seen {
        [purpose] => *purpose,
        purposes if !purposes.contains(&ANYTHING) => FILES,
        _ => ANYTHING,
    };
    (tally.count >= settings.failures).then(|| Finding::of_calls(tally, group, judged))
}

fn purpose(command: Command) -> u64 {
    match command {
        Command::ReadsFile => READING,
        Command::WritesFile => WRITING,
        Command::EditsFile => EDITING,
        Command::RunsTests | Command::Other => ANYTHING,
    }
}

/// What to try, by the group.
pub(crate) fn advice(group: u64) -> &'static str {
    match group {
        READING => "Read files with the tool `read_file` instead of shell commands such as `cat`.",
        WRITING => {
            "Write files with the tool `write_file` instead of shell commands such as `echo`."
        }
        EDITING => {
            "Change files with the tool `edit_file` instead of shell commands such as `sed`."
        }
        FILES => {
            "Use the file tools (`read_file`, `write_file`, `edit_file`) instead of `cat`, `echo` and `sed`."
        }
        _ => {
            "Read the first error and mend its cause (directory, program, rights) before the next command."
        }
    }
}
