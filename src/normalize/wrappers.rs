//! Wrappers that several frameworks put around arguments and results, and how they come off.
//!
//! What a tool was given and what it gave back must look the same through every framework, so call ids, messages around
//! results, lists of content blocks and Python's way to print a dictionary are undone here. What is not recognised stays
//! as it is: a wrapper left on makes two equal calls look different, a value taken apart wrongly makes two different ones
//! look the same, and the second is worse.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::reading::member_text;
use super::value;

/// A result within the message in which LangChain hands it to the model.
pub(super) struct ToolMessage<'t> {
    pub(super) content: Cow<'t, str>,
    pub(super) call_id: Option<Cow<'t, str>>,
    /// The message itself says that the tool failed.
    pub(super) failed: bool,
}

/// What stands within a text, whether the text is borrowed or not; the text itself where nothing is found.
pub(super) fn within<'c>(
    text: Cow<'c, str>,
    find: impl for<'t> Fn(&'t str) -> Option<Cow<'t, str>>,
) -> Cow<'c, str> {
    match text {
        Cow::Borrowed(text) => find(text).unwrap_or(Cow::Borrowed(text)),
        Cow::Owned(text) => match find(&text).map(Cow::into_owned) {
            Some(found) => Cow::Owned(found),
            None => Cow::Owned(text),
        },
    }
}

/// The one text (or JSON value) in a list of content blocks, as MCP servers and model providers write results:
/// `{"content":[{"type":"text","text":"…"}]}`, `[{"text":"…"}]`, `[{"json":{…}}]`.
pub(super) fn content(result: &str) -> Option<Cow<'_, str>> {
    const ENVELOPES: [&str; 5] = ["content", "meta", "_meta", "isError", "structuredContent"];
    const BLOCKS: [&str; 4] = ["type", "text", "json", "block_type"];
    let result = result.trim_start();
    let blocks = match result.as_bytes().first()? {
        b'[' => result,
        b'{' if begins_with(result, &ENVELOPES) => value::member(result, &["content"])?,
        _ => return None,
    };
    let block = value::member(blocks, &["0"])?;
    if !begins_with(block, &BLOCKS) || value::member(blocks, &["1"]).is_some() {
        return None;
    }
    let text = value::member(block, &["text"]).filter(|text| text.starts_with('"'));
    text.map(value::unquote)
        .or_else(|| value::member(block, &["json"]).map(Cow::Borrowed))
}

/// Whether the first member of an object has one of these names: enough to know an envelope, without reading it all.
fn begins_with(object: &str, names: &[&str]) -> bool {
    let first = object
        .strip_prefix('{')
        .and_then(|rest| rest.trim_start().strip_prefix('"'));
    first.is_some_and(|first| {
        names.iter().any(|name| {
            first
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('"'))
        })
    })
}

/// Arguments of a Python function as `args` and `kwargs`; most tools are called with names for all arguments.
pub(super) fn named_arguments(call: &str) -> Option<Cow<'_, str>> {
    if !begins_with(call.trim_start(), &["args", "kwargs"]) {
        return None;
    }
    let named = value::member(call, &["kwargs"]).filter(|named| named.starts_with('{'));
    match (value::member(call, &["args"]), named) {
        (None | Some("[]"), named) => named.map(Cow::Borrowed),
        (Some(unnamed), None | Some("{}")) => Some(Cow::Borrowed(unnamed)),
        (Some(unnamed), Some(named)) => Some(Cow::Owned(format!("[{unnamed},{named}]"))),
    }
}

/// LangChain's message around a result, in any of the forms in which it is printed: plain, under `data`, under `kwargs`,
/// and each of these within a command (`update`) or a member `output`.
pub(super) fn tool_message(printed: &str) -> Option<ToolMessage<'_>> {
    if !printed.trim_start().starts_with('{') {
        return None;
    }
    let printed = value::member(printed, &["output"])
        .filter(|output| output.starts_with('{'))
        .unwrap_or(printed);
    let message = [
        &["update", "messages", "0"][..],
        &["kwargs", "update", "messages", "0"],
    ]
    .iter()
    .find_map(|path| value::member(printed, path))
    .unwrap_or(printed);
    let body = ["data", "kwargs"]
        .iter()
        .find_map(|name| value::member(message, &[name]))
        .unwrap_or(message);
    let call_id = member_text(body, &["tool_call_id"]);
    let is_message = call_id.is_some() || value::member(body, &["type"]) == Some("\"tool\"");
    let content = member_text(body, &["content"]).filter(|_| is_message)?;
    Some(ToolMessage {
        content,
        call_id,
        failed: value::member(body, &["status"]) == Some("\"error\""),
    })
}

/// Arguments that Python printed (`{'query': 'x', 'exact': True}`) as JSON.
pub(super) fn python_dictionary(printed: &str) -> Option<String> {
    let printed = printed.trim();
    if !printed.starts_with("{'") {
        return None;
    }
    let mut json = String::with_capacity(printed.len() + 8);
    let mut rest = printed.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\'' | '"' => {
                let mut text = String::new();
                loop {
                    match rest.next()? {
                        '\\' => match rest.next()? {
                            'n' => text.push('\n'),
                            't' => text.push('\t'),
                            'r' => text.push('\r'),
                            quoted @ ('\\' | '\'' | '"') => text.push(quoted),
                            // Escapes of bytes and code points: too rare to be worth reading.
                            _ => return None,
                        },
                        end if end == letter => break,
                        other => text.push(other),
                    }
                }
                json.push_str(&serde_json::Value::from(text).to_string());
            }
            other => json.push(other),
        }
    }
    if serde_json::from_str::<IgnoredAny>(&json).is_ok() {
        return Some(json);
    }
    // Python's words outside of quoted text; within it they are data, and then the text above was read already.
    let words = json
        .replace(": True", ": true")
        .replace(": False", ": false")
        .replace(": None", ": null");
    serde_json::from_str::<IgnoredAny>(&words)
        .is_ok()
        .then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block is its content; several blocks, and lists of other things, stay as they are.
    #[test]
    fn one_content_block_is_its_content() {
        for (result, expected) in [
            (
                r#"{"content":[{"type":"text","text":"a \"b\""}],"isError":false}"#,
                Some("a \"b\""),
            ),
            (
                r#"{"_meta":null,"content":[{"type":"text","text":"x"}]}"#,
                Some("x"),
            ),
            (r#"[{"text": "x"}]"#, Some("x")),
            (r#"[{"json": {"a": 1}}]"#, Some(r#"{"a": 1}"#)),
            (r#"[{"text":"x"},{"text":"y"}]"#, None),
            (r#"[{"path":"x","text":"y"}]"#, None),
            (r#"{"content":"x"}"#, None),
            (r#"{"results":[]}"#, None),
            ("[]", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(content(result).as_deref(), expected, "{result}");
        }
    }

    /// A result is the same in whichever form LangChain printed its message, and other objects are not messages.
    #[test]
    fn messages_come_off() {
        let body = r#"{"content":"[]","tool_call_id":"call_1","status":"error"}"#;
        for printed in [
            body.to_owned(),
            format!(r#"{{"type":"tool","data":{body}}}"#),
            format!(r#"{{"lc":1,"type":"constructor","kwargs":{body}}}"#),
            format!(r#"{{"output":{body}}}"#),
            format!(r#"{{"graph":null,"update":{{"messages":[{body}]}}}}"#),
        ] {
            let message = tool_message(&printed).expect(&printed);
            assert_eq!(
                (&*message.content, message.call_id.as_deref()),
                ("[]", Some("call_1"))
            );
            assert!(message.failed);
        }
        for other in [r#"{"content":"x"}"#, r#"{"output":"x"}"#, "x", "{"] {
            assert!(tool_message(other).is_none(), "{other}");
        }
    }

    /// Arguments of Python functions: named ones alone, and otherwise both.
    #[test]
    fn function_arguments_are_named() {
        for (call, expected) in [
            (r#"{"args": [], "kwargs": {"a": 1}}"#, Some(r#"{"a": 1}"#)),
            (r#"{"kwargs": {"a": 1}}"#, Some(r#"{"a": 1}"#)),
            (r#"{"args": [7], "kwargs": {}}"#, Some("[7]")),
            (r#"{"args": [7]}"#, Some("[7]")),
            (
                r#"{"args": [7], "kwargs": {"a": 1}}"#,
                Some(r#"[[7],{"a": 1}]"#),
            ),
            (r#"{"query": "x", "kwargs": 2}"#, None),
            ("plain", None),
        ] {
            assert_eq!(named_arguments(call).as_deref(), expected, "{call}");
        }
    }

    /// What Python prints is read where it is certain, and left alone elsewhere.
    #[test]
    fn python_is_read() {
        for (printed, expected) in [
            ("{'query': 'x'}", Some(r#"{"query": "x"}"#)),
            (
                r#"{'q': "it's", 'n': 3, 'on': True, 'no': None}"#,
                Some(r#"{"q": "it's", "n": 3, "on": true, "no": null}"#),
            ),
            (r"{'a': 'line\nline\''}", Some(r#"{"a": "line\nline'"}"#)),
            ("{'a': <object at 0x7f>}", None),
            (r"{'a': '\x00'}", None),
            ("{'a", None),
            (r#"{"a": 1}"#, None),
        ] {
            assert_eq!(python_dictionary(printed).as_deref(), expected, "{printed}");
        }
    }
}
