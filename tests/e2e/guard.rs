//! The guard over its own address: answers before calls, from one truth with the stream, and never in the way.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot read an answer has failed"
)]

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use eddy::api::v1;
use eddy::api::v1::guard_service_client::GuardServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tonic::transport::Channel;
use tonic_types::StatusExt;
use tower::Service;

use super::fuzz::{INPUT_TIMEOUT, corpus, input, rounds, still_well};
use super::load::metric;
use super::support::{
    Collector, Daemon, Dice, Export, Sender, eddy, free_port, http_client, output_of, runtime,
    until,
};

/// Asks a path of the guard, and gives status and body.
fn post(daemon: &Daemon, path: &str, body: &str) -> (u16, Value) {
    daemon.post(&format!("/v1/guard/{path}"), body)
}

fn check(daemon: &Daemon, body: &Value) -> Value {
    let (status, answer) = post(daemon, "check", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    answer
}

fn call(run: &str, n: u32) -> Value {
    json!({"run_id": run, "tool": "search", "arguments": {"q": n}})
}

/// Given an agent and tools whose names are longer than what is kept of them, each tool is asked about for the first time, and the
/// agent's name finds its run.
#[test]
fn long_names_are_told_apart() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let agent = "agent-".repeat(40);
    for number in 0..5 {
        let tool = format!("{}{number}", "search".repeat(40));
        let question = json!({"run_id": "r", "agent": agent, "tool": tool, "arguments": {"q": 1}});
        assert_eq!(check(&daemon, &question)["verdict"], "ALLOW");
    }
    assert_eq!(daemon.get("/v1/runs/r").0, 200);
    let (_, found) = daemon.get(&format!("/v1/runs?agent={agent}"));
    assert_eq!(found["runs"][0]["run_id"], "r", "{found}");
    let shown = found["runs"][0]["agents"][0].as_str().unwrap();
    let path = format!("/v1/runs?agent={}", shown.replace('#', "%23"));
    assert_eq!(daemon.get(&path).1, found);
    let (_, other) = daemon.get(&format!("/v1/runs?agent={agent}2"));
    assert_eq!(other["runs"], json!([]));
}

/// Given agentium's profile, three calls are allowed and the fourth is answered, with the rule, the count and a message; the
/// run shows it as skipped, and its warning counts the attempt.
#[test]
fn the_fourth_call_is_answered() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    for _ in 0..3 {
        assert_eq!(
            check(&daemon, &call("r", 1)),
            json!({"verdict": "ALLOW", "degraded": false})
        );
        assert_eq!(check(&daemon, &call("r", 2))["verdict"], json!("ALLOW"));
    }
    for repeats in 4..7 {
        let answer = check(&daemon, &call("r", 1));
        assert_eq!(answer["verdict"], json!("SKIP"), "{answer}");
        assert_eq!(answer["rule"], json!("duplicate_call"));
        assert_eq!(answer["repeats"], json!(repeats));
        assert!(answer["message"].as_str().unwrap().contains("search"));
    }
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["tool_calls"], json!(6));
    assert_eq!(run["skipped_calls"], json!(3));
    assert_eq!(run["warnings"][0]["count"], json!(6), "{run}");
    let what = "`search` was asked for 6 times with identical arguments.";
    assert_eq!(run["warnings"][0]["what_happened"], what, "{run}");
    let id = check(&daemon, &call("r", 1))["warning_id"].clone();
    assert_eq!(run["warnings"][0]["id"], id);
}

/// Requests that are wrong in one field: where they are sent, and the field.
const WRONG: [(&str, &str, &str); 22] = [
    ("check", r#"{"tool":"t"}"#, "run_id"),
    ("check", r#"{"run_id":"","tool":"t"}"#, "run_id"),
    ("check", r#"{"run_id":"r"}"#, "tool"),
    ("check", r#"{"run_id":"r","tool":["t"]}"#, "tool"),
    (
        "check",
        r#"{"run_id":"r","tool":"t","call-id":"1"}"#,
        "call-id",
    ),
    (
        "check",
        r#"{"run_id":"r","tool":"t","turn_id":{}}"#,
        "turn_id",
    ),
    ("check", r#"{"run_id":"r","tool":"t","tool":"u"}"#, "tool"),
    (
        "report",
        r#"{"run_id":"r","tool":"t","status":"error","st\u0061tus":"success"}"#,
        "status",
    ),
    ("check", "[]", "body"),
    ("check", r#"{"run_id":"#, "body"),
    ("check?x=1", r#"{"run_id":"r","tool":"t"}"#, "x"),
    ("report", "{}", "run_id"),
    ("report", r#"{"run_id":"r"}"#, "tool"),
    ("report", r#"{"run_id":"r","tool":"t"}"#, "status"),
    (
        "report",
        r#"{"run_id":"r","tool":"t","stat":"success"}"#,
        "stat",
    ),
    (
        "report",
        r#"{"run_id":"r","tool":"t","status":"fine"}"#,
        "status",
    ),
    (
        "report",
        r#"{"run_id":"r","tool":"t","status":"success","error":"x"}"#,
        "error",
    ),
    (
        "report",
        r#"{"run_id":"r","tool":"t","status":"error","result":1}"#,
        "result",
    ),
    ("message", "{}", "run_id"),
    ("message", r#"{"run_id":"r"}"#, "kind"),
    ("message", r#"{"run_id":"r","kind":"robot"}"#, "kind"),
    (
        "message",
        r#"{"run_id":"r","kind":"user","text":7.5e}"#,
        "body",
    ),
];

/// Given requests that are wrong in one field, over HTTP and gRPC, that field is named and there is no verdict.
#[test]
fn what_is_wrong_is_named() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    // In some programs ids are numbers.
    check(&daemon, &json!({"run_id": 7, "tool": "t"}));
    assert_eq!(daemon.get("/v1/runs/7").0, 200);
    let long = format!(r#"{{"run_id":"r","tool":"{}"}}"#, "x".repeat(2_000));
    for (path, body, field) in WRONG.into_iter().chain([("check", &*long, "tool")]) {
        let (status, answer) = post(&daemon, path, body);
        assert_eq!(status, 400, "{body}: {answer}");
        let text = answer["error"].as_str().unwrap();
        assert!(text.starts_with(&format!("{field}: ")), "{body}: {text}");
        assert!(answer.get("verdict").is_none());
    }
    let status = runtime().block_on(async {
        let url = format!("http://{}", daemon.api);
        let mut guard = GuardServiceClient::connect(url).await.unwrap();
        let request = v1::CheckToolCallRequest {
            run_id: "r".into(),
            ..Default::default()
        };
        guard.check_tool_call(request).await.unwrap_err()
    });
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    let details = status.get_details_bad_request().unwrap();
    assert_eq!(details.field_violations[0].field, "tool");
    // What a page in a browser sends is not even read.
    let client = http_client();
    let url = format!("http://{}/v1/guard/check", daemon.api);
    let request = client.post(url).header("origin", "http://evil.example");
    let sent = request.body(r#"{"run_id":"r","tool":"t"}"#).send();
    let answer = runtime().block_on(sent).unwrap();
    assert_eq!(answer.status(), 403);
    assert_eq!(daemon.get("/v1/runs/r").0, 404);
}

/// Given a session over one stream, every request is answered in order under its id; one that is wrong does not end it.
#[test]
fn a_session_answers_in_order() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let check = |tool: &str| {
        v1::session_request::Kind::Check(v1::CheckToolCallRequest {
            run_id: "r".into(),
            tool: tool.into(),
            arguments: Some("{}".into()),
            ..Default::default()
        })
    };
    let tools = ["t", "t", "", "t", "t"];
    let requests: Vec<_> = (1..)
        .zip(tools)
        .map(|(id, tool)| v1::SessionRequest {
            id,
            kind: Some(check(tool)),
        })
        .collect();
    let answers = runtime().block_on(async {
        let url = format!("http://{}", daemon.api);
        let mut guard = GuardServiceClient::connect(url).await.unwrap();
        let mut stream = guard
            .session(tokio_stream::iter(requests))
            .await
            .unwrap()
            .into_inner();
        let mut answers = Vec::new();
        while let Some(answer) = stream.message().await.unwrap() {
            answers.push(answer);
        }
        answers
    });
    let shown: Vec<(u64, String)> = answers
        .into_iter()
        .map(|answer| match answer.kind.unwrap() {
            v1::session_response::Kind::Check(check) => {
                (answer.id, check.verdict().as_str_name().to_owned())
            }
            v1::session_response::Kind::Error(error) => (answer.id, error.field),
            other => (answer.id, format!("{other:?}")),
        })
        .collect();
    let allow = || "VERDICT_ALLOW".to_owned();
    let expected = [
        (1, allow()),
        (2, allow()),
        (3, "tool".to_owned()),
        (4, allow()),
        (5, "VERDICT_SKIP".to_owned()),
    ];
    assert_eq!(shown, expected);
}

pub(crate) fn now_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_nanos() as u64
}

/// A span of `search` with the arguments of [`call`], as a framework reports it.
fn span(run: &str, n: u32, id: u64, call_id: Option<&str>, times: (u64, u64)) -> Export {
    span_with(run, n, id, call_id, times, r#"{"found":"x"}"#)
}

/// The same with a result.
pub(crate) fn span_with(
    run: &str,
    n: u32,
    id: u64,
    call_id: Option<&str>,
    times: (u64, u64),
    result: &str,
) -> Export {
    let text = |key: &str, value: &str| KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value.into())),
        }),
        ..KeyValue::default()
    };
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "search"),
        text("gen_ai.conversation.id", run),
        text("gen_ai.tool.call.arguments", &json!({ "q": n }).to_string()),
        text("gen_ai.tool.call.result", result),
    ];
    attributes.extend(call_id.map(|id| text("gen_ai.tool.call.id", id)));
    let span = Span {
        trace_id: vec![9; 16],
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: vec![7; 8],
        name: "execute_tool search".into(),
        start_time_unix_nano: times.0,
        end_time_unix_nano: times.1,
        attributes,
        ..Span::default()
    };
    Export::Traces(ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "test".into(),
                    ..InstrumentationScope::default()
                }),
                spans: vec![span],
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    })
}

pub(crate) fn send(daemon: &Daemon, spans: &[Export]) {
    runtime().block_on(async { Sender::new(daemon.grpc).send_all(spans).await });
}

/// Given calls that the guard was asked about, with and without call ids, and their spans afterwards, in order or not, each
/// call counts once, and its span is the evidence.
#[test]
fn a_guarded_call_and_its_span_are_one() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    for (run, with_ids) in [("with", true), ("without", false)] {
        let mut spans = Vec::new();
        for n in 0..3_u64 {
            let id = format!("{run}-{n}");
            let mut question = call(run, 1);
            if with_ids {
                question["call_id"] = json!(id);
            }
            assert_eq!(check(&daemon, &question)["verdict"], json!("ALLOW"));
            let start = now_ns();
            let mut told = question.clone();
            told["status"] = json!("success");
            told["result"] = json!({"found": "x"});
            assert_eq!(post(&daemon, "report", &told.to_string()), (200, json!({})));
            let id = Some(id.as_str()).filter(|_| with_ids);
            spans.push(span(run, 1, n + 1, id, (start, now_ns())));
        }
        spans.swap(0, 2);
        send(&daemon, &spans);
        send(&daemon, &spans);
        let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
        assert_eq!(shown["tool_calls"], json!(3), "{run}: {shown}");
        assert_eq!(shown["late_events"], json!(0));
        assert_eq!(check(&daemon, &call(run, 1))["repeats"], json!(4), "{run}");
        let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
        let evidence = shown["warnings"][0]["evidence"].as_array().unwrap();
        assert_eq!(evidence.len(), 3, "{shown}");
    }
}

/// Given calls that repeat, the nudge threatens a refusal where there is one next, and nowhere else: what only acknowledges that
/// something was done may be right to be done again.
#[test]
fn what_a_nudge_threatens_is_done() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    for (run, result, next) in [
        ("found", "Paris is the capital of France.", "SKIP"),
        ("done", "ok", "NUDGE"),
    ] {
        let answers = [1, 2, 3, 4].map(|_| {
            let mut told = call(run, 1);
            let answer = check(&daemon, &told);
            told["status"] = json!("success");
            told["result"] = json!(result);
            assert_eq!(post(&daemon, "report", &told.to_string()), (200, json!({})));
            answer
        });
        let verdicts = answers.each_ref().map(|answer| answer["verdict"].clone());
        assert_eq!(verdicts, ["ALLOW", "ALLOW", "NUDGE", next], "{run}");
        let nudge = answers[2]["message"].as_str().expect("a message");
        assert_eq!(
            nudge.contains("will not be called"),
            next == "SKIP",
            "{nudge}"
        );
    }
}

/// Given a limit that is set for a tool, it holds: what the tool is asked does not matter, and a new turn begins anew.
#[test]
fn limits_of_tools_are_kept() {
    let (data, settings) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let config = settings.path().join("eddy.yaml");
    std::fs::write(
        &config,
        "tools: {search: {limit: 2}}\nguard: {deadline_ms: 10000}\n",
    )
    .unwrap();
    let config = config.display().to_string();
    let daemon = Daemon::start_with(data.path(), free_port(), &["--config", &config]);
    for turn in ["first", "second"] {
        let verdicts = [1, 2, 3, 4].map(|n| {
            let mut told = call("run", n);
            told["turn_id"] = json!(turn);
            let answer = check(&daemon, &told);
            (answer["verdict"].clone(), answer["rule"].clone())
        });
        let (allowed, skipped) = verdicts.split_at(2);
        let is = |verdict: &str, (told, _): &(Value, Value)| told == verdict;
        assert!(allowed.iter().all(|told| is("ALLOW", told)), "{verdicts:?}");
        assert!(
            skipped
                .iter()
                .all(|told| is("SKIP", told) && told.1 == "tool_limit"),
            "{verdicts:?}"
        );
    }
}

/// Given a framework whose spans begin before the guard is asked and tell as the result what the model is shown, a nudge below
/// the tool's own words or a refusal in their place, what the guard was told the tool brought counts: the loop stays one.
#[test]
fn what_the_guard_says_is_no_news() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    for (run, with_ids) in [("with", true), ("without", false)] {
        let mut verdicts = Vec::new();
        for n in 0..6_u64 {
            let start = now_ns();
            let id = format!("{run}-{n}");
            let mut question = call(run, 1);
            if with_ids {
                question["call_id"] = json!(id);
            }
            let answer = check(&daemon, &question);
            let said = answer["message"].as_str().unwrap_or_default();
            let brought = "there is no forecast for Bergen";
            let shown = if answer["verdict"] == "SKIP" {
                said.to_owned()
            } else {
                question["status"] = json!("success");
                question["result"] = json!(brought);
                assert_eq!(post(&daemon, "report", &question.to_string()).0, 200);
                format!("{brought}\n\n{said}")
            };
            verdicts.push(answer["verdict"].as_str().unwrap().to_owned());
            let id = Some(id.as_str()).filter(|_| with_ids);
            let times = (start, now_ns());
            send(&daemon, &[span_with(run, 1, n + 1, id, times, &shown)]);
        }
        assert_eq!(
            verdicts,
            ["ALLOW", "ALLOW", "NUDGE", "SKIP", "SKIP", "SKIP"],
            "{run}"
        );
        let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
        let calls = (&shown["tool_calls"], &shown["skipped_calls"]);
        assert_eq!(calls, (&json!(3), &json!(3)), "{run}: {shown:#}");
    }
}

/// Given a run that is named after its session, by spans or to the guard, no session is shown; a session apart from the run is.
#[test]
fn a_session_is_shown_where_it_is_apart_from_the_run() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    send(&daemon, &[span("a", 1, 1, None, (now_ns(), now_ns()))]);
    for (run, session) in [("b", "b"), ("c", "s")] {
        let mut asked = call(run, 1);
        asked["session_id"] = json!(session);
        check(&daemon, &asked);
    }
    for (run, session) in [("a", json!(null)), ("b", json!(null)), ("c", json!("s"))] {
        let (_, run) = daemon.get(&format!("/v1/runs/{run}"));
        assert_eq!(run["session_id"], session, "{run}");
    }
}

/// Given calls that only spans told of, the guard knows them; given calls that were only asked about, spans of others count on.
#[test]
fn the_guard_and_the_stream_see_each_other() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let spans: Vec<Export> = (1..4)
        .map(|n| span("a", 1, n, None, (now_ns(), now_ns())))
        .collect();
    send(&daemon, &spans);
    assert_eq!(check(&daemon, &call("a", 1))["repeats"], json!(4));
    for _ in 0..2 {
        check(&daemon, &call("b", 1));
    }
    let later = now_ns() + 120_000_000_000;
    send(
        &daemon,
        &[
            span("b", 1, 7, None, (later, later + 1)),
            span("b", 1, 8, None, (later + 2, later + 3)),
        ],
    );
    let (_, run) = daemon.get("/v1/runs/b");
    assert_eq!(run["tool_calls"], json!(4), "{run}");
    assert_eq!(run["warnings"][0]["count"], json!(4), "{run}");
}

/// Given a span of a machine whose clock is minutes ahead, and an agent with a guard beside it whose spans have the right time,
/// with call ids and without, each of its calls counts once and none of its spans is late.
#[test]
fn a_clock_that_is_ahead_moves_no_question() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    for (run, has_ids, id) in [("named", true, 10_000), ("unnamed", false, 20_000)] {
        let ahead = now_ns() + 300_000_000_000;
        let times = (ahead, ahead + 1_000_000);
        send(&daemon, &[span(run, 0, id, None, times)]);
        for round in 0..8 {
            let mut spans = Vec::new();
            for n in 1 + round * 10..=10 + round * 10 {
                let name = format!("{run} {n}");
                let mut told = call(run, n);
                if has_ids {
                    told["call_id"] = json!(name);
                }
                let began = now_ns();
                check(&daemon, &told);
                let ended = now_ns().max(began + 1_000_000);
                let call_id = has_ids.then_some(&*name);
                let id = id + u64::from(n);
                spans.push(span(run, n, id, call_id, (began, ended)));
            }
            send(&daemon, &spans);
        }
        let (_, run) = daemon.get(&format!("/v1/runs/{run}"));
        assert_eq!(
            (&run["tool_calls"], &run["late_events"]),
            (&json!(81), &json!(0)),
            "{run}"
        );
    }
}

/// Given a loop whose spans come from a machine with another time, with call ids: what each question is answered does not depend on
/// how far the clocks differ, whether results are reported or not.
#[test]
fn clocks_that_differ_hide_no_loop() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let seconds = [0_i64, 2, -2, 5, -5, 90, -90];
    let cases = seconds.map(|skew| [(skew, false), (skew, true)]);
    for (place, (skew, reports)) in cases.into_iter().flatten().enumerate() {
        let run = format!("{skew} {reports}");
        let mut verdicts = Vec::new();
        for n in 0..6_u64 {
            let id = format!("{run} {n}");
            let mut told = call(&run, 1);
            told["call_id"] = json!(id);
            let verdict = check(&daemon, &told)["verdict"].clone();
            if verdict != "SKIP" {
                if reports {
                    told["status"] = json!("success");
                    told["result"] = json!({"found": "the same as before"});
                    assert_eq!(post(&daemon, "report", &told.to_string()), (200, json!({})));
                }
                let began = now_ns().saturating_add_signed(skew * 1_000_000_000);
                // Over before the next question, however soon that comes.
                let times = (began, began + 1_000);
                let span_id = place as u64 * 100 + n + 1;
                let result = r#"{"found":"the same as before"}"#;
                send(
                    &daemon,
                    &[span_with(&run, 1, span_id, Some(&id), times, result)],
                );
            }
            verdicts.push(verdict);
        }
        let expected = ["ALLOW", "ALLOW", "NUDGE", "SKIP", "SKIP", "SKIP"];
        assert_eq!(verdicts, expected, "{run}");
        let (_, shown) = daemon.get(&format!("/v1/runs/{}", run.replace(' ', "%20")));
        assert_eq!(shown["tool_calls"], json!(3), "{run}");
    }
}

/// Given a loop that the guard has refused within a moment, and spans of the calls that were made which have a second or a minute
/// between them, with call ids and without: what is asked again is refused as before, and no count has fallen.
#[test]
fn spans_that_come_later_undo_no_refusal() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let cases = [("near", true, 1), ("far", true, 60), ("unnamed", false, 20)];
    for (place, (run, has_ids, seconds)) in cases.into_iter().enumerate() {
        let began = now_ns();
        let (mut spans, mut verdicts) = (Vec::new(), Vec::new());
        for n in 0..14_u64 {
            if n == 12 {
                send(&daemon, &spans);
            }
            let id = format!("{run} {n}");
            let mut told = call(run, 1);
            if has_ids {
                told["call_id"] = json!(id);
            }
            let answer = check(&daemon, &told);
            verdicts.push((answer["verdict"].clone(), answer["repeats"].clone()));
            if answer["verdict"] == "SKIP" {
                continue;
            }
            told["status"] = json!("success");
            told["result"] = json!([]);
            assert_eq!(post(&daemon, "report", &told.to_string()), (200, json!({})));
            let start = began + n * seconds * 1_000_000_000;
            let times = (start, start + 100_000_000);
            let call_id = has_ids.then_some(&*id);
            spans.push(span_with(
                run,
                1,
                place as u64 * 100 + n + 1,
                call_id,
                times,
                "[]",
            ));
        }
        let refused: Vec<_> = (4..=14).map(|n| (json!("SKIP"), json!(n))).collect();
        assert_eq!(verdicts[3..], refused, "{run}");
        let (_, shown) = daemon.get(&format!("/v1/runs/{run}"));
        let calls = (&shown["tool_calls"], &shown["skipped_calls"]);
        assert_eq!(calls, (&json!(3), &json!(11)), "{run}: {shown:#}");
        assert_eq!(shown["warnings"][0]["count"], json!(14), "{run}: {shown:#}");
    }
}

/// Given a question whose answer never came back, it is no call that hangs, and the same question asked again is no second.
#[test]
fn questions_without_results() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    let mut question = call("r", 1);
    question["call_id"] = json!("one");
    for _ in 0..6 {
        assert_eq!(check(&daemon, &question)["verdict"], json!("ALLOW"));
    }
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["tool_calls"], json!(1), "{run}");
    assert_eq!(run["warnings"], json!([]));
    for n in 2..4 {
        question["call_id"] = json!(n);
        check(&daemon, &question);
    }
    question["call_id"] = json!("refused");
    let refused = check(&daemon, &question);
    assert_eq!(refused["verdict"], json!("SKIP"));
    assert_eq!(check(&daemon, &question)["verdict"], json!("SKIP"));
    // What a program tells of a call that it did not make is left out.
    question["status"] = json!("success");
    post(&daemon, "report", &question.to_string());
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(
        (&run["tool_calls"], &run["skipped_calls"]),
        (&json!(3), &json!(1)),
        "{run}"
    );
}

/// Given questions that are asked again because their answers were lost, each is answered as before, refusals and nudges, is
/// counted as a verdict, and is no second call or attempt; so the nudge comes before the first refusal.
#[test]
fn a_lost_answer_comes_again() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let mut answers = Vec::new();
    for n in 1..=5 {
        let mut told = call("r", 1);
        told["call_id"] = json!(n);
        let answer = check(&daemon, &told);
        for _ in 0..3 {
            assert_eq!(check(&daemon, &told), answer, "call {n}");
        }
        told["status"] = json!("success");
        told["result"] = json!("Paris is the capital of France.");
        assert_eq!(post(&daemon, "report", &told.to_string()), (200, json!({})));
        answers.push(answer["verdict"].clone());
    }
    assert_eq!(answers, ["ALLOW", "ALLOW", "NUDGE", "SKIP", "SKIP"]);
    let (_, run) = daemon.get("/v1/runs/r");
    assert_eq!(run["tool_calls"], json!(3), "{run}");
    assert_eq!(run["skipped_calls"], json!(2), "{run}");
    let (_, totals) = daemon.get("/v1/guard/totals");
    let rule = "repeated_tool_call_exact_input";
    for (verdict, count) in [("NUDGE", 4), ("SKIP", 8)] {
        let counted = json!({"rule": rule, "verdict": verdict, "count": count});
        assert!(
            totals["verdicts"].as_array().unwrap().contains(&counted),
            "{totals}"
        );
    }
    assert_eq!(totals["skipped_calls"], json!(2), "{totals}");
}

/// Given a guard that only observes, every call is allowed, and warnings have the verdicts that it would have given, and say so;
/// after a crash as well. Once it enforces, they say that it does.
#[test]
fn what_is_only_observed_is_told_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("eddy.yaml");
    let data = directory.path().join("data");
    let start = |mode: &str| {
        std::fs::write(
            &config,
            format!("guard: {{mode: {mode}, deadline_ms: 10000}}\n"),
        )
        .unwrap();
        let path = config.to_string_lossy();
        Daemon::start_with(&data, free_port(), &["--config", &path])
    };
    let ask = |daemon: &Daemon| {
        let answer = check(daemon, &call("r", 1));
        if answer["verdict"] == "ALLOW" {
            let mut told = call("r", 1);
            told["status"] = json!("success");
            told["result"] =
                json!("the same page as before, with nothing in it that would be of use");
            assert_eq!(post(daemon, "report", &told.to_string()).0, 200);
        }
        answer["verdict"].clone()
    };
    let shown = |daemon: &Daemon| {
        let (_, run) = daemon.get("/v1/runs/r");
        let warning = run["warnings"][0].clone();
        assert_eq!(warning["rule"], "repeated_tool_call_exact_input");
        (
            warning["verdict"].clone(),
            warning["verdict_observed"].clone(),
        )
    };
    let daemon = start("observe");
    for _ in 0..9 {
        assert_eq!(ask(&daemon), "ALLOW");
    }
    let (_, run) = daemon.get("/v1/runs/r");
    let calls = (&run["tool_calls"], &run["skipped_calls"]);
    assert_eq!(calls, (&json!(9), &json!(0)), "{run}");
    let (_, totals) = daemon.get("/v1/guard/totals");
    let skips = json!({"rule": "repeated_tool_call_exact_input", "verdict": "SKIP", "count": 6});
    assert!(
        totals["verdicts"].as_array().unwrap().contains(&skips),
        "{totals}"
    );
    assert_eq!(shown(&daemon), (json!("SKIP"), json!(true)));
    let api = daemon.api.to_string();
    let said = output_of(eddy().args(["run", "r", "--api", &api]));
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(
        said.contains("only observes; it would have answered SKIP"),
        "{said}"
    );
    daemon.kill_9();
    let daemon = start("enforce");
    assert_eq!(shown(&daemon), (json!("SKIP"), json!(true)));
    assert_eq!(ask(&daemon), "SKIP");
    assert_eq!(shown(&daemon), (json!("SKIP"), Value::Null));
}

/// Given a loop of which nobody but the guard was told, its explanation says so, and speaks of no earlier calls.
#[test]
fn what_only_the_guard_was_told_is_explained() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agentium"]);
    for _ in 0..4 {
        check(&daemon, &call("r", 1));
    }
    let (_, run) = daemon.get("/v1/runs/r");
    let warning = &run["warnings"][0];
    let id = warning["id"].as_str().unwrap();
    let api = daemon.api.to_string();
    let mut explain = eddy();
    let explain = explain.args(["explain", id, "--run", "r", "--api", &api]);
    let said = String::from_utf8(output_of(explain).stdout).unwrap();
    let expected = format!(
        "{} without a span: only the guard, or log records, tell of them",
        warning["count"]
    );
    assert!(said.contains(&expected), "{said}");
    assert!(!said.contains("earlier ones"), "{said}");
}

/// Given a daemon that is killed, the next one knows what the guard was asked and what it answered, and counts on.
#[test]
fn the_journal_keeps_what_was_asked() {
    let data = tempfile::tempdir().unwrap();
    let arguments = ["--profile", "attocode"];
    let daemon = Daemon::start_unhurried(data.path(), &arguments);
    for n in 1..=8 {
        let answer = check(&daemon, &call("r", 1));
        let expected = match n {
            1 | 2 => "ALLOW",
            3..=6 => "NUDGE",
            _ => "SKIP",
        };
        assert_eq!(answer["verdict"], json!(expected));
        let mut told = call("r", 1);
        told["status"] = json!("error");
        told["error"] = json!("no such thing");
        if n < 7 {
            post(&daemon, "report", &told.to_string());
        }
    }
    let (_, before) = daemon.get("/v1/runs/r");
    daemon.kill_9();
    let daemon = Daemon::start_unhurried(data.path(), &arguments);
    let (_, after) = daemon.get("/v1/runs/r");
    assert_eq!(before, after);
    assert_eq!(after["skipped_calls"], json!(2));
    assert_eq!(check(&daemon, &call("r", 1))["repeats"], json!(9));
}

/// Given two agents of one run under two profiles, and a daemon that is killed, the next one has counted the same for each and
/// counts on; a warning is explained by the settings of the profile that it is of. Another profile for an agent holds from the
/// next question after the file changes.
#[test]
fn agents_keep_their_profiles() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("eddy.yaml");
    let data = directory.path().join("data");
    let under = |profile: &str| {
        let text = format!(
            "detectors: {{profile: attocode, profiles: {{'*@a': {profile}}}}}\nguard: {{deadline_ms: 10000}}\n"
        );
        std::fs::write(&config, text).unwrap();
    };
    let start = || {
        let path = config.to_string_lossy();
        Daemon::start_with(&data, free_port(), &["--config", &path])
    };
    let ask = |daemon: &Daemon, agent: &str, n: u32| {
        let mut question = call("r", n);
        question["agent"] = json!(agent);
        let answer = check(daemon, &question);
        (answer["verdict"].clone(), answer["repeats"].clone())
    };
    under("{profile: agentium}");
    let daemon = start();
    for n in 1..=4 {
        let [a, b] = ["a", "b"].map(|agent| ask(&daemon, agent, 1).0);
        assert_eq!(a, ["ALLOW", "SKIP"][usize::from(n == 4)]);
        assert_eq!(b, ["ALLOW", "NUDGE"][usize::from(n >= 3)]);
    }
    let (_, before) = daemon.get("/v1/runs/r");
    daemon.kill_9();
    let daemon = start();
    let (_, after) = daemon.get("/v1/runs/r");
    assert_eq!(before, after);
    assert_eq!(ask(&daemon, "a", 1), (json!("SKIP"), json!(5)));
    assert_eq!(ask(&daemon, "b", 1), (json!("NUDGE"), json!(5)));
    let explained = |rule: &str| {
        let warnings = after["warnings"].as_array().unwrap();
        let is_it = |warning: &&Value| warning["rule"] == rule;
        let id = warnings.iter().find(is_it).unwrap()["id"].as_str().unwrap();
        let (status, told) = daemon.get(&format!("/v1/warnings/{id}?run_id=r"));
        assert_eq!(status, 200, "{told}");
        told
    };
    let told = explained("duplicate_call");
    assert_eq!(told["profile"], "agentium");
    assert_eq!(
        told["settings"]["detectors.profiles.*@a.rules.duplicate_call.calls"],
        json!(4)
    );
    let off = "detectors: {profiles: {\"*@a\": {profile: agentium, rules: {duplicate_call: off}}}}";
    let silence = told["silence"].as_array().unwrap();
    assert!(silence.iter().any(|way| way["config"] == off), "{told:#}");
    assert_eq!(explained("doom_loop")["profile"], "attocode");

    let mut fresh = 2..;
    let mut twice = |agent: &str| {
        let n = fresh.next().unwrap();
        [(); 2].map(|()| ask(&daemon, agent, n).0)
    };
    assert_eq!(twice("a"), ["ALLOW", "ALLOW"]);
    under("{profile: automatos}");
    daemon.signal("HUP");
    runtime().block_on(until(async || {
        (twice("a") == ["ALLOW", "SKIP"]).then_some(())
    }));
    assert_eq!(twice("b"), ["ALLOW", "ALLOW"]);
}

/// Given ten thousand requests with bytes changed at random, each is answered, as a request or as a mistake, and the daemon
/// goes on without a panic.
#[test]
fn mutated_requests_are_answered() {
    const REQUESTS: usize = 10_000;
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let bodies = [
        (
            "check",
            r#"{"run_id":"r","tool":"search","arguments":{"q":"a","n":[1,2.5,null]},"call_id":"c1","agent":"a","worker":"w","session_id":"s","turn_id":"t","round_id":"o"}"#,
        ),
        (
            "report",
            r#"{"run_id":"r","tool":"search","call_id":"c1","arguments":{"q":"a"},"status":"success","result":{"items":[]}}"#,
        ),
        (
            "report",
            r#"{"run_id":"r","tool":"search","status":"error","error":"429 \u00e9"}"#,
        ),
        (
            "message",
            r#"{"run_id":"r","kind":"assistant","text":"I will now sum up what there is."}"#,
        ),
    ];
    let mut dice = Dice(7);
    let mut mutated = Vec::with_capacity(REQUESTS);
    for number in 0..REQUESTS {
        let (path, body) = bodies[number % bodies.len()];
        let mut bytes = body.as_bytes().to_vec();
        for _ in 0..=dice.below(3) {
            if bytes.is_empty() {
                break;
            }
            let at = dice.below(bytes.len());
            match dice.below(12) {
                0 => bytes[at] = dice.below(256) as u8,
                1..=6 => bytes[at] = b' ' + dice.below(95) as u8,
                7 | 8 => drop(bytes.remove(at)),
                9 | 10 => bytes.insert(at, b"\"{}[],:0e-\\u"[dice.below(12)]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        mutated.push((path, bytes));
    }
    let answered = runtime().block_on(async {
        let client = http_client();
        let mut answered = std::collections::BTreeMap::new();
        for batch in mutated.chunks(50) {
            let sent = batch.iter().map(|(path, bytes)| {
                let url = format!("http://{}/v1/guard/{path}", daemon.api);
                client
                    .post(url)
                    .body(bytes.clone())
                    .timeout(super::support::PATIENCE)
                    .send()
            });
            for answer in futures_util::future::join_all(sent).await {
                *answered
                    .entry(answer.unwrap().status().as_u16())
                    .or_insert(0) += 1;
            }
        }
        answered
    });
    assert_eq!(answered.values().sum::<usize>(), REQUESTS);
    assert!(
        answered
            .keys()
            .all(|status| [200, 400, 503].contains(status)),
        "{answered:?}"
    );
    assert!(answered[&200] > 500 && answered[&400] > 500, "{answered:?}");
    assert!(!daemon.stderr.lock().unwrap().contains("panicked"));
    assert_eq!(check(&daemon, &call("after", 1))["verdict"], json!("ALLOW"));
}

/// Given a script, `eddy guard check` says what to do by its exit code and `eddy guard report` tells what came of it; without a
/// daemon the call is allowed.
#[test]
fn scripts_ask_by_command() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &["--profile", "agent-runtime"]);
    let guard = |api: &str, arguments: &[&str]| {
        let output = eddy()
            .arg("guard")
            .args(arguments)
            .args(["--api", api])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    };
    let api = daemon.api.to_string();
    let call = [
        "--run",
        "r",
        "--tool",
        "search",
        "--arguments",
        r#"{"q":1}"#,
    ];
    let check: Vec<&str> = ["check"].into_iter().chain(call).collect();
    let report = ["report"].into_iter().chain(call);
    let report: Vec<&str> = report
        .chain(["--status", "success", "--result", "[]"])
        .collect();
    assert_eq!(guard(&api, &check), (0, "ALLOW\n".to_owned()));
    assert_eq!(guard(&api, &report), (0, String::new()));
    let (code, text) = guard(&api, &check);
    assert_eq!(code, 3);
    assert!(text.starts_with("SKIP\n") && text.contains("[]"), "{text}");
    let json: Vec<&str> = check.iter().copied().chain(["--json"]).collect();
    let (_, text) = guard(&api, &json);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&answer["repeats"], &answer["previous_result"]),
        (&json!(3), &json!("[]"))
    );
    let (status, totals) = daemon.get("/v1/guard/totals");
    assert_eq!(
        (status, &totals["skipped_calls"]),
        (200, &json!(2)),
        "{totals}"
    );
    let counted = json!({"rule": "duplicate_call", "verdict": "SKIP", "count": 2});
    assert!(
        totals["verdicts"].as_array().unwrap().contains(&counted),
        "{totals}"
    );
    let nobody = free_port().to_string();
    assert_eq!(guard(&nobody, &check), (0, "ALLOW (degraded)\n".to_owned()));
    // What it says cannot be written; what it says to do is done all the same.
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    if let Ok(full) = full {
        let mut command = eddy();
        command.arg("guard").args(&check).args(["--api", &api]);
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("the verdict is not shown"), "{said}");
    }
}

/// Given a backend for log records, each verdict that is not `ALLOW` is one, with what it is about and without arguments,
/// whether or not a warning was raised.
#[test]
fn verdicts_are_log_records() {
    let collector = Collector::start();
    let (_directory, daemon) = super::access::configured(&format!(
        "detectors: {{profile: agentium}}\nguard: {{deadline_ms: 10000}}\nexporters: {{otlp_logs: {{endpoint: 'http://{}'}}}}\n",
        collector.address
    ));
    for number in 1..=5 {
        let asked = json!({"run_id": "r", "tool": "search", "agent": "a", "arguments": {"q": "hidden"}, "call_id": number.to_string()});
        check(&daemon, &asked);
    }
    let records = runtime().block_on(until(async || {
        let mut records = collector.records();
        records.retain(|record| record.event_name == "eddy.guard.verdict");
        (records.len() == 2).then_some(records)
    }));
    let text = format!("{records:?}");
    for said in [
        "\"SKIP for search: ",
        "\"eddy.guard.verdict\"",
        "\"eddy.guard.enforced\"",
        "\"gen_ai.agent.name\"",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("hidden"), "{text}");
}

/// Given a backend that takes no log records, the log tells of the verdicts that it misses, how many they are, and seldom.
#[test]
fn lost_verdicts_do_not_fill_the_log() {
    let data = tempfile::tempdir().unwrap();
    let other = Daemon::start_unhurried(data.path(), &[]);
    let (_directory, mut daemon) = super::access::configured(&format!(
        "detectors: {{profile: agentium}}\nguard: {{deadline_ms: 10000}}\nexporters: {{otlp_logs: {{endpoint: 'http://{}'}}}}\n",
        other.api
    ));
    for _ in 0..30 {
        check(&daemon, &call("r", 1));
    }
    let lost = || metric(&daemon, "eddy_exporter_missed_alerts_total");
    runtime().block_on(until(async || (lost() == 27).then_some(())));
    daemon.signal("TERM");
    assert!(daemon.wait().success());
    let log = daemon.stderr.lock().expect("whole");
    let told = log
        .lines()
        .filter(|line| line.contains("verdicts of the guard are lost"));
    let told = told.filter_map(|line| {
        line.split_once("verdicts=")?
            .1
            .split(' ')
            .next()?
            .parse()
            .ok()
    });
    let told: Vec<u64> = told.collect();
    assert!(told.len() <= 2 && told.iter().sum::<u64>() == 27, "{log}");
}

/// A message in a frame of gRPC's.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// The methods of the guard, each with a request in its frame.
fn framed_requests() -> [(&'static str, Vec<u8>); 3] {
    let asked = v1::CheckToolCallRequest {
        run_id: "r".into(),
        tool: "search".into(),
        arguments: Some(r#"{"q":"a","n":[1,2.5,null]}"#.into()),
        call_id: Some("c1".into()),
        agent: Some("a".into()),
        ..Default::default()
    };
    let told = v1::ReportToolResultRequest {
        run_id: "r".into(),
        tool: "search".into(),
        status: 1,
        result: Some(r#"{"items":[]}"#.into()),
        ..Default::default()
    };
    let said = v1::ReportMessageRequest {
        run_id: "r".into(),
        kind: 1,
        text: Some("I will now sum up what there is.".into()),
        ..Default::default()
    };
    [
        ("CheckToolCall", framed(&asked.encode_to_vec())),
        ("ReportToolResult", framed(&told.encode_to_vec())),
        ("ReportMessage", framed(&said.encode_to_vec())),
    ]
}

/// The code with which a method of the guard answers these bytes.
async fn answered(mut channel: Channel, uri: String, bytes: Vec<u8>) -> String {
    let body = http_body_util::Full::new(Bytes::from(bytes));
    let request = tonic::codegen::http::Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(tonic::body::Body::new(body))
        .unwrap();
    std::future::poll_fn(|context| channel.poll_ready(context))
        .await
        .unwrap();
    let response = channel.call(request).await.unwrap();
    let head = response.headers().get("grpc-status").cloned();
    let body = response.into_body().collect().await.unwrap();
    let code = head.or_else(|| body.trailers()?.get("grpc-status").cloned());
    code.unwrap().to_str().unwrap().to_owned()
}

/// Given mutated requests in gRPC's own frames, heads of frames included, each is answered with a code, and the daemon goes on.
#[test]
fn mutated_frames_are_answered() {
    let data = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_unhurried(data.path(), &[]);
    let requests = framed_requests();
    let corpus = corpus(
        "guard",
        requests.iter().map(|(_, bytes)| bytes.clone()).collect(),
    );
    let url = format!("http://{}", daemon.api);
    let mut codes = std::collections::BTreeMap::<String, u64>::new();
    runtime().block_on(async {
        let channel = Channel::from_shared(url.clone()).unwrap();
        let channel = channel.connect().await.unwrap();
        for first in (0..rounds(10_000).max(corpus.len() as u64)).step_by(50) {
            let sent = (first..first + 50).map(|seed| {
                let (method, _) = requests[seed as usize % requests.len()];
                let uri = format!("{url}/eddy.v1.GuardService/{method}");
                let mut bytes = input(&corpus, seed);
                // Most heads are whole, so that the message is looked at.
                if seed % 4 != 0 {
                    bytes = framed(bytes.get(5..).unwrap_or_default());
                }
                let answered = answered(channel.clone(), uri, bytes);
                async move {
                    let answered = tokio::time::timeout(INPUT_TIMEOUT, answered).await;
                    answered.unwrap_or_else(|_| panic!("seed {seed} hangs"))
                }
            });
            for code in futures_util::future::join_all(sent).await {
                *codes.entry(code).or_default() += 1;
            }
        }
    });
    // OK, INVALID_ARGUMENT (also what is no message), RESOURCE_EXHAUSTED (too large), UNIMPLEMENTED (compression), UNAVAILABLE.
    let known = ["0", "3", "8", "12", "14"];
    assert!(
        codes.keys().all(|code| known.contains(&code.as_str())),
        "{codes:?}"
    );
    assert!(codes["0"] > 100 && codes["3"] > 100, "{codes:?}");
    still_well(&daemon);
}
