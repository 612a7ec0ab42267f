//! What the views show, as the structs that prost decodes.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::Placed;
use crate::otlp::{Attributes, EventView, LinkView, LogView, SpanView, ValueView};

pub(super) fn seen_span(view: &SpanView<'_>) -> Placed<Span> {
    let item = Span {
        trace_id: view.trace_id.to_vec(),
        span_id: view.span_id.to_vec(),
        parent_span_id: view.parent_span_id.to_vec(),
        name: view.name.to_owned(),
        kind: view.kind,
        start_time_unix_nano: view.start_ns,
        end_time_unix_nano: view.end_ns,
        attributes: seen_pairs(view.attributes),
        events: view.events.iter().map(seen_event).collect(),
        links: view.links.iter().map(seen_link).collect(),
        status: Some(Status {
            message: view.status.message.to_owned(),
            code: view.status.code,
        }),
        ..Span::default()
    };
    (seen_pairs(view.resource), view.scope_name.to_owned(), item)
}

fn seen_event(event: EventView<'_>) -> Event {
    Event {
        time_unix_nano: event.time_ns,
        name: event.name.to_owned(),
        attributes: seen_pairs(event.attributes),
        dropped_attributes_count: 0,
    }
}

fn seen_link(link: LinkView<'_>) -> Link {
    Link {
        trace_id: link.trace_id.to_vec(),
        span_id: link.span_id.to_vec(),
        attributes: seen_pairs(link.attributes),
        ..Link::default()
    }
}

fn seen_pairs(attributes: Attributes<'_>) -> Vec<KeyValue> {
    let seen = |(key, value): (&str, ValueView<'_>)| KeyValue {
        key: key.to_owned(),
        value: Some(seen_value(value)),
        key_strindex: 0,
    };
    attributes.iter().map(seen).collect()
}

fn seen_value(value: ValueView<'_>) -> AnyValue {
    let value = match value {
        ValueView::Empty => None,
        ValueView::Str(text) => Some(Value::StringValue(text.to_owned())),
        ValueView::Bool(value) => Some(Value::BoolValue(value)),
        ValueView::Int(number) => Some(Value::IntValue(number)),
        ValueView::Double(number) => Some(Value::DoubleValue(number)),
        ValueView::Bytes(bytes) => Some(Value::BytesValue(bytes.to_vec())),
        ValueView::Array(array) => Some(Value::ArrayValue(ArrayValue {
            values: array.iter().map(seen_value).collect(),
        })),
        ValueView::Map(map) => Some(Value::KvlistValue(KeyValueList {
            values: seen_pairs(map),
        })),
    };
    AnyValue { value }
}

pub(super) fn seen_log(view: &LogView<'_>) -> Placed<LogRecord> {
    let item = LogRecord {
        time_unix_nano: view.time_ns,
        observed_time_unix_nano: view.observed_ns,
        severity_number: view.severity_number,
        severity_text: view.severity_text.to_owned(),
        body: Some(seen_value(view.body)),
        attributes: seen_pairs(view.attributes),
        trace_id: view.trace_id.to_vec(),
        span_id: view.span_id.to_vec(),
        event_name: view.event_name.to_owned(),
        ..LogRecord::default()
    };
    (seen_pairs(view.resource), view.scope_name.to_owned(), item)
}
