//! Starting and leaving: signals, ports, directories and configuration.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::access::configured;
use super::kill::calls;
use super::load::metric;
use super::reload::looping;
use super::support::{
    Daemon, Export, Library, PATIENCE, Sender, eddy, free_port, http_client, output_of, runtime,
    until,
};

/// Given SIGTERM while it holds data, the daemon commits, leaves with 0 within its deadline, and has everything next time.
#[test]
fn sigterm_loses_nothing() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut daemon = Daemon::start(data.path());
    runtime().block_on(async {
        Sender::new(daemon.grpc)
            .send_all(&[Export::Traces(calls(0, 0, 40))])
            .await;
    });
    // A connection that stays open and idle must not hold it up.
    let idle = std::net::TcpStream::connect(daemon.grpc).expect("it listens");
    daemon.signal("TERM");
    assert_eq!(
        daemon.wait().code(),
        Some(0),
        "{}",
        daemon.stderr.lock().expect("whole")
    );
    drop(idle);
    let daemon = Daemon::start(data.path());
    let calls: u64 = daemon
        .runs()
        .values()
        .filter_map(|run| run["tool_calls"].as_u64())
        .sum();
    assert_eq!(calls, 40);
    // After a crash it would have been in the journal alone.
    let said = daemon.stderr.lock().expect("whole").clone();
    assert!(!said.contains("journal replayed"), "{said}");
}

/// Given a demo whose terminal is closed, it ends and leaves nothing behind.
#[cfg(unix)]
#[test]
fn a_demo_ends_with_its_terminal() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut demo = eddy();
    let demo = demo.arg("demo").env("TMPDIR", directory.path());
    let mut demo = demo.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut shown = std::io::BufReader::new(demo.stdout.take().expect("ours"));
    std::io::BufRead::read_line(&mut shown, &mut String::new()).expect("it shows something");
    let left = || fs::read_dir(directory.path()).expect("it is there").count();
    assert_eq!(left(), 1);
    let hangup = Command::new("kill")
        .args(["-s", "HUP", &demo.id().to_string()])
        .status();
    assert!(hangup.expect("there is such a command").success());
    std::io::copy(&mut shown, &mut std::io::sink()).expect("it is read");
    assert_eq!(demo.wait().expect("it ends").code(), Some(0));
    assert_eq!(left(), 0);
}

/// Given a pipe in the place of a file of alerts, which nobody reads, the daemon leaves within its deadline all the same.
#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_reads_does_not_hold_it_up() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let pipe = directory.path().join("alerts");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("there is such a command").success());
    let text = format!(
        "exporters: {{file: {{path: {}}}}}\nservice: {{shutdown_deadline: 2s}}\n",
        pipe.display()
    );
    let (_directory, mut daemon) = configured(&text);
    runtime().block_on(async {
        Sender::new(daemon.grpc)
            .send_all(&[Export::Traces(looping(1, 0, 5))])
            .await;
    });
    let began = Instant::now();
    while metric(&daemon, "eddy_exporter_queue_size") == 0 {
        assert!(began.elapsed() < PATIENCE, "there is no alert");
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(0));
}

/// Given a terminal that takes nothing more, the daemon leaves, and does not promise that the next start shows the rest.
#[cfg(unix)]
#[test]
fn what_a_terminal_did_not_take_is_told_of() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    let (pipe, config) = (path("terminal"), path("eddy.yaml"));
    fs::write(&config, "service: {shutdown_deadline: 2s}\n").expect("it can be written");
    // Open for reading, too, so that it is not broken; nobody reads.
    let pipe = pipe.display();
    let before = format!("mkfifo {pipe}; exec 3<>{pipe} 1>&3");
    let arguments = ["--config", &config.to_string_lossy()];
    let mut daemon = Daemon::start_under(&before, &path("data"), free_port(), &arguments);
    runtime().block_on(async {
        let loops = (0..150).map(|run| Export::Traces(looping(run, 0, 5)));
        let loops: Vec<Export> = loops.collect();
        Sender::new(daemon.grpc).send_all(&loops).await;
    });
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(0));
    let said = runtime().block_on(until(async || {
        let said = daemon.stderr.lock().expect("whole").clone();
        said.contains("alerts were not shown").then_some(said)
    }));
    assert!(!said.contains("wait for the next start"), "{said}");
}

/// Given a disk that stops answering (`hang.c`), the daemon leaves within its deadline all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_does_not_answer_does_not_hold_it_up() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    let (data, config) = (path("data"), path("eddy.yaml"));
    let library = Library::compiled("hang", "EDDY_HANG", directory.path());
    fs::write(&config, "service: {shutdown_deadline: 2s}\n").expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let arguments = ["--config", config.as_str()];
    let mut daemon = Daemon::start_with_library(&library, &data, free_port(), &arguments);
    fs::write(&library.file, "").expect("it can be written");
    // Answered from memory, and committed behind that.
    let question = r#"{"run_id": "asked", "tool": "search", "arguments": {}}"#;
    assert_eq!(daemon.post("/v1/guard/check", question).0, 200);
    daemon.signal("TERM");
    let began = Instant::now();
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5));
    let said = daemon.stderr.lock().expect("whole");
    assert!(said.contains(r#"stage="store""#), "{said}");
}

/// Given a directory that another daemon holds, the second one says who holds it and leaves.
#[test]
fn a_second_daemon_says_who_holds_the_directory() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let _first = Daemon::start(data.path());
    let second = output_of(
        eddy()
            .args([
                "serve",
                "--otlp-grpc",
                "127.0.0.1:0",
                "--api",
                "127.0.0.1:0",
                "--data-dir",
            ])
            .arg(data.path()),
    );
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("held"), "{said}");
}

/// Every file of a directory with its bytes, but for the lock, in which a holder signs.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if entry.file_name() != "LOCK" {
            let bytes = fs::read(&path).expect("it can be read");
            files.push((path, bytes));
        }
    }
    files.sort();
    files
}

/// Given data that a newer release has written, the daemon does not start, names both formats, and leaves every byte as it is:
/// what it does not know it would drop.
#[test]
fn newer_data_is_refused_and_left_alone() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(data.path());
    runtime().block_on(async {
        Sender::new(daemon.grpc)
            .send_all(&[Export::Traces(calls(0, 0, 5))])
            .await;
    });
    daemon.kill_9();
    let format = data.path().join("FORMAT");
    let text = fs::read_to_string(&format).expect("it says its format");
    let number = text.trim_end().rsplit(' ').next().expect("a number");
    let newer = number.parse::<u32>().expect("a number") + 1;
    fs::write(&format, format!("eddy store format {newer}\n")).expect("it can be written");
    let before = files(data.path());
    let refused = output_of(
        eddy()
            .args([
                "serve",
                "--otlp-grpc",
                "127.0.0.1:0",
                "--otlp-http",
                "127.0.0.1:0",
            ])
            .args(["--api", "127.0.0.1:0", "--data-dir"])
            .arg(data.path()),
    );
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains(&format!("{newer}")) && said.contains(number),
        "{said}"
    );
    assert_eq!(files(data.path()), before);
    fs::write(&format, text).expect("it can be written");
    let daemon = Daemon::start(data.path());
    assert_eq!(daemon.runs().len(), 1);
}

/// Given a port that is taken, the daemon names it.
#[test]
fn a_port_in_use_is_named() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = output_of(
        eddy()
            .args([
                "serve",
                "--otlp-grpc",
                &address,
                "--api",
                "127.0.0.1:0",
                "--data-dir",
            ])
            .arg(data.path()),
    );
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&address), "{said}");
}

/// Given a misspelt key, the start is refused with file, line, key and the right key.
#[test]
fn a_misspelt_key_stops_the_start() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("eddy.yaml");
    fs::write(&file, "service:\n  api:\n    endpont: 127.0.0.1:1\n").expect("it can be written");
    let output = output_of(eddy().arg("serve").arg("--config").arg(&file));
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["eddy.yaml:3", "endpont", "endpoint"] {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}

/// Given a file exporter, every alert of a loop is a line in it, and the newest line has the newest revision.
#[test]
fn alerts_reach_a_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("eddy.yaml");
    let alerts = directory.path().join("alerts.jsonl");
    fs::write(
        &config,
        format!("exporters:\n  file:\n    path: {}\n", alerts.display()),
    )
    .expect("it can be written");
    let data = directory.path().join("data");
    let config = config.to_string_lossy().into_owned();
    let mut daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    let recordings = super::support::recordings();
    let recording = recordings
        .iter()
        .find(|recording| recording.name == "pydantic-ai-native-exact-loop");
    let requests = recording.expect("it is recorded").requests();
    runtime().block_on(async {
        Sender::new(daemon.grpc)
            .send_all(&super::support::cut(&requests))
            .await;
    });
    daemon.signal("TERM");
    assert_eq!(daemon.wait().code(), Some(0));
    let text = fs::read_to_string(&alerts).expect("there are alerts");
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let exact = lines
        .iter()
        .filter(|line| line["warning"]["rule"] == "repeated_tool_call_exact_input");
    let seen: Vec<(String, u64)> = exact
        .map(|line| {
            (
                line["change"].to_string(),
                line["warning"]["revision"].as_u64().expect("a revision"),
            )
        })
        .collect();
    assert_eq!(seen.first(), Some(&("\"raised\"".to_owned(), 1)), "{text}");
    assert!(
        seen.len() > 1 && seen.windows(2).all(|pair| pair[1].1 == pair[0].1 + 1),
        "{seen:?}"
    );
}

/// Given a standard error that takes nothing, as a file on a full disk, the daemon works, without a log, and leaves in good
/// order.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_ends_nothing() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let [grpc, http, api] = [free_port(), free_port(), free_port()].map(|port| port.to_string());
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = eddy();
    command.args(["serve", "--otlp-grpc", &grpc, "--otlp-http", &http]);
    command.args(["--api", &api, "--data-dir"]).arg(data.path());
    let command = command
        .stdout(Stdio::null())
        .stderr(full.expect("Linux has it"));
    let mut daemon = command.spawn().expect("the program starts");
    runtime().block_on(until(async || {
        let ready = http_client().get(format!("http://{api}/readyz")).send();
        ready.await.ok().filter(|answer| answer.status() == 200)
    }));
    let pid = daemon.id().to_string();
    let told = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(told.expect("there is kill").success());
    assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
}
