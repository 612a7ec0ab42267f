//! What comes in at the listeners: mistakes and malice of senders, and what they are told.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::SystemTime;

#[cfg(target_os = "linux")]
use flate2::{Compression, write::GzEncoder};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value::StringValue;
use prost::Message;
use serde_json::Value;
use tonic::Code;
use tonic_types::StatusExt;

use super::kill::calls;
use super::load::metric;
#[cfg(target_os = "linux")]
use super::load::peak_mib;
use super::support::{Daemon, PATIENCE, Sender, runtime};
#[cfg(target_os = "linux")]
use super::support::{Export, Transport, http_client, send_over};

fn daemon() -> (tempfile::TempDir, Daemon) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(data.path());
    (data, daemon)
}

fn tool_calls(daemon: &Daemon) -> u64 {
    daemon
        .runs()
        .values()
        .filter_map(|run| run["tool_calls"].as_u64())
        .sum()
}

fn first_span(
    request: &mut ExportTraceServiceRequest,
) -> &mut opentelemetry_proto::tonic::trace::v1::Span {
    &mut request.resource_spans[0].scope_spans[0].spans[0]
}

/// Given a batch in which single spans are bad, the others count, and the sender is told how many do not and why.
#[test]
fn bad_spans_cost_only_themselves() {
    let (_data, daemon) = daemon();
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for (bad, nth) in [(vec![], 0_u64), (vec![1; 7], 1), (vec![0; 16], 2)] {
            let mut request = calls(nth, 0, 3);
            first_span(&mut request).trace_id = bad;
            let partial = sender
                .traces(request)
                .await
                .expect("it is accepted")
                .partial_success
                .expect("in part");
            assert_eq!(partial.rejected_spans, 1);
            assert!(
                partial.error_message.contains("trace id"),
                "{}",
                partial.error_message
            );
        }
    });
    assert_eq!(tool_calls(&daemon), 6);
}

/// Given one who sends a request over HTTP/1.1, closes his side and waits for the answer, as scripts do, he gets it, and what he
/// sent is counted.
#[test]
fn who_closes_his_side_is_answered() {
    let (_data, daemon) = daemon();
    for nth in 0..20 {
        let body = calls(nth, 0, 3).encode_to_vec();
        let typed = "content-type: application/x-protobuf\r\n";
        let answer = half_closed(daemon.http, "POST /v1/traces", typed, &body);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{nth}: {answer}");
        let question = format!("{{\"run_id\":\"half-{nth}\",\"tool\":\"search\"}}");
        let question = question.as_bytes();
        let answer = half_closed(daemon.api, "POST /v1/guard/check", "", question);
        assert!(answer.contains("ALLOW"), "{nth}: {answer}");
        let answer = half_closed(daemon.api, "GET /v1/runs", "", b"");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{nth}: {answer}");
    }
    assert_eq!(tool_calls(&daemon), 60 + 20);
    let accepted = "eddy_receiver_requests_total{outcome=\"accepted\"}";
    assert_eq!(metric(&daemon, accepted), 20);
}

/// What is answered to a request behind which nothing more can be sent.
fn half_closed(address: SocketAddr, line: &str, headers: &str, body: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("a deadline");
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n");
    let request = [head.as_bytes(), body].concat();
    socket.write_all(&request).expect("written");
    socket.shutdown(Shutdown::Write).expect("closed");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("it ends");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Given times that cannot be, the calls count all the same, nothing is called slow because of them, and no run was heard of later
/// than now.
#[test]
fn absurd_times_do_no_harm() {
    let (_data, daemon) = daemon();
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        let in_2100 = 4_102_444_800_000_000_000;
        let absurd = [
            (0, 0),
            (u64::MAX, u64::MAX),
            (u64::MAX, 0),
            (5, u64::MAX),
            (in_2100, in_2100 + 7),
            (u64::MAX / 2, u64::MAX / 2),
        ];
        for (nth, (start, end)) in absurd.into_iter().enumerate() {
            let mut request = calls(nth as u64, 0, 1);
            first_span(&mut request).start_time_unix_nano = start;
            first_span(&mut request).end_time_unix_nano = end;
            sender.traces(request).await.expect("it is accepted");
        }
    });
    assert_eq!(tool_calls(&daemon), 6);
    let now = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let mut shown = 0;
    for (id, run) in daemon.runs() {
        let path = format!("/v1/runs/{}", id.replace(' ', "%20"));
        let (_, run_alone) = daemon.get(&path);
        // Of five nanoseconds after the beginning of 1970 nothing is shown.
        let last_seen = run_alone["last_seen"].as_str();
        assert!(last_seen.is_none_or(|at| at <= &*now), "{run_alone}");
        shown += u64::from(last_seen.is_some());
        assert_eq!(run["warnings"], Value::Array(Vec::new()), "{run}");
    }
    assert_eq!(shown, 5);
}

/// Given results of three megabytes, as screenshots are, each call counts, and the same one again and again is a loop.
#[test]
fn huge_values_are_values() {
    let (_data, daemon) = daemon();
    runtime().block_on(async {
        let image = format!(
            r#"[{{"type":"image","data":"{}"}}]"#,
            "iVBORw0K".repeat(3 << 17)
        );
        for number in 0..6 {
            let mut request = calls(0, number, number + 1);
            for (attribute, text) in [(3, "{}"), (4, &image)] {
                let value = first_span(&mut request).attributes[attribute]
                    .value
                    .as_mut();
                value.expect("a value").value = Some(StringValue(text.to_owned()));
            }
            let answer = Sender::new(daemon.grpc)
                .traces(request)
                .await
                .expect("accepted");
            assert_eq!(answer.partial_success, None);
        }
    });
    assert_eq!(tool_calls(&daemon), 6);
    let runs = daemon.runs();
    let warnings = runs.values().next().expect("a run")["warnings"].as_array();
    let mut warnings = warnings.expect("warnings").iter();
    let is_exact = |warning: &Value| {
        warning["rule"] == "repeated_tool_call_exact_input" && warning["count"] == 6
    };
    assert!(warnings.any(is_exact), "{runs:?}");
}

/// Given a request over the size limit, it is refused with a code that senders do not try again.
#[test]
fn oversize_is_refused_for_good() {
    let (_data, daemon) = daemon();
    runtime().block_on(async {
        let mut request = calls(0, 0, 20);
        for span in &mut request.resource_spans[0].scope_spans[0].spans {
            span.name = "x".repeat(1_000_000);
        }
        let status = Sender::new(daemon.grpc)
            .traces(request)
            .await
            .expect_err("it is refused");
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        assert!(status.get_error_details().retry_info().is_none());
    });
}

/// Given bytes that are no request, and log records sent to the place for spans, the sender is told that they are invalid.
#[test]
fn nonsense_is_invalid() {
    let (_data, daemon) = daemon();
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        let mut request = calls(0, 0, 2);
        for span in &mut request.resource_spans[0].scope_spans[0].spans {
            span.span_id = Vec::new();
        }
        let status = sender.traces(request).await.expect_err("it is refused");
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        sender
            .traces(ExportTraceServiceRequest::default())
            .await
            .expect("an empty request succeeds");
    });
    assert_eq!(daemon.get("/healthz").0, 200);
}

/// The most memory that the daemon may ever have had: 82 to 116 MiB were seen of a build without optimizations, and 188 where
/// each byte that is not UTF-8 became U+FFFD.
#[cfg(target_os = "linux")]
const PEAK_MIB_MAX: f64 = 150.0;

/// JSON of about as many bytes as a request may have, gzipped, with an element over and over at that place in it.
#[cfg(target_os = "linux")]
fn repeated(json: &str, element: &[u8]) -> Vec<u8> {
    let times = ((16 << 20) - json.len()) / (element.len() + 1);
    let elements = vec![element; times].join(b",".as_slice());
    let (before, behind) = json.split_once("HERE").expect("the place");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for part in [before.as_bytes(), &elements, behind.as_bytes()] {
        encoder.write_all(part).expect("it goes to memory");
    }
    encoder.finish().expect("it goes to memory")
}

/// Given JSON of which structs or values would be many times as large, memory stays within a few times the text, whether the
/// request can be read or not; a good one is taken afterwards.
#[cfg(target_os = "linux")]
#[test]
fn json_takes_no_more_memory_than_its_text() {
    let (_data, daemon) = daemon();
    let span = r#"{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708""#;
    let with = |rest: &str| {
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}{rest}]}}]}}]}}"#)
    };
    let unreadable = r#"{"resourceSpans":[null],"x":[HERE]}"#.to_owned();
    for (json, element, status, said) in [
        (unreadable, &br#"{"":0}"#[..], 400, "expected an object"),
        (with(r#","links":[HERE]}"#), b"{}", 200, "{}"),
        (with(r#","events":[HERE]}"#), b"{}", 200, "{}"),
        (with(r#","name":"HERE"}"#), &[0xff; 1_000], 200, "{}"),
        (
            with(r#","x":[HERE],"kind":[]}"#),
            br#"{"":0}"#,
            400,
            "malformed",
        ),
    ] {
        let request = http_client()
            .post(format!("http://{}/v1/traces", daemon.http))
            .header("content-type", "application/json")
            .header("content-encoding", "gzip")
            .timeout(PATIENCE)
            .body(repeated(&json, element));
        let answer = runtime().block_on(async {
            let response = request.send().await.expect("it answers");
            let found = response.status().as_u16();
            (found, response.text().await.expect("a text"))
        });
        let peak = peak_mib(&daemon);
        assert!(peak < PEAK_MIB_MAX, "{peak} MiB after {json}");
        assert!(answer.0 == status && answer.1.contains(said), "{answer:?}");
    }
    let requests = [Export::Traces(calls(1, 0, 3))];
    runtime().block_on(send_over(&daemon, Transport::HttpJson, &requests));
    assert_eq!(tool_calls(&daemon), 3);
}
