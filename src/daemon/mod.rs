//! The daemon: every room, put together and taken apart again.
//!
//! It starts from behind: addresses are taken first, so that a mistake there costs nothing and senders may already knock;
//! then the store is opened, the shards replay what the journal holds, exporters and the API begin, and only then is
//! telemetry received. Every tenant has a house of its own (store, shards, exporters: `houses`), so that nothing of one can
//! be reached from another; what they share is the way in (`doors`), and what is bounded there. It leaves in the order of
//! [`crate::shutdown`]. `eddy serve`, `eddy demo` and the end-to-end tests hold one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::api;
use crate::config::Settings;
use crate::door::{Door, Fault, Tenant};
use crate::engine::event::Text;
use crate::export::forward::{self, Forwards};
use crate::export::{Exporters, SettingsError};
use crate::normalize::Normalizer;
use crate::otlp::Limits;
use crate::receiver::{self, Intake, PassOn, Protocol};
use crate::shard::{self, Shards};
use crate::shutdown::{self, House, Rooms, Served};
use crate::store::StoreError;
use crate::telemetry::events::{ModelUnpriced, Ready};

mod doors;
mod houses;

use doors::Doors;
use houses::{houses, shards};

/// How often a running daemon looks whether its store still takes writes.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Largest requests that may be held at the same time, all senders together; what more comes waits at the sender.
const REQUESTS_IN_FLIGHT: usize = 8;

/// A running daemon.
pub struct Daemon {
    rooms: Rooms,
    intake: Intake,
    normalizer: Arc<Normalizer>,
    /// Models without a price that the log has named.
    unpriced: BTreeSet<Text>,
    otlp_grpc: SocketAddr,
    otlp_http: Option<SocketAddr>,
    api: SocketAddr,
    shutdown_deadline: Duration,
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address could not be taken.
    #[error("{address} cannot be listened on for {what}: {}; set another with `{flag}` or `{key}.endpoint`", in_words(.source))]
    Listen {
        /// What was to be served.
        what: &'static str,
        /// The address.
        address: SocketAddr,
        /// The flag that sets it.
        flag: &'static str,
        /// The section that sets it.
        key: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A certificate or a token could not be used.
    #[error("{key}: {fault}")]
    Lock {
        /// The section of the address.
        key: &'static str,
        /// What is wrong.
        fault: Fault,
    },
    /// The store could not be opened.
    #[error("{0}; `--data-dir` or `service.data_dir` sets the directory")]
    Store(#[from] StoreError),
    /// The journal could not be replayed.
    #[error(transparent)]
    Shards(#[from] shard::StartError),
    /// An exporter's settings do not work.
    #[error(transparent)]
    Exporters(#[from] SettingsError),
    /// The task that opens the store ended badly.
    #[error("opening the store in {}: {problem}", dir.display())]
    Opening {
        /// The data directory.
        dir: PathBuf,
        /// How it ended.
        problem: String,
    },
}

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "it is in use, perhaps by a collector or another daemon".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "the system does not allow it; ports below 1024 are often kept for root".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Why a daemon stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// A write failed, so that nothing more can be acknowledged.
    #[error("the store takes no more writes (see the log); restart once its disk is well")]
    Store,
    /// A server ended.
    #[error("the {0} ended unexpectedly (see the log)")]
    Server(&'static str),
}

impl Daemon {
    /// Starts a daemon. Must be called within a Tokio runtime of several threads.
    ///
    /// # Errors
    /// When an address is taken, the store cannot be opened or read, or an exporter's settings do not work.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        let began = Instant::now();
        let doors = Doors::open(settings).await?;
        let houses = houses(settings).await?;
        let forwards = forward::start(settings.forwards.clone())?;
        let normalizer = Arc::new(Normalizer::with(settings.normalize.clone()));
        let intake = intake(settings, &houses, Arc::clone(&normalizer), &forwards);
        let daemon = Self {
            otlp_grpc: doors.grpc.address().unwrap_or(settings.otlp_grpc),
            otlp_http: doors.http.as_ref().and_then(|http| http.address().ok()),
            api: doors.api.address().unwrap_or(settings.api),
            shutdown_deadline: settings.shutdown_deadline,
            rooms: Rooms {
                api: serve_api(doors.api, shards(&houses)),
                receiver: serve_otlp(doors.grpc, doors.http, &intake, settings),
                houses,
                forwards,
            },
            intake,
            normalizer,
            unpriced: BTreeSet::new(),
        };
        let ready = Ready {
            otlp_grpc: daemon.otlp_grpc,
            otlp_http: daemon.otlp_http,
            api: daemon.api,
            data_dir: &settings.data_dir,
            profile: &settings.policy.profile,
            took: began.elapsed(),
        };
        ready.emit();
        Ok(daemon)
    }

    /// Where OTLP over gRPC is received: the real port where the settings said 0.
    #[must_use]
    pub fn otlp_grpc(&self) -> SocketAddr {
        self.otlp_grpc
    }

    /// Where OTLP over HTTP is received, unless it is switched off.
    #[must_use]
    pub fn otlp_http(&self) -> Option<SocketAddr> {
        self.otlp_http
    }

    /// Where the API is served.
    #[must_use]
    pub fn api(&self) -> SocketAddr {
        self.api
    }

    /// The default tenant's runs.
    #[must_use]
    pub fn shards(&self) -> &Shards {
        &self.own().shards
    }

    /// The default tenant's exporters, for their progress.
    #[must_use]
    pub fn exporters(&self) -> &Exporters {
        &self.own().exporters
    }

    fn own(&self) -> &House {
        let own = self.rooms.houses.get(&Tenant::default());
        own.expect("a daemon begins with the default tenant's house")
    }

    /// Where telemetry is passed on to, for its progress.
    #[must_use]
    pub fn forwards(&self) -> &Forwards {
        &self.rooms.forwards
    }

    /// What came in, for its counters.
    #[must_use]
    pub fn intake(&self) -> &Intake {
        &self.intake
    }

    /// What became of what came in, for its counters.
    #[must_use]
    pub fn normalizer(&self) -> &Normalizer {
        &self.normalizer
    }

    /// Waits until the daemon cannot go on by itself.
    pub async fn broken(&mut self) -> Broken {
        loop {
            tokio::select! {
                _ = &mut self.rooms.receiver.task => return Broken::Server("receiver"),
                _ = &mut self.rooms.api.task => return Broken::Server("API server"),
                () = tokio::time::sleep(WATCH_EVERY) => {
                    if !self.rooms.houses.values().all(|house| house.shards.is_ready()) {
                        return Broken::Store;
                    }
                    self.name_unpriced();
                }
            }
        }
    }

    /// Names each model without a price once.
    fn name_unpriced(&mut self) {
        for (model, _) in self.normalizer.unpriced_models() {
            if !self.unpriced.contains(&model) {
                ModelUnpriced { model: &model }.emit();
                self.unpriced.insert(model);
            }
        }
    }

    /// Leaves in good order, within the time that the settings allow.
    pub async fn stop(self) {
        shutdown::leave(self.rooms, self.shutdown_deadline).await;
    }
}

fn intake(
    settings: &Settings,
    houses: &BTreeMap<Tenant, House>,
    normalizer: Arc<Normalizer>,
    forwards: &Forwards,
) -> Intake {
    let largest = settings
        .otlp_grpc_bytes_max
        .max(settings.otlp_http_bytes_max);
    let forwards = Some(forwards.clone()).filter(|forwards| !forwards.is_empty());
    Intake::new(
        normalizer,
        shards(houses),
        Limits::default(),
        largest.saturating_mul(REQUESTS_IN_FLIGHT),
        forwards.map(|forwards| -> PassOn {
            Box::new(move |signal, request| forwards.pass(signal, request))
        }),
    )
}

/// Serves both transports. When one ends, whatever the reason, the other is told to.
fn serve_otlp(grpc: Door, http: Option<Door>, intake: &Intake, settings: &Settings) -> Served {
    let stop = CancellationToken::new();
    let serve = |protocol, door, message_bytes_max| {
        let limits = receiver::Settings {
            message_bytes_max,
            shutdown_grace: settings.shutdown_deadline / 4,
            cors: settings.otlp_http_cors.clone(),
            ..receiver::Settings::default()
        };
        let serving = receiver::serve(protocol, door, intake.clone(), limits, stop.clone());
        let stop = stop.clone().drop_guard();
        async move {
            let _stop = stop;
            if let Err(error) = serving.await {
                tracing::error!(%error, ?protocol, "the receiver ended");
            }
        }
    };
    let grpc = serve(Protocol::Grpc, grpc, settings.otlp_grpc_bytes_max);
    let http = http.map(|http| serve(Protocol::Http, http, settings.otlp_http_bytes_max));
    let task = tokio::spawn(async {
        match http {
            Some(http) => {
                tokio::join!(grpc, http);
            }
            None => grpc.await,
        }
    });
    Served { stop, task }
}

fn serve_api(door: Door, shards: BTreeMap<Tenant, Shards>) -> Served {
    let stop = CancellationToken::new();
    let serving = api::serve(door, shards, api::Settings::default(), stop.clone());
    let task = tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the API server ended");
        }
    });
    Served { stop, task }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{self, Flag, Sources};

    fn settings(dir: &Path, otlp: &str) -> Settings {
        let set = |name, path, value: &str| Flag {
            name,
            path,
            value: value.to_owned(),
        };
        let flags = vec![
            set(
                "--data-dir",
                &["service", "data_dir"][..],
                &dir.to_string_lossy(),
            ),
            set(
                "--otlp-grpc",
                &["receivers", "otlp", "protocols", "grpc", "endpoint"],
                otlp,
            ),
            set(
                "--otlp-http",
                &["receivers", "otlp", "protocols", "http", "endpoint"],
                "127.0.0.1:0",
            ),
            set("--api", &["service", "api", "endpoint"], "127.0.0.1:0"),
        ];
        let sources = Sources { file: None, flags };
        config::load(&sources).unwrap().settings
    }

    /// Given a daemon that runs, another one says who holds the directory, or which flag sets the address that is taken;
    /// once the first has left, its directory is free.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_taken_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let first = Daemon::start(&settings(dir.path(), "127.0.0.1:0"))
            .await
            .unwrap();
        let held = Daemon::start(&settings(dir.path(), "127.0.0.1:0")).await;
        let held = held.err().unwrap().to_string();
        assert!(
            held.contains("held by another") && held.contains("--data-dir"),
            "{held}"
        );
        let other = tempfile::tempdir().unwrap();
        let taken = Daemon::start(&settings(other.path(), &first.otlp_grpc().to_string())).await;
        let taken = taken.err().unwrap().to_string();
        assert!(
            taken.contains("in use") && taken.contains("--otlp-grpc"),
            "{taken}"
        );
        first.stop().await;
        let again = Daemon::start(&settings(dir.path(), "127.0.0.1:0"))
            .await
            .unwrap();
        again.stop().await;
    }
}
