//! What all that Eddy says of its own over OTLP has in common: who says it, and how attributes are written.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The daemon, as the resource that speaks.
pub(super) fn resource() -> Resource {
    Resource {
        attributes: vec![
            text("service.name", "eddy"),
            text("service.version", VERSION),
        ],
        ..Resource::default()
    }
}

/// The daemon, as the scope.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "eddy".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}

/// An attribute that is a text.
pub(crate) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

pub(super) fn int(key: &str, value: u64) -> KeyValue {
    attribute(
        key,
        Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
    )
}

pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

pub(super) fn string(value: &str) -> AnyValue {
    AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    }
}
