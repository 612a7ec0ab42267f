//! The messages of OTLP as OTLP/JSON writes them: for each the members it may have, their field numbers and what they hold.
//!
//! Left out are the indices into tables of texts, which only profiles have. A test compares the tables with
//! `opentelemetry-proto`.

use opentelemetry_proto::tonic::logs::v1::SeverityNumber;
use opentelemetry_proto::tonic::metrics::v1::AggregationTemporality;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::encoding::WireType;

/// The members of a message.
pub(super) struct Shape(pub(super) &'static [Field]);

/// One member of a message.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) times: Times,
}

impl Field {
    /// Whether its elements stand one after another in one payload, as those of a list of numbers do.
    pub(super) fn is_packed(&self) -> bool {
        self.times == Times::Each && self.kind.wire_type() != WireType::LengthDelimited
    }
}

/// How often a field stands in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// Once, or not at all where it holds its default.
    Once,
    /// Once, also where it holds its default: whether it is there says something.
    Told,
    /// Once for each element of a list.
    Each,
}

/// What a member holds.
pub(super) enum Kind {
    Text,
    Base64,
    Hex,
    Bool,
    Double,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Fixed32,
    Fixed64,
    Sfixed64,
    /// A number, whose name this gives it.
    Enum(fn(&str) -> Option<i32>),
    Message(&'static Shape),
    /// A message that costs itself alone where it cannot be read.
    Item(&'static Shape),
}

impl Kind {
    pub(super) fn wire_type(&self) -> WireType {
        match self {
            Self::Text | Self::Base64 | Self::Hex | Self::Message(_) | Self::Item(_) => {
                WireType::LengthDelimited
            }
            Self::Fixed32 => WireType::ThirtyTwoBit,
            Self::Double | Self::Fixed64 | Self::Sfixed64 => WireType::SixtyFourBit,
            Self::Bool
            | Self::Int64
            | Self::Uint32
            | Self::Uint64
            | Self::Sint32
            | Self::Enum(_) => WireType::Varint,
        }
    }
}

const fn once(name: &'static str, number: u32, kind: Kind) -> Field {
    let times = Times::Once;
    Field {
        name,
        number,
        kind,
        times,
    }
}

const fn told(name: &'static str, number: u32, kind: Kind) -> Field {
    let times = Times::Told;
    Field {
        name,
        number,
        kind,
        times,
    }
}

const fn each(name: &'static str, number: u32, kind: Kind) -> Field {
    let times = Times::Each;
    Field {
        name,
        number,
        kind,
        times,
    }
}

pub(super) static TRACES: Shape =
    Shape(&[each("resourceSpans", 1, Kind::Message(&RESOURCE_SPANS))]);

static RESOURCE_SPANS: Shape = Shape(&[
    once("resource", 1, Kind::Message(&RESOURCE)),
    each("scopeSpans", 2, Kind::Message(&SCOPE_SPANS)),
    once("schemaUrl", 3, Kind::Text),
]);

static SCOPE_SPANS: Shape = Shape(&[
    once("scope", 1, Kind::Message(&SCOPE)),
    each("spans", 2, Kind::Item(&SPAN)),
    once("schemaUrl", 3, Kind::Text),
]);

static SPAN: Shape = Shape(&[
    once("traceId", 1, Kind::Hex),
    once("spanId", 2, Kind::Hex),
    once("traceState", 3, Kind::Text),
    once("parentSpanId", 4, Kind::Hex),
    once("name", 5, Kind::Text),
    once(
        "kind",
        6,
        Kind::Enum(|name| SpanKind::from_str_name(name).map(i32::from)),
    ),
    once("startTimeUnixNano", 7, Kind::Fixed64),
    once("endTimeUnixNano", 8, Kind::Fixed64),
    each("attributes", 9, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 10, Kind::Uint32),
    each("events", 11, Kind::Message(&EVENT)),
    once("droppedEventsCount", 12, Kind::Uint32),
    each("links", 13, Kind::Message(&LINK)),
    once("droppedLinksCount", 14, Kind::Uint32),
    once("status", 15, Kind::Message(&STATUS)),
    once("flags", 16, Kind::Fixed32),
]);

static EVENT: Shape = Shape(&[
    once("timeUnixNano", 1, Kind::Fixed64),
    once("name", 2, Kind::Text),
    each("attributes", 3, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 4, Kind::Uint32),
]);

static LINK: Shape = Shape(&[
    once("traceId", 1, Kind::Hex),
    once("spanId", 2, Kind::Hex),
    once("traceState", 3, Kind::Text),
    each("attributes", 4, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 5, Kind::Uint32),
    once("flags", 6, Kind::Fixed32),
]);

static STATUS: Shape = Shape(&[
    once("message", 2, Kind::Text),
    once(
        "code",
        3,
        Kind::Enum(|name| StatusCode::from_str_name(name).map(i32::from)),
    ),
]);

pub(super) static LOGS: Shape = Shape(&[each("resourceLogs", 1, Kind::Message(&RESOURCE_LOGS))]);

static RESOURCE_LOGS: Shape = Shape(&[
    once("resource", 1, Kind::Message(&RESOURCE)),
    each("scopeLogs", 2, Kind::Message(&SCOPE_LOGS)),
    once("schemaUrl", 3, Kind::Text),
]);

static SCOPE_LOGS: Shape = Shape(&[
    once("scope", 1, Kind::Message(&SCOPE)),
    each("logRecords", 2, Kind::Item(&LOG_RECORD)),
    once("schemaUrl", 3, Kind::Text),
]);

static LOG_RECORD: Shape = Shape(&[
    once("timeUnixNano", 1, Kind::Fixed64),
    once(
        "severityNumber",
        2,
        Kind::Enum(|name| SeverityNumber::from_str_name(name).map(i32::from)),
    ),
    once("severityText", 3, Kind::Text),
    once("body", 5, Kind::Message(&ANY_VALUE)),
    each("attributes", 6, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 7, Kind::Uint32),
    once("flags", 8, Kind::Fixed32),
    once("traceId", 9, Kind::Hex),
    once("spanId", 10, Kind::Hex),
    once("observedTimeUnixNano", 11, Kind::Fixed64),
    once("eventName", 12, Kind::Text),
]);

static RESOURCE: Shape = Shape(&[
    each("attributes", 1, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 2, Kind::Uint32),
    each("entityRefs", 3, Kind::Message(&ENTITY_REF)),
]);

static ENTITY_REF: Shape = Shape(&[
    once("schemaUrl", 1, Kind::Text),
    once("type", 2, Kind::Text),
    each("idKeys", 3, Kind::Text),
    each("descriptionKeys", 4, Kind::Text),
]);

static SCOPE: Shape = Shape(&[
    once("name", 1, Kind::Text),
    once("version", 2, Kind::Text),
    each("attributes", 3, Kind::Message(&KEY_VALUE)),
    once("droppedAttributesCount", 4, Kind::Uint32),
]);

static KEY_VALUE: Shape = Shape(&[
    once("key", 1, Kind::Text),
    once("value", 2, Kind::Message(&ANY_VALUE)),
]);

static ANY_VALUE: Shape = Shape(&[
    told("stringValue", 1, Kind::Text),
    told("boolValue", 2, Kind::Bool),
    told("intValue", 3, Kind::Int64),
    told("doubleValue", 4, Kind::Double),
    told("arrayValue", 5, Kind::Message(&ARRAY_VALUE)),
    told("kvlistValue", 6, Kind::Message(&KEY_VALUE_LIST)),
    told("bytesValue", 7, Kind::Base64),
]);

static ARRAY_VALUE: Shape = Shape(&[each("values", 1, Kind::Message(&ANY_VALUE))]);

static KEY_VALUE_LIST: Shape = Shape(&[each("values", 1, Kind::Message(&KEY_VALUE))]);

pub(super) static METRICS: Shape =
    Shape(&[each("resourceMetrics", 1, Kind::Message(&RESOURCE_METRICS))]);

static RESOURCE_METRICS: Shape = Shape(&[
    once("resource", 1, Kind::Message(&RESOURCE)),
    each("scopeMetrics", 2, Kind::Message(&SCOPE_METRICS)),
    once("schemaUrl", 3, Kind::Text),
]);

static SCOPE_METRICS: Shape = Shape(&[
    once("scope", 1, Kind::Message(&SCOPE)),
    each("metrics", 2, Kind::Message(&METRIC)),
    once("schemaUrl", 3, Kind::Text),
]);

static METRIC: Shape = Shape(&[
    once("name", 1, Kind::Text),
    once("description", 2, Kind::Text),
    once("unit", 3, Kind::Text),
    once("gauge", 5, Kind::Message(&GAUGE)),
    once("sum", 7, Kind::Message(&SUM)),
    once("histogram", 9, Kind::Message(&HISTOGRAM)),
    once(
        "exponentialHistogram",
        10,
        Kind::Message(&EXPONENTIAL_HISTOGRAM),
    ),
    once("summary", 11, Kind::Message(&SUMMARY)),
    each("metadata", 12, Kind::Message(&KEY_VALUE)),
]);

const TEMPORALITY: Kind =
    Kind::Enum(|name| AggregationTemporality::from_str_name(name).map(i32::from));

static GAUGE: Shape = Shape(&[each("dataPoints", 1, Kind::Message(&NUMBER_POINT))]);

static SUM: Shape = Shape(&[
    each("dataPoints", 1, Kind::Message(&NUMBER_POINT)),
    once("aggregationTemporality", 2, TEMPORALITY),
    once("isMonotonic", 3, Kind::Bool),
]);

static HISTOGRAM: Shape = Shape(&[
    each("dataPoints", 1, Kind::Message(&HISTOGRAM_POINT)),
    once("aggregationTemporality", 2, TEMPORALITY),
]);

static EXPONENTIAL_HISTOGRAM: Shape = Shape(&[
    each("dataPoints", 1, Kind::Message(&EXPONENTIAL_POINT)),
    once("aggregationTemporality", 2, TEMPORALITY),
]);

static SUMMARY: Shape = Shape(&[each("dataPoints", 1, Kind::Message(&SUMMARY_POINT))]);

static NUMBER_POINT: Shape = Shape(&[
    once("startTimeUnixNano", 2, Kind::Fixed64),
    once("timeUnixNano", 3, Kind::Fixed64),
    told("asDouble", 4, Kind::Double),
    each("exemplars", 5, Kind::Message(&EXEMPLAR)),
    told("asInt", 6, Kind::Sfixed64),
    each("attributes", 7, Kind::Message(&KEY_VALUE)),
    once("flags", 8, Kind::Uint32),
]);

static HISTOGRAM_POINT: Shape = Shape(&[
    once("startTimeUnixNano", 2, Kind::Fixed64),
    once("timeUnixNano", 3, Kind::Fixed64),
    once("count", 4, Kind::Fixed64),
    told("sum", 5, Kind::Double),
    each("bucketCounts", 6, Kind::Fixed64),
    each("explicitBounds", 7, Kind::Double),
    each("exemplars", 8, Kind::Message(&EXEMPLAR)),
    each("attributes", 9, Kind::Message(&KEY_VALUE)),
    once("flags", 10, Kind::Uint32),
    told("min", 11, Kind::Double),
    told("max", 12, Kind::Double),
]);

static EXPONENTIAL_POINT: Shape = Shape(&[
    each("attributes", 1, Kind::Message(&KEY_VALUE)),
    once("startTimeUnixNano", 2, Kind::Fixed64),
    once("timeUnixNano", 3, Kind::Fixed64),
    once("count", 4, Kind::Fixed64),
    told("sum", 5, Kind::Double),
    once("scale", 6, Kind::Sint32),
    once("zeroCount", 7, Kind::Fixed64),
    once("positive", 8, Kind::Message(&BUCKETS)),
    once("negative", 9, Kind::Message(&BUCKETS)),
    once("flags", 10, Kind::Uint32),
    each("exemplars", 11, Kind::Message(&EXEMPLAR)),
    told("min", 12, Kind::Double),
    told("max", 13, Kind::Double),
    once("zeroThreshold", 14, Kind::Double),
]);

static BUCKETS: Shape = Shape(&[
    once("offset", 1, Kind::Sint32),
    each("bucketCounts", 2, Kind::Uint64),
]);

static SUMMARY_POINT: Shape = Shape(&[
    once("startTimeUnixNano", 2, Kind::Fixed64),
    once("timeUnixNano", 3, Kind::Fixed64),
    once("count", 4, Kind::Fixed64),
    once("sum", 5, Kind::Double),
    each("quantileValues", 6, Kind::Message(&QUANTILE)),
    each("attributes", 7, Kind::Message(&KEY_VALUE)),
    once("flags", 8, Kind::Uint32),
]);

static QUANTILE: Shape = Shape(&[
    once("quantile", 1, Kind::Double),
    once("value", 2, Kind::Double),
]);

static EXEMPLAR: Shape = Shape(&[
    once("timeUnixNano", 2, Kind::Fixed64),
    told("asDouble", 3, Kind::Double),
    once("spanId", 4, Kind::Hex),
    once("traceId", 5, Kind::Hex),
    told("asInt", 6, Kind::Sfixed64),
    each("filteredAttributes", 7, Kind::Message(&KEY_VALUE)),
]);
