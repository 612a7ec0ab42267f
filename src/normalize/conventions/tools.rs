//! What a call of a tool is told by: name, id, arguments, result, failure.

use serde_json::json;

use crate::normalize::captured::Captured;

use super::{ANYBODY, check, with};

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
        "confident.tool.name",
        "au.tool.name",
        "parameter.function_name",
        "pydantic_ai.tool.name",
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
        "gen_ai.tool_call.id",
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
        "tool_args",
        "parameter.function_args",
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
        "result.content.0.text",
        "output.value",
        "traceloop.entity.output",
        "langfuse.observation.output",
        "gen_ai.output",
        "anthropic.tool_result.content",
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

/// Arguments that an attribute limit cut off are not known, since two that begin alike need not be the same; what is left of a
/// result is the result. What only looks like the beginning of JSON is a text.
#[test]
fn what_was_cut_off_is_still_read() {
    let told = |arguments: &str| {
        let cut = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write", "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": "{\"results\": [\"a"});
        Captured::new(ANYBODY, "span", &cut).told()
    };
    let whole =
        json!({"path": "src/main.rs", "content": "x".repeat(200), "mode": ["a", 12.5, null]})
            .to_string();
    let within = json!({"arguments": whole[..100]}).to_string();
    for end in [64, 100, whole.len() - 1] {
        assert_eq!(
            told(&whole[..end]),
            ["call write(redacted) = 15 bytes"],
            "{end}"
        );
    }
    assert_eq!(told(&within), ["call write(redacted) = 15 bytes"]);
    assert_eq!(told("[a-z"), ["call write([a-z) = 15 bytes"]);
    let text = format!("{{draft}} {}", "x".repeat(100));
    assert_eq!(told(&text), [format!("call write({text}) = 15 bytes")]);
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

/// That a tool failed, in every word for it, and that it was tried again; words that it went well are no failure.
#[test]
fn every_key_of_a_failure() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
    for (key, word) in [
        ("error.type", "TimeoutError"),
        ("gen_ai.tool.status", "error"),
        ("gen_ai.task.status", "failure"),
        ("tool.status", "failed"),
        ("au.tool.status", "error"),
        ("gen_ai.tool.call.outcome", "error"),
        ("gen_ai.tool.call.outcome", "denied"),
        ("gen_ai.tool.error.type", "timeout"),
        ("langfuse.observation.level", "ERROR"),
    ] {
        let told = with(&tool, key, &json!(word)).told();
        let failed = told[0].starts_with("call search(-) = - failed:");
        assert!(failed && told.len() == 1, "{key}: {told:?}");
    }
    for (key, word) in [
        ("gen_ai.tool.status", "success"),
        ("gen_ai.task.status", "success"),
        ("gen_ai.tool.call.outcome", "success"),
        ("gen_ai.tool.call.outcome", "skipped"),
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
        json!({"success": false, "message": "refused"}),
        json!("{\"status\": \"error\", \"message\": \"refused\"}"),
        json!({"isError": true, "content": [{"type": "text", "text": "refused"}]}),
        json!("Error: refused"),
        json!("Process exited with code 2\nOutput:\nno such target"),
    ] {
        let told = with(&tool, "gen_ai.tool.call.result", &result).told();
        assert!(told[0].contains(" failed: "), "{result}: {told:?}");
    }
}
