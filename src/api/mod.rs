//! The address on which Eddy tells what it knows: gRPC (`eddy.v1`) and JSON over HTTP, on one port.
//!
//! Both ask the same few questions (`queries`): one run, pages of runs, a run as it changes, and the tail of the log of
//! alerts (`tail`). `runs` and `warnings` answer them over gRPC, with values turned into protobuf in `convert`;
//! `http` answers them in the JSON of [`crate::json`], `parameters` reads what stands in an address, and `grpc` sees who
//! speaks another language. What cannot be answered is an `error`, worded once. Readiness (`ready`) is shown as
//! `grpc.health.v1` and as `/readyz`; where it is switched on, the services themselves as `grpc.reflection` (`reflection`).
//!
//! How much may be asked at once is bounded before anything else (`admission`), and the deadlines of gRPC are kept around all of
//! it (`deadline`).
//!
//! What an agent asks and tells before and after a tool call goes to the shards' guard (`verdicts`, `verdicts_http`).
//!
//! Answers show committed state only, but for the guard's, which come from memory. Deliberately absent: decisions, and any
//! state of a client but the cursor of a tail, so that a client, however slow, costs no shard anything.
//!
//! The manual of the gRPC side is `proto/eddy/v1/`, that of the HTTP side `docs/api.md`.

mod admission;
mod convert;
mod deadline;
mod error;
mod gate;
mod grpc;
mod http;
mod page;
mod parameters;
mod queries;
mod ready;
mod reflection;
mod runs;
mod tail;
#[cfg(test)]
mod tests;
mod token;
pub mod v1;
mod verdicts;
mod verdicts_http;
mod warnings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tower::layer::layer_fn;

use crate::listener::{Listener, Tenant};
use crate::shard::TenantShards;

pub use admission::REFUSED;
pub(crate) use verdicts::VALUE_BYTES_MAX;

use admission::Admission;
use queries::Api;
use ready::Readiness;
use v1::run_service_server::RunServiceServer;
use v1::warning_service_server::WarningServiceServer;

/// How long a connection may be silent before it is probed, so that a client that vanished does not hold its stream.
const PROBE_AFTER: Duration = Duration::from_secs(30);

/// Questions and streams on one connection. As many may be taken back at a time before any was looked at: more than that is
/// "rapid reset", and the connection is closed, with all the tails and sessions on it.
const STREAMS_PER_CONNECTION_MAX: u32 = 200;

/// Largest request of a gRPC client but to the guard, in bytes. The longest are filters with an id and a few names.
const QUESTION_BYTES_MAX: usize = 64 << 10;

/// How the address behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Explanations show redacted samples of arguments.
    pub show_arguments: bool,
    /// Clients of gRPC may ask which services and messages there are.
    pub reflection: bool,
    /// How many alerts a tailing client, once it has caught up, may fall behind before it is moved to the present.
    pub tail_lag_max: u64,
    /// Most tails, watches, sessions and reflections of a tenant open at a time, over gRPC and HTTP together. One costs up to about
    /// 100 KiB while its client is slow. As many may watch over gRPC whether Eddy is ready.
    pub streams_max: usize,
    /// Most questions under way, of all tenants, streams apart: from their headers to the end of their answers.
    pub questions_max: usize,
    /// How many of them may be for pages of runs or warnings. A page of a thousand takes a mebibyte and more, and a shard some
    /// milliseconds in which it does nothing else.
    pub pages_max: usize,
    /// Most bytes of questions that have not all arrived, of all tenants: eight of the largest at a time, and many that are as
    /// long as questions are.
    pub arriving_bytes_max: usize,
    /// Longest time for a question to arrive.
    pub arrival_max: Duration,
    /// How often a quiet server-sent stream carries a comment, so that proxies between do not close it.
    pub keep_alive: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            show_arguments: false,
            reflection: false,
            tail_lag_max: 10_000,
            streams_max: 500,
            questions_max: 2_048,
            pages_max: 16,
            arriving_bytes_max: 32 << 20,
            arrival_max: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
        }
    }
}

/// Writes the page of metrics that may be shown with a tenant's token.
pub type Metrics = Arc<dyn Fn(&Tenant) -> String + Send + Sync>;

/// Serves at the listener until `shutdown`, then takes no new connection, ends the streams, and resolves when the answers
/// that are under way have been taken. A client that does not take its answer holds this up: put a deadline around it. From
/// `stopping` on, which comes before that, Eddy is not ready.
///
/// Each tenant has its own copy of everything that can be asked, over its own shards; the gate leads a request to the copy
/// of its credential's tenant, so that no question can reach another's runs.
pub async fn serve(
    listener: Listener,
    tenants: BTreeMap<Tenant, TenantShards>,
    metrics: Metrics,
    settings: Settings,
    stopping: CancellationToken,
    shutdown: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let (reporter, health) = tonic_health::server::health_reporter();
    let readiness = Readiness {
        tenants: tenants.values().cloned().collect(),
        stopping,
        shutdown: shutdown.clone(),
    };
    let reflection = settings.reflection.then(reflection::service);
    let routes = tenants.into_iter().map(|(tenant, shards)| {
        let api = Api::new(shards, settings.clone(), readiness.clone());
        let grpc = Routes::new(health.clone())
            .add_service(
                RunServiceServer::new(api.clone()).max_decoding_message_size(QUESTION_BYTES_MAX),
            )
            .add_service(
                WarningServiceServer::new(api.clone())
                    .max_decoding_message_size(QUESTION_BYTES_MAX),
            )
            .add_service(verdicts::server(api.clone()));
        let mut services = grpc.into_axum_router();
        if let Some(reflection) = reflection.clone() {
            services = services.merge(reflection::bounded(reflection, api.clone()));
        }
        let page = {
            let (metrics, tenant) = (Arc::clone(&metrics), tenant.clone());
            move || metrics(&tenant)
        };
        (tenant, http::add_routes(services, api, page))
    });
    let routes = gate::add(routes.collect(), &listener);
    let routes = Admission::new(&settings, listener.tokens().clone()).around(routes);
    let (connections, watch) = listener.open();
    let serving = Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .http2_max_pending_accept_reset_streams(Some(STREAMS_PER_CONNECTION_MAX as usize))
        .http2_keepalive_interval(Some(PROBE_AFTER))
        .layer(layer_fn(deadline::keep))
        .add_routes(Routes::from(routes))
        .serve_with_incoming_shutdown(connections, shutdown.cancelled());
    let served = async { tokio::join!(serving, ready::follow(readiness, reporter)).0 };
    tokio::select! {
        served = served => served,
        () = watch => Ok(()),
    }
}
