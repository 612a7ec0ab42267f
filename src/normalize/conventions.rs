//! Every key and word in which a fact is known to stand, read one by one: what a renamed attribute, an older version or another
//! instrumentation calls a tool, its arguments, tokens, a kind of span. The rows are those of the facts' table and of the
//! conventions that it was made from; what dialects do with the facts is tested in their own files.

use serde_json::{Value, json};

use crate::engine::event::Body;

use super::Normalizer;
use super::captured::Captured;

const ANYBODY: &str = "somebody's tracer";

/// A span of nobody's scope with these attributes and one more.
fn with(attributes: &Value, key: &str, value: &Value) -> Captured {
    let mut all = attributes.clone();
    all[key] = value.clone();
    Captured::new(ANYBODY, "span", &all)
}

#[track_caller]
fn check(span: Captured, expected: &str, about: &str) {
    assert_eq!(span.told(), [expected], "{about}");
}

/// A tool's name and its call's id, under every key that anybody uses.
#[test]
fn every_key_of_a_tool() {
    let tool = json!({"gen_ai.operation.name": "execute_tool"});
    for key in [
        "gen_ai.tool.name",
        "tool.name",
        "ai.toolCall.name",
        "tool_name",
        "haystack.tool.name",
        "spring.ai.tool.definition.name",
        "lk.function_tool.name",
    ] {
        check(
            with(&tool, key, &json!("search")),
            "call search(-) = -",
            key,
        );
    }
    let named = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for key in [
        "gen_ai.tool.call.id",
        "gen_ai.tool.call_id",
        "ai.toolCall.id",
        "tool_call.id",
        "tool.id",
        "tool.call.id",
        "tool_use_id",
        "lk.function_tool.id",
        "tool.call_id",
    ] {
        check(
            with(&named, key, &json!("c1")),
            "call with id search(-) = -",
            key,
        );
    }
}

/// A tool's arguments, under every key and in every form.
#[test]
fn every_key_of_arguments() {
    let named = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for key in [
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.arguments",
        "gen_ai.tool.input",
        "ai.toolCall.args",
        "tool_arguments",
        "gen_ai.tool.call.input",
        "spring.ai.tool.call.arguments",
        "lk.function_tool.arguments",
        "lk.pii.function_tool.arguments",
        "tool.arguments",
        "tool.input",
        "gen_ai.tool.args",
        "input.value",
        "traceloop.entity.input",
        "langfuse.observation.input",
    ] {
        let expected = r#"call search({"query":"x"}) = -"#;
        check(with(&named, key, &json!({"query": "x"})), expected, key);
        check(
            with(&named, key, &json!(r#"{"query": "x"}"#)),
            expected,
            key,
        );
        // Written as JSON twice, and as Python prints it.
        check(with(&named, key, &json!("{'query': 'x'}")), expected, key);
        check(
            with(&named, key, &json!(r#""{\"query\":\"x\"}""#)),
            expected,
            key,
        );
    }
}

/// A tool's result, under every key.
#[test]
fn every_key_of_a_result() {
    let named = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for key in [
        "gen_ai.tool.call.result",
        "gen_ai.tool.result",
        "gen_ai.tool.output",
        "ai.toolCall.result",
        "tool_response",
        "gen_ai.tool.call.output",
        "spring.ai.tool.call.result",
        "lk.function_tool.output",
        "lk.pii.function_tool.output",
        "tool.output",
        "tool.result",
        "output.value",
        "traceloop.entity.output",
        "langfuse.observation.output",
        "gen_ai.output",
    ] {
        let expected = "call search(-) = 14 bytes";
        check(with(&named, key, &json!({"results": []})), expected, key);
        check(
            with(&named, key, &json!(r#"{"results":[]}"#)),
            expected,
            key,
        );
    }
}

/// Arguments that an attribute limit cut off are what is left of them, and two that were cut alike are the same.
#[test]
fn what_was_cut_off_is_still_read() {
    let cut = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": "{\"query\": \"a long qu", "gen_ai.tool.call.result": "{\"results\": [\"a"});
    let told = Captured::new(ANYBODY, "span", &cut).told();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("call search("), "{told:?}");
    assert!(!told[0].contains("failed"), "{told:?}");
}

/// Tokens, model and cost, under every key.
#[test]
fn every_key_of_a_model_call() {
    let call = json!({"gen_ai.operation.name": "chat"});
    for key in [
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.model_name",
        "ai.response.model",
        "ai.model.id",
        "langfuse.observation.model.name",
        "langsmith.metadata.ls_model_name",
        "llm.model",
        "mlflow.llm.model",
        "judgment.llm.model",
    ] {
        check(with(&call, key, &json!("m")), "model m 0+0 Unknown", key);
    }
    for (input, output) in [
        ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
        (
            "gen_ai.usage.prompt_tokens",
            "gen_ai.usage.completion_tokens",
        ),
        ("llm.token_count.prompt", "llm.token_count.completion"),
        ("ai.usage.promptTokens", "ai.usage.completionTokens"),
        ("ai.usage.inputTokens", "ai.usage.outputTokens"),
        ("llm.usage.prompt_tokens", "llm.usage.completion_tokens"),
        (
            "judgment.usage.non_cached_input_tokens",
            "judgment.usage.output_tokens",
        ),
    ] {
        let mut used = call.clone();
        used[input] = json!(3);
        check(
            with(&used, output, &json!("4")),
            "model ? 3+4 Unknown",
            input,
        );
    }
    for key in [
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "judgment.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read_tokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
    ] {
        let used = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5});
        let report = with(&used, key, &json!(2)).report().expect(key);
        let Body::ModelCall(call) = &report.events[0].body else {
            panic!("no model call: {key}")
        };
        assert_eq!(call.cached_tokens, 2, "{key}");
    }
}

/// That a model asked for tools, in every spelling of the reason for which it stopped.
#[test]
fn every_spelling_of_a_reason() {
    let call = json!({"gen_ai.operation.name": "chat"});
    let keys = [
        "gen_ai.response.finish_reasons",
        "gen_ai.response.finish_reason",
        "llm.finish_reason",
        "llm.response.finish_reason",
        "ai.response.finishReason",
        "stop_reason",
        "gen_ai.completion.0.finish_reason",
        "anthropic.message.stop_reason",
    ];
    for key in keys {
        for reason in [
            json!("tool_calls"),
            json!("tool_call"),
            json!("tool-calls"),
            json!("tool_use"),
            json!("FinishReason.TOOL_CALLS"),
            json!("function_call"),
            json!(["tool_calls"]),
            json!(r#"["tool_calls"]"#),
        ] {
            let about = format!("{key} {reason}");
            check(
                with(&call, key, &reason),
                "model ? 0+0 ToolCalls(1)",
                &about,
            );
        }
        check(with(&call, key, &json!("stop")), "model ? 0+0 Unknown", key);
    }
}

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

/// Tokens as a sum or as an object, and the answer's id.
#[test]
fn every_other_form_of_tokens() {
    let call = json!({"gen_ai.operation.name": "chat"});
    for key in [
        "gen_ai.usage.total_tokens",
        "llm.token_count.total",
        "llm.usage.total_tokens",
        "ai.usage.totalTokens",
    ] {
        check(with(&call, key, &json!(7)), "model ? 7+0 Unknown", key);
        let mut written = call.clone();
        written["gen_ai.usage.output_tokens"] = json!(2);
        check(with(&written, key, &json!(7)), "model ? 5+2 Unknown", key);
    }
    for (key, used) in [
        (
            "langfuse.observation.usage_details",
            json!({"input": 3, "output": 4}),
        ),
        (
            "mlflow.chat.tokenUsage",
            json!({"input_tokens": 3, "output_tokens": 4}),
        ),
        (
            "langwatch.metrics",
            json!({"prompt_tokens": 3, "completion_tokens": 4}),
        ),
        (
            "langwatch.metrics",
            json!({"type": "json", "value": {"promptTokens": 3, "completionTokens": 4}}),
        ),
    ] {
        check(
            with(&call, key, &json!(used.to_string())),
            "model ? 3+4 Unknown",
            key,
        );
    }
    for key in ["gen_ai.response.id", "ai.response.id"] {
        let report = with(&call, key, &json!("r1")).report().expect(key);
        let Body::ModelCall(call) = &report.events[0].body else {
            panic!("no model call: {key}")
        };
        assert!(call.call_id.is_some(), "{key}");
    }
}

/// What a call of a model cost, under every key, as a number or by kind.
#[test]
fn every_key_of_a_cost() {
    let call = json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 5});
    let told = |key: &str, cost: &Value| {
        let report = with(&call, key, cost).report().expect(key);
        match &report.events[0].body {
            Body::ModelCall(call) => (call.cost_microusd, call.cost_is_estimate),
            other => panic!("no model call: {other:?}"),
        }
    };
    for key in [
        "operation.cost",
        "llm.cost.total",
        "gen_ai.usage.cost",
        "gen_ai.cost.total_cost",
        "gen_ai.cost.total",
        "judgment.usage.total_cost_usd",
    ] {
        assert_eq!(told(key, &json!(0.5)), (Some(500_000), false), "{key}");
        assert_eq!(told(key, &json!("0.5")), (Some(500_000), false), "{key}");
    }
    let by_kind = json!(r#"{"input": 0.2, "output": 0.3}"#);
    let told = told("langfuse.observation.cost_details", &by_kind);
    assert_eq!(told, (Some(500_000), false));
}

/// That a tool failed, in every word for it, and that it was tried again; words that it went well are no failure.
#[test]
fn every_key_of_a_failure() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for (key, word) in [
        ("error.type", "TimeoutError"),
        ("gen_ai.tool.status", "error"),
        ("gen_ai.task.status", "failure"),
        ("tool.status", "failed"),
        ("langfuse.observation.level", "ERROR"),
    ] {
        let told = with(&tool, key, &json!(word)).told();
        let failed = told[0].starts_with("call search(-) = - failed:");
        assert!(failed && told.len() == 1, "{key}: {told:?}");
    }
    for (key, word) in [
        ("gen_ai.tool.status", "success"),
        ("gen_ai.task.status", "success"),
        ("langfuse.observation.level", "DEFAULT"),
    ] {
        check(with(&tool, key, &json!(word)), "call search(-) = -", key);
    }
    let mut level = tool.clone();
    level["langfuse.observation.level"] = json!("ERROR");
    check(
        with(
            &level,
            "langfuse.observation.status_message",
            &json!("refused"),
        ),
        "call search(-) = - failed: refused",
        "words",
    );
    let chat = json!({"gen_ai.operation.name": "chat"});
    let again = with(&chat, "http.request.resend_count", &json!(1)).told();
    assert_eq!(again, ["model ? 0+0 Unknown", "Retry { tool: None }"]);
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

/// Arguments as any kind of value; members without a value and addresses of objects tell no two calls apart.
#[test]
fn every_form_of_arguments() {
    let named = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for (value, expected) in [
        (json!(true), "true"),
        (json!(7), "7"),
        (json!(1.5), "1.5"),
        (json!(["x", 1]), r#"["x",1]"#),
        (json!({"b": {"c": [1]}, "a": null}), r#"{"b":{"c":[1]}}"#),
        (json!(r#"{"b": 1, "a": null}"#), r#"{"b":1}"#),
        (
            json!(r#"{"b": 1, "context": "<demo.Context object at 0x7f00aa>"}"#),
            r#"{"b":1}"#,
        ),
    ] {
        let told = with(&named, "gen_ai.tool.call.arguments", &value).told();
        assert_eq!(told, [format!("call search({expected}) = -")], "{value}");
    }
}

/// What raises to pass control on is no failure; words and envelopes of errors are, on a span that ended well.
#[test]
fn every_failure_of_a_result() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for kind in [
        "ParentCommand",
        "GraphInterrupt",
        "langgraph.errors.ParentCommand",
    ] {
        let told = Captured::new(ANYBODY, "span", &tool)
            .failed("x")
            .raised(kind, "y")
            .told();
        assert_eq!(told, ["call search(-) = -"], "{kind}");
    }
    let told = Captured::new(ANYBODY, "span", &tool)
        .failed("Command(goto='b')")
        .told();
    assert_eq!(told, ["call search(-) = -"]);
    for result in [
        json!({"error": "refused"}),
        json!({"isError": true, "content": [{"type": "text", "text": "refused"}]}),
        json!("Error: refused"),
        json!("Process exited with code 2\nOutput:\nno such target"),
    ] {
        let told = with(&tool, "gen_ai.tool.call.result", &result).told();
        assert!(told[0].contains(" failed: "), "{result}: {told:?}");
    }
}

/// Tokens are a model's alone: agents, steps and workflows repeat their sums.
#[test]
fn sums_of_tokens_are_nobodys() {
    let used = json!({"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 9,
        "gen_ai.aggregated_usage.input_tokens": 9, "gen_ai.agent.name": "a", "gen_ai.request.model": "m"});
    for (key, kind) in [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.operation.name", "invoke_workflow"),
        ("gen_ai.operation.name", "agent_step"),
        ("openinference.span.kind", "AGENT"),
        ("traceloop.span.kind", "agent"),
        ("langfuse.observation.type", "agent"),
        ("ai.operationId", "ai.generateText"),
    ] {
        let told = with(&used, key, &json!(kind)).told();
        assert!(
            told.iter().all(|event| !event.contains("model m")),
            "{kind}: {told:?}"
        );
    }
}
