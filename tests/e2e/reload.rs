//! The configuration under a daemon that runs: written anew, renamed, swapped behind a link, with mistakes and without.
//! `EDDY_RELOADS` sets how often it changes under load: 12 times by default, 200 in the long form.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;

use super::kill::calls;
use super::load::{Beside, set_by};
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

pub(crate) async fn reloads(daemon: &Daemon, outcome: &str) -> u64 {
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

pub(crate) async fn reloaded(daemon: &Daemon, outcome: &str, times: u64) {
    until(async || (reloads(daemon, outcome).await >= times).then_some(())).await;
}

/// Waits until the daemon's log has a text.
async fn says(daemon: &Daemon, text: &str) {
    let said = || daemon.stderr.lock().expect("nobody panics with it").clone();
    until(async || said().contains(text).then_some(())).await;
}

pub(crate) fn put(path: &Path, text: &str) {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, text).expect("it can be written");
    fs::rename(fresh, path).expect("it can be renamed");
}

/// Puts a link to a new file there, as a cluster does with a configuration that it mounts.
fn put_link(path: &Path, file: &str, text: &str) {
    let file = path.with_file_name(file);
    fs::write(&file, text).expect("it can be written");
    let link = path.with_extension("link");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    fs::rename(link, path).expect("it can be renamed");
}

/// The sender of a run that goes on beside a test.
const BESIDE: u64 = 90;

/// Sends to that run until it is told to stop; no request is refused. Answers with how many calls it sent.
fn loading(grpc: SocketAddr) -> Beside<u64> {
    Beside::begin(|stop| async move {
        let (mut sender, mut sent) = (Sender::new(grpc), 0);
        while !stop.load(Ordering::Relaxed) {
            let sending = sender.traces(calls(BESIDE, sent, sent + 2)).await;
            sending.expect("no request is refused");
            sent += 2;
        }
        sent
    })
}

/// Ends it, and looks whether all that it sent is there.
async fn end(loading: Beside<u64>, daemon: &Daemon) {
    let sent = loading.end().await;
    let run = &daemon.runs()[&format!("{:032x}", BESIDE + 1)];
    assert_eq!(run["tool_calls"].as_u64(), Some(sent));
}

/// Given a file that changes: a bad one changes nothing, and its mistake is in the log with its line; nor does one that has been
/// emptied; a good one applies to the next report, open warnings stay open, and what waits for a restart is named. No request is
/// refused meanwhile.
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
        let loading = loading(daemon.grpc);
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

        put(&config, "");
        reloaded(&daemon, "refused", 2).await;
        says(&daemon, "it is empty").await;
        put_link(&config, "other.yaml", "# The defaults.\n");
        reloaded(&daemon, "taken", 2).await;
        sender.traces(looping(4, 0, 3)).await.expect("taken");
        assert_eq!(warning(&daemon, 4).as_deref(), Some("open"));
        end(loading, &daemon).await;
    });
    // Policies that journal records name survive a crash with them. What lies in the window of a run is judged anew when it
    // is read from disk, so only runs that no change concerned are compared.
    let before = daemon.runs();
    daemon.kill_9();
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    let after = daemon.runs();
    for sender in [2, 4, BESIDE] {
        let id = format!("{:032x}", sender + 1);
        assert_eq!(after[&id], before[&id]);
    }
}

/// Given a configuration that changes again and again under load, in each way in which a file can change and every second time
/// with a mistake, each change is taken or refused as it should be, a good one applies to the next report and after a bad one
/// what was before does, a warning that is open stays so, and no request is refused.
#[test]
fn changes_under_load_refuse_nothing() {
    const FIRST: u64 = 1_000;
    let changes = set_by("EDDY_RELOADS", 12);
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    fs::write(&config, "").expect("it can be written");
    let path = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        let loading = loading(daemon.grpc);
        sender.traces(looping(1, 0, 3)).await.expect("taken");
        let mut is_on = true;
        for change in 0..changes {
            let is_good = change % 2 == 0;
            let (rule, outcome) = if is_good {
                (RULE, "taken")
            } else {
                ("repeated_tool_cal", "refused")
            };
            // The rule is switched off by every third of the good ones.
            let is_off = change % 3 == 0;
            let off = if is_off || !is_good {
                format!("    {rule}: off\n")
            } else {
                String::new()
            };
            let seconds = 1_000 + change;
            let text = format!(
                "detectors:\n  rules:\n    long_running_step: {{seconds: {seconds}}}\n{off}"
            );
            if is_good {
                is_on = !is_off;
            }
            let before = reloads(&daemon, outcome).await;
            match change / 2 % 2 {
                0 => put(&config, &text),
                _ => put_link(&config, &format!("{change}.yaml"), &text),
            }
            if change / 4 % 2 == 0 {
                daemon.signal("HUP");
            }
            reloaded(&daemon, outcome, before + 1).await;
            let run = FIRST + change;
            sender.traces(looping(run, 0, 3)).await.expect("taken");
            let expected = is_on.then(|| "open".to_owned());
            assert_eq!(warning(&daemon, run), expected, "after change {change}");
        }
        let refused = reloads(&daemon, "refused").await;
        let taken = reloads(&daemon, "taken").await;
        assert_eq!([taken, refused], [changes.div_ceil(2), changes / 2]);
        let said = daemon.stderr.lock().expect("nobody panics with it").clone();
        assert_eq!(said.matches("eddy.yaml:4:").count() as u64, refused);
        assert_eq!(
            warning(&daemon, 1).as_deref(),
            Some("open"),
            "it stays open"
        );
        end(loading, &daemon).await;
    });
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

/// Given a configuration that is read again on SIGHUP as it was, the log says that nothing has changed, and not that it applies
/// from now on; once something has, it says that.
#[test]
fn what_has_not_changed_is_said_to_be_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    let rule = |seconds: u64| {
        format!("detectors: {{rules: {{long_running_step: {{seconds: {seconds}}}}}}}\n")
    };
    put(&config, &rule(1_000));
    let path = config.to_string_lossy().into_owned();
    let data = directory.path().join("data");
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &path]);
    let said = |what: &str| {
        let said = daemon.stderr.lock().expect("nobody panics with it");
        said.matches(what).count()
    };
    let (same, applies) = ("nothing in it has changed", "applies from now on");
    runtime().block_on(async {
        daemon.signal("HUP");
        until(async || (said("was read again") == 1).then_some(())).await;
        assert_eq!((said(same), said(applies)), (1, 0));
        put(&config, &rule(1_001));
        daemon.signal("HUP");
        until(async || (said("was read again") == 2).then_some(())).await;
        assert_eq!((said(same), said(applies)), (1, 1));
    });
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
        put(&config, "# The defaults.\n");
        reloaded(&daemon, "taken", 2).await;
        sender.traces(volatile(3)).await.expect("taken");
        assert_eq!(warning(&daemon, 3), None, "all of them differ again");
    });
}

/// Given a configuration that comes through a pipe, all of it counts, and it is never asked for again; a signal to read it again
/// is answered with the reason why not. A file in whose place a pipe is put later is refused, and waited for by nobody.
#[test]
fn what_comes_through_a_pipe_is_read_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    let data = directory.path().join("data");
    let path = pipe.to_string_lossy().into_owned();
    let tokens = "service: {api: {auth: {tokens: [{token: t}]}}}";
    let before = format!("mkfifo {path}; echo '{tokens}' > {path} & true");
    let daemon = Daemon::start_under(&before, &data, free_port(), &["--config", &path]);
    assert_eq!(daemon.get("/v1/runs").0, 401);
    daemon.signal("HUP");
    runtime().block_on(says(&daemon, "it came through a pipe"));
    drop(daemon);

    let config = directory.path().join("eddy.yaml");
    put(&config, "# The defaults.\n");
    let of_file = config.to_string_lossy().into_owned();
    let daemon = Daemon::start_with(&data, free_port(), &["--config", &of_file]);
    fs::rename(&pipe, &config).expect("it can be renamed");
    runtime().block_on(async {
        reloaded(&daemon, "refused", 1).await;
        says(&daemon, "it is no regular file").await;
    });
}

/// Given a signal to read the configuration again before it was read at all, as of a supervisor that starts and reloads at once,
/// the daemon becomes ready.
#[cfg(unix)]
#[test]
fn a_signal_before_the_configuration_is_read_ends_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let pipe = directory.path().join("eddy.yaml").display().to_string();
    // Whoever opens a pipe for writing waits for its reader.
    let before =
        format!("mkfifo {pipe}; (exec 3>{pipe}; kill -HUP $$; sleep 0.2; echo '{{}}' >&3) &");
    let before = format!("{before} true");
    let data = directory.path().join("data");
    let daemon = Daemon::start_under(&before, &data, free_port(), &["--config", &pipe]);
    runtime().block_on(says(&daemon, "there is no configuration to read again"));
}

/// Given a file of the configuration that does not answer (a pipe that nobody writes stands for it), the log says that it is
/// waited for, all signals meanwhile are one, and the daemon goes on once it answers. While it does not, the daemon hears that it
/// is to stop, and leaves in time.
#[cfg(unix)]
#[test]
fn a_file_that_does_not_answer_holds_up_no_signal() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (config, prices) = (path("eddy.yaml"), path("prices.yaml"));
    let service = "service: {shutdown_deadline: 2s}\n";
    put(&config, service);
    let of_file = config.to_string_lossy().into_owned();
    let arguments = ["--config", of_file.as_str()];
    let mut daemon = Daemon::start_with(&path("data"), free_port(), &arguments);
    let pipe = || {
        let made = Command::new("mkfifo").arg(path("pipe")).status();
        assert!(made.expect("there is such a command").success());
        fs::rename(path("pipe"), &prices).expect("it can be renamed");
    };
    pipe();
    let text = format!(
        "normalize: {{prices_file: {}}}\n{service}",
        prices.display()
    );
    put(&config, &text);
    runtime().block_on(async {
        says(&daemon, "does not answer").await;
        for _ in 0..5 {
            daemon.signal("HUP");
        }
        let sent = Sender::new(daemon.grpc).traces(looping(1, 0, 3)).await;
        sent.expect("work goes on");
        let written = fs::OpenOptions::new().write(true).open(&prices);
        let written = written.expect("somebody reads it");
        put(&prices, "");
        drop(written);
        // What the signals ask for comes behind it, once.
        reloaded(&daemon, "taken", 2).await;
        pipe();
        daemon.signal("HUP");
        let said = || daemon.stderr.lock().expect("whole").clone();
        until(async || (said().matches("does not answer").count() == 2).then_some(())).await;
        assert_eq!(reloads(&daemon, "taken").await, 2);
    });
    daemon.signal("TERM");
    let began = Instant::now();
    assert_eq!(daemon.wait().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5));
}
