//! The OpenTelemetry GenAI conventions, as frameworks and hand-written tracers speak them themselves: pydantic-ai, Agent
//! Framework, autogen, strands, semantic-kernel, the Vercel AI SDK's newer spans, and every other span with
//! `gen_ai.operation.name`.
//!
//! *Where values stand.* In attributes, as JSON text or structured; for strands in span events, one per message or, where
//! it was told to follow the newest conventions, messages within `gen_ai.client.inference.operation.details`.
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
//! *Log records* are read by [`messages`](super::messages), whoever writes them.

use std::borrow::Cow;

use crate::engine::event::{Answer, Body, ModelCall, TraceId};
use crate::normalize::answer::{self, FINAL_ANSWER, OPERATION_DETAILS, Requested};
use crate::normalize::call::Call;
use crate::normalize::ended::envelope;
use crate::normalize::facts::Slot;
use crate::normalize::reading::Reading;
use crate::normalize::report::Outcome;
use crate::normalize::scopes::Dialect;
use crate::normalize::texts::{event_text, json_text, member_text};
use crate::normalize::{names, value, wrappers};
use crate::otlp::ValueView;

use super::{agentscope, logfire, plain};

/// The span that answers several calls at once, beside those of the calls.
pub(super) const MERGED_TOOLS: &str = "(merged tools)";

/// Reads one span.
pub(super) fn span(reading: &mut Reading<'_, '_>) -> Outcome {
    if reading.span.scope_name.starts_with("autogen ") {
        return messaging(reading);
    }
    if logfire::begins_stream(reading) && !is_model_call(reading) {
        return Outcome::Noise;
    }
    let facts = reading.facts;
    let operation = facts.word(Slot::Operation);
    let operation = operation.as_deref();
    place(reading, operation.unwrap_or_default());
    match operation {
        Some(operation) => {
            let outcome = operate(reading, operation);
            return match outcome {
                // Somebody's own word for it, beside a kind of their own.
                Outcome::UnknownOperation if facts.has(Slot::OwnKind) => plain::span(reading),
                known => known,
            };
        }
        None if facts.has(Slot::OwnKind) => return plain::span(reading),
        None if is_request(reading) => request(reading),
        None if facts.has(Slot::ToolName) => tool(reading),
        None if is_unnamed_agent(reading) => agent(reading),
        None if is_model_call(reading) && !is_sum(reading) => model(reading),
        None if reading.is_root() && is_sum(reading) => reading.tell_turn(),
        // Agent Framework's workflows around agents.
        None if reading.span.name == "workflow.run" && reading.is_root() => reading.tell_turn(),
        None => {}
    }
    Outcome::Noise
}

/// Reads one span of a known operation.
pub(super) fn operate(reading: &mut Reading<'_, '_>, operation: &str) -> Outcome {
    match operation {
        // The last are semantic-kernel's words of before.
        "chat"
        | "generate_content"
        | "text_completion"
        | "call_llm"
        | "chat.completions"
        | "chat.streaming_completions"
        | "text.completions"
        | "text.streaming_completions" => model(reading),
        "execute_tool" | "tool" | "tool_call" | "call_tool" => tool(reading),
        "invoke_agent" => agent(reading),
        // What agents work within is no agent: told as one, it would seem to hand over to each of them.
        "invoke_workflow" | "invoke_swarm" | "invoke_graph" | "execute_task" => {
            if reading.is_root() {
                reading.tell_turn();
            }
        }
        "create_memory" | "update_memory" | "upsert_memory" | "delete_memory" => {
            reading.tell(Body::MemoryWrite);
        }
        "handoff" => handoff(reading),
        "create_agent"
        | "step"
        | "create_thread"
        | "create_message"
        | "create_conversation"
        | "list_conversation_items"
        | "list_messages"
        | "list_run_steps"
        | "start_thread_run"
        | "get_thread_run"
        | "process_thread_run"
        | "submit_tool_outputs"
        | "orchestrate_tools"
        | "create_memory_store"
        | "delete_memory_store"
        | "search_memory"
        | "embeddings"
        | "retrieval"
        | "rerank"
        | "plan"
        | "agent_step"
        | "execute_hook"
        | "content_event"
        | "model_request"
        | "tool_coordination"
        | "user_prompt_processing"
        | "apply_guardrail"
        | "output_messages"
        | "litellm.moderation"
        | "litellm.responses_management"
        | "litellm.vector_store_management"
        | "litellm.vector_store_file_management"
        | "execute_event_loop_cycle" => {}
        _ => return Outcome::UnknownOperation,
    }
    Outcome::Noise
}

/// Whether a span is that of an agent of pydantic-ai or strands, before the conventions had a name for it: it carries a model, of
/// strands with the tokens of all calls, too.
fn is_unnamed_agent(reading: &Reading<'_, '_>) -> bool {
    let span = reading.span;
    match span.scope_name {
        "pydantic-ai" => span.name == "agent run",
        scope if scope.starts_with("strands") => {
            reading.facts.has(Slot::Agent) && span.name != "Model invoke"
        }
        _ => false,
    }
}

/// Whether a span without an operation is a model's: it names one, and says more of it than that it was to be asked, as the
/// steps around a model call do.
fn is_model_call(reading: &Reading<'_, '_>) -> bool {
    const MORE: [Slot; 8] = [
        Slot::InputTokens,
        Slot::OutputTokens,
        Slot::TotalTokens,
        Slot::UsageDetails,
        Slot::ResponseId,
        Slot::FinishReason,
        Slot::OutputMessages,
        Slot::Output,
    ];
    let facts = reading.facts;
    facts.has(Slot::Model)
        && (MORE.into_iter().any(|slot| facts.has(slot))
            || facts.answered.calls > 0
            || facts.answered.text.is_some()
            || reading.failure().is_some())
}

/// Whether a span only sums up what the client's spans below it tell: mcp-agent's around all calls of a turn, which brings the
/// instrumentation of these two clients along, and none for others; and `TanStack` AI's.
fn is_sum(reading: &Reading<'_, '_>) -> bool {
    let name = reading.span.name;
    name.starts_with("OpenAIAugmentedLLM.")
        || name.starts_with("AnthropicAugmentedLLM.")
        || reading
            .span
            .attributes
            .find("tanstack.ai.iterations")
            .is_some()
}

fn model(reading: &mut Reading<'_, '_>) {
    if Dialect::is_client(reading.span.scope_name) {
        reading.tell_model_call_and_asked();
    } else {
        reading.tell_model_call();
        leave_out_forms(reading);
    }
}

/// Leaves out of what a model of Pydantic AI asked for the tools whose arguments are its answer in a given form (`output_tools`):
/// nothing is called, and no span tells of them.
fn leave_out_forms(reading: &mut Reading<'_, '_>) {
    let parameters = reading.span.attributes.find("model_request_parameters");
    let Some(parameters) = parameters.and_then(json_text) else {
        return;
    };
    let forms = value::member(&parameters, &["output_tools"]).unwrap_or_default();
    let forms = value::items(forms).filter_map(|form| member_text(form, &["name"]));
    let forms: Vec<_> = forms.collect();
    if forms.is_empty() {
        return;
    }
    let asked = answer::asked(reading.span, reading.facts);
    let left_out = asked.iter().filter(|asked| forms.contains(&asked.tool));
    let left_out = left_out.count() as u32;
    reading.change_answer(|answer| match answer {
        Answer::ToolCalls(asked) if asked > left_out => Answer::ToolCalls(asked - left_out),
        Answer::ToolCalls(_) => Answer::Text(None),
        other => other,
    });
}

/// Whether the span stands for a call that a model asked for: `AgentOps` makes one of each, below the model's.
fn is_request(reading: &Reading<'_, '_>) -> bool {
    let span = reading.span;
    span.scope_name.starts_with("agentops.instrumentation.") && span.name.starts_with("tool_call.")
}

fn request(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let asked = Requested {
        id: json_text(facts.value(Slot::CallId)).unwrap_or_default(),
        tool: facts.text(Slot::ToolName).unwrap_or_default().into(),
        arguments: json_text(facts.value(Slot::ToolParameters)),
    };
    reading.tell_asked(&asked);
}

/// Whose span it is. Model and tool spans key the run; an agent's span follows them, since mixed instrumentations put
/// the conversation on it alone, and it would be torn from the calls below it, which arrive before it.
pub(super) fn place(reading: &mut Reading<'_, '_>, operation: &str) {
    let conversation = names::conversation(reading.facts);
    let is_pydantic_ai = reading.span.scope_name == "pydantic-ai";
    // AG2's conversation is what its agents work within, and has a trace of its own.
    let is_around = operation.starts_with("invoke_") || operation == "conversation";
    if !is_pydantic_ai && !is_around {
        reading.run(conversation.as_deref());
    }
    if !is_pydantic_ai || reading.is_root() {
        let session = reading.facts.id(Slot::Session).or(conversation);
        reading.session(session.as_deref());
    }
}

fn agent(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let given = facts.value(Slot::InputMessages);
    let asked = reading.errand(given);
    let asked = asked.or_else(|| reading.errand(facts.value(Slot::Input)));
    let input = asked.unwrap_or_else(|| value::input(given));
    // The messages answered hold the whole conversation with its call ids: no answer that could be compared.
    let output = value::output(facts.value(Slot::Output));
    if let Some(run) = autogen_run(reading) {
        reading.run(Some(run));
    }
    if !is_executor(reading) {
        reading.tell_agent(input, output);
    }
    if reading.span.scope_name == "openlit.instrumentation.crewai"
        && facts.has(Slot::ToolDefinitions)
    {
        tell_unseen_tools(reading);
    }
    if reading.is_root() {
        reading.tell_turn();
    }
}

/// Tells that an agent has tools of which nothing can be seen: one model call without tokens stands for what it did, so that
/// the run can be seen to have called tools that nobody saw.
pub(super) fn tell_unseen_tools(reading: &mut Reading<'_, '_>) {
    reading.tell(Body::ModelCall(ModelCall {
        answer: Answer::ToolCalls(1),
        ..ModelCall::default()
    }));
}

/// Whether the span is that of AG2's agent that makes the calls that another asked for: control goes to and fro between
/// the two at every call, and nobody hands over.
fn is_executor(reading: &Reading<'_, '_>) -> bool {
    let messages = json_text(reading.facts.value(Slot::OutputMessages));
    messages.is_some_and(|messages| value::member(&messages, &["0", "role"]) == Some("\"tool\""))
}

fn handoff(reading: &mut Reading<'_, '_>) {
    let facts = reading.facts;
    let from = facts.text(Slot::HandoffFrom).map(value::name);
    if let Some(to) = facts.text(Slot::HandoffTo) {
        reading.tell_handoff(from, to);
    }
}

fn tool(reading: &mut Reading<'_, '_>) {
    let (facts, span) = (reading.facts, reading.span);
    let named = span.name.strip_prefix("execute_tool ");
    let tool = facts
        .text(Slot::ToolName)
        .unwrap_or(named.unwrap_or(span.name));
    if is_no_tool(reading, tool) {
        return;
    }
    let tool = tool_name(span.scope_name, tool);
    let mut call = Call::of(tool, facts);
    // strands' own key before it took that of the conventions; what went in has the call's id beside them.
    let is_strands = span.scope_name.starts_with("strands");
    let parameters = json_text(facts.value(Slot::ToolParameters)).filter(|_| is_strands);
    call.arguments = call
        .arguments
        .or(parameters)
        .or_else(|| json_text(facts.value(Slot::Input)))
        .or_else(|| json_text(facts.value(Slot::PlainInput)))
        .or_else(|| event_text(span, "gen_ai.tool.message", "content"))
        .or_else(|| told_in_messages(reading, &ARGUMENTS));
    call.result = call
        .result
        .or_else(|| json_text(facts.value(Slot::Output)))
        .or_else(|| json_text(facts.value(Slot::PlainOutput)))
        .or_else(|| event_text(span, "gen_ai.choice", "message"))
        .or_else(|| told_in_messages(reading, &RESULT));
    if span.scope_name == agentscope::SCOPE {
        agentscope::unwrap_response(&mut call);
    }
    read_exit_code(reading, &mut call);
    reading.tell_call(&call);
    if facts.count(Slot::RetryAttempt) > 0 {
        let tool = Some(value::name(tool));
        reading.tell_at(reading.span.end_ns, Body::Retry { tool });
    }
}

/// Whether a span of a tool stands for none: for several at once, for `OpenLIT`'s step of pydantic-ai that may call some and is
/// named for the model, or for smolagents' answer.
fn is_no_tool(reading: &Reading<'_, '_>, tool: &str) -> bool {
    match reading.span.scope_name {
        "openlit.instrumentation.pydantic_ai" => reading.facts.text(Slot::ToolName).is_none(),
        "openlit.instrumentation.smolagents" => tool == FINAL_ANSWER,
        _ => tool == MERGED_TOOLS,
    }
}

/// A command's exit code, which Copilot's shell prints behind what the command printed, and the conventions have as an
/// attribute of tools that run commands.
fn read_exit_code(reading: &Reading<'_, '_>, call: &mut Call<'_>) {
    let whole = call.result.as_deref().unwrap_or_default();
    let ended = envelope::without_session(whole);
    let told = || match reading.facts.value(Slot::ExitCode) {
        ValueView::Int(exit_code) => Some((whole, exit_code)),
        _ => None,
    };
    let Some((printed, exit_code)) = ended.or_else(told) else {
        return;
    };
    if ended.is_some() {
        call.result = Some(Cow::Owned(printed.to_owned()));
    }
    call.note_exit_code(exit_code);
}

/// The name of a tool without the plugin that semantic-kernel puts before it: `PLUGIN-function`.
pub(super) fn tool_name<'t>(scope_name: &str, tool: &'t str) -> &'t str {
    match tool.split_once('-') {
        Some((_, function))
            if scope_name.starts_with("semantic_kernel")
                || scope_name.starts_with("Microsoft.SemanticKernel") =>
        {
            function
        }
        _ => tool,
    }
}

/// Where frameworks that tell a tool call as a conversation have a part of it.
struct InMessages {
    slot: Slot,
    key: &'static str,
    /// The member of the messages' first part.
    member: &'static str,
}

/// The arguments, of a `tool_call`.
const ARGUMENTS: InMessages = InMessages {
    slot: Slot::InputMessages,
    key: "gen_ai.input.messages",
    member: "arguments",
};

/// The result, of a `tool_call_response`.
const RESULT: InMessages = InMessages {
    slot: Slot::OutputMessages,
    key: "gen_ai.output.messages",
    member: "response",
};

/// What the first part of a tool's messages says.
fn told_in_messages<'a>(reading: &Reading<'_, 'a>, told: &InMessages) -> Option<Cow<'a, str>> {
    let member = told.member;
    let messages = json_text(reading.facts.value(told.slot))
        .or_else(|| event_text(reading.span, OPERATION_DETAILS, told.key))?;
    value::member(&messages, &["0", "parts", "0", member])?;
    Some(wrappers::within(messages, |messages| {
        member_text(messages, &["0", "parts", "0", member])
    }))
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
pub(super) fn is_uuid(text: &str) -> bool {
    let fits = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests;
