//! Eddy finds LLM agents that are stuck in loops.
//!
//! Agents send what they already send: spans and log records, over OTLP. One span's way through the rooms is the map:
//!
//! ```text
//! receiver → otlp → normalize → shard → engine → (shard) → store → export, api
//! ```
//!
//! [`listener`] lets senders in, [`receiver`] takes their requests, [`otlp`] reads a request's bytes in place. [`normalize`]
//! knows the dialects of the frameworks and turns a span or log record into events of one vocabulary, [`engine::event`]. A shard
//! owns the runs that hash to it and is their only writer: it takes what waits, lets the [`engine`] step each run, and has
//! [`store`] commit the whole turn at once. Only then is the sender answered and the change announced: to the exporters of
//! [`export`], and to those who ask [`api`].
//!
//! The engine thinks and does nothing else: no clock, no task, no socket, no disk. Every other room moves bytes and decides
//! nothing. [`config`] says what counts as a loop and where everything is; [`json`] is the one shape in which runs and warnings
//! are shown, and [`render`] lays them out for a terminal; [`daemon`] puts the rooms together, and takes them apart in good
//! order; [`cli`] is the program; [`telemetry`] is its own log. What is a [`secret`], none of them shows.

pub mod api;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod engine;
pub mod export;
mod files;
pub mod guard;
mod handshake;
pub mod json;
pub mod listener;
pub mod normalize;
pub mod otlp;
pub mod receiver;
pub mod render;
pub mod secret;
pub mod shard;
#[cfg(test)]
mod simulation;
pub mod store;
pub mod telemetry;
