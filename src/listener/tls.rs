//! Certificates: from PEM files to what a handshake needs, and again when the files change.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{CertificateError, RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::files::{Fault, Unfit, certificates_in, pair, read_for};
use crate::telemetry::Throttle;

/// Protocols offered in the handshake: HTTP/2 for gRPC and those who can, HTTP/1.1 for the others.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// How long before its end a certificate is warned of: two weeks, which is time to make another.
const NOTICE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How often the dates of certificates are looked at that stay as they are.
const LOOK_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the certificates of a listener are, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The listener's section of the configuration, by which the log names it.
    pub section: String,
    /// The listener's certificate, followed by those that lead to its authority.
    pub cert_file: PathBuf,
    /// The certificate's private key.
    pub key_file: PathBuf,
    /// The authorities of client certificates; when given, a client without one of theirs is refused.
    pub client_ca_file: Option<PathBuf>,
    /// The oldest version of TLS that is spoken.
    pub min_version: TlsVersion,
}

/// A version of TLS, in the Collector's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum TlsVersion {
    /// 1.2.
    #[default]
    #[serde(rename = "1.2")]
    V12,
    /// 1.3.
    #[serde(rename = "1.3")]
    V13,
}

/// The contents of the files.
#[derive(PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// Certificates that are read again when their files change.
pub(super) struct Tls {
    files: TlsFiles,
    current: Mutex<(Contents, Arc<ServerConfig>)>,
    /// When the dates of these were looked at.
    looked: Mutex<Instant>,
    trouble: Throttle,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.files).finish()
    }
}

impl Tls {
    /// Reads the files.
    pub(super) fn read(files: &TlsFiles) -> Result<Self, Fault> {
        let contents = contents(files)?;
        let config = config(files, &contents)?;
        Ok(Self {
            files: files.clone(),
            current: Mutex::new((contents, config)),
            looked: Mutex::new(Instant::now()),
            trouble: Throttle::default(),
        })
    }

    /// Everything that is wrong with the files, as far as it can be said of each by itself.
    pub(super) fn faults(files: &TlsFiles) -> Vec<Fault> {
        let own = [
            ("cert_file", &files.cert_file),
            ("key_file", &files.key_file),
        ];
        let client_ca = files.client_ca_file.iter();
        let all = own
            .into_iter()
            .chain(client_ca.map(|path| ("client_ca_file", path)));
        let unread: Vec<Fault> = all
            .filter_map(|(key, path)| read_for(key, path).err())
            .collect();
        if unread.is_empty() {
            return Self::read(files).err().into_iter().collect();
        }
        unread
    }

    /// What the next handshake uses.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.1)
    }

    /// Reads the files again; where they cannot be used, the old certificates stay.
    pub(super) fn refresh(&self) {
        let fresh = contents(&self.files).and_then(|contents| {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if current.0 == contents {
                return Ok(None);
            }
            drop(current);
            let config = config(&self.files, &contents)?;
            Ok(Some((contents, config)))
        });
        let (listener, cert_file) = (&self.files.section, self.files.cert_file.display());
        match fresh {
            Ok(None) => self.look_again(),
            Ok(Some(fresh)) => {
                *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
                tracing::info!(listener, %cert_file, "the certificates have changed; new connections use them");
            }
            Err(fault) => {
                if let Some(times) = self.trouble.times() {
                    tracing::warn!(listener, %cert_file, %fault, times, "the certificates cannot be used; the old ones stay");
                }
            }
        }
    }

    /// Looks at the dates of what has not changed, once a day.
    fn look_again(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() < LOOK_AGAIN {
            return;
        }
        *looked = Instant::now();
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(certificates) = certificates_in(&current.0.cert) {
            warn_of_dates(&self.files, &certificates);
        }
    }
}

fn contents(files: &TlsFiles) -> Result<Contents, Fault> {
    let client_ca = files.client_ca_file.as_deref();
    Ok(Contents {
        cert: read_for("cert_file", &files.cert_file)?,
        key: read_for("key_file", &files.key_file)?,
        client_ca: client_ca
            .map(|path| read_for("client_ca_file", path))
            .transpose()?,
    })
}

fn config(files: &TlsFiles, contents: &Contents) -> Result<Arc<ServerConfig>, Fault> {
    let provider = Arc::new(ring::default_provider());
    let versions: &[&SupportedProtocolVersion] = match files.min_version {
        TlsVersion::V12 => &[&version::TLS13, &version::TLS12],
        TlsVersion::V13 => &[&version::TLS13],
    };
    let pair = pair(&contents.cert, &contents.key, &files.cert_file);
    let pair = pair.map_err(|unfit| match unfit {
        Unfit::Certificate(why) => Fault::unusable("cert_file", &files.cert_file, why),
        Unfit::Key(why) => Fault::unusable("key_file", &files.key_file, why),
    })?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| Fault::unusable("min_version", &files.cert_file, error))?;
    let builder = match verifier(files, contents, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let certificates = pair.cert.clone();
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    warn_of_dates(files, &certificates);
    Ok(Arc::new(config))
}

/// Says what clients will say of a certificate that is too old or too new. It is used all the same: the daemon's clock may be
/// the one that is wrong.
fn warn_of_dates(files: &TlsFiles, certificates: &[CertificateDer<'_>]) {
    let (listener, cert_file) = (&files.section, files.cert_file.display());
    let now = UnixTime::now();
    let soon = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + NOTICE);
    let in_time = |limit: UnixTime| {
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(limit.as_secs()))
    };
    match out_of_date(certificates, now).or_else(|| out_of_date(certificates, soon)) {
        Some(CertificateError::ExpiredContext { not_after, .. }) if not_after < now => {
            let not_after = in_time(not_after);
            tracing::error!(listener, %cert_file, %not_after, "clients refuse this certificate, whose time is over; a new one in its place is used at once");
        }
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            let not_after = in_time(not_after);
            tracing::warn!(listener, %cert_file, %not_after, "clients refuse this certificate from its end on; a new one in its place is used at once");
        }
        Some(CertificateError::NotValidYetContext { not_before, .. }) => {
            let not_before = in_time(not_before);
            tracing::warn!(listener, %cert_file, %not_before, "clients refuse this certificate until it is valid");
        }
        _ => {}
    }
}

/// What is wrong with the dates of a chain at a time, for a client that trusts its last certificate, and with nothing else: the
/// issuer need not be among them.
pub(super) fn out_of_date(
    certificates: &[CertificateDer<'_>],
    at: UnixTime,
) -> Option<CertificateError> {
    let (own, issuers) = certificates.split_first()?;
    let mut roots = RootCertStore::empty();
    roots.add(certificates.last()?.clone().into_owned()).ok()?;
    let verified = verify_server_cert_signed_by_trust_anchor(
        &ParsedCertificate::try_from(own).ok()?,
        &roots,
        issuers,
        at,
        ring::default_provider()
            .signature_verification_algorithms
            .all,
    );
    match verified {
        Err(rustls::Error::InvalidCertificate(
            fault @ (CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYetContext { .. }),
        )) => Some(fault),
        _ => None,
    }
}

/// Who tells whether a client's certificate is good, when clients must have one.
fn verifier(
    files: &TlsFiles,
    contents: &Contents,
    provider: Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Fault> {
    let key = "client_ca_file";
    let (Some(path), Some(pem)) = (&files.client_ca_file, &contents.client_ca) else {
        return Ok(None);
    };
    let mut roots = RootCertStore::empty();
    let certificates = certificates_in(pem);
    for certificate in certificates.map_err(|why| Fault::unusable(key, path, why))? {
        let added = roots.add(certificate);
        added.map_err(|error| Fault::unusable(key, path, error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| Fault::unusable(key, path, error))?;
    Ok(Some(verifier))
}
