//! What a model call used: tokens by kind, and what it cost where the span says so.
//!
//! Tokens are read from model spans alone, since the spans of agents and steps repeat their sums. Tokens from the cache or written
//! to it are part of those that were read, and what a model thought is part of what it wrote; where a writer counts them apart,
//! they are added. That is seen from a sum of its own that is larger ([`Usage::add_apart`]), or known of the writer.

use crate::engine::event::ModelCall;
use crate::otlp::ValueView;

use super::facts::{Facts, Slot};
use super::texts::json_text;
use super::value;

/// Tokens and cost of one model call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) input_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cost_microusd: Option<u64>,
}

impl Usage {
    /// Adds what a sum has beyond tokens read and written, which are those that were counted apart: what the model thought, or
    /// tokens from the cache and to it, or both.
    pub(super) fn add_apart(&mut self, total: u64, cache_writes: u64, thought: u64) {
        let counted = self.input_tokens.saturating_add(self.output_tokens);
        let apart = total.saturating_sub(counted);
        let of_cache = self.cached_tokens.saturating_add(cache_writes);
        let thought = if apart == thought {
            apart
        } else {
            apart.saturating_sub(of_cache).min(thought)
        };
        self.output_tokens = self.output_tokens.saturating_add(thought);
        self.input_tokens = self.input_tokens.saturating_add(apart - thought);
    }
}

/// Reads usage from whichever keys carry it.
pub(super) fn of(facts: &Facts<'_>) -> Usage {
    let mut usage = Usage {
        input_tokens: input(facts),
        cached_tokens: facts.count(Slot::CachedTokens),
        output_tokens: facts.count(Slot::OutputTokens),
        cost_microusd: cost(facts),
    };
    let total = facts.count(Slot::TotalTokens);
    if (usage.input_tokens, usage.output_tokens) == (0, 0) {
        // A sum alone: most tokens of an agent are read.
        usage.input_tokens = total;
        details(facts, &mut usage);
    } else if usage.input_tokens == 0 {
        // OpenLLMetry's spans of OpenAI's responses.
        usage.input_tokens = total.saturating_sub(usage.output_tokens);
    } else {
        let thought = facts.count(Slot::ThoughtTokens);
        usage.output_tokens = usage.output_tokens.saturating_add(thought);
        let thought = facts.count(Slot::ReasoningTokens);
        usage.add_apart(total, facts.count(Slot::CacheWrites), thought);
    }
    if usage.cached_tokens > usage.input_tokens {
        usage.input_tokens = usage.input_tokens.saturating_add(usage.cached_tokens);
    }
    usage
}

/// Tokens read, with those that are counted apart by a key of their own, or by the Vercel AI SDK 5 of Anthropic's models.
fn input(facts: &Facts<'_>) -> u64 {
    let (known, apart) = (
        facts.count(Slot::InputTokens),
        facts.count(Slot::UncachedTokens),
    );
    let cached = facts.count(Slot::CachedTokens);
    if known == 0 && apart > 0 {
        let cache_writes = facts.count(Slot::CacheWrites);
        return apart.saturating_add(cached).saturating_add(cache_writes);
    }
    let provider = facts.text(Slot::Provider).unwrap_or_default();
    if provider.contains("anthropic") && !facts.has(Slot::UncachedTokens) {
        return known.saturating_add(cached);
    }
    known
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
    let total = count(&["total", "total_tokens", "totalTokens"]);
    if (usage.input_tokens, usage.output_tokens) == (0, 0) {
        usage.input_tokens = total;
    } else {
        let cache_writes = count(&[
            "input_cache_creation",
            "cache_creation_input_tokens",
            "input_cache_write",
        ]);
        let thought = count(&["output_reasoning", "output_reasoning_tokens"]);
        usage.add_apart(total, cache_writes, thought);
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
    microusd(dollars)
}

/// Dollars in millionths; `None` where they are less than nothing, no number, or more than any call costs.
pub(super) fn microusd(dollars: f64) -> Option<u64> {
    (0.0..=DOLLARS_MAX)
        .contains(&dollars)
        .then(|| (dollars * 1e6).round() as u64)
}

/// Most that one call may cost, in dollars: what is said to cost more is in another unit, or made up.
const DOLLARS_MAX: f64 = 1e6;

/// Takes counts of tokens that no call has for counts that were not told. Says whether there were any.
pub(super) fn doubt_tokens(call: &mut ModelCall) -> bool {
    let ModelCall {
        input_tokens,
        cached_tokens,
        output_tokens,
        ..
    } = call;
    let mut doubted = false;
    for tokens in [input_tokens, cached_tokens, output_tokens] {
        if *tokens > TOKENS_MAX {
            *tokens = 0;
            doubted = true;
        }
    }
    doubted
}

/// Most tokens that one call may read, or write: a hundred times what the largest models take. An agent that tells what a whole
/// session used as one call stays below, too.
const TOKENS_MAX: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::microusd;
    use crate::engine::event::Body;
    use crate::normalize::Normalizer;
    use crate::normalize::captured::Captured;

    /// Tokens read, from the cache, and written, of a model call.
    #[track_caller]
    fn check(more: &Value, expected: (u64, u64, u64)) {
        check_by(&Normalizer::new(), more, expected);
    }

    #[track_caller]
    fn check_by(normalizer: &Normalizer, more: &Value, expected: (u64, u64, u64)) {
        let mut attributes = json!({"openinference.span.kind": "LLM"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        let reports = Captured::new("somebody's tracer", "chat", &attributes).reports(normalizer);
        let Body::ModelCall(call) = &reports[0].events[0].body else {
            panic!("no model call")
        };
        let told = (call.input_tokens, call.cached_tokens, call.output_tokens);
        assert_eq!(told, expected, "{more}");
    }

    /// Given what no call costs, it is no cost.
    #[test]
    fn costs_are_believed_within_reason() {
        assert_eq!(microusd(0.25), Some(250_000));
        assert_eq!(microusd(1e6), Some(1_000_000_000_000));
        for dollars in [-0.1, 1.1e6, 1e308, f64::INFINITY, f64::NAN] {
            assert_eq!(microusd(dollars), None, "{dollars}");
        }
    }

    /// Given as many tokens as no call has, by whichever key, they count as not told, and the others stay; the call is counted.
    #[test]
    fn tokens_are_believed_within_reason() {
        let (most, absurd) = (1_000_000_000_u64, 1_000_000_000_000_000_000_u64);
        let usage = |input: u64, output: u64| json!({"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output});
        let normalizer = Normalizer::new();
        check_by(&normalizer, &usage(most, most), (most, 0, most));
        assert_eq!(normalizer.counts().tokens_left_out, 0);
        for (told, expected) in [
            (usage(most + 1, 7), (0, 0, 7)),
            (usage(7, absurd), (7, 0, 0)),
            (usage(absurd, absurd), (0, 0, 0)),
            (json!({"gen_ai.usage.total_tokens": absurd}), (0, 0, 0)),
            (json!({"gen_ai.usage.total_tokens": 1e300}), (0, 0, 0)),
        ] {
            let normalizer = Normalizer::new();
            check_by(&normalizer, &told, expected);
            assert_eq!(normalizer.counts().tokens_left_out, 1, "{told}");
        }
    }

    /// Given tokens of a kind beside the others, as a sum of all shows, they are added where they belong; of a sum that is no
    /// larger, they are part of the others.
    #[test]
    fn tokens_counted_apart_are_added() {
        let usage = |input: u64, output: u64, total: u64, more: &[(&str, u64)]| {
            let mut usage = json!({"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output,
                "gen_ai.usage.total_tokens": total});
            for (key, count) in more {
                usage[format!("gen_ai.usage.{key}")] = json!(count);
            }
            usage
        };
        let read = "cache_read_input_tokens";
        let written = "cache_write_input_tokens";
        let thought = "reasoning.output_tokens";
        for (told, expected) in [
            (
                usage(10, 100, 5110, &[(read, 0), (written, 5000)]),
                (5010, 0, 100),
            ),
            (usage(1500, 100, 2600, &[(read, 1000)]), (2500, 1000, 100)),
            (usage(1500, 100, 1600, &[(read, 1000)]), (1500, 1000, 100)),
            (
                usage(100, 10, 140, &[(read, 80), (thought, 30)]),
                (100, 80, 40),
            ),
            (
                usage(100, 40, 140, &[(read, 80), (thought, 30)]),
                (100, 80, 40),
            ),
            (
                usage(100, 10, 220, &[(read, 80), (thought, 30)]),
                (180, 80, 40),
            ),
            (usage(100, 10, 150, &[]), (140, 0, 10)),
            (usage(0, 10, 150, &[]), (140, 0, 10)),
            (usage(0, 0, 150, &[]), (150, 0, 0)),
            (usage(100, 10, 0, &[(read, 800)]), (900, 800, 10)),
            (
                usage(100, 10, 0, &[("experimental.reasoning_tokens", 30)]),
                (100, 0, 40),
            ),
        ] {
            check(&told, expected);
        }
    }

    /// Given an object of tokens by kind, as Langfuse's handlers write it: the same.
    #[test]
    fn objects_of_tokens_are_read() {
        for (details, expected) in [
            (
                json!({"input": 500, "output": 100, "total": 3000, "input_cache_read": 1500, "output_reasoning": 900}),
                (2000, 1500, 1000),
            ),
            (
                json!({"input": 100, "output": 100, "total": 2100, "input_cache_creation": 1900}),
                (2000, 0, 100),
            ),
            (
                json!({"input": 120, "output": 25, "total": 145, "input_cached_tokens": 20}),
                (120, 20, 25),
            ),
            (json!({"total": 9}), (9, 0, 0)),
        ] {
            check(
                &json!({"langfuse.observation.usage_details": details.to_string()}),
                expected,
            );
        }
    }

    /// Given writers of which it is known what they count apart, without a sum that shows it, that is added.
    #[test]
    fn habits_of_writers_are_known() {
        let judgeval = json!({"judgment.usage.non_cached_input_tokens": 1000, "judgment.usage.cache_read_input_tokens": 800,
            "judgment.usage.output_tokens": 100});
        check(&judgeval, (1800, 800, 100));
        let mut vercel = json!({"ai.model.provider": "anthropic.messages", "ai.usage.inputTokens": 1500,
            "ai.usage.cachedInputTokens": 1000, "ai.usage.outputTokens": 100, "ai.usage.totalTokens": 1600});
        check(&vercel, (2500, 1000, 100));
        vercel["ai.usage.inputTokenDetails.noCacheTokens"] = json!(500);
        check(&vercel, (1500, 1000, 100));
        vercel = json!({"ai.model.provider": "openai.responses", "ai.usage.inputTokens": 1500,
            "ai.usage.cachedInputTokens": 1000, "ai.usage.outputTokens": 100});
        check(&vercel, (1500, 1000, 100));
    }
}
