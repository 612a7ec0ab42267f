//! Agents that ask the guard of a daemon, over its HTTP address, before each call.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eddy::config::profile::Name;
use eddy::config::{Flag, Settings, Sources, load};
use eddy::daemon::Daemon;
use eddy::engine::policy::Policy;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// A daemon with a profile, and whoever asks it.
pub(crate) struct Guarded {
    daemon: Option<Daemon>,
    runtime: Runtime,
    _dir: tempfile::TempDir,
    calls: Cell<u32>,
}

/// The settings of a daemon with a profile and a configuration, and everything that it keeps in a directory.
fn settings(profile: Name, yaml: &str, dir: &Path) -> Settings {
    let file = dir.join("eddy.yaml");
    std::fs::write(&file, format!("exporters: {{}}\n{yaml}")).unwrap();
    let mut sources = Sources::apart(&dir.join("data"));
    sources.file = Some(file);
    // What is answered is tested here, not how soon on a busy machine.
    let flags: [(_, &[_], _); 2] = [
        ("--profile", &["detectors", "profile"], profile.name()),
        ("deadline", &["guard", "deadline_ms"], "10000"),
    ];
    sources.flags.extend(flags.map(|(name, path, value)| Flag {
        name,
        path,
        value: value.to_owned(),
    }));
    let loaded = load(&sources).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    loaded.settings
}

/// The policy of a profile and a configuration.
pub(crate) fn policy(profile: Name, yaml: &str) -> Arc<Policy> {
    let dir = tempfile::tempdir().unwrap();
    settings(profile, yaml, dir.path()).policy
}

impl Guarded {
    /// A daemon with a profile as it is.
    pub(crate) fn by(profile: Name) -> Self {
        Self::with(profile, "")
    }

    /// A daemon with a profile and a configuration.
    pub(crate) fn with(profile: Name, yaml: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(profile, yaml, dir.path());
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let daemon = runtime.block_on(Daemon::start(&settings)).unwrap();
        Self {
            daemon: Some(daemon),
            runtime,
            _dir: dir,
            calls: Cell::new(0),
        }
    }

    /// The verdict on a call, with the rule and the count where there are any: `SKIP duplicate_call 4`.
    pub(crate) fn check(&self, call: &Value) -> String {
        shown(&self.answer(call))
    }

    /// The whole answer to a question.
    pub(crate) fn answer(&self, call: &Value) -> Value {
        let mut call = call.clone();
        call["run_id"] = run_of(&call);
        let (status, answer) = self.post("check", &call);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["degraded"], json!(false), "{answer}");
        answer
    }

    /// Tells what a call brought: `{"result": …}`, `{"error": …}`, or `{"message": …}` for one without data.
    pub(crate) fn report(&self, call: &Value, brought: &Value) {
        let mut told =
            json!({"run_id": run_of(call), "tool": call["tool"], "arguments": call["arguments"]});
        for who in ["agent", "worker", "call_id"] {
            if call.get(who).is_some() {
                told[who] = call[who].clone();
            }
        }
        for (key, value) in brought.as_object().unwrap() {
            told[key] = value.clone();
            told["status"] = match key.as_str() {
                "result" => json!("success"),
                "error" => json!("error"),
                _ => json!("success_no_data"),
            };
        }
        let (status, answer) = self.post("report", &told);
        assert_eq!((status, answer), (200, json!({})));
    }

    /// Asks, makes the call if that is allowed, and tells what it brought.
    pub(crate) fn call(&self, call: &Value, brought: &Value) -> String {
        let verdict = self.check(call);
        if verdict.starts_with("ALLOW") || verdict.starts_with("NUDGE") {
            self.calls.set(self.calls.get() + 1);
            self.report(call, brought);
        }
        verdict
    }

    /// Tells of a message, and gives the nudge that is owed.
    pub(crate) fn message(&self, kind: &str, text: &str) -> Option<String> {
        let (status, answer) = self.post(
            "message",
            &json!({"run_id": "run", "kind": kind, "text": text}),
        );
        assert_eq!(status, 200, "{answer}");
        answer["message"].as_str().map(str::to_owned)
    }

    /// The run as the API shows it.
    pub(crate) fn run(&self) -> Value {
        self.run_named("run")
    }

    /// A run as the API shows it.
    pub(crate) fn run_named(&self, run_id: &str) -> Value {
        let (status, run) = self.ask(&format!("GET /v1/runs/{run_id}"), "");
        assert_eq!(status, 200, "{run}");
        run
    }

    /// The ids of all runs that are listed.
    pub(crate) fn listed(&self) -> Vec<String> {
        let (status, page) = self.ask("GET /v1/runs", "");
        assert_eq!(status, 200, "{page}");
        let runs = page["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// An answer to a body that is posted to a path of the guard.
    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(&format!("POST /v1/guard/{path}"), &body.to_string())
    }

    fn ask(&self, head: &str, body: &str) -> (u16, Value) {
        let daemon = self.daemon.as_ref().unwrap();
        let mut socket = TcpStream::connect(daemon.api()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let length = body.len();
        write!(
            socket,
            "{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let (from, to) = (body.find('{').unwrap(), body.rfind('}').unwrap());
        (status, serde_json::from_str(&body[from..=to]).unwrap())
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            self.runtime.block_on(daemon.stop());
        }
    }
}

/// The run of a call, `run` where it names none.
fn run_of(call: &Value) -> Value {
    call.get("run_id").cloned().unwrap_or_else(|| json!("run"))
}

/// A verdict in short.
pub(crate) fn shown(answer: &Value) -> String {
    let verdict = answer["verdict"].as_str().unwrap();
    match (answer["rule"].as_str(), answer["repeats"].as_u64()) {
        (Some(rule), Some(repeats)) => format!("{verdict} {rule} {repeats}"),
        _ => verdict.to_owned(),
    }
}

/// A call as it is asked about.
pub(crate) fn asked(tool: &str, arguments: Value) -> Value {
    let mut call = json!({"tool": tool});
    call["arguments"] = arguments;
    call
}
