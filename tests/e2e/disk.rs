//! A disk that takes nothing for a while, and a database that is damaged: nothing acknowledged is lost, senders are told what
//! to do, and everything goes on by itself.
//!
//! The disk is played by the limit for the size of files, which `prlimit` sets under a running process: with none, every
//! write fails, as on a full, broken or read-only disk.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tonic::Code;
use tonic_types::StatusExt;

use super::kill::calls;
use super::load;
use super::support::{Daemon, Sender, eddy, free_port, http_client, runtime, until};

/// Lets a daemon write nothing, or everything.
#[cfg(target_os = "linux")]
fn allow_writes(daemon: &Daemon, allowed: bool) {
    let limit = if allowed { "unlimited" } else { "0" };
    let status = Command::new("prlimit")
        .args(["--pid", &daemon.pid().to_string()])
        .arg(format!("--fsize={limit}:unlimited"))
        .status();
    assert!(status.expect("there is prlimit").success());
}

/// The number of tool calls of each sender's run.
fn counted(daemon: &Daemon, sender: u64) -> u64 {
    let id = format!("{:032x}", sender + 1);
    daemon
        .runs()
        .get(&id)
        .map_or(0, |run| run["tool_calls"].as_u64().expect("a number"))
}

/// Given a disk that takes nothing: requests are refused with a time to try again, the process is alive and not ready, and
/// says why; once the disk is well, it goes on within ten seconds, nothing acknowledged is lost and nothing counts twice.
/// Started while the disk takes nothing, it waits for it, and ends in good order when told to.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_takes_nothing_for_a_while() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start_limited(directory.path(), "unlimited");
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime
        .block_on(sender.traces(calls(1, 0, 5)))
        .expect("taken");
    for round in 0..3_u64 {
        allow_writes(&daemon, false);
        let began = Instant::now();
        let from = 5 * (round + 1);
        let status = runtime.block_on(sender.traces(calls(1, from, from + 5)));
        let status = status.expect_err("it cannot be kept");
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.get_details_retry_info().is_some(), "{status}");
        let (code, reasons) = runtime.block_on(until(async || {
            let (code, body) = daemon.get("/readyz");
            (code == 503).then_some((code, body))
        }));
        assert!(reasons["reasons"][0].is_string(), "{code} {reasons}");
        assert_eq!(daemon.get("/healthz").0, 200);
        assert_eq!(daemon.get("/metrics").0, 200);
        let asked = runtime.block_on(async {
            let ask = http_client().post(format!("http://{}/v1/guard/check", daemon.api));
            let ask = ask.header("content-type", "application/json");
            let ask = ask.body(r#"{"run_id":"r","tool":"search","arguments":{}}"#);
            ask.send()
                .await
                .expect("it answers")
                .text()
                .await
                .expect("a verdict")
        });
        assert!(
            asked.contains("ALLOW") && asked.contains("\"degraded\":true"),
            "{asked}"
        );
        std::thread::sleep(Duration::from_millis(500 * round));
        allow_writes(&daemon, true);
        let began = Instant::now();
        runtime.block_on(until(async || {
            sender.traces(calls(1, from, from + 5)).await.ok()
        }));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(counted(&daemon, 1), from + 5);
    }
    assert_eq!(daemon.get("/readyz").0, 200);
    let lines = daemon
        .stderr
        .lock()
        .expect("nobody panics with it")
        .lines()
        .count();
    assert!(lines < 100, "{lines} lines of log");
    drop(daemon);

    let mut daemon = Daemon::start_limited(directory.path(), "0");
    assert_eq!(daemon.get("/readyz").0, 503);
    assert_eq!(daemon.get("/healthz").0, 200);
    assert_eq!(daemon.get("/v1/runs").0, 503);
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let daemon = Daemon::start_limited(directory.path(), "0");
    allow_writes(&daemon, true);
    runtime.block_on(until(async || {
        (daemon.get("/readyz").0 == 200).then_some(())
    }));
    assert_eq!(counted(&daemon, 1), 20);
}

/// A file system in memory, of so many mebibytes. Only root can have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn of_mib(mib: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(directory.path())
            .status();
        assert!(mounted.expect("there is mount").success(), "not root?");
        Self(directory)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.0.path())
            .status();
    }
}

/// Fills a disk with a file, but for so many bytes.
fn leave_room(file: &Path, bytes: u64) {
    let mut filler = fs::File::create(file).expect("there is room");
    let mut length = 0;
    while let Ok(more) = filler.write(&[1; 4096]) {
        length += more as u64;
    }
    filler
        .set_len(length.saturating_sub(bytes))
        .expect("it can be cut");
}

/// Given a disk of sixteen mebibytes that is filled under load (with `EDDY_DISK=1`, by root): requests are refused for now,
/// the process is alive and not ready and the guard lets calls pass, also after it was killed and started anew; when there is
/// room again it goes on within ten seconds, and nothing that was acknowledged is lost or counts twice.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full() {
    if std::env::var_os("EDDY_DISK").is_none() {
        return;
    }
    let disk = SmallDisk::of_mib(16);
    let (data, filler) = (disk.0.path().join("data"), disk.0.path().join("filler"));
    let runtime = runtime();
    let mut daemon = Daemon::start(&data);
    for round in 0..3 {
        let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
        leave_room(&filler, 1 << 20);
        let mut acknowledged = 0;
        let mut refused = 0;
        // What is held back is given up when the disk is full for the first time.
        while refused < 60 {
            let request = calls(round, acknowledged, acknowledged + 100);
            match runtime.block_on(load::send(&mut sender, request)) {
                load::Sent::Taken => acknowledged += 100,
                load::Sent::Later(_) => {
                    refused += 1;
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            assert!(acknowledged < 1_000_000, "the disk is never full");
        }
        runtime.block_on(until(async || {
            (daemon.get("/readyz").0 == 503).then_some(())
        }));
        assert_eq!(daemon.get("/healthz").0, 200);
        let asked = daemon.post(
            "/v1/guard/check",
            r#"{"run_id":"r","tool":"search","arguments":{}}"#,
        );
        assert_eq!(asked.1["verdict"], "ALLOW", "{asked:?}");
        if round == 1 {
            daemon.kill_9();
            daemon = Daemon::start(&data);
            assert_eq!(daemon.get("/healthz").0, 200);
            sender = runtime.block_on(async { Sender::new(daemon.grpc) });
        }
        fs::remove_file(&filler).expect("it is there");
        let began = Instant::now();
        let request = calls(round, acknowledged, acknowledged + 100);
        runtime.block_on(load::send_patiently(&mut sender, &request));
        let took = began.elapsed();
        println!(
            "{acknowledged} calls acknowledged, {refused} requests refused, on after {took:.1?}"
        );
        // What is in the journal alone is told to the engine again, which takes longer where it is not optimized.
        let most = if cfg!(debug_assertions) { 60 } else { 10 };
        assert!(took < Duration::from_secs(most), "{took:?}");
        assert_eq!(counted(&daemon, round), acknowledged + 100);
    }
}

fn damage(data: &Path) {
    let log = data.join("store/db");
    let mut bytes = fs::read(&log).expect("the database is there");
    bytes[..64].iter_mut().for_each(|byte| *byte ^= 0x5a);
    fs::write(log, bytes).expect("it can be damaged");
    for file in fs::read_dir(data.join("store"))
        .expect("a directory")
        .flatten()
    {
        if file.file_name().to_string_lossy().starts_with("snap.") {
            fs::remove_file(file.path()).expect("it can be removed");
        }
    }
}

/// Given a database that is damaged while the daemon is away, by `kill -9`: it starts, shows everything as before, says so in
/// readiness, log and metrics, and the damaged database lies aside.
#[test]
fn a_damaged_database_is_mended() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let config = directory.path().join("eddy.yaml");
    fs::write(&config, "service: {snapshot_interval: 100ms}\n").expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let start = || Daemon::start_with(&data, free_port(), &["--config", &config]);
    let runtime = runtime();
    let mut daemon = start();
    for round in 1..4 {
        let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
        for run in 0..20 {
            runtime
                .block_on(sender.traces(calls(run, 0, round * 3)))
                .expect("taken");
        }
        if round == 2 {
            runtime.block_on(until(async || {
                let snapshots = fs::read_dir(data.join("snapshots")).into_iter().flatten();
                (snapshots.count() >= 2).then_some(())
            }));
        }
        let before = daemon.runs();
        assert_eq!(before.len(), 20);
        daemon.kill_9();
        damage(&data);
        daemon = start();
        assert_eq!(daemon.runs(), before, "round {round}");
        let (code, ready) = daemon.get("/readyz");
        let note = ready["notes"][0].as_str().expect("a note");
        assert!(code == 200 && note.contains("nothing is lost"), "{ready}");
        let said = daemon.stderr.lock().expect("nobody panics with it").clone();
        assert!(said.contains("damaged"), "{said}");
        let asides = fs::read_dir(&data).expect("a directory").flatten();
        let asides =
            asides.filter(|file| file.file_name().to_string_lossy().starts_with("damaged-"));
        assert_eq!(asides.count() as u64, round);
    }
}

/// Given a daemon under load, a copy made beside it holds everything that was acknowledged before, and is a data directory
/// after `eddy restore`.
#[test]
fn a_backup_is_restored() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy, restored) = (
        directory.path().join("data"),
        directory.path().join("copy"),
        directory.path().join("restored"),
    );
    let daemon = Daemon::start(&data);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    for run in 0..10 {
        runtime
            .block_on(sender.traces(calls(run, 0, 4)))
            .expect("taken");
    }
    let mut loading = sender.clone();
    let load = runtime.spawn(async move {
        for number in 0_u64.. {
            if loading
                .traces(calls(100 + number % 10, number, number + 3))
                .await
                .is_err()
            {
                return;
            }
        }
    });
    let run = |arguments: &[&Path]| {
        let output = eddy().args(arguments).output().expect("it runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = run(&["backup".as_ref(), &copy, "--data-dir".as_ref(), &data]);
    assert!(said.starts_with("saved: "), "{said}");
    load.abort();
    run(&["restore".as_ref(), &copy, "--data-dir".as_ref(), &restored]);
    let again = eddy()
        .args([
            "restore".as_ref(),
            copy.as_os_str(),
            "--data-dir".as_ref(),
            restored.as_os_str(),
        ])
        .output()
        .expect("it runs");
    assert_eq!(
        again.status.code(),
        Some(1),
        "a directory with something in it is left alone"
    );
    let other = Daemon::start(&restored);
    let (theirs, ours) = (other.runs(), daemon.runs());
    for run in 0..10 {
        let id = format!("{:032x}", run + 1);
        assert_eq!(theirs[&id], ours[&id]);
    }
}
