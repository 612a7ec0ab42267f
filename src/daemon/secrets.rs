//! Who else can read the secrets that the configuration names.

use std::path::Path;

/// Warns of a secret that every user of the machine can read.
#[cfg(unix)]
pub(super) fn warn_if_public(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS_READ: u32 = 0o004;
    let data = std::fs::metadata(path);
    if data.is_ok_and(|data| data.permissions().mode() & OTHERS_READ != 0) {
        tracing::warn!(
            file = %path.display(),
            "every user of this machine can read this secret; `chmod o-r` keeps them out"
        );
    }
}

/// Other systems have no such mode.
#[cfg(not(unix))]
pub(super) fn warn_if_public(_: &Path) {}
