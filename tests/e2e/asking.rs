//! What a daemon that runs says when it is asked why, and what it has learned.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::ops::Range;
use std::process::Stdio;

use serde_json::{Value, json};

use super::access::configured;
use super::kill::calls;
use super::reload::looping;
use super::support::{
    Daemon, PATIENCE, Sender, eddy, free_port, output_of, runtime, to_nobody, until,
};

/// Given a loop, the API says which events show it, that their arguments and results are equal, which settings decided and what
/// would silence it; after a kill -9 it says the same. Of a warning that is not there, it says so.
#[test]
fn a_warning_is_explained() {
    runtime().block_on(async {
        let data = tempfile::tempdir().expect("a directory");
        let daemon = Daemon::start(data.path());
        let mut sender = Sender::new(daemon.grpc);
        for call in 0..4 {
            let looping = looping(0, call, call + 1);
            sender.traces(looping).await.expect("it is accepted");
        }
        let runs = daemon.runs();
        let (run_id, run) = runs.first_key_value().expect("a run");
        let warnings = run["warnings"].as_array().expect("warnings");
        let is_exact = |warning: &&Value| warning["rule"] == "repeated_tool_call_exact_input";
        let warning = warnings.iter().find(is_exact).expect("a loop");
        let id = warning["id"].as_str().expect("an id");
        let path = format!("/v1/warnings/{id}?run_id={run_id}");
        let (code, told) = daemon.get(&path);
        assert_eq!(code, 200, "{told}");
        assert_eq!(told["warning"], *warning);
        let events = told["events"].as_array().expect("events");
        let same = |event: &Value| event["arguments"] == "A" && event["result"] == 1;
        assert!(events.len() == 4 && events.iter().all(same), "{told}");
        for (setting, value) in [("calls", 3), ("alarm.critical_count", 8)] {
            let path = format!("detectors.rules.repeated_tool_call_exact_input.{setting}");
            assert_eq!(told["settings"][path], value, "{told}");
        }
        let silence = told["silence"].as_array().expect("ways");
        let off = "detectors: {rules: {repeated_tool_call_exact_input: off}}";
        assert!(silence.iter().any(|way| way["config"] == off), "{told}");
        let (code, unknown) = daemon.get(&format!("/v1/warnings/00000000000000ab?run_id={run_id}"));
        assert_eq!(code, 404, "{unknown}");
        let error = unknown["error"].as_str().expect("an error");
        assert!(
            error.contains("no warning 00000000000000ab of run"),
            "{error}"
        );
        let (code, unnamed) = daemon.get(&format!("/v1/warnings/{id}"));
        assert_eq!(code, 400, "{unnamed}");
        for wrong in [
            &["explain", "search"][..],
            &["explain", id, "--profile", "looplens"],
            &["calibrate", "--from-store", "--profile", "looplens"],
        ] {
            let wrong = output_of(eddy().args(wrong));
            assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
        }
        daemon.kill_9();
        let daemon = Daemon::start(data.path());
        assert_eq!(daemon.get(&path), (200, told));
    });
}

/// What was asked is shown where the configuration says so and nowhere else: the API, and the page with the events that have a
/// letter. Where it does not say so, the page names the setting.
#[test]
fn arguments_are_shown_where_that_is_configured() {
    for (shows, config) in [
        (false, ""),
        (true, "service: {api: {show_arguments: true}}"),
    ] {
        let (_directory, daemon) = configured(config);
        runtime().block_on(async {
            let mut sender = Sender::new(daemon.grpc);
            for request in super::secrets::looping(0) {
                sender.traces(request).await.expect("it is accepted");
            }
        });
        let runs = daemon.runs();
        let (run_id, run) = runs.first_key_value().expect("a run");
        let id = run["warnings"][0]["id"].as_str().expect("a warning");
        let (code, told) = daemon.get(&format!("/v1/warnings/{id}?run_id={run_id}"));
        assert_eq!(code, 200, "{told}");
        let samples = shows.then(|| json!({"A": r#"{"q":"same"}"#}));
        assert_eq!(told.get("samples"), samples.as_ref(), "{told}");
        let mut asked = eddy();
        let api = daemon.api.to_string();
        let asked = asked.args(["explain", id, "--api", &api]).output();
        let asked = asked.expect("the program starts");
        let page = String::from_utf8(asked.stdout).expect("UTF-8");
        let line = page
            .lines()
            .find(|line| line.contains(r#"A  {"q":"same"}"#));
        assert_eq!(line.is_some(), shows, "{page}");
        let hint = page.contains("service.api.show_arguments");
        assert_eq!(hint, !shows, "{page}");
    }
}

/// Given a daemon elsewhere than at the default address, the commands that its terminal and a list of its runs show lead to it; a
/// list that has all runs shows none.
#[cfg(unix)]
#[test]
fn commands_that_are_shown_lead_to_the_daemon() {
    runtime().block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let (data, shown) = (
            directory.path().join("data"),
            directory.path().join("shown"),
        );
        let into = format!("exec >{}", shown.display());
        let daemon = Daemon::start_under(&into, &data, free_port(), &[]);
        let mut sender = Sender::new(daemon.grpc);
        for call in 0..4 {
            let looping = looping(0, call, call + 1);
            sender.traces(looping).await.expect("it is accepted");
            let request = calls(call + 1, 0, 2);
            sender.traces(request).await.expect("it is accepted");
        }
        let api = daemon.api.to_string();
        let more = format!("more: eddy run --api {api} ");
        until(async || {
            fs::read_to_string(&shown)
                .ok()?
                .contains(&more)
                .then_some(())
        })
        .await;
        let mut runs = eddy();
        let runs = runs.args([
            "runs",
            "-n",
            "1",
            "--status",
            "healthy,warning",
            "--api",
            &api,
        ]);
        let said = String::from_utf8(output_of(runs).stderr).expect("UTF-8");
        let more = "There are more: eddy runs --limit 5 --status healthy,warning --api";
        assert_eq!(said, format!("{more} {api}\n"));
        let all = output_of(eddy().args(["runs", "-n", "1000", "--json", "--api", &api]));
        assert_eq!(String::from_utf8_lossy(&all.stderr), "");
        let few = output_of(eddy().args(["runs", "-n", "1", "--json", "--api", &api]));
        let said = String::from_utf8_lossy(&few.stderr).into_owned();
        assert!(said.starts_with("There are more: "), "{said}");
        let all: Value = serde_json::from_slice(&all.stdout).expect("a list");
        let count = all.as_array().expect("a list").len().to_string();
        let all = output_of(eddy().args(["runs", "-n", &count, "--api", &api]));
        assert_eq!(String::from_utf8_lossy(&all.stderr), "");
    });
}

/// Given names of runs that would be places in a URL, the run is shown, or it is said that there is none.
#[test]
fn a_run_may_have_the_name_of_a_place() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let told = daemon.post(
        "/v1/guard/message",
        r#"{"run_id":"..","kind":"user","text":"go on"}"#,
    );
    assert_eq!(told.0, 200, "{told:?}");
    let api = daemon.api.to_string();
    let asked = |id: &str| output_of(eddy().args(["run", id, "--json", "--api", &api]));
    // The guard answers before it is on disk.
    let shown = until(async || serde_json::from_slice::<Value>(&asked("..").stdout).ok());
    assert_eq!(runtime().block_on(shown)["run_id"], "..");
    let missing = asked(".");
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(said.contains("no run `.`"), "{said}");
    assert_eq!(missing.status.code(), Some(1));
}

/// Given a daemon that knows no run yet, a list says how to find out why; a tail of a run that is not there says so, and waits.
#[test]
fn nothing_to_show_is_said() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let api = daemon.api.to_string();
    let none = output_of(eddy().args(["runs", "--api", &api]));
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(
        said.contains(&format!("`eddy doctor --api {api}`")),
        "{said}"
    );
    let mut tail = eddy();
    tail.args(["tail", "--run", "typo", "--api", &api]);
    let mut tail = tail.stderr(Stdio::piped()).spawn().expect("it starts");
    let said = BufReader::new(tail.stderr.take().expect("it is piped"));
    let said = said.lines().next().expect("a line").expect("UTF-8");
    assert!(said.contains("no run `typo` so far"), "{said}");
    assert!(tail.try_wait().expect("it can be asked").is_none());
    tail.kill().expect("it is there");
    tail.wait().expect("it is there");
}

/// A run of six equal calls, as a line of events.
pub(crate) fn stuck(run_id: &str) -> String {
    let call = r#""kind":"tool_call","agent":"a","tool":"t","input":{"q":1},"output":"same""#;
    let calls: Vec<String> = (0..6).map(|i| format!(r#"{{"i":{i},{call}}}"#)).collect();
    format!(r#"{{"run_id":"{run_id}","events":[{}]}}"#, calls.join(","))
}

/// Given recorded runs, a warning is explained by the run that is named, and by no other.
#[test]
fn a_recorded_warning_may_be_asked_for_by_its_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.events.jsonl");
    fs::write(&path, stuck("r")).expect("written");
    let judged = output_of(eddy().arg("check").arg(&path).arg("--json"));
    let judged: Value = serde_json::from_slice(&judged.stdout).expect("JSON");
    let id = &judged["runs"][0]["warnings"][0]["id"];
    let id = id.as_str().expect("a warning");
    for (run, code) in [("r", 0), ("another", 1)] {
        let explained = output_of(eddy().args(["explain", id, "--run", run]).arg(&path));
        assert_eq!(explained.status.code(), Some(code), "{explained:?}");
    }
}

/// Given a tail whose reader has seen enough, it ends, though no other alert comes.
#[test]
fn a_tail_that_nobody_reads_ends() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let api = daemon.api.to_string();
    let mut tail = eddy();
    let output = to_nobody(tail.args(["tail", "--json", "--after", "0", "--api", &api]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Given a daemon that is heard from, then answers that it cannot for now, and then can again, a tail waits, says so once, and
/// goes on behind what it has shown; what is refused for good ends it.
#[test]
fn a_tail_waits_for_a_daemon_that_cannot_answer() {
    let refusal = |status: &str| {
        format!("{status}\r\ncontent-type: application/json\r\n\r\n{{\"error\": \"so it is\"}}")
    };
    let alert = |id: u64| {
        format!(
            "200 OK\r\ncontent-type: text/event-stream\r\n\r\nid: {id}\ndata: {{\"n\":{id}}}\n\n"
        )
    };
    let answers = [
        (alert(7), "cursor=0"),
        (refusal("503 Service Unavailable"), "cursor=7"),
        (refusal("429 Too Many Requests"), "cursor=7"),
        (alert(8), "cursor=7"),
        // The log of alerts was begun anew.
        (refusal("400 Bad Request"), "cursor=8"),
        (alert(1), "cursor=0"),
        (refusal("400 Bad Request"), "cursor=1"),
        (refusal("400 Bad Request"), "cursor=0"),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let api = listener.local_addr().expect("it has one").to_string();
    let daemon = std::thread::spawn(move || {
        for (answer, cursor) in answers {
            let (mut peer, _) = listener.accept().expect("it asks");
            peer.set_read_timeout(Some(PATIENCE)).expect("it can be");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                peer.read_exact(&mut byte).expect("it asks");
                asked.extend(byte);
            }
            let asked = String::from_utf8_lossy(&asked);
            assert!(asked.contains(cursor), "{asked}");
            let (status, rest) = answer.split_once("\r\n").expect("a status");
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{rest}");
            peer.write_all(head.as_bytes()).expect("it listens");
        }
    });
    let mut tail = eddy();
    let tail = output_of(tail.args(["tail", "--json", "--after", "0", "--api", &api]));
    let said = String::from_utf8_lossy(&tail.stderr);
    assert_eq!(
        String::from_utf8_lossy(&tail.stdout),
        "{\"n\":7}\n{\"n\":8}\n{\"n\":1}\n",
        "{said}"
    );
    assert_eq!(said.matches("cannot answer for now").count(), 1, "{said}");
    assert_eq!(said.matches("has another log of alerts").count(), 2);
    assert!(said.ends_with("so it is\n"), "{said}");
    assert_eq!(tail.status.code(), Some(1));
    daemon.join().expect("it was asked as it expects");
}

/// Given a tail that comes back to a daemon with another store, whose log of alerts is longer than what it had read of the first
/// one, it says so, and misses nothing of that.
#[test]
fn a_tail_knows_another_log() {
    let (first, second) = (tempfile::tempdir(), tempfile::tempdir());
    let (first, second) = (first.expect("a directory"), second.expect("a directory"));
    let alerts_of = |daemon: &Daemon, runs: Range<u64>| {
        runtime().block_on(async {
            let mut sender = Sender::new(daemon.grpc);
            for run in runs {
                sender
                    .traces(looping(run, 0, 4))
                    .await
                    .expect("it is accepted");
            }
        });
    };
    let daemon = Daemon::start(second.path());
    alerts_of(&daemon, 1..6);
    daemon.kill_9();
    let daemon = Daemon::start(first.path());
    alerts_of(&daemon, 0..1);
    let api = daemon.api;
    let lines = first.path().join("shown");
    let mut tail = eddy();
    tail.args(["tail", "--json", "--after", "0", "--api", &api.to_string()]);
    let tail = tail.stdout(fs::File::create(&lines).expect("a file"));
    let mut tail = tail.stderr(Stdio::piped()).spawn().expect("it starts");
    let shown = |run: u64| {
        let run_id = format!("{:032x}", run + 1);
        let has_it = async || {
            let lines = fs::read_to_string(&lines).expect("a file");
            lines.contains(&run_id).then_some(())
        };
        runtime().block_on(until(has_it));
    };
    shown(0);
    daemon.kill_9();
    let _daemon = Daemon::start_at(second.path(), api, &[]);
    for run in 1..6 {
        shown(run);
    }
    tail.kill().expect("it is there");
    let said = tail.wait_with_output().expect("it is there").stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("has another log of alerts"), "{said}");
}

/// Given runs that the daemon remembers and that are over, it learns from them what is usual; given too few, it says so. What
/// it learned is configuration that can be used.
#[test]
fn what_is_usual_is_learned_from_the_store() {
    runtime().block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        let config = directory.path().join("eddy.yaml");
        fs::write(&config, "runs: {idle: 1s}\n").expect("written");
        let path = config.to_str().expect("UTF-8");
        let daemon = Daemon::start_with(&data, free_port(), &["--config", path]);
        let learn = || {
            let api = daemon.api.to_string();
            let command = &mut eddy();
            let command = command.args(["calibrate", "--from-store", "--api", &api]);
            command.output().expect("the program runs")
        };
        let over = async |runs: usize| {
            let is_over = |run: &Value| matches!(run["ended"].as_str(), Some("ok" | "idle"));
            let count = || daemon.runs().values().filter(|run| is_over(run)).count();
            until(async || (count() >= runs).then_some(())).await;
        };
        let mut sender = Sender::new(daemon.grpc);
        for run in 0..5 {
            let request = calls(run, 0, 4);
            sender.traces(request).await.expect("it is accepted");
        }
        over(5).await;
        let few = learn();
        let said = String::from_utf8_lossy(&few.stderr);
        assert_eq!(few.status.code(), Some(1), "{said}");
        assert!(said.contains("5 good runs of 5"), "{said}");
        for run in 5..40 {
            let request = calls(run, 0, 4 + run % 5);
            sender.traces(request).await.expect("it is accepted");
        }
        over(40).await;
        let learned = learn();
        let said = String::from_utf8_lossy(&learned.stderr);
        assert!(learned.status.success(), "{said}");
        let learned = String::from_utf8(learned.stdout).expect("UTF-8");
        assert!(learned.contains("from 40 good runs"), "{learned}");
        assert!(learned.contains("calls: 8"), "{learned}");
        fs::write(&config, learned).expect("written");
        let valid = eddy().args(["validate", path]).output();
        let valid = valid.expect("the program runs");
        let said = String::from_utf8_lossy(&valid.stderr);
        assert!(valid.status.success(), "{said}");
    });
}

/// Given runs that are over and of which some went round in circles, nothing is learned from those, and it is said how many they
/// are, also where too few are left.
#[test]
fn nothing_is_learned_from_what_is_stuck() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.events.jsonl");
    let call = |i: usize, query: usize| {
        format!(
            r#"{{"i":{i},"kind":"tool_call","agent":"a","tool":"t","input":{{"q":{query}}},"output":"page {query}"}}"#
        )
    };
    let run = |id: usize, calls: Vec<String>| {
        format!(r#"{{"run_id":"{id}","events":[{}]}}"#, calls.join(","))
    };
    let good = |id: usize| run(id, (0..4).map(|i| call(i, 10 * id + i)).collect());
    let stuck = |id: usize| run(id, (0..12).map(|i| call(i, 1)).collect());
    for (goods, code, expected) in [
        (20, 0, "from 20 good runs"),
        (19, 1, "19 good runs of 23 are too few"),
    ] {
        let failed = run(
            200,
            vec![
                call(0, 1),
                r#"{"i":1,"kind":"run_end","status":"failed"}"#.to_owned(),
            ],
        );
        let runs = (0..goods)
            .map(good)
            .chain((100..103).map(stuck))
            .chain([failed]);
        fs::write(&path, runs.collect::<Vec<_>>().join("\n")).expect("written");
        let learned = output_of(eddy().arg("calibrate").arg(&path));
        let said = [learned.stdout, learned.stderr].concat();
        let said = String::from_utf8(said).expect("UTF-8");
        assert_eq!(learned.status.code(), Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
        let left_out = "eft out: 3 with open warnings, 1 that failed";
        assert!(said.contains(left_out), "{said}");
        assert!(code == 1 || said.contains("calls: 4"), "{said}");
    }
}
