//! The configuration under a daemon that runs: written anew, renamed, swapped behind a link, with mistakes and without.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;

use super::kill::calls;
use super::support::{Daemon, Sender, free_port, http_client, runtime, until};

const RULE: &str = "repeated_tool_call_exact_input";

/// Identical calls with identical results.
pub(crate) fn looping(sender: u64, from: u64, to: u64) -> ExportTraceServiceRequest {
    let mut request = calls(sender, from, to);
    for span in &mut request.resource_spans[0].scope_spans[0].spans {
        for attribute in &mut span.attributes {
            if attribute.key.ends_with("arguments") || attribute.key.ends_with("result") {
                let value = Some(Any::StringValue(r#"{"same":"thing"}"#.to_owned()));
                attribute.value = Some(AnyValue { value });
            }
        }
    }
    request
}

/// The state of the run's warning of that rule, if it has one.
fn warning(daemon: &Daemon, sender: u64) -> Option<String> {
    let runs = daemon.runs();
    let warnings = runs[&format!("{:032x}", sender + 1)]["warnings"]
        .as_array()?
        .clone();
    let found = warnings.iter().find(|warning| warning["rule"] == RULE)?;
    found["state"].as_str().map(str::to_owned)
}

async fn reloads(daemon: &Daemon, outcome: &str) -> u64 {
    let page = http_client()
        .get(format!("http://{}/metrics", daemon.api))
        .send();
    let page = page
        .await
        .expect("it answers")
        .text()
        .await
        .expect("a page");
    let series = format!("eddy_config_reloads_total{{outcome=\"{outcome}\"}} ");
    let count = page.lines().find_map(|line| line.strip_prefix(&series));
    count.expect("it is counted").parse().expect("a number")
}

async fn reloaded(daemon: &Daemon, outcome: &str, times: u64) {
    until(async || (reloads(daemon, outcome).await >= times).then_some(())).await;
}

/// Waits until the daemon's log has a text.
async fn says(daemon: &Daemon, text: &str) {
    let said = || daemon.stderr.lock().expect("nobody panics with it").clone();
    until(async || said().contains(text).then_some(())).await;
}

fn put(path: &Path, text: &str) {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, text).expect("it can be written");
    fs::rename(fresh, path).expect("it can be renamed");
}

/// Given a file that changes: a bad one changes nothing, and its mistake is in the log with its line; a good one applies to
/// the next report, open warnings stay open, and what waits for a restart is named. No request is refused meanwhile.
#[test]
fn thresholds_apply_from_the_next_report() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    fs::write(&config, "").expect("it can be written");
    let path = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        let (stop, mut loading) = (Arc::new(AtomicBool::new(false)), sender.clone());
        let stopped = Arc::clone(&stop);
        let load = tokio::spawn(async move {
            let mut sent = 0;
            while !stopped.load(Ordering::Relaxed) {
                let request = calls(90, sent, sent + 2);
                loading
                    .traces(request)
                    .await
                    .expect("no request is refused");
                sent += 2;
            }
            sent
        });
        sender.traces(looping(1, 0, 3)).await.expect("taken");
        assert_eq!(warning(&daemon, 1).as_deref(), Some("open"));

        put(
            &config,
            "detectors:\n  rules:\n    repeated_tool_cal: off\n",
        );
        reloaded(&daemon, "refused", 1).await;
        says(&daemon, "eddy.yaml:3:").await;
        says(&daemon, "old one stays").await;
        sender.traces(looping(2, 0, 3)).await.expect("taken");
        assert_eq!(
            warning(&daemon, 2).as_deref(),
            Some("open"),
            "the old one applies"
        );

        let off = format!("detectors:\n  rules:\n    {RULE}: off\nruns: {{idle: 7m}}\n");
        put(&config, &off);
        reloaded(&daemon, "taken", 1).await;
        says(&daemon, "waits for a restart").await;
        says(&daemon, "runs.idle").await;
        sender.traces(looping(3, 0, 3)).await.expect("taken");
        sender.traces(looping(1, 3, 4)).await.expect("taken");
        assert_eq!(warning(&daemon, 3), None, "the new one applies");
        assert_eq!(
            warning(&daemon, 1).as_deref(),
            Some("open"),
            "an open warning stays"
        );

        // A configuration that a cluster mounts: the link is swapped.
        let other = directory.path().join("other.yaml");
        fs::write(&other, "").expect("it can be written");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&other, &link).expect("a link");
        fs::rename(link, &config).expect("it can be renamed");
        reloaded(&daemon, "taken", 2).await;
        sender.traces(looping(4, 0, 3)).await.expect("taken");
        assert_eq!(warning(&daemon, 4).as_deref(), Some("open"));

        // Asked to, it reads again at once.
        for times in 3..13 {
            put(&config, if times % 2 == 0 { "" } else { &off });
            daemon.signal("HUP");
            reloaded(&daemon, "taken", times).await;
        }
        stop.store(true, Ordering::Relaxed);
        let sent = load.await.expect("no request was refused");
        let run = &daemon.runs()[&format!("{:032x}", 91)];
        assert_eq!(run["tool_calls"].as_u64(), Some(sent));
    });
    // Policies that journal records name survive a crash with them. What lies in the window of a run is judged anew when it
    // is read from disk, so only runs that no change concerned are compared.
    let before = daemon.runs();
    daemon.kill_9();
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    let after = daemon.runs();
    for sender in [2, 4, 90] {
        let id = format!("{:032x}", sender + 1);
        assert_eq!(after[&id], before[&id]);
    }
}

/// Given a configuration that changes twice, with reports in between, and a process that is killed right after: what was read
/// under each is judged by it after the start, and what comes then by the file's newest.
#[test]
fn what_was_judged_stays_judged_after_kill_9() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    let path = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    // What the database has not written by itself half a second later must not be missed. A few rounds, since it may have.
    for round in 0..3 {
        let runs = [1, 2, 3, 4].map(|run| 10 * round + run);
        let [first, second, third, fourth] = runs;
        // Each is a policy that no round before had.
        let on = |more: u64| {
            let seconds = 1_000 + 10 * round + more;
            format!("detectors: {{rules: {{long_running_step: {{seconds: {seconds}}}}}}}\n")
        };
        let off = format!(
            "detectors: {{rules: {{{RULE}: off, long_running_step: {{seconds: {}}}}}}}\n",
            2_000 + round
        );
        put(&config, &on(1));
        let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
        runtime().block_on(async {
            let mut sender = Sender::new(daemon.grpc);
            sender.traces(looping(first, 0, 3)).await.expect("taken");
            put(&config, &off);
            daemon.signal("HUP");
            reloaded(&daemon, "taken", 1).await;
            sender.traces(looping(second, 0, 3)).await.expect("taken");
            put(&config, &on(2));
            daemon.signal("HUP");
            reloaded(&daemon, "taken", 2).await;
            sender.traces(looping(third, 0, 3)).await.expect("taken");
        });
        let before = daemon.runs();
        daemon.kill_9();
        let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
        let after = daemon.runs();
        for run in [first, second, third] {
            let id = format!("{:032x}", run + 1);
            assert_eq!(after[&id], before[&id], "run {run} of round {round}");
        }
        let open = Some("open".to_owned());
        let found = [first, second, third].map(|run| warning(&daemon, run));
        assert_eq!(found, [open.clone(), None, open.clone()]);
        runtime().block_on(async {
            let mut sender = Sender::new(daemon.grpc);
            sender.traces(looping(fourth, 0, 3)).await.expect("taken");
        });
        assert_eq!(warning(&daemon, fourth), open);
        daemon.kill_9();
    }
}

/// Given a changed `tools` section, calls are read and judged by it from the next report on.
#[test]
fn tools_are_read_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    fs::write(&config, "").expect("it can be written");
    let path = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    // Always the same, but for a member that means nothing to whoever knows the tool.
    let volatile = |sender| {
        let mut request = calls(sender, 0, 4);
        let spans = &mut request.resource_spans[0].scope_spans[0].spans;
        for (number, span) in spans.iter_mut().enumerate() {
            for attribute in &mut span.attributes {
                if attribute.key.ends_with("arguments") || attribute.key.ends_with("result") {
                    let word = ["birch", "canyon", "trumpet", "velvet"][number];
                    let text = format!(r#"{{"same":"thing","mood":"{word}"}}"#);
                    let value = Some(Any::StringValue(text));
                    attribute.value = Some(AnyValue { value });
                }
            }
        }
        request
    };
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        sender.traces(volatile(1)).await.expect("taken");
        assert_eq!(warning(&daemon, 1), None, "all of them differ");
        put(&config, "tools: {search: {volatile_fields: [mood]}}\n");
        reloaded(&daemon, "taken", 1).await;
        sender.traces(volatile(2)).await.expect("taken");
        assert_eq!(warning(&daemon, 2).as_deref(), Some("open"));
        let said = daemon.stderr.lock().expect("nobody panics with it").clone();
        assert!(!said.contains("waits for a restart"), "{said}");
        put(&config, "");
        reloaded(&daemon, "taken", 2).await;
        sender.traces(volatile(3)).await.expect("taken");
        assert_eq!(warning(&daemon, 3), None, "all of them differ again");
    });
}
