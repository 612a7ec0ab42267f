//! One log record being read: what the coding agents share.
//!
//! Claude Code, Codex and Gemini CLI tell most of what they do in log records, each under an event name and with keys of
//! its own. A record of something that is over carries how long it took, and so gives an event that began earlier.
//! Records have no ids of their own; an event's identity is made of what the record names, and where a span tells the
//! same thing, of the same parts, so that whichever comes second is recognised.

use std::borrow::Cow;

use crate::engine::event::{Body, Event, SpanId, Text, ToolCall, TraceId};
use crate::engine::policy::{Policy, ToolSettings};
use crate::otlp::{Attributes, LogView, ValueView};

use super::report::Report;
use super::texts::json_text;
use super::{names, value};

/// Picks attributes by their keys in one pass; where a key is missing, its value is [`ValueView::Empty`].
pub(super) fn pick<'a, const N: usize>(
    attributes: &Attributes<'a>,
    keys: [&str; N],
) -> [ValueView<'a>; N] {
    let mut picked = [ValueView::Empty; N];
    for (key, value) in attributes {
        if let Some(place) = keys.iter().position(|wanted| *wanted == key) {
            picked[place] = value;
        }
    }
    picked
}

/// A text with something in it.
pub(super) fn text(value: ValueView<'_>) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A text with something in it, or a structure as JSON.
pub(super) fn json(value: ValueView<'_>) -> Option<Cow<'_, str>> {
    json_text(value).filter(|text| !text.is_empty())
}

/// An id that names something.
pub(super) fn id(value: ValueView<'_>) -> Option<&str> {
    value.as_str().filter(|id| names::is_id(id))
}

/// A count, which some senders write as text.
pub(super) fn count(value: ValueView<'_>) -> Option<u64> {
    match value {
        ValueView::Int(number) => u64::try_from(number).ok(),
        ValueView::Double(number) if number >= 0.0 => Some(number as u64),
        ValueView::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A flag, which some senders write as text.
pub(super) fn flag(value: ValueView<'_>) -> Option<bool> {
    match value {
        ValueView::Bool(flag) => Some(flag),
        ValueView::Str("true") => Some(true),
        ValueView::Str("false") => Some(false),
        _ => None,
    }
}

/// One log record and the report being written about it.
pub(super) struct Record<'r, 'a> {
    pub(super) log: &'r LogView<'a>,
    /// The session, which is the run of a coding agent.
    pub(super) session: &'a str,
    /// Who did it, where the record says so.
    pub(super) agent: Option<Cow<'a, str>>,
    report: &'r mut Report,
    policy: &'r Policy,
}

impl<'r, 'a> Record<'r, 'a> {
    /// Begins to read a record of a session.
    pub(super) fn new(
        log: &'r LogView<'a>,
        session: &'a str,
        report: &'r mut Report,
        policy: &'r Policy,
    ) -> Self {
        Self {
            log,
            session,
            agent: None,
            report,
            policy,
        }
    }

    /// What is special about a tool, for the record's agent.
    pub(super) fn how<'t>(&self, tool: &'t str) -> ToolSettings<'t>
    where
        'r: 't,
    {
        self.policy.tool(tool, self.agent.as_deref())
    }

    /// When it happened: the source's clock, or where that is silent the exporter's.
    pub(super) fn time_ns(&self) -> u64 {
        match self.log.time_ns {
            0 => self.log.observed_ns,
            time_ns => time_ns,
        }
    }

    /// Whether the program traces as well, so that a span tells the same.
    pub(super) fn is_traced(&self) -> bool {
        self.log.trace_id != [0; 16]
    }

    /// Tells of something that took a while and is over now. `named` is what the record names, for identity.
    pub(super) fn tell_finished(&mut self, named: &[&[u8]], duration_ms: u64, body: Body) {
        let start_ns = self.before(duration_ms);
        let mut parts: Vec<&[u8]> = vec![b"log", self.session.as_bytes()];
        parts.extend_from_slice(named);
        self.tell(value::id_hash(&parts), start_ns, body);
    }

    /// Tells of a call of a tool that took a while and is over now, known by its id; where it has none, by its moment and by what
    /// was called.
    pub(super) fn tell_finished_call(
        &mut self,
        kind: &[u8],
        id: Option<&str>,
        duration_ms: u64,
        mut call: ToolCall,
    ) {
        call.call_id = id.map(|id| value::id_hash(&[id.as_bytes()]));
        if let Some(id) = id {
            return self.tell_finished(&[kind, id.as_bytes()], duration_ms, Body::ToolCall(call));
        }
        let moment = self.time_ns().to_le_bytes();
        let input = call.input.value().map_or(0, |input| input.fingerprint);
        let tool = call.tool.clone();
        let named = [kind, &moment, tool.as_bytes(), &input.to_le_bytes()];
        self.tell_finished(&named, duration_ms, Body::ToolCall(call));
    }

    /// Tells of something that the span to which the record points tells as its first event too: the same identity.
    pub(super) fn tell_as_span(&mut self, body: Body) {
        let id = value::id_hash(&[&self.log.trace_id, &self.log.span_id, &[0]]);
        self.tell(id, self.time_ns(), body);
    }

    /// Tells of something that began a while before the record and is told elsewhere too, under an identity that both
    /// know.
    pub(super) fn tell_named(&mut self, id: u64, before_ms: u64, body: Body) {
        let start_ns = self.before(before_ms);
        self.tell(id, start_ns, body);
    }

    fn before(&self, duration_ms: u64) -> u64 {
        self.time_ns()
            .saturating_sub(duration_ms.saturating_mul(1_000_000))
    }

    /// Tells of a moment of what the span to which the record points is busy with, under an identity of the dialect's own.
    pub(super) fn tell_below(&mut self, id: u64, body: Body) {
        let at_ns = self.time_ns();
        let span = SpanId(self.log.span_id);
        self.push(id, at_ns, (SpanId::default(), span), body);
    }

    fn tell(&mut self, id: u64, start_ns: u64, body: Body) {
        let span = SpanId(self.log.span_id);
        self.push(id, start_ns, (span, SpanId::default()), body);
    }

    /// The run is named only by records that tell something: programs also write records at start-up, some of them
    /// under a session that is given up again.
    fn push(&mut self, id: u64, start_ns: u64, (span, parent): (SpanId, SpanId), body: Body) {
        let session = names::is_id(self.session).then(|| Text::from(self.session));
        self.report.run.run_id.clone_from(&session);
        self.report.run.session_id = session;
        self.report.events.push(Event {
            id,
            trace: TraceId(self.log.trace_id),
            span,
            parent,
            start_ns,
            end_ns: self.time_ns(),
            agent: self.agent.as_deref().map(value::name),
            worker: None,
            body,
        });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
    use prost::Message;

    use super::*;
    use crate::config::profile::Name;
    use crate::normalize::Normalizer;
    use crate::otlp::{self, Limits};

    /// When the records of these tests are written, in nanoseconds.
    pub(crate) const WRITTEN_NS: u64 = 60_000_000_000;

    /// The reports of one log record of a scope with these attributes, as JSON; `traced` puts it into a trace.
    pub(crate) fn reports(
        scope: &str,
        traced: bool,
        attributes: &serde_json::Value,
    ) -> Vec<Report> {
        reports_by(&Normalizer::new(), scope, traced, attributes)
    }

    /// The same, read by a normalizer that goes on counting.
    pub(crate) fn reports_by(
        normalizer: &Normalizer,
        scope: &str,
        traced: bool,
        attributes: &serde_json::Value,
    ) -> Vec<Report> {
        let attributes = attributes.as_object().expect("attributes are an object");
        let record = LogRecord {
            observed_time_unix_nano: WRITTEN_NS,
            trace_id: if traced { vec![7; 16] } else { Vec::new() },
            span_id: if traced { vec![7; 8] } else { Vec::new() },
            attributes: attributes
                .iter()
                .map(|(key, value)| attribute(key, value))
                .collect(),
            ..LogRecord::default()
        };
        let scope_logs = ScopeLogs {
            scope: Some(InstrumentationScope {
                name: scope.to_owned(),
                ..InstrumentationScope::default()
            }),
            log_records: vec![record],
            ..ScopeLogs::default()
        };
        let request = ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                scope_logs: vec![scope_logs],
                ..ResourceLogs::default()
            }],
        }
        .encode_to_vec();
        let mut reports = Vec::new();
        for log in otlp::logs(&request, &Limits::default()) {
            normalizer
                .batch(&Name::Standard.policy())
                .log(&log.expect("a readable record"), &mut reports);
        }
        reports
    }

    /// The events of one log record.
    pub(crate) fn events(scope: &str, traced: bool, attributes: &serde_json::Value) -> Vec<Event> {
        let reports = reports(scope, traced, attributes);
        reports
            .into_iter()
            .flat_map(|report| report.events)
            .collect()
    }

    fn attribute(key: &str, value: &serde_json::Value) -> KeyValue {
        let value = match value {
            serde_json::Value::String(text) => Any::StringValue(text.clone()),
            serde_json::Value::Bool(flag) => Any::BoolValue(*flag),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(number) => Any::IntValue(number),
                None => Any::DoubleValue(number.as_f64().unwrap_or(f64::NAN)),
            },
            other => panic!("no attribute of a record: {other}"),
        };
        KeyValue {
            key: key.to_owned(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        }
    }

    /// Given a record of something that took a while, its event began earlier, the exporter's clock stands in for a
    /// missing one, and the session is the run.
    #[test]
    fn a_finished_thing_began_earlier() {
        let told = reports(
            "codex_otel.log_only",
            false,
            &serde_json::json!({"event.name": "codex.tool_result", "conversation.id": "c", "tool_name": "t",
                "call_id": "1", "duration_ms": "250"}),
        );
        let event = &told[0].events[0];
        assert_eq!(told[0].run.run_id.as_deref(), Some("c"));
        assert_eq!(event.end_ns, WRITTEN_NS);
        assert_eq!(event.start_ns, WRITTEN_NS - 250_000_000);
    }

    /// Given calls that have no id, or a word for none in its place, each is a call of its own; a record that comes twice tells of
    /// one call.
    #[test]
    fn calls_without_ids_are_told_apart() {
        let call = |id: &str, arguments: &str| {
            let codex = serde_json::json!({"event.name": "codex.tool_result", "conversation.id": "c", "tool_name": "t",
                "call_id": id, "arguments": arguments});
            let claude = serde_json::json!({"event.name": "tool_result", "session.id": "c", "tool_name": "t",
                "tool_use_id": id, "tool_input": arguments});
            let codex = events("codex_otel.log_only", false, &codex).remove(0);
            let claude = events("com.anthropic.claude_code.events", false, &claude).remove(0);
            [codex, claude].map(|event| match event.body {
                Body::ToolCall(call) => (event.id, call.call_id),
                other => panic!("no tool call: {other:?}"),
            })
        };
        for none in ["", "None", "undefined"] {
            let [one, same, other] =
                [r#"{"a":1}"#, r#"{"a":1}"#, r#"{"a":2}"#].map(|a| call(none, a));
            assert_eq!(one, same, "{none}");
            for ((one, id), (other, other_id)) in one.into_iter().zip(other) {
                assert_ne!(one, other, "{none}");
                assert_eq!((id, other_id), (None, None), "{none}");
            }
        }
        assert_eq!(call("1", "{}"), call("1", r#"{"a":2}"#));
    }

    /// Given records that tell of nothing an agent did, there is no report, whatever session they name.
    #[test]
    fn noise_names_no_run() {
        for (scope, name, key) in [
            (
                "codex_otel.log_only",
                "codex.startup_phase",
                "conversation.id",
            ),
            (
                "com.anthropic.claude_code.events",
                "plugin_loaded",
                "session.id",
            ),
            ("gemini-cli", "gemini_cli.config", "session.id"),
        ] {
            let told = reports(
                scope,
                true,
                &serde_json::json!({"event.name": name, key: "s"}),
            );
            assert!(told.is_empty(), "{name}: {told:?}");
        }
    }
}
