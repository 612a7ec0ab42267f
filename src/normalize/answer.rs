//! What a model answered: tool calls, or text alone.
//!
//! The answer itself is trusted before the finish reason, which lies in some dialects (`conventions` call a turn that
//! asks for tools `stop`); without recorded content, a finish reason that speaks of tools is still believed.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::engine::event::{Answer, Recorded, SAID_BITS, Text, ToolCall};
use crate::engine::policy::ToolSettings;
use crate::otlp::{SpanView, ValueView};

use super::facts::{ASKED_MAX, Facts, Slot};
use super::texts::{event_text, json_text, member_text, messages_text};
use super::value::{self, Now, Object};
use super::{fingerprint, names, position};

/// The tool with which smolagents' agents give their answer.
pub(super) const FINAL_ANSWER: &str = "final_answer";

/// The event in which the GenAI conventions put messages, where these are not attributes.
pub(super) const OPERATION_DETAILS: &str = "gen_ai.client.inference.operation.details";

/// The attribute in which some put all that an event of the older conventions says.
pub(super) const EVENT_CONTENT: &str = "gen_ai.event.content";

/// Reads the answer from whichever keys carry it.
pub(super) fn of(span: &SpanView<'_>, facts: &Facts<'_>) -> Answer {
    let told = flat(facts)
        .or_else(|| messages(&output_messages(span, facts)?))
        .or_else(|| vercel(facts))
        .or_else(|| choice(span))
        .or_else(|| google_adk(facts));
    // A text without words beside a reason that speaks of tools is what a message is when its calls are left out.
    match (told, finish_reason(facts)) {
        (Some(Answer::Text(None)), asked @ Answer::ToolCalls(_)) => return asked,
        (Some(answer), _) => return answer,
        (None, _) => {}
    }
    match (completion(span, facts), finish_reason(facts)) {
        (Some(Answer::Text(_)), asked @ Answer::ToolCalls(_)) => asked,
        (Some(answer), _) => answer,
        (None, reason) => reason,
    }
}

/// The GenAI conventions' messages: an attribute, or an attribute of the event that tells the details.
fn output_messages<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    messages_text(facts.value(Slot::OutputMessages))
        .or_else(|| event_text(span, OPERATION_DETAILS, "gen_ai.output.messages"))
}

/// OpenInference's flat keys, which [`Facts`] has counted.
fn flat(facts: &Facts<'_>) -> Option<Answer> {
    let answered = &facts.answered;
    match (answered.calls, answered.text) {
        (0, None) => None,
        (0, Some(text)) => Some(text_alone(&json_text(text)?)),
        (calls, _) => Some(match &answered.asked[..] {
            [asked] if asked.tool == FINAL_ANSWER => {
                text_alone(&json_text(asked.arguments).unwrap_or_default())
            }
            _ => Answer::ToolCalls(calls),
        }),
    }
}

/// The calls that the answer asks for, where it names them.
pub(super) fn asked<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Vec<Requested<'a>> {
    let flat = facts.answered.asked.iter();
    let flat: Vec<_> = flat
        .filter(|asked| asked.tool != FINAL_ANSWER)
        .map(|asked| Requested {
            id: asked.id.into(),
            tool: asked.tool.into(),
            arguments: json_text(asked.arguments).filter(|text| !text.is_empty()),
        })
        .collect();
    if flat.iter().any(|asked| !asked.id.is_empty()) {
        return flat;
    }
    let elsewhere = asked_elsewhere(span, facts);
    if elsewhere.is_empty() {
        flat
    } else {
        elsewhere
    }
}

/// The calls that the answer asks for, where flat keys do not say which they are.
fn asked_elsewhere<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Vec<Requested<'a>> {
    if let Some(messages) = output_messages(span, facts) {
        let asked = owned(asked_in(&messages));
        // Messages as a provider writes them.
        return if asked.is_empty() {
            owned(asked_of(&messages))
        } else {
            asked
        };
    }
    if let Some(choice) = event_text(span, "gen_ai.choice", EVENT_CONTENT) {
        return owned(of_choice(&choice).1);
    }
    whole_output(span, facts).map_or_else(Vec::new, |output| owned(asked_of(&output)))
}

/// The calls that one message of a history asks for, whichever form it has.
pub(super) fn asked_by(message: &str) -> Vec<Requested<'_>> {
    let members = Object::of(message);
    let parts = members.member("parts").unwrap_or_default();
    let calls: Vec<_> = tool_calls_among(parts).collect();
    match members.member("type") {
        _ if !calls.is_empty() => calls,
        Some("\"function_call\"") => vec![Requested::of(&members)],
        _ => asked_of(message),
    }
}

/// What the event `gen_ai.choice` says: what was answered, and the calls that the answer asks for, within the message or, as
/// traceloop writes them, beside it.
pub(super) fn of_choice(body: &str) -> (Answer, Vec<Requested<'_>>) {
    let message = value::member(body, &["message"]).unwrap_or(body);
    let within = calls_of(message);
    let asked = if within.is_empty() {
        calls_of(body)
    } else {
        within
    };
    let said = || {
        let content = value::member(message, &["content"])?;
        let first = value::member(content, &["0", "text"]).unwrap_or(content);
        let words = value::unquote(Some(first).filter(|first| first.starts_with('"'))?);
        (!matches!(&*words, "" | "null")).then(|| text_alone(&words))
    };
    let answer = match (asked.len(), member_text(body, &["finish_reason"])) {
        (0, Some(reason)) if speaks_of_tools(&reason) => Answer::ToolCalls(1),
        (0, _) => said().unwrap_or_default(),
        (calls, _) => Answer::ToolCalls(calls as u32),
    };
    (answer, asked)
}

/// The tools that a message asks for: `{"tool_calls": [{"id": …, "function": {"name": …, "arguments": …}}]}`.
fn calls_of(message: &str) -> Vec<Requested<'_>> {
    let calls = value::member(message, &["tool_calls"]).unwrap_or_default();
    let calls = value::items(calls).take(ASKED_MAX);
    calls.map(|call| Requested::of(&Object::of(call))).collect()
}

/// What came out of the span, in the form of whoever made it; the conventions had an event for it once.
fn whole_output<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    let output = [Slot::Output, Slot::PlainOutput].into_iter();
    let mut output = output.filter_map(|slot| json_text(facts.value(slot)));
    output
        .next()
        .or_else(|| event_text(span, "gen_ai.content.completion", "gen_ai.completion"))
}

fn owned(asked: Vec<Requested<'_>>) -> Vec<Requested<'static>> {
    let asked = asked.into_iter();
    asked
        .map(|asked| Requested {
            id: asked.id.into_owned().into(),
            tool: asked.tool.into_owned().into(),
            arguments: asked
                .arguments
                .map(|arguments| Cow::Owned(arguments.into_owned())),
        })
        .collect()
}

/// The calls that a provider's message asks for, or a whole response of it: a list `tool_calls`, blocks `tool_use`, items
/// `function_call`; any-agent has a list of tools' names and arguments, without ids, Langtrace the provider's calls as content.
fn asked_of(output: &str) -> Vec<Requested<'_>> {
    const BLOCKS: [&[&str]; 4] = [&["content"], &["output"], &["0"], &["0", "content"]];
    if let Some(list) = tool_calls(output) {
        return list
            .iter()
            .take(ASKED_MAX)
            .map(|call| Requested::of(&Object::of(call)))
            .collect();
    }
    let mut blocks = BLOCKS.iter().filter_map(|path| value::member(output, path));
    let blocks = blocks.find(|list| list.starts_with('[')).unwrap_or(output);
    let blocks = value::items(blocks).map(Object::of);
    let calls = blocks.filter(|block| {
        let kind = block.member("type");
        matches!(kind, Some("\"tool_use\"" | "\"function_call\""))
            || (kind == Some("\"function\"") && block.member("function").is_some())
            || block.member("tool.name").is_some()
    });
    let calls = calls.take(ASKED_MAX);
    calls.map(|call| Requested::of(&call)).collect()
}

/// A call that a message asks for; what it does not say is empty.
pub(super) struct Requested<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) tool: Cow<'a, str>,
    pub(super) arguments: Option<Cow<'a, str>>,
}

impl<'a> Requested<'a> {
    /// What is told of it, of a tool of this name, where it was asked for now; `None` where it cannot be told from another.
    pub(super) fn report(&self, tool: Text, how: &ToolSettings<'_>, now: Now) -> Option<ToolCall> {
        if self.id.is_empty() || tool.is_empty() {
            return None;
        }
        let arguments = self.arguments.as_deref();
        let arguments = arguments.map(|json| value::without_clock(json, &tool, now));
        let arguments = arguments.as_deref();
        Some(ToolCall {
            call_id: Some(position::call_id(&self.id)),
            input: arguments.map_or(Recorded::NotRecorded, |text| value::input_json(how, text)),
            ..fingerprint::call(how, tool, arguments.unwrap_or_default(), "")
        })
    }

    /// The identity under which it is told once in a trace, by span or by log record of this call of a model.
    pub(super) fn identity(&self, trace: &[u8; 16], model: [u8; 8]) -> u64 {
        position::identity(b"gen_ai.asked", trace, model, &self.id)
    }

    /// Reads id, name and arguments of an object; the last two may stand within `function`, and providers have other
    /// names for the arguments and for the id.
    pub(super) fn of(call: &Object<'a>) -> Self {
        let function = call.member("function");
        let function = function.filter(|function| function.starts_with('{'));
        let function = function.map(Object::of);
        let function = function.as_ref().unwrap_or(call);
        let mut arguments = ["arguments", "input", "args"].into_iter();
        let named = |key| call.text(key).filter(|id| names::is_id(id));
        Self {
            id: named("call_id").or_else(|| named("id")).unwrap_or_default(),
            tool: function.text("name").unwrap_or_default(),
            arguments: arguments.find_map(|key| function.text(key)),
        }
    }
}

/// The calls that messages of the GenAI conventions ask for.
pub(super) fn asked_in(messages: &str) -> Vec<Requested<'_>> {
    if parts_of(messages, &["\"tool_call\""]) == 0 {
        return Vec::new();
    }
    let parts = value::items(messages).filter_map(|message| value::member(message, &["parts"]));
    let calls = parts.flat_map(tool_calls_among);
    calls.take(ASKED_MAX).collect()
}

/// The calls among the parts of a message of the GenAI conventions.
fn tool_calls_among(parts: &str) -> impl Iterator<Item = Requested<'_>> {
    let parts = value::items(parts).map(Object::of);
    let calls = parts.filter(|part| part.member("type") == Some("\"tool_call\""));
    calls.map(|call| Requested::of(&call))
}

/// What the GenAI conventions' messages, as JSON text, answer.
pub(super) fn messages(json: &str) -> Option<Answer> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow, default)]
        parts: Vec<Part<'a>>,
    }
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, default, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        content: Option<Cow<'a, str>>,
    }

    let calls = parts_of(
        json,
        &["\"tool_call\"", "\"tool_use\"", "\"function_call\""],
    );
    if calls > 0 {
        return Some(Answer::ToolCalls(calls));
    }
    if let Some(calls) = tool_calls(json) {
        return Some(Answer::ToolCalls(calls.len() as u32));
    }
    let messages: Vec<Message<'_>> = serde_json::from_str(json).ok()?;
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    let Some(text) = parts.find(|part| part.kind == "text") else {
        // Messages as a provider writes them, or its choices, in which they lie.
        let (answer, _) = of_choice(value::member(json, &["0"])?);
        return Some(answer).filter(|answer| *answer != Answer::Unknown);
    };
    Some(
        text.content
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .map_or(Answer::Text(None), text_alone),
    )
}

/// How many parts of this kind there are. A quoted `"type"` cannot stand within a JSON text, where its quotation marks
/// would be escaped; so it is the member, and the messages need not be parsed.
fn parts_of(json: &str, kinds: &[&str]) -> u32 {
    static TYPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"type\""));
    let is_one = |value: &&str| kinds.iter().any(|kind| value.starts_with(kind));
    values_of(json, &TYPE).filter(is_one).count() as u32
}

/// What stands behind each member of a name, at any depth, from the value on.
fn values_of<'a>(json: &'a str, name: &Finder<'_>) -> impl Iterator<Item = &'a str> {
    let names = name.find_iter(json.as_bytes());
    let behind = names.map(|place| &json[place + name.needle().len()..]);
    behind.filter_map(|rest| Some(rest.trim_start().strip_prefix(':')?.trim_start()))
}

/// The Vercel AI SDK's keys.
fn vercel(facts: &Facts<'_>) -> Option<Answer> {
    let calls = json_text(facts.value(Slot::ResponseToolCalls));
    let calls = calls.map_or(0, |calls| calls.matches("\"toolName\"").count() as u32);
    if calls > 0 {
        return Some(Answer::ToolCalls(calls));
    }
    facts.text(Slot::ResponseText).map(text_alone)
}

/// The event with which strands tells its answer: `[{"text": "…"}, {"toolUse": {…}}]`; others put all of it into one
/// attribute.
fn choice(span: &SpanView<'_>) -> Option<Answer> {
    if let Some(whole) = event_text(span, "gen_ai.choice", EVENT_CONTENT) {
        return Some(of_choice(&whole).0);
    }
    let message = event_text(span, "gen_ai.choice", "message")?;
    let calls = message.matches("\"toolUse\"").count() as u32;
    if calls > 0 {
        return Some(Answer::ToolCalls(calls));
    }
    Some(text_alone(&member_text(&message, &["0", "text"])?))
}

/// google-adk's own copy of a response.
fn google_adk(facts: &Facts<'_>) -> Option<Answer> {
    let response = json_text(facts.value(Slot::AdkResponse))?;
    // The one for JavaScript writes Gemini's own names.
    let keys = ["\"function_call\"", "\"functionCall\""];
    let calls: usize = keys.iter().map(|key| response.matches(key).count()).sum();
    if calls > 0 {
        return Some(Answer::ToolCalls(calls as u32));
    }
    Some(text_alone(&member_text(
        &response,
        &["content", "parts", "0", "text"],
    )?))
}

/// A whole response of a provider or of LangChain, or the text alone, where a span carries no messages.
fn completion(span: &SpanView<'_>, facts: &Facts<'_>) -> Option<Answer> {
    const TEXTS: [&[&str]; 6] = [
        &["generations", "0", "0", "text"],
        &["choices", "0", "message", "content"],
        &["message", "content"],
        &["content", "0", "text"],
        &["content"],
        &["0", "content"],
    ];
    let json = whole_output(span, facts)?;
    let calls = match tool_calls(&json) {
        Some(calls) => calls.len(),
        None => asked_of(&json).len(),
    };
    if calls > 0 {
        return Some(Answer::ToolCalls(calls as u32));
    }
    let structured = json.trim_start().starts_with(['{', '[']);
    let text = if structured {
        let text = TEXTS.iter().find_map(|path| value::member(&json, path));
        text.filter(|text| text.starts_with('"'))
            .map(value::unquote)
    } else {
        Some(Cow::Borrowed(&*json))
    };
    let answer = text_alone(text.filter(|text| !text.trim().is_empty())?.as_ref());
    // A marker for hidden text says nothing of what else was answered.
    (answer != Answer::Text(None)).then_some(answer)
}

/// The first list of calls that is not empty; a message repeats its list for other readers.
fn tool_calls(json: &str) -> Option<Vec<&str>> {
    static TOOL_CALLS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"tool_calls\""));
    // A list that was cut off is walked to the end of the text, which must not happen for each of many.
    let lists = values_of(json, &TOOL_CALLS).take(ASKED_MAX);
    let lists = lists.map(|list| value::items(list).collect());
    lists.into_iter().find(|calls: &Vec<_>| !calls.is_empty())
}

fn finish_reason(facts: &Facts<'_>) -> Answer {
    let asks_for_tools = match facts.value(Slot::FinishReason) {
        ValueView::Str(reason) => speaks_of_tools(reason),
        ValueView::Array(reasons) => reasons
            .iter()
            .any(|reason| reason.as_str().is_some_and(speaks_of_tools)),
        _ => false,
    };
    if asks_for_tools {
        Answer::ToolCalls(1)
    } else {
        Answer::Unknown
    }
}

/// Whether a finish reason says that tools are asked for: `tool_calls`, `tool-calls`, `tool_use`, `FinishReason.TOOL_CALLS`,
/// `function_call`, and JSON text of these.
pub(super) fn speaks_of_tools(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    reason.contains("tool") || reason.contains("function_call")
}

/// An answer to a prompt that nothing was answered before, if it is one: what is said to one prompt repeats nothing that was said
/// to another. Who grades documents says the same of many.
pub(super) fn to_prompt(answer: Answer, prompt: Option<u64>) -> Answer {
    match (answer, prompt) {
        (Answer::Text(Some(text @ 1..)), Some(prompt)) => {
            Answer::Text(Some(text ^ (prompt >> (64 - SAID_BITS))))
        }
        (other, _) => other,
    }
}

/// An answer of text and nothing else.
pub(super) fn text_alone(text: &str) -> Answer {
    Answer::Text(value::spoken(text))
}
