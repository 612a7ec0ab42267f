//! One log record being read: what the coding agents share.
//!
//! Claude Code, Codex and Gemini CLI tell most of what they do in log records, each under an event name and with keys of
//! its own. A record of something that is over carries how long it took, and so gives an event that began earlier.
//! Records have no ids of their own; an event's identity is made of what the record names, and where a span tells the
//! same thing, of the same parts, so that whichever comes second is recognised.

use std::borrow::Cow;

use crate::engine::event::{Body, Event, SpanId, Text, TraceId};
use crate::otlp::{Attributes, LogView, ValueView};

use super::{Report, value};

/// Picks attributes by their keys in one pass; where a key is missing, its value is [`ValueView::Empty`].
pub(super) fn pick<'a, const N: usize>(
    attributes: &Attributes<'a>,
    keys: [&str; N],
) -> [ValueView<'a>; N] {
    let mut picked = [ValueView::Empty; N];
    for (key, value) in attributes {
        if let Some(place) = keys.iter().position(|wanted| *wanted == key) {
            picked[place] = value;
        }
    }
    picked
}

/// A text with something in it.
pub(super) fn text(value: ValueView<'_>) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A count, which some senders write as text.
pub(super) fn count(value: ValueView<'_>) -> Option<u64> {
    match value {
        ValueView::Int(number) => u64::try_from(number).ok(),
        ValueView::Double(number) if number >= 0.0 => Some(number as u64),
        ValueView::Str(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A flag, which some senders write as text.
pub(super) fn flag(value: ValueView<'_>) -> Option<bool> {
    match value {
        ValueView::Bool(flag) => Some(flag),
        ValueView::Str("true") => Some(true),
        ValueView::Str("false") => Some(false),
        _ => None,
    }
}

/// One log record and the report being written about it.
pub(super) struct Record<'r, 'a> {
    pub(super) log: &'r LogView<'a>,
    /// The session, which is the run of a coding agent.
    pub(super) session: &'a str,
    /// Who did it, where the record says so.
    pub(super) agent: Option<Cow<'a, str>>,
    report: &'r mut Report,
}

impl<'r, 'a> Record<'r, 'a> {
    /// Begins to read a record of a session.
    pub(super) fn new(log: &'r LogView<'a>, session: &'a str, report: &'r mut Report) -> Self {
        Self {
            log,
            session,
            agent: None,
            report,
        }
    }

    /// When it happened: the source's clock, or where that is silent the exporter's.
    pub(super) fn time_ns(&self) -> u64 {
        match self.log.time_ns {
            0 => self.log.observed_ns,
            time_ns => time_ns,
        }
    }

    /// Whether the program traces as well, so that a span tells the same.
    pub(super) fn is_traced(&self) -> bool {
        self.log.trace_id != [0; 16]
    }

    /// Tells of something that took a while and is over now. `named` is what the record names, for identity.
    pub(super) fn tell_finished(&mut self, named: &[&[u8]], duration_ms: u64, body: Body) {
        let start_ns = self.before(duration_ms);
        let mut parts: Vec<&[u8]> = vec![b"log", self.session.as_bytes()];
        parts.extend_from_slice(named);
        self.tell(value::id_hash(&parts), start_ns, body);
    }

    /// Tells of something that the span to which the record points tells as its first event too: the same identity.
    pub(super) fn tell_as_span(&mut self, body: Body) {
        let id = value::id_hash(&[&self.log.trace_id, &self.log.span_id, &[0]]);
        self.tell(id, self.time_ns(), body);
    }

    /// Tells of something that began a while before the record and is told elsewhere too, under an identity that both
    /// know.
    pub(super) fn tell_named(&mut self, id: u64, before_ms: u64, body: Body) {
        let start_ns = self.before(before_ms);
        self.tell(id, start_ns, body);
    }

    fn before(&self, duration_ms: u64) -> u64 {
        self.time_ns()
            .saturating_sub(duration_ms.saturating_mul(1_000_000))
    }

    /// The run is named only by records that tell something: programs also write records at start-up, some of them
    /// under a session that is given up again.
    fn tell(&mut self, id: u64, start_ns: u64, body: Body) {
        let session = (!self.session.is_empty()).then(|| Text::from(self.session));
        self.report.run.run_id.clone_from(&session);
        self.report.run.session_id = session;
        self.report.events.push(Event {
            id,
            trace: TraceId(self.log.trace_id),
            span: SpanId(self.log.span_id),
            parent: SpanId::default(),
            start_ns,
            end_ns: self.time_ns(),
            agent: self.agent.as_deref().map(value::name),
            worker: None,
            body,
        });
    }
}
