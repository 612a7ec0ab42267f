//! Reading certificates, keys and tokens from files, and saying who else can read them.

use std::fs;
use std::path::Path;

use super::Fault;

/// A file's content.
pub(super) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path)
        .map_err(|error| Fault::new(key, format!("`{}` cannot be read: {error}", path.display())))
}

/// Warns of a secret that every user of the machine can read.
#[cfg(unix)]
pub fn warn_if_public(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS_READ: u32 = 0o004;
    let is_public =
        fs::metadata(path).is_ok_and(|data| data.permissions().mode() & OTHERS_READ != 0);
    if is_public {
        tracing::warn!(
            file = %path.display(),
            "every user of this machine can read this secret; `chmod o-r` keeps them out"
        );
    }
}

/// Other systems have no such mode.
#[cfg(not(unix))]
pub fn warn_if_public(_: &Path) {}
