//! Spans that follow no convention, but say in a key of their maker's own what kind of span they are: Mastra, `VoltAgent`,
//! Genkit, AG2, Spring AI, agentUniverse, and what observers' decorators make (`LangWatch`, Laminar, `MLflow`, `AgentOps`,
//! Braintrust, Judgeval, `DeepEval`, Agenta, `CozeLoop`, `HoneyHive`).
//!
//! Each has its own key for the kind and its own for what went in and came out, but the words for kinds are nearly the same
//! everywhere, and so are the values: plain JSON. One reading serves them all, and most of those that are still to come. A
//! kind that is not known here is taken for no agent's: `span.type` may as well be somebody's database.
//!
//! *Wrappers.* `LangWatch` names the type of a value beside it; `MLflow` writes every attribute as JSON, names as well, and
//! knows smolagents' tools by their class alone, with their arguments among how they are called;
//! Braintrust's kind is a member of an object; Agenta says before a value that it is JSON; `HoneyHive` has an attribute for
//! each argument.
//!
//! *Model calls.* Tokens and answer may stand in the reply alone ([`reply`]). Mastra has a generation around its steps: it
//! is told where it has the tokens of them all.
//!
//! *Runs.* The trace, where no conversation is named; a root of any kind is a request. The session is shown.

use std::borrow::Cow;

use crate::normalize::answer::FINAL_ANSWER;
use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::{reply, value, wrappers};

use super::{gen_ai, laminar};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    let Some(kind) = facts.text(Slot::OwnKind).and_then(Kind::named) else {
        return Outcome::NoDialect;
    };
    let session = facts.id(Slot::Session);
    reading.session(session.as_deref());
    if matches!(kind, Kind::Tool | Kind::Model) {
        reading.run_of_call(None);
    }
    match kind {
        Kind::Tool => tool(reading),
        Kind::Generation if !facts.has(Slot::InputTokens) => {}
        Kind::Generation | Kind::Model => model(reading),
        Kind::Agent if is_around(reading) => {}
        Kind::Agent => agent(reading),
        Kind::Request | Kind::Step => {}
    }
    if reading.is_root() && matches!(kind, Kind::Agent | Kind::Request) {
        reading.tell_turn();
    }
    Outcome::Noise
}

/// Whether a span that is marked as an agent's is around the agents: `MLflow`'s of openai-agents, and traceAI's of pydantic-ai
/// without a name.
fn is_around(reading: &Reading<'_, '_>) -> bool {
    match reading.span.name {
        "AgentRunner.run" => true,
        "pydantic_ai.agent.run" => reading.agent.is_none(),
        _ => false,
    }
}

/// What a span stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tool,
    Model,
    /// Several calls of a model with what lies between them.
    Generation,
    Agent,
    /// What a program is asked for, where it is a root; else a step.
    Request,
    Step,
}

impl Kind {
    /// The kind by its word, which may be JSON.
    fn named(word: &str) -> Option<Self> {
        let within = member_text(word, &["type"]);
        let word = within.as_deref().unwrap_or(word);
        let word = word.trim_matches('"').to_ascii_lowercase();
        Some(match word.as_str() {
            "tool" | "tool_call" | "mcp_tool_call" | "client_tool_call" | "provider_tool_call"
            | "function" | "function_call" => Self::Tool,
            "llm" | "model" | "chat" | "chat_model" | "completion" | "generation"
            | "model_inference" | "model_request" => Self::Model,
            "model_generation" => Self::Generation,
            "agent" | "agent_run" | "subagent" => Self::Agent,
            "chat_client" | "workflow" | "workflow_run" | "flow" | "chain" | "session"
            | "conversation" | "multi_conversation" | "task" | "operation" | "request"
            | "graph" | "pipeline" | "action" | "span" | "default" | "unknown" => Self::Request,
            "advisor" | "vector_store" | "step" | "model_step" | "model_chunk"
            | "workflow_step" | "usage" | "human_input" | "speaker_selection"
            | "code_execution" | "memory" | "retriever" | "retrieval" | "rag" | "embedding"
            | "embedder" | "reranker" | "indexer" | "parser" | "prompt" | "util" | "helper"
            | "component" | "module" | "processor_run" | "guardrail" | "evaluation"
            | "evaluator" | "scorer" | "result_validation" | "retry" | "stream" => Self::Step,
            _ => return None,
        })
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    if laminar::tell_call(reading) {
        return;
    }
    let facts = reading.facts;
    let described = described(reading);
    let tool = facts
        .text(Slot::ToolName)
        .or(described.as_deref())
        .unwrap_or_else(|| named_in(reading.span.name));
    // smolagents' way to answer.
    let is_smolagents = reading.span.scope_name.contains("smolagents");
    if tool == "FinalAnswerTool" || is_smolagents && tool == FINAL_ANSWER {
        return;
    }
    let mut call = Call::of(tool, facts);
    call.arguments = call
        .arguments
        .or_else(|| json_text(facts.value(Slot::PlainInput)))
        .or_else(|| json_text(facts.value(Slot::Input)))
        .map(|arguments| wrappers::within(arguments, typed))
        .or_else(|| one_by_one(reading));
    call.result = call
        .result
        .or_else(|| json_text(facts.value(Slot::PlainOutput)))
        .or_else(|| json_text(facts.value(Slot::Output)))
        .map(|result| wrappers::within(result, typed));
    if described.is_some() {
        call.unwrap_tool_output();
    }
    reading.tell_call(&call);
}

fn model(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let output = json_text(facts.value(Slot::PlainOutput));
    let output = output.map(|output| wrappers::within(output, typed));
    let reply = output.as_deref().map(reply::of);
    reading.tell_model_call_with(&reply.unwrap_or_default());
    if laminar::is_client(reading) {
        reading.tell_asked_and_answered();
    }
}

fn agent(reading: &mut Reading<'_, '_>) {
    let (facts, name) = (reading.facts, reading.span.name);
    if reading.agent.is_none() {
        let named = facts.text(Slot::AgentId).unwrap_or_else(|| named_in(name));
        reading.agent = Some(Cow::Borrowed(named));
    }
    reading.tell_agent(
        value::input(facts.value(Slot::PlainInput)),
        value::output(facts.value(Slot::PlainOutput)),
    );
    // `MLflow`'s agents of autogen have tools, and no spans of them.
    if facts.has(Slot::ToolDefinitions) && !reading.is_root() {
        gen_ai::tell_unseen_tools(reading);
    }
}

/// The name of the thing in a span's name, without the word for its kind: `tool.execution:search`, `tool: search`,
/// `search.tool`, `agent.support`.
fn named_in(span: &str) -> &str {
    const BEFORE: [&str; 8] = [
        "execute_tool ",
        "tool.execution:",
        "tool.execute ",
        "tool:",
        "tool ",
        "invoke_agent ",
        "agent run: ",
        "agent.",
    ];
    // The last are methods, as `MLflow` names spans.
    const AFTER: [&str; 8] = [
        ".tool",
        ".__call__",
        ".run",
        ".run_sync",
        ".run_stream",
        ".on_messages",
        ".on_messages_stream",
        ".stream",
    ];
    let before = BEFORE.iter().find_map(|word| span.strip_prefix(word));
    let named = before.unwrap_or(span).trim();
    let mut after = AFTER.iter();
    let named = after
        .find_map(|word| named.strip_suffix(word))
        .unwrap_or(named);
    named.trim_matches('\'')
}

/// The name of a tool of llama-index's, which `MLflow` has as an attribute: its span is called after the class.
fn described<'a>(reading: &Reading<'_, 'a>) -> Option<Cow<'a, str>> {
    let is_class = reading.span.name.starts_with("FunctionTool.");
    let name = reading.facts.text(Slot::LogfireName).filter(|_| is_class);
    name.map(value::unquote)
}

/// Arguments that have an attribute each, as `HoneyHive` writes them.
fn one_by_one(reading: &Reading<'_, '_>) -> Option<Cow<'static, str>> {
    let mut members = String::new();
    for (key, value) in &reading.span.attributes {
        let Some(name) = key.strip_prefix("honeyhive_inputs.") else {
            continue;
        };
        members.push_str(if members.is_empty() { "{" } else { "," });
        members.push_str(&serde_json::Value::from(name).to_string());
        members.push(':');
        value.write_json(&mut members);
    }
    (!members.is_empty()).then(|| Cow::Owned(members + "}"))
}

/// A value with its type beside it, `{"type": "json", "value": …}`, or before it.
fn typed(whole: &str) -> Option<Cow<'_, str>> {
    if let Some(json) = whole.strip_prefix("@ag.type=json:") {
        return Some(Cow::Borrowed(json));
    }
    if wrappers::begins_with(whole, &["sanitize_inputs_outputs"]) {
        return value::member(whole, &["kwargs"]).map(Cow::Borrowed);
    }
    if let Some(result) = wrappers::only_member(whole, "_value") {
        return Some(result);
    }
    if !whole.starts_with('{') || value::members(whole).count() != 2 {
        return None;
    }
    value::member(whole, &["type"])?;
    member_text(whole, &["value"])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    fn check(scope: &'static str, name: &str, attributes: &Value, expected: &[&str]) {
        assert_eq!(Captured::new(scope, name, attributes).told(), expected);
    }

    /// Tools, each as its maker writes it, are the same call.
    #[test]
    fn tools_of_many_makers() {
        let (given, got) = (r#"{"query":"x"}"#, r#"{"results":[]}"#);
        let expected = [r#"call search({"query":"x"}) = 14 bytes"#];
        for (name, attributes) in [
            (
                "tool.execute search",
                json!({"gen_ai.operation.name": "tool.execute", "mastra.span.type": "tool_call",
                    "gen_ai.tool.name": "search", "input": given, "output": got}),
            ),
            (
                "search",
                json!({"genkit:type": "action", "genkit:metadata:subtype": "tool", "genkit:input": given,
                    "genkit:output": got}),
            ),
            (
                "search",
                json!({"langwatch.span.type": "tool",
                    "langwatch.input": {"type": "json", "value": {"query": "x"}},
                    "langwatch.output": {"type": "text", "value": got}}),
            ),
            (
                "search",
                json!({"lmnr.span.type": "TOOL", "lmnr.span.input": given, "lmnr.span.output": got}),
            ),
            (
                "search",
                json!({"mlflow.spanType": "\"TOOL\"", "mlflow.spanInputs": given, "mlflow.spanOutputs": got}),
            ),
            (
                "search.tool",
                json!({"agentops.span.kind": "tool", "agentops.entity.input": given,
                    "agentops.entity.output": got}),
            ),
            (
                "tool_call search",
                json!({"gen_ai.operation.name": "framework", "spring.ai.kind": "tool_call",
                    "spring.ai.tool.definition.name": "search", "spring.ai.tool.call.arguments": given,
                    "spring.ai.tool.call.result": got}),
            ),
            (
                "search",
                json!({"gen_ai.span.kind": "TOOL", "tool.name": "search", "input.value": given, "output.value": got}),
            ),
            (
                "search",
                json!({"braintrust.span_attributes": "{\"type\": \"tool\", \"name\": \"search\"}",
                    "braintrust.input_json": given, "braintrust.output_json": got}),
            ),
            (
                "search",
                json!({"judgment.span_kind": "tool", "judgment.input": given, "judgment.output": got}),
            ),
            (
                "function_tool",
                json!({"lk.function_tool.name": "search", "lk.function_tool.arguments": given,
                    "lk.function_tool.output": got}),
            ),
        ] {
            check("somebody's", name, &attributes, &expected);
        }
    }

    /// The same of those who put more around it.
    #[test]
    fn tools_of_more_makers() {
        let (given, got) = (r#"{"query":"x"}"#, r#"{"results":[]}"#);
        let expected = [r#"call search({"query":"x"}) = 14 bytes"#];
        for (name, attributes) in [
            (
                "search",
                json!({"confident.span.type": "tool", "confident.span.input": given, "confident.span.output": got}),
            ),
            (
                "search",
                json!({"ag.type.node": "tool", "ag.data.inputs": format!("@ag.type=json:{given}"),
                    "ag.data.outputs": got}),
            ),
            (
                "search.__call__",
                json!({"mlflow.spanType": "\"TOOL\"",
                    "mlflow.spanInputs": format!(r#"{{"sanitize_inputs_outputs": true, "kwargs": {given}}}"#),
                    "mlflow.spanOutputs": json!({"_value": got}).to_string()}),
            ),
            (
                "FunctionTool.acall",
                json!({"mlflow.spanType": "\"TOOL\"", "name": "\"search\"", "mlflow.spanInputs": format!(r#"{{"kwargs": {given}}}"#),
                    "mlflow.spanOutputs": json!({"blocks": [{"block_type": "text", "text": got}], "tool_name": "search",
                        "raw_input": {}, "raw_output": got, "is_error": false}).to_string()}),
            ),
            (
                "pydantic_ai.tool",
                json!({"pydantic_ai.span_kind": "tool_call", "pydantic_ai.tool.name": "search",
                    "pydantic_ai.tool.args": given, "pydantic_ai.tool.result": got}),
            ),
            (
                "au.tool.search",
                json!({"au.span.kind": "tool", "au.tool.name": "search", "au.tool.input": given,
                    "au.tool.output": got, "au.tool.status": "success"}),
            ),
            (
                "search",
                json!({"cozeloop.span_type": "tool", "cozeloop.input": given, "cozeloop.output": got}),
            ),
            (
                "search",
                json!({"honeyhive_event_type": "tool", "honeyhive_inputs.query": "x",
                    "honeyhive_outputs.result": got}),
            ),
            (
                "tool.execution:search",
                json!({"span.type": "tool", "entity.type": "agent", "input": given, "output": got}),
            ),
        ] {
            check("somebody's", name, &attributes, &expected);
        }
    }

    /// Agents have names in one of several places; the outermost span of any kind is a request.
    #[test]
    fn agents_and_requests() {
        let volt = json!({"entity.type": "agent", "entity.name": "support", "input": "Go."});
        check(
            "@voltagent/core",
            "support",
            &volt,
            &["support: agent support(Go.) = -"],
        );
        let mastra = json!({"gen_ai.operation.name": "agent.run", "mastra.span.type": "agent_run", "agent.id": "support"});
        let told = Captured::new("@mastra/otel", "agent.support", &mastra).root();
        assert_eq!(
            told.told(),
            [
                "support: agent support(-) = -",
                "support: UserMessage",
                "support: end"
            ]
        );
        let flow = json!({"genkit:type": "action", "genkit:metadata:subtype": "flow"});
        let told = Captured::new("genkit-tracer", "flow", &flow);
        assert!(told.told().is_empty());
        let told = Captured::new("genkit-tracer", "flow", &flow).root();
        assert_eq!(told.told(), ["UserMessage", "end"]);
    }

    /// `MLflow` quotes names; what is around agents is none, and the way to answer of smolagents is no tool.
    #[test]
    fn more_is_marked_than_agents_and_tools() {
        let agent = json!({"mlflow.spanType": "\"AGENT\"", "agent_name": "\"support\""});
        let expected = ["support: agent support(-) = -"];
        check(
            "mlflow.tracing.provider",
            "ToolCallingAgent.run",
            &agent,
            &expected,
        );
        // autogen's tools have no spans.
        let tools = json!({"mlflow.spanType": "\"AGENT\"", "mlflow.chat.tools": "[{\"type\": \"function\"}]"});
        check(
            "mlflow.tracing.provider",
            "support.run",
            &tools,
            &[
                "support: agent support(-) = -",
                "support: model ? 0+0 ToolCalls(1)",
            ],
        );
        let around = json!({"mlflow.spanType": "\"AGENT\""});
        check("mlflow.tracing.provider", "AgentRunner.run", &around, &[]);
        let run = json!({"pydantic_ai.span_kind": "agent_run", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9});
        check(
            "traceai_pydantic_ai._instrumentor",
            "pydantic_ai.agent.run",
            &run,
            &[],
        );
        let request = json!({"pydantic_ai.span_kind": "model_request", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9});
        check(
            "traceai_pydantic_ai._instrumentor",
            "pydantic_ai.model.request",
            &request,
            &["model m 9+0 Unknown"],
        );
        let answer = json!({"mlflow.spanType": "\"TOOL\""});
        check(
            "mlflow.tracing.provider",
            "FinalAnswerTool.__call__",
            &answer,
            &[],
        );
        let answer = json!({"gen_ai.span.kind": "TOOL", "gen_ai.tool.name": "final_answer"});
        check("traceai_smolagents", "FinalAnswerTool", &answer, &[]);
        check(
            "somebody's",
            "answer",
            &answer,
            &["call final_answer(-) = -"],
        );
    }

    /// A model's tokens and answer may stand in its reply alone; a generation without tokens, its steps and the notes about
    /// usage are no model calls.
    #[test]
    fn model_calls_are_told_once() {
        let reply = json!({"finishReason": "stop", "usage": {"inputTokens": 110, "outputTokens": 20},
            "message": {"role": "model", "content": [{"toolRequest": {"name": "search", "input": {}}}]}});
        check(
            "genkit-tracer",
            "oai/gpt",
            &json!({"genkit:type": "action", "genkit:metadata:subtype": "model", "genkit:output": reply.to_string()}),
            &["model ? 110+20 ToolCalls(1)"],
        );
        for (operation, kind) in [
            ("model_generation", "model_generation"),
            ("model_chunk", "model_chunk"),
            ("agent_step", "model_step"),
        ] {
            let attributes = json!({"gen_ai.operation.name": operation, "mastra.span.type": kind});
            check("@mastra/otel-exporter", operation, &attributes, &[]);
        }
        let usage = json!({"ag2.span.type": "usage", "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 1});
        check(
            "opentelemetry.instrumentation.ag2",
            "record_usage",
            &usage,
            &[],
        );
    }

    /// `LangWatch` names the type of the messages and of the tokens, too.
    #[test]
    fn typed_messages_and_tokens_are_read() {
        let asked = json!([{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function"}]}]);
        let attributes = json!({
            "langwatch.span.type": "llm", "gen_ai.request.model": "m",
            "langwatch.output": json!({"type": "chat_messages", "value": asked}).to_string(),
            "langwatch.metrics": r#"{"type":"json","value":{"promptTokens":110,"completionTokens":20}}"#,
        });
        check(
            "somebody's",
            "llm",
            &attributes,
            &["model m 110+20 ToolCalls(1)"],
        );
    }

    /// Kinds of others are not ours.
    #[test]
    fn strangers_are_left_alone() {
        let web = json!({"span.type": "web", "input": "x", "output": "y"});
        check("datadog", "GET /", &web, &[]);
    }
}
