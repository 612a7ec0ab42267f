//! The part that thinks: `step(state, input, policy) → changes`, and nothing else.
//!
//! Events come in ([`event`]); a run ([`run`]) keeps its newest reports in the order in which things happened and makes one
//! call of all that tell of it (`window`); each call is taken in (`apply`): judged against what is remembered (`fold`), looked at
//! by the `rules`, whose findings become warnings ([`warning`]), and remembered; the difference between what is kept and what has
//! been announced is what a step answers. There is no clock, task, socket, disk, protobuf or randomness here: the
//! same inputs give the same state and the same changes, always.

mod apply;
pub(crate) mod bounded;
pub mod event;
pub mod explain;
pub(crate) mod file_name;
pub(crate) mod fold;
pub mod guard;
mod hash;
pub(crate) mod health;
pub(crate) mod ids;
pub mod policy;
mod rules;
pub mod run;
pub mod similarity;
pub(crate) mod tool_name;
pub mod view;
pub mod warning;
pub(crate) mod window;
pub mod witness;
pub mod worker;

pub use run::{Input, RunState, Service, step};
pub use view::RunView;
pub use warning::{Change, Warning};
