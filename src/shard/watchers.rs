//! Who waits for the next state of a run.
//!
//! A watched run has one cell that holds its newest committed view; watchers read it at their own pace and cannot slow
//! the shard. The number of watched runs is limited, and a run that nobody watches any more is let go at the next tick.

use std::collections::HashMap;

use tokio::sync::watch;

use crate::engine::RunView;
use crate::engine::event::Text;

/// Most runs that one shard keeps a view of for watchers: a few megabytes.
pub(super) const WATCHED_RUNS_MAX: usize = 1_000;

/// The watched runs of one shard.
#[derive(Default)]
pub(super) struct Watchers {
    cells: HashMap<Text, watch::Sender<Option<RunView>>>,
}

impl Watchers {
    /// Watches a run. `view` is its present state, which whoever else watches it has seen. `None` when too many are.
    pub(super) fn watch(
        &mut self,
        run_id: Text,
        view: Option<RunView>,
    ) -> Option<watch::Receiver<Option<RunView>>> {
        if let Some(cell) = self.cells.get(&run_id) {
            return Some(cell.subscribe());
        }
        if self.cells.len() >= WATCHED_RUNS_MAX {
            self.prune();
        }
        if self.cells.len() >= WATCHED_RUNS_MAX {
            return None;
        }
        let (cell, watcher) = watch::channel(view);
        self.cells.insert(run_id, cell);
        Some(watcher)
    }

    /// Whether nobody watches anything.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether somebody may be watching a run.
    pub(super) fn has(&self, run_id: &str) -> bool {
        self.cells.contains_key(run_id)
    }

    /// Shows the watchers of a run its new state.
    pub(super) fn show(&mut self, run_id: &str, view: RunView) {
        if let Some(cell) = self.cells.get(run_id) {
            cell.send_replace(Some(view));
        }
    }

    /// Tells the watchers of a run that nothing more will come.
    pub(super) fn end(&mut self, run_id: &str) {
        self.cells.remove(run_id);
    }

    /// Lets go of runs that nobody watches any more.
    pub(super) fn prune(&mut self) {
        self.cells.retain(|_, cell| cell.receiver_count() > 0);
    }
}
