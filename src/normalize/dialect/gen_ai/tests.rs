//! Spans of the GenAI conventions, as several senders write them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Answer, Body, is_uuid};
use crate::normalize::captured::Captured;

fn check(span: Captured, expected: &[&str]) {
    assert_eq!(span.told(), expected);
}

/// Given a key of hex digits and hyphens, it is a UUID where the hyphens stand as in one.
#[test]
fn uuids_have_their_hyphens() {
    assert!(is_uuid("0f8fad5b-d9cb-469f-A165-70867728950e"));
    for text in [
        "",
        "default",
        "------------------------------------",
        "0f8fad5bd9cb469fa16570867728950e",
        "0f8fad5b-d9cb-469f-a165070867728950e",
        "0f8fad5-bd9cb-469f-a165-70867728950e",
        "0f8fad5b-d9cb-469f-a165-70867728950",
        "0f8fad5b-d9cb-469f-a165-70867728950g",
    ] {
        assert!(!is_uuid(text), "{text}");
    }
}

/// A tool's arguments may be JSON text or a map; they are the same arguments.
#[test]
fn tools_are_read_as_text_and_as_structure() {
    let told = |arguments: serde_json::Value| {
        let attributes = json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c",
            "gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": {"results": []},
            "gen_ai.conversation.id": "conversation",
        });
        Captured::new("somebody's tracer", "execute_tool search", &attributes)
    };
    let expected = [r#"call with id search({"limit":3,"query":"x"}) = 14 bytes"#];
    check(told(json!({"limit": 3, "query": "x"})), &expected);
    check(told(json!(r#"{"limit": 3, "query": "x"}"#)), &expected);
    let run = told(json!("")).report().unwrap().run;
    assert_eq!(run.run_id.as_deref(), Some("conversation"));
}

fn answer_of(attributes: &serde_json::Value) -> Answer {
    let span = Captured::new("pydantic-ai", "chat m", attributes);
    let events = span.report().expect("it is told").events;
    let mut answers = events.iter().filter_map(|event| match &event.body {
        Body::ModelCall(call) => Some(call.answer),
        _ => None,
    });
    answers.next().expect("a call of a model")
}

/// Given a model whose answer is the arguments of a tool that nobody calls, it asked for no tool; what it asks for beside it
/// counts.
#[test]
fn a_form_for_the_answer_is_no_tool() {
    let asks = |tools: &[&str]| {
        let part = |tool: &&str| json!({"type": "tool_call", "id": format!("c_{tool}"), "name": tool, "arguments": {"city": "Berlin"}});
        let parts: Vec<_> = tools.iter().map(part).collect();
        answer_of(&json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["tool_call"],
            "model_request_parameters": json!({"function_tools": [], "output_tools": [{"name": "final_result"}]}).to_string(),
            "gen_ai.output.messages": json!([{"role": "assistant", "parts": parts}]).to_string(),
        }))
    };
    assert_eq!(asks(&["final_result"]), Answer::Text(None));
    assert_eq!(asks(&["search", "final_result"]), Answer::ToolCalls(1));
    assert_eq!(asks(&["search"]), Answer::ToolCalls(1));
}

/// Given an answer that begins very many lists of calls and ends none, it is read in the time that reading takes.
#[test]
fn lists_without_an_end_take_no_longer() {
    let began = Instant::now();
    answer_of(&json!({
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.output.messages": "\"tool_calls\":[{".repeat(1 << 14),
    }));
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// any-agent's words and keys for a call of a model and of a tool.
#[test]
fn any_agent_is_read() {
    let asks = r#"[{"tool.name": "search", "tool.args": "{\"query\": \"x\"}"}]"#;
    let model = |output: &str| {
        let attributes = json!({"gen_ai.operation.name": "call_llm", "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4, "gen_ai.output": output});
        Captured::new("any_agent", "call_llm m", &attributes)
    };
    check(model(asks), &["model m 3+4 ToolCalls(1)"]);
    check(model("Done."), &["model m 3+4 Text("]);
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
            "gen_ai.tool.args": "{\"query\": \"x\"}", "gen_ai.output": "[]"});
    check(
        Captured::new("any_agent", "execute_tool search", &tool),
        &[r#"call search({"query":"x"}) = 2 bytes"#],
    );
}

/// A command that ended badly failed, whatever the status of its span; a search that found nothing did not.
#[test]
fn exit_codes_are_read() {
    let told = |command: &str, exit_code: i64| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shell",
                "gen_ai.tool.call.arguments": {"command": command}, "process.exit.code": exit_code});
        let told = Captured::new("somebody's tracer", "shell make", &attributes).told();
        told[0].ends_with(" failed: ")
    };
    assert!(told("make", 2));
    assert!(!told("make", 0));
    assert!(!told("grep x y", 1));
}

/// pydantic-ai: content off leaves nothing recorded; a retry is told; a delegated agent's conversation keys nothing.
#[test]
fn pydantic_ai_is_read() {
    let attributes = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run_query", "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": "delegated", "gen_ai.tool.call.result": "refused",
        "pydantic_ai.tool.retry.attempt": 1, "pydantic_ai.tool.retry.max_retries": 8,
    });
    let span = || Captured::new("pydantic-ai", "execute_tool run_query", &attributes).failed("");
    check(
        span(),
        &[
            "demo: call run_query(-) = 7 bytes failed: refused",
            r#"demo: Retry { tool: Some("run_query") }"#,
        ],
    );
    let run = span().report().unwrap().run;
    assert_eq!((run.run_id, run.session_id), (None, None));
}

/// Given a conversation that is named by the way to it, as clouds do, that is its id; a text is none.
#[test]
fn ids_may_be_long() {
    let of = |id: &str| {
        let attributes = json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.conversation.id": id,
        });
        let span = Captured::new("x", "execute_tool search", &attributes);
        span.report().unwrap().run.run_id
    };
    let resource = "projects/1234567890123/locations/europe-west1/reasoningEngines/1234567890123456789/sessions/1234567890123456789";
    assert_eq!(of(resource).as_deref(), Some(resource));
    assert_eq!(of(&"word ".repeat(300)), None);
}

/// The answer is read from the messages, whatever the finish reason says; costs become millionths.
#[test]
fn answers_are_read_from_messages() {
    let told = |messages: &str| {
        let attributes = json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "asked", "gen_ai.response.model": "answered",
            "gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": 25, "operation.cost": 3.3e-5,
            "gen_ai.output.messages": messages, "gen_ai.response.finish_reasons": ["stop"],
        });
        Captured::new("agent_framework", "chat", &attributes)
    };
    let calls = r#"[{"role":"assistant","parts":[{"type" : "tool_call","name":"a"},{"type":"tool_call","name":"b"}]}]"#;
    check(told(calls), &["model answered 120+25 ToolCalls(2)"]);
    let text = r#"[{"role":"assistant","parts":[{"type":"text","content":"say \"type\":\"tool_call\""}]}]"#;
    check(told(text), &["model answered 120+25 Text("]);
    check(
        told(r#"[{"parts":[{"type":"text"}]}]"#),
        &["model answered 120+25 Text(None)"],
    );
    check(told("cut off ["), &["model answered 120+25 Unknown"]);
    let event = told(text).report().unwrap().events.remove(0);
    let crate::engine::event::Body::ModelCall(call) = event.body else {
        panic!()
    };
    assert_eq!(call.cost_microusd, Some(33));
}

/// Given what several tools answered, it stands in the order of the messages, all of it before the model's call.
#[test]
fn answers_of_tools_stand_in_their_order() {
    let asked =
        [1, 2].map(|id| json!({"type": "tool_call", "id": format!("call_of_{id}"), "name": "get"}));
    let answers = [1, 2].map(
        |id| json!({"type": "tool_call_response", "id": format!("call_of_{id}"), "response": "x".repeat(id as usize)}),
    );
    let messages = json!([
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": asked},
        {"role": "tool", "parts": answers},
    ]);
    let attributes =
        json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages.to_string()});
    let span = Captured::new(
        "opentelemetry.instrumentation.openai_v2",
        "chat m",
        &attributes,
    );
    let events = span.report().expect("it is told").events;
    let mut tools: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::ToolCall(call) => Some((event.start_ns, call.output.bytes())),
            _ => None,
        })
        .collect();
    tools.sort_unstable();
    let (times, sizes): (Vec<_>, Vec<_>) = tools.into_iter().unzip();
    assert_eq!(sizes, [1, 2]);
    let model = events
        .iter()
        .find(|event| matches!(event.body, Body::ModelCall(_)));
    let model_ns = model.expect("a call of a model").start_ns;
    assert!(times.is_sorted_by(|one, next| one < next) && times[1] <= model_ns);
}

/// A result that says it is an error is one; an empty `error` is none.
#[test]
fn results_tell_of_errors() {
    let told = |result: &str| {
        let attributes = json!({"gen_ai.tool.name": "t", "gen_ai.tool.call.result": result});
        Captured::new("x", "t", &attributes).told().remove(0)
    };
    assert_eq!(
        told(r#"{"error": "not found"}"#),
        "call t(-) = 21 bytes failed: not found"
    );
    assert!(told(r#"{"isError": true, "content": []}"#).contains(" failed: "));
    assert_eq!(told(r#"{"error": null}"#), "call t(-) = 2 bytes");
}

/// A step around a model call names the model that is to be asked, and is none; tokens, an answer or a failure make one.
#[test]
fn steps_around_model_calls_are_none() {
    let asked = json!({"gen_ai.request.model": "m", "lk.retry_count": 0});
    check(Captured::new("livekit-agents", "llm_node", &asked), &[]);
    check(
        Captured::new("livekit-agents", "llm_node", &asked).failed("refused"),
        &["model m 0+0 Unknown failed: refused"],
    );
    let used = json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3});
    check(Captured::new("x", "y", &used), &["model m 3+0 Unknown"]);
}

/// Pipecat's spans, constructed from its tracing module: the answer's words alone, and the calls in the next history.
#[test]
fn pipecats_calls_stand_in_the_history() {
    let history = json!([{"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "search", "arguments": "{\"query\": \"x\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "[]"}]);
    let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "output": "Done.",
            "input": history.to_string(), "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4});
    check(
        Captured::new("pipecat", "llm", &attributes),
        &[
            "model m 3+4 Text(",
            r#"asked search({"query":"x"})"#,
            "call with id (-) = 2 bytes",
        ],
    );
}

/// Copilot's shell: the session's number in the last line comes off, and the exit code tells how the command ended.
#[test]
fn copilots_shell_is_read() {
    let told = |result: &str| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash",
                "gen_ai.tool.call.arguments": "{\"command\":\"cat a\"}", "gen_ai.tool.call.result": result});
        Captured::new("github.copilot", "execute_tool bash", &attributes).told()
    };
    let expected = [r#"call bash({"command":"cat a"}) = 3 bytes"#];
    assert_eq!(
        told("abc\n<shellId: 0 completed with exit code 0>"),
        expected
    );
    assert_eq!(
        told("abc\n<shellId: 7 completed with exit code 0>"),
        expected
    );
    assert!(told("abc\n<shellId: 7 completed with exit code 2>")[0].ends_with("failed: abc"));
    assert!(told("abc <shellId: 7 is gone>")[0].ends_with(" = 24 bytes"));
}

/// `AgentOps` tells what a model asks for in spans below the model's, and what was called in spans of its own.
#[test]
fn agentops_tells_of_questions_and_calls() {
    let asked = json!({"tool.name": "search", "tool.parameters": "{\"query\": \"x\"}", "tool.call.id": "call_1"});
    let scope = "agentops.instrumentation.providers.openai.wrappers.chat";
    check(
        Captured::new(scope, "tool_call.search", &asked),
        &[r#"asked search({"query":"x"})"#],
    );
    let called = json!({"agentops.span.kind": "tool", "agentops.tool.output": "[]",
            "agentops.tool.input": "{\"args\": [], \"kwargs\": {\"query\": \"x\"}}"});
    check(
        Captured::new("agentops", "search.tool", &called),
        &[r#"call search({"query":"x"}) = 2 bytes"#],
    );
}

/// The older conventions' span events, a message each, with all that it says as JSON in one attribute or in several: the
/// answer, what it asks for, and what tools answered since the one before.
#[test]
fn messages_in_span_events_are_read() {
    let model = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
    let content = |json: serde_json::Value| json!({"gen_ai.event.content": json.to_string()});
    let call = json!([{"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{\"query\": \"x\"}"}}]);
    let asking = content(
        json!({"message": {"content": null, "tool_calls": call}, "finish_reason": "tool_calls", "index": 0}),
    );
    let expected = [
        "model m 0+0 ToolCalls(1)",
        r#"asked search({"query":"x"})"#,
        "call with id (-) = 2 bytes",
    ];
    let azure = Captured::new(
        "azure.core.tracing.ext.opentelemetry_span",
        "chat m",
        &model,
    )
    .said(
        "gen_ai.user.message",
        &content(json!({"role": "user", "content": "Go."})),
    )
    .said(
        "gen_ai.assistant.message",
        &content(json!({"role": "assistant", "tool_calls": [{"id": "c1"}]})),
    )
    .said(
        "gen_ai.tool.message",
        &content(json!({"role": "tool", "tool_call_id": "c1", "content": "[]"})),
    )
    .said("gen_ai.choice", &asking);
    check(azure, &expected);
    let plain = Captured::new("my.agent", "chat m", &model)
        .said(
            "gen_ai.assistant.message",
            &json!({"tool_calls": "[{\"id\": \"c1\"}]"}),
        )
        .said("gen_ai.tool.message", &json!({"id": "c1", "content": "[]"}))
        .said("gen_ai.choice", &asking);
    check(plain, &expected);
    let said =
        content(json!({"message": {"content": "Done."}, "finish_reason": "stop", "index": 0}));
    check(
        Captured::new("my.agent", "chat m", &model).said("gen_ai.choice", &said),
        &["model m 0+0 Text("],
    );
}

/// Given one answer to several prompts of a client, it is another text for each, and the same for the same; within a
/// conversation the prompt does not count.
#[test]
fn answers_belong_to_their_prompts() {
    let graded = "The document is not relevant to what was asked by anybody.";
    let client = "opentelemetry.instrumentation.openai_v2";
    let text = |role: &str, words: &str| json!({"role": role, "parts": [{"type": "text", "content": words}]});
    let answer = |input: &[serde_json::Value]| {
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                "gen_ai.input.messages": input, "gen_ai.output.messages": [text("assistant", graded)]});
        let report = Captured::new(client, "chat m", &attributes).report();
        match &report.expect("a report").events[0].body {
            Body::ModelCall(call) => call.answer,
            other => panic!("{other:?}"),
        }
    };
    let flat = |input: &str| {
        let attributes = json!({"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": input, "gen_ai.completion.0.content": graded});
        let report = Captured::new(
            "opentelemetry.instrumentation.openai",
            "openai.chat",
            &attributes,
        )
        .report();
        match &report.expect("a report").events[0].body {
            Body::ModelCall(call) => call.answer,
            other => panic!("{other:?}"),
        }
    };
    let ask = |of: &str| answer(&[text("system", "Grade it."), text("user", of)]);
    assert_eq!(ask("of tides"), ask("of tides"));
    assert_ne!(ask("of tides"), ask("of ships"));
    assert_eq!(flat("of tides"), flat("of tides"));
    assert_ne!(flat("of tides"), flat("of ships"));
    let later = |of: &str| {
        answer(&[
            text("user", "Go."),
            text("assistant", "Well."),
            text("user", of),
        ])
    };
    assert_eq!(later("of tides"), later("of ships"));
}

/// Messages as a structure, as text, as text written as text once more, and as a list of texts: the same.
#[test]
fn messages_are_read_however_they_are_written() {
    let answer = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "[]"}]});
    let asking = json!({"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "search", "arguments": {"query": "x"}}]});
    let ways: [fn(&serde_json::Value) -> serde_json::Value; 5] = [
        serde_json::Value::clone,
        |messages| json!(messages.to_string()),
        |messages| json!(json!(messages.to_string()).to_string()),
        |messages| json!([messages[0].to_string()]),
        |messages| json!(json!([messages[0].to_string()]).to_string()),
    ];
    for way in ways {
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                "gen_ai.input.messages": way(&json!([answer])), "gen_ai.output.messages": way(&json!([asking]))});
        check(
            Captured::new("my.agent", "chat m", &attributes),
            &[
                "model m 0+0 ToolCalls(1)",
                r#"asked search({"query":"x"})"#,
                "call with id (-) = 2 bytes",
            ],
        );
    }
}

/// A client alone makes a trace of every call of a model: the id of the first call, which stands in all that follows it,
/// is what they have in common. Ids that are counted, and spans that have a parent, tell nothing.
#[test]
fn a_conversation_is_known_by_its_first_call() {
    const FIRST: &str = "call_9f2c41d07b3e4a55";
    let told = |input: &serde_json::Value, output: &serde_json::Value| {
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                "gen_ai.input.messages": input.to_string(), "gen_ai.output.messages": output.to_string()});
        Captured::new(
            "opentelemetry.instrumentation.openai_v2",
            "chat m",
            &attributes,
        )
    };
    let run = |span: Captured| span.report().unwrap().run.run_id.map(|id| id.to_string());
    let user = json!({"role": "user", "parts": [{"type": "text", "content": "Go."}]});
    let asking = |id: &str| json!({"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": "search"}]});
    let answer = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": FIRST, "response": "[]"}]});
    let first = told(&json!([user]), &json!([asking(FIRST)]));
    assert_eq!(run(first.root()).as_deref(), Some(FIRST));
    let later = json!([user, asking(FIRST), answer]);
    let second = || told(&later, &json!([asking("call_0011223344556677")]));
    assert_eq!(run(second().root()).as_deref(), Some(FIRST));
    assert_eq!(run(second()), None);
    let stateful = told(&json!([answer]), &json!([user]));
    assert_eq!(run(stateful.root()).as_deref(), Some(FIRST));
    for counted in ["call_1", "a_search_tool_call_0", "search_documents_of_mine"] {
        let counted = told(&json!([user]), &json!([asking(counted)]));
        assert_eq!(run(counted.root()), None);
    }
    assert_eq!(run(told(&json!([user]), &json!([user])).root()), None);
}

/// autogen's messages name the team's run; where they name none, the link says what is continued. Neither they nor
/// set-up end a run.
#[test]
fn autogen_messages_place_their_trace() {
    const RUNTIME: &str = "autogen SingleThreadedAgentRuntime";
    let message = |destination: &str| {
        let attributes =
            json!({"messaging.operation": "publish", "messaging.destination": destination});
        Captured::new(RUNTIME, "autogen publish", &attributes)
            .root()
            .linked([7; 16])
            .report()
    };
    let run = "cfd2afef-6c20-409b-99f0-b6a51ec19914";
    let placed = message(&format!("triage_{run}.({run})-A")).unwrap();
    assert_eq!(placed.run.run_id.as_deref(), Some(run));
    assert!(placed.events.is_empty());
    let linked = message("worker.(default)-A").unwrap();
    assert_eq!(linked.run.run_id, None);
    assert_eq!(linked.run.continues.map(|trace| trace.0), Some([7; 16]));
    let created = json!({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "triage"});
    check(
        Captured::new("autogen-core", "create_agent triage", &created).root(),
        &[],
    );
}

/// trpc-agent-go puts an event with an id and times of its own around each result, and has a span for several at once.
#[test]
fn events_around_results_come_off() {
    let tool = |id: u32, name: &str| {
        let event = json!({"id": id.to_string(), "object": "tool.response", "created": id, "choices": [{"index": 0,
                "message": {"role": "tool", "content": "[]", "tool_id": format!("c{id}")}}], "timestamp": id});
        // Its own order, which a JSON object here does not keep.
        let event = format!("{{\"id\":\"{id}\",{}", &event.to_string()[1..]);
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": "{\"query\":\"x\"}", "gen_ai.tool.call.result": event});
        Captured::new("trpc.agent.go", "execute_tool", &attributes)
    };
    let expected = [r#"call search({"query":"x"}) = 2 bytes"#];
    check(tool(1, "search"), &expected);
    check(tool(2, "search"), &expected);
    check(tool(3, "(merged tools)"), &[]);
}

/// `OpenLIT` marks what is no tool as one: pydantic-ai's step, which has no name, and smolagents' answer.
#[test]
fn openlit_marks_more_than_tools() {
    let told = |scope: &'static str, tool: Option<&str>| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.request.model": "m", "gen_ai.tool.name": tool});
        Captured::new(scope, "execute_tool m", &attributes).told()
    };
    let pydantic_ai = "openlit.instrumentation.pydantic_ai";
    assert!(told(pydantic_ai, None).is_empty());
    assert_eq!(told(pydantic_ai, Some("search")), ["call search(-) = -"]);
    let smolagents = "openlit.instrumentation.smolagents";
    assert!(told(smolagents, Some("final_answer")).is_empty());
    assert_eq!(told(smolagents, Some("search")), ["call search(-) = -"]);
    let request = json!({"gen_ai.operation.name": "execute_task", "gen_ai.usage.input_tokens": 9});
    check(
        Captured::new(pydantic_ai, "invoke_agent demo", &request).root(),
        &["UserMessage", "end"],
    );
}

/// A hand-off that names its receiver is told; values may stand under the plainest of keys.
#[test]
fn other_words_and_keys() {
    let handoff = json!({"gen_ai.operation.name": "handoff", "gen_ai.handoff.from_agent": "a", "gen_ai.handoff.to_agent": "b"});
    check(
        Captured::new("somebody's", "handoff", &handoff),
        &["a to b"],
    );
    // Letta's spans of methods.
    let method =
        json!({"parameter.function_name": "search", "parameter.function_args": "{'query': 'x'}"});
    check(
        Captured::new(
            "letta.otel.tracing",
            "ToolExecutionManager.execute_tool_async",
            &method,
        ),
        &[r#"call search({"query":"x"}) = -"#],
    );
    let tool = json!({"tool_name": "search", "input": "{\"query\": \"x\"}", "output": "[]"});
    check(
        Captured::new("somebody's", "tool_execution", &tool),
        &[r#"call search({"query":"x"}) = 2 bytes"#],
    );
}

/// Memory operations that write are told; the unknown gives nothing.
#[test]
fn other_operations() {
    let told = |operation: &str| {
        Captured::new("x", operation, &json!({"gen_ai.operation.name": operation})).told()
    };
    assert_eq!(told("update_memory"), ["MemoryWrite"]);
    assert!(told("search_memory").is_empty());
    assert!(told("cook_dinner").is_empty());
}

/// strands tells values in events (conventions §5, §7): one per message, or messages within one event.
#[test]
fn strands_tells_in_events() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read",
            "gen_ai.tool.call.id": "c", "gen_ai.tool.status": "success"});
    let span = || Captured::new("strands.telemetry.tracer", "execute_tool read", &tool);
    let expected = [r#"call with id read({"path":"a"}) = 1 bytes"#];
    let said = span()
        .said(
            "gen_ai.tool.message",
            &json!({"role": "tool", "content": "{\"path\":\"a\"}"}),
        )
        .said(
            "gen_ai.choice",
            &json!({"message": "[{\"text\":\"b\"}]", "id": "c"}),
        );
    check(said, &expected);
    let asked = json!([{"role": "tool", "parts": [{"type": "tool_call", "name": "read", "id": "c", "arguments": {"path": "a"}}]}]);
    let gave = json!([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": [{"text": "b"}]}]}]);
    let details = "gen_ai.client.inference.operation.details";
    let said = span()
        .said(
            details,
            &json!({"gen_ai.input.messages": asked.to_string()}),
        )
        .said(
            details,
            &json!({"gen_ai.output.messages": gave.to_string()}),
        );
    check(said, &expected);
    let model = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
    let answered = json!([{"role": "assistant", "parts": [{"type": "tool_call", "name": "read"}]}]);
    let said = Captured::new("strands.telemetry.tracer", "chat", &model)
        .said(details, &json!({"gen_ai.input.messages": "[]"}))
        .said(details, &json!({"gen_ai.output.messages": answered}));
    check(said, &["model m 0+0 ToolCalls(1)"]);
    let swarm = json!({"gen_ai.operation.name": "invoke_swarm", "gen_ai.agent.name": "swarm"});
    check(
        Captured::new("strands.telemetry.tracer", "invoke_swarm", &swarm).root(),
        &["swarm: UserMessage", "swarm: end"],
    );
    let cycle = json!({"event_loop.cycle_id": "1"});
    check(
        Captured::new(
            "strands.telemetry.tracer",
            "execute_event_loop_cycle",
            &cycle,
        ),
        &[],
    );
}

/// The Vercel AI SDK's newer spans (conventions §2): one for the request, one for each step, and within it the model's
/// answer and the tools; a request without a function id names no agent.
/// A response of `OpenAI`'s, on which the call goes on, is no conversation.
#[test]
fn a_response_names_no_run() {
    let run = |conversation: &str| {
        let call = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": conversation});
        let run = Captured::new("agent_framework", "chat m", &call)
            .report()
            .unwrap()
            .run;
        (run.run_id, run.session_id)
    };
    assert_eq!(run("resp_68f1"), (None, None));
    assert_eq!(run("conv_68f1").0.as_deref(), Some("conv_68f1"));
}

/// `TanStack` AI's outermost span sums up what those below it tell.
#[test]
fn a_sum_of_model_calls_is_a_turn() {
    let sum = json!({"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1200, "tanstack.ai.iterations": 7});
    let span = Captured::new("@tanstack/ai", "chat m", &sum).root();
    check(span, &["UserMessage", "end"]);
}

/// What an agent is asked is the words of the one message that it was given; a conversation that goes on is not.
#[test]
fn an_agents_errand_is_the_words_of_its_one_message() {
    let check = |key: &str, given: &Value, expected: &str| {
        let attributes = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", key: given.to_string()});
        let span = Captured::new("demo", "invoke_agent a", &attributes);
        check(span, &[expected]);
    };
    let messages = "gen_ai.input.messages";
    let part = json!({"type": "text", "content": "Find it."});
    let asked = json!({"role": "user", "parts": [part]});
    let system = json!({"role": "system", "content": "Be brief."});
    let words = "a: agent a(Find it.) = -";
    check(messages, &json!([asked]), words);
    check(messages, &json!([system, asked]), words);
    let plain = json!({"messages": [{"type": "human", "content": "Find it."}]});
    check("gen_ai.task.input", &plain, words);
    check(
        "traceloop.entity.input",
        &json!({"inputs": plain, "tags": []}),
        words,
    );
    let answered = json!({"role": "assistant", "content": "Where?"});
    for others in [
        json!([asked, answered]),
        json!([answered]),
        json!([{"role": "user", "parts": [part, part]}]),
    ] {
        check(messages, &others, &format!("a: agent a({others}) = -"));
    }
    let attributes = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", messages: json!([asked]).to_string()});
    let root = Captured::new("demo", "invoke_agent a", &attributes).root();
    assert_eq!(
        root.told()[0],
        format!("a: agent a({}) = -", json!([asked]))
    );
}

#[test]
fn vercel_speaks_the_conventions() {
    let span =
        |name: &str, attributes: &serde_json::Value| Captured::new("gen_ai", name, attributes);
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c",
            "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": "{\"query\":\"x\"}",
            "gen_ai.tool.call.result": "{\"results\":[]}"});
    check(
        span("execute_tool search", &tool),
        &[r#"call with id search({"query":"x"}) = 14 bytes"#],
    );
    let failed = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "error.type": "Error"});
    check(
        span("execute_tool search", &failed)
            .failed("refused")
            .raised("Error", "refused"),
        &["call search(-) = - failed: Error: refused"],
    );
    let answer = json!([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "search"}],
            "finish_reason": "tool_call"}]);
    let chat = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["tool-calls"],
            "gen_ai.usage.input_tokens": 200, "gen_ai.usage.output_tokens": 25, "gen_ai.output.messages": answer.to_string()});
    check(span("chat m", &chat), &["model m 200+25 ToolCalls(1)"]);
    let step = json!({"gen_ai.operation.name": "agent_step"});
    check(span("step 1", &step), &[]);
    let request = |function: Option<&str>| {
        json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m", "gen_ai.agent.name": function,
                "gen_ai.usage.input_tokens": 400})
    };
    check(
        span("invoke_agent m", &request(Some("demo"))).root(),
        &["demo: agent demo(-) = -", "demo: UserMessage", "demo: end"],
    );
    check(
        span("invoke_agent m", &request(None)).root(),
        &["UserMessage", "end"],
    );
}

/// semantic-kernel puts the plugin before the function, and its finish reason is the name of a constant.
#[test]
fn semantic_kernel_is_read() {
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "files-read",
            "gen_ai.tool.call.arguments": "{\"path\": \"a\"}"});
    check(
        Captured::new(
            "semantic_kernel.functions.kernel_function",
            "execute_tool files-read",
            &tool,
        ),
        &[r#"call read({"path":"a"}) = -"#],
    );
    let model = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.response.finish_reason": "FinishReason.TOOL_CALLS"});
    let scope = "semantic_kernel.utils.telemetry.model_diagnostics.decorators";
    check(
        Captured::new(scope, "chat m", &model),
        &["model m 0+0 ToolCalls(1)"],
    );
    check(
        Captured::new(scope, "AutoFunctionInvocationLoop", &json!({})),
        &[],
    );
}

/// semantic-kernel's calls of models, by its own words of before.
#[test]
fn older_words_of_semantic_kernel_are_read() {
    for operation in [
        "chat.completions",
        "chat.streaming_completions",
        "text.completions",
        "text.streaming_completions",
    ] {
        let model = json!({"gen_ai.operation.name": operation, "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2});
        let scope = "semantic_kernel.utils.telemetry.model_diagnostics.decorators";
        check(
            Captured::new(scope, operation, &model),
            &["model m 7+2 Unknown"],
        );
    }
}

/// strands before it took the conventions' keys: the arguments have one of their own, and the agent's span is no model's,
/// though it carries one with the tokens of all calls.
#[test]
fn the_first_strands_are_read() {
    let tool = |id: &str| {
        json!({"tool.name": "search", "tool.id": id, "tool.parameters": "{\"query\": \"x\"}",
            "gen_ai.prompt": format!("{{\"toolUseId\": \"{id}\", \"name\": \"search\", \"input\": {{\"query\": \"x\"}}}}"),
            "tool.result": "[{\"text\": \"found\"}]"})
    };
    for id in ["c1", "c2"] {
        check(
            Captured::new("strands-agents", "Tool: search", &tool(id)),
            &[r#"call with id search({"query":"x"}) = 5 bytes"#],
        );
    }
    let model = json!({"gen_ai.agent.name": "demo", "gen_ai.request.model": "m", "gen_ai.prompt": "[]",
            "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 2,
            "gen_ai.completion": "[{\"toolUse\": {\"name\": \"search\"}}]"});
    let told = Captured::new("strands-agents", "Model invoke", &model).told();
    assert!(told[0].starts_with("demo: model m 7+2"), "{told:?}");
    check(
        Captured::new("strands-agents", "demo", &model).root(),
        &[
            "demo: agent demo(-) = 31 bytes",
            "demo: UserMessage",
            "demo: end",
        ],
    );
}

/// What a model was given and answered in the events that the conventions had for it, as Langtrace, which has the first in an
/// attribute, and as others write them.
#[test]
fn events_of_content_are_read() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "search", "arguments": "{\"query\":\"x\"}"}});
    let asks = |content: &serde_json::Value, id: &str| json!([{"role": "assistant", "content": content, "tool_calls": [call(id)]}]);
    let given = json!([{"role": "user", "content": "Go."}, asks(&json!(null), "c1")[0],
            {"role": "tool", "tool_call_id": "c1", "content": "[]"}]);
    let expected = [
        "model m 0+0 ToolCalls(1)",
        r#"asked search({"query":"x"})"#,
        "call with id (-) = 2 bytes",
    ];
    let chat = |scope, more: &serde_json::Value, answer: &serde_json::Value| {
        let mut attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        let members = more.as_object().unwrap().clone();
        attributes.as_object_mut().unwrap().extend(members);
        let answer = json!({"gen_ai.completion": answer.to_string()});
        Captured::new(scope, "chat m", &attributes).said("gen_ai.content.completion", &answer)
    };
    let prompt = json!({"gen_ai.prompt": given.to_string()});
    let langtrace = "langtrace_python_sdk.instrumentation.openai.patch";
    let answer = json!([{"role": "assistant", "content": [call("c2")]}]);
    check(chat(langtrace, &prompt, &answer), &expected);
    let other = chat("app", &json!({}), &asks(&json!(""), "c2"));
    check(other.said("gen_ai.content.prompt", &prompt), &expected);
    let text = json!([{"role": "assistant", "content": "Done."}]);
    check(chat("app", &json!({}), &text), &["model m 0+0 Text("]);
}

/// Cloudflare's gateway tells of each request in a trace of its own: the messages that went through it, or the whole request,
/// and the provider's whole response. The first call of a tool holds the conversation together.
#[test]
fn requests_through_a_gateway_are_read() {
    let call = |id: &str| json!([{"id": id, "type": "function", "function": {"name": "search", "arguments": "{\"query\":\"x\"}"}}]);
    let messages = json!([{"role": "user", "content": "Go."},
            {"role": "assistant", "content": null, "tool_calls": call("call_0f8e7d6c5b4a3")},
            {"role": "tool", "tool_call_id": "call_0f8e7d6c5b4a3", "content": "[]"}]);
    let answer = json!({"role": "assistant", "content": null, "tool_calls": call("c2")});
    let response = json!({"id": "r", "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}]});
    for given in [
        messages.clone(),
        json!({"model": "m", "messages": messages}),
    ] {
        let attributes = json!({"gen_ai.request.model": "m", "gen_ai.model.provider": "openai",
                "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2,
                "gen_ai.prompt_json": given.to_string(), "gen_ai.completion_json": response.to_string()});
        let request = || Captured::new("ai-gateway", "request", &attributes).root();
        let expected = [
            "model m 5+2 ToolCalls(1)",
            r#"asked search({"query":"x"})"#,
            "call with id (-) = 2 bytes",
        ];
        check(request(), &expected);
        let run = request().report().and_then(|report| report.run.run_id);
        assert_eq!(run.as_deref(), Some("call_0f8e7d6c5b4a3"));
    }
}

/// Older and newer spellings of one thing (conventions §2, §5, §6): the operation left out, the tool's values, tokens.
#[test]
fn spellings_of_one_thing() {
    let old = json!({"gen_ai.tool.name": "t", "gen_ai.tool.call_id": 7, "tool_arguments": "{\"a\": 1}", "tool_response": "b"});
    check(
        Captured::new("pydantic-ai", "running tool", &old),
        &[r#"call with id t({"a":1}) = 1 bytes"#],
    );
    let agent = json!({"agent_name": "demo", "model_name": "m", "gen_ai.usage.input_tokens": 5});
    check(
        Captured::new("pydantic-ai", "agent run", &agent),
        &["demo: agent demo(-) = -"],
    );
    let tokens = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.usage.prompt_tokens": "12", "gen_ai.usage.completion_tokens": 3.0, "gen_ai.usage.cache_read_input_tokens": 4});
    let event = Captured::new("x", "chat", &tokens)
        .report()
        .unwrap()
        .events
        .remove(0);
    let Body::ModelCall(call) = event.body else {
        panic!()
    };
    assert_eq!(
        (call.input_tokens, call.cached_tokens, call.output_tokens),
        (12, 4, 3)
    );
    let sum = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.total_tokens": 15});
    check(Captured::new("x", "chat", &sum), &["model m 15+0 Unknown"]);
}

/// The envelope of an MCP server comes off whichever framework prints it, and what it says of errors stays.
#[test]
fn envelopes_come_off() {
    let told = |result: serde_json::Value| {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
                "gen_ai.tool.call.result": result});
        Captured::new("x", "execute_tool t", &attributes)
            .told()
            .remove(0)
    };
    let envelope = json!({"content": [{"type": "text", "text": "boom"}], "isError": false});
    assert_eq!(told(envelope.clone()), "call t(-) = 4 bytes");
    assert_eq!(told(json!(envelope.to_string())), "call t(-) = 4 bytes");
    let failed = json!({"content": [{"type": "text", "text": "boom"}], "isError": true});
    assert_eq!(told(failed), "call t(-) = 4 bytes failed: boom");
    let exited = told(json!("Process exited with code 2\nOutput:\nno"));
    assert!(exited.contains(" failed: Process exited"), "{exited}");
}
