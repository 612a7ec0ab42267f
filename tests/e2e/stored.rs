//! What lies on disk: many runs at the start, and how much room they take after a long time.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::flood::{TOGETHER, invented};
use super::kill::calls;
use super::load::{Beside, Numbers, long_calls, metric, resident_mib, send_patiently, set_by};
use super::locks::configured;
use super::support::{Daemon, Sender, eddy, free_port, runtime};

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
    println!("ready with {runs} saved runs after kill -9 in {took:.2?}, {resident:.0} MiB");
    let (_, run) = daemon.get(&format!("/v1/runs/{:032x}", 1));
    assert_eq!(run["tool_calls"], 5);
    let most = Duration::from_secs(if runs > 100_000 { 5 } else { 2 });
    // A program that is not optimized takes several times as long.
    let most = if cfg!(debug_assertions) {
        3 * most
    } else {
        most
    };
    assert!(took < most, "{took:?}");
    assert!(resident < 300.0, "{resident} MiB");
}

/// Bytes of all files in a directory.
fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        // It has been removed meanwhile.
        Err(_) => 0,
    });
    sizes.sum()
}

/// Bytes of what is still of use: those of a copy, in which each value is once.
fn live(data: &Path, to: &Path) -> u64 {
    let copied = eddy()
        .arg("backup")
        .arg(to)
        .arg("--data-dir")
        .arg(data)
        .output();
    assert!(copied.expect("it runs").status.success());
    size(&to.join("snapshots")) / 2
}

/// Given runs that come and are forgotten, a day's worth of them in so many seconds (`EDDY_CHURN=600`; nothing is done without),
/// the data directory never takes more than three times what is of use and 64 MiB, and does not grow in the last third of the
/// time.
#[cfg(target_os = "linux")]
#[test]
fn what_is_forgotten_leaves_its_room() {
    let time = Duration::from_secs(set_by("EDDY_CHURN", 0));
    if time.is_zero() {
        return;
    }
    let (directory, daemon) = configured(
        "runs: {idle: 500ms, resident_max: 200, retention: {age: 1s, runs: 300}}\n\
         service: {snapshot_interval: 200ms}\n",
    );
    let data = directory.path().join("data");
    let (mut sizes, numbers) = (Vec::new(), Numbers::default());
    runtime().block_on(async {
        let grpc = daemon.grpc;
        let churning: Vec<_> = (0..3)
            .map(|_| {
                let numbers = numbers.clone();
                Beside::begin(move |stop| async move {
                    let mut sender = Sender::new(grpc);
                    while !stop.load(Ordering::Relaxed) {
                        let run = numbers.take(1, u64::MAX).expect("there are more");
                        send_patiently(&mut sender, &long_calls(run, 0, 100)).await;
                    }
                })
            })
            .collect();
        let began = Instant::now();
        while began.elapsed() < time {
            tokio::time::sleep(Duration::from_millis(100)).await;
            sizes.push(size(&data));
        }
        for one in churning {
            one.end().await;
        }
    });
    let written = metric(&daemon, "eddy_store_journal_bytes_total");
    let runs = metric(&daemon, "eddy_runs_created_total");
    let live = live(&data, &directory.path().join("copy"));
    let thirds: Vec<u64> = sizes
        .chunks(sizes.len().div_ceil(3))
        .map(|third| *third.iter().max().expect("some"))
        .collect();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{runs} runs of 100 spans, {:.1} MiB of journal: {:.1?} MiB at most in each third, {:.1} MiB of use",
        mib(written),
        thirds.iter().map(|bytes| mib(*bytes)).collect::<Vec<_>>(),
        mib(live)
    );
    assert!(written > 3 * (16 << 20), "too little was written to tell");
    let most = *sizes.iter().max().expect("some");
    assert!(most < 3 * live + (64 << 20), "{most} bytes, {live} of use");
    // A file of the journal more or less is no growth.
    assert!(thirds[2] < thirds[1] + (16 << 20), "{thirds:?}");
}
