//! The room of sled.

pub mod alert;
