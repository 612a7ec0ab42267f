//! Passing telemetry on as it came, so that Eddy can stand between agents and their backend.
//!
//! The receiver hands over each request that it has acknowledged, as the bytes of its protobuf message
//! ([`Forwards::pass`]). Every upstream has a queue of its own (`queue`), bounded in bytes, and a few senders that
//! try again as OTLP says (`upstream` knows the two transports). Requests go on whole and unread, also where single items
//! of them were rejected here: what to make of those is the upstream's affair.
//!
//! An upstream can hold nobody up: a full queue drops what comes, and all the sending (compression and TLS included) is
//! done on one thread of its own, which takes no worker from the shards. Unlike alerts, requests are nowhere on disk: what
//! waits is lost when the process ends without [`Forwards::drain`], and what cannot be drained in time is lost, too. A
//! sender that repeats a request whose answer it missed is passed on twice; OTLP allows that, and backends must cope.

mod queue;
#[cfg(test)]
mod tests;
mod upstream;

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::settings::{ForwardSettings, SettingsError};
use super::{Cause, Delivery, NotTaken};
use crate::files::Fault;
use crate::otlp::Signal;

use queue::{Queue, QueueSender};
use upstream::Upstream;

/// Starts a queue for each of the settings; none costs nothing.
///
/// # Errors
/// When settings cannot work ([`ForwardSettings::check`]), or the system gives no thread.
pub fn start(settings: Vec<ForwardSettings>) -> Result<Forwards, SettingsError> {
    let leaving = CancellationToken::new();
    let mut senders = Vec::new();
    let mut queues = Vec::new();
    for settings in settings {
        let (sender, queue) = queue::open(settings, leaving.clone())?;
        senders.push(sender);
        queues.push(queue);
    }
    let forwards = Forwards {
        senders: senders.into(),
        tasks: TaskTracker::new(),
        leaving,
        stop: CancellationToken::new(),
    };
    forwards.send_on_a_thread(queues)?;
    forwards.tasks.close();
    Ok(forwards)
}

impl ForwardSettings {
    /// Finds what would keep the queue from starting. Connects to nobody.
    pub fn check(&self) -> Result<(), SettingsError> {
        Upstream::new(self).map(drop)
    }
}

/// Sends one request once, and waits for the answer. Why it was not taken, where it was not.
pub(crate) async fn send_once(
    settings: &ForwardSettings,
    signal: Signal,
    request: &Bytes,
) -> Result<(), NotTaken> {
    let unusable =
        |SettingsError { fault, .. }| NotTaken::of(fault.text, Cause::Setting(fault.key));
    let upstream = Upstream::new(settings).map_err(unusable)?;
    match upstream.send(signal, request).await {
        Delivery::Taken => Ok(()),
        Delivery::Partly { reason, .. }
        | Delivery::Refused { reason }
        | Delivery::Later { reason, .. } => Err(reason),
    }
}

/// The running queues. Clones share them.
#[derive(Clone)]
pub struct Forwards {
    senders: Arc<[QueueSender]>,
    tasks: TaskTracker,
    /// Cancelled when nothing more will come: a queue ends when each of its requests has had one more attempt.
    leaving: CancellationToken,
    /// Cancelled when queues must end wherever they are.
    stop: CancellationToken,
}

/// How far a queue has come since the start of the process. Counts are of requests unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardProgress {
    /// Waiting, or being sent.
    pub queued: u64,
    /// Taken by the upstream.
    pub sent: u64,
    /// Spans, log records and data points that the upstream left out of requests that it took.
    pub items_refused: u64,
    /// Not queued, because the queue was full or had ended. They are lost to this upstream, as are the next two.
    pub dropped: u64,
    /// Refused by the upstream for good.
    pub refused: u64,
    /// Given up after `max_elapsed`, or at the end of the process.
    pub given_up: u64,
    /// Attempts that failed and were, or will be, repeated.
    pub retries: u64,
    /// Why the newest failed attempt failed.
    pub last_error: Option<String>,
}

/// A queue as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardStatus {
    /// Its name.
    pub name: String,
    /// How far it has come.
    pub progress: ForwardProgress,
}

impl Forwards {
    /// Whether there is no upstream.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// Puts a request into every queue. Never waits.
    pub fn pass(&self, signal: Signal, request: &[u8]) {
        if request.is_empty() {
            return;
        }
        // A copy has the size that is accounted for; the buffer that the request came in may be several times as large.
        let request = Bytes::copy_from_slice(request);
        for sender in &*self.senders {
            sender.put(signal, request.clone());
        }
    }

    /// How the queues stand, in the order of their settings.
    #[must_use]
    pub fn status(&self) -> Vec<ForwardStatus> {
        self.senders.iter().map(QueueSender::status).collect()
    }

    /// Gives every request that waits one more attempt and ends the queues; at the deadline the rest is lost. To be called
    /// when no more requests come.
    pub async fn drain(&self, deadline: Instant) {
        self.leaving.cancel();
        // What was not done in time is counted as waiting below.
        let _ = timeout_at(deadline, self.tasks.wait()).await;
        self.stop.cancel();
        for sender in &*self.senders {
            sender.tell_losses();
            let ForwardStatus { name, progress } = sender.status();
            if progress.queued > 0 {
                tracing::warn!(
                    exporter = name,
                    requests = progress.queued,
                    last_error = progress.last_error,
                    "requests were not passed on before the deadline; this upstream misses them"
                );
            }
        }
    }

    fn send_on_a_thread(&self, queues: Vec<Queue>) -> Result<(), SettingsError> {
        let Some(first) = queues.first() else {
            return Ok(());
        };
        let name = first.name().to_owned();
        let failed = |error: std::io::Error| {
            let problem = format!("the system gives no thread for sending: {error}");
            SettingsError::new(&name, Fault::new("", problem))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let stop = self.stop.clone();
        let work = self.tasks.track_future(async move {
            let sending = join_all(queues.into_iter().map(Queue::run));
            stop.run_until_cancelled_owned(sending).await;
        });
        let thread = thread::Builder::new().name("forward".to_owned());
        let spawned = thread.spawn(move || runtime.block_on(work));
        spawned.map(drop).map_err(failed)
    }
}
