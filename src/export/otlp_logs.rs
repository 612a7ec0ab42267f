//! Alerts to an OTLP backend or collector, as log records over gRPC.
//!
//! Each alert is an event named `eddy.warning`. Its attributes use the names of the GenAI conventions where these have one
//! (`gen_ai.tool.name`, `gen_ai.agent.name`), else names under `eddy.`. A run that is known by its trace id is linked to
//! that trace, at the newest span of the loop.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tonic::codec::CompressionEncoding;
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Extensions, Request, Status};
use tonic_types::StatusExt;

use super::settings::{OtlpLogsSettings, SettingsError};
use super::{Answer, REPLY_BYTES_MAX, SEND_TIMEOUT};
use crate::cli::render::text::clean;
use crate::engine::warning::{Severity, WarningState};
use crate::json::{dollars, hex_id, hex_span, rfc3339};
use crate::store::alert::Alert;

/// An OTLP backend.
pub(super) struct OtlpLogs {
    endpoint: Endpoint,
    metadata: MetadataMap,
    /// Made by the first batch, because a channel needs a runtime and checking settings does not have one. It connects,
    /// and connects again, by itself.
    client: Option<LogsServiceClient<Channel>>,
}

impl OtlpLogs {
    pub(super) fn new(name: &str, settings: &OtlpLogsSettings) -> Result<Self, SettingsError> {
        let wrong = |problem: String| SettingsError::new(name, problem);
        Ok(Self {
            endpoint: endpoint(&settings.endpoint).map_err(wrong)?,
            metadata: metadata(settings).map_err(wrong)?,
            client: None,
        })
    }

    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Answer {
        let request = Request::from_parts(
            self.metadata.clone(),
            Extensions::default(),
            logs_request(alerts),
        );
        let client = self.client.get_or_insert_with(|| {
            LogsServiceClient::new(self.endpoint.connect_lazy())
                .send_compressed(CompressionEncoding::Gzip)
                .max_decoding_message_size(REPLY_BYTES_MAX)
        });
        match client.export(request).await {
            Ok(reply) => taken(reply.into_inner()),
            Err(status) => refused(&status),
        }
    }
}

fn taken(reply: ExportLogsServiceResponse) -> Answer {
    match reply.partial_success {
        Some(partial) if partial.rejected_log_records > 0 => Answer::Partly {
            refused: partial.rejected_log_records.unsigned_abs(),
            reason: format!(
                "the receiver refused some alerts: {}",
                clean(&partial.error_message)
            ),
        },
        _ => Answer::Taken,
    }
}

/// Which failures OTLP says to repeat. A receiver that is overloaded says so with the time to wait; without that, the
/// request is too much for it and will stay so. What fails on our side of the line has a source.
fn refused(status: &Status) -> Answer {
    let after = status
        .get_details_retry_info()
        .and_then(|info| info.retry_delay);
    let reason = format!(
        "the receiver answered {:?}: {}",
        status.code(),
        clean(status.message())
    );
    let temporary = match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        Code::ResourceExhausted => after.is_some(),
        _ => std::error::Error::source(status).is_some(),
    };
    if temporary {
        Answer::Later {
            reason,
            after: after.filter(|after| *after > Duration::ZERO),
        }
    } else {
        Answer::Refused { reason }
    }
}

fn endpoint(text: &str) -> Result<Endpoint, String> {
    let cannot =
        |error: tonic::transport::Error| format!("`endpoint` {text} cannot be used: {error}");
    let tls = text.starts_with("https://");
    if !tls && !text.starts_with("http://") {
        return Err(format!(
            "`endpoint` must begin with http:// or https://, as in http://{text}"
        ));
    }
    let endpoint = Endpoint::from_shared(text.to_owned())
        .map_err(cannot)?
        .timeout(SEND_TIMEOUT)
        .connect_timeout(SEND_TIMEOUT);
    if tls {
        endpoint
            .tls_config(ClientTlsConfig::new().with_enabled_roots())
            .map_err(cannot)
    } else {
        Ok(endpoint)
    }
}

fn metadata(settings: &OtlpLogsSettings) -> Result<MetadataMap, String> {
    let mut metadata = MetadataMap::new();
    for (name, value) in &settings.headers {
        let key = MetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes())
            .map_err(|_| format!("`{name}` is not a header's name"))?;
        let mut value = MetadataValue::try_from(value.reveal())
            .map_err(|_| format!("the header {name} has characters that it cannot carry"))?;
        value.set_sensitive(true);
        metadata.insert(key, value);
    }
    Ok(metadata)
}

fn logs_request(alerts: &[Alert]) -> ExportLogsServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let resource = vec![
        text("service.name", "eddy"),
        text("service.version", version),
    ];
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            resource: Some(Resource {
                attributes: resource,
                ..Resource::default()
            }),
            scope_logs: vec![ScopeLogs {
                scope: Some(InstrumentationScope {
                    name: "eddy".to_owned(),
                    version: version.to_owned(),
                    ..InstrumentationScope::default()
                }),
                log_records: alerts.iter().map(log_record).collect(),
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    }
}

fn log_record(alert: &Alert) -> LogRecord {
    let warning = &alert.warning;
    let at_ns = alert.at_ms.saturating_mul(1_000_000);
    let (number, name) = match (warning.state, warning.severity) {
        (WarningState::Resolved, _) | (_, Severity::Info) => (SeverityNumber::Info, "INFO"),
        (_, Severity::Warning) => (SeverityNumber::Warn, "WARN"),
        (_, Severity::Critical) => (SeverityNumber::Error, "ERROR"),
    };
    let trace = trace_of(&alert.run_id);
    let span = trace.and(warning.evidence.last());
    LogRecord {
        time_unix_nano: at_ns,
        observed_time_unix_nano: at_ns,
        severity_number: number.into(),
        severity_text: name.to_owned(),
        event_name: "eddy.warning".to_owned(),
        body: Some(string(&warning.what_happened)),
        attributes: attributes(alert),
        trace_id: trace
            .map(|trace| trace.to_be_bytes().to_vec())
            .unwrap_or_default(),
        span_id: span.map(|span| span.0.to_vec()).unwrap_or_default(),
        ..LogRecord::default()
    }
}

/// The trace by which a run is known, if it is known by one: 32 hexadecimal digits.
fn trace_of(run_id: &str) -> Option<u128> {
    let is_trace = run_id.len() == 32 && run_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(run_id, 16)
        .ok()
        .filter(|trace| is_trace && *trace != 0)
}

fn attributes(alert: &Alert) -> Vec<KeyValue> {
    let warning = &alert.warning;
    let mut attributes = vec![
        text("eddy.run.id", &alert.run_id),
        int("eddy.run.score", alert.score.into()),
        text("eddy.warning.id", &hex_id(warning.id)),
        text("eddy.warning.incident", &hex_id(warning.incident)),
        int("eddy.warning.revision", warning.revision.into()),
        text("eddy.warning.change", alert.change.name()),
        text("eddy.warning.rule", warning.rule.name()),
        text("eddy.warning.severity", warning.severity.name()),
        text("eddy.warning.state", warning.state.name()),
        int("eddy.warning.count", warning.count),
        int("eddy.warning.penalty", warning.penalty.into()),
        text("eddy.warning.why_it_matters", &warning.why_it_matters),
        text("eddy.warning.what_to_try", &warning.what_to_try),
        int("eddy.warning.tokens", warning.tokens),
        attribute(
            "eddy.warning.cost_usd",
            Value::DoubleValue(dollars(warning.cost_microusd)),
        ),
        attribute("eddy.warning.evidence", evidence(alert)),
    ];
    let optional = [
        ("eddy.run.service", alert.service.as_deref()),
        ("gen_ai.agent.name", warning.agent.as_deref()),
        ("gen_ai.tool.name", warning.tool.as_deref()),
        (
            "eddy.warning.first_seen",
            rfc3339(warning.first_seen_ns).as_deref(),
        ),
        (
            "eddy.warning.last_seen",
            rfc3339(warning.last_seen_ns).as_deref(),
        ),
    ]
    .map(|(key, value)| value.map(|value| text(key, value)));
    attributes.extend(optional.into_iter().flatten());
    attributes
}

fn evidence(alert: &Alert) -> Value {
    let spans = alert
        .warning
        .evidence
        .iter()
        .map(|span| string(&hex_span(*span)));
    Value::ArrayValue(ArrayValue {
        values: spans.collect(),
    })
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

fn int(key: &str, value: u64) -> KeyValue {
    attribute(
        key,
        Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
    )
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn string(value: &str) -> AnyValue {
    AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    }
}
