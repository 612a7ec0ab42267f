//! Tenants: what is sent with one's credential, nobody else sees, and nobody else can change.

use std::fs;
use std::path::Path;
use std::time::Duration;

use eddy::api::v1;
use eddy::api::v1::run_service_client::RunServiceClient;
use eddy::api::v1::warning_service_client::WarningServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message;
use serde_json::Value;
use tonic::Code;

use super::kill::calls;
use super::support::{Daemon, Export, PATIENCE, eddy, free_port, http_client, recordings, runtime};
use super::taken_away::moved;

/// The run of the trace that all tenants use.
const RUN: &str = "00000000000000000000000000000001";

fn tokens(listener: &str) -> String {
    let token = |tenant: &str| format!("{{token: {tenant}-{listener}, tenant: {tenant}}}");
    let (blue, red) = (token("blue"), token("red"));
    format!("auth: {{tokens: [{blue}, {red}, {{token: own-{listener}}}]}}")
}

pub(crate) fn start(directory: &Path) -> Daemon {
    let config = directory.join("eddy.yaml");
    let (grpc, http, api) = (tokens("in"), tokens("in"), tokens("api"));
    let text = format!(
        "receivers: {{otlp: {{protocols: {{grpc: {{{grpc}}}, http: {{{http}}}}}}}}}\n\
         service: {{api: {{{api}}}}}\nexporters: {{file: {{path: {}}}}}\n",
        directory.join("alerts.jsonl").display()
    );
    fs::write(&config, text).expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    Daemon::start_with(&directory.join("data"), free_port(), &["--config", &config])
}

pub(crate) fn with_token<T>(message: T, token: &str) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    let value = format!("Bearer {token}").parse().expect("a header");
    request.metadata_mut().insert("authorization", value);
    request
}

pub(crate) async fn send(daemon: &Daemon, tenant: &str, request: ExportTraceServiceRequest) {
    let client = TraceServiceClient::connect(format!("http://{}", daemon.grpc)).await;
    let sent = with_token(request, &format!("{tenant}-in"));
    let mut client = client.expect("connected");
    client.export(sent).await.expect("it is accepted");
}

async fn post(daemon: &Daemon, tenant: &str, request: ExportTraceServiceRequest) {
    let posted = http_client()
        .post(format!("http://{}/v1/traces", daemon.http))
        .header("content-type", "application/x-protobuf")
        .header("authorization", format!("Bearer {tenant}-in"))
        .body(request.encode_to_vec());
    assert_eq!(posted.send().await.expect("it answers").status(), 200);
}

async fn get(daemon: &Daemon, tenant: &str, path: &str) -> (u16, Value) {
    let (code, text) = page(daemon, tenant, path).await;
    (code, serde_json::from_str(&text).expect("JSON"))
}

/// What a tenant is shown at a path of the API.
pub(crate) async fn page(daemon: &Daemon, tenant: &str, path: &str) -> (u16, String) {
    let asked = http_client()
        .get(format!("http://{}{path}", daemon.api))
        .header("authorization", format!("Bearer {tenant}-api"));
    let answer = asked.send().await.expect("it answers");
    let code = answer.status().as_u16();
    (code, answer.text().await.expect("a whole answer"))
}

async fn tool_calls(daemon: &Daemon, tenant: &str, run_id: &str) -> Option<u64> {
    let (code, run) = get(daemon, tenant, &format!("/v1/runs/{run_id}")).await;
    assert!(code == 200 || code == 404, "{run}");
    run["tool_calls"].as_u64()
}

pub(crate) async fn ids(daemon: &Daemon, tenant: &str) -> Vec<String> {
    let (_, page) = get(daemon, tenant, "/v1/runs?limit=1000").await;
    let runs = page["runs"].as_array().expect("a list").iter();
    runs.map(|run| run["run_id"].as_str().expect("an id").to_owned())
        .collect()
}

/// The same calls in a conversation with a name.
fn named(mut request: ExportTraceServiceRequest, conversation: &str) -> ExportTraceServiceRequest {
    let attribute = KeyValue {
        key: "gen_ai.conversation.id".to_owned(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(conversation.to_owned())),
        }),
        ..KeyValue::default()
    };
    for span in &mut request.resource_spans[0].scope_spans[0].spans {
        span.attributes.push(attribute.clone());
    }
    request
}

async fn apart(daemon: &Daemon, looping: &str) {
    for (tenant, of_trace, of_name) in [
        ("blue", Some(5), Some(4)),
        ("red", None, Some(3 + 2)),
        ("own", Some(1), None),
    ] {
        assert_eq!(
            tool_calls(daemon, tenant, "same").await,
            of_name,
            "{tenant}"
        );
        // The red trace went over to the run that it named; its old id leads there, the others' ids do not.
        let expected = of_trace.or(of_name);
        assert_eq!(tool_calls(daemon, tenant, RUN).await, expected, "{tenant}");
    }
    assert_eq!(ids(daemon, "own").await, [RUN]);
    assert_eq!(ids(daemon, "red").await, ["same"]);
    assert!(ids(daemon, "blue").await.contains(&looping.to_owned()));
    let runs = RunServiceClient::connect(format!("http://{}", daemon.api)).await;
    let warnings = WarningServiceClient::connect(format!("http://{}", daemon.api)).await;
    let (mut runs, mut warnings) = (runs.expect("connected"), warnings.expect("connected"));
    for (tenant, is_theirs) in [("blue", true), ("red", false), ("own", false)] {
        let token = format!("{tenant}-api");
        let (code, _) = get(daemon, tenant, &format!("/v1/runs/{looping}")).await;
        assert_eq!(code == 200, is_theirs, "{tenant}");
        let run_id = looping.to_owned();
        let watch = with_token(v1::WatchRunRequest { run_id }, &token);
        let watched = runs.watch_run(watch).await;
        let code = watched.map_or_else(|status| status.code(), |_| Code::Ok);
        assert_eq!(code == Code::Ok, is_theirs, "{tenant} {code}");
        let list = with_token(v1::ListWarningsRequest::default(), &token);
        let list = warnings.list_warnings(list).await.expect("it answers");
        assert_eq!(!list.get_ref().warnings.is_empty(), is_theirs, "{tenant}");
        // The log of alerts of the others has no first alert to go on after.
        let tail = v1::TailAlertsRequest {
            after_cursor: Some(1),
            ..v1::TailAlertsRequest::default()
        };
        let tail = warnings.tail_alerts(with_token(tail, &token)).await;
        assert_eq!(tail.is_ok(), is_theirs, "{tenant}");
    }
}

/// Given a tenant whose directory is taken away, readiness tells the reason with that tenant's token alone; to others, and to who
/// shows no token, how many tenants cannot take reports.
#[test]
fn why_a_tenant_is_not_ready_is_told_to_it_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let daemon = start(directory.path());
    let blue = directory.path().join("data/tenants/blue");
    moved(&blue, &directory.path().join("away"));
    let ready = |tenant: &str| runtime().block_on(get(&daemon, tenant, "/readyz"));
    let began = std::time::Instant::now();
    while ready("nobody").0 == 200 {
        assert!(began.elapsed() < PATIENCE, "it is missed");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, own) = ready("blue");
    assert!(code == 503 && own.to_string().contains("store"), "{own}");
    for tenant in ["red", "own", "nobody"] {
        let (code, told) = ready(tenant);
        let reasons = told["reasons"].as_array().expect("reasons");
        let told = told.to_string();
        assert!(code == 503 && reasons.len() == 1, "{told}");
        assert!(
            told.contains("of 3 tenants, 1 cannot take reports"),
            "{told}"
        );
        assert!(!told.contains("store"), "{told}");
    }
}

/// Given tenants that use the same conversation ids and trace ids, one of them in a loop, each has its own runs, warnings and
/// alerts, also after a restart, and nothing that one sends changes anything of another's.
#[test]
fn tenants_do_not_meet() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut daemon = start(directory.path());
    let recording = recordings().into_iter();
    let mut loops =
        recording.filter(|recording| recording.name == "langgraph-openinference-exact-loop");
    let looping = loops.next().expect("it was recorded").requests();
    runtime().block_on(async {
        for request in looping {
            if let Export::Traces(request) = request {
                send(&daemon, "blue", request).await;
            }
        }
        let looping = ids(&daemon, "blue").await;
        let [looping] = &looping[..] else {
            panic!("one run, {looping:?}")
        };
        send(&daemon, "blue", calls(0, 0, 5)).await;
        post(&daemon, "red", calls(0, 0, 2)).await;
        send(&daemon, "own", calls(0, 0, 1)).await;
        send(&daemon, "blue", named(calls(5, 0, 4), "same")).await;
        // Red says that the trace belongs to a conversation, which moves its own run and no other.
        post(&daemon, "red", named(calls(0, 2, 5), "same")).await;
        apart(&daemon, looping).await;
        daemon.signal("TERM");
        assert!(daemon.wait().success());
        daemon = start(directory.path());
        apart(&daemon, looping).await;
    });
    assert!(directory.path().join("data/tenants/blue").is_dir());
    let alerts = directory.path().join("alerts.jsonl");
    let began = std::time::Instant::now();
    while !alerts.exists() && began.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    let alerts = fs::read_to_string(alerts).expect("there were alerts");
    for line in alerts.lines() {
        let alert: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(alert["tenant"], "blue", "{alert}");
    }
}

/// Given a tenant that may send and of which no token of the API is, the configuration is no mistake, and `validate` and the start
/// warn of it by its name, as does the doctor when what was sent is not seen; given one for each, neither does.
#[test]
fn a_tenant_that_nobody_sees_is_warned_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("eddy.yaml");
    let sending =
        "receivers: {otlp: {protocols: {http: {auth: {tokens: [{token: t, tenant: blue}]}}}}}\n";
    let seeing = "service: {api: {auth: {tokens: [{token: u, tenant: blue}]}}}\n";
    for (text, is_seen) in [
        (sending.to_owned(), false),
        (format!("{sending}{seeing}"), true),
    ] {
        fs::write(&config, text).expect("it can be written");
        let output = eddy().arg("validate").arg(&config).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(
            !said.contains("no token of the API is of it"),
            is_seen,
            "{said}"
        );
        assert_eq!(!said.contains("blue"), is_seen, "{said}");
        let name = config.to_string_lossy();
        let data = directory.path().join(format!("data-{is_seen}"));
        let daemon = Daemon::start_with(&data, free_port(), &["--config", &name]);
        let said = daemon.stderr.lock().expect("nobody panics with it").clone();
        assert_eq!(
            !said.contains("no token of the API is of it"),
            is_seen,
            "{said}"
        );
        if !is_seen {
            let mut doctor = eddy();
            doctor.args(["doctor", "--json", "--api", &daemon.api.to_string()]);
            doctor.arg(format!("--otlp-http={}", daemon.http));
            doctor.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t");
            let report = doctor.output().expect("it runs").stdout;
            let report = String::from_utf8_lossy(&report);
            assert!(
                report.contains("only the default tenant can be seen"),
                "{report}"
            );
        }
    }
}
