//! The laws of the engine, over generated runs: what must hold whatever happens.
//!
//! A run is generated from a small alphabet of tools, arguments, results, agents and failures, so that loops are common. Each
//! law compares states reached in different ways, or watches the changes that steps announce.

mod arrival;
mod bounds;
mod endings;
mod guard;
mod pages;
mod support;
mod warnings;
