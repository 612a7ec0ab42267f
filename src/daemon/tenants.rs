//! What runs for each tenant: a store, shards and exporters, so that nothing of one tenant can be reached from another.
//!
//! Where a store fails, all that runs over it is ended and started anew ([`TenantServices::supervise`]), while the listeners stay
//! open: senders are told to try again, liveness holds, readiness says why not. So a disk that is full, broken or read-only for a
//! while is the same as a crash, which is what the journal is for. Exporters alone are made once: their receivers have nothing to
//! do with the disk, and the files by which they are reached need not be there any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::StartError;
use crate::config::{self, Settings};
use crate::engine::policy::Policy;
use crate::export::{self, Exporter, ExporterSettings, Exporters};
use crate::listener::Tenant;
use crate::shard::{self, Shards, TenantShards};
use crate::store::{self, Durability, Store, StoreError};
use crate::telemetry::Counter;

/// The directory, within the data directory, that has one for each tenant with a name.
pub const TENANTS: &str = "tenants";

/// How often it is seen whether a tenant's store is well.
const WATCH_EVERY: Duration = Duration::from_millis(200);

/// Looks from one count of what its files take to the next: five seconds.
const LOOKS_A_SIZE: u64 = 25;

/// How long to wait before a store that could not be opened is opened again.
const REOPEN_EVERY: Duration = Duration::from_secs(1);

/// Disk that all stores together hold back.
const RESERVE_BYTES: u64 = 8 << 20;

/// Least memory that a store keeps its newest pages in.
const CACHE_BYTES_MIN: u64 = 4 << 20;

/// What runs for one tenant. Clones share it.
#[derive(Clone)]
pub struct TenantServices {
    shards: TenantShards,
    /// None while there are no shards.
    exporters: Arc<Mutex<Option<Exporters>>>,
    plan: Arc<Plan>,
    /// There was a store when the daemon started, though its disk may have been in the way.
    had_store: bool,
    /// How often a store that had failed was opened anew.
    reopened: Arc<Counter>,
}

/// From what it is started, at first and after a failure.
struct Plan {
    tenant: Tenant,
    dir: PathBuf,
    store: store::Options,
    shards: shard::Settings,
    exporters: Arc<[Exporter]>,
    /// Changes when the configuration is read again.
    policy: Mutex<Arc<Policy>>,
}

impl TenantServices {
    /// Its shards, also where there are none just now.
    #[must_use]
    pub fn shards(&self) -> &TenantShards {
        &self.shards
    }

    /// Whose it is.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.plan.tenant
    }

    /// Its exporters, while there are any.
    #[must_use]
    pub fn exporters(&self) -> Option<Exporters> {
        self.current_exporters().clone()
    }

    /// Judges by another policy from the next report on. A store that does not take it has failed: no report is judged before it
    /// has been opened anew, with this policy.
    pub(super) async fn set_policy(&self, policy: &Arc<Policy>) {
        self.plan.current_policy().clone_from(policy);
        let Ok(shards) = self.shards.current() else {
            return;
        };
        if let Err(error) = shards.set_policy(policy).await {
            tracing::warn!(
                tenant = self.tenant().name(),
                %error,
                "the changed configuration counts when the store has been opened anew"
            );
        }
    }

    /// How often its store was opened anew, since it had failed.
    #[must_use]
    pub fn reopened(&self) -> u64 {
        self.reopened.value()
    }

    fn current_exporters(&self) -> MutexGuard<'_, Option<Exporters>> {
        let exporters = self.exporters.lock();
        exporters.unwrap_or_else(PoisonError::into_inner)
    }

    /// Supervises it for ever: where its store has failed, everything over it is given up, as if the process had been
    /// killed, and begun anew as soon as the store can be opened. What was acknowledged is in the journal; what was not,
    /// senders send again.
    pub(super) async fn supervise(self) {
        let mut last = String::new();
        let mut had_store = self.had_store;
        let mut has_failed = false;
        for look in 1_u64.. {
            tokio::time::sleep(WATCH_EVERY).await;
            match self.shards.current() {
                Ok(shards) if is_well(&shards, look).await => continue,
                Ok(shards) => {
                    has_failed = true;
                    self.give_up(shards).await;
                }
                Err(_) => {}
            }
            match self.plan.start_again(had_store).await {
                Ok((shards, exporters)) => {
                    had_store = true;
                    *self.current_exporters() = Some(exporters);
                    self.shards.set(shards.clone());
                    self.catch_up(&shards).await;
                    self.tell_opened(has_failed);
                    last.clear();
                }
                Err(error) => {
                    let text = error.to_string();
                    if text != last {
                        tracing::error!(
                            tenant = self.tenant().name(),
                            error = text,
                            "the store cannot be opened; senders are told to try again, and so does Eddy"
                        );
                    }
                    last = text;
                    tokio::time::sleep(REOPEN_EVERY).await;
                }
            }
        }
    }

    /// Says that the store takes writes, and counts where it had before. One that was not there when the daemon started is opened
    /// for the first time.
    fn tell_opened(&self, has_failed: bool) {
        let tenant = self.tenant().name();
        if has_failed {
            self.reopened.add(1);
            tracing::info!(tenant, "the store takes writes again");
        } else {
            tracing::info!(tenant, "the store has been opened, and takes writes");
        }
    }

    /// Has shards judge by the newest policy, which may have changed while their store was opened, and may again meanwhile.
    async fn catch_up(&self, shards: &Shards) {
        let newest = || self.plan.current_policy().clone();
        let mut policy = newest();
        loop {
            if let Err(error) = shards.set_policy(&policy).await {
                tracing::warn!(%error, "the policy of before stays");
                return;
            }
            let known = std::mem::replace(&mut policy, newest());
            if Arc::ptr_eq(&known, &policy) {
                return;
            }
        }
    }

    async fn give_up(&self, shards: Shards) {
        let failure = shards.store().failure();
        let why = failure.map_or("a shard has ended".to_owned(), |failure| {
            failure.to_string()
        });
        tracing::error!(
            tenant = self.tenant().name(),
            why,
            "the store is given up and opened anew"
        );
        self.shards.abandon(&without_paths(&why, &self.plan.dir));
        drop(shards);
        let exporters = self.current_exporters().take();
        if let Some(exporters) = exporters {
            exporters.stop().await;
        }
    }
}

/// A reason as everybody may read it, who needs no token for that: files are named as they are called within the data directory.
fn without_paths(why: &str, data_dir: &Path) -> String {
    let data_dir = data_dir.to_string_lossy();
    let data_dir = data_dir.trim_end_matches('/');
    let is_around = |sign: char| sign.is_whitespace() || "`'\"():,;".contains(sign);
    let mut told = String::with_capacity(why.len());
    let mut rest = why;
    while let Some(at) = rest.find(data_dir).filter(|_| !data_dir.is_empty()) {
        let (before, from) = rest.split_at(at);
        let behind = &from[data_dir.len()..];
        told.push_str(before);
        // A short name may be a part of any word.
        let begins = told.chars().next_back().is_none_or(is_around);
        if begins && let Some(within) = behind.strip_prefix('/') {
            rest = within;
        } else if begins && behind.chars().next().is_none_or(is_around) {
            told.push_str("the data directory");
            rest = behind;
        } else {
            told.push_str(data_dir);
            rest = behind;
        }
    }
    told + rest
}

/// Whether shards take reports, and their store is where it was. Some of the looks see how large it has become, for metrics:
/// whoever asks for these must not wait for the disk.
async fn is_well(shards: &Shards, look: u64) -> bool {
    let store = shards.store().clone();
    // Who looks waits for the disk.
    let looked = tokio::task::spawn_blocking(move || {
        store.look();
        if look.is_multiple_of(LOOKS_A_SIZE) {
            store.measure();
        }
        store.failure().is_none()
    });
    shards.is_ready() && looked.await.unwrap_or(true)
}

/// Each tenant that a token names, and the default one, which comes first: its directory holds the others.
pub(super) fn named(settings: &Settings) -> BTreeSet<Tenant> {
    let accesses = [
        &settings.otlp_grpc_access,
        &settings.otlp_http_access,
        &settings.api_access,
    ];
    let credentials = accesses.iter().flat_map(|access| &access.tokens);
    let mut tenants: BTreeSet<Tenant> = credentials.map(|one| one.tenant.clone()).collect();
    tenants.insert(Tenant::default());
    tenants
}

/// Warns of tenants that may send and that nobody can ask for.
pub fn warn_of_unseen_tenants(settings: &Settings) {
    for unseen in settings.unseen_tenants() {
        let tenant = match unseen.name() {
            "" => "the default one",
            name => name,
        };
        tracing::warn!(
            tenant,
            "this tenant may send, and no token of the API is of it, so that nobody can ask for its runs and warnings: name one in \
             `service.api.auth.tokens`"
        );
    }
}

/// Starts these.
pub(super) async fn open(
    settings: &Settings,
    tenants: &BTreeSet<Tenant>,
    api: &str,
    cache_bytes_max: u64,
) -> Result<BTreeMap<Tenant, TenantServices>, StartError> {
    let mut services = BTreeMap::new();
    for tenant in tenants {
        let exporters = export::make(exporters_of(settings, tenant, api))?;
        let plan = Plan::of(settings, tenant, exporters, tenants.len(), cache_bytes_max);
        services.insert(tenant.clone(), plan.open().await?);
    }
    Ok(services)
}

/// Each tenant's shards.
pub(super) fn shards_of(
    services: &BTreeMap<Tenant, TenantServices>,
) -> BTreeMap<Tenant, TenantShards> {
    let services = services.iter();
    services
        .map(|(tenant, services)| (tenant.clone(), services.shards.clone()))
        .collect()
}

impl Plan {
    /// The plan for one tenant among so many: they share the memory that one would have.
    fn of(
        settings: &Settings,
        tenant: &Tenant,
        exporters: Arc<[Exporter]>,
        of: usize,
        cache_bytes_max: u64,
    ) -> Self {
        let defaults = store::Options::default();
        let cache_bytes = defaults.cache_bytes.min(cache_bytes_max);
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
                cache_bytes: (cache_bytes / of as u64).max(CACHE_BYTES_MIN),
                snapshot_every: Some(settings.snapshot_interval),
                reserve_bytes: RESERVE_BYTES / of as u64,
                ..defaults
            },
            shards: of_shards(settings, of),
            exporters,
            policy: Mutex::new(Arc::clone(&settings.policy)),
        }
    }

    /// Starts it, without shards where only the disk is in the way.
    async fn open(self) -> Result<TenantServices, StartError> {
        let (shards, exporters) = match self.start().await {
            Ok((shards, exporters)) => (shards.into(), Some(exporters)),
            Err(StartError::Store(error) | StartError::Replay(error))
                if error.is_disk_trouble() =>
            {
                tracing::error!(%error, "started without a store; it is opened as soon as its disk is well");
                let why = without_paths(&error.to_string(), &self.dir);
                (TenantShards::unavailable(&why), None)
            }
            Err(error) => return Err(error),
        };
        Ok(TenantServices {
            shards,
            exporters: Arc::new(Mutex::new(exporters)),
            had_store: Store::is_in(&self.dir),
            plan: Arc::new(self),
            reopened: Arc::default(),
        })
    }

    /// Where there was a store it is waited for: its disk may not be mounted just now, and in a new one nothing would be found.
    async fn start_again(&self, had_store: bool) -> Result<(Shards, Exporters), StartError> {
        let is_there = async || {
            let dir = self.dir.clone();
            // It may hang.
            let looking = tokio::task::spawn_blocking(move || Store::is_in(&dir));
            looking.await.unwrap_or(true)
        };
        if had_store && !is_there().await {
            return Err(StartError::Opening {
                dir: self.dir.clone(),
                problem: "it is not there any more; is the disk mounted?".to_owned(),
            });
        }
        self.start().await
    }

    async fn start(&self) -> Result<(Shards, Exporters), StartError> {
        match self.start_once().await {
            // It was found while the store was read, and the next opening mends it.
            Err(
                StartError::Store(StoreError::Damaged { .. })
                | StartError::Replay(StoreError::Damaged { .. }),
            ) => self.start_once().await,
            started => started,
        }
    }

    async fn start_once(&self) -> Result<(Shards, Exporters), StartError> {
        let store = self.open_store().await?;
        let policy = self.current_policy().clone();
        let shards = Shards::start(store.clone(), policy, self.shards.clone()).await;
        let shards = shards.map_err(StartError::Replay)?;
        // The first cursor of a new exporter is brought to the disk.
        let exporters = Arc::clone(&self.exporters);
        let starting = move || export::start(store, exporters, &CancellationToken::new());
        let started = tokio::task::spawn_blocking(starting).await;
        let exporters = started.map_err(|error| self.not_opened(&error))??;
        exporters.tell_verdicts(|| shards.verdicts());
        Ok((shards, exporters))
    }

    fn current_policy(&self) -> MutexGuard<'_, Arc<Policy>> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn not_opened(&self, error: &JoinError) -> StartError {
        StartError::Opening {
            dir: self.dir.clone(),
            problem: error.to_string(),
        }
    }

    async fn open_store(&self) -> Result<Store, StartError> {
        let (dir, options) = (self.dir.clone(), self.store.clone());
        let opening = tokio::task::spawn_blocking(move || Store::open(&dir, &options));
        let opened = opening.await.map_err(|error| self.not_opened(&error))?;
        Ok(opened?)
    }
}

/// Each tenant has exporters of its own, as it has a log of alerts.
fn exporters_of(settings: &Settings, tenant: &Tenant, api: &str) -> Vec<ExporterSettings> {
    let of_tenant = settings.exporters.iter().cloned();
    let of_tenant = of_tenant.map(|exporter| ExporterSettings {
        tenant: tenant.name().to_owned(),
        api: api.to_owned(),
        ..exporter
    });
    of_tenant.collect()
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::thread;
    use std::time::Instant;

    use futures_util::FutureExt;

    use super::*;
    use crate::config::Sources;

    /// Given a store that cannot be opened when the daemon starts, its first opening counts for no reopening; that after a failure,
    /// as when its directory is away for a while, does.
    #[tokio::test]
    async fn the_first_opening_is_none_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (home, away) = (dir.path().join("home"), dir.path().join("away"));
        let settings = config::load(&Sources::apart(&home)).unwrap().settings;
        let exporters = export::make(Vec::new()).unwrap();
        let plan = Plan::of(&settings, &Tenant::default(), exporters, 1, u64::MAX);
        let services = TenantServices {
            shards: TenantShards::unavailable("its disk is not there yet"),
            exporters: Arc::default(),
            had_store: false,
            plan: Arc::new(plan),
            reopened: Arc::default(),
        };
        let supervising = tokio::spawn(services.clone().supervise());
        let waited_for = async |is_open: bool| {
            let begun = Instant::now();
            while services.shards.current().is_ok() != is_open {
                assert!(begun.elapsed() < Duration::from_secs(60), "{is_open}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        waited_for(true).await;
        assert_eq!(services.reopened(), 0);
        std::fs::rename(&home, &away).unwrap();
        waited_for(false).await;
        std::fs::rename(&away, &home).unwrap();
        waited_for(true).await;
        while services.reopened() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(services.reopened(), 1);
        supervising.abort();
    }

    /// Given a reason that names files in the data directory, however that is called, they are named without it, and no word is
    /// spoilt that its name is a part of.
    #[test]
    fn reasons_name_no_directory() {
        for (dir, why, expected) in [
            ("/a/b", "cannot lock /a/b/LOCK: no", "cannot lock LOCK: no"),
            (
                "/a/b/",
                "the store in /a/b is damaged",
                "the store in the data directory is damaged",
            ),
            (
                "/a/b",
                "cannot read `/a/b`: /a/bc/d",
                "cannot read `the data directory`: /a/bc/d",
            ),
            (
                "o",
                "cannot lock o/LOCK (os error 30)",
                "cannot lock LOCK (os error 30)",
            ),
            (
                "data",
                "the database in data: no data/x",
                "the database in the data directory: no x",
            ),
            (".", "cannot open ./store. No.", "cannot open store. No."),
            ("/", "cannot open /store", "cannot open /store"),
        ] {
            assert_eq!(without_paths(why, Path::new(dir)), expected, "{dir}");
        }
    }

    /// Given a store on a disk that hangs, whoever opens it anew keeps no thread from others: here the test would have none.
    #[tokio::test]
    async fn a_disk_that_hangs_is_waited_for_aside() {
        let dir = tempfile::tempdir().unwrap();
        let settings = config::load(&Sources::apart(dir.path())).unwrap().settings;
        let exporters = export::make(Vec::new()).unwrap();
        let plan = Plan::of(&settings, &Tenant::default(), exporters, 1, u64::MAX);
        // Who has left the directory a moment ago, and still has its lock, is waited for.
        std::fs::create_dir_all(&plan.dir).unwrap();
        let lock = plan.dir.join("LOCK");
        std::fs::write(&lock, format!("pid {}\n", std::process::id())).unwrap();
        let held = File::open(lock).unwrap();
        held.lock().unwrap();
        let holding = thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            drop(held);
        });
        let starting = Box::pin(plan.start_again(false));
        assert!(starting.now_or_never().is_none());
        assert!(!holding.is_finished(), "it was waited for");
        holding.join().unwrap();
    }
}
