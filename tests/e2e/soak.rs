//! Hours in one process: memory and open files stay where they are (`EDDY_SOAK` is how many seconds it takes, 10 by default).

use std::time::{Duration, Instant};

use super::kill::calls;
use super::support::{Daemon, Export, Sender, free_port, http_client, runtime};

/// What the daemon may grow by in the short form, in bytes: caches that fill.
const SHORT_GROWTH_MAX: f64 = 24e6;

/// What it may grow by in an hour of the long form, in bytes.
const HOURLY_GROWTH_MAX: f64 = 1e6;

/// Runs that stay in memory: so few that there are more of them before anything is measured. By default it takes half an hour
/// until all ten thousand have come, and memory grows for so long.
const RESIDENT_MAX: &str = "runs: {resident_max: 50}\n";

/// Open files that may come and go: connections, files of the journal.
const FILES_MAX: f64 = 8.0;

/// Memory and open files of a daemon.
async fn measured(daemon: &Daemon) -> [f64; 2] {
    let page = http_client()
        .get(format!("http://{}/metrics", daemon.api))
        .send();
    let page = page
        .await
        .expect("it answers")
        .text()
        .await
        .expect("a page");
    ["eddy_process_memory_rss_bytes ", "eddy_process_open_fds "].map(|name| {
        let value = page.lines().find_map(|line| line.strip_prefix(name));
        value.expect("it is there").parse().expect("a number")
    })
}

/// Given load that goes on (new runs, long runs, tails and questions that come and go), memory and open files stay flat once
/// the first fifth of the time is over.
#[test]
fn nothing_grows_for_ever() {
    let seconds = std::env::var("EDDY_SOAK").ok();
    let seconds: u64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(10);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("eddy.yaml");
    std::fs::write(&config, RESIDENT_MAX).expect("it can be written");
    let config = config.to_str().expect("a name in UTF-8");
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", config]);
    let began = Instant::now();
    let whole = Duration::from_secs(seconds);
    let mut samples: Vec<(f64, [f64; 2])> = Vec::new();
    runtime().block_on(async {
        let mut number = 0;
        while began.elapsed() < whole {
            // A client that comes and goes, with a run of its own and its part of a long one.
            let mut sender = Sender::new(daemon.grpc);
            for request in [
                calls(number + 1, 0, 20),
                calls(0, number * 5, number * 5 + 5),
            ] {
                sender.send(Export::Traces(request)).await.expect("taken");
            }
            let tail = http_client().get(format!("http://{}/v1/alerts", daemon.api));
            drop(tail.send().await.expect("it answers"));
            number += 1;
            if began.elapsed() > whole / 5 {
                samples.push((began.elapsed().as_secs_f64(), measured(&daemon).await));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let third = samples.len() / 3;
    assert!(third > 0, "no time to look");
    let mean = |samples: &[(f64, [f64; 2])], what: usize| {
        let sum: f64 = samples.iter().map(|(_, sample)| sample[what]).sum();
        sum / samples.len() as f64
    };
    let [first, last] = [&samples[..third], &samples[samples.len() - third..]];
    let grown = [0, 1].map(|what| mean(last, what) - mean(first, what));
    let hours = whole.as_secs_f64() * 0.8 * 2.0 / 3.0 / 3600.0;
    let memory_max = SHORT_GROWTH_MAX.max(HOURLY_GROWTH_MAX * hours);
    assert!(grown[0] < memory_max, "{grown:?} in {seconds} s");
    assert!(grown[1] < FILES_MAX, "{grown:?} in {seconds} s");
    if hours > 1.0 {
        assert!(
            grown[0] / hours < HOURLY_GROWTH_MAX,
            "{grown:?} in {seconds} s"
        );
    }
}
