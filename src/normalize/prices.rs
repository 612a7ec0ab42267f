//! What a model call costs where nobody says so: its tokens at list prices.
//!
//! A table of prices by pattern comes from `config/prices.yaml`, built in, or from a file of the user's that takes its
//! place. A model that no pattern fits has no cost rather than none: it is counted and named, so that a run is never
//! cheap by silence.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::engine::event::ModelCall;
use crate::engine::policy::tools::fits;

/// The table that is built in.
static BUILT_IN: LazyLock<Arc<Prices>> = LazyLock::new(|| {
    let table = serde_saphyr::from_str(include_str!("../../config/prices.yaml"));
    Arc::new(Prices::new(table.expect("a test reads the built-in table")))
});

/// Prices of models, in US dollars per million tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Longest pattern first, so that the first that fits wins.
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    pattern: String,
    /// The [`signs`] that a name must have to fit.
    signs: u64,
    price: Price,
}

/// What a model's tokens cost, in US dollars per million.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that are read.
    pub input: f64,
    /// Tokens read from the provider's cache; without it they cost what other input costs.
    pub cached: Option<f64>,
    /// Tokens that are written.
    pub output: f64,
}

impl Prices {
    /// The prices that are built in.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// Of prices by model pattern.
    #[must_use]
    pub fn new(table: BTreeMap<String, Price>) -> Self {
        let mut rows: Vec<_> = table
            .into_iter()
            .map(|(pattern, price)| Row {
                signs: signs(pattern.replace('*', "").as_bytes()),
                pattern,
                price,
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.pattern.len()));
        Self { rows }
    }

    /// What a call costs in millionths of a dollar; `None` for a model without a price.
    pub(super) fn cost_microusd(&self, call: &ModelCall) -> Option<u64> {
        let price = self.of(call.model.as_deref()?)?;
        let cached = call.cached_tokens.min(call.input_tokens);
        // Dollars per million tokens are millionths of a dollar per token.
        let cost = (call.input_tokens - cached) as f64 * price.input
            + cached as f64 * price.cached.unwrap_or(price.input)
            + call.output_tokens as f64 * price.output;
        Some(cost.round() as u64)
    }

    fn of(&self, model: &str) -> Option<Price> {
        let model = model.rsplit('/').next().unwrap_or(model);
        // `ft:` stands before models that were tuned, which cost more.
        let behind_provider = || {
            let (provider, name) = model.split_once(':')?;
            (provider != "ft").then_some(name)
        };
        // OpenRouter writes versions with a full stop where Anthropic has a hyphen.
        let without_stops = || model.contains("claude").then(|| model.replace('.', "-"));
        self.named(model)
            .or_else(|| self.named(behind_provider()?))
            .or_else(|| self.named(&without_stops()?))
    }

    fn named(&self, model: &str) -> Option<Price> {
        let signs = signs(model.as_bytes());
        let mut rows = self.rows.iter();
        let fits = |row: &&Row| row.signs & !signs == 0 && fits(&row.pattern, model);
        rows.find(fits).map(|row| row.price)
    }
}

/// The signs that occur in a name, a bit each, whatever their case. Signs may share a bit: it tells only what cannot fit, which
/// spares most patterns the comparison.
fn signs(name: &[u8]) -> u64 {
    let bits = name
        .iter()
        .map(|sign| 1 << (sign.to_ascii_lowercase() & 63));
    bits.fold(0, |all, bit: u64| all | bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(yaml: &str) -> Prices {
        Prices::new(serde_saphyr::from_str(yaml).expect("a table"))
    }

    fn call(model: &str, input: u64, cached: u64, output: u64) -> ModelCall {
        ModelCall {
            model: Some(model.into()),
            input_tokens: input,
            cached_tokens: cached,
            output_tokens: output,
            ..ModelCall::default()
        }
    }

    /// Given a model in the spellings of providers and gateways, its price is found; given one that only looks alike,
    /// there is none.
    #[test]
    fn models_are_found_by_pattern() {
        let prices = Prices::built_in();
        for (model, dollars) in [
            ("gpt-4o", 2.50),
            ("gpt-4o-2024-05-13", 5.00),
            ("gpt-4o-2024-11-20", 2.50),
            ("openai/gpt-4o-mini", 0.15),
            ("GPT-5", 1.25),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", 3.00),
            ("claude-opus-4-1-20250805", 15.00),
            ("claude-opus-4-5", 5.00),
            ("anthropic/claude-3-5-haiku-latest", 0.80),
            ("models/gemini-2.5-pro", 1.25),
            ("us.anthropic.claude-opus-5-v1:0", 5.00),
            ("claude-opus-5-5", 4.00),
            ("claude-sonnet-5@20260601", 2.00),
            ("gpt-5.2-codex", 1.75),
            ("gpt-5.4-mini-2026-03-17", 0.75),
            ("openrouter/anthropic/claude-sonnet-4.5", 3.00),
            ("anthropic/claude-sonnet-4", 3.00),
            ("claude-3.7-sonnet", 3.00),
            ("claude-3.5-sonnet:beta", 3.00),
            ("openai:gpt-4o", 2.50),
            ("anthropic:claude-opus-4.1", 15.00),
            ("google-gla:gemini-2.5-flash", 0.30),
        ] {
            let cost = prices.cost_microusd(&call(model, 1_000_000, 0, 0));
            assert_eq!(cost, Some((dollars * 1e6) as u64), "{model}");
        }
        for model in [
            "gpt-4o-audio-preview",
            "o3-deep-research",
            "gpt-50",
            "ft:gpt-4o-mini-2024-07-18:org::id",
            "claude-sonnet-4.9",
            "deepseek-r1:free",
            "demo",
            "",
        ] {
            assert_eq!(prices.cost_microusd(&call(model, 1, 0, 0)), None, "{model}");
        }
    }

    /// Cached tokens are part of those read and have a price of their own.
    #[test]
    fn cached_tokens_are_cheaper() {
        let prices = Prices::built_in();
        let cost = prices.cost_microusd(&call("gpt-4o", 1_000, 400, 100));
        assert_eq!(cost, Some(600 * 5 / 2 + 400 * 5 / 4 + 100 * 10));
        let prices = table("m: {input: 2, output: 0}");
        assert_eq!(prices.cost_microusd(&call("m", 10, 5, 9)), Some(20));
    }

    /// The longest pattern wins, whatever the order.
    #[test]
    fn the_longest_pattern_wins() {
        let text = "'*': {input: 1, output: 1}\nmy-*: {input: 3, output: 1}\n";
        let prices = table(text);
        assert_eq!(prices.cost_microusd(&call("my-model", 1, 0, 0)), Some(3));
        assert_eq!(prices.cost_microusd(&call("other", 1, 0, 0)), Some(1));
    }
}
