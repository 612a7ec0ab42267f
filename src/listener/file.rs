//! Reading certificates, keys and tokens from files, and saying who else can read them.

#[cfg(unix)]
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

use super::Fault;

/// A file's content.
pub(super) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path)
        .map_err(|error| Fault::new(key, format!("`{}` cannot be read: {error}", path.display())))
}

/// Secrets that were warned of. There are as few as files that the configuration names.
#[cfg(unix)]
static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Warns of a secret that every user of the machine can read: once, though several addresses may name it, and each reading of the
/// configuration looks again.
#[cfg(unix)]
pub fn warn_if_public(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS_READ: u32 = 0o004;
    let is_public =
        fs::metadata(path).is_ok_and(|data| data.permissions().mode() & OTHERS_READ != 0);
    // A daemon first reads its configuration when it has no log yet.
    let is_heard = tracing::enabled!(tracing::Level::WARN);
    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if is_public && is_heard && warned.insert(path.to_owned()) {
        tracing::warn!(
            file = %path.display(),
            "every user of this machine can read this secret; `chmod o-r` keeps them out"
        );
    }
}

/// Other systems have no such mode.
#[cfg(not(unix))]
pub fn warn_if_public(_: &Path) {}
