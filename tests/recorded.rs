//! Every recorded run through the reader and the normalizer, against what its tools logged themselves.
//!
//! `recorded/ground-truth.json` says for each run which tools were really called, with which arguments, and what came
//! of it. Here each run's spans and log records become events, the reports of one call are put together, and what is
//! left must be what happened. Runs whose telemetry cannot show something are listed with the reason ([`shows`]).

// A test that cannot read its own recordings has failed; there is nothing more to say.
#![allow(clippy::unwrap_used)]

#[path = "recorded/damaged.rs"]
mod damaged;
#[path = "recorded/made.rs"]
mod made;
#[path = "recorded/own_words.rs"]
mod own_words;
#[path = "recorded/planted_secrets.rs"]
mod planted_secrets;
#[path = "recorded/respelled.rs"]
mod respelled;
#[path = "recorded/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

use eddy::config::profile::Name;
use eddy::engine::event::{Answer, Body, Event, Handoff, Recorded, RunEnd, SpanId, ToolCall};
use eddy::engine::policy::Policy;
use eddy::engine::{Input, RunState, RunView, step};
use eddy::normalize::{Counts, Normalizer, Report};
use eddy::otlp::{self, Limits};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::Value as Json;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded");

/// Dialects that other tests cover.
const ELSEWHERE: [&str; 4] = ["claude-code", "codex", "gemini-cli", "qwen-code"];

/// By which recordings are read and judged.
static STANDARD: LazyLock<Policy> = LazyLock::new(|| Name::Standard.policy());

/// A recorded run.
struct Run {
    name: String,
    truth: Json,
    reports: Vec<Report>,
    counts: Counts,
}

/// What a run's telemetry shows of its tool calls.
#[derive(Debug, PartialEq)]
enum Shows {
    Everything,
    NoToolCalls,
    NoValues,
    RedactedValues,
}

/// What cannot be seen, and why.
fn shows(name: &str) -> Shows {
    match name {
        // Spans for components only; the transcript is Python text.
        _ if name.starts_with("haystack-openinference") => Shows::NoToolCalls,
        // Spans for crews, tasks and agents.
        _ if name.starts_with("crewai-traceloop") => Shows::NoToolCalls,
        // None of them sends arguments or results at all; google-adk does when it is told to.
        _ if starts_with_one(
            name,
            &["autogen-native", "fastmcp", "google-adk-native", "kilo"],
        ) =>
        {
            Shows::NoValues
        }
        // Content switched off: OpenInference leaves a marker, pydantic-ai leaves nothing.
        "pydantic-ai-native-exact-loop-nocontent" => Shows::NoValues,
        _ if name.ends_with("-nocontent") => Shows::RedactedValues,
        _ => Shows::Everything,
    }
}

fn starts_with_one(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| name.starts_with(start))
}

/// A tool call as the ground truth has it.
#[derive(Debug)]
struct Expected {
    tool: String,
    /// The arguments, and their bare text where there is one argument.
    inputs: Vec<u64>,
    /// The result of a call that did not fail.
    output: Option<u64>,
}

fn runs() -> Vec<Run> {
    let truth = fs::read_to_string(format!("{DIRECTORY}/ground-truth.json")).unwrap();
    let truth: BTreeMap<String, Json> = serde_json::from_str(&truth).unwrap();
    let ours = truth
        .into_iter()
        .filter(|(name, _)| !ELSEWHERE.iter().any(|dialect| name.starts_with(dialect)));
    ours.map(|(name, truth)| run(name, truth)).collect()
}

fn run(name: String, truth: Json) -> Run {
    let normalizer = Normalizer::new();
    let mut reports = Vec::new();
    for file in truth["files"].as_array().unwrap() {
        let file = file.as_str().unwrap();
        let bytes = fs::read(format!("{DIRECTORY}/{file}")).unwrap();
        for request in otlp::delimited(&bytes) {
            read(
                &normalizer,
                request.unwrap(),
                file.contains(".logs."),
                &mut reports,
            );
        }
    }
    let counts = normalizer.counts();
    Run {
        name,
        truth,
        reports,
        counts,
    }
}

fn read(normalizer: &Normalizer, request: &[u8], is_logs: bool, reports: &mut Vec<Report>) {
    let limits = Limits::default();
    let mut batch = normalizer.batch(&STANDARD);
    if is_logs {
        otlp::logs(request, &limits).for_each(|log| batch.log(&log.unwrap(), reports));
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

impl Run {
    /// The run's events in the order of time.
    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self
            .reports
            .iter()
            .flat_map(|report| report.events.clone())
            .collect();
        events.sort_by_key(|event| (event.start_ns, event.end_ns, event.span));
        events
    }

    /// The tool calls, with the reports of one call put together.
    fn calls(&self) -> Vec<ToolCall> {
        let mut calls: Vec<(Event, ToolCall)> = Vec::new();
        for event in self.events() {
            let Body::ToolCall(call) = event.body.clone() else {
                continue;
            };
            let call = self.named(&event, call);
            match calls
                .iter_mut()
                .find(|(other, merged)| is_same_call(other, merged, &event, &call))
            {
                Some((_, merged)) => merge(merged, call),
                None => calls.push((event, call)),
            }
        }
        calls.into_iter().map(|(_, call)| call).collect()
    }

    /// The call with what the model asked for, where it is an answer that names nothing but the call's id: the newest request
    /// that was over before it. What stands for an id that was not given may come again with each; there it is the request's.
    fn named(&self, event: &Event, call: ToolCall) -> ToolCall {
        let events = self.reports.iter().flat_map(|report| &report.events);
        let asked = events.filter_map(|event| match &event.body {
            Body::Requested(asked) => Some((event, asked)),
            _ => None,
        });
        let is_of_place = call.call_id.is_some_and(|id| id >> 48 == 0xffff);
        let may_be = |(request, asked): &(&Event, &ToolCall)| {
            let was_over = request.end_ns <= event.start_ns && request.start_ns < event.start_ns;
            call.tool.is_empty() && asked.call_id == call.call_id && (was_over || !is_of_place)
        };
        let newest = asked
            .filter(may_be)
            .max_by_key(|(request, _)| request.start_ns);
        let Some((request, asked)) = newest else {
            return call;
        };
        ToolCall {
            tool: asked.tool.clone(),
            input: asked.input.clone(),
            call_id: call
                .call_id
                .map(|id| if is_of_place { request.id } else { id }),
            ..call
        }
    }

    fn expected(&self) -> Vec<Expected> {
        let calls = self.truth["tool_calls"].as_array().unwrap();
        let calls = calls.iter().filter(|call| call["tool"].is_string());
        calls.map(|call| expected(&self.name, call)).collect()
    }
}

fn expected(run: &str, call: &Json) -> Expected {
    let arguments = call["args"].as_object().unwrap();
    let mut inputs = vec![plain(&call["args"]).input];
    let by_openinference = run.contains("openinference") || is_watched_twice(run);
    let of_langchain = starts_with_one(run, &["langgraph", "deepagents", "langflow"]);
    let is_langchain = of_langchain && by_openinference;
    if is_langchain && arguments.len() == 1 {
        inputs.push(plain(arguments.values().next().unwrap()).input);
    }
    let fingerprint = |recorded: &Recorded| recorded.value().unwrap().fingerprint;
    Expected {
        tool: call["tool"].as_str().unwrap().to_owned(),
        inputs: inputs.iter().map(fingerprint).collect(),
        output: call
            .get("result")
            .map(|result| fingerprint(&plain(result).output)),
    }
}

/// A call that records this value plainly, without any framework's wrappers, as its arguments and as its result.
fn plain(value: &Json) -> ToolCall {
    let value = value.as_str().map_or(value.to_string(), str::to_owned);
    let text = |key: &str, text: &str| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(text.to_owned())),
        }),
        ..KeyValue::default()
    };
    let attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", "plain"),
        text("gen_ai.tool.call.arguments", &value),
        text("gen_ai.tool.call.result", &value),
    ];
    let span = Span {
        trace_id: vec![1; 16],
        span_id: vec![1; 8],
        attributes,
        ..Span::default()
    };
    let scope_spans = vec![ScopeSpans {
        spans: vec![span],
        ..ScopeSpans::default()
    }];
    let resource_spans = vec![ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    }];
    let request = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
    let mut reports = Vec::new();
    read(&Normalizer::new(), &request, false, &mut reports);
    match reports.remove(0).events.remove(0).body {
        Body::ToolCall(call) => call,
        other => panic!("no tool call: {other:?}"),
    }
}

/// Same trace, same tool, and either the same call id, or at most one id and one span around the other, or a span without an
/// id and the first answer after it to a call with the same arguments.
fn is_same_call(a: &Event, call_a: &ToolCall, b: &Event, call_b: &ToolCall) -> bool {
    let around = |outer: &Event, inner: &Event| {
        inner.parent == outer.span
            || (outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns)
    };
    // What a record tells of an answer names nothing but the call's id.
    let same_tool = bare(call_a) == bare(call_b) || call_b.tool.is_empty();
    // Without a span around them, each call of a model has a trace, and says again what tools answered.
    let is_answer = b.span == SpanId::default() && call_b.call_id.is_some();
    (a.trace == b.trace || is_answer)
        && same_tool
        && match (call_a.call_id, call_b.call_id) {
            (Some(a), Some(b)) => a == b,
            (None, Some(_)) if b.span == SpanId::default() => {
                a.end_ns <= b.start_ns && call_a.input == call_b.input
            }
            _ => around(a, b) || around(b, a),
        }
}

/// The tool without the server that the Claude Agent SDK names before it.
fn bare(call: &ToolCall) -> &str {
    call.tool.rsplit("__").next().unwrap_or_default()
}

fn merge(merged: &mut ToolCall, other: ToolCall) {
    if merged.input == Recorded::NotRecorded {
        merged.input = other.input;
    }
    if merged.output == Recorded::NotRecorded {
        merged.output = other.output;
    }
    merged.call_id = merged.call_id.or(other.call_id);
    merged.error = merged.error.take().or(other.error);
}

/// Whether a call is the expected one, as far as the run shows it.
fn is_expected(call: &ToolCall, expected: &Expected, shows: &Shows) -> bool {
    let is = |recorded: &Recorded, wanted: &[u64]| match shows {
        Shows::NoValues => *recorded == Recorded::NotRecorded,
        Shows::RedactedValues => *recorded == Recorded::Redacted,
        _ => recorded
            .value()
            .is_some_and(|value| wanted.contains(&value.fingerprint)),
    };
    bare(call) == expected.tool
        && is(&call.input, &expected.inputs)
        && match expected.output {
            Some(output) => call.error.is_none() && is(&call.output, &[output]),
            None => call.error.is_some(),
        }
}

/// Runs whose last call is never told: the process died in it, or the run failed before the model was told the answer, and
/// nothing else tells of calls.
fn has_no_last_call(run: &str) -> bool {
    run.ends_with("-crash") || run == "crewai-openai-traceloop-exact-loop"
}

/// Given every recorded run: the calls that its reports tell of are exactly those that were made, with their names,
/// arguments, results and errors. A crashed process never reports the call it died in.
#[test]
fn tool_calls_are_those_that_were_made() {
    let mut seen = 0;
    for run in runs() {
        let shows = shows(&run.name);
        let mut calls: Vec<ToolCall> = run
            .calls()
            .into_iter()
            .filter(|call| !call.hands_off)
            .collect();
        let mut missing = run.expected();
        seen += missing.len();
        if shows == Shows::NoToolCalls {
            assert!(calls.is_empty(), "{}", run.name);
            continue;
        }
        missing.retain(|expected| {
            let found = calls
                .iter()
                .position(|call| is_expected(call, expected, &shows));
            found.map(|at| calls.remove(at)).is_none()
        });
        let died_in = usize::from(has_no_last_call(&run.name));
        assert_eq!(
            missing.len(),
            died_in,
            "{}: not told: {missing:#?}\nleft: {calls:#?}",
            run.name
        );
        let delegations = delegating_tools(&run.name);
        calls.retain(|call| !delegations.contains(&&*call.tool));
        assert!(
            calls.is_empty(),
            "{}: told, but never made: {calls:#?}",
            run.name
        );
    }
    assert!(seen > 250, "only {seen} calls were checked");
}

/// Given runs whose messages are in log records: each call is counted once with its spans, and once without them, and the
/// messages alone show the same loops.
#[test]
fn messages_tell_of_calls() {
    let mut seen = 0;
    for run in runs()
        .iter()
        .filter(|run| run.name.starts_with("agent-framework-native"))
    {
        let is_of_tool = |report: &Report| {
            let mut events = report.events.iter();
            events.any(|event| matches!(&event.body, Body::ToolCall(call) if !call.tool.is_empty()))
        };
        let (spans, rest): (Vec<_>, Vec<_>) = run.reports.clone().into_iter().partition(is_of_tool);
        assert_eq!(spans.len(), run.expected().len(), "{}", run.name);
        let alone = view(&rest);
        let together = view(&[rest, spans].concat());
        seen += together.warnings.len();
        for view in [&alone, &together] {
            assert_eq!(view.tool_calls, run.expected().len() as u64, "{}", run.name);
            assert_eq!(view.model_calls, together.model_calls, "{}", run.name);
        }
        let rules = |view: &RunView| -> Vec<_> {
            view.warnings
                .iter()
                .map(|warning| (warning.rule, warning.count, warning.tool.clone()))
                .collect()
        };
        // That a call failed stands in its span alone, so that a rule may say less without it, but none something else.
        let (alone, together) = (rules(&alone), rules(&together));
        assert!(
            alone.iter().all(|warning| together.contains(warning)),
            "{}: {alone:?}",
            run.name
        );
        assert_eq!(alone.is_empty(), together.is_empty(), "{}", run.name);
    }
    assert!(seen > 1, "no warning to compare");
}

/// What the engine makes of reports in this order.
fn view(reports: &[Report]) -> RunView {
    view_until(reports, |_| false)
}

/// What the engine makes of reports in this order, up to the first after which somebody has seen enough, without that one.
fn view_until(reports: &[Report], is_enough: impl Fn(&RunView) -> bool) -> RunView {
    let policy = &*STANDARD;
    let mut state = RunState::new("run".into());
    let mut seen = state.view(policy);
    for report in reports {
        let input = Input::Reports {
            at_ms: 1,
            session_id: None,
            service: None,
            events: report.events.clone(),
        };
        step(&mut state, &input, policy);
        let view = state.view(policy);
        if is_enough(&view) {
            break;
        }
        seen = view;
    }
    seen
}

/// Tools that stand for another agent, which the ground truth counts as hand-offs.
fn delegating_tools(run: &str) -> &'static [&'static str] {
    if run == "pydantic-ai-native-handoff" {
        &["ask_researcher"]
    } else {
        &[]
    }
}

/// Given the runs in which control went back and forth: every hand-over is told once, in order, either in so many words
/// or by the order of the agents' spans.
#[test]
fn hand_overs_are_told() {
    for run in runs().iter().filter(|run| run.name.ends_with("-handoff")) {
        let events = run.events();
        let told: Vec<&str> = events.iter().filter_map(receiver).collect();
        let agents: Vec<&str> = events.iter().filter_map(agent).collect();
        let expected: Vec<&str> = handoffs(&run.truth);
        match run.name.as_str() {
            // Delegation: the same agent is asked three times, and control comes back each time.
            "crewai-openinference-handoff" => assert_eq!(told, ["researcher"; 3]),
            "pydantic-ai-native-handoff" | "smolagents-openinference-handoff" => {
                assert!(told.is_empty(), "{}: {told:?}", run.name);
                assert_eq!(
                    agents,
                    ["triage", "researcher", "researcher", "researcher"],
                    "{}",
                    run.name
                );
            }
            // The receiver is not recorded, or no span tells of the tool; only the agents' spans show it.
            "openai-agents-traceloop-handoff" | "agent-framework-native-handoff" => {
                assert!(told.is_empty(), "{told:?}");
                assert_eq!(agents[1..], expected);
            }
            _ => assert_eq!(told, expected, "{}", run.name),
        }
    }
}

fn handoffs(truth: &Json) -> Vec<&str> {
    let calls = truth["tool_calls"].as_array().unwrap();
    calls
        .iter()
        .filter_map(|call| call["handoff"].as_str())
        .collect()
}

fn receiver(event: &Event) -> Option<&str> {
    match &event.body {
        Body::Handoff(Handoff { to, .. }) => Some(to),
        _ => None,
    }
}

fn agent(event: &Event) -> Option<&str> {
    match &event.body {
        Body::AgentSpan(agent) => Some(&agent.name),
        _ => None,
    }
}

/// Programs written by hand around a provider's client, which alone is instrumented.
fn is_of_client(run: &str) -> bool {
    let around_clients = ["openai-responses", "openai-loop-twice", "langgraph-thrice"];
    run.contains("-client-")
        || around_clients
            .iter()
            .any(|program| run.starts_with(program))
}

/// Given every recorded run: a run that ended well is told to have ended well, one that failed to have failed, and one
/// whose process died to have ended not at all.
#[test]
fn ends_of_runs_are_told() {
    for run in runs() {
        let events = run.events();
        let ends = events.iter().filter_map(|event| match &event.body {
            Body::RunEnd(RunEnd { error }) => Some(error.is_some()),
            _ => None,
        });
        let ends: Vec<bool> = ends.collect();
        let end = run.truth["end"].as_str().unwrap();
        if run.name.ends_with("-crash")
            || run.name == "autogen-native-handoff"
            || is_of_client(&run.name)
            || starts_with_one(
                &run.name,
                &[
                    "fastmcp-v4",
                    "mcp-traceloop",
                    "mcp-logfire",
                    "opencode",
                    "kilo",
                    "fast-agent",
                    "mcp-agent",
                ],
            )
        {
            // A process that died, a runtime whose messages are all roots, and programs whose own spans say nothing.
            assert!(ends.is_empty(), "{}", run.name);
        } else {
            assert!(!ends.is_empty(), "{}: no end", run.name);
            assert_eq!(ends.contains(&true), end != "ok", "{}: {end}", run.name);
        }
    }
}

/// Runs whose telemetry shows no calls of models. Haystack's has one span for all of a request; so have the agents of `VoltAgent`
/// and the first Mastra. dspy's have no tokens, `LangWatch`'s and Respan's decorators are for tools, NVIDIA's toolkit needs its
/// profiler for them, and Kilo has none.
const WITHOUT_MODEL_CALLS: [&str; 18] = [
    "crewai",
    "haystack-openinference",
    "voltagent",
    "mastra-v0",
    "dspy",
    "openai-loop-langwatch-",
    "openai-loop-respan",
    "nat-native",
    "kilo-native",
    "claude-agent-sdk",
    "autogen-native",
    "agno-traceloop",
    "openai-agents-otel",
    "google-adk-openinference",
    // The scripted model is an object of the program, which is not watched.
    "smolagents-openlit",
    "agno-openlit",
    "openai-agents-openlit",
    "openai-agents-mlflow",
];

/// Several spans for one call of a model, one within the other.
const NESTED_MODEL_CALLS: [&str; 5] = [
    "anthropic-client",
    "anthropic-js-client",
    "llama-index-openinference",
    "litellm-client-native",
    "openhands",
];

/// Runs in which it is not told what the model answered. Without content openai-agents' finish reason says `stop` at every turn;
/// the script of the swarm's workers ran out, so the ground truth has them say things that they did not. google-adk shows no
/// answers unless it is told to, and llama-index under OpenLLMetry never those that ask for tools. browser-use's model answers
/// with text of a form of its own, whatever it asks for.
const WITHOUT_ANSWERS: [&str; 6] = [
    "openai-agents-openinference-exact-loop-nocontent",
    "langgraph-openinference-swarm",
    "google-adk-native-exact-loop",
    "llama-index-traceloop-error-retry",
    "llama-index-traceloop-exact-loop",
    "browser-use-laminar",
];

/// Given every recorded run: model calls are told with their tokens, and what they answered agrees with what the model
/// was made to say. Frameworks without spans for model calls show none.
#[test]
fn model_calls_are_told() {
    for run in runs() {
        let Some(turns) = run.truth["model_turns"].as_array() else {
            continue;
        };
        if starts_with_one(&run.name, &WITHOUT_MODEL_CALLS) {
            continue;
        }
        if starts_with_one(&run.name, &NESTED_MODEL_CALLS) || is_watched_twice(&run.name) {
            let told = view(&run.reports);
            assert_eq!(told.model_calls, turns.len() as u64, "{}", run.name);
            if let Some(tokens) = run.truth["tokens"].as_u64() {
                assert_eq!(told.tokens, tokens, "{}", run.name);
            }
            continue;
        }
        let events = run.events();
        let calls = events.iter().filter_map(|event| match &event.body {
            // A record below the span of the same call.
            Body::ModelCall(_) if event.span == SpanId::default() => None,
            Body::ModelCall(call) if call.error.is_none() => Some(call),
            _ => None,
        });
        let calls: Vec<_> = calls.collect();
        let turns = turns.iter();
        let turns = turns.filter(|turn| turn.get("calls").is_some() || turn.get("text").is_some());
        let turns: Vec<&Json> = turns.collect();
        assert_eq!(calls.len(), turns.len(), "{}", run.name);
        assert!(
            calls.iter().all(|call| call.input_tokens > 0
                && call.output_tokens > 0
                && call.model.is_some())
        );
        if !starts_with_one(&run.name, &WITHOUT_ANSWERS) {
            let answers: Vec<_> = calls.iter().map(|call| call.answer).collect();
            let asks = |answer: &&Answer| matches!(answer, Answer::ToolCalls(_));
            let asking = answers.iter().filter(asks).count();
            let is_asked =
                |turn: &&&Json| turn["calls"].as_array().is_some_and(|calls| is_work(calls));
            let asked = turns.iter().filter(is_asked).count();
            assert_eq!(asking, asked, "{}: {answers:?}", run.name);
        }
    }
}

/// Two or three instrumentations at once.
fn is_watched_twice(run: &str) -> bool {
    run.contains("-twice-") || run.contains("-thrice-")
}

/// smolagents' agents answer through a tool.
fn is_work(calls: &[Json]) -> bool {
    calls.iter().any(|call| call["name"] != "final_answer")
}

/// Given haystack's runs: no tool call is seen, but a model call that asked for tools, so that the run can be called
/// blind; the run of text alone asked for none.
#[test]
fn haystack_is_known_to_have_called_tools() {
    for run in runs()
        .iter()
        .filter(|run| run.name.starts_with("haystack-openinference"))
    {
        let asked: u32 = run
            .events()
            .iter()
            .map(|event| match &event.body {
                Body::ModelCall(call) => {
                    if let Answer::ToolCalls(calls) = call.answer {
                        calls
                    } else {
                        0
                    }
                }
                _ => 0,
            })
            .sum();
        assert_eq!(asked as usize, run.expected().len(), "{}", run.name);
    }
}

/// Given every recorded run: identities are unique, times are in order, and nothing is left unread that a dialect
/// should know.
#[test]
fn events_are_well_formed() {
    for run in runs() {
        let events = run.events();
        let mut told: BTreeMap<u64, &Body> = BTreeMap::new();
        for event in &events {
            let known = told.entry(event.id).or_insert(&event.body);
            // What a span and a record both tell of a message is one event.
            let is_message = matches!(&event.body, Body::Requested(_) | Body::ToolCall(_));
            let is_first = std::ptr::eq(*known, &raw const event.body);
            assert!(
                is_first || is_message && **known == event.body,
                "{}: two events share an id: {known:?}, {:?}",
                run.name,
                event.body
            );
        }
        assert!(
            events
                .iter()
                .all(|event| event.start_ns > 0 && event.end_ns >= event.start_ns)
        );
        assert!(
            events
                .iter()
                .all(|event| event.span != SpanId::default() || event.parent != SpanId::default()),
            "{}",
            run.name
        );
        assert_eq!(run.counts.unknown_operation, 0, "{}", run.name);
        // Spans of the program itself, and of its HTTP client.
        let of_program = [
            "langgraph-openlit",
            "fastmcp-v4",
            "mcp-traceloop",
            "mcp-logfire",
            "strands-js",
            "strands-adot",
            "livekit",
            "langgraph-splunk",
            "opencode",
            "kilo",
            "fast-agent",
            "mcp-agent",
        ];
        let has_others = is_of_client(&run.name) || starts_with_one(&run.name, &of_program);
        assert!(
            has_others || run.counts.no_dialect == 0,
            "{}: {:?}",
            run.name,
            run.counts
        );
    }
}

/// Given the runs that repeat one call, with arguments and results recorded: each is warned of before a fifth call is told,
/// and runs in which nothing goes wrong never are.
#[test]
fn loops_are_found_in_time() {
    let mut found = 0;
    for run in runs() {
        if shows(&run.name) != Shows::Everything {
            continue;
        }
        let mut reports = run.reports.clone();
        reports.retain(|report| !report.events.is_empty());
        reports.sort_by_key(|report| report.events[0].start_ns);
        if run.name.ends_with("-healthy") {
            let warnings = view(&reports).warnings;
            assert!(warnings.is_empty(), "{}: {warnings:?}", run.name);
        }
        if !run.name.ends_with("-exact-loop") {
            continue;
        }
        let early = view_until(&reports, |view| view.tool_calls == 5);
        assert_eq!(early.tool_calls, 4, "{}", run.name);
        assert!(!early.warnings.is_empty(), "{}: not warned of", run.name);
        let made = run.expected().len() - usize::from(has_no_last_call(&run.name));
        assert_eq!(view(&reports).tool_calls, made as u64, "{}", run.name);
        found += 1;
    }
    assert!(found > 30, "only {found} loops");
}
