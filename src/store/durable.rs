//! Directories that outlast a power cut. A file system owes a name to a sync of the directory that it stands in, and of
//! nothing else: what is made, renamed or removed is there for good only after that.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::path::Path;

/// Makes a directory that is not there yet, and those above it, with durable names. Others of the machine may not look into them:
/// what is kept holds parts of what agents were asked and did.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
    above.map_or(Ok(()), make_dir)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    // Somebody else may have made it meanwhile.
    builder.recursive(true).create(dir)?;
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

#[cfg(test)]
mod tests {
    /// Given a directory that is to be made with one above it, others of the machine may not look into either; one that was there
    /// stays as it was.
    #[cfg(unix)]
    #[test]
    fn others_may_not_look_in() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let (above, made) = (dir.path().join("a"), dir.path().join("a/b"));
        super::make_dir(&made).unwrap();
        let bits = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((bits(&above), bits(&made)), (0o700, 0o700));
        std::fs::set_permissions(&made, Permissions::from_mode(0o755)).unwrap();
        super::make_dir(&made).unwrap();
        assert_eq!(bits(&made), 0o755);
    }
}
