//! What a defect of the engine may do: end the run in which it shows, and nothing else.
//!
//! The engine is total, and is tested to be. Should it panic all the same, that run begins anew, and the warnings that were
//! announced of it are taken back. Otherwise the shard would end, all other runs with it, and so would the daemon: again and
//! again, since a sender who gets no answer tries again. When the journal is replayed, the same reports end the same way. What the
//! guard was asked when it met a defect is no report: the journal says of that run that it began anew, by reports of nothing.
//!
//! A run whose saved state cannot be read begins anew too. What was announced of it is known from the log of alerts alone, and
//! is taken back (`announced`). Whether that was done is seen from the log whenever such a run is read: a process may end before
//! it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracing::error;

use crate::engine::RunState;
use crate::engine::warning::Change;

#[cfg(test)]
thread_local! {
    /// The run in which a defect shows.
    pub(super) static DEFECTIVE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Does something to a run.
///
/// # Errors
/// When that panics: then the run has begun anew, and this is what is to be announced.
pub(super) fn contained<T>(
    state: &mut RunState,
    work: impl FnOnce(&mut RunState) -> T,
) -> Result<T, Vec<Change>> {
    let work = || {
        let done = work(state);
        #[cfg(test)]
        DEFECTIVE.with_borrow(|run_id| assert_ne!(&**state.id(), run_id, "a defect"));
        done
    };
    // What a panic leaves behind is given up.
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        error!(
            run = %state.id(),
            "judging a run failed, and it begins anew: this is a defect of Eddy; please report the place that was logged before"
        );
        state.begin_anew()
    })
}
