//! Where alerts go: the terminal, a file, an OTLP backend, a webhook, Alertmanager.
//!
//! The store keeps alerts in one log, and each exporter its own cursor into it. That log is the only queue: an exporter
//! (`outbox`) waits until more is published than it has delivered, reads what waits, hands a batch to its sink, and moves
//! its cursor once the batch is taken. So a slow or dead receiver holds up nobody, costs no memory, and misses nothing:
//! what was not confirmed is sent again, by the same id and revision, also after a restart. An exporter that is seen for
//! the first time begins with what is published after that.
//!
//! A sink (`terminal`, `file`, `otlp_logs`, `webhook`) knows one receiver and says of each batch whether it was
//! taken, refused for good, or should be tried again later (`Delivery`). It is made once, when the daemon starts, and outlives a
//! store that is opened anew (`Exporter`). Deliberately absent: routing, grouping over time, silences. Alertmanager does these
//! well, and the webhook speaks to it, or to what listens to it.
//!
//! Beside the alerts, `forward` passes the telemetry itself on, unread, for those who have Eddy in front of a backend, and
//! `traces` sends the daemon's own spans. `verdicts` tells OTLP backends what the guard answered. `otlp` is what these say alike.

mod address;
mod alertmanager;
mod file;
pub mod forward;
mod given_up;
mod grpc;
mod http;
mod not_taken;
pub(crate) mod otlp;
mod otlp_logs;
mod outbox;
mod retry;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod scripted;
mod settings;
mod terminal;
#[cfg(test)]
mod tests;
mod tls;
pub mod traces;
mod verdicts;
mod webhook;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::broadcast::Receiver;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::guard::GivenVerdict;
use crate::files::Fault;
use crate::store::alert::Alert;
use crate::store::{Store, StoreError};

use given_up::{GivenUp, Item};
pub(crate) use not_taken::{Cause, NotTaken};
use otlp_logs::OtlpLogs;
use outbox::Outbox;
#[cfg(test)]
pub(crate) use retry::fix_shares;
#[cfg(test)]
pub(crate) use scripted::Scripted;
pub use settings::{
    Compression, ExporterSettings, Form, ForwardProtocol, ForwardSettings, Kind, OtlpLogsSettings,
    Retry, SettingsError, TlsFiles, TraceSettings, WebhookSettings,
};
pub(crate) use tls::{CA_FILE, CERT_FILE, KEY_FILE};
use verdicts::Verdicts;

/// How long a receiver over the network may take for one batch, from connecting to the end of its reply.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Most that is read of a receiver's reply, in bytes. Replies are only good for an error message, and a hostile or broken
/// receiver must not fill the memory.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// Makes an exporter of each of the settings.
///
/// # Errors
/// If settings cannot work ([`ExporterSettings::check`]), or two exporters have the same name.
pub fn make(settings: Vec<ExporterSettings>) -> Result<Arc<[Exporter]>, SettingsError> {
    names_differ(&settings)?;
    settings.into_iter().map(Exporter::new).collect()
}

/// Starts exporters over a store. Where they work over one that has failed, that is ended first ([`Exporters::stop`]). Must be
/// called within a tokio runtime.
///
/// `shutdown` is for leaving at once: when it is cancelled, exporters stop where they stand, and what they had not
/// delivered waits in the store for the next start. The orderly way is [`Exporters::drain`].
///
/// # Errors
/// If it cannot be read how far one of them has delivered.
pub fn start(
    store: Store,
    exporters: Arc<[Exporter]>,
    shutdown: &CancellationToken,
) -> Result<Exporters, StoreError> {
    let leaving = CancellationToken::new();
    let outboxes = exporters
        .iter()
        .map(|exporter| Outbox::new(store.clone(), exporter.clone(), leaving.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    tell_removed(&store, &exporters)?;
    let exporters = Exporters {
        store,
        made: exporters,
        tasks: TaskTracker::new(),
        leaving,
        stop: shutdown.child_token(),
    };
    for outbox in outboxes {
        let stop = exporters.stop.clone();
        exporters
            .tasks
            .spawn(stop.run_until_cancelled_owned(outbox.run()));
    }
    exporters.tasks.close();
    Ok(exporters)
}

/// What a receiver answered. A panic on the way to it is one more thing that may pass: what was to be sent is tried again.
async fn caught(sending: impl Future<Output = Delivery>) -> Delivery {
    let answer = AssertUnwindSafe(sending).catch_unwind().await;
    answer
        .unwrap_or_else(|_| Delivery::later("Eddy panicked while it was sent; the log says where"))
}

/// Tells of alerts that wait for exporters which an earlier configuration had. Their cursors stay: put back, they go on.
fn tell_removed(store: &Store, exporters: &[Exporter]) -> Result<(), StoreError> {
    let newest = store.last_cursor();
    for (exporter, next) in store.set_exporters(exporters.iter().map(Exporter::name))? {
        let alerts = (newest + 1).saturating_sub(next);
        if alerts > 0 {
            tracing::warn!(
                exporter,
                alerts,
                "alerts wait for an exporter that is not configured any more: put it back under this name, and it delivers those \
                 that are still kept; a new name begins with what comes from now on"
            );
        }
    }
    Ok(())
}

/// Two exporters of one name would share a cursor, and each would miss what the other has delivered.
fn names_differ(settings: &[ExporterSettings]) -> Result<(), SettingsError> {
    let mut names = BTreeSet::new();
    match settings
        .iter()
        .find(|settings| !names.insert(&settings.name))
    {
        Some(second) => Err(SettingsError::new(
            &second.name,
            Fault::new("", "this name is used twice"),
        )),
        None => Ok(()),
    }
}

/// The running exporters. Clones share them.
#[derive(Clone)]
pub struct Exporters {
    store: Store,
    made: Arc<[Exporter]>,
    tasks: TaskTracker,
    /// Cancelled when nothing more will be published: an exporter ends when it has delivered everything, or fails to.
    leaving: CancellationToken,
    /// Cancelled when exporters must end wherever they are.
    stop: CancellationToken,
}

/// An exporter, made once for a process. What it sends with and what is counted outlive a store that has failed: over the one that
/// is opened anew it goes on with both, and reads none of its files for that. Clones, which its tasks and its observers hold, share
/// them.
#[derive(Clone)]
pub struct Exporter {
    settings: ExporterSettings,
    sink: Arc<tokio::sync::Mutex<Sink>>,
    /// For the guard's verdicts, where the receiver takes log records: alerts that are being sent do not hold them up.
    verdicts: Option<Arc<tokio::sync::Mutex<OtlpLogs>>>,
    progress: Arc<Mutex<Progress>>,
}

impl Exporter {
    fn new(settings: ExporterSettings) -> Result<Self, SettingsError> {
        let verdicts = match &settings.kind {
            Kind::OtlpLogs(otlp) => Some(OtlpLogs::new(&settings.name, &settings.tenant, otlp)?),
            _ => None,
        };
        Ok(Self {
            sink: Arc::new(tokio::sync::Mutex::new(Sink::new(&settings)?)),
            verdicts: verdicts.map(|sink| Arc::new(tokio::sync::Mutex::new(sink))),
            progress: Arc::default(),
            settings,
        })
    }

    fn name(&self) -> &str {
        &self.settings.name
    }

    fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn progress(&self) -> Progress {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// How far an exporter has come since the start of the process. Counts are of alerts unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The newest alert that is settled: taken by the receiver, superseded, or given up. Absent before it is started.
    pub cursor: Option<u64>,
    /// Taken by the receiver.
    pub sent: u64,
    /// Not sent because a newer revision of the same warning was waiting behind them, or has taken their place in the store.
    pub superseded: u64,
    /// Refused by the receiver for good, or given up after `max_elapsed`. They are lost to this receiver.
    pub failed: u64,
    /// Removed from the store before they could be delivered to a receiver that gets every revision, and verdicts of the
    /// guard that a receiver of log records has not had.
    pub missed: u64,
    /// Attempts that failed and were, or will be, repeated; each may concern many alerts.
    pub retries: u64,
    /// Why the newest attempt failed; absent after one that succeeded.
    pub last_error: Option<String>,
}

/// An exporter as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExporterStatus {
    /// Its name.
    pub name: String,
    /// `terminal`, `file`, `otlp_logs`, `webhook` or `alertmanager`.
    pub kind: &'static str,
    /// Alerts that are published and not settled.
    pub queue: u64,
    /// How far it has come.
    pub progress: Progress,
}

impl Exporters {
    /// How the exporters stand, in the order of their settings.
    #[must_use]
    pub fn status(&self) -> Vec<ExporterStatus> {
        let newest = self.store.last_cursor();
        let status = |exporter: &Exporter| {
            let progress = exporter.progress();
            ExporterStatus {
                name: exporter.name().to_owned(),
                kind: exporter.settings.kind.name(),
                queue: newest.saturating_sub(progress.cursor.unwrap_or(0)),
                progress,
            }
        };
        self.made.iter().map(status).collect()
    }

    /// Tells those of the receivers that take log records of the guard's verdicts, from now on. `given` opens a way to them.
    pub fn tell_verdicts(&self, given: impl Fn() -> Receiver<Arc<GivenVerdict>>) {
        for exporter in &*self.made {
            let Some(sink) = exporter.verdicts.clone() else {
                continue;
            };
            let verdicts = Verdicts {
                sink,
                exporter: exporter.clone(),
                given: given(),
                given_up: GivenUp::new(exporter.name(), Item::Verdicts),
                leaving: self.leaving.clone(),
            };
            let stop = self.stop.clone();
            self.tasks
                .spawn(stop.run_until_cancelled_owned(verdicts.run()));
        }
    }

    /// Ends every exporter where it stands, and waits until it has. What is not delivered waits in the store.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }

    /// Lets every exporter deliver what is published and ends it. To be called when no more commits come, and before the
    /// store is closed, or the last cursors are not kept and the next start repeats alerts.
    ///
    /// An exporter whose receiver fails has one more attempt. At the deadline the rest is stopped. What is not delivered
    /// stays in the store for the next start.
    pub async fn drain(&self, deadline: Instant) {
        self.leaving.cancel();
        let drained = timeout_at(deadline, self.tasks.wait()).await;
        self.stop.cancel();
        if drained.is_err() {
            tracing::warn!("exporters did not finish before the deadline");
        }
        for (exporter, status) in self.made.iter().zip(self.status()) {
            tell_left(&exporter.settings.kind, &status);
        }
    }
}

/// Says what becomes of alerts that an exporter has not delivered when it ends.
fn tell_left(kind: &Kind, status: &ExporterStatus) {
    let (exporter, alerts) = (&status.name, status.queue);
    let last_error = status.progress.last_error.as_deref();
    if alerts == 0 {
        return;
    }
    if kind.keeps_cursor() {
        tracing::warn!(
            exporter,
            alerts,
            last_error,
            "alerts wait for the next start"
        );
        return;
    }
    let after = status.progress.cursor;
    tracing::warn!(
        exporter,
        alerts,
        after,
        last_error,
        "alerts were not shown, and the next start does not show them; `eddy tail --after` does"
    );
}

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
enum Delivery {
    /// The receiver has it.
    Taken,
    /// The receiver has it, except for so many alerts, which it will never take.
    Partly { refused: u64, reason: NotTaken },
    /// The receiver will never take it.
    Refused { reason: NotTaken },
    /// The receiver may take it later, not before `after` where it says so.
    Later {
        reason: NotTaken,
        after: Option<Duration>,
    },
}

impl Delivery {
    /// To be tried again whenever the exporter sees fit.
    fn later(reason: impl Into<NotTaken>) -> Self {
        Self::Later {
            reason: reason.into(),
            after: None,
        }
    }

    /// Never to be tried again.
    fn refused(reason: impl Into<NotTaken>) -> Self {
        let reason = reason.into();
        Self::Refused { reason }
    }

    /// The same, but that what was refused is tried again.
    fn again(self) -> Self {
        match self {
            Self::Refused { reason } => Self::later(reason),
            other => other,
        }
    }
}

/// A receiver of alerts.
enum Sink {
    Terminal(terminal::Terminal),
    File(file::File),
    OtlpLogs(Box<OtlpLogs>),
    Webhook(Box<webhook::Webhook>),
    #[cfg(test)]
    Scripted(scripted::Scripted),
}

impl ExporterSettings {
    /// Finds what would keep the exporter from starting: an address that cannot be read or must not be called, headers
    /// that are none, certificates that are not there. Connects to nobody.
    pub fn check(&self) -> Result<(), SettingsError> {
        Sink::new(self).map(drop)
    }
}

impl Sink {
    fn new(settings: &ExporterSettings) -> Result<Self, SettingsError> {
        let (name, tenant) = (&settings.name, settings.tenant.as_str());
        Ok(match &settings.kind {
            Kind::Terminal => Self::Terminal(terminal::Terminal::stdout(settings)),
            Kind::File { path } => Self::File(file::File::new(path.clone(), tenant)),
            Kind::OtlpLogs(otlp) => Self::OtlpLogs(Box::new(OtlpLogs::new(name, tenant, otlp)?)),
            Kind::Webhook(webhook) => {
                Self::Webhook(Box::new(webhook::Webhook::new(name, tenant, webhook)?))
            }
            #[cfg(test)]
            Kind::Scripted(scripted) => Self::Scripted(scripted.clone()),
        })
    }

    /// Sends alerts. `still_open` are others of their incident, for a receiver that has a case for each.
    async fn send(&mut self, alerts: &[Alert], still_open: &[Alert]) -> Delivery {
        match self {
            Self::Terminal(terminal) => terminal.send(alerts).await,
            Self::File(file) => file.send(alerts).await,
            Self::OtlpLogs(otlp_logs) => otlp_logs.send(alerts).await,
            Self::Webhook(webhook) => webhook.send(alerts, still_open).await,
            #[cfg(test)]
            Self::Scripted(scripted) => scripted.send(alerts).await,
        }
    }
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::File { .. } => "file",
            Self::OtlpLogs(_) => "otlp_logs",
            Self::Webhook(webhook) => match webhook.form {
                Form::Webhook => "webhook",
                Form::Alertmanager { .. } => "alertmanager",
            },
            #[cfg(test)]
            Self::Scripted(_) => "scripted",
        }
    }

    /// Most alerts in one batch.
    fn batch_max(&self) -> usize {
        match self {
            Self::Webhook(webhook) => webhook.max_alerts.max(1),
            _ => outbox::WINDOW_ALERTS,
        }
    }

    /// Whether only the newest of several waiting revisions of a warning is sent. A file is a history: it has them all.
    fn newest_only(&self) -> bool {
        !matches!(self, Self::File { .. })
    }

    /// Whether alerts of several incidents are sent one after the other: the webhook names one by its `groupKey`.
    fn by_incident(&self) -> bool {
        matches!(self, Self::Webhook(webhook) if webhook.form == Form::Webhook)
    }

    /// How long it rests after what waited is delivered, so that revisions that follow closely are shown as one.
    fn pace(&self) -> Option<Duration> {
        match self {
            Self::Terminal => Some(terminal::PACE),
            #[cfg(test)]
            Self::Scripted(scripted) => scripted.pace(),
            _ => None,
        }
    }

    /// Whether what was missed while the daemon was away is delivered at the next start. Nobody was looking at the
    /// terminal then. Within a process it goes on where it was, too.
    fn keeps_cursor(&self) -> bool {
        !matches!(self, Self::Terminal)
    }
}
