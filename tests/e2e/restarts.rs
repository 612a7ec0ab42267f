//! SIGTERM under load, again and again: what was acknowledged is there, what was raised is delivered, and whoever does not let
//! go holds nothing up. `EDDY_TERMS` sets how often: 5 times by default, 100 in the long form.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::kill::{Feeding, SENDERS, compare};
use super::load::{send_patiently, set_by};
use super::reload::looping;
use super::support::{Daemon, PATIENCE, Sender, free_port, runtime, until};

/// Time that the daemon is given to leave, in seconds, and how much later it may have left on a busy machine.
const DEADLINE: Duration = Duration::from_secs(3);
const LATER: Duration = Duration::from_secs(1);

/// A configuration with a file of alerts, and a webhook that takes connections and does not answer.
fn configured(directory: &Path, webhook: &TcpListener) -> String {
    let text = format!(
        "exporters:\n  file: {{path: {}}}\n  webhook: {{url: 'http://{}', allow_private: true}}\n\
         service: {{shutdown_deadline: {}s}}\n",
        directory.join("alerts.jsonl").display(),
        webhook.local_addr().expect("it is bound"),
        DEADLINE.as_secs(),
    );
    let file = directory.join("eddy.yaml");
    fs::write(&file, text).expect("it can be written");
    file.to_string_lossy().into_owned()
}

/// Connections that never let go: one without a word to each listener, and a tail that is not read.
fn stuck(daemon: &Daemon) -> Vec<TcpStream> {
    let listeners = [daemon.grpc, daemon.http, daemon.api, daemon.api];
    let mut peers = listeners.map(|listener| TcpStream::connect(listener).expect("it listens"));
    let [.., tail] = &mut peers;
    let asked = tail.write_all(b"GET /v1/alerts?cursor=0 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    asked.expect("it is taken");
    let mut began = [0; 12];
    tail.read_exact(&mut began).expect("it answers");
    assert_eq!(&began, b"HTTP/1.1 200");
    peers.into()
}

/// The newest revision of each warning, by its id.
pub(crate) type Revisions = BTreeMap<String, u64>;

/// Has a webhook answer from now on. Answers with what it was told of each warning last.
pub(crate) fn answering(webhook: TcpListener) -> Arc<Mutex<Revisions>> {
    // What was sent before nobody has answered.
    webhook.set_nonblocking(true).expect("it can be set");
    while webhook.accept().is_ok() {}
    webhook.set_nonblocking(false).expect("it can be set");
    let told = Arc::<Mutex<Revisions>>::default();
    let kept = Arc::clone(&told);
    std::thread::spawn(move || {
        for socket in webhook.incoming().flatten() {
            take_alerts(&socket, &kept);
        }
    });
    told
}

/// Takes the alerts that are posted over a connection, and keeps the newest revision of each warning.
pub(crate) fn take_alerts(socket: &TcpStream, told: &Mutex<Revisions>) {
    let Some(alerts) = posted(socket) else {
        return;
    };
    for alert in alerts["alerts"].as_array().expect("a list") {
        let id = alert["fingerprint"].as_str().expect("an id").to_owned();
        let revision = alert["annotations"]["revision"].as_str();
        let revision = revision.and_then(|number| number.parse().ok());
        let mut told = told.lock().expect("whole");
        told.insert(id, revision.expect("a number"));
    }
}

/// What is posted over a connection, which is answered and ended.
fn posted(mut socket: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(socket);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        line.make_ascii_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    socket.write_all(answer).ok()?;
    serde_json::from_slice(&body).ok()
}

fn revisions(warnings: impl Iterator<Item = Value>) -> Revisions {
    let mut newest = BTreeMap::new();
    for warning in warnings {
        let id = warning["id"].as_str().expect("an id").to_owned();
        let revision = warning["revision"].as_u64().expect("a number");
        let kept = newest.entry(id).or_default();
        *kept = revision.max(*kept);
    }
    newest
}

/// What the file of alerts in a directory has.
pub(crate) fn delivered(directory: &Path) -> Revisions {
    let text = fs::read_to_string(directory.join("alerts.jsonl")).unwrap_or_default();
    // The last line may be under way.
    let lines = text.split_inclusive('\n');
    let alerts = lines
        .filter(|line| line.ends_with('\n'))
        .map(serde_json::from_str);
    revisions(alerts.map(|alert: Result<Value, _>| alert.expect("JSON")["warning"].take()))
}

/// What the runs have.
pub(crate) fn raised(daemon: &Daemon) -> Revisions {
    let runs = daemon.runs();
    let warnings = runs.values().filter_map(|run| run["warnings"].as_array());
    revisions(warnings.flatten().cloned())
}

/// Given a sender that has not sent all of its request when the daemon is told to leave, the daemon says that it is not ready while
/// it waits for the rest: it takes nothing else any more.
#[test]
fn what_stops_is_not_ready() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = Daemon::start(directory.path());
    let shown = || {
        let (_, metrics) = daemon.get("/metrics");
        metrics.to_string().contains("\\neddy_ready 1\\n")
    };
    assert!(daemon.get("/readyz").0 == 200 && shown());
    let mut sender = TcpStream::connect(daemon.http).expect("it listens");
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: 9\r\n\r\nhalf";
    sender.write_all(head.as_bytes()).expect("it is taken");
    // The head has been read.
    std::thread::sleep(Duration::from_millis(300));
    daemon.signal("TERM");
    let stopping = async || Some(()).filter(|()| daemon.get("/readyz").0 == 503);
    runtime().block_on(until(stopping));
    let (_, said) = daemon.get("/readyz");
    assert_eq!(said["reasons"][0], "Eddy is stopping", "{said}");
    assert!(!shown());
    assert!(TcpStream::connect(daemon.grpc).is_err(), "it takes more");
}

/// Given a daemon that is told to leave under load again and again, beside connections that never let go and a receiver of
/// alerts that does not answer before the last start: it leaves with 0 within its deadline; what was acknowledged is there and
/// counts once; and of each loop that it was told of right before leaving, both receivers hear, the other one of each revision.
#[test]
fn restarts_under_load_lose_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut webhook = Some(TcpListener::bind("127.0.0.1:0").expect("a port"));
    let config = configured(directory.path(), webhook.as_ref().expect("it is there"));
    let data = directory.path().join("data");
    let grpc = free_port();
    let start = || Daemon::start_with(&data, grpc, &["--config", &config]);
    let mut daemon = start();
    let feeding = Feeding::start(grpc);
    let terms = set_by("EDDY_TERMS", 5);
    let mut slowest = Duration::ZERO;
    let mut told = None;
    for term in 1..=terms {
        let peers = stuck(&daemon);
        runtime().block_on(async {
            let mut sender = Sender::new(grpc);
            send_patiently(&mut sender, &looping(SENDERS + term, 0, 5)).await;
        });
        let acknowledged = feeding.acknowledged();
        let began = Instant::now();
        daemon.signal("TERM");
        let left = daemon.wait();
        slowest = slowest.max(began.elapsed());
        let said = daemon.stderr.lock().expect("whole").clone();
        assert_eq!(left.code(), Some(0), "{said}");
        assert!(began.elapsed() < DEADLINE + LATER, "{slowest:?}: {said}");
        drop(peers);
        if term == terms {
            told = webhook.take().map(answering);
        }
        daemon = start();
        compare(&daemon, &acknowledged, &[u64::MAX; SENDERS as usize], term);
    }
    let all = feeding.stop();
    let calls: u64 = all.iter().sum();
    assert!(calls > terms * 10, "there was hardly any load: {all:?}");
    compare(&daemon, &all, &all, terms + 1);
    let raised = raised(&daemon);
    assert!(raised.len() as u64 >= terms, "{raised:?}");
    assert_eq!(delivered(directory.path()), raised);
    let told = told.expect("it was restarted");
    let deadline = Instant::now() + PATIENCE;
    while *told.lock().expect("whole") != raised {
        assert!(Instant::now() < deadline, "{told:?} of {raised:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    println!(
        "{terms} times, at most {slowest:?}: {calls} calls and {} warnings, all there",
        raised.len()
    );
}

/// Given a daemon that was told to leave and waits for a receiver of alerts, it is alive and not ready, and a second signal ends
/// it at once.
#[test]
fn a_second_signal_ends_it_at_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let webhook = TcpListener::bind("127.0.0.1:0").expect("a port");
    let config = configured(directory.path(), &webhook);
    let text = fs::read_to_string(&config).expect("it is there");
    let text = text.replace("shutdown_deadline: 3s", "shutdown_deadline: 2m");
    fs::write(&config, text).expect("it can be written");
    let data = directory.path().join("data");
    let mut daemon = Daemon::start_with(&data, free_port(), &["--config", &config]);
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        send_patiently(&mut sender, &looping(1, 0, 5)).await;
    });
    daemon.signal("TERM");
    let began = Instant::now();
    while daemon.get("/readyz").0 != 503 {
        assert!(began.elapsed() < PATIENCE, "it is still ready");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(daemon.get("/healthz").0, 200);
    let began = Instant::now();
    daemon.signal("TERM");
    assert_ne!(daemon.wait().code(), Some(0));
    assert!(began.elapsed() < LATER, "{:?}", began.elapsed());
}
