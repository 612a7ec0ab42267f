//! OpenInference: Arize's instrumentations, one per framework, told apart by `openinference.span.kind`.
//!
//! The kinds are the same everywhere; what stands in `input.value` and `output.value` is each framework's own affair, and
//! so are the exceptions below. Redacted values (`__REDACTED__`) come out of the value layer as such.
//!
//! *Hand-offs.* openai-agents marks `handoff to B` as a tool span: it is a hand-off from `input.value` to `output.value`
//! and no tool call. LangGraph shows them as tools `transfer_to_B`, CrewAI as a tool that delegates: both are tool calls
//! and hand-offs. smolagents runs the other agent inside a step: nested agent spans, nothing else. autogen's tool span
//! encloses the `execute_tool` span of autogen itself, which tells the hand-off; it is not told twice.
//!
//! *Runs.* A parentless AGENT or CHAIN span is a request to the framework, and its end is the run's. openai-agents gives
//! that span the status OK whatever happened, and marks the agent's span when the run failed: so an agent's span with an
//! error ends the run, too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::engine::event::{Answer, Body, ModelCall, Recorded, RunEnd};
use crate::otlp::ValueView;

use super::answer::{self, FINAL_ANSWER};
use super::facts::Slot;
use super::reading::{Call, Reading, json_text, member_text};
use super::{Outcome, value};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let framework = Framework::of(reading.span.scope_name);
    place(reading, framework);
    match reading.facts.text(Slot::OpenInferenceKind) {
        Some("LLM") => reading.tell_model_call(answer::of(reading.facts)),
        Some("TOOL") => tool(reading, framework),
        Some("AGENT") => agent(reading, framework),
        Some("CHAIN") => chain(reading, framework),
        // The kind is the last attribute of a span and is lost first where a sender cuts spans short.
        None if reading.facts.has(Slot::ToolName) => tool(reading, framework),
        None if reading.facts.has(Slot::Model) => {
            reading.tell_model_call(answer::of(reading.facts))
        }
        Some("RETRIEVER" | "RERANKER" | "EMBEDDING" | "GUARDRAIL" | "EVALUATOR" | "PROMPT")
        | None => {}
        Some(_) => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

/// Frameworks whose values need unwrapping, or whose spans mean something else than their kind says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framework {
    LangChain,
    OpenAiAgents,
    Smolagents,
    CrewAi,
    Autogen,
    Haystack,
    Other,
}

impl Framework {
    fn of(scope_name: &str) -> Self {
        match scope_name.rsplit('.').next().unwrap_or_default() {
            "langchain" => Self::LangChain,
            "openai_agents" => Self::OpenAiAgents,
            "smolagents" => Self::Smolagents,
            "crewai" => Self::CrewAi,
            "autogen_agentchat" | "autogen" => Self::Autogen,
            "haystack" => Self::Haystack,
            _ => Self::Other,
        }
    }
}

/// Whose span it is. LangGraph's thread is the conversation and stands on every span; a session that the application
/// names may span many workers, so it is kept beside the run.
fn place(reading: &mut Reading<'_, '_>, framework: Framework) {
    reading.session(reading.facts.text(Slot::Session));
    if framework != Framework::LangChain {
        return;
    }
    let Some(metadata) = reading.facts.text(Slot::Metadata) else {
        return;
    };
    reading.run(member_text(metadata, &["thread_id"]).as_deref());
    if let Some(name) = member_text(metadata, &["lc_agent_name"]) {
        reading.agent = Some(name);
    }
}

fn agent(reading: &mut Reading<'_, '_>, framework: Framework) {
    let facts = reading.facts;
    if reading.agent.is_none() {
        reading.agent = match framework {
            // Its workflow span: not an agent, though it is marked as one.
            Framework::OpenAiAgents => None,
            _ => Some(Cow::Borrowed(reading.span.name.trim_end_matches(".run"))),
        };
    }
    let (input, output) = match framework {
        // Both are the whole state of the graph, with ids in it.
        Framework::LangChain => (Recorded::NotRecorded, Recorded::NotRecorded),
        // The input holds the agent's whole definition.
        Framework::CrewAi => (
            Recorded::NotRecorded,
            member_or_all(facts.value(Slot::Output), "raw"),
        ),
        Framework::Smolagents => (
            member_or_all(facts.value(Slot::Input), "task"),
            value::output(facts.value(Slot::Output)),
        ),
        _ => (
            value::input(facts.value(Slot::Input)),
            value::output(facts.value(Slot::Output)),
        ),
    };
    reading.tell_agent(input, output);
    if reading.is_root() {
        reading.tell_turn();
    } else if framework == Framework::OpenAiAgents {
        if let Some(error) = reading.failure() {
            reading.tell_at(
                reading.span.end_ns,
                Body::RunEnd(RunEnd { error: Some(error) }),
            );
        }
    }
}

fn chain(reading: &mut Reading<'_, '_>, framework: Framework) {
    if reading.is_root() {
        reading.tell_turn();
    }
    if framework == Framework::Haystack {
        haystack_agent(reading);
    }
}

/// Haystack has spans for components only. Its agent's output counts steps, tool calls and tokens, and holds the
/// transcript as Python text, which is left alone: what it did is known to have been done, not how. One model call
/// stands for all of them, so that the run can be seen to have called tools that nobody saw.
fn haystack_agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let Some(output) = facts.text(Slot::Output) else {
        return;
    };
    let Some(counts) = value::member(output, &["tool_call_counts"]) else {
        return;
    };
    let usage = |key| {
        value::member(output, &["token_usage", key])
            .and_then(|count| count.parse().ok())
            .unwrap_or(0)
    };
    let calls = sum_of_members(counts);
    let answer = if calls > 0 {
        Answer::ToolCalls(calls)
    } else {
        Answer::Text(None)
    };
    let (input_tokens, output_tokens) = (usage("prompt_tokens"), usage("completion_tokens"));
    reading.tell(Body::ModelCall(ModelCall {
        input_tokens,
        output_tokens,
        answer,
        ..ModelCall::default()
    }));
}

/// The sum of an object's whole-number members: `{"search": 2, "read": 1}`.
fn sum_of_members(object: &str) -> u32 {
    serde_json::from_str(object).map_or(0, |counts: BTreeMap<Cow<'_, str>, u32>| {
        counts.values().sum()
    })
}

fn tool(reading: &mut Reading<'_, '_>, framework: Framework) {
    let (facts, name) = (reading.facts, reading.span.name);
    if let (Framework::OpenAiAgents, Some(receiver)) = (framework, name.strip_prefix("handoff to "))
    {
        return handoff(reading, receiver);
    }
    let tool = facts
        .text(Slot::ToolName)
        .unwrap_or_else(|| name.trim_end_matches(".run"));
    if framework == Framework::Smolagents && tool == FINAL_ANSWER {
        return;
    }
    if framework == Framework::Autogen && reading.agent.is_none() {
        let agent = name
            .strip_suffix(tool)
            .and_then(|rest| rest.strip_suffix('.'));
        reading.agent = agent.map(Cow::Borrowed);
    }
    let plain = Call {
        tool,
        call_id: facts.text(Slot::CallId).map(Cow::Borrowed),
        arguments: json_text(facts.value(Slot::Input)),
        result: json_text(facts.value(Slot::Output)),
        handoff_told_elsewhere: framework == Framework::Autogen,
    };
    let call = match framework {
        Framework::LangChain => langchain_call(plain),
        Framework::Smolagents => smolagents_call(plain),
        _ => plain,
    };
    reading.tell_call(&call);
}

/// openai-agents' hand-off: from whom and to whom stand where a tool has its arguments and its result.
fn handoff(reading: &mut Reading<'_, '_>, receiver: &str) {
    let text = |slot| {
        value::output(reading.facts.value(slot))
            .value()
            .and_then(|_| reading.facts.text(slot))
    };
    let (from, to) = (text(Slot::Input), text(Slot::Output).unwrap_or(receiver));
    reading.tell_handoff(from.map(value::name), to);
}

/// LangChain's result is a message around the tool's own, or a command with such a message in it, and the only place
/// where the call's id stands. A single argument is recorded as its bare text; it stays that.
fn langchain_call(plain: Call<'_>) -> Call<'_> {
    let Some(Cow::Borrowed(output)) = plain.result else {
        return plain;
    };
    let message = value::member(output, &["update", "messages", "0"]).unwrap_or(output);
    let Some(content) = member_text(message, &["data", "content"]) else {
        return plain;
    };
    Call {
        call_id: member_text(message, &["data", "tool_call_id"]),
        result: Some(content),
        ..plain
    }
}

/// smolagents records how the tool's function was called; most tools are called with names for all arguments.
fn smolagents_call(plain: Call<'_>) -> Call<'_> {
    let Some(Cow::Borrowed(call)) = plain.arguments else {
        return plain;
    };
    let Some(named) = value::member(call, &["kwargs"]) else {
        return plain;
    };
    let arguments = match value::member(call, &["args"]) {
        None | Some("[]") => Cow::Borrowed(named),
        Some(unnamed) if named == "{}" => Cow::Borrowed(unnamed),
        Some(unnamed) => Cow::Owned(format!("[{unnamed},{named}]")),
    };
    Call {
        arguments: Some(arguments),
        ..plain
    }
}

/// One member of a JSON object, or the whole value where there is no such member.
fn member_or_all(value: ValueView<'_>, member: &str) -> Recorded {
    let found = value
        .as_str()
        .and_then(|json| value::member(json, &[member]));
    found.map_or_else(|| value::output(value), value::output_json)
}
