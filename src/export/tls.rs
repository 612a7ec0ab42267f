//! What TLS needs beside an address: the authorities of the receiver's certificate, and a certificate to show to it.

use std::path::Path;

use super::http::causes;
use super::settings::ForwardSettings;

/// The files of TLS that settings name, as they are in PEM and can be used.
#[derive(Default)]
pub(super) struct Tls {
    /// Without them, those that this machine trusts.
    pub(super) authorities: Option<Vec<u8>>,
    /// A certificate, and its private key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Tls {
    /// Reads the files that settings name.
    pub(super) fn read(settings: &ForwardSettings) -> Result<Self, String> {
        let ca_file = settings.ca_file.as_deref();
        let identity = settings.identity.as_ref();
        Ok(Self {
            authorities: ca_file.map(authorities).transpose()?,
            identity: identity
                .map(|(certificate, key)| identity_of(certificate, key))
                .transpose()?,
        })
    }
}

fn authorities(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: &dyn std::fmt::Display| {
        format!("`tls.ca_file` {} cannot be used: {error}", path.display())
    };
    let pem = std::fs::read(path).map_err(|error| cannot(&error))?;
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(found) if found.is_empty() => Err(cannot(&"there is no certificate in it")),
        Ok(_) => Ok(pem),
        Err(error) => Err(cannot(&error)),
    }
}

fn identity_of(certificate: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), String> {
    let read = |path: &Path| {
        let read = std::fs::read(path);
        read.map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    let (chain, private) = (read(certificate)?, read(key)?);
    let both = [&*private, b"\n", &*chain].concat();
    match reqwest::Identity::from_pem(&both) {
        Ok(_) => Ok((chain, private)),
        Err(error) => Err(format!(
            "the certificate in {} with the key in {} cannot be used: {}",
            certificate.display(),
            key.display(),
            causes(&error)
        )),
    }
}
