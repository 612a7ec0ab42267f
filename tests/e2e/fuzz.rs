//! Broken input at every endpoint: real input, mutated, thousands of times. Whatever comes, the endpoint answers in time, takes
//! it or refuses it, and the daemon goes on.
//!
//! Inputs are made from a seed, so a failure comes again; its message names endpoint and seed. `EDDY_FUZZ=N` makes N times as
//! many. What has broken a endpoint once is kept in `tests/corpus/ENDPOINT/`, is tried first, and is mutated like the rest.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use eddy::config::profile::Name;
use eddy::config::{self, Sources};
use eddy::engine::{Input, RunState, step};
use eddy::normalize::events_file;
use eddy::store::records::{decode_run, encode_run};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::support::{Daemon, Dice, Export, http_client, recordings, runtime};

/// Longest that an input may take. Each is small, so this is far above what any of them needs.
pub(crate) const INPUT_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest input, in bytes: mutations that double an input must not make the test slow.
const INPUT_MAX: usize = 64 << 10;

/// Pieces of text that readers of text stumble over.
const TEXTS: [&str; 16] = [
    "{",
    "}",
    "[",
    "[[[[[[[[[[[[[[[[",
    "\"",
    "\\u0000",
    "\\ud800",
    "null",
    "-0",
    "1e999",
    "18446744073709551616",
    ": ",
    "\n",
    "\u{feff}",
    "*a",
    "${env:HOME}",
];

/// How many inputs a endpoint is given, of `usual` in CI.
pub(crate) fn rounds(usual: u64) -> u64 {
    let times = std::env::var("EDDY_FUZZ").ok();
    usual * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

/// What a endpoint is given first: the input it is made for, and what has broken it before.
pub(crate) fn corpus(endpoint: &str, made_for: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(endpoint);
    let mut files: Vec<_> = fs::read_dir(kept)
        .into_iter()
        .flatten()
        .map(|file| file.expect("the folder can be read").path())
        .collect();
    files.sort();
    let kept = files
        .iter()
        .map(|path| fs::read(path).expect("it can be read"));
    kept.chain(made_for).collect()
}

/// The input of a seed: the corpus as it stands first, then mutations.
pub(crate) fn input(corpus: &[Vec<u8>], seed: u64) -> Vec<u8> {
    if let Some(kept) = corpus.get(seed as usize) {
        return kept.clone();
    }
    let mut dice = Dice(seed);
    let mut bytes = corpus[dice.below(corpus.len())].clone();
    for _ in 0..=dice.below(4) {
        mutate(&mut bytes, corpus, &mut dice);
    }
    bytes.truncate(INPUT_MAX);
    bytes
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let end = at + dice.below(bytes.len() - at + 1).min(64);
    match dice.below(8) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = [0, 1, 0x7f, 0x80, 0xff][dice.below(5)];
            }
        }
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        5 => {
            let text = TEXTS[dice.below(TEXTS.len())].repeat(1 + dice.below(3));
            bytes.splice(at..end, text.bytes());
        }
        6 => {
            let other = &corpus[dice.below(corpus.len())];
            let from = dice.below(other.len() + 1);
            let to = from + dice.below(other.len() - from + 1).min(256);
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        _ => {
            let noise: Vec<u8> = (0..=dice.below(8)).map(|_| dice.below(256) as u8).collect();
            bytes.splice(at..at, noise);
        }
    }
}

/// Gives a function of ours each input, and reports the first that makes it panic or take long.
fn hammer(endpoint: &str, made_for: Vec<Vec<u8>>, usual: u64, takes: impl Fn(&[u8])) {
    let corpus = corpus(endpoint, made_for);
    for seed in 0..rounds(usual).max(corpus.len() as u64) {
        let bytes = input(&corpus, seed);
        let start = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| takes(&bytes)));
        let shown = String::from_utf8_lossy(&bytes);
        assert!(ended.is_ok(), "{endpoint}, seed {seed} panics: {shown}");
        let took = start.elapsed();
        assert!(
            took < INPUT_TIMEOUT,
            "{endpoint}, seed {seed} takes {took:?}: {shown}"
        );
    }
}

/// Small requests of every dialect: traces, and logs.
fn requests() -> [Vec<Vec<u8>>; 2] {
    let mut bytes = [vec![], vec![]];
    for recording in recordings() {
        for request in recording.requests() {
            let (kind, encoded) = match request {
                Export::Traces(request) => (0, request.encode_to_vec()),
                Export::Logs(request) => (1, request.encode_to_vec()),
            };
            if encoded.len() < 8 << 10 && bytes[kind].len() < 60 {
                bytes[kind].push(encoded);
            }
        }
    }
    bytes
}

fn json_requests() -> Vec<Vec<u8>> {
    let all = recordings()
        .into_iter()
        .flat_map(|recording| recording.requests());
    let json = all.filter_map(|request| match request {
        Export::Traces(request) => serde_json::to_vec(&request).ok(),
        Export::Logs(_) => None,
    });
    json.filter(|json| json.len() < 16 << 10).take(60).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("it goes to memory");
    encoder.finish().expect("it goes to memory")
}

/// A endpoint that is reached over HTTP.
struct HttpEndpoint {
    name: &'static str,
    path: &'static str,
    content_type: &'static str,
    encoding: Option<&'static str>,
    made_for: Vec<Vec<u8>>,
}

fn http_endpoints() -> Vec<HttpEndpoint> {
    let [traces, logs] = requests();
    let endpoint = |name, path, content_type, encoding, made_for| HttpEndpoint {
        name,
        path,
        content_type,
        encoding,
        made_for,
    };
    let protobuf = "application/x-protobuf";
    let zstd = |bytes: &Vec<u8>| zstd::encode_all(bytes.as_slice(), 1).expect("it goes to memory");
    let gzipped = traces.iter().map(|bytes| gzip(bytes)).collect();
    let zstd = traces.iter().map(zstd).collect();
    vec![
        endpoint("gzip", "traces", protobuf, Some("gzip"), gzipped),
        endpoint("zstd", "traces", protobuf, Some("zstd"), zstd),
        endpoint("traces", "traces", protobuf, None, traces),
        endpoint("logs", "logs", protobuf, None, logs),
        endpoint("json", "traces", "application/json", None, json_requests()),
    ]
}

/// Given broken requests at each endpoint of the receiver, each is answered in time and never with a fault of ours; the daemon
/// stays alive, no thread of it panics, and a good request is taken afterwards.
#[test]
fn broken_requests_are_answered() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(dir.path());
    let client = http_client();
    let runtime = runtime();
    for endpoint in http_endpoints() {
        let url = format!("http://{}/v1/{}", daemon.http, endpoint.path);
        let corpus = corpus(endpoint.name, endpoint.made_for);
        for seed in 0..rounds(1500).max(corpus.len() as u64) {
            let mut request = client
                .post(&url)
                .header("content-type", endpoint.content_type)
                .timeout(INPUT_TIMEOUT)
                .body(input(&corpus, seed));
            if let Some(encoding) = endpoint.encoding {
                request = request.header("content-encoding", encoding);
            }
            let answered = runtime.block_on(async { request.send().await });
            let status = answered.map(|response| response.status().as_u16());
            let is_known = matches!(status, Ok(200 | 400 | 413 | 415));
            assert!(is_known, "{}, seed {seed}: {status:?}", endpoint.name);
        }
    }
    still_well(&daemon);
}

/// Given connections that speak no protocol, broken HTTP/2, and heads that never end, each address goes on answering.
#[test]
fn broken_connections_harm_nobody() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(dir.path());
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let frame = |kind: u8, stream: u8, payload: &[u8]| {
        let length = (payload.len() as u32).to_be_bytes();
        let head = [length[1], length[2], length[3], kind, 0x04, 0, 0, 0, stream];
        [&head[..], payload].concat()
    };
    let settings = [&preface[..], &frame(4, 0, &[])].concat();
    let made_for = vec![
        [
            &settings[..],
            &frame(1, 1, b"\x83\x86\x84\x41\x0flocalhost:4317"),
            &frame(0, 1, b"\0\0\0\0\x01a"),
        ]
        .concat(),
        [
            &settings[..],
            &frame(1, 1, b"\x82\x86\x84"),
            &frame(3, 1, &[0, 0, 0, 8]),
        ]
        .concat(),
        [&settings[..], &frame(8, 0, &[0x7f, 0xff, 0xff, 0xff])].concat(),
        b"POST /v1/traces HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n".to_vec(),
        b"POST /v1/traces HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n"
            .to_vec(),
        b"GET /v1/runs HTTP/1.1\r\n".to_vec(),
    ];
    let corpus = corpus("connections", made_for);
    for seed in 0..rounds(400).max(corpus.len() as u64) {
        for address in [daemon.grpc, daemon.http, daemon.api] {
            throw(address, &input(&corpus, seed));
        }
    }
    still_well(&daemon);
}

/// Says something to an address, reads a little of what it answers, and leaves.
fn throw(address: SocketAddr, bytes: &[u8]) {
    let mut socket = TcpStream::connect(address).expect("the address listens");
    let patience = Some(Duration::from_millis(2));
    socket
        .set_read_timeout(patience)
        .expect("a time can be set");
    // A peer that has had enough hangs up, which is its right.
    let _ = socket.write_all(bytes);
    let _ = socket.read(&mut [0; 256]);
}

/// Whether a daemon is alive, has had no panic, and takes what is good.
pub(crate) fn still_well(daemon: &Daemon) {
    assert_eq!(daemon.get("/healthz").0, 200);
    assert_eq!(daemon.get("/readyz").0, 200);
    let said = daemon.stderr.lock().expect("nobody panics with it").clone();
    assert!(!said.contains("panicked"), "{said}");
    let [traces, _] = requests();
    let sent = http_client()
        .post(format!("http://{}/v1/traces", daemon.http))
        .header("content-type", "application/x-protobuf")
        .body(traces[0].clone());
    let answered = runtime().block_on(async { sent.send().await });
    let answered = answered.expect("it answers");
    assert_eq!(answered.status(), 200);
}

/// Given broken configuration files, each is read or its mistakes are named.
#[test]
fn broken_configurations_are_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("eddy.yaml");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let files = ["reference.yaml", "docker.yaml", "profiles/standard.yaml"];
    let made_for = files.map(|file| fs::read(root.join(file)).expect("it is there"));
    hammer("config", made_for.to_vec(), 1500, |bytes| {
        fs::write(&path, bytes).expect("it can be written");
        let sources = Sources {
            file: Some(path.clone()),
            flags: Vec::new(),
        };
        if let Err(mistakes) = config::load(&sources) {
            assert!(mistakes.to_string().contains("eddy.yaml"), "{mistakes}");
        }
    });
}

/// Given broken files of events, good lines are runs and bad ones are named.
#[test]
fn broken_event_files_are_named() {
    let policy = Name::Standard.policy();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events/samples.events.jsonl");
    let samples = fs::read(samples).expect("it is there");
    let mut made_for: Vec<Vec<u8>> = samples
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    made_for.push(gzip(&samples));
    hammer("events", made_for, 4000, |bytes| {
        let Ok(runs) = events_file::runs(bytes, &policy) else {
            return;
        };
        for run in runs.take(100) {
            if let Err(error) = run {
                assert!(!error.to_string().is_empty());
            }
        }
    });
}

/// Given a stored state with broken bytes, it is refused or read; what is read can go on.
#[test]
fn broken_records_are_refused() {
    let policy = Name::Standard.policy();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events/samples.events.jsonl");
    let samples = fs::read(samples).expect("it is there");
    let runs = events_file::runs(samples.as_slice(), &policy).expect("it can be read");
    let mut made_for = Vec::new();
    for run in runs.map(|run| run.expect("the samples are good")) {
        let mut state = RunState::new(run.run_id.clone());
        let reports = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events: run.events,
        };
        step(&mut state, &reports, &policy);
        made_for.push(encode_run(&state));
    }
    hammer("records", made_for, 3000, |bytes| {
        if let Ok(mut state) = decode_run(bytes) {
            step(&mut state, &Input::Idle { at_ms: u64::MAX }, &policy);
            let _ = encode_run(&state);
        }
    });
}
