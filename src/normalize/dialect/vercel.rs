//! The Vercel AI SDK with its own keys (`ai.operationId`), as versions 4 and 5 write them.
//!
//! `ai.generateText` and its sisters are one request to an agent each; below them stand `….doGenerate` or `….doStream`,
//! one for each try of a model call, and `ai.toolCall`. A try that failed is a model call with an error, so that retries
//! are seen. The outer span repeats the tokens of the inner ones and is no model call.
//!
//! *Hand-offs* do not exist; an agent that calls another as a tool shows as nested requests with different function ids.
//!
//! *Opencode* and what is made of it tell of themselves with this SDK; each call has a span of Opencode's own around its work,
//! too, with name and id alone.
//!
//! *Runs.* The session that the application puts into the telemetry's metadata stands on every span and keys the run.
//! A request without a parent ends the run, or this turn of it.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::texts::member_text;
use crate::normalize::{value, wrappers};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let session = reading.facts.id(Slot::Session);
    reading.run(session.as_deref());
    reading.session(session.as_deref());
    match reading.facts.text(Slot::VercelOperation) {
        Some("ai.toolCall") => tool(reading),
        Some("ai.generateText" | "ai.streamText" | "ai.generateObject" | "ai.streamObject") => {
            request(reading);
        }
        Some(operation)
            if operation.ends_with(".doGenerate") || operation.ends_with(".doStream") =>
        {
            reading.tell_model_call();
        }
        Some(operation) if operation.starts_with("ai.embed") => {}
        Some(_) => return Outcome::UnknownOperation,
        None => {}
    }
    Outcome::Noise
}

fn request(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    reading.tell_agent(
        value::input(facts.value(Slot::Prompt)),
        value::output(facts.value(Slot::ResponseText)),
    );
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let tool = facts.text(Slot::ToolName).unwrap_or_default();
    let mut call = Call::of(tool, facts);
    unwrap_titled(&mut call);
    reading.tell_call(&call);
}

/// Takes the result out of the object in which Opencode's tools have it, under a title and beside facts about it: of a command,
/// how it ended.
fn unwrap_titled(call: &mut Call<'_>) {
    let whole = call.result.as_deref().unwrap_or_default();
    if !wrappers::begins_with(whole, &["title"]) || value::member(whole, &["metadata"]).is_none() {
        return;
    }
    let Some(output) = member_text(whole, &["output"]) else {
        return;
    };
    let exit_code = value::member(whole, &["metadata", "exit"]);
    let exit_code = exit_code.and_then(|code| code.parse().ok());
    call.result = Some(Cow::Owned(output.into_owned()));
    if let Some(exit_code) = exit_code {
        call.note_exit_code(exit_code);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn told(
        operation: &str,
        more: &serde_json::Value,
        change: fn(Captured) -> Captured,
    ) -> Vec<String> {
        let mut attributes = json!({"ai.operationId": operation, "ai.telemetry.functionId": "demo",
            "ai.telemetry.metadata.sessionId": "session", "ai.model.id": "m"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        let span = || change(Captured::new("ai", operation, &attributes));
        if let Some(report) = span().report() {
            assert_eq!(report.run.run_id.as_deref(), Some("session"));
        }
        span().told()
    }

    /// A tool call, and one that threw.
    #[test]
    fn tool_calls() {
        let call = json!({"ai.toolCall.name": "search", "ai.toolCall.id": "c", "ai.toolCall.args": "{\"query\":\"x\"}",
            "ai.toolCall.result": "{\"results\":[]}"});
        let expected = [r#"demo: call with id search({"query":"x"}) = 14 bytes"#];
        assert_eq!(told("ai.toolCall", &call, |span| span), expected);
        let call = json!({"ai.toolCall.name": "search"});
        let failed = told("ai.toolCall", &call, |span| {
            span.failed("refused").raised("Error", "refused")
        });
        assert_eq!(failed, ["demo: call search(-) = - failed: Error: refused"]);
    }

    /// Opencode's results come in an object, which knows how a command ended.
    #[test]
    fn opencode_is_unwrapped() {
        let bash = |exit_code: u8| {
            let result = format!(
                r#"{{"title":"make","metadata":{{"output":"made","exit":{exit_code}}},"output":"made"}}"#
            );
            let call = json!({"ai.toolCall.name": "bash", "ai.toolCall.args": "{\"command\":\"make\"}",
                "ai.toolCall.result": result});
            told("ai.toolCall", &call, |span| span)
        };
        let expected = r#"demo: call bash({"command":"make"}) = 4 bytes"#;
        assert_eq!(bash(0), [expected]);
        assert_eq!(bash(2), [format!("{expected} failed: made")]);
        let own = json!({"tool.name": "bash", "tool.call_id": "c1", "session.id": "s"});
        let own = Captured::new("opencode", "Tool.execute", &own);
        assert_eq!(own.told(), ["call with id bash(-) = -"]);
    }

    /// Each try of a model call is one; the request around them is the agent's and ends the run.
    #[test]
    fn model_calls_and_requests() {
        let answer = json!({"ai.response.finishReason": "tool-calls", "ai.usage.promptTokens": 200,
            "ai.usage.completionTokens": 25, "ai.response.toolCalls": "[{\"toolCallId\":\"c\",\"toolName\":\"search\"}]"});
        assert_eq!(
            told("ai.generateText.doGenerate", &answer, |span| span),
            ["demo: model m 200+25 ToolCalls(1)"]
        );
        let refused = told("ai.streamText.doStream", &json!({}), |span| {
            span.failed("rate limited")
        });
        assert_eq!(refused, ["demo: model m 0+0 Unknown failed: rate limited"]);
        let request = json!({"ai.prompt": "{\"prompt\":\"go\"}", "ai.response.text": "Done.", "ai.usage.promptTokens": 200});
        assert_eq!(
            told("ai.generateText", &request, Captured::root),
            [
                r#"demo: agent demo({"prompt":"go"}) = 5 bytes"#,
                "demo: UserMessage",
                "demo: end"
            ]
        );
        assert!(told("ai.embed.doEmbed", &json!({}), |span| span).is_empty());
    }
}
