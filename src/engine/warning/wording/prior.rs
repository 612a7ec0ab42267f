//! The sentences of the rules that agents have as guards of their own (attocode, agentium, Automatos, agent-runtime).

use super::called;
use crate::engine::rules::cascade_advice;
use crate::engine::warning::kept::Kept;
use crate::engine::warning::{Rule, Severity};

/// Calls from which a doom loop's advice is urgent (attocode: three are a first warning, four a warning).
const URGENT_CALLS: u64 = 4;

/// What was counted so often; `tool` is quoted.
pub(super) fn happened(kept: &Kept, count: u64, tool: &str) -> String {
    let called = called(kept);
    match kept.rule {
        Rule::ToolLimit => {
            format!("{tool} was {called} {count} times in this turn, more than it may be.")
        }
        Rule::DuplicateCall => {
            format!("{tool} was {called} {count} times with identical arguments.")
        }
        Rule::SimilarQuery => {
            format!("{tool} was asked nearly the same {count} times in this turn.")
        }
        Rule::DoomLoop => {
            format!("{tool} was {called} {count} times in a row with the same main arguments.")
        }
        Rule::TestFixCycle => format!("Tests failed {count} times in a row."),
        Rule::CommandFailureCascade => format!("{count} shell commands failed in a row."),
        Rule::SummaryLoop => {
            format!("The agent answered {count} times in a row without calling a tool.")
        }
        _ => format!("Several workers made the same call of {tool} {count} times."),
    }
}

/// Why it matters.
pub(super) fn why_it_matters(rule: Rule) -> &'static str {
    match rule {
        Rule::ToolLimit => {
            "The limit protects a service, or stands where more calls of a tool no longer help."
        }
        Rule::DuplicateCall => "The answer is known already; asking again costs time and tokens.",
        Rule::SimilarQuery => "The same question in other words finds the same things.",
        Rule::DoomLoop => "The agent is stuck: it repeats one attempt and expects another outcome.",
        Rule::TestFixCycle => {
            "Small changes to the same idea do not help when the idea itself is wrong."
        }
        Rule::CommandFailureCascade => {
            "Each command is likely to fail for the reason for which the first one did."
        }
        Rule::SummaryLoop => "The agent describes the work instead of doing it.",
        _ => "The whole swarm is stuck on one approach, and each worker pays for it.",
    }
}

/// What to try.
pub(super) fn what_to_try(kept: &Kept) -> &'static str {
    match (kept.rule, kept.severity) {
        (Rule::ToolLimit, _) => {
            "Work with the results that are there, or raise the tool's limit if the task needs more."
        }
        (Rule::DuplicateCall, _) => {
            "Use the earlier result or try something else; if repeating is right, as when polling, except the tool."
        }
        (Rule::SimilarQuery, _) => {
            "Use what the earlier query found, or ask about something that really differs."
        }
        (Rule::DoomLoop, Severity::Critical) => {
            "Stop calling this tool now, say what blocks the work, and take an entirely different approach."
        }
        (Rule::DoomLoop, _) if kept.count >= URGENT_CALLS => {
            "Try another approach or another tool; if there is none, say what blocks the work."
        }
        (Rule::DoomLoop, _) => {
            "Try another approach or another tool, say what blocks the work, or say that the task is done if it is."
        }
        (Rule::TestFixCycle, _) => {
            "Read the error messages again from the start, ask whether the approach is right at all, and mend it in another way."
        }
        (Rule::CommandFailureCascade, _) => cascade_advice(kept.group),
        (Rule::SummaryLoop, _) => "Pick one task and begin it with a tool call.",
        _ => {
            "Give the swarm another strategy, forbid this call, and ask whether the task can be done as it is set."
        }
    }
}
