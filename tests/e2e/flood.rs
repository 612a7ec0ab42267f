//! Invented runs, as many as can be sent: memory stays bounded, and the runs that are really at work stay what they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use serde_json::{Value, json};

use super::access::configured;
use super::kill::calls;
use super::load::{Beside, Numbers, Times, metric, peak_mib, send_patiently, set_by};
use super::support::{Daemon, Sender, is_optimized, runtime, until};

/// Runs that are at work while others are invented.
const ACTIVE: u64 = 100;

/// Invented runs begin behind these numbers.
const INVENTED: u64 = 1_000_000;

/// Invented runs in one request.
pub(crate) const TOGETHER: u64 = 25;

/// What a request may take, the slowest hundredth left out; a program that is not optimized takes several times as long.
fn promptly() -> Duration {
    Duration::from_millis(if is_optimized() { 250 } else { 2_000 })
}

/// One span for each of so many runs that nobody has heard of.
pub(crate) fn invented(from: u64) -> ExportTraceServiceRequest {
    let mut request = calls(INVENTED + from, 0, 1);
    let spans = &mut request.resource_spans[0].scope_spans[0].spans;
    let span = spans.pop().expect("one call");
    spans.extend((from..from + TOGETHER).map(|number| {
        let mut span = span.clone();
        let trace =
            u128::from(INVENTED + number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        span.trace_id = trace.to_be_bytes().to_vec();
        span.span_id = (INVENTED + number).to_be_bytes().to_vec();
        span
    }));
    request
}

/// The next call of each active run. Every second run makes the same call again and again.
pub(crate) fn round(number: u64) -> ExportTraceServiceRequest {
    let mut all = calls(0, number, number + 1);
    let spans = &mut all.resource_spans[0].scope_spans[0].spans;
    for run in 1..ACTIVE {
        let mut one = calls(run, number, number + 1);
        spans.append(&mut one.resource_spans[0].scope_spans[0].spans);
    }
    for (run, span) in spans.iter_mut().enumerate() {
        if run % 2 == 1 {
            let same = calls(run as u64, 0, 1);
            let same = &same.resource_spans[0].scope_spans[0].spans[0];
            span.attributes.truncate(3);
            span.attributes.extend_from_slice(&same.attributes[3..]);
        }
    }
    all
}

/// What is found out about each active run.
fn judged(daemon: &Daemon) -> Vec<Value> {
    let runs = (0..ACTIVE).map(|run| {
        let (code, run) = daemon.get(&format!("/v1/runs/{:032x}", run + 1));
        assert_eq!(code, 200, "{run}");
        let warnings = run["warnings"].as_array().expect("a list").iter();
        let warnings =
            warnings.map(|one| json!([one["rule"], one["count"], one["severity"], one["state"]]));
        json!([
            run["score"],
            run["tool_calls"],
            warnings.collect::<Vec<_>>()
        ])
    });
    runs.collect()
}

/// Keeps the active runs at work, a round each so often, until told to stop or all rounds are done.
async fn work(
    mut sender: Sender,
    rounds: Vec<ExportTraceServiceRequest>,
    stop: &AtomicBool,
) -> Times {
    let mut times = Times::default();
    for round in rounds {
        times.0.push(send_patiently(&mut sender, &round).await);
        if !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    times
}

/// Given runs that nobody has heard of, one span each, sent as fast as four senders can, many times more than are kept
/// (`EDDY_INVENTED` of them): the daemon stays below its limit of 512 MiB and answers in time, what left memory and what was
/// forgotten is counted, and a hundred runs that are at work meanwhile are judged as if they were alone.
#[cfg(target_os = "linux")]
#[test]
fn invented_runs_harm_no_others() {
    let many = set_by("EDDY_INVENTED", 3_000);
    let (limits, most) = match many {
        ..1_000_000 => (
            "service: {memory_limit_mib: 512}\nruns: {resident_max: 300, retention: {runs: 1000}}\n",
            1_000,
        ),
        _ => ("service: {memory_limit_mib: 512}\n", 100_000),
    };
    let rounds: Vec<_> = (0..60).map(round).collect();
    let (_directory, daemon) = configured(limits);
    let grpc = daemon.grpc;
    let runtime = runtime();
    let began = Instant::now();
    let working = runtime.block_on(async {
        let rounds = rounds.clone();
        Beside::begin(|stop| async move { work(Sender::new(grpc), rounds, &stop).await })
    });
    // So that they are the first that the daemon knows, and saved.
    runtime.block_on(until(async || {
        let saved = metric(&daemon, "eddy_store_runs_saved_total");
        (saved >= ACTIVE).then_some(())
    }));
    let (mut flood, mut active) = runtime.block_on(async {
        let numbers = Numbers::default();
        let flooding = (0..4).map(|_| {
            let numbers = numbers.clone();
            tokio::spawn(async move {
                let (mut sender, mut times) = (Sender::new(grpc), Times::default());
                while let Some(from) = numbers.take(TOGETHER, many) {
                    times
                        .0
                        .push(send_patiently(&mut sender, &invented(from)).await);
                }
                times
            })
        });
        let flooding: Vec<_> = flooding.collect();
        let mut flood = Times::default();
        for one in flooding {
            flood.0.append(&mut one.await.expect("no panic").0);
        }
        (flood, working.end().await)
    });
    let took = began.elapsed();
    let found = judged(&daemon);
    let evicted = metric(&daemon, "eddy_runs_evicted_total");
    let retired = metric(&daemon, "eddy_runs_retired_total");
    let refused = metric(&daemon, "eddy_shard_refused_crowded_total");
    let for_memory = metric(&daemon, "eddy_receiver_refused_memory_total");
    let kept = metric(&daemon, "eddy_runs");
    println!(
        "{many} invented runs in {took:.1?}: peak {:.0} MiB, p99 {:.0?} of the flood and {:.0?} of others, \
         {evicted} evicted, {retired} forgotten, {refused} requests refused and {for_memory} for memory, {kept} runs kept",
        peak_mib(&daemon),
        flood.percentile(99),
        active.percentile(99),
    );
    assert!(peak_mib(&daemon) < 512.0);
    assert!(evicted > many / 2, "{evicted} runs left memory");
    // Forgetting keeps up: above the limit by half and some, none is begun, but for what was under way.
    assert!(kept < 2 * most, "{kept} runs are kept");
    let (_reference_directory, reference) = configured("{}\n");
    runtime.block_on(async {
        let mut sender = Sender::new(reference.grpc);
        for round in &rounds {
            send_patiently(&mut sender, round).await;
        }
    });
    assert_eq!(found, judged(&reference));
    assert!(found.iter().any(|run| run[0] != 100), "no loop was found");
    for mut times in [flood, active] {
        assert!(times.percentile(99) < promptly());
    }
}
