//! What OTLP obliges a receiver to, over each transport: one table of requests, and one way to send for each.

use std::io::Write;
use std::time::Duration;

use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use prost::Message;
use serde_json::Value;
use tonic::Code;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic_types::StatusExt;

use super::kill::calls;
use super::support::{Daemon, Transport, http_client, runtime};

/// What a sender concludes from an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Acknowledged, save so many items.
    Taken(i64),
    /// Never to be sent again.
    Never,
    /// To be sent again.
    Later,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    Zstd,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Traces,
    Logs,
    Metrics,
}

/// A request in each of the two languages; none where it cannot be written in that one.
struct Case {
    name: &'static str,
    signal: Signal,
    protobuf: Option<(Vec<u8>, Said)>,
    json: Option<(Vec<u8>, Said)>,
}

fn same(name: &'static str, signal: Signal, said: fn() -> Said, bodies: [Vec<u8>; 2]) -> Case {
    let [protobuf, json] = bodies;
    Case {
        name,
        signal,
        protobuf: Some((protobuf, said())),
        json: Some((json, said())),
    }
}

/// A request of spans in both languages.
fn both(request: &ExportTraceServiceRequest) -> [Vec<u8>; 2] {
    [
        request.encode_to_vec(),
        serde_json::to_vec(request).expect("it can be written"),
    ]
}

/// Three calls of a run of its own, changed.
fn spans(run: u64, change: fn(&mut ExportTraceServiceRequest)) -> ExportTraceServiceRequest {
    let mut request = calls(run, 0, 3);
    change(&mut request);
    request
}

fn each(request: &mut ExportTraceServiceRequest, change: impl Fn(&mut Span)) {
    request.resource_spans[0].scope_spans[0]
        .spans
        .iter_mut()
        .for_each(change);
}

type Span = opentelemetry_proto::tonic::trace::v1::Span;

fn one_log() -> ExportLogsServiceRequest {
    let scope_logs = vec![ScopeLogs {
        log_records: vec![LogRecord {
            time_unix_nano: 1,
            event_name: "gen_ai.something".to_owned(),
            ..LogRecord::default()
        }],
        ..ScopeLogs::default()
    }];
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs,
            ..ResourceLogs::default()
        }],
    }
}

/// The request with one byte of the last span's name broken, so that it is no longer UTF-8.
fn broken_name(run: u64) -> [Vec<u8>; 2] {
    let marked = spans(run, |request| {
        request.resource_spans[0].scope_spans[0].spans[2].name = String::from("break-here");
    });
    both(&marked).map(|mut bytes| {
        let mark = b"break-here";
        let at = bytes.windows(mark.len()).position(|part| part == mark);
        bytes[at.expect("it is there")] = 0xff;
        bytes
    })
}

/// Requests of which something is taken, or nothing but for what is in single spans.
fn of_spans() -> Vec<Case> {
    let [broken_protobuf, broken_json] = broken_name(14);
    vec![
        same(
            "empty (R8)",
            Signal::Traces,
            || Said::Taken(0),
            [vec![], b"{}".to_vec()],
        ),
        same(
            "good",
            Signal::Traces,
            || Said::Taken(0),
            both(&spans(10, |_| {})),
        ),
        same(
            "again (R13)",
            Signal::Traces,
            || Said::Taken(0),
            both(&spans(10, |_| {})),
        ),
        same(
            "one id too short (R7, R17)",
            Signal::Traces,
            || Said::Taken(1),
            both(&spans(11, |request| {
                request.resource_spans[0].scope_spans[0].spans[0].span_id = vec![1; 3];
            })),
        ),
        same(
            "no id at all (R17)",
            Signal::Traces,
            || Said::Never,
            both(&spans(12, |request| {
                each(request, |span| span.trace_id.clear());
            })),
        ),
        same(
            "one span without a trace (R7)",
            Signal::Traces,
            || Said::Taken(1),
            both(&spans(13, |request| {
                request.resource_spans[0].scope_spans[0].spans[1]
                    .trace_id
                    .clear();
            })),
        ),
        same(
            "too large (R3)",
            Signal::Traces,
            || Said::Never,
            both(&spans(12, |request| {
                each(request, |span| span.name = "x".repeat(6 << 20));
            })),
        ),
        // Protobuf's reader refuses the span; JSON's puts the character for unreadable bytes there.
        Case {
            name: "one text that is not UTF-8 (R15)",
            signal: Signal::Traces,
            protobuf: Some((broken_protobuf, Said::Taken(1))),
            json: Some((broken_json, Said::Taken(0))),
        },
    ]
}

/// Requests of other kinds, and those that are odd as a whole.
fn of_others() -> Vec<Case> {
    let logs = one_log();
    let nested = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let text = |json: &str| Some((json.as_bytes().to_vec(), Said::Taken(0)));
    vec![
        same(
            "nonsense (R4)",
            Signal::Traces,
            || Said::Never,
            [b"<html>".to_vec(), b"<html>".to_vec()],
        ),
        same(
            "log records to the place of spans (R17)",
            Signal::Traces,
            || Said::Never,
            [
                logs.encode_to_vec(),
                serde_json::to_vec(&logs).expect("it can be written"),
            ],
        ),
        same(
            "spans to the place of log records (R17)",
            Signal::Logs,
            || Said::Never,
            both(&spans(12, |_| {})),
        ),
        same(
            "log records",
            Signal::Logs,
            || Said::Taken(0),
            [
                logs.encode_to_vec(),
                serde_json::to_vec(&logs).expect("it can be written"),
            ],
        ),
        same(
            "metrics (R16)",
            Signal::Metrics,
            || Said::Taken(0),
            [b"\x0a\x00".to_vec(), b"{\"resourceMetrics\":[]}".to_vec()],
        ),
        Case {
            name: "null lists (R10)",
            signal: Signal::Traces,
            protobuf: None,
            json: text(
                r#"{"resourceSpans":[{"resource":{"attributes":null},"scopeSpans":[{"scope":null,"spans":[
                {"traceId":"000000000000000000000000000000ff","spanId":"00000000000000AB","attributes":null,"events":null,
                 "links":null,"kind":"SPAN_KIND_INTERNAL","startTimeUnixNano":5,"endTimeUnixNano":"6","later":{"a":[1]}}]}]}]}"#,
            ),
        },
        Case {
            name: "deep nesting (R14)",
            signal: Signal::Traces,
            protobuf: None,
            json: Some((nested.into_bytes(), Said::Never)),
        },
    ]
}

/// Given each request of the table, what a sender concludes from the answer is the same over every transport, and the same
/// calls were counted in the end, each once.
#[test]
fn obligations_hold_over_every_transport() {
    for transport in Transport::ALL {
        let data = tempfile::tempdir().expect("a temporary directory");
        let daemon = Daemon::start(data.path());
        for case in of_spans().into_iter().chain(of_others()) {
            let written = match transport {
                Transport::HttpJson => case.json,
                Transport::Grpc | Transport::HttpProtobuf => case.protobuf,
            };
            let Some((body, expected)) = written else {
                continue;
            };
            let sent = send(&daemon, transport, case.signal, (Coding::Plain, body));
            let said = runtime().block_on(sent);
            assert_eq!(said, expected, "{transport:?}: {}", case.name);
        }
        for (run, coding) in [(20, Coding::Gzip), (21, Coding::Zstd)] {
            let good = both(&spans(run, |_| {}));
            let large = both(&spans(12, |request| {
                each(request, |span| span.name = "x".repeat(6 << 20));
            }));
            for ([protobuf, json], expected) in [(good, Said::Taken(0)), (large, Said::Never)] {
                let body = match transport {
                    Transport::HttpJson => json,
                    Transport::Grpc | Transport::HttpProtobuf => protobuf,
                };
                let sent = send(&daemon, transport, Signal::Traces, (coding, body));
                let said = runtime().block_on(sent);
                assert_eq!(said, expected, "{transport:?}: {coding:?} (R1, R2)");
            }
        }
        let runs = daemon.runs();
        let counted = |run: u128| runs[&format!("{run:032x}")]["tool_calls"].clone();
        let broken = if transport == Transport::HttpJson {
            3
        } else {
            2
        };
        for (run, expected) in [(11, 3), (12, 2), (14, 2), (15, broken), (21, 3), (22, 3)] {
            assert_eq!(counted(run), expected, "{transport:?} {run}");
        }
        assert!(
            !runs.contains_key(&format!("{:032x}", 13)),
            "refused requests leave nothing behind"
        );
    }
}

pub(crate) async fn send(
    daemon: &Daemon,
    transport: Transport,
    signal: Signal,
    message: (Coding, Vec<u8>),
) -> Said {
    match transport {
        Transport::Grpc => over_grpc(daemon, signal, message).await,
        Transport::HttpProtobuf => {
            over_http(daemon, signal, "application/x-protobuf", message).await
        }
        Transport::HttpJson => over_http(daemon, signal, "application/json", message).await,
    }
}

async fn over_grpc(daemon: &Daemon, signal: Signal, (coding, body): (Coding, Vec<u8>)) -> Said {
    let endpoint = Endpoint::from_shared(format!("http://{}", daemon.grpc)).expect("an address");
    let client = tonic::client::Grpc::new(endpoint.connect_lazy());
    let mut client = match coding {
        Coding::Plain => client,
        Coding::Gzip => client.send_compressed(CompressionEncoding::Gzip),
        Coding::Zstd => client.send_compressed(CompressionEncoding::Zstd),
    };
    client.ready().await.expect("it is there");
    let (package, service) = match signal {
        Signal::Traces => ("trace", "TraceService"),
        Signal::Logs => ("logs", "LogsService"),
        Signal::Metrics => ("metrics", "MetricsService"),
    };
    let path = format!("/opentelemetry.proto.collector.{package}.v1.{service}/Export");
    let request = tonic::Request::new(body);
    let path = path.parse().expect("a path");
    match client.unary(request, path, Raw).await {
        Ok(response) => taken(&response.into_inner()),
        Err(status) => {
            let is_told_when = status.get_error_details().retry_info().is_some();
            let comes_back = status.code() == Code::Unavailable;
            // A sender takes the time for a promise, whatever the code, and its absence for a refusal (R5, R6).
            assert_eq!(is_told_when, comes_back, "{status}");
            assert!(
                comes_back
                    || [Code::InvalidArgument, Code::ResourceExhausted].contains(&status.code()),
                "{status}"
            );
            if comes_back { Said::Later } else { Said::Never }
        }
    }
}

async fn over_http(
    daemon: &Daemon,
    signal: Signal,
    content_type: &str,
    (coding, body): (Coding, Vec<u8>),
) -> Said {
    let (encoding, body) = match coding {
        Coding::Plain => ("identity", body),
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&body).expect("a Vec takes everything");
            ("gzip", encoder.finish().expect("a Vec takes everything"))
        }
        Coding::Zstd => {
            let packed = zstd::encode_all(&*body, 1);
            ("zstd", packed.expect("a Vec takes everything"))
        }
    };
    let path = match signal {
        Signal::Traces => "traces",
        Signal::Logs => "logs",
        Signal::Metrics => "metrics",
    };
    let response = http_client()
        .post(format!("http://{}/v1/{path}", daemon.http))
        .header("content-type", content_type)
        .header("content-encoding", encoding)
        .body(body)
        .timeout(Duration::from_secs(30))
        .send()
        .await
        .expect("it answers");
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    assert_eq!(headers["content-type"], content_type);
    let body = response.bytes().await.expect("a body");
    match status {
        200 if content_type == "application/json" => {
            let answer: Value = serde_json::from_slice(&body).expect("JSON");
            let rejected = answer["partialSuccess"]["rejectedSpans"].as_str();
            Said::Taken(rejected.map_or(0, |count| count.parse().expect("a number")))
        }
        200 => taken(&body),
        400 | 413 => Said::Never,
        429 | 503 => {
            assert!(headers.contains_key("retry-after"));
            Said::Later
        }
        other => panic!("{other}"),
    }
}

fn taken(response: &[u8]) -> Said {
    let response = ExportTraceServiceResponse::decode(response).expect("a response");
    Said::Taken(
        response
            .partial_success
            .map_or(0, |partial| partial.rejected_spans),
    )
}

/// Given a daemon that is told to leave, nobody hears that a request is lost: it is acknowledged, or to be sent again, or the
/// connection is gone; and what was acknowledged is there.
#[test]
fn leaving_loses_nothing() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut daemon = Daemon::start(data.path());
    let taken = runtime().block_on(async {
        let client = http_client();
        let mut heard = Vec::new();
        for nth in 0..400_u64 {
            if nth == 20 {
                daemon.signal("TERM");
            }
            let sent = client
                .post(format!("http://{}/v1/traces", daemon.http))
                .header("content-type", "application/x-protobuf")
                .body(calls(nth, 0, 1).encode_to_vec())
                .send()
                .await;
            match sent {
                Ok(response) => heard.push(response.status().as_u16()),
                Err(_) => break,
            }
        }
        assert!(heard.len() >= 20, "{heard:?}");
        assert!(
            heard.iter().all(|status| [200, 503].contains(status)),
            "{heard:?}"
        );
        heard.iter().filter(|status| **status == 200).count()
    });
    assert!(daemon.wait().success());
    let daemon = Daemon::start(data.path());
    let kept = daemon.runs().len();
    assert!(kept >= taken, "{kept} of {taken} are there");
}

/// Hands bytes over as they are.
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;

    fn encode(&mut self, message: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        bytes::BufMut::put_slice(out, &message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, tonic::Status> {
        let length = bytes::Buf::remaining(message);
        Ok(Some(bytes::Buf::copy_to_bytes(message, length).to_vec()))
    }
}
