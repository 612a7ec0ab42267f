//! Spans of a trace request.

use super::envelope::{Context, Items};
use super::value::{check_pair, read_pair};
use super::wire::{Fields, Payload, Region, check_text, text};
use super::{Attributes, Limits, Problem, Reason, ValueView};

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

impl<'a> Spans<'a> {
    /// The next span, whose attributes are handed over while they are checked: those whose keys `pick` knows, in order, each
    /// with what it says of its key. Keys come as bytes, and `pick` must know none that is not UTF-8. Of a span that is refused,
    /// some may have been handed over.
    pub fn next_picking<T>(
        &mut self,
        pick: impl Fn(&'a [u8]) -> Option<T>,
        take: impl FnMut(T, ValueView<'a>),
    ) -> Option<Result<SpanView<'a>, Problem>> {
        Some(self.0.next()?.and_then(|message| {
            let (context, limits) = (self.0.context(), self.0.limits());
            SpanView::read(message, context, limits, &pick, take).map_err(Problem::Refused)
        }))
    }
}

impl<'a> Iterator for Spans<'a> {
    type Item = Result<SpanView<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_picking(|_| None, |(), _| {})
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
    #[inline]
    fn read<T>(
        message: &'a [u8],
        context: Context<'a>,
        limits: &Limits,
        pick: &impl Fn(&'a [u8]) -> Option<T>,
        mut take: impl FnMut(T, ValueView<'a>),
    ) -> Result<Self, Reason> {
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
        loop {
            let before = fields.rest();
            let Some(field) = fields.next_mostly(9) else {
                break;
            };
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
                    read_attribute(pair, limits, pick, &mut take)?;
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

/// Takes an attribute if it is picked; checks it at any rate.
#[inline]
fn read_attribute<'a, T>(
    pair: &'a [u8],
    limits: &Limits,
    pick: &impl Fn(&'a [u8]) -> Option<T>,
    take: &mut impl FnMut(T, ValueView<'a>),
) -> Result<(), Reason> {
    let (key, value) = read_pair(pair)?;
    if let Some(picked) = pick(key) {
        take(picked, value.view(limits.depth_max)?);
    } else {
        value.check(limits.depth_max)?;
        check_text(key)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use opentelemetry_proto::tonic::common::v1::{
        AnyValue, ArrayValue, InstrumentationScope, KeyValue,
    };
    use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
    use prost::Message;

    use super::*;

    fn attribute(key: &str, value: Value) -> KeyValue {
        KeyValue {
            key: key.into(),
            value: Some(AnyValue { value: Some(value) }),
            key_strindex: 0,
        }
    }

    fn text_attribute(key: &str, value: &str) -> KeyValue {
        attribute(key, Value::StringValue(value.into()))
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(Value::ArrayValue(ArrayValue::default()), |inner, _| {
            let value = Some(inner);
            Value::ArrayValue(ArrayValue {
                values: vec![AnyValue { value }],
            })
        })
    }

    /// A good span with the given attributes.
    fn span(name: &str, attributes: Vec<KeyValue>) -> Span {
        Span {
            trace_id: vec![1; 16],
            span_id: vec![2; 8],
            name: name.into(),
            attributes,
            ..Span::default()
        }
    }

    /// Encodes a request; `BAD!` anywhere in it becomes four bytes that are not UTF-8.
    fn encode(service: &str, scope: &str, spans: Vec<Span>) -> Vec<u8> {
        let mut request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: vec![text_attribute("service.name", service)],
                    ..Resource::default()
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(InstrumentationScope {
                        name: scope.into(),
                        ..InstrumentationScope::default()
                    }),
                    spans,
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
        .encode_to_vec();
        for at in 0..request.len().saturating_sub(3) {
            if &request[at..at + 4] == b"BAD!" {
                request[at..at + 4].fill(0xff);
            }
        }
        request
    }

    /// What the walk says, in short: service, scope and name of a span, or the problem.
    fn check(request: &[u8], limits: &Limits, expected: &[&str]) {
        let said = |result: Result<SpanView<'_>, Problem>| match result {
            Ok(view) => {
                let service = view.resource.find("service.name");
                let service = service.and_then(|value| value.as_str()).unwrap_or("-");
                format!("{service}/{}/{}", view.scope_name, view.name)
            }
            Err(problem) => problem.to_string(),
        };
        let said: Vec<_> = spans(request, limits).map(said).collect();
        assert_eq!(said, expected);
    }

    /// Given a text that is not UTF-8, the span that holds it is refused and its neighbours are read.
    #[test]
    fn a_bad_text_costs_one_span() {
        let bad_value = vec![text_attribute("key", "BAD!")];
        let request = encode("shop", "lib", vec![span("a", bad_value), span("b", vec![])]);
        let refused = "refused: text is not UTF-8";
        check(&request, &Limits::default(), &[refused, "shop/lib/b"]);
        let bad_key = vec![text_attribute("BAD!", "value")];
        let request = encode(
            "shop",
            "lib",
            vec![span("a", bad_key), span("BAD!", vec![])],
        );
        check(&request, &Limits::default(), &[refused, refused]);
    }

    /// Given a bad text in resource or scope, that one is absent, said once, and every span is read.
    #[test]
    fn a_bad_resource_or_scope_costs_no_span() {
        let good = || vec![span("a", vec![]), span("b", vec![])];
        let said = "resource or scope left out: text is not UTF-8";
        let request = encode("BAD!", "lib", good());
        check(&request, &Limits::default(), &[said, "-/lib/a", "-/lib/b"]);
        let request = encode("shop", "BAD!", good());
        check(&request, &Limits::default(), &[said, "shop//a", "shop//b"]);
    }

    /// Given ids that are none, the span is refused; a parent may be missing.
    #[test]
    fn ids_must_be_ids() {
        let spans = [
            (16, 1, 8),
            (15, 1, 8),
            (16, 0, 8),
            (0, 1, 8),
            (16, 1, 9),
            (16, 1, 0),
        ]
        .map(|(trace_bytes, byte, span_bytes)| Span {
            trace_id: vec![byte; trace_bytes],
            span_id: vec![1; span_bytes],
            ..span("a", vec![])
        });
        let bad_parent = Span {
            parent_span_id: vec![1; 7],
            ..span("a", vec![])
        };
        let request = encode("s", "l", spans.into_iter().chain([bad_parent]).collect());
        let trace = "refused: trace id is not 16 bytes or all zero";
        let span = "refused: span id is not 8 bytes or all zero";
        let expected = ["s/l/a", trace, trace, trace, span, span, span];
        check(&request, &Limits::default(), &expected);
    }

    /// Given spans beyond the limits of size and depth, they alone are refused; at the limits they are read.
    #[test]
    fn size_and_depth_are_bounded() {
        let limits = Limits {
            span_bytes_max: 200,
            depth_max: 3,
            ..Limits::default()
        };
        let with = |value| vec![attribute("k", value)];
        let spans = vec![
            span("flat", with(nested(3))),
            span("deep", with(nested(4))),
            span("long", with(Value::BytesValue(vec![0; 200]))),
        ];
        let (deep, long) = ("refused: nested too deeply", "refused: too large");
        check(&encode("s", "l", spans), &limits, &["s/l/flat", deep, long]);
    }

    /// Given nesting far beyond what any stack holds, the span is refused like any other.
    #[test]
    fn very_deep_nesting_is_refused() {
        let mut value = Vec::new();
        for _ in 0..100_000 {
            // An array of one value; lengths are written from the inside out, so the bytes are built reversed.
            for tag in [0x0a_u8, 0x2a] {
                let mut header = vec![tag];
                prost::encoding::encode_varint(value.len() as u64, &mut header);
                header.reverse();
                value.extend(header);
            }
        }
        value.reverse();
        let limits = Limits {
            span_bytes_max: usize::MAX,
            ..Limits::default()
        };
        let mut request = encode("s", "l", vec![]);
        let pair = length_delimited(0x4a, &length_delimited(0x12, &value));
        let scope_spans = length_delimited(0x12, &length_delimited(0x12, &pair));
        request.extend(length_delimited(0x0a, &scope_spans));
        check(&request, &limits, &["refused: nested too deeply"]);
    }

    fn length_delimited(tag: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut out);
        out.extend(bytes);
        out
    }

    /// Given more attributes than the limit, the first ones are shown and the others counted.
    #[test]
    fn attributes_beyond_the_limit_are_counted() {
        let attributes = ["a", "b", "c"].map(|key| text_attribute(key, "v")).to_vec();
        let request = encode("s", "l", vec![span("n", attributes)]);
        let limits = Limits {
            attributes_max: 2,
            ..Limits::default()
        };
        let view = spans(&request, &limits).next().expect("one").expect("good");
        assert_eq!(view.attributes.iter().count(), 2);
        assert_eq!(view.attributes_left_out, 1);
        assert!(view.attributes.find("b").is_some());
        assert!(view.attributes.find("c").is_none());
    }

    /// Given the bytes of a log request, no span comes out of them.
    #[test]
    fn log_records_are_not_spans() {
        let record = |trace_id| LogRecord {
            time_unix_nano: 1,
            trace_id,
            body: Some(AnyValue {
                value: Some(Value::StringValue("text".into())),
            }),
            ..LogRecord::default()
        };
        let late = LogRecord {
            observed_time_unix_nano: 1,
            event_name: "e".into(),
            ..LogRecord::default()
        };
        let request = ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                scope_logs: vec![ScopeLogs {
                    log_records: vec![record(vec![1; 16]), record(vec![]), late],
                    ..ScopeLogs::default()
                }],
                ..ResourceLogs::default()
            }],
        };
        let malformed = "refused: malformed message";
        let request = request.encode_to_vec();
        check(&request, &Limits::default(), &[malformed; 3]);
    }

    /// Given broken framing outside the spans, the walk says so and ends; an empty request is a good one.
    #[test]
    fn broken_framing_ends_the_request() {
        let mut request = encode("s", "l", vec![span("a", vec![])]);
        request.extend([0x0a, 0x7f]);
        let undecodable = "the request cannot be decoded: a length points past the end";
        check(&request, &Limits::default(), &["s/l/a", undecodable]);
        check(
            b"<html>",
            &Limits::default(),
            &["the request cannot be decoded: a group ends that never began"],
        );
        check(&[], &Limits::default(), &[]);
    }
}
