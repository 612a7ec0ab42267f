//! Queues at work, against upstreams that are real servers: what arrives, and what becomes of the rest.

use std::collections::VecDeque;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{ForwardProgress, Forwards, start};
use crate::export::samples::wait_for;
use crate::export::{Compression, ForwardProtocol, ForwardSettings, Retry};
use crate::otlp::Signal;
use crate::secret::Secret;

const REQUEST: &[u8] =
    include_bytes!("../../../tests/recorded/pydantic-ai-native-crash.otlp.binpb");

/// What an upstream does with a request.
#[derive(Clone)]
enum Say {
    Take,
    /// But for so many items.
    TakePartly(i64),
    /// gRPC's status over gRPC, HTTP's over HTTP.
    Fail(Code, u16),
    /// A proxy's page.
    Page(u16),
    /// An answer over gRPC without a status: these bytes, and no more.
    BreakOff(&'static [u8]),
    Hang,
}

/// A request's path, headers and message.
type Seen = (String, HeaderMap, Vec<u8>);

/// An upstream over both transports. It keeps what it was sent, without gRPC's framing and the compression, and answers as
/// it is told; after that it takes everything.
#[derive(Clone)]
struct Upstream {
    address: SocketAddr,
    says: Arc<Mutex<VecDeque<Say>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    async fn serve(says: impl IntoIterator<Item = Say>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let upstream = Self {
            address: listener.local_addr().expect("bound"),
            says: Arc::new(Mutex::new(says.into_iter().collect())),
            seen: Arc::default(),
        };
        let own = upstream.clone();
        let app = Router::new().fallback(move |request: Request| own.clone().answer(request));
        tokio::spawn(async { axum::serve(listener, app).await.expect("served") });
        upstream
    }

    async fn answer(self, request: Request) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let is_grpc = parts.headers["content-type"] == "application/grpc";
        let (is_gzip, message) = if is_grpc {
            (body[0] == 1, &body[5..])
        } else {
            let coding = parts.headers.get("content-encoding");
            (coding.is_some_and(|coding| coding == "gzip"), &body[..])
        };
        let mut bytes = Vec::new();
        if is_gzip {
            let read = GzDecoder::new(message).read_to_end(&mut bytes);
            read.expect("gzip");
        } else {
            bytes.extend(message);
        }
        let path = parts.uri.path().to_owned();
        let seen = (path, parts.headers, bytes);
        self.seen.lock().expect("no panic").push(seen);
        let say = self.says.lock().expect("no panic").pop_front();
        let say = say.unwrap_or(Say::Take);
        if matches!(say, Say::Hang) {
            std::future::pending::<()>().await;
        }
        if let Say::Page(status) = say {
            let page = Response::builder()
                .status(status)
                .header("content-type", "text/html");
            return page.body(Body::from("<html>bad</html>")).expect("good");
        }
        if is_grpc {
            over_grpc(&say)
        } else {
            over_http(&say)
        }
    }

    fn settings(&self, protocol: ForwardProtocol) -> ForwardSettings {
        ForwardSettings {
            protocol,
            retry: quick(None),
            ..ForwardSettings::new("backend", format!("http://{}", self.address))
        }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }
}

fn reply(say: &Say) -> Vec<u8> {
    let partial_success = match *say {
        Say::TakePartly(rejected_spans) => Some(ExportTracePartialSuccess {
            rejected_spans,
            error_message: "too\u{1b}[2J old".to_owned(),
        }),
        _ => None,
    };
    ExportTraceServiceResponse { partial_success }.encode_to_vec()
}

fn over_http(say: &Say) -> Response<Body> {
    let reply = match say {
        Say::Fail(_, status) => {
            let moved = Response::builder().header("location", "/elsewhere");
            let moved = moved.header("content-type", "application/x-protobuf");
            let told = tonic_types::Status {
                code: 3,
                message: "no\u{1b}[2J room".to_owned(),
                details: Vec::new(),
            };
            let body = Body::from(told.encode_to_vec());
            return moved.status(*status).body(body).expect("good");
        }
        say => reply(say),
    };
    Response::new(Body::from(reply))
}

fn over_grpc(say: &Say) -> Response<Body> {
    if let Say::BreakOff(bytes) = say {
        let response = Response::builder().header("content-type", "application/grpc");
        return response.body(Body::from(*bytes)).expect("good");
    }
    if let Say::Fail(code, _) = say {
        let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(5)));
        let status = match code {
            // As it stands: without a time to wait.
            Code::ResourceExhausted => Status::resource_exhausted("too large"),
            code => Status::with_error_details(*code, "no", details),
        };
        return status.into_http();
    }
    let message = reply(say);
    let mut frame = vec![0];
    frame.extend((message.len() as u32).to_be_bytes());
    frame.extend(message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().expect("good"));
    let frames = [
        Ok::<_, Status>(http_body::Frame::data(Bytes::from(frame))),
        Ok(http_body::Frame::trailers(trailers)),
    ];
    let body = http_body_util::StreamBody::new(futures_util::stream::iter(frames));
    let response = Response::builder().header("content-type", "application/grpc");
    response.body(Body::new(body)).expect("good")
}

fn quick(max_elapsed: Option<Duration>) -> Retry {
    Retry {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(20),
        max_elapsed,
    }
}

const PROTOCOLS: [ForwardProtocol; 2] = [ForwardProtocol::Grpc, ForwardProtocol::Http];

fn queue(settings: ForwardSettings) -> Forwards {
    start(vec![settings]).expect("settings that work")
}

fn progress(forwards: &Forwards) -> ForwardProgress {
    forwards.status()[0].progress.clone()
}

async fn settled(forwards: &Forwards) -> ForwardProgress {
    wait_for("an empty queue", || progress(forwards).queued == 0).await;
    progress(forwards)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Given requests of every signal, over both transports, with and without compression, their bytes arrive as they were, at
/// the place for their signal, with the headers of the settings.
#[tokio::test]
async fn bytes_arrive_as_they_were() {
    for protocol in PROTOCOLS {
        for compression in [Compression::Gzip, Compression::None] {
            let upstream = Upstream::serve([]).await;
            let headers = vec![("X-Api-Key".to_owned(), Secret::from("hunter2".to_owned()))];
            let forwards = queue(ForwardSettings {
                headers,
                compression,
                ..upstream.settings(protocol)
            });
            for signal in Signal::ALL {
                forwards.pass(signal, REQUEST);
                forwards.pass(signal, b"");
                settled(&forwards).await;
            }
            forwards.drain(soon()).await;
            assert_eq!(progress(&forwards).sent, 3);
            let seen = upstream.seen();
            let paths: Vec<&str> = seen.iter().map(|(path, ..)| path.as_str()).collect();
            let expected = match protocol {
                ForwardProtocol::Http => ["/v1/traces", "/v1/logs", "/v1/metrics"],
                ForwardProtocol::Grpc => [
                    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
                    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
                ],
            };
            assert_eq!(paths, expected);
            for (_, headers, bytes) in &seen {
                assert_eq!(headers["x-api-key"], "hunter2");
                assert!(bytes == REQUEST, "{protocol:?} {compression:?}");
            }
        }
    }
}

/// What becomes of one request, and how often it was sent.
async fn passed(
    protocol: ForwardProtocol,
    says: impl IntoIterator<Item = Say>,
) -> (ForwardProgress, usize) {
    let upstream = Upstream::serve(says).await;
    let forwards = queue(upstream.settings(protocol));
    forwards.pass(Signal::Traces, REQUEST);
    let progress = settled(&forwards).await;
    forwards.drain(soon()).await;
    (progress, upstream.seen().len())
}

/// Given failures that OTLP says to repeat, the request is repeated until it is taken; given any other, never.
#[tokio::test]
async fn failures_are_repeated_as_otlp_says() {
    for (code, status) in [
        (Code::Unavailable, 503),
        (Code::DeadlineExceeded, 429),
        (Code::Aborted, 502),
        (Code::OutOfRange, 504),
    ] {
        for protocol in PROTOCOLS {
            let says = [Say::Fail(code, status), Say::Fail(code, status)];
            let (progress, sent) = passed(protocol, says).await;
            assert_eq!((progress.sent, progress.retries, sent), (1, 2, 3), "{code}");
        }
    }
    for (code, status) in [
        (Code::InvalidArgument, 400),
        (Code::Unauthenticated, 401),
        (Code::Unimplemented, 404),
        (Code::ResourceExhausted, 413),
        (Code::Internal, 500),
        (Code::PermissionDenied, 302),
    ] {
        for protocol in PROTOCOLS {
            let (progress, sent) = passed(protocol, [Say::Fail(code, status)]).await;
            assert_eq!((progress.refused, progress.sent, sent), (1, 0, 1), "{code}");
        }
    }
}

/// Given a proxy in between that answers over gRPC with a page, its HTTP status says whether the request is repeated, and is told.
#[tokio::test]
async fn a_proxys_page_over_grpc_counts_by_its_status() {
    for status in [429, 502, 503, 504] {
        let (progress, sent) = passed(ForwardProtocol::Grpc, [Say::Page(status)]).await;
        assert_eq!(
            (progress.sent, progress.retries, sent),
            (1, 1, 2),
            "{status}"
        );
    }
    for (status, told) in [
        (404, "Unimplemented: HTTP 404 Not Found"),
        (200, "HTTP 200 OK"),
    ] {
        let (progress, sent) = passed(ForwardProtocol::Grpc, [Say::Page(status)]).await;
        assert_eq!((progress.refused, sent), (1, 1), "{status}");
        let said = progress.last_error.expect("told");
        assert!(said.contains(told), "{said}");
    }
}

/// Given answers over gRPC that end before their status, the request is sent again: nobody knows what they were to be.
#[tokio::test]
async fn answers_that_break_off_are_asked_for_again() {
    for bytes in [&b""[..], b"\0\0\0", b"\0\0\0\0\0"] {
        let (progress, sent) = passed(ForwardProtocol::Grpc, [Say::BreakOff(bytes)]).await;
        assert_eq!(
            (progress.sent, progress.retries, sent),
            (1, 1, 2),
            "{bytes:?}"
        );
    }
}

/// Given a refusal over HTTP in OTLP's own form, its words are told, and nothing of its bytes.
#[tokio::test]
async fn refusals_are_told_in_their_words() {
    let says = [Say::Fail(Code::InvalidArgument, 400)];
    let (progress, _) = passed(ForwardProtocol::Http, says).await;
    assert_eq!(
        progress.last_error.as_deref(),
        Some("the receiver answered 400 Bad Request: no\\x1b[2J room")
    );
}

/// Given an upstream that takes a request in part, nothing is repeated, and what it left out is counted.
#[tokio::test]
async fn partial_success_is_final() {
    for protocol in PROTOCOLS {
        let (progress, sent) = passed(protocol, [Say::TakePartly(3)]).await;
        assert_eq!((progress.sent, progress.items_refused, sent), (1, 3, 1));
        let said = progress.last_error.expect("told");
        assert!(said.contains("old") && !said.contains('\u{1b}'), "{said}");
    }
}

/// Given an upstream that says that it left out more than it was sent, that is believed as far as it can be true, each time.
#[tokio::test]
async fn no_more_is_left_out_than_was_sent() {
    for protocol in PROTOCOLS {
        let upstream = Upstream::serve(vec![Say::TakePartly(i64::MAX); 3]).await;
        let forwards = queue(upstream.settings(protocol));
        for _ in 0..3 {
            forwards.pass(Signal::Traces, REQUEST);
        }
        let progress = settled(&forwards).await;
        forwards.drain(soon()).await;
        assert_eq!(progress.sent, 3);
        assert_eq!(progress.items_refused, 3 * (REQUEST.len() as u64 / 2));
    }
}

/// Given an upstream that is not there, requests are given up after a time.
#[tokio::test]
async fn the_dead_are_given_up() {
    for protocol in PROTOCOLS {
        let nobody = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = nobody.local_addr().expect("bound");
        drop(nobody);
        let forwards = queue(ForwardSettings {
            protocol,
            retry: quick(Some(Duration::from_millis(100))),
            ..ForwardSettings::new("backend", format!("http://{address}"))
        });
        for _ in 0..10 {
            forwards.pass(Signal::Traces, REQUEST);
        }
        let progress = settled(&forwards).await;
        assert_eq!((progress.given_up, progress.sent), (10, 0));
        assert!(progress.retries >= 10, "{progress:?}");
    }
}

/// Given an upstream that hangs, what comes finds a full queue at last and is dropped, without anybody waiting; and
/// leaving takes no longer than it may.
#[tokio::test]
async fn a_full_queue_drops_what_comes() {
    for protocol in PROTOCOLS {
        let upstream = Upstream::serve(std::iter::repeat_n(Say::Hang, 100)).await;
        let forwards = queue(ForwardSettings {
            queue_bytes: 8 * (REQUEST.len() + 256),
            ..upstream.settings(protocol)
        });
        let began = Instant::now();
        for _ in 0..20 {
            forwards.pass(Signal::Traces, REQUEST);
        }
        assert!(began.elapsed() < Duration::from_secs(5));
        let status = progress(&forwards);
        assert_eq!((status.queued, status.dropped), (8, 12));
        wait_for("the first four", || upstream.seen().len() == 4).await;
        let began = Instant::now();
        forwards.drain(began + Duration::from_millis(200)).await;
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(progress(&forwards).queued, 8);
        forwards.pass(Signal::Traces, REQUEST);
        assert_eq!(progress(&forwards).dropped, 13);
    }
}

/// Given a leave-taking, what waits is sent, and what fails then is not waited for.
#[tokio::test]
async fn leaving_gives_one_more_attempt() {
    let upstream = Upstream::serve([]).await;
    let failing =
        Upstream::serve(std::iter::repeat_n(Say::Fail(Code::Unavailable, 503), 999)).await;
    let patient = ForwardSettings {
        retry: Retry::default(),
        ..failing.settings(ForwardProtocol::Http)
    };
    let forwards = start(vec![upstream.settings(ForwardProtocol::Grpc), patient]);
    let forwards = forwards.expect("settings that work");
    for _ in 0..50 {
        forwards.pass(Signal::Logs, REQUEST);
    }
    forwards.drain(soon()).await;
    let [taken, lost] = &forwards.status()[..] else {
        panic!("two queues")
    };
    assert_eq!((taken.progress.sent, taken.progress.queued), (50, 0));
    assert_eq!((lost.progress.given_up, lost.progress.queued), (50, 0));
}

/// Given one upstream that hangs, another gets everything.
#[tokio::test]
async fn queues_do_not_wait_for_each_other() {
    let stuck = Upstream::serve(std::iter::repeat_n(Say::Hang, 99)).await;
    let well = Upstream::serve([]).await;
    let settings = [&stuck, &well].map(|upstream| upstream.settings(ForwardProtocol::Http));
    let forwards = start(settings.to_vec()).expect("settings that work");
    for _ in 0..20 {
        forwards.pass(Signal::Traces, REQUEST);
    }
    wait_for("all of them", || forwards.status()[1].progress.sent == 20).await;
    forwards.drain(Instant::now()).await;
}

/// Given settings that cannot work, they are named before anything starts; secrets are not.
#[test]
fn mistakes_are_found_early() {
    let http = |endpoint: &str| ForwardSettings {
        protocol: ForwardProtocol::Http,
        ..ForwardSettings::new("backend", endpoint)
    };
    let header = |name: &str, value: &str| ForwardSettings {
        headers: vec![(name.to_owned(), Secret::from(value.to_owned()))],
        ..http("http://h")
    };
    for (settings, problem) in [
        (http("localhost:4318"), "begins with http"),
        (
            http("http://h/v1/traces"),
            "without the signal's path: http://h",
        ),
        (http("http://h/?key=1"), "must end with its path"),
        (
            ForwardSettings::new("backend", "localhost:4317"),
            "begins with http",
        ),
        (
            ForwardSettings::new("backend", "http://h:4317/v1/traces?key=1"),
            "or set `protocol: http`",
        ),
        (header("a b", "c"), "not a header's name"),
        (header("a", "hunter2\n"), "characters that it cannot carry"),
    ] {
        let error = settings.check().expect_err(problem).to_string();
        assert!(error.contains(problem), "{error}");
        assert!(!error.contains("hunter2") && !format!("{settings:?}").contains("hunter2"));
    }
    http("https://cloud.example/api/public/otel/")
        .check()
        .expect("a path is good");
    ForwardSettings::new("backend", "http://h:4317/")
        .check()
        .expect("this is none");
}
