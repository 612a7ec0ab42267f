//! What the configuration may say, word for word: the one shape of the YAML, and every default; what is a room's own to know, from
//! the settings of that room.
//!
//! Nothing here is checked beyond its type; `check.rs` turns a shape into settings on which the rest of the daemon may
//! rely. `config/reference.yaml` is the manual page of this file, and a test holds the two together. `eddy config print`
//! writes a shape back out, with secrets masked.

pub(super) mod exporters;

use std::time::Duration;

use self::exporters::Exporters;
use super::Durability;
use super::access::{Auth, Cors, Tls};
use super::forward::OwnSpans;
use super::values::{Mebibytes, MemoryLimit, Period, RunCount, ShardCount, Whole};
use crate::normalize;
use crate::receiver;
use crate::shard;
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
    pub(super) max_recv_msg_size_mib: Mebibytes,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Auth,
}

impl Default for Grpc {
    fn default() -> Self {
        Self {
            endpoint: "127.0.0.1:4317".to_owned(),
            max_recv_msg_size_mib: message_size(),
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
    pub(super) max_request_body_size_mib: Mebibytes,
    pub(super) cors: Cors,
    pub(super) tls: Option<Tls>,
    pub(super) auth: Auth,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            enabled: true,
            endpoint: "127.0.0.1:4318".to_owned(),
            max_request_body_size_mib: message_size(),
            cors: Cors::default(),
            tls: None,
            auth: Auth::default(),
        }
    }
}

fn message_size() -> Mebibytes {
    Mebibytes::of(receiver::Settings::default().message_bytes_max)
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Service {
    pub(super) api: Api,
    pub(super) allow_insecure: bool,
    pub(super) data_dir: Option<String>,
    pub(super) shards: Option<ShardCount>,
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
    pub(super) resident_max: RunCount,
    pub(super) retention: Retention,
}

impl Default for Runs {
    fn default() -> Self {
        let defaults = shard::Settings::default();
        Self {
            idle: Period(defaults.idle),
            resident_max: Whole(defaults.resident_runs_max as u64),
            retention: Retention::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Retention {
    pub(super) age: Period,
    pub(super) runs: RunCount,
}

impl Default for Retention {
    fn default() -> Self {
        let defaults = shard::Settings::default();
        Self {
            age: Period(defaults.retention_age),
            runs: Whole(defaults.retention_runs),
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
            worker_attributes: normalize::Settings::default().worker_attributes,
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
