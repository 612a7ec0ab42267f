//! A limit of memory that is less than what would be taken without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::access::configured;
use super::kill::{calls, text};
use super::load::{Numbers, Sent, metric, send, send_patiently, set_by, status};
use super::support::{Daemon, Sender, free_port, runtime, until};

/// What the process may take.
const LIMIT_MIB: u64 = 128;

/// Calls of each run: as many as its window holds.
const CALLS: u64 = 64;

/// Runs in one request.
const TOGETHER: u64 = 2;

/// Bytes of a request that are received and not kept.
const BALLAST: usize = 3 << 20;

/// Some runs that take about as much memory as runs can, in a large request.
fn large_runs(from: u64) -> ExportTraceServiceRequest {
    let mut request = calls(from, 0, 0);
    let spans = &mut request.resource_spans[0].scope_spans[0].spans;
    for run in from..from + TOGETHER {
        let mut calls = calls(run, 0, CALLS);
        spans.append(&mut calls.resource_spans[0].scope_spans[0].spans);
    }
    for (number, span) in spans.iter_mut().enumerate() {
        let words: Vec<_> = (0..40)
            .map(|word| format!("{from}w{number}x{word}"))
            .collect();
        let words = words.join(" ");
        let arguments = format!(r#"{{"query":"{words}"}}"#);
        span.attributes[3] = text("gen_ai.tool.call.arguments", arguments);
    }
    // One span that is too large to be taken, which its request does not suffer for.
    let mut ballast = spans[0].clone();
    ballast.span_id = (from + 1).to_be_bytes().to_vec();
    ballast.attributes = vec![text("ballast", "x".repeat(BALLAST))];
    spans.push(ballast);
    request
}

/// Memory that a daemon has in use or, as `VmHWM`, ever had at most, but for what belongs to files, in mebibytes.
fn in_use_mib(daemon: &Daemon, what: &str) -> f64 {
    (status(daemon, what) - status(daemon, "RssFile")) / 1024.0
}

/// The most that it ever had.
fn peak_mib(daemon: &Daemon) -> f64 {
    in_use_mib(daemon, "VmHWM")
}

/// A control group of the kernel, which ends a process in it for taking more memory than that.
struct Group(PathBuf);

impl Group {
    fn new(limit_mib: u64) -> Self {
        let (groups, limit) = if Path::new("/sys/fs/cgroup/memory").is_dir() {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            ("/sys/fs/cgroup", "memory.max")
        };
        let group = Path::new(groups).join(format!("eddy-test-{}", std::process::id()));
        fs::create_dir(&group).expect("a group can be made");
        let group = Self(group);
        fs::write(group.0.join(limit), (limit_mib << 20).to_string()).expect("it has a limit");
        group
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It can be removed once it is empty.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Given a thousand runs at work, which make a call in turn (`EDDY_CALLS` each), all of them stay in memory, and the daemon holds
/// little.
#[test]
fn a_thousand_runs_take_little_memory() {
    const RUNS: u64 = 1_000;
    const IN_A_REQUEST: u64 = 50;
    let calls_each = set_by("EDDY_CALLS", 20);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(directory.path());
    let idle = in_use_mib(&daemon, "VmRSS");
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for call in 0..calls_each {
            for first in (0..RUNS).step_by(IN_A_REQUEST as usize) {
                let mut request = calls(first, call, call);
                let spans = &mut request.resource_spans[0].scope_spans[0].spans;
                for run in first..first + IN_A_REQUEST {
                    let mut call = calls(run, call, call + 1);
                    spans.append(&mut call.resource_spans[0].scope_spans[0].spans);
                }
                send_patiently(&mut sender, &request).await;
            }
        }
    });
    let (held, peak) = (in_use_mib(&daemon, "VmRSS"), peak_mib(&daemon));
    println!(
        "{RUNS} runs of {calls_each} calls: {held:.0} MiB, {peak:.0} at most; idle {idle:.0} MiB"
    );
    assert_eq!(metric(&daemon, "eddy_shard_resident_runs"), RUNS);
    // However many they make, a run keeps no more than so many.
    let most = if calls_each > 20 { 128.0 } else { 48.0 };
    assert!(peak < most, "{peak} MiB");
}

/// Large requests with runs that take much memory (`EDDY_LARGE_RUNS` of them), of which as many come at once as would fill twice
/// what the process may take.
fn flood(daemon: &Daemon) {
    const SENDERS: u64 = 40;
    let runs = set_by("EDDY_LARGE_RUNS", 1_000);
    let grpc = daemon.grpc;
    let began = Instant::now();
    runtime().block_on(async {
        let numbers = Numbers::default();
        let flooding: Vec<_> = (0..SENDERS)
            .map(|_| {
                let numbers = numbers.clone();
                tokio::spawn(async move {
                    let mut sender = Sender::new(grpc);
                    while let Some(from) = numbers.take(TOGETHER, runs) {
                        let request = large_runs(from);
                        while let Sent::Later(wait) = send(&mut sender, request.clone()).await {
                            tokio::time::sleep(wait).await;
                        }
                    }
                })
            })
            .collect();
        while !flooding.iter().all(tokio::task::JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let (code, verdict) = daemon.post("/v1/guard/check", r#"{"run_id":"a","tool":"t"}"#);
            assert_eq!((code, &verdict["verdict"]), (200, &"ALLOW".into()));
        }
        for one in flooding {
            one.await.expect("no panic");
        }
        until(async || {
            let (mut one, mut other) = (Sender::new(grpc), Sender::new(grpc));
            let sent = tokio::join!(
                send(&mut one, large_runs(0)),
                send(&mut other, large_runs(0))
            );
            matches!(sent, (Sent::Taken, Sent::Taken)).then_some(())
        })
        .await;
    });
    let refused = metric(daemon, "eddy_receiver_refused_memory_total");
    let evicted = metric(daemon, "eddy_runs_evicted_total");
    println!(
        "{runs} large runs in {:.1?}: peak {:.0} MiB of {LIMIT_MIB}, {evicted} runs left memory, {refused} requests refused",
        began.elapsed(),
        peak_mib(daemon),
    );
    assert!(evicted > 0 && refused > 0, "{evicted} and {refused}");
    for run in 0..runs {
        let (code, run) = daemon.get(&format!("/v1/runs/{:032x}", run + 1));
        assert_eq!(
            (code, run["tool_calls"].as_u64()),
            (200, Some(CALLS)),
            "{run}"
        );
    }
}

/// Given a limit of memory and a flood of large runs, memory stays below it: runs leave it, requests are refused for now, with
/// the time to come again, and all are taken in the end. The guard answers meanwhile. Afterwards there is room for several again,
/// and every call counts once.
#[test]
fn memory_stays_below_its_limit() {
    let config = format!("service: {{memory_limit_mib: {LIMIT_MIB}}}\n");
    let (_directory, daemon) = configured(&config);
    flood(&daemon);
    assert!(peak_mib(&daemon) < LIMIT_MIB as f64);
}

/// Given a container and nothing said about memory (with `EDDY_CONTAINER=1`, by root), the daemon finds its limit and outlives
/// the same flood, where the kernel ends what takes more.
#[test]
fn a_container_is_not_ended_for_its_memory() {
    if std::env::var_os("EDDY_CONTAINER").is_none() {
        return;
    }
    let group = Group::new(LIMIT_MIB * 100 / 80 + 1);
    let enter = format!("echo $$ > {}/cgroup.procs", group.0.display());
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start_under(&enter, &directory.path().join("data"), free_port(), &[]);
    let limit = metric(&daemon, "eddy_process_memory_limit_bytes");
    assert_eq!(limit >> 20, LIMIT_MIB);
    flood(&daemon);
}
