//! Requests that proptest makes up.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use prost::Message;

fn value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        1 => Just(None),
        6 => ".{0,20}".prop_map(|text| Some(Value::StringValue(text))),
        1 => any::<bool>().prop_map(|value| Some(Value::BoolValue(value))),
        2 => any::<i64>().prop_map(|number| Some(Value::IntValue(number))),
        1 => any::<u64>().prop_map(|bits| Some(Value::DoubleValue(f64::from_bits(bits)))),
        1 => vec(any::<u8>(), 0..9).prop_map(|bytes| Some(Value::BytesValue(bytes))),
        1 => any::<i32>().prop_map(|index| Some(Value::StringValueStrindex(index))),
    ];
    leaf.prop_map(|value| AnyValue { value })
        .prop_recursive(4, 12, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(|values| AnyValue {
                    value: Some(Value::ArrayValue(ArrayValue { values })),
                }),
                vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| AnyValue {
                    value: Some(Value::KvlistValue(KeyValueList {
                        values: members.into_iter().map(pair).collect(),
                    })),
                }),
            ]
        })
}

fn pair((key, value): (String, AnyValue)) -> KeyValue {
    KeyValue {
        key,
        value: Some(value),
        key_strindex: 0,
    }
}

fn pairs() -> impl Strategy<Value = Vec<KeyValue>> {
    vec(("[a-z.é]{0,12}", value()).prop_map(pair), 0..5)
}

fn id(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), length),
        1 => vec(any::<u8>(), 0..20),
        1 => Just(vec![0; length]),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    (any::<u64>(), ".{0,8}", pairs()).prop_map(|(time_unix_nano, name, attributes)| Event {
        time_unix_nano,
        name,
        attributes,
        dropped_attributes_count: 3,
    })
}

fn link() -> impl Strategy<Value = Link> {
    (id(16), id(8), pairs()).prop_map(|(trace_id, span_id, attributes)| Link {
        trace_id,
        span_id,
        attributes,
        trace_state: "a=b".into(),
        flags: 1,
        dropped_attributes_count: 0,
    })
}

fn span() -> impl Strategy<Value = Span> {
    let ids = (id(16), id(8), id(8));
    let scalars = (".{0,12}", any::<i32>(), any::<u64>(), any::<u64>());
    let lists = (pairs(), vec(event(), 0..3), vec(link(), 0..3));
    let status = proptest::option::of((".{0,8}", 0..3));
    (ids, scalars, lists, status).prop_map(|(ids, scalars, lists, status)| Span {
        trace_id: ids.0,
        span_id: ids.1,
        parent_span_id: ids.2,
        name: scalars.0,
        kind: scalars.1,
        start_time_unix_nano: scalars.2,
        end_time_unix_nano: scalars.3,
        attributes: lists.0,
        events: lists.1,
        links: lists.2,
        status: status.map(|(message, code)| Status { message, code }),
        trace_state: "k=v".into(),
        flags: 257,
        dropped_attributes_count: 1,
        ..Span::default()
    })
}

fn record() -> impl Strategy<Value = LogRecord> {
    let scalars = (any::<u64>(), any::<u64>(), 0..25, ".{0,6}", ".{0,12}");
    let ids = (id(16), id(8));
    (scalars, ids, proptest::option::of(value()), pairs()).prop_map(
        |(scalars, ids, body, attributes)| LogRecord {
            time_unix_nano: scalars.0,
            observed_time_unix_nano: scalars.1,
            severity_number: scalars.2,
            severity_text: scalars.3,
            event_name: scalars.4,
            trace_id: ids.0,
            span_id: ids.1,
            body,
            attributes,
            flags: 1,
            dropped_attributes_count: 2,
        },
    )
}

type OfScope<T> = (Option<InstrumentationScope>, Vec<T>);

/// Items placed under resources and scopes, either of which may be missing.
fn placed<T: std::fmt::Debug>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<(Option<Resource>, Vec<OfScope<T>>)>> {
    let resource = pairs().prop_map(|attributes| Resource {
        attributes,
        ..Resource::default()
    });
    let scope = (".{0,8}", pairs()).prop_map(|(name, attributes)| InstrumentationScope {
        name,
        attributes,
        version: "1".into(),
        dropped_attributes_count: 0,
    });
    let of_scope = (proptest::option::of(scope), vec(item, 0..4));
    vec((proptest::option::of(resource), vec(of_scope, 0..3)), 0..3)
}

pub(super) fn trace_request() -> impl Strategy<Value = Vec<u8>> {
    placed(span()).prop_map(|resources| {
        let of_scope = |(scope, spans)| ScopeSpans {
            scope,
            spans,
            schema_url: "s".into(),
        };
        let of_resource = |(resource, scopes): (_, Vec<_>)| ResourceSpans {
            resource,
            scope_spans: scopes.into_iter().map(of_scope).collect(),
            schema_url: "r".into(),
        };
        let resource_spans = resources.into_iter().map(of_resource).collect();
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    })
}

pub(super) fn log_request() -> impl Strategy<Value = Vec<u8>> {
    placed(record()).prop_map(|resources| {
        let of_scope = |(scope, log_records)| ScopeLogs {
            scope,
            log_records,
            schema_url: String::new(),
        };
        let of_resource = |(resource, scopes): (_, Vec<_>)| ResourceLogs {
            resource,
            scope_logs: scopes.into_iter().map(of_scope).collect(),
            schema_url: String::new(),
        };
        let resource_logs = resources.into_iter().map(of_resource).collect();
        ExportLogsServiceRequest { resource_logs }.encode_to_vec()
    })
}
