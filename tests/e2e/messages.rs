//! Calls of which nothing tells but the messages that go into a model and come out of it.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::support::eddy;

/// The scopes of two tracers of one client.
const TRACER: &str = "opentelemetry.instrumentation.openai.v1";
const OTHER: &str = "opentelemetry.instrumentation.openai_v2";

const SECOND_NS: u64 = 1_000_000_000;

/// How a conversation is told.
#[derive(Clone, Copy, Default)]
struct Told {
    /// In flat keys.
    flat: bool,
    /// The newest messages that the model is given besides the system's; 0 for all.
    newest: usize,
    /// The span around its calls of the model.
    parent: u64,
    /// By a second tracer too, whose spans lie below those of the first, or beside them.
    again: Option<&'static str>,
}

/// The id of a call by its number within its answer and in all.
type Ids = fn(usize, u64) -> Option<String>;

const NONE: Ids = |_, _| None;
const COUNTED: Ids = |nth, _| Some(format!("call_{nth}"));
const DRAWN: Ids = |_, call| {
    Some(format!(
        "call_Xq{:016x}",
        call.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    ))
};

/// Spans of a conversation of so many calls of a model, each but the first of which is given what a tool answered.
fn conversation(rounds: u64, ids: Ids, told: Told) -> Vec<(&'static str, Value)> {
    let text = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
    let system = text("system", "You find things. It is 2026-01-02T03:04:05Z.");
    let (mut given, mut spans) = (vec![text("user", "Find it.")], Vec::new());
    for round in 0..rounds {
        let with_id = |mut part: Value| {
            let id = ids(0, told.parent * 1_000 + round);
            if let (Some(id), Some(part)) = (id, part.as_object_mut()) {
                part.insert("id".to_owned(), json!(id));
            }
            part
        };
        let call =
            with_id(json!({"type": "tool_call", "name": "search", "arguments": {"query": "x"}}));
        let asked = json!({"role": "assistant", "parts": [call]});
        let newest = given.len().saturating_sub(if told.newest == 0 {
            given.len()
        } else {
            told.newest
        });
        let messages: Vec<_> = std::iter::once(&system).chain(&given[newest..]).collect();
        let mut attributes = Map::new();
        let mut add = |key: &str, value: &str| {
            attributes.insert(key.to_owned(), json!(value));
        };
        add("gen_ai.operation.name", "chat");
        add("gen_ai.request.model", "gpt-4o");
        if told.flat {
            for (place, message) in messages.iter().enumerate() {
                tell_flat(&format!("gen_ai.prompt.{place}"), message, &mut add);
            }
            tell_flat("gen_ai.completion.0", &asked, &mut add);
        } else {
            add("gen_ai.input.messages", &json!(messages).to_string());
            add("gen_ai.output.messages", &json!([asked]).to_string());
        }
        let number = told.parent * 1_000 + 2 * round;
        let start = 2 * round * SECOND_NS + SECOND_NS;
        spans.push((TRACER, span(number, told.parent, start, &attributes, round)));
        if let Some(place) = told.again {
            let parent = if place == "below" {
                number
            } else {
                told.parent
            };
            spans.push((
                OTHER,
                span(number + 1, parent, start + 1_000_000, &attributes, round),
            ));
        }
        let answered =
            with_id(json!({"type": "tool_call_response", "response": "No results found."}));
        given.extend([asked, json!({"role": "tool", "parts": [answered]})]);
    }
    spans
}

/// A message in flat keys.
fn tell_flat(prefix: &str, message: &Value, add: &mut impl FnMut(&str, &str)) {
    let part = &message["parts"][0];
    let mut member = |key: &str, value: &Value| {
        if let Some(value) = value.as_str() {
            add(&format!("{prefix}.{key}"), value);
        }
    };
    member("role", &message["role"]);
    match part["type"].as_str() {
        Some("tool_call") => {
            member("tool_calls.0.id", &part["id"]);
            member("tool_calls.0.name", &part["name"]);
            member(
                "tool_calls.0.arguments",
                &json!(part["arguments"].to_string()),
            );
        }
        Some("tool_call_response") => {
            member("tool_call_id", &part["id"]);
            member("content", &part["response"]);
        }
        _ => member("content", &part["content"]),
    }
}

fn span(
    number: u64,
    parent: u64,
    start: u64,
    attributes: &Map<String, Value>,
    round: u64,
) -> Value {
    let attributes = attributes
        .iter()
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
    let mut attributes: Vec<_> = attributes.collect();
    let tokens = json!({"intValue": (100 + round).to_string()});
    attributes.push(json!({"key": "gen_ai.usage.input_tokens", "value": tokens}));
    json!({"traceId": format!("{:032x}", 1), "spanId": format!("{number:016x}"), "parentSpanId": format!("{parent:016x}"),
        "name": "chat", "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + SECOND_NS / 2).to_string(),
        "attributes": attributes})
}

/// How many calls of tools and of models there are in a run, and the rules that warn of it; the same in any order and told twice.
fn judged(spans: &[(&str, Value)]) -> (u64, u64, Vec<String>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("spans.jsonl");
    let mut lines = String::new();
    for (scope, span) in spans.iter().chain(spans) {
        let scope = json!({"scope": {"name": scope}, "spans": [span]});
        writeln!(
            lines,
            "{}",
            json!({"resourceSpans": [{"scopeSpans": [scope]}]})
        )
        .expect("a text");
    }
    std::fs::write(&file, lines).expect("it can be written");
    let orders: [&[&str]; 3] = [&[], &["--shuffle", "1"], &["--shuffle", "2"]];
    let mut judged = orders.iter().map(|order| {
        let output = eddy()
            .args(["check", "--json"])
            .args(*order)
            .arg(&file)
            .output();
        let report: Value =
            serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
        let run = &report["runs"][0];
        let warnings = run["warnings"]
            .as_array()
            .expect("a list of warnings")
            .iter();
        let mut rules: Vec<_> = warnings
            .map(|warning| warning["rule"].to_string())
            .collect();
        rules.sort();
        let count = |key: &str| run[key].as_u64().expect("a number");
        (count("tool_calls"), count("model_calls"), rules)
    });
    let first = judged.next().expect("one");
    for other in judged {
        assert_eq!(first, other);
    }
    first
}

/// Given calls without ids, or with ids that come again with every answer, they are the calls that they are with ids of their
/// own: in messages and in flat keys, told by one tracer or by two, in a long run too.
#[test]
fn calls_without_ids_of_their_own_are_calls() {
    for (rounds, flat, again) in [
        (12, false, None),
        (12, true, None),
        (80, false, None),
        (12, false, Some("below")),
        (12, false, Some("beside")),
        (12, true, Some("below")),
    ] {
        let told = Told {
            flat,
            again,
            parent: 9,
            ..Told::default()
        };
        let expected = judged(&conversation(rounds, DRAWN, told));
        assert_eq!((expected.0, expected.1), (rounds - 1, rounds));
        assert!(!expected.2.is_empty());
        for ids in [NONE, COUNTED] {
            assert_eq!(
                judged(&conversation(rounds, ids, told)),
                expected,
                "{flat} {again:?}"
            );
        }
    }
}

/// Given a history of which the model gets the newest messages alone, each round is a call all the same; but for the one at
/// which the first words of the user are left out, where nothing says that the conversation is the same.
#[test]
fn calls_of_a_cut_history_are_calls() {
    for (flat, again) in [(false, None), (true, None), (false, Some("below"))] {
        let told = Told {
            flat,
            again,
            newest: 8,
            parent: 9,
        };
        for (ids, calls) in [(DRAWN, 15), (NONE, 14), (COUNTED, 14)] {
            let (tools, models, rules) = judged(&conversation(16, ids, told));
            assert_eq!((tools, models), (calls, 16));
            assert!(rules.len() > 2, "{rules:?}");
        }
    }
}

/// Given agents that begin a conversation with the same words, one after another or side by side, each has calls of its own.
#[test]
fn conversations_that_begin_alike_are_several() {
    for (ids, flat) in [
        (DRAWN, false),
        (NONE, false),
        (COUNTED, false),
        (NONE, true),
    ] {
        let agents = (1..=5).flat_map(|parent| {
            let told = Told {
                flat,
                parent,
                ..Told::default()
            };
            conversation(3, ids, told)
        });
        let (tools, models, _) = judged(&agents.collect::<Vec<_>>());
        assert_eq!((tools, models), (10, 15), "{:?} {flat}", ids(0, 7));
    }
}

/// Given spans that all have one id, of their calls of a tool or of the model's answers, as from servers that count each answer's
/// calls anew and from caches, each is a call, however many there are.
#[test]
fn ids_that_come_again_are_those_of_several_calls() {
    let spans = (0..100).flat_map(|number| {
        let attributes = |texts: &[(&str, &str)]| -> Map<String, Value> {
            let texts = texts.iter();
            texts
                .map(|(key, text)| ((*key).to_owned(), json!(text)))
                .collect()
        };
        let tool = attributes(&[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "search"),
            ("gen_ai.tool.call.id", "call_0"),
            (
                "gen_ai.tool.call.arguments",
                &format!(r#"{{"page": {number}}}"#),
            ),
            (
                "gen_ai.tool.call.result",
                &format!("Page {number} is about what comes after it."),
            ),
        ]);
        let model = attributes(&[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "gpt-4o"),
            ("gen_ai.response.id", "chatcmpl-1"),
        ]);
        let start = 2 * number * SECOND_NS + SECOND_NS;
        [
            ("my-agent", span(2 * number + 10, 9, start, &model, number)),
            (
                "my-agent",
                span(2 * number + 11, 9, start + SECOND_NS, &tool, number),
            ),
        ]
    });
    let (tools, models, _) = judged(&spans.collect::<Vec<_>>());
    assert_eq!((tools, models), (100, 100));
}
