//! What is said of an address, a certificate or a daemon that is none.

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
            let answer = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 12\r\n\r\n{\"error\":\"\"}";
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
