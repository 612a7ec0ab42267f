//! The configuration of a daemon that runs: read again when its file changes, and on SIGHUP.
//!
//! The file is looked at by its content, so that it does not matter how it changed: written anew, renamed into place, or
//! behind another symbolic link. It must have come to rest first. A file with mistakes, or an empty one, changes nothing, and
//! its mistakes are logged. What came through a pipe is there only once, and is never looked at again. What counts as a loop
//! (`detectors`, `tools`, `guard`) applies from the next report on, which is read and judged by it; everything else waits for a
//! restart, and the log names it.
//!
//! The files may lie on a disk that hangs. So they are read beside, one reading at a time, and whoever leaves waits for none.

use std::sync::Arc;
use std::time::Duration;

use crate::config::{self, Loaded, Mistakes, Sources};
use crate::daemon::Daemon;
use crate::files;
use crate::telemetry::events::{ConfigRefused, ConfigTaken};

/// How often the file is looked at; after a change, it must be the same once more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a daemon was told, and where that stands.
pub(super) struct Reloader {
    sources: Arc<Sources>,
    /// What the daemon works with.
    loaded: Loaded,
    /// What the file said when it was read last.
    read: Result<String, Mistakes>,
    /// Whether what the daemon works with is an empty file.
    was_empty: bool,
    /// What the file said at the last look.
    seen: Result<String, Mistakes>,
    /// Why the file cannot be read again.
    once: Option<&'static str>,
    signal: Hangup,
}

impl Reloader {
    /// For a daemon that is told this, which is what the file said, and that has heard signals since before it was read.
    pub(super) fn new(sources: Sources, loaded: Loaded, read: String, signal: Hangup) -> Self {
        let once = match &sources.file {
            None => Some("the daemon was started without a file"),
            Some(_) if sources.is_read_once() => {
                Some("it came through a pipe, which is read once; restart the daemon with another")
            }
            Some(_) => None,
        };
        Self {
            sources: Arc::new(sources),
            loaded,
            was_empty: config::is_empty(&read),
            seen: Ok(read.clone()),
            read: Ok(read),
            once,
            signal,
        }
    }

    /// Waits until the configuration has changed or is to be read again, and answers with what it says now. A mistake in it is
    /// logged, and the next change waited for. Who drops this leaves.
    pub(super) async fn next(&mut self) -> Loaded {
        loop {
            self.wait().await;
            match self.load().await {
                Ok(loaded) => return loaded,
                Err(mistakes) => {
                    let mistakes = mistakes.to_string();
                    ConfigRefused {
                        mistakes: &mistakes,
                    }
                    .emit();
                }
            }
        }
    }

    /// Waits until the file is to be taken as it was read.
    async fn wait(&mut self) {
        loop {
            tokio::select! {
                () = self.signal.next() => {
                    if let Some(reason) = self.once {
                        tracing::warn!("there is no configuration to read again: {reason}");
                        continue;
                    }
                    self.read = self.look().await;
                    return;
                }
                () = tokio::time::sleep(LOOK_EVERY), if self.once.is_none() => {
                    let now = self.look().await;
                    let is_at_rest = now == self.seen;
                    self.seen.clone_from(&now);
                    if is_at_rest && now != self.read {
                        self.read = now;
                        return;
                    }
                }
            }
        }
    }

    /// What the file says.
    async fn look(&self) -> Result<String, Mistakes> {
        let (sources, was_empty) = (Arc::clone(&self.sources), self.was_empty);
        beside(move || config::read_again(&sources, was_empty)).await
    }

    /// Checks what was read, for which the files are read that it names.
    async fn load(&self) -> Result<Loaded, Mistakes> {
        let (read, sources) = (self.read.clone(), Arc::clone(&self.sources));
        beside(move || config::load_read(&read?, &sources)).await
    }

    /// Has the daemon work with what was read.
    pub(super) async fn take(&mut self, loaded: Loaded, daemon: &Daemon) {
        let waiting = self.loaded.differences(&loaded);
        let is_same = loaded.settings.policy == self.loaded.settings.policy;
        daemon.set_policy(&loaded.settings.policy).await;
        let profile = &loaded.settings.policy.profile;
        let taken = ConfigTaken {
            profile,
            waiting: &waiting.join(", "),
            is_same,
        };
        taken.emit();
        self.was_empty = self.read.as_deref().is_ok_and(config::is_empty);
        // What waits for a restart is named again until then.
        self.loaded.take_policy(loaded);
    }
}

async fn beside<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> T {
    let read = files::beside("the configuration", read).await;
    read.expect("reading does not panic, and nobody cancels it")
}

/// SIGHUP, from when it is listened for.
#[cfg(unix)]
pub(super) struct Hangup(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangup {
    pub(super) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
