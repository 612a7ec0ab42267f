//! Alerts as lines of JSON at the end of a file.
//!
//! The file is opened for each batch. Alerts are rare, and so a file that was moved away, deleted or replaced is noticed
//! without watching it. A batch counts as delivered when it is synced; what could be written of one that does not get so far is
//! taken back. The exporters of several tenants may write to one file: each has it locked for a batch.

use std::fs::{OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Delivery;
use crate::files;
use crate::json::AlertJson;
use crate::store::alert::Alert;

/// How long a batch waits for the lock of the file, which another tenant's exporter has for as long as a batch takes, and how often
/// it looks. Whoever has it for longer is another program: that is a failure, and the batch is tried again like after any other.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const LOCK_LOOK: Duration = Duration::from_millis(5);

/// A file of JSON lines.
pub(super) struct File {
    path: PathBuf,
    tenant: String,
}

impl File {
    pub(super) fn new(path: PathBuf, tenant: &str) -> Self {
        Self {
            path,
            tenant: tenant.to_owned(),
        }
    }

    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Delivery {
        let mut lines = Vec::new();
        for alert in alerts {
            let alert = AlertJson::of_tenant(&self.tenant, alert);
            if let Err(error) = serde_json::to_writer(&mut lines, &alert) {
                return Delivery::refused(format!("cannot write an alert as JSON: {error}"));
            }
            lines.push(b'\n');
        }
        let path = self.path.clone();
        let appended = files::beside("the file of alerts", move || append(&path, &lines)).await;
        match appended.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => Delivery::Taken,
            Err(error) => {
                Delivery::later(format!("cannot append to {}: {error}", self.path.display()))
            }
        }
    }
}

/// Adds whole lines, or none. What a crash may have left of a line is ended first, so that it spoils only itself.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return write(&mut open_pipe(&mut options, path)?, lines);
    }
    let mut file = options.read(true).create(true).open(path)?;
    let is_alone = lock(&file)?;
    let before = file.metadata()?.len();
    if !ends_with_line_break(&mut file)? {
        file.write_all(b"\n")?;
    }
    let written = write(&mut file, lines);
    if written.is_err() && is_alone {
        cut_back(&file, before);
    }
    written
}

/// Opens a pipe or a device, without waiting for somebody who reads it.
#[cfg(unix)]
fn open_pipe(options: &mut OpenOptions, path: &Path) -> io::Result<std::fs::File> {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;

    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            io::Error::new(error.kind(), "nobody reads this pipe")
        } else {
            error
        }
    })?;
    fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_pipe(options: &mut OpenOptions, path: &Path) -> io::Result<std::fs::File> {
    options.open(path)
}

/// Has the file alone until it is closed; false where the file system knows no locks.
fn lock(file: &std::fs::File) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_WAIT => sleep(LOCK_LOOK),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    ErrorKind::WouldBlock,
                    "another program holds a lock on it",
                ));
            }
        }
    }
}

fn write(file: &mut std::fs::File, lines: &[u8]) -> io::Result<()> {
    file.write_all(lines)?;
    match file.sync_data() {
        // A pipe or a device: there is nothing to sync.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Takes back what was written of a batch that did not become whole: all of it is written again, and a full disk would leave it
/// there in part each time. Where this fails too, the next attempt ends the torn line.
fn cut_back(file: &std::fs::File, before: u64) {
    // Who rotates logs may have made it shorter meanwhile.
    if file.metadata().is_ok_and(|now| now.len() > before) {
        let _ = file.set_len(before);
    }
}

fn ends_with_line_break(file: &mut std::fs::File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples::{alert, publish, store, wait_for};
    use crate::export::scripted::start_all;
    use crate::export::{ExporterSettings, Kind};

    // Given a warning that grows while the directory of the file is missing; when it is there, the file has every revision
    // once, in order, as the API shows them.
    #[tokio::test(start_paused = true)]
    async fn a_file_is_a_history() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(&dir.path().join("store"));
        let path = dir.path().join("logs/alerts.jsonl");
        let kind = Kind::File { path: path.clone() };
        let settings = vec![ExporterSettings::new("file", kind)];
        let exporters = start_all(&store, settings);
        publish(&store, vec![alert(1, 1), alert(1, 2), alert(2, 1)]).await;
        let failed = || exporters.status()[0].progress.last_error.is_some();
        wait_for("a failure", failed).await;
        std::fs::create_dir(dir.path().join("logs")).expect("made");
        wait_for("an empty queue", || exporters.status()[0].queue == 0).await;
        let text = std::fs::read_to_string(&path).expect("written");
        let lines: Vec<AlertJson> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("an alert"))
            .collect();
        let expected = store.alerts_after(0, 10).expect("alerts");
        assert_eq!(
            lines,
            expected.iter().map(AlertJson::from).collect::<Vec<_>>()
        );
    }

    // Given a file that another program has locked, that is said; when it lets go, the alerts come.
    #[tokio::test(start_paused = true)]
    async fn a_locked_file_is_told_and_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = store(&dir.path().join("store"));
        let path = dir.path().join("alerts.jsonl");
        let holder = std::fs::File::create(&path).expect("made");
        holder.lock().expect("locked");
        let kind = Kind::File { path: path.clone() };
        let settings = vec![ExporterSettings::new("file", kind)];
        let exporters = start_all(&store, settings);
        publish(&store, vec![alert(1, 1)]).await;
        let why = || exporters.status()[0].progress.last_error.clone();
        wait_for("a failure", || why().is_some()).await;
        assert!(why().is_some_and(|why| why.contains("holds a lock")));
        drop(holder);
        wait_for("an empty queue", || exporters.status()[0].queue == 0).await;
        let text = std::fs::read_to_string(&path).expect("written");
        assert_eq!(text.lines().count(), 1);
    }

    // Given a file whose last line was cut by a crash; the next lines are whole, and a moved file is made anew.
    #[test]
    fn lines_are_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("alerts.jsonl");
        append(&path, b"{\"cursor\":1}\n").expect("appended");
        std::fs::write(&path, b"{\"cursor\":1}\n{\"cur").expect("cut");
        append(&path, b"{\"cursor\":2}\n").expect("appended");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text, "{\"cursor\":1}\n{\"cur\n{\"cursor\":2}\n");

        std::fs::rename(&path, dir.path().join("alerts.1")).expect("moved");
        append(&path, b"{\"cursor\":3}\n").expect("appended");
        assert_eq!(
            std::fs::read_to_string(&path).expect("read"),
            "{\"cursor\":3}\n"
        );
    }

    // Given a pipe in the place of the file; where nobody reads it, that is said at once, and where somebody does, it is written
    // to.
    #[cfg(unix)]
    #[test]
    fn pipes_are_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("alerts.jsonl");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("it runs").success());
        let refused = append(&path, b"{}\n").expect_err("nobody reads");
        assert_eq!(refused.to_string(), "nobody reads this pipe");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path)
        });
        while append(&path, b"{}\n").is_err() {
            sleep(LOCK_LOOK);
        }
        assert_eq!(reader.join().expect("read").expect("UTF-8"), "{}\n");
    }

    // Given a device instead of a file; it is written to like one.
    #[cfg(unix)]
    #[test]
    fn devices_are_written_to() {
        append(Path::new("/dev/null"), b"{}\n").expect("appended");
    }
}
