//! The state of one run, and the step that is the only way to change it.
//!
//! *How order stops mattering.* A run keeps its newest reports in a window sorted by event time. What has left the
//! window is folded into `base`; `tip` is `base` with the window folded on top. A report that comes in order is appended
//! and folded into `tip` at once; one that comes out of order, or belongs to a call already there, is put into its place
//! and `tip` is folded again from `base`. Either way the work is bounded by [`WINDOW_EVENTS_MAX`], however long the run
//! is, and any order of arrival within the window gives the same state. A report older than all of the window, when
//! something has already left it, is counted as late and changes nothing.

use serde::{Deserialize, Serialize};

use super::event::{Event, Text};
use super::warning::Warning;

/// Reports that a run keeps to put late ones into their place.
pub const WINDOW_EVENTS_MAX: usize = 64;

/// What a run is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Reports of this run, as they arrived together.
    Reports {
        /// When they arrived, milliseconds since 1970. Decides idleness only.
        at_ms: u64,
        /// The session, where it is named apart from the run.
        session_id: Option<Text>,
        /// The service that sent them.
        service: Option<Text>,
        /// What happened.
        events: Vec<Event>,
    },
    /// The run has been quiet for the idle time.
    Idle {
        /// When that was found, milliseconds since 1970.
        at_ms: u64,
    },
    /// What was kept under another id turned out to belong to this run.
    Absorb(Box<super::RunState>),
}

/// How a run stands, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Score 80 to 100.
    Healthy,
    /// Score 50 to 79.
    Warning,
    /// Score 0 to 49.
    LikelyStuck,
    /// It ended in failure.
    Failed,
    /// Its telemetry shows no tool calls although models asked for them: nothing can be said.
    Blind,
}

impl Status {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::LikelyStuck => "likely_stuck",
            Self::Failed => "failed",
            Self::Blind => "blind",
        }
    }
}

/// Whether and how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// More may come.
    Open,
    /// Its root ended well, and it has been quiet since.
    Ok,
    /// Its root ended in failure.
    Failed,
    /// It has been quiet for the idle time and no root ever came, as after a crash.
    Idle,
}

impl Ended {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Idle => "idle",
        }
    }
}

/// A run as it is shown. Derived from the state at each call, never saved.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The run's id.
    pub run_id: Text,
    /// The session, where it is named apart from the run.
    pub session_id: Option<Text>,
    /// The service that reports it.
    pub service: Option<Text>,
    /// Agents seen, by name, at most 16.
    pub agents: Vec<Text>,
    /// How it stands.
    pub status: Status,
    /// 0 to 100.
    pub score: u32,
    /// The lowest that the score has been.
    pub lowest_score: u32,
    /// Tool calls that were executed, each once.
    pub tool_calls: u64,
    /// Calls that the guard kept from being executed.
    pub skipped_calls: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens of model calls, read and written.
    pub tokens: u64,
    /// Cost in millionths of a US dollar, where the telemetry tells.
    pub cost_microusd: u64,
    /// Whether and how it ended.
    pub ended: Ended,
    /// Start of the earliest event, nanoseconds since 1970; 0 before the first.
    pub first_seen_ns: u64,
    /// End of the latest event, nanoseconds since 1970.
    pub last_seen_ns: u64,
    /// When it was last heard of, milliseconds since 1970.
    pub heard_ms: u64,
    /// Warnings, open ones first, then by rule.
    pub warnings: Vec<Warning>,
    /// What the telemetry did not show, and what that means.
    pub notes: Vec<&'static str>,
    /// Reports that came too late to be put into their place.
    pub late_events: u64,
}
