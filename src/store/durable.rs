//! Directories that outlast a power cut. A file system owes a name to a sync of the directory that it stands in, and of
//! nothing else: what is made, renamed or removed is there for good only after that.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes a directory that is not there yet, and those above it, with durable names.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
    above.map_or(Ok(()), make_dir)?;
    fs::create_dir_all(dir)?;
    sync_dir(above.unwrap_or(Path::new(".")))
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened like files.
    if cfg!(unix) {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

/// Makes everything in a directory durable.
pub(super) fn sync_all(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_dir(dir)
}
