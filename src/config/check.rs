//! From a shape to settings on which the rest of the daemon may rely.
//!
//! What a type cannot say is said here: ranges, what excludes what, and (in `listeners.rs`) that nothing listens to the network
//! by accident without asking who is there. Files that hold secrets are read here too.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Settings;
use super::environment::Lookup;
use super::listeners::{GRPC, HTTP, key, listeners};
use super::mistake::{Mistakes, listed, nearest, shown};
use super::others;
use super::read::read;
use super::shape::{Protocols, Shape};
use super::tree::Node;
use super::values::{MemoryLimit, Period};
use crate::engine::guard::message;
use crate::engine::guard::policy::{Action, GuardPolicy, VerdictKind, When};
use crate::engine::policy::{LOOKED_BACK_CALLS_MAX, Policy, Tools};
use crate::engine::warning::Rule;
use crate::normalize;

/// Largest message that may be allowed: beyond it, one request can take the memory of a small machine.
const MESSAGE_MIB_MAX: u64 = 1024;

/// Most shards: each is a task with an inbox of its own, and more than cores bring nothing.
const SHARDS_MAX: u16 = 256;

/// Longest period anywhere: ten years stands in for "never" without overflowing a clock.
const PERIOD_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Most runs that may be kept, in memory or at all: more than any disk has room for, and far from overflowing a number.
const RUNS_MAX: u64 = 1 << 40;

/// Notes mistakes about values of a tree.
pub(super) struct Checker<'a> {
    /// Where everything stands.
    pub(super) tree: &'a Node,
    /// What has been found so far.
    pub(super) mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    pub(super) fn wrong(&mut self, path: &[&str], text: impl Into<String>) {
        self.mistakes.add(self.tree, path, text);
    }

    fn range(&mut self, path: &[&str], value: u64, min: u64, max: u64) -> u64 {
        if !(min..=max).contains(&value) {
            self.wrong(path, format!("expected {min} to {max}, found {value}"));
        }
        value
    }

    pub(super) fn period(&mut self, path: &[&str], period: Period) -> Duration {
        if period.0.is_zero() {
            self.wrong(path, "must be longer than nothing");
        } else if period.0 > PERIOD_MAX {
            self.wrong(path, "must be shorter than ten years");
        }
        period.0
    }

    pub(super) fn mebibytes(&mut self, path: &[&str], mib: u64) -> usize {
        let mib = self.range(path, mib, 1, MESSAGE_MIB_MAX);
        usize::try_from(mib.saturating_mul(1 << 20)).unwrap_or(usize::MAX)
    }

    pub(super) fn url(&mut self, path: &[&str], text: &str) {
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with(['/', ':'])) {
            let text = format!(
                "expected an http:// or https:// address, found `{}`",
                shown(text)
            );
            self.wrong(path, text);
        }
    }
}

/// Checks a shape. Where something is wrong, the settings that come back are not to be used.
pub(super) fn settings(
    shape: &Shape,
    policy: Policy,
    lookup: Lookup<'_>,
    check: &mut Checker<'_>,
) -> Settings {
    let listeners = listeners(shape, check);
    let Protocols { grpc, http } = &shape.receivers.otlp.protocols;
    let grpc_size = key(GRPC, &["max_recv_msg_size_mib"]);
    let http_size = key(HTTP, &["max_request_body_size_mib"]);
    let (exporters, forwards) = super::exporters::settings(&shape.exporters, check);
    super::exporters::refuse_own_addresses(shape, &listeners, check);
    let data_dir = data_dir(shape, lookup, check);
    super::exporters::refuse_taken_files(&shape.exporters, &data_dir, check);
    let own_spans = super::exporters::own_spans(&shape.service.telemetry.traces, check);
    let settings = Settings {
        otlp_grpc: listeners.grpc.address,
        otlp_grpc_access: listeners.grpc.access,
        otlp_grpc_bytes_max: check.mebibytes(&grpc_size, grpc.max_recv_msg_size_mib),
        otlp_http: listeners.http.as_ref().map(|http| http.address),
        otlp_http_cors: super::listeners::cors(&http.cors, check),
        otlp_http_access: listeners.http.map(|http| http.access).unwrap_or_default(),
        otlp_http_bytes_max: check.mebibytes(&http_size, http.max_request_body_size_mib),
        api: listeners.api.address,
        api_access: listeners.api.access,
        show_arguments: shape.service.api.show_arguments,
        data_dir,
        shards: shards(shape, check),
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
        resident_runs_max: check.range(
            &["runs", "resident_max"],
            shape.runs.resident_max,
            1,
            RUNS_MAX,
        ),
        retention_age: check.period(&["runs", "retention", "age"], shape.runs.retention.age),
        retention_runs: check.range(
            &["runs", "retention", "runs"],
            shape.runs.retention.runs,
            1,
            RUNS_MAX,
        ),
        exporters,
        secret_files: super::exporters::secret_files(&shape.exporters),
        forwards,
        own_spans,
        normalize: normalize(shape, check),
        policy: self::policy(shape, policy, check).into(),
    };
    memory_limit(&settings, check);
    settings
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

/// Most entries of `tools`: each is compared with the tool of every call.
const TOOLS_MAX: usize = 64;

fn policy(shape: &Shape, mut policy: Policy, check: &mut Checker<'_>) -> Policy {
    let entries = policy.tools.0.len();
    if entries > TOOLS_MAX {
        let text = format!("at most {TOOLS_MAX} entries, found {entries}");
        check.wrong(&["tools"], text);
    }
    tool_names(&policy.tools, &["tools"], check);
    if let Some(budget) = shape.detectors.cost_budget_usd {
        if budget <= 0.0 {
            check.wrong(&["detectors", "cost_budget_usd"], "must be more than 0");
        }
        if let Some(rule) = &mut policy.rules.cost_budget_exceeded {
            rule.budget_usd = Some(budget);
        }
    }
    guard(&policy.guard, &["guard"], check);
    shares(&policy, &["detectors"], check);
    counts(&policy, &["detectors"], check);
    other_policies(&mut policy, check);
    policy
}

/// What single tools and agents are named by.
const NAME_EXPECTED: &str = "expected a tool's name or `TOOL@AGENT`; `*` stands for any text";

/// Whether a name has all its parts: an empty one would fit nothing.
fn is_name(name: &str) -> bool {
    !name.split('@').any(str::is_empty)
}

/// Checks what is written under `tools`; entries of a profile are right.
fn tool_names(tools: &Tools, path: &[&str], check: &mut Checker<'_>) {
    for name in tools.0.keys().filter(|name| !is_name(name)) {
        let path = key(path, &[name]);
        if check.tree.has(&path) {
            check.wrong(&path, NAME_EXPECTED);
        }
    }
}

/// Most entries of `detectors.profiles`: each is compared with the tool and the agent of every call.
const PROFILES_MAX: usize = 16;

/// Checks the policies of single tools and agents, and gives them what is about the run as a whole.
fn other_policies(policy: &mut Policy, check: &mut Checker<'_>) {
    let entries = policy.others.len();
    if entries > PROFILES_MAX {
        let text = format!("at most {PROFILES_MAX} entries, found {entries}");
        check.wrong(&others::PATH, text);
    }
    for (name, other) in &mut policy.others {
        let path = [others::PATH[0], others::PATH[1], name];
        if !is_name(name) {
            check.wrong(&path, NAME_EXPECTED);
        }
        tool_names(&other.tools, &key(&path, &["tools"]), check);
        for rule in Rule::ALL.iter().filter(|rule| rule.is_of_run()) {
            let path = key(&path, &["rules", rule.name()]);
            if check.tree.has(&path) {
                let text = format!(
                    "is about the whole run; it belongs under `detectors.rules.{}`",
                    rule.name()
                );
                check.wrong(&path, text);
            }
        }
        guard(&other.guard, &key(&path, &["guard"]), check);
        shares(other, &path, check);
        counts(other, &path, check);
        other.rules.share_run(&policy.rules);
    }
}

/// Checks the settings that are shares.
fn shares(policy: &Policy, path: &[&str], check: &mut Checker<'_>) {
    let similar = policy.rules.repeated_tool_call_similar_input.as_ref();
    let spike = policy.rules.cost_spike.as_ref();
    let shares = [
        (
            "repeated_tool_call_similar_input",
            "similarity",
            similar.map(|rule| rule.similarity),
        ),
        ("cost_spike", "share", spike.map(|rule| rule.share)),
    ];
    for (rule, setting, share) in shares {
        if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            check.wrong(
                &key(path, &["rules", rule, setting]),
                "must be between 0 and 1",
            );
        }
    }
}

/// Checks the settings that are counts. A rule that holds at nothing would warn of every run, and one that asks for more than it
/// looks at would be silent for ever.
fn counts(policy: &Policy, path: &[&str], check: &mut Checker<'_>) {
    let rules = serde_json::to_value(&policy.rules).expect("settings are plain data");
    for rule in Rule::ALL {
        let looked_back = policy.rules.looked_back_calls(rule).map(u64::from);
        let settings = rules[rule.name()].as_object();
        for (setting, value) in settings.into_iter().flatten() {
            let Some(found) = value.as_u64() else {
                continue;
            };
            let path = key(path, &["rules", rule.name(), setting]);
            match (rule, setting.as_str(), looked_back) {
                // No call at all may be allowed, and no time.
                (Rule::ToolLimit, "calls", _) | (Rule::LongRunningStep, "seconds", _) => {}
                (Rule::ToolCycle, "longest", _) => _ = check.range(&path, found, 2, 32),
                (Rule::HandoffCycle, "rounds", _) => _ = check.range(&path, found, 2, 3),
                (Rule::GlobalDoomLoop, "workers", _) => _ = check.range(&path, found, 1, 4),
                _ if found == 0 => check.wrong(&path, "must be at least 1"),
                (_, "calls", Some(most)) if most > 0 && found > most => {
                    let text = format!(
                        "expected {most} at most, found {found}: the rule looks at the newest {most} calls (`window_calls`, and \
                         never more than {LOOKED_BACK_CALLS_MAX})"
                    );
                    check.wrong(&path, text);
                }
                _ => {}
            }
        }
    }
}

/// Longest that an agent may be made to wait for the guard.
const GUARD_DEADLINE_MS_MAX: u64 = 10_000;

/// Checks what is written of the guard; the profile's is right.
fn guard(guard: &GuardPolicy, path: &[&str], check: &mut Checker<'_>) {
    let deadline = key(path, &["deadline_ms"]);
    if check.tree.has(&deadline) {
        check.range(&deadline, guard.deadline_ms, 1, GUARD_DEADLINE_MS_MAX);
    }
    let actions = key(path, &["actions"]);
    for item in check.tree.at(&actions).map_or(&[][..], Node::items) {
        // What of it cannot be read has been named, and is left out.
        let readable = read::<Action>(&item.node, None, &[], &mut Mistakes::default());
        let path = key(&actions, &[&item.key]);
        if let Some(action) = readable {
            self::action(&action, &item.node, &path, check);
        }
    }
}

fn action(action: &Action, written: &Node, path: &[&str], check: &mut Checker<'_>) {
    if written
        .child("rules")
        .is_some_and(|rules| rules.items().is_empty())
    {
        check.wrong(&key(path, &["rules"]), "names no rule");
    }
    let message = key(path, &["message"]);
    if action.message.trim().is_empty() && action.verdict != VerdictKind::Allow {
        check.wrong(&message, "is empty");
    }
    for name in message::unknown_names(&action.message) {
        let text = match nearest(name, message::NAMES) {
            Some(meant) => format!("did you mean `{{{meant}}}`?"),
            None => format!(
                "known are {}",
                listed(
                    &message::NAMES
                        .map(|name| format!("{{{name}}}"))
                        .each_ref()
                        .map(String::as_str)
                )
            ),
        };
        let text = format!("nothing is put in for `{{{name}}}`; {text}");
        check.wrong(&message, text);
    }
    if action.when == When::Owed && action.verdict.refuses() {
        check.wrong(
            &key(path, &["when"]),
            "what is owed can be said, but no call is refused for it; use `verdict: nudge`",
        );
    }
}

fn shards(shape: &Shape, check: &mut Checker<'_>) -> Option<u16> {
    let shards = shape.service.shards?;
    check.range(
        &["service", "shards"],
        u64::from(shards),
        1,
        u64::from(SHARDS_MAX),
    );
    Some(shards)
}

fn data_dir(shape: &Shape, lookup: Lookup<'_>, check: &mut Checker<'_>) -> PathBuf {
    match &shape.service.data_dir {
        Some(dir) if dir.trim().is_empty() => {
            check.wrong(&["service", "data_dir"], "must not be empty");
            PathBuf::new()
        }
        Some(dir) if dir == "~" || dir.starts_with("~/") => {
            let text = "`~` is a shell's; write the whole path, or `${env:HOME}` in its place";
            check.wrong(&["service", "data_dir"], text);
            PathBuf::new()
        }
        Some(dir) => PathBuf::from(dir),
        None => state_directory(lookup),
    }
}

/// Where the platform keeps a program's state: what systemd hands over, which may be several directories with colons between
/// them, else the XDG or macOS directory of the user.
fn state_directory(lookup: Lookup<'_>) -> PathBuf {
    let directory = |name: &str| lookup(name).filter(|dir| Path::new(dir).is_absolute());
    if let Some(dirs) = directory("STATE_DIRECTORY") {
        return PathBuf::from(dirs.split(':').next().unwrap_or_default());
    }
    if let Some(dir) = directory("XDG_STATE_HOME") {
        return Path::new(&dir).join("eddy");
    }
    match directory("HOME") {
        Some(home) if cfg!(target_os = "macos") => {
            Path::new(&home).join("Library/Application Support/eddy")
        }
        Some(home) => Path::new(&home).join(".local/state/eddy"),
        None => PathBuf::from("eddy-data"),
    }
}
