//! Gemini CLI: spans where tracing is on, log records always.
//!
//! *A tool call* is reported by the span `tool_call`, whose two messages hold the request and everything that came of it,
//! and by the record `gemini_cli.tool_call`. The record names no call, but points at the span above the call's own. The
//! span's status is always good: how the call ended stands in its answer. `schedule_tool_calls`, the span above, repeats
//! its calls and is passed over.
//!
//! *A model call* is reported by the span `llm_call` and by the record `gemini_cli.api_response`, which points nowhere. The
//! session and the tokens, which grow with the conversation, are the same in both and make the id. Failed ones are told
//! by the record `gemini_cli.api_error` alone.
//!
//! *Qwen Code* was made of it and writes the same records, `qwen-code.tool_call` and so on, which name sub-agents as well.
//!
//! *Hand-offs* do not exist.
//!
//! *Runs.* Each model call and each batch of tool calls is a trace of its own, so no root is the end of anything; the
//! session id, which spans call the conversation, keys the run.

use std::borrow::Cow;

use serde::Deserialize;

use crate::engine::event::{Answer, Body, Failure, ModelCall, Recorded, ToolCall};
use crate::engine::policy::Policy;
use crate::normalize::ended::{self, exit_code};
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::records::{Record, count, flag, json, pick, text};
use crate::normalize::report::{Outcome, Report};
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::{fingerprint, value};
use crate::otlp::LogView;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let conversation = reading.facts.text(Slot::Conversation);
    match reading.facts.text(Slot::Operation) {
        Some("tool_call") => tool_span(reading),
        Some("llm_call") => model_span(reading, conversation.unwrap_or_default()),
        Some("schedule_tool_calls" | "agent_call" | "user_prompt" | "system_prompt") => {
            return Outcome::Noise;
        }
        _ => return Outcome::UnknownOperation,
    }
    reading.run(conversation);
    reading.session(conversation);
    Outcome::Noise
}

/// Reads one log record.
pub(super) fn log(log: &LogView<'_>, report: &mut Report, policy: &Policy) -> Outcome {
    let [event, session, agent] = pick(
        &log.attributes,
        ["event.name", "session.id", "subagent_name"],
    );
    let mut record = Record::new(log, text(session).unwrap_or_default(), report, policy);
    record.agent = text(agent).map(Cow::Borrowed);
    let event = text(event).and_then(|event| event.split_once('.'));
    match event.map(|(_, what)| what) {
        Some("tool_call") => tool_record(&mut record),
        Some("api_response") => model_record(&mut record),
        Some("api_error") => failed_model(&mut record),
        Some("chat.content_retry" | "network_retry_attempt") => {
            let time = record.time_ns().to_le_bytes();
            record.tell_finished(&[b"retry", &time], 0, Body::Retry { tool: None });
        }
        Some("user_prompt") => {
            let time = record.time_ns().to_le_bytes();
            record.tell_finished(&[b"user_prompt", &time], 0, Body::UserMessage);
        }
        _ => {}
    }
    Outcome::Noise
}

fn tool_span(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let request = json_text(facts.value(Slot::InputMessages)).unwrap_or_default();
    let answer = json_text(facts.value(Slot::OutputMessages)).unwrap_or_default();
    let tool = facts.text(Slot::ToolName).unwrap_or_default();
    let response = member_text(
        &answer,
        &[
            "response",
            "responseParts",
            "0",
            "functionResponse",
            "response",
            "output",
        ],
    );
    let printed = response.as_deref().map(Printed::of);
    let arguments = value::member(&request, &["args"]);
    let given = arguments.unwrap_or_default();
    let command = value::command_line(given).unwrap_or_default();
    let error = reading
        .failure_of_call(given)
        .or_else(|| failure(&answer, (given, &command), printed.as_ref()));
    let how = reading.policy.tool(tool, reading.agent.as_deref());
    let (output, told) = match &printed {
        None => (Recorded::NotRecorded, None),
        // How a command ended, its exit code says, and not what it printed.
        Some(printed) if !command.is_empty() => {
            (ended::printed(&how, tool, given, &printed.body), None)
        }
        Some(printed) => ended::answered(&how, tool, given, &printed.body),
    };
    let body = printed.as_ref().map_or("", |printed| &*printed.body);
    let call = fingerprint::call(&how, value::name(tool), arguments.unwrap_or_default(), body);
    reading.tell(Body::ToolCall(ToolCall {
        call_id: facts
            .id(Slot::CallId)
            .map(|id| value::id_hash(&[id.as_bytes()])),
        input: arguments.map_or(Recorded::NotRecorded, |json| value::input_json(&how, json)),
        output,
        error: error.or(told),
        ..call
    }));
}

/// How a call failed, with its arguments and the command among them, by its answer: `status`, or the exit code of a command that
/// ran.
fn failure(
    answer: &str,
    (arguments, command): (&str, &str),
    printed: Option<&Printed>,
) -> Option<Failure> {
    let status = member_text(answer, &["status"]).unwrap_or_default();
    if matches!(&*status, "error" | "cancelled") {
        let error = member_text(
            answer,
            &[
                "response",
                "responseParts",
                "0",
                "functionResponse",
                "response",
                "error",
            ],
        )
        .or_else(|| member_text(answer, &["response", "error", "message"]));
        let error = error.unwrap_or(status);
        return Some(value::failure_of_call(&error, arguments));
    }
    let data = value::member(answer, &["response", "data"])?;
    let body = printed.map_or("", |printed| &printed.body);
    exit_failure(data, command, body).map(|code| match body {
        "" => value::failure(&code),
        body => value::failure_of_call(body, arguments),
    })
}

/// What the facts about a command's end say of a failure.
fn exit_failure(data: &str, command: &str, body: &str) -> Option<String> {
    let exit_code = value::member(data, &["exitCode"])
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| i64::from(value::member(data, &["isError"]) == Some("true")));
    exit_code::failed(command, exit_code, body).then(|| format!("exit code {exit_code}"))
}

/// What a command printed, out of the lines that Gemini CLI sets around it.
struct Printed<'a> {
    body: Cow<'a, str>,
}

impl<'a> Printed<'a> {
    fn of(output: &'a str) -> Self {
        let Some(inner) = output.trim().strip_prefix("<untrusted_context>") else {
            return Self {
                body: Cow::Borrowed(output),
            };
        };
        let inner = inner.trim_end_matches("</untrusted_context>").trim();
        let inner = inner.strip_prefix("Output: ").unwrap_or(inner);
        let around = ["Exit Code: ", "Process Group PGID: ", "Background PIDs: "];
        let lines: Vec<&str> = inner
            .lines()
            .filter(|line| !around.iter().any(|sign| line.starts_with(sign)))
            .collect();
        let body = lines.join("\n");
        let body = if body == "(empty)" {
            String::new()
        } else {
            body
        };
        Self {
            body: Cow::Owned(body),
        }
    }
}

fn tool_record(record: &mut Record<'_, '_>) {
    let [tool, arguments, duration, success, error, kind, metadata] = pick(
        &record.log.attributes,
        [
            "function_name",
            "function_args",
            "duration_ms",
            "success",
            "error",
            "error_type",
            "metadata",
        ],
    );
    let tool = text(tool).unwrap_or_default();
    let input = json(arguments).unwrap_or_default();
    let command = value::command_line(&input).unwrap_or_default();
    let said = text(error).or(text(kind));
    // Without the output a search that found nothing cannot be told from one that failed: it gets the benefit.
    let metadata = json(metadata);
    let exit = metadata.and_then(|data| exit_failure(&data, &command, ""));
    let error = if flag(success) == Some(false) || said.is_some() {
        Some(value::failure(said.unwrap_or_default()))
    } else {
        exit.map(|code| wordless(&code))
    };
    let how = record.how(tool);
    let call = ToolCall {
        input: value::input_of(&how, arguments),
        error,
        ..fingerprint::call(&how, value::name(tool), &input, "")
    };
    let duration_ms = count(duration).unwrap_or(0);
    record.tell_finished_call(b"tool_call", None, duration_ms, call);
}

/// A failure of which only the exit code is known: without a text, so that a report that has one is preferred.
fn wordless(code: &str) -> Failure {
    Failure {
        text: value::name(""),
        masked: value::failure(code).masked,
        transient: false,
    }
}

fn model_span(reading: &mut Reading<'_, '_>, session: &str) {
    let facts = reading.facts;
    if reading.failure().is_some() {
        return;
    }
    let messages = json_text(facts.value(Slot::OutputMessages));
    let answer = messages
        .and_then(|json| {
            let messages: Vec<Content<'_>> = serde_json::from_str(&json).ok()?;
            Some(answer(messages.iter().flat_map(|message| &message.parts)))
        })
        .unwrap_or_default();
    let (input, output) = (
        facts.count(Slot::InputTokens),
        facts.count(Slot::OutputTokens),
    );
    reading.tell(Body::ModelCall(ModelCall {
        model: facts.text(Slot::Model).map(value::name),
        call_id: model_call_id(session, input, output),
        input_tokens: input,
        cached_tokens: facts.count(Slot::CachedTokens),
        output_tokens: output,
        answer,
        ..ModelCall::default()
    }));
}

fn model_record(record: &mut Record<'_, '_>) {
    let [model, duration, input, cached, output, thought, said] = pick(
        &record.log.attributes,
        [
            "model",
            "duration_ms",
            "input_token_count",
            "cached_content_token_count",
            "output_token_count",
            "thoughts_token_count",
            "response_text",
        ],
    );
    let answer = text(said)
        .and_then(|json| {
            let chunks: Vec<Chunk<'_>> = serde_json::from_str(json).ok()?;
            let contents = chunks.iter().flat_map(|chunk| &chunk.candidates);
            Some(answer(contents.flat_map(|one| &one.content.parts)))
        })
        .unwrap_or_default();
    let [input, output, thought] =
        [input, output, thought].map(|tokens| count(tokens).unwrap_or(0));
    let body = Body::ModelCall(ModelCall {
        model: text(model).map(value::name),
        call_id: model_call_id(record.session, input, output),
        input_tokens: input,
        cached_tokens: count(cached).unwrap_or(0),
        // What a model of Google's thinks is counted apart.
        output_tokens: output.saturating_add(thought),
        answer,
        ..ModelCall::default()
    });
    let time = record.time_ns().to_le_bytes();
    record.tell_finished(
        &[b"api_response", &time],
        count(duration).unwrap_or(0),
        body,
    );
}

fn failed_model(record: &mut Record<'_, '_>) {
    let [model, duration, error, message, kind] = pick(
        &record.log.attributes,
        [
            "model",
            "duration_ms",
            "error",
            "error.message",
            "error_type",
        ],
    );
    let reason = text(error).or(text(message)).or(text(kind));
    let body = Body::ModelCall(ModelCall {
        model: text(model).map(value::name),
        error: Some(value::failure(reason.unwrap_or_default())),
        ..ModelCall::default()
    });
    let time = record.time_ns().to_le_bytes();
    record.tell_finished(&[b"api_error", &time], count(duration).unwrap_or(0), body);
}

fn model_call_id(session: &str, input_tokens: u64, output_tokens: u64) -> Option<u64> {
    let figures = [input_tokens, output_tokens].map(u64::to_le_bytes).concat();
    (input_tokens > 0).then(|| value::id_hash(&[session.as_bytes(), &figures]))
}

/// One piece of a streamed answer.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Content<'a>,
}

#[derive(Default, Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    function_call: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    thought: bool,
}

/// What came back, from the parts of an answer; thoughts are no part of it.
fn answer<'p, 'a: 'p>(parts: impl Iterator<Item = &'p Part<'a>>) -> Answer {
    let mut calls = 0;
    let mut said = String::new();
    for part in parts.filter(|part| !part.thought) {
        calls += u32::from(part.function_call.is_some());
        said.push_str(part.text.as_deref().unwrap_or_default());
    }
    match calls {
        0 if said.is_empty() => Answer::Unknown,
        0 => Answer::Text(value::spoken(&value::unquote(&said))),
        calls => Answer::ToolCalls(calls),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::normalize::records::tests::events;

    #[track_caller]
    fn check(answer: &serde_json::Value, command: &str, printed: &str, expected: Option<&str>) {
        let printed = Printed::of(printed);
        let error = failure(&answer.to_string(), ("", command), Some(&printed));
        assert_eq!(
            error.as_ref().map(|error| &*error.text),
            expected,
            "{answer}"
        );
    }

    /// Given how a call ended by its answer, it failed when the status or the command's exit code says so.
    #[test]
    fn the_answer_tells_of_failures() {
        let parts = json!([{"functionResponse": {"response": {"error": "File not found"}}}]);
        check(
            &json!({"status": "error", "response": {"responseParts": parts}}),
            "",
            "",
            Some("File not found"),
        );
        check(&json!({"status": "cancelled"}), "", "", Some("cancelled"));
        check(&json!({"status": "success", "response": {}}), "", "x", None);
        let ended = |code| json!({"status": "success", "response": {"data": {"exitCode": code, "isError": code != 0}}});
        check(
            &ended(2),
            "ls x",
            "<untrusted_context>\nOutput: no x\nExit Code: 2\n</untrusted_context>",
            Some("no x"),
        );
        check(
            &ended(1),
            "grep x y",
            "<untrusted_context>\nOutput: (empty)\nExit Code: 1\n</untrusted_context>",
            None,
        );
        check(
            &ended(1),
            "make",
            "<untrusted_context>\nOutput: (empty)\n</untrusted_context>",
            Some("exit code 1"),
        );
        check(&ended(0), "ls", "a", None);
    }

    /// Given what a command printed, the lines around it are taken off and what it printed stays.
    #[test]
    fn lines_around_the_output_are_taken_off() {
        let printed = Printed::of(
            "<untrusted_context>\nOutput: one\ntwo\nExit Code: 2\nProcess Group PGID: 2763\n</untrusted_context>",
        );
        assert_eq!(printed.body, "one\ntwo");
        assert_eq!(Printed::of("Found 1 match").body, "Found 1 match");
    }

    /// Given a streamed answer in pieces, its text is one and its thoughts are left out; calls are counted.
    #[test]
    fn answers_are_put_together() {
        let told = |said: serde_json::Value| {
            let record = json!({"event.name": "gemini_cli.api_response", "session.id": "s", "input_token_count": 3,
                "output_token_count": 4, "response_text": said.to_string()});
            match events("gemini-cli", false, &record).remove(0).body {
                Body::ModelCall(call) => call.answer,
                other => panic!("no model call: {other:?}"),
            }
        };
        let piece =
            |part: serde_json::Value| json!({"candidates": [{"content": {"parts": [part]}}]});
        let whole = told(json!([piece(
            json!({"text": "In summary, all is as it was"})
        )]));
        let pieces = told(json!([
            piece(json!({"text": "hm", "thought": true})),
            piece(json!({"text": "In "})),
            piece(json!({"text": "summary, all is as it was"})),
        ]));
        assert!(matches!(whole, Answer::Text(Some(_))));
        assert_eq!(whole, pieces);
        let calls = told(json!([
            piece(json!({"functionCall": {"name": "x"}})),
            piece(json!({"text": "so"}))
        ]));
        assert_eq!(calls, Answer::ToolCalls(1));
    }

    /// What a model thought is part of what it wrote, beside which it is counted.
    #[test]
    fn thoughts_are_counted() {
        let record = json!({"event.name": "gemini_cli.api_response", "session.id": "s", "input_token_count": 100,
            "output_token_count": 10, "thoughts_token_count": 30, "total_token_count": 140});
        let Body::ModelCall(call) = events("gemini-cli", false, &record).remove(0).body else {
            panic!("no model call")
        };
        assert_eq!((call.input_tokens, call.output_tokens), (100, 40));
    }

    /// Qwen Code's records are Gemini CLI's under another name; its sub-agents are agents.
    #[test]
    fn qwen_code_is_read() {
        let record = json!({"event.name": "qwen-code.tool_call", "session.id": "s", "function_name": "read_file",
            "function_args": "{\n  \"file_path\": \"a\"\n}", "success": false, "error": "no such file", "subagent_name": "Explore"});
        let event = events("qwen-code", false, &record).remove(0);
        assert_eq!(event.agent.as_deref(), Some("Explore"));
        let Body::ToolCall(call) = event.body else {
            panic!("no tool call")
        };
        assert_eq!(&*call.tool, "read_file");
        assert_eq!(&*call.error.expect("a failure").text, "no such file");
    }

    /// Given a call known only by its record, a wordless failure still differs from another one.
    #[test]
    fn records_tell_of_exit_codes() {
        let failed = |code: u8| {
            let record = json!({"event.name": "gemini_cli.tool_call", "session.id": "s", "function_name": "run_shell_command",
                "function_args": "{\"command\":\"make\"}", "success": true,
                "metadata": format!("{{\"exitCode\":{code},\"isError\":true}}")});
            match events("gemini-cli", false, &record).remove(0).body {
                Body::ToolCall(call) => call.error.expect("a failure"),
                other => panic!("no tool call: {other:?}"),
            }
        };
        assert!(failed(2).text.is_empty());
        assert_ne!(failed(2).masked, failed(3).masked);
    }
}
