//! A disk that takes nothing for a while, and a database that is damaged: nothing acknowledged is lost, senders are told what
//! to do, and everything goes on by itself.
//!
//! The disk is played by the limit for the size of files, which `prlimit` sets under a running process: with none, every
//! write fails, as on a full, broken or read-only disk.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use eddy::api::v1;
use eddy::api::v1::warning_service_client::WarningServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use tonic::Code;
use tonic::transport::Channel;
use tonic_types::StatusExt;

use super::kill::{calls, text};
use super::load;
use super::support::{Daemon, Sender, eddy, free_port, http_client, is_optimized, runtime, until};

/// Lets a daemon write nothing, or everything.
#[cfg(target_os = "linux")]
pub(crate) fn allow_writes(daemon: &Daemon, allowed: bool) {
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
        names_no_path(&reasons, directory.path());
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
}

/// Given a daemon that is started while the disk takes nothing, it waits for it, and ends in good order when told to.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_takes_nothing_from_the_start() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime();
    let daemon = Daemon::start(directory.path());
    let sent = runtime.block_on(async { Sender::new(daemon.grpc).traces(calls(1, 0, 5)).await });
    sent.expect("taken");
    drop(daemon);
    let mut daemon = Daemon::start_limited(directory.path(), "0");
    let (code, reasons) = daemon.get("/readyz");
    assert_eq!(code, 503);
    names_no_path(&reasons, directory.path());
    assert_eq!(daemon.get("/healthz").0, 200);
    assert_eq!(daemon.get("/v1/runs").0, 503);
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let daemon = Daemon::start_limited(directory.path(), "0");
    allow_writes(&daemon, true);
    runtime.block_on(until(async || {
        (daemon.get("/readyz").0 == 200).then_some(())
    }));
    assert_eq!(counted(&daemon, 1), 5);
}

/// What anybody may read does not tell where the data lies.
#[cfg(target_os = "linux")]
fn names_no_path(reasons: &serde_json::Value, directory: &Path) {
    let reasons = reasons.to_string();
    let directory = directory.to_string_lossy();
    assert!(!reasons.contains(&*directory), "{reasons}");
}

/// Six times the same call in so many runs.
#[cfg(target_os = "linux")]
fn loops(runs: u64) -> ExportTraceServiceRequest {
    let mut request = calls(100, 0, 6);
    for sender in 101..100 + runs {
        request
            .resource_spans
            .extend(calls(sender, 0, 6).resource_spans);
    }
    let scopes = request
        .resource_spans
        .iter_mut()
        .flat_map(|resource| &mut resource.scope_spans);
    for span in scopes.flat_map(|scope| &mut scope.spans) {
        // The call's id differs, its arguments and its result do not.
        span.attributes.retain(|pair| {
            !["arguments", "result"]
                .iter()
                .any(|end| pair.key.ends_with(end))
        });
        span.attributes.extend([
            text("gen_ai.tool.call.arguments", r#"{"item":"one"}"#.into()),
            text("gen_ai.tool.call.result", r#"{"found":"one thing"}"#.into()),
        ]);
    }
    request
}

/// Given a disk that has room for a part of a batch of alerts, that part is taken back from the file, and later no line is torn
/// and none is there twice.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_amid_a_batch_of_alerts() {
    // A file far longer than any of the store's, so that the limit is the exporter's alone; nothing of it is on disk.
    const LENGTH: u64 = 1 << 32;
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (alerts, config) = (path("alerts.jsonl"), path("eddy.yaml"));
    let file = fs::File::create(&alerts).expect("made");
    file.set_len(LENGTH - 1).expect("it has holes");
    let mut end = fs::OpenOptions::new().append(true).open(&alerts);
    end.as_mut()
        .expect("it is there")
        .write_all(b"\n")
        .expect("written");
    let exporter = format!("exporters: {{file: {{path: {}}}}}\n", alerts.display());
    fs::write(&config, exporter).expect("written");
    let limit = "ulimit -S -f unlimited";
    let config = ["--config", &config.to_string_lossy()];
    let daemon = Daemon::start_under(limit, &path("data"), free_port(), &config);

    let limited = Command::new("prlimit")
        .args(["--pid", &daemon.pid().to_string()])
        .arg(format!("--fsize={}:unlimited", LENGTH + 3000))
        .status();
    assert!(limited.expect("there is prlimit").success());
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(sender.traces(loops(20))).expect("taken");
    runtime.block_on(until(async || {
        let said = daemon.stderr.lock().expect("nobody panics with it").clone();
        said.contains("alerts cannot be delivered").then_some(())
    }));
    let written = || {
        let mut file = fs::File::open(&alerts).expect("it is there");
        file.seek(SeekFrom::Start(LENGTH)).expect("it is so long");
        io::read_to_string(file).expect("text")
    };
    runtime.block_on(until(async || written().is_empty().then_some(())));
    allow_writes(&daemon, true);
    let is_whole = |text: &String| text.lines().count() >= 60 && text.ends_with('\n');
    let text = runtime.block_on(until(async || Some(written()).filter(is_whole)));
    let lines = text.lines();
    let cursors = lines.map(|line| {
        let alert = serde_json::from_str::<serde_json::Value>(line);
        alert.unwrap_or_else(|error| panic!("{error}: {line}"))["cursor"].as_u64()
    });
    let cursors: Vec<Option<u64>> = cursors.collect();
    let numbered: Vec<Option<u64>> = (1..=cursors.len() as u64).map(Some).collect();
    assert_eq!(cursors, numbered);
}

/// Given a client that tails alerts and takes none of them while the disk takes nothing, everything goes on when the disk is well
/// again: nobody waits for what a client holds.
#[cfg(target_os = "linux")]
#[test]
fn a_tail_that_stands_still_keeps_nobody_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start_limited(directory.path(), "unlimited");
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(sender.traces(loops(150))).expect("taken");
    let _stands_still = runtime.block_on(async {
        let narrow = Channel::from_shared(format!("http://{}", daemon.api)).expect("an address");
        let narrow = narrow.initial_stream_window_size(1 << 10).connect().await;
        let mut client = WarningServiceClient::new(narrow.expect("it listens"));
        let all = v1::TailAlertsRequest {
            after_cursor: Some(0),
            ..v1::TailAlertsRequest::default()
        };
        client.tail_alerts(all).await.expect("it is answered")
    });
    allow_writes(&daemon, false);
    runtime
        .block_on(sender.traces(calls(1, 0, 5)))
        .expect_err("it cannot be kept");
    runtime.block_on(until(async || {
        (daemon.get("/readyz").0 == 503).then_some(())
    }));
    allow_writes(&daemon, true);
    let began = Instant::now();
    runtime.block_on(until(async || sender.traces(calls(1, 0, 5)).await.ok()));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}

/// A file system of its own. Only root can have one.
struct Disk(tempfile::TempDir);

impl Disk {
    /// One in memory, of so many mebibytes.
    fn in_memory(mib: u32) -> Self {
        let disk = Self(tempfile::tempdir().expect("a directory"));
        disk.mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]);
        disk
    }

    /// One in a file, which becomes read-only at the first error that the kernel meets.
    fn in_file(image: &Path) -> Self {
        let file = fs::File::create(image).expect("there is room");
        file.set_len(64 << 20).expect("there is room");
        run("mkfs.ext4", &["-q".as_ref(), image]);
        let disk = Self(tempfile::tempdir().expect("a directory"));
        disk.mount_file(image);
        disk
    }

    fn mount_file(&self, image: &Path) {
        let image = image.to_string_lossy();
        self.mount(&["-o", "loop,errors=remount-ro", &image]);
    }

    fn mount(&self, what: &[&str]) {
        let mut arguments: Vec<&Path> = what.iter().map(Path::new).collect();
        arguments.push(self.0.path());
        run("mount", &arguments);
    }

    /// Has the kernel meet an error.
    fn break_down(&self) {
        let mounts = fs::read_to_string("/proc/mounts").expect("Linux has it");
        let here = self.0.path().to_string_lossy().into_owned();
        let line = mounts.lines().find(|line| line.contains(&here));
        let device = line.and_then(|line| line.strip_prefix("/dev/")?.split(' ').next());
        let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", device.expect("mounted"));
        fs::write(trigger, "1").expect("it can be told to");
    }

    /// Takes it away, once nobody has a file of it open.
    fn take_away(&self) {
        let began = Instant::now();
        loop {
            let gone = Command::new("umount").arg(self.0.path()).output();
            let gone = gone.expect("there is umount");
            if gone.status.success() {
                return;
            }
            let why = String::from_utf8_lossy(&gone.stderr);
            assert!(began.elapsed() < Duration::from_secs(10), "{why}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.0.path())
            .status();
    }
}

/// Runs a program of the system, which must succeed.
fn run(program: &str, arguments: &[&Path]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}, not root?: {said}");
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

/// How soon a daemon must go on once its disk is well. What is in the journal alone is told to the engine again, which takes
/// longer where it is not optimized.
fn promptly() -> Duration {
    Duration::from_secs(if is_optimized() { 10 } else { 60 })
}

/// Sends a request until it is taken, which must be soon. Answers how long that took.
fn goes_on(
    runtime: &tokio::runtime::Runtime,
    sender: &mut Sender,
    request: &ExportTraceServiceRequest,
) -> Duration {
    let began = Instant::now();
    let taken = runtime.block_on(async {
        tokio::time::timeout(promptly(), load::send_patiently(sender, request)).await
    });
    taken.expect("it goes on by itself");
    began.elapsed()
}

/// Whether a daemon whose disk takes nothing is alive and not ready, and lets calls pass.
fn is_alive_and_not_ready(daemon: &Daemon) {
    runtime().block_on(until(async || {
        (daemon.get("/readyz").0 == 503).then_some(())
    }));
    assert_eq!(daemon.get("/healthz").0, 200);
    let asked = daemon.post(
        "/v1/guard/check",
        r#"{"run_id":"r","tool":"search","arguments":{}}"#,
    );
    assert_eq!(asked.1["verdict"], "ALLOW", "{asked:?}");
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
    let runtime = runtime();
    let disk = Disk::in_memory(16);
    let path = |name: &str| disk.0.path().join(name);
    let (data, filler, config) = (path("data"), path("filler"), path("eddy.yaml"));
    // The journal is kept for the sake of a snapshot, and a minute of it is more than such a disk has room for.
    fs::write(&config, "service: {snapshot_interval: 1s}\n").expect("there is room");
    let config = config.to_string_lossy().into_owned();
    let start = || Daemon::start_with(&data, free_port(), &["--config", &config]);
    let mut daemon = start();
    for round in 0..3 {
        let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
        leave_room(&filler, 1 << 20);
        let mut acknowledged = 0;
        let mut refused = 0;
        // What is held back is given up when the disk is full for the first time.
        while refused < 60 {
            let request = calls(round, acknowledged, acknowledged + 100);
            let began = Instant::now();
            match runtime.block_on(load::send(&mut sender, request)) {
                load::Sent::Taken => acknowledged += 100,
                load::Sent::Later(_) => {
                    refused += 1;
                    assert!(began.elapsed() < Duration::from_secs(1));
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            assert!(acknowledged < 1_000_000, "the disk is never full");
        }
        is_alive_and_not_ready(&daemon);
        if round == 1 {
            daemon.kill_9();
            daemon = start();
            assert_eq!(daemon.get("/healthz").0, 200);
            sender = runtime.block_on(async { Sender::new(daemon.grpc) });
        }
        fs::remove_file(&filler).expect("it is there");
        let request = calls(round, acknowledged, acknowledged + 100);
        let took = goes_on(&runtime, &mut sender, &request);
        println!(
            "{acknowledged} calls acknowledged, {refused} requests refused, on after {took:.1?}"
        );
        assert_eq!(counted(&daemon, round), acknowledged + 100);
    }
    // A database that was set aside as damaged has had its time when its room is needed.
    let set_aside = data.join("damaged-before");
    fs::create_dir(&set_aside).expect("there is room");
    leave_room(&set_aside.join("db"), 1 << 20);
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    let mut acknowledged = 0;
    while set_aside.exists() {
        let request = calls(9, acknowledged, acknowledged + 100);
        goes_on(&runtime, &mut sender, &request);
        acknowledged += 100;
        assert!(acknowledged < 1_000_000, "the disk is never full");
    }
    assert_eq!(counted(&daemon, 9), acknowledged);
}

/// Given a file system that an error makes read-only under load (with `EDDY_DISK=1`, by root): requests are refused for now,
/// the process is alive and not ready and lets go of all files, so that the disk can be taken away and mended; it makes no
/// store of its own meanwhile, goes on when the disk is there again, and nothing that was acknowledged is lost or counts twice.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_becomes_read_only() {
    if std::env::var_os("EDDY_DISK").is_none() {
        return;
    }
    let runtime = runtime();
    let beside = tempfile::tempdir().expect("a directory");
    let image = beside.path().join("image");
    let disk = Disk::in_file(&image);
    let data = disk.0.path().join("data");
    // The database panics when it is closed on such a disk, in which some lines of the log are enough.
    let daemon = Daemon::start_under("export RUST_BACKTRACE=0", &data, free_port(), &[]);
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    let mut acknowledged = 0;
    for round in 0..3 {
        for _ in 0..20 {
            let request = calls(1, acknowledged, acknowledged + 10);
            goes_on(&runtime, &mut sender, &request);
            acknowledged += 10;
        }
        disk.break_down();
        let request = calls(1, acknowledged, acknowledged + 10);
        let began = Instant::now();
        let sent = runtime.block_on(load::send(&mut sender, request));
        assert!(matches!(sent, load::Sent::Later(_)), "it cannot be kept");
        assert!(began.elapsed() < Duration::from_secs(1));
        is_alive_and_not_ready(&daemon);
        let began = Instant::now();
        disk.take_away();
        std::thread::sleep(Duration::from_secs(2));
        assert!(!data.exists(), "it has begun anew on another disk");
        is_alive_and_not_ready(&daemon);
        // It answers 1 where it has mended something.
        let _ = Command::new("fsck.ext4").arg("-fy").arg(&image).output();
        disk.mount_file(&image);
        let away = began.elapsed();
        let request = calls(1, acknowledged, acknowledged + 10);
        let took = goes_on(&runtime, &mut sender, &request);
        acknowledged += 10;
        println!(
            "round {round}: {acknowledged} calls, on {took:.1?} after the disk, which was away for {away:.1?}"
        );
        assert_eq!(counted(&daemon, 1), acknowledged);
    }
    let said = daemon.stderr.lock().expect("whole").clone();
    assert!(said.lines().count() < 100, "{said}");
    // What it panics about may be anything.
    let panics = said.matches("panicked: ").count();
    println!("{panics} panics of the database");
    assert!(!said.contains("panicked at"), "{said}");
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
            let mut number = round * 3;
            runtime.block_on(until(async || {
                // A snapshot is written where something was committed since the one before.
                let more = calls(0, number, number + 1);
                sender.traces(more).await.expect("taken");
                number += 1;
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

/// Given a tenant whose first start was cut short, a backup says that it has nothing yet and has the others; one that has a
/// journal and does not say its format is not left out.
#[test]
fn a_tenant_without_anything_is_left_out_of_a_backup() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, copy) = (directory.path().join("data"), directory.path().join("copy"));
    Daemon::start(&data).kill_9();
    let journal = data.join("tenants/one/store/journal");
    fs::create_dir_all(&journal).expect("it can be made");
    fs::write(data.join("tenants/one/LOCK"), "pid 1\n").expect("it can be written");
    let save = || {
        let mut backup = eddy();
        backup.arg("backup").arg(&copy).arg("--data-dir").arg(&data);
        let output = backup.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let (is_saved, said) = save();
    assert!(is_saved, "{said}");
    assert!(said.contains("tenant one has nothing yet"), "{said}");
    assert!(copy.join("FORMAT").exists() && !copy.join("tenants").exists());
    fs::remove_dir_all(&copy).expect("it can be removed");
    fs::write(journal.join("00000001.log"), "something").expect("it can be written");
    let (is_saved, said) = save();
    assert!(!is_saved && said.contains("no store of eddy"), "{said}");

    // A directory that is no store is named as it was given.
    let elsewhere = directory.path().join("elsewhere");
    let mut backup = eddy();
    backup
        .arg("backup")
        .arg(&copy)
        .arg("--data-dir")
        .arg(&elsewhere);
    let said = String::from_utf8(backup.output().expect("it runs").stderr).expect("text");
    let expected = format!("cannot copy {}: there is no store", elsewhere.display());
    assert!(said.contains(&expected), "{said}");
}

/// What a command that has to do so says on its way.
fn done(arguments: &[&Path]) -> String {
    let output = eddy().args(arguments).output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
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
    let said = done(&["backup".as_ref(), &copy, "--data-dir".as_ref(), &data]);
    let whence = format!("saved {}: ", data.display());
    assert!(said.starts_with(&whence), "{said}");
    load.abort();
    done(&["restore".as_ref(), &copy, "--data-dir".as_ref(), &restored]);
    let other = Daemon::start(&restored);
    let said = other.stderr.lock().expect("nobody panics with it").clone();
    assert!(
        said.contains("nothing is lost") && !said.contains("WARN"),
        "{said}"
    );
    let (theirs, ours) = (other.runs(), daemon.runs());
    for run in 0..10 {
        let id = format!("{:032x}", run + 1);
        assert_eq!(theirs[&id], ours[&id]);
    }
}

/// A daemon with twenty runs, a copy of its directory without a snapshot, and the journal's file in that.
fn copied_without_snapshot(directory: &Path) -> (Daemon, PathBuf, PathBuf) {
    let [data, copy] = ["data", "copy"].map(|name| directory.join(name));
    let daemon = Daemon::start(&data);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    for run in 0..20 {
        runtime
            .block_on(sender.traces(calls(run, 0, 4)))
            .expect("taken");
    }
    done(&["backup".as_ref(), &copy, "--data-dir".as_ref(), &data]);
    let _ = fs::remove_dir_all(copy.join("snapshots"));
    let mut files = fs::read_dir(copy.join("store/journal")).expect("there is one");
    let file = files.next().expect("a file").expect("readable").path();
    (daemon, copy, file)
}

/// Given a copy without a snapshot, and its journal cut in the middle, restoring it fails and says so; what is served of it says
/// how much is lost.
#[test]
fn a_copy_that_was_cut_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let (_daemon, copy, file) = copied_without_snapshot(directory.path());
    let restored = directory.path().join("restored");
    let bytes = fs::read(&file).expect("readable");
    let end = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .expect("something");
    fs::write(&file, &bytes[..end / 2]).expect("written");
    let output = eddy()
        .args([
            "restore".as_ref(),
            copy.as_path(),
            "--data-dir".as_ref(),
            &restored,
        ])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("its journal has been cut"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    let other = Daemon::start(&restored);
    let said = other.stderr.lock().expect("nobody panics with it").clone();
    assert!(
        said.contains("the journal has been cut: its last "),
        "{said}"
    );
    assert!(!said.contains("nothing is lost"), "{said}");
}

/// Given a data directory into which nothing has come, its copy is made, and a warning says that there was nothing in it; given
/// one with something, there is no warning.
#[test]
fn a_copy_of_nothing_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let [data, first, second] = ["data", "first", "second"].map(|name| directory.path().join(name));
    let daemon = Daemon::start(&data);
    let save = |to: &Path| {
        let mut backup = eddy();
        backup.arg("backup").arg(to).arg("--data-dir").arg(&data);
        let output = backup.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
        said
    };
    let said = save(&first);
    let warning = format!("warning: there was nothing in {}", data.display());
    assert!(
        said.starts_with(&warning) && said.contains("`--data-dir`"),
        "{said}"
    );
    let sent = runtime().block_on(async { Sender::new(daemon.grpc).traces(calls(1, 0, 4)).await });
    sent.expect("taken");
    assert_eq!(save(&second), "");
}

/// Given a copy in which a part of the journal is damaged and that no snapshot bridges, restoring it names the copy, and how the
/// rest is recovered: a daemon that is started on it tells what is lost and has the rest.
#[test]
fn a_damaged_copy_says_how_to_recover() {
    let directory = tempfile::tempdir().expect("a directory");
    let (_daemon, copy, file) = copied_without_snapshot(directory.path());
    let restored = directory.path().join("restored");
    let mut bytes = fs::read(&file).expect("readable");
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes[end.expect("something") / 2] ^= 0xff;
    fs::write(&file, &bytes).expect("written");
    let mut restore = eddy();
    restore
        .arg("restore")
        .arg(&copy)
        .arg("--data-dir")
        .arg(&restored);
    let output = restore.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let remedy = format!("eddy serve --data-dir {}", copy.display());
    assert!(said.contains(&remedy), "{said}");
    assert!(!said.contains(&*restored.to_string_lossy()), "{said}");
    let other = Daemon::start(&copy);
    let runs = other.runs().len();
    assert!((10..20).contains(&runs), "{runs}");
}

/// Given copies that cannot be made, it is said why: none is made within the data directory itself, and none of nothing. Of a
/// damaged snapshot it is said that there is one.
#[test]
fn what_is_wrong_with_a_copy_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let [data, copy, third, nothing] =
        ["data", "copy", "third", "nothing"].map(|name| directory.path().join(name));
    let daemon = Daemon::start(&data);
    let sent = runtime().block_on(async { Sender::new(daemon.grpc).traces(calls(1, 0, 4)).await });
    sent.expect("taken");
    done(&["backup".as_ref(), &copy, "--data-dir".as_ref(), &data]);
    let refused = |arguments: [&Path; 4], why: &str| {
        let output = eddy().args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(why), "{said}");
    };
    let (backup, restore, of) = ("backup".as_ref(), "restore".as_ref(), "--data-dir".as_ref());
    // A directory with something in it is left alone.
    refused([restore, &copy, of, &data], "it is not empty");
    // Where there is nothing to copy, it is said how to name what there is.
    let why = "`--data-dir` or the file of `--config` has to name";
    refused([backup, &third, of, &nothing], why);
    let why = "a directory that `eddy backup` has made";
    refused([restore, &nothing, of, &third], why);
    let within = data.join("copies/monday");
    refused([backup, &within, of, &data], "of which it is to be a copy");
    assert!(!data.join("copies").exists());
    fs::create_dir_all(copy.join("snapshots")).expect("it can be made");
    fs::write(copy.join("snapshots/99999999.snapshot"), "torn").expect("it can be written");
    let said = done(&[restore, &copy, of, &third]);
    assert!(said.contains("1 damaged one"), "{said}");
    // As a copier that leaves out `*.log` makes it.
    let journal = copy.join("store/journal");
    fs::remove_dir_all(&journal).expect("it is there");
    fs::create_dir(&journal).expect("it can be made");
    let why = "the copy is not whole; neither a snapshot nor the journal can be read";
    refused([restore, &copy, of, &directory.path().join("fourth")], why);
}
