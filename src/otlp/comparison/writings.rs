//! OTLP/JSON in all the ways in which it may be written, each held against its protobuf twin.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

use super::super::{Limits, json, spans};
use super::seen::seen_span;

/// How one variant of OTLP/JSON is written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    /// Which of the choices below are taken, a bit for each.
    choices: u8,
    defaults: Defaults,
}

/// The choices of a [`Writing`].
const TIMES_AS_TEXT: u8 = 1;
const WHOLE_NUMBERS_AS_TEXT: u8 = 2;
const UPPER_CASE_IDS: u8 = 4;
const UNKNOWN_FIELDS: u8 = 8;
const STRUCTURED: u8 = 16;
const INDENTED: u8 = 32;

/// What stands where a field has its default.
#[derive(Clone, Copy, Debug)]
enum Defaults {
    LeftOut,
    Written,
    Null,
}

impl Writing {
    fn all() -> impl Iterator<Item = Self> {
        let defaults = [Defaults::LeftOut, Defaults::Written, Defaults::Null].into_iter();
        defaults.flat_map(|defaults| (0..64).map(move |choices| Self { choices, defaults }))
    }

    fn takes(self, choice: u8) -> bool {
        self.choices & choice != 0
    }

    fn text(self, request: &ExportTraceServiceRequest) -> String {
        let mut json = serde_json::to_value(request).expect("it can be written");
        self.rewrite("", &mut json);
        if self.takes(INDENTED) {
            serde_json::to_string_pretty(&json).expect("it can be written")
        } else {
            json.to_string()
        }
    }

    fn rewrite(self, key: &str, json: &mut serde_json::Value) {
        use serde_json::Value as Json;
        match json {
            Json::Object(members) => {
                for (key, member) in members.iter_mut() {
                    self.rewrite(key, member);
                }
                let is_default = |member: &Json| match member {
                    Json::Null => true,
                    Json::Number(number) => number.as_i64() == Some(0),
                    Json::String(text) => text.is_empty(),
                    Json::Array(items) => items.is_empty(),
                    _ => false,
                };
                let is_value = |key: &str| key.ends_with("Value") || key == "values";
                match self.defaults {
                    Defaults::Written => {}
                    Defaults::LeftOut => {
                        members.retain(|key, member| is_value(key) || !is_default(member));
                    }
                    Defaults::Null => {
                        let defaults = members.iter_mut();
                        for (_, member) in
                            defaults.filter(|(key, member)| !is_value(key) && is_default(member))
                        {
                            *member = Json::Null;
                        }
                    }
                }
                if self.takes(UNKNOWN_FIELDS) && !members.keys().any(|key| key.ends_with("Value")) {
                    members.insert("madeUp".to_owned(), serde_json::json!({"a": [1, null]}));
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.rewrite(key, item)),
            Json::String(text) if key.ends_with("Id") && self.takes(UPPER_CASE_IDS) => {
                *text = text.to_uppercase();
            }
            Json::String(_) | Json::Number(_) => {
                let as_text = match key {
                    "intValue" => self.takes(WHOLE_NUMBERS_AS_TEXT),
                    key if key.ends_with("UnixNano") => self.takes(TIMES_AS_TEXT),
                    _ => return,
                };
                let digits = json
                    .as_str()
                    .map_or_else(|| json.to_string(), str::to_owned);
                *json = if as_text {
                    Json::from(digits)
                } else {
                    Json::from(digits.parse::<i64>().expect("a whole number"))
                };
            }
            _ => {}
        }
    }
}

fn pair(key: &str, value: Option<Value>) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value }),
        ..KeyValue::default()
    }
}

fn scalars() -> Vec<KeyValue> {
    vec![
        pair("text", Some(Value::StringValue("a \"b\"\n".to_owned()))),
        pair("whole", Some(Value::IntValue(-3))),
        pair("part", Some(Value::DoubleValue(0.5))),
        pair("flag", Some(Value::BoolValue(true))),
    ]
}

fn structures() -> Vec<KeyValue> {
    let values = scalars().into_iter().filter_map(|pair| pair.value);
    let list = ArrayValue {
        values: values.collect(),
    };
    let map = KeyValueList { values: scalars() };
    vec![
        pair("bytes", Some(Value::BytesValue(vec![0, 255, 7]))),
        pair("list", Some(Value::ArrayValue(list))),
        pair("map", Some(Value::KvlistValue(map))),
        pair("nothing", None),
    ]
}

/// A span with all there is.
fn full_span(attributes: &[KeyValue]) -> Span {
    Span {
        trace_id: (1..=16).map(|byte| byte * 15).collect(),
        span_id: vec![171; 8],
        parent_span_id: vec![205; 8],
        name: "full".to_owned(),
        kind: 3,
        start_time_unix_nano: 1_700_000_000_000_000_001,
        end_time_unix_nano: 1_700_000_000_000_000_009,
        attributes: attributes.to_vec(),
        events: vec![Event {
            time_unix_nano: 1_700_000_000_000_000_005,
            name: "exception".to_owned(),
            attributes: attributes.to_vec(),
            dropped_attributes_count: 2,
        }],
        links: vec![Link {
            trace_id: vec![239; 16],
            span_id: vec![239; 8],
            attributes: attributes.to_vec(),
            ..Link::default()
        }],
        status: Some(Status {
            message: "no".to_owned(),
            code: 2,
        }),
        ..Span::default()
    }
}

/// A request of two spans: one with all there is, one with the least.
fn variants_request(structured: bool) -> ExportTraceServiceRequest {
    let attributes = if structured { structures() } else { scalars() };
    let least = Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        ..Span::default()
    };
    let scope_spans = vec![ScopeSpans {
        scope: Some(InstrumentationScope {
            name: "lib".to_owned(),
            ..InstrumentationScope::default()
        }),
        spans: vec![full_span(&attributes), least],
        ..ScopeSpans::default()
    }];
    let resource = Resource {
        attributes,
        ..Resource::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource),
            scope_spans,
            ..ResourceSpans::default()
        }],
    }
}

/// Given a request in each of 192 ways in which OTLP/JSON may be written (whole numbers and times as text or as numbers, ids
/// in either case, defaults left out, written or null, fields that nobody knows, structured values, blanks), every view
/// shows what its protobuf twin shows.
#[test]
fn every_writing_of_json_is_its_protobuf_twin() {
    let seen = |request: &[u8]| {
        let views = spans(request, &Limits::default()).map(|span| span.expect("a good span"));
        views
            .map(|view| format!("{:?}", seen_span(&view)))
            .collect::<Vec<_>>()
    };
    let mut variants = BTreeSet::new();
    for writing in Writing::all() {
        let request = variants_request(writing.takes(STRUCTURED));
        let written = writing.text(&request);
        let bytes =
            json::traces_to_bytes(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
        assert_eq!(seen(&bytes), seen(&request.encode_to_vec()), "{writing:?}");
        variants.insert(written);
    }
    assert!(variants.len() > 100, "only {} variants", variants.len());
}
