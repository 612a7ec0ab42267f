//! The command line.

pub mod render;
pub mod text;
