//! The walk held against `opentelemetry-proto`, which is the truth about what a request says.
//!
//! Requests are generated as structs and encoded; then their fields are put into another order with unknown and repeated
//! ones between, or their bytes are damaged. Whenever prost can decode the result, each view must show what prost shows.

mod decoded;
mod generated;
mod rewritten;
mod seen;
mod writings;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use prost::Message;

use crate::otlp::{Limits, Problem, Reason, delimited, json, logs, spans};
use decoded::{decoded_logs, decoded_spans};
use generated::{log_request, trace_request};
use rewritten::{Kind, Random, damage, scramble};
use seen::{seen_log, seen_span};

/// The attributes of an item's resource, its scope's name, and the item.
type Placed<T> = (Vec<KeyValue>, String, T);

/// What the walk must say of a span, given what prost says.
fn expected_span(mut decoded: Placed<Span>) -> Result<Placed<Span>, Reason> {
    let usable = |id: &[u8], length| id.len() == length && id.iter().any(|byte| *byte != 0);
    let span = &mut decoded.2;
    if !usable(&span.trace_id, 16) {
        return Err(Reason::TraceId);
    }
    if !usable(&span.span_id, 8) || !matches!(span.parent_span_id.len(), 0 | 8) {
        return Err(Reason::SpanId);
    }
    span.parent_span_id.resize(8, 0);
    Ok(decoded)
}

fn expected_log(mut decoded: Placed<LogRecord>) -> Result<Placed<LogRecord>, Reason> {
    let record = &mut decoded.2;
    if !matches!(record.trace_id.len(), 0 | 16) {
        return Err(Reason::TraceId);
    }
    if !matches!(record.span_id.len(), 0 | 8) {
        return Err(Reason::SpanId);
    }
    record.trace_id.resize(16, 0);
    record.span_id.resize(8, 0);
    Ok(decoded)
}

/// Holds what was seen against what is expected, item by item; floats are compared as they are written, because one that
/// is not a number does not equal itself. In a damaged request, what protobuf would merge may have been left out or refused.
fn compare<T: std::fmt::Debug + Clone>(
    expected: Vec<Result<Placed<T>, Reason>>,
    seen: Vec<Result<Placed<T>, Problem>>,
    damaged: bool,
) {
    let without_context = |result: &Result<Placed<T>, Problem>| {
        !(damaged && matches!(result, Err(Problem::Context(Reason::Malformed))))
    };
    let context_left_out = !seen.iter().all(without_context);
    let seen: Vec<_> = seen.into_iter().filter(without_context).collect();
    assert_eq!(expected.len(), seen.len(), "number of items: {seen:?}");
    for (expected, mut seen) in expected.into_iter().zip(seen) {
        if damaged && matches!(seen, Err(Problem::Refused(Reason::Malformed))) {
            continue;
        }
        if let (true, Ok(seen), Ok(expected)) = (context_left_out, &mut seen, &expected)
            && seen.0.is_empty()
        {
            seen.0.clone_from(&expected.0);
        }
        let expected = expected.map_err(Problem::Refused);
        assert_eq!(format!("{seen:?}"), format!("{expected:?}"));
    }
}

fn check_spans(request: &[u8], damaged: bool) {
    let limits = Limits::default();
    let seen = spans(request, &limits).map(|span| span.map(|view| seen_span(&view)));
    let seen: Vec<_> = seen.collect();
    let decoded = ExportTraceServiceRequest::decode(request);
    assert!(
        damaged || decoded.is_ok(),
        "prost cannot decode the request"
    );
    if let Ok(decoded) = decoded {
        let expected = decoded_spans(decoded).into_iter().map(expected_span);
        compare(expected.collect(), seen, damaged);
    }
}

fn check_logs(request: &[u8], damaged: bool) {
    let limits = Limits::default();
    let seen = logs(request, &limits).map(|record| record.map(|view| seen_log(&view)));
    let seen: Vec<_> = seen.collect();
    let decoded = ExportLogsServiceRequest::decode(request);
    assert!(
        damaged || decoded.is_ok(),
        "prost cannot decode the request"
    );
    if let Ok(decoded) = decoded {
        let expected = decoded_logs(decoded).into_iter().map(expected_log);
        compare(expected.collect(), seen, damaged);
    }
}

proptest! {
    /// Given any request, each view shows what prost decodes, and spans are refused for their ids alone.
    #[test]
    fn generated_requests_are_read_as_prost_reads_them(traces in trace_request(), logs in log_request()) {
        check_spans(&traces, false);
        check_logs(&logs, false);
    }

    /// Given the same request in another order of fields, with unknown and repeated fields, nothing changes.
    #[test]
    fn the_order_of_fields_means_nothing(
        traces in trace_request(), logs in log_request(), seed in 1..u64::MAX,
    ) {
        let mut random = Random(seed);
        check_spans(&scramble(Kind::Request, Kind::Span, &traces, &mut random), false);
        check_logs(&scramble(Kind::Request, Kind::Record, &logs, &mut random), false);
    }

    /// Given damaged bytes, the walk ends without panic, and shows what prost shows wherever prost can decode them.
    #[test]
    fn damaged_requests_are_read_as_far_as_they_can_be(
        mut traces in trace_request(), mut logs in log_request(), seed in 1..u64::MAX,
    ) {
        let mut random = Random(seed);
        damage(&mut traces, &mut random);
        check_spans(&traces, true);
        damage(&mut logs, &mut random);
        check_logs(&logs, true);
    }

    /// Given any bytes at all, every walk ends without panic.
    #[test]
    fn any_bytes_end_the_walk(bytes in vec(any::<u8>(), 0..200)) {
        check_spans(&bytes, true);
        check_logs(&bytes, true);
        drop(delimited(&bytes).collect::<Vec<_>>());
    }
}

/// Given recordings of real frameworks, every span and record is read as prost reads it.
#[test]
fn recordings_are_read_as_prost_reads_them() {
    let traces: [&[u8]; 3] = [
        include_bytes!("../../tests/recorded/autogen-native-healthy.otlp.binpb"),
        include_bytes!("../../tests/recorded/fastmcp-native-error-retry.otlp.binpb"),
        include_bytes!("../../tests/recorded/gemini-cli-native-healthy.otlp.binpb"),
    ];
    for request in traces.into_iter().flat_map(delimited) {
        let request = request.expect("a whole recording");
        assert!(spans(request, &Limits::default()).all(|span| span.is_ok()));
        check_spans(request, false);
    }
    let recording =
        include_bytes!("../../tests/recorded/agent-framework-native-text-only.logs.otlp.binpb");
    for request in delimited(recording) {
        let request = request.expect("a whole recording");
        assert!(logs(request, &Limits::default()).all(|record| record.is_ok()));
        check_logs(request, false);
    }
}

/// Given the same run recorded as OTLP/JSON and as protobuf, both show the same spans.
#[test]
fn json_shows_what_protobuf_shows() {
    let lines = include_str!("../../tests/recorded/gemini-cli-native-healthy.otlp.jsonl").lines();
    let twin = include_bytes!("../../tests/recorded/gemini-cli-native-healthy.otlp.binpb");
    let seen = |request: &[u8]| {
        let views = spans(request, &Limits::default()).map(|span| span.expect("a good span"));
        views
            .map(|view| format!("{:?}", seen_span(&view)))
            .collect::<Vec<_>>()
    };
    let of_json: Vec<_> = lines
        .flat_map(|line| seen(&json::traces_to_bytes(line).expect("OTLP/JSON")))
        .collect();
    let of_twin: Vec<_> = delimited(twin)
        .flat_map(|request| seen(request.expect("a whole recording")))
        .collect();
    assert!(!of_json.is_empty());
    assert_eq!(of_json, of_twin);
}
