//! Why a warning was raised: the events that show it, and in which way they are the same.
//!
//! Made from the run's state when somebody asks; nothing is kept for it. Events that have left the window of reports are
//! known by their number alone. Of results only which of them are equal is told; of arguments also the redacted sample that is
//! kept of each, which whoever shows it may leave out.

use super::event::{Body, SpanId, Text};
use super::policy::Policy;
use super::run::RunState;
use super::view::warning_id;
use super::warning::{Rule, Warning};
use super::window::calls::{self, Call, Step};

/// A warning and what it stands on.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The warning.
    pub warning: Warning,
    /// The events that show it, as far as they are still in the window, oldest first.
    pub events: Vec<Shown>,
    /// Why these count as the same, in a sentence.
    pub sameness: &'static str,
    /// Length of the longest step that the warning counts, where its rule measures that; else 0.
    pub longest_ns: u64,
    /// The agent that its calls name themselves: entries of the policy fit by that alone.
    pub own_agent: Option<Text>,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The span that reported it.
    pub span: SpanId,
    /// When it began, nanoseconds since 1970.
    pub start_ns: u64,
    /// What was done: the tool's name, or in words.
    pub what: Text,
    /// Who did it, where that is known.
    pub agent: Option<Text>,
    /// Equal for equal arguments; nothing where they are not known.
    pub arguments: Option<u64>,
    /// A redacted sample of the arguments, at most [`SAMPLE_BYTES_MAX`](super::event::SAMPLE_BYTES_MAX) bytes; empty where they
    /// are not known.
    pub sample: Text,
    /// Equal for equal results or errors, volatile text masked; nothing where they are not known.
    pub result: Option<u64>,
    /// It failed.
    pub failed: bool,
}

impl RunState {
    /// Explains one of the run's warnings, by its id.
    #[must_use]
    pub fn explain(&self, warning: u64, policy: &Policy) -> Option<Explanation> {
        let tip = &*self.seen(policy);
        let mut warnings = tip.warnings.iter();
        let kept = warnings.find(|kept| warning_id(&self.id, kept) == warning)?;
        let warning = self.warning(tip, kept);
        let reports = self.window.unpack_all();
        let steps = calls::steps(&self.window, &reports);
        // Log records of one turn may all bear the same span: a warning about a tool is not about model calls.
        let is_meant =
            |step: &&Step<'_>| warning.tool.is_none() || !matches!(step, Step::Model(..));
        let shows = |shown: &Shown| warning.evidence.contains(&shown.span);
        let meant = steps.iter().filter(is_meant);
        let events = meant.filter_map(shown).filter(shows).collect();
        Some(Explanation {
            events,
            sameness: sameness(warning.rule),
            longest_ns: kept.proof.longest_ns,
            own_agent: kept.agent.clone(),
            warning,
        })
    }
}

fn shown(step: &Step<'_>) -> Option<Shown> {
    match step {
        Step::Tool(call) => Some(of_call(call, call.tool?.clone())),
        Step::Model(call, _) => Some(of_call(call, "model call".into())),
        Step::Other(_, event) => {
            let what = match &event.body {
                Body::AgentSpan(agent) => format!("work of {}", agent.name),
                Body::Handoff(handoff) => format!("hand-off to {}", handoff.to),
                Body::Retry { .. } => "retry".to_owned(),
                _ => return None,
            };
            Some(Shown {
                span: event.span,
                start_ns: event.start_ns,
                what: what.into(),
                agent: event.agent.clone(),
                arguments: None,
                sample: Text::default(),
                result: None,
                failed: false,
            })
        }
    }
}

fn of_call(call: &Call<'_>, what: Text) -> Shown {
    let input = call.input.value();
    Shown {
        span: call.span,
        start_ns: call.start_ns,
        what,
        agent: call.agent.cloned(),
        arguments: input.map(|value| value.fingerprint),
        sample: input.map_or_else(Text::default, |value| value.sample.clone()),
        result: call.result(),
        failed: call.error.is_some(),
    }
}

/// In which way the events of a rule are the same.
fn sameness(rule: Rule) -> &'static str {
    match rule {
        Rule::RepeatedToolCallExactInput | Rule::DuplicateCall => {
            "The tool and its arguments are equal: as JSON, whatever the order of keys. Where progress is known, so are the results, once times, ids and durations are masked."
        }
        Rule::RepeatedToolCallSimilarInput => {
            "The tool is one, and the arguments share most of their text in order (indel ratio over a sample)."
        }
        Rule::SimilarQuery => {
            "The tool is one, and the queries share most of their text, without case and punctuation."
        }
        Rule::DoomLoop | Rule::GlobalDoomLoop => {
            "The tool and its main arguments (path, command, query and the like) are equal; options may differ."
        }
        Rule::RepeatedToolCall | Rule::NoProgress | Rule::ToolLimit => {
            "The tool is one, whatever its arguments; where progress is known, none of the calls brought anything new."
        }
        Rule::EmptyResultLoop => {
            "The tool is one, and each result holds nothing or says that nothing was found."
        }
        Rule::RetryStorm => {
            "Each is a call again after a failure, or a retry that the framework reports."
        }
        Rule::Stagnation => {
            "The tool is one, the arguments differ, and the results are equal once times, ids and durations are masked."
        }
        Rule::SameError => {
            "The tool is one, or several failed in a row, and the errors are equal once times, ids and durations are masked."
        }
        Rule::ToolCycle => {
            "Each call has the arguments and the result that it had the round before."
        }
        Rule::HandoffBounce => {
            "Each hand-off is the reverse of the one before, and nothing new came in between."
        }
        Rule::HandoffCycle => {
            "The same agents received control in the same order, and nothing new came in between."
        }
        Rule::GoalLoop => {
            "The instructions share nearly half of their words, or the call is equal under one instruction after the other."
        }
        Rule::RepeatedText => {
            "The texts have the same words or, where they are long, nearly the same: a cosine of 0.85, of 0.95 where several agents talk."
        }
        Rule::TestFixCycle => {
            "Each is a run of tests, and each failed; other calls in between do not count."
        }
        Rule::CommandFailureCascade => "Each is a shell command, and each failed.",
        Rule::SummaryLoop => "Each is an answer of text alone, with no tool call in between.",
        Rule::ExplorationSaturation => {
            "Each only reads and brought something new, and nothing was changed in between."
        }
        Rule::LongRunningStep => "Each took longer than the setting allows.",
        Rule::CostSpike => "Each cost more than its share of what the run had cost by then.",
        Rule::CostBudgetExceeded => "It is about the cost of the whole run.",
        Rule::UnusualRun => {
            "It is about the number of calls, or of repeats, of one agent in the whole run."
        }
    }
}
