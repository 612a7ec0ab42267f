//! Files that are longer than any of ours: they are read no further than ours are long, or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Whether a file is far longer than what is there of it, as no database becomes by itself: sled would write all the rest.
#[cfg(unix)]
pub(super) fn is_hollow(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    /// What is longer is looked at, and by how much it may be longer: some file systems compress.
    const BYTES_MIN: u64 = 1 << 30;
    const TIMES_MAX: u64 = 64;
    /// Of a block, whatever the file system's are.
    const BLOCK_BYTES: u64 = 512;
    fs::metadata(path).is_ok_and(|log| {
        let there = log.blocks().saturating_mul(BLOCK_BYTES);
        log.len() > BYTES_MIN && log.len() / TIMES_MAX > there
    })
}

#[cfg(not(unix))]
pub(super) fn is_hollow(_: &Path) -> bool {
    false
}

/// What is in a file of a few bytes; nothing where it is none, and would perhaps keep its reader waiting.
pub(super) fn read_short(path: &Path) -> io::Result<Vec<u8>> {
    const BYTES_MAX: u64 = 64;
    let mut bytes = Vec::new();
    if fs::metadata(path)?.is_file() {
        File::open(path)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
