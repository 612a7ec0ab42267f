//! OTLP/HTTP as senders meet it: status, headers and body of every answer, in both languages.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http_body_util::BodyExt;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::fake::Fake;
use super::{Intake, Settings, http};
use crate::listener::{Access, Token, Tokens};
use crate::otlp::Signal;
use crate::shard::Refusal;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

fn settings() -> Settings {
    Settings {
        message_bytes_max: 64 * 1024,
        arrival_max: Duration::from_millis(200),
        ..Settings::default()
    }
}

fn willing() -> Intake {
    Intake::fake(1 << 20, |_| Ok(()))
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The code of the `google.rpc.Status` that a refusal is, in the language of the answer.
    fn code(&self) -> i32 {
        if self.header("content-type") == PROTOBUF {
            let status = tonic_types::Status::decode(&*self.body).unwrap();
            assert!(!status.message.is_empty());
            return status.code;
        }
        let status: Value = serde_json::from_slice(&self.body).unwrap();
        assert!(
            status["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        status["code"].as_i64().unwrap() as i32
    }
}

async fn send_to(intake: &Intake, tokens: Tokens, request: Request<Body>) -> Answer {
    let router = http::routes(intake, &settings(), tokens).into_axum_router();
    let response = router.oneshot(request).await.unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body: response.into_body().collect().await.unwrap().to_bytes(),
    }
}

async fn send(intake: &Intake, request: Request<Body>) -> Answer {
    send_to(intake, Tokens::default(), request).await
}

fn post(content_type: &str, encoding: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::post("/v1/traces").header("content-type", content_type);
    let request = match encoding {
        "" => request,
        encoding => request.header("content-encoding", encoding),
    };
    request.body(body.into()).unwrap()
}

fn request(span_ids: &[&[u8]]) -> ExportTraceServiceRequest {
    let spans = span_ids.iter().map(|span_id| Span {
        trace_id: vec![1; 16],
        span_id: span_id.to_vec(),
        ..Span::default()
    });
    let scope_spans = vec![ScopeSpans {
        spans: spans.collect(),
        ..ScopeSpans::default()
    }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans,
            ..ResourceSpans::default()
        }],
    }
}

/// A call of a tool, so that there is something for the shards.
fn telling() -> ExportTraceServiceRequest {
    let recording = include_bytes!("../../tests/recorded/fastmcp-native-error-retry.otlp.binpb");
    let requests = crate::otlp::delimited(recording).map(Result::unwrap);
    let longest = requests.max_by_key(|request| request.len()).unwrap();
    ExportTraceServiceRequest::decode(longest).unwrap()
}

fn written(content_type: &str, request: &ExportTraceServiceRequest) -> Vec<u8> {
    match content_type {
        PROTOBUF => request.encode_to_vec(),
        _ => serde_json::to_vec(request).unwrap(),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Given a good request in each language and compression, it is acknowledged in that language, without a word.
#[tokio::test]
async fn good_requests_are_acknowledged() {
    for content_type in [PROTOBUF, JSON] {
        let body = written(content_type, &telling());
        for (encoding, body) in [
            ("", body.clone()),
            ("identity", body.clone()),
            ("gzip", gzip(&body)),
            ("GZIP", [gzip(&body), gzip(b"")].concat()),
            ("deflate", deflate(&body)),
            ("zstd", zstd(&body)),
        ] {
            let intake = willing();
            let answer = send(&intake, post(content_type, encoding, body)).await;
            assert_eq!(
                answer.status, 200,
                "{content_type} {encoding}: {:?}",
                answer.body
            );
            assert_eq!(answer.header("content-type"), content_type);
            let expected: &[u8] = if content_type == JSON { b"{}" } else { b"" };
            assert_eq!(&*answer.body, expected);
            assert_eq!(intake.counters().requests_accepted.value(), 1);
            assert!(intake.counters().spans.accepted.value() > 0);
        }
    }
    for with_parameters in ["application/json; charset=utf-8", "Application/JSON;q=1"] {
        let answer = send(&willing(), post(with_parameters, "", "{}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, JSON));
    }
}

/// Given some spans that can never be used, the sender is told with 200 how many and why.
#[tokio::test]
async fn bad_spans_are_told_of() {
    let request = request(&[&[1; 8], &[], &[2; 8]]);
    let answer = send(&willing(), post(PROTOBUF, "", written(PROTOBUF, &request))).await;
    assert_eq!(answer.status, 200);
    let response = ExportTraceServiceResponse::decode(&*answer.body).unwrap();
    let partial = response.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert!(partial.error_message.contains("1 of 3"), "{partial:?}");
    let answer = send(&willing(), post(JSON, "", written(JSON, &request))).await;
    assert_eq!(answer.status, 200);
    let response: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        response,
        json!({"partialSuccess": {"rejectedSpans": "1", "errorMessage": partial.error_message}})
    );
}

/// Given a value that cannot be read in JSON, the sender is told where it stands, whether other spans are taken or not.
#[tokio::test]
async fn a_bad_value_is_named() {
    let bad = r#"{"startTimeUnixNano":"soon"}"#;
    let good = r#"{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"}"#;
    for (spans, status, told) in [
        (
            bad.to_owned(),
            400,
            "1 of 1 item rejected: 1 malformed message",
        ),
        (
            format!("{bad},{good},{bad}"),
            200,
            "2 of 3 items rejected: 2 malformed messages",
        ),
    ] {
        let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#);
        let answer = send(&willing(), post(JSON, "", body)).await;
        assert_eq!(answer.status, status);
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let message = match status {
            200 => &answer["partialSuccess"]["errorMessage"],
            _ => &answer["message"],
        };
        let expected = format!(
            "{told}; the first malformed one at `resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano`: \
             invalid value: string \"soon\", expected a whole number within its range"
        );
        assert_eq!(message, &expected);
    }
}

/// Given a request that can never be taken, the status and its body say so, in the language of the request, and no
/// sender comes back with it.
#[tokio::test]
async fn refusals_for_good() {
    let limit = settings().message_bytes_max;
    let unusable = request(&[&[], &[1; 3]]);
    for content_type in [PROTOBUF, JSON] {
        let nonsense = || b"<html>".to_vec();
        let good = written(content_type, &telling());
        for (encoding, body, status, code) in [
            ("", nonsense(), 400, 3),
            ("", good[..good.len() / 2].to_vec(), 400, 3),
            ("", written(content_type, &unusable), 400, 3),
            ("gzip", nonsense(), 400, 3),
            ("gzip", gzip(&good)[..40].to_vec(), 400, 3),
            ("deflate", nonsense(), 400, 3),
            ("zstd", nonsense(), 400, 3),
            ("zstd", zstd(&good)[..40].to_vec(), 400, 3),
            ("", vec![b' '; limit + 1], 413, 8),
            ("gzip", gzip(&vec![b' '; 100 * limit]), 413, 8),
            ("deflate", deflate(&vec![b' '; 100 * limit]), 413, 8),
            ("zstd", zstd(&vec![b' '; 100 * limit]), 413, 8),
            ("br", good.clone(), 415, 3),
            ("gzip, gzip", gzip(&gzip(&good)), 415, 3),
        ] {
            let intake = willing();
            let answer = send(&intake, post(content_type, encoding, body)).await;
            let case = format!("{content_type} {encoding} {status}");
            assert_eq!((answer.status, answer.code()), (status, code), "{case}");
            assert_eq!(answer.header("content-type"), content_type, "{case}");
            assert_eq!(answer.header("retry-after"), "", "{case}");
            let counters = intake.counters();
            let counted = if status == 413 {
                &counters.requests_too_large
            } else {
                &counters.requests_invalid
            };
            assert_eq!(counted.value(), 1, "{case}");
        }
    }
}

/// Given a request that is not OTLP/HTTP at all, the sender is told what there is.
#[tokio::test]
async fn strangers_are_told_what_there_is() {
    for (request, status) in [
        (Request::get("/v1/traces"), StatusCode::METHOD_NOT_ALLOWED),
        (Request::put("/v1/logs"), StatusCode::METHOD_NOT_ALLOWED),
        (Request::options("/v1/logs"), StatusCode::METHOD_NOT_ALLOWED),
        (Request::post("/v1/trace"), StatusCode::NOT_FOUND),
        (Request::get("/"), StatusCode::NOT_FOUND),
        (
            Request::post("/v1/traces"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            Request::post("/v1/traces").header("content-type", "text/plain"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            Request::post("/v1/traces").header("content-type", "application/jsonl"),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            Request::post("/v1/traces")
                .header("content-type", JSON)
                .header("origin", "http://evil.example"),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let answer = send(&willing(), request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, status.as_u16());
        assert!(answer.code() > 0);
    }
    let request = Request::get("/v1/traces").body(Body::empty()).unwrap();
    let answer = send(&willing(), request).await;
    assert_eq!(answer.header("allow"), "POST");
}

/// Given a call of gRPC, which has the wrong port, with and without a token, it is told so in its own language.
#[tokio::test]
async fn calls_of_grpc_are_told_of_their_port() {
    let token = [crate::listener::Token::Text("t".to_owned().into()).into()];
    for tokens in [Tokens::default(), Tokens::read(&token).unwrap()] {
        let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
        let request = Request::post(path).header("content-type", "application/grpc+proto");
        let request = request.body(Body::empty()).unwrap();
        let answer = send_to(&willing(), tokens, request).await;
        assert_eq!(answer.status, 200);
        let status = tonic::Status::from_header_map(&answer.headers).unwrap();
        assert_eq!(status.code(), tonic::Code::Unimplemented);
        assert!(status.message().contains("4317"), "{status}");
    }
}

/// Given metrics or an empty request, it is acknowledged.
#[tokio::test]
async fn requests_without_content_are_acknowledged() {
    for (path, content_type, body) in [
        ("/v1/metrics", PROTOBUF, "not even protobuf"),
        ("/v1/metrics", JSON, "{\"resourceMetrics\":[]}"),
        ("/v1/traces", PROTOBUF, ""),
        ("/v1/logs", PROTOBUF, ""),
        ("/v1/logs", JSON, "{\"resourceLogs\":null}"),
    ] {
        let request = Request::post(path).header("content-type", content_type);
        let answer = send(&willing(), request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, 200, "{path} {content_type}");
    }
}

/// Given shards that refuse, a budget that is used up or a body that stops, the sender is told to come back, and when.
#[tokio::test]
async fn refusals_for_now() {
    let check = |answer: Answer, content_type: &str, wait: &str| {
        assert_eq!((answer.status, answer.code()), (503, 14));
        assert_eq!(answer.header("content-type"), content_type);
        assert_eq!(answer.header("retry-after"), wait);
    };
    for content_type in [PROTOBUF, JSON] {
        let body = written(content_type, &telling());
        let overloaded = Intake::fake(1 << 20, |_| {
            Err(Refusal::Overloaded {
                retry_after: Duration::from_millis(1234),
            })
        });
        let answer = send(&overloaded, post(content_type, "", body.clone())).await;
        check(answer, content_type, "2");
        let stopping = Intake::fake(1 << 20, |_| Err(Refusal::Stopping));
        let answer = send(&stopping, post(content_type, "", body.clone())).await;
        check(answer, content_type, "2");
        let small = Intake::fake(body.len() - 1, |_| Ok(()));
        for (encoding, body) in [("", body.clone()), ("gzip", gzip(&body))] {
            let answer = send(&small, post(content_type, encoding, body)).await;
            check(answer, content_type, "1");
        }
        assert_eq!(small.counters().requests_busy.value(), 2);
        let arrived = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
        let stuck = Body::from_stream(arrived.chain(stream::pending()));
        let answer = send(&willing(), post(content_type, "", stuck)).await;
        check(answer, content_type, "1");
    }
}

/// Given shards that hold nearly all they may, a request is refused for now before it is looked at, whatever is in it, and a
/// sender that asks whether to send at all is told so at once.
#[tokio::test]
async fn what_would_be_refused_is_not_received() {
    let intake = Intake::over(1 << 20, Fake::full_while(Arc::new(AtomicBool::new(true))));
    for content_type in [PROTOBUF, JSON] {
        // More than would be taken, and nothing that could be unfolded.
        let request = post(content_type, "gzip", vec![0; 100 << 10]);
        let answer = send(&intake, request).await;
        assert_eq!((answer.status, answer.code()), (503, 14));
        assert_eq!(answer.header("retry-after"), "2");
        assert_eq!(intake.bytes_held(), 0);
    }
    let waiting = stream::pending::<Result<Bytes, std::io::Error>>();
    let mut request = post(PROTOBUF, "identity", Body::from_stream(waiting));
    let expect = "100-continue".parse().unwrap();
    request.headers_mut().insert("expect", expect);
    let sending = tokio::time::timeout(Duration::from_millis(100), send(&intake, request));
    assert_eq!(sending.await.unwrap().status, 503);
    assert_eq!(intake.counters().requests_busy.value(), 3);
}

/// Given a listener with tokens, only requests that show one are read.
#[tokio::test]
async fn tokens_are_asked_for() {
    let access = Access {
        tokens: vec![Token::Text("abc".to_owned().into()).into()],
        ..Access::default()
    };
    let tokens = || Tokens::read(&access.tokens).unwrap();
    for (authorization, status) in [("", 401), ("Bearer abd", 401), ("Bearer abc", 200)] {
        let intake = willing();
        let mut request = post(PROTOBUF, "", "");
        let headers = request.headers_mut();
        headers.insert("authorization", authorization.parse().unwrap());
        let answer = send_to(&intake, tokens(), request).await;
        assert_eq!(answer.status, status, "{authorization}");
        if status == 401 {
            assert_eq!(answer.code(), 16);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert_eq!(intake.counters().requests_unauthenticated.value(), 1);
        }
    }
    let unknown = Request::post("/nowhere").body(Body::empty()).unwrap();
    let answer = send_to(&willing(), tokens(), unknown).await;
    assert_eq!(answer.status, 401, "paths are not told to strangers");
}

/// A request with a metric named `n`.
const METRIC: &[u8] = b"\x0a\x07\x12\x05\x12\x03\x0a\x01n";

/// Given somebody to whom requests are passed on, each gets there once it is acknowledged, as protobuf: spans, metrics too,
/// and JSON with everything that it said. What is refused does not, for it comes again or, as metrics that are none, cannot be
/// used.
#[tokio::test]
async fn what_is_acknowledged_is_passed_on() {
    let passed = Arc::<Mutex<Vec<_>>>::default();
    let keep = Arc::clone(&passed);
    let pass_on =
        move |signal, request: &[u8]| keep.lock().unwrap().push((signal, request.to_vec()));
    let refusals = Mutex::new(vec![Refusal::Stopping]);
    let intake = Intake::fake(1 << 20, move |_| {
        refusals.lock().unwrap().pop().map_or(Ok(()), Err)
    });
    let intake = intake.passing_on(Box::new(pass_on));
    let mut spans = telling();
    spans.resource_spans[0].schema_url = "urn:s".to_owned();
    let json = serde_json::to_vec(&spans).unwrap();
    let busy = send(&intake, post(PROTOBUF, "", spans.encode_to_vec())).await;
    assert_eq!((busy.status, passed.lock().unwrap().len()), (503, 0));
    let metrics = json!({"resourceMetrics": [{"resource": {"attributes": []}, "schemaUrl": "urn:m", "scopeMetrics": [{
        "scope": {"name": "s"}, "metrics": [
            {"name": "n", "unit": "1", "sum": {"aggregationTemporality": 2, "isMonotonic": true, "dataPoints": [
                {"asInt": "3", "startTimeUnixNano": "4", "timeUnixNano": "5", "attributes": []}]}},
            {"name": "h", "histogram": {"aggregationTemporality": 2, "dataPoints": [
                {"count": "1", "sum": 2.5, "bucketCounts": ["1", "0"], "explicitBounds": [9.0], "timeUnixNano": "5"}]}}]}]}]});
    let posted = |path: &str, content_type: &str, body: Vec<u8>| {
        let request = Request::post(path).header("content-type", content_type);
        request.body(Body::from(body)).unwrap()
    };
    for request in [
        posted("/v1/traces", PROTOBUF, spans.encode_to_vec()),
        posted("/v1/traces", JSON, json),
        posted("/v1/metrics", JSON, metrics.to_string().into_bytes()),
        posted("/v1/metrics", PROTOBUF, METRIC.to_vec()),
    ] {
        assert_eq!(send(&intake, request).await.status, 200);
    }
    let broken = [
        &METRIC[..METRIC.len() - 1],
        b"\xff\xff\xff",
        b"\x0a\x05\x12\x03\x12\x01\xff",
    ];
    for (content_type, wrong) in [
        (JSON, &b"[]"[..]),
        (PROTOBUF, broken[0]),
        (PROTOBUF, broken[1]),
        (PROTOBUF, broken[2]),
    ] {
        let wrong = posted("/v1/metrics", content_type, wrong.to_vec());
        assert_eq!(send(&intake, wrong).await.status, 400);
    }
    let passed = passed.lock().unwrap();
    let [one, two, three, four] = &passed[..] else {
        panic!("{} were passed on", passed.len())
    };
    assert_eq!(*one, (Signal::Traces, spans.encode_to_vec()));
    let from_json = ExportTraceServiceRequest::decode(&*two.1).unwrap();
    assert_eq!((two.0, from_json), (Signal::Traces, spans));
    assert_eq!(*four, (Signal::Metrics, METRIC.to_vec()));
    let metrics = ExportMetricsServiceRequest::decode(&*three.1).unwrap();
    let resource = &metrics.resource_metrics[0];
    assert_eq!(
        (three.0, resource.schema_url.as_str()),
        (Signal::Metrics, "urn:m")
    );
    let [sum, histogram] = &resource.scope_metrics[0].metrics[..] else {
        panic!("two metrics")
    };
    let Some(metric::Data::Sum(sum)) = &sum.data else {
        panic!("a sum")
    };
    assert_eq!(
        sum.data_points[0].value,
        Some(number_data_point::Value::AsInt(3))
    );
    let Some(metric::Data::Histogram(histogram)) = &histogram.data else {
        panic!("a histogram")
    };
    assert_eq!(histogram.data_points[0].bucket_counts, [1, 0]);
}

/// Given a sender that goes away while the JSON that it sent is read, what that holds is counted until it has been read: others
/// are not let in for it before.
#[tokio::test]
async fn json_is_paid_for_until_it_has_been_read() {
    let settings = Settings {
        message_bytes_max: 4 << 20,
        ..settings()
    };
    let intake = Intake::fake(32 << 20, |_| Ok(()));
    let router = http::routes(&intake, &settings, Tokens::default()).into_axum_router();
    let text = format!(r#"{{"resourceSpans":[{}{{}}]}}"#, "{},".repeat(1 << 20));
    let mut sent = Box::pin(router.oneshot(post(JSON, "", text)));
    assert!(sent.as_mut().now_or_never().is_none());
    drop(sent);
    assert!(intake.bytes_held() > 1 << 20);
    let read = async {
        while intake.bytes_held() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let read = tokio::time::timeout(Duration::from_secs(60), read).await;
    read.expect("it is given back");
}
