//! `OpenClaw`, by its own plugin: the GenAI conventions for tools and models, under names of its own.
//!
//! *A model call* says what it measured: one request, or the turn of another agent that it drives (Claude Code, Codex), which has
//! the operation of an agent and is the only one that tells of the tokens. `openclaw.model.usage` sums up the calls of a turn;
//! told as a call, it would count them again.
//!
//! *A tool call* that was not allowed never ran, though its span is well: why it was refused stands beside it.
//!
//! *Runs.* The trace: neither session nor conversation is named. A message is around the harness, and that around the run;
//! whichever of them has no parent is the request.

use std::borrow::Cow;

use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::records::{pick, text};
use crate::normalize::report::Outcome;

use super::gen_ai;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let [agent, measured] = pick(
        &reading.span.attributes,
        ["openclaw.agent", "openclaw.model_call.observation_unit"],
    );
    if reading.agent.is_none() {
        reading.agent = text(agent).map(Cow::Borrowed);
    }
    match reading.span.name {
        "openclaw.model.usage" => {}
        "openclaw.message.processed" | "openclaw.harness.run" | "openclaw.run" => {
            if reading.is_root() {
                reading.tell_turn();
            }
        }
        "openclaw.tool.execution" => tool(reading),
        _ if text(measured).is_some() => reading.tell_model_call(),
        _ => return gen_ai::span(reading),
    }
    Outcome::Noise
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let [outcome, reason] = pick(
        &reading.span.attributes,
        ["openclaw.outcome", "openclaw.deniedReason"],
    );
    let mut call = Call::of(facts.text(Slot::ToolName).unwrap_or_default(), facts);
    if text(outcome) == Some("blocked") {
        call.failed = true;
        let reason = text(reason).unwrap_or("unknown");
        call.result = Some(Cow::Owned(format!("blocked: {reason}")));
    }
    reading.tell_call(&call);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    fn captured(name: &str, attributes: &Value) -> Captured {
        Captured::new("openclaw", name, attributes)
    }

    /// A call of a tool as it ran, as it failed, and as it was refused, which its status does not say.
    #[test]
    fn tools_that_were_refused_failed() {
        let mut tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "exec", "gen_ai.tool.call.id": "c",
            "openclaw.agent": "ops", "gen_ai.tool.call.arguments": r#"{"command":"ls"}"#});
        let told = |tool: &Value| captured("openclaw.tool.execution", tool);
        let call = r#"ops: call with id exec({"command":"ls"}) = -"#;
        assert_eq!(told(&tool).told(), [call]);
        let failed = told(&tool).failed("timeout").told();
        assert_eq!(failed, [format!("{call} failed: timeout")]);
        tool["openclaw.outcome"] = json!("blocked");
        tool["openclaw.deniedReason"] = json!("sandbox");
        let refused = told(&tool).told();
        assert!(
            refused[0].ends_with("failed: blocked: sandbox"),
            "{refused:?}"
        );
    }

    /// Calls of models by whatever name, of its own and of the agents that it drives, and not once more as a sum.
    #[test]
    fn models_are_told_once() {
        let call = |operation: &str, unit: &str| {
            json!({"gen_ai.operation.name": operation, "gen_ai.request.model": "m", "openclaw.model_call.observation_unit": unit,
                "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2})
        };
        for (name, operation, unit) in [
            ("openclaw.model.call", "chat", "request"),
            ("chat m", "chat", "request"),
            ("openclaw.model.call", "invoke_agent", "turn"),
            ("invoke_agent", "invoke_agent", "turn"),
        ] {
            let told = captured(name, &call(operation, unit)).told();
            assert_eq!(told, ["model m 9+2 Unknown"], "{name} {operation}");
        }
        let older = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        assert_eq!(
            captured("openclaw.model.call", &older).told(),
            ["model m 0+0 Unknown"]
        );
        let sum = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9});
        assert!(captured("openclaw.model.usage", &sum).told().is_empty());
    }

    /// The outermost of a message, its harness and its run is the request, and fails as that does; the others are steps.
    #[test]
    fn requests_end() {
        for name in [
            "openclaw.message.processed",
            "openclaw.harness.run",
            "openclaw.run",
        ] {
            let span = || captured(name, &json!({"openclaw.outcome": "error"}));
            assert!(span().told().is_empty(), "{name}");
            let told = span().failed("no such model").root().told();
            assert_eq!(
                told,
                ["UserMessage", "end, failed: no such model"],
                "{name}"
            );
        }
        let other = json!({"openclaw.toolName": "exec", "openclaw.loop.count": 3});
        assert!(captured("openclaw.tool.loop", &other).told().is_empty());
    }
}
