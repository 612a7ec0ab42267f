//! What is in PEM files, and in words what is not.

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What is said of a key that belongs to another certificate.
pub(crate) const NOT_ITS_KEY: &str = "it is not the key of the certificate in";

/// The certificates, of which there must be one.
pub(crate) fn certificates_in(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| error.to_string())?;
    if read.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(read)
}

/// The private key.
pub(crate) fn key_in(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            "there is no private key in it, or one that is encrypted".to_owned()
        }
        error => error.to_string(),
    })
}
