//! The order of leaving.
