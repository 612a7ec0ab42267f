//! What the fold remembers of single calls, queries and messages when their reports have gone: enough for the rules, and
//! nothing else. The lists of them in [`Fold`](super::Fold) are short, the newest last.

use serde::{Deserialize, Serialize};

use crate::engine::event::{SpanId, Text};
use crate::engine::hash::mix;

use super::eight_bytes;
use super::outcome::Outcome;
use super::question::numbers::turns_pages;
use super::question::{Relation, relation, tries_the_same};
use super::trend::Trend;

/// A call among the newest ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct CallMark {
    /// Hash of the tool's name.
    #[serde(with = "eight_bytes")]
    pub(crate) tool: u64,
    /// Hash of tool and arguments, where these are known: [`key`](Self::key).
    #[serde(with = "eight_bytes")]
    pub(crate) known_key: u64,
    pub(crate) has_key: bool,
    /// Sample of the arguments, empty where unknown.
    #[serde(skip)]
    pub(crate) sample: Text,
    /// Hash of the sample without its digits.
    #[serde(with = "eight_bytes")]
    pub(crate) shape: u64,
    pub(crate) input_bytes: u32,
    /// Calls with similar arguments share a group.
    #[serde(with = "eight_bytes")]
    pub(crate) group: u64,
    #[serde(with = "eight_bytes")]
    pub(crate) span: SpanId,
    #[serde(with = "eight_bytes")]
    pub(crate) start_ns: u64,
    pub(crate) round: u64,
    pub(crate) outcome: Outcome,
    /// Hash of what came back, where that is known: [`result`](Self::result).
    #[serde(with = "eight_bytes")]
    pub(crate) known_result: u64,
    pub(crate) has_result: bool,
    /// The numbers in the result; `None` where there are none, or too many.
    pub(crate) trend: Option<Box<Trend>>,
    /// Sketch of long arguments, as in [`Value`](crate::engine::event::Value).
    #[serde(with = "eight_bytes")]
    pub(crate) sketch: u64,
    pub(crate) hands_off: bool,
    /// It may have changed something: the tool writes, or what it gave is too short to be more than a word that it was done.
    pub(crate) may_act: bool,
    /// As in [`Judged`](super::judge::Judged).
    pub(crate) retells: bool,
    pub(crate) denies: bool,
    /// As in [`Waiting`](super::waiting::Waiting).
    pub(crate) gap_ns: u64,
    pub(crate) waited_ns: u64,
    /// How many instructions had been given by then.
    pub(crate) asked: u64,
}

impl CallMark {
    /// As [`RunState::bring_near`](crate::engine::run::RunState::bring_near): all of it, and what it holds.
    pub(crate) fn bring_near(&self) -> u64 {
        let sample = self.sample.as_bytes().first().copied().unwrap_or(0);
        let trend = self.trend.as_ref().map_or(0, |trend| trend.frame());
        let hashes = self.tool ^ self.known_key ^ self.group ^ self.known_result ^ self.sketch;
        hashes ^ self.waited_ns ^ u64::from(sample) ^ u64::from(trend)
    }

    /// Hash of tool and arguments; `None` where the arguments are unknown.
    pub(crate) fn key(&self) -> Option<u64> {
        self.has_key.then_some(self.known_key)
    }

    /// Hash of what came back, as in [`Judged`](super::judge::Judged).
    pub(crate) fn result(&self) -> Option<u64> {
        self.has_result.then_some(self.known_result)
    }

    /// As in [`Judged::signature`](super::judge::Judged::signature).
    pub(crate) fn signature(&self) -> Option<u64> {
        Some(mix(self.key()?, self.result()?))
    }

    /// Whether it may have changed something.
    pub(crate) fn is_deed(&self) -> bool {
        self.may_act && self.outcome != Outcome::Failed
    }

    /// Whether it did something and gave nothing at all, not even a word for it.
    pub(crate) fn is_quiet_deed(&self) -> bool {
        self.may_act && self.outcome == Outcome::Empty
    }

    /// Whether nothing but numbers was new in what it brought, and they go up and down, as those of a gauge do.
    pub(crate) fn jitters(&self) -> bool {
        self.trend.as_ref().is_some_and(|trend| trend.jitters)
    }

    /// Whether the call asked a tool for the same in other words, of which it said some, and brought nothing new.
    pub(crate) fn asks_in_vain(&self, tool: u64, sample: &str) -> bool {
        let is_reworded = || relation(&self.sample, sample) == Relation::Reworded;
        self.tool == tool
            && match self.outcome {
                Outcome::Stale | Outcome::Empty => {
                    is_reworded() || turns_pages(&self.sample, sample)
                }
                Outcome::Failed => is_reworded() && tries_the_same(&self.sample, sample),
                Outcome::Fresh | Outcome::Unknown => false,
            }
    }
}

/// A query among the newest ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueryMark {
    /// Hash of the tool's name.
    pub(crate) tool: u64,
    /// Hash of tool and arguments.
    pub(crate) key: u64,
    /// Number of the call in the run.
    pub(crate) number: u64,
    pub(crate) round: u64,
    /// Queries that are alike share a group.
    pub(crate) group: u64,
    /// The query in lower case, without punctuation.
    pub(crate) query: Text,
}
