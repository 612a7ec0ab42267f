//! `test_fix_cycle`: test runs fail one after the other.
//!
//! # What it sees
//! Three runs of tests in a row that failed: a shell command that runs tests (`cargo test`, `pytest`, `npm test`), or a tool
//! whose only work that is, which failed or whose result counts failed tests (attocode, *Test-Fix Cycle*).
//!
//! # Why it matters
//! An agent that changes and tests and changes again is often on the wrong way altogether.
//!
//! # What to try
//! Read the error messages again from the start; ask whether the approach is right; mend it in another way.
//!
//! # When it stays silent
//! A run in which all tests passed ends the row; edits and other calls in between do not. Each worker has a row of its own. A
//! result that was not recorded tells nothing. "0 failed" is no failure, and a file with `test` in its name is no test run.

use crate::engine::event::Command;
use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::fold::outcome::Outcome;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::TestFixCycle;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.test_fix_cycle.as_ref()?;
    let traits = judged.call.traits;
    if traits.command != Some(Command::RunsTests) || judged.outcome == Outcome::Unknown {
        return None;
    }
    if judged.outcome != Outcome::Failed && !traits.tests_failed {
        fold.tallies.end(RULE, judged.worker);
        return None;
    }
    let tally = fold.tallies.of(RULE, judged.worker);
    tally.add(judged);
    (tally.count >= settings.failures).then(|| Finding::of_calls(tally, judged.worker, judged))
}
