//! Tells who waits for what was just started from who knocks at a door that stays shut.
//!
//! A server, a database or a machine answers some seconds or a minute after it was started, and until then refuses connections.
//! Who asks again meanwhile, and does nothing else, waits for it. The time for that is that of anything which fails.

use crate::engine::fold::judge::Judged;
use crate::engine::fold::marks::CallMark;
use crate::engine::fold::outcome::Outcome;
use crate::engine::fold::{Fold, name_of};
use crate::engine::tool_name;

/// Shortest time between two looks: who asks faster does not wait.
const PACE_NS: u64 = 2_000_000_000;

/// How many calls may lie between the start and now: a look each second or two, for as long as that may take.
const CALLS_MAX: usize = 24;

/// What is said where nobody answers yet, in lower case.
const REFUSALS: [&str; 8] = [
    "connection refused",
    "econnrefused",
    "no route to host",
    "no response",
    "could not connect",
    "couldn't connect",
    "failed to connect",
    "is starting up",
];

/// Words of a command or of a tool's name that start something which has to come up, in lower case.
const STARTS: [&str; 11] = [
    "up", "run", "start", "restart", "boot", "reboot", "serve", "launch", "create", "deploy",
    "apply",
];

impl Fold {
    /// Whether nobody answers yet what was started shortly before, and nothing was done since but to ask at some pace.
    pub(super) fn waits_for_start(&self, judged: &Judged<'_>, since_ns: u64) -> bool {
        if judged.outcome != Outcome::Failed || !is_refused(judged) {
            return false;
        }
        let newest = self.recent.iter().rev().take(CALLS_MAX);
        let mut done = newest.filter(|mark| mark.outcome != Outcome::Failed);
        // What only looks, as at a log, changes nothing.
        let done = done.find(|mark| mark.may_act || self.starts(mark));
        judged.call.start_ns.saturating_sub(since_ns) >= PACE_NS
            && self.since(since_ns).all(|mark| !mark.may_act)
            && done.is_some_and(|mark| self.starts(mark))
    }

    /// Whether a call started something, as its words or the tool's name say.
    fn starts(&self, mark: &CallMark) -> bool {
        let tool = name_of(&self.tools, mark.tool);
        tool.is_some_and(|tool| tool_name::has_one_of(tool, &STARTS)) || {
            let mut words = mark.sample.split(|sign: char| !sign.is_alphanumeric());
            words.any(|word| STARTS.iter().any(|known| word.eq_ignore_ascii_case(known)))
        }
    }
}

/// Whether a call failed because nobody answered.
pub(super) fn is_refused(judged: &Judged<'_>) -> bool {
    judged.call.error.is_some_and(|failure| {
        let said = failure.text.to_ascii_lowercase();
        REFUSALS.iter().any(|words| said.contains(words))
    })
}
