//! More than the daemon will hold: senders whose requests come in slowly, and what the others are told meanwhile; and senders
//! of more reports than a shard gets done.

use std::io::{Read, Write};
use std::net::TcpStream;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message;

use super::access::configured;
use super::flood::{TOGETHER, invented};
use super::kill::calls;
use super::load::{metric, send_patiently, value_in};
use super::support::{Daemon, PATIENCE, Sender, Transport, runtime};
use super::transports::{Coding, Said, Signal, send};

/// The largest request that the daemon of this test takes; it holds eight times as much at once, of which seven for large ones.
const LARGEST: usize = 1 << 20;
const LARGEST_AT_ONCE: usize = 7;

/// Three calls of a run of its own, with names of so many bytes.
fn request(run: u64, name_bytes: usize) -> ExportTraceServiceRequest {
    let mut request = calls(run, 0, 3);
    for span in &mut request.resource_spans[0].scope_spans[0].spans {
        span.name = "x".repeat(name_bytes);
    }
    request
}

/// A sender of a request of nearly the largest size, of which the last byte is still to come.
struct Slow {
    socket: TcpStream,
    last: u8,
}

impl Slow {
    fn begin(daemon: &Daemon, run: u64) -> Self {
        let body = request(run, LARGEST / 3 - 1024).encode_to_vec();
        assert!((LARGEST - 8192..LARGEST).contains(&body.len()));
        let mut socket = TcpStream::connect(daemon.http).expect("the receiver listens");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a time can be set");
        let length = body.len();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/x-protobuf\r\ncontent-length: {length}\r\n\r\n"
        );
        let (last, rest) = body.split_last().expect("a body");
        socket.write_all(head.as_bytes()).expect("it is taken");
        socket.write_all(rest).expect("it is taken");
        Self {
            socket,
            last: *last,
        }
    }

    /// Sends the last byte; the status of the answer. One that was answered before may find the connection closed.
    fn end(mut self) -> String {
        let mut answer = Vec::new();
        let _ = self.socket.write_all(&[self.last]);
        let _ = self.socket.read_to_end(&mut answer);
        if answer.is_empty() {
            return "503".to_owned();
        }
        let answer = String::from_utf8_lossy(&answer);
        answer.split(' ').nth(1).expect("a status").to_owned()
    }

    /// Whether it was answered before its end: it came when there was no room.
    fn is_refused(&self) -> bool {
        self.socket.set_nonblocking(true).expect("it can be set");
        let answered = self.socket.peek(&mut [0]).is_ok();
        self.socket.set_nonblocking(false).expect("it can be set");
        answered
    }
}

/// Given senders that hold all that the daemon will hold of large requests, a large request is refused for now over every
/// transport, with the time to come again, and a small one is taken; the slow ones are taken when they end, and then the large
/// one too.
#[test]
fn overload_is_for_now() {
    let (_directory, daemon) = configured(
        "receivers: {otlp: {protocols: {grpc: {max_recv_msg_size_mib: 1}, http: {max_request_body_size_mib: 1}}}}\n",
    );
    let say = |transport, run, name_bytes| {
        let request = request(run, name_bytes);
        let body = match transport {
            Transport::HttpJson => serde_json::to_vec(&request).expect("it can be written"),
            Transport::Grpc | Transport::HttpProtobuf => request.encode_to_vec(),
        };
        let sending = send(&daemon, transport, Signal::Traces, (Coding::Plain, body));
        runtime().block_on(sending)
    };
    let large = LARGEST / 4;
    for (run, transport) in (100..).zip(Transport::ALL) {
        let slow = 0..LARGEST_AT_ONCE as u64;
        let mut slow: Vec<Slow> = slow.map(|nth| Slow::begin(&daemon, nth)).collect();
        // A large one must not take the room for what the slow ones have sent and is still under way.
        let began = std::time::Instant::now();
        let all = (LARGEST_AT_ONCE * (LARGEST - 8192)) as u64;
        while metric(&daemon, "eddy_receiver_held_bytes") < all {
            assert!(began.elapsed() < PATIENCE, "the slow ones hold too little");
            for (nth, slow) in slow.iter_mut().enumerate() {
                if slow.is_refused() {
                    *slow = Slow::begin(&daemon, nth as u64);
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let said = say(transport, run, large);
        assert_eq!(said, Said::Later, "{transport:?}");
        assert_eq!(
            say(transport, run + 100, 10),
            Said::Taken(0),
            "{transport:?}"
        );
        for (nth, slow) in slow.into_iter().enumerate() {
            let began = std::time::Instant::now();
            let mut said = slow.end();
            // On a busy machine it was slower than a request may be, and is sent again as the answer asks.
            while said == "503" && began.elapsed() < PATIENCE {
                said = Slow::begin(&daemon, nth as u64).end();
            }
            assert_eq!(said, "200");
        }
    }
    for (run, transport) in (300..).zip(Transport::ALL) {
        assert_eq!(say(transport, run, large), Said::Taken(0), "{transport:?}");
    }
    let runs = daemon.runs();
    for run in (0..7).chain(200..203).chain(300..303) {
        let id = format!("{:032x}", run + 1);
        assert_eq!(runs[&id]["tool_calls"], 3, "{run}");
    }
}

/// Given many requests at once over one connection, each is taken (R11).
#[test]
fn requests_stand_side_by_side() {
    let (_directory, daemon) = configured("{}\n");
    runtime().block_on(async {
        let client = TraceServiceClient::connect(format!("http://{}", daemon.grpc)).await;
        let client = client.expect("connected");
        let requests = (0..64).map(|run| {
            let mut client = client.clone();
            async move { client.export(calls(run, 0, 3)).await }
        });
        for sent in futures_util::future::join_all(requests).await {
            sent.expect("it is taken");
        }
    });
    assert_eq!(daemon.runs().len(), 64);
}

/// Given more reports at once than an inbox holds, some are refused for now, nothing more is read from their connections until
/// there is room, which is counted, and in the end all are taken.
#[test]
fn refused_senders_are_not_listened_to() {
    const SENDERS: u64 = 16;
    const EACH: u64 = 2_500;
    // It takes some rounds where what is read is taken as fast.
    let (_directory, daemon) = configured("runs: {retention: {runs: 1000000}}\n");
    let grpc = daemon.grpc;
    let began = std::time::Instant::now();
    let mut sent = 0;
    while metric(&daemon, "eddy_receiver_pauses_total") == 0 {
        assert!(began.elapsed() < PATIENCE, "nothing is paused");
        let senders = (0..SENDERS).map(|nth| {
            let first = sent + nth * EACH;
            let mut request = invented(first);
            let spans = &mut request.resource_spans[0].scope_spans[0].spans;
            for from in (first..first + EACH).step_by(TOGETHER as usize).skip(1) {
                let mut more = invented(from);
                spans.append(&mut more.resource_spans[0].scope_spans[0].spans);
            }
            async move {
                let mut sender = Sender::new(grpc);
                send_patiently(&mut sender, &request).await
            }
        });
        runtime().block_on(futures_util::future::join_all(senders));
        sent += SENDERS * EACH;
    }
    let page = daemon.get("/metrics").1;
    let page = page.as_str().expect("a page of text");
    let busy = value_in(page, "eddy_receiver_requests_total{outcome=\"busy\"}");
    let pauses = value_in(page, "eddy_receiver_pauses_total");
    assert!((1..=busy).contains(&pauses), "{pauses} of {busy}");
    assert_eq!(value_in(page, "eddy_runs"), sent);
}
