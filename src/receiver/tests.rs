//! The receiver as senders meet it: what each kind of request is answered, and what it leaves behind.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Request, Version};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tonic::body::Body;
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::ServiceExt;

use super::fake::Fake;
use super::{Intake, Settings, grpc};
use crate::listener::{Credential, Tenant, Token, Tokens};
use crate::otlp::{Reason, Signal, delimited};
use crate::shard::Refusal;
use crate::telemetry::Counter;

const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

/// A budget that no test uses up by accident.
const BUDGET: usize = 1 << 20;

/// A limit that tests can exceed cheaply.
pub(super) fn settings() -> Settings {
    Settings {
        message_bytes_max: 64 * 1024,
        shutdown_grace: Duration::from_millis(100),
        ..Settings::default()
    }
}

/// An intake that counts the reports that reach it.
pub(super) fn counting() -> (Intake, Arc<AtomicUsize>) {
    let reports = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reports);
    let intake = Intake::fake(BUDGET, move |reports| {
        counted.fetch_add(reports.len(), Ordering::Relaxed);
        Ok(())
    });
    (intake, reports)
}

/// A request of a run that called a tool.
pub(super) fn recorded() -> Bytes {
    let recording = include_bytes!("../../tests/recorded/fastmcp-native-error-retry.otlp.binpb");
    let requests = delimited(recording).map(|request| request.expect("a whole recording"));
    Bytes::copy_from_slice(requests.max_by_key(|request| request.len()).expect("some"))
}

fn span(trace_id: Vec<u8>) -> Span {
    Span {
        trace_id,
        span_id: vec![1; 8],
        ..Span::default()
    }
}

fn traces(spans: Vec<Span>) -> Bytes {
    let scope_spans = vec![ScopeSpans {
        spans,
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    }];
    ExportTraceServiceRequest { resource_spans }
        .encode_to_vec()
        .into()
}

fn logs(records: Vec<LogRecord>) -> Bytes {
    let scope_logs = vec![ScopeLogs {
        log_records: records,
        ..ScopeLogs::default()
    }];
    let resource_logs = vec![ResourceLogs {
        scope_logs,
        ..ResourceLogs::default()
    }];
    ExportLogsServiceRequest { resource_logs }
        .encode_to_vec()
        .into()
}

/// A message in gRPC's framing.
pub(super) fn framed(compressed: bool, message: &[u8]) -> Bytes {
    let mut frame = vec![u8::from(compressed)];
    frame.extend((message.len() as u32).to_be_bytes());
    frame.extend(message);
    frame.into()
}

fn gzipped(message: &[u8]) -> Bytes {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(message).expect("a Vec takes everything");
    framed(true, &encoder.finish().expect("a Vec takes everything"))
}

/// Sends a body as it stands and returns the answer's message, or its status.
async fn send_body(
    intake: &Intake,
    path: &str,
    encoding: &str,
    body: Body,
) -> Result<ExportTraceServiceResponse, Status> {
    let request = Request::post(path)
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("grpc-encoding", encoding)
        .body(body)
        .expect("a good request");
    let response = grpc::routes(intake, &settings(), Tokens::default())
        .oneshot(request)
        .await;
    let response = response.expect("routes are infallible");
    if let Some(status) = Status::from_header_map(response.headers()) {
        return Err(status);
    }
    let body = response.into_body().collect().await.expect("an answer");
    let status = Status::from_header_map(body.trailers().expect("trailers")).expect("a status");
    assert_eq!(status.code(), Code::Ok);
    Ok(ExportTraceServiceResponse::decode(&body.to_bytes()[5..]).expect("a response"))
}

async fn send(
    intake: &Intake,
    path: &str,
    encoding: &str,
    frame: Bytes,
) -> Result<ExportTraceServiceResponse, Status> {
    send_body(intake, path, encoding, Body::new(Full::new(frame))).await
}

/// A status as a sender reads it: the code, and whether there are `RetryInfo` and `BadRequest`.
fn read(status: &Status) -> (Code, bool, bool) {
    let details = status.get_error_details();
    (
        status.code(),
        details.retry_info().is_some(),
        details.bad_request().is_some(),
    )
}

const INVALID: (Code, bool, bool) = (Code::InvalidArgument, false, true);
const TOO_LARGE: (Code, bool, bool) = (Code::ResourceExhausted, false, false);
const BUSY: (Code, bool, bool) = (Code::Unavailable, true, false);

/// Given a request that can be taken, it is acknowledged without a word, and its reports have reached the shards.
#[tokio::test]
async fn good_requests_are_acknowledged() {
    for (encoding, frame) in [
        ("identity", framed(false, &recorded())),
        ("gzip", gzipped(&recorded())),
        ("gzip", framed(false, &recorded())),
    ] {
        let (intake, reports) = counting();
        let response = send(&intake, TRACES, encoding, frame).await;
        assert_eq!(
            response.expect("taken"),
            ExportTraceServiceResponse::default()
        );
        assert!(reports.load(Ordering::Relaxed) > 0);
        assert_eq!(intake.counters().requests_accepted.value(), 1);
        assert_eq!(intake.counters().requests_partial.value(), 0);
    }
}

/// Given an empty request, a log record that tells of nothing, or metrics, it is acknowledged and changes nothing.
#[tokio::test]
async fn requests_without_content_are_acknowledged() {
    for (path, message) in [
        (TRACES, Bytes::new()),
        (TRACES, traces(vec![])),
        (LOGS, logs(vec![LogRecord::default()])),
        (METRICS, Bytes::from_static(b"\x0a\x00")),
        (METRICS, Bytes::from_static(b"not even protobuf")),
    ] {
        let (intake, reports) = counting();
        let response = send(&intake, path, "identity", framed(false, &message)).await;
        assert_eq!(
            response.expect("taken"),
            ExportTraceServiceResponse::default()
        );
        assert_eq!(reports.load(Ordering::Relaxed), 0);
    }
}

/// Given some spans that can never be used, the others are taken and the sender is told how many were not, and why.
#[tokio::test]
async fn bad_spans_are_told_of() {
    let (intake, _) = counting();
    let good = span(vec![1; 16]);
    let message = traces(vec![good.clone(), span(vec![]), good, span(vec![1; 3])]);
    let response = send(&intake, TRACES, "identity", framed(false, &message)).await;
    let partial = response.expect("taken").partial_success.expect("told");
    assert_eq!(partial.rejected_spans, 2);
    assert_eq!(
        partial.error_message,
        "2 of 4 items rejected: 2 trace ids are not 16 bytes or all zero"
    );
    assert!(partial.error_message.len() < 1024);
    let counters = intake.counters();
    assert_eq!(counters.spans.accepted.value(), 2);
    assert_eq!(counters.spans.refused.value(Reason::TraceId), 2);
    assert_eq!(counters.spans.refused.value(Reason::Utf8), 0);
    assert_eq!(counters.requests_partial.value(), 1);
}

/// Given a span that is one but cannot be used here, since a text of it is none, and nothing beside it, the request is
/// acknowledged, and so goes on to whoever gets what is, and the sender is told.
#[tokio::test]
async fn what_only_eddy_cannot_use_is_acknowledged() {
    let mut unreadable = span(vec![1; 16]);
    unreadable.name = "?".to_owned();
    let mut broken = traces(vec![unreadable]).to_vec();
    let name = broken.iter().position(|byte| *byte == b'?');
    broken[name.expect("its name")] = 0xff;
    let passed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&passed);
    let (intake, reports) = counting();
    let intake = intake.passing_on(Box::new(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let response = send(&intake, TRACES, "identity", framed(false, &broken)).await;
    let partial = response.expect("taken").partial_success.expect("told");
    assert_eq!(partial.rejected_spans, 1);
    assert_eq!(passed.load(Ordering::Relaxed), 1);
    assert_eq!(reports.load(Ordering::Relaxed), 0);
    assert_eq!(intake.counters().spans.refused.value(Reason::Utf8), 1);
    assert_eq!(intake.counters().requests_partial.value(), 1);
}

/// Given a request with a bad span that is to come again, the good ones count as refused for now and the bad one not yet; when
/// the request is taken, all count once.
#[tokio::test]
async fn what_comes_again_is_refused_for_good_once() {
    let refusals = Mutex::new(vec![Refusal::Failed, Refusal::Stopping]);
    let intake = Intake::fake(BUDGET, move |_| {
        refusals.lock().unwrap().pop().map_or(Ok(()), Err)
    });
    let message = Bytes::from([recorded().to_vec(), traces(vec![span(vec![])]).to_vec()].concat());
    for is_taken in [false, false, true] {
        let answer = send(&intake, TRACES, "identity", framed(false, &message)).await;
        assert_eq!(answer.is_ok(), is_taken);
        let spans = &intake.counters().spans;
        assert_eq!(spans.refused.value(Reason::TraceId), u64::from(is_taken));
        assert_eq!(spans.accepted.value() > 0, is_taken);
    }
    let spans = &intake.counters().spans;
    assert_eq!(spans.busy.value(), 2 * spans.accepted.value());
}

/// Given a request that cannot be read, or of which nothing can be used, the sender is told never to send it again.
#[tokio::test]
async fn requests_that_cannot_be_read_are_invalid() {
    let record = LogRecord {
        time_unix_nano: 1,
        ..LogRecord::default()
    };
    for (encoding, frame) in [
        ("identity", framed(false, b"<html>")),
        ("identity", framed(false, &recorded()[..100])),
        ("identity", framed(false, &traces(vec![span(vec![])]))),
        ("identity", framed(false, &logs(vec![record]))),
        ("gzip", framed(true, b"not gzip")),
        ("identity", framed(true, b"compressed with nothing")),
        ("identity", Bytes::from_static(&[7, 0, 0, 0, 0])),
        ("identity", Bytes::from_static(&[0, 0, 0, 0, 9, 1])),
        ("identity", Bytes::new()),
    ] {
        let (intake, reports) = counting();
        let status = send(&intake, TRACES, encoding, frame.clone()).await;
        let status = status.expect_err("refused");
        assert_eq!(read(&status), INVALID, "{frame:?}: {status}");
        assert_eq!(reports.load(Ordering::Relaxed), 0);
        assert_eq!(intake.counters().requests_invalid.value(), 1);
    }
}

/// Given a request of another kind, the sender is told that each kind has a path of its own; given spans whose ids are wrong, only
/// that they are.
#[tokio::test]
async fn a_hint_is_given_where_it_helps() {
    let record = LogRecord {
        time_unix_nano: 1,
        ..LogRecord::default()
    };
    let hint = " a path or service of their own";
    for (request, is_hinted) in [
        (logs(vec![record]), true),
        (traces(vec![span(vec![])]), false),
        (traces(vec![span(vec![0; 16]), span(vec![1; 32])]), false),
    ] {
        let frame = framed(false, &request);
        let refused = send(&counting().0, TRACES, "identity", frame).await;
        let message = refused.expect_err("refused").message().to_owned();
        assert!(message.contains(" rejected: "), "{message}");
        assert_eq!(message.contains(hint), is_hinted, "{message}");
    }
}

/// Given a message above the limit, on the wire or only once it is decompressed, the sender is told never to send it
/// again; at the limit it is read.
#[tokio::test]
async fn large_requests_are_refused_for_good() {
    let limit = settings().message_bytes_max;
    let message = |bytes| {
        // One unknown field that fills the message.
        let mut message = vec![0x7a];
        prost::encode_length_delimiter(bytes - 4, &mut message).expect("a Vec takes everything");
        message.resize(bytes, 0);
        message
    };
    for (encoding, frame) in [
        ("identity", framed(false, &message(limit + 1))),
        ("gzip", gzipped(&message(limit + 1))),
        ("gzip", gzipped(&vec![0; 100 * limit])),
        ("identity", Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff])),
    ] {
        let (intake, _) = counting();
        let status = send(&intake, TRACES, encoding, frame).await;
        assert_eq!(read(&status.expect_err("refused")), TOO_LARGE);
        assert_eq!(intake.counters().requests_too_large.value(), 1);
    }
    let (intake, _) = counting();
    for frame in [framed(false, &message(limit)), gzipped(&message(limit))] {
        let taken = send(&intake, TRACES, "gzip", frame).await;
        taken.expect("at the limit");
    }
}

/// Given shards that refuse, the sender is told to come back, and when.
#[tokio::test]
async fn refusals_of_shards_are_for_now() {
    let overloaded = Duration::from_millis(1234);
    for refusal in [
        Refusal::Overloaded {
            retry_after: overloaded,
        },
        Refusal::Stopping,
        Refusal::Failed,
    ] {
        let refusals = Mutex::new(vec![refusal]);
        let intake = Intake::fake(BUDGET, move |_| {
            Err(refusals
                .lock()
                .expect("unbroken")
                .pop()
                .expect("asked once"))
        });
        let status = send(&intake, TRACES, "identity", framed(false, &recorded())).await;
        let status = status.expect_err("refused");
        assert_eq!(read(&status), BUSY);
        let told = status
            .get_details_retry_info()
            .and_then(|info| info.retry_delay);
        assert!(told.expect("a delay") >= Duration::from_secs(1), "{told:?}");
        assert_eq!(intake.counters().requests_busy.value(), 1);
    }
}

/// Given a budget that is used up, on the wire or by decompression, the sender is told to come back; what was taken is
/// given back.
#[tokio::test]
async fn the_budget_is_shared() {
    let message = recorded();
    let zipped = gzipped(&message);
    let unfolded = zipped.len() + message.len();
    for (frame, room) in [
        (framed(false, &message), message.len() + 5),
        (zipped, unfolded),
    ] {
        let intake = Intake::fake(room, |_| Ok(()));
        let held = intake
            .admit(&Tenant::default(), Signal::Traces)
            .expect("there is room");
        held.grow(6).expect("room");
        let status = send(&intake, TRACES, "gzip", frame.clone()).await;
        assert_eq!(read(&status.expect_err("refused")), BUSY);
        assert_eq!(intake.counters().requests_busy.value(), 1);
        drop(held);
        for _ in 0..3 {
            let taken = send(&intake, TRACES, "gzip", frame.clone()).await;
            taken.expect("room again");
        }
    }
}

/// A body that brings these bytes and then nothing more, without an end.
fn stuck(bytes: Bytes) -> Body {
    let arrived = stream::iter([Ok::<_, Status>(Frame::data(bytes))]);
    Body::new(StreamBody::new(arrived.chain(stream::pending())))
}

/// Given a request that stops arriving, it is given up, and the sender is told to come back. It is not listened to for as long
/// again.
#[tokio::test(start_paused = true)]
async fn requests_must_arrive_in_time() {
    let (intake, _) = counting();
    let settings = Settings {
        arrival_max: Duration::from_secs(10),
        ..settings()
    };
    let arriving = Arc::new(());
    let held = Arc::clone(&arriving);
    let body = stuck(Bytes::from_static(&[0])).map_frame(move |frame| {
        let _ = &held;
        frame
    });
    let request = Request::post(TRACES)
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .body(Body::new(body));
    let response =
        grpc::routes(&intake, &settings, Tokens::default()).oneshot(request.expect("good"));
    let response = response.await.expect("routes are infallible");
    let status = Status::from_header_map(response.headers()).expect("a status");
    assert_eq!(read(&status), BUSY);
    assert_eq!(intake.counters().requests_busy.value(), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(Arc::strong_count(&arriving), 1);
}

/// Given a request that has used up the budget before it is whole, it is refused without waiting for the rest.
#[tokio::test]
async fn bytes_are_paid_for_as_they_arrive() {
    let intake = Intake::fake(4, |_| Ok(()));
    let body = stuck(Bytes::from_static(&[0, 0, 0, 0, 9]));
    let status = send_body(&intake, TRACES, "identity", body).await;
    let status = status.expect_err("refused");
    assert_eq!(read(&status), BUSY);
    assert!(status.message().contains("too many bytes"), "{status}");
}

/// Given shards that hold nearly all they may, a request is refused for now before any of it has come, and nothing is paid for;
/// metrics, which go nowhere, are taken.
#[tokio::test]
async fn what_would_be_refused_is_not_received() {
    let intake = Intake::over(1 << 20, Fake::full_while(Arc::new(AtomicBool::new(true))));
    for path in [TRACES, LOGS] {
        let sending = send_body(&intake, path, "gzip", stuck(Bytes::from_static(&[1])));
        let status = tokio::time::timeout(Duration::from_secs(5), sending).await;
        let status = status.expect("answered at once").expect_err("refused");
        assert_eq!(read(&status), BUSY);
        assert_eq!(intake.bytes_held(), 0);
    }
    let taken = send(&intake, METRICS, "identity", framed(false, b"")).await;
    taken.expect("taken");
    assert_eq!(intake.counters().requests_busy.value(), 2);
}

/// Given a method that is not OTLP's, or a compression that is not supported, the sender is told so.
#[tokio::test]
async fn the_unknown_is_unimplemented() {
    let (intake, _) = counting();
    let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Import";
    let status = send(&intake, path, "identity", framed(false, b"")).await;
    assert_eq!(status.expect_err("unknown").code(), Code::Unimplemented);
    let status = send(&intake, TRACES, "snappy", framed(true, b"")).await;
    assert_eq!(status.expect_err("unknown").code(), Code::Unimplemented);
    let body = Body::new(Empty::<Bytes>::new());
    let status = send_body(&intake, path, "identity", body).await;
    assert_eq!(status.expect_err("unknown").code(), Code::Unimplemented);
    assert_eq!(intake.counters().requests_invalid.value(), 3);
    let health = "/grpc.health.v1.Health/Check";
    let status = send(&intake, health, "identity", framed(false, b"")).await;
    assert_eq!(status.expect_err("unknown").code(), Code::Unimplemented);
    assert_eq!(intake.counters().requests_invalid.value(), 3);
}

/// Given a request that is not gRPC's, as senders of OTLP/HTTP make who have the wrong port, it is refused over HTTP, whatever
/// its path, also where a token is asked for.
#[tokio::test]
async fn what_is_not_grpc_is_refused() {
    let (intake, reports) = counting();
    let token = Credential::from(Token::Text("secret".to_owned().into()));
    let tokens = Tokens::read(&[token]).expect("a good token");
    for (path, content_type, tokens) in [
        (TRACES, Some("application/x-protobuf"), Tokens::default()),
        (TRACES, None, Tokens::default()),
        ("/v1/traces", Some("application/json"), Tokens::default()),
        (TRACES, Some("application/json"), tokens),
    ] {
        let mut request = Request::post(path).version(Version::HTTP_2);
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let body = Body::new(Full::new(framed(false, &recorded())));
        let request = request.body(body).expect("a good request");
        let routes = grpc::routes(&intake, &settings(), tokens);
        let answer = routes.oneshot(request).await.expect("infallible");
        assert_eq!(answer.status(), 415, "{path} {content_type:?}");
        let body = answer.into_body().collect().await.expect("an answer");
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        assert!(text.contains("application/grpc"), "{text}");
    }
    assert_eq!(reports.load(Ordering::Relaxed), 0);
}

/// Given a sender that goes away while its request comes, or while it is read, the request is counted as one whose sender has left;
/// given one that is answered, however that is, it is not.
#[tokio::test]
async fn who_goes_away_before_the_answer_is_counted() {
    let intake = Intake::fake(64 << 20, |_| Ok(()));
    let send = |body: Body| {
        let request = Request::post(TRACES)
            .version(Version::HTTP_2)
            .header("content-type", "application/grpc")
            .body(body)
            .expect("a good request");
        grpc::routes(&intake, &Settings::default(), Tokens::default()).oneshot(request)
    };
    let whole = |message: &[u8]| Body::new(Full::new(framed(false, message)));
    let comes = stream::pending::<Result<Frame<Bytes>, Status>>();
    let comes = send(Body::new(StreamBody::new(comes)));
    assert!(comes.now_or_never().is_none(), "it still comes");
    let counters = intake.counters();
    assert_eq!(counters.requests_left.value(), 1);
    // Many items: others are let run before it is done.
    let many = recorded().repeat(100);
    let is_read = send(whole(&many));
    assert!(is_read.now_or_never().is_none(), "it is still read");
    assert_eq!(counters.requests_left.value(), 2);
    for message in [&many[..], b"not even protobuf"] {
        send(whole(message)).await.expect("infallible");
    }
    let answered = [&counters.requests_accepted, &counters.requests_invalid];
    assert_eq!(answered.map(Counter::value), [1, 1]);
    assert_eq!(counters.requests_left.value(), 2);
}
