//! A receiver of alerts that is away, in real time: for half of it nobody listens, and then connections are taken and not
//! answered. `EDDY_OUTAGE` sets how many seconds it is away: 6 by default, 600 in the long form.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::load::{resident_mib, send_patiently, set_by};
use super::reload::looping;
use super::restarts::{answering, delivered, raised};
use super::support::{Daemon, Sender, free_port, runtime};

/// Runs whose loops go on meanwhile.
const RUNS: u64 = 100;

/// How long another receiver may wait for what was acknowledged.
const LAG_MAX: Duration = Duration::from_secs(2);

/// When the receiver must have everything: the longest wait between two attempts, and the longest attempt.
const CAUGHT_UP: Duration = Duration::from_secs(90);

/// What memory may grow by, in mebibytes: the log of alerts, as far as the database keeps it in memory.
const GROWTH_MAX: f64 = 16.0;

/// Given a receiver of alerts that is away while alerts are raised and revised: another one has each alert in time, memory stays
/// flat, and when it is back it gets the newest revision of every warning.
#[test]
fn alerts_outlast_an_outage() {
    let away = Duration::from_secs(set_by("EDDY_OUTAGE", 6));
    let directory = tempfile::tempdir().expect("a directory");
    let address = free_port();
    let config = directory.path().join("eddy.yaml");
    let alerts = directory.path().join("alerts.jsonl");
    let text = format!(
        "exporters:\n  file: {{path: '{}'}}\n  webhook: {{url: 'http://{address}', allow_private: true}}\n",
        alerts.display()
    );
    fs::write(&config, text).expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    let (mut silent, mut early_mib, mut slowest) = (None, None, Duration::ZERO);
    let began = Instant::now();
    for round in 0.. {
        let over = began.elapsed().as_secs_f64() / away.as_secs_f64();
        if over > 1.0 {
            break;
        }
        if over > 0.2 && early_mib.is_none() {
            early_mib = Some(resident_mib(&daemon));
        }
        if over > 0.5 && silent.is_none() {
            silent = Some(TcpListener::bind(address).expect("nobody else listens"));
        }
        let (run, from) = (round % RUNS, round / RUNS * 5);
        runtime.block_on(send_patiently(&mut sender, &looping(run, from, from + 5)));
        let (expected, sent) = (raised(&daemon), Instant::now());
        while delivered(directory.path()) != expected {
            assert!(sent.elapsed() < LAG_MAX, "the other one waits");
            std::thread::sleep(Duration::from_millis(5));
        }
        slowest = slowest.max(sent.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    let grown_mib = resident_mib(&daemon) - early_mib.expect("it took its time");
    let told = answering(silent.expect("it took its time"));
    let (expected, back) = (raised(&daemon), Instant::now());
    while *told.lock().expect("whole") != expected {
        assert!(back.elapsed() < CAUGHT_UP, "{told:?} of {expected:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let revisions: u64 = expected.values().sum();
    println!(
        "away for {away:.0?}: {} warnings in {revisions} revisions, all there {:.1?} after it was back; the other one waited \
         {slowest:.1?} at most; {grown_mib:.1} MiB more",
        expected.len(),
        back.elapsed()
    );
    assert!(expected.len() >= 10, "hardly anything was raised");
    assert!(grown_mib < GROWTH_MAX, "{grown_mib} MiB");
}
