//! Alerts to an HTTP address, as Alertmanager posts them.
//!
//! Redirects are off, proxies of the environment are not used, the connection goes to an address that was checked
//! ([`address`](super::address)), and little is read of the reply: the receiver is trusted with alerts and nothing else.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url, redirect};

use super::address::{PublicOnly, is_public};
use super::alertmanager::{Message, idempotency_key};
use super::retry::retry_after;
use super::settings::{SettingsError, WebhookSettings};
use super::{Answer, REPLY_BYTES_MAX, SEND_TIMEOUT};
use crate::cli::render::text::clean;
use crate::store::alert::Alert;

/// How much of a refusal's text is quoted, in characters.
const QUOTE_CHARS_MAX: usize = 200;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// An address that takes Alertmanager's webhooks.
pub(super) struct Webhook {
    receiver: String,
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    external_url: Option<String>,
    max_alerts: usize,
}

impl Webhook {
    pub(super) fn new(name: &str, settings: &WebhookSettings) -> Result<Self, SettingsError> {
        let wrong = |problem: String| SettingsError::new(name, problem);
        let url = checked_url(settings).map_err(wrong)?;
        let client = client(settings.allow_private, url.scheme() == "https")
            .map_err(|error| wrong(format!("cannot set up HTTP: {}", causes(&error))))?;
        Ok(Self {
            receiver: name.to_owned(),
            client,
            url,
            authorization: authorization(settings).map_err(wrong)?,
            external_url: settings.external_url.clone(),
            max_alerts: settings.max_alerts.max(1),
        })
    }

    pub(super) fn max_alerts(&self) -> usize {
        self.max_alerts
    }

    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Answer {
        let message = Message::new(&self.receiver, self.external_url.as_deref(), alerts);
        let body = match serde_json::to_vec(&message) {
            Ok(body) => body,
            Err(error) => {
                return Answer::Refused {
                    reason: format!("cannot write alerts as JSON: {error}"),
                };
            }
        };
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(IDEMPOTENCY_KEY, idempotency_key(alerts))
            .body(body);
        if let Some(authorization) = &self.authorization {
            request = request.header(reqwest::header::AUTHORIZATION, authorization);
        }
        match request.send().await {
            Ok(reply) => answer(reply).await,
            Err(error) => Answer::later(format!("cannot post: {}", causes(&error.without_url()))),
        }
    }
}

/// What the reply means. Whatever the receiver may mend is tried again; that it does not want the request is final.
async fn answer(reply: Response) -> Answer {
    let status = reply.status();
    let after = asked_wait(&reply);
    let text = read_bounded(reply).await;
    if status.is_success() {
        return Answer::Taken;
    }
    let mut reason = format!("the receiver answered {status}");
    if status.is_redirection() {
        reason.push_str("; redirects are not followed");
    } else if !text.is_empty() {
        reason.push_str(": ");
        reason.push_str(&text);
    }
    let temporary = status.is_server_error()
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS;
    if temporary {
        Answer::Later { reason, after }
    } else {
        Answer::Refused { reason }
    }
}

/// `Retry-After`, where it has a meaning.
fn asked_wait(reply: &Response) -> Option<Duration> {
    let status = reply.status();
    if status != StatusCode::TOO_MANY_REQUESTS && status != StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let header = reply.headers().get(RETRY_AFTER)?.to_str().ok()?;
    retry_after(header, SystemTime::now())
}

/// The reply's text as far as it is read and quoted. A short reply is read to its end, so that the connection can be used
/// again; a longer one is cut off together with its connection.
async fn read_bounded(mut reply: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = reply.chunk().await {
        let room = REPLY_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == REPLY_BYTES_MAX {
            break;
        }
    }
    let text: String = String::from_utf8_lossy(&bytes)
        .trim()
        .chars()
        .take(QUOTE_CHARS_MAX)
        .collect();
    clean(&text).into_owned()
}

/// A client that goes where it is told and nowhere else.
fn client(allow_private: bool, tls: bool) -> reqwest::Result<Client> {
    // Fails if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder: ClientBuilder = Client::builder()
        .user_agent(concat!("eddy/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .timeout(SEND_TIMEOUT);
    if !allow_private {
        builder = builder.dns_resolver(PublicOnly);
    }
    if !tls {
        // Without this, plain HTTP would fail on machines that have no root certificates.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// The address, if it is one that may be called. A name is checked when it is resolved.
fn checked_url(settings: &WebhookSettings) -> Result<Url, String> {
    let url =
        Url::parse(&settings.url).map_err(|error| format!("`url` cannot be read: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "`url` must begin with http:// or https://, not {}:",
            url.scheme()
        ));
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) if !settings.allow_private && !is_public(address) => Err(format!(
            "`url` names the private address {address}; `allow_private: true` permits it"
        )),
        _ => Ok(url),
    }
}

fn authorization(settings: &WebhookSettings) -> Result<Option<HeaderValue>, String> {
    let Some(token) = &settings.bearer_token else {
        return Ok(None);
    };
    let mut header = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token has characters that a header cannot carry".to_owned())?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// An error with its causes, which is where HTTP clients put what one wants to know.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
