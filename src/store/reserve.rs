//! Disk held back for the day on which it is full: a store cannot be opened without writing a little.
//!
//! The file has no content. It is made when there is room, at an opening or behind a snapshot, and removed when a store cannot be
//! opened without.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The file.
pub(super) const RESERVE: &str = "RESERVE";

/// What making it must leave of the disk, in bytes: whoever commits meanwhile must not be who finds the disk full. The journal
/// and the database grow by a mebibyte or two at a time.
const LEFT_BYTES: u64 = 4 << 20;

/// Gives the reserve up. Says whether there was one.
pub(super) fn spend(dir: &Path) -> bool {
    let spent = fs::remove_file(dir.join(RESERVE)).is_ok();
    if spent {
        tracing::warn!(dir = %dir.display(), "the disk refuses; the reserve is given up, in case there is no room for opening the store");
    }
    spent
}

/// Makes the reserve, if there is room for it.
pub(super) fn refill(dir: &Path, bytes: u64) {
    let path = dir.join(RESERVE);
    if bytes == 0 || fs::metadata(&path).is_ok_and(|data| data.len() == bytes) {
        return;
    }
    if let Err(error) = make(dir, bytes) {
        let _ = fs::remove_file(&path);
        tracing::warn!(dir = %dir.display(), %error, "there is no room for the reserve");
    }
}

/// Refuses what would leave less than this of a disk. One that does not say how much of it is free is taken to have room.
pub(super) fn check_room(dir: &Path, bytes: u64) -> io::Result<()> {
    match fs2::available_space(dir) {
        Ok(free) if free < bytes => Err(io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }
}

fn make(dir: &Path, bytes: u64) -> io::Result<()> {
    const PIECE: u64 = 64 << 10;
    check_room(dir, bytes.saturating_add(LEFT_BYTES))?;
    let mut file = File::create(dir.join(RESERVE))?;
    let mut left = bytes;
    while left > 0 {
        let piece = left.min(PIECE);
        file.write_all(&vec![0; piece as usize])?;
        left -= piece;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given room, the reserve takes its bytes from the disk; spent, it is gone, once.
    #[test]
    fn a_reserve_is_spent_once() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!spend(dir.path()));
        refill(dir.path(), 100_000);
        assert_eq!(
            fs::metadata(dir.path().join(RESERVE)).unwrap().len(),
            100_000
        );
        assert!(spend(dir.path()));
        assert!(!spend(dir.path()));
    }

    /// Given a disk without room for it, nothing of it is written: others would find the disk full meanwhile.
    #[cfg(unix)]
    #[test]
    fn a_reserve_fills_no_disk() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join(RESERVE)).unwrap();
        let refused = make(dir.path(), u64::MAX).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(refused.raw_os_error(), None, "the system was not asked");
    }
}
