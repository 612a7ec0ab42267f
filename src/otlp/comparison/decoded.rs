//! What prost decodes, without what the views do not show.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};

use super::Placed;

pub(super) fn decoded_spans(request: ExportTraceServiceRequest) -> Vec<Placed<Span>> {
    let mut placed = Vec::new();
    for of_resource in request.resource_spans {
        let resource = shown_pairs(of_resource.resource.unwrap_or_default().attributes);
        for of_scope in of_resource.scope_spans {
            let scope_name = of_scope.scope.unwrap_or_default().name;
            placed.extend(
                of_scope
                    .spans
                    .into_iter()
                    .map(|span| (resource.clone(), scope_name.clone(), shown_span(span))),
            );
        }
    }
    placed
}

fn shown_span(span: Span) -> Span {
    Span {
        trace_state: String::new(),
        flags: 0,
        dropped_attributes_count: 0,
        dropped_events_count: 0,
        dropped_links_count: 0,
        attributes: shown_pairs(span.attributes),
        status: Some(span.status.unwrap_or_default()),
        events: span.events.into_iter().map(shown_event).collect(),
        links: span.links.into_iter().map(shown_link).collect(),
        ..span
    }
}

fn shown_event(event: Event) -> Event {
    Event {
        attributes: shown_pairs(event.attributes),
        dropped_attributes_count: 0,
        ..event
    }
}

fn shown_link(link: Link) -> Link {
    Link {
        trace_id: right_length(link.trace_id, 16),
        span_id: right_length(link.span_id, 8),
        attributes: shown_pairs(link.attributes),
        ..Link::default()
    }
}

fn right_length(id: Vec<u8>, length: usize) -> Vec<u8> {
    if id.len() == length {
        id
    } else {
        vec![0; length]
    }
}

fn shown_pairs(pairs: Vec<KeyValue>) -> Vec<KeyValue> {
    let shown = |pair: KeyValue| KeyValue {
        key: pair.key,
        value: Some(shown_value(pair.value.unwrap_or_default())),
        key_strindex: 0,
    };
    pairs.into_iter().map(shown).collect()
}

fn shown_value(value: AnyValue) -> AnyValue {
    let value = match value.value {
        Some(Value::StringValueStrindex(_)) => None,
        Some(Value::ArrayValue(array)) => Some(Value::ArrayValue(ArrayValue {
            values: array.values.into_iter().map(shown_value).collect(),
        })),
        Some(Value::KvlistValue(list)) => Some(Value::KvlistValue(KeyValueList {
            values: shown_pairs(list.values),
        })),
        other => other,
    };
    AnyValue { value }
}

pub(super) fn decoded_logs(request: ExportLogsServiceRequest) -> Vec<Placed<LogRecord>> {
    let mut placed = Vec::new();
    for of_resource in request.resource_logs {
        let resource = shown_pairs(of_resource.resource.unwrap_or_default().attributes);
        for of_scope in of_resource.scope_logs {
            let scope_name = of_scope.scope.unwrap_or_default().name;
            placed.extend(of_scope.log_records.into_iter().map(|record| {
                (
                    resource.clone(),
                    scope_name.clone(),
                    LogRecord {
                        attributes: shown_pairs(record.attributes),
                        body: Some(shown_value(record.body.unwrap_or_default())),
                        dropped_attributes_count: 0,
                        flags: 0,
                        ..record
                    },
                )
            }));
        }
    }
    placed
}
