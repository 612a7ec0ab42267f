//! Reading certificates, keys and tokens from files.

use std::fs;
use std::path::Path;

use super::Fault;

/// A file's content.
pub(super) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path)
        .map_err(|error| Fault::new(key, format!("`{}` cannot be read: {error}", path.display())))
}
