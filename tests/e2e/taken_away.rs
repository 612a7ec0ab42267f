//! A data directory that is moved or removed under a running daemon: nothing more is acknowledged, since nobody would find it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::access::{Shown, asks_for_certificates, configured};
#[cfg(target_os = "linux")]
use super::disk::allow_writes;
use super::kill::calls;
use super::load::{self, Sent, send_patiently};
use super::secrets::looping;
use super::support::{Daemon, PATIENCE, Sender, runtime};

/// Within what time it is seen that the directory is gone. It is looked at five times a second.
const SOON: Duration = Duration::from_secs(10);

/// Sends until a request is refused for now. Answers how many calls of this run have been acknowledged.
async fn refused_soon(sender: &mut Sender, run: u64) -> u64 {
    let (began, mut acknowledged) = (Instant::now(), 0);
    loop {
        let request = calls(run, acknowledged, acknowledged + 1);
        match load::send(sender, request).await {
            Sent::Taken => acknowledged += 1,
            Sent::Later(_) => return acknowledged,
        }
        assert!(began.elapsed() < SOON, "{acknowledged} calls are taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a daemon says that it is not ready, and why. It is alive.
fn is_not_ready(daemon: &Daemon, expected: &str) {
    let began = Instant::now();
    loop {
        assert_eq!(daemon.get("/healthz").0, 200);
        let (code, why) = daemon.get("/readyz");
        if code == 503 && why.to_string().contains(expected) {
            return;
        }
        assert!(began.elapsed() < SOON, "{code}: {why}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn counted(daemon: &Daemon, run: u64) -> u64 {
    let (_, run) = daemon.get(&format!("/v1/runs/{:032x}", run + 1));
    run["tool_calls"].as_u64().unwrap_or(0)
}

pub(crate) fn moved(from: &Path, to: &Path) {
    // What waits for the directory may be about to look into it.
    let _ = fs::remove_dir_all(to);
    fs::rename(from, to).expect("it can be moved");
}

/// Removes a directory into which somebody may still be writing.
fn remove(directory: &Path) {
    let began = Instant::now();
    while let Err(error) = fs::remove_dir_all(directory) {
        assert!(began.elapsed() < SOON, "it cannot be removed: {error}");
    }
}

/// Given a store behind a link whose disk is not mounted at the start, the daemon is alive and not ready, says why, and goes on
/// with all that was acknowledged once it is.
#[cfg(unix)]
#[test]
fn a_disk_that_is_not_mounted_at_the_start_is_waited_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let data = path("data");
    let daemon = Daemon::start(&data);
    runtime().block_on(async {
        let taken = Sender::new(daemon.grpc).traces(calls(1, 0, 5)).await;
        taken.expect("taken");
    });
    daemon.kill_9();
    moved(&data.join("store"), &path("disk"));
    std::os::unix::fs::symlink(path("mounted"), data.join("store")).expect("a link");
    let daemon = Daemon::start(&data);
    is_not_ready(&daemon, "is its disk mounted?");
    moved(&path("disk"), &path("mounted"));
    let began = Instant::now();
    while counted(&daemon, 1) != 5 {
        assert!(began.elapsed() < SOON, "it does not go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Given a data directory that is moved away under load and comes back, requests are refused for now meanwhile, readiness says
/// why, and then it goes on, with all that was acknowledged. Given one that is removed, nothing is acknowledged any more, what the
/// guard is asked and told counts as looked at by nobody, and none is begun until the daemon is started again.
#[test]
fn a_directory_that_is_taken_away_is_missed() {
    let beside = tempfile::tempdir().expect("a directory");
    let (data, away) = (beside.path().join("data"), beside.path().join("away"));
    let daemon = Daemon::start(&data);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(send_patiently(&mut sender, &calls(1, 0, 5)));
    moved(&data, &away);
    let acknowledged = runtime.block_on(refused_soon(&mut sender, 2));
    is_not_ready(&daemon, "cannot find any more");
    moved(&away, &data);
    let back = async {
        let request = calls(1, 5, 10);
        let sending = send_patiently(&mut sender, &request);
        tokio::time::timeout(PATIENCE, sending).await
    };
    runtime.block_on(back).expect("it goes on");
    assert_eq!(counted(&daemon, 1), 10);
    // The call that was refused may be there too.
    let kept = counted(&daemon, 2);
    assert!(
        (acknowledged..=acknowledged + 1).contains(&kept),
        "{kept} of {acknowledged}"
    );
    remove(&data);
    runtime.block_on(refused_soon(&mut sender, 3));
    is_not_ready(&daemon, "cannot find any more");
    assert!(!data.join("store").exists(), "it has begun anew");
    let told = [
        (200, "check", ""),
        (503, "report", r#", "status": "success""#),
    ];
    for (code, what, more) in told {
        let question = format!(r#"{{"run_id": "asked", "tool": "search"{more}}}"#);
        let (answered, answer) = daemon.post(&format!("/v1/guard/{what}"), &question);
        assert_eq!(answered, code, "{answer}");
    }
    let degraded = "eddy_guard_degraded_total{reason=\"outage\"}";
    assert_eq!(load::metric(&daemon, degraded), 2);
    drop(daemon);
    let daemon = Daemon::start(&data);
    assert_eq!(daemon.get("/readyz").0, 200);
    assert!(daemon.runs().is_empty());
}

/// Given a data directory that is moved away and comes back, while the certificate that is shown to the receivers of alerts has
/// gone, it goes on, and so do alerts, by the connections that there are; what is counted of them does not begin anew.
#[test]
fn exporters_need_their_files_at_the_start_alone() {
    let asking = asks_for_certificates();
    let (_behind, behind) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{asking}}}, http: {{{asking}}}}}}}}}\n"
    ));
    let shown = Shown::stranger();
    shown.renew();
    let tls = shown.settings();
    let (directory, daemon) = configured(&format!(
        "exporters:\n  otlp_logs: {{endpoint: 'https://localhost:{}', {tls}}}\n  \
         webhook: {{url: 'https://localhost:{}/v1/logs', allow_private: true, {tls}}}\n",
        behind.grpc.port(),
        behind.http.port()
    ));
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    let sent = |exporter| {
        let name = format!("eddy_exporter_sent_alerts_total{{exporter=\"{exporter}\"");
        let (_, page) = daemon.get("/metrics");
        let lines = page.as_str().unwrap_or_default().lines();
        let numbers = lines.filter(|line| line.starts_with(&name));
        let numbers = numbers.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        numbers.sum::<u64>()
    };
    let exporters = ["otlp_logs", "webhook"];
    let mut loop_and_wait = |run, before: [u64; 2]| {
        let (request, began) = (&looping(run)[0], Instant::now());
        let sending = send_patiently(&mut sender, request);
        let taken = runtime.block_on(async { tokio::time::timeout(PATIENCE, sending).await });
        taken.expect("it is taken");
        loop {
            let now = exporters.map(sent);
            if now[0] > before[0] && now[1] > before[1] {
                return now;
            }
            assert!(began.elapsed() < PATIENCE, "{before:?}, then {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let before = loop_and_wait(1, [0, 0]);
    let (data, away) = (directory.path().join("data"), directory.path().join("away"));
    moved(&data, &away);
    is_not_ready(&daemon, "cannot find any more");
    drop(shown);
    moved(&away, &data);
    loop_and_wait(2, before);
}

/// Given a daemon whose disk did not let it open its store when it started, and is then unmounted to be mended, no store is
/// begun in its place; once it is back, all is there.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_was_unwell_from_the_start_is_missed() {
    let beside = tempfile::tempdir().expect("a directory");
    let (data, away) = (beside.path().join("data"), beside.path().join("away"));
    let runtime = runtime();
    let daemon = Daemon::start(&data);
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(send_patiently(&mut sender, &calls(1, 0, 5)));
    daemon.kill_9();
    let daemon = Daemon::start_limited(&data, "0");
    is_not_ready(&daemon, "File too large");
    moved(&data, &away);
    fs::create_dir(&data).expect("there is a place to mount it");
    allow_writes(&daemon, true);
    // It looks every second.
    std::thread::sleep(Duration::from_secs(3));
    is_not_ready(&daemon, "File too large");
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(refused_soon(&mut sender, 2));
    let begun = fs::read_dir(&data).expect("it is there").count();
    assert_eq!(begun, 0, "a store was begun in its place");
    fs::remove_dir(&data).expect("it is empty");
    moved(&away, &data);
    let request = calls(1, 5, 10);
    let back = async {
        let sending = send_patiently(&mut sender, &request);
        tokio::time::timeout(PATIENCE, sending).await
    };
    runtime.block_on(back).expect("it goes on");
    assert_eq!(counted(&daemon, 1), 10);
}
