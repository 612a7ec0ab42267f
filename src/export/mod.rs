//! Where alerts go.
