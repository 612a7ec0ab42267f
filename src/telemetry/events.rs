//! What happens to the daemon as a whole, by name: each event is one log line and one counter.
//!
//! Counters start at zero with the process and only grow. The values of their labels are bounded; a run id is never one.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tracing::{error, info, warn};

use super::Counter;

/// What a line of the log is said to be about: not this file.
const DAEMON: &str = "eddy";

/// Times that a daemon became ready in this process.
pub static READY: Counter = Counter::new();

/// Signals that asked the daemon to stop.
pub static STOP_ASKED: Counter = Counter::new();

/// Stages of leaving that were cut short by the deadline.
pub static STAGES_CUT_SHORT: Counter = Counter::new();

/// Models that telemetry names and no price is known of.
pub static MODELS_UNPRICED: Counter = Counter::new();

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

/// A model has no price, so that its calls count as costing nothing.
#[derive(Debug)]
pub struct ModelUnpriced<'a> {
    /// The model as telemetry names it.
    pub model: &'a str,
}

impl ModelUnpriced<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        MODELS_UNPRICED.add(1);
        warn!(
            target: DAEMON,
            model = self.model,
            "no price is known of this model, so its cost is missing; `normalize.prices_file` may give one"
        );
    }
}

/// Everything is up; senders are served from now on.
#[derive(Debug)]
pub struct Ready<'a> {
    /// Where OTLP over gRPC is received.
    pub otlp_grpc: SocketAddr,
    /// Where OTLP over HTTP is received, unless it is switched off.
    pub otlp_http: Option<SocketAddr>,
    /// Where the API is served.
    pub api: SocketAddr,
    /// Where state is kept.
    pub data_dir: &'a Path,
    /// The profile.
    pub profile: &'a str,
    /// From the start of the process to now.
    pub took: Duration,
}

impl Ready<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        READY.add(1);
        info!(
            target: DAEMON,
            otlp_grpc = %self.otlp_grpc,
            otlp_http = self.otlp_http.map(tracing::field::display),
            api = %self.api,
            data_dir = %self.data_dir.display(),
            profile = self.profile,
            took_ms = self.took.as_millis() as u64,
            "ready"
        );
    }
}

/// A signal asked the daemon to stop.
#[derive(Debug)]
pub struct StopAsked<'a> {
    /// The signal's name.
    pub signal: &'a str,
    /// When it will be over at the latest.
    pub deadline: Duration,
}

impl StopAsked<'_> {
    /// Writes the line and counts.
    pub fn emit(&self) {
        STOP_ASKED.add(1);
        info!(
            target: DAEMON,
            signal = self.signal,
            deadline_ms = self.deadline.as_millis() as u64,
            "stopping; a second signal ends the process at once"
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
