//! Claude Code: spans where tracing is on, log records always.
//!
//! *A tool call* is reported by `claude_code.tool`, by its child `….execution`, and by the record `tool_result`, all with
//! the id of the call. `….tool` begins when the model asks, so it includes the time for which a person was asked for
//! permission; a call that waits for a person is not slow, so of this span only the end is told, and the execution and the
//! record say how long it took. The execution alone knows of the failure and does not name the tool: its report has an
//! empty name, and belongs to the call of its id. A shell command's arguments are told as the command alone, which is all
//! that the span has of them; the description beside it is worded anew each time. Results are in the span's event
//! `tool.output`, where recording them is on; a record says only how large they are, of which zero is enough to know.
//!
//! *Tools of MCP servers* are all `mcp_tool` in the records, and have their own names in the spans. A record that has its details
//! says which tool of which server it was; where it does not, the span of the call does.
//!
//! *A model call* is reported by `claude_code.llm_request` and by the record `api_request`, which alone has the cost. They
//! name no request; what the model reported about it, tokens and time to the first of them, is the same in both and makes
//! the id. A failed one is told by the span, or by the record `api_error` where there is no tracing.
//!
//! *Hand-offs* do not exist. The tool `Agent` (formerly `Task`) sets a sub-agent of a kind to work, often several at once:
//! each is told as an agent at work for as long as the call, and what it does carries its opaque id.
//!
//! *Runs.* The session id stands on everything and keys the run. Each `claude_code.interaction` is a turn: a person (or a
//! program) spoke when it began, and when it ended the run was over for the time being. Sub-agents in the background may go
//! on after it.

use std::borrow::Cow;

use crate::engine::event::{AgentSpan, Answer, Body, ModelCall, Recorded, RunEnd, ToolCall};
use crate::engine::policy::{Policy, ToolSettings};
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::records::{Record, count, flag, id, json, pick, text};
use crate::normalize::report::{Outcome, Report};
use crate::normalize::texts::member_text;
use crate::normalize::{fingerprint, usage, value};
use crate::otlp::{Attributes, LogView, ValueView};

/// Tools that run a shell command.
const SHELLS: [&str; 2] = ["Bash", "PowerShell"];

/// What records call the tools of all MCP servers.
const MCP_TOOL: &str = "mcp_tool";

/// Tools that set a sub-agent to work.
const DELEGATES: [&str; 2] = ["Agent", "Task"];

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let [kind, agent] = pick(&reading.span.attributes, ["span.type", "agent_id"]);
    let session = reading.facts.text(Slot::Session);
    let session = session.or(reading.facts.text(Slot::Conversation));
    reading.agent = text(agent).map(Cow::Borrowed);
    match text(kind) {
        Some("tool") => tool_span(reading),
        Some("tool.execution") => execution(reading),
        Some("llm_request") => model_span(reading, session.unwrap_or_default()),
        Some("interaction") => turn(reading),
        Some("tool.blocked_on_user" | "hook" | "subagent.spawn" | "compaction" | "mcp.rpc") => {
            return Outcome::Noise;
        }
        _ => return Outcome::UnknownOperation,
    }
    reading.run(session);
    reading.session(session);
    Outcome::Noise
}

/// Reads one log record.
pub(super) fn log(log: &LogView<'_>, report: &mut Report, policy: &Policy) -> Outcome {
    let [event, session, agent] = pick(&log.attributes, ["event.name", "session.id", "agent_id"]);
    let mut record = Record::new(log, text(session).unwrap_or_default(), report, policy);
    record.agent = text(agent).map(Cow::Borrowed);
    match text(event).map(|event| event.trim_start_matches("claude_code.")) {
        Some("tool_result") => tool_record(&mut record),
        Some("tool_decision") => refusal(&mut record),
        Some("api_request") => model_record(&mut record),
        Some("api_error") if !record.is_traced() => failed_model(&mut record),
        Some("user_prompt") => user_prompt(&mut record),
        _ => {}
    }
    Outcome::Noise
}

fn tool_span(reading: &mut Reading<'_, '_>) {
    let span = reading.span;
    let [call_id, command, subagent] = pick(
        &span.attributes,
        ["tool_use_id", "full_command", "subagent_type"],
    );
    let tool = reading.facts.text(Slot::ToolName).unwrap_or_default();
    let how = reading.policy.tool(tool, reading.agent.as_deref());
    let call = match text(command) {
        Some(command) if SHELLS.contains(&tool) => shell_call(&how, tool, command),
        _ => call(&how, tool, None),
    };
    let printed = span.events.iter().find(|event| event.name == "tool.output");
    let output = printed.map_or(Recorded::NotRecorded, |event| {
        let [output, content] = pick(&event.attributes, ["output", "content"]);
        match output {
            ValueView::Empty => value::output_of(&how, content),
            output => value::output_of(&how, output),
        }
    });
    let error = reading.failure();
    let call_id = id(call_id);
    let call = ToolCall {
        call_id: call_id.map(|id| value::id_hash(&[id.as_bytes()])),
        output,
        error,
        ..call
    };
    reading.tell_at(span.end_ns, Body::ToolCall(call));
    if let (Some(to), Some(call_id)) = (text(subagent), call_id) {
        reading.tell_named(delegation_id(call_id), delegation(to));
    }
}

fn execution(reading: &mut Reading<'_, '_>) {
    let [call_id] = pick(&reading.span.attributes, ["tool_use_id"]);
    let Some(call_id) = id(call_id) else {
        return;
    };
    let call = ToolCall {
        call_id: Some(value::id_hash(&[call_id.as_bytes()])),
        error: reading.failure(),
        ..ToolCall::default()
    };
    reading.tell(Body::ToolCall(call));
}

fn tool_record(record: &mut Record<'_, '_>) {
    let [
        tool,
        call_id,
        success,
        duration,
        error,
        kind,
        input,
        parameters,
        size,
        input_size,
    ] = pick(
        &record.log.attributes,
        [
            "tool_name",
            "tool_use_id",
            "success",
            "duration_ms",
            "error",
            "error_type",
            "tool_input",
            "tool_parameters",
            "tool_result_size_bytes",
            "tool_input_size_bytes",
        ],
    );
    let (input, parameters) = (json(input), json(parameters));
    let call_id = id(call_id);
    let tool = text(tool).unwrap_or_default();
    let tool = &tool_name(record, tool, call_id, parameters.as_deref());
    let how = record.how(tool);
    let failed = flag(success) == Some(false);
    let reason = text(error).or(text(kind)).unwrap_or_default();
    let output = if !failed && count(size) == Some(0) {
        value::output_json(&how, "")
    } else {
        Recorded::NotRecorded
    };
    let input = input.as_deref();
    // Long texts are cut off in the input: how long it was, is told.
    let size = count(input_size).unwrap_or(0);
    let whole = input.filter(|input| input.len() as u64 >= size);
    let mut call = recorded_call(&how, tool, whole, parameters.as_deref());
    if call.input == Recorded::NotRecorded && input.is_some() {
        call.input = Recorded::Redacted;
    }
    call.output = output;
    call.error = failed.then(|| value::failure(reason));
    let duration_ms = count(duration).unwrap_or(0);
    record.tell_finished_call(b"tool_result", call_id, duration_ms, call);
    let subagent = input.and_then(|input| value::member(input, &["subagent_type"]));
    let call_id = call_id.filter(|_| DELEGATES.contains(&&**tool));
    if let (Some(to), Some(call_id)) = (subagent, call_id) {
        let body = delegation(&value::unquote(to));
        record.tell_named(delegation_id(call_id), duration_ms, body);
    }
}

/// A call that a person or a rule refused: it is told by this record alone and never runs.
fn refusal(record: &mut Record<'_, '_>) {
    let [decision, tool, call_id, source, parameters] = pick(
        &record.log.attributes,
        [
            "decision",
            "tool_name",
            "tool_use_id",
            "source",
            "tool_parameters",
        ],
    );
    if text(decision) != Some("reject") {
        return;
    }
    let (call_id, parameters) = (id(call_id), json(parameters));
    let tool = text(tool).unwrap_or_default();
    let tool = &tool_name(record, tool, call_id, parameters.as_deref());
    let reason = format!("refused by {}", text(source).unwrap_or("the user"));
    let mut call = recorded_call(&record.how(tool), tool, None, parameters.as_deref());
    call.error = Some(value::failure(&reason));
    record.tell_finished_call(b"tool_decision", call_id, 0, call);
}

/// The name of the tool of a record as spans have it: of a tool of an MCP server only where the parameters tell it. Where they do
/// not, the call's span does, and nobody if the program does not trace.
fn tool_name<'t>(
    record: &Record<'_, '_>,
    tool: &'t str,
    call_id: Option<&str>,
    parameters: Option<&str>,
) -> Cow<'t, str> {
    if tool != MCP_TOOL {
        return Cow::Borrowed(tool);
    }
    let part = |key| member_text(parameters?, &[key]).filter(|part| !part.is_empty());
    match (part("mcp_server_name"), part("mcp_tool_name")) {
        (Some(server), Some(tool)) => Cow::Owned(format!("mcp__{server}__{tool}")),
        _ if record.is_traced() && call_id.is_some() => Cow::Borrowed(""),
        _ => Cow::Borrowed(tool),
    }
}

/// A call as a record tells it: with the whole of its arguments, if they were recorded, but with a shell command as the span has
/// it.
fn recorded_call(
    how: &ToolSettings<'_>,
    tool: &str,
    input: Option<&str>,
    parameters: Option<&str>,
) -> ToolCall {
    if SHELLS.contains(&tool) {
        // The parameters hold the command in full, whatever was cut off of the input.
        let command = parameters
            .and_then(|json| value::member(json, &["full_command"]))
            .or_else(|| input.and_then(|json| value::member(json, &["command"])));
        if let Some(command) = command {
            return shell_call(how, tool, &value::unquote(command));
        }
    }
    call(how, tool, input)
}

fn shell_call(how: &ToolSettings<'_>, tool: &str, command: &str) -> ToolCall {
    let command = serde_json::Value::from(command);
    call(how, tool, Some(&format!("{{\"command\":{command}}}")))
}

/// A call, without its id and what came of it.
fn call(how: &ToolSettings<'_>, tool: &str, input: Option<&str>) -> ToolCall {
    ToolCall {
        input: input.map_or(Recorded::NotRecorded, |input| value::input_json(how, input)),
        hands_off: false,
        ..fingerprint::call(how, value::name(tool), input.unwrap_or_default(), "")
    }
}

/// A sub-agent at work for as long as its call: side by side they hand nothing over.
fn delegation(to: &str) -> Body {
    Body::AgentSpan(AgentSpan {
        name: value::name(to),
        input: Recorded::NotRecorded,
        output: Recorded::NotRecorded,
    })
}

/// The same in span and record, so that a delegation told by both is one.
fn delegation_id(call_id: &str) -> u64 {
    value::id_hash(&[b"delegation", call_id.as_bytes()])
}

fn model_span(reading: &mut Reading<'_, '_>, session: &str) {
    let span = reading.span;
    let [success, stop_reason] = pick(&span.attributes, ["success", "stop_reason"]);
    let mut model = model_call(&span.attributes, session);
    model.answer = match text(stop_reason) {
        Some("tool_use") => Answer::ToolCalls(1),
        Some("end_turn" | "stop_sequence" | "max_tokens") => Answer::Text(None),
        _ => Answer::Unknown,
    };
    model.error = reading.failure().or_else(|| {
        let [error] = pick(&span.attributes, ["error"]);
        let failed = flag(success) == Some(false);
        failed.then(|| value::failure(text(error).unwrap_or_default()))
    });
    reading.tell(Body::ModelCall(model));
    let tries = span.events.iter().filter(|event| {
        let [attempt] = pick(&event.attributes, ["attempt"]);
        event.name == "gen_ai.request.attempt" && count(attempt) > Some(1)
    });
    for event in tries {
        reading.tell_at(event.time_ns, Body::Retry { tool: None });
    }
}

fn model_record(record: &mut Record<'_, '_>) {
    let attributes = &record.log.attributes;
    let [duration, micros, cost, sequence] = pick(
        attributes,
        [
            "duration_ms",
            "cost_usd_micros",
            "cost_usd",
            "event.sequence",
        ],
    );
    let mut model = model_call(attributes, record.session);
    let dollars = match cost {
        ValueView::Double(usd) => Some(usd),
        ValueView::Int(usd) => Some(usd as f64),
        ValueView::Str(usd) => usd.trim().parse().ok(),
        _ => None,
    };
    model.cost_microusd = count(micros).or_else(|| usage::microusd(dollars?));
    let sequence = count(sequence).unwrap_or(0).to_le_bytes();
    let time = record.time_ns().to_le_bytes();
    record.tell_finished(
        &[b"api_request", &sequence, &time],
        count(duration).unwrap_or(0),
        Body::ModelCall(model),
    );
}

fn failed_model(record: &mut Record<'_, '_>) {
    let attributes = &record.log.attributes;
    let [duration, error, sequence] = pick(attributes, ["duration_ms", "error", "event.sequence"]);
    let mut model = model_call(attributes, record.session);
    model.call_id = None;
    model.error = Some(value::failure(text(error).unwrap_or_default()));
    let sequence = count(sequence).unwrap_or(0).to_le_bytes();
    let time = record.time_ns().to_le_bytes();
    record.tell_finished(
        &[b"api_error", &sequence, &time],
        count(duration).unwrap_or(0),
        Body::ModelCall(model),
    );
}

/// What span and record say alike about a model call.
fn model_call(attributes: &Attributes<'_>, session: &str) -> ModelCall {
    let [model, input, output, cache_read, cache_written, first_ms] = pick(
        attributes,
        [
            "model",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_creation_tokens",
            "ttft_ms",
        ],
    );
    let figures = [input, output, cache_read, cache_written, first_ms]
        .map(|figure| count(figure).unwrap_or(0));
    let [input, output, cache_read, cache_written, _] = figures;
    let answered = output > 0;
    let figures = figures.map(u64::to_le_bytes).concat();
    ModelCall {
        model: text(model).map(value::name),
        call_id: answered.then(|| value::id_hash(&[session.as_bytes(), &figures])),
        input_tokens: input
            .saturating_add(cache_read)
            .saturating_add(cache_written),
        cached_tokens: cache_read,
        output_tokens: output,
        ..ModelCall::default()
    }
}

fn turn(reading: &mut Reading<'_, '_>) {
    let [prompt_length] = pick(&reading.span.attributes, ["user_prompt_length"]);
    if count(prompt_length).is_some() {
        reading.tell_at(reading.span.start_ns, Body::UserMessage);
    }
    if reading.is_root() {
        let error = reading.failure();
        reading.tell_at(reading.span.end_ns, Body::RunEnd(RunEnd { error }));
    }
}

fn user_prompt(record: &mut Record<'_, '_>) {
    if record.is_traced() {
        record.tell_as_span(Body::UserMessage);
        return;
    }
    let [prompt] = pick(&record.log.attributes, ["prompt.id"]);
    let prompt = text(prompt).unwrap_or_default();
    record.tell_finished(&[b"user_prompt", prompt.as_bytes()], 0, Body::UserMessage);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::event::{Event, Manner};
    use crate::normalize::records::tests::events;

    const PLAIN: ToolSettings<'_> = ToolSettings::PLAIN;

    fn told(traced: bool, record: &serde_json::Value) -> Vec<Event> {
        events("com.anthropic.claude_code.events", traced, record)
    }

    fn tool_call(event: &Event) -> &ToolCall {
        match &event.body {
            Body::ToolCall(call) => call,
            other => panic!("no tool call: {other:?}"),
        }
    }

    /// Given a call of the tool that sets a sub-agent to work, by that sub-agent's parent, the delegation is told too.
    #[test]
    fn delegations_are_told() {
        let record = json!({"event.name": "tool_result", "session.id": "s", "agent_id": "a1", "tool_name": "Agent",
            "tool_use_id": "1", "success": "true", "duration_ms": "1000",
            "tool_input": r#"{"subagent_type":"Explore","prompt":"look around"}"#});
        let told = told(false, &record);
        assert_eq!(&*tool_call(&told[0]).tool, "Agent");
        assert_eq!(told[1].body, delegation("Explore"));
        assert_eq!(told[1].end_ns, told[0].end_ns);
        assert_eq!(told[1].id, delegation_id("1"));
        assert_eq!(told[1].start_ns, told[0].start_ns);
    }

    /// Given an input of which long texts were cut off, as its size tells, the arguments are hidden; a shell's command is known.
    #[test]
    fn what_was_cut_off_is_not_known() {
        let write = |content: &str, size: usize| {
            let input = json!({"file_path": "/a.rs", "content": content}).to_string();
            let size = (input.len() + size).to_string();
            let record = json!({"event.name": "tool_result", "session.id": "s", "tool_name": "Write", "tool_use_id": "1",
                "tool_input": input, "tool_input_size_bytes": size});
            tool_call(&told(false, &record)[0]).clone()
        };
        assert!(write("fn main() {}", 0).input.value().is_some());
        let cut = write("use std::fs…", 900);
        assert_eq!((cut.input, cut.traits.main), (Recorded::Redacted, None));
        let shell = json!({"event.name": "tool_result", "session.id": "s", "tool_name": "Bash", "tool_use_id": "1",
            "tool_input": r#"{"command":"make…"}"#, "tool_input_size_bytes": "900",
            "tool_parameters": r#"{"full_command":"make all"}"#});
        let shell = tool_call(&told(false, &shell)[0]).clone();
        assert_eq!(shell.input, shell_call(&PLAIN, "Bash", "make all").input);
    }

    /// Given a decision, only a refusal is told: what was allowed is told when it is over.
    #[test]
    fn refusals_are_told() {
        let decision = |decision: &str| {
            json!({"event.name": "tool_decision", "session.id": "s", "tool_name": "Bash", "tool_use_id": "1",
                "decision": decision, "source": "user_reject", "tool_parameters": r#"{"full_command":"rm -r x"}"#})
        };
        assert!(told(true, &decision("accept")).is_empty());
        let refused = told(true, &decision("reject"));
        let call = tool_call(&refused[0]);
        assert_eq!(
            &*call.error.as_ref().expect("a failure").text,
            "refused by user_reject"
        );
        assert_eq!(call.input, shell_call(&PLAIN, "Bash", "rm -r x").input);
    }

    /// Given a call of an MCP server's tool, which records call like all others, it is the tool that its details name; without
    /// them, the one that its span names, and where nothing is traced one of those that nobody names.
    #[test]
    fn tools_of_mcp_servers_have_their_names() {
        let named = |traced: bool, event: &str, id: &str, parameters: &str| {
            let record = json!({"event.name": event, "session.id": "s", "tool_name": "mcp_tool", "tool_use_id": id,
                "decision": "reject", "tool_parameters": parameters, "tool_input": r#"{"query":"x"}"#});
            tool_call(&told(traced, &record)[0]).tool.to_string()
        };
        let details = r#"{"mcp_server_name":"docs","mcp_tool_name":"search"}"#;
        for event in ["tool_result", "tool_decision"] {
            for traced in [true, false] {
                assert_eq!(named(traced, event, "1", details), "mcp__docs__search");
            }
            assert_eq!(named(true, event, "1", "{}"), "", "{event}");
            assert_eq!(named(true, event, "", "{}"), "mcp_tool", "{event}");
            assert_eq!(named(false, event, "1", "{}"), "mcp_tool", "{event}");
        }
    }

    /// Given a shell command with a long text in it, it counts as the whole command, whatever the description beside it.
    #[test]
    fn a_command_counts_alone() {
        let told = |input: &str, parameters: &str| {
            recorded_call(&PLAIN, "Bash", Some(input), Some(parameters))
        };
        let full = r#"{"full_command":"echo \"a\"","description":"one"}"#;
        assert_eq!(
            told(r#"{"command":"echo…"}"#, full),
            shell_call(&PLAIN, "Bash", "echo \"a\"")
        );
        assert_eq!(
            told(r#"{"command":"ls","description":"two"}"#, "{}"),
            shell_call(&PLAIN, "Bash", "ls")
        );
        let unknown = recorded_call(&PLAIN, "Read", None, None);
        assert_eq!(unknown, call(&PLAIN, "Read", None));
        assert_eq!(unknown.input, Recorded::NotRecorded);
    }

    /// Given a shell command that only looks, the call looks, as the guard's hook says of the same one.
    #[test]
    fn a_command_may_only_look() {
        for (command, expected) in [("ls -l", Manner::Looks), ("rm x", Manner::Unknown)] {
            let record = json!({"event.name": "tool_result", "session.id": "s", "tool_name": "Bash", "tool_use_id": "1",
                "tool_parameters": json!({"full_command": command}).to_string()});
            let told = told(false, &record);
            assert_eq!(tool_call(&told[0]).manner, expected, "{command}");
        }
    }

    /// Given a model call that failed, it is told once: by its record only where no span tells it.
    #[test]
    fn failed_model_calls_are_told_once() {
        let record = json!({"event.name": "api_error", "session.id": "s", "model": "m", "error": "overloaded",
            "duration_ms": "10", "attempt": "3"});
        assert!(told(true, &record).is_empty());
        let failed = told(false, &record);
        assert!(matches!(&failed[0].body, Body::ModelCall(call) if call.error.is_some()));
    }

    /// Given a prompt in a session that is not traced, it is a user message all the same.
    #[test]
    fn prompts_need_no_trace() {
        let record = json!({"event.name": "user_prompt", "session.id": "s", "prompt.id": "p"});
        let [traced, untraced] = [true, false].map(|traced| told(traced, &record).remove(0));
        assert_eq!(
            (&traced.body, &untraced.body),
            (&Body::UserMessage, &Body::UserMessage)
        );
        assert_ne!(traced.id, untraced.id);
    }
}
