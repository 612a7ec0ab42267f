//! What is refused of a question before anybody is asked: what does not arrive, is too much, or is not in the caller's language.

use std::time::Duration;

use futures_util::stream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tonic::Code;
use tonic_prost::ProstCodec;

use super::{Fixture, Options, PATIENCE, Settings};
use crate::api::{REFUSED, v1};

const CHECK: &str = "/v1/guard/check";

/// What is answered over HTTP: the status, the headers, and the JSON.
async fn answer(eddy: &Fixture, length: usize, body: &[u8]) -> (u16, String, Value) {
    let length = format!("content-length: {length}\r\n");
    let mut socket = eddy.ask("POST", CHECK, &length).await;
    socket.write_all(body).await.unwrap();
    let mut text = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut text)).await;
    read.unwrap().unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_owned(), serde_json::from_str(body).unwrap())
}

/// Given much of a question that does not go on, another one that would be too much beside it is told when to come again; once
/// the first is gone, it is answered.
#[tokio::test]
async fn too_much_that_arrives_is_refused_for_now() {
    let settings = Settings {
        arriving_bytes_max: 1_000,
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    let mut stuck = eddy.ask("POST", CHECK, "content-length: 990\r\n").await;
    stuck.write_all(&[b' '; 900]).await.unwrap();
    let question = json!({"run_id": "r", "tool": "t", "arguments": "x".repeat(200)}).to_string();
    let ask = || answer(&eddy, question.len(), question.as_bytes());
    let deadline = Instant::now() + PATIENCE;
    let before = REFUSED.arriving.value();
    let (head, refusal) = loop {
        let (status, head, json) = ask().await;
        if status != 200 {
            assert_eq!(status, 503, "{json}");
            break (head, json);
        }
        assert!(Instant::now() < deadline, "all of it is taken");
    };
    assert!(head.contains("retry-after: 1"), "{head}");
    let expected = json!({"error": "too much of other questions is arriving; try again"});
    assert_eq!(refusal, expected);
    assert!(REFUSED.arriving.value() > before);
    drop(stuck);
    while ask().await.0 != 200 {
        assert!(Instant::now() < deadline, "nothing was given back");
    }
}

/// Given a question that does not arrive in time, or is longer than any may be, it is said which of the two it was.
#[tokio::test]
async fn late_and_long_questions_are_told_apart() {
    let settings = Settings {
        arrival_max: Duration::from_millis(50),
        ..Settings::default()
    };
    let eddy = Fixture::start_with(&Options::default(), settings).await;
    let (status, _, json) = answer(&eddy, 10, b"{").await;
    let expected = json!({"error": "the question did not arrive in time"});
    assert_eq!((status, json), (408, expected));
    let eddy = Fixture::start().await;
    let long = vec![b' '; (4 << 20) + 1];
    let (status, _, json) = answer(&eddy, long.len(), &long).await;
    let expected = json!({"error": "body: at most 4194304 bytes are taken"});
    assert_eq!((status, json), (413, expected));
}

/// Given a question that announces more than any may have, and a sender that writes all of it before it reads, the sender hears
/// why it is refused.
#[tokio::test]
async fn who_sends_too_much_hears_it() {
    let eddy = Fixture::start().await;
    let long = vec![b' '; 24 << 20];
    let (status, _, json) = answer(&eddy, long.len(), &long).await;
    let expected = json!({"error": "body: at most 4194304 bytes are taken"});
    assert_eq!((status, json), (413, expected));
}

/// Given a question whose body is cut wrongly into chunks, it is said what is wrong, and nothing of the libraries in between.
#[tokio::test]
async fn a_body_that_breaks_off_is_named() {
    let eddy = Fixture::start().await;
    let mut socket = TcpStream::connect(&eddy.address).await.unwrap();
    let head =
        format!("POST {CHECK} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n");
    let request = head + "\r\nzz\r\n";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut text)).await;
    read.unwrap().unwrap();
    let expected = r#"{"error":"body: broke off: Invalid chunk size line: missing size digit"}"#;
    assert!(text.contains(" 400 ") && text.contains(expected), "{text}");
}

/// Given a question that says it is compressed, it is told that none may be.
#[tokio::test]
async fn compressed_questions_are_refused() {
    let eddy = Fixture::start().await;
    let headers = "content-encoding: gzip\r\ncontent-length: 2\r\n";
    let mut socket = eddy.ask("POST", CHECK, headers).await;
    socket.write_all(b"{}").await.unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    assert!(
        text.contains(" 415 ") && text.contains("{\"error\":\"content-encoding: "),
        "{text}"
    );
}

/// Given a request for a service of gRPC that is none of gRPC, it is told what is spoken there.
#[tokio::test]
async fn services_of_grpc_speak_grpc_alone() {
    let eddy = Fixture::start().await;
    let path = "/eddy.v1.RunService/GetRun";
    for headers in ["", "content-type: application/json\r\n"] {
        let mut socket = eddy.ask("POST", path, headers).await;
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        assert!(text.contains(" 415 "), "{text}");
        assert!(text.contains("{\"error\":\"gRPC is spoken here"), "{text}");
    }
}

/// Given telemetry that was sent to the address of the API, over HTTP or gRPC, its sender is told where it is received;
/// given a method that a service has not, its caller is told.
#[tokio::test]
async fn who_has_the_wrong_address_is_told_the_right_one() {
    let eddy = Fixture::start().await;
    let mut socket = eddy.ask("POST", "/v1/traces", "").await;
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    assert!(text.contains(" 404 ") && text.contains("4318"), "{text}");

    let mut grpc = tonic::client::Grpc::new(eddy.channel().await);
    for (path, told) in [
        (
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            "4317",
        ),
        ("/eddy.v1.RunService/Get", "no such method"),
        ("/eddy.v2.RunService/GetRun", "no such service"),
    ] {
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<v1::GetRunRequest, v1::GetRunResponse>::default();
        let request = tonic::Request::new(v1::GetRunRequest::default());
        let refusal = grpc.unary(request, path.parse().unwrap(), codec).await;
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.code(), Code::Unimplemented, "{refusal:?}");
        assert!(refusal.message().contains(told), "{refusal:?}");
    }
}

/// Given gRPC requests that cannot be read or are too large, it is the caller who is told to be wrong.
#[tokio::test]
async fn what_cannot_be_read_is_the_callers_mistake() {
    let eddy = Fixture::start().await;
    let mut grpc = tonic::client::Grpc::new(eddy.channel().await);
    // Where a text is expected, this has a number.
    let wrong = prost_types::Timestamp {
        seconds: 7,
        nanos: 0,
    };
    grpc.ready().await.unwrap();
    let path = "/eddy.v1.RunService/GetRun".parse().unwrap();
    let codec = ProstCodec::<prost_types::Timestamp, v1::GetRunResponse>::default();
    let refusal = grpc.unary(tonic::Request::new(wrong), path, codec).await;
    let refusal = refusal.unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal:?}");
    assert!(refusal.message().contains("run_id"), "{refusal:?}");

    grpc.ready().await.unwrap();
    let path = "/eddy.v1.GuardService/Session".parse().unwrap();
    let codec = ProstCodec::<prost_types::Timestamp, v1::SessionResponse>::default();
    let wrong = tonic::Request::new(stream::iter([prost_types::Timestamp {
        seconds: 0,
        nanos: 7,
    }]));
    let answers = grpc.streaming(wrong, path, codec).await.unwrap();
    let refusal = answers.into_inner().message().await.unwrap_err();
    assert_eq!(refusal.code(), Code::InvalidArgument, "{refusal:?}");

    let long = v1::GetRunRequest {
        run_id: "r".repeat(70_000),
    };
    let refusal = eddy.runs().await.get_run(long).await.unwrap_err();
    assert_eq!(refusal.code(), Code::ResourceExhausted, "{refusal:?}");
    assert!(refusal.message().contains("65536"), "{refusal:?}");
}
