//! A daemon's JSON over HTTP, asked from the command line.

use std::time::Duration;

use reqwest::{Response, Url};
use serde::de::DeserializeOwned;

use super::failure::Failure;

/// Longest wait for a connection. A daemon on this machine answers at once or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A daemon's API address.
#[derive(Clone, Debug)]
pub(super) struct Client {
    base: Url,
    http: reqwest::Client,
}

/// A request that was not answered.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Nobody is there, or the connection broke; it may be worth asking again.
    Unreachable(String),
    /// The daemon refused, in its own words.
    Refused(String),
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Unreachable(text) | Unanswered::Refused(text) => Self::Other(text),
        }
    }
}

impl Client {
    /// A client for the daemon at an address, `host:port` or an http URL.
    pub(super) fn new(address: &str) -> Result<Self, Failure> {
        let scheme = if address.contains("://") {
            ""
        } else {
            "http://"
        };
        let text = format!("{scheme}{address}");
        let base = Url::parse(&text).ok().filter(|url| url.scheme() == "http");
        let base = base.ok_or_else(|| {
            Failure::Other(format!(
                "`{address}` is not an address such as 127.0.0.1:4319"
            ))
        })?;
        // Only http is spoken here, but the client does not start without a provider of cryptography.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| Failure::Other(format!("preparing to ask {address}: {error}")))?;
        Ok(Self { base, http })
    }

    /// The answer as a value.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Unanswered> {
        let text = self.open(path, query).await?.text().await;
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| {
            let base = self.address();
            Unanswered::Refused(format!(
                "what answers at {base} does not seem to be Eddy: {error}"
            ))
        })
    }

    /// The answer as it comes in.
    pub(super) async fn open(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Response, Unanswered> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let response = self.http.get(url).send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        Err(Unanswered::Refused(refusal(&body).unwrap_or_else(|| {
            format!(
                "what answers at {} does not seem to be Eddy: {status}",
                self.address()
            )
        })))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Unanswered {
        let address = self.address();
        Unanswered::Unreachable(if error.is_connect() || error.is_timeout() {
            format!(
                "no daemon answers at {address}: start one with `eddy`, or say with `--api ADDR` where it is"
            )
        } else {
            format!("the connection to {address} broke: {}", innermost(error))
        })
    }

    fn address(&self) -> &str {
        self.base
            .as_str()
            .trim_start_matches("http://")
            .trim_end_matches('/')
    }
}

/// What a daemon says when it refuses: `{"error": "…"}`.
fn refusal(body: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    Some(body.get("error")?.as_str()?.to_owned())
}

/// The innermost cause, which says what happened; what is around it says where in the client.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
