//! What a model was given, as older versions of traceloop spread it over flat keys: `gen_ai.prompt.4.tool_call_id`.

use std::borrow::Cow;

use super::{ToolAnswer, of_part};
use crate::normalize::answer::Requested;
use crate::normalize::facts::ASKED_MAX;
use crate::normalize::position::{BEGINNING, CallPosition, is_counted};
use crate::normalize::texts::json_text;
use crate::normalize::value;
use crate::otlp::ValueView;

/// What tools answered, as flat keys tell it: `gen_ai.prompt.4.tool_call_id`, `gen_ai.prompt.4.content`.
#[derive(Default)]
pub(in crate::normalize) struct FlatAnswers<'a> {
    /// The place behind the model's last answer.
    after: u32,
    /// The places of what the model said.
    of_model: Vec<u32>,
    /// What is spoken of calls: the place of the message, and a call's id or its tool.
    spoken: Vec<(u32, Spoken<'a>)>,
    /// Roles and words of the first messages.
    beginning: [(&'a str, ValueView<'a>); BEGINNING],
    answers: Vec<Flat<'a>>,
}

enum Spoken<'a> {
    Id(&'a str),
    Tool(&'a str),
}

struct Flat<'a> {
    place: u32,
    id: &'a str,
    is_of_tool: bool,
    content: ValueView<'a>,
}

impl<'a> FlatAnswers<'a> {
    /// Takes what follows the prefix: `4.role`, `4.tool_call_id`, `4.content`.
    pub(in crate::normalize) fn read(&mut self, rest: &'a str, value: ValueView<'a>) {
        let text = value.as_str().unwrap_or_default();
        let Some((place, key)) = rest.split_once('.') else {
            return;
        };
        let Ok(place) = place.parse::<u32>() else {
            return;
        };
        if let Some(first) = self.beginning.get_mut(place as usize) {
            match key {
                "role" => first.0 = text,
                "content" => first.1 = value,
                _ => {}
            }
        }
        match key
            .strip_prefix("tool_calls.")
            .unwrap_or(key)
            .rsplit('.')
            .next()
        {
            Some("id" | "tool_call_id") => self.spoken.push((place, Spoken::Id(text))),
            Some("name") => self.spoken.push((place, Spoken::Tool(text))),
            _ => {}
        }
        match key {
            "role" if matches!(text, "assistant" | "model") => {
                self.of_model.push(place);
                self.after = self.after.max(place.saturating_add(1));
                let after = self.after;
                self.answers.retain(|answer| answer.place >= after);
            }
            "role" if text == "tool" => self.at(place, |answer| answer.is_of_tool = true),
            "tool_call_id" => self.at(place, |answer| answer.id = text),
            "content" => self.at(place, |answer| answer.content = value),
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
            id: "",
            is_of_tool: false,
            content: ValueView::Empty,
        };
        change(&mut answer);
        self.answers.push(answer);
        if self.answers.len() > 2 * ASKED_MAX {
            // Messages come in order as a rule, and then the first is the oldest.
            self.answers.remove(0);
        }
    }

    /// As [`History::first_prompt`](crate::normalize::history::History::first_prompt).
    pub(in crate::normalize) fn first_prompt(&self) -> Option<u64> {
        let last = self.answers.iter().max_by_key(|answer| answer.place);
        let content = json_text(last.filter(|_| self.after == 0)?.content)?;
        Some(value::id_hash(&[b"prompt", content.as_bytes()]))
    }

    /// Whether there are any such keys.
    pub(super) fn is_there(&self) -> bool {
        self.after > 0 || !self.answers.is_empty()
    }

    /// The id of the first call that is spoken of.
    pub(super) fn first_id(&self) -> Option<&'a str> {
        let ids = self
            .spoken
            .iter()
            .filter_map(|(place, spoken)| match spoken {
                Spoken::Id(id) => Some((place, *id)),
                Spoken::Tool(_) => None,
            });
        ids.min_by_key(|(place, _)| *place).map(|(_, id)| id)
    }

    /// As [`History::name_asked`](crate::normalize::history::History::name_asked).
    pub(super) fn name_asked(&self, asked: &mut [Requested<'_>]) {
        let mut position = None;
        for (nth, asked) in asked.iter_mut().enumerate() {
            if is_counted(&asked.id, &asked.tool) || !self.is_new(&asked.id, u32::MAX) {
                let position = position.get_or_insert_with(|| self.position());
                asked.id = Cow::Owned(position.id(nth));
            }
        }
    }

    /// Whether an id can tell a call from those that are spoken of before a place.
    fn is_new(&self, id: &str, before: u32) -> bool {
        let is_it = |(place, spoken): &(u32, Spoken<'_>)| {
            *place < before && matches!(spoken, Spoken::Id(known) if *known == id)
        };
        !id.is_empty() && !self.spoken.iter().any(is_it)
    }

    fn position(&self) -> CallPosition {
        let messages = self.beginning.iter();
        CallPosition::of(messages.map(|(role, words)| {
            let words = json_text(*words).unwrap_or_default();
            (Cow::Borrowed(*role), words)
        }))
    }

    /// What tools answered since the model's last answer, the newest `ASKED_MAX` at most.
    pub(super) fn newest(&self) -> Vec<ToolAnswer<'a>> {
        let mut given: Vec<_> = self.answers.iter().collect();
        given.sort_by_key(|answer| answer.place);
        let mut answers: Vec<_> = given.into_iter().flat_map(Flat::answers).collect();
        if self.after == 0 {
            answers.retain(|answer| !answer.id.is_empty());
        }
        let left_out = answers.len().saturating_sub(ASKED_MAX);
        answers.drain(..left_out);
        let asking = self.last_answer();
        let asked = self.spoken.iter().filter(|(place, _)| *place >= asking);
        let tools = asked.filter_map(|(_, spoken)| match spoken {
            Spoken::Tool(tool) => Some(*tool),
            Spoken::Id(_) => None,
        });
        let tools: Vec<_> = tools.collect();
        let mut position = None;
        for (nth, answer) in (left_out..).zip(&mut answers) {
            let tool = tools.iter().find(|tool| **tool == answer.id);
            let is_counted = is_counted(&answer.id, tool.copied().unwrap_or_default());
            if is_counted || !self.is_new(&answer.id, asking) {
                let position = position.get_or_insert_with(|| self.position());
                answer.id = Cow::Owned(position.id(nth));
            }
        }
        answers
    }

    /// The place where the model's last answer begins, which may be several messages.
    fn last_answer(&self) -> u32 {
        let mut of_model = self.of_model.clone();
        of_model.sort_unstable_by(|one, other| other.cmp(one));
        of_model.dedup();
        let mut newest = of_model.into_iter();
        let mut begin = self.after;
        while begin > 0 && newest.next() == Some(begin - 1) {
            begin -= 1;
        }
        begin
    }
}

impl<'a> Flat<'a> {
    /// What tools answered in the message: it names a call, or has a block for each.
    fn answers(&self) -> Vec<ToolAnswer<'a>> {
        let content = json_text(self.content);
        if !self.id.is_empty() {
            return vec![ToolAnswer {
                id: Cow::Borrowed(self.id),
                content,
                failed: false,
            }];
        }
        let blocks = |content: &str| content.starts_with('[') && content.contains("tool_result");
        let mut answers: Vec<_> = match content.filter(|content| blocks(content)) {
            Some(Cow::Borrowed(content)) => value::items(content).filter_map(of_part).collect(),
            Some(Cow::Owned(content)) => {
                let answers = value::items(&content).filter_map(of_part);
                answers.map(ToolAnswer::into_owned).collect()
            }
            None => Vec::new(),
        };
        answers.retain(|answer| !answer.id.is_empty());
        if answers.is_empty() && self.is_of_tool {
            answers.push(ToolAnswer {
                id: Cow::Borrowed(""),
                content: json_text(self.content),
                failed: false,
            });
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let mut given = FlatAnswers::default();
            for (key, text) in keys {
                given.read(key, ValueView::Str(text));
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

    /// Given very many messages of the model's, each place twice and in no order, its last answer begins where they do, soon.
    #[test]
    fn a_long_answer_takes_no_longer() {
        let mut given = FlatAnswers::default();
        let keys: Vec<_> = (1..100_000).map(|place| format!("{place}.role")).collect();
        for key in keys.iter().rev().chain(&keys) {
            given.read(key, ValueView::Str("assistant"));
        }
        let began = std::time::Instant::now();
        assert_eq!(given.last_answer(), 1);
        assert!(began.elapsed() < std::time::Duration::from_secs(5));
    }

    /// Given Anthropic's messages, whose content is a list of blocks: what tools answered is in the blocks, written as JSON text
    /// or structured, and the model's own are none.
    #[test]
    fn blocks_within_flat_keys_are_read() {
        let asked = r#"[{"type": "tool_use", "id": "c1", "name": "search", "input": {}}]"#;
        let answered = r#"[{"type": "tool_result", "tool_use_id": "c1", "content": "[]"},
            {"type": "text", "text": "tool_result"}, {"type": "tool_result", "tool_use_id": "c2", "content": "x", "is_error": true}]"#;
        let mut given = FlatAnswers::default();
        for (key, text) in [
            ("0.content", "Go."),
            ("1.content", asked),
            ("1.role", "assistant"),
            ("2.content", answered),
            ("2.role", "user"),
        ] {
            given.read(key, ValueView::Str(text));
        }
        let answers = given.newest();
        let answers: Vec<_> = answers
            .iter()
            .map(|answer| (&*answer.id, answer.content.as_deref(), answer.failed))
            .collect();
        assert_eq!(
            answers,
            [("c1", Some("[]"), false), ("c2", Some("x"), true)]
        );
    }
}
