//! The part that thinks: `step(state, input, policy) → changes`, and nothing else.
//!
//! Events come in ([`event`]); a run's state folds them in the order in which they happened ([`run`]); rules look at each
//! and report findings; findings become warnings ([`warning`]); the difference between what is kept and what has been
//! announced is what a step answers. There is no clock, task, socket, disk, protobuf or randomness here: the same inputs
//! give the same state and the same changes, always.

pub mod event;
pub mod policy;
pub mod run;
pub mod warning;

pub use run::{Input, RunView};
pub use warning::{Change, Warning};

use event::Text;
use policy::Policy;

/// The state of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {}

impl RunState {
    /// The state of a run of which nothing is known yet. The id goes into the ids of its warnings.
    #[must_use]
    pub fn new(run_id: Text) -> Self {
        let _ = run_id;
        Self {}
    }

    /// The run as it is shown.
    #[must_use]
    pub fn view(&self, policy: &Policy) -> RunView {
        let _ = policy;
        unreachable!("placeholder")
    }
}

/// Advances a run by one input, and says what that changed.
pub fn step(state: &mut RunState, input: &Input, policy: &Policy) -> Vec<Change> {
    let _ = (state, input, policy);
    Vec::new()
}
