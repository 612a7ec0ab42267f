//! Shows readiness as `grpc.health.v1`, for the whole server (the empty name) and for each service.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::runs::RunServer;
use super::verdicts::GuardServer;
use super::warnings::WarningServer;
use crate::shard::Seat;
use crate::store::Store;

/// How old the shown readiness may be. Looking is one read of memory.
const LOOK_EVERY: Duration = Duration::from_millis(200);

const SERVICES: [&str; 4] = ["", RunServer::NAME, WarningServer::NAME, GuardServer::NAME];

/// All shards, of every tenant: Eddy is ready when all of them are.
#[derive(Clone)]
pub(super) struct Everyone {
    pub(super) seats: Arc<[Seat]>,
    /// Ends the streams. The program holds the other end.
    pub(super) shutdown: CancellationToken,
}

impl Everyone {
    /// Why Eddy is not ready; empty when it is.
    pub(super) fn not_ready(&self) -> Vec<Arc<str>> {
        let mut reasons: Vec<_> = self.seats.iter().filter_map(Seat::not_ready).collect();
        if self.shutdown.is_cancelled() {
            reasons.push("Eddy is stopping".into());
        }
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }

    /// What somebody who looks at readiness should know although all is well.
    pub(super) fn notes(&self) -> Vec<String> {
        let shards = self.seats.iter().flat_map(Seat::shards);
        let notes = shards.filter_map(|shards| note_of(shards.store()));
        notes.collect()
    }
}

/// What was found when a store was opened.
fn note_of(store: &Store) -> Option<String> {
    let missing = store.counters().lost_records;
    let Some(damage) = store.mended() else {
        return (missing > 0).then(|| {
            format!("{missing} records of the journal were damaged, and what they told is lost")
        });
    };
    let aside = damage.set_aside.as_ref()?.file_name()?.to_string_lossy();
    let (reason, loss) = (&damage.reason, &damage.loss);
    Some(format!(
        "the database was damaged ({reason}) and lies in `{aside}`; {loss}"
    ))
}

/// Keeps `reporter` true until shutdown, and then ends the watches of health: they would hold up the end of the server.
pub(super) async fn follow(everyone: Everyone, mut reporter: HealthReporter) {
    let mut shown = None;
    while !everyone.shutdown.is_cancelled() {
        let ready = everyone.not_ready().is_empty();
        if shown != Some(ready) {
            show(&reporter, ready).await;
            shown = Some(ready);
        }
        tokio::select! {
            () = everyone.shutdown.cancelled() => {}
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
