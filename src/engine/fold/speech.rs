//! What was said in a run: instructions to agents, and turns of text alone.
//!
//! An instruction is kept as the set of its words, by hash, so that the same errand in other words is recognised; a turn of
//! text as a sketch of 58 bits. Neither is ever kept as text.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::engine::event::SpanId;
use crate::engine::few::{Few, push_bounded};
use crate::engine::hash::stable;

/// Instructions that are remembered.
pub(crate) const ASKED_MAX: usize = 12;
/// Different words of an instruction that are remembered: about as many as a sample holds.
pub(crate) const WORDS_MAX: usize = 48;
/// Turns of text alone, one after the other, that are remembered.
pub(crate) const SAID_MAX: usize = 12;
/// Texts that are remembered over the run, to tell a new one from an old one.
pub(crate) const HEARD_MAX: usize = 16;

/// What was said. In the order of memory, what each call looks at first.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Speech {
    /// Turns of text alone since the last tool call or user message, newest last.
    pub(crate) said: VecDeque<Said>,
    /// Instructions so far.
    pub(crate) instructions: u64,
    /// The newest instructions, newest last.
    pub(crate) asked: VecDeque<Asked>,
    /// How often a tool call or user message came after such turns.
    pub(crate) silences: u64,
    /// Sketches of texts over the run, as in [`Said`].
    pub(crate) heard: VecDeque<u64>,
}

/// An instruction to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// Hash of the agent's name.
    pub(crate) agent: u64,
    pub(crate) words: Words,
    pub(crate) span: SpanId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// Most words that two instructions have of their own where one is the other about another thing.
const OWN_WORDS_MAX: usize = 2;

impl Asked {
    /// Whether both say the same words but for one or two on either side.
    pub(crate) fn differs_little(&self, other: &Self) -> bool {
        let own = |left: &Words, right: &Words| {
            let own = left.0.iter().filter(|word| !right.0.contains(word));
            (1..=OWN_WORDS_MAX).contains(&own.count())
        };
        own(&self.words, &other.words) && own(&other.words, &self.words)
    }
}

/// A turn of text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Said {
    /// What [`said`](crate::engine::event::said) tells of the text, with a hash of the agent laid over it; of texts
    /// that say the same, that of the first.
    pub(crate) text: u64,
    pub(crate) end_ns: u64,
}

impl Speech {
    /// A tool call or a user message ends a stretch of text.
    pub(crate) fn hush(&mut self) {
        if !self.said.is_empty() {
            self.said.clear();
            self.silences += 1;
        }
    }

    /// Whether an instruction names something that no instruction to the agent named before.
    pub(crate) fn asks_about_another(&self, asked: &Asked) -> bool {
        let earlier = || self.asked.iter().filter(|other| other.agent == asked.agent);
        let named = |word: &u32| earlier().any(|other| other.words.0.contains(word));
        !asked.words.0.iter().all(named)
    }

    /// Remembers a turn of text; says whether its very words were not heard before in this run.
    pub(crate) fn say(&mut self, said: Said, words: u64) -> bool {
        let new = !self.heard.contains(&words);
        if new {
            push_bounded(&mut self.heard, words, HEARD_MAX);
        }
        push_bounded(&mut self.said, said, SAID_MAX);
        new
    }
}

/// Whether a sign is of a script that has no blanks between words, where each sign is taken for a word, as in the sketches of
/// long texts: one of at least three bytes.
pub(crate) fn is_word_alone(letter: char) -> bool {
    letter.len_utf8() >= 3
}

/// The set of a text's words, lower case, by hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Words(pub(crate) Few<u32, WORDS_MAX>);

impl Words {
    /// The words of a text that are at least so many bytes long, each once, at most [`WORDS_MAX`].
    pub(crate) fn of(text: &str, bytes_min: usize) -> Self {
        let mut words = Few::default();
        let pieces = text.split(|letter: char| !letter.is_alphanumeric());
        for word in pieces.flat_map(|piece| piece.split_inclusive(is_word_alone)) {
            if word.is_empty() || word.len() < bytes_min {
                continue;
            }
            let hash = stable(&[word.to_lowercase().as_bytes()]) as u32;
            if words.len() < WORDS_MAX && !words.contains(&hash) {
                words.push(hash);
            }
        }
        Self(words)
    }

    /// The share of the words of both that both have (Jaccard), 0 to 1.
    pub(crate) fn likeness(&self, other: &Self) -> f64 {
        let common = self.0.iter().filter(|word| other.0.contains(word)).count();
        let all = self.0.len() + other.0.len() - common;
        if all == 0 {
            return 0.0;
        }
        common as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    /// Given a text in a script without blanks, each of its signs is a word.
    #[test]
    fn signs_are_words_where_there_are_no_blanks() {
        let words = |text| Words::of(text, 3);
        assert_eq!(words("find 河流的漩涡, the eddy").0.len(), 3 + 5);
        let one = words("请在文件中找到河流的漩涡");
        assert!(one.likeness(&words("请在档案中找到河流的漩涡")) > 0.7);
        assert!(one.likeness(&words("今天北京的天气怎么样")) < 0.2);
    }
}
