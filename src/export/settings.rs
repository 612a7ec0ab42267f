//! What an exporter is told: plain values with defaults. The room `config` fills them in from YAML.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::Fault;
use crate::secret::Secret;

/// One exporter.
#[derive(Clone, Debug)]
pub struct ExporterSettings {
    /// Its name, by which its cursor is kept: an exporter that is renamed begins anew.
    pub name: String,
    /// Whose alerts these are, as they say themselves; empty for the default tenant.
    pub tenant: String,
    /// The address of the API at which commands find the runs of these alerts; empty where it is not known.
    pub api: String,
    /// Where alerts go.
    pub kind: Kind,
    /// What happens when the receiver fails.
    pub retry: Retry,
}

impl ExporterSettings {
    /// An exporter with the default retries.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            tenant: String::new(),
            api: String::new(),
            kind,
            retry: Retry::default(),
        }
    }
}

/// Where alerts go.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Standard output, for people.
    Terminal,
    /// A file of JSON lines, appended to.
    File {
        /// The file. It is made if it is not there, its directory is not. Moved away, it is made anew.
        path: PathBuf,
    },
    /// An OTLP backend or collector, as log records over gRPC.
    OtlpLogs(OtlpLogsSettings),
    /// An HTTP address that understands Alertmanager's webhook, version 4, or Alertmanager itself.
    Webhook(WebhookSettings),
    /// A receiver that a test plays.
    #[cfg(test)]
    Scripted(super::scripted::Scripted),
}

/// An OTLP backend.
#[derive(Clone, Debug)]
pub struct OtlpLogsSettings {
    /// `http://HOST:PORT` or `https://HOST:PORT`.
    pub endpoint: String,
    /// Sent with every request; for keys and tenants.
    pub headers: Vec<(String, Secret)>,
    /// Certificates, where it speaks https.
    pub tls: TlsFiles,
}

impl OtlpLogsSettings {
    /// A backend without headers, whose certificate this machine trusts.
    #[must_use]
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            headers: Vec::new(),
            tls: TlsFiles::default(),
        }
    }
}

/// A webhook.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Where to post to: `http` or `https`. Redirects are not followed, and proxies of the environment not used.
    pub url: String,
    /// In which form.
    pub form: Form,
    /// Sent as `Authorization: Bearer …`.
    pub bearer_token: Option<Secret>,
    /// The file with that token, which is read again for each request: tokens are changed.
    pub token_file: Option<PathBuf>,
    /// Whether the address may be on this machine or in a private network.
    pub allow_private: bool,
    /// Most alerts in one request, at least 1. All are of one incident, which `groupKey` names.
    pub max_alerts: usize,
    /// The address at which people reach the API, for links: `http://HOST:PORT`.
    pub external_url: Option<String>,
    /// Certificates, where it speaks https.
    pub tls: TlsFiles,
}

impl WebhookSettings {
    /// Most alerts in one request, where nothing else is asked for: about 50 kB of JSON.
    pub const MAX_ALERTS: u32 = 32;

    /// A webhook on a public address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            form: Form::Webhook,
            bearer_token: None,
            token_file: None,
            allow_private: false,
            max_alerts: Self::MAX_ALERTS as usize,
            external_url: None,
            tls: TlsFiles::default(),
        }
    }
}

/// In which form alerts are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As Alertmanager posts them to a webhook, an incident at a time.
    Webhook,
    /// As Alertmanager takes them, below its address at `/api/v2/alerts`.
    Alertmanager {
        /// How long an alert stays open there when no more is heard of its warning.
        lasts: Duration,
    },
}

/// An upstream to which telemetry is passed on as it came.
#[derive(Clone, Debug)]
pub struct ForwardSettings {
    /// Its name, for the log.
    pub name: String,
    /// `http://HOST:PORT` or `https://HOST:PORT`; over HTTP perhaps with a path, to which `/v1/traces` and its like are
    /// added.
    pub endpoint: String,
    /// How it is spoken to.
    pub protocol: ForwardProtocol,
    /// Sent with every request; for keys and tenants. The headers that senders sent are not passed on.
    pub headers: Vec<(String, Secret)>,
    /// Certificates, where it speaks https.
    pub tls: TlsFiles,
    /// How requests are compressed.
    pub compression: Compression,
    /// Most bytes that wait or are being sent, before compression.
    pub queue_bytes: usize,
    /// What happens when the upstream fails.
    pub retry: Retry,
}

impl ForwardSettings {
    /// Most bytes of a queue, where nothing else is asked for: some hundred requests of a usual size.
    pub const QUEUE_BYTES: usize = 64 << 20;

    /// An upstream with the defaults, and nothing tried for longer than five minutes: a request that the upstream can
    /// never take must not stand in the way of the others.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            endpoint: endpoint.into(),
            protocol: ForwardProtocol::default(),
            headers: Vec::new(),
            tls: TlsFiles::default(),
            compression: Compression::default(),
            queue_bytes: Self::QUEUE_BYTES,
            retry: Retry {
                max_elapsed: Some(Duration::from_secs(300)),
                ..Retry::default()
            },
        }
    }
}

/// The files of TLS towards a receiver that speaks https, all in PEM.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// Authorities of its certificate; without them, those that this machine trusts.
    pub ca_file: Option<PathBuf>,
    /// A certificate to show to a receiver that asks for one, followed by those that lead to its authority, and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Where the daemon's own spans go.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The backend.
    pub receiver: ForwardSettings,
    /// One in so many turns and deliveries is measured, at least 1.
    pub one_in: u64,
}

/// How an upstream is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwardProtocol {
    /// OTLP/gRPC.
    #[default]
    Grpc,
    /// OTLP/HTTP with protobuf.
    Http,
}

/// How requests are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// gzip, which every OTLP receiver must understand.
    #[default]
    Gzip,
    /// Not at all.
    None,
}

/// What happens when a receiver fails: waits that double, each cut to a random part of itself, so that many senders do not
/// come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Longest wait before the second attempt.
    pub initial: Duration,
    /// Longest wait before any.
    pub max: Duration,
    /// How long an alert or a request is tried before it is given up; an alert up to a sixteenth longer, and from the first attempt
    /// that fails when it is there. Absent: until it is delivered, or the store removes it.
    pub max_elapsed: Option<Duration>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(60),
            max_elapsed: None,
        }
    }
}

/// Settings with which an exporter cannot work: to be corrected by a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exporter {name}: {fault}")]
pub struct SettingsError {
    /// The exporter.
    pub name: String,
    /// What is wrong.
    pub fault: Fault,
}

impl SettingsError {
    pub(super) fn new(name: &str, fault: Fault) -> Self {
        Self {
            name: name.to_owned(),
            fault,
        }
    }
}
