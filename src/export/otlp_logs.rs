//! Alerts to an OTLP backend or collector, as log records over gRPC.
//!
//! Each alert is an event named `eddy.warning`. Its attributes use the names of the `GenAI` conventions where these have one
//! (`gen_ai.tool.name`, `gen_ai.agent.name`), else names under `eddy.`. A run that is known by its trace id is linked to
//! that trace, at the newest span of the loop.

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{ArrayValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::Endpoint;
use tonic::{Code, Extensions, Request};

use super::otlp::{attribute, int, resource, scope, string, text};
use super::settings::{OtlpLogsSettings, SettingsError};
use super::tls::{Certificates, Tls};
use super::{Delivery, NotTaken, REPLY_BYTES_MAX, grpc};
use crate::engine::guard::verdict::VerdictKind;
use crate::engine::warning::{Severity, WarningState};
use crate::json::{dollars, hex_id, hex_span, rfc3339};
use crate::render::text::clean;
use crate::store::alert::Alert;

/// An OTLP backend.
pub(super) struct OtlpLogs {
    tenant: String,
    address: String,
    certificates: Certificates,
    endpoint: Endpoint,
    metadata: MetadataMap,
    /// Made by the first batch, because a channel needs a runtime and checking settings does not have one.
    client: Option<LogsServiceClient<grpc::Connection>>,
}

impl OtlpLogs {
    pub(super) fn new(
        name: &str,
        tenant: &str,
        settings: &OtlpLogsSettings,
    ) -> Result<Self, SettingsError> {
        let wrong = |fault| SettingsError::new(name, fault);
        let certificates = Certificates::read(&settings.tls).map_err(wrong)?;
        let endpoint = grpc::endpoint(&settings.endpoint, certificates.tls()).map_err(wrong)?;
        Ok(Self {
            tenant: tenant.to_owned(),
            address: settings.endpoint.clone(),
            certificates,
            endpoint,
            metadata: grpc::metadata(&settings.headers).map_err(wrong)?,
            client: None,
        })
    }

    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Delivery {
        self.export(alerts.iter().map(log_record).collect()).await
    }

    pub(super) async fn export(&mut self, records: Vec<LogRecord>) -> Delivery {
        let answer = self.try_to_export(records).await;
        let renew = |tls: &Tls| {
            if let Ok(endpoint) = grpc::endpoint(&self.address, tls) {
                self.endpoint = endpoint;
                self.client = None;
            }
        };
        self.certificates.looked_at_again(answer, renew).await
    }

    async fn try_to_export(&mut self, records: Vec<LogRecord>) -> Delivery {
        let sent = records.len() as u64;
        let request = Request::from_parts(
            self.metadata.clone(),
            Extensions::default(),
            logs_request(&self.tenant, records),
        );
        let client = self.client.get_or_insert_with(|| {
            LogsServiceClient::new(grpc::connection(&self.endpoint))
                .send_compressed(CompressionEncoding::Gzip)
                .max_decoding_message_size(REPLY_BYTES_MAX)
        });
        match client.export(request).await {
            Ok(reply) => taken(reply.into_inner(), sent),
            Err(status) => match (status.code(), grpc::refused(&status, &self.endpoint)) {
                // Another key may mend it, as with the webhook.
                (Code::Unauthenticated | Code::PermissionDenied, Delivery::Refused { reason }) => {
                    Delivery::later(reason)
                }
                (_, answer) => answer,
            },
        }
    }
}

/// What the receiver says of so many records. It may say that it refused more than there were.
fn taken(reply: ExportLogsServiceResponse, sent: u64) -> Delivery {
    match reply.partial_success {
        Some(partial) if partial.rejected_log_records > 0 => Delivery::Partly {
            refused: partial.rejected_log_records.unsigned_abs().min(sent),
            reason: NotTaken::from(format!(
                "the receiver refused some records: {}",
                clean(&partial.error_message)
            )),
        },
        _ => Delivery::Taken,
    }
}

fn logs_request(tenant: &str, log_records: Vec<LogRecord>) -> ExportLogsServiceRequest {
    let mut resource = resource();
    if !tenant.is_empty() {
        resource.attributes.push(text("eddy.tenant", tenant));
    }
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            resource: Some(resource),
            scope_logs: vec![ScopeLogs {
                scope: Some(scope()),
                log_records,
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
    let trace = alert.trace;
    let span = trace.and(warning.evidence.last());
    LogRecord {
        time_unix_nano: at_ns,
        observed_time_unix_nano: at_ns,
        severity_number: number.into(),
        severity_text: name.to_owned(),
        event_name: "eddy.warning".to_owned(),
        body: Some(string(&warning.what_happened)),
        attributes: attributes(alert),
        trace_id: trace.map(|trace| trace.0.to_vec()).unwrap_or_default(),
        span_id: span.map(|span| span.0.to_vec()).unwrap_or_default(),
        ..LogRecord::default()
    }
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
        ("eddy.guard.verdict", warning.verdict.map(VerdictKind::name)),
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
    if warning.verdict.is_some() {
        let enforced = Value::BoolValue(!warning.verdict_observed);
        attributes.push(attribute("eddy.guard.enforced", enforced));
    }
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

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsPartialSuccess;
    use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
        LogsService, LogsServiceServer,
    };
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
    use tokio::net::{TcpListener, TcpStream};
    use tokio_stream::wrappers::TcpListenerStream;
    use tonic::transport::Server;
    use tonic::{Response, Status};
    use tonic_types::{ErrorDetails, StatusExt};

    use super::*;
    use crate::export::samples::{alert, resolved};
    use crate::export::{Cause, ExporterSettings, Kind};
    use crate::secret::Secret;

    type Reply = Result<ExportLogsServiceResponse, Status>;

    /// A collector that answers everything in one way and keeps what it was sent.
    #[derive(Clone)]
    struct Collector {
        reply: fn() -> Reply,
        requests: Arc<Mutex<Vec<Request<ExportLogsServiceRequest>>>>,
    }

    #[tonic::async_trait]
    impl LogsService for Collector {
        async fn export(
            &self,
            request: Request<ExportLogsServiceRequest>,
        ) -> Result<Response<ExportLogsServiceResponse>, Status> {
            self.requests.lock().expect("no panic").push(request);
            (self.reply)().map(Response::new)
        }
    }

    impl Collector {
        async fn serve(reply: fn() -> Reply) -> (Self, SocketAddr) {
            let collector = Self {
                reply,
                requests: Arc::default(),
            };
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
            let address = listener.local_addr().expect("bound");
            let service = LogsServiceServer::new(collector.clone())
                .accept_compressed(CompressionEncoding::Gzip);
            let server = Server::builder().add_service(service);
            tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
            (collector, address)
        }
    }

    fn otlp_logs(endpoint: String) -> OtlpLogs {
        let headers = vec![("X-Api-Key".to_owned(), Secret::from("hunter2".to_owned()))];
        let settings = OtlpLogsSettings {
            headers,
            ..OtlpLogsSettings::new(endpoint)
        };
        OtlpLogs::new("collector", "", &settings).expect("settings that work")
    }

    /// Says that it took the records but for so many.
    fn in_part(rejected_log_records: i64, why: &str) -> ExportLogsServiceResponse {
        let partial = ExportLogsPartialSuccess {
            rejected_log_records,
            error_message: why.to_owned(),
        };
        ExportLogsServiceResponse {
            partial_success: Some(partial),
        }
    }

    async fn sent(reply: fn() -> Reply) -> Delivery {
        let (_, address) = Collector::serve(reply).await;
        otlp_logs(format!("http://{address}"))
            .send(&[alert(1, 1)])
            .await
    }

    fn attribute_of<'a>(record: &'a LogRecord, key: &str) -> Option<&'a Value> {
        let found = record
            .attributes
            .iter()
            .find(|attribute| attribute.key == key)?;
        found.value.as_ref()?.value.as_ref()
    }

    // Given a batch; the collector gets it compressed, with the headers and the exporter's name, as events with the conventions'
    // names.
    #[tokio::test]
    async fn alerts_become_events() {
        let (collector, address) =
            Collector::serve(|| Ok(ExportLogsServiceResponse::default())).await;
        let mut exporter = otlp_logs(format!("http://{address}"));
        assert_eq!(
            exporter.send(&[alert(0xab, 2), resolved(0xab, 3)]).await,
            Delivery::Taken
        );
        let requests = collector.requests.lock().expect("no panic");
        let request = &requests[0];
        let header = |name: &str| {
            request
                .metadata()
                .get(name)
                .and_then(|text| text.to_str().ok())
        };
        assert_eq!(header("x-api-key"), Some("hunter2"));
        assert_eq!(header("grpc-encoding"), Some("gzip"));
        let agent = header("user-agent").expect("it is named");
        assert!(agent.starts_with(concat!("eddy/", env!("CARGO_PKG_VERSION"), " ")));
        let records = &request.get_ref().resource_logs[0].scope_logs[0].log_records;
        let [record, end] = &records[..] else {
            panic!("two records")
        };
        assert_eq!(record.event_name, "eddy.warning");
        assert_eq!(
            (record.severity_number, record.severity_text.as_str()),
            (13, "WARN")
        );
        assert_eq!(
            record.body,
            Some(string(&alert(0xab, 2).warning.what_happened))
        );
        let text = |text: &str| Value::StringValue(text.to_owned());
        assert_eq!(
            attribute_of(record, "gen_ai.tool.name"),
            Some(&text("web_search"))
        );
        assert_eq!(
            attribute_of(record, "eddy.warning.id"),
            Some(&text("00000000000000ab"))
        );
        assert_eq!(
            attribute_of(record, "eddy.warning.revision"),
            Some(&Value::IntValue(2))
        );
        assert_eq!(record.trace_id[..2], [0x4b, 0xf9]);
        assert_eq!(
            record.span_id,
            [0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]
        );
        assert_eq!(end.severity_text, "INFO");
        assert_eq!(
            attribute_of(end, "eddy.warning.state"),
            Some(&text("resolved"))
        );
    }

    // Given replies of all kinds; they are repeated as OTLP says, and where a key is refused.
    #[tokio::test]
    async fn replies_decide_what_comes_next() {
        let answer = sent(|| Err(Status::unavailable("away"))).await;
        assert_eq!(
            answer,
            Delivery::later(NotTaken::of(
                "the receiver answered Unavailable: away",
                Cause::Busy
            ))
        );
        let answer = sent(|| {
            let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(9)));
            Err(Status::with_error_details(
                Code::ResourceExhausted,
                "busy",
                details,
            ))
        })
        .await;
        assert!(
            matches!(answer, Delivery::Later { after: Some(after), .. } if after.as_secs() == 9)
        );
        let answer = sent(|| Err(Status::resource_exhausted("too large"))).await;
        assert!(matches!(answer, Delivery::Refused { .. }), "{answer:?}");
        let answer = sent(|| Err(Status::unauthenticated("who\x1b[2J"))).await;
        let reason = "the receiver answered Unauthenticated: who\\x1b[2J";
        let reason = NotTaken::of(reason, Cause::Unauthenticated);
        assert_eq!(answer, Delivery::later(reason), "another key may mend it");
        let answer = sent(|| Err(Status::unknown("?"))).await;
        assert!(matches!(answer, Delivery::Refused { .. }), "{answer:?}");
        for answer in [
            sent(|| Ok(in_part(1, "old"))).await,
            // It was sent one.
            sent(|| Ok(in_part(i64::MAX, "old"))).await,
        ] {
            assert!(
                matches!(answer, Delivery::Partly { refused: 1, .. }),
                "{answer:?}"
            );
        }
    }

    // Given a reply larger than anything a collector has to say, one that never comes, and a collector that is not there;
    // none of them harms, alerts wait, and where nobody answered it is not said that somebody did.
    #[tokio::test(start_paused = true)]
    async fn silence_is_tried_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let mut exporter = otlp_logs(format!("http://{}", listener.local_addr().expect("bound")));
        let answer = exporter.send(&[alert(1, 1)]).await;
        assert!(matches!(answer, Delivery::Later { .. }), "{answer:?}");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let answer = exporter.send(&[alert(1, 1)]).await;
        let Delivery::Later { reason, .. } = &answer else {
            panic!("{answer:?}");
        };
        let begins = format!("cannot send to {address}: ");
        assert!(
            reason.what().starts_with(&begins) && reason.what().contains("Connection refused"),
            "{reason}"
        );
    }

    /// Passes bytes on to a collector; over the first connection, no more once `lost` is set.
    async fn relay(address: SocketAddr, lost: Arc<AtomicBool>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let here = listener.local_addr().expect("bound");
        tokio::spawn(async move {
            for nth in 0.. {
                let (near, _) = listener.accept().await.expect("accepted");
                let far = TcpStream::connect(address).await.expect("connected");
                let lost = lost.clone();
                let is_lost = move || nth == 0 && lost.load(Ordering::Relaxed);
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                tokio::spawn(pass(near_in, far_out, is_lost.clone()));
                tokio::spawn(pass(far_in, near_out, is_lost));
            }
        });
        here
    }

    async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, is_lost: impl Fn() -> bool) {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            if !is_lost() && to.write_all(&bytes[..read]).await.is_err() {
                return;
            }
        }
    }

    // Given a connection of which nothing comes back any more, as after a failover; the next attempt goes over another one.
    #[tokio::test]
    async fn a_lost_connection_is_left() {
        let (_, address) = Collector::serve(|| Ok(ExportLogsServiceResponse::default())).await;
        let lost = Arc::<AtomicBool>::default();
        let here = relay(address, lost.clone()).await;
        let mut exporter = otlp_logs(format!("http://{here}"));
        assert_eq!(exporter.send(&[alert(1, 1)]).await, Delivery::Taken);
        lost.store(true, Ordering::Relaxed);
        tokio::time::pause();
        let answer = exporter.send(&[alert(1, 2)]).await;
        assert!(matches!(answer, Delivery::Later { .. }), "{answer:?}");
        tokio::time::resume();
        assert_eq!(exporter.send(&[alert(1, 3)]).await, Delivery::Taken);
    }

    // Given a reply larger than anything that a collector has to say; it is not read.
    #[tokio::test]
    async fn large_replies_are_not_read() {
        let answer = sent(|| Ok(in_part(0, &"x".repeat(1 << 20)))).await;
        assert!(!matches!(answer, Delivery::Taken), "{answer:?}");
    }

    // Given settings that cannot work; the error says what would.
    #[test]
    fn settings_are_checked() {
        for (endpoint, header, problem) in [
            ("collector:4317", "a", "begins with http:// or https://"),
            ("http://me:hunter2@collector:4317", "a", "names a user"),
            ("http://", "a", "cannot be used"),
            ("http://collector:4318/v1/logs", "a", "end it with the port"),
            ("http://collector:4317", "a b", "is not a header's name"),
        ] {
            let headers = vec![(header.to_owned(), Secret::from("1".to_owned()))];
            let kind = Kind::OtlpLogs(OtlpLogsSettings {
                headers,
                ..OtlpLogsSettings::new(endpoint)
            });
            let error = ExporterSettings::new("collector", kind)
                .check()
                .expect_err(endpoint);
            assert!(error.to_string().contains(problem), "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let tls = Kind::OtlpLogs(OtlpLogsSettings::new("https://collector:4317"));
        ExporterSettings::new("collector", tls)
            .check()
            .expect("settings that work");
    }
}
