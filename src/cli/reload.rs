//! The configuration of a daemon that runs: read again when its file changes, and on SIGHUP.
//!
//! The file is looked at by its content, so that it does not matter how it changed: written anew, renamed into place, or
//! behind another symbolic link. It must have come to rest first. A file with mistakes changes nothing, and its mistakes
//! are logged. What counts as a loop (`detectors`, `tools`, `guard`) applies from the next report on, which is read and judged
//! by it; everything else waits for a restart, and the log names it.

use std::fs;
use std::time::Duration;

use crate::config::{self, Loaded, Sources};
use crate::daemon::Daemon;
use crate::telemetry::events::{ConfigRefused, ConfigTaken};

/// How often the file is looked at; after a change, it must be the same once more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a daemon was told, and where that stands.
pub(super) struct Reloader {
    sources: Sources,
    /// What the daemon works with.
    loaded: Loaded,
    /// The file as it was when it was read last.
    read: Option<Vec<u8>>,
    /// The file as it was at the last look.
    seen: Option<Vec<u8>>,
    signal: Hangup,
}

impl Reloader {
    /// For a daemon that is told this, which was in the file when it was seen so. Signals are heard from now on.
    pub(super) fn new(
        sources: Sources,
        loaded: Loaded,
        seen: Option<Vec<u8>>,
    ) -> std::io::Result<Self> {
        Ok(Self {
            sources,
            loaded,
            read: seen.clone(),
            seen,
            signal: Hangup::listen()?,
        })
    }

    /// Waits until the configuration is to be read again. May be dropped and called anew at any time.
    pub(super) async fn wait(&mut self) {
        loop {
            tokio::select! {
                () = self.signal.next() => {
                    if self.sources.file.is_none() {
                        tracing::warn!("there is no configuration to read again: the daemon was started without a file");
                        continue;
                    }
                    self.read = content(&self.sources);
                    return;
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let now = content(&self.sources);
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

    /// Reads the configuration, and has the daemon work with it if it is right.
    pub(super) async fn reload(&mut self, daemon: &Daemon) {
        let loaded = match config::load(&self.sources) {
            Ok(loaded) => loaded,
            Err(mistakes) => {
                let mistakes = mistakes.to_string();
                return ConfigRefused {
                    mistakes: &mistakes,
                }
                .emit();
            }
        };
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
        // What waits for a restart is named again until then.
        self.loaded.take_policy(loaded);
    }
}

/// The file's content; nothing where there is no file, or none that can be read.
pub(super) fn content(sources: &Sources) -> Option<Vec<u8>> {
    fs::read(sources.file.as_ref()?).ok()
}

#[cfg(unix)]
struct Hangup(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangup {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
