//! Listeners as those see them who come in: with and without certificates and tokens, and after these have changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use futures_util::StreamExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::tls::{Tls, out_of_date};
use super::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tls")
        .join(name)
}

fn certificate(name: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(fixture(&format!("{name}.crt"))).unwrap()
}

/// Copies of the server's files, so that they can be changed.
fn files(dir: &TempDir, client_ca: Option<&str>) -> TlsFiles {
    let files = TlsFiles {
        section: "service.api".to_owned(),
        cert_file: dir.path().join("cert"),
        key_file: dir.path().join("key"),
        client_ca_file: client_ca.map(fixture),
        min_version: TlsVersion::V12,
    };
    install(&files, "server");
    files
}

fn install(files: &TlsFiles, name: &str) {
    fs::copy(fixture(&format!("{name}.crt")), &files.cert_file).unwrap();
    fs::copy(fixture(&format!("{name}.key")), &files.key_file).unwrap();
}

fn client(identity: Option<&str>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        Some(name) => {
            let key = PrivateKeyDer::from_pem_file(fixture(&format!("{name}.key"))).unwrap();
            builder
                .with_client_auth_cert(vec![certificate(name)], key)
                .unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    TlsConnector::from(Arc::new(config))
}

/// Starts a listener that says what it hears, and gives the address and the certificates behind it.
async fn echo(access: &Access) -> (std::net::SocketAddr, Arc<Tls>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = Listener::new(listener, access).unwrap();
    let address = listener.address().unwrap();
    let tls = Arc::clone(listener.tls.as_ref().unwrap());
    let (connections, _) = listener.open();
    tokio::spawn(connections.for_each_concurrent(None, |connection| async {
        let (mut read, mut write) = tokio::io::split(connection.unwrap());
        let _ = tokio::io::copy(&mut read, &mut write).await;
    }));
    (address, tls)
}

/// The certificate that a client is shown, when it can talk to the listener.
async fn shown(
    address: std::net::SocketAddr,
    identity: Option<&str>,
) -> std::io::Result<CertificateDer<'static>> {
    let socket = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = client(identity).connect(name, socket).await?;
    stream.write_all(b"hello").await?;
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await?;
    assert_eq!(&heard, b"hello");
    let certificates = stream.get_ref().1.peer_certificates().unwrap();
    Ok(certificates[0].clone().into_owned())
}

/// Given new certificates in the files, the next connection is shown them; given files that cannot be used, the old stay.
#[tokio::test]
async fn certificates_are_renewed() {
    let dir = TempDir::new().unwrap();
    let tls = files(&dir, None);
    let access = Access {
        tls: Some(tls.clone()),
        ..Access::default()
    };
    assert!(!access.authenticates());
    let (address, current) = echo(&access).await;
    assert_eq!(shown(address, None).await.unwrap(), certificate("server"));
    install(&tls, "renewed");
    current.refresh();
    assert_eq!(shown(address, None).await.unwrap(), certificate("renewed"));
    fs::copy(fixture("server.crt"), &tls.cert_file).unwrap();
    current.refresh();
    fs::write(&tls.cert_file, "no certificate").unwrap();
    current.refresh();
    fs::remove_file(&tls.key_file).unwrap();
    current.refresh();
    assert_eq!(shown(address, None).await.unwrap(), certificate("renewed"));
}

/// Given an authority of clients, only a client with a certificate of it comes in; the others are counted.
#[tokio::test]
async fn strangers_stay_outside() {
    let dir = TempDir::new().unwrap();
    let access = Access {
        tls: Some(files(&dir, Some("ca.crt"))),
        ..Access::default()
    };
    assert!(access.authenticates());
    let (address, _) = echo(&access).await;
    let failed_before = failed_handshakes();
    shown(address, Some("client")).await.unwrap();
    shown(address, Some("stranger")).await.unwrap_err();
    shown(address, None).await.unwrap_err();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    // An alert of TLS, or nothing.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"GET"), "{answer:?}");
    // Other tests may have failed some more meanwhile.
    assert!(failed_handshakes() >= failed_before + 3);
}

/// Given a peer that connects and says nothing, it is let go; one that has begun is not.
#[tokio::test(start_paused = true)]
async fn silence_is_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let silent = TcpStream::connect(address).await.unwrap();
    let (connections, _) = Listener::from(listener).open();
    let mut connections = std::pin::pin!(connections);
    let mut connection = connections.next().await.unwrap().unwrap();
    let mut heard = [0; 64];
    let error = connection.read(&mut heard).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    drop(silent);
    let mut talking = TcpStream::connect(address).await.unwrap();
    talking
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    let mut connection = connections.next().await.unwrap().unwrap();
    connection.read_exact(&mut heard[..24]).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_secs(3600), connection.read(&mut heard));
    waiting
        .await
        .expect_err("nothing has come and nothing is wrong");
}

/// A listener of so many connections, which asks for this.
async fn narrow(most: usize, access: &Access) -> Listener {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut listener = Listener::new(listener, access).unwrap();
    listener.connections = ConnectionLimit::with(most, None);
    listener
}

/// What a peer hears until its connection is closed.
async fn heard(mut peer: TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    // A connection that is broken off counts as one that ended.
    let _ = peer.read_to_end(&mut heard).await;
    heard
}

/// Given a listener that is full of peers that say nothing, with and without TLS, who comes and speaks is let in for the one
/// that has been silent for longest, and it is counted.
#[tokio::test]
async fn silence_keeps_nobody_out() {
    let dir = TempDir::new().unwrap();
    let closed = Access {
        tls: Some(files(&dir, None)),
        ..Access::default()
    };
    for access in [Access::default(), closed] {
        let listener = narrow(2, &access).await;
        let (address, limit) = (
            listener.address().unwrap(),
            Arc::clone(listener.connections()),
        );
        let (connections, _) = listener.open();
        tokio::spawn(connections.for_each_concurrent(None, |connection| async {
            let (mut read, mut write) = tokio::io::split(connection.unwrap());
            let _ = tokio::io::copy(&mut read, &mut write).await;
        }));
        let first = TcpStream::connect(address).await.unwrap();
        let second = TcpStream::connect(address).await.unwrap();
        if access.tls.is_some() {
            shown(address, None).await.unwrap();
        } else {
            let mut talking = TcpStream::connect(address).await.unwrap();
            talking.write_all(&[b'x'; 24]).await.unwrap();
            talking.read_exact(&mut [0; 24]).await.unwrap();
        }
        assert_eq!(heard(first).await, b"");
        let nothing = second.try_read(&mut [0; 1]).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(limit.full(), 1);
    }
}

/// Given a listener that is full of connections that have begun, none of them is closed: who comes waits for one to end.
#[tokio::test]
async fn who_has_begun_keeps_its_place() {
    let listener = narrow(1, &Access::default()).await;
    let (address, limit) = (
        listener.address().unwrap(),
        Arc::clone(listener.connections()),
    );
    let (connections, _) = listener.open();
    let mut connections = std::pin::pin!(connections);
    let mut one = TcpStream::connect(address).await.unwrap();
    one.write_all(&[b'x'; 24]).await.unwrap();
    let mut first = connections.next().await.unwrap().unwrap();
    first.read_exact(&mut [0; 24]).await.unwrap();
    let _other = TcpStream::connect(address).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(1500), connections.next());
    assert!(waiting.await.is_err(), "there is no place");
    assert_eq!((limit.full(), limit.open()), (1, 1));
    one.write_all(b"y").await.unwrap();
    first.read_exact(&mut [0; 1]).await.unwrap();
    drop(first);
    let second = connections.next().await.unwrap();
    assert!(second.is_ok());
    assert_eq!((limit.full(), limit.open()), (1, 1));
}

fn headers(authorization: &[u8]) -> HeaderMap {
    let value = HeaderValue::from_bytes(authorization).unwrap();
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

/// Given tokens, each of them lets a request in and nothing else does; given none, everybody may come in.
#[test]
fn tokens_let_in() {
    let known = [
        Token::Text("first-token".to_owned().into()).into(),
        Token::Text(" second ".to_owned().into()).into(),
    ];
    let tokens = Tokens::read(&known).unwrap();
    for good in [
        &b"Bearer first-token"[..],
        b"bearer second",
        b"Bearer   second ",
    ] {
        assert!(tokens.tenant(&headers(good)).is_some(), "{good:?}");
    }
    let too_long = [b"Bearer ".to_vec(), vec![b'a'; 100_000]].concat();
    for bad in [
        &b"Bearer first-tokem"[..],
        b"Bearer first-token1",
        b"Bearer first-toke",
        b"Bearer ",
        b"Bearer",
        b"",
        b"Basic first-token",
        b"first-token",
        b"Bearer first-token second",
        b"Bearer \xff",
        &too_long,
    ] {
        assert!(tokens.tenant(&headers(bad)).is_none(), "{bad:?}");
    }
    assert!(tokens.tenant(&HeaderMap::new()).is_none());
    assert_eq!(
        Tokens::default().tenant(&HeaderMap::new()),
        Some(Tenant::default())
    );
    assert!(!format!("{tokens:?}").contains("second"));
}

/// Given tokens of tenants, each says whose the request is; the same one cannot be two tenants'.
#[test]
fn tokens_name_tenants() {
    let of = |token: &str, tenant: &str| Credential {
        token: Token::Text(token.to_owned().into()),
        tenant: Tenant::named(tenant).unwrap_or_default(),
    };
    let tokens = Tokens::read(&[
        of("a", "blue"),
        of("b", "red"),
        of("c", ""),
        of("d", "blue"),
    ]);
    let tokens = tokens.unwrap();
    for (token, tenant) in [("a", "blue"), ("b", "red"), ("c", ""), ("d", "blue")] {
        let shown = headers(format!("Bearer {token}").as_bytes());
        assert_eq!(tokens.tenant(&shown).unwrap().name(), tenant, "{token}");
    }
    Tokens::read(&[of("a", "blue"), of("a", "blue")]).unwrap();
    let fault = Tokens::read(&[of("a", "blue"), of("b", "red"), of("a", "")]).unwrap_err();
    assert!(fault.text.contains("two tenants"), "{fault}");
    for bad in ["", "Blue", "a/b", "..", "a b", &"x".repeat(65)] {
        assert_eq!(Tenant::named(bad), None, "{bad}");
    }
}

/// Given a file with another token, the new one counts; given a file that cannot be used, the old one does.
#[test]
fn tokens_are_renewed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("token");
    fs::write(&path, "old\n").unwrap();
    let tokens = Tokens::read(&[Token::File(path.clone()).into()]).unwrap();
    let is = |token: &str| {
        let headers = headers(format!("Bearer {token}").as_bytes());
        tokens.tenant(&headers).is_some()
    };
    assert!(is("old") && !is("new"));
    fs::write(&path, "new\n").unwrap();
    tokens.refresh();
    assert!(is("new") && !is("old"));
    fs::write(&path, "").unwrap();
    tokens.refresh();
    assert!(is("new"));
    fs::remove_file(&path).unwrap();
    tokens.refresh();
    assert!(is("new"));
    // A pipe that nobody writes to would keep its reader waiting.
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    tokens.refresh();
    assert!(is("new"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "newest").unwrap();
    tokens.refresh();
    assert!(is("newest") && !is("new"));
}

/// Given a file that is gone, the tokens of the others are renewed all the same.
#[test]
fn a_token_is_renewed_beside_one_that_cannot_be_read() {
    let dir = TempDir::new().unwrap();
    let paths = ["a", "b", "c"].map(|name| dir.path().join(name));
    for path in &paths {
        fs::write(path, path.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    let tokens = Tokens::read(&paths.clone().map(|path| Token::File(path).into())).unwrap();
    fs::remove_file(&paths[1]).unwrap();
    for path in [&paths[0], &paths[2]] {
        fs::write(path, "new").unwrap();
    }
    tokens.refresh();
    let is = |token: &str| {
        let headers = headers(format!("Bearer {token}").as_bytes());
        tokens.tenant(&headers).is_some()
    };
    assert_eq!(["a", "b", "c", "new"].map(is), [false, true, false, true]);
}

/// Given files that cannot be used for long, the log says so once a minute, and how often it was tried.
#[tokio::test(start_paused = true)]
async fn troubles_do_not_fill_the_log() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("token");
    fs::write(&path, "token").unwrap();
    let tokens = Tokens::read(&[Token::File(path.clone()).into()]).unwrap();
    let tls_files = files(&dir, None);
    let tls = Tls::read(&tls_files).unwrap();
    for gone in [&path, &tls_files.cert_file] {
        fs::remove_file(gone).unwrap();
    }
    let (read, write) = std::io::pipe().unwrap();
    let log = tracing_subscriber::fmt().with_writer(move || write.try_clone().unwrap());
    let reading = tracing::subscriber::set_default(log.finish());
    for _ in 0..7 {
        tokens.refresh();
        tls.refresh();
        tokio::time::advance(LOOK_EVERY).await;
    }
    drop(reading);
    let said = std::io::read_to_string(read).unwrap();
    for what in ["a token", "the certificates"] {
        assert_eq!(said.matches(what).count(), 2, "{said}");
    }
    assert_eq!(said.matches("times").count(), 4, "{said}");
}

/// Given a file that cannot be used, the key that names it is told.
#[test]
fn faults_are_named() {
    let check = |change: fn(&mut TlsFiles), key: &str, text: &str| {
        let dir = TempDir::new().unwrap();
        let mut tls = files(&dir, Some("ca.crt"));
        change(&mut tls);
        let access = Access {
            tls: Some(tls),
            tokens: Vec::new(),
        };
        let faults = access.faults();
        let [fault] = &faults[..] else {
            panic!("{faults:?}");
        };
        assert_eq!(fault.key, key, "{fault}");
        assert!(fault.text.contains(text), "{fault}");
    };
    check(
        |files| files.cert_file = "/nowhere".into(),
        "cert_file",
        "`/nowhere` cannot be read",
    );
    check(
        |files| files.cert_file = fixture("server.key"),
        "cert_file",
        "there is no certificate in it",
    );
    check(
        |files| files.key_file = fixture("server.crt"),
        "key_file",
        "there is no private key in it",
    );
    check(
        |files| files.key_file = fixture("client.key"),
        "key_file",
        "it is not the key of the certificate in `",
    );
    check(
        |files| files.client_ca_file = Some(fixture("README.md")),
        "client_ca_file",
        "there is no certificate in it",
    );
    let dir = TempDir::new().unwrap();
    let empty = dir.path().join("empty-token");
    fs::write(&empty, "\n").unwrap();
    let fault = Tokens::read(&[Token::File(empty).into()]).unwrap_err();
    assert!(fault.text.contains("empty-token` holds none"), "{fault}");
    for bad in ["", " ", "two words", "ümlaut"] {
        let fault = Tokens::read(&[Token::Text(bad.to_owned().into()).into()]).unwrap_err();
        assert_eq!(fault.key, "token", "{bad}");
    }
}

/// What this thread logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Given a certificate that has ended and stays as it is; it is warned of when it is read, and once a day.
#[tokio::test(start_paused = true)]
async fn dates_are_looked_at_again() {
    let log = Log::default();
    let written = log.clone();
    let lines = tracing_subscriber::fmt().with_writer(move || written.clone());
    let _reading = tracing::subscriber::set_default(lines.finish());
    let warnings = || {
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        text.matches("clients refuse this certificate").count()
    };
    let dir = TempDir::new().unwrap();
    let files = files(&dir, None);
    install(&files, "expired");
    let tls = Tls::read(&files).unwrap();
    assert_eq!(warnings(), 1);
    for (hours, expected) in [(0, 1), (23, 1), (1, 2), (1, 2), (23, 3)] {
        tokio::time::advance(Duration::from_secs(hours * 3_600)).await;
        tls.refresh();
        assert_eq!(warnings(), expected, "{hours}");
    }
}

/// Given a certificate by itself, with its issuer, and one that issued itself: its dates are seen, and nothing else of it.
#[test]
fn dates_of_certificates_are_seen() {
    let at = |year: u64| {
        let since_1970 = Duration::from_secs((year - 1970) * 365 * 24 * 60 * 60);
        UnixTime::since_unix_epoch(since_1970)
    };
    let own = vec![certificate("server")];
    let chain = vec![certificate("server"), certificate("ca")];
    for certificates in [&own, &chain] {
        let ended = out_of_date(certificates, at(2200));
        assert!(matches!(
            ended,
            Some(CertificateError::ExpiredContext { .. })
        ));
        let early = out_of_date(certificates, at(2020));
        assert!(matches!(
            early,
            Some(CertificateError::NotValidYetContext { .. })
        ));
    }
    for certificates in [&own, &chain] {
        assert_eq!(out_of_date(certificates, at(2030)), None);
    }
    let selfmade = vec![certificate("expired")];
    let ended = out_of_date(&selfmade, at(2030));
    assert!(matches!(
        ended,
        Some(CertificateError::ExpiredContext { .. })
    ));
}
