//! What went wrong in a handshake of TLS, from the error with which a client failed: whose fault it is, and what to do about it.
//!
//! A certificate that is not trusted is mended by naming its authority; one that has ended, or is for another name, is not, so each
//! is told apart.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription as Alert, CertificateError};

/// How the files of a client are called where they are named, which differs between the settings of exporters and those of
/// senders.
pub(crate) struct Names {
    /// The authorities of the server's certificate.
    pub(crate) authorities: &'static str,
    /// The certificate that the server is shown, and its key.
    pub(crate) own: &'static str,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeFault {
    /// What answers does not speak TLS.
    NoTls,
    /// It was not spoken to in TLS, and what it answers cannot be read. [`of`](Self::of) cannot tell: there was no handshake.
    Plain,
    /// It shows an authority's certificate, which is what `openssl req -x509` makes where nothing is said.
    OfAuthority,
    /// Its certificate has ended; when, where that is known.
    Ended(Option<String>),
    /// Its certificate is not valid yet; from when on it is, where that is known.
    NotYet(Option<String>),
    /// Its certificate is for other names, these as far as they are known.
    OtherName(String),
    /// Its certificate is of no authority that is trusted, or wrong in another way.
    NotTrusted,
    /// It asks for a certificate and was shown none.
    Asked,
    /// The certificate that it was shown has ended.
    OwnEnded,
    /// It does not accept the certificate that it was shown.
    OwnRefused,
}

impl HandshakeFault {
    /// What went wrong in a handshake, where that is why a request failed.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        Some(match handshake_error(error)? {
            rustls::Error::InvalidMessage(_) => Self::NoTls,
            rustls::Error::InvalidCertificate(fault) => Self::of_certificate(fault),
            rustls::Error::AlertReceived(Alert::CertificateRequired) => Self::Asked,
            rustls::Error::AlertReceived(Alert::CertificateExpired) => Self::OwnEnded,
            rustls::Error::AlertReceived(
                Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateUnknown,
            ) => Self::OwnRefused,
            _ => return None,
        })
    }

    fn of_certificate(fault: &CertificateError) -> Self {
        match fault {
            CertificateError::Expired => Self::Ended(None),
            CertificateError::ExpiredContext { not_after, .. } => {
                Self::Ended(Some(date(*not_after)))
            }
            CertificateError::NotValidYet => Self::NotYet(None),
            CertificateError::NotValidYetContext { not_before, .. } => {
                Self::NotYet(Some(date(*not_before)))
            }
            CertificateError::NotValidForName => Self::OtherName("other names".to_owned()),
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
                Self::OtherName(names.join(", "))
            }
            fault if fault.to_string().contains("CaUsedAsEndEntity") => Self::OfAuthority,
            _ => Self::NotTrusted,
        }
    }

    /// What is wrong with the dates or the names of a certificate that was shown.
    pub(crate) fn of_its_own(&self) -> Option<String> {
        match self {
            Self::Ended(Some(date)) => Some(format!("ended at {date}")),
            Self::Ended(None) => Some("has ended".to_owned()),
            Self::NotYet(Some(date)) => Some(format!("is not valid before {date}")),
            Self::NotYet(None) => Some("is not valid yet".to_owned()),
            Self::OtherName(names) => Some(format!(
                "is for {names}, and not for the name in the address"
            )),
            _ => None,
        }
    }

    /// What to do about that; `there` says whose certificate it is.
    pub(crate) fn remedy(&self, there: impl Display) -> String {
        match self {
            Self::OtherName(_) => {
                format!("name {there} as its certificate does, or have one made for this name")
            }
            _ => {
                format!("renew it at {there}, or set the clock of this machine where that is wrong")
            }
        }
    }

    /// What went wrong, where somebody was to be sent something. `cause` is the error in its own words.
    pub(crate) fn what(&self, cause: &str) -> String {
        if let Some(wrong) = self.of_its_own() {
            return format!("the certificate shown there {wrong}");
        }
        match self {
            Self::NoTls => "what answers does not speak TLS".to_owned(),
            Self::Plain => cause.to_owned(),
            Self::OfAuthority => {
                "the server shows an authority's certificate, which none may show as its own"
                    .to_owned()
            }
            Self::Asked => "it asks for a certificate".to_owned(),
            Self::OwnEnded => "it was shown a certificate that has ended".to_owned(),
            Self::OwnRefused => {
                format!("it does not accept the certificate that it was shown ({cause})")
            }
            _ => format!("the certificate shown there is not trusted ({cause})"),
        }
    }

    /// What to do then.
    pub(crate) fn to_do(&self, names: &Names) -> String {
        let Names { authorities, own } = names;
        if self.of_its_own().is_some() {
            return self.remedy("the receiver");
        }
        match self {
            Self::NoTls => "begin its address with `http://`".to_owned(),
            Self::Plain => "if it speaks TLS, begin its address with `https://`".to_owned(),
            Self::OfAuthority => {
                "have one made with `basicConstraints=CA:FALSE`, signed by that authority"
                    .to_owned()
            }
            Self::Asked => format!("name one in {own}"),
            Self::OwnEnded => format!("renew that in {own}"),
            Self::OwnRefused => format!("name one of an authority that it trusts in {own}"),
            _ => format!("name a file with that of its authority in {authorities}"),
        }
    }
}

/// A name as certificates have it, of `DnsName("a.example")`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}

fn date(at: UnixTime) -> String {
    let at = UNIX_EPOCH + Duration::from_secs(at.as_secs());
    humantime::format_rfc3339_seconds(at).to_string()
}

/// The error of the handshake among the causes of another.
fn handshake_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    // What stands in an error of I/O is not its source.
    let next = |cause: &'a (dyn Error + 'static)| match cause.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|error| error as &(dyn Error + 'static)),
        None => cause.source(),
    };
    std::iter::successors(Some(error), |&cause| next(cause)).find_map(|cause| cause.downcast_ref())
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;

    fn told(error: rustls::Error) -> String {
        let cause = error.to_string();
        let around = io::Error::other(error);
        let fault = HandshakeFault::of(&around).expect("it is one of a handshake");
        let names = Names {
            authorities: "A",
            own: "B",
        };
        format!("{}: {}", fault.what(&cause), fault.to_do(&names))
    }

    /// Given a handshake that failed, an authority is asked for where that is what is missing alone; dates are dates.
    #[test]
    fn each_fault_has_its_remedy() {
        let wrong = rustls::Error::InvalidCertificate;
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let ended = CertificateError::ExpiredContext {
            time: at(1_800_000_000),
            not_after: at(1_769_904_000),
        };
        for (error, expected) in [
            (
                wrong(CertificateError::UnknownIssuer),
                "is not trusted (invalid peer certificate: UnknownIssuer): name a file with that of its authority in A",
            ),
            (
                wrong(ended),
                "the certificate shown there ended at 2026-02-01T00:00:00Z: renew it at the receiver",
            ),
            (
                wrong(CertificateError::NotValidForNameContext {
                    expected: ServerName::try_from("127.0.0.1").unwrap(),
                    presented: vec!["DnsName(\"a.example\")".to_owned()],
                }),
                "is for a.example, and not for the name in the address: name the receiver as its certificate does",
            ),
            (
                rustls::Error::AlertReceived(Alert::CertificateRequired),
                "it asks for a certificate: name one in B",
            ),
            (
                rustls::Error::AlertReceived(Alert::CertificateExpired),
                "a certificate that has ended: renew that in B",
            ),
            (
                rustls::Error::AlertReceived(Alert::UnknownCA),
                "name one of an authority that it trusts in B",
            ),
        ] {
            let told = told(error);
            assert!(told.contains(expected), "{told}");
        }
        assert_eq!(bare("DnsName(\"a.example\")"), "a.example");
        assert_eq!(HandshakeFault::of(&io::Error::other("reset")), None);
    }
}
