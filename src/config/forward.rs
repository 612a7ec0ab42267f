//! What the configuration may say of a receiver to which telemetry is passed on, and of trying again, which all receivers have.

use std::collections::BTreeMap;

use super::values::{Mebibytes, Period};
use crate::export::{self, Compression, ForwardProtocol, ForwardSettings};
use crate::secret::{Secret, without_secrets};

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OtlpForward {
    #[serde(serialize_with = "without_secrets")]
    pub(super) endpoint: String,
    #[serde(default)]
    pub(super) protocol: ForwardProtocol,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Secret>,
    #[serde(default)]
    pub(super) tls: ClientTls,
    #[serde(default)]
    pub(super) compression: Compression,
    #[serde(default = "queue_mib")]
    pub(super) queue_mib: Mebibytes,
    #[serde(default)]
    pub(super) retry_on_failure: Retry,
}

/// Where the daemon's own spans go.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnSpans {
    #[serde(serialize_with = "without_secrets")]
    pub(super) endpoint: String,
    #[serde(default)]
    pub(super) protocol: ForwardProtocol,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Secret>,
    #[serde(default)]
    pub(super) tls: ClientTls,
}

fn queue_mib() -> Mebibytes {
    Mebibytes::of(ForwardSettings::QUEUE_BYTES)
}

/// How the certificate of a receiver is looked at, and which one is shown to it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
#[expect(
    clippy::struct_field_names,
    reason = "the keys of a listener's certificate have these names, too"
)]
pub(super) struct ClientTls {
    pub(super) ca_file: Option<String>,
    pub(super) cert_file: Option<String>,
    pub(super) key_file: Option<String>,
}

#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Retry {
    pub(super) initial_interval: Period,
    pub(super) max_interval: Period,
    pub(super) max_elapsed_time: Option<Period>,
}

impl Default for Retry {
    fn default() -> Self {
        let defaults = export::Retry::default();
        Self {
            initial_interval: Period(defaults.initial),
            max_interval: Period(defaults.max),
            max_elapsed_time: defaults.max_elapsed.map(Period),
        }
    }
}
