//! From a shape to settings on which the rest of the daemon may rely.
//!
//! What a type cannot say is said here and in the files beside it: ranges, what excludes what, that nothing listens to the
//! network by accident without asking who is there (`listeners`), and what rules and the guard need (`policy`). Files that hold
//! secrets are read here too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Settings;
use super::checker::Checker;
use super::environment::Lookup;
use super::listeners::listeners;
use super::shape::{Protocols, Shape};
use super::tree::Node;
use super::values::MemoryLimit;
use crate::engine::policy::Policy;
use crate::normalize;

/// Checks a shape. Where something is wrong, the settings that come back are not to be used.
pub(super) fn settings(
    shape: &Shape,
    policy: Policy,
    lookup: Lookup<'_>,
    check: &mut Checker<'_>,
) -> Settings {
    let listeners = listeners(shape, check);
    let Protocols { grpc, http } = &shape.receivers.otlp.protocols;
    let (exporters, forwards) = super::exporters::settings(&shape.exporters, check);
    super::exporters::refuse_own_addresses(shape, &listeners, check);
    let data_dir = data_dir(shape, lookup, check);
    super::exporters::refuse_taken_files(&shape.exporters, &data_dir, check);
    let own_spans = super::exporters::own_spans(&shape.service.telemetry.traces, check);
    let settings = Settings {
        otlp_grpc: listeners.grpc.address,
        otlp_grpc_access: listeners.grpc.access,
        otlp_grpc_bytes_max: grpc.max_recv_msg_size_mib.bytes(),
        otlp_http: listeners.http.as_ref().map(|http| http.address),
        otlp_http_cors: super::listeners::cors(&http.cors, check),
        otlp_http_access: listeners.http.map(|http| http.access).unwrap_or_default(),
        otlp_http_bytes_max: http.max_request_body_size_mib.bytes(),
        api: listeners.api.address,
        api_access: listeners.api.access,
        show_arguments: shape.service.api.show_arguments,
        reflection: shape.service.api.reflection,
        data_dir,
        shards: shape.service.shards.map(|shards| shards.0 as u16),
        memory_limit: shape.service.memory_limit_mib,
        durability: shape.service.durability,
        snapshot_interval: check.period(
            &["service", "snapshot_interval"],
            shape.service.snapshot_interval,
        ),
        shutdown_deadline: check.period(
            &["service", "shutdown_deadline"],
            shape.service.shutdown_deadline,
        ),
        logs: shape.service.telemetry.logs,
        idle: check.period(&["runs", "idle"], shape.runs.idle),
        resident_runs_max: shape.runs.resident_max.0,
        retention_age: check.period(&["runs", "retention", "age"], shape.runs.retention.age),
        retention_runs: shape.runs.retention.runs.0,
        exporters,
        secret_files: secret_files(check.tree),
        forwards,
        own_spans,
        normalize: normalize(shape, check),
        policy: super::policy::policy(shape, policy, check).into(),
    };
    memory_limit(&settings, check);
    retention(&settings, check);
    settings
}

/// The files that hold secrets, wherever they are named.
fn secret_files(tree: &Node) -> BTreeSet<PathBuf> {
    let named = ["key_file", "token_file"].map(|key| tree.texts_of(key));
    named.into_iter().flatten().map(PathBuf::from).collect()
}

/// A run that is forgotten before it counts as over would begin again with each pause, and nothing would be said of its end.
fn retention(settings: &Settings, check: &mut Checker<'_>) {
    if settings.retention_age >= settings.idle {
        return;
    }
    let age = ["runs", "retention", "age"];
    if check.tree.has(&age) {
        check.wrong(&age, "must not be shorter than `runs.idle`");
    } else {
        check.wrong(
            &["runs", "idle"],
            "must not be longer than `runs.retention.age`",
        );
    }
}

fn memory_limit(settings: &Settings, check: &mut Checker<'_>) {
    let least = settings.memory_min_mib();
    if let MemoryLimit::Mebibytes(mib) = settings.memory_limit
        && mib < least
    {
        let text = format!(
            "expected {least} at least, found {mib}: the largest request that is taken (`receivers.otlp.protocols.*.max_…_size_mib`) \
             and `otlp_forward.queue_mib` need so much beside what a daemon takes that has nothing to do"
        );
        check.wrong(&["service", "memory_limit_mib"], text);
    }
}

/// Most attributes that may name a worker: each is compared with every attribute of a span.
const WORKER_ATTRIBUTES_MAX: usize = 16;

fn normalize(shape: &Shape, check: &mut Checker<'_>) -> normalize::Settings {
    let names = &shape.normalize.worker_attributes;
    if names.len() > WORKER_ATTRIBUTES_MAX {
        check.wrong(
            &["normalize", "worker_attributes"],
            format!(
                "at most {WORKER_ATTRIBUTES_MAX} names, found {}",
                names.len()
            ),
        );
    }
    if names.iter().any(|name| name.trim().is_empty()) {
        check.wrong(
            &["normalize", "worker_attributes"],
            "a name must not be empty",
        );
    }
    normalize::Settings {
        worker_attributes: names.clone(),
        prices: super::prices::prices(shape, check),
    }
}

fn data_dir(shape: &Shape, lookup: Lookup<'_>, check: &mut Checker<'_>) -> PathBuf {
    match &shape.service.data_dir {
        Some(dir) if dir.trim().is_empty() => {
            check.wrong(&["service", "data_dir"], "must not be empty");
            PathBuf::new()
        }
        Some(dir) if dir.contains('\0') => {
            check.wrong(&["service", "data_dir"], "must not hold a NUL character");
            PathBuf::new()
        }
        Some(dir) if dir == "~" || dir.starts_with("~/") => {
            let text = "`~` is a shell's; write the whole path, or `${env:HOME}` in its place";
            check.wrong(&["service", "data_dir"], text);
            PathBuf::new()
        }
        Some(dir) if dir.starts_with('$') => {
            let text = "`$` is a shell's; an environment variable is written `${env:NAME}`";
            check.wrong(&["service", "data_dir"], text);
            PathBuf::new()
        }
        Some(dir) => PathBuf::from(dir),
        None => state_directory(lookup),
    }
}

/// Where Eddy keeps its state: what systemd hands over, which may be several directories with colons between them, else one in
/// the user's.
fn state_directory(lookup: Lookup<'_>) -> PathBuf {
    let directory = |name: &str| lookup(name).filter(|dir| Path::new(dir).is_absolute());
    if let Some(dirs) = directory("STATE_DIRECTORY") {
        return PathBuf::from(dirs.split(':').next().unwrap_or_default());
    }
    state_home(lookup).map_or_else(|| PathBuf::from("eddy-data"), |home| home.join("eddy"))
}

/// Where programs of this user keep their state, each in a directory of its own: the XDG or macOS directory, as the environment
/// says. `None` where it says nothing.
pub fn state_home(lookup: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let directory = |name: &str| lookup(name).filter(|dir| Path::new(dir).is_absolute());
    let of_user = || {
        let below = if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".local/state"
        };
        Some(Path::new(&directory("HOME")?).join(below))
    };
    directory("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(of_user)
}
