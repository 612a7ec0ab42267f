//! What `eddy doctor` finds, from where an agent's owner sits.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use super::access::{asks_for_certificates, configured, fixture};
use super::load::metric;
use super::reload::looping;
use super::support::{Daemon, Sender, eddy, free_port, output_of, runtime, to_nobody, until};

/// A check of these names, as it came out.
type Found<'a> = (&'a str, &'a str);

/// The doctor, of a shell without variables of OpenTelemetry's or of proxies.
fn doctor(api: SocketAddr) -> Command {
    let mut command = eddy();
    command.args(["doctor", "--json", "--api", &api.to_string()]);
    for (name, _) in std::env::vars_os() {
        let named = name.to_string_lossy();
        let is_of_proxies = named.to_ascii_lowercase().ends_with("_proxy");
        if named.starts_with("OTEL_") || named.starts_with("EDDY_API") || is_of_proxies {
            command.env_remove(&name);
        }
    }
    command
}

/// What it found; its exit code is 0 where no check failed, and 1 where one did.
fn found(command: &mut Command) -> Value {
    let output = output_of(command);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let code = i32::from(report["ok"] != true);
    assert_eq!(output.status.code(), Some(code), "{report}");
    report
}

fn check(report: &Value, expected: &[Found<'_>], said: &str) {
    let checks = report["checks"].as_array().expect("checks");
    let outcomes = checks.iter().map(|check| {
        let text = |key: &str| check[key].as_str().unwrap_or_default();
        (text("name"), text("outcome"))
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), expected, "{report}");
    assert!(report.to_string().contains(said), "{said} in {report}");
}

fn endpoints(command: &mut Command, daemon: &Daemon) {
    command.arg(format!("--otlp-grpc={}", daemon.grpc));
    command.arg(format!("--otlp-http={}", daemon.http));
}

/// Given a daemon, a span comes in over both protocols and is in one run; of the environment the address, the protocol and the
/// token are taken.
#[test]
fn a_daemon_that_works_is_well() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let mut command = doctor(daemon.api);
    endpoints(&mut command, &daemon);
    let well = [
        ("API", "ok"),
        ("OTLP/gRPC", "ok"),
        ("OTLP/HTTP", "ok"),
        ("exporters", "ok"),
    ];
    check(&found(&mut command), &well, "reports are taken");
    let runs = daemon.runs();
    let (run_id, run) = runs.first_key_value().expect("a run");
    assert!(run_id.starts_with("eddy-doctor-"), "{run_id}");
    assert_eq!(
        (&run["tool_calls"], &run["score"]),
        (&2.into(), &100.into())
    );

    let (directory, daemon) = configured(
        "receivers: {otlp: {protocols: {http: {auth: {tokens: [{token: a-b}]}}}}}\nservice: {api: {auth: {tokens: [{token: t}]}}}\n",
    );
    let token = directory.path().join("token");
    fs::write(&token, "t").expect("it can be written");
    let mut command = doctor(daemon.api);
    command.arg("--token-file").arg(token);
    command.env(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        format!("http://{}", daemon.http),
    );
    let known = [("API", "ok"), ("OTLP/HTTP", "failed"), ("exporters", "ok")];
    check(
        &found(&mut command),
        &known,
        "Agents name a token by OTEL_EXPORTER_OTLP_HEADERS",
    );
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a%2Db");
    let guessed = [("API", "ok"), ("OTLP/HTTP", "warning"), ("exporters", "ok")];
    check(
        &found(&mut command),
        &guessed,
        "OTEL_EXPORTER_OTLP_PROTOCOL is not set",
    );
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
    let well = [("API", "ok"), ("OTLP/HTTP", "ok"), ("exporters", "ok")];
    check(&found(&mut command), &well, "OTEL_EXPORTER_OTLP_ENDPOINT");
}

/// Given no daemon, a token that is not known, the wrong protocol, a span that goes elsewhere, or a receiver that is away, that
/// is what is said.
#[test]
fn what_is_wrong_is_named() {
    let nobody = free_port();
    let mut command = doctor(nobody);
    command.arg(format!("--otlp-grpc={nobody}"));
    let failed = [("API", "failed"), ("OTLP/gRPC", "failed")];
    check(&found(&mut command), &failed, "start one with `eddy`");
    // Whoever reads it.
    assert_eq!(to_nobody(&mut command).status.code(), Some(1));

    let away = format!("http://{nobody}");
    let (_directory, guarded) = configured(&format!(
        "exporters: {{webhook/ops: {{url: '{away}', allow_private: true}}}}\nservice: {{api: {{auth: {{tokens: [{{token: t}}]}}}}}}\n"
    ));
    let mut command = doctor(guarded.api);
    command.arg(format!("--otlp-grpc={}", guarded.grpc));
    let unasked = [("API", "failed"), ("OTLP/gRPC", "warning")];
    check(&found(&mut command), &unasked, "asks for a token");

    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let mut command = doctor(daemon.api);
    command.arg(format!("--otlp-grpc={}", daemon.http));
    let misled = [("API", "ok"), ("OTLP/gRPC", "failed"), ("exporters", "ok")];
    check(&found(&mut command), &misled, "OTLP/HTTP is spoken here");
    let mut command = doctor(daemon.api);
    command.arg(format!("--otlp-grpc={}", guarded.grpc));
    check(
        &found(&mut command),
        &misled,
        "Something else may listen there",
    );

    runtime().block_on(async {
        let mut sender = Sender::new(guarded.grpc);
        for call in 0..4 {
            let looping = looping(0, call, call + 1);
            sender.traces(looping).await.expect("it is accepted");
        }
    });
    let token = data.path().join("token");
    fs::write(&token, "t").expect("it can be written");
    let mut command = doctor(guarded.api);
    command.arg("--token-file").arg(token);
    command.arg(format!("--otlp-grpc={}", guarded.grpc));
    let behind = [("API", "ok"), ("OTLP/gRPC", "ok"), ("exporters", "warning")];
    check(&found(&mut command), &behind, "for webhook/ops");
}

/// Given a receiver that refuses alerts for good, it is said that they are lost.
#[test]
fn lost_alerts_are_told_of() {
    let data = tempfile::tempdir().expect("a directory");
    let other = Daemon::start(data.path());
    let refuses = format!("http://{}/nothing", other.http);
    let (_directory, daemon) = configured(&format!(
        "exporters: {{webhook/ops: {{url: '{refuses}', allow_private: true}}}}\n"
    ));
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        sender
            .traces(looping(0, 0, 4))
            .await
            .expect("it is accepted");
        until(async || {
            (metric(&daemon, "eddy_exporter_send_failed_alerts_total") > 0).then_some(())
        })
        .await;
    });
    let mut command = doctor(daemon.api);
    command.arg(format!("--otlp-grpc={}", daemon.grpc));
    let losing = [("API", "ok"), ("OTLP/gRPC", "ok"), ("exporters", "warning")];
    check(&found(&mut command), &losing, "lost since the start: ");
}

/// Given a backend to which telemetry is passed on, it is said that requests wait for it, that they were dropped, and that none
/// does or was.
#[test]
fn requests_that_are_not_passed_on_are_told_of() {
    let beginning = "exporters:\n  terminal: {}\n";
    let data = tempfile::tempdir().expect("a directory");
    let backend = Daemon::start(data.path());
    let (_directory, daemon) = configured(&format!(
        "{beginning}  otlp_forward: {{endpoint: 'http://{}'}}\n",
        backend.grpc
    ));
    let expected = |outcome| {
        let well = [("API", "ok"), ("OTLP/gRPC", "ok"), ("exporters", "ok")];
        [&well[..], &[("otlp_forward", outcome)]].concat()
    };
    let mut command = doctor(daemon.api);
    command.arg(format!("--otlp-grpc={}", daemon.grpc));
    let said = "otlp_forward: no request waits, none was lost";
    check(&found(&mut command), &expected("ok"), said);

    let away = free_port();
    let (_directory, daemon) = configured(&format!(
        "{beginning}  otlp_forward/dead: {{endpoint: 'http://{away}', queue_mib: 1}}\n"
    ));
    let mut command = doctor(daemon.api);
    command.arg(format!("--otlp-grpc={}", daemon.grpc));
    let said = "waiting: 1 request for otlp_forward/dead";
    check(&found(&mut command), &expected("warning"), said);
    runtime().block_on(async {
        let mut sender = Sender::new(daemon.grpc);
        for call in 0..40 {
            let mut request = looping(0, call, call + 1);
            request.resource_spans[0].schema_url = "x".repeat(50_000);
            sender.traces(request).await.expect("it is accepted");
        }
        until(async || (metric(&daemon, "eddy_forward_dropped_requests_total") > 0).then_some(()))
            .await;
    });
    let said = "dropped since the start: ";
    // The doctor's own request may find room, or not.
    let report = found(&mut command);
    assert!(report["ok"] == true, "{report}");
    let passed_on = report["checks"][3].to_string();
    assert!(
        passed_on.contains("warning") && passed_on.contains(said),
        "{report}"
    );
}

/// Given variables by which an SDK sends nothing, or elsewhere, or leaves a header out, that is what is said, though a span of the
/// doctor's own would come in.
#[test]
fn what_keeps_an_agent_silent_is_named() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let base = format!("http://{}", daemon.http);
    let twice = format!("{base}/v1/traces");
    let failed = [("API", "ok"), ("OTLP/HTTP", "failed"), ("exporters", "ok")];
    for (variable, value, said) in [
        ("OTEL_SDK_DISABLED", "true", "OTEL_SDK_DISABLED is `true`"),
        (
            "OTEL_TRACES_EXPORTER",
            "console",
            "an SDK sends nothing there",
        ),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            &twice,
            "ends with it already",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "x-team=a,authorization: Bearer s3cr3t",
            "header 2 in OTEL_EXPORTER_OTLP_HEADERS has no `=`",
        ),
    ] {
        let mut command = doctor(daemon.api);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &base);
        command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
        command.env(variable, value);
        let report = found(&mut command);
        check(&report, &failed, said);
        assert!(!report.to_string().contains("s3cr3t"), "{report}");
    }
}

/// Given a sampler that takes a share of traces, none is a failure, and some a warning; all is well, as is what SDKs cannot read,
/// of which they make all.
#[test]
fn a_sampler_that_leaves_traces_out_is_named() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    for (share, outcome, said) in [
        ("0", "failed", "an SDK sends nothing there"),
        ("0.25", "warning", "sends only 0.25 of all traces"),
        ("1.0", "ok", "it is in run"),
        ("some", "ok", "it is in run"),
    ] {
        for sampler in ["traceidratio", "parentbased_traceidratio"] {
            let mut command = doctor(daemon.api);
            let base = format!("http://{}", daemon.http);
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", base);
            command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
            command.env("OTEL_TRACES_SAMPLER", sampler);
            command.env("OTEL_TRACES_SAMPLER_ARG", share);
            let expected = [("API", "ok"), ("OTLP/HTTP", outcome), ("exporters", "ok")];
            check(&found(&mut command), &expected, said);
        }
    }
}

/// Given a proxy that a variable names, which the doctor's own requests go past, it is said that an agent's may not, and how to
/// have them go past it.
#[test]
fn a_proxy_in_an_agents_way_is_named() {
    let data = tempfile::tempdir().expect("a directory");
    let daemon = Daemon::start(data.path());
    let proxy = format!("http://{}", free_port());
    for (past, outcome, said) in [
        ("", "warning", "Set no_proxy=127.0.0.1"),
        ("example.com", "warning", "Add 127.0.0.1 to no_proxy"),
        ("127.0.0.1", "ok", "it is in run"),
    ] {
        let mut command = doctor(daemon.api);
        endpoints(&mut command, &daemon);
        command.env("http_proxy", &proxy).env("no_proxy", past);
        let expected = [
            ("API", "ok"),
            ("OTLP/gRPC", outcome),
            ("OTLP/HTTP", outcome),
            ("exporters", "ok"),
        ];
        check(&found(&mut command), &expected, said);
    }
}

/// Given a receiver that asks for certificates, one is shown where the environment names it, as an agent's exporter would.
#[test]
fn certificates_are_shown_to_a_receiver() {
    let file = |name: &str| fixture(name).display().to_string();
    let tls = asks_for_certificates();
    let (_directory, daemon) = configured(&format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{tls}}}, http: {{{tls}}}}}}}}}\n"
    ));
    for (name, protocol, port) in [
        ("OTLP/gRPC", "grpc", daemon.grpc.port()),
        ("OTLP/HTTP", "http/protobuf", daemon.http.port()),
    ] {
        let asked = |identity: &[(&str, &str)]| {
            let mut command = doctor(daemon.api);
            let endpoint = format!("https://localhost:{port}");
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
            command.env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
            command.env("OTEL_EXPORTER_OTLP_CERTIFICATE", file("ca.crt"));
            for (variable, name) in identity {
                command.env(format!("OTEL_EXPORTER_OTLP_{variable}"), file(name));
            }
            command
        };
        let stranger = [
            ("CLIENT_CERTIFICATE", "stranger.crt"),
            ("CLIENT_KEY", "stranger.key"),
        ];
        let another = [
            ("CLIENT_CERTIFICATE", "client.crt"),
            ("CLIENT_KEY", "stranger.key"),
        ];
        let own = [
            ("TRACES_CLIENT_CERTIFICATE", "client.crt"),
            ("CLIENT_KEY", "client.key"),
        ];
        let refused = [("API", "ok"), (name, "failed"), ("exporters", "ok")];
        let advice = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
        check(&found(&mut asked(&[])), &refused, advice);
        check(&found(&mut asked(&stranger)), &refused, "did not take");
        check(
            &found(&mut asked(&another)),
            &refused,
            "it is not the key of the certificate in",
        );
        let well = [("API", "ok"), (name, "ok"), ("exporters", "ok")];
        check(&found(&mut asked(&own)), &well, "took a span");
        let alone = output_of(&mut asked(&own[..1]));
        let said = String::from_utf8_lossy(&alone.stderr);
        assert!(!alone.status.success() && said.contains("_KEY"), "{said}");
    }
}
