//! `OpenRouter`'s broadcast: the gateway itself tells of every request, whatever agent made it.
//!
//! *A request* is a call of a model, with all that the model was given in the form of `OpenAI`'s chat, whichever provider answered.
//! What it answered is an object of the gateway's own, which repeats the request with its tools and its history besides: nothing
//! is to be looked for in there. Below it, a span for each try at a provider and one for the answer say that they are calls of
//! models too, and are parts of this one.
//!
//! *Runs.* Every request has a trace of its own, unless it names one that its program has begun. The session that the agent named
//! (Claude Code, Codex and Opencode do) holds them together, else the id of the conversation's first call of a tool.

use crate::engine::event::Answer;
use crate::normalize::answer::{self, Requested};
use crate::normalize::facts::{ASKED_MAX, Slot};
use crate::normalize::reading::Reading;
use crate::normalize::records::{pick, text};
use crate::normalize::report::Outcome;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::value::{self, Object};

use super::gen_ai;

/// What the settings' button for a try sends: a request that nobody made.
const TEST: &str = "Test Generation";

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let [kind] = pick(&reading.span.attributes, ["span.type"]);
    match text(kind) {
        Some("generation") if reading.span.name != TEST => request(reading),
        Some(_) => {}
        None => return gen_ai::span(reading),
    }
    Outcome::Noise
}

fn request(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let session = facts.id(Slot::Session);
    if reading.is_root() {
        reading.run(session.as_deref());
    }
    reading.session(session.as_deref());
    let output = json_text(facts.value(Slot::Output)).unwrap_or_default();
    let calls = value::member(&output, &["toolCalls"]).unwrap_or_default();
    let calls = value::items(calls).take(ASKED_MAX);
    let asked: Vec<_> = calls.map(|call| Requested::of(&Object::of(call))).collect();
    reading.tell_model_call();
    if !output.is_empty() {
        let said = member_text(&output, &["completion"]).filter(|said| !said.is_empty());
        let answer = match (asked.len(), said) {
            (0, said) => said.map_or(Answer::Unknown, |said| answer::text_alone(&said)),
            (calls, _) => Answer::ToolCalls(calls as u32),
        };
        reading.change_answer(|_| answer);
    }
    reading.tell_exchange_of(asked);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    fn request(output: &Value) -> Captured {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "exec", "arguments": "{}"}});
        let given = json!({"messages": [{"role": "user", "content": "Go."},
            {"role": "assistant", "content": [], "tool_calls": [call("call_0f8e7d6c5b4a3")]},
            {"role": "tool", "tool_call_id": "call_0f8e7d6c5b4a3", "content": "done"}]});
        let attributes = json!({"span.type": "generation", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "session.id": "session-1",
            "gen_ai.prompt": given.to_string(), "gen_ai.completion": output.to_string()});
        Captured::new("openrouter", "LLM Generation", &attributes)
    }

    /// Given a request whose answer repeats it: the answer's own calls, what a tool answered before, and the agent's session as
    /// the run, but within a trace of its program, which holds it already.
    #[test]
    fn requests_are_calls_of_models() {
        let before = json!([{"role": "assistant", "tool_calls": [{"id": "old", "function": {"name": "old"}}], "content": "Old."}]);
        let repeated = json!({"messages": before, "tools": [{"type": "function", "function": {"name": "exec"}}]});
        let mut output = json!({"completion": "", "reasoning": null, "rawRequest": repeated,
            "toolCalls": [{"id": "call_1", "index": 0, "type": "function", "function": {"name": "exec", "arguments": "{\"cmd\":\"ls\"}"}}]});
        let told = request(&output).told();
        assert_eq!(
            told,
            [
                "model m 9+2 ToolCalls(1)",
                r#"asked exec({"cmd":"ls"})"#,
                "call with id (-) = 4 bytes"
            ]
        );
        let run = |captured: Captured| captured.report().and_then(|report| report.run.run_id);
        assert_eq!(run(request(&output).root()).as_deref(), Some("session-1"));
        assert_eq!(run(request(&output)), None);
        output["completion"] = json!("Done.");
        output["toolCalls"] = json!([]);
        let told = request(&output).told();
        assert!(told[0].starts_with("model m 9+2 Text"), "{told:?}");
        assert_eq!(told.len(), 2);
    }

    /// Tries at providers, and the settings' own, are no requests; whoever else has a tracer of this name is read as by any other.
    #[test]
    fn parts_of_requests_are_not_told() {
        let part = json!({"span.type": "span", "gen_ai.operation.name": "chat", "gen_ai.response.id": "gen-1:attempt-0"});
        for name in ["provider attempt 1: Azure", "generation"] {
            assert!(Captured::new("openrouter", name, &part).told().is_empty());
        }
        let test = json!({"span.type": "generation", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        let told = |name| Captured::new("openrouter", name, &test).told().len();
        assert_eq!((told("Test Generation"), told("LLM Generation")), (0, 1));
        let other = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"});
        let told = Captured::new("openrouter", "search", &other).told();
        assert_eq!(told, ["call search(-) = -"]);
    }
}
