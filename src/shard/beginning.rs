//! How many runs a request may begin: those that are there matter more than those to come.
//!
//! Runs are counted when they are committed, so each report that waits in an inbox may be one more. Where that many may still be
//! begun and all that a request has for runs besides, which is nearly always, nobody looks which of its runs there are.

use crate::engine::event::Text;
use crate::store::hashing::FastSet;

use super::Shared;

/// The runs that a request begins, where it may not begin as many as it likes.
pub(super) struct Beginning {
    runs: FastSet<Text>,
    most: usize,
}

impl Beginning {
    /// Begins a run that is not there yet, where there is room for it or the request has begun it already; says whether.
    pub(super) fn try_begin(&mut self, run_id: &Text) -> bool {
        if self.runs.len() < self.most {
            self.runs.insert(run_id.clone());
        }
        self.runs.contains(run_id)
    }
}

impl Shared {
    /// What bounds the runs that so many reports begin; nothing if they are few enough.
    pub(super) fn beginning(&self, reports: usize, watches_swarms: bool) -> Option<Beginning> {
        let waiting = self.inboxes.iter().map(|inbox| inbox.held().reports);
        let most = (self.runs_left() as usize).saturating_sub(waiting.sum());
        // Each may be of another run, and tell another swarm.
        let runs_max = reports * (1 + usize::from(watches_swarms));
        (most < runs_max).then(|| Beginning {
            runs: FastSet::default(),
            most,
        })
    }
}
