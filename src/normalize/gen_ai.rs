//! The OpenTelemetry GenAI conventions, as frameworks and hand-written tracers speak them themselves: pydantic-ai, Agent
//! Framework, autogen, and every other span with `gen_ai.operation.name`: strands (which tells values in span events),
//! google-adk, semantic-kernel, LangSmith, Langfuse (which has a word of its own for the operation).
//!
//! *Hand-offs* have no convention. They show as tools `transfer_to_B`, which are told as hand-offs, else as agent spans:
//! one after the other (autogen) or one inside the other (pydantic-ai's delegation).
//!
//! *Runs.* A parentless `invoke_agent` or `invoke_workflow` is one request; its end is the run's. A parentless
//! `create_agent` is set-up, in a trace of its own, and ends nothing. `gen_ai.conversation.id` keys the run where it is
//! given, but not for pydantic-ai: there every delegated agent has a conversation of its own within the same trace, and
//! keying on it would cut one run into pieces; the root's is kept as the session. autogen's runtime spreads one run
//! over dozens of traces; see [`messaging`].
//!
//! *Log records* (Agent Framework's messages) repeat the whole history at each model call and hold nothing that the
//! spans do not; they are not read.

use std::borrow::Cow;

use crate::engine::event::{Body, TraceId};

use super::facts::{Facts, Slot};
use super::reading::{Call, Reading, event_text, json_text, member_text};
use super::{Outcome, value};

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    if reading.span.scope_name.starts_with("autogen ") {
        return messaging(reading);
    }
    let facts = reading.facts;
    let operation = facts.text(Slot::Operation).or_else(|| {
        // Langfuse's and LangSmith's words for the same.
        Some(match facts.text(Slot::ObservationKind)? {
            "generation" | "llm" => "chat",
            "tool" => "execute_tool",
            "agent" => "invoke_agent",
            _ => "plan",
        })
    });
    place(reading, operation.unwrap_or_default());
    match operation {
        Some(operation) => return operate(reading, operation),
        None if facts.has(Slot::ToolName) => tool(reading),
        None if facts.has(Slot::Model) => reading.tell_model_call(),
        None => {}
    }
    Outcome::Noise
}

/// Reads one span of a known operation.
pub(super) fn operate(reading: &mut Reading<'_, '_>, operation: &str) -> Outcome {
    match operation {
        "chat" | "generate_content" | "text_completion" => reading.tell_model_call(),
        "execute_tool" => tool(reading),
        "invoke_agent" | "invoke_workflow" | "invoke_swarm" => agent(reading),
        "create_memory" | "update_memory" | "upsert_memory" | "delete_memory" => {
            reading.tell(Body::MemoryWrite);
        }
        "create_agent"
        | "create_memory_store"
        | "delete_memory_store"
        | "search_memory"
        | "embeddings"
        | "retrieval"
        | "plan"
        | "agent_step"
        | "execute_event_loop_cycle" => {}
        _ => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

/// Whose span it is. Model and tool spans key the run; an agent's span follows them, since mixed instrumentations put
/// the conversation on it alone, and it would be torn from the calls below it, which arrive before it.
fn place(reading: &mut Reading<'_, '_>, operation: &str) {
    let conversation = reading.facts.text(Slot::Conversation);
    let is_pydantic_ai = reading.span.scope_name == "pydantic-ai";
    if !is_pydantic_ai && !operation.starts_with("invoke_") {
        reading.run(conversation);
    }
    if !is_pydantic_ai || reading.is_root() {
        reading.session(reading.facts.text(Slot::Session).or(conversation));
    }
}

fn agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    // The messages answered hold the whole conversation with its call ids: no answer that could be compared.
    let input = value::input(facts.value(Slot::InputMessages));
    let output = value::output(facts.value(Slot::Output));
    if let Some(run) = autogen_run(reading) {
        reading.run(Some(run));
    }
    reading.tell_agent(input, output);
    if reading.is_root() {
        reading.tell_turn();
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let (facts, span) = (reading.facts, reading.span);
    let is_from = |scope: &str| span.scope_name.starts_with(scope);
    let mut tool = facts
        .text(Slot::ToolName)
        .unwrap_or_else(|| span.name.trim_start_matches("execute_tool "));
    if is_from("semantic_kernel") {
        // `PLUGIN-function`
        tool = tool.split_once('-').map_or(tool, |(_, function)| function);
    }
    let mut call = Call::of(tool, facts);
    call.arguments = call
        .arguments
        .or_else(|| shown(facts, Slot::AdkArguments))
        .or_else(|| json_text(facts.value(Slot::Input)))
        .or_else(|| event_text(span, "gen_ai.tool.message", "content"));
    call.result = call
        .result
        .or_else(|| shown(facts, Slot::AdkResult))
        .or_else(|| json_text(facts.value(Slot::Output)))
        .or_else(|| event_text(span, "gen_ai.choice", "message"));
    if is_from("langsmith")
        && let Some(Cow::Borrowed(wrapper)) = call.arguments
    {
        call.arguments = member_text(wrapper, &["input"]).or(call.arguments);
    }
    reading.tell_call(&call);
    if facts.count(Slot::RetryAttempt) > 0 {
        let tool = Some(value::name(tool));
        reading.tell_at(reading.span.end_ns, Body::Retry { tool });
    }
}

/// google-adk puts `{}` or `N/A` where it hides a value.
fn shown<'a>(facts: &Facts<'a>, slot: Slot) -> Option<Cow<'a, str>> {
    json_text(facts.value(slot)).filter(|text| !matches!(&**text, "{}" | "N/A"))
}

/// autogen's runtime: each message between agents is a trace of its own, joined to the one that sent it by a link. None
/// of these spans tells of work, but they name the team's run in their destination, `triage_RUN.(RUN)-A`, and arrive
/// before the tool calls and agents of their trace. Where no run is named, the link says which trace is continued.
fn messaging(reading: &mut Reading<'_, '_>) -> Outcome {
    let destination = reading.facts.text(Slot::Destination).unwrap_or_default();
    let run = destination
        .rsplit_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(run, _)| run);
    if let Some(run) = run.filter(|run| is_uuid(run)) {
        reading.run(Some(run));
        return Outcome::Placed;
    }
    let own = reading.span.trace_id;
    let mut linked = reading.span.links.iter().map(|link| link.trace_id);
    let Some(other) = linked
        .find(|trace| *trace != own)
        .filter(|_| reading.is_root())
    else {
        return Outcome::Noise;
    };
    reading.continues(TraceId(other));
    Outcome::Placed
}

/// The team's run in the id of one of autogen's agents: `triage_RUN/RUN`.
fn autogen_run<'a>(reading: &Reading<'_, 'a>) -> Option<&'a str> {
    let id = reading
        .facts
        .text(Slot::AgentId)
        .filter(|_| reading.span.scope_name == "autogen-core")?;
    id.rsplit_once('/')
        .map(|(_, run)| run)
        .filter(|run| is_uuid(run))
}

/// Whether a text is a UUID: keys that a program chose itself (`default`) would join runs that have nothing in common.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::captured::Captured;

    fn check(span: Captured, expected: &[&str]) {
        assert_eq!(span.told(), expected);
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

    /// pydantic-ai: content off leaves nothing recorded; a retry is told; a delegated agent's conversation keys nothing.
    #[test]
    fn pydantic_ai_is_read() {
        let attributes = json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run_query", "gen_ai.agent.name": "demo",
            "gen_ai.conversation.id": "delegated", "gen_ai.tool.call.result": "refused",
            "pydantic_ai.tool.retry.attempt": 1, "pydantic_ai.tool.retry.max_retries": 8,
        });
        let span =
            || Captured::new("pydantic-ai", "execute_tool run_query", &attributes).failed("");
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
        let created =
            json!({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "triage"});
        check(
            Captured::new("autogen-core", "create_agent triage", &created).root(),
            &[],
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

    /// What strands says in events, google-adk hides, semantic-kernel prefixes and LangSmith wraps.
    #[test]
    fn other_frameworks() {
        let tool =
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "files-read"});
        let span = |scope: &'static str| Captured::new(scope, "execute_tool files-read", &tool);
        let said = span("strands.telemetry.tracer")
            .said(
                "gen_ai.tool.message",
                &json!({"content": "{\"path\":\"a\"}"}),
            )
            .said("gen_ai.choice", &json!({"message": "[{\"text\":\"b\"}]"}));
        check(said, &[r#"call files-read({"path":"a"}) = 14 bytes"#]);
        check(span("semantic_kernel.functions"), &["call read(-) = -"]);
        let hidden = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read",
            "gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "N/A"});
        check(
            Captured::new("gcp.vertex.agent", "execute_tool read", &hidden),
            &["call read(-) = -"],
        );
        let wrapped = json!({"langsmith.span.kind": "tool", "gen_ai.tool.name": "read",
            "gen_ai.prompt": "{\"input\": {\"path\": \"a\"}}", "gen_ai.completion": "b"});
        check(
            Captured::new("langsmith", "read", &wrapped),
            &[r#"call read({"path":"a"}) = 1 bytes"#],
        );
        let observed = json!({"langfuse.observation.type": "tool", "langfuse.observation.level": "ERROR",
            "langfuse.observation.input": "{\"path\": \"a\"}"});
        check(
            Captured::new("langfuse-sdk", "read", &observed),
            &[r#"call read({"path":"a"}) = - failed: "#],
        );
    }
}
