//! OpenLLMetry (traceloop): the GenAI conventions with `traceloop.*` beside them.
//!
//! *Wrappers.* For LangChain the arguments stand in the member `inputs` of an object that also holds the step's number,
//! the checkpoint and the call's id, and the result in `output.kwargs.content`: undone here, or no call would equal
//! another.
//!
//! *Hand-offs.* LangGraph's show as tools `transfer_to_B`, told as hand-offs with `lc_agent_name` as the giver; its
//! `goto B` spans say the same twice more, naming graph nodes and no agents, and are left out. openai-agents' `handoff`
//! spans do not know the receiver (`A → unknown`): only one that is named is told, else the agent spans show the change.
//! Spans through which a hand-over passes end with an error that is control flow, no failure.
//!
//! *Runs.* A parentless workflow or agent is one request; `create_agent` has a trace of its own and is none. The thread
//! stands on nearly every span; LangGraph's agent spans lack it and carry it as the conversation.

use std::borrow::Cow;

use crate::engine::event::Recorded;
use crate::normalize::call::Call;
use crate::normalize::facts::Slot;
use crate::normalize::names;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::scopes::watched;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::value::{self, Object};
use crate::normalize::wrappers;

use super::{gen_ai, langgraph};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    place(reading);
    let facts = reading.facts;
    if watches(reading, "crewai") {
        return crew(reading);
    }
    let (operation, kind) = (facts.word(Slot::Operation), facts.word(Slot::TraceloopKind));
    match (operation.as_deref(), kind.as_deref()) {
        (Some("execute_tool"), _) | (None, Some("tool")) => tool(reading),
        (_, Some("workflow")) => workflow(reading),
        (None, Some("agent")) => {
            let named = reading.agent.take();
            reading.agent = named.or_else(|| facts.text(Slot::EntityName).map(Cow::Borrowed));
            return gen_ai::operate(reading, "invoke_agent");
        }
        (Some("execute_task"), _) => node(reading),
        (None, Some("task")) if watches(reading, "llamaindex") => {
            llama_index_tool(reading);
        }
        // The last are the ends of an MCP call, around the tool's own span.
        (Some("goto"), _)
        | (None | Some("invoke_agent"), Some("task"))
        | (None, Some("server" | "client" | "session")) => {}
        (Some("chat" | "text_completion"), _) => model(reading),
        (Some(operation), _) => return gen_ai::operate(reading, operation),
        (None, None) => return unnamed(reading),
        (None, Some(_)) => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

/// Whether the instrumentation is that of a framework.
fn watches(reading: &Reading<'_, '_>, framework: &str) -> bool {
    let watched = watched(reading.span.scope_name).unwrap_or_default();
    // Newer versions name the module within: `crewai.instrumentation`.
    watched.split('.').any(|part| part == framework)
}

/// A span without an operation and without a kind: an older version's model call, or nothing of ours, since web and
/// database clients are instrumented under the same scope names.
fn unnamed(reading: &mut Reading<'_, '_>) -> Outcome {
    let facts = reading.facts;
    match facts.text(Slot::LlmRequest) {
        Some("chat" | "completion") => model(reading),
        Some("embedding" | "rerank") => {}
        Some(_) => return Outcome::UnknownOperation,
        None if facts.has(Slot::Model) => model(reading),
        None => return Outcome::NoDialect,
    }
    Outcome::Noise
}

/// LangChain's tool spans carry the id of the call in its wrapper, openai-agents' nowhere.
fn model(reading: &mut Reading<'_, '_>) {
    if watches(reading, "langchain") {
        reading.tell_model_call();
    } else {
        reading.tell_model_call_and_asked();
    }
}

/// A node of LangGraph; what it returned stands within `outputs`.
fn node(reading: &mut Reading<'_, '_>) {
    if let Some(output) = json_text(reading.facts.value(Slot::Output)) {
        let returned = value::member(&output, &["outputs"]);
        langgraph::tell_update(reading, returned.unwrap_or_default());
    }
}

/// CrewAI: crews, tasks and agents are all marked as agents, and told apart by their names. Tools have no spans, so what
/// an agent with tools did cannot be seen.
fn crew(reading: &mut Reading<'_, '_>) -> Outcome {
    let (name, kind) = reading.span.name.rsplit_once('.').unwrap_or_default();
    match kind {
        "workflow" => workflow(reading),
        "agent" => crew_agent(reading, name),
        "llm" => reading.tell_model_call(),
        "task" => {}
        _ => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

fn crew_agent<'a>(reading: &mut Reading<'_, 'a>, named: &'a str) {
    let facts = reading.facts;
    let role = [Slot::CrewRole, Slot::Agent]
        .into_iter()
        .find_map(|slot| facts.text(slot));
    reading.agent = Some(Cow::Borrowed(role.unwrap_or(named).trim()));
    reading.tell_agent(Recorded::NotRecorded, Recorded::NotRecorded);
    let tools = json_text(facts.value(Slot::ToolDefinitions)).unwrap_or_default();
    if !matches!(tools.trim(), "" | "[]" | "None" | "null") {
        gen_ai::tell_unseen_tools(reading);
    }
}

fn place(reading: &mut Reading<'_, '_>) {
    let session = reading.facts.id(Slot::Session);
    let run = reading.facts.id(Slot::Thread);
    let run = run.or_else(|| names::conversation(reading.facts));
    reading.run(run.as_deref().or(session.as_deref()));
    reading.session(session.as_deref());
}

/// The framework's outermost span. LangGraph wraps the agent span of the same name around it.
fn workflow(reading: &mut Reading<'_, '_>) {
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let tool = facts
        .text(Slot::ToolName)
        .or_else(|| facts.text(Slot::EntityName));
    let tool = tool.unwrap_or_else(|| reading.span.name.trim_end_matches(".tool"));
    // In JavaScript the span is named for the class of the tool.
    let output = json_text(facts.value(Slot::Output)).filter(|_| !facts.has(Slot::ToolName));
    let message = output.as_deref().and_then(wrappers::langchain_message);
    let named = message.and_then(|message| message.tool);
    let mut call = Call::of(named.as_deref().unwrap_or(tool), facts);
    // Older versions had no keys of their own for them.
    call.arguments = call
        .arguments
        .or_else(|| json_text(facts.value(Slot::Input)));
    call.result = call.result.or_else(|| json_text(facts.value(Slot::Output)));
    if watches(reading, "mcp") {
        unwrap_request(&mut call);
    }
    unwrap_arguments(&mut call);
    unwrap_result(&mut call);
    if watches(reading, "agno") {
        unwrap_printed(&mut call);
    }
    reading.tell_call(&call);
}

/// llama-index's tools are tasks like everything else in its workflows, named for their class; what came out of one names
/// the tool. So does what came out of the step around it, which has the id, and is there when the tool raised.
fn llama_index_tool(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let Some(output) = json_text(facts.value(Slot::Output)) else {
        return;
    };
    let members = Object::of(&output);
    let of_step = members.member("tool_output");
    let is_tool = of_step.is_some() || members.member("raw_input").is_some();
    let Some(tool) = members.text("tool_name").filter(|_| is_tool) else {
        return;
    };
    let mut call = match of_step {
        Some(result) => Call {
            tool: &tool,
            id: members.text("tool_id"),
            arguments: members.text("tool_kwargs"),
            result: Some(Cow::Borrowed(result)),
            ..Call::default()
        },
        None => Call {
            arguments: json_text(facts.value(Slot::Input)),
            result: Some(Cow::Borrowed(&*output)),
            ..Call::of(&tool, facts)
        },
    };
    call.unwrap_tool_output();
    reading.tell_call(&call);
}

/// What an MCP client sends, the tool's name beside its arguments, and gets back, where a server wraps a text.
fn unwrap_request(call: &mut Call<'_>) {
    call.arguments = call.arguments.take().map(|request| {
        wrappers::within(request, |request| {
            value::member(request, &["tool_name"])?;
            member_text(request, &["arguments"])
        })
    });
    call.result = call
        .result
        .take()
        .map(|result| wrappers::within(result, |result| wrappers::only_member(result, "result")));
}

/// agno's result of a call as Python prints it: `status='success' result='…' error=None …`.
fn unwrap_printed(call: &mut Call<'_>) {
    let Some(printed) = call.result.as_deref() else {
        return;
    };
    let Some(status) = wrappers::printed_member(printed, "status") else {
        return;
    };
    call.failed |= status == "failure";
    let said = ["result", "error"].iter();
    let mut said = said.filter_map(|name| wrappers::printed_member(printed, name));
    if let Some(said) = said.next() {
        call.result = Some(Cow::Owned(said));
    }
}

/// Undoes what the LangChain instrumentation wraps around arguments, and finds the call's id there.
fn unwrap_arguments(call: &mut Call<'_>) {
    let Some(wrapper) = call.arguments.take() else {
        return;
    };
    if value::member(&wrapper, &["input_str"]).is_some() && call.id.is_none() {
        let id = member_text(&wrapper, &["kwargs", "tool_call_id"]);
        call.id = id.map(|id| Cow::Owned(id.into_owned()));
    }
    call.arguments = Some(wrappers::within(wrapper, |wrapper| {
        let as_text = member_text(wrapper, &["input_str"])?;
        let inputs = member_text(wrapper, &["inputs"]);
        inputs.or_else(|| match wrappers::python_dictionary(&as_text) {
            Some(json) => Some(Cow::Owned(json)),
            None => Some(as_text),
        })
    }));
}

/// Undoes what the LangChain instrumentation wraps around a result: a message, or a command with a message in it. A
/// tool's own result may have a member `output`, too; the wrapper has `kwargs` beside it.
fn unwrap_result(call: &mut Call<'_>) {
    let wrapped = call.result.as_deref().is_some_and(|wrapper| {
        ["output", "kwargs"]
            .iter()
            .all(|key| value::member(wrapper, &[key]).is_some())
    });
    if wrapped {
        call.unwrap_message();
        // What is left is a result that LangChain did not make a message of.
        call.result = call
            .result
            .take()
            .map(|result| wrappers::within(result, bare_output));
    }
}

fn bare_output(wrapper: &str) -> Option<Cow<'_, str>> {
    value::member(wrapper, &["kwargs"])?;
    member_text(wrapper, &["output"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn check(span: Captured, expected: &[&str]) {
        assert_eq!(span.told(), expected);
    }

    const LANGCHAIN: &str = "opentelemetry.instrumentation.langchain";
    const OPENAI_AGENTS: &str = "opentelemetry.instrumentation.openai_agents";

    /// A decorated function that is an agent has its name as an entity alone.
    #[test]
    fn agents_are_named_as_entities() {
        let agent = json!({"traceloop.span.kind": "agent", "traceloop.entity.name": "support"});
        let span = Captured::new("traceloop.tracer", "support.agent", &agent);
        check(span, &["support: agent support(-) = -"]);
    }

    /// Two identical calls look different in LangChain's wrapper; unwrapped they are the same.
    #[test]
    fn a_langchain_tool_is_unwrapped() {
        let call = |step: u32, id: &str| {
            let wrapped = json!({"input_str": "{'query': 'x'}", "metadata": {"langgraph_step": step},
                "inputs": {"query": "x"}, "kwargs": {"tool_call_id": id}});
            let result = json!({"output": {"kwargs": {"content": "[]", "tool_call_id": id}}, "kwargs": {"color": "green"}});
            Captured::new(
                LANGCHAIN,
                "execute_tool search",
                &json!({
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.arguments": wrapped.to_string(), "gen_ai.tool.call.result": result.to_string(),
                    "traceloop.association.properties.thread_id": "t", "gen_ai.task.status": "success",
                    "traceloop.association.properties.lc_agent_name": "demo",
                }),
            )
        };
        let expected = [r#"demo: call with id search({"query":"x"}) = 2 bytes"#];
        check(call(2, "call_1"), &expected);
        check(call(4, "call_2"), &expected);
        assert_eq!(
            call(2, "call_1").report().unwrap().run.run_id.as_deref(),
            Some("t")
        );
    }

    /// MCP's requests name the tool beside its arguments; the same call without the wrappers.
    #[test]
    fn mcp_requests_are_unwrapped() {
        let span = Captured::new(
            "opentelemetry.instrumentation.mcp.instrumentation",
            "search.tool",
            &json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "search",
                "traceloop.entity.input": "{\"tool_name\": \"search\", \"arguments\": {\"query\": \"x\"}}",
                "traceloop.entity.output": "{\"result\": \"[]\"}"}),
        );
        check(span, &[r#"call search({"query":"x"}) = 2 bytes"#]);
        let server =
            json!({"traceloop.span.kind": "server", "traceloop.entity.name": "mcp.server"});
        check(
            Captured::new(
                "opentelemetry.instrumentation.mcp.instrumentation",
                "mcp.server",
                &server,
            ),
            &[],
        );
    }

    /// In JavaScript a tool's span is named for its class, and the message around the result names the tool; a text without
    /// words beside a reason that speaks of tools asks for one.
    #[test]
    fn javascript_is_read() {
        const LANGCHAIN_JS: &str = "@traceloop/instrumentation-langchain";
        let message = json!({"lc": 1, "type": "constructor", "kwargs": {"name": "search", "content": "[]",
            "tool_call_id": "call_1", "status": "success"}});
        let tool = json!({"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task",
            "traceloop.entity.name": "DynamicStructuredTool",
            "traceloop.entity.input": "{\"args\":[\"{\\\"query\\\":\\\"x\\\"}\"]}",
            "traceloop.entity.output": message.to_string()});
        check(
            Captured::new(LANGCHAIN_JS, "execute_tool DynamicStructuredTool", &tool),
            &[r#"call with id search({"query":"x"}) = 2 bytes"#],
        );
        let answer = json!({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["tool_call"],
            "gen_ai.output.messages": "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"\"}]}]"});
        check(
            Captured::new(LANGCHAIN_JS, "chat", &answer),
            &["model ? 0+0 ToolCalls(1)"],
        );
    }

    /// A result that has a member `output` of its own is not unwrapped; a failed task is a failure.
    #[test]
    fn other_results_stay_as_they_are() {
        let span = Captured::new(
            OPENAI_AGENTS,
            "build.tool",
            &json!({
                "traceloop.span.kind": "tool", "traceloop.entity.name": "build", "gen_ai.task.status": "failure",
                "traceloop.entity.input": "{\"target\": \"all\"}", "traceloop.entity.output": "{\"output\": \"broken\"}",
            }),
        );
        check(
            span,
            &[r#"call build({"target":"all"}) = 19 bytes failed: {"output": "broken"}"#],
        );
    }

    /// A hand-off is told where its receiver is known; `goto` and tasks are steps of the graph.
    #[test]
    fn hand_offs_need_a_receiver() {
        let span = |operation: &str, more: &str, to: &str| {
            let attributes = json!({"gen_ai.operation.name": operation, "gen_ai.handoff.from_agent": "triage", more: to});
            Captured::new(OPENAI_AGENTS, "triage → unknown.handoff", &attributes)
        };
        check(
            span("handoff", "gen_ai.handoff.to_agent", "researcher"),
            &["triage to researcher"],
        );
        check(span("handoff", "gen_ai.provider.name", "openai"), &[]);
        check(
            span("goto", "langgraph.command.goto_node", "researcher"),
            &[],
        );
        check(span("execute_task", "gen_ai.task.name", "model"), &[]);
        let wrote = "{\"outputs\": {\"messages\": [], \"plan\": \"read\"}, \"kwargs\": {}}";
        check(
            span("execute_task", "gen_ai.task.output", wrote),
            &["StateUpdate"],
        );
    }

    /// A parentless workflow ends the run, a parentless `create_agent` does not, and an agent through which a hand-over
    /// passed did not fail.
    #[test]
    fn roots_end_runs() {
        let workflow = Captured::new(
            OPENAI_AGENTS,
            "Agent Workflow",
            &json!({"traceloop.span.kind": "workflow"}),
        );
        check(workflow.root(), &["UserMessage", "end"]);
        let created = json!({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "demo"});
        check(
            Captured::new(LANGCHAIN, "create_agent demo", &created).root(),
            &[],
        );
        let agent = json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "error.type": "ParentCommand"});
        check(
            Captured::new(LANGCHAIN, "invoke_agent a", &agent)
                .root()
                .failed("Command(graph=…)"),
            &["a: agent a(-) = -", "a: UserMessage", "a: end"],
        );
    }

    /// CrewAI's crews and tasks are no agents, though they are marked so; an agent with tools is known to have had
    /// something to call (conventions §0.8, §2).
    #[test]
    fn crews_show_agents_alone() {
        let span = |name: &str, more: &str| {
            let attributes = json!({"gen_ai.operation.name": "invoke_agent", "traceloop.span.kind": "agent",
                "crewai.agent.role": "researcher", "crewai.agent.tools": more});
            Captured::new(
                "opentelemetry.instrumentation.crewai.instrumentation",
                name,
                &attributes,
            )
        };
        check(span("crewai.workflow", "").root(), &["UserMessage", "end"]);
        check(span("look into it.task", ""), &[]);
        check(
            span("researcher.agent", "[]"),
            &["researcher: agent researcher(-) = -"],
        );
        check(
            span("researcher.agent", "[{\"name\": \"search\"}]"),
            &[
                "researcher: agent researcher(-) = -",
                "researcher: model ? 0+0 ToolCalls(1)",
            ],
        );
    }

    /// Older versions: the operation of a model in a key of its own, its answer in flat keys (conventions §2, §7).
    #[test]
    fn older_model_calls_are_read() {
        let model = |kind: &str| {
            json!({"llm.request.type": kind, "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 3,
                "gen_ai.completion.0.tool_calls.0.name": "search", "gen_ai.completion.0.finish_reason": "tool_calls"})
        };
        let scope = "opentelemetry.instrumentation.openai.v1";
        check(
            Captured::new(scope, "openai.chat", &model("chat")),
            &["model m 3+0 ToolCalls(1)"],
        );
        check(
            Captured::new(scope, "openai.embeddings", &model("embedding")),
            &[],
        );
    }

    /// What the model asks for is told with its ids where tool spans have none: for openai-agents, and not for LangChain.
    #[test]
    fn what_is_asked_for_is_told() {
        let messages = json!([{"role": "assistant", "parts": [
            {"type": "tool_call", "name": "search", "id": "c", "arguments": {"query": "x"}}]}]);
        let attributes = json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "m",
            "gen_ai.output.messages": messages.to_string()});
        let told = |scope| Captured::new(scope, "openai.response", &attributes).told();
        let answer = "model m 0+0 ToolCalls(1)";
        assert_eq!(told(OPENAI_AGENTS), [answer, "asked search(-)"]);
        assert_eq!(told(LANGCHAIN), [answer]);
    }

    /// The scope names of web clients look alike; their spans tell nothing.
    #[test]
    fn web_clients_are_nobody() {
        let span = json!({"http.request.method": "GET"});
        check(
            Captured::new("opentelemetry.instrumentation.httpx", "GET", &span).root(),
            &[],
        );
    }

    /// agno's result is printed by Python, and says how the call ended; llama-index's tools are tasks, and their results
    /// name them.
    #[test]
    fn printed_results_and_tasks_are_tools() {
        const AGNO: &str = "opentelemetry.instrumentation.agno";
        let agno = |output: &str| {
            Captured::new(
                AGNO,
                "search.tool",
                &json!({"traceloop.span.kind": "tool", "gen_ai.tool.name": "search",
                    "traceloop.entity.input": "{\"query\": \"x\"}", "traceloop.entity.output": output}),
            )
        };
        check(
            agno("status='success' result='{\"a\": \"it\\'s\"}' error=None images=None"),
            &[r#"call search({"query":"x"}) = 12 bytes"#],
        );
        check(
            agno("status='failure' result=None error='no such table' images=None"),
            &[r#"call search({"query":"x"}) = 13 bytes failed: no such table"#],
        );
        let output = json!({"blocks": [{"block_type": "text", "text": "[]"}], "tool_name": "search",
            "raw_input": {"args": [], "kwargs": {"query": "x"}}, "raw_output": "[]", "is_error": false});
        let task = |output: String| {
            Captured::new(
                "opentelemetry.instrumentation.llamaindex",
                "FunctionTool.task",
                &json!({"traceloop.span.kind": "task", "traceloop.entity.name": "FunctionTool.task",
                    "traceloop.entity.input": "{\"kwargs\": {\"query\": \"x\"}}", "traceloop.entity.output": output}),
            )
        };
        check(
            task(output.to_string()),
            &[r#"call search({"query":"x"}) = 2 bytes"#],
        );
        let failed = json!({"blocks": [{"block_type": "text", "text": "refused"}], "tool_name": "search",
            "is_error": true});
        let step = json!({"tool_name": "search", "tool_kwargs": {"query": "x"}, "tool_id": "c1", "tool_output": failed});
        check(
            task(step.to_string()),
            &[r#"call with id search({"query":"x"}) = 7 bytes failed: refused"#],
        );
        check(task("{\"input\": []}".to_owned()), &[]);
    }

    /// Older versions tell a model's input in flat keys; what a tool answered is read from them.
    #[test]
    fn flat_keys_tell_of_answers() {
        let attributes = json!({"llm.request.type": "chat", "gen_ai.response.model": "m", "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.tool_call_id": "c1",
            "gen_ai.prompt.2.content": "[]", "gen_ai.completion.0.tool_calls.0.id": "c2",
            "gen_ai.completion.0.tool_calls.0.name": "search", "gen_ai.completion.0.tool_calls.0.arguments": "{\"query\": \"x\"}"});
        check(
            Captured::new(
                "opentelemetry.instrumentation.openai.v1",
                "openai.chat",
                &attributes,
            ),
            &[
                "model m 0+0 ToolCalls(1)",
                r#"asked search({"query":"x"})"#,
                "call with id (-) = 2 bytes",
            ],
        );
    }
}
