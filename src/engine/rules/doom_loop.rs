//! `doom_loop`: the same attempt, call after call.
//!
//! # What it sees
//! Three calls in a row of one tool with the same arguments, or four with the same main arguments (path, command, pattern,
//! query, url, content and the like), so that another option or page size does not hide the loop; reading one file with
//! `cat`, `head` or `tail` is one attempt (attocode, *Two-Tier Detection*). From the sixth on it is critical.
//!
//! # Why it matters
//! The agent repeats one attempt and expects another outcome.
//!
//! # What to try
//! Another approach or another tool; or have the agent say what blocks it, or that the task is done.
//!
//! # When it stays silent
//! Any other call of the same worker (or agent) ends its row, so two calls that take turns are not seen here. Arguments that
//! were not recorded equal nothing. The row is not cut at the ten calls that attocode looks back: a longer one shows its true
//! length.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::hash::mix;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::DoomLoop;

/// The two tallies of a worker: rows of equal arguments, and of equal main arguments.
const EXACT: u64 = 0;
const FUZZY: u64 = 1;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.doom_loop.as_ref()?;
    let exact = row(fold, EXACT, judged.key, judged);
    let fuzzy = row(fold, FUZZY, judged.main, judged);
    // A row of equal calls is also one of equal main arguments: both grow one warning.
    let group = mix(judged.main?, judged.worker);
    let longest = if exact >= settings.calls && exact >= fuzzy {
        EXACT
    } else if fuzzy >= settings.calls_fuzzy {
        FUZZY
    } else if exact >= settings.calls {
        EXACT
    } else {
        return None;
    };
    let tally = fold.tallies.of(RULE, mix(judged.worker, longest));
    Some(Finding::of_calls(tally, group, judged))
}

/// Counts a call in its worker's row, which it begins if it does not go on with one.
fn row(fold: &mut Fold, which: u64, key: Option<u64>, judged: &Judged<'_>) -> u32 {
    let tally = fold.tallies.of(RULE, mix(judged.worker, which));
    let goes_on = key.is_some_and(|key| tally.seen.first() == Some(&key));
    if !goes_on {
        tally.clear();
        let Some(key) = key else { return 0 };
        tally.see(key);
    }
    tally.add(judged);
    tally.count
}
