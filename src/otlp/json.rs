//! OTLP/JSON, turned into the protobuf bytes that the walk reads.
//!
//! `opentelemetry-proto` knows the mapping of one span or log record (hex ids, integers as text or number, unknown members
//! ignored). The lists around them are read here, so that each item is encoded as soon as it is read: a text of a few
//! megabytes may hold millions of empty items, which would take gigabytes as structs.
//!
//! The mapping allows more than `opentelemetry-proto` does, and senders do more than the mapping allows: `null` for a member
//! that is left out, an empty array or map value without its `values`, enums by name, bytes that are not UTF-8. Only when a
//! text is refused is it mended and tried again, so a usual request is parsed once.

use std::fmt;
use std::marker::PhantomData;

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

/// The text is not an OTLP/JSON request; sending it again will not help.
#[derive(Debug, thiserror::Error)]
#[error("not an OTLP/JSON request")]
pub struct NotOtlpJson(#[from] serde_json::Error);

/// The bytes of the `ExportTraceServiceRequest` that the text writes out.
pub fn traces_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    let request: TracesRequest = decode(json.as_ref())?;
    match request {
        TracesRequest {
            resource_spans: None,
            resource_logs: Some(_),
        } => Err(misplaced("these are log records; spans are expected here")),
        request => Ok(request.resource_spans.unwrap_or_default().bytes),
    }
}

/// The bytes of the `ExportLogsServiceRequest` that the text writes out.
pub fn logs_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    let request: LogsRequest = decode(json.as_ref())?;
    match request {
        LogsRequest {
            resource_logs: None,
            resource_spans: Some(_),
        } => Err(misplaced("these are spans; log records are expected here")),
        request => Ok(request.resource_logs.unwrap_or_default().bytes),
    }
}

/// The bytes of the `ExportMetricsServiceRequest` that the text writes out.
pub fn metrics_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    let request: MetricsRequest = decode(json.as_ref())?;
    Ok(request.resource_metrics.unwrap_or_default().bytes)
}

fn misplaced(text: &str) -> NotOtlpJson {
    NotOtlpJson(serde_json::Error::custom(text))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TracesRequest {
    resource_spans: Option<Encoded<1, OfResource<Span>>>,
    resource_logs: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogsRequest {
    resource_logs: Option<Encoded<1, OfResource<LogRecord>>>,
    resource_spans: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricsRequest {
    resource_metrics: Option<Encoded<1, OfResource<Metric>>>,
}

/// `ResourceSpans` and its like. The numbers of their fields are the same, and so are those of the scopes.
#[derive(Deserialize)]
#[serde(bound = "T: Item")]
struct OfResource<T> {
    resource: Option<Resource>,
    #[serde(rename = "scopeSpans", alias = "scopeLogs", alias = "scopeMetrics")]
    scopes: Option<Encoded<2, OfScope<T>>>,
    #[serde(rename = "schemaUrl")]
    schema_url: Option<String>,
}

/// `ScopeSpans` and its like.
#[derive(Deserialize)]
#[serde(bound = "T: Item")]
struct OfScope<T> {
    scope: Option<InstrumentationScope>,
    #[serde(rename = "spans", alias = "logRecords", alias = "metrics")]
    items: Option<Encoded<2, T>>,
    #[serde(rename = "schemaUrl")]
    schema_url: Option<String>,
}

/// What is written as one length-delimited field.
trait Item: DeserializeOwned {
    /// Appends its fields.
    fn write(&self, out: &mut Vec<u8>);
}

impl Item for Span {
    fn write(&self, out: &mut Vec<u8>) {
        self.encode_raw(out);
    }
}

impl Item for LogRecord {
    fn write(&self, out: &mut Vec<u8>) {
        self.encode_raw(out);
    }
}

impl Item for Metric {
    fn write(&self, out: &mut Vec<u8>) {
        self.encode_raw(out);
    }
}

impl<T: Item> Item for OfResource<T> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(resource) = &self.resource {
            write_field(1, &resource.encode_to_vec(), out);
        }
        out.extend(self.scopes.iter().flat_map(|scopes| &scopes.bytes));
        write_schema_url(self.schema_url.as_deref(), out);
    }
}

impl<T: Item> Item for OfScope<T> {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(scope) = &self.scope {
            write_field(1, &scope.encode_to_vec(), out);
        }
        out.extend(self.items.iter().flat_map(|items| &items.bytes));
        write_schema_url(self.schema_url.as_deref(), out);
    }
}

/// Nothing here reads it, but those may to whom a request is passed on.
fn write_schema_url(url: Option<&str>, out: &mut Vec<u8>) {
    if let Some(url) = url.filter(|url| !url.is_empty()) {
        write_field(3, url.as_bytes(), out);
    }
}

fn write_field(number: u32, message: &[u8], out: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(message.len() as u64, out);
    out.extend_from_slice(message);
}

/// A list, each element of which was encoded as field `NUMBER` as soon as it was read.
struct Encoded<const NUMBER: u32, T> {
    bytes: Vec<u8>,
    of: PhantomData<T>,
}

impl<const NUMBER: u32, T> Default for Encoded<NUMBER, T> {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            of: PhantomData,
        }
    }
}

impl<'de, const NUMBER: u32, T: Item> Deserialize<'de> for Encoded<NUMBER, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EncodedVisitor(Self::default()))
    }
}

struct EncodedVisitor<const NUMBER: u32, T>(Encoded<NUMBER, T>);

impl<'de, const NUMBER: u32, T: Item> Visitor<'de> for EncodedVisitor<NUMBER, T> {
    type Value = Encoded<NUMBER, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut encoded = self.0;
        let mut message = Vec::new();
        while let Some(element) = elements.next_element::<T>()? {
            message.clear();
            element.write(&mut message);
            write_field(NUMBER, &message, &mut encoded.bytes);
        }
        Ok(encoded)
    }
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    // Of a list `serde` would take the elements for the members of a request, in their order.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(Error::custom(
            "one object is expected, which begins with `{`",
        ));
    }
    serde_json::from_slice(json).or_else(|_| {
        let mut value = serde_json::from_str(&String::from_utf8_lossy(json))?;
        mend(&mut value);
        T::deserialize(value)
    })
}

/// Takes `null` members out, gives empty lists their `values` and enums their numbers. The recursion is bounded by
/// `serde_json`'s own limit of 128 levels.
fn mend(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (name, member) in members.iter_mut() {
                mend(member);
                mend_member(name, member);
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(mend),
        _ => {}
    }
}

fn mend_member(name: &str, member: &mut Value) {
    match (name, &mut *member) {
        ("arrayValue" | "kvlistValue", Value::Object(list)) => {
            list.entry("values")
                .or_insert_with(|| Value::Array(Vec::new()));
        }
        ("kind" | "code" | "severityNumber", Value::String(text)) => {
            if let Some(number) = enum_number(name, text) {
                *member = number.into();
            }
        }
        ("spans", Value::Array(spans)) => spans.iter_mut().for_each(give_up_unreadable::<Span>),
        ("logRecords", Value::Array(logs)) => {
            logs.iter_mut().for_each(give_up_unreadable::<LogRecord>);
        }
        _ => {}
    }
}

/// An item that cannot be read costs itself alone: one with ids of a wrong length takes its place, which the walk refuses
/// and counts.
fn give_up_unreadable<T: DeserializeOwned>(item: &mut Value) {
    if item.is_object() && T::deserialize(&*item).is_err() {
        *item = serde_json::json!({"traceId": "00", "spanId": "00"});
    }
}

/// The number of an enum's value that is written by its name.
fn enum_number(member: &str, name: &str) -> Option<i32> {
    match member {
        "kind" => SpanKind::from_str_name(name).map(i32::from),
        "code" => StatusCode::from_str_name(name).map(i32::from),
        _ => SeverityNumber::from_str_name(name).map(i32::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::{Limits, logs, spans};

    /// Wraps attributes of a span into a request.
    fn request(attributes: &str) -> String {
        format!(
            r#"{{"resourceSpans":[{{"resource":null,"scopeSpans":[{{"scope":{{"name":"lib"}},"spans":[{{
                "traceId":"0102030405060708090A0b0c0d0e0f10","spanId":"0102030405060708","parentSpanId":null,
                "startTimeUnixNano":"5","endTimeUnixNano":6,"unknown":{{"a":1}},"kind":3,
                "attributes":{attributes}}}]}}]}}]}}"#
        )
    }

    fn check(attributes: &str, expected: &str) {
        let bytes = traces_to_bytes(request(attributes)).expect("OTLP/JSON");
        let limits = Limits::default();
        let view = spans(&bytes, &limits).next().expect("one").expect("good");
        assert_eq!((view.scope_name, view.kind), ("lib", 3));
        assert_eq!((view.start_ns, view.end_ns), (5, 6));
        assert_eq!(view.trace_id[9], 10);
        let mut json = String::new();
        view.attributes.write_json(&mut json);
        assert_eq!(json, expected);
    }

    /// Given what the JSON mapping allows, the views show it.
    #[test]
    fn the_mapping_of_json() {
        check("null", "{}");
        check("[]", "{}");
        check(
            r#"[{"key":"a","value":null},{"key":"b","value":{}}]"#,
            r#"{"a":null,"b":null}"#,
        );
        check(
            r#"[{"key":"a","value":{"intValue":"-3"}},{"key":"b","value":{"intValue":4}}]"#,
            r#"{"a":-3,"b":4}"#,
        );
        check(
            r#"[{"key":"a","value":{"arrayValue":{}}},{"key":"b","value":{"kvlistValue":{"values":null}}}]"#,
            r#"{"a":[],"b":{}}"#,
        );
        check(
            r#"[{"key":"a","value":{"bytesValue":"TQ=="}}]"#,
            r#"{"a":"TQ=="}"#,
        );
    }

    /// Given a log request, its records come out; given text that is no request, an error.
    #[test]
    fn logs_and_errors() {
        let json = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"e","body":{"stringValue":"b"}}]}]}]}"#;
        let bytes = logs_to_bytes(json).expect("OTLP/JSON");
        let record = logs(&bytes, &Limits::default()).next().expect("one");
        assert_eq!(record.expect("good").event_name, "e");
        assert!(traces_to_bytes("{").is_err());
        assert!(traces_to_bytes("[".repeat(100_000)).is_err());
        for other in ["", "null", "[]", "[[],{}]", "7"] {
            let error = traces_to_bytes(other).expect_err(other).0.to_string();
            assert_eq!(error, "one object is expected, which begins with `{`");
        }
        assert!(traces_to_bytes(b"\xff").is_err());
    }

    /// Given a span or record that cannot be read, it is refused and the others are there.
    #[test]
    fn an_unreadable_item_costs_itself_alone() {
        let good = r#"{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"}"#;
        for bad in [
            r#"{"traceId":"xx","spanId":"0102030405060708"}"#,
            r#"{"traceId":7}"#,
            r#"{"attributes":"none"}"#,
        ] {
            let json =
                format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{bad},{good}]}}]}}]}}"#);
            let bytes = traces_to_bytes(json).expect("OTLP/JSON");
            let read: Vec<bool> = spans(&bytes, &Limits::default())
                .map(|span| span.is_ok())
                .collect();
            assert_eq!(read, [false, true], "{bad}");
            let json = format!(
                r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{bad},{good}]}}]}}]}}"#
            );
            let bytes = logs_to_bytes(json).expect("OTLP/JSON");
            let read: Vec<bool> = logs(&bytes, &Limits::default())
                .map(|log| log.is_ok())
                .collect();
            assert_eq!(read, [false, true], "{bad}");
        }
    }

    /// Given the requests of a recording written as JSON, the bytes that come out are the bytes that they were.
    #[test]
    fn recordings_survive_the_way_through_json() {
        use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
        let recording =
            include_bytes!("../../tests/recorded/fastmcp-native-error-retry.otlp.binpb");
        for bytes in crate::otlp::delimited(recording) {
            let request = ExportTraceServiceRequest::decode(bytes.unwrap()).unwrap();
            let json = serde_json::to_vec(&request).unwrap();
            assert_eq!(traces_to_bytes(json).unwrap(), request.encode_to_vec());
        }
    }

    /// Given what is not allowed but sent, it is read all the same.
    #[test]
    fn mistakes_of_senders_are_mended() {
        let one = |json: &[u8]| {
            let bytes = traces_to_bytes(json).expect("OTLP/JSON");
            let request =
                opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest::decode(
                    &*bytes,
                );
            request.unwrap().resource_spans[0].scope_spans[0].spans[0].clone()
        };
        let span = one(br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":"SPAN_KIND_CLIENT","status":{"code":"STATUS_CODE_ERROR"}}]}]}]}"#);
        assert_eq!((span.kind, span.status.unwrap().code), (3, 2));
        let span =
            one(b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"a\xffb\"}]}]}]}");
        assert_eq!(span.name, "a\u{fffd}b");
        for empty in ["{}", r#"{"resourceSpans":null}"#, r#"{"resourceSpans":[]}"#] {
            assert_eq!(traces_to_bytes(empty).unwrap(), b"");
        }
        let json = r#"{"resourceSpans":[{"scopeSpans":null},{"scopeSpans":[{"spans":null}]}]}"#;
        assert!(traces_to_bytes(json).is_ok());
    }

    /// Given the request of another signal, it is refused rather than taken for an empty one.
    #[test]
    fn misplaced_requests_are_refused() {
        assert!(traces_to_bytes(r#"{"resourceLogs":[]}"#).is_err());
        assert!(logs_to_bytes(r#"{"resourceSpans":[]}"#).is_err());
        assert!(traces_to_bytes(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[7]}]}]}"#).is_err());
        assert!(traces_to_bytes("[]").is_err());
    }
}
