//! Each profile against the page that it follows: every row and example of the page as events in and warnings out.
//!
//! What a page does *before* a call (skip it, answer it, abort, nudge) is a verdict of the guard and not shown here; each
//! file lists those cases at its top.

// A test that cannot read its own events has failed; there is nothing more to say.
#![allow(clippy::unwrap_used)]

mod agent_runtime;
mod agentium;
mod attocode;
mod automatos;
mod looplens;
mod naive;
mod rescan;
mod support;
