//! A daemon's JSON over HTTP, asked from the command line.

mod files;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use reqwest::{Certificate, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use self::files::{authorization, identity, read, unusable};
use super::failure::Failure;
use crate::files::certificates_in;
use crate::handshake::HandshakeFault;
use crate::render::text::{API_DEFAULT, api_flag, put_url_part, shell_word};
use crate::telemetry::innermost;

/// Longest wait for a connection. A daemon on this machine answers at once or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest wait for an answer that comes as a whole, and for the beginning of one that goes on. The largest page of runs takes a
/// busy daemon some seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a daemon's API is, and what it asks of those who come.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of the connection")]
pub(super) struct ApiArgs {
    /// The daemon's API address, HOST:PORT or a URL; over https:// where that or a file of certificates says so
    #[arg(long, value_name = "ADDR", default_value = API_DEFAULT, env = "EDDY_API", hide_env_values = true)]
    pub(super) api: String,
    /// File with the token that the daemon asks for
    #[arg(
        long,
        value_name = "FILE",
        env = "EDDY_API_TOKEN_FILE",
        hide_env_values = true
    )]
    pub(super) token_file: Option<PathBuf>,
    /// Authority of the daemon's certificate, in PEM; without one, those that this machine trusts
    #[arg(
        long,
        value_name = "FILE",
        env = "EDDY_API_CA_FILE",
        hide_env_values = true
    )]
    pub(super) ca_file: Option<PathBuf>,
    /// Certificate to show to a daemon that asks for one, in PEM, followed by those that lead to its authority
    #[arg(
        long,
        value_name = "FILE",
        env = "EDDY_API_CERT_FILE",
        hide_env_values = true,
        requires = "key_file"
    )]
    pub(super) cert_file: Option<PathBuf>,
    /// Private key of that certificate, in PEM
    #[arg(
        long,
        value_name = "FILE",
        env = "EDDY_API_KEY_FILE",
        hide_env_values = true,
        requires = "cert_file"
    )]
    pub(super) key_file: Option<PathBuf>,
}

impl ApiArgs {
    /// The flags that lead to the same daemon wherever they are typed, as a shell reads them, each behind a blank; none where
    /// it is the default one.
    pub(super) fn flags(&self) -> Result<String, Failure> {
        let mut flags = api_flag(&self.api);
        let files = [
            ("--token-file", &self.token_file),
            ("--ca-file", &self.ca_file),
            ("--cert-file", &self.cert_file),
            ("--key-file", &self.key_file),
        ];
        for (flag, file) in files {
            if let Some(file) = file {
                let _ = write!(flags, " {flag} {}", shell_word(&absolute(file)?));
            }
        }
        Ok(flags)
    }
}

/// An address without a scheme, at the usual port where it names none.
fn with_port(address: &str) -> String {
    let end = address.find('/').unwrap_or(address.len());
    let (host, path) = address.split_at(end);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
    // An address in brackets has colons of its own, and ends with a bracket.
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
    let (_, usual) = API_DEFAULT.rsplit_once(':').unwrap_or_default();
    if host.is_empty() || has_port {
        return address.to_owned();
    }
    format!("{host}:{usual}{path}")
}

/// Where a daemon's API is, `host:port` or a URL; a host alone is asked at the port that is usual. Who names files of certificates
/// means TLS.
///
/// # Errors
/// What can never be an address, whatever is in the files.
pub(super) fn base(api: &ApiArgs) -> Result<Url, Failure> {
    let address = &api.api;
    let text = if address.contains("://") {
        address.clone()
    } else {
        let is_tls = api.ca_file.is_some() || api.cert_file.is_some();
        let scheme = if is_tls { "https" } else { "http" };
        format!("{scheme}://{}", with_port(address))
    };
    // A port alone would be read as the number of a host.
    let is_port = address.bytes().all(|digit| digit.is_ascii_digit());
    let is_known = |url: &Url| ["http", "https"].contains(&url.scheme()) && !is_port;
    let base = Url::parse(&text).ok().filter(is_known);
    base.ok_or_else(|| {
        Failure::Other(format!(
            "`{address}` is not an address such as 127.0.0.1:4319 or https://eddy.example.com:4319"
        ))
    })
}

/// A path that means the same wherever a program is started.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::Other(format!("finding {}: {error}", path.display())))?;
    Ok(absolute.to_string_lossy().into_owned())
}

/// A daemon's API address.
#[derive(Clone, Debug)]
pub(super) struct Client {
    base: Url,
    http: reqwest::Client,
    /// The file of the token that is shown.
    token_file: Option<PathBuf>,
    /// The file of the certificate that is shown.
    cert_file: Option<PathBuf>,
}

/// A request that was not answered.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// Nobody is there, or the connection broke; it may be worth asking again.
    Unreachable(String),
    /// The daemon cannot answer for now (429, 503), in its own words; asking again may help.
    NotNow(String),
    /// The daemon does not know the token, or asks for one.
    Unknown(String),
    /// The daemon refused, in its own words.
    Refused(String),
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Unreachable(text)
            | Unanswered::NotNow(text)
            | Unanswered::Unknown(text)
            | Unanswered::Refused(text) => Self::Other(text),
        }
    }
}

impl Client {
    /// A client for the daemon at an address; see [`base`].
    pub(super) fn new(api: &ApiArgs) -> Result<Self, Failure> {
        let (address, base) = (&api.api, base(api)?);
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT);
        if let Some(path) = &api.token_file {
            http = http.default_headers(authorization(path)?);
        }
        if let Some(path) = &api.ca_file {
            let pem = read(path, "ca-file")?;
            certificates_in(&pem).map_err(|error| unusable(path, &error))?;
            let authorities = Certificate::from_pem_bundle(&pem);
            http = http.tls_certs_only(authorities.map_err(|error| unusable(path, &error))?);
        } else if base.scheme() == "http" {
            // Without this, plain HTTP would fail on machines that have no root certificates, as containers often are.
            http = http.tls_certs_only([]);
        }
        if let (Some(certificate), Some(key)) = (&api.cert_file, &api.key_file) {
            http = http.identity(identity(certificate, key)?);
        }
        let http = http.build().map_err(|error| {
            let cause = innermost(&error);
            Failure::Other(format!("preparing to ask {address}: {cause}"))
        })?;
        Ok(Self {
            base,
            http,
            token_file: api.token_file.clone(),
            cert_file: api.cert_file.clone(),
        })
    }

    /// The answer as a value.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Unanswered> {
        let request = self.asking(path, query).timeout(ANSWER_TIMEOUT);
        let response = self.accepted(request).await?;
        self.read(response).await
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Unanswered> {
        let text = response.text().await;
        let text = text.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&text).map_err(|error| {
            let base = self.address();
            Unanswered::Refused(format!(
                "what answers at {base} does not seem to be Eddy: {error}"
            ))
        })
    }

    /// The answer to a body of JSON.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &serde_json::Value,
    ) -> Result<T, Unanswered> {
        let request = self.http.post(self.url(path)).body(body.to_string());
        let response = self.accepted(request).await?;
        self.read(response).await
    }

    /// The answer as it comes in, however long that takes once it has begun.
    pub(super) async fn open(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Response, Unanswered> {
        let begun = self.accepted(self.asking(path, query));
        tokio::time::timeout(ANSWER_TIMEOUT, begun)
            .await
            .unwrap_or_else(|_| {
                let asked = self.url(path);
                Err(Unanswered::Unreachable(self.silent(asked.path())))
            })
    }

    fn asking(&self, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.url(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.http.get(url)
    }

    /// A path's parts, below the base. An id may have slashes and line breaks.
    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        let mut whole = url.path().trim_end_matches('/').to_owned();
        for part in path {
            whole.push('/');
            put_url_part(part, &mut whole);
        }
        url.set_path(&whole);
        url
    }

    /// The answer to a request, unless it is refused.
    async fn accepted(&self, request: RequestBuilder) -> Result<Response, Unanswered> {
        let response = request.send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let body = response.text().await.unwrap_or_default();
        let Some(text) = refusal(&body) else {
            let address = self.address();
            return Err(Unanswered::Refused(format!(
                "what answers at {address} does not seem to be Eddy's API ({status}): is that its address (`service.api.endpoint`), \
                 and not one for telemetry?"
            )));
        };
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                Unanswered::NotNow(text)
            }
            StatusCode::UNAUTHORIZED => Unanswered::Unknown(self.not_let_in()),
            _ => Unanswered::Refused(text),
        })
    }

    fn not_let_in(&self) -> String {
        let address = self.address();
        match &self.token_file {
            Some(path) => format!(
                "{address} does not know the token in {}: name a file that holds one that its configuration knows with \
                 `--token-file FILE`",
                path.display()
            ),
            None => format!(
                "{address} asks for a token that its configuration knows: name a file that holds one with `--token-file FILE`"
            ),
        }
    }

    /// The same where TLS lets nobody in without a certificate that it accepts.
    fn not_accepted(&self, fault: &HandshakeFault, cause: &str) -> String {
        let address = self.address();
        match &self.cert_file {
            Some(path) if *fault == HandshakeFault::OwnEnded => format!(
                "{address} does not accept the certificate in {}, which has ended: renew it, and set the clock of the daemon's \
                 machine where that is wrong",
                path.display()
            ),
            Some(path) => format!(
                "{address} does not accept the certificate in {} ({cause}): name one of an authority that it trusts with \
                 `--cert-file FILE` and `--key-file FILE`",
                path.display()
            ),
            None => format!(
                "{address} asks for a certificate: name one with `--cert-file FILE` and `--key-file FILE`"
            ),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Unanswered {
        let (address, cause) = (self.address(), innermost(error));
        let text = match HandshakeFault::of(error) {
            Some(HandshakeFault::NoTls) => format!(
                "what answers at {address} does not speak TLS: say `--api {}`",
                self.base.as_str().replacen("https", "http", 1)
            ),
            Some(HandshakeFault::OfAuthority) => format!(
                "the certificate shown at {address} is that of an authority, which cannot be a server's as well: make one \
                 without `CA:TRUE` (openssl: `-addext basicConstraints=critical,CA:FALSE`)"
            ),
            Some(HandshakeFault::NotTrusted) => format!(
                "the certificate shown at {address} is not trusted ({cause}): name a file with that of its authority with \
                 `--ca-file FILE`"
            ),
            Some(
                fault @ (HandshakeFault::Asked
                | HandshakeFault::OwnEnded
                | HandshakeFault::OwnRefused),
            ) => self.not_accepted(&fault, &cause),
            Some(fault) => format!(
                "the certificate shown at {address} {}: {}",
                fault.of_its_own().unwrap_or_default(),
                fault.remedy("the daemon")
            ),
            _ if error.is_connect() => format!(
                "no daemon answers at {address} ({cause}): start one with `eddy`, or say with `--api ADDR` where it is"
            ),
            _ if error.is_timeout() => self.silent(error.url().map_or("", Url::path)),
            _ if self.base.scheme() == "http" => format!(
                "the connection to {address} broke: {cause}; does it speak TLS (`--api https://{address}`), or is it an address \
                 for telemetry, and not that of the API (`service.api.endpoint`)?"
            ),
            _ => format!(
                "the connection to {address} broke: {cause}; is that the address of the API (`service.api.endpoint`), and not one \
                 for telemetry?"
            ),
        };
        Unanswered::Unreachable(text)
    }

    /// What there is to say where a question was taken and nothing came of it.
    fn silent(&self, path: &str) -> String {
        format!(
            "{} took the question for {path} and did not answer within {} s: the daemon is stopped or very busy; its log says \
             more, and so may {}",
            self.address(),
            ANSWER_TIMEOUT.as_secs(),
            self.url(&["readyz"])
        )
    }

    /// The address as it is asked: with the port, which may have been left out.
    fn address(&self) -> String {
        let scheme = match self.base.scheme() {
            "http" => "",
            _ => "https://",
        };
        let host = self.base.host_str().unwrap_or_default();
        let port = self.base.port_or_known_default().unwrap_or_default();
        let path = self.base.path().trim_end_matches('/');
        format!("{scheme}{host}:{port}{path}")
    }
}

/// What a daemon says when it refuses: `{"error": "…"}`.
fn refusal(body: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    let error = body.get("error")?.as_str()?;
    let reasons = body.get("reasons").and_then(|reasons| reasons.as_array());
    let reasons = reasons
        .into_iter()
        .flatten()
        .filter_map(|reason| reason.as_str());
    let said: Vec<&str> = std::iter::once(error).chain(reasons).collect();
    Some(said.join(": "))
}

#[cfg(test)]
mod tests;
