//! Hours in one process: memory and open files stay where they are (`EDDY_SOAK` is how many seconds it takes; without, it is
//! some rounds as fast as they go).

use std::time::{Duration, Instant};

use super::kill::calls;
use super::support::{Daemon, Export, Sender, free_port, http_client, runtime};

/// Rounds of the short form, of two requests each.
const ROUNDS: u64 = 300;

/// What the daemon may grow by with each request of the short form, in bytes: caches that fill, with some 6 KB of it.
const REQUEST_GROWTH_MAX: f64 = 32e3;

/// What it may grow by in the long form, in bytes: caches that fill.
const LONG_GROWTH_MAX: f64 = 8e6;

/// What it may grow by in an hour of the long form, in bytes.
const HOURLY_GROWTH_MAX: f64 = 1e6;

/// Runs that stay in memory and on disk: so few that there are more of them before anything is measured. By default it takes half
/// an hour until the ten thousand of the one have come, and days for the hundred thousand of the other; memory grows for so long.
const LIMITS: &str = "runs: {resident_max: 50, retention: {runs: 500}}\n";

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
/// the first fifth is over.
#[test]
fn nothing_grows_for_ever() {
    let seconds = std::env::var("EDDY_SOAK").ok();
    let whole: Option<Duration> =
        seconds.map(|text| Duration::from_secs(text.parse().expect("a number of seconds")));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("eddy.yaml");
    std::fs::write(&config, LIMITS).expect("it can be written");
    let config = config.to_str().expect("a name in UTF-8");
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", config]);
    let began = Instant::now();
    let mut samples: Vec<[f64; 2]> = Vec::new();
    runtime().block_on(async {
        for round in 0.. {
            let over = match whole {
                Some(whole) => began.elapsed().as_secs_f64() / whole.as_secs_f64(),
                None => round as f64 / ROUNDS as f64,
            };
            if over > 1.0 {
                break;
            }
            // A client that comes and goes, with a run of its own and its part of a long one.
            let mut sender = Sender::new(daemon.grpc);
            for request in [calls(round + 1, 0, 20), calls(0, round * 5, round * 5 + 5)] {
                sender.send(Export::Traces(request)).await.expect("taken");
            }
            let tail = http_client().get(format!("http://{}/v1/alerts", daemon.api));
            drop(tail.send().await.expect("it answers"));
            if over > 0.2 {
                samples.push(measured(&daemon).await);
            }
            if whole.is_some() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    let third = samples.len() / 3;
    assert!(third > 0, "no time to look");
    let mean = |samples: &[[f64; 2]], what: usize| {
        samples.iter().map(|sample| sample[what]).sum::<f64>() / samples.len() as f64
    };
    let [first, last] = [&samples[..third], &samples[samples.len() - third..]];
    let grown = [0, 1].map(|what| mean(last, what) - mean(first, what));
    println!("{grown:?} in {:.0?}", began.elapsed());
    // From the middle of the first third to that of the last.
    let hours = |whole: Duration| whole.as_secs_f64() / 3600.0 * 0.8 * 2.0 / 3.0;
    let memory_max = match whole.map(hours) {
        Some(hours) if hours > 1.0 => HOURLY_GROWTH_MAX * hours,
        Some(_) => LONG_GROWTH_MAX,
        None => REQUEST_GROWTH_MAX * 2.0 * 2.0 * third as f64,
    };
    assert!(grown[0] < memory_max, "{grown:?} of {memory_max}");
    assert!(grown[1] < FILES_MAX, "{grown:?}");
}
