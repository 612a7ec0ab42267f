//! What tools answered, as a model is given it: the messages that follow its last answer.
//!
//! Instrumentations of a provider's client see what goes into a model and what comes out of it, and no tool: a loop
//! written by hand around the client shows its calls in these messages alone. The history is given again with every call,
//! so only what follows the model's last answer is read. Every convention keeps its messages in the provider's own form or
//! in one of its own; the forms are told apart by the message, not by who wrote it:
//!
//! - the GenAI conventions: a part `tool_call_response`;
//! - `OpenAI`'s chat and what follows it: a message of the role `tool`; its responses: an item `function_call_output`;
//! - Anthropic: a block `tool_result`; Bedrock: a block `toolResult`;
//! - older versions of traceloop: flat keys, which [`Facts`] has read;
//! - older conventions: a span event a message (`gen_ai.tool.message`), its members in the event's attributes, or as JSON in one.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::engine::event::{Recorded, ToolCall};
use crate::engine::policy::ToolSettings;
use crate::otlp::SpanView;

use super::answer::{self, Asked, EVENT_CONTENT, OPERATION_DETAILS};
use super::facts::{ASKED_MAX, Facts, Slot};
use super::failing::failure_of;
use super::reading::{event_text, json_text, member_text, messages_text};
use super::{value, wrappers};

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
        let content = whole.map(|whole| wrappers::content(whole).unwrap_or(Cow::Borrowed(whole)));
        let content = content.as_deref();
        let said = failure_of(whole, content);
        ToolCall {
            call_id: Some(value::id_hash(&[self.id.as_bytes()])),
            output: content.map_or(Recorded::NotRecorded, |text| value::output_json(how, text)),
            error: said.or_else(|| {
                self.failed
                    .then(|| value::failure(content.unwrap_or_default()))
            }),
            ..ToolCall::default()
        }
    }

    /// The identity under which it is told once in a trace, by span or by log record.
    pub(super) fn identity(&self, trace: &[u8; 16]) -> u64 {
        value::id_hash(&[b"gen_ai.tool.message", trace, self.id.as_bytes()])
    }
}

/// What tools answered since the model's last answer, from whichever keys of a span carry it, the newest
/// `ASKED_MAX` at most.
pub(super) fn tool_answers<'a>(facts: &Facts<'a>, given: Option<&'a str>) -> Vec<ToolAnswer<'a>> {
    let flat = facts.given.newest();
    if flat.is_empty() {
        given.map(in_messages).unwrap_or_default()
    } else {
        flat
    }
}

/// What a span's model was given, as JSON.
pub(super) fn given_messages<'a>(span: &SpanView<'a>, facts: &Facts<'a>) -> Option<Cow<'a, str>> {
    [Slot::InputMessages, Slot::Input, Slot::PlainInput]
        .into_iter()
        .find_map(|slot| messages_text(facts.value(slot)))
        .or_else(|| event_text(span, OPERATION_DETAILS, "gen_ai.input.messages"))
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

/// Shortest id that no two calls of different conversations have by chance: providers' ids are longer.
const TELLING_BYTES_MIN: usize = 16;

/// The id of the first call of a conversation, which stands in everything that the model is given after it. It holds the
/// conversation together where nothing else does: a client alone, without a span of the program around it, makes a trace of
/// every call of a model. `None` where nothing was called yet, or where ids are counted and not drawn.
pub(super) fn first_call(facts: &Facts<'_>, given: &str, asked: &[Asked<'_>]) -> Option<String> {
    let telling = |id: &str, tool: &str| {
        id.len() >= TELLING_BYTES_MIN
            && !id.starts_with('@')
            && id.bytes().any(|byte| byte.is_ascii_digit())
            && (tool.is_empty() || !id.contains(tool))
    };
    let now = asked.first().map(|asked| (&*asked.id, &*asked.tool));
    let flat = facts.given.first.map(|(_, id)| (id, ""));
    let mut before = history(given).into_iter().filter_map(|message| {
        let message = message.get();
        let asked = answer::asked_by(message).into_iter();
        let mut ids = asked.map(|asked| (asked.id.into_owned(), asked.tool.into_owned()));
        ids.next().or_else(|| {
            let answer = of_message(message).into_iter().next()?;
            Some((answer.id.into_owned(), String::new()))
        })
    });
    let before = before.next();
    let before = before.as_ref().map(|(id, tool)| (&**id, &**tool));
    let (id, tool) = flat.or(before).or(now)?;
    telling(id, tool).then(|| id.to_owned())
}

/// What tools answered in a list of messages, or in a request that has such a list.
pub(super) fn in_messages(json: &str) -> Vec<ToolAnswer<'_>> {
    let messages = history(json);
    let spoken = messages
        .iter()
        .rposition(|message| is_of_model(message.get()));
    let (seen, newest) = messages.split_at(spoken.map_or(0, |place| place + 1));
    let answers = newest.iter().flat_map(|message| of_message(message.get()));
    let mut answers: Vec<_> = answers.collect();
    let before = seen.iter().rposition(|message| !is_of_model(message.get()));
    let (earlier, asking) = seen.split_at(before.map_or(0, |before| before + 1));
    if answers.is_empty() {
        answers.extend(newest.iter().filter_map(|message| unnamed(message.get())));
        take_asked_ids(&mut answers, asking);
        answers.retain(|answer| !answer.id.is_empty());
    } else {
        take_asked_ids(&mut answers, asking);
    }
    let place = Place::behind(&messages, earlier.len());
    for (nth, answer) in answers.iter_mut().enumerate() {
        if !earlier
            .iter()
            .all(|message| is_new(&answer.id, message.get()))
        {
            answer.id = Cow::Owned(place.id(nth));
        }
    }
    answers.drain(..answers.len().saturating_sub(ASKED_MAX));
    answers
}

/// The calls for which the model asked in its last answer, as the history has it.
pub(super) fn asked_before(json: &str) -> Vec<Asked<'_>> {
    let messages = history(json);
    let spoken = messages
        .iter()
        .rposition(|message| is_of_model(message.get()));
    let last = spoken.map_or("", |place| messages[place].get());
    answer::asked_by(last)
}

/// The messages of a list, or of a request that has such a list.
fn history(json: &str) -> Vec<&RawValue> {
    const LISTS: [&str; 3] = ["messages", "input", "contents"];
    let list = match json.trim_start().as_bytes().first() {
        Some(b'[') => Some(json),
        Some(b'{') => LISTS.iter().find_map(|key| value::member(json, &[key])),
        _ => None,
    };
    list.and_then(|list| serde_json::from_str(list).ok())
        .unwrap_or_default()
}

/// Whether an id can tell a call from those of these messages: it is there, and was not used for one of them.
fn is_new(id: &str, messages: &str) -> bool {
    !id.is_empty() && !messages.contains(&format!("\"{id}\""))
}

/// Gives calls that are asked for names by which they can be told apart, where the provider's ids cannot; `given` is what the
/// model was given.
pub(super) fn name_asked<'a>(
    asked: &mut [Asked<'_>],
    given: impl FnOnce() -> Option<Cow<'a, str>>,
) {
    let Some(given) = (!asked.is_empty()).then(given).flatten() else {
        return;
    };
    let mut place = None;
    for (nth, asked) in asked.iter_mut().enumerate() {
        if !is_new(&asked.id, &given) {
            let place = place.get_or_insert_with(|| Place::after(&given));
            asked.id = Cow::Owned(place.id(nth));
        }
    }
}

/// Where in which history an answer of the model stands. Gemini's calls have no ids, and some make up one that comes again
/// with every answer (`search_0`): there the place of the answer that asked for a call, and the call's own within it, are what
/// asking and answering have in common.
#[derive(Clone, Copy)]
struct Place {
    history: u64,
    messages: usize,
}

impl Place {
    /// The place behind so many messages of a history, which is known by its first.
    fn behind(messages: &[&RawValue], count: usize) -> Self {
        const WORDS: [&[&str]; 3] = [
            &["parts", "0", "content"],
            &["parts", "0", "text"],
            &["content"],
        ];
        let first = messages.first().map_or("", |message| message.get());
        // Spans and log records write the same message in different forms, but with the same words.
        let mut words = WORDS.iter().filter_map(|path| member_text(first, path));
        let words = words.next().unwrap_or_default();
        Self {
            history: value::id_hash(&[b"history", words.as_bytes()]),
            messages: count,
        }
    }

    /// The place of the answer to these messages.
    fn after(json: &str) -> Self {
        let messages = history(json);
        Self::behind(&messages, messages.len())
    }

    /// What stands for the id of one of the calls that the answer asks for.
    fn id(&self, nth: usize) -> String {
        format!("@{:x}.{}.{nth}", self.history, self.messages)
    }
}

/// `OpenLLMetry` asks for a call under the id of the item and answers it under that of the call, where `OpenAI`'s responses
/// have both: answers to calls that nobody asked for take the ids of those that were, in order.
fn take_asked_ids<'a>(answers: &mut [ToolAnswer<'a>], asking: &[&'a RawValue]) {
    let asked = asking
        .iter()
        .flat_map(|message| answer::asked_by(message.get()));
    let asked = asked.map(|asked| asked.id).filter(|id| !id.is_empty());
    let asked: Vec<_> = asked.collect();
    if !asked.is_empty()
        && asked.len() == answers.len()
        && !answers.iter().any(|answer| asked.contains(&answer.id))
    {
        for (answer, id) in answers.iter_mut().zip(asked) {
            answer.id = id;
        }
    }
}

/// Whether the model said it.
fn is_of_model(message: &str) -> bool {
    let role = member_text(message, &["role"]);
    match role.as_deref() {
        Some(role) => matches!(role, "assistant" | "model" | "ai"),
        None => value::member(message, &["type"]) == Some("\"function_call\""),
    }
}

/// What tools answered in one message.
pub(super) fn of_message(message: &str) -> Vec<ToolAnswer<'_>> {
    let whole = answer(message, "tool_call_id", &["content"])
        .or_else(|| answer(message, "call_id", &["output"]));
    if let Some(whole) = whole {
        return vec![whole];
    }
    let parts = ["parts", "content"].iter();
    let mut parts = parts.filter_map(|key| {
        let parts: Vec<&RawValue> = serde_json::from_str(value::member(message, &[key])?).ok()?;
        Some(parts)
    });
    let parts = parts.next().unwrap_or_default().into_iter();
    parts.filter_map(|part| of_part(part.get())).collect()
}

/// What a tool answered in a message of the conventions whose one part is text, which leaves out which call it was. (In other
/// forms, what has the role of a tool and names no call may be a tool's definition.)
fn unnamed(message: &str) -> Option<ToolAnswer<'_>> {
    let of_tool = value::member(message, &["role"]) == Some("\"tool\"");
    let parts = value::member(message, &["parts"]).filter(|_| of_tool)?;
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
    if let Some(result) = value::member(part, &["toolResult"]) {
        return answer(result, "toolUseId", &["content"]);
    }
    let gemini = ["function_response", "functionResponse"].iter();
    let mut gemini = gemini.filter_map(|key| value::member(part, &[key]));
    if let Some(response) = gemini.next().filter(|json| json.starts_with('{')) {
        return Some(without_id(response, &["response"]));
    }
    match member_text(part, &["type"])?.as_ref() {
        "tool_call_response" => {
            let content = ["response", "result", "content"];
            answer(part, "id", &content).or_else(|| Some(without_id(part, &content)))
        }
        "tool_result" => answer(part, "tool_use_id", &["content"])
            .or_else(|| answer(part, "id", &["content", "result"])),
        _ => None,
    }
}

/// An answer with its id under one key and its content under the first of some others.
fn answer<'a>(json: &'a str, id: &str, content: &[&str]) -> Option<ToolAnswer<'a>> {
    let id = value::member(json, &[id]).filter(|id| id.starts_with('"'))?;
    let id = value::unquote(id);
    let failed = value::member(json, &["is_error"]) == Some("true")
        || value::member(json, &["status"]) == Some("\"error\"");
    let content = content.iter().find_map(|key| member_text(json, &[key]));
    (!id.is_empty()).then_some(ToolAnswer {
        id,
        content,
        failed,
    })
}

/// An answer whose id may be missing, as Gemini's are; what a function returned is a member of it.
fn without_id<'a>(json: &'a str, content: &[&str]) -> ToolAnswer<'a> {
    let mut contents = content.iter();
    let content = contents.find_map(|key| member_text(json, &[key]));
    ToolAnswer {
        id: member_text(json, &["id"])
            .filter(|id| id != "null")
            .unwrap_or_default(),
        content: content.map(|content| {
            wrappers::within(content, |content| wrappers::only_member(content, "result"))
        }),
        failed: false,
    }
}

/// What tools answered, as flat keys tell it: `gen_ai.prompt.4.tool_call_id`, `gen_ai.prompt.4.content`.
#[derive(Default)]
pub(super) struct Given<'a> {
    /// The place behind the model's last answer.
    after: u32,
    /// The first call that is spoken of: the place of its message and its id.
    first: Option<(u32, &'a str)>,
    answers: Vec<Flat<'a>>,
}

#[derive(Default)]
struct Flat<'a> {
    place: u32,
    id: &'a str,
    content: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Takes what follows the prefix: `4.role`, `4.tool_call_id`, `4.content`.
    pub(super) fn read(&mut self, rest: &'a str, text: &'a str) {
        let Some((place, key)) = rest.split_once('.') else {
            return;
        };
        let Ok(place) = place.parse::<u32>() else {
            return;
        };
        let is_id = key == "tool_call_id" || key == "tool_calls.0.id";
        if is_id && self.first.is_none_or(|(first, _)| place < first) {
            self.first = Some((place, text));
        }
        match key {
            "role" if matches!(text, "assistant" | "model") => {
                self.after = self.after.max(place.saturating_add(1));
                let after = self.after;
                self.answers.retain(|answer| answer.place >= after);
            }
            "tool_call_id" => self.at(place, |answer| answer.id = text),
            "content" => self.at(place, |answer| answer.content = Some(text)),
            _ => {}
        }
    }

    /// Changes the message of a place, if the model had not seen it before.
    fn at(&mut self, place: u32, change: impl FnOnce(&mut Flat<'a>)) {
        if place < self.after {
            return;
        }
        if let Some(known) = self.answers.iter_mut().find(|known| known.place == place) {
            return change(known);
        }
        let mut answer = Flat {
            place,
            ..Flat::default()
        };
        change(&mut answer);
        self.answers.push(answer);
        if self.answers.len() > 2 * ASKED_MAX {
            // Messages come in order as a rule, and then the first is the oldest.
            self.answers.remove(0);
        }
    }

    fn newest(&self) -> Vec<ToolAnswer<'a>> {
        let answers = self.answers.iter().filter(|answer| !answer.id.is_empty());
        let mut answers: Vec<_> = answers.collect();
        answers.sort_by_key(|answer| answer.place);
        let newest = answers.len().saturating_sub(ASKED_MAX);
        let answers = answers.drain(newest..).map(|answer| ToolAnswer {
            id: Cow::Borrowed(answer.id),
            content: answer.content.map(Cow::Borrowed),
            failed: false,
        });
        answers.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::answer;
    use super::*;

    fn check(messages: &Value, expected: &[(&str, &str)]) {
        let json = messages.to_string();
        let answers = in_messages(&json);
        let answers: Vec<_> = answers
            .iter()
            .map(|answer| (&*answer.id, answer.content.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(answers, expected, "{json}");
    }

    /// Given the forms in which providers and conventions keep messages: what tools answered since the model's last answer
    /// is read, in order, and nothing that was given before.
    #[test]
    fn every_form_is_read() {
        let chat = json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [{"id": "old"}]},
            {"role": "tool", "tool_call_id": "old", "content": "seen"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1"}, {"id": "c2"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "[]"},
            {"role": "tool", "tool_call_id": "c2", "content": "x"},
        ]);
        let expected = [("c1", "[]"), ("c2", "x")];
        check(&chat, &expected);
        check(&json!({"model": "m", "messages": chat}), &expected);
        let parts = json!([
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "[]"},
                {"type": "tool_call_response", "id": "c2", "result": "x"}]},
        ]);
        check(&parts, &expected);
        let two_ids = json!([
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1"}]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "[]"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_2", "response": "x"}]},
        ]);
        check(&two_ids, &expected);
        let unnamed = json!([
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1"}, {"type": "tool_call", "id": "c2"}]},
            {"role": "tool", "parts": [{"type": "text", "content": "[]"}]},
            {"role": "tool", "parts": [{"type": "text", "content": "x"}]},
        ]);
        check(&unnamed, &expected);
        let definition = json!([{"role": "assistant", "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "content": {"type": "function", "function": {"name": "t"}}}]);
        check(&definition, &[]);
        let responses = json!([
            {"type": "function_call_output", "call_id": "old", "output": "seen"},
            {"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "[]"},
            {"type": "function_call_output", "call_id": "c2", "output": "x"},
        ]);
        check(&json!({"input": responses}), &expected);
        let anthropic = json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c1"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "[]"},
                {"type": "text", "text": "go on"}, {"type": "tool_result", "tool_use_id": "c2", "content": "x"}]},
        ]);
        check(&anthropic, &expected);
        let bedrock = json!([{"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": "[]"}}]}]);
        check(&bedrock, &expected[..1]);
        let named = json!({"contents": [
            {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "t"}}]},
            {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "t", "response": {"result": "[]"}}}]},
        ]});
        check(&named, &expected[..1]);
        check(&json!("no messages"), &[]);
        check(&json!([{"role": "user", "content": "only a user"}]), &[]);
    }

    /// Given calls without ids: what a tool answered has the name of the place that was asked from, which grows with the
    /// history and is another in another history.
    #[test]
    fn calls_without_ids_have_places() {
        let asking =
            json!({"role": "model", "parts": [{"function_call": {"name": "t", "args": {}}}]});
        let answering = json!({"role": "user", "parts": [{"function_response": {"name": "t", "response": {"result": "[]"}}}]});
        let history = |first: &str, rounds: usize| {
            let first = json!({"role": "user", "parts": [{"text": first}]});
            let rounds = (0..rounds).flat_map(|_| [asking.clone(), answering.clone()]);
            Value::Array([first].into_iter().chain(rounds).collect()).to_string()
        };
        for rounds in [1, 2] {
            let asked = Place::after(&history("Go.", rounds - 1)).id(0);
            check(
                &serde_json::from_str(&history("Go.", rounds)).unwrap(),
                &[(&asked, "[]")],
            );
            assert_ne!(asked, Place::after(&history("Go.", rounds)).id(0));
            assert_ne!(asked, Place::after(&history("Come.", rounds - 1)).id(0));
        }
    }

    /// Given ids that come again with every answer: the first call has the id, those after it the names of their places.
    #[test]
    fn ids_that_come_again_are_told_apart() {
        let asking = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": "t_0", "name": "t"}]});
        let answering = json!({"role": "user", "parts": [{"type": "tool_call_response", "id": "t_0", "response": "[]"}]});
        let user = json!({"role": "user", "parts": []});
        let mut given = json!([user]);
        let mut seen = Vec::new();
        for _ in 0..3 {
            let before = given.to_string();
            let mut asked =
                answer::asked_in(r#"[{"parts":[{"type":"tool_call","id":"t_0","name":"t"}]}]"#);
            name_asked(&mut asked, || Some(Cow::Borrowed(&*before)));
            let id = asked.remove(0).id.into_owned();
            let messages = given.as_array_mut().unwrap();
            messages.extend([asking.clone(), answering.clone()]);
            check(&given, &[(&id, "[]")]);
            assert!(!seen.contains(&id), "{id} comes again");
            seen.push(id);
        }
        assert_eq!(seen[0], "t_0");
    }

    /// A failed tool's message says so.
    #[test]
    fn a_failure_is_seen() {
        let message = r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"no"}]}]"#;
        assert!(in_messages(message)[0].failed);
        let status = r#"[{"role":"user","content":[{"toolResult":{"toolUseId":"c","status":"error","content":[{"text":"no"}]}}]}]"#;
        assert!(in_messages(status)[0].failed);
    }

    /// Given flat keys in any order: the same.
    #[test]
    fn flat_keys_are_read_in_any_order() {
        let mut keys = [
            ("0.role", "user"),
            ("0.content", "Go."),
            ("1.role", "assistant"),
            ("2.tool_call_id", "old"),
            ("2.content", "seen"),
            ("3.role", "assistant"),
            ("4.role", "tool"),
            ("4.tool_call_id", "c1"),
            ("4.content", "[]"),
            ("5.tool_call_id", "c2"),
            ("5.content", "x"),
        ];
        for _ in 0..2 {
            let mut given = Given::default();
            for (key, text) in keys {
                given.read(key, text);
            }
            let answers = given.newest();
            let answers: Vec<_> = answers
                .iter()
                .map(|answer| (&*answer.id, answer.content.as_deref()))
                .collect();
            assert_eq!(answers, [("c1", Some("[]")), ("c2", Some("x"))]);
            keys.reverse();
        }
    }
}
