//! OTLP/JSON, turned into the protobuf bytes that the walk reads.
//!
//! `opentelemetry-proto` knows the mapping (hex ids, integers as text or number, unknown members ignored). It refuses two
//! things that the mapping allows: `null` for a member that is left out, and an empty array or map value without its
//! `values`. Only when it refuses a text is that mended and tried again, so a usual request is parsed once.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The text is not an OTLP/JSON request; sending it again will not help.
#[derive(Debug, thiserror::Error)]
#[error("not an OTLP/JSON request")]
pub struct NotOtlpJson(#[from] serde_json::Error);

/// The bytes of the `ExportTraceServiceRequest` that the text writes out.
pub fn traces_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    Ok(decode::<ExportTraceServiceRequest>(json.as_ref())?.encode_to_vec())
}

/// The bytes of the `ExportLogsServiceRequest` that the text writes out.
pub fn logs_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    Ok(decode::<ExportLogsServiceRequest>(json.as_ref())?.encode_to_vec())
}

fn decode<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(json).or_else(|_| {
        let mut value = serde_json::from_slice(json)?;
        mend(&mut value);
        T::deserialize(value)
    })
}

/// Takes `null` members out and gives empty lists their `values`. The recursion is bounded by `serde_json`'s own limit of
/// 128 levels.
fn mend(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (name, member) in members.iter_mut() {
                mend(member);
                if let ("arrayValue" | "kvlistValue", Value::Object(list)) = (name.as_str(), member)
                {
                    list.entry("values")
                        .or_insert_with(|| Value::Array(Vec::new()));
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(mend),
        _ => {}
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
        assert!(traces_to_bytes(b"\xff").is_err());
    }
}
