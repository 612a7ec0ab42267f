//! Eddy finds LLM agents that are stuck in loops.

pub mod api;
pub mod cli;
pub mod config;
pub mod engine;
pub mod export;
pub mod json;
pub mod normalize;
pub mod otlp;
pub mod shard;
pub mod store;
