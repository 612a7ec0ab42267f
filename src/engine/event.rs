//! What the engine is told: one vocabulary for every framework.
//!
//! `normalize` turns each span or log record into events of this file, the journal keeps them, and the engine folds them
//! into a run's state. Every text here is bounded where it is made, and every value has been redacted before it comes
//! here: nothing in an event needs protecting later. Deliberately absent: protobuf types, clocks, and raw arguments.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::guard::verdict::Answered;
use super::warning::rule::Rule;
use super::witness::Witness;

/// A shared, immutable, bounded text. Events, windows and warnings of one run point at the same bytes.
pub type Text = Arc<str>;

/// A second as times are kept, in nanoseconds.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Longest name of a tool, agent, worker or model that an event carries, in bytes.
pub const NAME_BYTES_MAX: usize = 96;

/// Longest id of a run or a session, in bytes; what is longer is a text and no id. Generous: where a cloud names a session by the
/// way to it (`projects/…/locations/…/reasoningEngines/…/sessions/…`), it has some 120.
pub const ID_BYTES_MAX: usize = 1_024;

/// Longest error text that an event carries, in bytes.
pub const ERROR_BYTES_MAX: usize = 256;

/// What stands in a sample in the place of what may not be shown, such as a key or an address of mail.
pub const HIDDEN: &str = "[redacted]";

/// Longest sample of a recorded value, in bytes: [`SAMPLE_HEAD_BYTES`] from its start and the rest from its end.
pub const SAMPLE_BYTES_MAX: usize = 256;

/// How much of a sample longer than [`SAMPLE_BYTES_MAX`] comes from the start of the value.
pub const SAMPLE_HEAD_BYTES: usize = 192;

/// Shortest arguments that say what is to be made, in bytes: with fewer, many of a kind may be wanted (`{"unit": "archer"}`).
pub const SAID_BYTES_MIN: usize = 48;

/// What stands in a sample for what was cut out of it.
pub const SAMPLE_CUT: &str = "…";

/// Fewest things that a result lists, to be known by these.
pub const ITEMS_MIN: usize = 3;

/// Most things by which a list is known.
pub const ITEMS_MAX: usize = 12;

/// Most numbers of a result that are followed from call to call; a result with more is compared as a whole.
pub const NUMBERS_MAX: usize = 6;

/// The sixteen bytes of a trace id (OTLP `trace_id`); all zero where the source has none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TraceId(pub [u8; 16]);

impl TraceId {
    /// Whether a report has a trace at all. Those that have none share nothing.
    #[must_use]
    pub fn is_set(self) -> bool {
        self.0 != [0; 16]
    }

    /// The id of a run that nobody has named: its trace in hexadecimal digits.
    #[must_use]
    pub fn run_id(self) -> Text {
        hexadecimal(&self.0).into()
    }

    /// The trace after which a run is named, as far as its id tells: an id of a conversation that is 32 such digits looks the same,
    /// and [`RunState::trace`](super::RunState::trace) knows better.
    #[must_use]
    pub fn of_run(run_id: &str) -> Option<Self> {
        let digits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if run_id.len() != 32 || !run_id.bytes().all(digits) {
            return None;
        }
        let number = u128::from_str_radix(run_id, 16).ok()?;
        Some(Self(number.to_be_bytes())).filter(|trace| trace.is_set())
    }
}

/// An id in hexadecimal digits. Of each run and each alert several are written, and `format!` takes ten times as long.
pub(crate) fn hexadecimal(id: &[u8]) -> String {
    let halves = id.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    let digits = halves.map(|half| b"0123456789abcdef"[usize::from(half)]);
    digits.map(char::from).collect()
}

/// The eight bytes of a span id (OTLP `span_id`); all zero where the source has none, as with log records.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SpanId(pub [u8; 8]);

impl SpanId {
    /// Whether an id is there at all.
    #[must_use]
    pub fn is_set(self) -> bool {
        self.0 != [0; 8]
    }
}

/// One thing that an agent did, as one span or log record reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Identity for promise P2: equal for two deliveries of the same report, different for two reports of a run.
    /// A hash of trace id, span id and the event's number within the span; for log records of what they name.
    pub id: u64,
    /// The trace that reported it.
    pub trace: TraceId,
    /// The reporting span. For log records, the span that they point at, if any.
    pub span: SpanId,
    /// The reporting span's parent.
    pub parent: SpanId,
    /// When it began, in nanoseconds since 1970. The engine orders by this (`conventions.md` §8: a tool call counts
    /// where it started).
    pub start_ns: u64,
    /// When it ended, in nanoseconds since 1970; never before `start_ns`.
    pub end_ns: u64,
    /// The agent that did it, where the report says so.
    pub agent: Option<Text>,
    /// The worker of a swarm, where one is named apart from the agent.
    pub worker: Option<Text>,
    /// What was done.
    pub body: Body,
}

/// What an event tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// A tool was called.
    ToolCall(ToolCall),
    /// A model asked for a tool. No call by itself: what it names (id, tool, arguments) completes the reports of the call
    /// that leave these out.
    Requested(ToolCall),
    /// A model was asked.
    ModelCall(ModelCall),
    /// An agent was at work for the event's whole duration; nested and successive spans of this kind show hand-offs.
    AgentSpan(AgentSpan),
    /// Control went from one agent to another, said in so many words.
    Handoff(Handoff),
    /// The agent's state changed.
    StateUpdate,
    /// Something was written to a memory.
    MemoryWrite,
    /// The framework itself reported a retry of a tool or model call.
    Retry {
        /// The tool that is tried again, where it is known.
        tool: Option<Text>,
    },
    /// A user (or a calling program) spoke: a new turn begins.
    UserMessage,
    /// The run's root span, or an explicit end. More may follow: a root may end before its descendants.
    RunEnd(RunEnd),
    /// The guard gave the agent a message about a warning, or about what would become one.
    Nudge(Nudge),
}

/// One report of a tool call. One call may be reported by up to three spans and two log records; the engine makes
/// one call of them (`conventions.md` §8.5).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool's name without framework wrappers; empty where the report does not name it (Claude Code's execution
    /// spans), which then has a call id and belongs to the call that another report names.
    pub tool: Text,
    /// Hash of the call id, where the report has one.
    pub call_id: Option<u64>,
    /// The arguments, unwrapped and canonical.
    pub input: Recorded,
    /// The result, unwrapped and canonical. A failed call without a result is `NotRecorded`.
    pub output: Recorded,
    /// Why the call failed; `None` when it did not. A failure without a text is an empty text.
    pub error: Option<Failure>,
    /// The tool passes control to another agent (`transfer_to_…`, `handoff…`, `delegate…`): kept out of repeat rules.
    pub hands_off: bool,
    /// What the tool's name, or a shell's command line, says that it does.
    pub manner: Manner,
    /// What else its arguments and its result tell.
    pub traits: Traits,
    /// The guard's part in it, where this report is the guard's.
    pub guarded: Option<Box<Guarded>>,
}

impl ToolCall {
    /// Whether it is what the guard was told that a call brought.
    #[must_use]
    pub fn is_told_result(&self) -> bool {
        self.guarded
            .as_ref()
            .is_some_and(|guarded| guarded.part == Part::Result)
    }
}

/// Whether a call looks or acts, as far as the name of its tool or the command line of a shell says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Manner {
    /// Neither says.
    #[default]
    Unknown,
    /// It looks (`get_…`, `search_…`, `git status`), and changes nothing.
    Looks,
    /// It writes (state, memory, a file) or acts on something: what it does is progress.
    Writes,
    /// It writes the agent's own plan (`TodoWrite`, `update_plan`): progress beside other calls, and none by itself.
    Plans,
}

impl Manner {
    /// Whether it writes.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Writes | Self::Plans)
    }
}

/// What the guard tells of a call that an agent asked it about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarded {
    /// Identity of the question, by which the result that is told later finds its call; 0 for a result of which nobody
    /// asked before.
    pub asked: u64,
    /// What this report tells.
    pub part: Part,
    /// Hash of the round that the caller named; 0 where it named none. Calls of one model answer are one round.
    pub round: u64,
    /// Hash of the turn that the caller named; 0 where it named none.
    pub turn: u64,
}

/// The part of a guarded call that one report tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    /// The agent asked, and makes the call.
    Question,
    /// The agent asked, and was told not to make the call, because of this rule. No result can come.
    Skipped(Rule),
    /// The same, and to end the run.
    Aborted(Rule),
    /// What the call brought.
    Result,
}

/// A message that the guard gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nudge {
    /// The rule whose warning it was about.
    pub rule: Rule,
    /// The group of that warning.
    pub group: u64,
    /// Its count at that time, with the call that was asked about.
    pub count: u64,
    /// Hash of the worker that was told; 0 where it has no name.
    pub worker: u64,
    /// The verdict: a refusal only where the guard observes, since else it is a part of the call that was refused.
    pub answered: Answered,
}

/// What arguments and result tell besides being equal or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// Fingerprint of the main arguments (path, command, query and the like), where they are not all of them; for a shell
    /// command that reads one file, of that file. `None`: the fingerprint of all arguments stands for it.
    pub main: Option<u64>,
    /// What the shell command does, where the tool runs one.
    pub command: Option<Command>,
    /// The result of a run of tests says that some failed.
    pub tests_failed: bool,
}

/// What a shell command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Something else.
    Other,
    /// It reads a file (`cat`, `head`, `tail`).
    ReadsFile,
    /// It writes a file (`echo`, `tee`, `cat >`).
    WritesFile,
    /// It changes a file (`sed`).
    EditsFile,
    /// It runs tests.
    RunsTests,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The error in words, redacted and at most [`ERROR_BYTES_MAX`] bytes; may be empty.
    pub text: Text,
    /// Hash of the whole error with volatile parts (times, ids, durations) masked: equal for the same error again.
    pub masked: u64,
    /// It says that trying again later may help: too many requests, a time-out, a broken connection, a server's own fault.
    pub transient: bool,
}

impl Failure {
    /// Whether the text is all that was said: a longer one was cut, a few bytes before the limit where a character stood across it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        const CHARACTER_BYTES_MAX: usize = 4;
        self.text.len() + CHARACTER_BYTES_MAX < ERROR_BYTES_MAX
    }
}

/// A value that a report may or may not carry. `NotRecorded` and `Redacted` equal nothing, not even themselves:
/// compare through [`Recorded::value`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Recorded {
    /// The value was there.
    Value(Value),
    /// The report does not carry it.
    #[default]
    NotRecorded,
    /// A marker stands in its place.
    Redacted,
}

impl Recorded {
    /// The value, if it was recorded.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::NotRecorded | Self::Redacted => None,
        }
    }

    /// Length of the value's canonical form in bytes; 0 where there is none.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.value().map_or(0, |value| value.bytes)
    }

    /// The sample of the value; empty where there is none.
    #[must_use]
    pub fn sample(&self) -> &str {
        self.value().map_or("", |value| &value.sample)
    }
}

/// A recorded value: what is needed to compare it, and no more of it than a redacted sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "five facts that do not depend on each other"
)]
pub struct Value {
    /// Hash of the canonical form (JSON with sorted keys, no insignificant blanks, no null members).
    pub fingerprint: u64,
    /// Of a result: the hash with volatile text (times, ids, durations) masked and without the order of lists, so that a
    /// result which only looks new counts as the same. Of arguments longer than a sample: a sketch of their words up to 4 kB,
    /// of which similar arguments have most bits in common; of shorter ones, `fingerprint`.
    pub masked: u64,
    /// Length of the canonical form in bytes; 0 for a result that is nothing at all (`""`, `null`), which says less than a
    /// result that says there is nothing (`[]`, "no results").
    pub bytes: u32,
    /// Nothing in it: `null`, `""`, `[]`, `{}`, an envelope around one of these, or a phrase that says "no results".
    pub empty: bool,
    /// Of a result: it says that something is still under way (`{"state": "running"}`, "Still being made").
    pub pending: bool,
    /// Of a result: it is a verdict that says no (`{"passed": false, …}`), or says that something has failed
    /// (`{"state": "failed"}`).
    pub denies: bool,
    /// Of a result: it is a short text in words of refusal ("The command was blocked."). Whether the call failed is not known: it
    /// may be what was asked.
    pub refuses: bool,
    /// Of a short result: it holds what was asked for (`3 °C, cloudy`), rather than that something was done.
    pub answers: bool,
    /// Of arguments: redacted sample of the canonical form for similarity, at most [`SAMPLE_BYTES_MAX`] bytes. Of a result:
    /// the same where it is kept to be given back, else empty.
    pub sample: Text,
    /// The numbers in a result, where there are some and not too many.
    pub numbers: Option<Box<Numbers>>,
    /// Of a result that lists [`ITEMS_MIN`] things or more (hits, rows, passages): hashes of these with volatile text masked, the
    /// lowest [`ITEMS_MAX`] in order, so that of two lists with much in common the hashes have much in common; else empty.
    pub items: Box<[u16]>,
}

/// The numbers in a result, by which it is seen whether they move one way from call to call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Hash of the result without them.
    pub frame: u32,
    /// How many there are: 1 to [`NUMBERS_MAX`].
    pub count: u8,
    /// These, in an order that does not depend on that of an object's members, and zeros behind.
    pub all: [f64; NUMBERS_MAX],
}

impl Value {
    /// The sample of a result that is kept to be given back; `None` where none is.
    #[must_use]
    pub fn kept(&self) -> Option<&Text> {
        Some(&self.sample).filter(|sample| !sample.is_empty())
    }

    /// The sketch of arguments that are longer than a sample; 0 of shorter ones.
    #[must_use]
    pub fn sketch(&self) -> u64 {
        if self.bytes as usize > SAMPLE_BYTES_MAX {
            self.masked
        } else {
            0
        }
    }
}

/// Marks the id of a call that its provider did not give.
const OF_PLACE: u64 = 0xffff << 48;

/// The id of a call to which its provider gave none, by the hash of the place at which a model asked for it. Reports of the
/// call that are no messages may have an id of their own.
pub(crate) fn id_of_place(hash: u64) -> u64 {
    hash | OF_PLACE
}

/// Whether an id is of that kind. By chance, one in 65,536 ids that were given seems to be.
pub(crate) fn is_of_place(id: u64) -> bool {
    id & OF_PLACE == OF_PLACE
}

/// One report of a model call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The model's name, where the report has one.
    pub model: Option<Text>,
    /// Hash of the response or request id, where several reports may tell of the same call.
    pub call_id: Option<u64>,
    /// Who tells of it, where a span does.
    pub witness: Option<Witness>,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Of the tokens read, those that came from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Cost in millionths of a US dollar, where the report has one or the model has a price.
    pub cost_microusd: Option<u64>,
    /// The cost was reckoned from tokens and list prices: a report that states a cost is trusted before it.
    pub cost_is_estimate: bool,
    /// What came back.
    pub answer: Answer,
    /// Why the call failed; `None` when it did not.
    pub error: Option<Failure>,
}

/// What a model call came back with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The report does not say.
    #[default]
    Unknown,
    /// The model asked for this many tool calls.
    ToolCalls(u32),
    /// Text alone; what [`said`] makes of its words where it was recorded, 0 where it is too short to be told from another.
    Text(Option<u64>),
}

/// How many bits of what is kept of a spoken text are its sketch.
pub const SAID_BITS: u32 = 58;

/// What is kept of a spoken text: the lower 58 bits of the sketch of its words, of which similar texts have most in common,
/// and above them how many words it has, 63 for more. Never 0.
#[must_use]
pub fn said(sketch: u64, words: u64) -> u64 {
    let bits = sketch & ((1 << SAID_BITS) - 1);
    (words.clamp(1, 63) << SAID_BITS) | bits
}

/// An agent at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSpan {
    /// The agent's name.
    pub name: Text,
    /// What it was asked, where the report carries it.
    pub input: Recorded,
    /// What it answered, where the report carries it.
    pub output: Recorded,
}

impl AgentSpan {
    /// A sample of what it was asked, where that is words and not the JSON of a program's state.
    #[must_use]
    pub fn instruction(&self) -> Option<&str> {
        let sample = &*self.input.value()?.sample;
        (!matches!(sample.as_bytes().first(), None | Some(b'{' | b'['))).then_some(sample)
    }
}

/// Control passes between two agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// Who gave it, where the report says so.
    pub from: Option<Text>,
    /// Who received it.
    pub to: Text,
}

/// The end of a run, or of one of its traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Why the run failed; `None` when it ended well.
    pub error: Option<Failure>,
}
