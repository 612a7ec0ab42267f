//! From a view of a span or log record to the engine's vocabulary.
//!
//! A span says which framework made it through its scope name and, where that says nothing, through its keys
//! (`dialect`); one pass over its attributes sorts them into the facts that every dialect knows (`facts`); the file
//! of the dialect reads those facts, undoes the framework's wrappers, and writes events into the [`Report`].
//! Normalizing never fails: what cannot be read is left out and counted, and a span that tells of nothing an agent did
//! gives no event, though it may still say which run its trace belongs to. Arguments and results leave this room only
//! as fingerprints and redacted samples.
//!
//! Adding a dialect: a variant and a scope name in `dialect`, its keys in the table of `facts`, a file with its
//! exceptions, a captured span and its expected event.

mod answer;
#[cfg(test)]
mod captured;
mod claude_code;
mod clock;
mod codex;
mod dialect;
mod digest;
mod emptiness;
pub mod events_file;
mod facts;
mod gemini_cli;
mod gen_ai;
mod hash;
mod json;
mod mask;
mod mcp;
mod names;
mod openinference;
mod openllmetry;
mod reading;
mod records;
mod redact;
mod sample;
mod shell;
mod tool_names;
mod value;
mod vercel;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::event::{Event, Text, TraceId};
use crate::otlp::{Attributes, LogView, SpanView};

use self::dialect::Dialect;
use self::facts::Facts;
use self::names::Names;
use self::reading::Reading;

/// What one span or log record says: whose run it belongs to, and what happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Which run.
    pub run: RunRef,
    /// What happened, in the order in which the source tells it; often one event, for many spans none.
    pub events: Vec<Event>,
}

/// What a report says about the run it belongs to. The shard resolves it to a run id: `run_id` where there is one,
/// else what an earlier report of the same trace said, else the trace id in hex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunRef {
    /// The trace.
    pub trace: TraceId,
    /// The conversation, session or run id on which the dialect keys its runs, as it stands in the source.
    pub run_id: Option<Text>,
    /// The session, where it is named apart from the run: for showing and for swarms, never for routing.
    pub session_id: Option<Text>,
    /// A trace that this trace continues, for dialects that spread one run over linked traces.
    pub continues: Option<TraceId>,
    /// The service (`service.name` of the resource).
    pub service: Option<Text>,
}

/// What a dialect made of one span or log record; the reason by which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gave at least one event.
    Told,
    /// It tells of nothing an agent did, but of the run that its trace belongs to.
    Placed,
    /// The dialect knows it, and it tells of nothing an agent did: framework steps, copies of other reports.
    Noise,
    /// An operation that the dialect does not know.
    UnknownOperation,
    /// No dialect knows it: spans of web servers, databases and the like.
    NoDialect,
}

/// How many spans and log records gave what, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`Outcome::Told`].
    pub told: u64,
    /// [`Outcome::Placed`].
    pub placed: u64,
    /// [`Outcome::Noise`].
    pub noise: u64,
    /// [`Outcome::UnknownOperation`].
    pub unknown_operation: u64,
    /// [`Outcome::NoDialect`].
    pub no_dialect: u64,
}

/// Turns views into reports, a request at a time. One serves all receivers: it holds nothing but counters.
#[derive(Debug, Default)]
pub struct Normalizer {
    outcomes: [AtomicU64; 5],
}

impl Normalizer {
    /// A normalizer with its counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a request.
    #[must_use]
    pub fn batch<'a>(&self) -> Batch<'_, 'a> {
        Batch {
            normalizer: self,
            names: Names::new(),
            service: None,
        }
    }

    /// What has been read so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let [told, placed, noise, unknown_operation, no_dialect] =
            [0, 1, 2, 3, 4].map(|outcome: usize| self.outcomes[outcome].load(Ordering::Relaxed));
        Counts {
            told,
            placed,
            noise,
            unknown_operation,
            no_dialect,
        }
    }
}

/// Reads the items of one request, and remembers what they share.
pub struct Batch<'n, 'a> {
    normalizer: &'n Normalizer,
    names: Names,
    /// The resource of the item read last, and the service that it names.
    service: Option<(Attributes<'a>, Option<Text>)>,
}

impl<'a> Batch<'_, 'a> {
    /// Reads one span and appends what it reports: at most one report, none for a span that says nothing.
    pub fn span(&mut self, span: &SpanView<'a>, out: &mut Vec<Report>) {
        let facts = Facts::of(&span.attributes);
        let mut report = Report::about(span.trace_id);
        let dialect = Dialect::of_span(span.scope_name, &facts);
        let mut reading = Reading::new(span, &facts, &mut report, &mut self.names);
        let outcome = match dialect {
            Dialect::OpenInference => openinference::span(&mut reading),
            Dialect::OpenLlmetry => openllmetry::span(&mut reading),
            Dialect::GenAi => gen_ai::span(&mut reading),
            Dialect::Vercel => vercel::span(&mut reading),
            Dialect::Mcp => mcp::span(&mut reading),
            Dialect::ClaudeCode => claude_code::span(&mut reading),
            Dialect::GeminiCli => gemini_cli::span(&mut reading),
            // Its spans are internals of the program; everything an agent did is in its log records.
            Dialect::Codex => Outcome::Noise,
            Dialect::None => Outcome::NoDialect,
        };
        self.close(report, outcome, &span.resource, out);
    }

    /// Reads one log record and appends what it reports: at most one report, none for a record that says nothing.
    pub fn log(&mut self, log: &LogView<'a>, out: &mut Vec<Report>) {
        let mut report = Report::about(log.trace_id);
        let outcome = match Dialect::of_log(log.scope_name) {
            Dialect::ClaudeCode => claude_code::log(log, &mut report),
            Dialect::Codex => codex::log(log, &mut report),
            Dialect::GeminiCli => gemini_cli::log(log, &mut report),
            // Records that frameworks write beside their spans, which say nothing more than these.
            Dialect::OpenInference
            | Dialect::OpenLlmetry
            | Dialect::GenAi
            | Dialect::Vercel
            | Dialect::Mcp => Outcome::Noise,
            Dialect::None => Outcome::NoDialect,
        };
        self.close(report, outcome, &log.resource, out);
    }

    /// Counts what became of one item, and hands its report on if there is anything in it that the shard does not know
    /// from the trace id.
    fn close(
        &mut self,
        mut report: Report,
        outcome: Outcome,
        resource: &Attributes<'a>,
        out: &mut Vec<Report>,
    ) {
        let outcome = if report.events.is_empty() {
            outcome
        } else {
            Outcome::Told
        };
        self.normalizer.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        if matches!(outcome, Outcome::Told | Outcome::Placed) {
            report.run.service = self.service(resource);
            out.push(report);
        }
    }

    /// The service that a resource names.
    fn service(&mut self, resource: &Attributes<'a>) -> Option<Text> {
        if let Some((known, service)) = &self.service
            && known.is_same(resource)
        {
            return service.clone();
        }
        let name = resource.find("service.name").and_then(|name| name.as_str());
        let service = name.filter(|name| !name.is_empty()).map(value::name);
        self.service = Some((*resource, service.clone()));
        service
    }
}

impl Report {
    fn about(trace: [u8; 16]) -> Self {
        Self {
            run: RunRef {
                trace: TraceId(trace),
                ..RunRef::default()
            },
            events: Vec::new(),
        }
    }
}
