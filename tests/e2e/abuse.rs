//! Peers that break the protocol or drag it out, with frames written by hand: whoever keeps to it is served meanwhile, nobody
//! is shut out afterwards, and what the others took is given back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prost::Message;

use super::access::{configured, fixture};
use super::kill::calls;
use super::load::{Times, resident_mib, set_by};
use super::support::{Daemon, PATIENCE, Sender, free_port, runtime};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
pub(crate) const END_HEADERS: u8 = 4;

/// How `:method` is written, by its number in the static table.
pub(crate) const GET: u8 = 0x82;
pub(crate) const POST: u8 = 0x83;

pub(crate) const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// A frame of HTTP/2.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// How a peer begins.
pub(crate) fn preface() -> Vec<u8> {
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &[]),
    ]
    .concat()
}

/// The headers of an Export over gRPC.
fn headers() -> Vec<u8> {
    headers_of(EXPORT, POST, "application/grpc")
}

/// The headers of a request, by RFC 7541: fields of the static table, and literals that are not indexed.
pub(crate) fn headers_of(path: &str, method: u8, content_type: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let mut block = vec![method, 0x86, 0x04];
    block.extend(text(path));
    block.push(0x01);
    block.extend(text("localhost"));
    block.extend([0x0f, 0x10]);
    block.extend(text(content_type));
    block.push(0x00);
    block.extend(text("te"));
    block.extend(text("trailers"));
    block
}

/// A stream after the other, each taken back at once.
fn rapid_reset(nth: u32) -> Vec<u8> {
    let stream = 2 * nth + 1;
    let mut frames = frame(HEADERS, END_HEADERS, stream, &headers());
    frames.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    frames
}

/// Headers without an end.
fn continuations(nth: u32) -> Vec<u8> {
    match nth {
        0 => frame(HEADERS, 0, 1, &headers()),
        _ => frame(
            CONTINUATION,
            0,
            1,
            &[&[0x00, 0x01, b'x', 100][..], &[b'y'; 100]].concat(),
        ),
    }
}

/// A body of nothing, without an end.
fn empty_data(nth: u32) -> Vec<u8> {
    match nth {
        0 => frame(HEADERS, END_HEADERS, 1, &headers()),
        _ => frame(DATA, 0, 1, &[]),
    }
}

/// Questions whose answers nobody takes.
fn pings(_: u32) -> Vec<u8> {
    frame(PING, 0, 0, &[7; 8])
}

fn settings(_: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])
}

/// What an attacker writes, by its number.
type Frames = fn(u32) -> Vec<u8>;

/// Writes frames as fast as they are taken, over a connection after the other. Answers how many bytes were taken.
fn attack(to: SocketAddr, frames: Frames, stop: &AtomicBool) -> u64 {
    let mut bytes = 0;
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut socket) = TcpStream::connect(to) else {
            continue;
        };
        let _ = socket.set_write_timeout(Some(Duration::from_millis(100)));
        let mut taken = socket.write_all(&preface()).is_ok();
        let mut nth = 0;
        while taken && !stop.load(Ordering::Relaxed) {
            let together: Vec<u8> = (nth..nth + 100).flat_map(frames).collect();
            nth += 100;
            bytes += together.len() as u64;
            taken = socket.write_all(&together).is_ok();
        }
    }
    bytes
}

/// What a client that keeps to the rules sees: one that has been connected before, and one that connects for each request.
struct Client {
    runtime: tokio::runtime::Runtime,
    standing: Sender,
    daemon: Arc<Daemon>,
    sent: u64,
}

impl Client {
    fn new(daemon: &Arc<Daemon>) -> Self {
        let runtime = runtime();
        let standing = runtime.block_on(async { Sender::new(daemon.grpc) });
        Self {
            runtime,
            standing,
            daemon: Arc::clone(daemon),
            sent: 0,
        }
    }

    /// Sends a request over the connection that stands.
    fn send(&mut self, times: &mut Times) {
        let began = Instant::now();
        let request = calls(self.sent % 10, self.sent * 3, self.sent * 3 + 3);
        self.runtime
            .block_on(self.standing.traces(request))
            .expect("it is taken");
        self.sent += 1;
        times.0.push(began.elapsed());
    }

    /// Sends a request over a new connection.
    fn come_and_send(&mut self, times: &mut Times) {
        let began = Instant::now();
        let body = calls(self.sent % 10, self.sent * 3, self.sent * 3 + 3).encode_to_vec();
        let mut socket = TcpStream::connect(self.daemon.http).expect("it listens");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a time can be set");
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), &body].concat();
        socket.write_all(&request).expect("it is taken");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("it answers");
        assert!(
            answer.starts_with(b"HTTP/1.1 200"),
            "{:?}",
            String::from_utf8_lossy(&answer)
        );
        self.sent += 1;
        times.0.push(began.elapsed());
    }

    /// Sends now and then for a while, over both.
    fn send_for(&mut self, time: Duration) -> Times {
        let (began, mut times) = (Instant::now(), Times::default());
        while began.elapsed() < time {
            self.send(&mut times);
            self.come_and_send(&mut times);
            thread::sleep(Duration::from_millis(20));
        }
        times
    }
}

/// Waits until a daemon has given back what it took.
fn comes_back_to(client: &mut Client, before: f64) -> f64 {
    let began = Instant::now();
    loop {
        client.send_for(Duration::from_millis(100));
        let now = resident_mib(&client.daemon);
        // Beside a tenth of what it had: what some hundred requests leave.
        if now < 1.1 * before + 4.0 {
            return now;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{before} MiB before, {now} after"
        );
    }
}

/// Given peers that flood connections with streams that they take back, headers or bodies without an end, questions or
/// settings (for `EDDY_ABUSE` seconds each), who keeps to the rules is answered within a second, and memory comes back.
#[cfg(target_os = "linux")]
#[test]
fn floods_of_frames_harm_nobody() {
    let time = Duration::from_secs(set_by("EDDY_ABUSE", 1));
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Arc::new(Daemon::start(directory.path()));
    let mut client = Client::new(&daemon);
    client.send_for(Duration::from_secs(1));
    let before = resident_mib(&daemon);
    let attacks: [(&str, Frames); 5] = [
        ("rapid reset", rapid_reset),
        ("headers without an end", continuations),
        ("empty data", empty_data),
        ("pings", pings),
        ("settings", settings),
    ];
    for (name, frames) in attacks {
        for listener in [daemon.grpc, daemon.http] {
            let stop = AtomicBool::new(false);
            let (mut times, bytes, most) = thread::scope(|scope| {
                let attacking: Vec<_> = (0..2)
                    .map(|_| scope.spawn(|| attack(listener, frames, &stop)))
                    .collect();
                let times = client.send_for(time);
                let most = resident_mib(&daemon);
                stop.store(true, Ordering::Relaxed);
                let bytes = attacking
                    .into_iter()
                    .map(|one| one.join().expect("no panic"));
                (times, bytes.sum::<u64>(), most)
            });
            let slowest = times.percentile(99);
            println!("{name}: {bytes} bytes taken, p99 {slowest:.0?}, {most:.0} MiB");
            assert!(bytes > 10_000, "{name}: {bytes} bytes were taken");
            assert!(slowest < Duration::from_secs(1), "{name}: {slowest:?}");
        }
    }
    println!(
        "{before:.0} MiB before, {:.0} after",
        comes_back_to(&mut client, before)
    );
}

/// A peer that begins a request and does not come to its end.
fn drag(to: SocketAddr, beginning: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(to).expect("it listens");
    socket.write_all(beginning).expect("it is taken");
    socket
}

/// Given a thousand peers that send the headers or the body of a request a byte at a time, or never finish a handshake, who
/// keeps to the rules is answered within a second, also over a new connection; when they are gone, memory comes back.
#[cfg(target_os = "linux")]
#[test]
fn slow_peers_hold_up_nobody() {
    let tls = format!(
        "tls: {{cert_file: {}, key_file: {}}}",
        fixture("server.crt").display(),
        fixture("server.key").display()
    );
    let (_directory, daemon) = configured(&format!("service: {{api: {{{tls}}}}}\n"));
    let daemon = Arc::new(daemon);
    let mut client = Client::new(&daemon);
    client.send_for(Duration::from_secs(1));
    let before = resident_mib(&daemon);
    let head =
        "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n";
    let body = format!("{head}content-length: 1000000\r\n\r\n");
    let stream = [preface(), frame(HEADERS, END_HEADERS, 1, &headers())].concat();
    let half_headers = [preface(), frame(HEADERS, 0, 1, &headers())].concat();
    // The beginning of a ClientHello, which says that more is to come.
    let handshake = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    let kinds: [(SocketAddr, &[u8]); 5] = [
        (daemon.http, head.as_bytes()),
        (daemon.http, body.as_bytes()),
        (daemon.grpc, &stream),
        (daemon.grpc, &half_headers),
        (daemon.api, &handshake),
    ];
    let mut peers: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        peers.extend(kinds.map(|(to, beginning)| drag(to, beginning)));
    }
    let (mut times, began) = (Times::default(), Instant::now());
    while began.elapsed() < Duration::from_secs(set_by("EDDY_ABUSE", 2)) {
        for peer in &mut peers {
            let _ = peer.write_all(b"x");
        }
        times
            .0
            .extend(client.send_for(Duration::from_millis(300)).0);
    }
    let (slowest, most) = (times.percentile(99), resident_mib(&daemon));
    drop(peers);
    println!("{before:.0} MiB before, {most:.0} beside slow peers, p99 {slowest:.0?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    println!("{:.0} MiB after", comes_back_to(&mut client, before));
}

/// Given a process that may open few files but is allowed more, it takes these, and each address has as many connections as it may;
/// given one that is allowed no more, the log says so at the start.
#[cfg(target_os = "linux")]
#[test]
fn few_files_are_made_more_or_told_of() {
    for (limit, is_told) in [("ulimit -S -n 64", false), ("ulimit -n 64", true)] {
        let directory = tempfile::tempdir().expect("a directory");
        let daemon = Daemon::start_under(limit, directory.path(), free_port(), &[]);
        let said = daemon.stderr.lock().expect("whole").clone();
        assert_eq!(said.contains("may open so few files"), is_told, "{said}");
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.pid()));
        let limits = limits.expect("it runs");
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"));
        let words: Vec<_> = line.expect("it has one").split_whitespace().collect();
        assert_eq!(words[3], words[4], "{line:?}");
    }
}

/// Given a daemon that may open 256 files, and 450 peers that connect and say nothing, the store goes on and who is connected
/// is served; when they are gone, everybody is.
#[cfg(target_os = "linux")]
#[test]
fn peers_do_not_take_the_files_of_the_store() {
    let directory = tempfile::tempdir().expect("a directory");
    let daemon = Arc::new(Daemon::start_under(
        "ulimit -n 256",
        directory.path(),
        free_port(),
        &[],
    ));
    let mut client = Client::new(&daemon);
    let mut times = Times::default();
    client.send(&mut times);
    let open = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid()));
        files.expect("it runs").count()
    };
    let (mut peers, mut files) = (Vec::new(), 0);
    for listener in [daemon.grpc, daemon.http, daemon.api] {
        for _ in 0..150 {
            peers.push(TcpStream::connect(listener).expect("it listens"));
            files = files.max(open());
        }
    }
    // As many are let in as will be once no more come.
    while files < open() {
        files = open();
        thread::sleep(Duration::from_secs(1));
    }
    assert!((150..250).contains(&files), "{files} files are open");
    // More than one file of the journal takes.
    for _ in 0..300 {
        client.send(&mut times);
    }
    assert!(times.percentile(99) < Duration::from_secs(1));
    drop(peers);
    client.come_and_send(&mut times);
    assert_eq!(daemon.get("/readyz").0, 200);
    let mut socket = TcpStream::connect(daemon.api).expect("it listens");
    write!(socket, "GET /healthz HTTP/1.0\r\n\r\n").expect("it takes a request");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains("200"), "{answer}");
}
