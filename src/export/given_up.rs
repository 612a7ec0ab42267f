//! What an exporter has given up, be it alerts, verdicts of the guard or requests to pass on, and how much of it the log has not
//! told of yet.
//!
//! Whoever gives something up adds it. The first is told of at once, and what follows a minute later at the earliest, with the
//! number of all since the line before, a line for each reason: nobody is left to find a loss in the metrics alone, and a
//! receiver that refuses everything does not fill the log. What has not been told when the exporter ends is told then.

use std::future::pending;

use tokio::time::{Instant, sleep_until};

use crate::telemetry::TELL_EVERY;

/// Reasons that are told of by themselves; what is lost for further ones is told of as [`OTHERS`].
const REASONS_MAX: usize = 4;
const OTHERS: &str = "for other reasons";

/// What is given up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Alerts,
    Verdicts,
    /// Requests to pass on, for which there was no room.
    Dropped,
    /// The same that the upstream refused, or did not take in time.
    Requests,
    /// The same that still wait when Eddy stops.
    LeftBehind,
    /// Spans, log records and data points of requests that the upstream took.
    LeftOut,
}

/// What one exporter has given up.
#[derive(Debug)]
pub(super) struct GivenUp {
    exporter: String,
    what: Item,
    /// How many were given up since the newest line, by why they were.
    untold: Vec<(String, u64)>,
    /// When the newest line was written.
    told: Option<Instant>,
}

impl GivenUp {
    pub(super) fn new(exporter: &str, what: Item) -> Self {
        Self {
            exporter: exporter.to_owned(),
            what,
            untold: Vec::new(),
            told: None,
        }
    }

    /// Adds so many that are lost to the receiver. True if they have been told of.
    pub(super) fn add(&mut self, lost: u64, mut reason: String) -> bool {
        let is_known = self.untold.iter().any(|(known, _)| *known == reason);
        if !is_known && self.untold.len() >= REASONS_MAX {
            OTHERS.clone_into(&mut reason);
        }
        match self.untold.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, untold)) => *untold += lost,
            None => self.untold.push((reason, lost)),
        }
        self.tell_if_due();
        self.untold.is_empty()
    }

    /// Comes when there is something to tell and it may be told; not at all where everything is.
    pub(super) async fn due(&self) {
        match self.told {
            Some(told) if !self.untold.is_empty() => sleep_until(told + TELL_EVERY).await,
            _ => pending().await,
        }
    }

    pub(super) fn tell_if_due(&mut self) {
        if self.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            self.tell();
        }
    }

    pub(super) fn tell(&mut self) {
        let exporter = &self.exporter;
        for (reason, lost) in std::mem::take(&mut self.untold) {
            self.told = Some(Instant::now());
            match self.what {
                Item::Alerts => tracing::error!(
                    exporter,
                    alerts = lost,
                    reason,
                    "alerts are given up and lost to their receiver: look whether it is there, and what it has against them"
                ),
                Item::Verdicts => tracing::warn!(
                    exporter,
                    verdicts = lost,
                    reason,
                    "verdicts of the guard are lost to their receiver: look whether it is there, and what it has against them"
                ),
                Item::Dropped => tracing::error!(
                    exporter,
                    dropped = lost,
                    reason,
                    "requests are not passed on, and this upstream misses them (`queue_mib` sets the size of its queue)"
                ),
                Item::Requests => tracing::error!(
                    exporter,
                    requests = lost,
                    reason,
                    "requests could not be passed on and are given up: look whether the backend is there, and what it has against them"
                ),
                Item::LeftBehind => tracing::error!(
                    exporter,
                    requests = lost,
                    reason,
                    "requests are not passed on, since Eddy stops and they wait in memory alone; the last attempt failed, and the \
                     backend does not get them"
                ),
                Item::LeftOut => tracing::error!(
                    exporter,
                    items = lost,
                    reason,
                    "the backend took requests but for some items: look what it has against them"
                ),
            }
        }
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.tell();
    }
}
