//! The tenants' houses: a store, shards and exporters for each, so that nothing of one can be reached from another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::StartError;
use crate::config::{self, Settings};
use crate::door::Tenant;
use crate::engine::policy::Policy;
use crate::export::{self, ExporterSettings, Exporters};
use crate::shard::{self, Seat, Shards};
use crate::store::{self, Durability, Store};

/// The directory, within the data directory, that has one for each tenant with a name.
const TENANTS: &str = "tenants";

/// Least memory that a store keeps its newest pages in.
const CACHE_BYTES_MIN: u64 = 4 << 20;

/// Where the data of one tenant is at home. Clones share it.
#[derive(Clone)]
pub struct House {
    tenant: Tenant,
    seat: Seat,
    exporters: Arc<Mutex<Exporters>>,
}

/// What a house is made of.
struct Plan {
    tenant: Tenant,
    dir: PathBuf,
    store: store::Options,
    shards: shard::Settings,
    exporters: Vec<ExporterSettings>,
    policy: Arc<Policy>,
}

impl House {
    /// Where its shards are found.
    #[must_use]
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Whose it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// Its exporters.
    #[must_use]
    pub fn exporters(&self) -> Exporters {
        let exporters = self.exporters.lock();
        exporters.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A house for each tenant that a token names, and for the default one, which comes first: its directory holds the others.
pub(super) async fn open(settings: &Settings) -> Result<BTreeMap<Tenant, House>, StartError> {
    let locks = [
        &settings.otlp_grpc_lock,
        &settings.otlp_http_lock,
        &settings.api_lock,
    ];
    let credentials = locks.iter().flat_map(|lock| &lock.tokens);
    let mut tenants: BTreeSet<Tenant> = credentials.map(|one| one.tenant.clone()).collect();
    tenants.insert(Tenant::default());
    let mut houses = BTreeMap::new();
    for tenant in &tenants {
        let plan = Plan::of(settings, tenant, tenants.len());
        houses.insert(tenant.clone(), plan.open().await?);
    }
    Ok(houses)
}

/// Where each tenant's shards are found.
pub(super) fn seats(houses: &BTreeMap<Tenant, House>) -> BTreeMap<Tenant, Seat> {
    let seats = houses.iter();
    seats
        .map(|(tenant, house)| (tenant.clone(), house.seat.clone()))
        .collect()
}

impl Plan {
    /// The plan for one tenant among so many: they share the memory that one would have.
    fn of(settings: &Settings, tenant: &Tenant, of: usize) -> Self {
        let mut exporters = settings.exporters.clone();
        for exporter in &mut exporters {
            tenant.name().clone_into(&mut exporter.tenant);
        }
        let defaults = store::Options::default();
        Self {
            tenant: tenant.clone(),
            dir: match tenant.name() {
                "" => settings.data_dir.clone(),
                name => settings.data_dir.join(TENANTS).join(name),
            },
            store: store::Options {
                durability: match settings.durability {
                    config::Durability::Power => Durability::Power,
                    config::Durability::Process => Durability::Process,
                },
                cache_bytes: (defaults.cache_bytes / of as u64).max(CACHE_BYTES_MIN),
                ..defaults
            },
            shards: of_shards(settings, of),
            exporters,
            policy: Arc::clone(&settings.policy),
        }
    }

    async fn open(self) -> Result<House, StartError> {
        let (shards, exporters) = self.furnish().await?;
        Ok(House {
            tenant: self.tenant,
            seat: shards.into(),
            exporters: Arc::new(Mutex::new(exporters)),
        })
    }

    async fn furnish(&self) -> Result<(Shards, Exporters), StartError> {
        let store = self.open_store().await?;
        let policy = Arc::clone(&self.policy);
        let shards = Shards::start(store.clone(), policy, self.shards.clone()).await?;
        let exporters = export::start(store, self.exporters.clone(), &CancellationToken::new())?;
        Ok((shards, exporters))
    }

    async fn open_store(&self) -> Result<Store, StartError> {
        let (dir, options) = (self.dir.clone(), self.store.clone());
        let opening = tokio::task::spawn_blocking(move || Store::open(&dir, &options));
        let opened = opening.await.map_err(|error| StartError::Opening {
            dir: self.dir.clone(),
            problem: error.to_string(),
        })?;
        Ok(opened?)
    }
}

fn of_shards(settings: &Settings, of: usize) -> shard::Settings {
    let defaults = shard::Settings::default();
    let resident_runs = usize::try_from(settings.resident_runs_max).unwrap_or(usize::MAX);
    shard::Settings {
        shards: settings.shards.unwrap_or(defaults.shards),
        resident_runs_max: resident_runs.div_ceil(of),
        idle: settings.idle,
        retention_age: settings.retention_age,
        retention_runs: settings.retention_runs,
        ..defaults
    }
}
