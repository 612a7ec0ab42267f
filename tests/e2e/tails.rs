//! Tails that nobody reads: what each of them takes in memory.

use std::fs;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tonic::Streaming;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Endpoint;

use super::load::{resident_mib, send_patiently};
use super::reload::looping;
use super::restarts::{delivered, raised};
use super::support::{Daemon, PATIENCE, Sender, free_port, runtime};
use super::transports::Raw;

/// Tails of each of four kinds: over gRPC and as server-sent events, from the oldest alert on and from now on.
const EACH: usize = 20;

/// Runs that are warned of before the tails are opened and as many afterwards, and how many of them are told of in a request.
const RUNS: u64 = 200;
const TOGETHER: u64 = 20;

/// Calls of each, and how many of them come at a time.
const CALLS: u64 = 48;
const AT_ONCE: u64 = 4;

/// What a tail may take, in mebibytes: half of the promise, so that reading too much ahead shows.
const TAIL_MAX: f64 = 0.5;

/// Has runs go round.
async fn loops(sender: &mut Sender, runs: Range<u64>) {
    for first in runs.step_by(TOGETHER as usize) {
        for from in (0..CALLS).step_by(AT_ONCE as usize) {
            let runs = first..first + TOGETHER;
            let parts = runs.map(|run| looping(run, from, from + AT_ONCE));
            let request = ExportTraceServiceRequest {
                resource_spans: parts.flat_map(|part| part.resource_spans).collect(),
            };
            send_patiently(sender, &request).await;
        }
    }
}

/// A tail over gRPC, of which no more than a window of 64 KiB is taken.
async fn over_grpc(api: SocketAddr, from_the_oldest: bool) -> Streaming<Vec<u8>> {
    let endpoint = Endpoint::from_shared(format!("http://{api}")).expect("an address");
    let narrow = endpoint.initial_stream_window_size(64 << 10);
    let mut client = tonic::client::Grpc::new(narrow.connect().await.expect("it listens"));
    client.ready().await.expect("it is open");
    // The cursor 0, in the first field.
    let request = if from_the_oldest {
        vec![8, 0]
    } else {
        Vec::new()
    };
    let path = PathAndQuery::from_static("/eddy.v1.WarningService/TailAlerts");
    let tail = client.server_streaming(tonic::Request::new(request), path, Raw);
    tail.await.expect("it is opened").into_inner()
}

/// A tail of server-sent events, with next to no room for them on this side.
async fn over_http(api: SocketAddr, from_the_oldest: bool) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("it can be set");
    let mut tail = socket.connect(api).await.expect("it listens");
    let query = if from_the_oldest { "?cursor=0" } else { "" };
    let request = format!("GET /v1/alerts{query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    tail.write_all(request.as_bytes())
        .await
        .expect("it is taken");
    let mut began = [0; 12];
    tail.read_exact(&mut began).await.expect("it answers");
    assert_eq!(&began, b"HTTP/1.1 200");
    tail
}

/// Waits until the file of alerts has all that were raised.
fn settled(daemon: &Daemon, directory: &Path) {
    let began = Instant::now();
    while delivered(directory) != raised(daemon) {
        assert!(began.elapsed() < PATIENCE, "alerts are missing");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Given tails that are opened and never read, with megabytes of alerts for each that lie behind and come: none takes more
/// than half a mebibyte.
#[test]
fn tails_that_nobody_reads_take_little_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let alerts = directory.path().join("alerts.jsonl");
    let config = directory.path().join("eddy.yaml");
    let text = format!("exporters: {{file: {{path: '{}'}}}}\n", alerts.display());
    fs::write(&config, text).expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    let runtime = runtime();
    let mut sender = runtime.block_on(async { Sender::new(daemon.grpc) });
    runtime.block_on(loops(&mut sender, 0..RUNS));
    settled(&daemon, directory.path());
    let before = resident_mib(&daemon);
    let tails = runtime.block_on(async {
        let mut tails = (Vec::new(), Vec::new());
        for _ in 0..EACH {
            for from_the_oldest in [true, false] {
                tails.0.push(over_grpc(daemon.api, from_the_oldest).await);
                tails.1.push(over_http(daemon.api, from_the_oldest).await);
            }
        }
        loops(&mut sender, RUNS..2 * RUNS).await;
        tails
    });
    settled(&daemon, directory.path());
    let count = tails.0.len() + tails.1.len();
    let each = (resident_mib(&daemon) - before) / count as f64;
    let bytes = fs::metadata(&alerts).expect("it is there").len();
    println!("{count} tails, {bytes} bytes of alerts for each: {each:.2} MiB more for each");
    assert!(bytes > 4 << 20, "{bytes} bytes would hardly show");
    assert!(each < TAIL_MAX, "{each} MiB for each tail");
}
