//! The tenants' houses: a store, shards and exporters for each, so that nothing of one can be reached from another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::StartError;
use crate::config::{Durability, Settings};
use crate::door::Tenant;
use crate::export;
use crate::shard::{self, Shards};
use crate::shutdown::House;
use crate::store::{self, Store};

/// The directory, within the data directory, that has one for each tenant with a name.
const TENANTS: &str = "tenants";

/// Least memory that a store keeps its newest pages in.
const CACHE_BYTES_MIN: u64 = 4 << 20;

/// A house for each tenant that a token names, and for the default one, which comes first: its directory holds the others.
pub(super) async fn houses(settings: &Settings) -> Result<BTreeMap<Tenant, House>, StartError> {
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
        let house = house(settings, tenant, tenants.len()).await?;
        houses.insert(tenant.clone(), house);
    }
    Ok(houses)
}

/// The house of one tenant among so many.
async fn house(settings: &Settings, tenant: &Tenant, of: usize) -> Result<House, StartError> {
    let dir = match tenant.name() {
        "" => settings.data_dir.clone(),
        name => settings.data_dir.join(TENANTS).join(name),
    };
    let store = open(dir, settings.durability, of).await?;
    let shards = Shards::start(
        store.clone(),
        Arc::clone(&settings.policy),
        of_shards(settings, of),
    )
    .await?;
    let mut exporters = settings.exporters.clone();
    for exporter in &mut exporters {
        tenant.name().clone_into(&mut exporter.tenant);
    }
    let exporters = export::start(store, exporters, &CancellationToken::new())?;
    Ok(House { shards, exporters })
}

pub(super) fn shards(houses: &BTreeMap<Tenant, House>) -> BTreeMap<Tenant, Shards> {
    let shards = houses.iter();
    shards
        .map(|(tenant, house)| (tenant.clone(), house.shards.clone()))
        .collect()
}

/// Opens one of so many stores; they share the memory that one would have.
async fn open(dir: PathBuf, durability: Durability, of: usize) -> Result<Store, StartError> {
    let defaults = store::Options::default();
    let options = store::Options {
        durability: match durability {
            Durability::Power => store::Durability::Power,
            Durability::Process => store::Durability::Process,
        },
        cache_bytes: (defaults.cache_bytes / of as u64).max(CACHE_BYTES_MIN),
        ..defaults
    };
    let opened = dir.clone();
    let opening = tokio::task::spawn_blocking(move || Store::open(&opened, &options));
    let opened = opening.await.map_err(|error| StartError::Opening {
        dir,
        problem: error.to_string(),
    })?;
    Ok(opened?)
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
