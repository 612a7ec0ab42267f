//! Files that the configuration names, read while a daemon runs: certificates, keys and tokens.
//!
//! They may lie on a disk that hangs. So each is read beside, and whoever waits for one says so; a pipe, which might keep its
//! reader waiting for ever, is not opened.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

/// Work with files that takes longer is told of: nothing else says why a change does not apply.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a file holds.
///
/// # Errors
/// It cannot be read, or is no regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// Works with files on a thread that may wait for a disk, and says in the log where it does: `what` does not answer.
///
/// # Errors
/// The work panicked.
pub(crate) async fn beside<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let mut working = spawn_blocking(work);
    if let Ok(done) = timeout(PATIENCE, &mut working).await {
        return done;
    }
    tracing::warn!(
        what,
        "a file does not answer, and is waited for: look at the disk that it lies on"
    );
    working.await
}
