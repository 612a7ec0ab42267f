//! What was said in a run: instructions to agents, and turns of text alone.
//!
//! An instruction is kept as the set of its words, by hash, so that the same errand in other words is recognised; a turn of
//! text as a sketch of 58 bits. Neither is ever kept as text.

use std::collections::VecDeque;
use std::iter::{self, zip};
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::engine::bounded::{BoundedVec, push_bounded};
use crate::engine::event::{SpanId, Text};
use crate::engine::hash::{stable, text_hash};
use crate::engine::similarity::{say_the_same, says_much};

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
    pub(crate) asked: VecDeque<Instruction>,
    /// How often a tool call or user message came after such turns.
    pub(crate) silences: u64,
    /// Sketches of texts over the run, as in [`Said`].
    pub(crate) heard: VecDeque<u64>,
}

/// An instruction to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Instruction {
    /// Hash of the agent's name.
    pub(crate) agent: u64,
    pub(crate) words: Words,
    pub(crate) span: SpanId,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Something new came of it before the next instruction to anybody.
    pub(crate) fruitful: bool,
}

/// Instructions that were filled in alike from which on one need not name what no other named.
const FORMS_KNOWN_MIN: usize = 3;

/// Share of words, as a cosine, from which a long text is much like another one.
const ALIKE: f64 = 0.85;

/// Most words that two instructions have of their own where one is the other about another thing.
const OWN_WORDS_MAX: usize = 2;

impl Instruction {
    /// Whether both say the same words but for one or two on either side.
    pub(crate) fn differs_little(&self, other: &Self) -> bool {
        let own = |left: &Words, right: &Words| {
            let own = left.0.iter().filter(|word| !right.0.contains(word));
            (1..=OWN_WORDS_MAX).contains(&own.count())
        };
        own(&self.words, &other.words) && own(&other.words, &self.words)
    }

    /// Whether both have the same words before and behind what they ask for, and that has less than half of its words in common:
    /// a form that is filled in, where who puts a question in other words changes some here and some there.
    pub(crate) fn fills_the_same_form(&self, other: &Self) -> bool {
        let (_, filled) = self.form(other);
        filled > 0
    }

    /// The same of instructions that are not alike, for what was filled in is long.
    fn fills_a_form_with_a_text(&self, other: &Self) -> bool {
        let (form, filled) = self.form(other);
        form >= FORM_WORDS_MIN && filled >= FILLED_WORDS_MIN
    }

    /// How many words both have in the same places around what is filled in, and how many that has at least; 0 where it is not
    /// filled in. Places are counted from the beginning where there are equally many, else from both ends.
    fn form(&self, other: &Self) -> (usize, usize) {
        let (left, right) = (&self.words.0[..], &other.words.0[..]);
        let is_same = |(left, right): &(&u32, &u32)| left == right;
        let pairs = || zip(left, right);
        let before = pairs().take_while(is_same).count();
        let behind = zip(left.iter().rev(), right.iter().rev()).take_while(is_same);
        let shorter = left.len().min(right.len());
        let (form, filled, common) = if left.len() == right.len() {
            let own = || pairs().filter(|pair| !is_same(pair));
            let common = own().filter(|(word, _)| own().any(|(_, other)| *word == other));
            (
                pairs().filter(is_same).count(),
                own().count(),
                common.count(),
            )
        } else {
            let behind = behind.take(shorter - before).count();
            let left = &left[before..left.len() - behind];
            let right = &right[before..right.len() - behind];
            let common = left.iter().filter(|word| right.contains(word));
            (before + behind, left.len().min(right.len()), common.count())
        };
        (form, if common * 2 < filled { filled } else { 0 })
    }
}

/// Fewest words of a form into which a text is filled.
const FORM_WORDS_MIN: usize = 2;

/// Fewest words of a text that is filled in.
const FILLED_WORDS_MIN: usize = 8;

/// A turn of text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Said {
    /// What [`said`](crate::engine::event::said) tells of the text, with a hash of the agent laid over it; of texts
    /// that say the same, that of the first.
    pub(crate) text: u64,
    pub(crate) end_ns: u64,
    /// Hash of the agent's name; 0 where it is not known.
    pub(crate) agent: u64,
}

impl Speech {
    /// Whether all that was said lately was said by agents that are known, and none of them is this one.
    pub(crate) fn is_of_others(&self, agent: u64) -> bool {
        let is_other = |said: &Said| said.agent != 0 && said.agent != agent;
        agent != 0 && !self.said.is_empty() && self.said.iter().all(is_other)
    }

    /// A tool call or a user message ends a stretch of text.
    pub(crate) fn hush(&mut self) {
        if !self.said.is_empty() {
            self.said.clear();
            self.silences += 1;
        }
    }

    /// Whether an instruction names something that no instruction to the agent named before.
    pub(crate) fn asks_about_another(&self, asked: &Instruction) -> bool {
        let earlier = || self.asked.iter().filter(|other| other.agent == asked.agent);
        let named = |word: &u32| earlier().any(|other| other.words.0.contains(word));
        !asked.words.0.iter().all(named)
    }

    /// Whether an instruction puts another thing into the place of one that was asked for before, as far as it is like any that the
    /// agent had.
    pub(crate) fn asks_the_same_of_another(&self, asked: &Instruction, similarity: f64) -> bool {
        let mut alike = 0;
        let mut is_filled_in = true;
        for other in self.asked.iter().filter(|other| other.agent == asked.agent) {
            if asked.fills_a_form_with_a_text(other) {
                alike += 1;
            } else if other.words.likeness(&asked.words) >= similarity {
                alike += 1;
                is_filled_in &= asked.fills_the_same_form(other);
                if !is_filled_in && !other.differs_little(asked) {
                    return false;
                }
            }
        }
        alike > 0 && (self.asks_about_another(asked) || (is_filled_in && alike >= FORMS_KNOWN_MIN))
    }

    /// Whether an errand is given once more for the next piece of work: it is told as before word for word, or filled in with
    /// another thing, and something new came of at least half of those before it. One that is among them counts for itself where
    /// something came of it: else it is not known yet whether anything will.
    pub(crate) fn goes_on_with(&self, asked: &Instruction, similarity: f64) -> bool {
        let mut fruitful = 0;
        let mut all = 0;
        let is_open = |other: &Instruction| ptr::eq(other, asked) && !other.fruitful;
        for other in self.like(asked, similarity).filter(|other| !is_open(other)) {
            if other.words != asked.words && !other.fills_the_same_form(asked) {
                return false;
            }
            all += 1;
            fruitful += usize::from(other.fruitful);
        }
        fruitful > 0 && fruitful * 2 >= all
    }

    /// The instructions to the same agent that are like one, the oldest first.
    pub(crate) fn like<'s>(
        &'s self,
        asked: &Instruction,
        similarity: f64,
    ) -> impl Iterator<Item = &'s Instruction> + use<'s> {
        let (agent, words) = (asked.agent, asked.words);
        self.asked
            .iter()
            .filter(move |other| other.agent == agent && other.words.likeness(&words) >= similarity)
    }

    /// Whether an agent is among those that were told what to do lately.
    pub(crate) fn has_asked(&self, agent: Option<&Text>) -> bool {
        agent.is_none_or(|agent| {
            let agent = text_hash(agent);
            self.asked.iter().any(|asked| asked.agent == agent)
        })
    }

    /// Something new came of the newest instruction to an agent; to anybody, where it is not known who brought it.
    pub(crate) fn bears_fruit(&mut self, agent: Option<&Text>) {
        let Some(newest) = self.asked.back_mut() else {
            return;
        };
        let Some(agent) = agent else {
            newest.fruitful = true;
            return;
        };
        let agent = text_hash(agent);
        let mut newest = self.asked.iter_mut().rev();
        if let Some(asked) = newest.find(|asked| asked.agent == agent) {
            asked.fruitful = true;
        }
    }

    /// Whether a text is long enough to be a piece of work, and says another thing than what was heard in this run.
    pub(crate) fn is_a_new_piece(&self, words: u64) -> bool {
        says_much(words)
            && !self
                .heard
                .iter()
                .any(|other| say_the_same(*other, words, ALIKE))
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

/// How the words of a script are told apart.
#[derive(Clone, Copy, PartialEq)]
enum Writing {
    /// By blanks.
    Apart,
    /// Not at all, so that each sign is taken for a word: ideograms, the syllables of Korean, and katakana, in which Japanese
    /// writes nouns from elsewhere.
    Alone,
    /// By the signs of another script around them: hiragana, which mostly joins what stands around it.
    Between,
}

impl Writing {
    fn of(letter: char) -> Self {
        match letter {
            '\u{3040}'..='\u{309f}' => Self::Between,
            '\u{30a0}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Alone,
            _ => Self::Apart,
        }
    }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = (&str, Writing)> {
    let mut rest = text;
    iter::from_fn(move || {
        rest = rest.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        let first = rest.chars().next()?;
        let writing = Writing::of(first);
        let is_behind = |letter: char| !letter.is_alphanumeric() || Writing::of(letter) != writing;
        let end = match writing {
            Writing::Alone => first.len_utf8(),
            _ => rest.find(is_behind).unwrap_or(rest.len()),
        };
        let word;
        (word, rest) = rest.split_at(end);
        Some((word, writing))
    })
}

/// How many words of a text are single signs of a script without blanks.
pub(crate) fn signs_among_words(text: &str) -> usize {
    let signs = words(text).filter(|(_, writing)| *writing == Writing::Alone);
    signs.count()
}

/// Whether a word of a text is the first one of a sentence.
fn begins_sentence(text: &str, word: &str) -> bool {
    let start = word.as_ptr() as usize - text.as_ptr() as usize;
    let before = text.get(..start).unwrap_or_default();
    let before = before.trim_end_matches([' ', '"', '(', '*', '#', '-']);
    before.is_empty() || before.ends_with(['.', '!', '?', ':', '\n'])
}

/// The set of a text's words, lower case, by hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Words(pub(crate) BoundedVec<u32, WORDS_MAX>);

impl Words {
    /// The words of a text that have at least so many letters, each once, at most [`WORDS_MAX`]. A sign that is taken for a word
    /// is long enough.
    pub(crate) fn of(text: &str, letters_min: usize) -> Self {
        Self::of_which(text, letters_min, |_| false)
    }

    /// The same with shorter words that are written as names are: `SAP`, `UK`, and, but for the first word of a sentence, `Ulm`.
    pub(crate) fn and_names_of(text: &str, letters_min: usize) -> Self {
        let is_name = |word: &str| {
            let mut letters = word.chars();
            let begins = letters.next().is_some_and(char::is_uppercase);
            let mut rest = letters.peekable();
            begins
                && rest.peek().is_some()
                && (rest.all(char::is_uppercase) || !begins_sentence(text, word))
        };
        Self::of_which(text, letters_min, is_name)
    }

    fn of_which(text: &str, letters_min: usize, is_name: impl Fn(&str) -> bool) -> Self {
        let mut hashes = BoundedVec::default();
        for (word, writing) in words(text) {
            let letters = word.chars().take(letters_min).count();
            if writing != Writing::Alone && letters < letters_min && !is_name(word) {
                continue;
            }
            let hash = stable(&[word.to_lowercase().as_bytes()]) as u32;
            if hashes.len() < WORDS_MAX && !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
        Self(hashes)
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

    /// Given a text in a script without blanks, each of its signs is a word, also behind letters; where letters are no words by
    /// themselves, they are told apart as elsewhere, by how many there are and not by their bytes.
    #[test]
    fn words_of_many_scripts() {
        let words = |text| Words::of(text, 4).0.len();
        for (text, expected) in [
            ("find 河流的漩涡, the eddy", 2 + 5),
            ("用Python写", 3),
            ("データを読んで", 3 + 1),
            ("さくら", 0),
            ("회의록", 3),
            ("найди на реке водоворот", 3),
            ("für die Bücher", 1),
            ("नदी में भँवर खोजो", 2),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    /// Given names that are short, they are among the words of an errand; other short words are not.
    #[test]
    fn short_names_are_words() {
        let words = |text| Words::and_names_of(text, 4).0.len();
        for (text, expected) in [
            ("results of SAP and BMW", 1 + 2),
            ("museums in Ulm", 1 + 1),
            ("The UK. Its tax is low. I am a", 1),
            ("Go on. Use it", 0),
            ("der Weg an der Ems", 2),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    /// Given the same in other words, it is alike in any script, and another thing is not.
    #[test]
    fn likeness_in_scripts_without_blanks() {
        let words = |text| Words::of(text, 4);
        let one = words("请在文件中找到河流的漩涡");
        assert!(one.likeness(&words("请在档案中找到河流的漩涡")) > 0.7);
        assert!(one.likeness(&words("今天北京的天气怎么样")) < 0.2);
    }
}
