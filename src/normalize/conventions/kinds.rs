//! What says of which kind a span is.

use serde_json::json;

use crate::normalize::Normalizer;
use crate::normalize::captured::Captured;

use super::{ANYBODY, check, with};

/// What operations are, by the conventions' own words and by those of others.
#[test]
fn every_operation() {
    for word in ["chat", "generate_content", "text_completion", "call_llm"] {
        let model = json!({"gen_ai.operation.name": word, "gen_ai.request.model": "m"});
        check(
            Captured::new(ANYBODY, "span", &model),
            "model m 0+0 Unknown",
            word,
        );
    }
    for word in ["execute_tool", "tool", "tool_call", "call_tool"] {
        let tool = json!({"gen_ai.operation.name": word, "gen_ai.tool.name": "t"});
        check(Captured::new(ANYBODY, "span", &tool), "call t(-) = -", word);
    }
    let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"});
    check(
        Captured::new(ANYBODY, "span", &agent),
        "a: agent a(-) = -",
        "invoke_agent",
    );
    for word in [
        "create_memory",
        "update_memory",
        "upsert_memory",
        "delete_memory",
    ] {
        let memory = json!({"gen_ai.operation.name": word});
        check(Captured::new(ANYBODY, "span", &memory), "MemoryWrite", word);
    }
    for word in [
        "invoke_workflow",
        "create_agent",
        "plan",
        "embeddings",
        "retrieval",
        "search_memory",
    ] {
        let quiet = json!({"gen_ai.operation.name": word, "gen_ai.agent.name": "a", "gen_ai.request.model": "m"});
        assert!(
            Captured::new(ANYBODY, "span", &quiet).told().is_empty(),
            "{word}"
        );
    }
    let run = json!({"gen_ai.operation.name": "invoke_workflow"});
    assert_eq!(
        Captured::new(ANYBODY, "span", &run).root().told(),
        ["UserMessage", "end"]
    );
}

/// The kinds of spans, by the keys of those who have a key of their own for it.
#[test]
fn every_kind_of_span() {
    let model = "model m 0+0 Unknown";
    let tool = "call t(-) = -";
    for (key, kind, expected) in [
        ("openinference.span.kind", "LLM", model),
        ("openinference.span.kind", "TOOL", tool),
        ("langsmith.span.kind", "llm", model),
        ("langsmith.span.kind", "tool", tool),
        ("langfuse.observation.type", "generation", model),
        ("langfuse.observation.type", "tool", tool),
        ("traceloop.span.kind", "tool", tool),
        ("ai.operationId", "ai.generateText.doGenerate", model),
        ("ai.operationId", "ai.streamText.doStream", model),
        ("ai.operationId", "ai.toolCall", tool),
    ] {
        let facts = if expected == model {
            json!({"gen_ai.request.model": "m"})
        } else {
            json!({"gen_ai.tool.name": "t"})
        };
        check(with(&facts, key, &json!(kind)), expected, kind);
    }
    for (key, kind) in [
        ("openinference.span.kind", "CHAIN"),
        ("openinference.span.kind", "RETRIEVER"),
        ("openinference.span.kind", "RERANKER"),
        ("openinference.span.kind", "EMBEDDING"),
        ("openinference.span.kind", "GUARDRAIL"),
        ("openinference.span.kind", "EVALUATOR"),
        ("openinference.span.kind", "PROMPT"),
        ("langfuse.observation.type", "event"),
        ("langfuse.observation.type", "retriever"),
        ("traceloop.span.kind", "task"),
    ] {
        let told = with(&json!({}), key, &json!(kind)).told();
        assert!(told.is_empty(), "{key} {kind}: {told:?}");
    }
}

/// The kinds of spans that are an agent's or a request's, by each of those who have a word for it.
#[test]
fn every_kind_of_agent() {
    for (key, kind) in [
        ("openinference.span.kind", "AGENT"),
        ("langfuse.observation.type", "agent"),
        ("traceloop.span.kind", "agent"),
        ("gen_ai.operation.name", "invoke_agent"),
    ] {
        let told = with(&json!({"gen_ai.agent.name": "a"}), key, &json!(kind)).told();
        assert_eq!(
            told.first().map(String::as_str),
            Some("a: agent a(-) = -"),
            "{key}"
        );
    }
    for (key, kind) in [
        ("openinference.span.kind", "CHAIN"),
        ("langsmith.span.kind", "chain"),
        ("langfuse.observation.type", "span"),
        ("langfuse.observation.type", "chain"),
        ("traceloop.span.kind", "workflow"),
        ("gen_ai.operation.name", "invoke_workflow"),
        ("gen_ai.operation.name", "invoke_swarm"),
    ] {
        let told = with(&json!({}), key, &json!(kind)).root().told();
        assert_eq!(told, ["UserMessage", "end"], "{key} {kind}");
        let told = with(&json!({}), key, &json!(kind)).told();
        assert!(told.is_empty(), "{key} {kind} within: {told:?}");
    }
}

/// Words for operations that frameworks have of their own, and that tell of nothing by themselves: known, and not counted as
/// strangers.
#[test]
fn every_operation_of_a_framework() {
    for (scope, word) in [
        ("strands.telemetry.tracer", "execute_event_loop_cycle"),
        ("gen_ai", "agent_step"),
        ("opentelemetry.instrumentation.langchain", "execute_task"),
        ("gemini-cli", "schedule_tool_calls"),
        ("autogen-core", "create_agent"),
        ("copilot-chat", "content_event"),
        ("copilot-chat", "execute_hook"),
        ("openlit.instrumentation.crewai", "execute_task"),
        ("openlit.instrumentation.pydantic_ai", "model_request"),
        (
            "openlit.instrumentation.pydantic_ai",
            "user_prompt_processing",
        ),
        ("openlit.instrumentation.browser_use", "tool_coordination"),
        ("Agent365Sdk", "apply_guardrail"),
        ("Agent365Sdk", "output_messages"),
        ("litellm", "litellm.moderation"),
        ("litellm", "litellm.responses_management"),
        ("litellm", "litellm.vector_store_management"),
        ("litellm", "litellm.vector_store_file_management"),
    ] {
        let span = json!({"gen_ai.operation.name": word, "gen_ai.agent.name": "a", "gen_ai.usage.input_tokens": 9});
        let normalizer = Normalizer::new();
        let reports = Captured::new(scope, word, &span).reports(&normalizer);
        assert!(
            reports.iter().all(|report| report.events.is_empty()),
            "{word}: {reports:?}"
        );
        assert_eq!(normalizer.counts().unknown_operation, 0, "{word}");
    }
    let normalizer = Normalizer::new();
    let strange = json!({"gen_ai.operation.name": "ponder"});
    Captured::new(ANYBODY, "span", &strange).reports(&normalizer);
    assert_eq!(normalizer.counts().unknown_operation, 1);
}
