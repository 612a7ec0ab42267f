//! OTLP request bytes, read in place.
