//! What TLS needs beside an address: the authorities of the receiver's certificate, and a certificate to show to it.
//!
//! Certificates end, and others are put in their place. So the files are read again whenever a receiver does not take what it is
//! sent, for it may be that it does not take the certificate; connections that work are left alone.

use std::path::Path;

use super::Delivery;
use super::settings::TlsFiles;
use crate::files::{self, Fault, Unfit, pair, read_for};
use crate::telemetry::causes;

/// The keys of the settings that name them, in the section of what sends.
pub(crate) const CA_FILE: &str = "tls.ca_file";
pub(crate) const CERT_FILE: &str = "tls.cert_file";
pub(crate) const KEY_FILE: &str = "tls.key_file";

/// The files of TLS that settings name, as they are in PEM and can be used.
#[derive(Default, PartialEq)]
pub(super) struct Tls {
    /// Without them, those that this machine trusts.
    pub(super) authorities: Option<Vec<u8>>,
    /// A certificate, and its private key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// These, and where they came from.
pub(super) struct Certificates {
    files: TlsFiles,
    read: Tls,
}

impl Certificates {
    pub(super) fn read(files: &TlsFiles) -> Result<Self, Fault> {
        Ok(Self {
            files: files.clone(),
            read: Tls::read(files)?,
        })
    }

    pub(super) fn tls(&self) -> &Tls {
        &self.read
    }

    /// What an attempt has come to. Where it was not taken and there are others in the files by now, these are used from here on,
    /// and it is tried again: a server that does not take a certificate may as well say that it does not take the request.
    pub(super) async fn looked_at_again(
        &mut self,
        answer: Delivery,
        use_these: impl FnOnce(&Tls),
    ) -> Delivery {
        if matches!(answer, Delivery::Taken) || !self.are_renewed().await {
            return answer;
        }
        use_these(&self.read);
        answer.again()
    }

    /// Reads the files again. Whether there are others in them now, which can be used.
    async fn are_renewed(&mut self) -> bool {
        if self.read == Tls::default() {
            return false;
        }
        let files = self.files.clone();
        match files::beside("an exporter's certificates", move || Tls::read(&files)).await {
            Ok(Ok(read)) if read != self.read => {
                self.read = read;
                true
            }
            _ => false,
        }
    }
}

impl Tls {
    /// Reads the files that settings name.
    fn read(files: &TlsFiles) -> Result<Self, Fault> {
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
    let pem = read_for(CA_FILE, path)?;
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(found) if found.is_empty() => Err(Fault::unusable(
            CA_FILE,
            path,
            "there is no certificate in it",
        )),
        Ok(_) => Ok(pem),
        Err(error) => Err(Fault::unusable(CA_FILE, path, causes(&error))),
    }
}

fn identity_of(certificate: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let (chain, private) = (read_for(CERT_FILE, certificate)?, read_for(KEY_FILE, key)?);
    pair(&chain, &private, certificate).map_err(|unfit| match unfit {
        Unfit::Certificate(why) => Fault::unusable(CERT_FILE, certificate, why),
        Unfit::Key(why) => Fault::unusable(KEY_FILE, key, why),
    })?;
    match reqwest::Identity::from_pem(&[&*private, b"\n", &*chain].concat()) {
        Ok(_) => Ok((chain, private)),
        Err(error) => Err(Fault::unusable(CERT_FILE, certificate, causes(&error))),
    }
}
