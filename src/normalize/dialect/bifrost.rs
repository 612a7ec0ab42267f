//! Bifrost, the gateway of Maxim: its plugin for OpenTelemetry tells of every request, whatever agent made it.
//!
//! *A request* is a span of HTTP around one for each call of a model; these follow the GenAI conventions, or `OpenInference` where
//! the plugin was told so.
//!
//! *Runs.* Every request has a trace of its own, unless it came within one that its program has begun. The session that the agent
//! named in a header holds them together. In the conventions' form, the outermost span alone has it, as `session.id`.

use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;

use super::{gen_ai, openinference};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let outcome = if reading.facts.has(Slot::OpenInferenceKind) {
        openinference::span(reading)
    } else {
        gen_ai::span(reading)
    };
    let session = reading.facts.id(Slot::Session);
    match session.filter(|_| reading.is_root()) {
        Some(session) => {
            reading.run(Some(&session));
            Outcome::Placed
        }
        None => outcome,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    /// Given a request: its call of a model with what that asked for, and for a run the session that the outermost span names.
    #[test]
    fn a_session_is_a_run() {
        let call = json!([{"id": "c2", "type": "function", "name": "search", "args": "{\"query\":\"x\"}"}]);
        let given = json!([{"role": "user", "content": "Go."}, {"role": "tool", "content": "[]", "tool_call_id": "c1"}]);
        let answered = json!([{"role": "assistant", "content": "", "tool_calls": call}]);
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 2, "gen_ai.input.messages": given.to_string(),
            "gen_ai.output.messages": answered.to_string()});
        let expected = [
            "model m 5+2 ToolCalls(1)",
            r#"asked search({"query":"x"})"#,
            "call with id (-) = 2 bytes",
        ];
        assert_eq!(
            Captured::new("bifrost", "chat m", &attributes).told(),
            expected
        );
        let request =
            |attributes: &Value| Captured::new("bifrost", "/v1/chat/completions", attributes);
        let run = |captured: Captured| captured.report().and_then(|report| report.run.run_id);
        for named in [
            json!({"session.id": "conversation"}),
            json!({"session.id": "conversation", "openinference.span.kind": "CHAIN"}),
        ] {
            assert_eq!(run(request(&named).root()).as_deref(), Some("conversation"));
            assert_eq!(run(request(&named)), None);
        }
        assert_eq!(run(request(&json!({})).root()), None);
    }
}
