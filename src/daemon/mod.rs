//! The daemon: every room, put together and taken apart again.
//!
//! It starts at the far end: addresses are bound first, so that a mistake there costs nothing and senders may already connect;
//! then the store is opened, the shards replay what the journal holds, exporters and the API begin, and only then is
//! telemetry received. Every tenant has a store, shards and exporters of its own (`tenants`), so that nothing of one can
//! be reached from another; what they share is the way in (`listeners`), and what is bounded there. It leaves in the order of
//! `shutdown`. `eddy serve`, `eddy demo` and the end-to-end tests hold one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::api::{self, Metrics};
use crate::config::Settings;
use crate::engine::event::Text;
use crate::engine::policy::Policy;
use crate::export::SettingsError;
use crate::export::forward::{self, Forwards};
use crate::export::traces::Traces;
use crate::files::Fault;
use crate::listener::{Listener, Tenant};
use crate::normalize::Normalizer;
use crate::otlp::Limits;
use crate::receiver::{self, Intake, PassOn, Protocol};
use crate::shard::TenantShards;
use crate::store::StoreError;
use crate::telemetry::DAEMON;

mod listeners;
mod memory;
mod metrics;
mod process;
mod secrets;
pub(crate) mod shutdown;
mod tenants;

use listeners::Listeners;
pub(crate) use listeners::reachable;
use metrics::Sources;
pub(crate) use process::live_with_limits;
use shutdown::{Rooms, Served};
use tenants::shards_of;
pub use tenants::{TENANTS, TenantServices, warn_of_unseen_tenants};

/// How often a running daemon looks for what the log should say.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Largest requests that may be held at the same time, all senders together; what more comes waits at the sender.
const REQUESTS_IN_FLIGHT: usize = 8;

/// A running daemon.
pub struct Daemon {
    rooms: Rooms,
    normalizer: Arc<Normalizer>,
    /// Models without a price that the log has named.
    unpriced: BTreeSet<Text>,
    otlp_grpc: SocketAddr,
    otlp_http: Option<SocketAddr>,
    api: SocketAddr,
    shutdown_deadline: Duration,
    /// What supervises the tenants, and minds the memory.
    keepers: JoinSet<()>,
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
    Access {
        /// The section of the address.
        key: &'static str,
        /// What is wrong.
        fault: Fault,
    },
    /// The store could not be opened.
    #[error("{0}; `--data-dir` or `service.data_dir` sets the directory")]
    Store(#[from] StoreError),
    /// The journal could not be replayed.
    #[error("replaying the journal: {0}")]
    Replay(StoreError),
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

/// Why a daemon stopped by itself: this server of its ended.
#[derive(Debug, thiserror::Error)]
#[error("the {0} ended unexpectedly (see the log)")]
pub struct Broken(&'static str);

impl Daemon {
    /// Starts a daemon. Must be called within a Tokio runtime of several threads.
    ///
    /// # Errors
    /// When an address is taken, the store cannot be opened or read, or an exporter's settings do not work.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        let began = Instant::now();
        let tenants = tenants::named(settings);
        let listeners = Listeners::open(settings, tenants.len()).await?;
        listeners.warn_if_few();
        warn_of_unseen_tenants(settings);
        for file in &settings.secret_files {
            secrets::warn_if_public(file);
        }
        let memory_limit = memory::limit(settings);
        let cache_bytes_max = memory::cache_bytes(memory_limit);
        let tenants = tenants::open(
            settings,
            &tenants,
            &listeners.commands_api(settings),
            cache_bytes_max,
        )
        .await?;
        let forwards = forward::start(settings.forwards.clone())?;
        let traces = settings.own_spans.clone().map(Traces::start).transpose()?;
        let normalizer = Arc::new(Normalizer::with(settings.normalize.clone()));
        let intake = intake(settings, &tenants, Arc::clone(&normalizer), &forwards);
        let otlp_grpc = listeners.grpc.address().unwrap_or(settings.otlp_grpc);
        let otlp_http = listeners.http.as_ref().and_then(|http| http.address().ok());
        let connections = listeners.connections();
        let receiver = serve_otlp(listeners.grpc, listeners.http, &intake, settings);
        let sources = Sources {
            listeners: connections,
            intake: intake.clone(),
            tenants: tenants.clone(),
            forwards: forwards.clone(),
            own_spans: traces.as_ref().map(|traces| traces.queue().clone()),
            memory_limit,
            stopping: receiver.stop.clone(),
            began,
        };
        let mut keepers: JoinSet<()> = tenants
            .values()
            .cloned()
            .map(TenantServices::supervise)
            .collect();
        if let Some(limit) = memory_limit {
            keepers.spawn(memory::mind(limit, intake.clone(), tenants.clone()));
        }
        let daemon = Self {
            otlp_grpc,
            otlp_http,
            api: listeners.api.address().unwrap_or(settings.api),
            shutdown_deadline: settings.shutdown_deadline,
            keepers,
            rooms: Rooms {
                api: serve_api(listeners.api, shards_of(&tenants), sources, settings),
                receiver,
                tenants,
                forwards,
                traces,
            },
            normalizer,
            unpriced: BTreeSet::new(),
        };
        daemon.tell_ready(settings, began);
        Ok(daemon)
    }

    fn tell_ready(&self, settings: &Settings, began: Instant) {
        match self.own().shards().not_ready() {
            None => tracing::info!(
                target: DAEMON,
                otlp_grpc = %self.otlp_grpc,
                otlp_http = self.otlp_http.map(tracing::field::display),
                api = %self.api,
                data_dir = %settings.data_dir.display(),
                profile = settings.policy.profile,
                took_ms = began.elapsed().as_millis() as u64,
                "ready"
            ),
            Some(why) => tracing::warn!(%why, "not ready yet"),
        }
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

    /// What runs for the default tenant.
    #[must_use]
    pub fn own(&self) -> &TenantServices {
        // Every daemon has it, whoever else there is.
        &self.rooms.tenants[&Tenant::default()]
    }

    /// Judges by another policy from the next report on, for every tenant.
    pub async fn set_policy(&self, policy: &Arc<Policy>) {
        // Beside each other: the disk of one may hang.
        let tenants = self.rooms.tenants.values();
        join_all(tenants.map(|services| services.set_policy(policy))).await;
    }

    /// Waits until the daemon cannot go on by itself.
    pub async fn broken(&mut self) -> Broken {
        loop {
            tokio::select! {
                _ = &mut self.rooms.receiver.task => return Broken("receiver"),
                _ = &mut self.rooms.api.task => return Broken("API server"),
                // Without it a store that fails would stay closed, or memory have no limit. None ends by itself.
                Some(_) = self.keepers.join_next() => return Broken("supervisor"),
                () = tokio::time::sleep(LOOK_EVERY) => self.name_unpriced(),
            }
        }
    }

    /// Names each model without a price once.
    fn name_unpriced(&mut self) {
        for (model, _) in self.normalizer.unpriced_models() {
            if !self.unpriced.contains(&model) {
                tracing::warn!(
                    target: DAEMON,
                    model = &*model,
                    "no price is known of this model, so its cost is missing; `normalize.prices_file` may give one"
                );
                self.unpriced.insert(model);
            }
        }
    }

    /// Leaves in good order, within the time that the settings allow.
    pub async fn stop(mut self) {
        // From now on no tenant is started anew.
        self.keepers.shutdown().await;
        shutdown::leave(self.rooms, self.shutdown_deadline).await;
    }
}

fn intake(
    settings: &Settings,
    tenants: &BTreeMap<Tenant, TenantServices>,
    normalizer: Arc<Normalizer>,
    forwards: &Forwards,
) -> Intake {
    let largest = settings
        .otlp_grpc_bytes_max
        .max(settings.otlp_http_bytes_max);
    let forwards = Some(forwards.clone()).filter(|forwards| !forwards.is_empty());
    Intake::new(
        normalizer,
        shards_of(tenants),
        Limits::default(),
        largest.saturating_mul(REQUESTS_IN_FLIGHT),
        forwards.map(|forwards| -> PassOn {
            Box::new(move |signal, request| forwards.pass(signal, request))
        }),
    )
}

/// Serves both transports. When one ends, whatever the reason, the other is told to.
fn serve_otlp(
    grpc: Listener,
    http: Option<Listener>,
    intake: &Intake,
    settings: &Settings,
) -> Served {
    let stop = CancellationToken::new();
    let serve = |protocol, listener, message_bytes_max| {
        let limits = receiver::Settings {
            message_bytes_max,
            shutdown_grace: settings.shutdown_deadline / 4,
            cors: settings.otlp_http_cors.clone(),
            ..receiver::Settings::default()
        };
        let serving = receiver::serve(protocol, listener, intake.clone(), limits, stop.clone());
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

fn serve_api(
    listener: Listener,
    tenants: BTreeMap<Tenant, TenantShards>,
    sources: Sources,
    settings: &Settings,
) -> Served {
    let stop = CancellationToken::new();
    let stopping = sources.stopping.clone();
    let metrics: Metrics = Arc::new(move |tenant| sources.page(tenant));
    let settings = api::Settings {
        show_arguments: settings.show_arguments,
        reflection: settings.reflection,
        ..api::Settings::default()
    };
    let serving = api::serve(listener, tenants, metrics, settings, stopping, stop.clone());
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
        let mut sources = Sources::apart(dir);
        sources.flags.push(Flag {
            name: "--otlp-grpc",
            path: &["receivers", "otlp", "protocols", "grpc", "endpoint"],
            value: otlp.to_owned(),
        });
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

    /// Given a server that ends by itself, the daemon says which, and leaves in good order all the same.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_ends_is_left_behind() {
        for broken in ["receiver", "API server"] {
            let dir = tempfile::tempdir().unwrap();
            let settings = settings(dir.path(), "127.0.0.1:0");
            let mut daemon = Daemon::start(&settings).await.unwrap();
            match broken {
                "receiver" => daemon.rooms.receiver.task.abort(),
                _ => daemon.rooms.api.task.abort(),
            }
            assert!(daemon.broken().await.to_string().contains(broken));
            daemon.stop().await;
            Daemon::start(&settings).await.unwrap().stop().await;
        }
    }
}
