//! When to look whether a run has gone quiet.
//!
//! Every run that is heard of has one place in this queue, whether its state is in memory or on disk. Hearing of it again moves
//! nothing, and costs a lookup only where the run's state has just come into memory: only when its time comes is the run looked
//! at, and put back if it was heard of in the meantime. Most work is thus done once per run and idle time, however many reports
//! it gets.

use std::collections::{BTreeSet, HashMap};

use crate::engine::event::Text;

/// Runs that may go quiet, by the time at which to look.
#[derive(Debug, Default)]
pub(super) struct IdleQueue {
    due: BTreeSet<(u64, Text)>,
    queued: HashMap<Text, u64>,
}

impl IdleQueue {
    /// Sees to it that the run is looked at, at this time (milliseconds since 1970) or at an earlier one that was set
    /// before.
    pub(super) fn add(&mut self, run_id: &Text, due_ms: u64) {
        if !self.queued.contains_key(run_id) {
            self.queued.insert(run_id.clone(), due_ms);
            self.due.insert((due_ms, run_id.clone()));
        }
    }

    /// The next run whose time has come. It leaves the queue.
    pub(super) fn take(&mut self, now_ms: u64) -> Option<Text> {
        if self.due.first()?.0 > now_ms {
            return None;
        }
        let (_, run_id) = self.due.pop_first()?;
        self.queued.remove(&run_id);
        Some(run_id)
    }

    /// Forgets a run.
    pub(super) fn remove(&mut self, run_id: &Text) {
        if let Some((run_id, due_ms)) = self.queued.remove_entry(run_id) {
            self.due.remove(&(due_ms, run_id));
        }
    }

    /// Whether some run's time has come.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        self.due
            .first()
            .is_some_and(|(due_ms, _)| *due_ms <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given two runs, one of them heard of twice: each is handed out once, at its first time, earliest first.
    #[test]
    fn each_run_is_queued_once() {
        let mut queue = IdleQueue::default();
        let (one, other): (Text, Text) = ("one".into(), "other".into());
        queue.add(&one, 20);
        queue.add(&other, 10);
        queue.add(&one, 30);
        assert_eq!(queue.take(9), None);
        assert!(!queue.is_due(9) && queue.is_due(10));
        assert_eq!(queue.take(100), Some(other));
        assert_eq!(queue.take(100), Some(one.clone()));
        assert_eq!(queue.take(100), None);
        queue.add(&one, 40);
        assert_eq!(queue.take(40), Some(one.clone()));
        queue.add(&one, 50);
        queue.remove(&one);
        assert_eq!(queue.take(50), None);
    }
}
