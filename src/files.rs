//! Files that the configuration names, read while a daemon runs: certificates, keys and tokens; and in words which cannot be used.
//!
//! They may lie on a disk that hangs. So each is read beside, and whoever waits for one says so; a pipe, which might keep its
//! reader waiting for ever, is not opened.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

/// Work with files that takes longer is told of: nothing else says why a change does not apply.
const PATIENCE: Duration = Duration::from_secs(3);

/// A setting that cannot be used, as where a file that it names cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    /// Its key in its section, with points in between; empty where it is no single one.
    pub key: &'static str,
    /// What is wrong, and where it helps, what would be right.
    pub text: String,
}

impl Fault {
    pub(crate) fn new(key: &'static str, text: impl Into<String>) -> Self {
        Self {
            key,
            text: text.into(),
        }
    }

    pub(crate) fn unusable(key: &'static str, path: &Path, why: impl Display) -> Self {
        Self::new(key, format!("`{}` cannot be used: {why}", path.display()))
    }
}

/// What a file holds that the key of a setting names.
pub(crate) fn read_for(key: &'static str, path: &Path) -> Result<Vec<u8>, Fault> {
    read(path)
        .map_err(|error| Fault::new(key, format!("`{}` cannot be read: {error}", path.display())))
}

/// What a file holds.
///
/// # Errors
/// It cannot be read, or is no regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// The token that a text is, or that a file holds: what surrounds it does not count. Why it is none, where it is none.
pub(crate) fn token(text: &[u8]) -> Result<&[u8], &'static str> {
    let token = text.trim_ascii();
    if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
        return Err("a token is one word of letters, digits and signs");
    }
    Ok(token)
}

/// Works with files on a thread that may wait for a disk, and says in the log where it does: `what` does not answer.
///
/// # Errors
/// The work panicked.
pub(crate) async fn beside<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    let mut working = spawn_blocking(work);
    if let Ok(done) = timeout(PATIENCE, &mut working).await {
        return done;
    }
    tracing::warn!(
        what,
        "a file does not answer, and is waited for: look at the disk that it lies on"
    );
    working.await
}

/// Which of two files cannot be used, and why.
pub(crate) enum Unfit {
    /// That of the certificate.
    Certificate(String),
    /// That of its key.
    Key(String),
}

/// The certificates in PEM, of which there must be one.
pub(crate) fn certificates_in(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| error.to_string())?;
    if read.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(read)
}

/// A certificate, with those that lead to its authority, and its private key. `path` is where the certificate was found.
pub(crate) fn pair(certificate: &[u8], key: &[u8], path: &Path) -> Result<CertifiedKey, Unfit> {
    let certificates = certificates_in(certificate).map_err(Unfit::Certificate)?;
    let key = key_in(key).map_err(Unfit::Key)?;
    CertifiedKey::from_der(certificates, key, &ring::default_provider()).map_err(|error| {
        Unfit::Key(match error {
            rustls::Error::InconsistentKeys(_) => {
                format!(
                    "it is not the key of the certificate in `{}`",
                    path.display()
                )
            }
            error => error.to_string(),
        })
    })
}

/// The private key.
fn key_in(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            "there is no private key in it, or one that is encrypted".to_owned()
        }
        error => error.to_string(),
    })
}
