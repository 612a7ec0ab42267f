//! What a call brought, in a word.

use serde::{Deserialize, Serialize};

use crate::engine::event::Value;
use crate::engine::hash::mix;
use crate::engine::window::calls::Call;

use super::Fold;
use super::marks::CallMark;

/// Longest result that may say no more than that a call was done.
pub(crate) const ACKNOWLEDGEMENT_BYTES_MAX: u32 = 64;

/// What a call brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// Something new.
    Fresh,
    /// A result that this tool gave before.
    Stale,
    /// Nothing.
    Empty,
    /// An error.
    Failed,
    /// The telemetry does not say.
    Unknown,
}

impl Fold {
    /// What a call brought, as far as is known of results.
    pub(super) fn outcome(&self, call: &Call<'_>, tool: u64, key: Option<u64>) -> Outcome {
        if call.error.is_some() {
            return Outcome::Failed;
        }
        let done = |mark: &CallMark| mark.outcome != Outcome::Failed;
        let written = || {
            call.manner.writes()
                && key.is_some()
                && !self.recent.of_key(key).any(done)
                && self.pressed_before(call, tool).is_none()
        };
        match call.output.value() {
            Some(value) if value.empty => Outcome::Empty,
            Some(value)
                if self.shows_the_same(tool, call, value)
                    && (written() || !self.answers_anew(key, value)) =>
            {
                Outcome::Stale
            }
            // What is written changes something, whatever is answered.
            _ if written() => Outcome::Fresh,
            Some(value)
                if self.is_known(mix(tool, value.masked)) && !self.answers_anew(key, value) =>
            {
                Outcome::Stale
            }
            Some(_) => Outcome::Fresh,
            None => Outcome::Unknown,
        }
    }

    /// Whether the same question was asked lately and had other answers: that this one is known from another question of the
    /// tool's, as `running` is of an earlier job, does not make it old.
    fn answers_anew(&self, key: Option<u64>, answer: &Value) -> bool {
        let mut before = self.recent.of_key(key).peekable();
        let is_other =
            |mark: &CallMark| mark.result().is_some_and(|result| result != answer.masked);
        before.peek().is_some() && before.all(is_other)
    }
}
