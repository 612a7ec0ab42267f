//! The part that thinks: `step(state, input, policy) → changes`, and nothing else.
//!
//! Events come in ([`event`]); a run's state folds them in the order in which they happened ([`run`]); rules look at each
//! and report findings; findings become warnings ([`warning`]); the difference between what is kept and what has been
//! announced is what a step answers. There is no clock, task, socket, disk, protobuf or randomness here: the same inputs
//! give the same state and the same changes, always.

pub(crate) mod announce;
mod asked;
mod calls;
pub(crate) mod card;
pub(crate) mod control;
pub mod event;
pub mod explain;
pub(crate) mod few;
pub(crate) mod fold;
mod gist;
pub mod guard;
mod hash;
mod headway;
mod health;
pub(crate) mod judge;
pub(crate) mod kept;
mod kin;
pub(crate) mod marks;
pub(crate) mod packed;
pub mod policy;
mod question;
mod rules;
pub mod run;
pub mod similarity;
pub(crate) mod speech;
pub(crate) mod tags;
pub(crate) mod tally;
mod traces;
pub(crate) mod trend;
pub mod view;
pub(crate) mod waiting;
pub mod warning;
pub(crate) mod window;
pub mod witness;
mod wording;
pub mod work;

pub use run::{Input, RunState, Service, step};
pub use view::RunView;
pub use warning::{Change, Warning};
