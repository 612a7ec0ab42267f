//! Codex: log records under `codex.*`. Its several hundred spans a run are internals of the program and tell nothing.
//!
//! *A tool call* is the record `codex.tool_result`, with arguments and result. Its `success` says only that the tool ran:
//! how a command ended stands in a few lines above what it printed, together with things that are new each time, so these
//! lines are read and taken off.
//!
//! *A model call* is the one of the two records `codex.sse_event` of kind `response.completed` that has tokens, as text. A
//! request that was refused is the record `codex.api_request` with a status of 400 or more; one with an `attempt` above
//! zero is a retry. No record says whether the answer was text alone, nor when the call began.
//!
//! *Hand-offs* do not exist; sub-agents stand on tool calls as a path, `/root` being the main agent.
//!
//! *Runs.* The conversation id stands on every record and keys the run. Nothing tells of the end.

use std::borrow::Cow;

use crate::engine::event::{Body, Failure, ModelCall, Recorded, ToolCall};
use crate::engine::policy::Policy;
use crate::normalize::ended::{self, exit_code};
use crate::normalize::records::{Record, count, flag, id, json, pick, text};
use crate::normalize::report::{Outcome, Report};
use crate::normalize::{fingerprint, value};
use crate::otlp::LogView;

/// Reads one log record.
pub(super) fn log(log: &LogView<'_>, report: &mut Report, policy: &Policy) -> Outcome {
    // The record's own event name is a line of Codex's source.
    let [event, conversation, agent] = pick(
        &log.attributes,
        ["event.name", "conversation.id", "agent_name"],
    );
    let mut record = Record::new(log, text(conversation).unwrap_or_default(), report, policy);
    record.agent = text(agent).map(Cow::Borrowed);
    match text(event) {
        Some("codex.tool_result") => tool(&mut record),
        Some("codex.sse_event") => answer(&mut record),
        Some("codex.api_request") => request(&mut record),
        Some("codex.user_prompt") => {
            let time = record.time_ns().to_le_bytes();
            record.tell_finished(&[b"user_prompt", &time], 0, Body::UserMessage);
        }
        _ => {}
    }
    Outcome::Noise
}

fn tool(record: &mut Record<'_, '_>) {
    let [tool, call_id, success, duration, arguments, output] = pick(
        &record.log.attributes,
        [
            "tool_name",
            "call_id",
            "success",
            "duration_ms",
            "arguments",
            "output",
        ],
    );
    let tool = text(tool).unwrap_or_default();
    let printed = output.as_str().map(Printed::of);
    let given = json(arguments).unwrap_or_default();
    let command = value::command_line(&given).unwrap_or_default();
    let how = record.how(tool);
    let (output, told) = match &printed {
        None => (Recorded::NotRecorded, None),
        // How a command ended, its exit code says, and not what it printed.
        Some(printed) if printed.is_of_command || !command.is_empty() => {
            (ended::printed(&how, tool, &given, printed.said()), None)
        }
        Some(printed) => ended::answered(&how, tool, &given, printed.body),
    };
    let error = failure(flag(success), &given, &command, printed.as_ref()).or(told);
    let body = printed.as_ref().map_or("", |printed| printed.body);
    let call = fingerprint::call(&how, value::name(tool), &given, body);
    let call = ToolCall {
        input: value::input_of(&how, arguments),
        output,
        error,
        ..call
    };
    let duration_ms = count(duration).unwrap_or(0);
    record.tell_finished_call(b"tool_result", id(call_id), duration_ms, call);
}

fn failure(
    success: Option<bool>,
    arguments: &str,
    command: &str,
    printed: Option<&Printed<'_>>,
) -> Option<Failure> {
    let body = printed.map_or("", |printed| printed.body.trim());
    let exit_code = printed.and_then(|printed| printed.exit_code).unwrap_or(0);
    if success != Some(false) && !exit_code::failed(command, exit_code, body) {
        return None;
    }
    if body.is_empty() && exit_code != 0 {
        return Some(value::failure(&format!("exit code {exit_code}")));
    }
    Some(value::failure_of_call(body, arguments))
}

/// What a command printed, without the lines that Codex sets above it.
struct Printed<'a> {
    /// Whether it is what a command printed; of other tools, it is what they answered.
    is_of_command: bool,
    /// `None` where the tool is no command, or the command is still running.
    exit_code: Option<i64>,
    is_running: bool,
    body: &'a str,
}

impl<'a> Printed<'a> {
    fn of(output: &'a str) -> Self {
        let Some((head, body)) = output
            .split_once("\nOutput:\n")
            .filter(|(head, _)| head.contains("Wall time:"))
        else {
            return Self {
                is_of_command: false,
                exit_code: None,
                is_running: false,
                body: output,
            };
        };
        let exit_code = head.lines().find_map(|line| {
            line.strip_prefix("Process exited with code ")
                .or_else(|| line.strip_prefix("Exit code: "))?
                .trim()
                .parse()
                .ok()
        });
        Self {
            is_of_command: true,
            exit_code,
            is_running: head.contains("Process running with session ID"),
            body,
        }
    }

    /// A command that still runs has printed nothing yet, which is not an empty result.
    fn said(&self) -> &str {
        if self.is_running && self.body.trim().is_empty() {
            return "still running";
        }
        self.body
    }
}

fn answer(record: &mut Record<'_, '_>) {
    let [kind, model, input, cached, output] = pick(
        &record.log.attributes,
        [
            "event.kind",
            "model",
            "input_token_count",
            "cached_token_count",
            "output_token_count",
        ],
    );
    let (Some("response.completed"), Some(input)) = (text(kind), count(input)) else {
        return;
    };
    let model = ModelCall {
        model: text(model).map(value::name),
        input_tokens: input,
        cached_tokens: count(cached).unwrap_or(0),
        output_tokens: count(output).unwrap_or(0),
        ..ModelCall::default()
    };
    let time = record.time_ns().to_le_bytes();
    record.tell_finished(&[b"sse_event", &time], 0, Body::ModelCall(model));
}

fn request(record: &mut Record<'_, '_>) {
    let [model, duration, status, attempt, error] = pick(
        &record.log.attributes,
        [
            "model",
            "duration_ms",
            "http.response.status_code",
            "attempt",
            "error.message",
        ],
    );
    let time = record.time_ns().to_le_bytes();
    let duration_ms = count(duration).unwrap_or(0);
    if count(attempt) > Some(0) {
        let body = Body::Retry { tool: None };
        record.tell_finished(&[b"retry", &time], duration_ms, body);
    }
    let status = count(status).unwrap_or(0);
    if status < 400 && text(error).is_none() {
        return;
    }
    let reason = text(error).map_or_else(|| Cow::Owned(format!("status {status}")), Cow::Borrowed);
    let model = ModelCall {
        model: text(model).map(value::name),
        error: Some(value::failure(&reason)),
        ..ModelCall::default()
    };
    record.tell_finished(
        &[b"api_request", &time],
        duration_ms,
        Body::ModelCall(model),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::normalize::records::tests::events;

    const SCOPE: &str = "codex_otel.log_only";

    fn call(success: &str, arguments: &str, output: &str) -> ToolCall {
        call_of("exec_command", success, arguments, output)
    }

    fn call_of(tool: &str, success: &str, arguments: &str, output: &str) -> ToolCall {
        let record = json!({"event.name": "codex.tool_result", "conversation.id": "c", "tool_name": tool,
            "call_id": "1", "success": success, "arguments": arguments, "output": output});
        match events(SCOPE, true, &record).remove(0).body {
            Body::ToolCall(call) => call,
            other => panic!("no tool call: {other:?}"),
        }
    }

    fn head(line: &str) -> String {
        format!(
            "Chunk ID: 7862ff\nWall time: 0.0005 seconds\n{line}\nOriginal token count: 15\nOutput:\n"
        )
    }

    #[track_caller]
    fn check(success: &str, arguments: &str, output: &str, expected: Option<&str>) {
        let error = call(success, arguments, output).error;
        assert_eq!(
            error.as_ref().map(|error| &*error.text),
            expected,
            "{output}"
        );
    }

    /// Given a command that makes up something by chance, what it printed is told from what it printed before.
    #[test]
    fn what_is_drawn_is_told_apart() {
        let drawn = |printed: &str| {
            let output = head("Process exited with code 0") + printed;
            let call = call("true", r#"{"cmd":"openssl rand -hex 16"}"#, &output);
            call.output.value().map(|value| value.masked)
        };
        let (one, other) = ("9f86d081884c7d65\n", "60303ae22b998861\n");
        assert_ne!(drawn(one), drawn(other));
    }

    /// Given how a tool ended by its own account and by its output, it failed when either says so.
    #[test]
    fn the_output_tells_of_failures() {
        let (ls, grep) = (
            r#"{"cmd":"ls x"}"#,
            r#"{"command":["bash","-lc","grep x y"]}"#,
        );
        let ended = |code: u8| head(&format!("Process exited with code {code}"));
        check("true", ls, &(ended(2) + "ls: no x\n"), Some("ls: no x"));
        check("true", ls, &ended(1), Some("exit code 1"));
        check("true", grep, &ended(1), None);
        check("true", ls, &ended(0), None);
        check("false", ls, "rejected by user", Some("rejected by user"));
        check(
            "true",
            ls,
            "Exit code: 3\nWall time: 1 seconds\nOutput:\nbad",
            Some("bad"),
        );
    }

    /// Given a tool that is no command and answers that it failed, it failed, though Codex takes it for a success; a command that
    /// prints such words did not.
    #[test]
    fn what_a_tool_answers_tells_of_failures() {
        let said = r#"{"success":false,"message":"No such customer: access denied"}"#;
        let failed = |call: &ToolCall| call.error.is_some();
        for said in [said, "Error: connection refused by 10.0.0.7"] {
            assert!(
                failed(&call_of("crm__lookup", "true", r#"{"id":7}"#, said)),
                "{said}"
            );
            let printed = head("Process exited with code 0") + said;
            assert!(
                !failed(&call("true", r#"{"cmd":"cat a"}"#, &printed)),
                "{said}"
            );
        }
        assert!(!failed(&call_of(
            "crm__lookup",
            "true",
            r#"{"id":7}"#,
            r#"{"name":"Ann"}"#
        )));
    }

    /// Given the same text printed twice, with new ids and times above it, it is the same result; nothing printed is empty
    /// once the command has ended, and not before.
    #[test]
    fn the_lines_above_the_output_are_taken_off() {
        let ended = head("Process exited with code 0");
        let other = ended.replace("7862ff", "402a09").replace("0.0005", "3.2");
        let [one, two] =
            [ended.clone(), other].map(|head| call("true", "{}", &(head + "pending\n")).output);
        assert_eq!(one, two);
        assert!(
            call("true", "{}", &ended)
                .output
                .value()
                .is_some_and(|value| value.empty)
        );
        let running = head("Process running with session ID 4711");
        assert!(
            call("true", "{}", &running)
                .output
                .value()
                .is_some_and(|value| !value.empty)
        );
    }

    /// Given a request that was refused, and one that was tried again, both are told.
    #[test]
    fn refused_requests_are_told() {
        let record = json!({"event.name": "codex.api_request", "conversation.id": "c", "model": "gpt-5", "attempt": 1,
            "http.response.status_code": 429});
        let told = events(SCOPE, true, &record);
        assert_eq!(told[0].body, Body::Retry { tool: None });
        assert!(matches!(&told[1].body, Body::ModelCall(call) if call.error.is_some()));
        assert_ne!(told[0].id, told[1].id);
        let fine = json!({"event.name": "codex.api_request", "attempt": 0, "http.response.status_code": 200});
        assert!(events(SCOPE, true, &fine).is_empty());
    }
}
