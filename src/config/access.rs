//! What the configuration may say of who is let in at an address.

use crate::listener::{TlsFiles, TlsVersion};
use crate::secret::Secret;

/// The certificates of an address.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) cert_file: String,
    pub(super) key_file: String,
    #[serde(default)]
    pub(super) client_ca_file: Option<String>,
    #[serde(default)]
    pub(super) min_version: TlsVersion,
}

/// The tokens of an address; without any, none is asked for.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Auth {
    pub(super) tokens: Vec<Credential>,
}

/// A token, in one of the two ways, and whose it is.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credential {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<String>,
}

/// Where the certificates are.
pub(super) fn files(tls: &Tls, section: &[&str]) -> TlsFiles {
    TlsFiles {
        section: section.join("."),
        cert_file: (&tls.cert_file).into(),
        key_file: (&tls.key_file).into(),
        client_ca_file: tls.client_ca_file.as_ref().map(Into::into),
        min_version: tls.min_version,
    }
}

/// Which web pages may send.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cors {
    pub(super) allowed_origins: Vec<String>,
    pub(super) allowed_headers: Vec<String>,
}
