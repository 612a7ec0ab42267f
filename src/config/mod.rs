//! File, environment and flags become checked settings, before anything else happens.
//!
//! One way: the file is parsed into a tree that knows where everything stands (`tree.rs`), variables are put in
//! (`environment.rs`), flags are set into the same tree, the tree is read into the one shape that has every default
//! (`shape.rs`, `read.rs`, `wrong.rs`), the profile is laid under the rules (`profile.rs`), and the shape becomes [`Settings`]
//! (`check.rs`). Mistakes are collected all along the way and shown together, each with its place and what to write
//! instead. `cli::reload` goes the same way again when the file changes.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::policy::Policy;
use crate::engine::warning::Rule;
use crate::export::{ExporterSettings, ForwardSettings, TraceSettings};
use crate::listener::{Access, Tenant};
use crate::normalize;
use crate::receiver::Cors;
use crate::secret;
use crate::telemetry::Logs;

mod access;
mod check;
mod checker;
mod environment;
mod exporters;
mod forward;
mod listeners;
mod mistake;
mod others;
mod policy;
mod prices;
mod print;
pub mod profile;
mod read;
mod shape;
#[cfg(test)]
mod tests;
mod tree;
mod unreadable;
mod values;
mod wrong;

pub use check::state_home;
pub use mistake::{Mistake, Mistakes, Place};
pub use values::MemoryLimit;

/// Every key with its default and one sentence.
pub const REFERENCE: &str = include_str!("../../config/reference.yaml");

/// Everything the daemon is told, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where OTLP over gRPC is received.
    pub otlp_grpc: SocketAddr,
    /// Largest request over gRPC after decompression, in bytes.
    pub otlp_grpc_bytes_max: usize,
    /// Where OTLP over HTTP is received; not at all where it is switched off.
    pub otlp_http: Option<SocketAddr>,
    /// Which web pages may send over HTTP.
    pub otlp_http_cors: Cors,
    /// Largest request over HTTP after decompression, in bytes.
    pub otlp_http_bytes_max: usize,
    /// What is asked of those who send over gRPC.
    pub otlp_grpc_access: Access,
    /// What is asked of those who send over HTTP.
    pub otlp_http_access: Access,
    /// What is asked of those who ask the API.
    pub api_access: Access,
    /// The API shows redacted samples of arguments where it explains a warning.
    pub show_arguments: bool,
    /// The API tells clients of gRPC which services and messages there are.
    pub reflection: bool,
    /// Where the API and its JSON twin are served.
    pub api: SocketAddr,
    /// Where state is kept.
    pub data_dir: PathBuf,
    /// How many shards; absent: one for four cores, at most eight.
    pub shards: Option<u16>,
    /// What the process may take of memory.
    pub memory_limit: MemoryLimit,
    /// What acknowledged data survives.
    pub durability: Durability,
    /// How often a snapshot of the store is written.
    pub snapshot_interval: Duration,
    /// From the first signal to the end of the process, at most.
    pub shutdown_deadline: Duration,
    /// The daemon's own log.
    pub logs: Logs,
    /// Quiet time after which a run counts as over.
    pub idle: Duration,
    /// Most runs held in memory.
    pub resident_runs_max: u64,
    /// Age after which a run is forgotten.
    pub retention_age: Duration,
    /// Most runs remembered.
    pub retention_runs: u64,
    /// Where alerts go.
    pub exporters: Vec<ExporterSettings>,
    /// Files with secrets; those that others can read are warned of.
    pub secret_files: BTreeSet<PathBuf>,
    /// Where telemetry is passed on to.
    pub forwards: Vec<ForwardSettings>,
    /// Where the daemon's own spans go; none are measured where this is absent.
    pub own_spans: Option<TraceSettings>,
    /// How telemetry is read: what names workers, and what models cost.
    pub normalize: normalize::Settings,
    /// What counts as a loop.
    pub policy: Arc<Policy>,
}

/// What a daemon takes that has nothing to do, caches and what it has read of its store included, in mebibytes.
const IDLE_MIB: u64 = 64;

impl Settings {
    /// Least memory with which a daemon can do its work, in mebibytes: its own, the largest request with what is read of it, and
    /// what waits to be passed on.
    #[must_use]
    pub fn memory_min_mib(&self) -> u64 {
        let largest = self.otlp_grpc_bytes_max.max(self.otlp_http_bytes_max);
        let queues = self.forwards.iter().map(|forward| forward.queue_bytes);
        let bytes = 2 * largest + queues.sum::<usize>();
        IDLE_MIB + bytes.div_ceil(1 << 20) as u64
    }

    /// Tenants that may send, and whose runs and warnings nobody can ask for: no token of the API is theirs, and who needs none is
    /// of the default tenant.
    #[must_use]
    pub fn unseen_tenants(&self) -> BTreeSet<Tenant> {
        let who = |access: &Access| -> BTreeSet<Tenant> {
            let named = access.tokens.iter().map(|token| token.tenant.clone());
            named.collect()
        };
        let mut send = who(&self.otlp_grpc_access);
        send.extend(who(&self.otlp_http_access));
        let mut see = who(&self.api_access);
        for tenants in [&mut send, &mut see] {
            if tenants.is_empty() {
                tenants.insert(Tenant::default());
            }
        }
        &send - &see
    }
}

/// What acknowledged data survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A power cut.
    Power,
    /// The end of the process, however sudden.
    Process,
}

/// Where the configuration comes from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file; without one, defaults and flags alone count.
    pub file: Option<PathBuf>,
    /// Values set on the command line: the flag, the path of the key it sets, and the value.
    pub flags: Vec<Flag>,
}

impl Sources {
    /// Whether the file cannot be read a second time, as a pipe or a device cannot.
    #[must_use]
    pub fn is_read_once(&self) -> bool {
        let found = self.file.as_ref().and_then(|path| path.metadata().ok());
        found.is_some_and(|found| !found.is_file())
    }

    /// Those of a daemon that may run beside others: its state in a directory of its own, and every address on a free port.
    #[must_use]
    pub fn apart(directory: &Path) -> Self {
        let set = |name, path, value: &str| Flag {
            name,
            path,
            value: value.to_owned(),
        };
        let data = directory.to_string_lossy();
        let grpc = &["receivers", "otlp", "protocols", "grpc", "endpoint"];
        let http = &["receivers", "otlp", "protocols", "http", "endpoint"];
        Self {
            file: None,
            flags: vec![
                set("--data-dir", &["service", "data_dir"], &data),
                set("--otlp-grpc", grpc, FREE_PORT),
                set("--otlp-http", http, FREE_PORT),
                set("--api", &["service", "api", "endpoint"], FREE_PORT),
            ],
        }
    }
}

/// Any port that is free, on this machine only.
const FREE_PORT: &str = "127.0.0.1:0";

/// A value set on the command line; of several for one key, the last one counts.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag's name with its dashes, to name in mistakes.
    pub name: &'static str,
    /// The key it sets.
    pub path: &'static [&'static str],
    /// The value.
    pub value: String,
}

/// A configuration that is right.
#[derive(Debug)]
pub struct Loaded {
    /// What the daemon works with.
    pub settings: Settings,
    shape: shape::Shape,
}

impl Loaded {
    /// The keys whose values differ, with their paths, but for what [`Settings::policy`] is made of.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let [ours, theirs] = [&self.shape, &other.shape].map(|shape| {
            let mut value = secret::with_secrets(shape);
            value.as_object_mut().map(|all| all.remove("detectors"));
            value
        });
        let mut paths = Vec::new();
        differ(&ours, &theirs, "", &mut paths);
        paths
    }

    /// Takes what counts as a loop from a later reading.
    pub fn take_policy(&mut self, later: Self) {
        self.settings.policy = later.settings.policy;
        self.shape.detectors = later.shape.detectors;
    }

    /// The effective configuration as YAML, with secrets masked.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        print::yaml(&self.shape, &self.settings)
    }
}

/// Notes the paths at which two values differ.
fn differ(
    ours: &serde_json::Value,
    theirs: &serde_json::Value,
    path: &str,
    paths: &mut Vec<String>,
) {
    let (Some(our), Some(their)) = (ours.as_object(), theirs.as_object()) else {
        if ours != theirs {
            paths.push(path.to_owned());
        }
        return;
    };
    let keys: BTreeSet<&String> = our.keys().chain(their.keys()).collect();
    for key in keys {
        let dot = if path.is_empty() { "" } else { "." };
        let missing = &serde_json::Value::Null;
        let (ours, theirs) = (our.get(key), their.get(key));
        let path = format!("{path}{dot}{key}");
        differ(
            ours.unwrap_or(missing),
            theirs.unwrap_or(missing),
            &path,
            paths,
        );
    }
}

/// Loads and checks a configuration.
///
/// # Errors
/// Every mistake in it, with places.
pub fn load(sources: &Sources) -> Result<Loaded, Mistakes> {
    load_read(&read(sources)?, sources)
}

/// The sections that say nothing of how runs are judged.
const NOT_OF_JUDGING: [&str; 3] = ["service", "receivers", "exporters"];

/// Loads what a configuration says of how runs are judged, and checks that. Where telemetry is judged by a daemon's file, the
/// daemon's tokens, certificates and variables need not be there.
///
/// # Errors
/// Every mistake in it, with places.
pub fn load_to_judge(sources: &Sources) -> Result<Loaded, Mistakes> {
    let text = read(sources)?;
    load_part(&text, sources, &NOT_OF_JUDGING)
}

/// Checks a configuration whose file has been read: what comes through a pipe is there only once.
///
/// # Errors
/// Every mistake in it, with places.
pub fn load_read(text: &str, sources: &Sources) -> Result<Loaded, Mistakes> {
    load_part(text, sources, &[])
}

/// The same without some sections.
fn load_part(text: &str, sources: &Sources, left_out: &[&str]) -> Result<Loaded, Mistakes> {
    let name = sources.file.as_ref().map(|path| path.display().to_string());
    let name = name.as_deref().unwrap_or("defaults");
    let lookup = |name: &str| std::env::var(name).ok();
    load_text(text, name, &sources.flags, left_out, &lookup)
}

/// What the file says; nothing where there is none.
///
/// # Errors
/// When it cannot be read.
pub fn read(sources: &Sources) -> Result<String, Mistakes> {
    let Some(path) = &sources.file else {
        return Ok(String::new());
    };
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error.to_string()))
}

/// What the file says now, for a daemon that runs. A pipe might keep it waiting for ever, and is not opened. An empty file is one
/// that is being written, or that could not be on a full disk, and not one that asks for the defaults; but where it always was.
///
/// # Errors
/// When it cannot be read again, or is empty.
pub fn read_again(sources: &Sources, was_empty: bool) -> Result<String, Mistakes> {
    let Some(path) = &sources.file else {
        return read(sources);
    };
    if sources.is_read_once() {
        return Err(unreadable(path, "it is no regular file"));
    }
    let text = read(sources)?;
    if is_empty(&text) && !was_empty {
        let why = "it is empty (for the defaults, write a comment into it, or restart)";
        return Err(unreadable(path, why));
    }
    Ok(text)
}

/// Whether a file says nothing at all, and not even a comment.
#[must_use]
pub fn is_empty(text: &str) -> bool {
    text.trim().is_empty()
}

fn unreadable(path: &Path, why: &str) -> Mistakes {
    Mistakes(vec![Mistake {
        place: Place {
            source: Some(path.display().to_string().into()),
            ..Place::default()
        },
        key: String::new(),
        text: format!("the configuration cannot be read: {why}"),
    }])
}

fn load_text(
    text: &str,
    source: &str,
    flags: &[Flag],
    left_out: &[&str],
    lookup: environment::Lookup<'_>,
) -> Result<Loaded, Mistakes> {
    let mut mistakes = Mistakes::default();
    let mut tree = tree::Node::parse(text, source, &mut mistakes);
    if let Some(text) = tree.what_else() {
        mistakes.0.push(tree.mistake(&[], text));
        return Err(mistakes);
    }
    for section in left_out {
        tree.take(&[section]);
    }
    environment::substitute(&mut tree, "", lookup, &mut mistakes);
    for flag in flags {
        let place = Place {
            source: Some(flag.name.into()),
            ..Place::default()
        };
        let value = tree::Value::Untyped(flag.value.clone());
        tree.set(flag.path, tree::Node { place, value });
    }
    let known = known_keys();
    let mut readable = tree.clone();
    let changes = profile::take_changes(&mut readable);
    let guard = readable.take(&["guard"]);
    let others = readable.take(&others::PATH);
    let shape: Option<shape::Shape> = read::read(&readable, None, &known, &mut mistakes);
    let loaded = shape.map(|shape| {
        let name = shape.detectors.profile;
        let mut policy = profile::policy(name, &changes, &known, &mut mistakes);
        profile::lay_guard(name, guard.clone(), &known, &mut policy, &mut mistakes);
        let tools = changes.child("tools");
        policy.others = others::policies(others, tools, guard.as_ref(), &known, &mut mistakes);
        let mut check = checker::Checker {
            tree: &tree,
            mistakes: &mut mistakes,
        };
        let settings = check::settings(&shape, policy, lookup, &mut check);
        Loaded { settings, shape }
    });
    mistakes.into_result(loaded)
}

/// The path of every key that the reference names, those in comments included, and of every rule.
fn known_keys() -> Vec<String> {
    let mut mistakes = Mistakes::default();
    let tree = tree::Node::parse(&uncommented(REFERENCE), "reference.yaml", &mut mistakes);
    let rules = Rule::ALL.map(|rule| format!("detectors.rules.{}", rule.name()));
    tree.paths().into_iter().chain(rules).collect()
}

/// The reference with its example keys switched on: they are the comments that begin without a blank, `#key:`.
fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        match body.strip_prefix('#') {
            Some(key) if !key.starts_with([' ', '#']) && !key.is_empty() => {
                format!("{indent}{key}\n")
            }
            _ => format!("{line}\n"),
        }
    });
    lines.collect()
}
