//! What the exporters that speak HTTP have in common: a client that goes where it is told and nowhere else, and what is
//! read of a reply.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, ClientBuilder, Identity, Response, StatusCode, Url, redirect};

use super::address::PublicOnly;
use super::retry::retry_after;
use super::tls::Tls;
use super::{Cause, NotTaken, REPLY_BYTES_MAX, SEND_TIMEOUT};
use crate::files::Fault;
use crate::handshake::HandshakeFault;
use crate::render::text::clean;
use crate::secret::Secret;
use crate::telemetry::{causes, innermost};

/// How much of a refusal's text is quoted, in characters.
const QUOTE_CHARS_MAX: usize = 200;

/// What receivers are told of who sends: OTLP wants the exporter and its version named.
pub(super) const USER_AGENT: &str = concat!("eddy/", env!("CARGO_PKG_VERSION"));

/// A client that follows no redirect and uses no proxy of the environment, and that speaks TLS where that is given.
pub(super) fn client(allow_private: bool, tls: Option<&Tls>) -> Result<Client, Fault> {
    let built = built(allow_private, tls);
    built.map_err(|error| Fault::new("", format!("cannot set up HTTP: {}", causes(&error))))
}

fn built(allow_private: bool, tls: Option<&Tls>) -> reqwest::Result<Client> {
    // Fails if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder: ClientBuilder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .timeout(SEND_TIMEOUT);
    if !allow_private {
        builder = builder.dns_resolver(PublicOnly);
    }
    let Some(tls) = tls else {
        // Without this, plain HTTP would fail on machines that have no root certificates.
        return builder.tls_certs_only([]).build();
    };
    if let Some(pem) = &tls.authorities {
        builder = builder.tls_certs_only(Certificate::from_pem_bundle(pem)?);
    }
    if let Some((certificate, key)) = &tls.identity {
        let identity = [&**key, b"\n", &**certificate].concat();
        builder = builder.identity(Identity::from_pem(&identity)?);
    }
    builder.build()
}

/// `Retry-After`, where it has a meaning.
pub(super) fn asked_wait(reply: &Response) -> Option<Duration> {
    let status = reply.status();
    if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let header = reply.headers().get(RETRY_AFTER)?.to_str().ok()?;
    retry_after(header, SystemTime::now())
}

/// The reply's body as far as it is read. A short reply is read to its end, so that the connection can be used again; a
/// longer one is cut off together with its connection.
pub(super) async fn read_bounded(mut reply: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = reply.chunk().await {
        let room = REPLY_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == REPLY_BYTES_MAX {
            break;
        }
    }
    bytes
}

/// A reply's text as it may stand in a log.
pub(super) fn quote(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(bytes)
        .trim()
        .chars()
        .take(QUOTE_CHARS_MAX)
        .collect();
    clean(&text).into_owned()
}

/// A reply that is no success, in words.
pub(super) fn refusal(status: StatusCode, text: &str) -> NotTaken {
    let mut reason = format!("the receiver answered {status}");
    if status.is_redirection() {
        reason.push_str("; redirects are not followed");
    } else if !text.is_empty() {
        reason.push_str(": ");
        reason.push_str(text);
    }
    let cause = match status {
        StatusCode::UNAUTHORIZED => Cause::Unauthenticated,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Cause::Busy,
        _ => Cause::Unknown,
    };
    NotTaken::of(reason, cause)
}

/// Why a request could not be sent, and where to. Of the address it has host and port: its path may be a secret.
pub(super) fn unsent(error: reqwest::Error) -> NotTaken {
    let host = |url: &Url| {
        Some(format!(
            "{}:{}",
            url.host_str()?,
            url.port_or_known_default()?
        ))
    };
    let is_plain = error.url().is_some_and(|url| url.scheme() == "http");
    let host = error.url().and_then(host).unwrap_or_default();
    let error = error.without_url();
    let broke = !error.is_connect() && !error.is_timeout();
    let why = match HandshakeFault::of(&error) {
        Some(fault) => NotTaken::of(fault.what(&innermost(&error)), Cause::Connection(fault)),
        None if is_plain && broke => {
            NotTaken::of(causes(&error), Cause::Connection(HandshakeFault::Plain))
        }
        None => causes(&error).into(),
    };
    why.after(format_args!("cannot post to {host}: "))
}

/// The headers that settings name, whose values are secrets.
pub(super) fn headers(settings: &[(String, Secret)]) -> Result<HeaderMap, Fault> {
    let wrong = |problem: String| Fault::new("headers", problem);
    let mut headers = HeaderMap::new();
    for (name, value) in settings {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong(format!("`{name}` is not a header's name")))?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| {
            wrong(format!(
                "the header {name} has characters that it cannot carry"
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}
