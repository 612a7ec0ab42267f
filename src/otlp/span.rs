//! Spans of a trace request.

use super::envelope::{Context, Items};
use super::value::check_pair;
use super::wire::{Fields, Payload, Region, text};
use super::{Attributes, Limits, Problem, Reason};

/// Walks the bytes of an `ExportTraceServiceRequest`.
///
/// Yields each span in the order of the bytes, or what is wrong with it. Bytes of another kind of request come out as
/// refused spans, because their ids are not ids.
#[must_use]
pub fn spans<'a>(request: &'a [u8], limits: &Limits) -> Spans<'a> {
    Spans(Items::of(request, limits))
}

/// The spans of a request; see [`spans`].
#[derive(Clone, Debug)]
pub struct Spans<'a>(Items<'a>);

impl<'a> Iterator for Spans<'a> {
    type Item = Result<SpanView<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.and_then(|message| {
            SpanView::read(message, self.0.context(), self.0.limits()).map_err(Problem::Refused)
        }))
    }
}

/// One span, borrowed from its request.
#[derive(Clone, Copy, Debug)]
pub struct SpanView<'a> {
    /// Attributes of the resource: which service.
    pub resource: Attributes<'a>,
    /// The instrumentation scope's name; empty where there is none.
    pub scope_name: &'a str,
    /// The trace; never all zero.
    pub trace_id: [u8; 16],
    /// The span; never all zero.
    pub span_id: [u8; 8],
    /// The parent; all zero for a root.
    pub parent_span_id: [u8; 8],
    /// What the span calls itself.
    pub name: &'a str,
    /// The kind's number (OTLP `SpanKind`).
    pub kind: i32,
    /// Start, in nanoseconds since 1970, as the sender has it.
    pub start_ns: u64,
    /// End, in nanoseconds since 1970, as the sender has it; may lie before the start.
    pub end_ns: u64,
    /// How it went.
    pub status: Status<'a>,
    /// The first [`Limits::attributes_max`] attributes.
    pub attributes: Attributes<'a>,
    /// How many attributes there are beyond the limit.
    pub attributes_left_out: u32,
    /// Events.
    pub events: Events<'a>,
    /// Links to other spans.
    pub links: Links<'a>,
}

/// A span's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status<'a> {
    /// 0 unset, 1 ok, 2 error; other numbers are possible.
    pub code: i32,
    /// The error in words, or empty.
    pub message: &'a str,
}

impl<'a> SpanView<'a> {
    fn read(message: &'a [u8], context: Context<'a>, limits: &Limits) -> Result<Self, Reason> {
        if message.len() > limits.span_bytes_max {
            return Err(Reason::TooLarge);
        }
        let (mut trace_id, mut span_id, mut parent): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
        let (mut name, mut status) = ("", Status::default());
        let (mut kind, mut start_ns, mut end_ns) = (0, 0, 0);
        let mut attributes = Region::default();
        let (mut count, mut left_out) = (0, 0);
        let (mut events, mut links) = (Region::default(), Region::default());
        let mut fields = Fields::of(message);
        let mut before = fields.rest();
        while let Some(field) = fields.next() {
            match field? {
                (1, Payload::Bytes(bytes)) => trace_id = bytes,
                (2, Payload::Bytes(bytes)) => span_id = bytes,
                (4, Payload::Bytes(bytes)) => parent = bytes,
                (5, Payload::Bytes(bytes)) => name = text(bytes)?,
                (6, Payload::Varint(number)) => kind = number as i32,
                (7, Payload::Fixed64(time)) => start_ns = time,
                (8, Payload::Fixed64(time)) => end_ns = time,
                (9, Payload::Bytes(_)) if count == limits.attributes_max => left_out += 1,
                (9, Payload::Bytes(pair)) => {
                    check_pair(pair, limits.depth_max)?;
                    attributes.extend(before, fields.rest());
                    count += 1;
                }
                (11, Payload::Bytes(event)) => {
                    EventView::read(event, Some(limits))?;
                    events.extend(before, fields.rest());
                }
                (13, Payload::Bytes(link)) => {
                    LinkView::read(link, Some(limits))?;
                    links.extend(before, fields.rest());
                }
                (15, Payload::Bytes(bytes)) => status = Status::read(bytes, status)?,
                (1 | 2 | 4..=9 | 11 | 13 | 15, _) => return Err(Reason::Malformed),
                _ => {}
            }
            before = fields.rest();
        }
        Ok(Self {
            resource: context.resource,
            scope_name: context.scope_name,
            trace_id: id(trace_id)
                .filter(|id| *id != [0; 16])
                .ok_or(Reason::TraceId)?,
            span_id: id(span_id)
                .filter(|id| *id != [0; 8])
                .ok_or(Reason::SpanId)?,
            parent_span_id: id_or_absent(parent).ok_or(Reason::SpanId)?,
            name,
            kind,
            start_ns,
            end_ns,
            status,
            attributes: Attributes::of(attributes.bytes(), 9),
            attributes_left_out: left_out,
            events: Events(events.bytes()),
            links: Links(links.bytes()),
        })
    }
}

impl<'a> Status<'a> {
    fn read(message: &'a [u8], before: Self) -> Result<Self, Reason> {
        let mut status = before;
        for field in Fields::of(message) {
            match field? {
                (2, Payload::Bytes(bytes)) => status.message = text(bytes)?,
                (3, Payload::Varint(number)) => status.code = number as i32,
                (2 | 3, _) => return Err(Reason::Malformed),
                _ => {}
            }
        }
        Ok(status)
    }
}

/// The events of a span.
#[derive(Clone, Copy, Debug)]
pub struct Events<'a>(&'a [u8]);

impl<'a> Events<'a> {
    /// The events in order.
    pub fn iter(&self) -> impl Iterator<Item = EventView<'a>> + use<'a> {
        members(self.0, 11).map_while(|event| EventView::read(event, None).ok())
    }
}

/// Something that happened within a span.
#[derive(Clone, Copy, Debug)]
pub struct EventView<'a> {
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The event's name.
    pub name: &'a str,
    /// Its attributes.
    pub attributes: Attributes<'a>,
}

impl<'a> EventView<'a> {
    /// Reads an event. With limits the attributes are checked; without, they have been.
    fn read(message: &'a [u8], check: Option<&Limits>) -> Result<Self, Reason> {
        let mut event = Self {
            time_ns: 0,
            name: "",
            attributes: Attributes::of(message, 3),
        };
        for field in Fields::of(message) {
            match field? {
                (1, Payload::Fixed64(time)) => event.time_ns = time,
                (2, Payload::Bytes(bytes)) => event.name = text(bytes)?,
                (3, Payload::Bytes(pair)) => check_member(pair, check)?,
                (1..=3, _) => return Err(Reason::Malformed),
                _ => {}
            }
        }
        Ok(event)
    }
}

/// The links of a span.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a>(&'a [u8]);

impl<'a> Links<'a> {
    /// The links in order.
    pub fn iter(&self) -> impl Iterator<Item = LinkView<'a>> + use<'a> {
        members(self.0, 13).map_while(|link| LinkView::read(link, None).ok())
    }
}

/// A span's pointer to another span, of this or another trace.
#[derive(Clone, Copy, Debug)]
pub struct LinkView<'a> {
    /// The other trace; all zero where it is missing or not sixteen bytes.
    pub trace_id: [u8; 16],
    /// The other span; all zero where it is missing or not eight bytes.
    pub span_id: [u8; 8],
    /// Attributes of the link.
    pub attributes: Attributes<'a>,
}

impl<'a> LinkView<'a> {
    /// Reads a link. With limits the attributes are checked; without, they have been.
    fn read(message: &'a [u8], check: Option<&Limits>) -> Result<Self, Reason> {
        let mut link = Self {
            trace_id: [0; 16],
            span_id: [0; 8],
            attributes: Attributes::of(message, 4),
        };
        for field in Fields::of(message) {
            match field? {
                (1, Payload::Bytes(bytes)) => link.trace_id = id(bytes).unwrap_or_default(),
                (2, Payload::Bytes(bytes)) => link.span_id = id(bytes).unwrap_or_default(),
                (4, Payload::Bytes(pair)) => check_member(pair, check)?,
                (1 | 2 | 4, _) => return Err(Reason::Malformed),
                _ => {}
            }
        }
        Ok(link)
    }
}

fn check_member(pair: &[u8], check: Option<&Limits>) -> Result<(), Reason> {
    check.map_or(Ok(()), |limits| check_pair(pair, limits.depth_max))
}

fn members(region: &[u8], number: u32) -> impl Iterator<Item = &[u8]> {
    Fields::of(region).filter_map(move |field| match field {
        Ok((found, Payload::Bytes(message))) if found == number => Some(message),
        _ => None,
    })
}

/// An id of exactly that many bytes.
#[inline]
pub(super) fn id<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

/// An id of exactly that many bytes, all zero where there is none; `None` for one of another length.
#[inline]
pub(super) fn id_or_absent<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    if bytes.is_empty() {
        Some([0; N])
    } else {
        id(bytes)
    }
}
