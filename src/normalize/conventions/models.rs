//! What a call of a model is told by: tokens, model, cost, and why it stopped.

use serde_json::{Value, json};

use crate::engine::event::Body;

use super::{check, with};

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
        "confident.llm.model",
        "au.llm.name",
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
        (
            "confident.llm.input_token_count",
            "confident.llm.output_token_count",
        ),
        (
            "au.llm.usage.prompt_tokens",
            "au.llm.usage.completion_tokens",
        ),
        (
            "gen_ai.response.prompt_tokens",
            "gen_ai.response.completion_tokens",
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
        "gen_ai.usage.input_tokens.cached",
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
        "gen_ai.usage.total_cost",
        "gen_ai.usage.cost_usd",
        "litellm.cost.total",
        "vercel.ai_gateway.cost.total",
    ] {
        assert_eq!(told(key, &json!(0.5)), (Some(500_000), false), "{key}");
        assert_eq!(told(key, &json!("0.5")), (Some(500_000), false), "{key}");
    }
    let by_kind = json!(r#"{"input": 0.2, "output": 0.3}"#);
    let told = told("langfuse.observation.cost_details", &by_kind);
    assert_eq!(told, (Some(500_000), false));
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
