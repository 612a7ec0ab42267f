//! A receiver on a port of its own, with usual clients, until it is shut down.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tonic::codec::CompressionEncoding;

use super::tests::{counting, recorded, settings};
use super::{Intake, Protocol, Settings, serve};

/// Serves on a port of its own.
pub(super) async fn listening_for(
    protocol: Protocol,
    intake: Intake,
) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
    serving_with(protocol, intake, settings()).await
}

/// The same, with settings of its own.
pub(super) async fn serving_with(
    protocol: Protocol,
    intake: Intake,
    settings: Settings,
) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let shutdown = CancellationToken::new();
    let serving = serve(
        protocol,
        listener.into(),
        intake,
        settings,
        shutdown.clone(),
    );
    let serving = tokio::spawn(async { serving.await.expect("served") });
    (address, shutdown, serving)
}

/// Given a usual client over a real socket, with each compression, its requests are taken; when the receiver is shut
/// down it ends although connections stay open, one of them without another word.
#[tokio::test]
async fn a_client_is_served_and_shutdown_does_not_hang() {
    let (intake, reports) = counting();
    let (address, shutdown, serving) = listening_for(Protocol::Grpc, intake.clone()).await;
    let client = TraceServiceClient::connect(format!("http://{address}")).await;
    let client = client.expect("connected");
    let request = ExportTraceServiceRequest::decode(recorded()).expect("recorded");
    for mut client in [
        client.clone(),
        client.clone().send_compressed(CompressionEncoding::Gzip),
        client.clone().send_compressed(CompressionEncoding::Zstd),
    ] {
        let before = reports.load(Ordering::Relaxed);
        client.export(request.clone()).await.expect("taken");
        assert!(reports.load(Ordering::Relaxed) > before);
    }
    let mut silent = TcpStream::connect(address).await.expect("connected");
    let opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    silent.write_all(opening).await.expect("written");
    // Once a later connection has been answered, the silent one has been accepted.
    let later = TraceServiceClient::connect(format!("http://{address}")).await;
    let taken = later.expect("connected").export(request).await;
    taken.expect("taken");
    shutdown.cancel();
    let began = Instant::now();
    let ended = tokio::time::timeout(Duration::from_secs(10), serving).await;
    ended.expect("ended in time").expect("no panic");
    assert!(
        began.elapsed() >= settings().shutdown_grace,
        "the silent connection was not waited for"
    );
    drop(silent);
}

/// Given a request of OTLP/HTTP over HTTP/1.1 at the port of gRPC, it is told in text what is spoken there, and counted.
#[tokio::test]
async fn the_port_of_grpc_answers_http1() {
    let (intake, _) = counting();
    let (address, shutdown, serving) = listening_for(Protocol::Grpc, intake.clone()).await;
    let mut socket = TcpStream::connect(address).await.expect("connected");
    let request = "POST /v1/traces HTTP/1.1\r\nhost: eddy\r\ncontent-type: application/x-protobuf\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n";
    socket.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("read");
    assert!(answer.starts_with("HTTP/1.1 415 "), "{answer}");
    assert!(answer.contains("OTLP/HTTP has another port"), "{answer}");
    assert_eq!(intake.counters().requests_invalid.value(), 1);
    shutdown.cancel();
    serving.await.expect("no panic");
}

/// Given no open connection, the shutdown does not wait for its grace to pass.
#[tokio::test]
async fn shutdown_of_an_idle_receiver_is_prompt() {
    let (intake, _) = counting();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let shutdown = CancellationToken::new();
    let settings = Settings {
        shutdown_grace: Duration::from_secs(3600),
        ..settings()
    };
    shutdown.cancel();
    let ended = tokio::time::timeout(
        Duration::from_secs(10),
        serve(Protocol::Grpc, listener.into(), intake, settings, shutdown),
    );
    ended.await.expect("ended in time").expect("served");
}
