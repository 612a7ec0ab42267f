//! The facts of one span, found in the pass over its attributes that checks them.
//!
//! The table below is what all dialects have in common: a row is a fact, and its keys stand in the order in which they
//! are trusted, whichever order the span carries them in. Reading a span costs one hash and one comparison of text an
//! attribute, and nothing is allocated but for tools that a model asks for; the dialects ask for slots, and look among the
//! attributes again for what nobody else says.

use std::borrow::Cow;

use crate::otlp::{Attributes, Problem, SpanView, Spans, ValueView};

use super::given::FlatAnswers;
use super::names;
use super::value::wide::equal_names;
use super::workers::{Named, Workers};

/// Declares the rows: a slot with its keys, the most trusted first.
macro_rules! facts {
    ($($(#[$doc:meta])* $slot:ident: $($key:literal)+;)+) => {
        /// A fact that a span may carry, whichever convention spells it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Slot { $($(#[$doc])* $slot),+ }

        const SLOTS: usize = [$(Slot::$slot),+].len();
        /// Every key with its slot; within a slot, the earlier key wins.
        const KEYS: &[(&str, Slot)] = &[$($(($key, Slot::$slot)),+),+];
    };
}

facts! {
    // What kind of span it is.
    /// OpenInference's kind of span.
    OpenInferenceKind: "openinference.span.kind";
    /// The GenAI conventions' operation.
    Operation: "gen_ai.operation.name";
    /// Traceloop's kind of span.
    TraceloopKind: "traceloop.span.kind";
    /// What Langfuse calls the kind of span.
    LangfuseKind: "langfuse.observation.type";
    /// What LangSmith calls it.
    LangSmithKind: "langsmith.span.kind" "langsmith.run_type";
    /// What Logfire calls it: the message with its gaps.
    LogfireTemplate: "logfire.msg_template";
    /// What Logfire's span of openai-agents is about.
    LogfireName: "name";
    /// What somebody who follows no convention calls the kind of span.
    OwnKind: "mastra.span.type" "langwatch.span.type" "lmnr.span.type" "mlflow.spanType" "agentops.span.kind"
        "ag2.span.type" "genkit:metadata:subtype" "genkit:type" "spring.ai.kind" "gen_ai.span.kind" "gen_ai.span_kind_name"
        "braintrust.span_attributes" "judgment.span_kind" "span.type" "entity.type"
        "lmnr.association.properties.trace_type" "confident.span.type" "ag.type.node" "au.span.kind" "cozeloop.span_type"
        "honeyhive_event_type" "pydantic_ai.span_kind";
    /// What went into it, under the key of whoever follows no convention.
    PlainInput: "input" "langwatch.input" "lmnr.span.input" "mlflow.spanInputs" "agentops.entity.input" "genkit:input"
        "agentops.tool.input" "agentops.task.input" "agentops.agent.input" "agentops.operation.input" "agentops.workflow.input"
        "braintrust.input_json" "braintrust.input" "judgment.input"
        "haystack.agent.step.tool.input" "confident.span.input" "ag.data.inputs" "au.tool.input" "au.agent.input"
        "cozeloop.input" "pydantic_ai.tool.args" "pydantic_ai.run.prompt";
    /// What came out of it.
    PlainOutput: "output" "langwatch.output" "lmnr.span.output" "mlflow.spanOutputs" "agentops.entity.output"
        "agentops.tool.output" "agentops.task.output" "agentops.agent.output" "agentops.operation.output" "agentops.workflow.output"
        "genkit:output" "braintrust.output_json" "braintrust.output" "judgment.output" "haystack.agent.step.tool.output" "haystack.agent.step.llm.output" "haystack.component.output"
        "confident.span.output" "ag.data.outputs" "au.tool.output" "au.llm.output" "au.agent.output" "cozeloop.output"
        "honeyhive_outputs.result" "pydantic_ai.tool.result" "pydantic_ai.run.result";
    /// The Vercel AI SDK's operation.
    VercelOperation: "ai.operationId";
    /// The MCP method.
    McpMethod: "mcp.method.name";

    // Whose it is.
    /// The agent at work.
    Agent: "gen_ai.agent.name" "agent.name" "agent_name" "traceloop.association.properties.lc_agent_name"
        "langsmith.metadata.lc_agent_name" "langfuse.observation.metadata.lc_agent_name"
        "ai.telemetry.functionId" "entity.name" "lc_agent_name" "confident.agent.name" "au.agent.name"
        "pydantic_ai.agent.name";
    /// The node of a graph that the span stands for: an agent where the span is one, else a model's or a tool's own.
    GraphNode: "graph.node.name" "graph.node.id";
    /// The agent's id.
    AgentId: "gen_ai.agent.id" "agent.id";
    /// Where a message between agents goes.
    Destination: "messaging.destination";
    /// The conversation.
    Conversation: "gen_ai.conversation.id";
    /// LangChain's thread, which is its conversation.
    Thread: "traceloop.association.properties.thread_id" "langsmith.metadata.thread_id"
        "langfuse.observation.metadata.thread_id" "langfuse.trace.metadata.thread_id";
    /// The session that the application names.
    Session: "session.id" "gen_ai.session.id" "langfuse.session.id" "traceloop.association.properties.session_id"
        "langsmith.metadata.session_id" "ai.telemetry.metadata.sessionId" "ai.telemetry.metadata.session_id"
        "ai.telemetry.metadata.conversationId" "ai.telemetry.metadata.threadId" "ai.telemetry.metadata.chatId"
        "gcp.vertex.agent.session_id" "judgment.session_id"
        "lmnr.association.properties.session_id" "confident.trace.thread_id" "ag.session.id" "honeyhive.session_id"
        "anthropic.session.id";
    /// OpenInference's JSON text of framework facts.
    Metadata: "metadata";

    // A tool call.
    /// What traceloop calls the thing at work.
    EntityName: "traceloop.entity.name";
    /// The tool.
    ToolName: "gen_ai.tool.name" "tool.name" "ai.toolCall.name" "tool_name" "haystack.tool.name" "spring.ai.tool.definition.name"
        "lk.function_tool.name" "confident.tool.name" "au.tool.name" "parameter.function_name"
        "pydantic_ai.tool.name";
    /// The call's id.
    CallId: "gen_ai.tool.call.id" "gen_ai.tool.call_id" "ai.toolCall.id" "tool_call.id" "tool.id" "tool.call.id" "tool_use_id"
        "lk.function_tool.id" "tool.call_id" "gen_ai.tool_call.id";
    /// Its arguments.
    Arguments: "gen_ai.tool.call.arguments" "gen_ai.tool.arguments" "gen_ai.tool.input" "ai.toolCall.args"
        "tool_arguments" "gen_ai.tool.call.input" "spring.ai.tool.call.arguments" "lk.function_tool.arguments"
        "lk.pii.function_tool.arguments"
        "tool.arguments" "tool.input" "gen_ai.tool.args" "tool_args" "parameter.function_args";
    /// Its result.
    Result: "gen_ai.tool.call.result" "gen_ai.tool.result" "gen_ai.tool.output" "ai.toolCall.result" "tool_response"
        "gen_ai.tool.call.output" "spring.ai.tool.call.result" "lk.function_tool.output" "lk.pii.function_tool.output" "tool.output" "tool.result"
        "result.content.0.text" "anthropic.tool_result.content";
    /// The exit code of the process that the tool ran.
    ExitCode: "process.exit.code";
    /// What `AgentOps` calls the arguments that a model asks with, and OpenInference the form of them.
    ToolParameters: "tool.parameters";
    /// Its arguments as google-adk writes them, or a stand-in for them.
    AdkArguments: "gcp.vertex.agent.tool_call_args";
    /// Its result as google-adk writes it, or a stand-in for it.
    AdkResult: "gcp.vertex.agent.tool_response";
    /// What went into the span, whatever it is.
    Input: "input.value" "traceloop.entity.input" "gen_ai.task.input" "gen_ai.prompt" "langfuse.observation.input"
        "request_data" "gen_ai.prompt_json";
    /// What came out of the span, whatever it is.
    Output: "output.value" "traceloop.entity.output" "gen_ai.task.output" "final_result" "gen_ai.completion"
        "langfuse.observation.output" "response_data" "gen_ai.output" "gen_ai.completion_json";

    // A model call.
    /// What older versions of traceloop call the operation of a model.
    LlmRequest: "llm.request.type";
    /// The model.
    Model: "gen_ai.response.model" "gen_ai.request.model" "llm.model_name" "ai.response.model" "ai.model.id"
        "langfuse.observation.model.name" "langsmith.metadata.ls_model_name" "llm.model" "mlflow.llm.model" "genkit:name"
        "judgment.llm.model" "confident.llm.model" "au.llm.name";
    /// Tokens read.
    InputTokens: "gen_ai.usage.input_tokens" "gen_ai.usage.prompt_tokens" "llm.token_count.prompt" "ai.usage.promptTokens"
        "ai.usage.inputTokens" "llm.usage.prompt_tokens"
        "confident.llm.input_token_count" "au.llm.usage.prompt_tokens" "gen_ai.response.prompt_tokens";
    /// Of these, from the provider's cache.
    CachedTokens: "gen_ai.usage.cache_read.input_tokens" "gen_ai.usage.cache_read_input_tokens"
        "llm.token_count.prompt_details.cache_read" "ai.usage.cachedInputTokens" "ai.usage.inputTokenDetails.cacheReadTokens"
        "gen_ai.usage.cached_tokens" "gen_ai.usage.details.cache_read_tokens" "judgment.usage.cache_read_input_tokens"
        "gen_ai.usage.cache_read_tokens" "gen_ai.usage.input_tokens.cached";
    /// Tokens read that did not come from it, where these alone are told, or beside all that were read.
    UncachedTokens: "judgment.usage.non_cached_input_tokens" "ai.usage.inputTokenDetails.noCacheTokens";
    /// Tokens written to it.
    CacheWrites: "gen_ai.usage.cache_creation.input_tokens" "gen_ai.usage.cache_creation_input_tokens"
        "gen_ai.usage.cache_write_input_tokens" "llm.token_count.prompt_details.cache_write"
        "judgment.usage.cache_creation_input_tokens" "gen_ai.usage.input_tokens.cache_write";
    /// Tokens written.
    OutputTokens: "gen_ai.usage.output_tokens" "gen_ai.usage.completion_tokens" "llm.token_count.completion"
        "ai.usage.completionTokens" "ai.usage.outputTokens" "llm.usage.completion_tokens" "judgment.usage.output_tokens"
        "confident.llm.output_token_count" "au.llm.usage.completion_tokens" "gen_ai.response.completion_tokens";
    /// Of these, or beside them, what it thought.
    ReasoningTokens: "gen_ai.usage.reasoning.output_tokens" "gen_ai.usage.reasoning_tokens"
        "gen_ai.usage.details.reasoning_tokens" "llm.token_count.completion_details.reasoning" "ai.usage.reasoningTokens"
        "gen_ai.usage.output_tokens.reasoning";
    /// What it thought, where that is never among those.
    ThoughtTokens: "gen_ai.usage.experimental.reasoning_tokens";
    /// Who made the model, in Vercel's words.
    Provider: "ai.model.provider";
    /// Tokens read and written, all together.
    TotalTokens: "gen_ai.usage.total_tokens" "llm.token_count.total" "llm.usage.total_tokens" "ai.usage.totalTokens";
    /// Tokens by kind, as an object.
    UsageDetails: "langfuse.observation.usage_details" "mlflow.chat.tokenUsage" "langwatch.metrics";
    /// The cost in US dollars.
    Cost: "operation.cost" "llm.cost.total" "gen_ai.usage.cost" "gen_ai.cost.total_cost" "gen_ai.cost.total"
        "langfuse.observation.cost_details" "judgment.usage.total_cost_usd" "gen_ai.usage.total_cost"
        "gen_ai.usage.cost_usd" "litellm.cost.total" "vercel.ai_gateway.cost.total";
    /// The id of the model's answer.
    ResponseId: "gen_ai.response.id" "ai.response.id";
    /// `LiteLLM`'s id of a call, which its callback writes on whichever span is around the call.
    LiteLlmCall: "litellm.call_id";
    /// Why the model stopped.
    FinishReason: "gen_ai.response.finish_reasons" "gen_ai.response.finish_reason" "llm.finish_reason"
        "llm.response.finish_reason" "ai.response.finishReason" "stop_reason" "gen_ai.completion.0.finish_reason"
        "anthropic.message.stop_reason";
    /// What the agent or model was given.
    InputMessages: "gen_ai.input.messages";
    /// What the Vercel AI SDK's agent was given.
    Prompt: "ai.prompt";
    /// The messages that the model answered.
    OutputMessages: "gen_ai.output.messages";
    /// The text that the model answered.
    ResponseText: "ai.response.text";
    /// google-adk's copy of a response.
    AdkResponse: "gcp.vertex.agent.llm_response";
    /// The tool calls that the model answered.
    ResponseToolCalls: "ai.response.toolCalls";

    // What went wrong, what was tried again, who took over.
    /// The kind of error.
    ErrorType: "error.type" "gen_ai.tool.error.type";
    /// The state in which the operation ended, in words.
    TaskStatus: "gen_ai.task.status" "gen_ai.tool.status" "tool.status" "langfuse.observation.level"
        "au.tool.status" "gen_ai.tool.call.outcome";
    /// What went wrong, in words.
    StatusMessage: "langfuse.observation.status_message";
    /// How many times the request was sent before.
    ResendCount: "http.request.resend_count";
    /// The tools that an agent may use.
    ToolDefinitions: "crewai.agent.tools" "gen_ai.tool.definitions" "mlflow.chat.tools";
    /// A CrewAI agent's name.
    CrewRole: "crewai.agent.role";
    /// How many times the tool was tried before.
    RetryAttempt: "pydantic_ai.tool.retry.attempt";
    /// Who gave control away.
    HandoffFrom: "gen_ai.handoff.from_agent" "langgraph.command.source_node" "from_agent";
    /// Who got control.
    HandoffTo: "gen_ai.handoff.to_agent" "langgraph.command.goto_node" "to_agent";
}

/// Prefixes of the flat keys of a model's answer: OpenInference's, and traceloop's former ones.
const ANSWERS: [&str; 2] = ["llm.output_messages.", "gen_ai.completion."];

/// Prefix of the flat keys in which older versions of traceloop tell what a model was given.
const GIVEN: &[u8] = b"gen_ai.prompt.";

/// The facts of one span. Of several spans one after the other: what is there is what the ranks say.
pub(super) struct Facts<'a> {
    /// Of slots without a rank, what an earlier span had in them.
    values: [ValueView<'a>; SLOTS],
    /// Which key filled the slot: its place in [`KEYS`], or [`UNSET`].
    ranks: [u16; SLOTS],
    /// What the flat keys of a model's answer say.
    pub(super) answered: Answered<'a>,
    /// What the flat keys of a model's input say that tools answered.
    pub(super) given: FlatAnswers<'a>,
    /// Who the user's own attributes say it was.
    worker: Named<'a>,
}

/// A model's answer as OpenInference (and older versions of traceloop) spread it over flat keys.
#[derive(Default)]
pub(super) struct Answered<'a> {
    /// How many tool calls it asks for.
    pub(super) calls: u32,
    /// The first of them, in any order.
    pub(super) asked: Vec<FlatRequest<'a>>,
    /// The first text.
    pub(super) text: Option<ValueView<'a>>,
}

/// Most calls of one answer that are known one by one.
pub(super) const ASKED_MAX: usize = 16;

/// A call that an answer asks for; what it does not say is empty.
#[derive(Clone, Copy)]
pub(super) struct FlatRequest<'a> {
    /// Which call of which message, as it is written.
    place: &'a str,
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) arguments: ValueView<'a>,
}

/// A key that says something.
#[derive(Clone, Copy)]
enum Key<'a> {
    /// Its place in [`KEYS`].
    Known(u16),
    /// What follows one of the prefixes in [`ANSWERS`].
    Answer(&'a str),
    /// What follows [`GIVEN`].
    Given(&'a str),
    /// Its place among the names of the user's attributes for the worker.
    Worker(usize),
}

impl<'a> Key<'a> {
    #[inline]
    fn of(key: &'a [u8], workers: &Workers) -> Option<Self> {
        if let Some(place) = place(key) {
            return Some(Self::Known(place));
        }
        let mut prefixes = ANSWERS.iter();
        let rest = prefixes.find_map(|prefix| key.strip_prefix(prefix.as_bytes()));
        if let Some(rest) = rest {
            return Some(Self::Answer(std::str::from_utf8(rest).ok()?));
        }
        match key.strip_prefix(GIVEN) {
            Some(rest) => Some(Self::Given(std::str::from_utf8(rest).ok()?)),
            None => workers.place(key).map(Self::Worker),
        }
    }
}

/// The rank of a slot without a value.
const UNSET: u16 = u16::MAX;

impl<'a> Facts<'a> {
    /// No facts yet.
    pub(super) fn none() -> Self {
        Self {
            worker: Named::default(),
            values: [ValueView::Empty; SLOTS],
            ranks: [UNSET; SLOTS],
            answered: Answered::default(),
            given: FlatAnswers::default(),
        }
    }

    /// Reads the next span, and sorts its attributes meanwhile. What was known of the one before is forgotten.
    pub(super) fn read_next(
        &mut self,
        spans: &mut Spans<'a>,
        workers: &Workers,
    ) -> Option<Result<SpanView<'a>, Problem>> {
        self.ranks = [UNSET; SLOTS];
        self.answered = Answered::default();
        self.given = FlatAnswers::default();
        self.worker = Named::default();
        let pick = |key| Key::of(key, workers);
        spans.next_picking(pick, |key, value| self.sort(key, value))
    }

    /// Sorts attributes that have been read.
    pub(super) fn of(attributes: &Attributes<'a>) -> Self {
        let (mut facts, workers) = (Self::none(), Workers::default());
        for (key, value) in attributes.picked(|key| Key::of(key, &workers)) {
            facts.sort(key, value);
        }
        facts
    }

    /// Puts a value into the slot of its key, or to the worker's names.
    fn sort(&mut self, key: Key<'a>, value: ValueView<'a>) {
        match key {
            Key::Worker(place) => self.worker.take(place, value),
            Key::Known(place) => self.take(place, value),
            Key::Answer(rest) => self.answered.read(rest, value),
            Key::Given(rest) => self.given.read(rest, value),
        }
    }

    fn take(&mut self, place: u16, value: ValueView<'a>) {
        let slot = KEYS[usize::from(place)].1 as usize;
        // The same key again replaces its value, as decoding into a map would.
        if place <= self.ranks[slot] {
            self.values[slot] = value;
            self.ranks[slot] = place;
        }
    }

    /// Who the user's own attributes say it was, where none of these is a fact as well.
    pub(super) fn worker(&self) -> Option<&'a str> {
        self.worker.name()
    }

    /// Whether the span carries the fact at all.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.ranks[slot as usize] != UNSET
    }

    /// The fact as it stands; [`ValueView::Empty`] where the span does not carry it.
    pub(super) fn value(&self, slot: Slot) -> ValueView<'a> {
        if self.has(slot) {
            self.values[slot as usize]
        } else {
            ValueView::Empty
        }
    }

    /// The fact, if it is a text with something in it.
    pub(super) fn text(&self, slot: Slot) -> Option<&'a str> {
        match self.value(slot) {
            ValueView::Str(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The fact as one of a convention's words, in lower case: whoever writes it by hand may have it in capitals.
    pub(super) fn word(&self, slot: Slot) -> Option<Cow<'a, str>> {
        let word = self.text(slot)?;
        let is_lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
        Some(if is_lower {
            Cow::Borrowed(word)
        } else {
            Cow::Owned(word.to_ascii_lowercase())
        })
    }

    /// The fact as an id: a text that names something, or a number as text.
    pub(super) fn id(&self, slot: Slot) -> Option<Cow<'a, str>> {
        if let ValueView::Int(number) = self.value(slot) {
            return Some(Cow::Owned(number.to_string()));
        }
        let text = self.text(slot).filter(|id| names::is_id(id));
        text.map(Cow::Borrowed)
    }

    /// The fact as a count; zero where it is missing or none.
    pub(super) fn count(&self, slot: Slot) -> u64 {
        self.number(slot).map_or(0, |number| number as u64)
    }

    /// The fact as a number that is not negative, whether it was sent as one or as text.
    pub(super) fn number(&self, slot: Slot) -> Option<f64> {
        let number = match self.value(slot) {
            ValueView::Int(number) => number as f64,
            ValueView::Double(number) => number,
            ValueView::Str(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (number >= 0.0).then_some(number)
    }
}

impl<'a> Answered<'a> {
    /// Takes what follows the prefix: `0.message.tool_calls.1.tool_call.function.name`, `0.tool_calls.1.name`,
    /// `0.message.content`, `0.message.contents.0.message_content.text`, `0.content`.
    fn read(&mut self, rest: &'a str, value: ValueView<'a>) {
        let (_, part) = rest.split_once('.').unwrap_or_default();
        let part = part.strip_prefix("message.").unwrap_or(part);
        if let Some(call) = part.strip_prefix("tool_calls.") {
            let Some((_, fact)) = call.split_once('.') else {
                return;
            };
            let place = &rest[..rest.len() - fact.len()];
            return self.read_call(place, fact.rsplit('.').next(), value);
        }
        let is_text = matches!(rest.rsplit('.').next(), Some("content" | "text"));
        if is_text && self.text.is_none() {
            let says_nothing = match value {
                ValueView::Str(text) => text.trim().is_empty(),
                value => matches!(value, ValueView::Empty),
            };
            self.text = Some(value).filter(|_| !says_nothing);
        }
    }

    /// Takes what one key says of the call of a place.
    fn read_call(&mut self, place: &'a str, fact: Option<&str>, value: ValueView<'a>) {
        let known = self.asked.iter().position(|asked| asked.place == place);
        let known = known.unwrap_or(self.asked.len());
        if known == ASKED_MAX {
            self.calls += u32::from(fact == Some("name"));
            return;
        }
        if known == self.asked.len() {
            self.asked.push(FlatRequest {
                place,
                id: "",
                tool: "",
                arguments: ValueView::Empty,
            });
        }
        let asked = &mut self.asked[known];
        let text = value.as_str().unwrap_or_default();
        match fact {
            Some("name") => {
                self.calls += u32::from(asked.tool.is_empty());
                asked.tool = text;
            }
            Some("id") => asked.id = text,
            Some("arguments") => asked.arguments = value,
            _ => {}
        }
    }
}

/// Buckets of the key index; several times the keys, so that nearly every lookup ends at its first bucket.
const BUCKETS: usize = 1024;

/// Open addressing over [`KEYS`]: the place of a key, or [`UNSET`].
static INDEX: [u16; BUCKETS] = index();

const fn index() -> [u16; BUCKETS] {
    assert!(
        KEYS.len() < BUCKETS / 2,
        "the key index is too full to be quick"
    );
    let mut index = [UNSET; BUCKETS];
    let mut place = 0;
    while place < KEYS.len() {
        let mut bucket = bucket(KEYS[place].0.as_bytes());
        while index[bucket] != UNSET {
            bucket = (bucket + 1) % BUCKETS;
        }
        index[bucket] = place as u16;
        place += 1;
    }
    index
}

/// Length, the last two bytes and one from the middle tell the keys apart well enough.
const fn bucket(key: &[u8]) -> usize {
    let length = key.len();
    if length < 3 {
        return length;
    }
    let tail = key[length - 1] as usize * 7 + key[length - 2] as usize * 31;
    (tail + key[length / 2] as usize * 97 + key[length - length / 3] as usize * 13 + length * 5)
        % BUCKETS
}

/// Whether a key is in the table.
pub(super) fn is_key(key: &str) -> bool {
    place(key.as_bytes()).is_some()
}

fn place(key: &[u8]) -> Option<u16> {
    let mut bucket = bucket(key);
    loop {
        let place = INDEX[bucket];
        if place == UNSET {
            return None;
        }
        if equal_names(KEYS[usize::from(place)].0.as_bytes(), key) {
            return Some(place);
        }
        bucket = (bucket + 1) % BUCKETS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given keys of every short length, they are looked up and not found.
    #[test]
    fn short_keys_are_strangers() {
        for length in 0..40 {
            assert_eq!(place("~".repeat(length).as_bytes()), None);
        }
    }

    /// Given keys that are no text behind what begins some that are known, they are strangers: nobody else checks those that are
    /// known.
    #[test]
    fn keys_that_are_no_text_are_strangers() {
        for prefix in [ANSWERS[0].as_bytes(), ANSWERS[1].as_bytes(), GIVEN] {
            let key = |end: &[u8]| Key::of(&[prefix, end].concat(), &Workers::default()).is_some();
            assert!(key(b"0.content"));
            assert!(!key(b"0.content\xff"));
        }
    }

    /// Every key of the table is found at its own place, and a stranger at none: the index is complete.
    #[test]
    fn every_key_is_found() {
        for (expected, (key, _)) in KEYS.iter().enumerate() {
            assert_eq!(place(key.as_bytes()), Some(expected as u16), "{key}");
        }
        for stranger in [
            "",
            "a",
            "gen_ai.tool.nam",
            "llm.tools.0.tool.json_schema",
            "http.request.method",
        ] {
            assert_eq!(place(stranger.as_bytes()), None, "{stranger}");
        }
    }
}
