//! Recorded runs of the coding agents through the reader and the normalizer, against what the model asked for.
//!
//! Their tools are their own, so `recorded/ground-truth.json` holds what the model asked for turn by turn; the scenario
//! says what came of it. Each call is reported several times, by spans and by log records; these are put together by call
//! id here, or by the span to which a record points.

#![allow(
    clippy::unwrap_used,
    reason = "a recording that is not as expected fails the test"
)]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "the recordings' names are known"
)]

use std::collections::BTreeMap;
use std::fs;

use eddy::config::profile::Name;
use eddy::engine::event::{Answer, Body, Event, ModelCall, Recorded, RunEnd, SpanId, ToolCall};
use eddy::normalize::events_file;
use eddy::normalize::{Normalizer, Report};
use eddy::otlp::{self, Limits};
use serde_json::{Value as Json, json};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");

/// Which of a run's files are read: a user may export spans, log records, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exported {
    Both,
    SpansAlone,
    LogsAlone,
}

struct Run {
    name: String,
    truth: Json,
    reports: Vec<Report>,
}

/// The recorded runs of the coding agents as exported in this way, leaving out those that export nothing then.
fn runs(exported: Exported) -> Vec<Run> {
    let truth = fs::read_to_string(format!("{DIRECTORY}/ground-truth.json")).unwrap();
    let truth: BTreeMap<String, Json> = serde_json::from_str(&truth).unwrap();
    let ours = truth.into_iter().filter(|(name, _)| {
        ["claude-code", "codex", "gemini-cli", "qwen-code"]
            .iter()
            .any(|agent| name.starts_with(agent))
    });
    let runs = ours.map(|(name, truth)| Run {
        reports: reports(&truth, exported),
        name,
        truth,
    });
    runs.filter(|run| !run.reports.is_empty()).collect()
}

fn reports(truth: &Json, exported: Exported) -> Vec<Report> {
    let (normalizer, policy) = (Normalizer::new(), Name::Standard.policy());
    let limits = Limits::default();
    let mut reports = Vec::new();
    let files = truth["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file.as_str().unwrap());
    for file in files.filter(|file| file.ends_with(".binpb")) {
        let bytes = fs::read(format!("{DIRECTORY}/{file}")).unwrap();
        let is_logs = file.contains(".logs.");
        if exported
            == if is_logs {
                Exported::SpansAlone
            } else {
                Exported::LogsAlone
            }
        {
            continue;
        }
        for request in otlp::delimited(&bytes) {
            let request = request.unwrap();
            let mut batch = normalizer.batch(&policy);
            if is_logs {
                otlp::logs(request, &limits).for_each(|log| batch.log(&log.unwrap(), &mut reports));
            } else {
                let mut spans = otlp::spans(request, &limits);
                // What each span tells by itself.
                let mut told = Vec::new();
                while let Some(span) = batch.span(&mut spans, &mut told) {
                    span.unwrap();
                    reports.append(&mut told);
                }
            }
        }
    }
    reports
}

/// A call with its reports put together.
struct Call {
    reports: Vec<(Event, ToolCall)>,
}

impl Call {
    /// The same call id, or one tool where a record without an id points at the span above the other's.
    fn is_told_by(&self, event: &Event, call: &ToolCall) -> bool {
        self.reports.iter().any(|(other, known)| {
            let same_tool =
                known.tool == call.tool || known.tool.is_empty() || call.tool.is_empty();
            let near = |a: &Event, b: &Event| {
                a.trace == b.trace && a.parent.is_set() && a.parent == b.span
            };
            same_tool
                && match (known.call_id, call.call_id) {
                    (Some(one), Some(other)) => one == other,
                    _ => near(event, other) || near(other, event),
                }
        })
    }

    fn tool(&self) -> &str {
        let mut tools = self.reports.iter().map(|(_, call)| &*call.tool);
        tools.find(|tool| !tool.is_empty()).unwrap_or_default()
    }

    /// The distinct fingerprints of one value in all reports: reports of a call must not contradict each other.
    fn values(&self, of: impl Fn(&ToolCall) -> &Recorded) -> Vec<u64> {
        let recorded = self.reports.iter().filter_map(|(_, call)| of(call).value());
        let mut values: Vec<u64> = recorded.map(|value| value.fingerprint).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    fn failed(&self) -> bool {
        self.reports.iter().any(|(_, call)| call.error.is_some())
    }

    fn is_empty(&self) -> bool {
        let mut outputs = self
            .reports
            .iter()
            .filter_map(|(_, call)| call.output.value());
        outputs.any(|value| value.empty)
    }

    fn start_ns(&self) -> u64 {
        self.reports
            .iter()
            .map(|(event, _)| event.start_ns)
            .min()
            .unwrap()
    }

    fn lasts_ms(&self) -> u64 {
        let end_ns = self
            .reports
            .iter()
            .map(|(event, _)| event.end_ns)
            .max()
            .unwrap();
        (end_ns - self.start_ns()) / 1_000_000
    }
}

impl Run {
    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        for event in self.reports.iter().flat_map(|report| &report.events) {
            if !events.iter().any(|known| known.id == event.id) {
                events.push(event.clone());
            }
        }
        events.sort_by_key(|event| (event.start_ns, event.end_ns, event.span));
        events
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        for event in self.events() {
            let Body::ToolCall(call) = event.body.clone() else {
                continue;
            };
            match calls
                .iter_mut()
                .find(|known| known.is_told_by(&event, &call))
            {
                Some(known) => known.reports.push((event, call)),
                None => calls.push(Call {
                    reports: vec![(event, call)],
                }),
            }
        }
        calls.sort_by_key(Call::start_ns);
        calls
    }

    /// Model calls, those with one id once.
    fn model_calls(&self) -> Vec<ModelCall> {
        let mut calls: Vec<ModelCall> = Vec::new();
        for event in self.events() {
            let Body::ModelCall(call) = event.body else {
                continue;
            };
            let known = calls
                .iter_mut()
                .find(|known| known.call_id.is_some() && known.call_id == call.call_id);
            match known {
                Some(known) => {
                    assert_eq!(
                        (known.input_tokens, known.output_tokens),
                        (call.input_tokens, call.output_tokens),
                        "{}",
                        self.name
                    );
                    if known.cost_microusd.is_none() || known.cost_is_estimate {
                        known.cost_microusd = call.cost_microusd.or(known.cost_microusd);
                        known.cost_is_estimate &= call.cost_is_estimate;
                    }
                    if known.answer == Answer::Unknown {
                        known.answer = call.answer;
                    }
                }
                None => calls.push(call),
            }
        }
        calls
    }

    fn turns(&self) -> &[Json] {
        self.truth["model_turns"].as_array().unwrap()
    }

    /// What the model asked for: tool and arguments.
    fn asked(&self) -> Vec<(String, u64)> {
        let calls = self
            .turns()
            .iter()
            .filter_map(|turn| turn["calls"].as_array())
            .flatten();
        let asked = calls.map(|call| {
            let tool = call["name"].as_str().unwrap();
            let mut arguments = call["args"].clone();
            if tool == "Bash" {
                // Claude Code's command counts alone.
                arguments = json!({ "command": arguments["command"] });
            }
            (tool.to_owned(), fingerprint(&arguments))
        });
        asked.collect()
    }
}

/// Whether a run is one of these programs'.
fn is_of(run: &Run, programs: &[&str]) -> bool {
    let mut programs = programs.iter();
    programs.any(|program| run.name.starts_with(program))
}

/// The fingerprint of arguments that no framework has touched.
fn fingerprint(arguments: &Json) -> u64 {
    let line = json!({"run_id": "r", "events": [{"i": 0, "kind": "tool_call", "tool": "t", "input": arguments}]});
    let run = events_file::runs(line.to_string().as_bytes(), &Name::Standard.policy())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    match &run.events[0].body {
        Body::ToolCall(call) => call.input.value().unwrap().fingerprint,
        other => panic!("no tool call: {other:?}"),
    }
}

/// Given every recorded run of a coding agent, with spans and log records, each call that the model asked for is one call,
/// with its tool and its arguments, and its reports agree.
#[test]
fn tool_calls_are_those_asked_for() {
    let mut seen = 0;
    for run in runs(Exported::Both) {
        let (calls, asked) = (run.calls(), run.asked());
        let told: Vec<(String, Vec<u64>)> = calls
            .iter()
            .map(|call| (call.tool().to_owned(), call.values(|call| &call.input)))
            .collect();
        let asked: Vec<_> = asked
            .into_iter()
            .map(|(tool, input)| (tool, vec![input]))
            .collect();
        assert_eq!(told, asked, "{}", run.name);
        for call in &calls {
            assert!(call.values(|call| &call.output).len() <= 1, "{}", run.name);
        }
        seen += calls.len();
    }
    assert_eq!(seen, 58);
}

/// Given log records alone, nothing of this is lost.
#[test]
fn log_records_are_enough() {
    for run in runs(Exported::LogsAlone) {
        let told: Vec<(String, Vec<u64>)> = run
            .calls()
            .iter()
            .map(|call| (call.tool().to_owned(), call.values(|call| &call.input)))
            .collect();
        let asked: Vec<_> = run
            .asked()
            .into_iter()
            .map(|(tool, input)| (tool, vec![input]))
            .collect();
        assert_eq!(told, asked, "{}", run.name);
        assert_eq!(run.model_calls().len(), run.turns().len(), "{}", run.name);
    }
}

/// Given spans alone, the calls are there, though Claude Code's show no arguments but a command, and Codex's none at all.
#[test]
fn spans_show_the_calls() {
    for run in runs(Exported::SpansAlone) {
        let told: Vec<String> = run
            .calls()
            .iter()
            .map(|call| call.tool().to_owned())
            .collect();
        let asked: Vec<String> = run.asked().into_iter().map(|(tool, _)| tool).collect();
        assert_eq!(told, asked, "{}", run.name);
        assert_eq!(run.model_calls().len(), run.turns().len(), "{}", run.name);
    }
}

/// Given the scenarios, exactly those calls have failed that did: `ls missing-dir` fails; a search without a hit is an
/// empty result, where the result is recorded.
#[test]
fn failures_and_empty_results_are_told() {
    for exported in [Exported::Both, Exported::SpansAlone, Exported::LogsAlone] {
        for run in runs(exported) {
            let fails = run.name.ends_with("error-retry");
            // Claude Code records of a search only how long its answer was.
            let empty = run.name.ends_with("empty-search")
                && !run.name.starts_with("claude")
                && !(run.name.starts_with("gemini") && exported == Exported::LogsAlone);
            for call in run.calls() {
                assert_eq!(call.failed(), fails, "{} {exported:?}", run.name);
                if empty {
                    assert!(call.is_empty(), "{} {exported:?}", run.name);
                }
            }
        }
    }
}

/// Given the same command again and again, its results are the same once volatile text is masked, and so are its errors.
#[test]
fn repeated_results_are_equal() {
    for run in runs(Exported::Both) {
        if !run.name.ends_with("exact-loop") && !run.name.ends_with("error-retry") {
            continue;
        }
        let calls = run.calls();
        let reports = || calls.iter().flat_map(|call| &call.reports);
        let mut outputs: Vec<u64> = reports()
            .filter_map(|(_, call)| Some(call.output.value()?.masked))
            .collect();
        outputs.dedup();
        assert!(outputs.len() <= 1, "{}: {outputs:?}", run.name);
        let texts = reports().filter_map(|(_, call)| call.error.as_ref());
        let mut texts: Vec<&str> = texts
            .map(|error| &*error.text)
            .filter(|text| !text.is_empty())
            .collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(
            texts.len(),
            usize::from(run.name.ends_with("error-retry")),
            "{}: {texts:?}",
            run.name
        );
        // Qwen Code's first command waited for a shell.
        let at_once = calls.iter().skip(usize::from(is_of(&run, &["qwen"])));
        assert!(
            at_once.into_iter().all(|call| call.lasts_ms() < 1_000),
            "{}",
            run.name
        );
    }
}

/// Given every run, its model calls are those of the script, once each, with tokens; with text alone where it said so.
#[test]
fn model_calls_are_counted_once() {
    for run in runs(Exported::Both) {
        let calls = run.model_calls();
        assert_eq!(calls.len(), run.turns().len(), "{}", run.name);
        for (call, turn) in calls.iter().zip(run.turns()) {
            assert!(call.input_tokens > 0 && call.output_tokens > 0 && call.model.is_some());
            // Only Claude Code says what a call costs; the others' have list prices, or none.
            assert_eq!(
                call.cost_microusd.is_some() && !call.cost_is_estimate,
                run.name.starts_with("claude"),
                "{}",
                run.name
            );
            match call.answer {
                // Codex does not tell, and neither does Qwen Code.
                Answer::Unknown => assert!(is_of(&run, &["codex", "qwen"]), "{}", run.name),
                Answer::ToolCalls(calls) => {
                    assert_eq!(turn["calls"].as_array().unwrap().len(), calls as usize);
                }
                Answer::Text(_) => assert!(turn["text"].is_string(), "{}", run.name),
            }
        }
    }
}

/// Given every run, all reports name one run, each prompt is one user message, and only Claude Code tells of ends.
#[test]
fn turns_and_ends_are_told() {
    for run in runs(Exported::Both) {
        let mut ids: Vec<_> = run
            .reports
            .iter()
            .map(|report| report.run.run_id.as_deref())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() == 1 && ids[0].is_some(), "{}: {ids:?}", run.name);
        let events = run.events();
        let count =
            |wanted: fn(&Body) -> bool| events.iter().filter(|event| wanted(&event.body)).count();
        let turns = if run.name.ends_with("text-only") {
            4
        } else {
            1
        };
        assert_eq!(
            count(|body| *body == Body::UserMessage),
            turns,
            "{}",
            run.name
        );
        let ends = if run.name.starts_with("claude") {
            turns
        } else {
            0
        };
        assert_eq!(
            count(|body| *body == Body::RunEnd(RunEnd { error: None })),
            ends,
            "{}",
            run.name
        );
        assert_eq!(
            count(|body| matches!(body, Body::Retry { .. })),
            0,
            "{}",
            run.name
        );
        assert!(
            events
                .iter()
                .all(|event| event.start_ns > 0 && event.end_ns >= event.start_ns)
        );
        assert!(
            events
                .iter()
                .all(|event| event.span != SpanId([0; 8])
                    || is_of(&run, &["codex", "gemini", "qwen"]))
        );
    }
}
