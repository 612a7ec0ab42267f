//! Captured spans for the dialects' tests: a span is put together, goes through encoding, the reader and the normalizer,
//! and what it told is written in a line per event that can be compared with what was expected.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span};
use prost::Message;
use serde_json::Value as Json;

use crate::config::profile::Name;
use crate::engine::event::{Body, Recorded};
use crate::otlp::{self, Limits};

use super::Normalizer;
use super::answer::OPERATION_DETAILS;
use super::report::Report;

/// A span as a framework sent it.
pub(super) struct Captured {
    scope: &'static str,
    span: Span,
}

impl Captured {
    /// A span below a parent, from its first to its ninth nanosecond, with attributes written as a JSON object.
    pub(super) fn new(scope: &'static str, name: &str, attributes: &Json) -> Self {
        let span = Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            parent_span_id: vec![3; 8],
            name: name.to_owned(),
            start_time_unix_nano: 1,
            end_time_unix_nano: 9,
            attributes: pairs(attributes),
            ..Span::default()
        };
        Self { scope, span }
    }

    /// The same span without a parent.
    pub(super) fn root(mut self) -> Self {
        self.span.parent_span_id.clear();
        self
    }

    /// The same span with an error status.
    pub(super) fn failed(mut self, message: &str) -> Self {
        self.span.status = Some(Status {
            code: 2,
            message: message.to_owned(),
        });
        self
    }

    /// The same span with an exception.
    pub(super) fn raised(self, kind: &str, message: &str) -> Self {
        let attributes = serde_json::json!({"exception.type": kind, "exception.message": message});
        self.said("exception", &attributes)
    }

    /// The same span with an event.
    pub(super) fn said(mut self, name: &str, attributes: &Json) -> Self {
        self.span.events.push(span::Event {
            name: name.to_owned(),
            attributes: pairs(attributes),
            ..span::Event::default()
        });
        self
    }

    /// The same span with a link to another trace.
    pub(super) fn linked(mut self, trace: [u8; 16]) -> Self {
        self.span.links.push(span::Link {
            trace_id: trace.to_vec(),
            span_id: vec![9; 8],
            ..span::Link::default()
        });
        self
    }

    /// The report of the span, if it gives one.
    pub(super) fn report(self) -> Option<Report> {
        let mut reports = self.reports(&Normalizer::new());
        assert!(reports.len() <= 1, "one span gives one report at most");
        reports.pop()
    }

    /// What a normalizer makes of the span.
    pub(super) fn reports(self, normalizer: &Normalizer) -> Vec<Report> {
        let request = self.request();
        let (policy, mut reports) = (Name::Standard.policy(), Vec::new());
        let mut spans = otlp::spans(&request, &Limits::default());
        let span = normalizer.batch(&policy).span(&mut spans, &mut reports);
        span.unwrap().unwrap();
        reports
    }

    /// A request with the span; behind one another, several of them are one request, too.
    pub(super) fn request(self) -> Vec<u8> {
        let scope = InstrumentationScope {
            name: self.scope.to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = vec![ScopeSpans {
            scope: Some(scope),
            spans: vec![self.span],
            ..ScopeSpans::default()
        }];
        let resource_spans = vec![ResourceSpans {
            scope_spans,
            ..ResourceSpans::default()
        }];
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }

    /// What the span told, a line an event.
    pub(super) fn told(self) -> Vec<String> {
        lines(self.report().iter())
    }
}

/// What is made of one request of log records of a scope, all about one model call: each with its event's name and what it
/// says, which stands in the body, or in attributes for the event that has all of a call.
pub(super) fn recorded(scope: &str, records: &[(&str, Json)]) -> Vec<Report> {
    let log_records = records.iter().map(|(name, said)| {
        let is_details = *name == OPERATION_DETAILS;
        LogRecord {
            time_unix_nano: 5,
            event_name: (*name).to_owned(),
            body: (!is_details).then(|| any(said)),
            attributes: if is_details { pairs(said) } else { Vec::new() },
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            ..LogRecord::default()
        }
    });
    let scope_logs = vec![ScopeLogs {
        scope: Some(InstrumentationScope {
            name: scope.to_owned(),
            ..InstrumentationScope::default()
        }),
        log_records: log_records.collect(),
        ..ScopeLogs::default()
    }];
    let resource_logs = vec![ResourceLogs {
        scope_logs,
        ..ResourceLogs::default()
    }];
    let request = ExportLogsServiceRequest { resource_logs }.encode_to_vec();
    let (normalizer, policy) = (Normalizer::new(), Name::Standard.policy());
    let (mut batch, mut reports) = (normalizer.batch(&policy), Vec::new());
    for log in otlp::logs(&request, &Limits::default()) {
        batch.log(&log.unwrap(), &mut reports);
    }
    reports
}

/// What was told, a line an event.
pub(super) fn lines<'r>(reports: impl Iterator<Item = &'r Report>) -> Vec<String> {
    let lines = reports.flat_map(|report| &report.events).map(|event| {
        let agent = event.agent.as_deref().map(|agent| format!("{agent}: "));
        format!("{}{}", agent.unwrap_or_default(), line(&event.body))
    });
    lines.collect()
}

fn line(body: &Body) -> String {
    match body {
        Body::Requested(call) => format!("asked {}({})", call.tool, shown(&call.input)),
        Body::ToolCall(call) => {
            let id = call.call_id.map_or("", |_| " with id");
            let error = call
                .error
                .as_ref()
                .map(|error| format!(" failed: {}", error.text));
            let (input, output) = (shown(&call.input), answered(&call.output));
            format!(
                "call{id} {}({input}) = {output}{}",
                call.tool,
                error.unwrap_or_default()
            )
        }
        Body::ModelCall(call) => {
            let model = call.model.as_deref().unwrap_or("?");
            let tokens = format!("{}+{}", call.input_tokens, call.output_tokens);
            let error = call
                .error
                .as_ref()
                .map(|error| format!(" failed: {}", error.text));
            let answer = format!("{:?}", call.answer);
            // The hash of a text means nothing to a reader.
            let answer = answer.split("Some(").next().unwrap_or_default();
            format!(
                "model {model} {tokens} {answer}{}",
                error.unwrap_or_default()
            )
        }
        Body::AgentSpan(agent) => {
            format!(
                "agent {}({}) = {}",
                agent.name,
                shown(&agent.input),
                answered(&agent.output)
            )
        }
        Body::Handoff(handoff) => {
            format!(
                "{} to {}",
                handoff.from.as_deref().unwrap_or("?"),
                handoff.to
            )
        }
        Body::RunEnd(end) => match &end.error {
            Some(error) => format!("end, failed: {}", error.text),
            None => "end".to_owned(),
        },
        other => format!("{other:?}"),
    }
}

/// How large a result is.
fn answered(recorded: &Recorded) -> String {
    match recorded {
        Recorded::Value(value) => format!("{} bytes", value.bytes),
        other => shown(other),
    }
}

/// A value's sample; one without shows its size.
fn shown(recorded: &Recorded) -> String {
    match recorded {
        Recorded::Value(value) if value.sample.is_empty() => format!("{} bytes", value.bytes),
        Recorded::Value(value) => value.sample.to_string(),
        Recorded::NotRecorded => "-".to_owned(),
        Recorded::Redacted => "redacted".to_owned(),
    }
}

/// A JSON object as OTLP writes it.
pub(super) fn pairs(object: &Json) -> Vec<KeyValue> {
    let members = object.as_object().expect("attributes are an object");
    let pairs = members.iter().map(|(key, value)| KeyValue {
        key: key.clone(),
        value: Some(any(value)),
        ..KeyValue::default()
    });
    pairs.collect()
}

/// A JSON value as OTLP writes it.
pub(super) fn any(json: &Json) -> AnyValue {
    let value = match json {
        Json::Null => None,
        Json::Bool(value) => Some(Any::BoolValue(*value)),
        Json::Number(number) => Some(number.as_i64().map_or_else(
            || Any::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
            Any::IntValue,
        )),
        Json::String(text) => Some(Any::StringValue(text.clone())),
        Json::Array(items) => Some(Any::ArrayValue(ArrayValue {
            values: items.iter().map(any).collect(),
        })),
        Json::Object(_) => Some(Any::KvlistValue(KeyValueList {
            values: pairs(json),
        })),
    };
    AnyValue { value }
}
