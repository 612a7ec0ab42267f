//! What a model call used: tokens by kind, and what it cost where the span says so.
//!
//! Tokens are read from model spans alone, since the spans of agents and steps repeat their sums. Tokens from the cache
//! are part of those that were read; where a provider counts them apart, they are added.

use crate::otlp::ValueView;

use super::facts::{Facts, Slot};
use super::reading::json_text;
use super::value;

/// Tokens and cost of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) input_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cost_microusd: Option<u64>,
}

/// Reads usage from whichever keys carry it.
pub(super) fn of(facts: &Facts<'_>) -> Usage {
    let mut usage = Usage {
        input_tokens: facts.count(Slot::InputTokens),
        cached_tokens: facts.count(Slot::CachedTokens),
        output_tokens: facts.count(Slot::OutputTokens),
        cost_microusd: cost(facts),
    };
    if (usage.input_tokens, usage.output_tokens) == (0, 0) {
        // A sum alone: most tokens of an agent are read.
        usage.input_tokens = facts.count(Slot::TotalTokens);
        details(facts, &mut usage);
    } else if usage.input_tokens == 0 {
        // OpenLLMetry's spans of OpenAI's responses.
        let total = facts.count(Slot::TotalTokens);
        usage.input_tokens = total.saturating_sub(usage.output_tokens);
    }
    if usage.cached_tokens > usage.input_tokens {
        usage.input_tokens = usage.input_tokens.saturating_add(usage.cached_tokens);
    }
    usage
}

/// Langfuse's and others' tokens: an object of counts by kind, to which `LangWatch` adds its type.
fn details(facts: &Facts<'_>, usage: &mut Usage) {
    let Some(details) = json_text(facts.value(Slot::UsageDetails)) else {
        return;
    };
    let details = value::member(&details, &["value"]).unwrap_or(&details);
    let count = |names: &[&str]| {
        let mut counts = names
            .iter()
            .filter_map(|name| value::member(details, &[name]));
        counts.find_map(|count| count.parse().ok()).unwrap_or(0)
    };
    usage.input_tokens = count(&["input", "prompt_tokens", "input_tokens", "promptTokens"]);
    usage.output_tokens = count(&[
        "output",
        "completion_tokens",
        "output_tokens",
        "completionTokens",
    ]);
    usage.cached_tokens = count(&[
        "input_cached_tokens",
        "cache_read_input_tokens",
        "input_cache_read",
    ]);
    if (usage.input_tokens, usage.output_tokens) == (0, 0) {
        usage.input_tokens = count(&["total", "total_tokens"]);
    }
}

/// The cost in millionths of a dollar: a number, or Langfuse's object of costs by kind.
fn cost(facts: &Facts<'_>) -> Option<u64> {
    let dollars = facts.number(Slot::Cost).or_else(|| {
        let ValueView::Str(details) = facts.value(Slot::Cost) else {
            return None;
        };
        let dollars = |name| value::member(details, &[name])?.parse::<f64>().ok();
        dollars("total").or_else(|| Some(dollars("input")? + dollars("output")?))
    })?;
    (dollars >= 0.0).then(|| (dollars * 1e6).round() as u64)
}
