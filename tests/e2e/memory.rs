//! A limit of memory that is less than what would be taken without it.

use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;

use super::kill::{calls, text};
use super::load::{Numbers, Sent, metric, send, set_by, status};
use super::locks::configured;
use super::support::{Daemon, Sender, runtime, until};

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

/// The most memory that a daemon has ever had in use, but for what belongs to files, in mebibytes.
fn peak_mib(daemon: &Daemon) -> f64 {
    (status(daemon, "VmHWM") - status(daemon, "RssFile")) / 1024.0
}

/// Given a limit of 128 MiB, and large requests with runs that take much memory (`EDDY_LARGE_RUNS` of them), of which as many come
/// at once as would fill twice that, memory stays below it: runs leave it, requests are refused for now, with the time to come
/// again, and all are taken in the end. The guard answers meanwhile. Afterwards there is room for several again, and every call
/// counts once.
#[test]
fn memory_stays_below_its_limit() {
    const LIMIT_MIB: u32 = 128;
    const SENDERS: u64 = 40;
    let runs = set_by("EDDY_LARGE_RUNS", 600);
    let config = format!("service: {{memory_limit_mib: {LIMIT_MIB}}}\n");
    let (_directory, daemon) = configured(&config);
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
    let refused = metric(&daemon, "eddy_receiver_refused_memory_total");
    let evicted = metric(&daemon, "eddy_runs_evicted_total");
    println!(
        "{runs} large runs in {:.1?}: peak {:.0} MiB of {LIMIT_MIB}, {evicted} runs left memory, {refused} requests refused",
        began.elapsed(),
        peak_mib(&daemon),
    );
    assert!(peak_mib(&daemon) < f64::from(LIMIT_MIB));
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
