//! Who tells of a model call, and what two tracers that watch one call tell of it alike.
//!
//! Two instrumentations of one program (of a framework, and of the client that it uses; or two makers' of the same) each have a
//! span for every call of a model. Often neither is the other's parent, and only one has the call's id. What they do share is
//! the time, the sum of the tokens and the maker of the model; or one says under which name somebody has set a model up, and the
//! other whose it is. A tracer tells of each call once, so what one tracer tells twice is two calls, however alike they are.

use serde::{Deserialize, Serialize};

use super::hash::{mix, stable};

/// A witness of a model call: a hash of the tracer in the upper half; below it 24 bits of a hash of the tokens and 7 of one of
/// the word for the model's maker, each 0 where the report does not say; and whether the word is a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness(pub u64);

const TRACER: u64 = !0 << 32;
const WORD: u64 = 0x7f;
const KNOWN: u64 = 0x80;
const MAKER: u64 = WORD | KNOWN;
const TOKENS: u64 = 0x00ff_ffff << 8;

impl Witness {
    /// Of a report by the tracer of a name, about a model of a name, and its tokens.
    #[must_use]
    pub fn of(tracer: &str, model: Option<&str>, input_tokens: u64, output_tokens: u64) -> Self {
        let tokens = match (input_tokens, output_tokens) {
            (0, 0) => 0,
            (input, output) => seen(mix(input, output), TOKENS),
        };
        let maker = model.map_or(0, maker);
        Self(stable(&[tracer.as_bytes()]) & TRACER | tokens | maker)
    }

    /// Whether both are of one tracer.
    pub(crate) fn is_same_tracer(self, other: Self) -> bool {
        (self.0 ^ other.0) & TRACER == 0
    }

    /// Whether two tracers tell the same: the tokens, and no other maker.
    pub(crate) fn bears_out(self, other: Self) -> bool {
        let [of, and] = [self.0, other.0];
        let same_tokens = of & TOKENS != 0 && of & TOKENS == and & TOKENS;
        let a_maker_is_unsaid = of & MAKER == 0 || and & MAKER == 0;
        let one_is_known = (of ^ and) & KNOWN != 0;
        let no_other_maker = a_maker_is_unsaid || one_is_known || of & MAKER == and & MAKER;
        same_tokens && no_other_maker && !self.is_same_tracer(other)
    }
}

/// The bits of a hash that a part has; never none of them.
fn seen(hash: u64, part: u64) -> u64 {
    match hash & part {
        0 => part,
        bits => bits,
    }
}

/// The words with which the names of makers' models begin.
const WORDS: [&str; 28] = [
    "chatgpt",
    "claude",
    "codestral",
    "command",
    "deepseek",
    "devstral",
    "doubao",
    "ernie",
    "gemini",
    "gemma",
    "glm",
    "gpt",
    "granite",
    "grok",
    "hunyuan",
    "jamba",
    "kimi",
    "llama",
    "magistral",
    "minimax",
    "ministral",
    "mistral",
    "mixtral",
    "nova",
    "o",
    "phi",
    "qwen",
    "titan",
];

/// The bits of a model's maker, by the last part of its name that begins with a known word: tracers write `gpt-4o`,
/// `openai/gpt-4o` and `gpt-4o-2024-08-06` of one call, or `us.anthropic.claude-sonnet-4` and `claude-sonnet-4`. Where there is
/// none, as in the name of a deployment, the first word counts.
fn maker(model: &str) -> u64 {
    let bits = |word: &str| seen(stable(&[word.as_bytes()]), WORD);
    let known = |part| WORDS.into_iter().find(|known| *known == word(part));
    match model.rsplit(['/', '.', ':']).find_map(known) {
        Some(known) => KNOWN | bits(known),
        None => match word(model.rsplit('/').next().unwrap_or_default()) {
            "" => 0,
            word => bits(word),
        },
    }
}

/// The letters with which a name begins.
fn word(name: &str) -> &str {
    let letters = name.bytes().take_while(u8::is_ascii_lowercase).count();
    &name[..letters]
}

#[cfg(test)]
mod tests {
    use super::Witness;

    fn witness(tracer: &str, model: &str, tokens: (u64, u64)) -> Witness {
        let model = Some(model).filter(|model| !model.is_empty());
        Witness::of(tracer, model, tokens.0, tokens.1)
    }

    /// Given two tracers: they bear each other out with the same tokens and no other maker's model, and not otherwise; a
    /// tracer never bears out itself.
    #[test]
    fn two_tracers_bear_each_other_out() {
        let one = witness("a", "gpt-4o", (110, 20));
        for (other, expected) in [
            (witness("b", "gpt-4o", (110, 20)), true),
            (witness("b", "openai/gpt-4o-2024-08-06", (110, 20)), true),
            (witness("b", "", (110, 20)), true),
            (witness("b", "claude-sonnet-4", (110, 20)), false),
            (witness("b", "gpt-4o", (20, 110)), false),
            (witness("b", "gpt-4o", (111, 20)), false),
            (witness("b", "gpt-4o", (0, 0)), false),
            (witness("a", "gpt-4o", (110, 20)), false),
        ] {
            assert_eq!(one.bears_out(other), expected, "{other:?}");
            assert_eq!(other.bears_out(one), expected, "{other:?}");
        }
        let unsaid = witness("a", "gpt-4o", (0, 0));
        assert!(!unsaid.bears_out(witness("b", "gpt-4o", (0, 0))));
    }

    /// Given what two tracers call a model: they may mean one where the maker is the same, with providers before it or without,
    /// or where one has the name of a deployment; never where both are known and differ, or neither is.
    #[test]
    fn makers_are_known_by_their_words() {
        let claude = "us.anthropic.claude-3-5-sonnet-20241022-v2:0";
        for (model, other, expected) in [
            (claude, "claude-3-5-sonnet-20241022-v2:0", true),
            (
                claude,
                "bedrock/converse/us-gov.anthropic.claude-3-haiku",
                true,
            ),
            (claude, "us.amazon.nova-pro-v1:0", false),
            (claude, "us.meta.llama3-1-70b-instruct-v1:0", false),
            ("openai:gpt-4.1", "gpt-4.1-2025-04-14", true),
            ("gpt-4.1", "qwen2.5", false),
            ("mistral/codestral-latest", "codestral-latest", true),
            ("deepseek-chat:free", "deepseek/deepseek-chat", true),
            ("prod-assistant", "gpt-4o-2024-08-06", true),
            ("prod-assistant", "azure/prod-assistant", true),
            ("prod-assistant", "test-assistant", false),
        ] {
            let [one, two] = [("a", model), ("b", other)]
                .map(|(tracer, model)| witness(tracer, model, (110, 20)));
            assert_eq!(one.bears_out(two), expected, "{model} {other}");
            assert_eq!(two.bears_out(one), expected, "{other} {model}");
        }
    }
}
