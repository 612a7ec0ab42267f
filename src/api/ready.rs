//! Shows readiness as `grpc.health.v1`, for the whole server (the empty name) and for each service.

use std::time::Duration;

use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::queries::Api;
use super::runs::RunServer;
use super::warnings::WarningServer;

/// How old the shown readiness may be. Looking is one read of memory.
const LOOK_EVERY: Duration = Duration::from_millis(200);

const SERVICES: [&str; 3] = ["", RunServer::NAME, WarningServer::NAME];

/// Keeps `reporter` true until shutdown, and then ends the watches of health: they would hold up the end of the server.
pub(super) async fn follow(api: Api, mut reporter: HealthReporter) {
    let mut shown = None;
    while !api.shutdown.is_cancelled() {
        let ready = api.not_ready().is_empty();
        if shown != Some(ready) {
            show(&reporter, ready).await;
            shown = Some(ready);
        }
        tokio::select! {
            () = api.shutdown.cancelled() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    show(&reporter, false).await;
    for service in SERVICES {
        reporter.clear_service_status(service).await;
    }
}

async fn show(reporter: &HealthReporter, ready: bool) {
    let status = if ready {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    for service in SERVICES {
        reporter.set_service_status(service, status).await;
    }
}
