//! The scenarios of a whole daemon: a start with a tenant beside the default one, calls of both, other settings, a file of alerts,
//! leaving. This process sends, and remembers what was acknowledged.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use eddy::store::{Options, Store};
use serde_json::Value;
use tempfile::TempDir;

use super::scenarios::{PATIENCE, TENANTS, eddy};
use super::{Process, Scenario, directory, left_over, set_aside};

/// The token of each tenant.
const TOKENS: [&str; TENANTS.len()] = ["own", "theirs"];

/// The run that each tenant has.
const RUN: &str = "00000000000000000000000000000001";

/// Calls that each tenant is told of in a life, half of them before the settings change. The third of the same kind raises a
/// warning.
const CALLS: u64 = 6;

/// The first life in an empty directory, and one behind a life that was cut short.
pub(super) fn lives() -> [Scenario; 2] {
    let (first, next) = (directory(), directory());
    for prepared in [&first, &next] {
        configure(prepared.path(), "{}");
    }
    let mut cut_short = begin(next.path());
    assert_eq!(cut_short.work(next.path(), "", 0), [CALLS; TENANTS.len()]);
    cut_short.child.kill().expect("it runs");
    cut_short.leave();
    [
        life("a daemon's first life", first, 0),
        life("a daemon's next life", next, CALLS),
    ]
}

/// A life behind one in which tenants were told of so many calls.
fn life(name: &str, prepared: TempDir, before: u64) -> Scenario {
    Scenario {
        name: name.to_owned(),
        prepared,
        process: Process {
            command: serving,
            beside: Box::new(move |child, dir, fate| {
                let mut living = Living::new(child);
                let acknowledged = living.work(dir, fate, before);
                let mut output = living.leave();
                for acknowledged in acknowledged {
                    let line = format!("acknowledged {acknowledged}\n");
                    output.stderr.extend(line.bytes());
                }
                output
            }),
        },
        check: Box::new(move |dir, said| check(dir, said, before)),
        is_start: false,
        is_damaged: false,
        // Settings that cannot be read change nothing.
        may_misread: false,
    }
}

fn begin(dir: &Path) -> Living {
    let mut command = serving(dir);
    let piped = command.stdout(Stdio::null()).stderr(Stdio::piped());
    Living::new(piped.spawn().expect("it starts"))
}

fn serving(dir: &Path) -> Command {
    eddy(dir, &["serve", "--config", "eddy.yaml"])
}

fn configure(dir: &Path, rules: &str) {
    let [own, theirs] = TOKENS;
    let listener = format!(
        "{{endpoint: 127.0.0.1:0, auth: {{tokens: [{{token: {own}}}, {{token: {theirs}, tenant: one}}]}}}}"
    );
    let text = format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:0}}, http: {listener}}}}}}}\n\
         service: {{data_dir: data, api: {listener}, shutdown_deadline: 5s}}\n\
         exporters: {{file: {{path: alerts.jsonl}}}}\n\
         detectors: {{rules: {rules}}}\n"
    );
    let fresh = dir.join("eddy.fresh");
    fs::write(&fresh, text).expect("it can be written");
    fs::rename(fresh, dir.join("eddy.yaml")).expect("it can be renamed");
}

/// A daemon, what it has said until now, and its listeners, which it says first.
struct Living {
    child: Child,
    said: Arc<Mutex<String>>,
    reading: std::thread::JoinHandle<()>,
}

impl Living {
    fn new(mut child: Child) -> Self {
        let said = Arc::<Mutex<String>>::default();
        let (lines, kept) = (child.stderr.take().expect("it is ours"), Arc::clone(&said));
        let reading = std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                let mut kept = kept.lock().expect("whole");
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        Self {
            child,
            said,
            reading,
        }
    }

    fn said(&self) -> String {
        self.said.lock().expect("whole").clone()
    }

    /// Waits until this is so; answers whether it was before the process ended.
    fn until(&mut self, mut is_so: impl FnMut(&str) -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let has_ended = self.child.try_wait().expect("it can be asked").is_some();
            if is_so(&self.said()) {
                return true;
            }
            if has_ended {
                return false;
            }
            assert!(Instant::now() < deadline, "{}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where it listens, which it says behind this word.
    fn address(&mut self, of: &str) -> Option<String> {
        let mut found = None;
        self.until(|said| {
            let line = said.lines().find_map(|line| line.trim().strip_prefix(of));
            let address = line.and_then(|line| line.split_whitespace().next());
            found = address.map(|address| address.trim_start_matches("http://").to_owned());
            found.is_some()
        });
        found
    }

    fn signal(&mut self, name: &str) {
        if self.child.try_wait().expect("it can be asked").is_none() {
            let pid = self.child.id().to_string();
            let sent = Command::new("kill").args(["-s", name, &pid]).status();
            assert!(sent.expect("there is such a command").success());
        }
    }

    /// What others do meanwhile: both tenants are told of calls, again where one was not acknowledged and the disk takes
    /// something again, and the settings change on the way. Answers how many calls each tenant has acknowledged.
    fn work(&mut self, dir: &Path, fate: &str, before: u64) -> [u64; TENANTS.len()] {
        let mut acknowledged = [before; TENANTS.len()];
        let Some(otlp) = self.address("OTLP/HTTP") else {
            return acknowledged;
        };
        for number in before + 1..=before + CALLS {
            if number == before + CALLS / 2 + 1 {
                configure(dir, "{no_progress: off}");
                self.signal("HUP");
                self.until(|said| said.contains("configuration was read again"));
            }
            for (tenant, acknowledged) in acknowledged.iter_mut().enumerate() {
                self.until(|_| {
                    let is_taken = tell(&otlp, tenant, number);
                    *acknowledged += u64::from(is_taken);
                    is_taken || fate == "full"
                });
            }
        }
        acknowledged
    }

    fn leave(mut self) -> Output {
        self.signal("TERM");
        self.until(|_| false);
        let status = self.child.wait().expect("it has ended");
        self.reading.join().expect("it reads on until then");
        Output {
            status,
            stdout: Vec::new(),
            stderr: self.said.lock().expect("whole").clone().into_bytes(),
        }
    }
}

/// What a request is answered with, if it is.
fn ask(address: &str, tenant: usize, head: &str, body: &str) -> Option<(u16, String)> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    let (token, length) = (TOKENS[tenant], body.len());
    let request = format!(
        "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    let code = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((code, body.to_owned()))
}

/// Tells a tenant of a call; answers whether it was acknowledged.
fn tell(otlp: &str, tenant: usize, number: u64) -> bool {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    let start = (since.as_secs() / 3600 * 3600 + number) * 1_000_000_000;
    let attributes = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "search"),
        ("gen_ai.tool.call.arguments", r#"{\"same\":\"thing\"}"#),
        ("gen_ai.tool.call.result", r#"{\"found\":\"nothing\"}"#),
    ]
    .map(|(key, value)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#))
    .join(",");
    let end = start + 1000;
    let span = format!(
        r#"{{"traceId":"{RUN}","spanId":"{number:016x}","name":"execute_tool search","startTimeUnixNano":"{start}",
           "endTimeUnixNano":"{end}","attributes":[{attributes}]}}"#
    );
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"scope":{{"name":"test"}},"spans":[{span}]}}]}}]}}"#
    );
    ask(otlp, tenant, "POST /v1/traces", &body).is_some_and(|(code, _)| code == 200)
}

/// Given whatever became of a daemon, the next one has what was acknowledged, takes all of it again and counts it once, and goes
/// on; each alert that is stored is a whole line of the file, and none that is not.
fn check(dir: &Path, said: &str, before: u64) {
    let last = before + CALLS;
    let lines = said.lines();
    let acknowledged = lines.filter_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
    let acknowledged: Vec<u64> = acknowledged.collect();
    let mut living = begin(dir);
    let otlp = living.address("OTLP/HTTP").expect("it serves");
    let api = living.address("API").expect("it serves");
    for (tenant, acknowledged) in acknowledged.into_iter().enumerate() {
        let calls = || {
            let (code, body) = ask(&api, tenant, &format!("GET /v1/runs/{RUN}"), "")?;
            let calls = || serde_json::from_str::<Value>(&body).ok()?["tool_calls"].as_u64();
            Some(if code == 404 { 0 } else { calls()? })
        };
        let found = calls().expect("it answers");
        assert!(
            (acknowledged..=last).contains(&found),
            "{found} of {acknowledged}: {said}"
        );
        for number in 1..=last + 1 {
            assert!(tell(&otlp, tenant, number), "it takes calls");
        }
        assert_eq!(calls(), Some(last + 1), "each counts once: {said}");
    }
    let left = living.leave();
    assert!(left.status.success(), "{left:?}");
    let data = dir.join("data");
    assert_eq!(delivered(dir), stored(&data));
    for tenant in TENANTS {
        let tenant = data.join(tenant);
        assert_eq!(left_over(&tenant), Vec::<PathBuf>::new());
        assert!(set_aside(&tenant).is_empty());
    }
}

/// Whose alerts there are, and their cursors.
type Alerts = BTreeSet<(String, u64)>;

fn stored(data: &Path) -> Alerts {
    let mut stored = Alerts::new();
    for tenant in TENANTS {
        let store = Store::open(&data.join(tenant), &Options::default()).expect("it opens");
        assert_eq!(store.counters().lost_records, 0);
        let alerts = store.alerts_after(0, 1000).expect("readable");
        assert!(alerts.len() > 1, "{alerts:?}");
        let tenant = tenant.rsplit('/').next().unwrap_or(tenant);
        stored.extend(alerts.iter().map(|alert| (tenant.to_owned(), alert.cursor)));
    }
    stored
}

/// What the file has in whole lines; it may have the beginning of one more, which is there again.
fn delivered(dir: &Path) -> Alerts {
    let text = fs::read_to_string(dir.join("alerts.jsonl")).expect("it is there");
    let lines = text
        .lines()
        .map(serde_json::from_str::<Value>)
        .collect::<Vec<_>>();
    let torn = lines.iter().filter(|line| line.is_err()).count();
    assert!(torn <= 1, "{text}");
    let alerts = lines.into_iter().flatten().map(|alert| {
        let tenant = alert["tenant"].as_str().unwrap_or_default().to_owned();
        (tenant, alert["cursor"].as_u64().expect("a number"))
    });
    alerts.collect()
}
