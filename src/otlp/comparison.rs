//! The walk held against `opentelemetry-proto`, which is the truth about what a request says.
//!
//! Requests are generated as structs and encoded; then their fields are put into another order with unknown and repeated
//! ones between, or their bytes are damaged. Whenever prost can decode the result, each view must show what prost shows.

mod writings;

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
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use prost::Message;

use super::wire::{Fields, Payload};
use super::{
    Attributes, Limits, LogView, Problem, Reason, SpanView, ValueView, delimited, json, logs, spans,
};

/// The attributes of an item's resource, its scope's name, and the item.
type Placed<T> = (Vec<KeyValue>, String, T);

// What prost decodes, without what the views do not show.

fn decoded_spans(request: ExportTraceServiceRequest) -> Vec<Placed<Span>> {
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

fn decoded_logs(request: ExportLogsServiceRequest) -> Vec<Placed<LogRecord>> {
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

// What the views show, as the same structs.

fn seen_span(view: &SpanView<'_>) -> Placed<Span> {
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

fn seen_event(event: super::EventView<'_>) -> Event {
    Event {
        time_unix_nano: event.time_ns,
        name: event.name.to_owned(),
        attributes: seen_pairs(event.attributes),
        dropped_attributes_count: 0,
    }
}

fn seen_link(link: super::LinkView<'_>) -> Link {
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

fn seen_log(view: &LogView<'_>) -> Placed<LogRecord> {
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

// The two compared.

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

// Generated requests.

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

fn trace_request() -> impl Strategy<Value = Vec<u8>> {
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

fn log_request() -> impl Strategy<Value = Vec<u8>> {
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

// The same request in other bytes, and damaged bytes.

/// A small generator (xorshift), so that one seed of proptest's decides everything.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// The messages of a request, as far as their fields hold messages.
#[derive(Clone, Copy)]
enum Kind {
    Request,
    OfResource,
    OfScope,
    Scope,
    /// A resource or a map: attributes under number one.
    List,
    Span,
    Record,
    Event,
    Link,
    Pair,
    Value,
    Array,
    Plain,
}

impl Kind {
    fn of_field(self, number: u32, item: Kind) -> Option<Self> {
        Some(match (self, number) {
            (Self::Request, 1) => Self::OfResource,
            (Self::OfResource, 1) | (Self::Value, 6) => Self::List,
            (Self::OfResource, 2) => Self::OfScope,
            (Self::OfScope, 1) => Self::Scope,
            (Self::Span, 15) => Self::Plain,
            (Self::OfScope, 2) => item,
            (Self::List, 1)
            | (Self::Scope | Self::Event, 3)
            | (Self::Link, 4)
            | (Self::Record, 6)
            | (Self::Span, 9) => Self::Pair,
            (Self::Span, 11) => Self::Event,
            (Self::Span, 13) => Self::Link,
            (Self::Record, 5) | (Self::Pair, 2) | (Self::Array, 1) => Self::Value,
            (Self::Value, 5) => Self::Array,
            _ => return None,
        })
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: u64, padding: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    for _ in 0..padding {
        *out.last_mut().expect("just pushed") |= 0x80;
        out.push(0);
    }
}

/// Rewrites a message with its fields in another order, those of one number keeping theirs, lengths written longer than
/// need be, unknown fields in between, and texts and ids preceded by an occurrence that must not count.
fn scramble(kind: Kind, item: Kind, message: &[u8], random: &mut Random) -> Vec<u8> {
    let mut queues: Vec<(u32, Vec<Vec<u8>>)> = Vec::new();
    let mut fields = Fields::of(message);
    let mut before = fields.rest();
    while let Some(field) = fields.next() {
        let (number, payload) = field.expect("encoded by prost");
        let raw = &before[..before.len() - fields.rest().len()];
        before = fields.rest();
        let mut copies = Vec::new();
        match (payload, kind.of_field(number, item)) {
            (Payload::Bytes(bytes), Some(inner)) => {
                let bytes = scramble(inner, item, bytes, random);
                copies.push(length_delimited(number, &bytes, random.below(3)));
            }
            (Payload::Bytes(bytes), None) => {
                if !matches!(kind, Kind::Array | Kind::List) && random.below(4) == 0 {
                    copies.push(length_delimited(number, b"decoy", 0));
                }
                copies.push(length_delimited(number, bytes, random.below(3)));
            }
            _ => copies.push(raw.to_vec()),
        }
        match queues.iter_mut().find(|(queued, _)| *queued == number) {
            Some((_, queue)) => queue.extend(copies),
            None => queues.push((number, copies)),
        }
    }
    let mut out = Vec::new();
    for (_, queue) in &mut queues {
        queue.reverse();
    }
    loop {
        queues.retain(|(_, queue)| !queue.is_empty());
        match random.below(12) {
            0 => out.extend([0xc0, 0x3e, 0x07]),
            1 => out.extend([0xc2, 0x3e, 0x02, 0xff, 0xff]),
            2 => out.extend([0xc5, 0x3e, 1, 2, 3, 4]),
            3 => out.extend([0xc3, 0x3e, 0x08, 0x01, 0xc4, 0x3e]),
            _ => {}
        }
        if queues.is_empty() {
            return out;
        }
        let index = random.below(queues.len());
        out.extend(queues[index].1.pop().expect("empty queues are gone"));
    }
}

fn length_delimited(number: u32, bytes: &[u8], padding: usize) -> Vec<u8> {
    let mut out = Vec::new();
    push_varint(&mut out, u64::from(number) << 3 | 2, padding);
    push_varint(&mut out, bytes.len() as u64, padding);
    out.extend(bytes);
    out
}

fn damage(request: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(request.len() + 1);
        match random.below(6) {
            0 => request.truncate(at),
            1 => request.insert(at, random.below(256) as u8),
            2 if at < request.len() => drop(request.remove(at)),
            3 => {
                let end = (at + random.below(40)).min(request.len());
                let copied = request[at..end].to_vec();
                request.splice(at..at, copied);
            }
            _ if at < request.len() => request[at] ^= 1 << random.below(8),
            _ => {}
        }
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
