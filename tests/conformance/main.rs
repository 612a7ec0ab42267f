//! Each profile against the page that it follows: every row and example of the page as events in and warnings out.
//!
//! What a page does *before* a call (skip it, answer it, abort, nudge) is a verdict of the guard: it is asked over HTTP, of a
//! daemon with the profile of that page.

// A test that cannot read its own events has failed; there is nothing more to say.
#![allow(clippy::unwrap_used)]

mod agent_runtime;
mod agentium;
mod attocode;
mod automatos;
mod careful;
mod guarded;
mod looplens;
mod looplens_again;
mod mixed;
mod naive;
mod rescan;
mod support;
