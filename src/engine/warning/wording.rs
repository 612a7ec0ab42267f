//! The three sentences of a warning: what happened, why it matters, what to try.
//!
//! Names from the outside (tools, agents) are quoted as data: control characters and signs that cannot be seen are spelled out, and
//! quotes of their own are others. No argument and no result is ever part of a sentence.

mod own;
mod prior;

use super::kept::{BETWEEN, Kept};
use super::{Rule, Severity};
use crate::engine::event::Manner;
use crate::engine::guard::message::spelled_out;
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::tool_name;

/// What happened. Of what had stopped and began anew, both times are told.
pub(crate) fn what_happened(kept: &Kept) -> String {
    let told = happened(kept, kept.since_raised());
    match kept.before {
        0 => told,
        before => format!("{told} It had come to {before} before, and had stopped."),
    }
}

/// What was counted so often.
fn happened(kept: &Kept, count: u64) -> String {
    let tool = quoted(kept.tool.as_deref(), "a tool");
    let called = called(kept);
    match kept.rule {
        Rule::RepeatedToolCall => {
            format!("{tool} was {called} {count} times among the latest calls.")
        }
        Rule::RepeatedToolCallSimilarInput => {
            format!("{tool} was {called} {count} times with the same or nearly the same arguments.")
        }
        Rule::RepeatedToolCallExactInput => {
            format!("{tool} was {called} {count} times with the same arguments.")
        }
        Rule::NoProgress => format!("{tool} was {called} {count} times and nothing changed."),
        Rule::EmptyResultLoop => format!("{tool} found nothing {count} times."),
        Rule::RetryStorm if kept.tool.is_some() => {
            format!("{tool} was tried again {count} times after a failure.")
        }
        Rule::RetryStorm => format!("Calls were tried again {count} times."),
        Rule::LongRunningStep => long_steps(kept, count),
        Rule::CostSpike => {
            let each = if count == 1 { "" } else { "each " };
            format!(
                "{} cost {}, {each}a large part of what the run had cost by then.",
                times(count, "model call", "model calls"),
                money(kept.proof.spent.cost_microusd)
            )
        }
        Rule::CostBudgetExceeded => {
            format!(
                "The run has cost {}, more than its budget.",
                money(kept.proof.spent.cost_microusd)
            )
        }
        Rule::HandoffBounce => {
            let agents = match kept.agent.as_deref().map(|both| both.split_once(BETWEEN)) {
                Some(Some((one, other))) => {
                    let [one, other] = [one, other].map(|name| quoted(Some(name), "an agent"));
                    format!("{one} and {other}")
                }
                Some(None) => format!("{} and another agent", quoted(kept.agent.as_deref(), "one")),
                None => "two agents".to_owned(),
            };
            format!("Control went to and fro between {agents}: {count} hand-offs in a row.")
        }
        Rule::ToolLimit
        | Rule::DuplicateCall
        | Rule::SimilarQuery
        | Rule::DoomLoop
        | Rule::TestFixCycle
        | Rule::CommandFailureCascade
        | Rule::SummaryLoop
        | Rule::GlobalDoomLoop => prior::happened(kept, count, &tool),
        _ => own::happened(kept, count),
    }
}

/// Why it matters; whether the calls fail is told where it is known.
pub(crate) fn why_it_matters(kept: &Kept, fails: Option<bool>) -> &'static str {
    match kept.rule {
        Rule::RepeatedToolCall => {
            "An agent that reaches for one tool again and again may not know what else to do."
        }
        Rule::RepeatedToolCallSimilarInput if fails == Some(true) => {
            "What was refused in one way is usually refused in another."
        }
        Rule::RepeatedToolCallSimilarInput if is_deed(kept) => DEEDS_MATTER,
        Rule::RepeatedToolCallSimilarInput => {
            "A question asked again, also in other words, usually finds what it found first."
        }
        Rule::RepeatedToolCallExactInput if fails != Some(true) && is_deed(kept) => DEEDS_MATTER,
        Rule::RepeatedToolCallExactInput if fails == Some(true) => {
            "What failed will fail again as long as nothing else has changed."
        }
        Rule::RepeatedToolCallExactInput => {
            "Asking the same question again does not change the answer."
        }
        Rule::NoProgress => "The run costs time and money and is no nearer to its goal.",
        Rule::EmptyResultLoop if asks_somebody(kept) => {
            "The agent waits for somebody who does not answer."
        }
        Rule::EmptyResultLoop => {
            "The agent searches a dead end; more of the same will find nothing either."
        }
        Rule::RetryStorm => "What failed this often in the same way will fail again.",
        Rule::LongRunningStep => "One slow step holds up everything after it.",
        Rule::CostSpike => "A prompt that has grown out of hand shows here first.",
        Rule::CostBudgetExceeded => "The budget is what was agreed for a run.",
        Rule::HandoffBounce => {
            "Each agent takes the other one for responsible, or one sends the same errand again and again: the task gets no further."
        }
        Rule::ToolLimit
        | Rule::DuplicateCall
        | Rule::SimilarQuery
        | Rule::DoomLoop
        | Rule::TestFixCycle
        | Rule::CommandFailureCascade
        | Rule::SummaryLoop
        | Rule::GlobalDoomLoop => prior::why_it_matters(kept.rule),
        _ => own::why_it_matters(kept),
    }
}

/// What to try; whether the calls fail is told where it is known.
pub(crate) fn what_to_try(kept: &Kept, fails: Option<bool>) -> &'static str {
    match (kept.rule, kept.severity) {
        (
            Rule::RepeatedToolCallExactInput
            | Rule::RepeatedToolCallSimilarInput
            | Rule::NoProgress,
            severity,
        ) if fails == Some(false) && is_deed(kept) => done_again(severity),
        (Rule::RepeatedToolCallExactInput | Rule::NoProgress, severity) if fails.is_some() => {
            standstill(severity, fails == Some(true))
        }
        (Rule::RepeatedToolCallSimilarInput, severity) if fails == Some(true) => {
            standstill(severity, true)
        }
        (Rule::RepeatedToolCall, _) => {
            "Look at the latest results; say in the instructions when to stop using this tool."
        }
        (Rule::RepeatedToolCallSimilarInput, _) => {
            "Tell the agent what the earlier queries found, and ask for another source or for an answer with what is known."
        }
        (Rule::RepeatedToolCallExactInput | Rule::NoProgress, Severity::Critical) => {
            "Stop the run, or give the agent what it lacks: a cause mended where the calls fail, else the earlier result, a decision, or a tool that waits."
        }
        (Rule::RepeatedToolCallExactInput, _) => {
            "If the calls fail, mend the cause that the error names; if not, give the agent the earlier result. If it waits for something, let it wait in the tool instead of asking again."
        }
        (Rule::NoProgress, _) => {
            "Give the run what it lacks (a credential, a file, a decision), or stop it."
        }
        (Rule::EmptyResultLoop, _) if asks_somebody(kept) => {
            "Answer the agent, or say in its instructions what it is to do when nobody answers."
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
            "Say in both agents' instructions who owns this kind of task, or forbid handing back without a result; where one errand is sent out again, change the plan."
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
        _ => own::what_to_try(kept),
    }
}

/// What to try where the same brings the same.
fn standstill(severity: Severity, fails: bool) -> &'static str {
    match (severity, fails) {
        (Severity::Critical, true) => {
            "Stop the run, or mend the cause that the answer names: tried again as it is, the call will be answered the same."
        }
        (Severity::Critical, false) => {
            "Stop the run, or give the agent what it lacks: the earlier result, a decision, or a tool that waits."
        }
        (_, true) => {
            "Mend the cause that the answer names, or tell the agent that this call cannot succeed and what it may do instead."
        }
        (_, false) => {
            "Give the agent the earlier result, or say what it may do when the result does not help. If it waits for something, let it wait in the tool instead of asking again."
        }
    }
}

/// Why it matters that something was done again.
const DEEDS_MATTER: &str = "Each of these calls may have had its effect: what was meant once may have been done many times.";

/// What to try where something was done again.
fn done_again(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => {
            "Stop the run, and look whether it was done more than once: undo what is too much, and have the tool refuse a repeat (an idempotency key)."
        }
        _ => {
            "Look whether it was done more than once; give the agent the first result, and have the tool refuse a repeat (an idempotency key)."
        }
    }
}

/// Whether the tool, by its name, does something to others: a repeat is then more than a question asked again.
fn is_deed(kept: &Kept) -> bool {
    let tool = kept.tool.as_deref();
    tool.is_some_and(|tool| tool_name::manner(tool) == Manner::Writes)
}

/// Whether the tool, by its name, asks a person.
fn asks_somebody(kept: &Kept) -> bool {
    tool_name::asks_somebody(kept.tool.as_deref().unwrap_or_default())
}

fn quoted(name: Option<&str>, otherwise: &str) -> String {
    match name {
        Some(name) if !name.is_empty() => {
            format!("`{}`", spelled_out(name).replace('`', "'"))
        }
        _ => otherwise.to_owned(),
    }
}

/// What was done with a tool: calls that the guard refused count, too.
fn called(kept: &Kept) -> &'static str {
    let is_refused = kept.verdict.kind >= VerdictKind::Skip && !kept.verdict.is_observed;
    if is_refused { "asked for" } else { "called" }
}

/// How long steps took; states of earlier versions do not say it.
fn long_steps(kept: &Kept, count: u64) -> String {
    let step = quoted(kept.tool.as_deref(), "a model call");
    match (count, kept.proof.longest_ns) {
        (1, 0) => "One step took longer than it should.".to_owned(),
        (count, 0) => format!("{count} steps took longer than they should."),
        (1, length_ns) => format!("One step, {step}, took {}.", length(length_ns)),
        (count, length_ns) => {
            format!(
                "{count} steps took long, the longest {}.",
                length(length_ns)
            )
        }
    }
}

/// A length of time in seconds, or in minutes or hours where that is many of them, rounded.
fn length(length_ns: u64) -> String {
    let seconds = length_ns as f64 / 1e9;
    let (number, unit) = match seconds {
        ..100.0 => (seconds, "s"),
        ..6_000.0 => (seconds / 60.0, "min"),
        _ => (seconds / 3_600.0, "h"),
    };
    let number = format!("{number:.1}");
    format!("{} {unit}", number.trim_end_matches(".0"))
}

/// US dollars: cents, or where that would be nothing, hundredths of cents.
pub(crate) fn money(microusd: u64) -> String {
    let usd = microusd as f64 / 1e6;
    match microusd {
        1..50 => "<$0.0001".to_owned(),
        50..10_000 => format!("${usd:.4}"),
        _ => format!("${usd:.2}"),
    }
}

fn times(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("One {one}")
    } else {
        format!("{count} {many}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::Alarm;
    use crate::engine::warning::kept::{Finding, Proof};

    fn of_rule(rule: Rule) -> Kept {
        let finding = Finding {
            rule,
            group: 0,
            count: 8,
            tool: None,
            agent: None,
            ring: None,
            proof: Proof::default(),
            is_guess: false,
        };
        let alarm = Alarm {
            severity: Severity::Warning,
            critical_count: None,
            penalty: 25,
        };
        Kept::new(finding, &alarm)
    }

    /// Given a warning that was resolved and has come again, its sentence counts what came since then, and says what was before.
    #[test]
    fn loops_that_come_again() {
        let first = of_rule(Rule::NoProgress);
        let told = "a tool was called 8 times and nothing changed.";
        assert_eq!(what_happened(&first), told);
        let again = Kept {
            count: 12,
            before: 8,
            ..first
        };
        let told = "a tool was called 4 times and nothing changed. It had come to 8 before, and had stopped.";
        assert_eq!(what_happened(&again), told);
    }

    /// Given an amount, it is told in cents; a small one in hundredths of them, and never as nothing.
    #[test]
    fn amounts_of_money() {
        for (microusd, expected) in [
            (0, "$0.00"),
            (10, "<$0.0001"),
            (4_200, "$0.0042"),
            (12_345_000, "$12.35"),
        ] {
            assert_eq!(money(microusd), expected);
        }
    }

    /// Given a length of time, it is told in a unit that fits.
    #[test]
    fn lengths_of_time() {
        for (milliseconds, expected) in [
            (30_000, "30 s"),
            (30_100, "30.1 s"),
            (95_000, "95 s"),
            (119_000, "2 min"),
            (5_400_000, "90 min"),
            (10_800_000, "3 h"),
        ] {
            assert_eq!(length(milliseconds * 1_000_000), expected);
        }
    }

    /// Given a warning of a tool that does something, it says what repeats of deeds may have done; of one that asks a person, that
    /// nobody answers.
    #[test]
    fn deeds_are_no_questions() {
        let kept = |rule, tool: &str| Kept {
            tool: Some(tool.into()),
            ..of_rule(rule)
        };
        for tool in ["pay_invoice", "remove_from_cart", "sendEmail"] {
            let kept = kept(Rule::RepeatedToolCallExactInput, tool);
            assert_eq!(why_it_matters(&kept, Some(false)), DEEDS_MATTER);
            let advice = what_to_try(&kept, Some(false));
            assert!(advice.contains("more than once"), "{advice}");
            let advice = what_to_try(&kept, Some(true));
            assert!(!advice.contains("more than once"), "{advice}");
        }
        for tool in ["get_invoice", "bash"] {
            let kept = kept(Rule::RepeatedToolCallExactInput, tool);
            assert_ne!(why_it_matters(&kept, Some(false)), DEEDS_MATTER);
        }
        for (tool, asks) in [
            ("ask_user", true),
            ("human_input", true),
            ("list_users", false),
        ] {
            let why = why_it_matters(&kept(Rule::EmptyResultLoop, tool), None);
            assert_eq!(why.contains("does not answer"), asks, "{tool}: {why}");
        }
    }

    /// Given names that would end their quotes, begin a line or turn the text round, they stay within.
    #[test]
    fn names_stay_in_their_quotes() {
        let check = |name: &str, expected: &str| assert_eq!(quoted(Some(name), "a tool"), expected);
        check("read_file", "`read_file`");
        check("x` is well. `y", "`x' is well. 'y`");
        check(
            "a\n\u{2028}\u{202e}b\u{1b}[2J",
            r"`a\n\u{2028}\u{202e}b\x1b[2J`",
        );
        check("", "a tool");
    }
}
