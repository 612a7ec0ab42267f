//! The order of leaving.
//!
//! The input is closed first, with which readiness falls, then everything is left in the order in which data flows, so that
//! nothing is handed to a room that has gone: the receiver answers what it holds, the shards commit what waits and save their
//! states, exporters deliver what was published, the store is closed, and those who follow the tail are let go last, having
//! seen it all.
//!
//! One deadline bounds the whole. Each stage may use half of what is left of it, so that a client that does not take its
//! answer cannot use up the time in which states are saved. What a stage leaves behind is not lost: the journal has what
//! was acknowledged, senders repeat what was not, and exporters go on from their cursors. Only what was to be passed on to
//! another backend and could not be in time, that backend misses.

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
    let stage = Stage::begin("api", deadline);
    rooms.api.leave(deadline).await;
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
