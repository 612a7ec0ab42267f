//! OTLP request bytes, read in place.
//!
//! A request comes in as the bytes of one protobuf message and is never decoded into structs: [`spans`] and [`logs`] walk
//! it and yield views that borrow from it. The walk has two halves. `envelope` goes through request, resource and scope;
//! when their framing is broken nothing behind the break can be trusted, and the whole request is
//! [`Problem::Undecodable`]. `span` and `log` then read one item each. An item is read completely before it is yielded
//! (framing, UTF-8, depth), so that a yielded view can be looked into without any error; one that cannot be read is
//! refused alone, and its neighbours count. Who asks for the next span may have its attributes handed over during that reading,
//! which spares looking for them again. A resource or scope that cannot be read is treated as absent.
//!
//! What a view shows equals what `opentelemetry-proto` decodes: fields in any order, the last of a repeated scalar wins,
//! unknown fields are skipped. It is stricter in one thing: an array or map value that is spread over two occurrences,
//! which protobuf would merge, is refused, because no slice could show it. It is milder in another: fields that Eddy never
//! reads (trace state, schema URLs, counts of dropped things) are not checked.
//!
//! OTLP/JSON is written as those bytes while it is read ([`json`]), so there is one kind of view only.

#[cfg(test)]
mod comparison;
mod envelope;
pub mod json;
mod log;
mod span;
mod value;
mod wire;

pub use envelope::{check_metrics, delimited};
pub use log::{LogView, Logs, logs};
pub use span::{EventView, Events, LinkView, Links, SpanView, Spans, Status, spans};
pub use value::{ArrayView, Attributes, Elements, Pairs, ValueView};

/// Which kind of request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `ExportTraceServiceRequest`.
    Traces,
    /// `ExportLogsServiceRequest`.
    Logs,
    /// `ExportMetricsServiceRequest`: accepted and not read, for a refusal would make some senders repeat it forever. Where it
    /// goes on to others, its framing is looked at ([`check_metrics`]).
    Metrics,
}

impl Signal {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Traces, Self::Logs, Self::Metrics];

    /// Its path in OTLP/HTTP.
    #[must_use]
    pub fn http_path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Logs => "/v1/logs",
            Self::Metrics => "/v1/metrics",
        }
    }

    /// Its method in OTLP/gRPC.
    #[must_use]
    pub fn grpc_method(self) -> &'static str {
        match self {
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}

/// What one item may be. Sizes of whole requests are the receiver's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Attributes shown of one span, log record or resource; the rest is not read (and counted, except for resources).
    /// OpenInference writes a key for each member of each message, and a span's kind after all of them, so a long
    /// conversation has several hundred. It also bounds what looking up an attribute can cost.
    pub attributes_max: usize,
    /// Size of one encoded span, log record or resource, in bytes; a larger one is refused. Screenshots in base64 and whole files
    /// are results of a mebibyte and more, so this is the size of a whole request as receivers take them by default.
    pub span_bytes_max: usize,
    /// Nesting of arrays and maps, the attribute's own value being level one; a deeper one is refused. protobuf's usual
    /// decoders stop between 32 and 50 such levels.
    pub depth_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attributes_max: 1024,
            span_bytes_max: 16 << 20,
            depth_max: 64,
        }
    }
}

/// What the walk yields in place of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The framing of the request is broken: none of it may be used, and sending it again will not help. The walk ends.
    #[error("the request cannot be decoded: {0}")]
    Undecodable(&'static str),
    /// This span or log record cannot be used; the others can.
    #[error("refused: {0}")]
    Refused(Reason),
    /// A resource or scope cannot be read and is treated as absent. No item is lost by it.
    #[error("resource or scope left out: {0}")]
    Context(Reason),
}

/// Why an item is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The trace id is not sixteen bytes, or (of a span) is missing or all zero.
    TraceId,
    /// The span id or the parent's is not eight bytes, or the span's own is missing or all zero.
    SpanId,
    /// A text is not UTF-8.
    Utf8,
    /// Larger than [`Limits::span_bytes_max`].
    TooLarge,
    /// Nested deeper than [`Limits::depth_max`].
    TooDeep,
    /// The bytes are not a message of this kind.
    Malformed,
    /// Nothing is wrong with it, but finding out what it says failed: a defect of Eddy.
    Defect,
}

impl Reason {
    /// Every reason, in the order of [`Reason::index`].
    pub const ALL: [Self; 7] = [
        Self::TraceId,
        Self::SpanId,
        Self::Utf8,
        Self::TooLarge,
        Self::TooDeep,
        Self::Malformed,
        Self::Defect,
    ];

    /// The reason as the value of a metric's label.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::TraceId => "trace_id",
            Self::SpanId => "span_id",
            Self::Utf8 => "utf8",
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
            Self::Malformed => "malformed",
            Self::Defect => "defect",
        }
    }

    /// How many items are refused for it, in words.
    #[must_use]
    pub fn counted(self, count: u64) -> String {
        let many = match (count, self) {
            (1, _) => return format!("1 {self}"),
            (_, Self::TraceId) => "trace ids are not 16 bytes or all zero",
            (_, Self::SpanId) => "span ids are not 8 bytes or all zero",
            (_, Self::Utf8) => "texts are not UTF-8",
            (_, Self::TooLarge) => "too large",
            (_, Self::TooDeep) => "nested too deeply",
            (_, Self::Malformed) => "malformed messages",
            (_, Self::Defect) => "could not be read by a defect of Eddy",
        };
        format!("{count} {many}")
    }

    /// Position in [`Reason::ALL`], for arrays of counters.
    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TraceId => "trace id is not 16 bytes or all zero",
            Self::SpanId => "span id is not 8 bytes or all zero",
            Self::Utf8 => "text is not UTF-8",
            Self::TooLarge => "too large",
            Self::TooDeep => "nested too deeply",
            Self::Malformed => "malformed message",
            Self::Defect => "reading failed by a defect of Eddy",
        })
    }
}
