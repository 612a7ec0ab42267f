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
