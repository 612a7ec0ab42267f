//! The part that thinks.

pub mod event;
