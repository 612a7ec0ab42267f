//! Eddy finds LLM agents that are stuck in loops.

pub mod config;
pub mod engine;
pub mod json;
pub mod normalize;
pub mod otlp;
pub mod store;
