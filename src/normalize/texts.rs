//! Values of attributes and events, and members of JSON, as texts.

use std::borrow::Cow;

use crate::otlp::{SpanView, ValueView};

use super::value;

/// A value as text: the text itself, or the JSON of a structured value; `None` where there is none.
pub(super) fn json_text(value: ValueView<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueView::Empty => None,
        ValueView::Str(text) => Some(Cow::Borrowed(text)),
        structured => {
            let mut text = String::new();
            structured.write_json(&mut text);
            Some(Cow::Owned(text))
        }
    }
}

/// Messages as a JSON list, however often they were written as text: as a whole, or each on its own.
pub(super) fn messages_text(messages: ValueView<'_>) -> Option<Cow<'_, str>> {
    let text = json_text(messages)?;
    let text = if text.starts_with('"') {
        Cow::Owned(value::unquote(&text).into_owned())
    } else {
        text
    };
    if !text.starts_with("[\"{") {
        return Some(text);
    }
    let Ok(each) = serde_json::from_str::<Vec<Cow<'_, str>>>(&text) else {
        return Some(text);
    };
    Some(Cow::Owned(format!("[{}]", each.join(","))))
}

/// The words of the one message of a JSON list, beside what the system says; a conversation that goes on has more, and is no
/// errand.
pub(super) fn only_words(messages: &str) -> Option<Cow<'_, str>> {
    let is_of_system = |message: &&str| {
        let role = member_text(message, &["role"]);
        matches!(role.as_deref(), Some("system" | "developer"))
    };
    let mut given = value::items(messages).filter(|message| !is_of_system(message));
    let (Some(message), None) = (given.next(), given.next()) else {
        return None;
    };
    let role = member_text(message, &["role"]).or_else(|| member_text(message, &["type"]))?;
    if !matches!(&*role, "user" | "human") {
        return None;
    }
    let parts =
        value::member(message, &["parts"]).or_else(|| value::member(message, &["content"]))?;
    if parts.starts_with('"') {
        return Some(value::unquote(parts));
    }
    let mut parts = value::items(parts);
    let (Some(part), None) = (parts.next(), parts.next()) else {
        return None;
    };
    member_text(part, &["content"]).or_else(|| member_text(part, &["text"]))
}

/// What an event of a name says under a key, the first that has it.
pub(super) fn event_text<'a>(span: &SpanView<'a>, event: &str, key: &str) -> Option<Cow<'a, str>> {
    json_text(event_value(span, event, key)?)
}

/// The same as it stands.
pub(super) fn event_value<'a>(
    span: &SpanView<'a>,
    event: &str,
    key: &str,
) -> Option<ValueView<'a>> {
    let mut named = span.events.iter().filter(|other| other.name == event);
    named.find_map(|event| event.attributes.find(key))
}

/// The member of a JSON text at a path: a text without its quotation marks, anything else as JSON.
pub(super) fn member_text<'t>(json: &'t str, path: &[&str]) -> Option<Cow<'t, str>> {
    value::member(json, path).map(value::unquote)
}

/// The text of the one part in the list of this name in JSON, unless that list has several.
pub(super) fn only_text<'t>(json: &'t str, list: &str) -> Option<Cow<'t, str>> {
    let single = value::member(json, &[list, "1"]).is_none();
    member_text(json, &[list, "0", "text"]).filter(|_| single)
}
