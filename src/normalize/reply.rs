//! A model's reply as frameworks keep it in objects of their own: the message it answered, with the tokens beside it or in
//! its metadata. For spans that have no facts of a model call but this.

use crate::engine::event::Answer;

use super::texts::member_text;
use super::{answer, value};

/// What a reply says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) model: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) answer: Answer,
}

/// Reads a reply; what it does not say is missing.
pub(super) fn of(output: &str) -> Reply {
    const MESSAGES: [&[&str]; 5] = [
        &["message"],
        &["replies", "0"],
        &["choices", "0", "message"],
        &["candidates", "0", "content"],
        &["0"],
    ];
    let mut messages = MESSAGES.iter();
    let message = messages
        .find_map(|path| value::member(output, path))
        .unwrap_or(output);
    let usages = [(output, &["usage"][..]), (message, &["meta", "usage"])];
    let usage = usages
        .into_iter()
        .find_map(|(json, path)| value::member(json, path));
    let count = |keys: [&str; 3]| {
        let mut counts = keys
            .iter()
            .filter_map(|key| value::member(usage?, &[key])?.parse().ok());
        counts.next().unwrap_or(0)
    };
    let model =
        member_text(message, &["meta", "model"]).or_else(|| member_text(output, &["model"]));
    Reply {
        model: model.map(std::borrow::Cow::into_owned),
        input_tokens: count(["inputTokens", "prompt_tokens", "input_tokens"]),
        output_tokens: count(["outputTokens", "completion_tokens", "output_tokens"]),
        answer: answered(output, message),
    }
}

/// What a message answers: the tools that it asks for, else its text.
fn answered(output: &str, message: &str) -> Answer {
    const ASKING: [&str; 4] = ["tool_call", "toolRequest", "functionCall", "function_call"];
    let list = |json: &str, keys: [&str; 2]| -> usize {
        let mut lists = keys.iter().filter_map(|key| value::member(json, &[key]));
        let calls = lists.find(|list| list.starts_with('['));
        value::items(calls.unwrap_or_default()).count()
    };
    let parts = ["content", "parts"]
        .iter()
        .find_map(|key| value::member(message, &[key]));
    let asks = |part: &&str| {
        ASKING
            .iter()
            .any(|key| value::member(part, &[key]).is_some_and(|call| call.starts_with('{')))
    };
    let calls = list(message, ["tool_calls", "toolCalls"])
        .max(list(output, ["tool_calls", "toolCalls"]))
        .max(value::items(parts.unwrap_or_default()).filter(asks).count());
    if calls > 0 {
        return Answer::ToolCalls(u32::try_from(calls).unwrap_or(u32::MAX));
    }
    let text = member_text(message, &["content", "0", "text"])
        .or_else(|| member_text(message, &["parts", "0", "text"]))
        .or_else(|| member_text(message, &["text"]))
        .or_else(|| member_text(message, &["content"]).filter(|text| !text.starts_with('[')));
    text.map_or(Answer::Unknown, |text| answer::text_alone(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replies in the forms in which frameworks keep them.
    #[test]
    fn replies_are_read() {
        for (output, calls, tokens) in [
            (
                r#"{"message":{"role":"model","content":[{"toolRequest":{"name":"t"}}]},"usage":{"inputTokens":3,"outputTokens":2}}"#,
                1,
                (3, 2),
            ),
            (
                r#"{"replies":[{"meta":{"usage":{"prompt_tokens":3,"completion_tokens":2}},"content":[{"tool_call":{}},{"tool_call":{}}]}]}"#,
                2,
                (3, 2),
            ),
            (
                r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c"}]}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
                1,
                (3, 2),
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"t"}}]}}]}"#,
                1,
                (0, 0),
            ),
            (
                r#"{"text":"","toolCalls":[{"toolName":"t"}],"files":[]}"#,
                1,
                (0, 0),
            ),
        ] {
            let reply = of(output);
            assert_eq!(reply.answer, Answer::ToolCalls(calls), "{output}");
            assert_eq!((reply.input_tokens, reply.output_tokens), tokens);
        }
        for text in [
            r#"{"message":{"content":[{"text":"Here is the answer."}]}}"#,
            r#"{"replies":[{"content":[{"text":"Here is the answer."}],"meta":{"model":"m"}}]}"#,
            r#"{"text":"Here is the answer.","files":[]}"#,
        ] {
            assert_eq!(
                of(text).answer,
                answer::text_alone("Here is the answer."),
                "{text}"
            );
        }
        assert_eq!(of("no reply"), Reply::default());
    }
}
