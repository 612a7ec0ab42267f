//! What lies on disk: many runs at the start.

use std::time::{Duration, Instant};

use super::access::configured;
use super::flood::{TOGETHER, invented};
use super::kill::calls;
use super::load::{Numbers, processor_time, resident_mib, send_patiently, set_by};
use super::support::{Daemon, Sender, free_port, is_optimized, runtime};

/// Puts one-span runs into a daemon until there are so many.
async fn fill(grpc: std::net::SocketAddr, runs: u64) {
    let numbers = Numbers::default();
    let filling = (0..2).map(|_| {
        let numbers = numbers.clone();
        tokio::spawn(async move {
            let mut sender = Sender::new(grpc);
            while let Some(from) = numbers.take(TOGETHER, runs) {
                send_patiently(&mut sender, &invented(from)).await;
            }
        })
    });
    for one in filling.collect::<Vec<_>>() {
        one.await.expect("no panic");
    }
}

/// Given many saved runs (`EDDY_SAVED_RUNS` of them) and a process that was killed, the next one is ready within two seconds
/// (five for more than a hundred thousand), shows the oldest run, and has not read them all into memory.
#[cfg(target_os = "linux")]
#[test]
fn many_saved_runs_do_not_hold_up_the_start() {
    let runs = set_by("EDDY_SAVED_RUNS", 5_000);
    let (directory, daemon) = configured(&format!(
        "runs: {{resident_max: 1000, retention: {{runs: {}}}}}\n",
        2 * runs
    ));
    let runtime = runtime();
    runtime.block_on(async {
        Sender::new(daemon.grpc)
            .traces(calls(0, 0, 5))
            .await
            .expect("it is taken");
        fill(daemon.grpc, runs).await;
    });
    daemon.kill_9();
    let config = directory.path().join("eddy.yaml");
    let began = Instant::now();
    let daemon = Daemon::start_with(
        &directory.path().join("data"),
        free_port(),
        &["--config", &config.to_string_lossy()],
    );
    let (took, resident) = (began.elapsed(), resident_mib(&daemon));
    let worked = processor_time(&daemon);
    println!(
        "ready with {runs} saved runs after kill -9 in {took:.2?}, {worked:.2?} of it on a processor, {resident:.0} MiB"
    );
    let (_, run) = daemon.get(&format!("/v1/runs/{:032x}", 1));
    assert_eq!(run["tool_calls"], 5);
    let most = Duration::from_secs(if runs > 100_000 { 5 } else { 2 });
    // A program that is not optimized takes several times as long.
    let most = if is_optimized() { most } else { 3 * most };
    assert!(took < most, "{took:?}");
    assert!(resident < 300.0, "{resident} MiB");
}
