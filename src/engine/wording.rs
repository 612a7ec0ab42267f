//! The three sentences of a warning: what happened, why it matters, what to try.
//!
//! Names from the outside (tools, agents) are quoted as data, without control characters. No argument and no result is
//! ever part of a sentence.

mod prior;

use super::kept::Kept;
use super::warning::{Rule, Severity};

/// What happened.
pub(crate) fn what_happened(kept: &Kept) -> String {
    let count = kept.count;
    let tool = quoted(kept.tool.as_deref(), "a tool");
    match kept.rule {
        Rule::RepeatedToolCall => {
            format!("{tool} was called {count} times among the latest calls.")
        }
        Rule::RepeatedToolCallSimilarInput => {
            format!("{tool} was called {count} times with nearly the same arguments.")
        }
        Rule::RepeatedToolCallExactInput => {
            format!("{tool} was called {count} times with the same arguments.")
        }
        Rule::NoProgress => format!("{tool} was called {count} times and nothing changed."),
        Rule::EmptyResultLoop => format!("{tool} found nothing {count} times."),
        Rule::RetryStorm if kept.tool.is_some() => {
            format!("{tool} was tried again {count} times after a failure.")
        }
        Rule::RetryStorm => format!("Calls were tried again {count} times."),
        Rule::LongRunningStep => {
            format!(
                "{} took longer than it should.",
                times(count, "step", "steps")
            )
        }
        Rule::CostSpike => {
            format!(
                "{} cost more than half of what the run had cost by then.",
                times(count, "event", "events")
            )
        }
        Rule::CostBudgetExceeded => {
            format!(
                "The run has cost {:.2} dollars, more than its budget.",
                kept.proof.spent.cost_microusd as f64 / 1e6
            )
        }
        Rule::HandoffBounce => {
            let agents = quoted(kept.agent.as_deref(), "two agents");
            format!("Control went to and fro between {agents}: {count} hand-offs in a row.")
        }
        Rule::ToolLimit
        | Rule::DuplicateCall
        | Rule::SimilarQuery
        | Rule::DoomLoop
        | Rule::TestFixCycle
        | Rule::CommandFailureCascade
        | Rule::SummaryLoop
        | Rule::GlobalDoomLoop => prior::what_happened(kept.rule, &tool, count),
        Rule::ToolCycle => {
            format!("The same calls came round again with the same results: {count} calls so far.")
        }
        Rule::Stagnation => {
            format!(
                "{tool} was called {count} times with other arguments and gave the same result."
            )
        }
        Rule::SameError => format!("{tool} failed {count} times with the same error."),
        Rule::HandoffCycle => {
            format!("Agents handed the task round in a ring: {count} hand-offs and nothing new.")
        }
        Rule::GoalLoop if kept.tool.is_some() => {
            format!(
                "{tool} was called {count} times in the same way, under one instruction after the other."
            )
        }
        Rule::GoalLoop => {
            let agent = quoted(kept.agent.as_deref(), "An agent");
            format!("{agent} was given nearly the same instruction {count} times.")
        }
        Rule::RepeatedText => {
            let agent = quoted(kept.agent.as_deref(), "An agent");
            format!("{agent} said what it had said before {count} times and did nothing.")
        }
    }
}

/// Why it matters.
pub(crate) fn why_it_matters(kept: &Kept) -> &'static str {
    match kept.rule {
        Rule::RepeatedToolCall => {
            "An agent that reaches for one tool again and again may not know what else to do."
        }
        Rule::RepeatedToolCallSimilarInput => {
            "A question in other words usually finds what the first one found."
        }
        Rule::RepeatedToolCallExactInput => {
            "Asking the same question again does not change the answer."
        }
        Rule::NoProgress => "The run costs time and money and is no nearer to its goal.",
        Rule::EmptyResultLoop => {
            "The agent searches a dead end; more of the same will find nothing either."
        }
        Rule::RetryStorm => "What failed this often in the same way will fail again.",
        Rule::LongRunningStep => "One slow step holds up everything after it.",
        Rule::CostSpike => "A prompt that has grown out of hand shows here first.",
        Rule::CostBudgetExceeded => "The budget is what was agreed for a run.",
        Rule::HandoffBounce => {
            "Each agent takes the other one for responsible; nobody works on the task."
        }
        Rule::ToolLimit
        | Rule::DuplicateCall
        | Rule::SimilarQuery
        | Rule::DoomLoop
        | Rule::TestFixCycle
        | Rule::CommandFailureCascade
        | Rule::SummaryLoop
        | Rule::GlobalDoomLoop => prior::why_it_matters(kept.rule),
        Rule::ToolCycle => {
            "Each step leads back to the first; the next round will end like the last."
        }
        Rule::Stagnation => "Asking in another way does not change what the source has.",
        Rule::SameError => "The cause lies outside of what is being tried.",
        Rule::HandoffCycle => "Every agent passes the task on; nobody works on it.",
        Rule::GoalLoop => "The errand has been run and did not bring what was wanted.",
        Rule::RepeatedText => "An agent that plans and recaps without acting does not get on.",
    }
}

/// What to try.
pub(crate) fn what_to_try(kept: &Kept) -> &'static str {
    match (kept.rule, kept.severity) {
        (Rule::RepeatedToolCall, _) => {
            "Look at the latest results; say in the instructions when to stop using this tool."
        }
        (Rule::RepeatedToolCallSimilarInput, _) => {
            "Tell the agent what the earlier queries found, and ask for another source or for an answer with what is known."
        }
        (Rule::RepeatedToolCallExactInput | Rule::NoProgress, Severity::Critical) => {
            "Stop the run, or give the agent what it lacks: the earlier result, a decision, or a tool that waits."
        }
        (Rule::RepeatedToolCallExactInput, _) => {
            "Give the agent the earlier result; if it waits for something, let it wait in the tool instead of asking again."
        }
        (Rule::NoProgress, _) => {
            "Give the run what it lacks (a credential, a file, a decision), or stop it."
        }
        (Rule::EmptyResultLoop, _) => {
            "Name another source, or let the agent answer that nothing was found."
        }
        (Rule::RetryStorm, _) => {
            "Read the error and mend its cause; wait longer between tries, or give up with a clear message."
        }
        (Rule::LongRunningStep, _) => {
            "Give the tool a time limit, or start long work and look at it later."
        }
        (Rule::CostSpike, _) => {
            "Look at what was sent with that call: a whole file, a whole history, a result that should be cut."
        }
        (Rule::CostBudgetExceeded, _) => "Stop the run, or raise its budget if it is worth it.",
        (Rule::HandoffBounce, _) => {
            "Say in both agents' instructions who owns this kind of task, or forbid handing back without a result."
        }
        (
            Rule::ToolLimit
            | Rule::DuplicateCall
            | Rule::SimilarQuery
            | Rule::DoomLoop
            | Rule::TestFixCycle
            | Rule::CommandFailureCascade
            | Rule::SummaryLoop
            | Rule::GlobalDoomLoop,
            _,
        ) => prior::what_to_try(kept),
        (Rule::ToolCycle, _) => {
            "Tell the agent what the round brought, and take one of its steps away or decide for it."
        }
        (Rule::Stagnation, _) => {
            "Tell the agent that this source has nothing else, and name another one."
        }
        (Rule::SameError, _) => {
            "Mend the cause of the error (a credential, a path, a server), or take the tool away."
        }
        (Rule::HandoffCycle, _) => "Name one agent that owns the task and may not pass it on.",
        (Rule::GoalLoop, _) => {
            "Change the plan: another source, a smaller question, or an answer with what is known."
        }
        (Rule::RepeatedText, _) => {
            "Ask for one concrete action or for the final answer; check that the agent has the tools that it needs."
        }
    }
}

fn quoted(name: Option<&str>, otherwise: &str) -> String {
    match name {
        Some(name) if !name.is_empty() => {
            let clean: String = name
                .chars()
                .filter(|character| !character.is_control())
                .collect();
            format!("`{clean}`")
        }
        _ => otherwise.to_owned(),
    }
}

fn times(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("One {one}")
    } else {
        format!("{count} {many}")
    }
}
