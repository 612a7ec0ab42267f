//! `tool_limit`: a tool was called more often in one turn than it may be.
//!
//! # What it sees
//! The calls of a tool since the newest message of a user, whatever their arguments and their outcome; one more than the
//! tool's limit raises it (Automatos, *Retry Limits*: 2 for searches, external services, writing and listing, 3 otherwise).
//!
//! # Why it matters
//! A limit protects a service that others need too, and a search that found nothing twice rarely finds something then.
//!
//! # What to try
//! Work with the results that are there. If the task needs more calls than that, raise the limit of this tool.
//!
//! # When it stays silent
//! A new message of a user starts all counts anew. Tools that pass control have no limit. Where more than twelve
//! limited tools are called in a turn, the count of the one that was called longest ago is begun anew.

use crate::engine::fold::Fold;
use crate::engine::fold::judge::Judged;
use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::engine::warning::kept::Finding;

const RULE: Rule = Rule::ToolLimit;

pub(super) fn observe(fold: &mut Fold, judged: &Judged<'_>, policy: &Policy) -> Option<Finding> {
    let settings = policy.rules.tool_limit.as_ref()?;
    let limit = judged.settings.limit.or(settings.calls)?;
    let turn_at = fold.totals.turn_at;
    let tally = fold.tallies.of(RULE, judged.tool_hash);
    tally.begin_at(turn_at);
    tally.add(judged);
    (tally.count > limit).then(|| Finding::of_calls(tally, judged.tool_hash, judged))
}
