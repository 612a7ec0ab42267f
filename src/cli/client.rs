//! A daemon's JSON over HTTP, asked from the command line.

mod files;

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use reqwest::{Certificate, RequestBuilder, Response, StatusCode, Url};
use rustls::AlertDescription as Alert;
use serde::de::DeserializeOwned;

use self::files::{authorization, identity, read, unusable};
use super::failure::Failure;
use crate::files::certificates_in;
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
    /// The daemon's API address
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
    /// A client for the daemon at an address, `host:port` or a URL; a host alone is asked at the port that is usual.
    pub(super) fn new(api: &ApiArgs) -> Result<Self, Failure> {
        let address = &api.api;
        let text = if address.contains("://") {
            address.clone()
        } else {
            format!("http://{}", with_port(address))
        };
        // A port alone would be read as the number of a host.
        let is_port = address.bytes().all(|digit| digit.is_ascii_digit());
        let is_known = |url: &Url| ["http", "https"].contains(&url.scheme()) && !is_port;
        let base = Url::parse(&text).ok().filter(is_known);
        let base = base.ok_or_else(|| {
            Failure::Other(format!(
                "`{address}` is not an address such as 127.0.0.1:4319 or https://eddy.example.com:4319"
            ))
        })?;
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
    fn not_accepted(&self, cause: &str) -> String {
        let address = self.address();
        match &self.cert_file {
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
        let text = match handshake_error(error) {
            Some(rustls::Error::InvalidMessage(_)) => format!(
                "what answers at {address} does not speak TLS: say `--api {}`",
                self.base.as_str().replacen("https", "http", 1)
            ),
            // What `openssl req -x509` makes where nothing is said.
            Some(rustls::Error::InvalidCertificate(_)) if cause.contains("CaUsedAsEndEntity") => {
                format!(
                    "the certificate shown at {address} is that of an authority, which cannot be a server's as well: make one \
                 without `CA:TRUE` (openssl: `-addext basicConstraints=critical,CA:FALSE`)"
                )
            }
            Some(rustls::Error::InvalidCertificate(_)) => format!(
                "the certificate shown at {address} is not trusted ({cause}): name a file with that of its authority with \
                 `--ca-file FILE`"
            ),
            Some(rustls::Error::AlertReceived(
                Alert::CertificateRequired
                | Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateExpired
                | Alert::CertificateRevoked
                | Alert::CertificateUnknown,
            )) => self.not_accepted(&cause),
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

/// What went wrong in a TLS handshake, where that is it.
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn args(api: String) -> ApiArgs {
        ApiArgs {
            api,
            token_file: None,
            ca_file: None,
            cert_file: None,
            key_file: None,
        }
    }

    fn client(api: String) -> Client {
        Client::new(&args(api)).unwrap()
    }

    /// Given ids with any sign, they are one part of the path each, to the letter.
    #[test]
    fn ids_are_parts_of_paths() {
        for (base, id, expected) in [
            ("127.0.0.1:1", "a b", "http://127.0.0.1:1/v1/runs/a%20b"),
            (
                "127.0.0.1:1/eddy/",
                "a/b?c#d",
                "http://127.0.0.1:1/eddy/v1/runs/a%2Fb%3Fc%23d",
            ),
            (
                "127.0.0.1:1",
                "t\tn\nr\r",
                "http://127.0.0.1:1/v1/runs/t%09n%0Ar%0D",
            ),
            ("127.0.0.1:1", "100%", "http://127.0.0.1:1/v1/runs/100%25"),
            ("127.0.0.1:1", "搜", "http://127.0.0.1:1/v1/runs/%E6%90%9C"),
        ] {
            let url = client(base.to_owned()).url(&["v1", "runs", id]);
            assert_eq!(url.as_str(), expected);
        }
    }

    /// Given files of the connection that cannot be used, the one at fault is named, with what it lacks.
    #[test]
    fn files_that_cannot_be_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let tls = |name: &str| {
            let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
            Some(tests.join(name))
        };
        let token = |text: &str| {
            let path = directory.path().join("token");
            std::fs::write(&path, text).unwrap();
            ApiArgs {
                token_file: Some(path),
                ..args("127.0.0.1:1".to_owned())
            }
        };
        let client = |certificate: &str, key: &str| ApiArgs {
            cert_file: tls(certificate),
            key_file: tls(key),
            ..args("https://127.0.0.1:1".to_owned())
        };
        let authority = ApiArgs {
            ca_file: tls("server.key"),
            ..args("https://127.0.0.1:1".to_owned())
        };
        for (args, expected) in [
            (
                client("client.crt", "ca.crt"),
                "ca.crt cannot be used: there is no private key in it",
            ),
            (
                client("client.key", "client.key"),
                "client.key cannot be used: there is no certificate in it",
            ),
            (
                client("client.crt", "server.key"),
                "server.key cannot be used: it is not the key of the certificate in ",
            ),
            (
                authority,
                "server.key cannot be used: there is no certificate in it",
            ),
            (
                ApiArgs {
                    token_file: Some(directory.path().join("none")),
                    ..args("127.0.0.1:1".to_owned())
                },
                "none, which `--token-file` or EDDY_API_TOKEN_FILE names, cannot be read: No such file",
            ),
            (
                ApiArgs {
                    ca_file: Some(directory.path().to_owned()),
                    ..args("https://127.0.0.1:1".to_owned())
                },
                "which `--ca-file` or EDDY_API_CA_FILE names, cannot be read: Is a directory",
            ),
            (token(" \n"), "token cannot be used: it holds no token"),
            (
                token("two words"),
                "token cannot be used: it holds no token",
            ),
        ] {
            let error = Client::new(&args).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        Client::new(&client("client.crt", "client.key")).unwrap();
        Client::new(&token("one\n")).unwrap();
    }

    /// Given a daemon that does not let a client in, it is said what to do: to name a token, or another than was shown.
    #[tokio::test]
    async fn who_is_not_let_in_hears_why() {
        let directory = tempfile::tempdir().unwrap();
        let wrong = directory.path().join("wrong");
        std::fs::write(&wrong, "wrong").unwrap();
        for (token_file, expected) in [
            (
                None,
                "name a file that holds one with `--token-file FILE`".to_owned(),
            ),
            (
                Some(&wrong),
                format!("does not know the token in {}", wrong.display()),
            ),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = Client::new(&ApiArgs {
                token_file: token_file.cloned(),
                ..args(listener.local_addr().unwrap().to_string())
            });
            let client = client.unwrap();
            let answering = async {
                let (mut peer, _) = listener.accept().await.unwrap();
                let _ = peer.read(&mut [0; 1024]).await.unwrap();
                let answer =
                    b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 12\r\n\r\n{\"error\":\"\"}";
                peer.write_all(answer).await.unwrap();
                peer
            };
            let asking = client.get::<serde_json::Value>(&["v1", "runs"], &[]);
            let (_peer, asked) = tokio::join!(answering, asking);
            let Err(Unanswered::Unknown(why)) = asked else {
                panic!("{asked:?}");
            };
            assert!(why.contains(&expected), "{why}");
        }
    }

    /// Given a host alone, it is asked at Eddy's port, and a URL at that of its scheme; what is said of it names that.
    #[test]
    fn the_port_is_named() {
        for (api, expected) in [
            ("localhost", "localhost:4319"),
            ("[::1]", "[::1]:4319"),
            ("eddy.example.com/eddy", "eddy.example.com:4319/eddy"),
            ("localhost:80", "localhost:80"),
            ("http://localhost", "localhost:80"),
            ("127.0.0.1:4319", "127.0.0.1:4319"),
            ("[::1]:4319/eddy/", "[::1]:4319/eddy"),
            ("https://eddy.example.com", "https://eddy.example.com:443"),
        ] {
            assert_eq!(client(api.to_owned()).address(), expected);
        }
    }

    /// Given a daemon that takes a connection and then says nothing, a question is given up, and it is said which one; so is a
    /// tail that is never begun.
    #[tokio::test(start_paused = true)]
    async fn a_question_is_given_up_after_a_time() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(silent.local_addr().unwrap().to_string());
        let asked = client.get::<serde_json::Value>(&["v1", "runs"], &[]).await;
        let day = Duration::from_secs(86_400);
        let opened = tokio::time::timeout(day, client.open(&["v1", "alerts"], &[])).await;
        let opened = opened.expect("it is given up");
        for (path, unanswered) in [("runs", asked.map(drop)), ("alerts", opened.map(drop))] {
            let Err(Unanswered::Unreachable(why)) = unanswered else {
                panic!("{unanswered:?}");
            };
            let expected = format!("/v1/{path} and did not answer within 10 s");
            assert!(why.contains(&expected), "{why}");
        }
    }

    /// Given a daemon that begins to answer and then has nothing to tell for a day, the answer goes on.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_has_begun_may_take_its_time() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(listener.local_addr().unwrap().to_string());
        let answering = async {
            let (mut peer, _) = listener.accept().await.unwrap();
            let _ = peer.read(&mut [0; 1024]).await.unwrap();
            peer.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            tokio::time::sleep(Duration::from_secs(86_400)).await;
            peer.write_all(b"data: at last\n\n").await.unwrap();
        };
        let reading = async {
            let answer = client.open(&["v1", "alerts"], &[]).await.unwrap();
            answer.text().await.unwrap()
        };
        let ((), read) = tokio::join!(answering, reading);
        assert_eq!(read, "data: at last\n\n");
    }

    /// Given an address of Eddy that is for telemetry, or one of another program, it is said that it is not the API's.
    #[tokio::test]
    async fn what_is_not_the_api_is_named() {
        for answer in [
            "HTTP/1.1 404 Not Found\r\ncontent-length: 11\r\n\r\n{\"code\":12}",
            "HTTP/1.1 415 Unsupported Media Type\r\ncontent-length: 0\r\n\r\n",
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = client(listener.local_addr().unwrap().to_string());
            let answering = async {
                let (mut peer, _) = listener.accept().await.unwrap();
                let _ = peer.read(&mut [0; 1024]).await.unwrap();
                peer.write_all(answer.as_bytes()).await.unwrap();
                peer
            };
            let asking = client.get::<serde_json::Value>(&["v1", "runs"], &[]);
            let (_peer, asked) = tokio::join!(answering, asking);
            let Err(Unanswered::Refused(why)) = asked else {
                panic!("{asked:?}");
            };
            let expected = "and not one for telemetry?";
            assert!(why.contains("(4") && why.ends_with(expected), "{why}");
        }
    }

    /// Given a port alone, which a URL would take for a host, it is no address.
    #[test]
    fn a_port_alone_is_no_address() {
        let Err(refused) = Client::new(&args("4319".to_owned())) else {
            panic!("it is taken");
        };
        let expected = "`4319` is not an address such as 127.0.0.1:4319 or ";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }

    /// Given a scheme that is not the daemon's, it is said which is wrong, and what to say in its place.
    #[tokio::test]
    async fn the_wrong_scheme_is_named() {
        // The alert with which TLS refuses what is not TLS.
        let alert = [21, 3, 3, 0, 2, 2, 70];
        let plain = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        for (scheme, answer, expected) in [
            (
                "https",
                &plain[..],
                "does not speak TLS: say `--api http://127",
            ),
            ("http", &alert, "does it speak TLS (`--api https://127"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = client(format!("{scheme}://{}", listener.local_addr().unwrap()));
            let answering = async {
                let (mut peer, _) = listener.accept().await.unwrap();
                peer.write_all(answer).await.unwrap();
                peer
            };
            let asking = client.get::<serde_json::Value>(&["v1", "runs"], &[]);
            let (_peer, asked) = tokio::join!(answering, asking);
            let Err(Unanswered::Unreachable(why)) = asked else {
                panic!("{asked:?}");
            };
            assert!(why.contains(expected), "{why}");
        }
    }
}
