//! What is odd about the labels: misspelt ones would be taken for none, and wrong ones for what somebody knows.

use std::collections::BTreeMap;

use super::watch::Verdict;
use crate::render::text::counted;

/// A line for each kind of label that cannot be meant so.
pub(super) fn doubts(verdicts: &[Verdict]) -> Vec<String> {
    let is_silent = |verdict: &Verdict| verdict.label.looping.is_none();
    let mut doubts = Vec::new();
    if verdicts.iter().all(is_silent) {
        doubts.push("no run has `label.looping`, so no flag can be right or wrong".to_owned());
    } else {
        let unread = |verdict: &Verdict| is_silent(verdict) && verdict.label.is_given;
        doubts.extend(told(verdicts, unread, "with a label without `looping`"));
    }
    let begins_late = |verdict: &Verdict| verdict.label.onset() > Some(verdict.last_event);
    doubts.extend(told(
        verdicts,
        begins_late,
        "of which the loop is said to begin behind the last event",
    ));
    let begins_not =
        |verdict: &Verdict| verdict.label.looping == Some(false) && verdict.label.onset().is_some();
    doubts.extend(told(
        verdicts,
        begins_not,
        "labelled as no loop, of which the label says where it begins",
    ));
    let mut known = BTreeMap::new();
    for verdict in verdicts {
        let (loops, others) = known
            .entry((&verdict.dataset, &verdict.run_id))
            .or_insert((false, false));
        *loops |= verdict.label.looping == Some(true);
        *others |= verdict.label.looping == Some(false);
    }
    let both = |verdict: &Verdict| known[&(&verdict.dataset, &verdict.run_id)] == (true, true);
    doubts.extend(told(verdicts, both, "labelled as a loop and as none"));
    doubts
}

fn told(verdicts: &[Verdict], is_odd: impl Fn(&Verdict) -> bool, what: &str) -> Option<String> {
    let mut odd = verdicts.iter().filter(|verdict| is_odd(verdict));
    let first = odd.next()?;
    let count = counted(1 + odd.count() as u64, "run");
    Some(format!("{count} {what}, such as `{}`", first.run_id))
}
