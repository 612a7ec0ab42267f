//! Records of a log request.

use super::envelope::{Context, Items};
use super::span::id_or_absent;
use super::value::{Raw, check_pair};
use super::wire::{Fields, Payload, Region, text};
use super::{Attributes, Limits, Problem, Reason, ValueView};

/// Walks the bytes of an `ExportLogsServiceRequest`: each record in the order of the bytes, or what is wrong with it.
#[must_use]
pub fn logs<'a>(request: &'a [u8], limits: &Limits) -> Logs<'a> {
    Logs(Items::of(request, limits))
}

/// The records of a request; see [`logs`].
#[derive(Clone, Debug)]
pub struct Logs<'a>(Items<'a>);

impl<'a> Iterator for Logs<'a> {
    type Item = Result<LogView<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.and_then(|message| {
            LogView::read(message, self.0.context(), self.0.limits()).map_err(Problem::Refused)
        }))
    }
}

/// One log record, borrowed from its request.
#[derive(Clone, Copy, Debug)]
pub struct LogView<'a> {
    /// Attributes of the resource: which service.
    pub resource: Attributes<'a>,
    /// The instrumentation scope's name; empty where there is none.
    pub scope_name: &'a str,
    /// When it happened, in nanoseconds since 1970; zero where the sender does not say.
    pub time_ns: u64,
    /// When it was observed, in nanoseconds since 1970.
    pub observed_ns: u64,
    /// Severity as a number, 1 (trace) to 24 (fatal); zero where it is not given.
    pub severity_number: i32,
    /// Severity as the source calls it.
    pub severity_text: &'a str,
    /// The body.
    pub body: ValueView<'a>,
    /// The first [`Limits::attributes_max`] attributes.
    pub attributes: Attributes<'a>,
    /// How many attributes there are beyond the limit.
    pub attributes_left_out: u32,
    /// The trace; all zero where there is none.
    pub trace_id: [u8; 16],
    /// The span; all zero where there is none.
    pub span_id: [u8; 8],
    /// The event's name; empty for a plain log record.
    pub event_name: &'a str,
}

impl<'a> LogView<'a> {
    fn read(message: &'a [u8], context: Context<'a>, limits: &Limits) -> Result<Self, Reason> {
        if message.len() > limits.span_bytes_max {
            return Err(Reason::TooLarge);
        }
        let (mut time_ns, mut observed_ns, mut severity_number) = (0, 0, 0);
        let (mut severity_text, mut event_name) = ("", "");
        let mut body = Raw::Empty;
        let mut attributes = Region::default();
        let (mut count, mut left_out) = (0, 0);
        let (mut trace_id, mut span_id): (&[u8], &[u8]) = (&[], &[]);
        let mut fields = Fields::of(message);
        let mut before = fields.rest();
        while let Some(field) = fields.next() {
            match field? {
                (1, Payload::Fixed64(time)) => time_ns = time,
                (2, Payload::Varint(number)) => severity_number = number as i32,
                (3, Payload::Bytes(bytes)) => severity_text = text(bytes)?,
                (5, Payload::Bytes(bytes)) => body = Raw::read(bytes, body)?,
                (6, Payload::Bytes(_)) if count == limits.attributes_max => left_out += 1,
                (6, Payload::Bytes(pair)) => {
                    check_pair(pair, limits.depth_max)?;
                    attributes.extend(before, fields.rest());
                    count += 1;
                }
                (9, Payload::Bytes(bytes)) => trace_id = bytes,
                (10, Payload::Bytes(bytes)) => span_id = bytes,
                (11, Payload::Fixed64(time)) => observed_ns = time,
                (12, Payload::Bytes(bytes)) => event_name = text(bytes)?,
                (1..=3 | 5 | 6 | 9..=12, _) => return Err(Reason::Malformed),
                _ => {}
            }
            before = fields.rest();
        }
        body.check(limits.depth_max)?;
        Ok(Self {
            resource: context.resource,
            scope_name: context.scope_name,
            time_ns,
            observed_ns,
            severity_number,
            severity_text,
            body: ValueView::of(body).ok_or(Reason::Utf8)?,
            attributes: Attributes::of(attributes.bytes(), 6),
            attributes_left_out: left_out,
            trace_id: id_or_absent(trace_id).ok_or(Reason::TraceId)?,
            span_id: id_or_absent(span_id).ok_or(Reason::SpanId)?,
            event_name,
        })
    }
}
