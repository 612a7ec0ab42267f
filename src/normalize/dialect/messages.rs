//! The GenAI conventions' log events: what went into a model and what came out of it, beside its span or instead of it.
//!
//! *One event a message* (`gen_ai.user.message`, `gen_ai.tool.message`, `gen_ai.choice` and so on): the whole history is
//! written again for every call of the model. A message has no identity, so it is told under one made of its trace and its
//! words or its call's id, and told again it changes nothing; where the history comes in one request, as it mostly does,
//! only what follows the last answer in it is told at all ([`Retold`]). traceloop writes the answer of a tool without the call's
//! id: it is that of the next call for which the message of the model before it asked, and has one choice for each block of an
//! answer of Anthropic's.
//!
//! *One event a call* (`gen_ai.client.inference.operation.details`): input and output stand in its attributes, and only
//! what follows the last answer in the input is new.
//!
//! *What is told.* The answer is a report of the model call whose span the record points at, so that the engine makes one
//! call of both. The tools that the answer asks for are told as asked for, and what a tool answered as a report of the call
//! of that id: together they are a call where nothing else tells of it, as with a loop written by hand around a provider's
//! client, and complete its span where there is one. A user's message begins a turn; frameworks tell their turns in
//! spans, and what they hand to agents within is no user's message, so that there it is left out.
//!
//! *Runs.* The conversation where it is named, else the trace. A record with neither is nobody's.

use std::borrow::Cow;

use crate::engine::event::{Body, ModelCall};
use crate::engine::policy::Policy;
use crate::normalize::answer::{self, EVENT_CONTENT, OPERATION_DETAILS, Requested};
use crate::normalize::facts::{ASKED_MAX, Facts, Slot};
use crate::normalize::given::{self, ToolAnswer};
use crate::normalize::history::History;
use crate::normalize::records::{Record, text};
use crate::normalize::report::{Outcome, Report};
use crate::normalize::scopes::Dialect;
use crate::normalize::texts::{json_text, member_text, messages_text};
use crate::normalize::{names, usage, value};
use crate::otlp::LogView;

use super::gen_ai;

/// Reads one log record. `out` has what was told of the records before it.
pub(super) fn log(
    log: &LogView<'_>,
    report: &mut Report,
    policy: &Policy,
    retold: &mut Retold,
    out: &mut Vec<Report>,
) -> Outcome {
    let name = name_of(log);
    retold.meet(name, log, out);
    if !name.starts_with("gen_ai.") {
        return match Dialect::of_scope(log.scope_name) {
            Dialect::None => Outcome::NoDialect,
            _ => Outcome::Noise,
        };
    }
    let facts = Facts::of(&log.attributes);
    // Each agent of pydantic-ai has a conversation of its own: see its spans.
    let conversation = names::conversation(&facts).filter(|_| log.scope_name != "pydantic-ai");
    if log.trace_id == [0; 16] && conversation.is_none() {
        return Outcome::Noise;
    }
    let conversation = conversation.as_deref().unwrap_or_default();
    let mut record = Record::new(log, conversation, report, policy);
    record.agent = facts.text(Slot::Agent).map(Cow::Borrowed);
    match name {
        "gen_ai.user.message" => user_message(&mut record, &body(log)),
        "gen_ai.tool.message" => tool_message(&mut record, &body(log), retold),
        "gen_ai.choice" => choice(&mut record, &body(log)),
        OPERATION_DETAILS => details(&mut record, &facts),
        // What the model said before, what it is told at first, and what others think of its answers.
        _ => {}
    }
    Outcome::Noise
}

/// The event's name: some senders put something else into the field that is made for it.
fn name_of<'a>(log: &LogView<'a>) -> &'a str {
    if log.event_name.starts_with("gen_ai.") {
        return log.event_name;
    }
    let named = log.attributes.find("event.name").and_then(text);
    named.unwrap_or_default()
}

/// What a program writes again for each call of a model, in one request: everything up to an answer that the model gave
/// before has been told before, and what was told of it now is taken back.
#[derive(Default)]
pub(crate) struct Retold {
    /// The model call's span, and how many reports there were before its first message.
    began: Option<([u8; 8], usize)>,
    /// The ids of the calls for which the model asked in its last message that are not answered yet, the first one last.
    asked: Vec<String>,
}

impl Retold {
    /// Looks at a record of a span before it is read.
    fn meet(&mut self, name: &str, log: &LogView<'_>, out: &mut Vec<Report>) {
        let of_span = log.span_id;
        let is_input = match name {
            "gen_ai.system.message" | "gen_ai.user.message" | "gen_ai.tool.message" => true,
            "gen_ai.assistant.message" => {
                if let Some((_, reports)) = self.began.filter(|(span, _)| *span == of_span) {
                    out.truncate(reports);
                }
                let body = body(log);
                let asked = answer::asked_by(&body).into_iter().rev();
                self.asked = asked.map(|asked| asked.id.into_owned()).collect();
                true
            }
            _ => false,
        };
        let goes_on = self.began.is_some_and(|(span, _)| span == of_span);
        if !goes_on && name != "gen_ai.assistant.message" {
            self.asked.clear();
        }
        if !is_input || of_span == [0; 8] {
            self.began = None;
        } else if !goes_on {
            self.began = Some((of_span, out.len()));
        }
    }
}

/// The body as JSON text; some write it as such, others as a structure, or in an attribute.
fn body<'a>(log: &LogView<'a>) -> Cow<'a, str> {
    json_text(log.body)
        .or_else(|| json_text(log.attributes.find(EVENT_CONTENT)?))
        .unwrap_or_default()
}

fn user_message(record: &mut Record<'_, '_>, body: &str) {
    // Some providers hand what tools answered to the model as what the user says.
    let answers = given::of_message(body);
    if answers.is_empty() {
        if let Some(content) = value::member(body, &["content"]) {
            tell_turn(record, content);
        }
        return;
    }
    for answer in answers.iter().filter(|answer| !answer.id.is_empty()) {
        tell_answer(record, answer);
    }
}

/// A user spoke. The same words in one trace are the same message, told again with the history.
fn tell_turn(record: &mut Record<'_, '_>, words: &str) {
    if words.len() > r#""""#.len() && Dialect::is_client(record.log.scope_name) {
        let id = [
            b"gen_ai.user.message",
            &record.log.trace_id[..],
            words.as_bytes(),
        ];
        record.tell_below(value::id_hash(&id), Body::UserMessage);
    }
}

fn tool_message(record: &mut Record<'_, '_>, body: &str, retold: &mut Retold) {
    let id = member_text(body, &["id"]).or_else(|| member_text(body, &["tool_call_id"]));
    let next = retold.asked.pop();
    let id = id.or(next.map(Cow::Owned));
    if let Some(id) = id.filter(|id| names::is_id(id)) {
        let answer = ToolAnswer {
            id,
            content: member_text(body, &["content"]),
            failed: false,
        };
        tell_answer(record, &answer);
    }
}

/// What a tool answered: a report of the call with its id.
fn tell_answer(record: &mut Record<'_, '_>, answer: &ToolAnswer<'_>) {
    let call = answer.report(&record.how(""));
    let identity = answer.identity(&record.log.trace_id, model(record));
    record.tell_below(identity, Body::ToolCall(call));
}

fn choice(record: &mut Record<'_, '_>, body: &str) {
    let (answer, asked) = answer::of_choice(body);
    let is_first = value::member(body, &["index"]).is_none_or(|index| index == "0");
    if is_first {
        let call = ModelCall {
            answer,
            ..ModelCall::default()
        };
        tell_model_call(record, call);
    } else if value::member(body, &["tool_calls"]).is_none() {
        // Another answer to choose from, not the next block of the same.
        return;
    }
    for asked in asked {
        tell_asked(record, &asked);
    }
}

fn tell_model_call(record: &mut Record<'_, '_>, call: ModelCall) {
    let identity = value::id_hash(&[b"gen_ai.choice", &record.log.trace_id, &model(record)]);
    record.tell_below(identity, Body::ModelCall(call));
}

/// By what the model's call is known of which the record tells: its span, else its time.
fn model(record: &Record<'_, '_>) -> [u8; 8] {
    match record.log.span_id {
        [0, 0, 0, 0, 0, 0, 0, 0] => record.time_ns().to_be_bytes(),
        span => span,
    }
}

fn tell_asked(record: &mut Record<'_, '_>, asked: &Requested<'_>) {
    let tool = value::name(gen_ai::tool_name(record.log.scope_name, &asked.tool));
    let how = record.how(&tool);
    let now = value::Now::began(record.time_ns());
    if let Some(call) = asked.report(tool.clone(), &how, now) {
        let identity = asked.identity(&record.log.trace_id, model(record));
        record.tell_below(identity, Body::Requested(call));
    }
}

/// A call of a model with all that went in and came out.
fn details(record: &mut Record<'_, '_>, facts: &Facts<'_>) {
    let input = messages_text(facts.value(Slot::InputMessages)).unwrap_or_default();
    let given = History::of(&input);
    let newest = given.newest().rev().take(ASKED_MAX).rev();
    for words in newest.filter_map(parts_of_user) {
        tell_turn(record, &words);
    }
    for answer in given.tool_answers() {
        tell_answer(record, &answer);
    }
    let output = messages_text(facts.value(Slot::OutputMessages)).unwrap_or_default();
    let usage = usage::of(facts);
    let answer = answer::messages(&output).unwrap_or_default();
    let call = ModelCall {
        model: facts.text(Slot::Model).map(value::name),
        call_id: facts
            .id(Slot::ResponseId)
            .map(|id| value::id_hash(&[id.as_bytes()])),
        input_tokens: usage.input_tokens,
        cached_tokens: usage.cached_tokens,
        output_tokens: usage.output_tokens,
        cost_microusd: usage.cost_microusd,
        answer: answer::to_prompt(answer, given.first_prompt()),
        ..ModelCall::default()
    };
    tell_model_call(record, call);
    let mut asked = answer::asked_in(&output);
    given.name_asked(&mut asked);
    for asked in asked {
        tell_asked(record, &asked);
    }
}

/// The parts of a user's message that are text, one after another as they stand: by them, the message is known again.
fn parts_of_user(message: &str) -> Option<String> {
    let role = value::member(message, &["role"])?;
    let parts = value::member(message, &["parts"]).filter(|_| role == "\"user\"")?;
    Some(
        value::items(parts)
            .filter(|part| value::member(part, &["type"]) == Some("\"text\""))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Body, OPERATION_DETAILS, Report};
    use crate::engine::event::Event;
    use crate::normalize::captured::{lines, recorded};

    const CLIENT: &str = "opentelemetry.instrumentation.openai_v2";

    fn told(scope: &str, records: &[(&str, Value)]) -> Vec<String> {
        lines(recorded(scope, records).iter())
    }

    fn asking(id: &str) -> Value {
        json!({"tool_calls": [{"id": id, "type": "function",
            "function": {"name": "search", "arguments": "{\"query\": \"x\"}"}}]})
    }

    /// Given the messages of a model call, written by a provider's client: a turn, the answer, what it asks for, and what a
    /// tool answered are told, and nothing of what the model knew already.
    #[test]
    fn one_event_a_message() {
        let user = ("gen_ai.user.message", json!({"content": "Find it."}));
        let answered = (
            "gen_ai.tool.message",
            json!({"id": "c1", "content": "{\"results\": []}"}),
        );
        let first = [
            ("gen_ai.system.message", json!({"content": "Be brief."})),
            user.clone(),
            (
                "gen_ai.choice",
                json!({"index": 0, "finish_reason": "tool_calls", "message": asking("c1")}),
            ),
        ];
        let expected = [
            "UserMessage",
            "model ? 0+0 ToolCalls(1)",
            r#"asked search({"query":"x"})"#,
        ];
        assert_eq!(told(CLIENT, &first), expected);
        let second = [
            user.clone(),
            ("gen_ai.assistant.message", asking("c0")),
            ("gen_ai.tool.message", json!({"id": "c0", "content": "old"})),
            ("gen_ai.assistant.message", asking("c1")),
            answered,
            (
                "gen_ai.choice",
                json!({"index": 0, "finish_reason": "stop", "message": {"content": "There is nothing to be found."}}),
            ),
        ];
        let expected = ["call with id (-) = 14 bytes", "model ? 0+0 Text("];
        assert_eq!(told(CLIENT, &second), expected);
        // A framework's spans tell its turns.
        assert!(told("agent_framework", &[user]).is_empty());
    }

    /// Given ids that were made up from the tool's name and come again with each answer, asking and answering have the place in
    /// common, whoever wrote them, and so has what is asked for next.
    #[test]
    fn counted_ids_are_of_a_place() {
        let user = json!({"role": "user", "parts": [{"type": "text", "content": "Find it."}]});
        let asked = json!({"role": "assistant", "parts": [
            {"type": "tool_call", "id": "search_0", "name": "search", "arguments": {"query": "x"}}]});
        let answered = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "search_0", "response": "[]"}]});
        let details = |input: &[&Value]| {
            let said = json!({"gen_ai.input.messages": input, "gen_ai.output.messages": [asked]});
            recorded("gcp.vertex.agent", &[(OPERATION_DETAILS, said)])
        };
        let ids = |reports: &[Report]| -> Vec<_> {
            let events = reports.iter().flat_map(|report| &report.events);
            let call = |event: &Event| match &event.body {
                Body::Requested(call) | Body::ToolCall(call) => call.call_id,
                _ => None,
            };
            events.filter_map(call).collect()
        };
        let (first, second) = (details(&[&user]), details(&[&user, &asked, &answered]));
        let ([one], [answer, two]) = (&ids(&first)[..], &ids(&second)[..]) else {
            panic!("{first:?} {second:?}");
        };
        assert_eq!(one, answer);
        assert_eq!(one, two);
    }

    /// Given one event with all of a model call in it: the same, with model and tokens.
    #[test]
    fn one_event_a_call() {
        let text = |role: &str, words: &str| json!({"role": role, "parts": [{"type": "text", "content": words}]});
        let asked = json!({"role": "assistant", "parts": [
            {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"query": "x"}}]});
        let answered = json!({"role": "tool", "parts": [
            {"type": "tool_call_response", "id": "c1", "response": {"isError": true, "content": [{"type": "text", "text": "no"}]}}]});
        let details = |input: &[Value], output: &Value| {
            let said = json!({"gen_ai.request.model": "m", "gen_ai.response.id": "r", "gen_ai.usage.input_tokens": 7,
                "gen_ai.usage.output_tokens": 2, "gen_ai.input.messages": input, "gen_ai.output.messages": [output]});
            told("my-loop", &[(OPERATION_DETAILS, said)])
        };
        let expected = [
            "UserMessage",
            "model m 7+2 ToolCalls(1)",
            r#"asked search({"query":"x"})"#,
        ];
        let user = text("user", "Find it.");
        assert_eq!(details(std::slice::from_ref(&user), &asked), expected);
        let said = text("assistant", "There is nothing to be found.");
        let expected = ["call with id (-) = 2 bytes failed: no", "model m 7+2 Text("];
        assert_eq!(details(&[user, asked, answered], &said), expected);
    }

    /// Bodies may be JSON text under a name in the attributes (semantic-kernel); hidden content leaves ids; what is nobody's
    /// conversation, and other events, tell nothing.
    #[test]
    fn other_forms() {
        let body = json!({"index": 0, "finish_reason": "FinishReason.TOOL_CALLS", "message": {"role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "files-read", "arguments": "{}"}}]}});
        let scope = "semantic_kernel.connectors.ai.chat_completion_client_base";
        assert_eq!(
            told(scope, &[("gen_ai.choice", json!(body.to_string()))]),
            ["model ? 0+0 ToolCalls(1)", "asked read({})"]
        );
        let hidden = json!({"index": 0, "finish_reason": "tool_calls",
            "message": {"tool_calls": [{"id": "c", "function": {"name": "read"}}]}});
        assert_eq!(
            told(CLIENT, &[("gen_ai.choice", hidden)]),
            ["model ? 0+0 ToolCalls(1)", "asked read(-)"]
        );
        assert_eq!(
            told(CLIENT, &[("gen_ai.tool.message", json!({"id": "c"}))]),
            ["call with id (-) = -"]
        );
        for (name, body) in [
            ("gen_ai.choice", json!({"index": 1, "message": asking("c")})),
            ("gen_ai.user.message", json!({})),
            ("gen_ai.tool.message", json!({"content": "x"})),
            ("gen_ai.evaluation.result", json!({"content": "x"})),
            ("http.server.request", json!({"content": "x"})),
        ] {
            assert!(told("x", &[(name, body)]).is_empty(), "{name}");
        }
    }

    /// The same records again have the same identities, and point at the span that they are about.
    #[test]
    fn told_again_it_is_the_same() {
        let said = |id| json!({"index": 0, "message": asking(id)});
        let ids = |id| -> Vec<u64> {
            let reports = recorded(CLIENT, &[("gen_ai.choice", said(id))]);
            let events = reports.iter().flat_map(|report| &report.events);
            events.map(|event| event.id).collect()
        };
        assert_eq!(ids("c1"), ids("c1"));
        assert_ne!(ids("c1")[1], ids("c2")[1]);
        let reports = recorded(CLIENT, &[("gen_ai.choice", said("c1"))]);
        let event = &reports[0].events[0];
        assert_eq!((event.span.is_set(), event.parent.0), (false, [2; 8]));
    }

    /// Given providers that hand a tool's answer to the model as what the user says: no user spoke.
    #[test]
    fn an_answer_is_no_user() {
        let answer = json!([{"type": "tool_call_response", "id": "c1", "response": "[]"}]);
        let details = json!({"gen_ai.input.messages": [{"role": "user", "parts": answer}],
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]});
        assert_eq!(
            told(CLIENT, &[(OPERATION_DETAILS, details)]),
            ["call with id (-) = 2 bytes", "model ? 0+0 Text("]
        );
        let bedrock =
            json!({"content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "[]"}]}}]});
        assert_eq!(
            told(CLIENT, &[("gen_ai.user.message", bedrock)]),
            ["call with id (-) = 2 bytes"]
        );
    }

    /// Given traceloop's events, in which calls stand beside the message, a choice is a block, and a tool's message names no call:
    /// what was asked for is told, and what each tool answered as the answer to what was asked.
    #[test]
    fn traceloop_leaves_ids_out() {
        const TRACELOOP: &str = "opentelemetry.instrumentation.openai.v1";
        let beside = |index: u32, id: &str| {
            let mut choice = asking(id);
            let said = json!({"index": index, "finish_reason": "tool_calls", "message": {"content": null}});
            choice
                .as_object_mut()
                .unwrap()
                .extend(said.as_object().unwrap().clone());
            ("gen_ai.choice", choice)
        };
        let block = (
            "gen_ai.choice",
            json!({"index": 0, "finish_reason": "tool_use", "message": {"content": "I look."}}),
        );
        let asked = r#"asked search({"query":"x"})"#;
        assert_eq!(
            told(TRACELOOP, &[beside(0, "c1")]),
            ["model ? 0+0 ToolCalls(1)", asked]
        );
        assert_eq!(
            told(TRACELOOP, &[block, beside(1, "c1")]),
            ["model ? 0+0 ToolCalls(1)", asked]
        );
        let mut both = asking("c1");
        both["tool_calls"]
            .as_array_mut()
            .unwrap()
            .push(asking("c2")["tool_calls"][0].clone());
        let answers = |texts: &[&str]| {
            let answer = |text: &&str| ("gen_ai.tool.message", json!({"content": text}));
            let messages = [("gen_ai.assistant.message", both.clone())].into_iter();
            let records: Vec<_> = messages.chain(texts.iter().map(answer)).collect();
            let reports = recorded(TRACELOOP, &records);
            let events = reports.iter().flat_map(|report| &report.events);
            events.map(|event| event.id).collect::<Vec<_>>()
        };
        let ids = answers(&["[]", "x", "of nobody"]);
        assert_eq!(ids.len(), 2);
        let named = |id: &str| {
            let reports = recorded(
                TRACELOOP,
                &[("gen_ai.tool.message", json!({"id": id, "content": "x"}))],
            );
            reports[0].events[0].id
        };
        assert_eq!(ids, [named("c1"), named("c2")]);
    }
}
