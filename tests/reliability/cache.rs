//! What the database keeps in memory of what was saved and is not needed.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use eddy::store::{Entry, IndexKey, Options, SavedRun, Store, Turn};
use xxhash_rust::xxh3::xxh3_128;

/// Has a process save runs.
const SAVES: &str = "EDDY_TEST_SAVES";

const PATIENCE: Duration = Duration::from_secs(60);

/// What this process has in memory that is no file's, in mebibytes.
fn anonymous_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number")
        >> 10
}

/// Saves runs, each once, and has a snapshot of them written. Says how many mebibytes more are taken at the end than when
/// a quarter of them was saved.
async fn save() -> u64 {
    const RUNS: u64 = 40_000;
    const TOGETHER: usize = 40;
    const STATE_BYTES: usize = 3_000;
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options {
        cache_bytes: 8 << 20,
        snapshot_every: Some(Duration::from_secs(3)),
        ..Options::default()
    };
    let store = Store::open(directory.path(), &options).expect("the store opens");
    let saved = |run: u64| SavedRun {
        key: IndexKey {
            created_ms: run,
            run_id: format!("{:032x}", xxh3_128(&run.to_be_bytes())).into(),
        },
        position: run + 1,
        state: vec![1; STATE_BYTES],
    };
    let mut before = 0;
    for first in (0..RUNS).step_by(TOGETHER) {
        let together = first..first + TOGETHER as u64;
        let saved = store.save_runs(together.map(saved).collect()).await;
        saved.expect("they are saved");
        if first == RUNS / 4 {
            before = anonymous_mib();
        }
    }
    let idle = Turn {
        entries: vec![Entry::Idle {
            run_id: "run".into(),
            at_ms: 1,
        }],
        ..Turn::default()
    };
    store.commit(idle).await.expect("it is committed");
    let ended = Instant::now();
    while store.counters().snapshots == 0 {
        assert!(ended.elapsed() < PATIENCE, "no snapshot is written");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anonymous_mib().saturating_sub(before)
}

/// Given many times more runs than the database's cache is for, each saved once, its memory does not grow with them, nor with the
/// snapshot that reads them all.
#[test]
fn what_was_saved_leaves_memory() {
    if std::env::var_os(SAVES).is_some() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().expect("a runtime");
        println!("{} MiB more", runtime.block_on(save()));
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("it runs"));
    let child = child.args([
        "--exact",
        "cache::what_was_saved_leaves_memory",
        "--nocapture",
    ]);
    let output = child.env(SAVES, "1").output().expect("it ends");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let more = output
        .lines()
        .find_map(|line| line.strip_suffix(" MiB more"));
    let more: u64 = more.and_then(|more| more.parse().ok()).expect(&output);
    println!("{more} MiB more");
    assert!(more < 34);
}
