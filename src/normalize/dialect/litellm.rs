//! `LiteLLM`'s own callback: besides a span for the call, or keys on whichever span is around it, one with all that went to the
//! provider and came back (`raw_gen_ai_request`).
//!
//! *What is peculiar.* The call's keys are written on the span around it where there is one, and the next call writes them
//! anew: of a loop within one span they show the last call alone. So the raw spans are read, where a call has one; the id of
//! the answer joins both. Their keys name the provider (`llm.openai.messages`), and their values are printed by Python.
//!
//! *Runs.* The trace; a call without a span around it is a client's alone.

use crate::engine::event::{Body, ModelCall};
use crate::normalize::history::History;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::{answer, names, reply, value, wrappers};
use crate::otlp::ValueView;

/// The name of the span.
pub(super) const RAW_REQUEST: &str = "raw_gen_ai_request";

/// Reads one span of this name.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let [mut messages, mut choices, mut usage] = [const { None }; 3];
    let [mut model, mut id] = [None; 2];
    for (key, value) in &reading.span.attributes {
        let ValueView::Str(text) = value else {
            continue;
        };
        let Some((_, part)) = key.strip_prefix("llm.").and_then(|key| key.split_once('.')) else {
            continue;
        };
        match part {
            "messages" => messages = wrappers::python_literal(text),
            "choices" => choices = wrappers::python_literal(text),
            "usage" => usage = wrappers::python_literal(text),
            "model" => model = Some(text),
            "id" => id = Some(text).filter(|id| names::is_id(id)),
            _ => {}
        }
    }
    let Some(choices) = choices else {
        return Outcome::Noise;
    };
    let usage = usage.unwrap_or_else(|| "{}".to_owned());
    let output = format!(r#"{{"choices":{choices},"usage":{usage}}}"#);
    let reply = reply::of(&output);
    let error = reading.failure();
    reading.tell(Body::ModelCall(ModelCall {
        model: model.map(value::name),
        call_id: id.map(|id| value::id_hash(&[id.as_bytes()])),
        input_tokens: reply.input_tokens,
        output_tokens: reply.output_tokens,
        answer: reply.answer,
        error,
        ..ModelCall::default()
    }));
    let message = value::member(&choices, &["0", "message"]).unwrap_or_default();
    let messages = messages.unwrap_or_default();
    let given = History::of(&messages);
    let mut asked = answer::asked_by(message);
    given.name_asked(&mut asked);
    reading.tell_exchange(&asked, &given.tool_answers());
    Outcome::Noise
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    /// Given a raw request in Python's words: the call of the model, what it asked for, and what a tool had answered. One
    /// without an answer tells nothing.
    #[test]
    fn raw_requests_are_read() {
        let messages = r#"[{'role': 'user', 'content': 'Go.'}, {'role': 'assistant', 'tool_calls': [{'function': {'arguments': '{"a": 1}', 'name': 't'}, 'id': 'c1', 'type': 'function'}], 'x': None}, {'role': 'tool', 'tool_call_id': 'c1', 'content': "it's"}]"#;
        let choices = r#"[{'finish_reason': 'tool_calls', 'index': 0, 'logprobs': None, 'message': {'content': None, 'role': 'assistant', 'tool_calls': [{'id': 'c2', 'function': {'arguments': '{"a": 2}', 'name': 't'}, 'type': 'function'}]}}]"#;
        let usage = "{'completion_tokens': 20, 'prompt_tokens': 110, 'total_tokens': 130, 'prompt_tokens_details': None}";
        let raw = json!({"llm.openai.messages": messages, "llm.openai.choices": choices, "llm.openai.usage": usage,
            "llm.openai.model": "gpt-4o", "llm.openai.id": "chatcmpl-2"});
        assert_eq!(
            Captured::new("litellm", "raw_gen_ai_request", &raw).told(),
            [
                "model gpt-4o 110+20 ToolCalls(1)",
                r#"asked t({"a":2})"#,
                "call with id (-) = 4 bytes",
            ]
        );
        let asked = json!({"llm.openai.messages": messages});
        assert!(
            Captured::new("litellm", "raw_gen_ai_request", &asked)
                .told()
                .is_empty()
        );
        let around = json!({"litellm.call_id": "x", "gen_ai.request.model": "gpt-4o",
            "gen_ai.output.messages": r#"[{"role":"assistant","parts":[],"tool_calls":[{"id":"c2","function":{"name":"t","arguments":"{}"}}]}]"#});
        let told = |scope| Captured::new(scope, "support", &around).told().len();
        assert_eq!((told("my-program"), told("litellm")), (1, 2));
    }
}
