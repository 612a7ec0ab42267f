//! Peers that begin far more requests than they end, or ask far more than they take: what that costs, and what is left for
//! others.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use prost::Message;

use super::abuse::{END_HEADERS, EXPORT, GET, HEADERS, POST, frame, headers_of, preface};
use super::flood::{TOGETHER, invented};
use super::kill::calls;
use super::load::{metric, peak_mib, resident_mib, send_patiently};
use super::support::{Daemon, PATIENCE, Sender, runtime};

/// Says that the headers are all that there is of a request.
const END_STREAM: u8 = 1;

/// Connections with so many requests of the same headers, whose answers nobody takes.
fn crowd(
    to: SocketAddr,
    connections: usize,
    streams: u32,
    flags: u8,
    headers: &[u8],
) -> Vec<TcpStream> {
    let begin = |_| {
        let mut socket = TcpStream::connect(to).expect("it listens");
        let requests =
            (0..streams).flat_map(|nth| frame(HEADERS, END_HEADERS | flags, 2 * nth + 1, headers));
        let bytes: Vec<u8> = preface().into_iter().chain(requests).collect();
        socket
            .set_write_timeout(Some(PATIENCE))
            .expect("a time can be set");
        socket.write_all(&bytes).expect("it is taken");
        socket
    };
    (0..connections).map(begin).collect()
}

/// Asks the guard until it answers.
fn ask_patiently(daemon: &Daemon) {
    let began = Instant::now();
    let question = r#"{"run_id": "asked", "tool": "search", "arguments": {}}"#;
    while daemon.post("/v1/guard/check", question).0 != 200 {
        assert!(began.elapsed() < PATIENCE, "nobody is answered");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn started(data: &Path) -> (Daemon, tokio::runtime::Runtime, f64) {
    let (daemon, runtime) = (Daemon::start(data), runtime());
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    // A page of a thousand runs, and what it costs to write one.
    for from in (0..1_000).step_by(TOGETHER as usize) {
        runtime.block_on(send_patiently(&mut sender, &invented(from)));
    }
    daemon.get("/v1/runs?limit=1000");
    let before = resident_mib(&daemon);
    (daemon, runtime, before)
}

/// Given twenty thousand requests that begin and do not go on, memory stays within bounds, those that are too many are told to
/// come again, and so is who keeps to the rules: a sender is served within seconds, although the others stay.
#[cfg(target_os = "linux")]
#[test]
fn requests_that_do_not_go_on_leave_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let (daemon, runtime, before) = started(directory.path());
    let headers = headers_of(EXPORT, POST, "application/grpc");
    let peers = crowd(daemon.grpc, 200, 100, 0, &headers);
    let began = Instant::now();
    let refused = || metric(&daemon, "eddy_receiver_requests_total{outcome=\"busy\"}");
    while refused() < 10_000 {
        assert!(began.elapsed() < PATIENCE, "{} were refused", refused());
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(send_patiently(&mut sender, &calls(0, 0, 3)));
    let (served, most) = (began.elapsed(), peak_mib(&daemon) - before);
    println!("served after {served:.1?}, {most:.0} MiB for 20,000 requests");
    drop(peers);
    assert!(served < Duration::from_secs(20), "{served:?}");
    assert!(most < 80.0, "{most} MiB");
}

/// Given requests of the largest size that are announced and of which next to nothing comes, as many as there are places for, in
/// bodies that say how long they are and in such that do not: another large one is taken within seconds, although they stay.
#[test]
fn large_requests_that_do_not_go_on_lose_their_places() {
    let directory = tempfile::tempdir().expect("a directory");
    let (daemon, runtime) = (Daemon::start(directory.path()), runtime());
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    let large = calls(0, 0, 1_000);
    assert!(large.encoded_len() > 128 << 10);
    runtime.block_on(send_patiently(&mut sender, &large));
    let some = "x".repeat(70_000);
    for announcement in [
        "content-length: 16777216\r\n\r\n".to_owned(),
        format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{some}", 1 << 20),
    ] {
        let announce = |_| {
            let mut socket = TcpStream::connect(daemon.http).expect("it listens");
            let head =
                "POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-protobuf\r\n";
            write!(socket, "{head}{announcement}").expect("it is taken");
            socket
        };
        let slow: Vec<_> = (0..7).map(announce).collect();
        // Small ones need no place, and come in turn behind those.
        runtime.block_on(send_patiently(&mut sender, &calls(1, 0, 3)));
        std::thread::sleep(Duration::from_millis(500));
        let began = Instant::now();
        runtime.block_on(send_patiently(&mut sender, &large));
        let served = began.elapsed();
        println!("served after {served:.1?}");
        drop(slow);
        assert!(served < Duration::from_secs(4), "{served:?}");
    }
}

/// Given a daemon that has no file left for a connection, the log says so once, not at each attempt to accept it.
#[cfg(target_os = "linux")]
#[test]
fn connections_that_cannot_be_accepted_do_not_fill_the_log() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(directory.path());
    let limited = std::process::Command::new("prlimit")
        .args(["--pid", &daemon.pid().to_string(), "--nofile=10"])
        .status();
    assert!(limited.expect("there is prlimit").success());
    let _waits = TcpStream::connect(daemon.http).expect("it listens");
    let told = || {
        let said = daemon.stderr.lock().expect("nobody panics with it");
        said.matches("could not be accepted").count()
    };
    let began = Instant::now();
    while told() == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing is said");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(told(), 1);
}

/// Given a thousand pages of a mebibyte that nobody takes, and eight thousand questions that begin and do not go on, memory
/// stays within bounds, liveness and readiness are told, and the guard answers within seconds, although the others stay.
#[cfg(target_os = "linux")]
#[test]
fn questions_that_nobody_ends_leave_room() {
    let directory = tempfile::tempdir().expect("a directory");
    let (daemon, _runtime, before) = started(directory.path());
    let check = headers_of(
        "/eddy.v1.GuardService/CheckToolCall",
        POST,
        "application/grpc",
    );
    let page = headers_of("/v1/runs?limit=1000", GET, "text/plain");
    let peers = [
        crowd(daemon.api, 5, 200, END_STREAM, &page),
        crowd(daemon.api, 40, 200, 0, &check),
    ];
    for path in ["/healthz", "/readyz"] {
        assert_eq!(daemon.get(path).0, 200, "{path}");
    }
    let began = Instant::now();
    ask_patiently(&daemon);
    let (served, most) = (began.elapsed(), peak_mib(&daemon) - before);
    println!("served after {served:.1?}, {most:.0} MiB for 9,000 questions");
    drop(peers);
    assert!(served < Duration::from_secs(20), "{served:?}");
    assert!(most < 96.0, "{most} MiB");
}
