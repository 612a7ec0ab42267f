//! Who tells of a model call, and what two tracers that watch one call tell of it alike.
//!
//! Two instrumentations of one program (of a framework, and of the client that it uses; or two makers' of the same) each have a
//! span for every call of a model. Often neither is the other's parent, and only one has the call's id. What they do share is
//! the time, the sum of the tokens and the maker of the model. A tracer tells of each call once, so what one tracer tells twice is
//! two calls, however alike they are.

use serde::{Deserialize, Serialize};

use super::hash::{mix, stable};

/// A witness of a model call: a hash of the tracer in the upper half; below it 24 bits of a hash of the tokens and 8 of one of
/// the model's maker, each 0 where the report does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness(pub u64);

const TRACER: u64 = !0 << 32;
const MAKER: u64 = 0xff;
const TOKENS: u64 = 0x00ff_ffff << 8;

impl Witness {
    /// Of a report by the tracer of a name, about a model of a name, and its tokens.
    #[must_use]
    pub fn of(tracer: &str, model: Option<&str>, input_tokens: u64, output_tokens: u64) -> Self {
        let tokens = match (input_tokens, output_tokens) {
            (0, 0) => 0,
            (input, output) => seen(mix(input, output), TOKENS),
        };
        let maker = model.map_or(0, |model| match maker(model) {
            "" => 0,
            maker => seen(stable(&[maker.as_bytes()]), MAKER),
        });
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
        let no_other_maker = a_maker_is_unsaid || of & MAKER == and & MAKER;
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

/// The letters with which a model's name begins, behind the names of providers: tracers write `gpt-4o`, `openai/gpt-4o` and
/// `gpt-4o-2024-08-06` of one call.
fn maker(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or_default();
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
}
