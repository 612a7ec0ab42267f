//! Alerts to an HTTP address, as Alertmanager posts them, or to Alertmanager itself.
//!
//! Redirects are off, proxies of the environment are not used, the connection goes to an address that was checked
//! ([`address`](super::address)), and little is read of the reply: the receiver is trusted with alerts and nothing else.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};

use super::Delivery;
use super::address::is_public;
use super::alertmanager::{Announced, Message, idempotency_key, posted};
use super::http::{asked_wait, client, quote, read_bounded, refusal, unsent};
use super::settings::{Form, SettingsError, WebhookSettings};
use super::tls::{Certificates, Tls};
use crate::files::{self, Fault};
use crate::secret::Secret;
use crate::store::alert::Alert;
use crate::telemetry::Throttle;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where Alertmanager takes alerts.
const ALERTS: &str = "/api/v2/alerts";

/// An address that takes Alertmanager's webhooks, or Alertmanager's own.
pub(super) struct Webhook {
    receiver: String,
    tenant: String,
    allow_private: bool,
    certificates: Certificates,
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    token_file: Option<PathBuf>,
    /// The token's file is of no use.
    token_logged: Throttle,
    external_url: Option<String>,
    form: Form,
    told: Announced,
    alerts_max: usize,
}

impl Webhook {
    pub(super) fn new(
        name: &str,
        tenant: &str,
        settings: &WebhookSettings,
    ) -> Result<Self, SettingsError> {
        let wrong = |fault| SettingsError::new(name, fault);
        let url = checked_url(settings).map_err(wrong)?;
        let certificates = Certificates::read(&settings.tls).map_err(wrong)?;
        let tls = (url.scheme() == "https").then_some(certificates.tls());
        let client = client(settings.allow_private, tls).map_err(wrong)?;
        Ok(Self {
            receiver: name.to_owned(),
            tenant: tenant.to_owned(),
            allow_private: settings.allow_private,
            certificates,
            client,
            url,
            authorization: authorization(settings.bearer_token.as_ref())
                .map_err(|problem| wrong(Fault::new("token", problem)))?,
            token_file: settings.token_file.clone(),
            token_logged: Throttle::default(),
            external_url: settings.external_url.clone(),
            form: settings.form,
            told: Announced::default(),
            alerts_max: settings.max_alerts,
        })
    }

    /// Reads the token's file again. The token of before stays where that is not there, or is being written.
    async fn renew_token(&mut self) {
        let Some(file) = self.token_file.clone() else {
            return;
        };
        let read = files::beside("an exporter's token", {
            let file = file.clone();
            move || token_in(&file)
        });
        let renewed = read.await.unwrap_or_else(|error| Err(error.to_string()));
        match renewed {
            Ok(renewed) => self.authorization = renewed,
            Err(why) if self.token_logged.is_due() => tracing::warn!(
                exporter = self.receiver,
                token_file = %file.display(),
                why,
                "the token's file is of no use; the token of before is sent, if there was one: look whether the file is there, and \
                 may be read by Eddy"
            ),
            Err(_) => {}
        }
    }

    fn body(&self, alerts: &[Alert], still_open: &[Alert]) -> serde_json::Result<Vec<u8>> {
        let external_url = self.external_url.as_deref();
        match self.form {
            Form::Webhook => serde_json::to_vec(&Message::new(
                &self.receiver,
                &self.tenant,
                external_url,
                (alerts, still_open),
                self.alerts_max,
            )),
            Form::Alertmanager { lasts } => serde_json::to_vec(&posted(
                &self.tenant,
                external_url,
                alerts,
                &self.told,
                (SystemTime::now(), lasts),
            )),
        }
    }

    pub(super) async fn send(&mut self, alerts: &[Alert], still_open: &[Alert]) -> Delivery {
        let body = match self.body(alerts, still_open) {
            Ok(body) => body,
            Err(error) => {
                return Delivery::refused(format!("cannot write alerts as JSON: {error}"));
            }
        };
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(IDEMPOTENCY_KEY, idempotency_key(&self.tenant, alerts))
            .body(body);
        self.renew_token().await;
        if let Some(authorization) = &self.authorization {
            // In the place of what the address may say.
            request = request.headers(HeaderMap::from_iter([(
                AUTHORIZATION,
                authorization.clone(),
            )]));
        }
        let answer = match request.send().await {
            Ok(reply) => answer(reply).await,
            Err(error) => Delivery::later(unsent(error)),
        };
        let renew = |tls: &Tls| {
            if let Ok(client) = client(self.allow_private, Some(tls)) {
                self.client = client;
            }
        };
        let answer = self.certificates.looked_at_again(answer, renew).await;
        if answer == Delivery::Taken && self.form != Form::Webhook {
            self.told.note(alerts);
        }
        answer
    }
}

/// What the reply means. Whatever the receiver or a new token may mend is tried again; that the receiver does not want the request
/// is final.
async fn answer(reply: Response) -> Delivery {
    let status = reply.status();
    if status.is_success() {
        // What is said beside that may come a byte at a time.
        return Delivery::Taken;
    }
    let after = asked_wait(&reply);
    let text = quote(&read_bounded(reply).await);
    let reason = refusal(status, &text);
    let temporary = status.is_server_error()
        || status == StatusCode::UNAUTHORIZED
        || status == StatusCode::FORBIDDEN
        || status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS;
    if temporary {
        Delivery::Later { reason, after }
    } else {
        Delivery::Refused { reason }
    }
}

/// The address, if it is one that may be called. A name is checked when it is resolved, but for those that are always this
/// machine's.
fn checked_url(settings: &WebhookSettings) -> Result<Url, Fault> {
    let wrong = |problem: String| Fault::new("url", problem);
    let mut url = Url::parse(&settings.url)
        .map_err(|error| wrong(format!("the address cannot be read: {error}")))?;
    if matches!(settings.form, Form::Alertmanager { .. }) {
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(ALERTS).unwrap_or(path);
        url.set_path(&format!("{path}{ALERTS}"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!(
            "an address begins with http:// or https://, not {}:",
            url.scheme()
        )));
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host.trim_end_matches('.').rsplit('.').next() == Some("localhost");
    match host.parse::<IpAddr>() {
        Err(_) if !settings.allow_private && is_here => Err(wrong(format!(
            "the address names this machine, {host}; `allow_private: true` permits it"
        ))),
        Ok(address) if !settings.allow_private && !is_public(address) => Err(wrong(format!(
            "the address names the private address {address}; `allow_private: true` permits it"
        ))),
        _ => Ok(url),
    }
}

fn token_in(file: &Path) -> Result<Option<HeaderValue>, String> {
    let text =
        files::read(file).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    let text = text.map_err(|error| format!("it cannot be read: {error}"))?;
    match text.trim() {
        "" => Err("it holds no token".to_owned()),
        token => authorization(Some(&Secret::from(token.to_owned()))),
    }
}

fn authorization(token: Option<&Secret>) -> Result<Option<HeaderValue>, String> {
    let Some(token) = token else {
        return Ok(None);
    };
    let mut header = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token has characters that a header cannot carry".to_owned())?;
    header.set_sensitive(true);
    Ok(Some(header))
}

#[cfg(test)]
mod tests;
