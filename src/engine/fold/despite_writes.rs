//! Tells a failure that may pass by itself from one that stays whatever is written about it.
//!
//! A server of one's own that answers with a fault, or a roll-out that comes to no end, says what any server says that is busy. Who
//! changes something each time and sees the same again has no server to wait for.

use crate::engine::event::Manner;
use crate::engine::tool_name;

use super::outcome::Outcome;
use super::{Fold, name_of};

/// How often something must have been written in vain, until a failure is none that may pass; and words for too many requests, in
/// lower case.
const WRITTEN_IN_VAIN_MIN: u32 = 3;
const TOO_OFTEN: [&str; 6] = [
    "too many",
    "rate limit",
    "ratelimit",
    "429",
    "throttl",
    "overloaded",
];

impl Fold {
    /// Whether the same call failed in the same way three times before, each time after something was written: that does not pass
    /// by itself. Who asks too often is told so whatever is done.
    pub(super) fn fails_whatever_is_written(
        &self,
        key: Option<u64>,
        error: &str,
        result: Option<u64>,
    ) -> bool {
        let error = error.to_ascii_lowercase();
        if key.is_none() || TOO_OFTEN.iter().any(|words| error.contains(words)) {
            return false;
        }
        let (mut wrote, mut in_vain) = (false, 0);
        for mark in self.recent.iter().rev() {
            if mark.key() != key {
                let tool = name_of(&self.tools, mark.tool);
                wrote |= tool.is_some_and(|tool| tool_name::manner(tool) == Manner::Writes);
                continue;
            }
            if mark.outcome != Outcome::Failed || mark.result() != result || !wrote {
                break;
            }
            in_vain += 1;
            wrote = false;
        }
        in_vain >= WRITTEN_IN_VAIN_MIN
    }
}
