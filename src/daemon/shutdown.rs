//! The order of leaving.
//!
//! The input is closed first, with which readiness falls, then everything is left in the order in which data flows, so that
//! nothing is handed to a room that has gone: the receiver answers what it holds, the shards commit what waits and save their
//! states, exporters deliver what was published, the store is closed, and those who follow the tail are let go last, having
//! seen it all.
//!
//! One deadline bounds the whole. Each stage may use half of what is left of it, so that a client that does not take its
//! answer cannot use up the time in which states are saved; the last one may use all of it. What a stage leaves behind is not
//! lost: the journal has what was acknowledged, senders repeat what was not, and exporters go on from their cursors. Only what
//! was to be passed on to another backend and could not be in time, that backend misses.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::tenants::TenantServices;
use crate::export::forward::Forwards;
use crate::export::traces::Traces;
use crate::listener::Tenant;
use crate::store::Store;
use crate::telemetry::DAEMON;
use crate::telemetry::events::StageLeft;

/// A server's task, and how to tell it that it is time.
#[derive(Debug)]
pub(super) struct Served {
    /// Cancelled, the server takes nothing new and ends when its clients have their answers.
    pub(super) stop: CancellationToken,
    /// The task.
    pub(super) task: JoinHandle<()>,
}

impl Served {
    async fn leave(&mut self, until: Instant) {
        self.stop.cancel();
        // One that ended by itself has been waited for, which a task bears once.
        if self.task.is_finished() {
            return;
        }
        if timeout_at(until, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// What is left, in this order.
pub(super) struct Rooms {
    /// OTLP.
    pub(super) receiver: Served,
    /// What each tenant has.
    pub(super) tenants: BTreeMap<Tenant, TenantServices>,
    /// Where telemetry is passed on to.
    pub(super) forwards: Forwards,
    /// The daemon's own spans, where somebody gets them.
    pub(super) traces: Option<Traces>,
    /// Questions and tails.
    pub(super) api: Served,
}

/// Leaves every room, within the given time.
pub(super) async fn leave(mut rooms: Rooms, within: Duration) {
    let deadline = Instant::now() + within;
    let stage = Stage::begin("receiver", deadline);
    rooms.receiver.leave(stage.until).await;
    stage.end();
    let stage = Stage::begin("shards", deadline);
    let tenants = || rooms.tenants.values();
    // A tenant whose store has failed has no shards, and nothing that could be lost.
    let shards: Vec<_> = tenants()
        .flat_map(|tenant| tenant.shards().current())
        .collect();
    join_all(shards.iter().map(|shards| shards.stop(stage.until))).await;
    stage.end();
    let stage = Stage::begin("exporters", deadline);
    let exporters: Vec<_> = tenants().filter_map(TenantServices::exporters).collect();
    tokio::join!(
        join_all(
            exporters
                .iter()
                .map(|exporters| exporters.drain(stage.until))
        ),
        rooms.forwards.drain(stage.until)
    );
    stage.end();
    let stage = Stage::begin("store", deadline);
    join_all(
        shards
            .iter()
            .map(|shards| close(shards.store(), stage.until)),
    )
    .await;
    stage.end();
    if let Some(traces) = &rooms.traces {
        let stage = Stage::begin("traces", deadline);
        traces.drain(stage.until).await;
        stage.end();
    }
    let stage = Stage::last("api", deadline);
    rooms.api.leave(stage.until).await;
    stage.end();
}

async fn close(store: &Store, until: Instant) {
    match timeout_at(until, store.clone().close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the store could not be closed"),
        // Whoever lets go of it last waits until it is closed, which a disk that has stopped answering may put off for ever.
        Err(_) => std::mem::forget(store.clone()),
    }
}

/// A stage of leaving, while it lasts.
struct Stage {
    name: &'static str,
    began: Instant,
    until: Instant,
}

impl Stage {
    fn begin(name: &'static str, deadline: Instant) -> Self {
        let began = Instant::now();
        Self {
            name,
            began,
            until: began + deadline.saturating_duration_since(began) / 2,
        }
    }

    /// One behind which nobody waits for a share of the time.
    fn last(name: &'static str, deadline: Instant) -> Self {
        Self {
            name,
            began: Instant::now(),
            until: deadline,
        }
    }

    fn end(self) {
        StageLeft {
            stage: self.name,
            took: self.began.elapsed(),
            done: Instant::now() < self.until,
        }
        .emit();
    }
}

/// Listens for signals from here on, and resolves when the process is asked to stop: SIGTERM, or SIGINT as by Ctrl-C. From then
/// on a second signal ends the process at once; the journal makes that safe, if not polite.
///
/// # Errors
/// When the system does not let the process listen for signals.
pub(crate) fn asked(within: Duration) -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::listen()?;
    Ok(async move {
        let signal = signals.next().await;
        tracing::info!(
            target: DAEMON,
            signal,
            deadline_ms = within.as_millis() as u64,
            "stopping; a second signal ends the process at once"
        );
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("a second signal: leaving at once");
            std::process::exit(1);
        });
    })
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        // Without a console there is no Ctrl-C to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::forward;

    /// A room that takes so long to be left.
    fn room(takes: Duration) -> Served {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            stopped.cancelled().await;
            tokio::time::sleep(takes).await;
        });
        Served { stop, task }
    }

    /// The stages that were done, and those that were cut short, as the log has them.
    async fn stages(receiver: Duration, api: Duration) -> (Vec<String>, Vec<String>) {
        let log = tempfile::NamedTempFile::new().unwrap();
        let write = log.reopen().unwrap();
        let lines = tracing_subscriber::fmt().json();
        let lines = lines.with_writer(move || write.try_clone().unwrap());
        let reading = tracing::subscriber::set_default(lines.finish());
        let rooms = Rooms {
            receiver: room(receiver),
            tenants: BTreeMap::new(),
            forwards: forward::start(Vec::new()).unwrap(),
            traces: None,
            api: room(api),
        };
        leave(rooms, Duration::from_secs(10)).await;
        drop(reading);
        let text = std::fs::read_to_string(log.path()).unwrap();
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["fields"].clone()
        });
        let (done, cut): (Vec<_>, Vec<_>) = lines.partition(|line| line["message"] == "stage left");
        let names = |lines: Vec<serde_json::Value>| {
            let names = lines
                .iter()
                .map(|line| line["stage"].as_str().unwrap().to_owned());
            names.collect()
        };
        (names(done), names(cut))
    }

    /// Given rooms that take three quarters of what is left to be left, the first is cut short, which the others have to be able to
    /// follow; the last one may take that long, and is said to have been left. One that takes longer is cut short as well.
    #[tokio::test(start_paused = true)]
    async fn the_last_stage_may_use_what_is_left() {
        let ms = Duration::from_millis;
        let (done, cut) = stages(ms(7_500), ms(3_750)).await;
        assert_eq!(cut, ["receiver"]);
        assert_eq!(done, ["shards", "exporters", "store", "api"]);
        let (done, cut) = stages(Duration::ZERO, ms(11_000)).await;
        assert_eq!(cut, ["api"]);
        assert_eq!(done, ["receiver", "shards", "exporters", "store"]);
    }
}
