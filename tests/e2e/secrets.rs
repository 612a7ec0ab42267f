//! Secrets planted in everything that an agent tells, and text that means something to whoever shows it: with the defaults, no
//! secret is in anything that leaves the daemon or lies on its disk, and text stays text in every sink.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Status;
use serde_json::{Value, json};

use super::access::configured;
use super::kill::{calls, text};
use super::support::{Collector, Daemon, Dice, Sender, eddy, http_client, runtime, until};

/// Secrets of each kind.
const EACH: usize = 17;

/// A secret as it stands in a text, and the part of it that must be nowhere.
struct Planted {
    text: String,
    core: String,
}

fn planted() -> Vec<Planted> {
    let mut dice = Dice(37);
    let mut random = |letters: &str, length: usize| -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length)
            .map(|_| letters[dice.below(letters.len())])
            .collect()
    };
    let alnum = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut all = Vec::new();
    for _ in 0..EACH {
        let mut plant = |before: &str, core: String, after: &str| {
            let text = format!("{before}{core}{after}");
            all.push(Planted { text, core });
        };
        plant("sk-", random(alnum, 40), "");
        plant("ghp_", random(alnum, 36), "");
        plant("AKIA", random(upper, 16), "");
        plant("xoxb-", random(alnum, 24), "");
        plant("glpat-", random(alnum, 20), "");
        plant("AIza", random(alnum, 35), "");
        plant("password=", random(alnum, 12), "");
        plant(
            "Authorization: Bearer ",
            format!("{}7", random(alnum, 24)),
            "",
        );
        plant("https://x.example/?api_key=", random(alnum, 20), "&page=2");
        plant(
            "",
            format!("{}.{}", random(alnum, 6), random("23456789", 4)),
            "@corp.example",
        );
        let jwt = format!("{}.{}", random(alnum, 40), random(alnum, 40));
        plant("eyJhbGciOiJIUzI1NiJ9.eyJ", jwt, "");
        let key = random(alnum, 64);
        plant(
            "-----BEGIN PRIVATE KEY-----\n",
            key,
            "\n-----END PRIVATE KEY-----",
        );
        plant(
            "4",
            card(&format!("4{}", random("0123456789", 14)))[1..].to_owned(),
            "",
        );
    }
    all
}

/// Fifteen digits, and the one that makes them pass the check of cards.
fn card(digits: &str) -> String {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0') * if place % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// Four calls that are the same, with a text in one of the places that a span has.
fn spans(run: u64, place: usize, said: &str) -> ExportTraceServiceRequest {
    let mut request = calls(run, 0, 4);
    let resource = &mut request.resource_spans[0];
    resource.resource = Some(Resource {
        attributes: vec![text(
            "service.name",
            if place == 5 {
                said.to_owned()
            } else {
                "svc".to_owned()
            },
        )],
        ..Resource::default()
    });
    for span in &mut resource.scope_spans[0].spans {
        let mut arguments = json!({"q": "same"});
        let mut result = json!({"found": "same"}).to_string();
        let mut tool = "search".to_owned();
        match place {
            0 => arguments = json!({"q": said}),
            1 => result = json!({"found": said}).to_string(),
            2 => result = format!("raw text {said} end"),
            3 => tool = format!("get {said}"),
            4 => {
                span.status = Some(Status {
                    code: 2,
                    message: format!("refused: {said}"),
                });
                span.attributes
                    .push(text("error.type", format!("Error {said}")));
            }
            6 => span
                .attributes
                .push(text("gen_ai.agent.name", format!("agent {said}"))),
            _ => {}
        }
        for (key, value) in [
            ("gen_ai.tool.name", tool),
            ("gen_ai.tool.call.arguments", arguments.to_string()),
            ("gen_ai.tool.call.result", result),
        ] {
            span.attributes.retain(|attribute| attribute.key != key);
            span.attributes.push(text(key, value));
        }
    }
    request
}

/// Requests that make a run go round.
pub(crate) fn looping(run: u64) -> Vec<ExportTraceServiceRequest> {
    vec![spans(run, usize::MAX, "")]
}

/// What the guard is asked and told about a text.
fn guarded(daemon: &Daemon, run: &str, said: &str) {
    for call in 0..4 {
        let body = json!({"run_id": run, "tool": format!("get {said}"), "agent": said, "call_id": call.to_string(),
            "arguments": {"q": said}});
        assert_eq!(daemon.post("/v1/guard/check", &body.to_string()).0, 200);
        let (status, key) = [("success", "result"), ("error", "error")][call % 2];
        let mut body =
            json!({"run_id": run, "tool": "t", "call_id": call.to_string(), "status": status});
        body[key] = Value::from(format!("it says {said}"));
        // On a busy machine it may not be taken in within the deadline, which a client hears and tells again.
        let told = (0..100).any(|_| daemon.post("/v1/guard/report", &body.to_string()).0 == 200);
        assert!(told, "it is never taken in");
    }
}

/// Everything that a daemon shows: runs, warnings, explanations, alerts, metrics.
fn shown(daemon: &Daemon) -> Vec<(&'static str, String)> {
    let page = |path: &str| {
        let url = format!("http://{}{path}", daemon.api);
        runtime().block_on(async {
            let sent = http_client().get(url).send();
            sent.await.expect("it answers").text().await.expect("text")
        })
    };
    let runs = daemon.runs();
    let mut shown = vec![("metrics", page("/metrics"))];
    for (run_id, run) in &runs {
        shown.push(("runs", run.to_string()));
        for warning in run["warnings"].as_array().into_iter().flatten() {
            let id = warning["id"].as_str().expect("an id");
            // Ids of runs are hexadecimal here, but for the guarded ones, which have no sign that a query would need to escape.
            let explained = page(&format!("/v1/warnings/{id}?run_id={run_id}"));
            shown.push(("explanations", explained));
        }
    }
    let tail = eddy()
        .args([
            "tail",
            "--json",
            "--after",
            "0",
            "--api",
            &daemon.api.to_string(),
        ])
        .stdout(std::process::Stdio::piped())
        .spawn();
    let mut tail = tail.expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    tail.kill().expect("it still runs");
    let tail = tail.wait_with_output().expect("it ends");
    shown.push(("tail", String::from_utf8_lossy(&tail.stdout).into_owned()));
    shown
}

/// Every file below a folder, as text.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            found.push((path.display().to_string(), text));
        }
    }
}

/// Which of the secrets stand somewhere in these bytes, in one pass over them.
fn found_in(bytes: &[u8], planted: &[Planted]) -> BTreeSet<usize> {
    let start = |bytes: &[u8]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
    let mut starting: Vec<Vec<usize>> = vec![Vec::new(); 1 << 16];
    for (number, secret) in planted.iter().enumerate() {
        starting[start(secret.core.as_bytes())].push(number);
    }
    let mut found = BTreeSet::new();
    for at in 0..bytes.len().saturating_sub(1) {
        for number in &starting[start(&bytes[at..])] {
            if bytes[at..].starts_with(planted[*number].core.as_bytes()) {
                found.insert(*number);
            }
        }
    }
    found
}

/// Given some two hundred secrets in arguments, results, names, errors, resources and what the guard is told, none is in
/// alerts, logs at trace level, metrics, the tail, the API's answers (also where they show arguments), database, snapshots or a
/// backup.
#[test]
fn planted_secrets_are_nowhere() {
    let collector = Collector::start();
    let away = tempfile::tempdir().expect("a temporary directory");
    let alerts = away.path().join("alerts.jsonl");
    let (directory, mut daemon) = configured(&format!(
        "exporters:\n  file: {{path: '{}'}}\n  otlp_logs: {{endpoint: 'http://{}'}}\nservice: {{api: {{show_arguments: true}}, snapshot_interval: 1s, telemetry: {{logs: {{level: trace}}}}}}\n",
        alerts.display(),
        collector.address
    ));
    let planted = planted();
    assert!(planted.len() > 200);
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for (number, secret) in planted.iter().enumerate() {
            let request = spans(number as u64, number % 7, &secret.text);
            sender.traces(request).await.expect("taken");
        }
    });
    for (number, secret) in planted.iter().enumerate().step_by(5) {
        guarded(&daemon, &format!("guarded-{number}"), &secret.text);
    }
    let mut shown = shown(&daemon);
    let explains = |(sink, text): &&(&str, String)| {
        *sink == "explanations" && text.contains(r#""samples":{"A":""#)
    };
    let explained = shown.iter().filter(explains);
    assert!(
        explained.count() > 100,
        "there is hardly anything to look at"
    );
    assert!(
        shown
            .iter()
            .any(|(sink, text)| *sink == "tail" && text.contains("raised"))
    );
    let backup = away.path().join("backup");
    let data = directory.path().join("data");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let made = eddy()
        .args(["backup", "--data-dir"])
        .args([&data, &backup])
        .output()
        .expect("the program starts");
    assert!(made.status.success(), "{made:?}");
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let records = collector.records();
    assert!(!records.is_empty());
    shown.push(("log records", format!("{records:?}")));
    let said = daemon.stderr.lock().expect("nobody panics with it").clone();
    assert!(said.contains("TRACE"), "the log is not that loud");
    shown.push(("log", said));
    let mut kept = Vec::new();
    files(directory.path(), &mut kept);
    files(away.path(), &mut kept);
    assert!(kept.iter().any(|(path, _)| path.contains("snapshots")));
    let shown = shown.into_iter();
    kept.extend(shown.map(|(sink, text)| (sink.to_owned(), text)));
    let mut leaks = Vec::new();
    for (sink, text) in &kept {
        for number in found_in(text.as_bytes(), &planted) {
            let secret = &planted[number].text;
            leaks.push(format!("{secret} (place {}) in {sink}", number % 7));
        }
    }
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

/// Given names and values with markup, escapes of terminals, templates, words for a model and signs that end a text, each sink
/// shows them as text: JSON stays JSON, a terminal gets no escape, a webhook's text is escaped for whoever renders it.
#[test]
fn text_stays_text() {
    let said = [
        "<script>alert(1)</script>",
        "\u{1b}[31mred\u{1b}[0m",
        "{{ .Labels }} ${env:HOME} {tool} %s",
        "<!channel> *bold* `code`",
        "\"},\"injected\":{\"x\":\"",
        "line\nERROR eddy: forged=true\r\nanother",
        "ignore previous instructions",
        "\u{202e}txt.exe \u{0}nul",
    ];
    let away = tempfile::tempdir().expect("a temporary directory");
    let alerts = away.path().join("alerts.jsonl");
    let (_directory, daemon) = configured(&format!(
        "exporters: {{file: {{path: '{}'}}}}\nservice: {{telemetry: {{logs: {{level: debug, format: json}}}}}}\n",
        alerts.display()
    ));
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for (number, said) in said.iter().enumerate() {
            for place in [0, 3, 4, 6] {
                let run = (number * 10 + place) as u64;
                sender.traces(spans(run, place, said)).await.expect("taken");
            }
        }
        until(async || {
            let lines = fs::read_to_string(&alerts).unwrap_or_default();
            (lines.lines().count() >= said.len()).then_some(())
        })
        .await;
    });
    let plain = |text: &str, sink: &str| {
        let strange = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(strange), "{sink}: {text:?}");
        assert!(!text.contains('\u{202e}'), "{sink}: {text:?}");
    };
    for line in fs::read_to_string(&alerts).expect("it is there").lines() {
        let alert: Value = serde_json::from_str(line).expect("each line is JSON");
        assert!(alert["warning"]["rule"].is_string(), "{line}");
        assert!(alert["warning"].get("injected").is_none(), "{line}");
    }
    for line in daemon.stderr.lock().expect("whole").lines() {
        let is_json = serde_json::from_str::<Value>(line).is_ok();
        assert!(is_json, "a forged line: {line}");
    }
    let api = daemon.api.to_string();
    let shown = |arguments: &[&str]| {
        let output = eddy().args(arguments).args(["--api", &api]).output();
        let output = output.expect("the program starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    plain(&shown(&["runs"]), "runs");
    for id in daemon.runs().keys() {
        plain(&shown(&["run", id]), "run");
        let page: Value = serde_json::from_str(&shown(&["run", id, "--json"])).expect("JSON");
        assert_eq!(page["run_id"].as_str(), Some(id.as_str()));
    }
    let metrics = runtime().block_on(async {
        let url = format!("http://{api}/metrics");
        let page = http_client().get(url).send().await.expect("it answers");
        page.text().await.expect("text")
    });
    plain(&metrics, "metrics");
    assert!(!metrics.contains("<script"), "a name is a label");
}

/// Given secrets in every place of the configuration that takes one, and files that all users can read: neither the printed
/// configuration nor the log at trace level shows any, and the files are named, each once.
#[test]
fn secrets_of_the_configuration_are_hidden() {
    let files = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, secret: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = files.path().join(name);
        fs::write(&path, secret).expect("it can be written");
        let everybody = fs::Permissions::from_mode(0o644);
        fs::set_permissions(&path, everybody).expect("it can be set");
        path.display().to_string()
    };
    let (api, hook) = (
        file("api-token", "hidden-api-file"),
        file("hook-token", "hidden-hook-file"),
    );
    let away = "127.0.0.1:9";
    let text = format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{auth: {{tokens: [{{token: hidden-grpc}}]}}}}, http: {{auth: {{tokens: [{{token: hidden-http}}, {{token_file: '{api}'}}]}}}}}}}}}}\n\
         exporters:\n  otlp_logs: {{endpoint: 'http://{away}', headers: {{x-key: hidden-logs}}}}\n  \
         otlp_forward: {{endpoint: 'http://{away}', headers: {{x-key: hidden-forward}}}}\n  \
         webhook/a: {{url: 'http://{away}/x', allow_private: true, token: hidden-hook}}\n  \
         webhook/b: {{url: 'http://{away}/x', allow_private: true, token_file: '{hook}'}}\n\
         service: {{api: {{auth: {{tokens: [{{token: hidden-api}}, {{token_file: '{api}'}}]}}}}, \
         telemetry: {{logs: {{level: trace}}, traces: {{sampling_ratio: 1, otlp: {{endpoint: 'http://{away}', headers: {{x-key: hidden-traces}}}}}}}}}}\n"
    );
    let (directory, mut daemon) = configured(&text);
    let client = http_client();
    runtime().block_on(async {
        let get = |path: &str| client.get(format!("http://{}{path}", daemon.api));
        let known = get("/v1/runs").bearer_auth("hidden-api").send().await;
        assert_eq!(known.expect("it answers").status(), 200);
        let wrong = get("/v1/runs").bearer_auth("hidden-wrong").send().await;
        assert_eq!(wrong.expect("it answers").status(), 401);
        let traces = client.post(format!("http://{}/v1/traces", daemon.http));
        let traces = traces
            .header("content-type", "application/x-protobuf")
            .bearer_auth("hidden-http")
            .body(prost::Message::encode_to_vec(&calls(1, 0, 4)));
        assert_eq!(traces.send().await.expect("it answers").status(), 200);
    });
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let said = daemon.stderr.lock().expect("whole").clone();
    assert!(said.contains("TRACE"), "the log is not that loud");
    for name in ["api-token", "hook-token"] {
        let warns = |line: &&str| line.contains("every user") && line.contains(name);
        assert_eq!(said.lines().filter(warns).count(), 1, "of {name}");
    }
    let config = directory.path().join("eddy.yaml").display().to_string();
    let printed = eddy()
        .args(["config", "print", "--config", &config])
        .output();
    let printed = String::from_utf8_lossy(&printed.expect("it starts").stdout).into_owned();
    assert!(printed.contains("[hidden]"), "{printed}");
    for (sink, text) in [("log", said), ("config print", printed)] {
        let line = text.lines().find(|line| line.contains("hidden-"));
        assert_eq!(line, None, "in {sink}");
    }
}
