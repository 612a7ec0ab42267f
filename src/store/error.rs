//! What can go wrong with the store, told apart by what the caller can do about it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why the store could not be opened, read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another process has the directory open: stop it, or choose another directory.
    #[error(
        "the data directory {} is held by another process ({holder}); stop it or choose another directory",
        dir.display()
    )]
    Held {
        /// The data directory.
        dir: PathBuf,
        /// What the holder wrote about itself, usually `pid 4711`.
        holder: String,
    },
    /// The directory holds something that is not ours: choose another one. Nothing in it was changed.
    #[error(
        "the directory {} holds `{found}`, which is not a store of eddy; choose an empty or a new directory",
        dir.display()
    )]
    Foreign {
        /// The data directory.
        dir: PathBuf,
        /// One name that was found in it.
        found: String,
    },
    /// A copy was begun here and not finished: make it again, or choose another directory.
    #[error(
        "the directory {} holds a copy that was not finished; run `eddy backup` or `eddy restore` again as before, or choose another directory",
        dir.display()
    )]
    Unfinished {
        /// The directory.
        dir: PathBuf,
    },
    /// Another release wrote the store: use that release, or another directory. Nothing in it was changed.
    #[error(
        "the store in {} has format {found}, and this release reads format {known}; use the release that wrote it, or an empty or a new directory",
        dir.display()
    )]
    OtherFormat {
        /// The data directory.
        dir: PathBuf,
        /// The format found.
        found: u32,
        /// The format that this release reads.
        known: u32,
    },
    /// The store cannot be read as it lies there. The next opening sets its database aside and makes another one.
    #[error(
        "the store in {} is damaged ({reason}); it is mended when it is opened anew",
        dir.display()
    )]
    Damaged {
        /// The data directory.
        dir: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// The operating system refused: rights, space, a missing disk.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// The refusal.
        source: Arc<io::Error>,
    },
    /// A link leads nowhere: mount the disk that it leads to.
    #[error(
        "{} is a link to {}, which is not there; is its disk mounted?",
        path.display(),
        to.display()
    )]
    LeadsNowhere {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// One record is there and cannot be understood. The others are not affected.
    #[error("cannot read the {what} stored under {key}: {reason}")]
    Unreadable {
        /// Which kind of record.
        what: &'static str,
        /// Its key, printable.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A write failed, now or earlier, so that nobody knows what is on disk: the store takes no more writes until it
    /// has been opened anew.
    #[error("the store no longer takes writes, since one has failed: {reason}")]
    Failed {
        /// The first failure.
        reason: Arc<str>,
        /// Whether it was the disk that refused; see [`StoreError::is_disk_trouble`].
        is_disk_trouble: bool,
        /// Whether it was for want of room.
        is_full: bool,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// An `Io` error about a path.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source: Arc::new(source),
        }
    }

    /// Of a directory that cannot be made. Of a file, and of a link that leads nowhere, the system only says that there is
    /// something.
    pub(super) fn no_directory(dir: &Path, error: io::Error) -> Self {
        if let Err(nowhere) = leads_somewhere(dir) {
            return nowhere;
        }
        let error = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::new(error.kind(), "it is there, and is no directory")
            }
            _ => error,
        };
        Self::io("cannot make the directory", dir, error)
    }

    /// Whether the disk is full, broken or read-only for now: what was to be done may be done later, without anybody changing
    /// settings.
    #[must_use]
    pub fn is_disk_trouble(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_disk_trouble(source),
            Self::LeadsNowhere { .. } => true,
            Self::Failed {
                is_disk_trouble, ..
            } => *is_disk_trouble,
            _ => false,
        }
    }

    /// Whether there is no room on the disk.
    pub(super) fn is_full(&self) -> bool {
        let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        match self {
            Self::Io { source, .. } => kinds.contains(&source.kind()),
            Self::Failed { is_full, .. } => *is_full,
            _ => false,
        }
    }

    /// What sled refused, in our words.
    pub(crate) fn of_sled(error: sled::Error, action: &'static str, dir: &Path) -> Self {
        let reason = format!("{action}: {error}");
        let refusal = match error {
            sled::Error::Io(source) => refusal(source),
            _ => None,
        };
        match refusal {
            Some(source) => Self::io(action, dir, source),
            None => Self::Damaged {
                dir: dir.to_owned(),
                reason,
            },
        }
    }
}

/// Refuses a link to what is not there, or to itself.
pub(super) fn leads_somewhere(path: &Path) -> Result<(), StoreError> {
    match (fs::read_link(path), fs::metadata(path)) {
        (Ok(to), Err(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
            Err(StoreError::LeadsNowhere {
                path: path.to_owned(),
                to,
            })
        }
        _ => Ok(()),
    }
}

/// What the system refused, which has a number; what sled makes of bytes that it cannot read has none. Of a refusal that met a
/// thread of its own sled hands out copies: there only the text has the number.
pub(super) fn refusal(error: io::Error) -> Option<io::Error> {
    if error.raw_os_error().is_some() || is_held(&error) {
        return Some(error);
    }
    let text = error.to_string();
    let (_, number) = text.split_once("Os { code: ")?;
    let (number, _) = number.split_once(',')?;
    number.parse().ok().map(io::Error::from_raw_os_error)
}

fn is_disk_trouble(error: &io::Error) -> bool {
    /// "Input/output error", on every Unix.
    const EIO: i32 = 5;
    let kinds = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::FileTooLarge,
    ];
    kinds.contains(&error.kind()) || cfg!(unix) && error.raw_os_error() == Some(EIO)
}

/// Whether sled could not get at its file because somebody else in this process still has it.
pub(super) fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given an error of the disk, it is told from damage, however often sled has copied it; what sled says of bytes is damage.
    #[test]
    fn a_refusal_is_no_damage() {
        let mut error = sled::Error::Io(io::Error::from_raw_os_error(5));
        for _ in 0..3 {
            let told = StoreError::of_sled(error.clone(), "writing", Path::new("data"));
            assert!(told.is_disk_trouble(), "{told}");
            error = error.clone();
        }
        let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "failed to fill whole buffer");
        let told = StoreError::of_sled(sled::Error::Io(cut), "reading", Path::new("data"));
        assert!(matches!(told, StoreError::Damaged { .. }), "{told}");
    }
}
