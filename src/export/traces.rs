//! The daemon's own spans to an OTLP backend: every second, by a queue like those from which telemetry is passed on.
//!
//! What cannot be sent is dropped and counted like there. The configuration refuses Eddy's own addresses, and spans that came
//! back all the same, over somebody in between, tell of no agent: no turn is taken for them, so nothing goes round.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::forward::{self, Forwards};
use super::otlp::{int, resource, scope, text};
use super::settings::{SettingsError, TraceSettings};
use crate::otlp::Signal;
use crate::telemetry::spans::{self, Ended};

/// How often spans are sent.
const SEND_EVERY: Duration = Duration::from_secs(1);

/// The daemon's own spans on their way.
pub struct Traces {
    queue: Forwards,
    task: JoinHandle<()>,
}

impl Traces {
    /// Begins to measure and to send. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub fn start(settings: TraceSettings) -> Result<Self, SettingsError> {
        let queue = forward::start(vec![settings.receiver])?;
        spans::measure(settings.one_in);
        let sent = queue.clone();
        let task = tokio::spawn(async move {
            loop {
                sleep(SEND_EVERY).await;
                send(&sent);
            }
        });
        Ok(Self { queue, task })
    }

    /// How the queue stands.
    #[must_use]
    pub fn queue(&self) -> &Forwards {
        &self.queue
    }

    /// Sends what has ended, and stops measuring. What is not sent at the deadline is lost.
    pub async fn drain(&self, deadline: Instant) {
        self.task.abort();
        spans::measure(0);
        send(&self.queue);
        self.queue.drain(deadline).await;
    }
}

fn send(queue: &Forwards) {
    let ended = spans::take();
    if !ended.is_empty() {
        queue.pass(Signal::Traces, &request(&ended).encode_to_vec());
    }
}

fn request(ended: &[Ended]) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource()),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope()),
                spans: ended.iter().map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

fn span(ended: &Ended) -> Span {
    let parent = Some(ended.parent).filter(|parent| *parent != 0);
    let numbers = ended.numbers.iter();
    let numbers = numbers.map(|(key, number)| int(key, *number));
    let names = ended.names.iter().map(|(key, name)| text(key, name));
    Span {
        trace_id: ended.trace.to_be_bytes().to_vec(),
        span_id: ended.id.to_be_bytes().to_vec(),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.to_be_bytes().to_vec()),
        name: ended.name.to_owned(),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: ended.start_ns,
        end_time_unix_nano: ended.start_ns.saturating_add(ended.took_ns),
        attributes: numbers.chain(names).collect(),
        status: ended.error.as_ref().map(|reason| Status {
            message: reason.clone(),
            code: StatusCode::Error.into(),
        }),
        ..Span::default()
    }
}
