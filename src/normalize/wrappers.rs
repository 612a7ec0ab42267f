//! Wrappers that several frameworks put around arguments and results, and how they come off.
//!
//! What a tool was given and what it gave back must look the same through every framework, so call ids, messages around
//! results, lists of content blocks and Python's way to print a dictionary are undone here. What is not recognised stays
//! as it is: a wrapper left on makes two equal calls look different, a value taken apart wrongly makes two different ones
//! look the same, and the second is worse.

use std::borrow::Cow;
use std::str::Chars;
use std::sync::LazyLock;

use memchr::memchr2;
use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use super::injected;
use super::texts::member_text;
use super::value::wide::{trimmed, trimmed_start};
use super::value::{self, Object};

/// A result within the message in which LangChain hands it to the model.
pub(super) struct ToolMessage<'t> {
    pub(super) content: Cow<'t, str>,
    pub(super) call_id: Option<Cow<'t, str>>,
    /// The tool, where the message names it.
    pub(super) tool: Option<Cow<'t, str>>,
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
/// `{"content":[{"type":"text","text":"…"}]}`, `[{"text":"…"}]`, `[{"json":{…}}]`. Of a response of JSON-RPC, that of what it
/// carries, or what it carries.
pub(super) fn content(result: &str) -> Option<Cow<'_, str>> {
    match value::failing::rpc::carried(result) {
        Some(carried) => Some(within(carried, in_blocks)),
        None => in_blocks(result),
    }
}

fn in_blocks(result: &str) -> Option<Cow<'_, str>> {
    const ENVELOPES: [&str; 5] = ["content", "meta", "_meta", "isError", "structuredContent"];
    const BLOCKS: [&str; 4] = ["type", "text", "json", "block_type"];
    let result = trimmed_start(result);
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
pub(super) fn begins_with(object: &str, names: &[&str]) -> bool {
    let first = object
        .strip_prefix('{')
        .and_then(|rest| trimmed_start(rest).strip_prefix('"'));
    first.is_some_and(|first| {
        names.iter().any(|name| {
            first
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('"'))
        })
    })
}

/// Whether a text is an object in which something is, and not Python's own writing of one.
fn is_object(text: &str) -> bool {
    let inner = text.strip_prefix('{').map(trimmed_start);
    inner.is_some_and(|inner| inner.starts_with('"'))
}

/// Whether a list or an object is an empty one, blanks or not.
fn holds_nothing(json: &str) -> bool {
    let inner = json
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.or_else(|| json.strip_prefix('{')?.strip_suffix('}'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

/// Arguments of a Python function as `args` and `kwargs`; most tools are called with names for all arguments.
pub(super) fn named_arguments(call: &str) -> Option<Cow<'_, str>> {
    if !begins_with(trimmed_start(call), &["args", "kwargs"]) {
        return None;
    }
    let named = value::member(call, &["kwargs"]).filter(|named| named.starts_with('{'));
    let holds_some = |json: &&str| !holds_nothing(json);
    let unnamed = value::member(call, &["args"]).filter(holds_some);
    let Some(unnamed) = unnamed else {
        return named.map(Cow::Borrowed);
    };
    match named.filter(holds_some) {
        None => {
            // A single argument that is an object, as JavaScript's are, perhaps written as text, has the names in it.
            let only = value::member(unnamed, &["1"]).is_none();
            let object = member_text(unnamed, &["0"]).filter(|text| is_object(text));
            object.filter(|_| only).or(Some(Cow::Borrowed(unnamed)))
        }
        Some(named) => Some(Cow::Owned(format!("[{unnamed},{named}]"))),
    }
}

/// LangChain's message around a result where it is unmistakable: it names the call. Nearly every result is spared the walk
/// through its members.
pub(super) fn langchain_message(result: &str) -> Option<ToolMessage<'_>> {
    if !matches!(trimmed(result).as_bytes().first(), Some(b'{' | b'c')) {
        return None;
    }
    CALL_ID.find(result.as_bytes())?;
    tool_message(result)
        .filter(|message| message.call_id.is_some())
        .or_else(|| printed_message(result))
}

/// The member that names the call.
static CALL_ID: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("tool_call_id"));

/// The same message as Python prints it, alone or as a member `output`: `content='…' name='…' tool_call_id='…'`.
fn printed_message(result: &str) -> Option<ToolMessage<'static>> {
    let output = only_member(result, "output");
    let printed = output.as_deref().unwrap_or(result);
    if !printed.starts_with("content=") {
        return None;
    }
    let member = |name| printed_member(printed, name).map(Cow::Owned);
    Some(ToolMessage {
        content: member("content")?,
        call_id: Some(member("tool_call_id")?),
        tool: member("name"),
        failed: member("status").as_deref() == Some("error"),
    })
}

/// LangChain's message around a result, in any of the forms in which it is printed: plain, under `data`, under `kwargs`,
/// and each of these within a command (`update`) or a member `output`.
pub(super) fn tool_message(printed: &str) -> Option<ToolMessage<'_>> {
    if !trimmed_start(printed).starts_with('{') {
        return None;
    }
    let mut body = Object::of(printed);
    let is_object = |json: &&str| json.starts_with('{');
    if let Some(output) = body.member("output").filter(is_object) {
        body = Object::of(output);
    }
    let within = |kwargs| value::member(kwargs, &["update"]);
    let updates = [
        body.member("update"),
        body.member("kwargs").and_then(within),
    ];
    let updates = updates.into_iter().flatten();
    let mut messages = updates.filter_map(|update| value::member(update, &["messages", "0"]));
    if let Some(message) = messages.next() {
        body = Object::of(message);
    }
    if let Some(inner) = body.member("data").or_else(|| body.member("kwargs")) {
        body = Object::of(inner);
    }
    let call_id = body.text("tool_call_id");
    let is_message = call_id.is_some() || body.member("type") == Some("\"tool\"");
    Some(ToolMessage {
        content: body.text("content").filter(|_| is_message)?,
        call_id,
        tool: body.text("name"),
        failed: body.member("status") == Some("\"error\""),
    })
}

/// Arguments without what frameworks and observers put around them.
pub(super) fn arguments(recorded: &str) -> Cow<'_, str> {
    if let Some(named) = named_arguments(recorded) {
        return named;
    }
    python_dictionary(recorded).map_or(Cow::Borrowed(recorded), Cow::Owned)
}

/// A result without what frameworks put around it, where there is something around it.
pub(super) fn result(recorded: &str) -> Option<Cow<'_, str>> {
    content(recorded)
        .or_else(|| event_content(recorded))
        .or_else(|| {
            // Some write the printed text as JSON once more.
            let text = if recorded.starts_with("\"content=") {
                value::unquote(recorded)
            } else {
                Cow::Borrowed(recorded)
            };
            let is_printed = text.starts_with("content='") || text.starts_with("content=\"");
            let printed = is_printed.then(|| printed_member(&text, "content"));
            let printed = printed.flatten().map(Cow::Owned);
            printed.or_else(|| without_note(recorded).map(Cow::Owned))
        })
}

/// A result within trpc-agent-go's event of it, whose id and times are each call's own.
fn event_content(event: &str) -> Option<Cow<'_, str>> {
    if !begins_with(event, &["id"])
        || value::member(event, &["object"]) != Some("\"tool.response\"")
        || value::member(event, &["choices", "1"]).is_some()
    {
        return None;
    }
    member_text(event, &["choices", "0", "message", "content"])
}

/// A result without the note that `PraisonAI` puts behind those that bring nothing new, `[loop-guard] Limited progress in 4
/// tool calls.`: it counts on, so that each result would look like a new one.
fn without_note(recorded: &str) -> Option<String> {
    const MARK: &str = "[loop-guard]";
    const NOTE_BYTES_MAX: usize = 256;
    if !recorded.trim_end_matches('"').ends_with('.') {
        return None;
    }
    let end = recorded.len().saturating_sub(NOTE_BYTES_MAX);
    let tail = (end..=recorded.len()).find_map(|from| recorded.get(from..))?;
    let place = recorded.len() - tail.len() + tail.find(MARK)?;
    // The blank line before it may be written as in JSON.
    let kept = recorded[..place].trim_end_matches(|sign: char| sign.is_whitespace());
    let kept = kept.trim_end_matches("\\n");
    let is_quoted = recorded.starts_with('"') && recorded.ends_with('"');
    Some(format!("{kept}{}", if is_quoted { "\"" } else { "" }))
}

/// Gemini's answer of a tool, `{"id": …, "name": …, "response": {"result": …}}`: the response alone.
pub(super) fn function_response(answer: &str) -> Option<Cow<'_, str>> {
    if !begins_with(trimmed_start(answer), &["id", "name"])
        || value::member(answer, &["name"]).is_none()
    {
        return None;
    }
    let response = value::member(answer, &["response"]).filter(|json| json.starts_with('{'))?;
    Some(only_member(response, "result").unwrap_or(Cow::Borrowed(response)))
}

/// What stands in an object of one member, if it is this one.
pub(super) fn only_member<'t>(json: &'t str, name: &str) -> Option<Cow<'t, str>> {
    let mut members = value::members(json);
    let (first, member) = members.next()?;
    (first == name && members.next().is_none() && trimmed(json).ends_with('}'))
        .then(|| value::unquote(member))
}

/// A member of an object as Python prints it, `status='success' result='…' error=None`; `None` for one that is none.
pub(super) fn printed_member(printed: &str, name: &str) -> Option<String> {
    let mut rest = printed;
    loop {
        let (key, value) = rest.trim_start().split_once('=')?;
        if key.is_empty() || key.contains(|letter: char| !letter.is_alphanumeric() && letter != '_')
        {
            return None;
        }
        let mut letters = value.chars();
        let text = match letters.next()? {
            quote @ ('\'' | '"') => Some(python_text(&mut letters, quote)?),
            _ => None,
        };
        if key == name {
            return text;
        }
        rest = match text {
            Some(_) => letters.as_str(),
            None => value.split_once(' ')?.1,
        };
    }
}

/// The text with which something begins that Python printed, and what follows it.
pub(super) fn printed_text(printed: &str) -> Option<(String, &str)> {
    let mut letters = printed.chars();
    let end = letters.next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let text = python_text(&mut letters, end)?;
    Some((text, letters.as_str()))
}

/// Reads a text that Python printed up to the mark that ends it, a quotation mark of either kind.
fn python_text(letters: &mut Chars<'_>, end: char) -> Option<String> {
    let mut text = String::new();
    loop {
        let rest = letters.as_str();
        let (plain, behind) = rest.split_at(memchr2(end as u8, b'\\', rest.as_bytes())?);
        text.push_str(plain);
        *letters = behind.chars();
        if letters.next() == Some(end) {
            return Some(text);
        }
        match letters.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            quoted @ ('\\' | '\'' | '"') => text.push(quoted),
            // Escapes of bytes and code points: too rare to be worth reading.
            _ => return None,
        }
    }
}

/// Arguments that Python printed (`{'query': 'x', 'exact': True}`) as JSON, without what LangGraph puts among them.
pub(super) fn python_dictionary(printed: &str) -> Option<String> {
    if !trimmed_start(printed).starts_with("{'") {
        return None;
    }
    python_literal(printed).or_else(|| injected::left_out(printed))
}

/// A result that is a dictionary as Python prints it, perhaps written as JSON once more, as JSON.
pub(super) fn printed_dictionary(result: &str) -> Option<String> {
    let printed = match result.as_bytes() {
        [b'{', b'\'', ..] => Cow::Borrowed(result),
        [b'"', b'{', b'\'', ..] => value::unquote(result),
        _ => return None,
    };
    python_literal(&printed)
}

/// Dictionaries, lists, texts and numbers as Python prints them, as JSON; `None` for anything else.
pub(super) fn python_literal(printed: &str) -> Option<String> {
    let printed = printed.trim();
    let mut json = String::with_capacity(printed.len() + 8);
    let mut rest = printed.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\'' | '"' => {
                let text = python_text(&mut rest, letter)?;
                json.push_str(&serde_json::to_string(&text).ok()?);
            }
            '(' => json.push('['),
            ')' => json.push(']'),
            // Within a number, as in `1e-05`, a letter is part of it.
            letter if letter.is_alphabetic() && !json.ends_with(|last: char| last.is_numeric()) => {
                let after = rest.as_str();
                let (end, word) = match letter {
                    'T' => ("rue", "true"),
                    'F' => ("alse", "false"),
                    'N' => ("one", "null"),
                    _ => return None,
                };
                json.push_str(word);
                rest = after.strip_prefix(end)?.chars();
            }
            other => json.push(other),
        }
    }
    serde_json::from_str::<IgnoredAny>(&json)
        .is_ok()
        .then_some(json)
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
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}]}}"#,
                Some("x"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":{"rows":[]}}"#,
                Some(r#"{"rows":[]}"#),
            ),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(content(result).as_deref(), expected, "{result}");
        }
    }

    /// Given results with and without the note of a framework that watches for loops itself: they are the same, as text and as
    /// JSON, and no other text is cut.
    #[test]
    fn a_note_behind_a_result_comes_off() {
        let note = "[loop-guard] Limited progress in 4 tool calls. Consider changing approach.";
        let told = format!("{{\"a\": 1}}\n\n{note}");
        assert_eq!(result(&told).as_deref(), Some(r#"{"a": 1}"#));
        let written = serde_json::Value::from(told).to_string();
        assert_eq!(result(&written).as_deref(), Some(r#""{\"a\": 1}""#));
        let long = format!("{note}{}.", "é".repeat(200));
        for text in ["done.", "", ".", "\"", &long] {
            assert_eq!(result(text), None, "{text}");
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
        let printed = "content='[]' name='t' tool_call_id='call_1' status='error'";
        for printed in [printed.to_owned(), format!(r#"{{"output": "{printed}"}}"#)] {
            let message = langchain_message(&printed).expect(&printed);
            assert_eq!(
                (&*message.content, message.call_id.as_deref()),
                ("[]", Some("call_1"))
            );
            assert!(message.failed);
        }
        for other in [r#"{"content":"x"}"#, r#"{"output":"x"}"#, "x", "{"] {
            assert!(tool_message(other).is_none(), "{other}");
        }
        for other in ["the tool_call_id", "content='x'", "content='tool_call_id"] {
            assert!(langchain_message(other).is_none(), "{other}");
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
            (r#"{"args": [{"a": 1}]}"#, Some(r#"{"a": 1}"#)),
            (
                r#"{"args": ["{\"a\": 1}"], "kwargs": {}}"#,
                Some(r#"{"a": 1}"#),
            ),
            (r#"{"args": [{"a": 1}, 2]}"#, Some(r#"[{"a": 1}, 2]"#)),
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
            (
                "{'a': [True, None], 'b': (1e-05, 'True')}",
                Some(r#"{"a": [true, null], "b": [1e-05, "True"]}"#),
            ),
            (
                "{'a': 1, 'state': {'messages': [HumanMessage(content='b')]}}",
                Some(r#"{"a": 1}"#),
            ),
            ("{'a': Trues}", None),
            ("{'a': nan}", None),
            (r"{'a': 'line\nline\''}", Some(r#"{"a": "line\nline'"}"#)),
            ("{'a': <object at 0x7f>}", None),
            (r"{'a': '\x00'}", None),
            ("{'a", None),
            (r#"{"a": 1}"#, None),
        ] {
            assert_eq!(python_dictionary(printed).as_deref(), expected, "{printed}");
        }
    }

    /// A result that Python printed is the same as in JSON, and texts and JSON stay as they are.
    #[test]
    fn printed_results_are_json() {
        let json = r#"{"status": "error", "rows": []}"#;
        let printed = "{'status': 'error', 'rows': []}";
        let quoted = serde_json::Value::from(printed).to_string();
        for result in [printed, &quoted] {
            assert_eq!(printed_dictionary(result).as_deref(), Some(json));
        }
        for result in [
            json,
            "{'a', 'b'}",
            "{'a': <object>}",
            "it's {'a': 1}",
            "",
            "\"",
        ] {
            assert_eq!(printed_dictionary(result), None, "{result}");
        }
    }

    /// What Python prints of an object is read member by member, and of a message the content.
    #[test]
    fn printed_objects_are_read() {
        let printed = r#"status='success' result="it's" error=None count=3"#;
        assert_eq!(printed_member(printed, "result").as_deref(), Some("it's"));
        assert_eq!(printed_member(printed, "error"), None);
        assert_eq!(printed_member("no members here", "result"), None);
        let message = r#"content='{"a": 1}' name='t' tool_call_id='call_1'"#;
        assert_eq!(result(message).as_deref(), Some(r#"{"a": 1}"#));
        let quoted = serde_json::Value::from(message).to_string();
        assert_eq!(result(&quoted).as_deref(), Some(r#"{"a": 1}"#));
        assert_eq!(result("content of a page"), None);
    }

    /// Gemini's answer of a tool is its response; an object that only looks like it stays.
    #[test]
    fn function_responses_are_unwrapped() {
        for (answer, expected) in [
            (
                r#"{"id":"a","name":"t","response":{"result":"x"}}"#,
                Some("x"),
            ),
            (
                r#"{"name":"t","response":{"status":"ok","n":1}}"#,
                Some(r#"{"status":"ok","n":1}"#),
            ),
            (r#"{"id":"a","response":{"result":"x"}}"#, None),
            (r#"{"result":"x"}"#, None),
        ] {
            assert_eq!(function_response(answer).as_deref(), expected, "{answer}");
        }
    }
}
