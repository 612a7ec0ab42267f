//! What the configuration may say, word for word: the one shape of the YAML, and every default.
//!
//! Nothing here is checked beyond its type; `check.rs` turns a shape into settings on which the rest of the daemon may
//! rely. `config/reference.yaml` is the manual page of this file, and a test holds the two together. `eddy config print`
//! writes a shape back out, with secrets masked.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Durability;
use super::access::{Auth, Cors, Tls};
use super::forward::{ClientTls, OtlpForward, OwnSpans, Retry};
use super::values::{MemoryLimit, Period, Secret, without_secrets};
use crate::telemetry::Logs;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shape {
    pub(super) receivers: Receivers,
    pub(super) exporters: Exporters,
    pub(super) service: Service,
    pub(super) runs: Runs,
    pub(super) normalize: Normalize,
    pub(super) detectors: Detectors,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Receivers {
    pub(super) otlp: Otlp,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Otlp {
    pub(super) protocols: Protocols,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Protocols {
    pub(super) grpc: Grpc,
    pub(super) http: Http,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Grpc {
    pub(super) endpoint: String,
    pub(super) max_recv_msg_size_mib: u64,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Auth,
}

impl Default for Grpc {
    fn default() -> Self {
        Self {
            endpoint: "127.0.0.1:4317".to_owned(),
            max_recv_msg_size_mib: 16,
            tls: None,
            auth: Auth::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Http {
    pub(super) enabled: bool,
    pub(super) endpoint: String,
    pub(super) max_request_body_size_mib: u64,
    pub(super) cors: Cors,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Auth,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: true,
            endpoint: "127.0.0.1:4318".to_owned(),
            max_request_body_size_mib: 16,
            cors: Cors::default(),
            tls: None,
            auth: Auth::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Service {
    pub(super) api: Api,
    pub(super) allow_insecure: bool,
    pub(super) data_dir: Option<String>,
    pub(super) shards: Option<u16>,
    pub(super) memory_limit_mib: MemoryLimit,
    pub(super) durability: Durability,
    pub(super) snapshot_interval: Period,
    pub(super) shutdown_deadline: Period,
    pub(super) telemetry: Telemetry,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            api: Api::default(),
            allow_insecure: false,
            data_dir: None,
            shards: None,
            memory_limit_mib: MemoryLimit::Auto,
            durability: Durability::Power,
            snapshot_interval: Period(Duration::from_secs(60)),
            shutdown_deadline: Period(Duration::from_secs(10)),
            telemetry: Telemetry::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Api {
    pub(super) endpoint: String,
    pub(super) show_arguments: bool,
    pub(super) reflection: bool,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Auth,
}

impl Default for Api {
    fn default() -> Self {
        Self {
            endpoint: "127.0.0.1:4319".to_owned(),
            show_arguments: false,
            reflection: false,
            tls: None,
            auth: Auth::default(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Telemetry {
    pub(super) logs: Logs,
    pub(super) traces: Traces,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Traces {
    pub(super) sampling_ratio: f64,
    pub(super) otlp: Option<OwnSpans>,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            sampling_ratio: 0.01,
            otlp: None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Runs {
    pub(super) idle: Period,
    pub(super) resident_max: u64,
    pub(super) retention: Retention,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            idle: Period(Duration::from_secs(5 * 60)),
            resident_max: 10_000,
            retention: Retention::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Retention {
    pub(super) age: Period,
    pub(super) runs: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age: Period(Duration::from_secs(7 * 24 * 3600)),
            runs: 100_000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Normalize {
    pub(super) worker_attributes: Vec<String>,
    pub(super) prices_file: Option<String>,
}

impl Default for Normalize {
    fn default() -> Self {
        Self {
            worker_attributes: crate::normalize::Settings::default().worker_attributes,
            prices_file: None,
        }
    }
}

/// `rules` is missing here: it is laid over the profile's rules before anything is read (`profile.rs`).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Detectors {
    pub(super) profile: super::profile::Name,
    pub(super) cost_budget_usd: Option<f64>,
    pub(super) recovery_calls: Option<u32>,
}

impl Default for Detectors {
    fn default() -> Self {
        Self {
            profile: super::profile::Name::Standard,
            cost_budget_usd: None,
            recovery_calls: None,
        }
    }
}

/// Where alerts go, by name: a kind, or a kind and a name of one's own after a slash.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exporters(pub(super) Vec<(String, Exporter)>);

impl Default for Exporters {
    fn default() -> Self {
        Self(vec![(
            "terminal".to_owned(),
            Exporter::Terminal(Terminal {}),
        )])
    }
}

/// The settings of one exporter.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Exporter {
    Terminal(Terminal),
    File(File),
    OtlpLogs(OtlpLogs),
    Webhook(Webhook),
    OtlpForward(OtlpForward),
}

impl Exporter {
    const KINDS: &[&str] = &["terminal", "file", "otlp_logs", "webhook", "otlp_forward"];
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Terminal {}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) path: String,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OtlpLogs {
    #[serde(serialize_with = "without_secrets")]
    pub(super) endpoint: String,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Secret>,
    #[serde(default)]
    pub(super) tls: ClientTls,
    #[serde(default)]
    pub(super) retry_on_failure: Retry,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Webhook {
    #[serde(serialize_with = "without_secrets")]
    pub(super) url: String,
    #[serde(default)]
    pub(super) token: Option<Secret>,
    #[serde(default)]
    pub(super) token_file: Option<String>,
    #[serde(default)]
    pub(super) allow_private: bool,
    #[serde(default = "max_alerts")]
    pub(super) max_alerts: u32,
    #[serde(default)]
    pub(super) external_url: Option<String>,
    #[serde(default)]
    pub(super) tls: ClientTls,
    #[serde(default)]
    pub(super) retry_on_failure: Retry,
}

/// About 50 kB of JSON in one request.
fn max_alerts() -> u32 {
    32
}

impl<'de> Deserialize<'de> for Exporters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ExportersVisitor)
    }
}

struct ExportersVisitor;

impl<'de> Visitor<'de> for ExportersVisitor {
    type Value = Exporters;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a section of exporters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Exporters, A::Error> {
        let mut exporters = Vec::new();
        while let Some(name) = map.next_key::<ExporterName>()? {
            let exporter = match name.kind {
                "terminal" => Exporter::Terminal(map.next_value()?),
                "file" => Exporter::File(map.next_value()?),
                "otlp_logs" => Exporter::OtlpLogs(map.next_value()?),
                "otlp_forward" => Exporter::OtlpForward(map.next_value()?),
                _ => Exporter::Webhook(map.next_value()?),
            };
            exporters.push((name.full, exporter));
        }
        Ok(Exporters(exporters))
    }
}

struct ExporterName {
    full: String,
    kind: &'static str,
}

impl<'de> Deserialize<'de> for ExporterName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let full = String::deserialize(deserializer)?;
        let (written, own) = full.split_once('/').unwrap_or((&full, "-"));
        let kind = Exporter::KINDS.iter().find(|kind| **kind == written);
        let kind = kind.ok_or_else(|| D::Error::unknown_field(written, Exporter::KINDS))?;
        if own.is_empty() {
            return Err(D::Error::custom("a name must follow the slash"));
        }
        Ok(Self { full, kind })
    }
}

impl Serialize for Exporters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, exporter) in &self.0 {
            map.serialize_entry(name, exporter)?;
        }
        map.end()
    }
}
