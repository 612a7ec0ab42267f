//! What happens to the daemon as a whole, by name: each event is one log line and one counter.
//!
//! Counters start at zero with the process and only grow. The values of their labels are bounded; a run id is never one.

use std::time::Duration;

use tracing::{error, info, warn};

use super::{Counter, DAEMON};

/// Stages of leaving that were cut short by the deadline.
pub static STAGES_CUT_SHORT: Counter = Counter::new();

/// Times that a changed configuration was taken.
pub static CONFIG_TAKEN: Counter = Counter::new();

/// Times that a changed configuration had mistakes and was not taken.
pub static CONFIG_REFUSED: Counter = Counter::new();

/// Panics, those of libraries that are dealt with among them.
pub static PANICS: Counter = Counter::new();

/// Some code panicked.
#[derive(Debug)]
pub struct Panicked<'a> {
    /// File, line and column.
    pub place: &'a str,
    /// The functions that led there, innermost first.
    pub way: &'a str,
}

impl Panicked<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        PANICS.add(1);
        let (place, way) = (self.place, self.way);
        error!(
            target: DAEMON,
            place,
            way, "panicked: a defect of Eddy or of a library, please report the place"
        );
    }
}

/// A changed configuration has been taken.
#[derive(Debug)]
pub struct ConfigTaken<'a> {
    /// The profile.
    pub profile: &'a str,
    /// Keys that have changed, too, and wait for a restart; empty where there are none.
    pub waiting: &'a str,
    /// Whether what applies at once is what applied before.
    pub is_same: bool,
}

impl ConfigTaken<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        CONFIG_TAKEN.add(1);
        let profile = self.profile;
        if self.is_same && self.waiting.is_empty() {
            info!(
                target: DAEMON,
                profile,
                "the configuration was read again; nothing in it has changed"
            );
            return;
        }
        if self.waiting.is_empty() {
            info!(
                target: DAEMON,
                profile,
                "the configuration was read again and applies from now on"
            );
            return;
        }
        let waiting = self.waiting;
        warn!(
            target: DAEMON,
            profile,
            waiting,
            "the configuration was read again; `detectors`, `tools` and `guard` apply from now on, the rest waits for a restart"
        );
    }
}

/// A changed configuration has mistakes; the old one stays.
#[derive(Debug)]
pub struct ConfigRefused<'a> {
    /// The mistakes with their places.
    pub mistakes: &'a str,
}

impl ConfigRefused<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        CONFIG_REFUSED.add(1);
        error!(
            target: DAEMON,
            mistakes = self.mistakes,
            "the changed configuration cannot be used; the old one stays"
        );
    }
}

/// A stage of leaving is over.
#[derive(Debug)]
pub struct StageLeft<'a> {
    /// The stage.
    pub stage: &'a str,
    /// How long it took.
    pub took: Duration,
    /// Whether it was done; otherwise the deadline cut it short and what it held is left behind.
    pub done: bool,
}

impl StageLeft<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        let took_ms = self.took.as_millis() as u64;
        if self.done {
            info!(target: DAEMON, stage = self.stage, took_ms, "stage left");
            return;
        }
        STAGES_CUT_SHORT.add(1);
        // Nothing that was acknowledged is lost: the journal has it, and exporters go on from their cursors.
        warn!(
            target: DAEMON,
            stage = self.stage,
            took_ms, "stage cut short by the deadline"
        );
    }
}
