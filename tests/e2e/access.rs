//! Listeners with locks: certificates and tokens, as senders and askers meet them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use eddy::api::v1;
use eddy::api::v1::warning_service_client::WarningServiceClient;
use eddy::guard::{CheckToolCallRequest, Client, Verdict};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message;
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;

use super::kill::calls;
use super::load::metric;
use super::support::{
    Daemon, Export, PATIENCE, Sender, eddy, free_port, http_client, output_of, runtime, until,
};
use super::tenants::with_token;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

/// The configuration of a listener that asks for a certificate, `client.crt`.
pub(crate) fn asks_for_certificates() -> String {
    format!(
        "tls: {{cert_file: {}, key_file: {}, client_ca_file: {}}}",
        fixture("server.crt").display(),
        fixture("server.key").display(),
        fixture("ca.crt").display()
    )
}

fn pem(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).expect("the fixture is there")
}

/// A daemon with a configuration.
pub(crate) fn configured(text: &str) -> (tempfile::TempDir, Daemon) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("eddy.yaml");
    fs::write(&config, text).expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    (directory, daemon)
}

/// What a request of gRPC with this token is answered.
async fn exported(daemon: &Daemon, token: &str) -> Code {
    let client = TraceServiceClient::connect(format!("http://{}", daemon.grpc)).await;
    let mut request = tonic::Request::new(calls(0, 0, 1));
    let value = format!("Bearer {token}").parse().expect("a header");
    request.metadata_mut().insert("authorization", value);
    let answer = client.expect("connected").export(request).await;
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

/// What a request of HTTP with this token is answered.
async fn answered(request: reqwest::RequestBuilder, token: &str) -> reqwest::Response {
    let request = request.header("authorization", format!("Bearer {token}"));
    request.send().await.expect("it answers")
}

/// Given tokens, each address takes only requests that show one of its own; health is told to everybody.
#[test]
fn tokens_are_asked_for_at_every_address() {
    let (directory, daemon) = configured(
        "receivers: {otlp: {protocols: {grpc: {auth: {tokens: [{token: for-grpc}]}}, http: {auth: {tokens: [{token: for-http}]}}}}}\n\
         service: {api: {auth: {tokens: [{token: for-api}, {token: for-api-2}]}}}\n",
    );
    let client = http_client();
    runtime().block_on(async {
        for (token, code) in [
            ("", Code::Unauthenticated),
            ("for-http", Code::Unauthenticated),
            ("for-grpc", Code::Ok),
        ] {
            assert_eq!(exported(&daemon, token).await, code, "{token}");
        }
        for (token, status) in [("", 401), ("for-grpc", 401), ("for-http", 200)] {
            let spans = client
                .post(format!("http://{}/v1/traces", daemon.http))
                .header("content-type", "application/x-protobuf")
                .body(calls(1, 0, 1).encode_to_vec());
            assert_eq!(answered(spans, token).await.status(), status, "{token}");
        }
        for (path, token, status) in [
            ("/v1/runs", "", 401),
            ("/v1/runs", "for-grpc", 401),
            ("/v1/runs", "for-api", 200),
            ("/v1/runs", "for-api-2", 200),
            ("/healthz", "", 200),
            ("/readyz", "", 200),
            ("/", "", 200),
            ("/page.js", "", 200),
        ] {
            let asked = client.get(format!("http://{}{path}", daemon.api));
            let answer = answered(asked, token).await;
            assert_eq!(answer.status(), status, "{path} {token}");
            if path == "/" {
                let policy = &answer.headers()["content-security-policy"];
                assert!(
                    policy.as_bytes().starts_with(b"default-src 'none';"),
                    "{policy:?}"
                );
            }
        }
    });
    let file = directory.path().join("token");
    fs::write(&file, "for-api\n").expect("it can be written");
    let runs = |arguments: &[&str]| {
        let api = daemon.api.to_string();
        let mut command = eddy();
        command.args(["runs", "--api", &api]).args(arguments);
        command.output().expect("the program starts")
    };
    let shown = runs(&["--token-file", &file.to_string_lossy()]);
    assert!(shown.status.success());
    let refused = runs(&[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("asks for a token"),
        "{said}"
    );
}

/// Given the guard's client of the library, it is answered with the token that is asked for, and goes on alone without.
#[test]
fn the_guards_client_shows_its_token() {
    let (_directory, open) = configured("service: {api: {auth: {tokens: [{token: for-api}]}}}\n");
    let question = || CheckToolCallRequest {
        run_id: "r".into(),
        tool: "search".into(),
        ..CheckToolCallRequest::default()
    };
    runtime().block_on(async {
        let client = || {
            let client = Client::new(&format!("http://{}", open.api)).expect("an address");
            client.with_deadline(Duration::from_secs(5))
        };
        let knows = client().with_token("for-api").expect("a token");
        let wrong = client().with_token("another").expect("a token");
        for (mut client, degraded) in [(knows, false), (wrong, true), (client(), true)] {
            let answer = client.check(question()).await.expect("a good request");
            assert_eq!(answer.degraded, degraded);
            assert_eq!(answer.verdict(), Verdict::Allow);
        }
        assert!(client().with_token("two\nlines").is_err());
    });
}

/// Given who may not ask, and still writes when it is refused, the answer is heard each time.
#[test]
fn refusals_are_heard_by_who_still_writes() {
    const BODY: usize = 3 << 20;
    let refused = |daemon: &Daemon, host: &str| {
        let mut peer = TcpStream::connect(daemon.api).expect("it listens");
        let head = format!(
            "POST /v1/guard/check HTTP/1.1\r\nHost: {host}\r\nContent-Length: {BODY}\r\n\r\n"
        );
        peer.write_all(head.as_bytes()).expect("the head is read");
        peer.write_all(&vec![b' '; BODY]).expect("the body is read");
        let mut status = [0; 12];
        peer.read_exact(&mut status).expect("it is answered");
        String::from_utf8_lossy(&status).into_owned()
    };
    let directory = tempfile::tempdir().expect("a directory");
    let open = Daemon::start(directory.path());
    let (_directory, closed) = configured("service: {api: {auth: {tokens: [{token: for-api}]}}}\n");
    for _ in 0..10 {
        assert_eq!(refused(&open, "elsewhere.example"), "HTTP/1.1 403");
        assert_eq!(refused(&closed, "localhost"), "HTTP/1.1 401");
    }
}

/// Given a token's file that gets another token, streams that began with the one of before end: over gRPC, with the reason. Without
/// a token none begins, reflection no more than others.
#[test]
fn streams_end_with_their_token() {
    let directory = tempfile::tempdir().expect("a directory");
    let (old, kept) = (directory.path().join("old"), directory.path().join("kept"));
    fs::write(&old, "one\n").expect("written");
    fs::write(&kept, "kept\n").expect("written");
    let (_directory, daemon) = configured(&format!(
        "service: {{api: {{reflection: true, auth: {{tokens: [{{token_file: {}}}, {{token_file: {}}}]}}}}}}\n",
        old.display(),
        kept.display()
    ));
    runtime().block_on(async {
        let channel = Channel::from_shared(format!("http://{}", daemon.api)).expect("an address");
        let channel = channel.connect().await.expect("it listens");
        let mut client = WarningServiceClient::new(channel.clone());
        let mut reflection = ServerReflectionClient::new(channel);
        let silence = tokio_stream::pending::<ServerReflectionRequest>;
        let refused = reflection.server_reflection_info(silence()).await;
        let refused = refused.expect_err("it shows no token");
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        let reflected = with_token(silence(), "one");
        let reflected = reflection.server_reflection_info(reflected).await;
        let mut reflected = reflected.expect("it is let in").into_inner();
        let mut tails = Vec::new();
        for token in ["one", "kept"] {
            let request = with_token(v1::TailAlertsRequest::default(), token);
            let tail = client.tail_alerts(request).await.expect("it is let in");
            tails.push(tail.into_inner());
        }
        let events = http_client()
            .get(format!("http://{}/v1/alerts", daemon.api))
            .header("authorization", "Bearer one");
        let events = events.send().await.expect("it answers");
        assert_eq!(events.status(), 200);

        fs::write(&old, "two\n").expect("written");
        let ended = async { tokio::join!(tails[0].message(), reflected.message()) };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        let (tail, reflected) = ended.expect("they end");
        for status in [tail.err(), reflected.err()] {
            let status = status.expect("it was revoked");
            assert_eq!(status.code(), Code::Unauthenticated, "{status}");
            assert!(status.message().contains("token"), "{status}");
        }
        let rest = tokio::time::timeout(PATIENCE, events.bytes()).await;
        rest.expect("it ends").expect("in good order");
        let quiet = tokio::time::timeout(Duration::from_millis(200), tails[1].message()).await;
        quiet.expect_err("the other goes on");
        let request = with_token(v1::TailAlertsRequest::default(), "one");
        client
            .tail_alerts(request)
            .await
            .expect_err("it is refused");
    });
}

/// Given addresses of which some ask for a token, the start says which, also where it says what to set for an agent, and never
/// the token itself.
#[test]
fn the_start_says_where_a_token_is_asked_for() {
    let (_directory, daemon) = configured(
        "receivers: {otlp: {protocols: {grpc: {auth: {tokens: [{token: s3cret}]}}}}}\n\
         service: {api: {auth: {tokens: [{token: s3cret}]}}}\n",
    );
    let said = runtime().block_on(until(async || {
        let said = daemon.stderr.lock().expect("nobody panics with it");
        said.contains("TOKEN stands for").then(|| said.clone())
    }));
    let line = |part: &str| said.lines().find(|line| line.contains(part)).expect(part);
    for (part, is_locked) in [
        ("  OTLP/gRPC", true),
        ("  OTLP/HTTP", false),
        ("  API", true),
    ] {
        assert_eq!(line(part).contains("asks for a token"), is_locked, "{said}");
    }
    let header = "export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN";
    let grpc = format!("export OTEL_EXPORTER_OTLP_PROTOCOL=grpc\n    {header}\n");
    assert!(said.contains(&grpc), "{said}");
    assert_eq!(said.matches(header).count(), 1, "{said}");
    let mut commands = said.lines().filter(|line| line.contains("export "));
    assert!(commands.all(|line| line.len() <= 80), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

/// Given secrets in files, the log warns once of each that every user of the machine can read, whoever it is for, and of no other.
#[cfg(unix)]
#[test]
fn secrets_that_everybody_can_read_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let secrets = tempfile::tempdir().expect("a directory");
    let secret = |name: &str, bytes: &[u8], mode: u32| {
        let path = secrets.path().join(name);
        fs::write(&path, bytes).expect("it can be written");
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(&path, mode).expect("it is ours");
        path.display().to_string()
    };
    let shared = secret("shared", b"for-both", 0o644);
    let own = secret("own", b"for-the-hook", 0o640);
    let server_key = secret("server.key", &pem("server.key"), 0o600);
    let client_key = secret("client.key", &pem("client.key"), 0o604);
    let [server, client] =
        ["server.crt", "client.crt"].map(|name| fixture(name).display().to_string());
    let (_directory, daemon) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{auth: {{tokens: [{{token_file: '{shared}'}}]}}}}}}}}}}\n\
         service: {{api: {{auth: {{tokens: [{{token_file: '{shared}'}}]}}, \
                          tls: {{cert_file: '{server}', key_file: '{server_key}'}}}}}}\n\
         exporters:\n  \
         webhook: {{url: 'http://127.0.0.1:9/x', allow_private: true, token_file: '{own}'}}\n  \
         otlp_logs: {{endpoint: 'https://127.0.0.1:9', tls: {{cert_file: '{client}', key_file: '{client_key}'}}}}\n",
    ));
    let said = daemon.stderr.lock().expect("nobody panics with it").clone();
    let warned = |file: &String| {
        let warns = |line: &&str| line.contains("can read this secret") && line.contains(file);
        said.lines().filter(warns).count()
    };
    assert_eq!(
        [&shared, &client_key, &own, &server_key].map(warned),
        [1, 1, 0, 0],
        "{said}"
    );
}

/// Given a machine that trusts no authority, as a container without certificates, a daemon is asked over plain HTTP all the same;
/// over TLS the client says what it lacks.
#[test]
fn plain_http_needs_no_authority() {
    let (_directory, daemon) = configured("{}\n");
    let none = tempfile::tempdir().expect("a directory");
    let runs = |api: String| {
        let mut command = eddy();
        command.args(["runs", "--api", &api]);
        command
            .env("SSL_CERT_FILE", none.path().join("none.pem"))
            .env("SSL_CERT_DIR", none.path());
        command.output().expect("the program starts")
    };
    let shown = runs(daemon.api.to_string());
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
    let refused = runs(format!("https://{}", daemon.api));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("certificates"),
        "{said}"
    );
}

/// Given certificates and an authority of clients, a sender with a certificate of it is heard; a stranger, or one without TLS,
/// is not.
#[test]
fn certificates_are_asked_for() {
    let tls = format!(
        "tls: {{cert_file: {}, key_file: {}, client_ca_file: {}}}",
        fixture("server.crt").display(),
        fixture("server.key").display(),
        fixture("ca.crt").display()
    );
    let (_directory, daemon) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{tls}}}, http: {{{tls}}}}}}}}}\n"
    ));
    runtime().block_on(async {
        for (name, is_heard) in [("client", true), ("stranger", false)] {
            assert_eq!(over_grpc(&daemon, Some(name)).await, is_heard, "{name}");
            assert_eq!(over_http(&daemon, name).await, is_heard, "{name}");
        }
        assert!(!over_grpc(&daemon, None).await);
        let plain = http_client()
            .post(format!("http://{}/v1/traces", daemon.http))
            .send();
        plain.await.expect_err("it is not spoken to");
    });
    assert_eq!(daemon.runs().len(), 1);
    let said = daemon.stderr.lock().expect("nobody panics with it");
    let lines = |part: &str| said.lines().filter(|line| line.contains(part)).count();
    assert_eq!(lines("asks for a certificate"), 2, "{said}");
    assert_eq!(lines("OTEL_EXPORTER_OTLP_CLIENT_KEY=KEY"), 2, "{said}");
    assert_eq!(lines("CERT and KEY stand for"), 1, "{said}");
    assert_eq!(lines("OTEL_EXPORTER_OTLP_CERTIFICATE names"), 1, "{said}");
}

/// Given an API that asks for certificates, the commands show theirs; and an https receiver of what is passed on is known by
/// the authority that the settings name.
#[test]
fn certificates_are_shown() {
    let tls = |section: &str| {
        format!(
            "{section}: {{tls: {{cert_file: {}, key_file: {}, client_ca_file: {}}}}}",
            fixture("server.crt").display(),
            fixture("server.key").display(),
            fixture("ca.crt").display()
        )
    };
    let (_directory, daemon) = configured(&format!("service: {{{}}}\n", tls("api")));
    let runs = |arguments: &[&str]| {
        let api = format!("https://localhost:{}", daemon.api.port());
        let ca = fixture("ca.crt");
        let mut command = eddy();
        command.args(["runs", "--api", &api, "--ca-file", &ca.to_string_lossy()]);
        command
            .args(arguments)
            .output()
            .expect("the program starts")
    };
    let (certificate, key) = (fixture("client.crt"), fixture("client.key"));
    let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
    let shown = runs(&["--cert-file", &certificate, "--key-file", &key]);
    assert!(
        shown.status.success(),
        "{}",
        String::from_utf8_lossy(&shown.stderr)
    );
    assert_eq!(runs(&["--cert-file", &certificate]).status.code(), Some(2));
    let stranger = [fixture("stranger.crt"), fixture("stranger.key")];
    let [stranger, its_key] = stranger.map(|path| path.to_string_lossy().into_owned());
    for (arguments, expected) in [
        (
            &[][..],
            "asks for a certificate: name one with `--cert-file",
        ),
        (
            &["--cert-file", &stranger, "--key-file", &its_key],
            "does not accept the certificate in ",
        ),
    ] {
        // The end of the connection may come before the reason.
        let is_told = (0..10).any(|_| {
            let refused = runs(arguments);
            assert!(!refused.status.success());
            String::from_utf8_lossy(&refused.stderr).contains(expected)
        });
        assert!(is_told, "{expected}");
    }
}

/// Given a certificate that issued itself as an authority, which the client cannot take for a server's, it is said how to make
/// one that serves.
#[test]
fn an_authority_is_no_server() {
    let (certificate, key) = (fixture("itself.crt"), fixture("itself.key"));
    let (_directory, daemon) = configured(&format!(
        "service: {{api: {{tls: {{cert_file: {}, key_file: {}}}}}}}\n",
        certificate.display(),
        key.display()
    ));
    let api = format!("https://localhost:{}", daemon.api.port());
    let mut command = eddy();
    command.args(["runs", "--api", &api, "--ca-file"]);
    let refused = command.arg(&certificate).output();
    let refused = refused.expect("the program starts");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("basicConstraints"),
        "{said}"
    );
}

/// Given certificates that have ended, the daemon's or the client's, what is said is to renew it, with the day when it ended, and
/// not to name another authority. Who names files of certificates asks over TLS without saying so.
#[test]
fn a_certificate_that_has_ended_is_to_be_renewed() {
    let path = |name: &str| fixture(name).to_string_lossy().into_owned();
    let serving = |name: &str, more: &str| {
        let (certificate, key) = (path(&format!("{name}.crt")), path(&format!("{name}.key")));
        format!("service: {{api: {{tls: {{cert_file: {certificate}, key_file: {key}{more}}}}}}}\n")
    };
    let asked = |arguments: &[&str]| {
        let output = eddy().arg("runs").args(arguments).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    let (_directory, ended) = configured(&serving("expired", ""));
    let api = format!("localhost:{}", ended.api.port());
    let (is_answered, said) = asked(&["--api", &api, "--ca-file", &path("expired.crt")]);
    assert!(!is_answered && !said.contains("--ca-file"), "{said}");
    let expected = "ended at 2026-01-01T00:00:00Z: renew it at the daemon";
    assert!(said.contains(expected), "{said}");

    let (_directory, good) = configured(&serving("server", ""));
    let api = format!("localhost:{}", good.api.port());
    let (is_answered, said) = asked(&["--api", &api, "--ca-file", &path("ca.crt")]);
    assert!(is_answered, "{said}");

    let more = format!(", client_ca_file: {}", path("expired.crt"));
    let (_directory, asking) = configured(&serving("server", &more));
    let api = format!("localhost:{}", asking.api.port());
    let (ca, shown, key) = (path("ca.crt"), path("expired.crt"), path("expired.key"));
    let shown = ["--cert-file", &shown, "--key-file", &key];
    let arguments = [&["--api", &api, "--ca-file", &ca][..], &shown].concat();
    // The end of the connection may come before the reason.
    let is_told = (0..10).any(|_| {
        let (is_answered, said) = asked(&arguments);
        assert!(!is_answered, "{said}");
        said.contains("expired.crt, which has ended: renew it")
    });
    assert!(is_told);
}

/// Given receivers behind the daemon with certificates of an authority that this machine does not trust, what is passed on
/// gets there where the settings name the authority, over gRPC and over HTTP.
#[test]
fn authorities_are_named() {
    let (certificate, key) = (fixture("server.crt"), fixture("server.key"));
    let tls = format!(
        "tls: {{cert_file: {}, key_file: {}}}",
        certificate.display(),
        key.display()
    );
    let (_behind, behind) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{tls}}}, http: {{{tls}}}}}}}}}\n"
    ));
    for (run, protocol, port) in [
        (1, "grpc", behind.grpc.port()),
        (2, "http", behind.http.port()),
    ] {
        let (_directory, daemon) = configured(&format!(
            "exporters: {{otlp_forward: {{endpoint: 'https://localhost:{port}', protocol: {protocol}, tls: {{ca_file: {}}}}}}}\n",
            fixture("ca.crt").display()
        ));
        runtime().block_on(async {
            let client = TraceServiceClient::connect(format!("http://{}", daemon.grpc)).await;
            let sent = client.expect("connected").export(calls(run, 0, 3)).await;
            sent.expect("it is taken");
        });
        let began = std::time::Instant::now();
        while behind.runs().len() < run as usize && began.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(behind.runs().len(), run as usize, "{protocol}");
    }
}

/// A certificate that ended, and one that is good, at the start and in the place of another: the daemon says what clients will.
#[test]
fn a_certificate_that_ended_is_warned_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let [certificate, key] = ["own.crt", "own.key"].map(|name| directory.path().join(name));
    let install = |name: &str| {
        for (file, place) in [("crt", &certificate), ("key", &key)] {
            std::fs::copy(fixture(&format!("{name}.{file}")), place).expect("copied");
        }
    };
    install("expired");
    let (config_directory, daemon) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{tls: {{cert_file: {}, key_file: {}}}}}}}}}}}\n",
        certificate.display(),
        key.display()
    ));
    let config = config_directory.path().join("eddy.yaml");
    let checked = eddy().arg("validate").arg(config).output();
    let checked = checked.expect("the program runs");
    assert!(checked.status.success(), "{checked:?}");
    let told = String::from_utf8_lossy(&checked.stderr);
    assert!(
        told.contains("clients refuse this certificate, whose time is over"),
        "{told}"
    );
    let said = || daemon.stderr.lock().expect("whole").clone();
    assert!(
        said().contains("clients refuse this certificate, whose time is over"),
        "{}",
        said()
    );
    // By the listener, of which several may have the same.
    for told in [&*told, &said()] {
        let listener = "receivers.otlp.protocols.grpc";
        assert!(told.contains(listener), "{told}");
    }
    assert!(
        said().contains("not_after=2026-01-01T00:00:00Z"),
        "{}",
        said()
    );
    install("server");
    let began = std::time::Instant::now();
    while !said().contains("new connections use them") && began.elapsed() < PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(runtime().block_on(over_grpc(&daemon, None)));
    assert_eq!(said().matches("clients refuse").count(), 1, "{}", said());
}

async fn over_grpc(daemon: &Daemon, identity: Option<&str>) -> bool {
    let mut tls = ClientTlsConfig::new()
        .domain_name("localhost")
        .ca_certificate(Certificate::from_pem(pem("ca.crt")));
    if let Some(name) = identity {
        let (certificate, key) = (pem(&format!("{name}.crt")), pem(&format!("{name}.key")));
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", daemon.grpc)).expect("an address");
    let channel: Channel = endpoint.tls_config(tls).expect("good").connect_lazy();
    let sent = TraceServiceClient::new(channel)
        .export(calls(0, 0, 1))
        .await;
    sent.is_ok()
}

async fn over_http(daemon: &Daemon, name: &str) -> bool {
    let identity = [pem(&format!("{name}.key")), pem(&format!("{name}.crt"))].concat();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(&pem("ca.crt")).expect("good")])
        .identity(reqwest::Identity::from_pem(&identity).expect("good"))
        .build()
        .expect("a client");
    let sent = client
        .post(format!(
            "https://localhost:{}/v1/traces",
            daemon.http.port()
        ))
        .header("content-type", "application/x-protobuf")
        .body(calls(0, 0, 1).encode_to_vec())
        .send();
    sent.await.is_ok_and(|response| response.status() == 200)
}

/// Given an address that others can reach and nothing that is asked of them, the program does not start and says what to do.
#[test]
fn open_listeners_are_refused() {
    for flag in ["--otlp-grpc", "--otlp-http", "--api"] {
        let refused = output_of(eddy().args(["serve", flag, "0.0.0.0:0"]));
        assert_eq!(refused.status.code(), Some(78));
        let said = String::from_utf8_lossy(&refused.stderr);
        for part in [flag, "auth.tokens", "tls.client_ca_file", "allow_insecure"] {
            assert!(said.contains(part), "{said}");
        }
    }
}

/// Given a page that made its own name point here, the API does not answer it, and the receiver does not take its spans.
#[test]
fn pages_of_browsers_are_refused() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(data.path());
    runtime().block_on(async {
        for (host, status) in [
            ("evil.example:4319", 403),
            ("localhost:4319", 200),
            ("127.0.0.1", 200),
        ] {
            let asked = http_client()
                .get(format!("http://{}/v1/runs", daemon.api))
                .header("host", host);
            assert_eq!(
                asked.send().await.expect("it answers").status(),
                status,
                "{host}"
            );
        }
        let sent = http_client()
            .post(format!("http://{}/v1/traces", daemon.http))
            .header("content-type", "application/json")
            .header("origin", "http://evil.example")
            .body("{}");
        assert_eq!(sent.send().await.expect("it answers").status(), 403);
    });
}

/// Given pages that may send, a browser is told so before it sends and when it has, with and without a token; other pages are
/// told nothing and not heard.
#[test]
fn chosen_pages_may_send() {
    let (_directory, daemon) = configured(
        "receivers: {otlp: {protocols: {http: {cors: {allowed_origins: ['https://*.example.com'], allowed_headers: [x-team]}, \
         auth: {tokens: [{token: secret}]}}}}}\n",
    );
    runtime().block_on(async {
        let url = format!("http://{}/v1/traces", daemon.http);
        for (origin, is_let_in) in [
            ("https://app.example.com", true),
            ("https://app.example.org", false),
        ] {
            let asked = http_client()
                .request(reqwest::Method::OPTIONS, &url)
                .header("origin", origin)
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type,x-team");
            let asked = asked.send().await.expect("it answers");
            assert_eq!(asked.status() == 204, is_let_in, "{origin}");
            let told = asked.headers().get("access-control-allow-headers");
            let told = told.map(|told| told.to_str().expect("text").contains("x-team"));
            assert_eq!(told, is_let_in.then_some(true));
            for (token, status) in [("secret", 200), ("other", 401)] {
                let sent = http_client()
                    .post(&url)
                    .header("content-type", "application/x-protobuf")
                    .header("origin", origin)
                    .header("authorization", format!("Bearer {token}"))
                    .body(calls(0, 0, 1).encode_to_vec());
                let sent = sent.send().await.expect("it answers");
                let told = sent.headers().get("access-control-allow-origin");
                assert_eq!(told.is_some(), is_let_in, "{origin}");
                let heard = if is_let_in || token == "other" {
                    status
                } else {
                    403
                };
                assert_eq!(sent.status(), heard, "{origin} {token}");
            }
        }
    });
    assert_eq!(daemon.runs().len(), 1);
}

/// Given OTLP/HTTP switched off, nobody listens there, and everything else goes its way; unless a flag asks for it.
#[test]
fn http_can_be_switched_off() {
    let [grpc, http, api] = [free_port(), free_port(), free_port()].map(|port| port.to_string());
    let off = format!(
        "receivers: {{otlp: {{protocols: {{http: {{enabled: false, endpoint: '{http}'}}}}}}}}\n"
    );
    let (directory, daemon) = configured(&off);
    TcpStream::connect(daemon.http).expect("the flag asks for it");
    let mut command = eddy();
    command.args(["serve", "--otlp-grpc", &grpc, "--api", &api, "--data-dir"]);
    command.arg(directory.path().join("other"));
    command
        .arg("--config")
        .arg(directory.path().join("eddy.yaml"));
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let sent = runtime().block_on(async {
        let address = format!("http://{grpc}");
        let connected = async || TraceServiceClient::connect(address.clone()).await.ok();
        until(connected).await.export(calls(0, 0, 3)).await
    });
    let connected = TcpStream::connect(&http);
    let told = Command::new("kill")
        .args(["-s", "TERM", &child.id().to_string()])
        .status();
    assert!(told.expect("there is kill").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    sent.expect("it is taken");
    connected.expect_err("nobody listens");
}

/// Given a webhook whose certificate nobody here trusts, no alert goes there, the log says why, and the other exporters get
/// theirs.
#[test]
fn a_webhook_without_a_good_certificate_gets_nothing() {
    let (_behind, behind) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{http: {{tls: {{cert_file: {}, key_file: {}}}}}}}}}}}\n",
        fixture("server.crt").display(),
        fixture("server.key").display()
    ));
    let away = tempfile::tempdir().expect("a temporary directory");
    let alerts = away.path().join("alerts.jsonl");
    let (_directory, daemon) = configured(&format!(
        "exporters:\n  file: {{path: '{}'}}\n  webhook: {{url: 'https://localhost:{}/hook', allow_private: true}}\n",
        alerts.display(),
        behind.http.port()
    ));
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for request in super::secrets::looping(1) {
            sender.send(Export::Traces(request)).await.expect("taken");
        }
        until(async || {
            let page = http_client().get(format!("http://{}/metrics", daemon.api));
            let page = page.send().await.ok()?.text().await.ok()?;
            let failed = page.lines().any(|line| {
                line.starts_with("eddy_exporter_retries_total{exporter=\"webhook\"")
                    && !line.ends_with(" 0")
            });
            let written = fs::read_to_string(&alerts).is_ok_and(|text| text.contains("raised"));
            (failed && written).then_some(())
        })
        .await;
        until(async || {
            let said = daemon.stderr.lock().expect("whole").clone();
            let failed = said
                .lines()
                .find(|line| line.contains("cannot be delivered") && line.contains("webhook"))?;
            let remedy = "to do: name a file with that of its authority in `tls.ca_file`";
            assert!(failed.contains(remedy), "{failed}");
            assert!(!failed.contains("look whether"), "{failed}");
            Some(())
        })
        .await;
    });
    // The library would say so for each attempt, and not whose it is.
    let said = daemon.stderr.lock().expect("whole");
    assert!(!said.contains("rustls_platform_verifier"), "{said}");
}

/// Given receivers of alerts whose certificates are of an authority that this machine does not trust, and that ask for one, alerts
/// get there where the settings name both, as log records and as Alertmanager's JSON: once the right one is in its place.
#[test]
fn receivers_of_alerts_may_ask_for_a_certificate() {
    let asking = asks_for_certificates();
    let (_behind, behind) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{asking}}}, http: {{{asking}}}}}}}}}\n"
    ));
    let shown = Shown::stranger();
    let tls = shown.settings();
    // As OTLP/JSON, what a webhook posts is a request with nothing in it.
    let (_directory, daemon) = configured(&format!(
        "exporters:\n  otlp_logs: {{endpoint: 'https://localhost:{}', {tls}}}\n  \
         webhook: {{url: 'https://localhost:{}/v1/logs', allow_private: true, {tls}}}\n",
        behind.grpc.port(),
        behind.http.port()
    ));
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for request in super::secrets::looping(1) {
            sender.send(Export::Traces(request)).await.expect("taken");
        }
        for number in ["retries_total", "sent_alerts_total"] {
            until(async || {
                let page = http_client().get(format!("http://{}/metrics", daemon.api));
                let page = page.send().await.ok()?.text().await.ok()?;
                let both = ["otlp_logs", "webhook"].into_iter().all(|exporter| {
                    let name = format!("eddy_exporter_{number}{{exporter=\"{exporter}\"");
                    let mut lines = page.lines();
                    lines.any(|line| line.starts_with(&name) && !line.ends_with(" 0"))
                });
                both.then_some(())
            })
            .await;
            shown.renew();
        }
    });
    assert!(metric(&behind, "eddy_receiver_accepted_log_records_total") > 0);
}

/// The certificate that a daemon shows to receivers, in files of a test's own.
pub(crate) struct Shown(tempfile::TempDir);

impl Shown {
    /// One that no receiver here takes.
    pub(crate) fn stranger() -> Self {
        let shown = Self(tempfile::tempdir().expect("a temporary directory"));
        shown.put("stranger");
        shown
    }

    /// Puts the one in its place that receivers take.
    pub(crate) fn renew(&self) {
        self.put("client");
    }

    fn put(&self, name: &str) {
        for part in ["crt", "key"] {
            let place = self.0.path().join(format!("shown.{part}"));
            fs::copy(fixture(&format!("{name}.{part}")), place).expect("copied");
        }
    }

    /// What a configuration says of it.
    pub(crate) fn settings(&self) -> String {
        let shown = self.0.path().join("shown").display().to_string();
        format!(
            "tls: {{ca_file: {}, cert_file: {shown}.crt, key_file: {shown}.key}}",
            fixture("ca.crt").display()
        )
    }
}
