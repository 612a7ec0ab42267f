//! What stands for the id of a call that its provider did not give.
//!
//! Gemini's and many local models' calls have no ids, some providers have one that comes again with every answer (`call_0`,
//! `search_0`), and some count anew in each conversation. There how the conversation began and the call's place in the answer
//! that asked for it are what asking and answering have in common, however much of the history between is left out. Rounds of
//! one conversation, and conversations with one beginning, are told apart by time and by spans: the engine gives an answer to
//! the newest request before it.

use std::borrow::Cow;

use crate::engine::event::id_of_place;

use super::value;

/// By how many of its first messages a conversation is known: the system's, and what a user said after it.
pub(super) const BEGINNING: usize = 2;

/// What the id of a place begins with.
const OF_PLACE: char = '@';

/// Most digits of a number that counts calls: longer ones are drawn, or times.
const COUNTED_DIGITS_MAX: usize = 3;

/// What the calls of a conversation are known by, but for their own place in an answer.
#[derive(Clone, Copy)]
pub(super) struct CallPosition {
    conversation: u64,
}

impl CallPosition {
    /// Of a conversation whose first messages have these roles and words. What a model or a tool said stands there where the
    /// beginning was cut off, and is another next time.
    pub(super) fn of<'a>(beginning: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Self {
        let mut said = [[0; 8]; BEGINNING];
        for (said, (role, words)) in said.iter_mut().zip(beginning) {
            let is_cut = matches!(&*role, "assistant" | "model" | "ai" | "tool" | "function");
            if !is_cut {
                // Programs tell the model what time it is.
                *said = value::lasting_hash(&words).to_le_bytes();
            }
        }
        Self {
            conversation: value::id_hash(&[b"history", &said.concat()]),
        }
    }

    /// What stands for the id of one of the calls that an answer asks for.
    pub(super) fn id(self, nth: usize) -> String {
        format!("{OF_PLACE}{:x}.{nth}", self.conversation)
    }
}

/// Whether an id of a call of this tool is one that was counted, and so may be another call's as well: `call_0`, `search_0`, `0`,
/// or the tool's name itself.
pub(super) fn is_counted(id: &str, tool: &str) -> bool {
    let rest = id.trim_end_matches(|last: char| last.is_ascii_digit());
    let digits = id.len() - rest.len();
    let is_number = (1..=COUNTED_DIGITS_MAX).contains(&digits)
        && (rest.is_empty() || rest.ends_with(['_', '-', ':', '.']))
        && !rest.bytes().any(|byte| byte.is_ascii_digit());
    is_number || (!tool.is_empty() && id == tool)
}

/// The hash of the id under which messages speak of a call.
pub(super) fn call_id(id: &str) -> u64 {
    let hash = value::id_hash(&[id.as_bytes()]);
    if id.starts_with(OF_PLACE) {
        id_of_place(hash)
    } else {
        hash
    }
}

/// The identity under which what messages say of a call is told once in a trace, by span or by log record. One that only a
/// place stands for may come again: there it is that of the model's call, whose span both name, or of its time.
pub(super) fn identity(kind: &[u8], trace: &[u8; 16], model: [u8; 8], id: &str) -> u64 {
    if id.starts_with(OF_PLACE) {
        value::id_hash(&[kind, trace, &model, id.as_bytes()])
    } else {
        value::id_hash(&[kind, trace, id.as_bytes()])
    }
}
