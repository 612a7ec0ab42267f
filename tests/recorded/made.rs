//! What tests of made telemetry share: numbers that look like chance, requests, and how these are read and judged.

use eddy::config::profile::Name;
use eddy::engine::policy::Policy;
use eddy::engine::run::WINDOW_EVENTS_MAX;
use eddy::engine::{Input, RunState, RunView, step};
use eddy::normalize::{Normalizer, Report};
use eddy::otlp::{self, Limits};
use eddy::store::records::{decode_run, encode_run};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

use super::STANDARD;

/// How many times as much is made as otherwise: `EDDY_FUZZ`.
pub(super) fn times() -> u64 {
    let more = std::env::var("EDDY_FUZZ").ok();
    more.map_or(1, |more| more.parse().expect("EDDY_FUZZ is a number"))
}

/// Numbers that look like chance and are the same each time.
pub(super) struct Dice(u64);

impl Dice {
    /// Those of a number: others for another.
    pub(super) fn of(number: u64) -> Self {
        Self(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// One of several.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Whether something happens that happens once in so many times.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// An attribute whose value is a text.
pub(super) fn attribute(key: &str, text: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(text.into())),
        }),
        ..KeyValue::default()
    }
}

/// A span of a made trace; its number tells its id and its time.
pub(super) fn span(number: u64, attributes: Vec<KeyValue>) -> Span {
    let time = 1_795_000_000_000_000_000 + number * 1_000_000_000;
    Span {
        trace_id: vec![7; 16],
        span_id: (number + 1).to_be_bytes().to_vec(),
        name: "execute_tool".into(),
        start_time_unix_nano: time,
        end_time_unix_nano: time + 500_000_000,
        attributes,
        ..Span::default()
    }
}

/// The bytes of a request with these spans.
pub(super) fn request(spans: Vec<Span>) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans {
        spans,
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// Reads what can be read of a request; the rest is refused, span by span.
pub(super) fn read(
    normalizer: &Normalizer,
    request: &[u8],
    is_logs: bool,
    reports: &mut Vec<Report>,
) {
    let mut batch = normalizer.batch(&STANDARD);
    let limits = Limits::default();
    if is_logs {
        let logs = otlp::logs(request, &limits).flatten();
        logs.for_each(|log| batch.log(&log, reports));
    } else {
        let mut spans = otlp::spans(request, &limits);
        let mut told = Vec::new();
        while batch.span(&mut spans, &mut told).is_some() {
            reports.append(&mut told);
        }
    }
}

/// Lets the engine judge reports, as those of one run: their order does not matter as long as they fit the window (P3), and once
/// more they change nothing (P2).
pub(super) fn judge(reports: &[Report], profile: Name) {
    let policy = profile.policy();
    let mut state = RunState::new("run".into());
    tell(&mut state, reports.iter(), &policy);
    let once = state.view(&policy);
    tell(&mut state, reports.iter(), &policy);
    assert_eq!(state.view(&policy), once, "twice");
    let found = decode_run(&encode_run(&state)).unwrap();
    assert_eq!(found.view(&policy), once, "from the disk");
    let events = reports.iter().map(|report| report.events.len());
    if events.sum::<usize>() <= WINDOW_EVENTS_MAX / 2 {
        let mut state = RunState::new("run".into());
        tell(&mut state, reports.iter().rev(), &policy);
        let backwards = state.view(&policy);
        assert_eq!(without_revisions(backwards), without_revisions(once));
    }
}

/// Tells a run what reports say, one after the other.
pub(super) fn tell<'r>(
    state: &mut RunState,
    reports: impl Iterator<Item = &'r Report>,
    policy: &Policy,
) {
    for report in reports {
        let input = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events: report.events.clone(),
        };
        step(state, &input, policy);
    }
}

/// What the way of arrival may not change: revisions count announcements.
fn without_revisions(mut view: RunView) -> RunView {
    for warning in &mut view.warnings {
        warning.revision = 0;
    }
    view
}
