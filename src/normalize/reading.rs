//! One span being read: what the dialects share when they turn facts into events.
//!
//! A dialect decides what a span is; how a failure, a tool call or a model call is put together from the facts is the
//! same for all of them and is written here. Events leave in the order in which they are told, each with an identity
//! made of trace, span and its number within the span, so that a span delivered twice gives the same events twice.

use std::borrow::Cow;

use crate::engine::event::{
    AgentSpan, Answer, Body, Event, Handoff, ID_BYTES_MAX, ModelCall, Recorded, RunEnd, SpanId,
    Text, ToolCall, TraceId, Traits,
};
use crate::engine::policy::Policy;
use crate::otlp::{SpanView, ValueView};

use super::answer::{self, Requested};
use super::call::Call;
use super::facts::{Facts, Slot};
use super::given::{self, ToolAnswer};
use super::history::History;
use super::names::{self, Names};
use super::reply::Reply;
use super::report::Report;
use super::scopes::{self, Dialect};
use super::texts::{messages_text, only_words};
use super::value::{Arguments, Now};
use super::{ended, fingerprint, hand_offs, usage, value, wrappers};

/// One span, its facts, and the report being written about it.
pub(super) struct Reading<'r, 'a> {
    pub(super) span: &'r SpanView<'a>,
    pub(super) facts: &'r Facts<'a>,
    /// Who did it; the dialect replaces what the common keys say where it knows better.
    pub(super) agent: Option<Cow<'a, str>>,
    report: &'r mut Report,
    names: &'r mut Names,
    /// The policy by which calls are read, as it says what is special about their tools.
    pub(super) policy: &'r Policy,
    /// Whether calls are told with their main arguments.
    reads_main: bool,
    /// Whether an id of its run or session is none, since it is too long.
    pub(super) leaves_id_out: bool,
}

impl<'r, 'a> Reading<'r, 'a> {
    /// Begins to read a span, by a policy, and with whether calls are told with their main arguments.
    pub(super) fn new(
        span: &'r SpanView<'a>,
        facts: &'r Facts<'a>,
        report: &'r mut Report,
        names: &'r mut Names,
        (policy, reads_main): (&'r Policy, bool),
    ) -> Self {
        // MLflow and Langfuse write values as JSON.
        let agent = facts.text(Slot::Agent).map(value::unquote);
        Self {
            span,
            facts,
            agent,
            report,
            names,
            policy,
            reads_main,
            leaves_id_out: false,
        }
    }

    /// Says which run the span belongs to.
    pub(super) fn run(&mut self, run_id: Option<&str>) {
        let run_id = self.usable(run_id);
        self.report.run.run_id = run_id.map(|id| self.names.id(id));
    }

    /// Says which run a call of a tool or a model belongs to: the one that its convention names, else the conversation of the GenAI
    /// conventions, which may stand beside any other. An agent's span is not asked for it: where conventions are mixed it may be
    /// the only one that has it, and would be torn from the calls below it.
    pub(super) fn run_of_call(&mut self, run_id: Option<&str>) {
        self.run(run_id);
        // In pydantic-ai, each delegated agent has a conversation of its own within the run.
        if self.report.run.run_id.is_none() && self.span.scope_name != "pydantic-ai" {
            let conversation = names::conversation(self.facts);
            self.run(conversation.as_deref());
        }
    }

    /// Says which session the span belongs to.
    pub(super) fn session(&mut self, session_id: Option<&str>) {
        let session_id = self.usable(session_id);
        self.report.run.session_id = session_id.map(|id| self.names.id(id));
    }

    /// An id as it stands: cut short it would be somebody else's.
    fn usable<'i>(&mut self, id: Option<&'i str>) -> Option<&'i str> {
        let id = id.filter(|id| names::is_id(id))?;
        self.leaves_id_out |= id.len() > ID_BYTES_MAX;
        (id.len() <= ID_BYTES_MAX).then_some(id)
    }

    /// Says which trace the span's trace continues.
    pub(super) fn continues(&mut self, trace: TraceId) {
        self.report.run.continues = Some(trace);
    }

    /// Whether the span has no parent.
    pub(super) fn is_root(&self) -> bool {
        self.span.parent_span_id == [0; 8]
    }

    /// Tells what the span was busy with from its start to its end.
    pub(super) fn tell(&mut self, body: Body) {
        self.tell_during(self.span.start_ns, self.span.end_ns, body);
    }

    /// Tells what happened at one moment of the span.
    pub(super) fn tell_at(&mut self, at_ns: u64, body: Body) {
        self.tell_during(at_ns, at_ns, body);
    }

    /// Tells what the span was busy with and is told elsewhere too, under an identity that both know.
    pub(super) fn tell_named(&mut self, id: u64, body: Body) {
        self.push(id, self.span.start_ns, self.span.end_ns, body);
    }

    fn tell_during(&mut self, start_ns: u64, end_ns: u64, body: Body) {
        // A byte as a rule, which log records know for the first; a span may tell of more.
        let number = (self.report.events.len() as u32).to_le_bytes();
        let bytes = if number[1..] == [0; 3] { 1 } else { 4 };
        let number = &number[..bytes];
        let id = value::id_hash(&[&self.span.trace_id, &self.span.span_id, number]);
        self.push(id, start_ns, end_ns, body);
    }

    fn push(&mut self, id: u64, start_ns: u64, end_ns: u64, body: Body) {
        let agent = self.agent_name();
        // Most spans tell of one event, and room for four would be a kilobyte and a half to fill and to clear.
        if self.report.events.is_empty() {
            self.report.events.reserve_exact(1);
        }
        self.report.events.push(Event {
            id,
            trace: TraceId(self.span.trace_id),
            span: SpanId(self.span.span_id),
            parent: SpanId(self.span.parent_span_id),
            start_ns,
            end_ns: end_ns.max(start_ns),
            agent,
            worker: None,
            body,
        });
    }

    /// Tells that the span is the root of a request to an agent: a user spoke when it began, and the run or this turn of
    /// it was over when it ended.
    pub(super) fn tell_turn(&mut self) {
        let error = self.failure();
        self.tell_at(self.span.start_ns, Body::UserMessage);
        self.tell_at(self.span.end_ns, Body::RunEnd(RunEnd { error }));
    }

    /// What an agent within the run was asked by these messages: the words, where they are one message. What a user asks at the
    /// root is a turn, which may be asked for again.
    pub(super) fn errand(&self, messages: ValueView<'_>) -> Option<Recorded> {
        if self.is_root() {
            return None;
        }
        let given = messages_text(messages)?;
        let paths: [&[&str]; 3] = [&["messages"], &["inputs", "messages"], &[]];
        let messages = paths.iter().find_map(|path| value::member(&given, path))?;
        let words = only_words(messages)?;
        Some(value::input(ValueView::Str(&words)))
    }

    /// Tells that an agent was at work. Without a name there is nothing to tell.
    pub(super) fn tell_agent(&mut self, input: Recorded, output: Recorded) {
        if let Some(name) = self.agent_name() {
            self.tell(Body::AgentSpan(AgentSpan {
                name,
                input,
                output,
            }));
        }
    }

    fn agent_name(&mut self) -> Option<Text> {
        let agent = self.agent.as_deref()?;
        Some(self.names.name(agent))
    }

    /// Tells of a tool call, and of the hand-off that it is, where its name says so, its receiver can be read, and it went well.
    pub(super) fn tell_call(&mut self, call: &Call<'_>) {
        let (tool, given) = self.names.tool(call.tool);
        // LangChain's message around a result, whoever watched; it has the call's id.
        let message = call.result.as_deref().and_then(wrappers::langchain_message);
        let (inner, inner_id, said_failed) = message.map_or((None, None, false), |message| {
            (Some(message.content), message.call_id, message.failed)
        });
        let id = call.id.as_deref().or(inner_id.as_deref());
        let failed = call.failed || said_failed;
        let whole = inner.as_deref().or(call.result.as_deref());
        let result = whole.map(|whole| wrappers::result(whole).unwrap_or(Cow::Borrowed(whole)));
        let arguments = call.arguments.as_deref().map(wrappers::arguments);
        let how = self.policy.tool(&tool, self.agent.as_deref());
        let recorded = arguments.as_deref().unwrap_or_default();
        let now = Now::began(self.span.start_ns);
        let recorded = value::without_clock(recorded, &tool, now);
        let given_arguments = Arguments::of(&recorded);
        let input = arguments
            .as_ref()
            .map_or(Recorded::NotRecorded, |_| given_arguments.input(&how));
        let (result, told) = ended::told(&how, &tool, &given_arguments, whole, result.as_deref());
        let result = result.as_deref();
        let asked = given_arguments.json();
        let error = ended::why(self.failure_of_call(asked), failed, told, asked, result);
        let (manner, traits) =
            fingerprint::deeds(&how, &tool, given.manner, asked, result.unwrap_or_default());
        let main = if self.reads_main {
            fingerprint::main(&how, &tool, asked)
        } else {
            None
        };
        let receiver = if given.hands_off {
            hand_offs::receiver(call.tool, asked)
        } else {
            None
        };
        // Where it failed, or nobody received it, control stays where it is.
        let is_told = receiver.is_some() || call.handoff_told_elsewhere;
        let hands_off = given.hands_off && is_told && error.is_none();
        self.tell(Body::ToolCall(ToolCall {
            call_id: id
                .filter(|id| names::is_id(id))
                .map(|id| value::id_hash(&[id.as_bytes()])),
            input,
            output: result.map_or(Recorded::NotRecorded, |json| {
                value::answer_json(&how, given.result_kind, json, &given_arguments)
            }),
            error,
            hands_off,
            manner,
            guarded: None,
            traits: Traits { main, ..traits },
            tool,
        }));
        if hands_off
            && !call.handoff_told_elsewhere
            && let Some(to) = receiver
        {
            let from = self.agent_name();
            self.tell_handoff(from, &to);
        }
    }

    /// Tells that control went to another agent when the span began.
    pub(super) fn tell_handoff(&mut self, from: Option<Text>, to: &str) {
        let to = value::name(to);
        self.tell_at(self.span.start_ns, Body::Handoff(Handoff { from, to }));
    }

    /// Tells of a model call, with the model, the tokens and the cost that the facts carry.
    pub(super) fn tell_model_call(&mut self) {
        self.tell_model_call_with(&Reply::default());
    }

    /// Tells of a model call with what the facts carry, and where they say nothing, with what stands in its reply.
    pub(super) fn tell_model_call_with(&mut self, reply: &Reply) {
        let facts = self.facts;
        let call_id = facts
            .id(Slot::ResponseId)
            .map(|id| value::id_hash(&[id.as_bytes()]));
        let error = self.failure();
        let mut usage = usage::of(facts);
        if (usage.input_tokens, usage.output_tokens) == (0, 0) {
            (usage.input_tokens, usage.output_tokens) = (reply.input_tokens, reply.output_tokens);
        }
        let model = facts.text(Slot::Model).or(reply.model.as_deref());
        let model = model.map(value::unquote);
        let model = model.map(|model| self.names.name(&model));
        let answer = match answer::of(self.span, facts) {
            Answer::Unknown => reply.answer,
            known => known,
        };
        self.tell(Body::ModelCall(ModelCall {
            model,
            call_id,
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost_microusd: usage.cost_microusd,
            cost_is_estimate: false,
            witness: None,
            answer,
            error,
        }));
        if facts.count(Slot::ResendCount) > 0 {
            self.tell_at(self.span.start_ns, Body::Retry { tool: None });
        }
    }

    /// Tells of a model call, and of the tools that it asked for: for dialects whose tool spans leave out the call's id.
    ///
    /// What a provider's client tells is all that there is of a loop written by hand around it, so there the arguments are
    /// told too, and what the tools answered: together a call, where no span of a tool tells of it.
    pub(super) fn tell_model_call_and_asked(&mut self) {
        self.tell_model_call();
        if self.facts.has(Slot::LiteLlmCall) && self.span.scope_name != scopes::LITELLM {
            // Of the last call within a span that began before the first: `litellm` reads each where it stands.
            return;
        }
        if Dialect::is_client(self.span.scope_name) {
            return self.tell_asked_and_answered();
        }
        for mut asked in answer::asked(self.span, self.facts) {
            asked.arguments = None;
            self.tell_asked(&asked);
        }
    }

    /// Tells what a client's call of a model shows of tools: what the model asks for, and what answered since it was last asked.
    pub(super) fn tell_asked_and_answered(&mut self) {
        self.tell_exchange_of(answer::asked(self.span, self.facts));
    }

    /// Tells the same, with what the model asks for as its own dialect has it.
    pub(super) fn tell_exchange_of(&mut self, asked: Vec<Requested<'_>>) {
        let given = given::given_messages(self.span, self.facts).unwrap_or_default();
        let given = History::of(&given);
        let mut asked = asked;
        given::name_asked(self.facts, &given, &mut asked);
        let prompt = given.first_prompt();
        self.answer_to(prompt.or_else(|| self.facts.given.first_prompt()));
        if self.is_root() && self.report.run.run_id.is_none() {
            let first = given::first_call(self.facts, &given, &asked);
            self.run(first.as_deref());
        }
        // Pipecat's spans have an answer's words alone: what it asked for stands in what the model is given next.
        if self.span.scope_name == "pipecat" {
            asked = given.asked_before();
        }
        self.tell_exchange(&asked, &given::tool_answers(self.facts, &given));
    }

    /// Says to which prompt the model's call that was told answers.
    fn answer_to(&mut self, prompt: Option<u64>) {
        self.change_answer(|answer| answer::to_prompt(answer, prompt));
    }

    /// Changes what is known of the answer of the model's call that was told.
    pub(super) fn change_answer(&mut self, change: impl Fn(Answer) -> Answer) {
        for event in &mut self.report.events {
            if let Body::ModelCall(call) = &mut event.body {
                call.answer = change(call.answer);
            }
        }
    }

    /// Tells what a model asked for, and what the tools that it had asked for before answered.
    pub(super) fn tell_exchange(&mut self, asked: &[Requested<'_>], answers: &[ToolAnswer<'_>]) {
        for asked in asked {
            self.tell_asked(asked);
        }
        // They were all there when the span began, one after the other.
        for (later, answer) in answers.iter().rev().enumerate() {
            let at_ns = self.span.start_ns.saturating_sub(later as u64);
            self.tell_tool_answer(answer, at_ns);
        }
    }

    /// Tells what a model had asked for before the span began, and what the tools answered: for calls of a model whose answer is
    /// seen only where it is given again.
    pub(super) fn tell_exchange_before(
        &mut self,
        asked: &[Requested<'_>],
        answers: &[ToolAnswer<'_>],
    ) {
        let before_ns = self.span.start_ns.saturating_sub(answers.len() as u64 + 1);
        for asked in asked {
            self.tell_asked_during(asked, before_ns, before_ns);
        }
        self.tell_exchange(&[], answers);
    }

    /// Tells that a model asked for a call.
    pub(super) fn tell_asked(&mut self, asked: &Requested<'_>) {
        self.tell_asked_during(asked, self.span.start_ns, self.span.end_ns);
    }

    fn tell_asked_during(&mut self, asked: &Requested<'_>, start_ns: u64, end_ns: u64) {
        let tool = self.names.name(&asked.tool);
        let how = self.policy.tool(&tool, self.agent.as_deref());
        // What a model asks for it has written by the end.
        if let Some(call) = asked.report(tool.clone(), &how, Now::began(end_ns)) {
            let id = asked.identity(&self.span.trace_id, self.span.span_id);
            self.push(id, start_ns, end_ns, Body::Requested(call));
        }
    }

    /// Tells what a tool answered, which was over when the span began: like a record of it, a report without a span.
    fn tell_tool_answer(&mut self, answer: &ToolAnswer<'_>, at_ns: u64) {
        let how = self.policy.tool("", self.agent.as_deref());
        let call = answer.report(&how);
        let id = answer.identity(&self.span.trace_id, self.span.span_id);
        self.push(id, at_ns, at_ns, Body::ToolCall(call));
        if let Some(event) = self.report.events.last_mut() {
            event.parent = std::mem::take(&mut event.span);
        }
    }
}
