//! Where alerts and telemetry go.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::config::forward::{ClientTls, OtlpForward, Retry};
use crate::config::values::Period;
use crate::export::WebhookSettings;
use crate::secret::{Secret, without_secrets};

/// Where alerts go, by name: a kind, or a kind and a name of one's own after a slash.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::config) struct Exporters(pub(in crate::config) Vec<(String, Exporter)>);

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
pub(in crate::config) enum Exporter {
    Terminal(Terminal),
    File(File),
    OtlpLogs(OtlpLogs),
    Webhook(Webhook),
    Alertmanager(Webhook),
    OtlpForward(OtlpForward),
}

impl Exporter {
    const KINDS: &[&str] = &[
        "terminal",
        "file",
        "otlp_logs",
        "webhook",
        "alertmanager",
        "otlp_forward",
    ];
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Terminal {}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct File {
    pub(in crate::config) path: String,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct OtlpLogs {
    #[serde(serialize_with = "without_secrets")]
    pub(in crate::config) endpoint: String,
    #[serde(default)]
    pub(in crate::config) headers: BTreeMap<String, Secret>,
    #[serde(default)]
    pub(in crate::config) tls: ClientTls,
    #[serde(default)]
    pub(in crate::config) retry_on_failure: Retry,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Webhook {
    #[serde(serialize_with = "without_secrets")]
    pub(in crate::config) url: String,
    /// Alertmanager's alone, which has it in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::config) lasts: Option<Period>,
    #[serde(default)]
    pub(in crate::config) token: Option<Secret>,
    #[serde(default)]
    pub(in crate::config) token_file: Option<String>,
    #[serde(default)]
    pub(in crate::config) allow_private: bool,
    #[serde(default = "max_alerts")]
    pub(in crate::config) max_alerts: u32,
    #[serde(default)]
    pub(in crate::config) external_url: Option<String>,
    #[serde(default)]
    pub(in crate::config) tls: ClientTls,
    #[serde(default)]
    pub(in crate::config) retry_on_failure: Retry,
}

/// How long an alert lasts in Alertmanager: longer than a loop takes to grow by what is told of it.
const LASTS: Period = Period(Duration::from_secs(24 * 3_600));

fn max_alerts() -> u32 {
    WebhookSettings::MAX_ALERTS
}

impl<'de> Deserialize<'de> for Exporters {
    /// A section in which nothing is written is as good as none; `{}` says that there is no exporter.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Option::<Written>::deserialize(deserializer)?;
        Ok(written.map_or_else(Self::default, |Written(exporters)| Self(exporters)))
    }
}

struct Written(Vec<(String, Exporter)>);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ExportersVisitor)
    }
}

struct ExportersVisitor;

impl<'de> Visitor<'de> for ExportersVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a section of exporters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
        let mut exporters = Vec::new();
        while let Some(name) = map.next_key::<ExporterName>()? {
            let exporter = match name.kind {
                "terminal" => Exporter::Terminal(map.next_value()?),
                "file" => Exporter::File(map.next_value()?),
                "otlp_logs" => Exporter::OtlpLogs(map.next_value()?),
                "otlp_forward" => Exporter::OtlpForward(map.next_value()?),
                "alertmanager" => {
                    let written: Webhook = map.next_value()?;
                    Exporter::Alertmanager(Webhook {
                        lasts: written.lasts.or(Some(LASTS)),
                        ..written
                    })
                }
                _ => Exporter::Webhook(map.next_value()?),
            };
            exporters.push((name.full, exporter));
        }
        Ok(Written(exporters))
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
