//! What says whose a span is: run, session, agent.

use serde_json::json;

use crate::normalize::captured::Captured;

use super::{ANYBODY, check, with};

/// The session and the conversation, under every key.
#[test]
fn every_key_of_a_session() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"});
    for key in [
        "session.id",
        "gen_ai.session.id",
        "langfuse.session.id",
        "traceloop.association.properties.session_id",
        "langsmith.metadata.session_id",
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.threadId",
        "gcp.vertex.agent.session_id",
        "judgment.session_id",
        "lmnr.association.properties.session_id",
        "confident.trace.thread_id",
        "ag.session.id",
        "honeyhive.session_id",
        "anthropic.session.id",
    ] {
        let run = with(&tool, key, &json!("s")).report().expect(key).run;
        assert_eq!(
            (run.session_id.as_deref(), run.run_id),
            (Some("s"), None),
            "{key}"
        );
    }
    let conversation = with(&tool, "gen_ai.conversation.id", &json!("c"));
    let run = conversation.report().expect("a report").run;
    assert_eq!(
        (run.run_id.as_deref(), run.session_id.as_deref()),
        (Some("c"), Some("c"))
    );
}

/// Who was at work, under every key.
#[test]
fn every_key_of_an_agent() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"});
    for key in [
        "gen_ai.agent.name",
        "agent.name",
        "agent_name",
        "traceloop.association.properties.lc_agent_name",
        "langsmith.metadata.lc_agent_name",
        "ai.telemetry.functionId",
        "entity.name",
        "lc_agent_name",
        "confident.agent.name",
        "au.agent.name",
        "pydantic_ai.agent.name",
    ] {
        check(with(&tool, key, &json!("a")), "a: call t(-) = -", key);
    }
}

/// A node of a graph is an agent where the span is one; the nodes of models and tools are their own.
#[test]
fn every_key_of_a_node() {
    let span = |kind: &str| json!({"openinference.span.kind": kind, "tool.name": "t", "llm.model_name": "m"});
    for key in ["graph.node.name", "graph.node.id"] {
        let told = |kind| with(&span(kind), key, &json!("a"));
        check(told("AGENT"), "a: agent a(-) = -", key);
        check(told("TOOL"), "call t(-) = -", key);
        check(told("LLM"), "model m 0+0 Unknown", key);
    }
}

/// The conversation on which a dialect keys its runs, and ids that are none: a connection's, a step's, a framework's own.
#[test]
fn every_key_of_a_run() {
    let thread = "thread_id";
    for (scope, kind, word, key) in [
        (
            "langsmith",
            "langsmith.span.kind",
            "tool",
            "langsmith.metadata.thread_id",
        ),
        (
            "opentelemetry.instrumentation.langchain",
            "gen_ai.operation.name",
            "execute_tool",
            "traceloop.association.properties.thread_id",
        ),
        (
            "ai",
            "ai.operationId",
            "ai.toolCall",
            "ai.telemetry.metadata.sessionId",
        ),
        (
            "ai",
            "ai.operationId",
            "ai.toolCall",
            "ai.telemetry.metadata.session_id",
        ),
        (
            "ai",
            "ai.operationId",
            "ai.toolCall",
            "ai.telemetry.metadata.conversationId",
        ),
        (
            "ai",
            "ai.operationId",
            "ai.toolCall",
            "ai.telemetry.metadata.chatId",
        ),
    ] {
        let span = json!({kind: word, "gen_ai.tool.name": "t", key: thread});
        let run = Captured::new(scope, "t", &span).report().expect(key).run;
        assert_eq!(run.run_id.as_deref(), Some(thread), "{key}");
    }
    for key in [
        "mcp.session.id",
        "agno.run.id",
        "crew_id",
        "task_id",
        "gcp.vertex.agent.invocation_id",
        "event_loop.cycle_id",
        "traceloop.correlation.id",
        "langsmith.trace.session_name",
        "gen_ai.agent.call.id",
    ] {
        let span =
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", key: "x"});
        let run = Captured::new(ANYBODY, "t", &span).report().expect(key).run;
        assert_eq!((run.run_id, run.session_id), (None, None), "{key}");
    }
}
