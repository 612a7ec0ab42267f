//! What a model was given: the messages of a conversation, oldest first.
//!
//! The history comes again with every call of a model, longer each time, and is the longest text of a span; what is new in it
//! stands at its end. So it is walked from there ([`History::of`]), back to the model's last answer, and from its start only
//! where calls have no ids by which to know them. The forms of a single message are read in [`given`] (what tools answered)
//! and [`answer`] (what the model asked for).

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memmem;

use super::answer::{self, Requested};
use super::facts::ASKED_MAX;
use super::given::{self, ToolAnswer};
use super::position::{BEGINNING, CallPosition, is_counted};
use super::texts::member_text;
use super::value::{self, Object};

/// What a model was given.
#[derive(Default)]
pub(super) struct History<'a> {
    json: &'a str,
    /// The messages as they stand.
    list: &'a str,
    /// The newest of them: those of the model's last answer, and all after it.
    tail: Vec<&'a str>,
    /// How many of the tail the model had seen before: its last answer.
    seen: usize,
}

impl<'a> History<'a> {
    /// The messages of a list, or of a request that has such a list; none of anything else.
    pub(super) fn of(json: &'a str) -> Self {
        const LISTS: [&str; 3] = ["messages", "input", "contents"];
        let list = match json.trim_start().as_bytes().first() {
            Some(b'[') => Some(json),
            Some(b'{') => LISTS.iter().find_map(|key| value::member(json, &[key])),
            _ => None,
        };
        let list = list.unwrap_or_default();
        let (tail, seen) = tail(value::items_from_end(list)).unwrap_or_else(|| {
            let messages: Vec<_> = value::items(list).map(Some).collect();
            tail(messages.into_iter().rev()).unwrap_or_default()
        });
        Self {
            json,
            list,
            tail,
            seen,
        }
    }

    /// All messages, oldest first.
    fn messages(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        value::items(self.list)
    }

    /// The messages after the model's last answer: those that it had not seen before.
    pub(super) fn newest(&self) -> impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator {
        self.tail[self.seen..].iter().copied()
    }

    /// What stands for the prompt of a model that has answered nothing before: one that is not part of a conversation.
    pub(super) fn first_prompt(&self) -> Option<u64> {
        let last = self.tail.last().filter(|_| self.seen == 0)?;
        Some(value::id_hash(&[b"prompt", last.as_bytes()]))
    }

    /// The model's last answer.
    pub(super) fn last_answer(&self) -> Option<&'a str> {
        self.tail[..self.seen].last().copied()
    }

    /// The calls for which the model asked in its last answer.
    pub(super) fn asked_before(&self) -> Vec<Requested<'a>> {
        self.last_answer().map_or_else(Vec::new, answer::asked_by)
    }

    /// Id and tool of the first call that is spoken of.
    pub(super) fn first_call(&self) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        self.messages().find_map(|message| {
            let asked = answer::asked_by(message).into_iter().next();
            asked.map(|asked| (asked.id, asked.tool)).or_else(|| {
                let answer = given::of_message(message).into_iter().next()?;
                Some((answer.id, Cow::Borrowed("")))
            })
        })
    }

    /// What tools answered since the model's last answer, the newest `ASKED_MAX` at most.
    pub(super) fn tool_answers(&self) -> Vec<ToolAnswer<'a>> {
        let mut answers: Vec<_> = self.newest().flat_map(given::of_message).collect();
        let asking = &self.tail[..self.seen];
        if answers.is_empty() {
            let newest = self.newest().map(Object::of);
            answers.extend(newest.filter_map(|message| given::unnamed(&message)));
            take_asked_ids(&mut answers, asking);
            answers.retain(|answer| !answer.id.is_empty());
        } else {
            take_asked_ids(&mut answers, asking);
        }
        // Each of those that are left is looked for in the whole history.
        let left_out = answers.len().saturating_sub(ASKED_MAX);
        answers.drain(..left_out);
        let before = self.before_tail();
        let asked = self.asked_before();
        let tool_of = |id: &str| asked.iter().find(|asked| asked.id == id);
        let mut place = None;
        for (nth, answer) in (left_out..).zip(&mut answers) {
            let tool = tool_of(&answer.id).map_or("", |asked| &asked.tool);
            if is_counted(&answer.id, tool) || !is_new(&answer.id, before) {
                let place = place.get_or_insert_with(|| self.place());
                answer.id = Cow::Owned(place.id(nth));
            }
        }
        answers
    }

    /// Gives calls that are asked for after this history names by which they can be told apart, where the provider's ids
    /// cannot.
    pub(super) fn name_asked(&self, asked: &mut [Requested<'_>]) {
        if self.json.is_empty() {
            return;
        }
        let mut place = None;
        for (nth, asked) in asked.iter_mut().enumerate() {
            if is_counted(&asked.id, &asked.tool) || !is_new(&asked.id, self.json) {
                let place = place.get_or_insert_with(|| self.place());
                asked.id = Cow::Owned(place.id(nth));
            }
        }
    }

    /// The text of the messages before the tail.
    fn before_tail(&self) -> &'a str {
        let Some(first) = self.tail.first() else {
            return self.list;
        };
        &self.list[..first.as_ptr() as usize - self.list.as_ptr() as usize]
    }

    /// What the calls of this history are known by, but for their own place in an answer.
    fn place(&self) -> CallPosition {
        const WORDS: [&[&str]; 4] = [
            &["parts", "0", "content"],
            &["parts", "0", "text"],
            &["content", "0", "text"],
            &["content"],
        ];
        let said = self.messages().take(BEGINNING).map(|message| {
            let role = member_text(message, &["role"]).unwrap_or_default();
            // Spans and log records write the same message in different forms, but with the same words.
            let words = WORDS.iter().find_map(|path| member_text(message, path));
            (role, words.unwrap_or_default())
        });
        CallPosition::of(said)
    }
}

/// The messages of the model's last answer and those after it, oldest first, out of all with the newest first; and how many of
/// them are of the model. Without an answer these are all. `None` where a message is.
fn tail<'a>(from_end: impl Iterator<Item = Option<&'a str>>) -> Option<(Vec<&'a str>, usize)> {
    let mut tail = Vec::new();
    let mut seen = 0;
    for message in from_end {
        let message = message?;
        let is_of_model = is_of_model(message);
        if seen > 0 && !is_of_model {
            break;
        }
        seen += usize::from(is_of_model);
        tail.push(message);
    }
    tail.reverse();
    Some((tail, seen))
}

/// Whether an id can tell a call from those in a text: it is there, and was not used for one of them.
fn is_new(id: &str, text: &str) -> bool {
    !id.is_empty() && memmem::find(text.as_bytes(), format!("\"{id}\"").as_bytes()).is_none()
}

/// `OpenLLMetry` asks for a call under the id of the item and answers it under that of the call, where `OpenAI`'s responses
/// have both: answers to calls that nobody asked for take the ids of those that were, in order.
fn take_asked_ids<'a>(answers: &mut [ToolAnswer<'a>], asking: &[&'a str]) {
    let asked = asking.iter().flat_map(|message| answer::asked_by(message));
    let asked = asked.map(|asked| asked.id).filter(|id| !id.is_empty());
    let asked: Vec<_> = asked.collect();
    if asked.is_empty() || asked.len() != answers.len() {
        return;
    }
    let known: BTreeSet<_> = asked.iter().collect();
    if !answers.iter().any(|answer| known.contains(&answer.id)) {
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value, json};

    use super::super::answer;
    use super::*;

    fn check(messages: &Value, expected: &[(&str, &str)]) {
        let json = messages.to_string();
        let history = History::of(&json);
        let answers = history.tool_answers();
        let answers: Vec<_> = answers
            .iter()
            .map(|answer| (&*answer.id, answer.content.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(answers, expected, "{json}");
    }

    /// Given very many answers to calls that nobody asked for, the newest are read, in the time that reading takes.
    #[test]
    fn many_answers_take_no_longer() {
        let parts: Vec<_> = (0..10_000)
            .map(|at| json!({"type": "tool_result", "tool_use_id": format!("a{at}")}))
            .collect();
        let asked: Vec<_> = (0..10_000)
            .map(|at| json!({"type": "tool_call", "id": format!("b{at}")}))
            .collect();
        let messages = json!([
            {"role": "user", "content": "Go. ".repeat(1 << 15)},
            {"role": "assistant", "parts": asked},
            {"role": "user", "content": parts},
        ]);
        let text = messages.to_string();
        let began = Instant::now();
        let answers = History::of(&text).tool_answers();
        assert_eq!(answers.len(), ASKED_MAX);
        assert_eq!(answers[ASKED_MAX - 1].id, "b9999");
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
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
        let haystack = json!({"messages": [
            {"role": "assistant", "content": [{"tool_call": {"id": "c1", "tool_name": "t"}}]},
            {"role": "tool", "content": [{"tool_call_result": {"result": "[]", "origin": {"id": "c1"}, "error": false}}]},
            {"role": "tool", "content": [{"tool_call_result": {"result": "x", "origin": {"id": "c2"}, "error": true}}]},
        ]});
        check(&haystack, &expected);
        check(&json!("no messages"), &[]);
        check(&json!([{"role": "user", "content": "only a user"}]), &[]);
    }

    /// Given calls without ids: what a tool answered has the name of the place that was asked from, which is the same however
    /// much of the history is left out, and another in a conversation that began otherwise.
    #[test]
    fn calls_without_ids_have_places() {
        let gemini =
            json!({"role": "model", "parts": [{"function_call": {"name": "t", "args": {}}}]});
        let answered = json!({"role": "user", "parts": [{"function_response": {"name": "t", "response": {"result": "[]"}}}]});
        let mut forms = vec![(gemini, answered)];
        for none in [json!(null), json!(""), json!("None")] {
            let asked = json!({"role": "assistant", "tool_calls": [{"id": none, "function": {"name": "t"}}]});
            forms.push((
                asked,
                json!({"role": "tool", "tool_call_id": none, "content": "[]"}),
            ));
            let asked = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": none, "name": "t"}]});
            forms.push((asked, json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": none, "response": "[]"}]})));
            let asked = json!({"type": "function_call", "call_id": none, "name": "t"});
            forms.push((
                asked,
                json!({"type": "function_call_output", "call_id": none, "output": "[]"}),
            ));
            let asked = json!({"role": "assistant", "content": [{"type": "tool_use", "id": none, "name": "t"}]});
            forms.push((asked, json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": none, "content": "[]"}]})));
        }
        for (asking, answering) in forms {
            let history = |first: &str, rounds: usize| {
                let first = json!({"role": "user", "parts": [{"text": first}]});
                let rounds = (0..rounds).flat_map(|_| [asking.clone(), answering.clone()]);
                Value::Array([first].into_iter().chain(rounds).collect()).to_string()
            };
            let after = |json: &str| {
                let history = History::of(json);
                history.place().id(0)
            };
            let asked = asking.to_string();
            assert!(
                answer::asked_by(&asked)
                    .iter()
                    .all(|asked| asked.id.is_empty())
            );
            for rounds in [1, 2] {
                let asked = after(&history("Go.", rounds - 1));
                check(
                    &serde_json::from_str(&history("Go.", rounds)).unwrap(),
                    &[(&asked, "[]")],
                );
                assert_eq!(asked, after(&history("Go.", rounds)));
                assert_ne!(asked, after(&history("Come.", rounds - 1)));
            }
        }
    }

    /// Given ids that come again with every answer: the first call has the id, those after it the names of their places; so has
    /// the first where its id was counted, or made up from the tool's name.
    #[test]
    fn ids_that_come_again_are_none() {
        for (id, first) in [
            ("c0", Some("c0")),
            ("t_0", None),
            ("call_0", None),
            ("t", None),
        ] {
            let asking = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": "t"}]});
            let answering = json!({"role": "user", "parts": [{"type": "tool_call_response", "id": id, "response": "[]"}]});
            let mut given = json!([{"role": "user", "parts": []}]);
            let mut seen = Vec::new();
            for _ in 0..3 {
                let before = given.to_string();
                let answer = json!([asking]).to_string();
                let mut asked = answer::asked_in(&answer);
                History::of(&before).name_asked(&mut asked);
                let id = asked.remove(0).id.into_owned();
                let messages = given.as_array_mut().unwrap();
                messages.extend([asking.clone(), answering.clone()]);
                check(&given, &[(&id, "[]")]);
                assert!(seen.is_empty() || id.starts_with('@'), "{id} comes again");
                seen.push(id);
            }
            let is_of_place = seen[0].starts_with('@');
            assert_eq!((!is_of_place).then_some(&*seen[0]), first);
        }
    }

    /// A failed tool's message says so.
    #[test]
    fn a_failure_is_seen() {
        let message = r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"no"}]}]"#;
        assert!(History::of(message).tool_answers()[0].failed);
        let status = r#"[{"role":"user","content":[{"toolResult":{"toolUseId":"c","status":"error","content":[{"text":"no"}]}}]}]"#;
        assert!(History::of(status).tool_answers()[0].failed);
    }
}
