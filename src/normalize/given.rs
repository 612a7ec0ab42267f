//! What tools answered, as a model is given it: the messages that follow its last answer.
//!
//! Instrumentations of a provider's client see what goes into a model and what comes out of it, and no tool: a loop
//! written by hand around the client shows its calls in these messages alone. The history is given again with every call,
//! so only what follows the model's last answer is read. Every convention keeps its messages in the provider's own form or
//! in one of its own; the forms are told apart by the message, not by who wrote it:
//!
//! - the GenAI conventions: a part `tool_call_response`;
//! - `OpenAI`'s chat and what follows it: a message of the role `tool`; its responses: an item `function_call_output`;
//! - Anthropic: a block `tool_result`; Bedrock: a block `toolResult`; Haystack: a part `tool_call_result`;
//! - older versions of traceloop: flat keys (`flat`), which [`Facts`] has read, for Anthropic with its blocks as JSON text in one;
//! - older conventions: a span event for all of them (`gen_ai.content.prompt`), or one for each (`gen_ai.tool.message`), its
//!   members in the event's attributes, or as JSON in one.

mod flat;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::engine::event::{Recorded, ToolCall};
use crate::engine::policy::ToolSettings;
use crate::otlp::SpanView;

use super::answer::{EVENT_CONTENT, OPERATION_DETAILS, Requested};
use super::facts::{Facts, Slot};
use super::history::History;
use super::texts::{event_text, json_text, member_text, messages_text, only_text};
use super::value::{self, Arguments, Object};
use super::{ended, names, position, wrappers};

pub(super) use flat::FlatAnswers;

/// What a tool answered to one call.
#[derive(Debug, PartialEq)]
pub(super) struct ToolAnswer<'a> {
    /// The call's id.
    pub(super) id: Cow<'a, str>,
    /// What it answered, if that is recorded.
    pub(super) content: Option<Cow<'a, str>>,
    /// The message itself says that the tool failed.
    pub(super) failed: bool,
}

impl ToolAnswer<'_> {
    /// The report of the call with this id. It does not say which tool it was; what a model asked for does.
    pub(super) fn report(&self, how: &ToolSettings<'_>) -> ToolCall {
        let whole = self.content.as_deref();
        let content = whole.map(|whole| wrappers::result(whole).unwrap_or(Cow::Borrowed(whole)));
        let (content, said) = ended::told(how, "", &Arguments::of(""), whole, content.as_deref());
        let content = content.as_deref();
        ToolCall {
            call_id: Some(position::call_id(&self.id)),
            output: content.map_or(Recorded::NotRecorded, |text| value::output_json(how, text)),
            error: said.or_else(|| {
                self.failed
                    .then(|| value::failure(content.unwrap_or_default()))
            }),
            ..ToolCall::default()
        }
    }

    /// The identity under which it is told once in a trace, by span or by log record of this call of a model.
    pub(super) fn identity(&self, trace: &[u8; 16], model: [u8; 8]) -> u64 {
        position::identity(b"gen_ai.tool.message", trace, model, &self.id)
    }

    fn into_owned(self) -> ToolAnswer<'static> {
        ToolAnswer {
            id: Cow::Owned(self.id.into_owned()),
            content: self.content.map(|content| Cow::Owned(content.into_owned())),
            failed: self.failed,
        }
    }
}

/// What tools answered since the model's last answer, from whichever keys of a span carry it, the newest `ASKED_MAX` at most.
pub(super) fn tool_answers<'a>(facts: &Facts<'a>, given: &History<'a>) -> Vec<ToolAnswer<'a>> {
    let flat = facts.given.newest();
    if flat.is_empty() {
        given.tool_answers()
    } else {
        flat
    }
}

/// Gives calls that are asked for after what a span's model was given names by which they can be told apart, where the
/// provider's ids cannot.
pub(super) fn name_asked(facts: &Facts<'_>, given: &History<'_>, asked: &mut [Requested<'_>]) {
    if facts.given.is_there() {
        facts.given.name_asked(asked);
    } else {
        given.name_asked(asked);
    }
}

/// The id of the first call of a conversation, which stands in everything that the model is given after it. It holds the
/// conversation together where nothing else does: a client alone, without a span of the program around it, makes a trace of
/// every call of a model. `None` where nothing was called yet, or where ids are counted and not drawn.
pub(super) fn first_call(
    facts: &Facts<'_>,
    given: &History<'_>,
    asked: &[Requested<'_>],
) -> Option<String> {
    let telling = |id: &str, tool: &str| {
        id.len() >= TELLING_BYTES_MIN
            && !id.starts_with('@')
            && id.bytes().any(|byte| byte.is_ascii_digit())
            && (tool.is_empty() || !id.contains(tool))
    };
    let now = asked.first().map(|asked| (&*asked.id, &*asked.tool));
    let flat = facts.given.first_id().map(|id| (id, ""));
    let before = match flat {
        Some(_) => None,
        None => given.first_call(),
    };
    let before = before.as_ref().map(|(id, tool)| (&**id, &**tool));
    let (id, tool) = flat.or(before).or(now)?;
    telling(id, tool).then(|| id.to_owned())
}

/// Shortest id that no two calls of different conversations have by chance: providers' ids are longer.
const TELLING_BYTES_MIN: usize = 16;

/// What a span's model was given, as JSON.
pub(super) fn given_messages<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    [Slot::InputMessages, Slot::Input, Slot::PlainInput]
        .into_iter()
        .find_map(|slot| messages_text(facts.value(slot)))
        .or_else(|| event_text(span, OPERATION_DETAILS, "gen_ai.input.messages"))
        .or_else(|| event_text(span, "gen_ai.content.prompt", "gen_ai.prompt"))
        .or_else(|| in_events(span).map(Cow::Owned))
}

/// The messages of a span's events, one an event, as a list of messages in the form of `OpenAI`'s chat.
fn in_events(span: &SpanView<'_>) -> Option<String> {
    let messages = span.events.iter().filter_map(|event| {
        let role = match event.name {
            "gen_ai.system.message" => "system",
            "gen_ai.user.message" => "user",
            "gen_ai.assistant.message" => "assistant",
            "gen_ai.tool.message" => "tool",
            _ => return None,
        };
        let whole = event.attributes.find(EVENT_CONTENT).and_then(json_text);
        let part = |key| match &whole {
            Some(whole) => value::member(whole, &[key]).map(str::to_owned),
            None => event.attributes.find(key).and_then(json_text).map(quoted),
        };
        let members = [("content", "content"), ("tool_calls", "tool_calls")].into_iter();
        let ids = [("tool_call_id", "tool_call_id"), ("tool_call_id", "id")];
        let id = ids.into_iter().find(|(_, key)| part(key).is_some());
        let members = members.chain(id.filter(|_| role == "tool"));
        let mut message = format!(r#"{{"role":"{role}""#);
        for (name, key) in members {
            if let Some(said) = part(key) {
                message.extend([",\"", name, "\":", &said]);
            }
        }
        Some(message + "}")
    });
    let messages: Vec<_> = messages.collect();
    (!messages.is_empty()).then(|| format!("[{}]", messages.join(",")))
}

/// A value of its own as JSON: a list or an object stands as it is, a text in quotes.
fn quoted(text: Cow<'_, str>) -> String {
    if serde_json::from_str::<&RawValue>(&text).is_ok_and(|json| json.get().starts_with(['[', '{']))
    {
        return text.into_owned();
    }
    serde_json::Value::from(text).to_string()
}

/// What tools answered in one message.
pub(super) fn of_message(message: &str) -> Vec<ToolAnswer<'_>> {
    let members = Object::of(message);
    let whole = answer(&members, "tool_call_id", &["content"])
        .or_else(|| answer(&members, "call_id", &["output"]))
        .or_else(|| to_no_call(&members));
    if let Some(mut whole) = whole {
        // LiteLLM writes the id as OpenAI does, and the content as the conventions do.
        let in_parts = || unnamed(&members).and_then(|answer| answer.content);
        whole.content = whole.content.take().or_else(in_parts);
        return vec![whole];
    }
    let beside = members.member("additional_kwargs").map(Object::of);
    if let Some(mut answer) = beside.and_then(|beside| answer(&beside, "tool_call_id", &[])) {
        // llama-index keeps the call's id beside what all messages have.
        answer.content = only_text(message, "blocks");
        return vec![answer];
    }
    let parts = ["parts", "content"].into_iter();
    let mut parts = parts.filter_map(|key| {
        let parts = members.member(key)?;
        parts.starts_with('[').then_some(parts)
    });
    let parts = value::items(parts.next().unwrap_or_default());
    parts.filter_map(of_part).collect()
}

/// What a tool answered in a message of the conventions whose one part is text, which leaves out which call it was. (In other
/// forms, what has the role of a tool and names no call may be a tool's definition.)
pub(super) fn unnamed<'a>(message: &Object<'a>) -> Option<ToolAnswer<'a>> {
    let of_tool = message.member("role") == Some("\"tool\"");
    let parts = message.member("parts").filter(|_| of_tool)?;
    let only = value::member(parts, &["0"])?;
    let is_text = value::member(only, &["type"]) == Some("\"text\"");
    let single = is_text && value::member(parts, &["1"]).is_none();
    Some(ToolAnswer {
        id: Cow::Borrowed(""),
        content: Some(member_text(only, &["content"]).filter(|_| single)?),
        failed: false,
    })
}

fn of_part(part: &str) -> Option<ToolAnswer<'_>> {
    let part = Object::of(part);
    if let Some(result) = part.member("toolResult") {
        return answer(&Object::of(result), "toolUseId", &["content"]);
    }
    let gemini = ["function_response", "functionResponse"].into_iter();
    let mut gemini = gemini.filter_map(|key| part.member(key));
    if let Some(response) = gemini.next().filter(|json| json.starts_with('{')) {
        return Some(without_id(&Object::of(response), &["response"]));
    }
    if let Some(result) = part.member("tool_call_result") {
        return of_haystack(&Object::of(result));
    }
    match part.text("type")?.as_ref() {
        "tool_call_response" => {
            let content = ["response", "result", "content"];
            answer(&part, "id", &content).or_else(|| Some(without_id(&part, &content)))
        }
        "tool_result" => answer(&part, "tool_use_id", &["content"])
            .or_else(|| answer(&part, "id", &["content", "result"]))
            .or_else(|| Some(without_id(&part, &["content", "result"]))),
        _ => None,
    }
}

/// Haystack's answer, which names the call that it came from.
fn of_haystack<'a>(result: &Object<'a>) -> Option<ToolAnswer<'a>> {
    let origin = Object::of(result.member("origin")?);
    Some(ToolAnswer {
        content: result.text("result"),
        failed: result.member("error") == Some("true"),
        ..without_id(&origin, &[])
    })
}

/// An answer with its id under one key and its content under the first of some others.
fn answer<'a>(members: &Object<'a>, id: &str, content: &[&str]) -> Option<ToolAnswer<'a>> {
    let id = members.member(id).filter(|id| id.starts_with('"'))?;
    let id = value::unquote(id);
    names::is_id(&id).then(|| ToolAnswer {
        id,
        content: content.iter().find_map(|key| members.text(key)),
        failed: says_failed(members),
    })
}

/// The answer of a tool in a message in `OpenAI`'s forms that has a word for none in the place of the call's id.
fn to_no_call<'a>(members: &Object<'a>) -> Option<ToolAnswer<'a>> {
    const FORMS: [(&str, &str, &str, &str); 2] = [
        ("role", "\"tool\"", "tool_call_id", "content"),
        ("type", "\"function_call_output\"", "call_id", "output"),
    ];
    let mut forms = FORMS.into_iter();
    let (.., content) = forms.find(|(kind, of_tool, id, _)| {
        members.member(kind) == Some(of_tool) && members.member(id).is_some()
    })?;
    Some(ToolAnswer {
        id: Cow::Borrowed(""),
        content: members.text(content),
        failed: says_failed(members),
    })
}

fn says_failed(members: &Object<'_>) -> bool {
    members.member("is_error") == Some("true") || members.member("status") == Some("\"error\"")
}

/// An answer whose id may be missing, as Gemini's are; what a function returned is a member of it.
fn without_id<'a>(members: &Object<'a>, content: &[&str]) -> ToolAnswer<'a> {
    let content = content.iter().find_map(|key| members.text(key));
    ToolAnswer {
        id: members
            .text("id")
            .filter(|id| names::is_id(id))
            .unwrap_or_default(),
        content: content.map(|content| {
            wrappers::within(content, |content| wrappers::only_member(content, "result"))
        }),
        failed: false,
    }
}
