//! The room as a whole, over a real store and the real engine.
