//! What becomes of a connection on which requests are refused by their headers, while its sender goes on sending their bodies:
//! it stays, over HTTP/2 with frames written by hand and over HTTP/1.1.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::fake::Fake;
use super::serving_tests::{listening_for, serving_with};
use super::tests::{framed, recorded, settings};
use super::{Intake, Protocol, Settings};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Why a sender gives up a request.
const CANCEL: u32 = 8;

/// The setting that tells how much may be sent on a stream that has just begun.
const INITIAL_WINDOW: u16 = 4;

/// What a peer may send at first, on a connection and on a stream, and in a frame (RFC 9113).
const FIRST_WINDOW: i64 = 65_535;
const FRAME_BYTES: i64 = 16 << 10;

/// Requests that are refused on one connection, and how large each is.
const REFUSED: u64 = 1_000;
const LARGE: usize = 100 << 10;

/// How long what must come at once is waited for.
const SOON: Duration = Duration::from_secs(2);

/// How long what must come is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request under way.
struct Stream {
    window: i64,
    left: Bytes,
    is_answered: bool,
}

/// A sender that keeps to HTTP/2's windows, and sends its bodies to their ends whatever it is answered.
struct Peer {
    socket: BufReader<TcpStream>,
    window: i64,
    /// The most that the window has been.
    window_max: i64,
    stream_window: i64,
    next: u32,
    /// Whose body a frame was sent of last: the others come first.
    last: u32,
    streams: BTreeMap<u32, Stream>,
}

impl Peer {
    async fn connect(address: std::net::SocketAddr) -> Self {
        let socket = TcpStream::connect(address).await.expect("it listens");
        let mut peer = Self {
            socket: BufReader::new(socket),
            window: FIRST_WINDOW,
            window_max: FIRST_WINDOW,
            stream_window: FIRST_WINDOW,
            next: 1,
            last: 0,
            streams: BTreeMap::new(),
        };
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        peer.socket.write_all(preface).await.expect("it is taken");
        peer.write(SETTINGS, 0, 0, &[]).await;
        peer
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.socket.write_all(&frame).await.expect("it is taken");
    }

    /// Begins a request of which only the headers are sent yet.
    async fn begin(&mut self, body: Bytes) {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
        let block = [
            &[0x83, 0x86, 0x04][..],
            &text(path),
            &[0x01],
            &text("localhost"),
            &[0x0f, 0x10],
            &text("application/grpc"),
        ]
        .concat();
        self.write(HEADERS, END_HEADERS, self.next, &block).await;
        let stream = Stream {
            window: self.stream_window,
            left: body,
            is_answered: false,
        };
        self.streams.insert(self.next, stream);
        self.next += 2;
    }

    /// Gives up all that is under way.
    async fn give_up(&mut self) {
        for id in std::mem::take(&mut self.streams).into_keys() {
            self.write(RESET, 0, id, &CANCEL.to_be_bytes()).await;
        }
    }

    /// Sends all bodies to their ends and takes all answers.
    async fn finish(&mut self) {
        loop {
            let has_sent = self.send_some().await;
            self.streams
                .retain(|_, stream| !stream.is_answered || !stream.left.is_empty());
            if self.streams.is_empty() {
                return;
            }
            if !has_sent {
                self.read_one().await;
            }
        }
    }

    /// A frame of each body, as far as the windows allow.
    async fn send_some(&mut self) -> bool {
        let mut pieces = Vec::new();
        let last = self.last;
        let (behind, before): (Vec<_>, Vec<_>) =
            self.streams.iter_mut().partition(|(id, _)| **id > last);
        for (id, stream) in behind.into_iter().chain(before) {
            let most = self.window.min(stream.window).min(FRAME_BYTES);
            let most = usize::try_from(most).unwrap_or(0).min(stream.left.len());
            if most > 0 {
                let piece = stream.left.split_to(most);
                stream.window -= most as i64;
                self.window -= most as i64;
                let flags = if stream.left.is_empty() {
                    END_STREAM
                } else {
                    0
                };
                pieces.push((*id, flags, piece));
                self.last = *id;
            }
        }
        for (id, flags, piece) in &pieces {
            self.write(DATA, *flags, *id, piece).await;
        }
        !pieces.is_empty()
    }

    async fn read_one(&mut self) {
        let mut head = [0; 9];
        let read = timeout(PATIENCE, self.socket.read_exact(&mut head)).await;
        read.expect("the windows open again")
            .expect("it is not closed");
        let [l0, l1, l2, kind, flags, id @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
        let read = self.socket.read_exact(&mut payload).await;
        read.expect("a whole frame");
        self.take(kind, flags, u32::from_be_bytes(id), &payload)
            .await;
    }

    async fn take(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        match kind {
            GO_AWAY => panic!("the connection is given up: {payload:?}"),
            RESET => panic!("stream {id} is reset: {payload:?}"),
            SETTINGS if flags == 0 => {
                for setting in payload.chunks(6) {
                    let name = u16::from_be_bytes([setting[0], setting[1]]);
                    let value = i64::from(number(&setting[2..]));
                    if name == INITIAL_WINDOW {
                        let more = value - self.stream_window;
                        self.stream_window = value;
                        let streams = self.streams.values_mut();
                        streams.for_each(|stream| stream.window += more);
                    }
                }
                self.write(SETTINGS, 1, 0, &[]).await;
            }
            WINDOW_UPDATE if id == 0 => {
                self.window += i64::from(number(payload));
                self.window_max = self.window_max.max(self.window);
            }
            WINDOW_UPDATE => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    stream.window += i64::from(number(payload));
                }
            }
            HEADERS | DATA if flags & END_STREAM != 0 => {
                let stream = self.streams.get_mut(&id).expect("it was asked");
                stream.is_answered = true;
            }
            _ => {}
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

/// Given a thousand large requests on one connection of HTTP/2 that are refused by their headers, and a sender that sends all
/// of their bodies nevertheless, no stream is reset, the connection stays, its window is as wide as before, and the next
/// request is acknowledged.
#[tokio::test]
async fn a_connection_outlives_what_is_refused_on_it() {
    let is_full = Arc::new(AtomicBool::new(true));
    let intake = Intake::over(1 << 20, Fake::full_while(Arc::clone(&is_full)));
    let (address, shutdown, _serving) = listening_for(Protocol::Grpc, intake.clone()).await;
    let mut peer = Peer::connect(address).await;
    let large = framed(false, &vec![0; LARGE]);
    for _ in 0..REFUSED / 100 {
        for _ in 0..100 {
            peer.begin(large.clone()).await;
        }
        peer.finish().await;
    }
    assert_eq!(intake.counters().requests_busy.value(), REFUSED);
    is_full.store(false, Ordering::SeqCst);
    peer.begin(framed(false, &recorded())).await;
    peer.finish().await;
    assert_eq!(intake.counters().requests_accepted.value(), 1);
    // It is opened again once half of it is used.
    let (window, most) = (peer.window, peer.window_max);
    assert!(window >= most / 2, "{window} of {most} bytes");
    shutdown.cancel();
}

/// Sends a request of HTTP/1.1 with spans and answers the head of its answer.
async fn send_http1(socket: &mut BufReader<TcpStream>, body: &[u8]) -> String {
    send_http1_to("/v1/traces", socket, body).await
}

async fn send_http1_to(path: &str, socket: &mut BufReader<TcpStream>, body: &[u8]) -> String {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let request = [head.as_bytes(), body].concat();
    socket.write_all(&request).await.expect("it is taken");
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = timeout(PATIENCE, socket.read_line(&mut head)).await;
        let read = read.expect("it answers").expect("it is not closed");
        assert!(read > 0, "it is closed after {head:?}");
    }
    head.make_ascii_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    let mut answer = vec![0; length.expect("a length")];
    let read = socket.read_exact(&mut answer).await;
    read.expect("a whole answer");
    head
}

/// Given large requests one after the other on one connection of HTTP/1.1 that are refused by their headers, each is answered
/// once it has been sent, the connection stays, and the next request is acknowledged on it.
#[tokio::test]
async fn a_connection_of_http1_outlives_what_is_refused_on_it() {
    let is_full = Arc::new(AtomicBool::new(true));
    let intake = Intake::over(1 << 20, Fake::full_while(Arc::clone(&is_full)));
    let (address, shutdown, _serving) = listening_for(Protocol::Http, intake.clone()).await;
    let socket = TcpStream::connect(address).await.expect("it listens");
    let mut socket = BufReader::new(socket);
    for _ in 0..100 {
        let head = send_http1(&mut socket, &vec![0; LARGE]).await;
        assert!(head.starts_with("http/1.1 503"), "{head}");
        assert!(head.contains("retry-after"), "{head}");
        assert!(!head.contains("connection: close"), "{head}");
    }
    is_full.store(false, Ordering::SeqCst);
    let head = send_http1(&mut socket, &recorded()).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    shutdown.cancel();
}

/// Given large requests to a path that there is not, each is told so once it has been sent, and is counted, and the connection
/// stays.
#[tokio::test]
async fn who_has_the_wrong_path_is_told_so() {
    let intake = Intake::fake(1 << 20, |_| Ok(()));
    let (address, shutdown, _serving) = listening_for(Protocol::Http, intake.clone()).await;
    let socket = TcpStream::connect(address).await.expect("it listens");
    let mut socket = BufReader::new(socket);
    for _ in 0..3 {
        let head = send_http1_to("/v1/spans", &mut socket, &vec![0; 8 << 20]).await;
        assert!(head.starts_with("http/1.1 404"), "{head}");
    }
    assert_eq!(intake.counters().requests_invalid.value(), 3);
    let head = send_http1(&mut socket, &recorded()).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    shutdown.cancel();
}

/// Given a request of HTTP/1.1 that announces more than is taken and sends none of it, it is answered at once.
#[tokio::test]
async fn who_announces_too_much_is_answered_at_once() {
    let intake = Intake::fake(1 << 20, |_| Ok(()));
    let (address, shutdown, _serving) = listening_for(Protocol::Http, intake).await;
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    let request =
        b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n\
        content-length: 100000000000\r\n\r\n";
    socket.write_all(request).await.expect("it is taken");
    let mut answer = [0; 12];
    let read = timeout(SOON, socket.read_exact(&mut answer)).await;
    read.expect("it answers").expect("a whole line");
    assert_eq!(&answer, b"HTTP/1.1 413");
    shutdown.cancel();
}

/// Given a body that breaks the protocol, its sender is told what is wrong with it, and nothing of what read it.
#[tokio::test]
async fn a_broken_body_is_told_of_in_words() {
    let intake = Intake::fake(1 << 20, |_| Ok(()));
    let (address, shutdown, _serving) = listening_for(Protocol::Http, intake).await;
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    let request =
        b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\nzz\r\n";
    socket.write_all(request).await.expect("it is taken");
    let mut answer = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut answer)).await;
    read.expect("it answers").expect("a text");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let told = r#""the body broke off: Invalid chunk size line: missing size digit""#;
    assert!(answer.contains(told), "{answer}");
    shutdown.cancel();
}

/// Given a sender that goes away in the midst of a body, however its length is told, its request counts as left and not as invalid.
#[tokio::test]
async fn who_goes_away_in_the_midst_of_a_body_is_counted() {
    for head in [
        "content-length: 4096\r\n\r\n{",
        "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    ] {
        let intake = Intake::fake(1 << 20, |_| Ok(()));
        let (address, shutdown, _serving) = listening_for(Protocol::Http, intake.clone()).await;
        let mut socket = TcpStream::connect(address).await.expect("it listens");
        let request = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{head}"
        );
        let written = socket.write_all(request.as_bytes()).await;
        written.expect("it is taken");
        drop(socket);
        let counted = async {
            while intake.counters().requests_left.value() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, counted).await.expect("it is counted");
        assert_eq!(intake.counters().requests_invalid.value(), 0);
        shutdown.cancel();
    }
}

/// Given a request that was refused for want of room, nothing more is read from its connection until there is some, over either
/// protocol; then what has come meanwhile is taken, without having been refused.
#[tokio::test]
async fn a_connection_waits_for_room() {
    const WHILE: Duration = Duration::from_millis(200);
    let is_full = Arc::new(AtomicBool::new(true));
    let fake = Fake::full_while(Arc::clone(&is_full)).with_pauses();
    let intake = Intake::over(1 << 20, fake);
    let (address, over_http1, _serving) = listening_for(Protocol::Http, intake.clone()).await;
    let (grpc, over_grpc, _serving) = listening_for(Protocol::Grpc, intake.clone()).await;
    let mut socket = BufReader::new(TcpStream::connect(address).await.expect("it listens"));
    let mut peer = Peer::connect(grpc).await;
    let head = send_http1(&mut socket, &recorded()).await;
    assert!(head.starts_with("http/1.1 503"), "{head}");
    let request = framed(false, &recorded());
    peer.begin(request.clone()).await;
    peer.finish().await;
    assert_eq!(intake.counters().requests_busy.value(), 2);
    peer.begin(request).await;
    let body = recorded();
    let (mut of_http1, mut of_grpc) = (
        Box::pin(send_http1(&mut socket, &body)),
        Box::pin(peer.finish()),
    );
    timeout(WHILE, &mut of_http1).await.expect_err("it waits");
    timeout(WHILE, &mut of_grpc).await.expect_err("it waits");
    is_full.store(false, Ordering::SeqCst);
    let head = of_http1.await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    of_grpc.await;
    assert_eq!(intake.counters().requests_busy.value(), 2);
    assert_eq!(intake.counters().pauses.value(), 2);
    assert_eq!(intake.counters().requests_accepted.value(), 2);
    over_http1.cancel();
    over_grpc.cancel();
}

/// What becomes of a request on a connection that waits for room, after a sender has so many times given up as many as it may
/// have under way on it.
async fn after_giving_up(times: usize) {
    let is_full = Arc::new(AtomicBool::new(true));
    let fake = Fake::full_while(Arc::clone(&is_full)).with_pauses();
    let intake = Intake::over(1 << 20, fake);
    let (address, shutdown, _serving) = listening_for(Protocol::Grpc, intake.clone()).await;
    let mut peer = Peer::connect(address).await;
    let request = framed(false, &recorded());
    peer.begin(request.clone()).await;
    peer.finish().await;
    for _ in 0..times {
        for _ in 0..settings().streams_per_connection_max {
            peer.begin(request.clone()).await;
        }
        peer.give_up().await;
    }
    is_full.store(false, Ordering::SeqCst);
    peer.begin(request).await;
    peer.finish().await;
    assert_eq!(intake.counters().pauses.value(), 1);
    assert_eq!(intake.counters().requests_accepted.value(), 1);
    shutdown.cancel();
}

/// Given a connection that waits for room, and a sender that meanwhile gives up as many requests as it may have under way on
/// it, the connection stays, and the next request is acknowledged on it.
#[tokio::test]
async fn a_connection_outlives_what_is_given_up_on_it() {
    after_giving_up(1).await;
}

/// Given one that gives up twice as many, the connection is closed: so it is with a "rapid reset", and nothing tells the two
/// apart.
#[tokio::test]
#[should_panic(expected = "the connection is given up")]
async fn a_connection_ends_where_more_is_given_up() {
    after_giving_up(2).await;
}

/// Given more large requests at once on one connection than there are places, those that wait do not keep the others from
/// arriving: each is received whole.
#[tokio::test]
async fn requests_that_wait_leave_the_others_their_connection() {
    const MANY: u64 = 12;
    let large = framed(false, &vec![0; 512 << 10]);
    let intake = Intake::over(8 * large.len(), Fake::answering(|_| Ok(())));
    let settings = Settings {
        message_bytes_max: large.len(),
        ..settings()
    };
    let (address, shutdown, _serving) =
        serving_with(Protocol::Grpc, intake.clone(), settings).await;
    let mut peer = Peer::connect(address).await;
    for _ in 0..MANY {
        peer.begin(large.clone()).await;
    }
    peer.finish().await;
    let counters = intake.counters();
    assert_eq!(counters.requests_busy.value(), 0);
    // There is nothing in them.
    assert_eq!(counters.requests_invalid.value(), MANY);
    shutdown.cancel();
}
