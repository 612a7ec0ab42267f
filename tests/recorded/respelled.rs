//! Recorded runs as other senders would have written them: what is said is the same, and so is what is made of it.
//!
//! Libraries of other languages, collectors on the way and other exporters write the same telemetry in other forms: structures as
//! JSON text and the other way round, numbers and flags as text, attributes in another order and among others, each span by
//! itself, other ids, another day.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;

use eddy::engine::{RunState, Warning};
use eddy::normalize::{Normalizer, Report};
use eddy::otlp;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, KeyValueList};
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::{DIRECTORY, STANDARD, made};

/// How somebody else writes what was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writer {
    /// Structures, numbers and flags are text, attributes stand backwards among others, and each span comes by itself.
    Plain,
    /// JSON text is a structure, whole numbers are floats, and ids and days are others.
    Structured,
    /// JSON text has blanks wherever it may, and each attribute stands twice.
    Verbose,
}

impl Writer {
    const ALL: [Self; 3] = [Self::Plain, Self::Structured, Self::Verbose];

    fn attributes(self, attributes: &mut Vec<KeyValue>) {
        for attribute in attributes.iter_mut() {
            if let Some(value) = attribute
                .value
                .as_mut()
                .and_then(|value| value.value.as_mut())
            {
                self.value(value);
            }
        }
        match self {
            Self::Plain => {
                let others = (0..20).map(|number| KeyValue {
                    key: format!("of.no.meaning.{number}"),
                    value: Some(AnyValue {
                        value: Some(Any::StringValue("nothing".into())),
                    }),
                    ..KeyValue::default()
                });
                attributes.extend(others);
                attributes.reverse();
            }
            Self::Verbose => {
                let again = attributes.clone();
                attributes.extend(again);
            }
            Self::Structured => {}
        }
    }

    fn value(self, value: &mut Any) {
        let said = match (self, &*value) {
            (Self::Plain, Any::ArrayValue(_) | Any::KvlistValue(_)) => {
                Any::StringValue(json_of(value).to_string())
            }
            (Self::Structured, Any::StringValue(text)) => match structure_of(text) {
                Some(structure) => structure,
                None => return,
            },
            (Self::Verbose, Any::StringValue(text)) if structure_of(text).is_some() => {
                Any::StringValue(indented(text))
            }
            (Self::Plain, Any::IntValue(number)) => Any::StringValue(number.to_string()),
            (Self::Structured, Any::IntValue(number)) => Any::DoubleValue(*number as f64),
            (Self::Plain, Any::BoolValue(flag)) => Any::StringValue(flag.to_string()),
            _ => return,
        };
        *value = said;
    }

    fn id(self, id: &mut [u8]) {
        if self == Self::Structured && id.iter().any(|byte| *byte != 0) {
            for byte in id {
                *byte ^= 0x5a;
            }
        }
    }

    fn time(self, time: &mut u64) {
        if self == Self::Structured && *time > 0 {
            *time += 86_400_000_000_000;
        }
    }

    fn traces(self, request: &[u8]) -> Vec<u8> {
        let mut request = ExportTraceServiceRequest::decode(request).unwrap();
        for of in &mut request.resource_spans {
            for span in of.scope_spans.iter_mut().flat_map(|of| &mut of.spans) {
                self.attributes(&mut span.attributes);
                self.id(&mut span.trace_id);
                self.id(&mut span.span_id);
                self.id(&mut span.parent_span_id);
                self.time(&mut span.start_time_unix_nano);
                self.time(&mut span.end_time_unix_nano);
                for event in &mut span.events {
                    self.attributes(&mut event.attributes);
                    self.time(&mut event.time_unix_nano);
                }
                for link in &mut span.links {
                    self.id(&mut link.trace_id);
                    self.id(&mut link.span_id);
                }
            }
        }
        if self == Self::Plain {
            request.resource_spans = request.resource_spans.iter().flat_map(singly).collect();
        }
        request.encode_to_vec()
    }

    fn logs(self, request: &[u8]) -> Vec<u8> {
        let mut request = ExportLogsServiceRequest::decode(request).unwrap();
        for of in &mut request.resource_logs {
            for record in of.scope_logs.iter_mut().flat_map(|of| &mut of.log_records) {
                self.attributes(&mut record.attributes);
                self.id(&mut record.trace_id);
                self.id(&mut record.span_id);
                self.time(&mut record.time_unix_nano);
                self.time(&mut record.observed_time_unix_nano);
                if let Some(body) = record.body.as_mut().and_then(|body| body.value.as_mut()) {
                    self.value(body);
                }
            }
        }
        if self == Self::Plain {
            request.resource_logs = request.resource_logs.iter().flat_map(each_log).collect();
        }
        request.encode_to_vec()
    }
}

/// Each span of a resource by itself.
fn singly(of: &ResourceSpans) -> Vec<ResourceSpans> {
    let mut single = Vec::new();
    for scope in &of.scope_spans {
        for span in &scope.spans {
            let mut scope = scope.clone();
            scope.spans = vec![span.clone()];
            let mut of = of.clone();
            of.scope_spans = vec![scope];
            single.push(of);
        }
    }
    single
}

/// Each record of a resource by itself.
fn each_log(of: &ResourceLogs) -> Vec<ResourceLogs> {
    let mut single = Vec::new();
    for scope in &of.scope_logs {
        for record in &scope.log_records {
            let mut scope = scope.clone();
            scope.log_records = vec![record.clone()];
            let mut of = of.clone();
            of.scope_logs = vec![scope];
            single.push(of);
        }
    }
    single
}

fn json_of(value: &Any) -> Json {
    match value {
        Any::StringValue(text) => text.as_str().into(),
        Any::BoolValue(flag) => (*flag).into(),
        Any::IntValue(number) => (*number).into(),
        Any::DoubleValue(number) => (*number).into(),
        Any::ArrayValue(list) => {
            let items = list.values.iter();
            items
                .map(|item| item.value.as_ref().map_or(Json::Null, json_of))
                .collect()
        }
        Any::KvlistValue(map) => {
            let members = map.values.iter().map(|member| {
                let value = member.value.as_ref().and_then(|value| value.value.as_ref());
                (member.key.clone(), value.map_or(Json::Null, json_of))
            });
            Json::Object(members.collect())
        }
        _ => Json::Null,
    }
}

/// A list or an object of JSON text as a structure, its members in their order.
fn structure_of(text: &str) -> Option<Any> {
    let structure = serde_json::from_str::<Structure>(text).ok()?.0?;
    matches!(structure, Any::ArrayValue(_) | Any::KvlistValue(_)).then_some(structure)
}

/// JSON as a structure; `null` is no value.
struct Structure(Option<Any>);

impl<'de> Deserialize<'de> for Structure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Structure;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Structure, E> {
        Ok(Structure(None))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Structure, E> {
        Ok(Structure(Some(Any::BoolValue(flag))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Structure, E> {
        Ok(Structure(Some(Any::IntValue(number))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Structure, E> {
        Ok(Structure(Some(Any::IntValue(number as i64))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Structure, E> {
        Ok(Structure(Some(Any::DoubleValue(number))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Structure, E> {
        Ok(Structure(Some(Any::StringValue(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Structure, A::Error> {
        let mut values = Vec::new();
        while let Some(Structure(item)) = items.next_element()? {
            values.push(AnyValue { value: item });
        }
        Ok(Structure(Some(Any::ArrayValue(ArrayValue { values }))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Structure, A::Error> {
        let mut values = Vec::new();
        while let Some((key, Structure(value))) = members.next_entry()? {
            values.push(KeyValue {
                key,
                value: Some(AnyValue { value }),
                ..KeyValue::default()
            });
        }
        Ok(Structure(Some(Any::KvlistValue(KeyValueList { values }))))
    }
}

/// JSON text with a blank or a line's end wherever there may be one.
fn indented(json: &str) -> String {
    let (mut text, mut is_within, mut is_escaped) = (String::new(), false, false);
    for sign in json.chars() {
        is_within ^= sign == '"' && !is_escaped;
        is_escaped = sign == '\\' && !is_escaped;
        let is_sign = !is_within && matches!(sign, '{' | '[' | ',' | ':' | ']' | '}');
        if is_sign && matches!(sign, ']' | '}') {
            text.push('\n');
        }
        text.push(sign);
        if is_sign && matches!(sign, '{' | '[' | ',' | ':') {
            text.push_str("\n ");
        }
    }
    text
}

/// What is made of a run: its counts, its score and its warnings, who was at work, and whether its spans name it.
fn made_of(reports: &[Report]) -> String {
    let mut state = RunState::new("run".into());
    made::tell(&mut state, reports.iter(), &STANDARD);
    let run = state.view(&STANDARD);
    let told = |warning: &Warning| {
        let tool = warning.tool.as_ref();
        format!(
            "{:?} {} {:?} {tool:?}",
            warning.rule, warning.count, warning.severity
        )
    };
    let warnings: Vec<_> = run.warnings.iter().map(told).collect();
    let events = reports.iter().flat_map(|report| &report.events);
    let agents: BTreeSet<_> = events.filter_map(|event| event.agent.as_ref()).collect();
    let named = reports.iter().filter(|report| report.run.run_id.is_some());
    let (calls, answers, tokens, score) = (run.tool_calls, run.model_calls, run.tokens, run.score);
    let named = named.count();
    format!(
        "{calls} calls, {answers} answers, {tokens} tokens, {score}, {warnings:?}, {agents:?}, {named} named"
    )
}

/// Given every recording as others would have written it, the same is made of it.
#[test]
fn what_is_said_counts_and_not_how() {
    let files = fs::read_dir(DIRECTORY).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "binpb"));
    files.sort();
    assert!(files.len() > 200, "only {} recordings", files.len());
    let mut differ = Vec::new();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let is_logs = file.to_string_lossy().contains(".logs.");
        let made = |writer: Option<Writer>| {
            let normalizer = Normalizer::new();
            let mut reports = Vec::new();
            for request in otlp::delimited(&bytes) {
                let request = request.unwrap();
                let written = match writer {
                    None => request.to_vec(),
                    Some(writer) if is_logs => writer.logs(request),
                    Some(writer) => writer.traces(request),
                };
                super::read(&normalizer, &written, is_logs, &mut reports);
            }
            made_of(&reports)
        };
        let recorded = made(None);
        for writer in Writer::ALL {
            let other = made(Some(writer));
            if other != recorded {
                let file = file.display();
                differ.push(format!("{writer:?} {file}\n  {recorded}\n  {other}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
