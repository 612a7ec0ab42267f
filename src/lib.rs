//! Eddy finds LLM agents that are stuck in loops.

pub mod engine;
pub mod normalize;
pub mod otlp;
pub mod receiver;
