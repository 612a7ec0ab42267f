//! Shows readiness as `grpc.health.v1`, for the whole server (the empty name) and for each service.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use super::v1::{guard_service_server, run_service_server, warning_service_server};
use crate::shard::TenantShards;
use crate::store::Store;

/// How old the shown readiness may be. Looking is one read of memory.
const LOOK_EVERY: Duration = Duration::from_millis(200);

const SERVICES: [&str; 4] = [
    "",
    run_service_server::SERVICE_NAME,
    warning_service_server::SERVICE_NAME,
    guard_service_server::SERVICE_NAME,
];

/// All shards, of every tenant: Eddy is ready when all of them are.
#[derive(Clone)]
pub(super) struct Readiness {
    pub(super) tenants: Arc<[TenantShards]>,
    /// Cancelled as soon as nothing is received any more, which is long before questions are answered no more.
    pub(super) stopping: CancellationToken,
    /// Ends the streams. The program holds the other end.
    pub(super) shutdown: CancellationToken,
}

impl Readiness {
    /// Why Eddy is not ready, as somebody is told who may know of one tenant, or of none; empty when it is.
    pub(super) fn not_ready(&self, own: Option<&TenantShards>) -> Vec<Arc<str>> {
        let all = self.tenants.len();
        let waiting = self
            .tenants
            .iter()
            .filter_map(TenantShards::not_ready)
            .count();
        let mut reasons: Vec<_> = own.and_then(TenantShards::not_ready).into_iter().collect();
        let others = waiting.saturating_sub(reasons.len());
        if others > 0 {
            let text = format!(
                "of {all} tenants, {others} cannot take reports; a token of theirs shows why"
            );
            reasons.push(text.into());
        }
        if self.stopping.is_cancelled() {
            reasons.push("Eddy is stopping".into());
        }
        reasons
    }

    fn is_ready(&self) -> bool {
        let all_are = self
            .tenants
            .iter()
            .all(|shards| shards.not_ready().is_none());
        all_are && !self.stopping.is_cancelled()
    }
}

/// What was found when a store was opened, which somebody who looks at readiness should know although all is well.
pub(super) fn note_of(store: &Store) -> Option<String> {
    let missing = store.counters().lost_records;
    let Some(damage) = store.mended() else {
        return (missing > 0).then(|| {
            format!(
                "{missing} records of the journal were damaged or gone, and what they told is lost"
            )
        });
    };
    let (reason, loss) = (&damage.reason, damage.told_loss());
    let Some(aside) = &damage.set_aside else {
        // A directory that has been restored is as it should be.
        let loss = damage.loss.as_ref()?;
        return Some(format!(
            "a database was made from what was there ({reason}); {loss}"
        ));
    };
    let aside = aside.file_name()?.to_string_lossy();
    Some(format!(
        "the database was damaged ({reason}) and lies in `{aside}`; {loss}"
    ))
}

/// Keeps `reporter` at what readiness is until shutdown, and then ends the watches of health: they would hold up the end of the
/// server.
pub(super) async fn follow(readiness: Readiness, mut reporter: HealthReporter) {
    let mut shown = None;
    while !readiness.shutdown.is_cancelled() {
        let ready = readiness.is_ready();
        if shown != Some(ready) {
            show(&reporter, ready).await;
            shown = Some(ready);
        }
        tokio::select! {
            () = readiness.shutdown.cancelled() => {}
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
