//! Who acts within a run: a worker that is named on purpose, else the agent, and where nobody is named the process.
//!
//! SDKs give every process a name of its own. All agents of a program have that one, so it says who acts only where nothing else
//! does (`conventions.md` §8.7).

use super::event::Text;
use super::hash::text_hash;

/// What the name of a worker begins with that is a process.
const PROCESS: &str = "process:";

/// The name of a worker of which nothing is known but its process.
#[must_use]
pub fn of_process(instance: &str) -> Text {
    format!("{PROCESS}{instance}").into()
}

/// Who acts, by the names of the worker and the agent.
pub(crate) fn actor<T: AsRef<str>>(worker: Option<T>, agent: Option<T>) -> Option<T> {
    let is_process = worker.as_ref().is_some_and(is_process);
    if is_process {
        agent.or(worker)
    } else {
        worker.or(agent)
    }
}

/// Hash of the name of who acts; 0 where nobody is named.
#[must_use]
pub(crate) fn worker_hash<T: AsRef<str>>(worker: Option<T>, agent: Option<T>) -> u64 {
    actor(worker, agent).map_or(0, |name| text_hash(name.as_ref()))
}

/// The worker of a call of which two reports tell: a process is one only where no other name is known.
pub(crate) fn known<T: AsRef<str>>(one: Option<T>, other: Option<T>) -> Option<T> {
    if one.as_ref().is_some_and(is_process) {
        other.or(one)
    } else {
        one.or(other)
    }
}

fn is_process<T: AsRef<str>>(worker: &T) -> bool {
    worker.as_ref().starts_with(PROCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a process, it acts where no agent is named; given a worker that is named, he acts, whatever the agent.
    #[test]
    fn a_process_acts_for_nobody_who_is_named() {
        let process = of_process("i-1");
        let process = Some(&*process);
        assert_eq!(actor(process, Some("ann")), Some("ann"));
        assert_eq!(actor(process, None), process);
        assert_eq!(actor(Some("w1"), Some("ann")), Some("w1"));
        assert_eq!(actor(None, Some("ann")), Some("ann"));
        for (one, other) in [(process, Some("w1")), (Some("w1"), process)] {
            assert_eq!(known(one, other), Some("w1"));
        }
        assert_eq!(known(process, None), process);
    }
}
