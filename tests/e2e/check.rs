//! `eddy check` over every recorded run: what `standard` says of it, against what really happened in it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::asking::stuck;
use super::support::{Recording, eddy, recordings, to_nobody};

/// Loops that the telemetry of a recording cannot show, and why.
pub(crate) fn hidden(recording: &Recording) -> Option<&'static str> {
    let name = recording.name.as_str();
    let is_exact = recording.scenario().starts_with("exact-loop");
    match name {
        _ if name.starts_with("haystack-openinference") => {
            Some("no tool spans: the run is called blind")
        }
        _ if name.starts_with("crewai-traceloop") => Some("no tool spans: the run is called blind"),
        "autogen-native-exact-loop"
        | "fastmcp-native-exact-loop"
        | "fastmcp-v4-native-exact-loop"
        | "google-adk-native-exact-loop"
        | "kilo-native-exact-loop"
            if is_exact =>
        {
            Some("neither arguments nor results are sent: a note says so")
        }
        _ if name.ends_with("-nocontent") => Some("content is switched off: a note says so"),
        _ => None,
    }
}

fn check(recording: &Recording, arguments: &[&str]) -> Vec<Value> {
    let output = eddy()
        .arg("check")
        .arg("--json")
        .args(arguments)
        .args(&recording.files)
        .output();
    let output = output.expect("the program runs");
    assert!(
        output.status.success(),
        "{}: {}",
        recording.name,
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    report["runs"].as_array().expect("a list of runs").clone()
}

fn warnings(runs: &[Value]) -> Vec<&Value> {
    runs.iter()
        .flat_map(|run| run["warnings"].as_array().expect("a list of warnings"))
        .collect()
}

fn is_alarm(warning: &Value) -> bool {
    warning["severity"] != "info"
}

/// Given each recorded run, the loops among them end with a warning and the honest ones with none; what the telemetry cannot
/// show is said, arguments that are not there are never called equal, and a call without a span is no evidence.
#[test]
fn recorded_runs_are_judged_rightly() {
    let mut loops = 0;
    for recording in recordings() {
        let name = &recording.name;
        let runs = check(&recording, &[]);
        let nowhere = json!("0000000000000000");
        let mut evidence = warnings(&runs)
            .into_iter()
            .filter_map(|warning| warning["evidence"].as_array());
        assert!(
            !evidence.any(|spans| spans.contains(&nowhere)),
            "{name}: evidence that is no span"
        );
        let alarms: Vec<_> = warnings(&runs)
            .into_iter()
            .filter(|warning| is_alarm(warning))
            .collect();
        match (recording.scenario(), hidden(&recording)) {
            ("exact-loop" | "error-retry" | "empty-search" | "handoff", None) => {
                assert!(!alarms.is_empty(), "{name}: nothing was seen");
                loops += 1;
            }
            ("healthy" | "parallel" | "text-only" | "rate-limit", _) => {
                assert!(alarms.is_empty(), "{name}: {alarms:?}");
            }
            (_, Some(why)) => {
                assert!(
                    alarms.is_empty(),
                    "{name} can show more than was thought ({why}): {alarms:?}"
                );
                let said = runs.iter().any(|run| {
                    run["notes"]
                        .as_array()
                        .is_some_and(|notes| !notes.is_empty())
                });
                assert!(said, "{name}: {why}, but the run does not say it");
            }
            _ => {}
        }
        if name.ends_with("-nocontent")
            || name.starts_with("fastmcp")
            || name.starts_with("autogen-native")
            || name.starts_with("google-adk-native")
        {
            let compared = warnings(&runs).into_iter().any(|warning| {
                warning["rule"]
                    .as_str()
                    .is_some_and(|rule| rule.ends_with("_input"))
            });
            assert!(
                !compared,
                "{name}: arguments that are not there were compared"
            );
        }
    }
    assert_eq!(loops, 201, "recordings of loops that can be seen");
}

/// Given each recorded run that shows its tool calls, however many spans and log records tell of each, it has as many as were
/// really made. Hand-offs are counted elsewhere: what a framework calls a tool there differs.
#[test]
fn every_call_counts_once() {
    for recording in recordings() {
        let hand_off = ["handoff", "text-only"].contains(&recording.scenario());
        // The process died inside its fourth call, which therefore was never reported; of CrewAI's calls OpenAI's client sees
        // those alone that a later call of the model was told of.
        let lost = recording.scenario() == "crash" || recording.name.starts_with("crewai-openai");
        let made = recording.tool_calls - usize::from(lost);
        let is_blind = ["haystack-openinference", "crewai-traceloop"]
            .iter()
            .any(|name| recording.name.starts_with(name));
        if hand_off || is_blind {
            continue;
        }
        let shown = check(&recording, &[])
            .iter()
            .filter_map(|run| run["tool_calls"].as_u64())
            .sum::<u64>();
        assert_eq!(shown, made as u64, "{}", recording.name);
    }
}

/// Given spans of which some cannot be used, and a file that ends in the middle of a request, what is printed for programs is
/// whole and counts what was left out, which is told beside it and fails a build that asks for a score.
#[test]
fn what_is_left_out_is_told_beside_json() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("trace.json");
    let span = |trace: &str| {
        json!({"traceId": trace, "spanId": "0102030405060708", "name": "execute_tool search", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": "search"}}]})
    };
    let good = "0102030405060708090a0b0c0d0e0f10";
    for (traces, more, left_out, counts) in [
        (
            &[good, "00"][..],
            "",
            "1 refused (1 trace id is not 16 bytes or all zero)\n",
            (1, 0),
        ),
        (
            &[good],
            "\n{\"resourceSpans\":[{\"sco",
            "1 file cut off at the end\n",
            (0, 1),
        ),
        (&[good], "\n\n", "", (0, 0)),
    ] {
        let spans: Vec<Value> = traces.iter().map(|trace| span(trace)).collect();
        let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
        std::fs::write(&file, request.to_string() + more).expect("written");
        let judged = eddy().args(["check", "--json"]).arg(&file).output();
        let judged = judged.expect("it runs");
        assert_eq!(String::from_utf8_lossy(&judged.stderr), left_out);
        let judged: Value = serde_json::from_slice(&judged.stdout).expect("it prints JSON");
        assert_eq!(judged["runs"].as_array().map(Vec::len), Some(1), "{judged}");
        let counted = json!({"refused": counts.0, "files_cut_off": counts.1});
        assert_eq!(judged["left_out"], counted, "{judged}");

        let mut gate = eddy();
        gate.args(["check", "--fail-below", "0"]).arg(&file);
        let gate = gate.output().expect("it runs");
        let said = String::from_utf8_lossy(&gate.stderr);
        let fails = counts != (0, 0);
        assert_eq!(gate.status.code(), Some(i32::from(fails)), "{said}");
        let said = said.strip_prefix("eddy: ").unwrap_or_default();
        assert_eq!(
            said.ends_with(left_out) && !said.is_empty(),
            fails,
            "{said}"
        );
    }
}

/// Given a recording as protobuf that ends in the middle of a request, what came before is judged.
#[test]
fn a_recording_may_be_cut_off() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/recorded/langgraph-openinference-exact-loop.otlp.binpb"
    );
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("cut.otlp.binpb");
    let bytes = std::fs::read(recorded).expect("it is recorded");
    std::fs::write(&file, &bytes[..bytes.len() - 9]).expect("written");
    let judged = eddy().args(["check", "--json"]).arg(&file).output();
    let judged = judged.expect("it runs");
    let said = String::from_utf8_lossy(&judged.stderr);
    assert_eq!(said, "1 file cut off at the end\n");
    let judged: Value = serde_json::from_slice(&judged.stdout).expect("it prints JSON");
    assert_eq!(judged["runs"].as_array().map(Vec::len), Some(1), "{judged}");
}

/// Given JSON over standard input, it is judged as from a file; given protobuf, it is said that its name must tell what it is.
#[test]
fn standard_input_is_judged() {
    let recorded = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
        std::fs::File::open(path.join(name)).expect("it is recorded")
    };
    let check = |name: &str| {
        let mut command = eddy();
        let command = command.args(["check", "-", "--json"]);
        command.stdin(recorded(name)).output().expect("it runs")
    };
    let judged = check("gemini-cli-native-healthy.otlp.jsonl");
    let judged: Value = serde_json::from_slice(&judged.stdout).expect("it prints JSON");
    assert_eq!(judged["runs"].as_array().map(Vec::len), Some(1), "{judged}");
    let refused = check("gemini-cli-native-healthy.otlp.binpb");
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.starts_with("eddy: standard input: neither OTLP/JSON"),
        "{said}"
    );
    assert!(
        said.contains("the name says how protobuf is read"),
        "{said}"
    );
}

/// Given runs without tool spans although models asked for tools, they are blind and not healthy.
#[test]
fn runs_without_tool_telemetry_are_blind() {
    for recording in recordings()
        .iter()
        .filter(|recording| hidden(recording).is_some_and(|why| why.contains("blind")))
    {
        let expected = if recording.scenario() == "text-only" {
            "healthy"
        } else {
            "blind"
        };
        for run in check(recording, &[]) {
            assert_eq!(run["status"], expected, "{}", recording.name);
        }
        let output = eddy().arg("check").args(&recording.files).output();
        let page = output.expect("the program runs").stdout;
        let says_why = String::from_utf8_lossy(&page).contains("loops cannot be seen");
        assert_eq!(says_why, expected == "blind", "{}", recording.name);
    }
}

/// Given more runs with warnings than a person reads at once, the rest is counted, and shown where that is asked for.
#[test]
fn all_runs_are_shown_where_that_is_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("runs.events.jsonl");
    let runs: Vec<String> = (0..12).map(|run| stuck(&format!("r{run}"))).collect();
    std::fs::write(&path, runs.join("\n")).expect("written");
    for (flags, pages, rest) in [(&[][..], 10, true), (&["--all"], 12, false)] {
        let output = eddy().arg("check").arg(&path).args(flags).output();
        let page = String::from_utf8(output.expect("the program runs").stdout).expect("UTF-8");
        assert_eq!(page.matches("\nrun r").count(), pages, "{page}");
        let said = page.contains("… and 2 more runs with warnings or blind; --all");
        assert_eq!(said, rest, "{page}");
    }
}

/// Given a run whose two processes each write a file, of which one names the run in its last span alone, it is judged as it is from
/// one file in the order of time, also where the newest comes first.
#[test]
fn a_run_may_be_spread_over_files_in_any_order() {
    let span = |process: u64, number: u64| {
        let named = process == 0 || number == 99;
        let run = if named {
            r#"{"key":"gen_ai.conversation.id","value":{"stringValue":"one"}},"#
        } else {
            ""
        };
        let (tool, result) = match (process, number) {
            (0, 40..60) => ("search", "nothing new".to_owned()),
            _ => ("read", format!("page {process} {number}")),
        };
        let query = if tool == "search" { 0 } else { number };
        let starts = 1_763_734_882_000 + number * 2_000 + process * 1_000;
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"000000000000000000000000000000a{process}","spanId":"{:016x}","name":"execute_tool {tool}","startTimeUnixNano":"{starts}000000","endTimeUnixNano":"{starts}900000","attributes":[{run}{{"key":"gen_ai.operation.name","value":{{"stringValue":"execute_tool"}}}},{{"key":"gen_ai.tool.name","value":{{"stringValue":"{tool}"}}}},{{"key":"gen_ai.tool.call.arguments","value":{{"stringValue":"{{\"q\":{query}}}"}}}},{{"key":"gen_ai.tool.call.result","value":{{"stringValue":"{result}"}}}}]}}]}}]}}]}}"#,
            1 + process * 1_000 + number
        )
    };
    let of = |process: u64| (0..100).map(move |number| span(process, number));
    let merged: Vec<String> = of(0).zip(of(1)).flat_map(<[String; 2]>::from).collect();
    let newest_first: Vec<String> = merged.iter().rev().cloned().collect();
    let directory = tempfile::tempdir().expect("a directory");
    let judged = |files: &[&[String]]| {
        let paths = files.iter().enumerate().map(|(number, lines)| {
            let path = directory.path().join(format!("{number}.jsonl"));
            std::fs::write(&path, lines.join("\n")).expect("written");
            path
        });
        let output = eddy().args(["check", "--json"]).args(paths).output();
        let output = output.expect("the program runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("it prints JSON")
    };
    let expected = judged(&[&merged]);
    let run = &expected["runs"][0];
    assert_eq!(
        (&run["tool_calls"], &run["run_id"]),
        (&json!(200), &json!("one"))
    );
    assert_ne!(run["lowest_score"], 100, "{run}");
    let each: [Vec<String>; 2] = [of(0).collect(), of(1).collect()];
    for files in [
        &[&each[0][..], &each[1]][..],
        &[&each[1], &each[0]],
        &[&newest_first],
        &[&merged, &merged],
    ] {
        assert_eq!(judged(files), expected);
    }
}

/// Given the bar that the help shows, a run fails whose only warning is one of twenty points.
#[test]
fn the_bar_of_the_help_fails_each_loop() {
    let help = eddy()
        .arg("--help")
        .output()
        .expect("the program runs")
        .stdout;
    let help = String::from_utf8(help).expect("UTF-8");
    let bar = help
        .split("--fail-below ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("said.events.jsonl");
    let said = |i: u32| json!({"i": i, "kind": "llm_text", "agent": "a", "text": "I will now look for the cause of the failure."});
    let run = json!({"run_id": "r", "events": (0..40).map(said).collect::<Vec<_>>()});
    std::fs::write(&path, run.to_string()).expect("written");
    let output = eddy()
        .args(["check", "--json", "--fail-below", bar.expect("a bar")])
        .arg(&path)
        .output();
    let output = output.expect("the program runs");
    let shown: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(
        (&shown["runs"][0]["score"], output.status.code()),
        (&json!(80), Some(3))
    );
}

/// Given runs that their framework ended in failure, they are failed.
#[test]
fn failed_runs_are_failed() {
    for recording in recordings()
        .iter()
        .filter(|recording| recording.scenario() == "max-turns")
    {
        let runs = check(recording, &[]);
        assert!(
            runs.iter()
                .any(|run| run["status"] == "failed" && run["ended"] == "failed"),
            "{}",
            recording.name
        );
    }
}

/// Given each recorded run, the order of its spans does not change what is said of it (P3).
#[test]
fn order_does_not_matter() {
    for recording in recordings() {
        let expected: Vec<_> = check(&recording, &[])
            .into_iter()
            .map(without_revisions)
            .collect();
        for seed in ["1", "2"] {
            let found: Vec<_> = check(&recording, &["--shuffle", seed])
                .into_iter()
                .map(without_revisions)
                .collect();
            assert_eq!(
                sorted(found),
                sorted(expected.clone()),
                "{} shuffled with {seed}",
                recording.name
            );
        }
    }
}

/// A run without what counts announcements.
fn without_revisions(mut run: Value) -> Value {
    for warning in run["warnings"].as_array_mut().into_iter().flatten() {
        warning["revision"] = Value::Null;
    }
    run
}

fn sorted(mut runs: Vec<Value>) -> Vec<Value> {
    runs.sort_by_key(|run| run["run_id"].to_string());
    runs
}

/// Given a model of which nobody knows the price, its run names it beside a cost of nothing, also where it has no name; given one
/// with a price, or a cost that is told and is nothing, it does not, and the cost is shown.
#[test]
fn models_without_a_price_are_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cases = [
        ("homemade", None, json!(["homemade"]), 0.0),
        ("", None, json!([""]), 0.0),
        ("gpt-4o", None, json!([]), 0.0025),
        ("homemade", Some(0.0), json!([]), 0.0),
    ];
    for (model, told, expected, cost) in cases {
        let file = directory.path().join("spans.jsonl");
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut attributes = vec![
            text("gen_ai.operation.name", "chat"),
            text("gen_ai.request.model", model),
            json!({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "1000"}}),
        ];
        let cost_of =
            |told: f64| json!({"key": "gen_ai.usage.cost", "value": {"doubleValue": told}});
        attributes.extend(told.map(cost_of));
        let span = json!({"traceId": "00000000000000000000000000000001", "spanId": "0000000000000001", "name": "chat",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": attributes});
        let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
        std::fs::write(&file, request.to_string()).expect("it can be written");
        let output = eddy().args(["check", "--json"]).arg(&file).output();
        let report: Value =
            serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
        let run = &report["runs"][0];
        assert_eq!(run["unpriced_models"], expected);
        assert_eq!(run["cost_usd"], cost);
        let output = eddy().arg("check").arg(&file).output();
        let page = String::from_utf8(output.expect("the program runs").stdout).expect("UTF-8");
        assert_eq!(page.contains('$'), expected == json!([]), "{page}");
    }
}

/// Given a model's messages as records, of which that of a tool does not say which call it answers, the ones before it in the
/// request do.
#[test]
fn records_of_a_request_are_read_together() {
    let text = |text: &str| json!({"stringValue": text});
    let object = |members: Value| {
        let members = members.as_object().expect("an object").clone();
        let values = members
            .into_iter()
            .map(|(key, value)| json!({"key": key, "value": value}));
        json!({"kvlistValue": {"values": values.collect::<Vec<_>>()}})
    };
    let asks = |call: usize| {
        let function =
            object(json!({"name": text("search"), "arguments": text(r#"{"query": "x"}"#)}));
        let call = object(json!({"id": text(&format!("call_{call}")), "function": function}));
        json!({"arrayValue": {"values": [call]}})
    };
    let mut records = Vec::new();
    for call in 0..4 {
        let mut add = |name: &str, body: Value| {
            records.push(json!({"timeUnixNano": (1_000_000_000 * (call + 1)).to_string(), "eventName": name, "body": object(body),
                "traceId": "00000000000000000000000000000001", "spanId": format!("{:016x}", call + 1)}));
        };
        if call > 0 {
            add(
                "gen_ai.assistant.message",
                json!({"tool_calls": asks(call - 1)}),
            );
            add(
                "gen_ai.tool.message",
                json!({"content": text("nothing new")}),
            );
        }
        add(
            "gen_ai.choice",
            json!({"index": {"intValue": "0"}, "finish_reason": text("tool_calls"), "tool_calls": asks(call)}),
        );
    }
    let scope = json!({"name": "opentelemetry.instrumentation.openai.v1"});
    let request =
        json!({"resourceLogs": [{"scopeLogs": [{"scope": scope, "logRecords": records}]}]});
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("events.jsonl");
    std::fs::write(&file, request.to_string()).expect("it can be written");
    let output = eddy().args(["check", "--json"]).arg(&file).output();
    let report: Value =
        serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
    assert_eq!(report["runs"][0]["tool_calls"], 3, "{report}");
}

/// Given a bar that a run does not reach, `check` exits with 3, whoever reads what it shows; without a bar it exits with 0 whatever
/// it finds.
#[test]
fn a_bar_is_kept() {
    let recordings = recordings();
    let recording = |name: &str| {
        recordings
            .iter()
            .find(|recording| recording.name == name)
            .expect("it is recorded")
    };
    let code = |name: &str, arguments: &[&str]| {
        let files = &recording(name).files;
        eddy()
            .arg("check")
            .args(arguments)
            .args(files)
            .output()
            .expect("the program runs")
            .status
            .code()
    };
    assert_eq!(code("langgraph-openinference-exact-loop", &[]), Some(0));
    assert_eq!(
        code(
            "langgraph-openinference-exact-loop",
            &["--fail-below", "80"]
        ),
        Some(3)
    );
    assert_eq!(
        code("langgraph-openinference-healthy", &["--fail-below", "80"]),
        Some(0)
    );
    for (name, expected) in [
        ("langgraph-openinference-exact-loop", 3),
        ("langgraph-openinference-healthy", 0),
    ] {
        let mut command = eddy();
        command.args(["check", "--fail-below", "80"]);
        let output = to_nobody(command.args(&recording(name).files));
        assert_eq!(output.status.code(), Some(expected), "{output:?}");
    }
}

/// Given workers whose spans name one session and different runs; what they do together is seen, in any order, and listed as a
/// run of the session.
#[test]
fn runs_of_a_session_are_a_swarm() {
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |n: u64| {
        let worker = format!("w{}", n % 2);
        let start = 1_790_000_000_000_000_000 + n * 1_000_000_000;
        // Something else in between, so that neither worker is in a row of its own.
        let query = if n % 4 < 2 {
            "same".to_owned()
        } else {
            n.to_string()
        };
        json!({
            "traceId": format!("{:032x}", 1 + n % 2), "spanId": format!("{:016x}", n + 1), "name": "execute_tool search",
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + 1_000_000).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", "search"),
                attribute("gen_ai.tool.call.arguments", &json!({"query": query}).to_string()),
                attribute("gen_ai.tool.call.result", &n.to_string()),
                attribute("session.id", "s"), attribute("eddy.worker", &worker),
            ],
        })
    };
    let request =
        |n: u64| json!({"resourceSpans": [{"scopeSpans": [{"spans": [span(n)]}]}]}).to_string();
    let dir = tempfile::tempdir().expect("a directory");
    for (calls, expected) in [(20, Some(10)), (16, None)] {
        let file = dir.path().join(format!("{calls}.jsonl"));
        let lines: Vec<String> = (0..calls).map(request).collect();
        std::fs::write(&file, lines.join("\n")).expect("it can be written");
        for order in [&[][..], &["--shuffle", "7"]] {
            let output = eddy()
                .args(["check", "--json", "--profile", "attocode"])
                .args(order)
                .arg(&file)
                .output()
                .expect("the program runs");
            let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
            let runs = report["runs"].as_array().expect("a list of runs");
            let swarm = runs.iter().find(|run| run["run_id"] == "swarm:s");
            let count = swarm.map(|run| run["warnings"][0]["count"].as_u64());
            assert_eq!(count, expected.map(Some), "{calls} calls: {report:#}");
            assert_eq!(runs.len(), 2 + usize::from(expected.is_some()));
        }
        // Nothing is learned from a run that nobody sees.
        let learned = eddy()
            .args(["calibrate", "--profile", "attocode"])
            .arg(&file)
            .output()
            .expect("the program runs");
        let said = String::from_utf8(learned.stderr).expect("UTF-8");
        let of = format!(" of {} ", 2 + usize::from(expected.is_some()));
        assert!(said.contains(&of), "{calls} calls: {said}");
    }
}

/// Given agents of one process, whose resource names it as SDKs do, each of them is somebody: what several workers of a recorded
/// session do over and over is a swarm's, and what each of five agents does once is no loop.
#[test]
fn agents_of_one_process_are_told_apart() {
    let runs_of = |profile: &str, files: &[PathBuf]| -> Vec<Value> {
        let mut command = eddy();
        command.args(["check", "--json", "--profile", profile]);
        let output = command.args(files).output().expect("the program runs");
        let mut report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        let runs = report["runs"].take();
        runs.as_array().expect("a list of runs").clone()
    };
    let mut all = recordings().into_iter();
    let swarm = all.find(|recording| recording.name == "langgraph-openinference-swarm");
    let recorded = runs_of("attocode", &swarm.expect("it was recorded").files);
    let rules: Vec<&Value> = recorded
        .iter()
        .flat_map(|run| run["warnings"].as_array().expect("a list of warnings"))
        .map(|warning| &warning["rule"])
        .collect();
    assert!(rules.contains(&&json!("global_doom_loop")), "{recorded:#?}");

    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |n: u64| {
        let start = 1_790_000_000_000_000_000 + n * 1_000_000_000;
        json!({
            "traceId": format!("{:032x}", 1), "spanId": format!("{:016x}", n + 1), "name": "execute_tool search",
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + 1_000_000).to_string(),
            "attributes": [
                attribute("gen_ai.operation.name", "execute_tool"), attribute("gen_ai.tool.name", "search"),
                attribute("gen_ai.tool.call.arguments", r#"{"query":"same"}"#),
                attribute("gen_ai.tool.call.result", "one hit: the bank is steep"),
                attribute("gen_ai.agent.name", &format!("agent-{n}")),
            ],
        })
    };
    let spans: Vec<Value> = (0..5).map(span).collect();
    let resource = json!({"attributes": [attribute("service.instance.id", "i-1")]});
    let request =
        json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]});
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("agents.jsonl");
    std::fs::write(&file, request.to_string()).expect("it can be written");
    let runs = runs_of("standard", &[file]);
    assert_eq!(runs[0]["status"], "healthy", "{runs:#?}");
}

/// Given a file whose words steer a terminal, a refusal spells them out.
#[test]
fn what_is_refused_steers_no_terminal() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.events.jsonl");
    let run =
        json!({"dataset": "d", "run_id": "r", "events": [{"i": 0, "kind": "\u{1b}]0;title\u{7}"}]});
    std::fs::write(&file, run.to_string()).expect("it can be written");
    let output = eddy().arg("check").arg(&file).output();
    let said = String::from_utf8(output.expect("the program runs").stderr).expect("UTF-8");
    assert!(said.contains(r"unknown kind `\x1b]0;title\x07`"), "{said}");
}
