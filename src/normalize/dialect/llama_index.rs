//! llama-index's own tracer (`llama-index-observability-otel`): a span a method, and all that is said in span events.
//!
//! *Calls.* The span of a tool (`FunctionTool.acall`) and the one of the step around it (`….call_tool`), which is there for tools
//! that do not exist as well, have the event of the workflow's step, as Python prints it and cut short where it is long, and no
//! result. So calls are told like those of a provider's client as well: what a model asks for in its answer, and what tools
//! answered since its last one, which it is given next. The id makes one call of them.
//!
//! A `ReActAgent` writes calls and results into the words of messages, and its calls have ids of their own, drawn by itself:
//! what a user's message says behind `Observation: ` is the result of the call before it.
//!
//! *Model calls.* `LLMChatEndEvent` has the messages that went in and the one that came out, its calls as blocks; what the
//! provider said beside it lies under `response.raw` and among other arguments. A call that failed has only begun, and so has
//! one that is streamed: its span ends before the answer, and what it asked for is told when the model is given it again.
//!
//! *Hand-offs* are calls of the tool `handoff`. Its first argument is who receives control, which is there where the reason behind
//! it is cut short.
//!
//! *Runs.* The trace; its root is a request.

use std::borrow::Cow;

use crate::engine::event::Answer;
use crate::normalize::answer::{self, Requested};
use crate::normalize::call::Call;
use crate::normalize::facts::ASKED_MAX;
use crate::normalize::given::ToolAnswer;
use crate::normalize::history::History;
use crate::normalize::reading::Reading;
use crate::normalize::records;
use crate::normalize::reply::Reply;
use crate::normalize::report::Outcome;
use crate::normalize::texts::{event_text, event_value, member_text, only_text};
use crate::normalize::{value, wrappers};
use crate::otlp::SpanView;

use super::gen_ai::is_uuid;

const BEGUN: &str = "LLMChatStartEvent";
const ENDED: &str = "LLMChatEndEvent";

/// What stands for the id of a call whose result is an observation: such calls come one after the other.
const OBSERVED: &str = "@observed";

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let span = reading.span;
    let is = |name| span.events.iter().any(|event| event.name == name);
    if is(ENDED) {
        model(reading);
    } else if is(BEGUN) {
        streamed(reading);
    } else if span.name.contains("Tool.") || span.name.ends_with(".call_tool") {
        tool(reading);
    }
    if reading.is_root() {
        reading.tell_turn();
    }
    Outcome::Noise
}

fn tool(reading: &mut Reading<'_, '_>) {
    let step = reading
        .span
        .attributes
        .find("llamaindex.step.input_summary");
    // The span of the step lies around the tool's own.
    let is_own = reading.span.name.contains("Tool.");
    let called = step.and_then(|step| called(step.as_str()?));
    if let Some((tool, arguments, id)) = called {
        let arguments = wrappers::python_dictionary(arguments);
        reading.tell_call(&Call {
            tool,
            id: Some(Cow::Borrowed(id)),
            arguments: arguments.as_deref().map(Cow::Borrowed),
            handoff_told_elsewhere: !is_own,
            ..Call::default()
        });
        if !is_own && is_uuid(id) {
            let observed = Requested {
                id: OBSERVED.into(),
                tool: tool.into(),
                arguments: arguments.map(Cow::Owned),
            };
            reading.tell_exchange_before(&[observed], &[]);
        }
    } else if is_own
        && reading.failure().is_none()
        && let Some(to) = step.and_then(|step| receiver_of(step.as_str()?))
    {
        reading.tell_handoff(None, &to);
    }
}

/// Tool, arguments and id in `ToolCall(tool_name='…', tool_kwargs={…}, tool_id='…')`, where that was not cut short.
fn called(step: &str) -> Option<(&str, &str, &str)> {
    let call = step.strip_prefix("ToolCall(tool_name='")?;
    let (call, id) = call.strip_suffix("')")?.rsplit_once(", tool_id='")?;
    let (tool, arguments) = call.split_once("', tool_kwargs=")?;
    Some((tool, arguments, id))
}

/// Who receives control in `ToolCall(tool_name='handoff', tool_kwargs={'to_agent': '…', 'reason': '…`, cut short behind it.
fn receiver_of(step: &str) -> Option<String> {
    let call = step.strip_prefix("ToolCall(tool_name='handoff', tool_kwargs={'to_agent': ")?;
    let (receiver, _) = wrappers::printed_text(call)?;
    Some(receiver)
}

fn model(reading: &mut Reading<'_, '_>) {
    let ended = |key| event_text(reading.span, ENDED, key);
    let blocks = ended("response.message.blocks").unwrap_or_default();
    let asked = asked_in(&blocks);
    let words = member_text(&blocks, &["0", "text"]);
    let reply = Reply {
        model: model_name(reading.span).map(Cow::into_owned),
        input_tokens: tokens(reading.span, ["prompt_tokens", "input_tokens"]),
        output_tokens: tokens(reading.span, ["completion_tokens", "output_tokens"]),
        answer: match asked.len() {
            0 => words.map_or(Answer::Unknown, |words| answer::text_alone(&words)),
            calls => Answer::ToolCalls(calls as u32),
        },
    };
    reading.tell_model_call_with(&reply);
    let given = event_text(reading.span, ENDED, "messages").unwrap_or_default();
    reading.tell_exchange(&asked, &answers_in(&History::of(&given)));
}

/// A call of which only the beginning is told.
fn streamed(reading: &mut Reading<'_, '_>) {
    let reply = Reply {
        model: model_name(reading.span).map(Cow::into_owned),
        ..Reply::default()
    };
    reading.tell_model_call_with(&reply);
    let given = event_text(reading.span, BEGUN, "messages").unwrap_or_default();
    let given = History::of(&given);
    let before = given.last_answer().unwrap_or_default();
    let asked = asked_in(value::member(before, &["blocks"]).unwrap_or_default());
    reading.tell_exchange_before(&asked, &answers_in(&given));
}

/// What tools answered since the model's last answer.
fn answers_in<'a>(given: &History<'a>) -> Vec<ToolAnswer<'a>> {
    let answers = given.tool_answers();
    if !answers.is_empty() {
        return answers;
    }
    let said = |message| {
        let of_user = value::member(message, &["role"]) == Some("\"user\"");
        let words = only_text(message, "blocks").filter(|_| of_user)?;
        let result = words.strip_prefix("Observation: ")?.to_owned();
        Some(ToolAnswer {
            id: OBSERVED.into(),
            content: Some(Cow::Owned(result)),
            failed: false,
        })
    };
    given.newest().rev().find_map(said).into_iter().collect()
}

/// The model that answered, else the one that was to.
fn model_name<'a>(span: &SpanView<'a>) -> Option<Cow<'a, str>> {
    event_text(span, ENDED, "response.raw.model")
        .or_else(|| event_text(span, BEGUN, "model_dict.model_name"))
        .or_else(|| event_text(span, BEGUN, "model_dict.model"))
}

/// Tokens under one of two names, beside the message or in what the provider said.
fn tokens(span: &SpanView<'_>, names: [&str; 2]) -> u64 {
    let places = ["response.additional_kwargs", "response.raw.usage"];
    let mut keys = places
        .iter()
        .flat_map(|place| names.map(|name| format!("{place}.{name}")));
    keys.find_map(|key| records::count(event_value(span, ENDED, &key)?))
        .unwrap_or(0)
}

/// The calls among the blocks of a message.
fn asked_in(blocks: &str) -> Vec<Requested<'_>> {
    let calls = value::items(blocks)
        .filter(|block| value::member(block, &["block_type"]) == Some("\"tool_call\""));
    let member = |call, key| member_text(call, &[key]);
    calls
        .take(ASKED_MAX)
        .map(|call| Requested {
            id: member(call, "tool_call_id").unwrap_or_default(),
            tool: member(call, "tool_name").unwrap_or_default(),
            arguments: member(call, "tool_kwargs"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{BEGUN, ENDED};
    use crate::engine::event::Body;
    use crate::normalize::captured::Captured;
    use crate::normalize::scopes::LLAMA_INDEX;

    fn step(name: &str, step: &str) -> Captured {
        let attributes = json!({"llamaindex.step.input_event": "ToolCall", "llamaindex.step.input_summary": step});
        Captured::new(LLAMA_INDEX, name, &attributes)
    }

    /// A tool's span, whole and cut short, and that of the step around it, which is there for tools that do not exist, too.
    #[test]
    fn tools_are_told_by_their_step() {
        let told = |summary: &str| step("FunctionTool.acall", summary);
        let around = |summary: &str| step("AgentWorkflow.call_tool", summary);
        let summary = "ToolCall(tool_name='search', tool_kwargs={'query': \"x's\"}, tool_id='c')";
        let call = r#"call with id search({"query":"x's"}) = -"#;
        assert_eq!(told(summary).told(), [call]);
        assert_eq!(around(summary).told(), [call]);
        assert_eq!(
            told(summary).failed("refused").told(),
            [format!("{call} failed: refused")]
        );
        // One of the two says who received control.
        let summary = "ToolCall(tool_name='handoff', tool_kwargs={'to_agent': 'b'}, tool_id='c')";
        let call = r#"call with id handoff({"to_agent":"b"}) = -"#;
        assert_eq!(told(summary).told(), [call, "? to b"]);
        assert_eq!(around(summary).told(), [call]);
        let cut =
            "ToolCall(tool_name='handoff', tool_kwargs={'to_agent': 'b', 'reason': 'They want...";
        assert_eq!(told(cut).told(), ["? to b"]);
        assert!(told(cut).failed("refused").told().is_empty());
        assert!(around(cut).told().is_empty());
        let cut = "ToolCall(tool_name='handoff', tool_kwargs={'to_agent': 'b...";
        assert!(told(cut).told().is_empty());
        assert!(
            told("ToolCall(tool_name='search', tool_kwargs={'query': 'a long...")
                .told()
                .is_empty()
        );
    }

    /// A model's span: the call, what it asks for, and what was answered since the last one.
    #[test]
    fn exchanges_are_told() {
        let ended = json!({
            "messages": json!([
                {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "Go."}]},
                {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "tool_call", "tool_call_id": "a"}]},
                {"role": "tool", "additional_kwargs": {"tool_call_id": "a"}, "blocks": [{"block_type": "text", "text": "[]"}]},
            ]).to_string(),
            "response.message.blocks": json!([{"block_type": "tool_call", "tool_call_id": "b", "tool_name": "search",
                "tool_kwargs": "{\"query\": \"x\"}"}]).to_string(),
            "response.raw.model": "m", "response.additional_kwargs.prompt_tokens": "110",
            "response.raw.usage.completion_tokens": "20",
        });
        let span = Captured::new(LLAMA_INDEX, "OpenAI.achat", &json!({}));
        assert_eq!(
            span.said(BEGUN, &json!({})).said(ENDED, &ended).told(),
            [
                "model m 110+20 ToolCalls(1)",
                r#"asked search({"query":"x"})"#,
                "call with id (-) = 2 bytes"
            ]
        );
        let words = json!({"response.message.blocks": r#"[{"block_type": "text", "text": "Done, all of it."}]"#});
        let span = Captured::new(LLAMA_INDEX, "OpenAI.achat", &json!({})).said(ENDED, &words);
        assert!(span.told()[0].starts_with("model ? 0+0 Text("));
        let failed = Captured::new(LLAMA_INDEX, "OpenAI.achat", &json!({})).said(BEGUN, &json!({}));
        assert_eq!(failed.failed("refused").told().len(), 1);
    }

    /// Given a span of a model that ended before its answer came, since that is streamed: the call is told, and what the model had
    /// asked for the last time with what tools answered, all of it before the span began.
    #[test]
    fn streamed_exchanges_are_told() {
        let called = |id: &str, n: u32| json!({"block_type": "tool_call", "tool_call_id": id, "tool_name": "search", "tool_kwargs": {"n": n}});
        let answered = |id: &str| json!({"role": "tool", "additional_kwargs": {"tool_call_id": id}, "blocks": [{"block_type": "text", "text": "[]"}]});
        let begun = json!({"model_dict.model_name": "m", "messages": json!([
            {"role": "user", "blocks": [{"block_type": "text", "text": "Go."}]},
            {"role": "assistant", "blocks": [called("a", 0)]},
            answered("a"),
            {"role": "assistant", "blocks": [called("b", 1), called("c", 2)]},
            answered("b"),
            answered("c"),
        ]).to_string()});
        let told =
            || Captured::new(LLAMA_INDEX, "OpenAI.astream_chat", &json!({})).said(BEGUN, &begun);
        let expected = [
            "model m 0+0 Unknown",
            r#"asked search({"n":1})"#,
            r#"asked search({"n":2})"#,
            "call with id (-) = 2 bytes",
            "call with id (-) = 2 bytes",
        ];
        assert_eq!(told().told(), expected);
        let events = told().report().unwrap().events;
        let ids = events.iter().filter_map(|event| match &event.body {
            Body::Requested(call) | Body::ToolCall(call) => Some(call.call_id),
            _ => None,
        });
        let ids: Vec<_> = ids.collect();
        assert_eq!((ids[0], ids[1]), (ids[3], ids[2]));
        assert!(
            events[1..]
                .iter()
                .all(|event| event.end_ns <= event.start_ns)
        );
    }

    /// Given a call whose id the agent drew, its result is what the user's message says next, streamed or not; a user's other words
    /// are none.
    #[test]
    fn observations_are_results() {
        let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
        let summary =
            |id| format!("ToolCall(tool_name='search', tool_kwargs={{'n': 1}}, tool_id='{id}')");
        let call = r#"call with id search({"n":1}) = -"#;
        let around = step("BaseWorkflowAgent.call_tool", &summary(id)).told();
        assert_eq!(around, [call, r#"asked search({"n":1})"#]);
        let own = step("FunctionTool.acall", &summary(id)).told();
        assert_eq!(own, [call]);
        let given = |words: &str| {
            let said = |role: &str, words: &str| json!({"role": role, "blocks": [{"block_type": "text", "text": words}]});
            json!({"messages": json!([said("user", "Go."), said("assistant", "Action: search"), said("user", words)]).to_string()})
        };
        for event in [BEGUN, ENDED] {
            let told = |words| {
                let span = Captured::new(LLAMA_INDEX, "OpenAI.achat", &json!({}));
                span.said(event, &given(words)).told().split_off(1)
            };
            assert_eq!(told("Observation: []"), ["call with id (-) = 2 bytes"]);
            assert!(told("My observation: []").is_empty());
        }
    }

    /// The root is the request; steps tell nothing.
    #[test]
    fn the_root_is_the_request() {
        let root = || Captured::new(LLAMA_INDEX, "FunctionAgent.run", &json!({}));
        assert_eq!(root().root().told(), ["UserMessage", "end"]);
        assert!(root().told().is_empty());
    }
}
