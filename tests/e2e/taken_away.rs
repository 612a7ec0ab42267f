//! A data directory that is moved or removed under a running daemon: nothing more is acknowledged, since nobody would find it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::kill::calls;
use super::load::{self, Sent, send_patiently};
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
fn is_not_ready(daemon: &Daemon) {
    let began = Instant::now();
    loop {
        assert_eq!(daemon.get("/healthz").0, 200);
        let (code, why) = daemon.get("/readyz");
        if code == 503 && why.to_string().contains("cannot find any more") {
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

/// Given a data directory that is moved away under load and comes back, requests are refused for now meanwhile, readiness says
/// why, and then it goes on, with all that was acknowledged. Given one that is removed, nothing is acknowledged any more, and
/// none is begun until the daemon is started again.
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
    is_not_ready(&daemon);
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
    fs::remove_dir_all(&data).expect("it can be removed");
    runtime.block_on(refused_soon(&mut sender, 3));
    is_not_ready(&daemon);
    assert!(!data.join("store").exists(), "it has begun anew");
    drop(daemon);
    let daemon = Daemon::start(&data);
    assert_eq!(daemon.get("/readyz").0, 200);
    assert!(daemon.runs().is_empty());
}
