//! Recorded loops as an exporter sends them while the agent is still at work: a span when it ends, the root not yet.
//!
//! Whoever looks at a loop afterwards has every span. A daemon that is to stop it has those that have ended: children
//! before their parents, and of the root, which often names the conversation and the agent, nothing.

use std::fs;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::Value;

use super::check::hidden;
use super::support::{Export, Recording, eddy, recordings};

/// A request with one span for each span of the requests, in the order in which the spans ended.
fn one_by_one(requests: Vec<Export>) -> Vec<ExportTraceServiceRequest> {
    let mut spans = Vec::new();
    for request in requests {
        let Export::Traces(request) = request else {
            continue;
        };
        for of_resource in request.resource_spans {
            for of_scope in &of_resource.scope_spans {
                spans.extend(of_scope.spans.iter().map(|span| ResourceSpans {
                    scope_spans: vec![ScopeSpans {
                        spans: vec![span.clone()],
                        ..of_scope.clone()
                    }],
                    ..of_resource.clone()
                }));
            }
        }
    }
    spans.sort_by_key(|spans| only(spans).end_time_unix_nano);
    let request = |spans| ExportTraceServiceRequest {
        resource_spans: vec![spans],
    };
    spans.into_iter().map(request).collect()
}

fn only(spans: &ResourceSpans) -> &Span {
    &spans.scope_spans[0].spans[0]
}

fn is_root(request: &ExportTraceServiceRequest) -> bool {
    only(&request.resource_spans[0]).parent_span_id.is_empty()
}

/// The spans without the root, where there is one around all that happened. A client alone makes nothing but roots.
fn without_root(mut requests: Vec<ExportTraceServiceRequest>) -> Vec<ExportTraceServiceRequest> {
    let roots = requests.iter().filter(|request| is_root(request)).count();
    if roots == 1 {
        requests.retain(|request| !is_root(request));
    }
    requests
}

/// So many requests, and as many more as it takes for the last call to have ended: its server's spans end before its own, which
/// began before them.
fn to_the_end_of_a_call(requests: &[ExportTraceServiceRequest], count: usize) -> usize {
    let start =
        |request: &ExportTraceServiceRequest| only(&request.resource_spans[0]).start_time_unix_nano;
    let pairs = requests[count - 1..].windows(2);
    let around = pairs.take_while(|pair| start(&pair[1]) < start(&pair[0]));
    count + around.count()
}

/// What `eddy check` says of two thirds of the requests, and of more where less than four calls have ended by then.
fn runs_underway(name: &str, requests: &[ExportTraceServiceRequest]) -> Vec<Value> {
    let mut count = requests.len().div_ceil(3) * 2;
    loop {
        count = to_the_end_of_a_call(requests, count);
        let runs = runs(name, &requests[..count]);
        if calls_of(&runs) >= 4 {
            return runs;
        }
        assert!(count < requests.len(), "{name}: {runs:?}");
        count += 1;
    }
}

fn calls_of(runs: &[Value]) -> u64 {
    let calls = runs.iter().map(|run| run["tool_calls"].as_u64());
    calls.flatten().sum()
}

/// What `eddy check` says of requests.
fn runs(name: &str, requests: &[ExportTraceServiceRequest]) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("spans.otlp.binpb");
    let bytes = requests
        .iter()
        .flat_map(Message::encode_length_delimited_to_vec);
    fs::write(&file, bytes.collect::<Vec<u8>>()).expect("it can be written");
    let output = eddy().args(["check", "--json"]).arg(&file).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{name}: {output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    report["runs"].as_array().expect("a list of runs").clone()
}

/// Whether the recording is of a loop that is told in spans, of calls that can be told apart.
fn is_of_interest(recording: &Recording) -> bool {
    let told_in_spans = recording
        .files
        .iter()
        .all(|file| !file.to_string_lossy().contains(".logs."));
    recording.scenario() == "exact-loop" && told_in_spans && hidden(recording).is_none()
}

/// Given each recording of a call made six times, of which two thirds have ended, four at least, and the root has not: the loop is
/// warned of, in one run that has all calls so far.
#[test]
fn loops_are_found_while_their_root_is_open() {
    let mut found = 0;
    for recording in recordings().iter().filter(|it| is_of_interest(it)) {
        let name = &recording.name;
        let requests = without_root(one_by_one(recording.requests()));
        let runs = runs_underway(name, &requests);
        let is_alarm = |warning: &Value| warning["severity"] != "info";
        let warned: Vec<&Value> = runs
            .iter()
            .filter(|run| {
                run["warnings"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(is_alarm))
            })
            .collect();
        assert_eq!(warned.len(), 1, "{name}: {runs:?}");
        assert_eq!(
            warned[0]["tool_calls"],
            calls_of(&runs),
            "{name}: calls of other runs"
        );
        found += 1;
    }
    assert!(found > 80, "only {found} loops");
}
