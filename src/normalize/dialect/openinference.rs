//! OpenInference: Arize's instrumentations, one per framework, told apart by `openinference.span.kind`.
//!
//! The kinds are the same everywhere; what stands in `input.value` and `output.value` is each framework's own affair, and
//! so are the exceptions below. Redacted values (`__REDACTED__`) come out of the value layer as such.
//!
//! *Hand-offs.* openai-agents marks `handoff to B` as a tool span: it is a hand-off from `input.value` to `output.value`
//! and no tool call. LangGraph shows them as tools `transfer_to_B`, CrewAI as a tool that delegates: both are tool calls
//! and hand-offs. smolagents runs the other agent inside a step: nested agent spans, nothing else. autogen's tool span
//! encloses the `execute_tool` span of autogen itself, which tells the hand-off; it is not told twice.
//!
//! *Tools that are chains.* NVIDIA's toolkit (`nat`) writes its spans in this convention itself, and calls whatever it runs a
//! chain; a chain of a function's name is a call of it.
//!
//! *Components.* Langflow has a span for each component of a flow, in a trace of its own beside that of the agent in it, which
//! LangChain's instrumentation tells: they are steps, whatever kinds they have. So are the activities of Dapr's workflows.
//!
//! *Bedrock's agents* run at the provider, which tells what they did when they are done: the spans of their functions have the
//! arguments where others have the form of them, as a list of names and values.
//!
//! *State.* LangGraph's nodes are chains of the node's name; what they write is read by [`super::langgraph`].
//!
//! *Runs.* A parentless AGENT or CHAIN span is a request to the framework, and its end is the run's. openai-agents gives
//! that span the status OK whatever happened, and marks the agent's span when the run failed: so an agent's span with an
//! error ends the run, too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::engine::event::{Answer, Body, ModelCall, Recorded, RunEnd};
use crate::normalize::answer::FINAL_ANSWER;
use crate::normalize::call::Call;
use crate::normalize::facts::{Facts, Slot};
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::scopes::watched;
use crate::normalize::texts::{json_text, member_text};
use crate::normalize::value::{self, Object};
use crate::normalize::wrappers;
use crate::otlp::ValueView;

use super::gen_ai::MERGED_TOOLS;
use super::langgraph;

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    let framework = Framework::of(reading.span.scope_name);
    let facts = reading.facts;
    if framework == Framework::BeeAi && matches!(reading.span.name, "error" | "retry") {
        // What happened within a tool or a model's call, as a span of the same kind below it.
        return Outcome::Noise;
    }
    if reading.span.scope_name.starts_with("langflow.") || is_activity(reading) {
        return Outcome::Noise;
    }
    let tell: fn(&mut Reading<'_, '_>, Framework) = match kind(reading) {
        Some("LLM") => model,
        Some("TOOL") => tool,
        Some("AGENT") => agent,
        // The steps of a graph: most spans of a LangGraph run.
        Some("CHAIN") if !reading.is_root() && framework == Framework::LangChain => {
            if !is_node(reading) {
                return Outcome::Noise;
            }
            node
        }
        Some("CHAIN") if framework == Framework::Nat && is_function(reading) => tool,
        Some("CHAIN") if !reading.is_root() && framework != Framework::Haystack => {
            return Outcome::Noise;
        }
        Some("CHAIN") => chain,
        // The kind is the last attribute of a span and is lost first where a sender cuts spans short.
        None if facts.has(Slot::ToolName) => tool,
        None if facts.has(Slot::Model) => model,
        Some("RETRIEVER" | "RERANKER" | "EMBEDDING" | "GUARDRAIL" | "EVALUATOR" | "PROMPT")
        | None => return Outcome::Noise,
        Some(_) => return Outcome::UnknownOperation,
    };
    place(reading, framework);
    tell(reading, framework);
    Outcome::Noise
}

/// The kind of span as the convention writes it, though somebody may have written it by hand.
fn kind<'a>(reading: &Reading<'_, 'a>) -> Option<&'a str> {
    const KINDS: [&str; 10] = [
        "LLM",
        "TOOL",
        "AGENT",
        "CHAIN",
        "RETRIEVER",
        "RERANKER",
        "EMBEDDING",
        "GUARDRAIL",
        "EVALUATOR",
        "PROMPT",
    ];
    let told = reading.facts.text(Slot::OpenInferenceKind)?;
    let mut known = KINDS.into_iter();
    let known = known.find(|kind| kind.eq_ignore_ascii_case(told));
    Some(known.unwrap_or(told))
}

/// Frameworks whose values need unwrapping, or whose spans mean something else than their kind says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framework {
    LangChain,
    OpenAiAgents,
    Smolagents,
    CrewAi,
    Autogen,
    Haystack,
    LlamaIndex,
    GoogleAdk,
    BeeAi,
    Dspy,
    Nat,
    Bedrock,
    Other,
}

impl Framework {
    fn of(scope_name: &str) -> Self {
        match watched(scope_name).unwrap_or_default() {
            "langchain" | "langchain-v0" => Self::LangChain,
            "openai_agents" | "openai-agents" => Self::OpenAiAgents,
            "smolagents" => Self::Smolagents,
            "crewai" => Self::CrewAi,
            "autogen_agentchat" | "autogen" => Self::Autogen,
            "haystack" => Self::Haystack,
            "llama_index" => Self::LlamaIndex,
            "google_adk" => Self::GoogleAdk,
            "beeai" => Self::BeeAi,
            "dspy" => Self::Dspy,
            "bedrock" => Self::Bedrock,
            _ if scope_name == "nat" => Self::Nat,
            _ => Self::Other,
        }
    }
}

/// Whose span it is. LangGraph's thread is the conversation and stands on every span; a session that the application
/// names may span many workers, so it is kept beside the run.
fn place(reading: &mut Reading<'_, '_>, framework: Framework) {
    let session = reading.facts.id(Slot::Session);
    reading.session(session.as_deref());
    let metadata = json_text(reading.facts.value(Slot::Metadata));
    let metadata = metadata.filter(|_| framework == Framework::LangChain);
    let metadata = metadata.as_deref().map(Object::of);
    let thread = metadata
        .as_ref()
        .and_then(|metadata| metadata.text("thread_id"));
    match kind(reading) {
        Some("LLM" | "TOOL") => reading.run_of_call(thread.as_deref()),
        _ => reading.run(thread.as_deref()),
    }
    let Some(metadata) = metadata else {
        return;
    };
    if session.is_none() {
        reading.session(metadata.text("session_id").as_deref());
    }
    let named = metadata.text("lc_agent_name");
    if let Some(name) = named.or_else(|| outer_node(&metadata)) {
        reading.agent = Some(Cow::Owned(name.into_owned()));
    }
}

/// The node of a graph within which another graph is at work, an agent as a rule: `researcher:ID|tools:ID`.
fn outer_node<'a>(metadata: &Object<'a>) -> Option<Cow<'a, str>> {
    let place = metadata.member("langgraph_checkpoint_ns")?;
    let (outer, _) = place.split_once('|')?;
    let (node, _) = outer.split_once(':')?;
    Some(Cow::Borrowed(node.trim_start_matches('"')))
}

/// Whether a chain is a node of a graph, and not one of the steps within.
fn is_node(reading: &Reading<'_, '_>) -> bool {
    json_text(reading.facts.value(Slot::Metadata)).is_some_and(|metadata| {
        let node = member_text(&metadata, &["langgraph_node"]);
        node.as_deref() == Some(reading.span.name)
    })
}

/// Whether a span is the step of Dapr's workflow around a tool or a model, which have spans of their own below it.
fn is_activity(reading: &Reading<'_, '_>) -> bool {
    let span = reading.span;
    span.scope_name.starts_with("dapr_agents.")
        && span.attributes.find("workflow.activity").is_some()
}

/// Whether a chain of NVIDIA's toolkit is a call of one of its functions, which are its agents' tools: neither the workflow nor
/// a step of the framework within a function.
fn is_function(reading: &Reading<'_, '_>) -> bool {
    let function = reading.span.attributes.find("nat.function.name");
    let name = reading.span.name;
    name != "<workflow>" && function.and_then(|function| function.as_str()) == Some(name)
}

fn node(reading: &mut Reading<'_, '_>, _: Framework) {
    if let Some(output) = json_text(reading.facts.value(Slot::Output)) {
        langgraph::tell_update(reading, &output);
    }
}

/// LangChain's tool spans carry the id of the call in their result, the others' nowhere.
fn model(reading: &mut Reading<'_, '_>, framework: Framework) {
    if framework == Framework::LlamaIndex && reading.span.name.contains("._prepare_") {
        // It puts a request together, and asks no model.
        return;
    }
    if framework == Framework::LangChain {
        reading.tell_model_call();
    } else {
        reading.tell_model_call_and_asked();
    }
}

fn agent(reading: &mut Reading<'_, '_>, framework: Framework) {
    let facts = reading.facts;
    if framework == Framework::BeeAi && reading.span.name == FINAL_ANSWER {
        // Its tool to answer is a step that is marked as an agent, too.
        return;
    }
    if reading.agent.is_none() {
        let named = match framework {
            // Its workflow span: not an agent, though it is marked as one.
            Framework::OpenAiAgents => None,
            _ => Some(reading.span.name.trim_end_matches(".run")),
        };
        let named = facts.text(Slot::GraphNode).or(named);
        reading.agent = named.map(Cow::Borrowed);
    }
    let (input, output) = (facts.value(Slot::Input), facts.value(Slot::Output));
    let (input, output) = match framework {
        // The whole state of the graph or team, with ids and times in it, unless that is what it was asked.
        Framework::LangChain | Framework::Autogen => (
            reading.errand(input).unwrap_or_default(),
            Recorded::NotRecorded,
        ),
        // The input holds the agent's whole definition.
        Framework::CrewAi => (Recorded::NotRecorded, part(output, "raw", value::output)),
        Framework::Smolagents => (part(input, "task", value::input), value::output(output)),
        _ => (value::input(input), value::output(output)),
    };
    reading.tell_agent(input, output);
    if reading.is_root() {
        reading.tell_turn();
    } else if framework == Framework::OpenAiAgents
        && let Some(error) = reading.failure()
    {
        let error = Some(error);
        reading.tell_at(reading.span.end_ns, Body::RunEnd(RunEnd { error }));
    }
}

fn chain(reading: &mut Reading<'_, '_>, framework: Framework) {
    if reading.is_root() {
        reading.tell_turn();
    }
    if framework == Framework::Haystack {
        haystack_agent(reading);
    }
}

/// Haystack has spans for components only. Its agent's output counts steps, tool calls and tokens, and holds the
/// transcript as Python text, which is left alone: what it did is known to have been done, not how. One model call
/// stands for all of them, so that the run can be seen to have called tools that nobody saw.
fn haystack_agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let Some(output) = json_text(facts.value(Slot::Output)) else {
        return;
    };
    let Some(counts) = value::member(&output, &["tool_call_counts"]) else {
        return;
    };
    let usage = |key| {
        value::member(&output, &["token_usage", key])
            .and_then(|count| count.parse().ok())
            .unwrap_or(0)
    };
    let calls = sum_of_members(counts);
    let answer = if calls > 0 {
        Answer::ToolCalls(calls)
    } else {
        Answer::Text(None)
    };
    let (input_tokens, output_tokens) = (usage("prompt_tokens"), usage("completion_tokens"));
    reading.tell(Body::ModelCall(ModelCall {
        input_tokens,
        output_tokens,
        answer,
        ..ModelCall::default()
    }));
}

/// The sum of an object's whole-number members: `{"search": 2, "read": 1}`.
fn sum_of_members(object: &str) -> u32 {
    serde_json::from_str(object).map_or(0, |counts: BTreeMap<Cow<'_, str>, u32>| {
        counts
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    })
}

fn tool(reading: &mut Reading<'_, '_>, framework: Framework) {
    let (facts, name) = (reading.facts, reading.span.name);
    if let (Framework::OpenAiAgents, Some(receiver)) = (framework, name.strip_prefix("handoff to "))
    {
        return handoff(reading, receiver);
    }
    let tool = facts
        .text(Slot::ToolName)
        .unwrap_or_else(|| function_in(name));
    if is_no_call(framework, tool, facts) {
        return;
    }
    if framework == Framework::Autogen && reading.agent.is_none() {
        let agent = name
            .strip_suffix(tool)
            .and_then(|rest| rest.strip_suffix('.'));
        reading.agent = agent.map(Cow::Borrowed);
    }
    let result = json_text(facts.value(Slot::Output));
    let result = result.or_else(|| json_text(facts.value(Slot::Result)));
    let has_ended = result.is_some() || reading.failure().is_some();
    let mut call = Call {
        tool,
        id: json_text(facts.value(Slot::CallId)),
        arguments: arguments(facts, framework, has_ended),
        result,
        handoff_told_elsewhere: framework == Framework::Autogen,
        ..Call::default()
    };
    match framework {
        // A single argument is recorded as its bare text, and stays that.
        Framework::LangChain => call.unwrap_message(),
        Framework::LlamaIndex => call.unwrap_tool_output(),
        Framework::GoogleAdk => {
            let within = |answer| wrappers::within(answer, wrappers::function_response);
            call.result = call.result.map(within);
        }
        _ => {}
    }
    reading.tell_call(&call);
}

/// Whether a span that names a tool is none of a call.
fn is_no_call(framework: Framework, tool: &str, facts: &Facts<'_>) -> bool {
    match framework {
        // Their agents' way to say that they are done.
        Framework::Smolagents | Framework::BeeAi => tool == FINAL_ANSWER,
        Framework::Dspy => tool == "finish",
        // Around calls that were made at once, each of which has a span.
        Framework::GoogleAdk => tool == MERGED_TOOLS,
        // The step of a workflow around the tool.
        Framework::LlamaIndex => !facts.has(Slot::ToolName),
        _ => false,
    }
}

/// What goes into a call, out of what the framework puts around it.
fn arguments<'a>(facts: &Facts<'a>, framework: Framework, has_ended: bool) -> Option<Cow<'a, str>> {
    // Who marks spans for a viewer of this convention may keep to another one for all else.
    let written = json_text(facts.value(Slot::Input));
    let written = written.or_else(|| json_text(facts.value(Slot::Arguments)));
    match framework {
        // These write what goes in where there is any, and of what is hidden that it is.
        Framework::LangChain | Framework::GoogleAdk => {
            written.or_else(|| has_ended.then_some(Cow::Borrowed("{}")))
        }
        Framework::CrewAi => written.map(|used| wrappers::within(used, calling)),
        Framework::BeeAi => {
            written.map(|run| wrappers::within(run, |run| member_text(run, &["input"])))
        }
        Framework::Bedrock => written.or_else(|| {
            let parameters = json_text(facts.value(Slot::ToolParameters));
            parameters.as_deref().and_then(by_name)
        }),
        _ => written,
    }
}

/// The arguments of a call that `CrewAI` is about to make, as Python prints it beside the thought that led to it:
/// `{"tool_string": "Thought: …", "tool": …, "calling": "tool_name='search' arguments={'query': 'x'}"}`.
fn calling(used: &str) -> Option<Cow<'_, str>> {
    value::member(used, &["tool_string"])?;
    let calling = member_text(used, &["calling"])?;
    let (named, arguments) = calling.split_once(" arguments=")?;
    wrappers::printed_member(named, "tool_name")?;
    wrappers::python_literal(arguments).map(Cow::Owned)
}

/// The arguments of a function of Bedrock's agents, as an object: `[{"name": "query", "type": "string", "value": "x"}]`.
fn by_name(parameters: &str) -> Option<Cow<'static, str>> {
    let listed = parameters.trim_start().starts_with('[');
    let members = value::items(parameters).map(Object::of);
    let members = members.filter_map(|parameter| {
        let (name, value) = (parameter.member("name")?, parameter.member("value")?);
        Some(format!("{name}:{value}"))
    });
    listed.then(|| Cow::Owned(format!("{{{}}}", members.collect::<Vec<_>>().join(","))))
}

/// The tool in the name of a span that is called after the function: `search.run`, `search.__call__`.
fn function_in(span: &str) -> &str {
    let mut methods = [".run", ".__call__", ".acall"].iter();
    methods
        .find_map(|method| span.strip_suffix(method))
        .unwrap_or(span)
}

/// openai-agents' hand-off: from whom and to whom stand where a tool has its arguments and its result.
fn handoff(reading: &mut Reading<'_, '_>, receiver: &str) {
    let text = |slot| {
        value::output(reading.facts.value(slot))
            .value()
            .and_then(|_| reading.facts.text(slot))
    };
    let (from, to) = (text(Slot::Input), text(Slot::Output).unwrap_or(receiver));
    reading.tell_handoff(from.map(value::name), to);
}

/// One member of a JSON object, or the whole value where there is no such member.
fn part(whole: ValueView<'_>, member: &str, read: fn(ValueView<'_>) -> Recorded) -> Recorded {
    let json = json_text(whole);
    let member = json
        .as_deref()
        .and_then(|json| value::member(json, &[member]));
    member.map_or_else(|| read(whole), |member| read(ValueView::Str(member)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::normalize::captured::Captured;

    fn check(span: Captured, expected: &[&str]) {
        assert_eq!(span.told(), expected);
    }

    /// The same call of `CrewAI`'s after two thoughts is the same call; what is written otherwise stays.
    #[test]
    fn thoughts_of_crewai_are_left_out() {
        let scope = "openinference.instrumentation.crewai";
        let told = |calling: &str| {
            let used = json!({"tool_string": "Thought: Again.\nAction: search", "tool": "…", "calling": calling});
            let tool = json!({"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": used.to_string()});
            Captured::new(scope, "ToolUsage._use", &tool).told()
        };
        assert_eq!(
            told("tool_name='search' arguments={'query': 'x'}"),
            [r#"call search({"query":"x"}) = -"#]
        );
        assert_eq!(
            told("tool_name='search' arguments=None"),
            ["call search(null) = -"]
        );
        let other = told("search(query=x)");
        assert!(other[0].contains("tool_string"), "{other:?}");
    }

    /// Bedrock's agents have the arguments of a function where others have their form; their code stands where it does elsewhere.
    #[test]
    fn functions_of_bedrock_have_arguments() {
        let told = |more: &serde_json::Value| {
            let mut tool = json!({"openinference.span.kind": "TOOL", "output.value": "[]"});
            let members = more.as_object().unwrap().clone();
            tool.as_object_mut().unwrap().extend(members);
            let scope = "openinference.instrumentation.bedrock";
            Captured::new(scope, "action_group", &tool).told()
        };
        let parameters = r#"[{"name": "query", "type": "string", "value": "x"}, {"name": "top", "type": "integer", "value": "3"}]"#;
        assert_eq!(
            told(&json!({"tool.name": "search", "tool.parameters": parameters})),
            [r#"call search({"query":"x","top":"3"}) = 2 bytes"#]
        );
        assert_eq!(
            told(&json!({"tool.name": "now", "tool.parameters": "[]"})),
            ["call now({}) = 2 bytes"]
        );
        let code = json!({"tool.name": "code_interpreter", "input.value": "1 + 1", "tool.parameters": r#"{"code": {"type": "string"}}"#});
        assert_eq!(told(&code), ["call code_interpreter(1 + 1) = 2 bytes"]);
    }

    /// `BeeAI`'s tool that raised has another span of its kind below it, for the error.
    #[test]
    fn errors_of_beeai_are_no_calls() {
        let scope = "openinference.instrumentation.beeai";
        let tool = json!({"openinference.span.kind": "TOOL", "tool.name": "search"});
        let call = Captured::new(scope, "search", &tool).failed("refused");
        assert_eq!(call.told(), ["call search(-) = - failed: refused"]);
        let error = json!({"openinference.span.kind": "TOOL"});
        assert!(
            Captured::new(scope, "error", &error)
                .failed("refused")
                .told()
                .is_empty()
        );
    }

    /// A tool of Dapr Agents is told once, though the activity that runs it is marked as one, too.
    #[test]
    fn activities_of_dapr_are_no_tools() {
        let scope = "dapr_agents.observability.instrumentor";
        let tool = json!({"openinference.span.kind": "TOOL", "tool.name": "search", "agent.name": "demo",
            "gen_ai.operation.name": "execute_tool", "input.value": r#"{"query":"x"}"#, "output.value": "[]"});
        check(
            Captured::new(scope, "execute_tool search", &tool),
            &[r#"demo: call search({"query":"x"}) = 2 bytes"#],
        );
        for kind in ["TOOL", "LLM", "TASK"] {
            let activity = json!({"openinference.span.kind": kind, "agent.name": "demo", "workflow.activity": "run_tool",
                "input.value": r#"{"tool_call":{"id":"c1"}}"#});
            check(Captured::new(scope, "demo.run_tool", &activity), &[]);
        }
    }

    /// A function of NVIDIA's toolkit is a tool; its workflow and what LangChain does within are not.
    #[test]
    fn functions_of_nat_are_tools() {
        let told = |name: &str, function: &str| {
            let attributes = json!({"openinference.span.kind": "CHAIN", "nat.function.name": function,
                "input.value": r#"{"query":"x"}"#, "output.value": "[]"});
            Captured::new("nat", name, &attributes).told()
        };
        assert_eq!(
            told("search", "search"),
            [r#"call search({"query":"x"}) = 2 bytes"#]
        );
        assert!(told("<workflow>", "<workflow>").is_empty());
        assert!(told("LangGraph", "<workflow>").is_empty());
    }

    /// Calls of which each is the first of a message of its own, as in `OpenAI`'s responses, are as many calls, however their
    /// arguments are written.
    #[test]
    fn each_message_has_its_calls() {
        let call = |message: usize, key: &str| {
            format!("llm.output_messages.{message}.message.tool_calls.0.tool_call.{key}")
        };
        let attributes = json!({"openinference.span.kind": "LLM", "llm.model_name": "m",
            call(0, "id"): "c1", call(0, "function.name"): "search", call(0, "function.arguments"): {"query": "x"},
            call(1, "id"): "c2", call(1, "function.name"): "read", call(1, "function.arguments"): r#"{"path":"a"}"#});
        let expected = [
            "model m 0+0 ToolCalls(2)",
            r#"asked search({"query":"x"})"#,
            r#"asked read({"path":"a"})"#,
        ];
        check(
            Captured::new(
                "openinference.instrumentation.openai",
                "response",
                &attributes,
            ),
            &expected,
        );
    }

    const LANGCHAIN: &str = "openinference.instrumentation.langchain";
    const OPENAI_AGENTS: &str = "openinference.instrumentation.openai_agents";
    const SMOLAGENTS: &str = "openinference.instrumentation.smolagents";

    fn langchain_tool() -> Captured {
        let message = json!({"type": "tool", "data": {"content": "{\"results\": []}", "tool_call_id": "call_1"}});
        Captured::new(
            LANGCHAIN,
            "search_docs",
            &json!({
                "openinference.span.kind": "TOOL", "tool.name": "search_docs", "session.id": "s",
                "input.value": "tokio runtime basics", "output.value": message.to_string(),
                "metadata": json!({"lc_agent_name": "worker_1", "thread_id": "t-1"}).to_string(),
            }),
        )
    }

    /// LangChain's bare argument stays a text, the result loses its message, the agent and the thread come from the
    /// A tool that takes nothing has no input there, unless it is hidden; of calls at once there is a span around those of each.
    #[test]
    fn no_input_is_an_empty_one() {
        const GOOGLE_ADK: &str = "openinference.instrumentation.google_adk";
        let tool = |more: serde_json::Value| {
            let mut tool = json!({"openinference.span.kind": "TOOL", "tool.name": "ping"});
            tool.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            tool
        };
        for scope in [LANGCHAIN, GOOGLE_ADK] {
            let answered = Captured::new(scope, "ping", &tool(json!({"output.value": "pong"})));
            check(answered, &["call ping({}) = 4 bytes"]);
            let hidden = json!({"input.value": "__REDACTED__", "output.value": "__REDACTED__"});
            let hidden = Captured::new(scope, "ping", &tool(hidden));
            check(hidden, &["call ping(redacted) = redacted"]);
            let unknown = Captured::new(scope, "ping", &tool(json!({})));
            check(unknown, &["call ping(-) = -"]);
        }
        let merged =
            json!({"gen_ai.tool.name": "(merged tools)", "gen_ai.operation.name": "execute_tool"});
        check(
            Captured::new(GOOGLE_ADK, "execute_tool (merged)", &merged),
            &[],
        );
    }

    /// metadata.
    #[test]
    fn a_langchain_tool_is_unwrapped() {
        check(
            langchain_tool(),
            &[r"worker_1: call with id search_docs(tokio runtime basics) = 14 bytes"],
        );
        let run = langchain_tool().report().unwrap().run;
        assert_eq!(
            (run.run_id.as_deref(), run.session_id.as_deref()),
            (Some("t-1"), Some("s"))
        );
    }

    const LLAMA_INDEX: &str = "openinference.instrumentation.llama_index";

    /// A failed tool has the exception's words; the traceback in the status is not read.
    #[test]
    fn a_failed_tool_says_why() {
        let span = Captured::new(
            LANGCHAIN,
            "run_query",
            &json!({"openinference.span.kind": "TOOL", "tool.name": "run_query", "input.value": "SELECT 1"}),
        );
        let span = span.failed("ConnectionError('refused')Traceback (most recent call last): …");
        check(
            span.raised("ConnectionError", "refused"),
            &[r"call run_query(SELECT 1) = - failed: ConnectionError: refused"],
        );
    }

    /// LangGraph hands over by raising; the tool that does it is a hand-off, and nobody failed.
    #[test]
    fn a_hand_over_is_no_failure() {
        let command = json!({"graph": "__parent__", "update": {"messages": [
            {"type": "tool", "data": {"content": "Handed over", "tool_call_id": "call_1"}}]}});
        let span = Captured::new(
            LANGCHAIN,
            "transfer_to_researcher",
            &json!({
                "openinference.span.kind": "TOOL", "tool.name": "transfer_to_researcher",
                "output.value": command.to_string(), "metadata": "{\"lc_agent_name\": \"triage\"}",
            }),
        );
        check(
            span.failed("Command(goto='researcher')")
                .raised("langgraph.errors.ParentCommand", "Command(…)"),
            &[
                "triage: call with id transfer_to_researcher({}) = 11 bytes",
                "triage: triage to researcher",
            ],
        );
    }

    /// openai-agents' `handoff to` is no tool, its workflow span no agent, and its agent's error the run's.
    #[test]
    fn openai_agents_kinds_are_corrected() {
        let attributes = json!({"openinference.span.kind": "TOOL", "input.value": "triage", "output.value": "researcher"});
        check(
            Captured::new(OPENAI_AGENTS, "handoff to researcher", &attributes),
            &["triage to researcher"],
        );
        let redacted = json!({"openinference.span.kind": "TOOL", "input.value": "__REDACTED__", "output.value": "__REDACTED__"});
        check(
            Captured::new(OPENAI_AGENTS, "handoff to researcher", &redacted),
            &["? to researcher"],
        );
        let workflow = Captured::new(
            OPENAI_AGENTS,
            "workflow",
            &json!({"openinference.span.kind": "AGENT"}),
        );
        check(workflow.root(), &["UserMessage", "end"]);
        let agent = json!({"openinference.span.kind": "AGENT", "agent.name": "demo"});
        check(
            Captured::new(OPENAI_AGENTS, "demo", &agent).failed("Max turns exceeded"),
            &[
                "demo: agent demo(-) = -",
                "demo: end, failed: Max turns exceeded",
            ],
        );
    }

    /// Langflow's components are steps, in whichever words it names their kinds.
    #[test]
    fn components_of_langflow_are_steps() {
        for kind in ["agent", "chain", "tool", "llm"] {
            let attributes =
                json!({"openinference.span.kind": kind, "input.value": "{}", "output.value": "{}"});
            let span = Captured::new(
                "langflow.services.tracing.arize_phoenix",
                "Agent",
                &attributes,
            );
            check(span.root(), &[]);
        }
    }

    /// smolagents' arguments are those of the tool's function, and its agents' way to answer is no tool.
    #[test]
    fn smolagents_calls_are_unwrapped() {
        let tool = |name: &str, call: &str| {
            let attributes =
                json!({"openinference.span.kind": "TOOL", "tool.name": name, "input.value": call});
            Captured::new(SMOLAGENTS, "SimpleTool", &attributes)
        };
        let named = r#"{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"query": "x"}}"#;
        check(
            tool("search", named),
            &[r#"call search({"query":"x"}) = -"#],
        );
        let mixed = r#"{"args": [7], "kwargs": {"limit": 2}}"#;
        check(
            tool("search", mixed),
            &[r#"call search([[7],{"limit":2}]) = -"#],
        );
        check(tool("final_answer", named), &[]);
    }

    /// The flat keys tell tool calls from text; a final answer through a tool is text; redacted text is no text.
    #[test]
    fn answers_are_read_from_flat_keys() {
        let prefix = "llm.output_messages.0.message";
        let call = format!("{prefix}.tool_calls.0.tool_call.function.name");
        let told = |key: &str, value: &str| {
            let attributes = json!({
                "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "stop",
                "llm.token_count.prompt": 120, "llm.token_count.completion": "25", key: value,
            });
            Captured::new(OPENAI_AGENTS, "response", &attributes)
                .told()
                .remove(0)
        };
        assert_eq!(told(&call, "search"), "model m 120+25 ToolCalls(1)");
        assert_eq!(told(&call, "final_answer"), "model m 120+25 Text(");
        assert_eq!(
            told(&format!("{prefix}.content"), "Done."),
            "model m 120+25 Text("
        );
        assert_eq!(
            told(&format!("{prefix}.content"), "__REDACTED__"),
            "model m 120+25 Text(None)"
        );
        assert_eq!(
            told("output.value", "__REDACTED__"),
            "model m 120+25 Unknown"
        );
    }

    /// What the model asks for is told with its ids where tool spans have none: not for LangChain (conventions §5).
    #[test]
    fn what_is_asked_for_is_told() {
        let call = |place: u8, fact: &str| {
            format!("llm.output_messages.0.message.tool_calls.{place}.tool_call.{fact}")
        };
        let mut attributes = json!({"openinference.span.kind": "LLM", "llm.model_name": "m"});
        for (place, tool) in [(0, "search"), (1, "transfer_to_b")] {
            attributes[call(place, "function.name")] = json!(tool);
            attributes[call(place, "function.arguments")] = json!("{}");
            attributes[call(place, "id")] = json!(tool);
        }
        let told = |scope| Captured::new(scope, "response", &attributes).told();
        let answer = "model m 0+0 ToolCalls(2)";
        assert_eq!(told(LANGCHAIN), [answer]);
        assert_eq!(
            told(OPENAI_AGENTS),
            [answer, "asked search(-)", "asked transfer_to_b(-)"]
        );
    }

    /// What a node writes to the state is told, in whichever form it returns it; messages, counters, what LangGraph keeps for
    /// itself, and the steps within a node are not (conventions §6).
    #[test]
    fn nodes_write_to_the_state() {
        let span = |name: &str, output: &serde_json::Value| {
            let attributes = json!({"openinference.span.kind": "CHAIN", "output.value": output.to_string(),
                "metadata": "{\"langgraph_node\": \"plan\", \"thread_id\": \"t\"}"});
            Captured::new(LANGCHAIN, name, &attributes)
        };
        let messages = json!([{"type": "ai"}]);
        let plan = json!({"messages": messages, "plan": ["read", "write"], "steps": 3});
        check(span("plan", &plan), &["StateUpdate"]);
        let command = json!([{"graph": null, "update": {"plan": "read"}, "goto": ["write"]}]);
        check(span("plan", &command), &["StateUpdate"]);
        for output in [
            json!({"messages": messages}),
            json!({"output": [{"lg_name": "Command", "update": {"messages": messages}}]}),
            json!({"output": [{"lg_name": "Send", "node": "tools", "args": {"plan": "read"}}]}),
            json!({"steps": 3, "done": true, "plan": null, "notes": []}),
            json!([{"graph": null, "update": {"messages": messages, "active_agent": "b"}, "goto": "b"}]),
            json!([{"name": "search", "args": {"query": "x"}, "id": "c"}]),
            json!("text"),
        ] {
            assert!(span("plan", &output).told().is_empty(), "{output}");
        }
        check(span("RunnableSequence", &plan), &[]);
        let id = |output| span("plan", output).report().unwrap().events[0].id;
        assert_eq!(id(&plan), id(&plan));
        assert_ne!(id(&plan), id(&command));
    }

    /// Where no agent is named, it is the node around the graph that is at work (conventions §4).
    #[test]
    fn nodes_are_agents() {
        let attributes = json!({"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": "x",
            "metadata": "{\"langgraph_node\": \"tools\", \"langgraph_checkpoint_ns\": \"researcher:1f|tools:2e\"}"});
        check(
            Captured::new(LANGCHAIN, "t", &attributes),
            &["researcher: call t(x) = -"],
        );
    }

    /// llama-index records its own objects (conventions §0.5, §5): arguments with an object's address in them, a result
    /// within blocks, a failure as a flag; the step around a tool is no tool.
    #[test]
    fn llama_index_is_unwrapped() {
        let span = |input: serde_json::Value, output: serde_json::Value| {
            let attributes = json!({"openinference.span.kind": "TOOL", "tool.name": "handoff",
                "input.value": input.to_string(), "output.value": output.to_string()});
            Captured::new(LLAMA_INDEX, "FunctionTool.acall", &attributes)
        };
        let output = |text: &str, failed: bool| {
            json!({"blocks": [{"block_type": "text", "text": text}], "tool_name": "handoff",
                "raw_input": {"kwargs": {}}, "raw_output": text, "is_error": failed})
        };
        let context = |address: &str| json!({"kwargs": {"ctx": address, "to_agent": "researcher"}});
        let told = |address: &str| span(context(address), output("ok", false)).told();
        let first = told("<workflows.context.Context object at 0x7f00aa>");
        assert_eq!(
            first,
            told("<workflows.context.Context object at 0x7f11bb>")
        );
        assert_eq!(
            first,
            [
                r#"call handoff({"to_agent":"researcher"}) = 2 bytes"#,
                "? to researcher"
            ]
        );
        let failed = span(
            json!({"kwargs": {"to_agent": "x"}}),
            output("no such agent", true),
        );
        assert!(failed.told()[0].ends_with(" failed: no such agent"));
        let step = json!({"openinference.span.kind": "TOOL", "input.value": "{}"});
        check(
            Captured::new(LLAMA_INDEX, "AgentWorkflow.call_tool", &step),
            &[],
        );
    }

    /// agno's arguments are plain; a member who is asked is a hand-off; its node ids are nobody's name (conventions §4).
    #[test]
    fn agno_is_read() {
        let tool = json!({"openinference.span.kind": "TOOL", "tool.name": "delegate_task_to_member",
            "tool.parameters": "{\"member_id\": \"researcher\"}",
            "input.value": "{\"member_id\": \"researcher\"}", "output.value": "done"});
        check(
            Captured::new(
                "openinference.instrumentation.agno",
                "delegate_task_to_member",
                &tool,
            ),
            &[
                r#"call delegate_task_to_member({"member_id":"researcher"}) = 4 bytes"#,
                "? to researcher",
            ],
        );
        let agent = json!({"openinference.span.kind": "AGENT", "graph.node.id": "4f1c", "graph.node.name": "demo",
            "agno.run.id": "r", "session.id": "s"});
        let span = Captured::new("openinference.instrumentation.agno", "demo.run", &agent);
        let run = span.report().unwrap().run;
        assert_eq!((run.run_id, run.session_id.as_deref()), (None, Some("s")));
        let span = Captured::new("openinference.instrumentation.agno", "demo.run", &agent);
        check(span, &["demo: agent demo(-) = -"]);
    }

    /// A message that says the tool failed is a failure, though the span ended well (LangGraph catches what tools raise);
    /// metadata may be structured.
    #[test]
    fn messages_tell_of_failures() {
        let message = json!({"type": "tool", "data": {"content": "Error: refused", "tool_call_id": "c", "status": "error"}});
        let attributes = json!({"openinference.span.kind": "TOOL", "tool.name": "t", "input.value": "x",
            "output.value": message.to_string(), "metadata": {"thread_id": "t-1", "session_id": "s-1"}});
        let span = || Captured::new(LANGCHAIN, "t", &attributes);
        check(
            span(),
            &["call with id t(x) = 14 bytes failed: Error: refused"],
        );
        let run = span().report().unwrap().run;
        assert_eq!(
            (run.run_id.as_deref(), run.session_id.as_deref()),
            (Some("t-1"), Some("s-1"))
        );
    }

    /// haystack's agent says how many tools it called, and with how many tokens.
    #[test]
    fn haystack_counts_are_read() {
        let output = json!({"messages": ["ChatMessage(…)"], "tool_call_counts": {"search_2": 2, "read": 1},
            "token_usage": {"prompt_tokens": 720, "completion_tokens": 93}});
        let attributes =
            json!({"openinference.span.kind": "CHAIN", "output.value": output.to_string()});
        let span = Captured::new(
            "openinference.instrumentation.haystack",
            "Agent.run",
            &attributes,
        );
        check(span, &["model ? 720+93 ToolCalls(3)"]);
    }

    /// google-adk's result is Gemini's answer of a tool, with the call's id in it; `BeeAI`'s arguments have the run's options
    /// beside them.
    #[test]
    fn results_and_arguments_are_unwrapped() {
        let adk = |id: &str| {
            let answer =
                json!({"id": id, "name": "search", "response": {"result": "{\"results\": []}"}});
            Captured::new(
                "openinference.instrumentation.google_adk",
                "execute_tool search",
                &json!({"openinference.span.kind": "TOOL", "tool.name": "search", "gen_ai.tool.call.id": id,
                    "input.value": "{\"query\": \"x\"}", "output.value": answer.to_string()}),
            )
        };
        let expected = [r#"call with id search({"query":"x"}) = 14 bytes"#];
        check(adk("adk-1"), &expected);
        check(adk("adk-2"), &expected);
        let beeai = json!({"openinference.span.kind": "TOOL", "tool.name": "search",
            "input.value": "{\"input\": {\"query\": \"x\"}, \"options\": null}", "output.value": "[]"});
        check(
            Captured::new("openinference.instrumentation.beeai", "search", &beeai),
            &[r#"call search({"query":"x"}) = 2 bytes"#],
        );
    }

    /// A provider's client sees no tool: what the model asked for and what the tools answered to its last answer are told,
    /// from the request itself. A framework's model span is not read so.
    #[test]
    fn a_client_tells_of_the_calls_around_it() {
        let request = json!({"model": "m", "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [{"id": "c1"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "[]"}]});
        let attributes = json!({"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": request.to_string(),
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c2",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"query\": \"x\"}"});
        let span = |scope| Captured::new(scope, "ChatCompletion", &attributes);
        check(
            span("openinference.instrumentation.openai"),
            &[
                "model m 0+0 ToolCalls(1)",
                r#"asked search({"query":"x"})"#,
                "call with id (-) = 2 bytes",
            ],
        );
        check(
            span("openinference.instrumentation.agno"),
            &["model m 0+0 ToolCalls(1)", "asked search(-)"],
        );
        // Mistral's flat keys leave out the id that the response has.
        let response = json!({"choices": [{"message": {"tool_calls": [{"id": "c2", "function": {"name": "search",
            "arguments": "{\"query\": \"x\"}"}}]}}]});
        let attributes = json!({"openinference.span.kind": "LLM", "llm.model_name": "m", "output.value": response.to_string(),
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search"});
        check(
            Captured::new(
                "openinference.instrumentation.mistralai",
                "chat",
                &attributes,
            ),
            &["model m 0+0 ToolCalls(1)", r#"asked search({"query":"x"})"#],
        );
    }
}
