//! Eino, by its callback for `ByteDance`'s `APMPlus`, which sends to any endpoint.
//!
//! *Where values stand.* Every span has a message for what went in and one for what came out, under the flat keys of older
//! conventions, whatever it is: a tool's are its arguments and its result as text, or Eino's object around each. A model that asks
//! for tools and says nothing has its whole message there as JSON; if it says something besides, the reason for which it stopped
//! tells that it asked. An enhanced tool's arguments are the text of an object, and its result is a list of parts.
//!
//! *Runs.* The trace; the root is the request, whatever it is but a model. What ran is the component: the key for the kind
//! calls every root a workflow. Calls have no ids.

use std::borrow::Cow;

use crate::engine::event::Answer;
use crate::normalize::answer;
use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::records::{pick, text};
use crate::normalize::report::Outcome;
use crate::normalize::texts::{member_text, only_text};
use crate::normalize::{value, wrappers};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let [component, name, given, answered] = pick(
        &reading.span.attributes,
        [
            "runinfo.component",
            "runinfo.name",
            "gen_ai.prompt.0.content",
            "gen_ai.completion.0.content",
        ],
    );
    let session = reading.facts.id(Slot::Session);
    reading.session(session.as_deref());
    let answered = text(answered);
    match text(component) {
        Some("Tool") => {
            let name = text(name).filter(|name| !name.is_empty());
            let tool = name.unwrap_or(reading.span.name);
            let mut call = Call::of(tool, reading.facts);
            call.arguments = text(given).map(|text| whole(text, arguments_in));
            call.result = answered.map(|text| whole(text, result_in));
            reading.tell_call(&call);
        }
        Some("ChatModel") => {
            reading.tell_model_call();
            model_answered(reading, answered.unwrap_or_default());
        }
        _ if reading.is_root() => reading.tell_turn(),
        _ => {}
    }
    Outcome::Noise
}

/// What went in or came out, which is a list of its pieces where it was streamed; what stands in an object is found there.
fn whole<'a>(text: &'a str, find: impl Fn(&'a str) -> Option<Cow<'a, str>>) -> Cow<'a, str> {
    let within = |text: &'a str| match text.as_bytes().first() {
        Some(b'"') => value::unquote(text),
        Some(b'{') => find(text).unwrap_or(Cow::Borrowed(text)),
        _ => Cow::Borrowed(text),
    };
    if text.starts_with('[') {
        return Cow::Owned(value::items(text).map(within).collect());
    }
    within(text)
}

fn arguments_in(object: &str) -> Option<Cow<'_, str>> {
    let of_enhanced = || wrappers::only_member(object, "text").filter(|text| text.starts_with('{'));
    member_text(object, &["ArgumentsInJSON"]).or_else(of_enhanced)
}

fn result_in(object: &str) -> Option<Cow<'_, str>> {
    let response = member_text(object, &["Response"]);
    if response
        .as_ref()
        .is_some_and(|response| !response.is_empty())
    {
        return response;
    }
    let output = value::member(object, &["ToolOutput"]).filter(|output| output.starts_with('{'));
    let parts = output.unwrap_or(object);
    let is_of_parts = wrappers::only_member(parts, "parts").is_some();
    let only = only_text(parts, "parts").filter(|_| is_of_parts);
    only.or(output.map(Cow::Borrowed)).or(response)
}

fn model_answered(reading: &mut Reading<'_, '_>, message: &str) {
    let asked = message.starts_with("[{").then(|| {
        let message = value::member(message, &["0"]).unwrap_or_default();
        answer::asked_by(message).len()
    });
    let reason = reading.facts.text(Slot::FinishReason).unwrap_or_default();
    match asked {
        Some(calls @ 1..) => reading.change_answer(|_| Answer::ToolCalls(calls as u32)),
        _ if answer::speaks_of_tools(reason) => {
            reading.change_answer(|_| Answer::ToolCalls(1));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::normalize::captured::Captured;

    const SCOPE: &str = "github.com/cloudwego/eino-ext/callbacks/apmplus";

    fn captured(name: &str, attributes: &Value) -> Captured {
        Captured::new(SCOPE, name, attributes)
    }

    /// A tool's values as text, within Eino's objects, in pieces and as an enhanced tool's, and a tool that failed, which has no
    /// result.
    #[test]
    fn tools_are_read() {
        let tool = |given: &str, answered: &str| {
            json!({"gen_ai.span.kind": "tool", "runinfo.component": "Tool", "runinfo.name": "search", "gen_ai.system": "eino",
                "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": given, "gen_ai.completion.0.content": answered})
        };
        let told = |given, answered| captured("search", &tool(given, answered)).told();
        let call = [r#"call search({"q":"x"}) = 5 bytes"#];
        assert_eq!(told(r#""{\"q\": \"x\"}""#, r#""found""#), call);
        let around = r#"{"ArgumentsInJSON":"{\"q\": \"x\"}","Extra":null}"#;
        assert_eq!(told(around, r#"{"Response":"found","Extra":null}"#), call);
        let pieces = r#"[{"Response":"fou","Extra":null},{"Response":"nd","Extra":null}]"#;
        assert_eq!(told(around, pieces), call);
        assert_eq!(told(around, r#"["fou","nd"]"#), call);
        let parts = r#"{"parts":[{"type":"text","text":"found"}]}"#;
        let enhanced = r#"{"text":"{\"q\": \"x\"}"}"#;
        assert_eq!(told(enhanced, parts), call);
        let output = format!(r#"{{"Response":"","ToolOutput":{parts},"Extra":null}}"#);
        assert_eq!(told(around, &output), call);
        let both = r#"{"parts":[{"type":"text","text":"found"},{"type":"text","text":"more"}]}"#;
        let kept = format!(r#"call search({{"q":"x"}}) = {} bytes"#, both.len());
        assert_eq!(told(enhanced, both), [kept.as_str()]);
        let nothing = r#"{"Response":"","ToolOutput":null,"Extra":null}"#;
        assert_eq!(
            told(around, nothing),
            [r#"call search({"q":"x"}) = 0 bytes"#]
        );
        let text = told(r#"{"text":"hello"}"#, parts);
        assert_eq!(text, [r#"call search({"text":"hello"}) = 5 bytes"#]);
        let mut failing = tool(around, "");
        failing
            .as_object_mut()
            .unwrap()
            .remove("gen_ai.completion.0.content");
        let told = captured("search", &failing).failed("no net").told();
        assert_eq!(told, [r#"call search({"q":"x"}) = - failed: no net"#]);
    }

    /// A model that asks for tools, with words and without, and one that answers; a root that is none is the request, and what
    /// lies between is a step.
    #[test]
    fn models_and_requests_are_read() {
        let model = |answered: &str, reason: &str| {
            let attributes = json!({"gen_ai.span.kind": "chatmodel", "runinfo.component": "ChatModel", "gen_ai.request.model": "m",
                "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 2, "gen_ai.completion.0.content": answered,
                "gen_ai.response.finish_reason": reason});
            captured("OpenAI ChatModel", &attributes).told()
        };
        let call = json!({"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}});
        let asks = json!([{"role": "assistant", "content": "", "tool_calls": [call, call]}]);
        let asked = model(&asks.to_string(), "");
        assert_eq!(asked, ["model m 7+2 ToolCalls(2)"]);
        let asked = model("I shall look.", "tool_calls");
        assert_eq!(asked, ["model m 7+2 ToolCalls(1)"]);
        let answered = model("Done.", "stop");
        assert!(answered[0].starts_with("model m 7+2 Text"), "{answered:?}");
        let graph = json!({"gen_ai.span.kind": "workflow", "runinfo.component": "Graph", "gen_ai.input": "[]"});
        let told = captured("ReActAgent", &graph).root().told();
        assert_eq!(told, ["UserMessage", "end"]);
        let node = json!({"gen_ai.span.kind": "toolsnode", "runinfo.component": "ToolsNode"});
        assert!(captured("Tools", &node).told().is_empty());
    }
}
