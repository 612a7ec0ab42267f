//! What TLS needs beside an address: the authorities of the receiver's certificate, and a certificate to show to it.

use std::fmt::Display;
use std::path::Path;

use super::causes::causes;
use super::settings::{Fault, TlsFiles};

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
    pub(super) fn read(files: &TlsFiles) -> Result<Self, Fault> {
        let ca_file = files.ca_file.as_deref();
        let identity = files.identity.as_ref();
        Ok(Self {
            authorities: ca_file.map(authorities).transpose()?,
            identity: identity
                .map(|(certificate, key)| identity_of(certificate, key))
                .transpose()?,
        })
    }
}

fn authorities(path: &Path) -> Result<Vec<u8>, Fault> {
    const KEY: &str = "tls.ca_file";
    let pem = read(KEY, path)?;
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(found) if found.is_empty() => Err(useless(KEY, path, "there is no certificate in it")),
        Ok(_) => Ok(pem),
        Err(error) => Err(useless(KEY, path, causes(&error))),
    }
}

fn identity_of(certificate: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let chain = read("tls.cert_file", certificate)?;
    let private = read("tls.key_file", key)?;
    let both = [&*private, b"\n", &*chain].concat();
    match reqwest::Identity::from_pem(&both) {
        Ok(_) => Ok((chain, private)),
        Err(error) => {
            let why = format!("with the key in `{}`: {}", key.display(), causes(&error));
            Err(useless("tls.cert_file", certificate, why))
        }
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Fault> {
    let read = std::fs::read(path);
    read.map_err(|error| Fault::new(key, format!("`{}` cannot be read: {error}", path.display())))
}

fn useless(key: &'static str, path: &Path, why: impl Display) -> Fault {
    Fault::new(key, format!("`{}` cannot be used: {why}", path.display()))
}
